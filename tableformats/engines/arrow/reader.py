"""Read the rows of a plan: exactly the live rows for which the filter is TRUE, file by file and batch by batch.

A batch starts with the file's own columns. Positional deletes, then equality deletes, then the filter remove rows; only
the rows that are left are converted to the table's columns. Columns that only one of these steps needs are read and
not returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from ...expressions import tree as ex
from ...planning.plan import FilePlan
from ...planning.request import ScanRequest
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.partitions import PartitionSpec
from ...plugin.snapshot import FormatSnapshot
from ...schema import Field, StructType, arrow_field
from .deletes import DeleteLoader, deleted_positions, positions_within
from .files.data_file import DataFile, typed_errors
from .files.opening import open_data_file
from .filters import evaluate
from .metadata_columns import MetadataReader, with_positions
from .projection import Resolver

__all__ = ["count_rows", "read_batches", "read_tasks"]


def read_batches(plan: FilePlan, tasks: Iterable[ScanTask] | None = None) -> pa.RecordBatchReader:
    """The rows of a plan as a stream. A file is opened when the stream reaches it.

    Parameters
    ----------
    plan : FilePlan
        The plan.
    tasks : Iterable[ScanTask], optional
        Tasks of the plan, read in this order. None: all, in the order of ``plan.files``.

    Returns
    -------
    pa.RecordBatchReader
        At most ``plan.limit`` rows, with the schema ``plan.schema.to_arrow()``.

    Raises
    ------
    UnsupportedFeatureError
        A file's format, or how it stores a selected column, is not read (``field`` names it).
    CorruptMetadataError
        While the stream is read: a file is missing or damaged, or contradicts the metadata.
    TypeError
        An item of ``tasks`` is no task.
    """
    batches = read_tasks(plan.scan, tasks_of(plan) if tasks is None else tasks)
    if plan.limit is not None:
        batches = _first_rows(batches, plan.limit)
    return pa.RecordBatchReader.from_batches(plan.schema.to_arrow(), batches)


def read_tasks(scan: ScanRequest, tasks: Iterable[ScanTask]) -> Iterator[pa.RecordBatch]:
    """The rows of tasks that were planned elsewhere; the snapshot of ``scan`` need not be able to plan.

    Raises as :func:`read_batches` does.
    """
    return _Reader(scan, scan.schema.fields).batches(tasks)


def count_rows(plan: FilePlan, tasks: Iterable[ScanTask]) -> Iterator[int]:
    """The number of rows of each batch that :func:`read_batches` would give for ``tasks`` of the plan.

    Only the columns that the filter and the deletes need are read. Raises as :func:`read_batches` does.
    """
    return (batch.num_rows for batch in _Reader(plan.scan, ()).batches(tasks))


class _Reader:
    """Reads tasks of ``scan`` once, as batches of the columns ``fields``."""

    def __init__(self, scan: ScanRequest, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._metadata_columns = {c.field.id: c for c in scan.metadata_columns if c.field in fields}
        self._storage = scan.snapshot.storage
        self._schema = scan.snapshot.schema
        self._snapshot: FormatSnapshot = scan.snapshot.format_snapshot
        self._deletes = DeleteLoader(self._snapshot, self._schema)

    def batches(self, tasks: Iterable[ScanTask]) -> Iterator[pa.RecordBatch]:
        for task in tasks:
            if not isinstance(task, ScanTask):
                raise TypeError(f"tasks are those of plan.tasks() or of a group of plan.splits(), not {task!r}")
            with open_data_file(self._storage, task, self._snapshot.name_mapping) as file:
                yield from self._read(file, task)

    def _read(self, file: DataFile, task: ScanTask) -> Iterator[pa.RecordBatch]:
        constants = identity_values(self._snapshot, task)
        resolver = Resolver(file.root, self._snapshot.name_mapping, constants, task.path)
        wanted = resolver.project([f for f in self._fields if f.id not in self._metadata_columns])
        metadata = MetadataReader(list(self._metadata_columns.values()), file.root, task)
        filters = self._deletes.equality_filters(task, resolver)
        tested = resolver.project(self._residual_fields(task.residual))
        leaves = wanted.leaves.union(metadata.leaves, tested.leaves, *(f.projection.leaves for f in filters))
        positions = deleted_positions(self._snapshot, task, file.num_rows)
        selection = file.select(leaves)
        stored = file.rows(selection)
        for rows in _without(positions, with_positions(stored) if metadata.needs_positions else stored):
            with typed_errors(task.path):
                for keys in filters:
                    rows = rows.filter(pa.array(keys.keep(rows, selection)))
                if task.residual != ex.TRUE:
                    rows = rows.filter(evaluate(task.residual, tested.read(rows, selection)))
                batch = wanted.read(rows, selection)
                if self._metadata_columns:
                    batch = self._with_metadata(batch, metadata.read(rows, selection))
            if batch.num_rows:
                yield batch

    def _with_metadata(self, batch: pa.RecordBatch, values: Sequence[pa.Array]) -> pa.RecordBatch:
        """``batch`` and the metadata columns ``values``, in the order of ``self._fields``."""
        table_columns, by_id = iter(batch.columns), dict(zip(self._metadata_columns, values, strict=True))
        columns = [by_id[f.id] if f.id in by_id else next(table_columns) for f in self._fields]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([arrow_field(f) for f in self._fields]))

    def _residual_fields(self, residual: ex.Expression) -> list[Field]:
        """The columns that ``residual`` names; of structs only the members that it names."""
        paths = [c.path for c in ex.columns_of(residual) if isinstance(c, ex.BoundColumn)]
        return _narrowed(self._schema.fields, {path[-1].id for path in paths})


def identity_values(snapshot: FormatSnapshot, task: ScanTask) -> dict[int, pa.Scalar]:
    """The partition values of ``task`` that equal the value of a column, by that column's id."""
    spec = snapshot.specs.get(task.spec_id, PartitionSpec(task.spec_id, ()))
    return {
        f.source_id: task.partition[f.id]
        for f in spec.fields
        if f.transform.name == "identity" and f.id in task.partition
    }


def _narrowed(fields: Iterable[Field], ids: set[int]) -> list[Field]:
    """The fields with one of these ids, whole, and the structs above them without their other members."""
    found = []
    for f in fields:
        if f.id in ids:
            found.append(f)
        elif isinstance(f.type, StructType):
            members = _narrowed(f.type.fields, ids)
            if members:
                found.append(replace(f, type=StructType(tuple(members))))
    return found


def _without(positions: BitMap64, batches: Iterable[tuple[int, pa.StructArray]]) -> Iterator[pa.StructArray]:
    """The rows of a file without those at ``positions``; each batch comes with the position of its first row."""
    for first, rows in batches:
        deleted = positions.range_cardinality(first, first + len(rows)) if positions else 0
        if deleted == len(rows):
            continue
        if deleted:
            keep = np.ones(len(rows), bool)
            keep[(positions_within(positions, first, first + len(rows)) - np.uint64(first)).astype(np.int64)] = False
            rows = rows.filter(pa.array(keep))
        yield rows


def _first_rows(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    if limit <= 0:
        return
    for batch in batches:
        yield batch.slice(0, limit)
        limit -= batch.num_rows
        if limit <= 0:
            return
