"""The pipeline from a scan to its plan: read -> reconcile -> partitions -> bounds -> deletes -> paths.

Every step is a pass over the columns of a block of files; no step makes a Python object per file. Blocks are read and
pruned on several threads, and what a step drops is counted in the report, so that ``explain`` can show the funnel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import repeated, scalar, strings, to_arrow, to_numpy
from ..expressions import tree as ex
from ..plugin.deletes import DeleteFiles
from ..plugin.files import FileBatch, MetadataPart
from ..plugin.partitions import PartitionSpec, partition_members
from ..plugin.report import ScanReport
from ..plugin.snapshot import FormatSnapshot, ReadRequest
from ..plugin.statistics import Statistics
from ..pruning.compiled_predicate import CompiledPredicate
from ..pruning.manifest_filter import PredicateManifestFilter
from ..pruning.relevant_deletes import relevant_deletes
from ..runtime.allocator import quick_allocator
from ..runtime.threads import bundles, in_order, runs
from ..schema import Field, arrow_type
from ..table.scan import Scan, ScanPlan
from .block_cache import Kept, KeptPart, Place, Reconciler, Reread, keys_of
from .blocks import TARGET_FILES, BatchOf, Block, Pruned, Source, blocks_of, check_batch, empty_struct
from .disk_cache import StoredParts
from .record_counts import RecordCounts

__all__ = ["PartReader", "Piece", "Result", "plan_scan", "read_parts", "surviving_paths"]

_FEW_FILES = 256
"""Fewer survivors of a batch are copied into one chunk with others; more share the memory of what is kept."""
_PARQUET = scalar("parquet", pa.string())


def plan_scan(scan: Scan, reader: PartReader | None = None) -> ScanPlan:
    """Plan ``scan``; see :meth:`tableformats.table.scan.Scan.plan`."""
    with quick_allocator():
        return _Planner(scan, reader).plan()


def surviving_paths(scan: Scan, reader: PartReader | None = None) -> pa.StringArray:
    """The stored paths of the files that ``scan`` needs, without a look at their deletes or at the scan's limit.

    Cheap where the snapshot was planned before and what was read is kept. Raises as :func:`plan_scan` does.
    """
    with quick_allocator():
        return _Planner(scan, reader).paths()


def read_parts(
    scan: Scan, keys: Sequence[pa.BinaryArray], parts: Sequence[tuple[int, MetadataPart]]
) -> Iterator[Result]:
    """What a :class:`PartReader` makes of parts in another process, with a scan that was sent there.

    Parameters
    ----------
    keys : those of newer parts, which decide
    parts : each with its place in the snapshot

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError : as the parts are read
    """
    planner = _Planner(scan)
    planner.reconciler.add(keys)
    with quick_allocator():
        yield from planner.read(parts)


class PartReader(Protocol):
    """Reads and prunes parts elsewhere than on threads of this process; ``name`` is for the report."""

    name: str

    def read(
        self, scan: Scan, keys: Sequence[pa.BinaryArray], parts: Sequence[tuple[int, MetadataPart]]
    ) -> Iterator[Result]:
        """What :func:`read_parts` gives for all of the parts, in any order; raises as it does, and the first error."""


@dataclass
class Piece:
    """Survivors of one block: ``order`` is the place of its first part in the snapshot."""

    order: int
    files: pa.Table
    counts: list[pa.Array | tuple[Statistics, np.ndarray]]


@dataclass
class Result:
    """What one job gave: survivors, and the entries of the parts that it read."""

    pieces: list[Piece] = field(default_factory=list)
    report: ScanReport = field(default_factory=ScanReport)
    entries: list[tuple[MetadataPart, KeptPart]] = field(default_factory=list)
    grown: list[MetadataPart] = field(default_factory=list)
    """Parts whose blocks take more memory now."""


class _Reading:
    """Parts that are read together, each with its place in the snapshot; ``reports`` has what reading each counts, and
    ``timed`` how long it takes."""

    def __init__(self, parts: Sequence[tuple[int, MetadataPart]]) -> None:
        self.parts = parts
        self.reports = {part.key: ScanReport() for _, part in parts}
        self.timed = ScanReport()


@dataclass
class _Sorted:
    """The parts of a snapshot with their places in it: what is ``known`` of those that are kept; ``fresh`` ones that
    add keys, each with the number of those that are newer, of all that are ``adding`` some; and others ``below``."""

    adding: list[MetadataPart] = field(default_factory=list)
    known: list[tuple[int, KeptPart]] = field(default_factory=list)
    fresh: list[tuple[int, MetadataPart, int]] = field(default_factory=list)
    below: list[tuple[int, MetadataPart]] = field(default_factory=list)

    @staticmethod
    def of(parts: Sequence[MetadataPart], kept: Kept) -> _Sorted:
        found = _Sorted()
        for order, part in enumerate(parts):
            known = kept.find(part, found.adding)
            if known is not None:
                found.known.append((order, known))
            elif part.adds:
                found.fresh.append((order, part, len(found.adding)))
            else:
                found.below.append((order, part))
            if part.adds:
                found.adding.append(part)
        return found


class _Planner:
    """One planning run: the scan, its compiled predicate, and the report that every step writes to."""

    def __init__(self, scan: Scan, reader: PartReader | None = None) -> None:
        self.scan = scan
        self.reader = reader
        self.snapshot: FormatSnapshot = scan.snapshot.format_snapshot
        self.report = ScanReport(
            format=scan.snapshot.table.format,
            version=self.snapshot.version,
            filter=None if scan.filter == ex.TRUE else str(scan.filter),
            engine=None if reader is None else reader.name,
        )
        self.program = None if scan.filter == ex.TRUE else CompiledPredicate(scan.filter)
        for note in self.program.notes if self.program else ():
            self.report.note(note)
        self.partition_fields = partition_members(self.snapshot.specs)
        self.kept = Kept(scan.snapshot.table.cache, self.snapshot.specs)
        self.reconciler = Reconciler(self.kept.seed)
        cache = scan.snapshot.table.cache
        self.stored = StoredParts(cache.directory, cache.table_key, self.snapshot.specs)

    def plan(self) -> ScanPlan:
        report = self.report
        with report.stage("total"):
            pieces = sorted(self._pieces(), key=lambda piece: piece.order)
            self.snapshot.verify(report)
            survivors = _concat([piece.files for piece in pieces]) if pieces else self._no_files()
            counts = RecordCounts([part for piece in pieces for part in piece.counts])
            del pieces
            with report.stage("deletes"):
                delete_files = self._deletes(survivors)
            survivors, delete_files, counts = self._apply_limit(survivors, delete_files, counts)
        report.files_planned = survivors.num_rows
        report.files_fully_matched = pc.sum(survivors["fully_matched"]).as_py() or 0
        report.files_with_deletes = int(np.count_nonzero(delete_files.offsets[1:] != delete_files.offsets[:-1]))
        report.delete_files = delete_files.files.num_rows
        report.bytes_planned = pc.sum(survivors["size_bytes"]).as_py() or 0
        report.count_planned = counts.total
        return ScanPlan(self.scan, survivors, delete_files, report, counts, self.reader)

    def paths(self) -> pa.StringArray:
        chunks = [chunk for piece in self._pieces() for chunk in piece.files["path"].chunks]
        return pa.concat_arrays(chunks) if chunks else strings([])

    def _pieces(self) -> Iterator[Piece]:
        """The survivors of all parts."""
        program, report = self.program, self.report
        filter_manifests = PredicateManifestFilter(program, self.snapshot.specs) if program else None
        columns = program.columns if program else ()
        with report.stage("metadata"):
            self.request = ReadRequest(columns, report, filter_manifests, read_elsewhere=self.reader is not None)
            parts = self.snapshot.parts(self.request)
        self.kept.look_at(parts)
        sorted_out = _Sorted.of(parts, self.kept)
        for _, kept in sorted_out.known:
            report.add(kept.report)
        for results in in_order(lambda job: list(job()), self._jobs(parts, sorted_out)):
            yield from self._taken(results)
        if sorted_out.below and self.reader is not None:
            yield from self._taken(self.reader.read(self.scan, list(keys_of(sorted_out.adding)), sorted_out.below))
        self.kept.flush()

    def _jobs(self, parts: Sequence[MetadataPart], sorted_out: _Sorted) -> Iterator[Callable[[], Iterator[Result]]]:
        """What any thread can do. Parts that add keys are read and reconciled as the next job is asked for, in their
        order, so that only their pruning is left; what is below them comes when all keys are known."""
        for order, part, newer in sorted_out.fresh:
            with self.report.stage("reconcile"):
                self.reconciler.catch_up(sorted_out.adding[:newer])
            reading = _Reading([(order, part)])
            yield partial(self._results, reading, list(self._blocks(reading)))
        by_key = {part.key: part for part in parts if part.key is not None}
        for order, block, alive in _known_blocks(sorted_out.known):
            yield partial(self._prune_known, order, block, alive, by_key)
        if sorted_out.below and self.reader is None:
            with self.report.stage("reconcile"):
                self.reconciler.catch_up(sorted_out.adding)
            for bundle in _bundles(sorted_out.below):
                yield partial(self.read, bundle)

    def _taken(self, results: Iterable[Result]) -> Iterator[Piece]:
        """The pieces of a job, once what it counted is counted and what it read is kept."""
        for result in results:
            self.report.add(result.report)
            self.kept.gather(result.entries)
            for part in result.grown:
                self.kept.measure(part)
            yield from result.pieces

    # ---- jobs: on any thread --------------------------------------------------------------------------------------

    def read(self, bundle: Sequence[tuple[int, MetadataPart]]) -> Iterator[Result]:
        """Read parts, block by block; the last result has their entries."""
        reading = _Reading(bundle)
        return self._results(reading, self._blocks(reading))

    def _results(self, reading: _Reading, blocks: Iterable[tuple[Block, list[FileBatch]]]) -> Iterator[Result]:
        """Prune the blocks of parts as they come; the last result has the entries of the parts."""
        orders = {part.key: order for order, part in reading.parts}
        places: dict[Hashable, list[Place]] = {key: [] for key in orders}
        for block, batches in blocks:
            result = Result()
            for source in block.sources if self.kept.keeps else ():
                places[source.key].append(Place(block, source.start, source.stop))
            at_hand = {id(source): batch for source, batch in zip(block.sources, batches, strict=True)}
            self._prune(block, None, orders[block.sources[0].key], lambda s, b=at_hand: b[id(s)], None, result)  # type: ignore[misc]
            yield result
        self.stored.write(part for _, part in reading.parts)
        last = Result(report=reading.timed)
        for report in reading.reports.values():
            last.report.add(report)
        last.entries = [
            (part, KeptPart(places[part.key], reading.reports[part.key]))
            for _, part in reading.parts
            if part.key is not None
        ]
        yield last

    def _blocks(self, reading: _Reading) -> Iterator[tuple[Block, list[FileBatch]]]:
        return blocks_of(self._batches(reading), self.snapshot.specs)

    def _batches(
        self, reading: _Reading
    ) -> Iterator[tuple[Hashable, int, FileBatch, np.ndarray | None, np.ndarray | None]]:
        checked = None
        for part in _sharing(reading.parts):
            batches = iter(self.stored.read(part, reading.reports[part.key], self.reconciler.has_keys))
            number = 0
            while True:
                with reading.timed.stage("metadata"):
                    batch = next(batches, None)
                if batch is None:
                    break
                whole, _ = batch.in_parent
                if whole is not checked:
                    check_batch(whole)
                    checked = whole
                with reading.timed.stage("reconcile"):
                    rows, hashes = self.reconciler.live(batch)
                if batch.row_errors is not None:
                    batch.row_errors.raise_if_live(rows)
                yield part.key, number, batch, rows, hashes
                number += 1
            self.reconciler.read(part)

    def _prune_known(
        self, order: int, block: Block, alive: np.ndarray | None, parts: dict[Hashable, MetadataPart]
    ) -> Iterator[Result]:
        result = Result()
        before = block.nbytes
        self._prune(block, alive, order, Reread(parts), Reread(parts), result)
        if block.nbytes != before:  # it learned the ranges of further columns
            result.grown = [parts[source.key] for source in block.sources if source.key in parts]
        yield result

    def _prune(
        self,
        block: Block,
        alive: np.ndarray | None,
        order: int,
        batch_of: BatchOf,
        counting: Reread | None,
        result: Result,
    ) -> None:
        """Add to ``result`` what survives of a block; ``counting`` gives batches to count rows of, later."""
        spec = self.snapshot.specs.get(block.spec.id, block.spec)
        pruned = block.prune(self.program, spec, alive, batch_of, result.report)
        if len(pruned.rows):
            with result.report.stage("metadata"):
                files = self._files(pruned, spec, batch_of)
                counts = [pruned.counts] if pruned.counts is not None else _uncounted(pruned, batch_of, counting)
            with result.report.stage("paths"):
                for paths in files["path"].chunks:
                    self.snapshot.check_paths(paths)
            result.pieces.append(Piece(order, files, counts))

    def _files(self, pruned: Pruned, spec: PartitionSpec, batch_of: BatchOf) -> pa.Table:
        """The survivors of a block with all of their columns."""
        block, rows = pruned.block, pruned.rows
        are_most = 2 * len(rows) > len(block)
        taken = self.kept.files(block.of_sources(rows), batch_of, are_most)
        table = _concat([pa.Table.from_batches([files]) for files in taken])
        if len(rows) < _FEW_FILES * len(taken):
            table = table.combine_chunks()
        partition = block.partition if len(rows) == len(block) else pc.take(block.partition, to_arrow(rows))
        table = table.append_column("partition", _widen(partition, self.partition_fields))
        table = table.append_column("spec_id", repeated(scalar(spec.id, pa.int32()), len(rows)))
        return _with_formats(table).append_column("fully_matched", to_arrow(pruned.matched))

    # ---- the end --------------------------------------------------------------------------------------------------

    def _deletes(self, survivors: pa.Table) -> DeleteFiles:
        found = self.snapshot.attach_deletes(survivors, self.request)
        return found if self.program is None else relevant_deletes(self.program, found)

    def _apply_limit(
        self, survivors: pa.Table, delete_files: DeleteFiles, counts: RecordCounts
    ) -> tuple[pa.Table, DeleteFiles, RecordCounts]:
        """Drop the files behind those whose rows are known to fill the limit."""
        limit = self.scan.limit
        if limit is None or not survivors.num_rows:
            return survivors, delete_files, counts
        certain = (np.diff(delete_files.offsets) == 0) & to_numpy(survivors["fully_matched"])
        needed = counts.needed(limit, certain)
        if needed >= survivors.num_rows:
            return survivors, delete_files, counts
        self.report.note(f"limit {limit} is filled by the first {needed} of {survivors.num_rows} files")
        survivors = survivors.slice(0, needed)
        return survivors, self._deletes(survivors), counts.first(needed)

    def _no_files(self) -> pa.Table:
        columns: dict[str, pa.Array] = {"path": pa.nulls(0, pa.string()), "size_bytes": pa.nulls(0, pa.int64())}
        columns["partition"] = _widen(empty_struct(0), self.partition_fields)
        columns["spec_id"] = pa.nulls(0, pa.int32())
        columns["file_format"] = pa.nulls(0, pa.string())
        columns["fully_matched"] = pa.nulls(0, pa.bool_())
        return pa.table(columns)


class _Uncounted(Statistics):
    """A batch's statistics where the batch must be read again for them."""

    def __init__(self, source: Source, batch_of: BatchOf) -> None:
        self._source = source
        self._batch_of = batch_of

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Any:
        raise NotImplementedError("only rows are counted")

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        statistics = self._batch_of(self._source).statistics
        return super().record_counts(rows) if statistics is None else statistics.record_counts(rows)


def _uncounted(pruned: Pruned, batch_of: BatchOf, counting: Reread | None) -> list[Any]:
    """The statistics that know the survivors' record counts, with the rows of each."""
    found: list[Any] = []
    for source, own in pruned.block.of_sources(pruned.rows):
        if counting is not None:
            found.append((_Uncounted(source, counting), source.places(own)))
            continue
        statistics = batch_of(source).statistics
        found.append(pa.nulls(len(own), pa.int64()) if statistics is None else (statistics, source.places(own)))
    return found


def _known_blocks(known: Sequence[tuple[int, KeptPart]]) -> Iterator[tuple[int, Block, np.ndarray | None]]:
    """The blocks of these parts: (order of the first part, block, bool[n] files that are in the snapshot or None)."""
    blocks: dict[int, tuple[int, Block, list[Place]]] = {}
    for order, kept in known:
        for place in kept.places:
            blocks.setdefault(id(place.block), (order, place.block, []))[2].append(place)
    for order, block, places in blocks.values():
        if all(p.alive is None for p in places) and sum(p.stop - p.start for p in places) == len(block):
            yield order, block, None
            continue
        alive = np.zeros(len(block), bool)
        for place in places:
            alive[place.start : place.stop] = True if place.alive is None else place.alive
        yield order, block, alive


def _sharing(bundle: Sequence[tuple[int, MetadataPart]]) -> Iterator[MetadataPart]:
    """The same parts; those that make a block together share the work of being read where they can."""
    for run in runs(bundle, lambda part: part[1].n_files or TARGET_FILES, TARGET_FILES):
        parts = [part for _, part in run]
        together = parts[0].read_many
        if len(parts) > 1 and together is not None and all(part.read_many is not None for part in parts):
            yield from together(parts)
        else:
            yield from parts


def _bundles(parts: Sequence[tuple[int, MetadataPart]]) -> Iterator[list[tuple[int, MetadataPart]]]:
    """Runs of parts that make a block together; one of which the files are not known, or that is not kept, alone."""
    return bundles(parts, lambda part: None if part[1].key is None else part[1].n_files, TARGET_FILES)


def _with_formats(files: pa.Table) -> pa.Table:
    """``files`` with the format of each: Parquet where a batch did not say."""
    at = files.schema.get_field_index("file_format")
    if at < 0:
        return files.append_column("file_format", repeated(_PARQUET, files.num_rows))
    return files.set_column(at, "file_format", pc.fill_null(files.column(at), _PARQUET))


def _concat(tables: Sequence[pa.Table]) -> pa.Table:
    """One table; columns that some lack are null there."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables[1:]):
        return pa.concat_tables(tables)
    return pa.concat_tables(tables, promote_options="permissive")


def _widen(partition: pa.StructArray, wanted: Sequence[Field]) -> pa.StructArray:
    """A member for every partition field of the table; NULL where the file's spec lacks it."""
    if not wanted:
        return empty_struct(len(partition))
    arrays, fields = [], []
    for f in wanted:
        kind = arrow_type(f.type)
        index = partition.type.get_field_index(str(f.id))
        arrays.append(partition.field(index) if index >= 0 else pa.nulls(len(partition), kind))
        fields.append(pa.field(str(f.id), kind))
    return pa.StructArray.from_arrays(arrays, fields=fields)
