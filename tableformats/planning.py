"""The pipeline from a scan to its plan: read -> reconcile -> partitions -> bounds -> deletes -> paths.

Every step is a pass over the columns of one batch of files; no step makes a Python object per file. What a step
drops is counted in the report, so that ``explain`` can show the funnel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import expressions as ex
from .errors import PluginContractError
from .plugin.base import (
    Bounds,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    PartitionSpec,
    ReadRequest,
    deletes_type,
    partition_members,
)
from .pruning import ALL, NONE, ManifestFilter, Program
from .record_counts import RecordCounts
from .relevant_deletes import relevant_deletes
from .report import ScanReport
from .scan import Scan, ScanPlan
from .schema import Field, arrow_type

__all__ = ["plan_scan", "public_files"]

_REQUIRED = {"path": pa.string(), "size_bytes": pa.int64()}
_OPTIONAL = {"record_count": pa.int64()}


def plan_scan(scan: Scan) -> ScanPlan:
    """Plan ``scan``; see :meth:`tableformats.scan.Scan.plan`."""
    return _Planner(scan).plan()


class _Planner:
    """One planning run: the scan, its compiled predicate, and the report that every step writes to."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.snapshot: FormatSnapshot = scan.snapshot.format_snapshot
        self.report = ScanReport(
            format=scan.snapshot.table.format,
            version=self.snapshot.version,
            filter=None if scan.filter == ex.TRUE else str(scan.filter),
        )
        self.program = None if scan.filter == ex.TRUE else Program(scan.filter)
        for note in self.program.notes if self.program else ():
            self.report.note(note)
        self.partition_fields = partition_members(self.snapshot.specs)
        self._counts: list[Any] = []  # parts of RecordCounts, one for each batch of survivors

    def plan(self) -> ScanPlan:
        report = self.report
        with report.stage("total"):
            kept = list(self._surviving_batches())
            self.snapshot.verify(report)
            survivors = pa.concat_tables(kept, promote_options="permissive") if kept else self._no_files()
            survivors = survivors.combine_chunks()
            with report.stage("deletes"):
                delete_files = self.snapshot.attach_deletes(survivors)
                if self.program is not None:
                    delete_files = relevant_deletes(self.program, delete_files)
            if delete_files.read is not None:
                report.add_metadata(delete_files.read)
            counts = RecordCounts(self._counts)
            survivors, delete_files, counts = self._apply_limit(survivors, delete_files, counts)
            with report.stage("paths"):
                paths = self.snapshot.resolve_paths(_flat(survivors["path"]))
        report.files_planned = survivors.num_rows
        report.files_fully_matched = pc.sum(survivors["fully_matched"]).as_py() or 0
        report.files_with_deletes = int(np.count_nonzero(np.diff(delete_files.offsets)))
        report.delete_files = delete_files.files.num_rows
        report.bytes_planned = pc.sum(survivors["size_bytes"]).as_py() or 0
        report.count_planned = lambda: _total(counts.array)
        return ScanPlan(self.scan, survivors, delete_files, paths, report, counts)

    def _surviving_batches(self) -> Iterator[pa.Table]:
        program, report = self.program, self.report
        filter_manifests = ManifestFilter(program, self.snapshot.specs) if program else None
        request = ReadRequest(program.columns if program else (), report, filter_manifests)
        batches = iter(self.snapshot.read(request))
        seen = None
        while True:
            with report.stage("metadata"):
                batch = next(batches, None)
            if batch is None:
                return
            _check_batch(batch)
            rows = None
            if batch.keys is not None:
                with report.stage("reconcile"):
                    from ._core.filekeys import FileKeySet

                    seen = FileKeySet() if seen is None else seen
                    rows = _live_rows(batch, seen)
            table = self._prune(batch, rows)
            if table.num_rows:
                yield table

    def _prune(self, batch: FileBatch, rows: np.ndarray | None) -> pa.Table:
        """The rows of a batch that may match; ``rows`` are its live rows (None: all)."""
        report = self.report
        files = batch.files if rows is None else batch.files.take(pa.array(rows))
        spec = self.snapshot.specs.get(batch.spec_id, PartitionSpec(batch.spec_id, ()))
        report.files_total += files.num_rows
        report.bytes_total += pc.sum(files["size_bytes"]).as_py() or 0
        counts = files["record_count"] if "record_count" in files.schema.names else None
        listed = None if counts is None else _total(counts)
        report.rows_listed = None if listed is None or report.rows_listed is None else report.rows_listed + listed
        partition = _typed_partition(files["partition"], spec)
        matched = np.ones(files.num_rows, bool)
        rows = np.arange(files.num_rows) if rows is None else rows
        if self.program is not None and files.num_rows:
            if self.program.uses_partitions(spec):
                with report.stage("partitions"):
                    verdicts = self.program.partition_verdicts(spec, partition)
                    kept = np.flatnonzero(verdicts != NONE)
                    report.files_dropped_by_partition += files.num_rows - len(kept)
                    files, partition, rows = _take(files, partition, rows, kept)
            with report.stage("bounds"):
                files, partition, rows, matched, counts = self._prune_by_bounds(batch, spec, files, partition, rows)
        if files.num_rows:
            if counts is None and batch.statistics is None:
                counts = pa.nulls(files.num_rows, pa.int64())
            self._counts.append((batch.statistics, rows) if counts is None else counts)
        table = pa.Table.from_batches([files])
        if "record_count" in table.column_names:
            table = table.drop_columns(["record_count"])
        table = table.set_column(
            table.column_names.index("partition"), "partition", _widen(partition, self.partition_fields)
        )
        table = table.append_column("spec_id", pa.array(np.full(table.num_rows, batch.spec_id, np.int32)))
        if "file_format" not in table.column_names:
            table = table.append_column("file_format", pa.repeat(pa.scalar("parquet"), table.num_rows))
        return table.append_column("fully_matched", pa.array(matched))

    def _prune_by_bounds(
        self, batch: FileBatch, spec: PartitionSpec, files: pa.RecordBatch, partition: pa.Array, rows: Any
    ) -> tuple[pa.RecordBatch, pa.Array, np.ndarray, np.ndarray, pa.Array | None]:
        """What is left, which of it matches in whole, and its record counts where they are known by now."""
        assert self.program is not None
        bounds = Bounds()
        if batch.statistics is not None and self.program.columns and files.num_rows:
            bounds = batch.statistics.bounds(self.program.columns, rows)
        counts = files["record_count"] if "record_count" in files.schema.names else bounds.record_count
        known = counts if counts is not None else pa.nulls(files.num_rows, pa.int64())
        verdicts = self.program.verdicts(spec, partition, bounds, known)
        kept = np.flatnonzero(verdicts != NONE)
        self.report.files_dropped_by_bounds += files.num_rows - len(kept)
        files, partition, rows = _take(files, partition, rows, kept)
        counts = counts if counts is None else counts.take(pa.array(kept))
        return files, partition, rows, verdicts[kept] == ALL, counts

    def _apply_limit(
        self, survivors: pa.Table, delete_files: DeleteFiles, counts: RecordCounts
    ) -> tuple[pa.Table, DeleteFiles, RecordCounts]:
        """Drop the files behind those whose rows are known to fill the limit."""
        limit = self.scan.limit
        if limit is None or not survivors.num_rows:
            return survivors, delete_files, counts
        certain = (np.diff(delete_files.offsets) == 0) & survivors["fully_matched"].to_numpy()
        needed = counts.needed(limit, certain)
        if needed >= survivors.num_rows:
            return survivors, delete_files, counts
        self.report.note(f"limit {limit} is filled by the first {needed} of {survivors.num_rows} files")
        survivors = survivors.slice(0, needed)
        return survivors, self.snapshot.attach_deletes(survivors), counts.first(needed)

    def _no_files(self) -> pa.Table:
        columns: dict[str, pa.Array] = {name: pa.array([], kind) for name, kind in _REQUIRED.items()}
        columns["partition"] = _widen(_empty_struct(0), self.partition_fields)
        columns["spec_id"] = pa.array([], pa.int32())
        columns["file_format"] = pa.array([], pa.string())
        columns["fully_matched"] = pa.array([], pa.bool_())
        return pa.table(columns)


def _live_rows(batch: FileBatch, seen: Any) -> np.ndarray:
    """Rows whose key no newer row holds, and which are no tombstones."""
    assert batch.keys is not None
    keys = batch.keys.cast(pa.binary())
    _, offsets, data = keys.buffers()
    window = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    find = seen.add_batch if batch.insert_keys else seen.probe_batch
    first = np.asarray(find(window, octets)).astype(bool) if len(keys) else np.zeros(0, bool)
    if batch.live is not None:
        first &= np.asarray(batch.live, bool)
    return np.flatnonzero(first)


def _check_batch(batch: FileBatch) -> None:
    for name, kind in (*_REQUIRED.items(), *_OPTIONAL.items()):
        index = batch.files.schema.get_field_index(name)
        if (index < 0 and name in _REQUIRED) or (index >= 0 and batch.files.schema.field(index).type != kind):
            raise PluginContractError(f"FileBatch.files needs a column {name!r} of type {kind}", field=name)
    index = batch.files.schema.get_field_index("partition")
    if index < 0 or not pa.types.is_struct(batch.files.schema.field(index).type):
        raise PluginContractError("FileBatch.files needs a struct column 'partition'", field="partition")
    if batch.keys is not None and len(batch.keys) != batch.files.num_rows:
        raise PluginContractError("FileBatch.keys must have one key a file", field="keys")


def _take(files: pa.RecordBatch, partition: pa.Array, rows: Any, kept: np.ndarray) -> tuple[Any, Any, Any]:
    if len(kept) == files.num_rows:
        return files, partition, rows
    indices = pa.array(kept)
    return files.take(indices), partition.take(indices), kept if rows is None else rows[kept]


def _typed_partition(partition: pa.StructArray, spec: PartitionSpec) -> pa.StructArray:
    """Members in the types of the spec's fields (writers store the days of a transform as int or as date)."""
    arrays, fields = [], []
    for f in spec.fields:
        index = partition.type.get_field_index(str(f.id))
        if index < 0:
            continue
        kind = arrow_type(f.type)
        values = partition.field(index)
        arrays.append(values if values.type == kind else values.cast(kind))
        fields.append(pa.field(str(f.id), kind))
    return pa.StructArray.from_arrays(arrays, fields=fields) if arrays else _empty_struct(len(partition))


def _widen(partition: pa.StructArray, wanted: Sequence[Field]) -> pa.StructArray:
    """A member for every partition field of the table; NULL where the file's spec lacks it."""
    if not wanted:
        return _empty_struct(len(partition))
    arrays, fields = [], []
    for f in wanted:
        kind = arrow_type(f.type)
        index = partition.type.get_field_index(str(f.id))
        arrays.append(partition.field(index) if index >= 0 else pa.nulls(len(partition), kind))
        fields.append(pa.field(str(f.id), kind))
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _empty_struct(length: int) -> pa.StructArray:
    return pa.Array.from_buffers(pa.struct([]), length, [None], children=[])


def _flat(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _total(counts: pa.Array) -> int | None:
    """The sum, or None where a file does not say."""
    return None if counts.null_count else pc.sum(counts).as_py() or 0


def public_files(plan: ScanPlan) -> pa.Table:
    """``plan.files``; see :attr:`tableformats.scan.ScanPlan.files`."""
    snapshot, survivors = plan.snapshot.format_snapshot, plan.survivors
    columns: dict[str, Any] = {
        "path": plan.paths,
        "size_bytes": survivors["size_bytes"],
        "record_count": plan.record_counts,
        "spec_id": survivors["spec_id"],
        "partition": _named_partition(_flat(survivors["partition"]), partition_members(snapshot.specs)),
        "deletes": _public_deletes(plan),
        "fully_matched": survivors["fully_matched"],
    }
    columns.update({name: survivors[name] for name in snapshot.extra_columns if name in survivors.column_names})
    return pa.table(columns)


def _named_partition(partition: pa.StructArray, fields: Sequence[Field]) -> pa.StructArray:
    if not fields:
        return partition
    arrays = [partition.field(i) for i in range(len(fields))]
    return pa.StructArray.from_arrays(arrays, names=[f.name for f in fields])


def _public_deletes(plan: ScanPlan) -> pa.Array:
    files, kind = plan.delete_files.files, deletes_type()
    columns = {name: _flat(files[name]) for name in ("kind", "path", "offset", "cardinality")}
    known = pc.drop_null(columns["path"])
    if len(known):
        resolved = plan.snapshot.format_snapshot.resolve_paths(known)
        columns["path"] = pc.replace_with_mask(columns["path"], pc.is_valid(columns["path"]), resolved)
    structs = pa.StructArray.from_arrays(
        [columns[f.name].cast(f.type) for f in kind.value_type], fields=list(kind.value_type)
    )
    chosen = structs.take(pa.array(plan.delete_files.indices))
    return pa.ListArray.from_arrays(pa.array(plan.delete_files.offsets, pa.int32()), chosen, type=kind)
