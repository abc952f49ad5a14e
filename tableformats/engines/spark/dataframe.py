"""The DataFrame of a plan: its files as relations of Spark's own vectorised readers, without JARs.

Each branch of the plan's files (:mod:`branches`) becomes one relation, and the DataFrame is their union. Partition
values and other values that stand in the metadata alone, and the address of a file's deletes, are partition columns
of the relation: constants of a file, which cost nothing. The session's configuration is neither changed nor trusted
where it would change rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columnar.arrays import flat
from ...errors import StoreError, TableFormatsError, UnsupportedFeatureError
from ...expressions import tree as ex
from ...schema import Field, arrow_type
from .branches import Branch, split
from .columns.checks import check_readable
from .columns.metadata_columns import check_metadata_columns, file_constants, metadata_column, stored_fields
from .columns.naming import Naming, StoredColumn, quoted
from .columns.spark_types import nullable_field
from .deletes.equality import KeyGroup, load_key_groups, without_deleted
from .deletes.positions import deleted_pages
from .filters import to_spark_column
from .hadoop_paths import hadoop_paths
from .pushdown import FilterReader, PlanPruner
from .relations import Relation, RelationReader
from .result_columns import check_defaults, default_constant, output_column
from .row_counts import RowCounter

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ...planning.plan import FilePlan

__all__ = ["frame_of"]

_MIN_PARQUET_BYTES = 12


def frame_of(plan: FilePlan, reader: RelationReader) -> DataFrame:
    """The rows of ``plan`` as a DataFrame.

    Parameters
    ----------
    plan : FilePlan
        The planned files.
    reader : RelationReader
        Makes DataFrames of files in the session.

    Raises
    ------
    UnsupportedFeatureError
        What the table needs and Spark's readers lack; ``field`` names it.
    CorruptMetadataError, PathNotAllowedError
        As the table's metadata and delete files are read.
    """
    wanted = _wanted_columns(plan)
    check_metadata_columns(plan.metadata_columns)
    for f in wanted:
        check_readable(f, reader.version, reader.has_time)
    frame = _FrameBuilder(plan, reader, wanted).frame()
    if plan.residual != ex.TRUE:
        frame = frame.where(to_spark_column(plan.residual))
    if wanted != plan.schema.fields:
        frame = frame.select(*(quoted(name) for name in plan.schema.names))
    return frame if plan.limit is None else frame.limit(plan.limit)


def _wanted_columns(plan: FilePlan) -> tuple[Field, ...]:
    """The scan's columns, each once, then those that only its residual filter names."""
    wanted = {f.id: f for f in plan.schema.fields}
    for column in ex.columns_of(plan.residual):
        assert isinstance(column, ex.BoundColumn)
        wanted.setdefault(column.path[0].id, column.path[0])
    return tuple(wanted.values())


class _FrameBuilder:
    """Builds the DataFrame of ``plan`` with the columns ``wanted``, without the residual filter and the limit."""

    def __init__(self, plan: FilePlan, reader: RelationReader, wanted: tuple[Field, ...]) -> None:
        self._plan = plan
        self._reader = reader
        self._wanted = wanted
        self._metadata_columns = {column.field.id: column for column in plan.metadata_columns}
        self._counts_rows = any(column.counts_rows for column in plan.metadata_columns)
        self._key_groups = load_key_groups(plan.snapshot.format_snapshot, plan.delete_files)
        self._pruner = PlanPruner(plan)

    def frame(self) -> DataFrame:
        branches = split(self._plan, self._file_columns(self._key_groups), self._reader.version)
        for branch in branches:
            self._check(branch)
        return reduce(lambda above, below: above.unionAll(below), map(self._branch_frame, branches))

    def _branch_frame(self, branch: Branch) -> DataFrame:
        key_groups = self._key_groups if branch.has_keys else []
        relation = self._relation(branch, key_groups)
        output = [self._output(f, branch.naming) for f in self._wanted]
        stored = [column for column in output if isinstance(column, StoredColumn)]
        if not key_groups and len(stored) == len(output):
            return self._reader.relation_frame(relation, stored)
        frame = self._reader.relation_frame(relation)
        for group in key_groups:
            frame = without_deleted(frame, group, branch.naming, self._reader)
        return frame.select(*(c.column() if isinstance(c, StoredColumn) else c for c in output))

    def _output(self, f: Field, naming: Naming) -> Column | StoredColumn:
        if f.id in self._metadata_columns:
            return metadata_column(self._metadata_columns[f.id], naming)
        return output_column(f, naming, self._reader)

    def _relation(self, branch: Branch, key_groups: Sequence[KeyGroup]) -> Relation:
        columns, metadata_columns = self._file_columns(key_groups), self._metadata_columns.values()
        counter = RowCounter(self._plan, branch.rows)
        relation = Relation(
            self._table_name(),
            self._plan.report.files_total,
            branch.file_format,
            _file_table(self._plan, branch.rows),
            self._pruner.callback(FilterReader(columns, branch.naming), branch.rows),
            counter.count,
        )
        self._add_columns(relation, branch, columns)
        relation.data += stored_fields(metadata_columns, branch.naming)
        if self._counts_rows:
            relation.add_row_index()
        for hidden, constants in file_constants(metadata_columns, self._plan, branch.rows):
            relation.add_constant(hidden, constants)
        for group in key_groups:
            for name, values in (("chain", group.chain), ("rank", group.rank)):
                of_files = pa.array(values[branch.rows], pa.int32())
                relation.add_constant(nullable_field(group.hidden(name), "integer"), of_files)
        if branch.has_positions:
            deleted = counter.recording(deleted_pages(self._plan, branch.rows))
            relation.add_live_test(self._reader.live_test(deleted))
        return relation

    def _add_columns(self, relation: Relation, branch: Branch, columns: Sequence[Field]) -> None:
        """Add the table's columns to a relation over the branch's files."""
        for f in columns:
            stored = branch.naming.spark_field(f)
            if f.id in branch.constants:
                relation.add_constant(stored, self._partition_values(f, branch.constants[f.id], branch.rows))
            elif f.id in branch.naming.missing:
                default = default_constant(f)
                if default is not None:
                    relation.add_constant(stored, pa.repeat(_readable(default)[0], len(branch.rows)))
            elif str(f.type) != "void":
                relation.data.append(stored)

    def _file_columns(self, key_groups: Sequence[KeyGroup]) -> list[Field]:
        """The table's columns that a relation holds: those of the result, and those of delete keys."""
        needed = {f.id: f for f in self._wanted if f.id not in self._metadata_columns}
        needed.update((path[0].id, path[0]) for group in key_groups for path in group.columns)
        return list(needed.values())

    def _check(self, branch: Branch) -> None:
        """Raise UnsupportedFeatureError where Spark cannot read the branch rightly."""
        for f in self._wanted:
            check_defaults(f, branch.naming)
        for group in self._key_groups if branch.has_keys else ():
            for path in group.columns:
                if len(path) > 1 and any(f.id in branch.naming.missing for f in path):
                    raise UnsupportedFeatureError(
                        "equality deletes over members of structs with an initial default are not read with Spark",
                        field=".".join(f.name for f in path),
                        hint="Read with to_arrow(), or compact the table",
                    )
        if (branch.has_positions or self._counts_rows) and branch.file_format != "parquet":
            name = f"positions in {branch.file_format} data files"
            raise UnsupportedFeatureError(
                "rows are deleted or numbered by position, and Spark counts the rows of Parquet files alone",
                path=self._plan.paths[int(branch.rows[0])].as_py(),
                field=name,
                hint='Use mode="portable" or to_arrow(), or rewrite the table to Parquet',
            )

    def _table_name(self) -> str:
        """What EXPLAIN calls the table: a Hadoop path, so without ':' and '/'."""
        snapshot = self._plan.snapshot
        name = os.path.basename(snapshot.location.rstrip("/")) or snapshot.table_format
        return f"{snapshot.table_format} {name.replace(':', '_')}@v{snapshot.version}"

    def _partition_values(self, f: Field, partition_field: int, rows: np.ndarray) -> pa.Array:
        """The column's value in each of the files ``rows``, taken from the partition field of that id."""
        values = pc.struct_field(flat(self._plan.survivors["partition"]), str(partition_field)).take(pa.array(rows))
        kind = arrow_type(f.type)
        return _readable(values if values.type == kind else values.cast(kind))


def _readable(values: pa.Array) -> pa.Array:
    """The same values in a type that Spark's Arrow vectors read."""
    if pa.types.is_time64(values.type):
        return values.cast(pa.time64("ns"))
    return values.cast(pa.binary()) if pa.types.is_fixed_size_binary(values.type) else values


def _file_table(plan: FilePlan, rows: np.ndarray) -> pa.Table:
    """``path`` and ``size`` of the plan's files ``rows``.

    Spark reads no row of a file that it takes to be empty. So where the metadata's size cannot be true, the store is
    asked; TableFormatsError is raised if it does not know either.
    """
    paths = plan.paths if len(rows) == len(plan) else plan.paths.take(pa.array(rows))
    sizes = pc.fill_null(flat(plan.survivors["size_bytes"]), 0).to_numpy()[rows].copy()
    for i in np.flatnonzero(sizes < _MIN_PARQUET_BYTES).tolist():
        sizes[i] = _size_in_store(plan, paths[i].as_py())
    return pa.table({"path": hadoop_paths(paths), "size": pa.array(sizes)})


def _size_in_store(plan: FilePlan, path: str) -> int:
    try:
        with plan.snapshot.storage.open_file(path) as source:
            return int(source.size())
    except StoreError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise TableFormatsError(f"a data file cannot be opened: {error}", path=path) from error
