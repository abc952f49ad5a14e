"""The Python data source ``tableformats``: tables for ``spark.read.format("tableformats")`` and SQL, on any session.

Spark plans in one Python process and reads in others. Here the plan is made where the session's driver is; executors
get packed groups of files and read them with pyarrow (:mod:`arrow`). No JAR and no Py4J is needed, so
Spark Connect and serverless sessions are served too; where there is a classic session, the native path is faster.
Imported only by processes that use PySpark 4.0 or later.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..expressions import tree as ex
from .file_groups import TaskReader, check_schema, file_groups, spark_schema
from .options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table.scan import Scan
    from .streaming import StreamReader

__all__ = ["TableFormatsDataSource"]

_PUSHDOWN_PROCESS = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module that Spark runs to plan a read with pushed filters, and only then (4.1 and later)."""


class TableFormatsDataSource(DataSource):
    """``tableformats``: see docs/spark.md for the options.

    A DataFrame or view reads the version that was current when it was made. Raises what
    :func:`tableformats.open_table` and :meth:`tableformats.Table.scan` do; Spark shows the error with its own.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._read = ReadOptions(options)
        self._version: int | None = None

    def __repr__(self) -> str:
        return f"TableFormatsDataSource({self._read!r})"

    @classmethod
    def name(cls) -> str:
        return "tableformats"

    def schema(self) -> StructType:
        """The columns of the table, all nullable; called once, when the DataFrame or view is made."""
        table = self._read.open_table()
        if self._read.is_streaming:
            return spark_schema(self._read.restrict(table.snapshot()))
        scan = self._read.scan(table)
        self._version = scan.snapshot.version
        return spark_schema(scan)

    def reader(self, schema: StructType) -> BatchReader:
        """What plans one query."""
        scan = self._read.scan(self._read.open_table(), self._version)
        check_schema(scan, schema)
        kind = PushdownReader if self._takes_filters() else BatchReader
        return kind(scan, self._read)

    def _takes_filters(self) -> bool:
        """Before limits could be pushed too, Spark kept the plan of the query that pushed filters last for all that
        read the same relation, even for those that pushed none: rows would be missing. There filters are pushed only
        where the option ``pushFilters`` says that the relation is read once.

        Source: Spark, ``PythonScanBuilder.pushFilters``, ``PythonDataSourceV2.setReadInfo``."""
        is_scoped = hasattr(DataSourceReader, "pushLimit")
        return _PUSHDOWN_PROCESS in sys.modules and (is_scoped or self._read.flag("pushFilters"))

    def streamReader(self, schema: StructType) -> StreamReader:
        from .streaming import StreamReader

        return StreamReader(self._read, schema)


class BatchReader(DataSourceReader):
    """Plans a read. What is pickled of it for executors is a :class:`TaskReader`."""

    def __init__(self, scan: Scan, options: ReadOptions) -> None:
        self._scan = scan
        self._options = options

    def __reduce__(self) -> Any:
        return TaskReader, (self._options.access,)

    def partitions(self) -> list[InputPartition]:
        """The planned files in groups of about ``split-size`` bytes."""
        return file_groups(self._scan.plan(), self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return TaskReader(self._options.access).read(partition)


class PushdownReader(BatchReader):
    """A reader that takes Spark's filters. Spark refuses one where ``spark.sql.python.filterPushdown.enabled`` is
    false, so there is one without."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Plan with the filters, and leave them to Spark as well."""
        for filter in filters:
            try:
                predicate = self._scan.snapshot.bind(_predicate(filter), case_sensitive=True)
            except (InvalidPredicateError, UnsupportedFeatureError, KeyError):
                continue
            self._scan = self._scan.where(predicate)
        return filters


def _predicate(filter: Any) -> ex.Expression:
    """A filter of ``pyspark.sql.datasource``. Raises KeyError for one that has no counterpart."""
    kind = type(filter).__name__
    if kind == "Not":
        return ex.Not(_predicate(filter.child))
    column = ex.Reference(tuple(filter.attribute))
    if kind == "IsNull":
        return ex.IsNull(column)
    if kind == "IsNotNull":
        return ex.Not(ex.IsNull(column))
    if kind == "In":
        return ex.In(column, tuple(map(ex.Literal, filter.value)))
    if kind == "StringStartsWith":
        return ex.StartsWith(column, filter.value)
    return ex.Comparison(_COMPARISONS[kind], column, ex.Literal(filter.value))


_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
