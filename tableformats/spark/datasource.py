"""The Python data source ``tableformats``, for ``spark.read.format("tableformats")`` and SQL, in any session.

Spark plans in a Python process of the driver and reads in others. The plan is made in the first; executors get groups
of planned files and read them with pyarrow (:mod:`tableformats.engines.arrow`). It needs neither JARs nor Py4J, so it
works with Spark Connect and serverless sessions. In a classic session the native path is faster. Its writers are in
:mod:`tableformats.spark.sink`. Imported only by processes that use PySpark 4.0 or later.
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
from .worker_errors import one_line_errors

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table.scan import Scan
    from .sink import BatchWriter, StreamWriter
    from .streaming import StreamReader

__all__ = ["TableFormatsDataSource"]

_PUSHDOWN_PROCESS = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module that Spark 4.1 and later runs to plan a read with pushed filters, and only then."""


class TableFormatsDataSource(DataSource):
    """The data source ``tableformats``; docs/spark.md lists its options.

    A DataFrame or view reads the version that was current when it was made. It raises the errors of
    :func:`tableformats.open_table` and :meth:`tableformats.Table.scan`; Spark shows them as a line of its own.
    """

    @one_line_errors()
    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._read = ReadOptions(options)
        self._version: int | None = None

    def __repr__(self) -> str:
        return f"TableFormatsDataSource({self._read!r})"

    @classmethod
    def name(cls) -> str:
        return "tableformats"

    @one_line_errors()
    def schema(self) -> StructType:
        """The columns of the table, all nullable; called once, when the DataFrame or view is made."""
        table = self._read.open_table()
        if self._read.is_streaming:
            return spark_schema(self._read.restrict(table.snapshot()))
        scan = self._read.scan(table)
        self._version = scan.snapshot.version
        return spark_schema(scan)

    @one_line_errors()
    def reader(self, schema: StructType) -> BatchReader:
        """The reader of one query."""
        scan = self._read.scan(self._read.open_table(), self._version)
        check_schema(scan, schema)
        reader = PushdownReader if self._accepts_filters() else BatchReader
        return reader(scan, self._read)

    def _accepts_filters(self) -> bool:
        """Whether Spark may push filters down.

        Versions of Spark that cannot push limits reuse the plan of the last query with pushed filters for all queries
        of the same relation, even for those without filters, which would lose rows. For these versions the option
        ``pushFilters`` must say that the relation is read only once.

        Source: Spark, ``PythonScanBuilder.pushFilters``, ``PythonDataSourceV2.setReadInfo``.
        """
        is_scoped = hasattr(DataSourceReader, "pushLimit")
        return _PUSHDOWN_PROCESS in sys.modules and (is_scoped or self._read.flag("pushFilters"))

    @one_line_errors()
    def streamReader(self, schema: StructType) -> StreamReader:
        from .streaming import StreamReader

        return StreamReader(self._read, schema)

    @one_line_errors()
    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """The writer of one DataFrame, whose columns are ``schema``."""
        from .sink import BatchWriter

        return BatchWriter(self._read, schema, overwrite)

    @one_line_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """The writer of a streaming query."""
        from .sink import StreamWriter

        return StreamWriter(self._read, schema, overwrite)


class BatchReader(DataSourceReader):
    """Plans a read. For executors it is pickled as a :class:`TaskReader`."""

    def __init__(self, scan: Scan, options: ReadOptions) -> None:
        self._scan = scan
        self._options = options

    def __reduce__(self) -> Any:
        return TaskReader, (self._options.access,)

    @one_line_errors()
    def partitions(self) -> list[InputPartition]:
        """The planned files in groups of about ``split-size`` bytes."""
        return file_groups(self._scan.plan(), self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return TaskReader(self._options.access).read(partition)


class PushdownReader(BatchReader):
    """A reader that accepts filters from Spark.

    It is a class of its own, because Spark refuses such readers if ``spark.sql.python.filterPushdown.enabled`` is
    false.
    """

    @one_line_errors()
    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Use the filters to plan. All are returned, so Spark applies them to the rows too."""
        for filter in filters:
            try:
                predicate = self._scan.snapshot.bind(_predicate(filter), case_sensitive=True)
            except (InvalidPredicateError, UnsupportedFeatureError, KeyError):
                continue
            self._scan = self._scan.where(predicate)
        return filters


def _predicate(filter: Any) -> ex.Expression:
    """A filter of ``pyspark.sql.datasource`` as a predicate. Raises KeyError if it has no counterpart."""
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
