"""The native path: a plan's files as a relation of Spark's own vectorised Parquet reader, without JARs.

The relation's file index is ours (``PlannedFiles.java``), so that nothing is listed, and filters that users put on
the DataFrame later reach our pruning when Spark plans the query. Values that live in the metadata alone, and where a
file's deleted rows are found, are partition columns: constants of a file, which cost nothing. The session's
configuration is neither changed nor trusted where it would change rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....columnar.arrays import flat
from ....errors import TableFormatsError, UnsupportedFeatureError
from ....expressions import tree as ex
from ....runtime.concurrency import cached_property
from ....schema import Field, arrow_type
from ..branches import Branch, split
from ..columns import ROW_INDEX, Naming, StoredColumn, check_readable, quoted, spark_struct
from ..equality import KeyGroup, load_key_groups, without_deleted
from ..filters import to_spark_column
from ..hadoop import hadoop_paths
from ..metadata_columns import check_metadata_columns, file_constants, metadata_column, stored_fields
from ..output import check_defaults, default_constant, output_column
from ..positions import LiveTest, deleted_pages
from ..row_counts import RowCounter
from .jvm import Bridge, Planner
from .pushdown import FilterReader, PlanPruner

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from ....plugin.columns import MetadataColumn
    from ....table.scan import Scan, ScanPlan

__all__ = ["frame_of", "to_spark"]

_MIN_PARQUET_BYTES = 12
# Files that were planned are never left out in silence, whatever the session says.
_NO_FILE_IS_LEFT_OUT = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_OPTIONS = {
    "parquet": {
        **_NO_FILE_IS_LEFT_OUT,
        "spark.sql.parquet.fieldId.read.enabled": "true",
        # A file without ids is an error, never a column of NULLs.
        "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
        # Both formats count days and instants in the proleptic Gregorian calendar.
        "datetimeRebaseMode": "CORRECTED",
        "int96RebaseMode": "CORRECTED",
    },
    "orc": {**_NO_FILE_IS_LEFT_OUT, "orc.force.positional.evolution": "false"},
}


def to_spark(scan: Scan, spark: SparkSession) -> DataFrame:
    """The rows of ``scan`` as a DataFrame of a classic session.

    Parameters
    ----------
    spark : Spark 3.5 or later

    Raises
    ------
    UnsupportedFeatureError : Spark Connect, or what the table needs and is not built; ``field`` names it
    CorruptMetadataError, PathNotAllowedError : as the table's metadata and delete files are read

    Notes
    -----
    The files are planned once, here; a query's own filters only narrow them. All columns are nullable.
    """
    _check_session(spark)
    bridge = Bridge(spark)
    with bridge.preparing():
        plan = scan.plan()
    return frame_of(plan, bridge)


def frame_of(plan: ScanPlan, bridge: Bridge) -> DataFrame:
    """The rows of ``plan`` out of what ``bridge`` makes of its files. Raises as :func:`to_spark`."""
    wanted = _wanted_columns(plan)
    check_metadata_columns(plan.metadata_columns)
    for f in wanted:
        check_readable(f, bridge.version)
    frame = _Assembly(plan, bridge, wanted).frame()
    if plan.residual != ex.TRUE:
        frame = frame.where(to_spark_column(plan.residual))
    if wanted != plan.schema.fields:
        frame = frame.select(*(quoted(name) for name in plan.schema.names))
    return frame if plan.limit is None else frame.limit(plan.limit)


def _check_session(spark: SparkSession) -> None:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedFeatureError(
            "the native path needs the driver's JVM, which a Spark Connect session keeps from Python",
            field="Spark Connect",
            hint='Use mode="portable", or a classic session',
        )


def _wanted_columns(plan: ScanPlan) -> tuple[Field, ...]:
    """The scan's columns, each once, then those that only its residual filter names."""
    wanted = {f.id: f for f in plan.schema.fields}
    for column in ex.columns_of(plan.residual):
        assert isinstance(column, ex.BoundColumn)
        wanted.setdefault(column.path[0].id, column.path[0])
    return tuple(wanted.values())


@dataclass
class _Assembly:
    """A plan on its way to a DataFrame with the columns ``wanted``."""

    plan: ScanPlan
    bridge: Bridge
    wanted: tuple[Field, ...]
    groups: list[KeyGroup] = field(default_factory=list)

    @cached_property
    def metadata(self) -> dict[int, MetadataColumn]:
        """The wanted columns that stand in no schema, by id."""
        return {column.field.id: column for column in self.plan.metadata_columns}

    def frame(self) -> DataFrame:
        self.groups = load_key_groups(self.plan.snapshot.format_snapshot, self.plan.delete_files)
        branches = split(self.plan, self._columns(self.groups), self.bridge.version)
        for branch in branches:
            self._check(branch)
        pruner = PlanPruner(self.plan)
        return reduce(lambda above, below: above.unionAll(below), (self._branch(b, pruner) for b in branches))

    def _branch(self, branch: Branch, pruner: PlanPruner) -> DataFrame:
        groups = self.groups if branch.has_keys else []
        columns = self._columns(groups)
        relation = self._relation(branch, columns, groups)
        counter = RowCounter(self.plan, branch.rows)
        if branch.has_positions:
            relation.add_test(self.bridge.live_test(counter.noting(deleted_pages(self.plan, branch.rows))))
        planner = Planner(pruner.callback(FilterReader(columns, branch.naming), branch.rows), counter.count)
        output = [self._output(f, branch.naming) for f in self.wanted]
        stored = [column for column in output if isinstance(column, StoredColumn)]
        if not groups and len(stored) == len(output):
            return relation.frame(self.bridge, self._label(branch), planner, branch.file_format, stored)
        frame = relation.frame(self.bridge, self._label(branch), planner, branch.file_format)
        for group in groups:
            frame = without_deleted(frame, group, branch.naming, self.bridge)
        return frame.select(*(c.column() if isinstance(c, StoredColumn) else c for c in output))

    def _output(self, f: Field, naming: Naming) -> Column | StoredColumn:
        if f.id in self.metadata:
            return metadata_column(self.metadata[f.id], naming)
        return output_column(f, naming, self.bridge)

    def _relation(self, branch: Branch, columns: Sequence[Field], groups: Sequence[KeyGroup]) -> _Relation:
        relation = _Relation(_file_table(self.plan, branch.rows))
        for f in columns:
            stored = branch.naming.spark_field(f)
            if f.id in branch.constants:
                relation.add_constant(stored, self._constants(f, branch.constants[f.id], branch.rows))
            elif f.id in branch.naming.missing:
                default = default_constant(f)
                if default is not None:
                    values = pa.repeat(_readable(default)[0], len(branch.rows))
                    relation.add_constant(stored, values)
            elif str(f.type) != "void":
                relation.data.append(stored)
        relation.data += stored_fields(self.metadata.values(), branch.naming)
        if any(column.counts_rows for column in self.metadata.values()):
            relation.add_row_index()
        for hidden, constants in file_constants(self.metadata.values(), self.plan, branch.rows):
            relation.add_constant(hidden, constants)
        for group in groups:
            for name, values in (("chain", group.chain), ("place", group.place)):
                of_files = pa.array(values[branch.rows], pa.int32())
                relation.add_constant(_hidden(group.hidden(name), "integer"), of_files)
        return relation

    def _columns(self, groups: Sequence[KeyGroup]) -> list[Field]:
        """What a relation holds: the columns of the result, and those of delete keys."""
        needed = {f.id: f for f in self.wanted if f.id not in self.metadata}
        needed.update((path[0].id, path[0]) for group in groups for path in group.columns)
        return list(needed.values())

    def _check(self, branch: Branch) -> None:
        """Raise UnsupportedFeatureError for what Spark lacks to read the branch rightly."""
        for f in self.wanted:
            check_defaults(f, branch.naming)
        for group in self.groups if branch.has_keys else ():
            for path in group.columns:
                if len(path) > 1 and any(f.id in branch.naming.missing for f in path):
                    raise UnsupportedFeatureError(
                        "equality deletes over members of structs with an initial default are not read with Spark",
                        field=".".join(f.name for f in path),
                        hint="Read with to_arrow(), or compact the table",
                    )
        counts_rows = branch.has_positions or any(column.counts_rows for column in self.metadata.values())
        if counts_rows and branch.file_format != "parquet":
            name = f"positions in {branch.file_format} data files"
            raise UnsupportedFeatureError(
                "rows are deleted or numbered by position, and Spark counts the rows of Parquet files alone",
                path=self.plan.paths[int(branch.rows[0])].as_py(),
                field=name,
                hint='Use mode="portable" or to_arrow(), or rewrite the table to Parquet',
            )

    def _label(self, branch: Branch) -> str:
        """What EXPLAIN shows as the location; a path of Hadoop's, so without ':' and '/'."""
        snapshot = self.plan.snapshot
        name = os.path.basename(snapshot.table.location.rstrip("/")) or snapshot.table.format
        table = f"{snapshot.table.format} {name.replace(':', '_')}@v{snapshot.version}"
        return f"{table}, {len(branch.rows)} of {self.plan.report.files_total} files"

    def _constants(self, f: Field, partition_field: int, rows: np.ndarray) -> pa.Array:
        """One column's values in the files ``rows``, in a type that Spark's Arrow vectors read."""
        values = pc.struct_field(flat(self.plan.survivors["partition"]), str(partition_field)).take(pa.array(rows))
        kind = arrow_type(f.type)
        return _readable(values if values.type == kind else values.cast(kind))


def _readable(values: pa.Array) -> pa.Array:
    """The same values in a type that Spark's Arrow vectors read."""
    return values.cast(pa.binary()) if pa.types.is_fixed_size_binary(values.type) else values


@dataclass
class _Relation:
    """Columns of one branch as they are gathered: ``files`` holds path, size and one column for each constant."""

    files: pa.Table
    partition: list[dict[str, Any]] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)
    live: LiveTest | None = None

    def add_constant(self, stored: dict[str, Any], values: pa.Array | pa.ChunkedArray) -> None:
        self.partition.append(stored)
        self.files = self.files.append_column(stored["name"], values)

    def add_row_index(self) -> None:
        """The rows' positions, once."""
        if all(stored["name"] != ROW_INDEX for stored in self.data):
            self.data.append(_hidden(ROW_INDEX, "long"))

    def add_test(self, live: LiveTest) -> None:
        """The rows' positions, and the constants that they are tested against; only rows that pass are there."""
        self.live = live
        self.add_row_index()
        for stored in live.fields:
            self.add_constant(stored, live.constants[stored["name"]])

    def frame(
        self,
        bridge: Bridge,
        label: str,
        planner: Planner,
        file_format: str,
        columns: Sequence[StoredColumn] | None = None,
    ) -> DataFrame:
        return bridge.relation(
            label,
            self.files,
            spark_struct(self.partition),
            spark_struct(self.data),
            _OPTIONS[file_format],
            planner,
            file_format,
            None if self.live is None else self.live.condition,
            columns,
        )


def _hidden(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _file_table(plan: ScanPlan, rows: np.ndarray) -> pa.Table:
    """``path`` and ``size`` of some of the plan's files.

    Raises TableFormatsError where the metadata's size cannot be true and the store does not know it either: Spark
    would read no row of a file that it takes to be empty.
    """
    paths = plan.paths if len(rows) == len(plan) else plan.paths.take(pa.array(rows))
    sizes = pc.fill_null(flat(plan.survivors["size_bytes"]), 0).to_numpy()[rows].copy()
    for i in np.flatnonzero(sizes < _MIN_PARQUET_BYTES).tolist():
        sizes[i] = _real_size(plan, paths[i].as_py())
    return pa.table({"path": hadoop_paths(paths), "size": pa.array(sizes)})


def _real_size(plan: ScanPlan, path: str) -> int:
    try:
        with plan.snapshot.storage.open_file(path) as source:
            return int(source.size())
    except (OSError, pa.ArrowException) as error:
        raise TableFormatsError(f"a data file cannot be opened: {error}", path=path) from error
