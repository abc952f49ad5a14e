"""The pipeline from a request to its plan: read -> reconcile -> prune -> attach deletes -> plan.

Each stage is a pass over the columns of a block of files; no stage makes a Python object per file.

- *read*: parts of the metadata that the block cache lacks, as batches of columns;
- *reconcile*: the live rows of each batch, newest batch first;
- *prune*: batches become blocks, blocks lose the files that cannot match, survivors get all of their columns;
- *attach deletes*: to the survivors of all blocks, at the end.

Jobs on several threads read and prune; their results are taken in the order of the snapshot. What a stage drops is
counted in the report, so that ``explain`` can show the funnel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from .. import expressions as ex
from ..columnar import compute as pc
from ..columnar.arrays import repeated, scalar, strings, to_arrow, to_numpy
from ..errors import TableFormatsError
from ..io.path_policy import SharedPrefix
from ..plugin.deletes import DeleteFiles
from ..plugin.files import MetadataPart
from ..plugin.partitions import partition_members
from ..plugin.report import ScanReport
from ..plugin.snapshot import FormatSnapshot, ReadRequest
from ..pruning.compiled_predicate import CompiledPredicate
from ..pruning.manifest_filter import PredicateManifestFilter
from ..pruning.relevant_deletes import relevant_deletes
from ..runtime.allocator import quick_allocator
from ..runtime.boundary import boundary
from ..runtime.threads import bundles, in_order, runs
from ..schema import Field, arrow_type
from .batch_reloader import BatchReloader
from .block_pruning import BlockContext, PruneResult, prune_block
from .blocks import (
    TARGET_FILES,
    BatchRows,
    Block,
    BlockBuilder,
    FreshBlock,
    ReadBatch,
    check_batch,
    empty_struct,
    take_rows,
)
from .cache.block_cache import BlockCache, BlockSlice, CachedPart, cached_blocks
from .cache.disk_cache import DiskPartCache
from .jobs import (
    Evidence,
    JobResult,
    NumberedPart,
    PartClassification,
    PartReadContext,
    PartReader,
    Survivors,
    Witness,
)
from .plan import FilePlan
from .reconciler import Reconciler, keys_of
from .record_counts import RecordCounts
from .request import ScanRequest

__all__ = ["plan_scan", "prune_again", "prune_parts", "surviving_paths", "visit_blocks"]

_FEW_FILES = 256
"""Fewer survivors of a batch are copied into one chunk with others; more share the memory of what is cached."""
_MOST_COUNTED = 20_000
"""Files of a table whose rows are counted for the report: some hundredths of a second."""
_PARQUET = scalar("parquet", pa.string())

Counts = list["pa.Array | tuple[object, np.ndarray]"]
Visitor = Callable[[BlockContext, Callable[[np.ndarray], pa.Table]], object]
"""Gets a block, and what gives rows of it (int64, ascending) with all of their columns."""


def plan_scan(scan: ScanRequest, reader: PartReader | None = None, *, every_delete: bool = False) -> FilePlan:
    """Plan ``scan``; ``reader`` reads the parts that add no keys, in the place of threads of this process.

    ``every_delete``: for who reads rows of the files that are not rows of the scan, too. Otherwise deletes are left out
    that only delete rows for which the filter is not TRUE.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError, PathNotAllowedError
        As the metadata is read.
    """
    with quick_allocator(), boundary("the table's metadata", scan.snapshot.location):
        predicate = _compiled(scan)
        evidence = None if predicate is None or reader is not None else Evidence(predicate)
        planner = _Planner(scan, reader, predicate, evidence)
        planner.every_delete = every_delete
        return planner.plan(evidence)


def _compiled(scan: ScanRequest) -> CompiledPredicate | None:
    return None if scan.filter == ex.TRUE else CompiledPredicate(scan.filter, scan.nan == "absent")


def _rows_in_total(scan: ScanRequest) -> int | None:
    """The physical rows of all files of the snapshot of ``scan``; None where some file does not say.

    Reads the statistics of files that planning dropped without them.
    """
    try:
        return plan_scan(ScanRequest.all_rows(scan.snapshot.reattached())).report.rows_planned
    except TableFormatsError:
        return None  # a file that the scan does not need is damaged


def surviving_paths(scan: ScanRequest, reader: PartReader | None = None) -> pa.StringArray:
    """string[n]: the stored paths of the files that ``scan`` needs, before its deletes and its limit.

    Cheap where the snapshot was planned before and its metadata is cached. Raises as :func:`plan_scan` does.
    """
    with quick_allocator(), boundary("the table's metadata", scan.snapshot.location):
        planner = _Planner(scan, reader)
        with planner.reads_ahead:
            chunks = [chunk for found in planner.survivors() for chunk in found.files["path"].chunks]
        return pa.concat_arrays(chunks) if chunks else strings([])


def prune_parts(
    scan: ScanRequest, keys: Sequence[pa.BinaryArray], parts: Sequence[NumberedPart]
) -> Iterator[JobResult]:
    """What a :class:`PartReader` does with parts in another process, for a request that was sent there.

    Parameters
    ----------
    scan : ScanRequest
    keys : sequence of binary arrays
        The keys of newer parts, which decide.
    parts : sequence of (position in the snapshot, MetadataPart)

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError
        As the parts are read.
    """
    planner = _Planner(scan)
    planner.reconciler.add(keys)
    with quick_allocator(), boundary("the table's metadata", scan.snapshot.location):
        yield from planner.read_and_prune(parts)


def visit_blocks(scan: ScanRequest, visitor: Visitor) -> None:
    """Read the metadata of ``scan`` as a plan does, and show each block to ``visitor`` in the place of pruning it.

    No manifest is skipped, and the limit is ignored. ``visitor`` is called on any thread. It may ask for bounds of the
    columns of the filter. Raises as :func:`plan_scan` does.
    """
    planner = _Planner(scan)
    planner.request_for_parts.manifest_filter = None
    planner.visit(visitor)


def prune_again(scan: ScanRequest, predicate: CompiledPredicate, witness: Witness) -> ScanReport:
    """Tell ``witness`` what a plan of ``scan`` is decided by. ``predicate`` is its compiled filter.

    Cheap where the snapshot was planned before and its metadata is cached. Raises as :func:`plan_scan` does.
    """
    planner = _Planner(scan, None, predicate, witness)
    planner.visit(lambda context, _: prune_block(context, predicate, ScanReport(), witness))
    return planner.report


class _Planner:
    """One planning run: the request, its compiled predicate, the caches, and the report that every stage counts in."""

    def __init__(
        self,
        scan: ScanRequest,
        reader: PartReader | None = None,
        predicate: CompiledPredicate | None = None,
        witness: Witness | None = None,
    ) -> None:
        """``predicate``: the filter, where it is compiled already. ``witness`` is told what pruning decides by."""
        handle = scan.snapshot
        self.every_delete = False
        self.visitor: Visitor | None = None
        self.scan = scan
        self.reader = reader
        self.storage = handle.storage
        self.reads_ahead = ExitStack()
        self.snapshot: FormatSnapshot = handle.format_snapshot
        self.predicate = _compiled(scan) if predicate is None else predicate
        self.witness = witness
        self.report = ScanReport(
            format=handle.table_format,
            version=self.snapshot.version,
            filter=None if self.predicate is None else str(scan.filter),
            engine=None if reader is None else reader.name,
        )
        for note in self.predicate.notes if self.predicate else ():
            self.report.note(note)
        specs = self.snapshot.specs
        self.request = ReadRequest(
            self.predicate.columns if self.predicate else (),
            self.report,
            PredicateManifestFilter(self.predicate, specs) if self.predicate else None,
            read_elsewhere=reader is not None,
        )
        self.request_for_parts = self.request
        if self.predicate and witness is not None:
            watched = PredicateManifestFilter(self.predicate, specs, witness.add_groups)
            self.request_for_parts = replace(self.request, manifest_filter=watched)
        self.partition_fields = partition_members(specs)
        self.block_cache = BlockCache(handle.cache, specs)
        self.disk_cache = DiskPartCache(handle.cache.directory, handle.cache.table_key, specs)
        self.reconciler = Reconciler(self.block_cache.seed)

    def plan(self, evidence: Evidence | None) -> FilePlan:
        report = self.report
        before = self.storage.meter.now()
        with report.stage("total"), self.reads_ahead:
            found = sorted(self.survivors(), key=lambda survivors: survivors.order)
            self.snapshot.verify(report)
            survivors = _concat([some.files for some in found]) if found else self._no_files()
            counts = RecordCounts([part for some in found for part in some.counts])
            prefix = _common(some.prefix for some in found)
            del found
            with report.stage("deletes"):
                delete_files = self._attach_deletes(survivors)
            survivors, delete_files, counts = self._apply_limit(survivors, delete_files, counts)
        sent = (after - earlier for earlier, after in zip(before, self.storage.meter.now(), strict=True))
        report.requests, report.request_bytes, report.longest_chain = sent
        report.opening_requests, report.opening_bytes = self.scan.snapshot.opening
        report.files_planned = survivors.num_rows
        report.files_fully_matched = pc.sum(survivors["fully_matched"]).as_py() or 0
        report.files_with_deletes = int(np.count_nonzero(delete_files.offsets[1:] != delete_files.offsets[:-1]))
        report.delete_files = delete_files.files.num_rows
        report.bytes_planned = pc.sum(survivors["size_bytes"]).as_py() or 0
        report.count_planned = counts.total
        is_small = report.files_total <= _MOST_COUNTED and not report.manifests_uncounted
        if self.reader is None and self.block_cache.is_enabled and is_small:
            report.count_total = partial(_rows_in_total, self.scan)
        return FilePlan(self.scan, survivors, delete_files, report, counts, self.reader, prefix, evidence)

    def visit(self, visitor: Visitor) -> None:
        """Show each block to ``visitor`` in the place of pruning it."""
        self.visitor = visitor
        with quick_allocator(), boundary("the table's metadata", self.scan.snapshot.location):
            for _ in self.survivors():
                pass

    def survivors(self) -> Iterator[Survivors]:
        """The survivors of all parts, block by block, in any order."""
        with self.report.stage("metadata"):
            parts = self.snapshot.parts(self.request_for_parts)
        self.block_cache.bind_snapshot(parts)
        classified = PartClassification.of(parts, self.block_cache)
        for _, entry in classified.cached:
            self.report.add(entry.report)
        self._read_ahead(classified)
        for results in in_order(lambda job: list(job()), self._jobs(parts, classified)):
            yield from self._collect(results)
        if classified.below and self.reader is not None:
            keys = list(keys_of(classified.adding))
            yield from self._collect(self.reader.read(self.scan, keys, classified.below))
        self.block_cache.commit_pending()

    def _read_ahead(self, classified: PartClassification) -> None:
        """Ask the store for what the parts will be read from, all at once, until :attr:`reads_ahead` is closed."""
        if self.storage.is_local or self.reader is not None or self.disk_cache.is_enabled:
            return
        parts = [part for _, part, _ in classified.fresh] + [part for _, part in classified.below]
        files = [file for part in parts for file in part.files]
        self.reads_ahead.enter_context(
            self.storage.reading_ahead([*files, *self.snapshot.files_of_deletes(self.request)])
        )

    def _jobs(
        self, parts: Sequence[MetadataPart], classified: PartClassification
    ) -> Iterator[Callable[[], Iterator[JobResult]]]:
        """Jobs for any thread, the first ones first.

        Parts that add keys are read and reconciled here, one by one and in order, as the next job is asked for; only
        their pruning is left for a thread. Parts below them come when all keys are known.
        """
        for order, part, newer in classified.fresh:
            with self.report.stage("reconcile"):
                self.reconciler.catch_up(classified.adding[:newer])
            context = PartReadContext([(order, part)])
            yield partial(self._prune_fresh, context, list(self._read(context)))
        by_key = {part.key: part for part in parts if part.key is not None}
        for order, block, live_mask in cached_blocks(classified.cached):
            yield partial(self._prune_cached, order, block, live_mask, by_key)
        if classified.below and self.reader is None:
            with self.report.stage("reconcile"):
                self.reconciler.catch_up(classified.adding)
            for bundle in _bundles(classified.below):
                yield partial(self.read_and_prune, bundle)

    def _collect(self, results: Iterable[JobResult]) -> Iterator[Survivors]:
        """The survivors that jobs found, once their counts are added and their blocks are handed to the cache."""
        for result in results:
            self.report.add(result.report)
            self.block_cache.add_pending(result.entries)
            for part in result.grown:
                self.block_cache.refresh_size(part)
            yield from result.survivors

    # ---- read and reconcile -----------------------------------------------------------------------------------------

    def read_and_prune(self, parts: Sequence[NumberedPart]) -> Iterator[JobResult]:
        """Read parts, and prune them block by block. On any thread. The last result has their cache entries."""
        context = PartReadContext(parts)
        return self._prune_fresh(context, self._read(context))

    def _read(self, context: PartReadContext) -> Iterator[FreshBlock]:
        """The live files of the parts, as blocks. Raises as the parts do, and for batches that break the contract."""
        builder = BlockBuilder(self.snapshot.specs)
        checked = None
        for part in _sharing_reads(context.parts):
            cached = self.disk_cache.cached(part, self.reconciler.has_keys)
            batches = iter(cached.read(context.reports[part.key]))
            for number in range(2**63):
                with context.timed.stage("metadata"), boundary("the table's metadata", self.scan.snapshot.location):
                    batch = next(batches, None)
                if batch is None:
                    break
                parent, _ = batch.in_parent
                if parent is not checked:
                    check_batch(parent)
                    checked = parent
                with context.timed.stage("reconcile"):
                    rows, hashes = self.reconciler.live(batch)
                full = builder.add(ReadBatch(part.key, number, batch, rows, hashes))
                if full is not None:
                    yield full
            self.reconciler.finish(part)
        last = builder.finish()
        if last is not None:
            yield last

    # ---- prune ------------------------------------------------------------------------------------------------------

    def _prune_fresh(self, context: PartReadContext, blocks: Iterable[FreshBlock]) -> Iterator[JobResult]:
        """Prune the blocks of parts that were read; the last result has the cache entries of the parts."""
        slices: dict[Hashable, list[BlockSlice]] = {key: [] for key in context.orders}
        for fresh in blocks:
            block = fresh.block
            for rows in block.batches if self.block_cache.is_enabled else ():
                slices[rows.key].append(BlockSlice(block, rows.start, rows.stop))
            own = self._context(block, None, fresh)
            yield self._prune(own, context.orders[block.batches[0].key])
        self.disk_cache.write(part for _, part in context.parts)
        last = JobResult(report=context.timed)
        for report in context.reports.values():
            last.report.add(report)
        last.entries = [
            (part, CachedPart(slices[part.key], context.reports[part.key]))
            for _, part in context.parts
            if part.key is not None
        ]
        yield last

    def _prune_cached(
        self, order: int, block: Block, live_mask: np.ndarray | None, parts: Mapping[Hashable, MetadataPart]
    ) -> Iterator[JobResult]:
        """Prune a block of the cache; batches are read again where more of them is needed."""
        before = list(block.ranges.values())
        reloader, later = BatchReloader(parts), BatchReloader(parts)
        context = self._context(block, live_mask, reloader)
        result = self._prune(context, order, later)
        after = list(block.ranges.values())
        if len(after) != len(before) or any(map(operator.is_not, after, before)):  # ranges were added, or replaced
            result.grown = [parts[rows.key] for rows in block.batches if rows.key in parts]
        yield result

    def _context(self, block: Block, live_mask: np.ndarray | None, batches: FreshBlock | BatchReloader) -> BlockContext:
        spec = self.snapshot.specs.get(block.spec.id, block.spec)
        if isinstance(batches, FreshBlock):
            return BlockContext(block, spec, live_mask, batches.batch_of)
        return BlockContext(block, spec, live_mask, lambda rows: batches.batch(rows.key, rows.number))

    def _prune(self, context: BlockContext, order: int, later: BatchReloader | None = None) -> JobResult:
        """The survivors of a block. Record counts that are not known now are asked of its batches, or of ``later``."""
        result = JobResult()
        if self.visitor is not None:
            self.visitor(context, partial(self._files_of, context))
            return result
        pruned = prune_block(context, self.predicate, result.report, self.witness)
        if not len(pruned.rows):
            return result
        with result.report.stage("metadata"):
            files = self._files(context, pruned)
            counts = [pruned.counts] if pruned.counts is not None else _deferred_counts(context, pruned, later)
        with result.report.stage("paths"):
            prefix = _common(self.snapshot.check_paths(paths) for paths in files["path"].chunks)
        result.survivors.append(Survivors(order, files, counts, prefix))
        return result

    def _files(self, context: BlockContext, pruned: PruneResult) -> pa.Table:
        """The survivors of a block with all of their columns."""
        return self._files_of(context, pruned.rows).append_column("fully_matched", to_arrow(pruned.matched))

    def _files_of(self, context: BlockContext, rows: np.ndarray) -> pa.Table:
        """Rows (int64, ascending) of a block with all of the columns that do not depend on the filter."""
        block = context.block
        are_most = 2 * len(rows) > len(block)
        taken = self.block_cache.file_columns.take(block.of_batches(rows), context.batch_of, are_most)
        table = _concat([pa.Table.from_batches([files]) for files in taken])
        if len(rows) < _FEW_FILES * len(taken):
            table = table.combine_chunks()
        partition = take_rows(block.partition, None if len(rows) == len(block) else rows)
        table = table.append_column("partition", _widen(partition, self.partition_fields))
        table = table.append_column("spec_id", repeated(scalar(context.spec.id, pa.int32()), len(rows)))
        return _with_formats(table)

    # ---- attach deletes, apply the limit ----------------------------------------------------------------------------

    def _attach_deletes(self, survivors: pa.Table) -> DeleteFiles:
        found = self.snapshot.attach_deletes(survivors, self.request)
        if self.predicate is None or self.every_delete:
            return found
        return relevant_deletes(self.predicate, found)

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
        return survivors, self._attach_deletes(survivors), counts.first(needed)

    def _no_files(self) -> pa.Table:
        columns: dict[str, pa.Array] = {"path": pa.nulls(0, pa.string()), "size_bytes": pa.nulls(0, pa.int64())}
        columns["partition"] = _widen(empty_struct(0), self.partition_fields)
        columns["spec_id"] = pa.nulls(0, pa.int32())
        columns["file_format"] = pa.nulls(0, pa.string())
        columns["fully_matched"] = pa.nulls(0, pa.bool_())
        return pa.table(columns)


def _deferred_counts(context: BlockContext, pruned: PruneResult, later: BatchReloader | None) -> list:
    """For the survivors of each batch, the statistics that know their record counts, with the rows to ask for.

    ``later``: reads batches again when counts are asked for; None: the batches are at hand.
    """

    def counts_of(batch: BatchRows, own: np.ndarray) -> object:
        if later is not None:
            return later.statistics(batch.key, batch.number), batch.in_batch(own)
        statistics = context.batch_of(batch).statistics
        return pa.nulls(len(own), pa.int64()) if statistics is None else (statistics, batch.in_batch(own))

    return [counts_of(batch, own) for batch, own in context.block.of_batches(pruned.rows)]


def _sharing_reads(parts: Sequence[NumberedPart]) -> Iterator[MetadataPart]:
    """The same parts; those that make a block together share the work of being read where they can."""
    for run in runs(parts, lambda part: part[1].n_files or TARGET_FILES, TARGET_FILES):
        neighbours = [part for _, part in run]
        read_many = neighbours[0].read_many
        if len(neighbours) > 1 and read_many is not None and all(p.read_many is not None for p in neighbours):
            yield from read_many(neighbours)
        else:
            yield from neighbours


def _bundles(parts: Sequence[NumberedPart]) -> Iterator[list[NumberedPart]]:
    """Runs of parts that make a block together; a part of unknown size, or that is not cached, alone."""
    return bundles(parts, lambda part: None if part[1].key is None else part[1].n_files, TARGET_FILES)


def _with_formats(files: pa.Table) -> pa.Table:
    """``files`` with the format of each: Parquet where a batch did not say."""
    index = files.schema.get_field_index("file_format")
    if index < 0:
        return files.append_column("file_format", repeated(_PARQUET, files.num_rows))
    return files.set_column(index, "file_format", pc.fill_null(files.column(index), _PARQUET))


def _common(prefixes: Iterable[SharedPrefix | None]) -> SharedPrefix | None:
    """The prefix that all have, if they have the same one. All are asked for."""
    found = set(prefixes)
    return found.pop() if len(found) == 1 else None


def _concat(tables: Sequence[pa.Table]) -> pa.Table:
    """One table; columns that some lack are null there."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables):
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
