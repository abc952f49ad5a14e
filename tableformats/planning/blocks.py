"""Blocks: files of one partition spec out of one or more batches, in the columns that pruning looks at.

A block has the partition values, sizes and record counts of its files, and of their bounds those that some predicate
asked for. Small batches share a block, so that a step of planning costs no more for a thousand manifests than for ten.
Which columns of ``FileBatch.files`` a survivor has stays with the batch: they are taken once, for survivors alone. A
block whose parts have keys may be kept and pruned again, on any thread; what it learns of bounds it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import ZERO, to_arrow, to_numpy
from ..columnar.packed import Column, pack, unpack
from ..errors import PluginContractError
from ..plugin.files import FileBatch
from ..plugin.partitions import PartitionSpec
from ..plugin.statistics import Bounds, Statistics, StatisticsSlice
from ..pruning.column_ranges import PackedRange, Range, ranges_of
from ..pruning.compiled_predicate import ALL, NONE, CompiledPredicate
from ..runtime.concurrency import cached_property
from ..schema import Field, arrow_type

if TYPE_CHECKING:
    from ..plugin.report import ScanReport

__all__ = ["TARGET_FILES", "BatchOf", "Block", "Pruned", "Source", "blocks_of", "check_batch", "empty_struct"]

TARGET_FILES = 16_384
"""Files of a block that is read: what its batches hold beside the block is in memory until it is pruned."""
_REQUIRED = {"path": pa.string(), "size_bytes": pa.int64()}
_OPTIONAL = {"record_count": pa.int64()}
_SIDES = ("lower", "upper", "null_count", "nan_count", "value_count")


@dataclass
class Source:
    """Where rows of a block come from: the ``number``-th batch of the part ``key``.

    ``rows`` are those of the batch (int64[stop - start]; None: all of them) that are rows ``start`` to ``stop`` of the
    block.
    """

    key: Hashable
    number: int
    start: int
    stop: int
    rows: np.ndarray | None

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the batch for these rows of the block, which are the source's."""
        if self.rows is not None and len(rows) == len(self.rows):
            return self.rows
        own = rows - self.start
        return own if self.rows is None else self.rows[own]


BatchOf = Callable[[Source], FileBatch]


@dataclass
class _Known:
    """The range of one column, for the files ``rows`` (int64, ascending; None: for all), and their record counts where
    the column's bounds came with them. ``has_bounds``: it was asked for more than counts, or gave more."""

    rows: np.ndarray | None
    held: Range | PackedRange
    held_counts: Column | None
    has_bounds: bool

    @property
    def range(self) -> Range:
        return self.held if isinstance(self.held, Range) else self.held.unpack()

    @property
    def counts(self) -> pa.Array | None:
        return None if self.held_counts is None else unpack(self.held_counts)

    def places(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Where ``rows`` stand; None where they are all that is known, in order. Only for rows that are covered."""
        if self.rows is None or rows is None or rows is self.rows:
            return rows if self.rows is None else None
        places = np.searchsorted(self.rows, rows)
        return None if len(places) == len(self.rows) else places

    @staticmethod
    def concat(parts: Sequence[_Known]) -> _Known:
        """Of one part, or of several that know of all of their files."""
        if len(parts) == 1:
            return parts[0].pack()
        counts = [part.counts for part in parts]
        joined = None if counts[0] is None else pa.concat_arrays(counts)
        range_ = Range.concat([part.range for part in parts])
        return _Known(None, range_, joined, all(part.has_bounds for part in parts)).pack()

    def pack(self) -> _Known:
        """The same in fewer bytes."""
        counts = self.counts
        return replace(self, held=self.range.pack(), held_counts=None if counts is None else pack(counts))

    def covers(self, rows: np.ndarray | None) -> bool:
        if self.rows is None or rows is self.rows:
            return True
        if rows is None or not len(self.rows):
            return rows is not None and not len(rows)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return bool(np.array_equal(self.rows[places], rows))


@dataclass
class Pruned:
    """What pruning left of a block: its ``rows`` (int64, ascending), ``matched`` (bool: all rows of the file do), and
    the files' record counts where they are known without a look at statistics."""

    block: Block
    rows: np.ndarray
    matched: np.ndarray
    counts: pa.Array | None


@dataclass
class Block:
    """``held_partition``, ``held_sizes`` and ``held_counts`` (None: not known) are :attr:`partition`, :attr:`sizes` and
    :attr:`record_count`; ``hashes`` (uint64[n]) are those of the files' keys, where they have keys. A block that
    ``is_kept`` holds all in fewer bytes."""

    spec: PartitionSpec
    held_partition: Column
    held_sizes: Column
    held_counts: Column | None
    sources: list[Source]
    hashes: np.ndarray | None = None
    _known: dict[Field, _Known] = field(default_factory=dict)
    is_kept: bool = False

    def __len__(self) -> int:
        return len(self.held_sizes)

    @property
    def partition(self) -> pa.StructArray:
        """The partition values; members are called by field id, in the types of ``spec``'s fields."""
        return unpack(self.held_partition)

    @property
    def sizes(self) -> np.ndarray:
        """int64[n], bytes"""
        return to_numpy(unpack(self.held_sizes))

    @property
    def record_count(self) -> pa.Array | None:
        """int64[n]; None: not known."""
        return None if self.held_counts is None else unpack(self.held_counts)

    @property
    def nbytes(self) -> int:
        """Memory that the block holds."""
        held = [self.held_partition, self.held_sizes, self.held_counts, self.hashes, *(s.rows for s in self.sources)]
        for known in list(self._known.values()):
            held += [known.rows, known.held, known.held_counts]
        return sum(int(column.nbytes) for column in held if column is not None)

    def joins(self, other: Block) -> bool:
        """Whether :meth:`joined` takes the two: of one spec, and with the same things known of all of their files."""
        return (
            self.spec == other.spec
            and (self.held_counts is None) == (other.held_counts is None)
            and (self.hashes is None) == (other.hashes is None)
            and self._known.keys() == other._known.keys()
            and all(known.rows is None for block in (self, other) for known in block._known.values())
            and all((k.held_counts is None) == (other._known[f].held_counts is None) for f, k in self._known.items())
        )

    @staticmethod
    def concat(parts: Sequence[Block]) -> Block:
        """One block to be kept, of one or several that join, one after the other."""
        first = parts[0]
        starts = np.cumsum([0, *(len(block) for block in parts)]).tolist()
        sources = [
            replace(source, start=source.start + start, stop=source.stop + start)
            for block, start in zip(parts, starts[:-1], strict=True)
            for source in block.sources
        ]
        return Block(
            first.spec,
            pack(pa.concat_arrays([block.partition for block in parts])),
            pack(to_arrow(np.concatenate([block.sizes for block in parts]))),
            None if first.held_counts is None else pack(pa.concat_arrays([block.record_count for block in parts])),
            sources,
            None if first.hashes is None else np.concatenate([block.hashes for block in parts]),  # type: ignore[misc]
            {f: _Known.concat([block._known[f] for block in parts]) for f in first._known},
            is_kept=True,
        )

    def prune(
        self,
        program: CompiledPredicate | None,
        spec: PartitionSpec,
        alive: np.ndarray | None,
        batch_of: BatchOf,
        report: ScanReport,
    ) -> Pruned:
        """The files of the block that may match.

        Parameters
        ----------
        program : the predicate; None: there is none
        spec : the snapshot's spec of the block's id
        alive : bool[n], the files that the snapshot has; None: all
        batch_of : gives the batch of a source whose statistics must be read
        report : counts the files and those that are dropped
        """
        candidates = _Candidates(len(self), alive)
        self._count(alive, report)
        if program is None:
            every = candidates.all_rows()
            return Pruned(self, every, np.ones(len(every), bool), _taken(self.record_count, every))
        columns, is_decided = program.columns, False
        rows = candidates.rows
        evidence = program.range_sources(spec, _taken(self.partition, rows))
        if program.uses_partitions(spec):
            with report.stage("partitions"):
                decision = program.decide(evidence)
                columns = tuple(f for f in columns if decision.undecided_columns[f.id].any())
                is_decided = not columns
                report.files_dropped_by_partition += candidates.keep(decision.keep, at_last=is_decided)
        if not candidates.n:
            return Pruned(self, np.zeros(0, np.int64), np.zeros(0, bool), None)
        if is_decided:
            left = candidates.all_rows()
            return Pruned(self, left, decision.verdicts[candidates.places] == ALL, _taken(self.record_count, left))
        with report.stage("bounds"):
            # Of other rows, or counts alone, is what another thread may put in its place meanwhile.
            known = dict(self._known)
            if self._missing(known, columns, program.counted, candidates.rows):
                # What has to be read is read of files that the snapshot has: the parts of others may not be there.
                candidates.settle()
            if rows is not candidates.rows:
                rows = candidates.rows
                evidence = program.range_sources(spec, _taken(self.partition, rows))
            ranges, counts = self._ranges(known, columns, program.counted, rows, batch_of)
            verdicts = program.verdicts_of(evidence, ranges)
            report.files_dropped_by_bounds += candidates.keep(verdicts != NONE, at_last=True)
        places = candidates.places
        return Pruned(self, candidates.all_rows(), verdicts[places] == ALL, _taken(counts, places))

    def of_sources(self, rows: np.ndarray) -> Iterator[tuple[Source, np.ndarray]]:
        """The sources of ``rows`` (int64, ascending) that have any, each with those rows."""
        starts = np.array([source.start for source in self.sources] + [len(self)])
        cuts = np.searchsorted(rows, starts)
        for source, first, last in zip(self.sources, cuts[:-1], cuts[1:], strict=True):
            if first < last:
                yield source, rows[first:last]

    def _count(self, alive: np.ndarray | None, report: ScanReport) -> None:
        n, size, rows = self._totals
        if alive is not None:
            n, size = int(np.count_nonzero(alive)), int(self.sizes[alive].sum())
            counts = self.record_count
            rows = None if counts is None else _sum(pc.filter(counts, to_arrow(alive)))
        report.files_total += n
        report.bytes_total += size
        if n:
            report.rows_listed = None if rows is None or report.rows_listed is None else report.rows_listed + rows

    @cached_property
    def _totals(self) -> tuple[int, int, int | None]:
        """Files, their bytes, and their rows where all are known."""
        counts = self.record_count
        return len(self), int(self.sizes.sum()), None if counts is None else _sum(counts)

    def _ranges(
        self,
        known: dict[Field, _Known],
        columns: Sequence[Field],
        counted: Collection[int],
        rows: np.ndarray | None,
        batch_of: BatchOf,
    ) -> tuple[dict[int, Range], pa.Array | None]:
        """The ranges of ``columns`` for ``rows`` (None: all) by field id, and record counts where they are known: those
        in ``known``, to which others are added."""
        columns = self._bounded(columns)
        missing = self._missing(known, columns, counted, rows)
        if missing:
            decoded = self._decode(missing, counted, rows, batch_of)
            n = len(self) if rows is None else len(rows)
            records = decoded.record_count if self.held_counts is None else _taken(self.record_count, rows)
            found = ranges_of(decoded, pa.nulls(n, pa.int64()) if records is None else records, missing)
            for f in missing:
                has_bounds = f.id not in counted or f.id in decoded.lower
                known[f] = _Known(rows, found[f.id], decoded.record_count, has_bounds)
                self._known[f] = known[f].pack() if self.is_kept else known[f]
        ranges: dict[int, Range] = {}
        counts = _taken(self.record_count, rows)
        for f in columns:
            of_column = known[f]
            places = of_column.places(rows)
            of_files = of_column.range
            ranges[f.id] = of_files if places is None else of_files.take(places)
            counts = _taken(of_column.counts, places) if counts is None else counts
        return ranges, counts

    def _bounded(self, columns: Sequence[Field]) -> list[Field]:
        """Those of ``columns`` that have ranges. Partition values themselves have none: bounds would say no more."""
        exact = {f.source_id for f in self.spec.fields if f.transform.name == "identity"}
        return [f for f in columns if not f.type.is_nested and f.id not in exact]

    def _missing(
        self, known: Mapping[Field, _Known], columns: Sequence[Field], counted: Collection[int], rows: np.ndarray | None
    ) -> list[Field]:
        """Those of ``columns`` whose ranges are not ``known`` for ``rows`` (None: all)."""

        def is_known(f: Field) -> bool:
            found = known.get(f)
            return found is not None and (found.has_bounds or f.id in counted) and found.covers(rows)

        return [f for f in self._bounded(columns) if not is_known(f)]

    def _decode(
        self, columns: Sequence[Field], counted: Collection[int], rows: np.ndarray | None, batch_of: BatchOf
    ) -> Bounds:
        """The bounds of ``columns`` as the batches' statistics have them."""
        parts = [
            (n, Bounds() if statistics is None else statistics.bounds_or_counts(columns, places, counted))
            for statistics, places, n in _asked(self._statistics(rows, batch_of))
        ]
        if len(parts) == 1:
            return parts[0][1]
        decoded = Bounds()
        for name in _SIDES:
            for f in columns:
                sides = [getattr(bounds, name).get(f.id) for _, bounds in parts]
                if any(side is not None for side in sides):
                    kind = arrow_type(f.type) if name in ("lower", "upper") else pa.int64()
                    getattr(decoded, name)[f.id] = _joined(sides, [n for n, _ in parts], kind)
        counts = [bounds.record_count for _, bounds in parts]
        if all(count is not None for count in counts):
            decoded.record_count = pa.concat_arrays(counts)
        return decoded

    def _statistics(
        self, rows: np.ndarray | None, batch_of: BatchOf
    ) -> Iterator[tuple[Statistics | None, np.ndarray | None, int]]:
        """The statistics that know ``rows`` (None: all) in their order: which of theirs these are (None: all), and how
        many."""
        for source, own in self.of_sources(np.arange(len(self)) if rows is None else rows):
            is_whole = source.rows is None and len(own) == source.stop - source.start
            yield batch_of(source).statistics, None if is_whole else source.places(own), len(own)


def _asked(
    parts: Iterator[tuple[Statistics | None, np.ndarray | None, int]],
) -> Iterator[tuple[Statistics | None, np.ndarray | None, int]]:
    """As given, but neighbours that are rows of the same statistics together."""
    for _, group in groupby(parts, lambda part: id(getattr(part[0], "parent", None))):
        found = list(group)
        first = found[0][0]
        if isinstance(first, StatisticsSlice) and len(found) > 1:
            places = np.concatenate([part.rows_in_parent(rows) for part, rows, _ in found])  # type: ignore[union-attr]
            found = [(first.parent, places, len(places))]
        yield from found


class _Candidates:
    """Which of ``n`` files may still match: evaluated all of them while most may (``mask``), or the ``rows`` that may.

    ``rows`` (int64, ascending; None: all ``n``) are those that the next step looks at.
    """

    def __init__(self, size: int, alive: np.ndarray | None) -> None:
        self.rows: np.ndarray | None = None
        self.places = np.zeros(0, np.int64)
        self._size = size
        self._mask: np.ndarray | None = None
        if alive is not None:
            self.keep(alive)

    @property
    def n(self) -> int:
        """How many files the next step looks at."""
        return self._size if self.rows is None else len(self.rows)

    def keep(self, kept: np.ndarray, at_last: bool = False) -> int:
        """Keep these (bool[n]) of what was looked at; returns how many are dropped. ``places`` are those that stay,
        among what was looked at, once no step follows."""
        before = self.n
        if self._mask is not None:
            before = int(np.count_nonzero(self._mask))
            kept = kept & self._mask
        count = int(np.count_nonzero(kept))
        if at_last or 4 * count < 3 * self.n:
            self.places = np.flatnonzero(kept)
            self.rows = self.places if self.rows is None else self.rows[self.places]
            self._mask = None
        else:
            self._mask = kept if count < self.n else None
        return before - count

    def settle(self) -> None:
        """Let the next step look at no file that is out already."""
        if self._mask is not None:
            self.rows, self._mask = self.all_rows(), None

    def all_rows(self) -> np.ndarray:
        """int64, ascending: the files that may match."""
        if self.rows is not None:
            return self.rows if self._mask is None else self.rows[self._mask]
        return np.arange(self._size) if self._mask is None else np.flatnonzero(self._mask)


def blocks_of(
    batches: Iterator[tuple[Hashable, int, FileBatch, np.ndarray | None, np.ndarray | None]],
    specs: Any,
) -> Iterator[tuple[Block, list[FileBatch]]]:
    """Blocks of about :data:`TARGET_FILES` files, or of one batch that has more, and the batch of each source.

    ``batches`` are (key of the part, number of the batch in it, batch, rows of it that are live (None: all), hashes of
    these rows' keys or None).

    Raises
    ------
    PluginContractError : a batch that is none
    """
    waiting: list[tuple[Hashable, int, FileBatch, np.ndarray | None, np.ndarray | None]] = []
    files = 0
    for item in batches:
        batch, rows = item[2], item[3]
        n = batch.files.num_rows if rows is None else len(rows)
        if waiting and (files + n > TARGET_FILES or _kind(waiting[0][2]) != _kind(batch)):
            yield _block(waiting, specs)
            waiting, files = [], 0
        waiting.append(item)
        files += n
    if waiting:
        yield _block(waiting, specs)


def _kind(batch: FileBatch) -> tuple[int, bool]:
    """Batches of one kind may share a block."""
    return batch.spec_id, "record_count" in batch.files.schema.names


def _block(items: Sequence[Any], specs: Any) -> tuple[Block, list[FileBatch]]:
    spec_id = items[0][2].spec_id
    spec = specs.get(spec_id, PartitionSpec(spec_id, ()))
    sources, start = [], 0
    partitions, sizes, counts, hashes = [], [], [], []
    for key, number, batch, rows, hashed in items:
        n = batch.files.num_rows if rows is None else len(rows)
        sources.append(Source(key, number, start, start + n, rows))
        start += n
        hashes.append(hashed)
    for files, rows in _stretches(items):
        partitions.append(_typed_partition(_taken(files["partition"], rows), spec))
        size = files["size_bytes"]
        sizes.append(to_numpy(_taken(pc.fill_null(size, ZERO) if size.null_count else size, rows)))
        counts.append(_taken(files["record_count"], rows) if "record_count" in files.schema.names else None)
    single = len(sizes) == 1
    known = all(count is not None for count in counts)
    block = Block(
        spec,
        partitions[0] if single else pa.concat_arrays(partitions),
        to_arrow(sizes[0] if single else np.concatenate(sizes)),
        None if not known else counts[0] if single else pa.concat_arrays(counts),
        sources,
        None if any(h is None for h in hashes) else hashes[0] if len(hashes) == 1 else np.concatenate(hashes),
    )
    return block, [item[2] for item in items]


def _stretches(items: Sequence[Any]) -> Iterator[tuple[pa.RecordBatch, np.ndarray | None]]:
    """The files of the items, and which of them (int64, ascending; None: all); neighbours in one batch are one."""
    runs: list[list[Any]] = []
    for item in items:
        if runs and item[2].follows(runs[-1][-1][2]):
            runs[-1].append(item)
        else:
            runs.append([item])
    for run in runs:
        batch, rows = run[0][2:4]
        if len(run) == 1:
            yield batch.files, rows
        else:
            whole, first = batch.in_parent
            yield whole.files.slice(first, sum(item[2].files.num_rows for item in run)), None


def check_batch(batch: FileBatch) -> None:
    """Raises PluginContractError unless the batch has the columns that every batch has."""
    for name, kind in (*_REQUIRED.items(), *_OPTIONAL.items()):
        index = batch.files.schema.get_field_index(name)
        if (index < 0 and name in _REQUIRED) or (index >= 0 and batch.files.schema.field(index).type != kind):
            raise PluginContractError(f"FileBatch.files needs a column {name!r} of type {kind}", field=name)
    index = batch.files.schema.get_field_index("partition")
    if index < 0 or not pa.types.is_struct(batch.files.schema.field(index).type):
        raise PluginContractError("FileBatch.files needs a struct column 'partition'", field="partition")
    if batch.keys is not None and len(batch.keys) != batch.files.num_rows:
        raise PluginContractError("FileBatch.keys must have one key a file", field="keys")


def _typed_partition(partition: pa.StructArray, spec: PartitionSpec) -> pa.StructArray:
    """Members in the types of the spec's fields (writers store the days of a transform as int or as date)."""
    wanted = [pa.field(str(f.id), arrow_type(f.type)) for f in spec.fields]
    found = [(f, partition.type.get_field_index(f.name)) for f in wanted]
    if not any(index >= 0 for _, index in found):
        return empty_struct(len(partition))
    if not partition.null_count and partition.type == pa.struct(wanted):
        return partition
    present = [(f, partition.field(index)) for f, index in found if index >= 0]
    arrays = [values if values.type == f.type else pc.cast(values, f.type) for f, values in present]
    return pa.StructArray.from_arrays(arrays, fields=[f for f, _ in present])


def empty_struct(length: int) -> pa.StructArray:
    """Structs without members."""
    return pa.Array.from_buffers(pa.struct([]), length, [None], children=[])


def _sum(counts: pa.Int64Array) -> int | None:
    return None if counts.null_count else pc.sum(counts).as_py() or 0


def _joined(arrays: Sequence[pa.Array | None], lengths: Sequence[int], kind: pa.DataType) -> pa.Array:
    """One array after the other; nulls where there is none."""
    return pa.concat_arrays([pa.nulls(n, kind) if a is None else a for a, n in zip(arrays, lengths, strict=True)])


def _taken(values: Any, rows: np.ndarray | None) -> Any:
    return values if values is None or rows is None else pc.take(values, to_arrow(rows))
