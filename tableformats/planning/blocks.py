"""Blocks: files of one partition spec, out of one or more batches, in the columns that pruning evaluates.

A block holds the partition values, sizes and record counts of its files, and the ranges of those columns that some
predicate named. Small batches share a block, so that a step of planning costs no more for a thousand manifests than
for ten. The other columns of ``FileBatch.files`` stay with the batch and are taken once, for survivors. A block whose
parts have keys may be cached and pruned again, on any thread; ranges that a later predicate needs are added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import ZERO, to_arrow, to_numpy
from ..columnar.packed import Column, pack, unpack
from ..columnar.sparse_rows import SparseRows
from ..dataclass import dataclass
from ..errors import PluginContractError
from ..plugin.files import FileBatch
from ..plugin.partitions import PartitionSpec
from ..pruning.column_ranges import PackedRange, Range
from ..runtime.concurrency import cached_property
from ..schema import Field, arrow_type

__all__ = [
    "TARGET_FILES",
    "BatchOf",
    "BatchRows",
    "Block",
    "BlockBuilder",
    "CachedRange",
    "FreshBlock",
    "ReadBatch",
    "check_batch",
    "empty_struct",
    "take_rows",
]

TARGET_FILES = 16_384
"""Files of a block that is read: what its batches hold beside the block is in memory until it is pruned."""
_REQUIRED = {"path": pa.string(), "size_bytes": pa.int64()}
_OPTIONAL = {"record_count": pa.int64()}


@dataclass
class BatchRows:
    """Rows of a batch, the ``number``-th of the part ``key``, that are the rows ``start`` to ``stop`` of a block.

    ``rows`` (int64[stop - start], ascending) are their numbers in the batch; None: all of its rows.
    """

    key: Hashable
    number: int
    start: int
    stop: int
    rows: np.ndarray | None

    def in_batch(self, rows: np.ndarray) -> np.ndarray:
        """int64: the rows of the batch for these rows of the block, which are among ``start`` to ``stop``."""
        if self.rows is not None and len(rows) == len(self.rows):
            return self.rows
        own = rows - self.start
        return own if self.rows is None else self.rows[own]


BatchOf = Callable[[BatchRows], FileBatch]
"""Gives the batch that rows of a block come from, which may have to be read again."""


@dataclass
class ReadBatch:
    """A batch as it was read: its part, its number there, its live ``rows`` (int64, ascending; None: all) and the
    ``hashes`` of their keys (None: not known)."""

    key: Hashable
    number: int
    batch: FileBatch
    rows: np.ndarray | None
    hashes: np.ndarray | None

    @property
    def n_files(self) -> int:
        """How many files are live."""
        return int(self.batch.files.num_rows) if self.rows is None else len(self.rows)


@dataclass
class CachedRange:
    """The range of one column for some files of a block.

    Attributes
    ----------
    files : SparseRows
        Which files of the block it is for.
    held, held_counts : the range, and the record counts where decoding the bounds gave them; packed in cached blocks
    has_bounds : bool
        Whether more than counts was asked, or came.
    """

    files: SparseRows
    held: Range | PackedRange
    held_counts: Column | None
    has_bounds: bool

    @property
    def range(self) -> Range:
        """The range, unpacked."""
        return self.held if isinstance(self.held, Range) else self.held.unpack()

    @property
    def counts(self) -> pa.Array | None:
        """int64: record counts, unpacked; None: not known."""
        return None if self.held_counts is None else unpack(self.held_counts)

    @property
    def nbytes(self) -> int:
        """Memory that the range holds."""
        held, r = [self.files, self.held_counts], self.held
        held += [r] if isinstance(r, PackedRange) else [r.lower, r.upper, r.may_value, r.may_null, r.may_nan]
        return sum(int(part.nbytes) for part in held if part is not None)

    @staticmethod
    def concat(parts: Sequence[CachedRange]) -> CachedRange:
        """The ranges of several blocks, one after the other; of several only where each is for all files."""
        if len(parts) == 1:
            return parts[0].pack()
        counts = [part.counts for part in parts]
        joined = None if counts[0] is None else pa.concat_arrays(counts)
        range_ = Range.concat([part.range for part in parts])
        return CachedRange(SparseRows(), range_, joined, all(part.has_bounds for part in parts)).pack()

    def pack(self) -> CachedRange:
        """The same in fewer bytes."""
        counts = self.counts
        return replace(self, held=self.range.pack(), held_counts=None if counts is None else pack(counts))


@dataclass
class Block:
    """Files of one partition spec, in columns.

    Attributes
    ----------
    spec : PartitionSpec
    held_partition, held_sizes, held_counts : :attr:`partition`, :attr:`sizes` and :attr:`record_count`, which are
        packed in a block that ``is_cached``
    batches : where the files come from
    hashes : uint64[n], optional
        Hashes of the files' keys, where they have keys.
    ranges : ranges of columns by field; pruning adds those that it decoded
    """

    spec: PartitionSpec
    held_partition: Column
    held_sizes: Column
    held_counts: Column | None
    batches: list[BatchRows]
    hashes: np.ndarray | None = None
    ranges: dict[Field, CachedRange] = field(default_factory=dict)
    is_cached: bool = False

    def __len__(self) -> int:
        return len(self.held_sizes)

    @property
    def partition(self) -> pa.StructArray:
        """The partition values; members are called by field id, in the types of the spec's fields."""
        return unpack(self.held_partition)

    @property
    def sizes(self) -> np.ndarray:
        """int64[n], bytes."""
        return to_numpy(unpack(self.held_sizes))

    @property
    def record_count(self) -> pa.Array | None:
        """int64[n], physical rows; None: not known."""
        return None if self.held_counts is None else unpack(self.held_counts)

    @property
    def known_counts(self) -> pa.Array | None:
        """:attr:`record_count`, or what decoding bounds of all files gave; None: neither is known."""
        if self.held_counts is not None:
            return self.record_count
        every = (known.counts for known in list(self.ranges.values()) if known.files.rows is None)
        return next((counts for counts in every if counts is not None), None)

    @property
    def nbytes(self) -> int:
        """Memory that the block holds."""
        held = [self.held_partition, self.held_sizes, self.held_counts, self.hashes, *(b.rows for b in self.batches)]
        held += list(self.ranges.values())
        return sum(int(column.nbytes) for column in held if column is not None)

    @cached_property
    def totals(self) -> tuple[int, int, int | None]:
        """Files, their bytes, and their rows where all are known."""
        counts = self.record_count
        return len(self), int(self.sizes.sum()), None if counts is None else sum_or_unknown(counts)

    def live_totals(self, live_mask: np.ndarray | None) -> tuple[int, int, int | None]:
        """:attr:`totals` of the files in ``live_mask`` (bool[n]; None: all)."""
        if live_mask is None:
            return self.totals
        counts = self.record_count
        rows = None if counts is None else sum_or_unknown(pc.filter(counts, to_arrow(live_mask)))
        return int(np.count_nonzero(live_mask)), int(self.sizes[live_mask].sum()), rows

    def of_batches(self, rows: np.ndarray) -> Iterator[tuple[BatchRows, np.ndarray]]:
        """The batches of ``rows`` (int64, ascending) that have any, each with those rows."""
        starts = np.array([batch.start for batch in self.batches] + [len(self)])
        cuts = np.searchsorted(rows, starts)
        for batch, first, last in zip(self.batches, cuts[:-1], cuts[1:], strict=True):
            if first < last:
                yield batch, rows[first:last]

    def bounded(self, columns: Sequence[Field]) -> list[Field]:
        """Those of ``columns`` that have ranges. Identity partition columns have none: bounds would add nothing."""
        exact = {f.source_id for f in self.spec.fields if f.transform.name == "identity"}
        return [f for f in columns if not f.type.is_nested and f.id not in exact]

    def missing(
        self,
        ranges: Mapping[Field, CachedRange],
        columns: Sequence[Field],
        counted: Collection[int],
        rows: np.ndarray | None,
    ) -> list[Field]:
        """Those of ``columns`` for which ``ranges`` do not have ``rows`` (None: all); ``counted`` need counts alone."""

        def is_known(f: Field) -> bool:
            found = ranges.get(f)
            return found is not None and (found.has_bounds or f.id in counted) and found.files.contains(rows)

        return [f for f in self.bounded(columns) if not is_known(f)]

    def can_concat(self, other: Block) -> bool:
        """Whether :meth:`concat` takes both: one spec, and the same ranges of all of their files."""
        return (
            self.spec == other.spec
            and (self.held_counts is None) == (other.held_counts is None)
            and (self.hashes is None) == (other.hashes is None)
            and self.ranges.keys() == other.ranges.keys()
            and all(known.files.rows is None for block in (self, other) for known in block.ranges.values())
            and all((r.held_counts is None) == (other.ranges[f].held_counts is None) for f, r in self.ranges.items())
        )

    @staticmethod
    def concat(blocks: Sequence[Block]) -> Block:
        """One block for the cache, packed, of one block or of several that :meth:`can_concat`."""
        first = blocks[0]
        starts = np.cumsum([0, *(len(block) for block in blocks)]).tolist()
        batches = [
            replace(batch, start=batch.start + start, stop=batch.stop + start)
            for block, start in zip(blocks, starts[:-1], strict=True)
            for batch in block.batches
        ]
        return Block(
            first.spec,
            pack(pa.concat_arrays([block.partition for block in blocks])),
            pack(to_arrow(np.concatenate([block.sizes for block in blocks]))),
            None if first.held_counts is None else pack(pa.concat_arrays([block.record_count for block in blocks])),
            batches,
            None if first.hashes is None else np.concatenate([block.hashes for block in blocks]),  # type: ignore[misc]
            {f: CachedRange.concat([block.ranges[f] for block in blocks]) for f in first.ranges},
            is_cached=True,
        )


@dataclass
class FreshBlock:
    """A block as it was read, with the batch of each of ``block.batches``."""

    block: Block
    file_batches: list[FileBatch]

    def __post_init__(self) -> None:
        self._by_id = {id(rows): batch for rows, batch in zip(self.block.batches, self.file_batches, strict=True)}

    def batch_of(self, rows: BatchRows) -> FileBatch:
        """The batch that these rows of the block come from."""
        return self._by_id[id(rows)]


class BlockBuilder:
    """Puts batches together into blocks of about :data:`TARGET_FILES` files, or of one batch that has more."""

    def __init__(self, specs: Mapping[int, PartitionSpec]) -> None:
        self._specs = specs
        self._pending: list[ReadBatch] = []
        self._n_files = 0

    def add(self, read: ReadBatch) -> FreshBlock | None:
        """Add a batch; the block that is full without it, where one is.

        Raises
        ------
        PluginContractError
            A batch that breaks the contract.
        """
        full = None
        if self._pending and (
            self._n_files + read.n_files > TARGET_FILES or _kind(self._pending[0].batch) != _kind(read.batch)
        ):
            full = self.finish()
        self._pending.append(read)
        self._n_files += read.n_files
        return full

    def finish(self) -> FreshBlock | None:
        """The block of the batches that were added last; None: there are none."""
        pending, self._pending, self._n_files = self._pending, [], 0
        return _block(pending, self._specs) if pending else None


def _kind(batch: FileBatch) -> tuple[int, bool]:
    """Batches of one kind may share a block."""
    return batch.spec_id, "record_count" in batch.files.schema.names


def _block(reads: Sequence[ReadBatch], specs: Mapping[int, PartitionSpec]) -> FreshBlock:
    spec_id = reads[0].batch.spec_id
    spec = specs.get(spec_id, PartitionSpec(spec_id, ()))
    batches, start = [], 0
    partitions, sizes, counts = [], [], []
    for read in reads:
        batches.append(BatchRows(read.key, read.number, start, start + read.n_files, read.rows))
        start += read.n_files
    for files, rows in _slices(reads):
        partitions.append(_typed_partition(take_rows(files["partition"], rows), spec))
        sizes.append(to_numpy(pc.fill_null(take_rows(files["size_bytes"], rows), ZERO)))
        counts.append(take_rows(files["record_count"], rows) if "record_count" in files.schema.names else None)
    hashes = [read.hashes for read in reads]
    single = len(sizes) == 1
    known = all(count is not None for count in counts)
    block = Block(
        spec,
        partitions[0] if single else pa.concat_arrays(partitions),
        to_arrow(sizes[0] if single else np.concatenate(sizes)),
        None if not known else counts[0] if single else pa.concat_arrays(counts),
        batches,
        None if any(h is None for h in hashes) else hashes[0] if len(hashes) == 1 else np.concatenate(hashes),  # type: ignore[arg-type]
    )
    return FreshBlock(block, [read.batch for read in reads])


def _slices(reads: Sequence[ReadBatch]) -> Iterator[tuple[pa.RecordBatch, np.ndarray | None]]:
    """The files, and which of them are live (int64, ascending; None: all); neighbouring slices of one batch as one."""
    runs: list[list[ReadBatch]] = []
    for read in reads:
        if runs and read.batch.follows(runs[-1][-1].batch):
            runs[-1].append(read)
        else:
            runs.append([read])
    for run in runs:
        if len(run) == 1:
            yield run[0].batch.files, run[0].rows
        else:
            parent, offset = run[0].batch.in_parent
            yield parent.files.slice(offset, sum(read.batch.files.num_rows for read in run)), None


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


def sum_or_unknown(counts: pa.Int64Array) -> int | None:
    """The sum of counts; None where one of them is unknown."""
    return None if counts.null_count else pc.sum(counts).as_py() or 0


def take_rows(values: pa.Array | None, rows: np.ndarray | None) -> pa.Array | None:
    """``values`` of these rows (int64; None: all); None stays None."""
    return values if values is None or rows is None else pc.take(values, to_arrow(rows))
