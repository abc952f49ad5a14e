"""``df.write.format("tableformats")`` and ``df.writeStream``: Spark's Python workers write the data files of a table.

The driver's Python plans a write in one process, and commits or aborts it in others. So a writer is plain data, and
what must not change between them, the table's :class:`WriteTarget`, travels with it.

Spark calls ``abort`` also after ``commit`` has failed, when the commit may be in the table. It commits only with the
messages of all tasks. So files are deleted only if the message of a task is missing: then nothing was committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from ..dataclass import dataclass
from ..engines.arrow.writing.data_files import discard_files
from ..engines.spark.distributed.job_errors import pack_error
from ..engines.spark.writing.frames import check_columns, merged
from ..engines.spark.writing.spark_rows import arrow_schema
from ..engines.spark.writing.tasks import WriteTask, pack_files, unpack_files
from ..errors import (
    StoreError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from ..table.new_files import WrittenFiles
from .options import STREAM_WRITE, WRITE, ReadOptions
from .worker_errors import one_line_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from ..plugin.writing.write_target import WriteTarget
    from ..table.table import Table
    from ..table.transactions import Transaction

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter

    _HAS_ARROW = True
except ImportError:  # before Spark 4.1

    class DataSourceStreamArrowWriter(DataSourceStreamWriter):  # type: ignore[no-redef]
        pass

    _HAS_ARROW = False


__all__ = ["BatchWriter", "StreamWriter", "TaskFiles"]

_QUERY_ID = "sql.streaming.queryId"
"""The local property under which Spark's tasks find the query that they belong to; it stays over restarts.

Source: Spark, ``StreamExecution.QUERY_ID_KEY``.
"""

_ROWS = 10_000
"""Rows of a batch made of Spark's rows."""


@dataclass
class TaskFiles(WriterCommitMessage):
    """What a task wrote: packed files and the target that they were written for, or a packed error; the query's id."""

    target: WriteTarget
    files: bytes | None = None
    error: str | None = None
    query: str | None = None


class _Writer:
    """What both writers share: the table that the options name, the task that writes for it, and what is committed."""

    def __init__(self, options: ReadOptions, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._schema = schema
        self._overwrite = overwrite
        self._where = _condition(options, overwrite)
        given = arrow_schema(schema)
        table = _opened(options, given)
        target = self._begin(table).write_target(self._where if self._overwrite else None)
        check_columns(given, target)
        self._task = WriteTask.of(table.storage, target, given.names)

    def _begin(self, table: Table, application: tuple[str, int] | None = None) -> Transaction:
        return table.transaction(application=application, branch=self._options.text("branch"))

    def _written(self, batches: Iterator[pa.RecordBatch], query: str | None = None) -> TaskFiles:
        """Write the rows of a task, on an executor. An error of the data is its result; others make Spark try again."""
        target = self._task.target
        try:
            return TaskFiles(target, files=pack_files(self._task.write(batches)), query=query)
        except StoreError:
            raise
        except TableFormatsError as error:
            return TaskFiles(target, error=pack_error(error), query=query)

    def _commit(self, messages: Sequence[TaskFiles], application: tuple[str, int] | None) -> None:
        """Commit the files of all tasks. Raises the error of a task, after deleting the files of the others."""
        table = self._options.open_table()
        target = messages[0].target if messages else self._task.target
        packed = [unpack_files(message.files) for message in messages if message.files is not None]
        errors = [message.error for message in messages if message.error is not None]
        files = WrittenFiles(target, merged(packed, errors, table.storage, target))
        with self._begin(table, application) as transaction:
            if self._overwrite:
                transaction.overwrite(files, self._where)
            else:
                transaction.append(files)

    def _abort(self, messages: Sequence[TaskFiles | None]) -> None:
        """Delete the files of a job of which a task failed."""
        if all(message is not None for message in messages):
            return  # a commit may have been tried, and may have landed
        storage = self._options.open_table().storage
        for message in messages:
            if message is not None and message.files is not None:
                discard_files(storage, message.target, unpack_files(message.files).column("path").to_pylist())


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Writes a DataFrame: append, or overwrite.

    Raises
    ------
    ConstraintViolationError, UnsupportedFeatureError
        As :meth:`tableformats.Table.append`; Spark shows them as a line of its own.
    """

    def __init__(self, options: ReadOptions, schema: StructType, overwrite: bool) -> None:
        options.check(WRITE, "a batch write")
        self._application = _application(options)
        super().__init__(options, schema, overwrite)

    @one_line_errors()
    def write(self, iterator: Iterator[Any]) -> TaskFiles:
        return self._written(iterator)

    @one_line_errors()
    def commit(self, messages: list[Any]) -> None:
        self._commit(messages, self._application)

    @one_line_errors()
    def abort(self, messages: list[Any]) -> None:
        self._abort(messages)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the micro-batches of a query, each once: its commit names the query and the batch.

    Output mode ``append`` appends, ``complete`` replaces all rows. Raises as :class:`BatchWriter`.
    """

    def __init__(self, options: ReadOptions, schema: StructType, overwrite: bool) -> None:
        options.check(STREAM_WRITE, "a streaming write")
        super().__init__(options, schema, overwrite)

    @one_line_errors()
    def write(self, iterator: Iterator[Any]) -> TaskFiles:
        from pyspark import TaskContext

        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        return self._written(iterator if _HAS_ARROW else _batches(iterator, self._schema), query)

    @one_line_errors()
    def commit(self, messages: list[Any], batchId: int) -> None:
        if not messages:
            return
        query = messages[0].query
        if query is None:
            raise UnsupportedFeatureError(
                "the session does not tell its tasks which query they belong to, so a batch could be written twice",
                field=_QUERY_ID,
                hint="Write it with foreachBatch and table.append(df, application=(name, batch_id))",
            )
        self._commit(messages, (query, batchId))

    @one_line_errors()
    def abort(self, messages: list[Any], batchId: int) -> None:
        self._abort(messages)


def _opened(options: ReadOptions, columns: pa.Schema) -> Table:
    """The table. If none is there and the options name a format, it is created without rows, by a commit of its own."""
    from ..table.create import create_table

    format = options.text("format")
    try:
        return options.open_table()
    except (TableNotFoundError, UnknownFormatError):
        if format is None or options.text("catalog") is not None:
            raise
    create_table(
        options.text("path"),
        columns,
        format=format,
        partition_by=options.names("partitionBy"),
        storage_options=dict(options.access.storage_options),
        if_exists="ignore",
    )
    return options.open_table()


def _application(options: ReadOptions) -> tuple[str, int] | None:
    """The options ``txnAppId`` and ``txnVersion``, which come together."""
    name, number = options.text("txnAppId"), options.version("txnVersion")
    if name is None and number is None:
        return None
    if name is None or not isinstance(number, int):
        raise TableFormatsError(
            "txnAppId and txnVersion are given together",
            field="txnVersion" if name is not None else "txnAppId",
            hint="Give a name and a whole number",
        )
    return name, number


def _condition(options: ReadOptions, overwrite: bool) -> str | None:
    """What an overwrite replaces, as :meth:`tableformats.Table.overwrite` takes it."""
    where, mode = options.text("replaceWhere"), (options.text("partitionOverwriteMode") or "static").strip().lower()
    if mode not in ("static", "dynamic"):
        raise TableFormatsError(
            "the option partitionOverwriteMode is no value that it can have",
            field="partitionOverwriteMode",
            hint="Give static or dynamic",
        )
    if not overwrite and where is not None:
        raise TableFormatsError(
            "only an overwrite replaces rows", field="replaceWhere", hint='Use .mode("overwrite"), or leave it out'
        )
    if mode == "static":
        return where
    if where is not None:
        raise TableFormatsError(
            "replaceWhere and partitionOverwriteMode=dynamic exclude each other", field="replaceWhere"
        )
    return "dynamic"


def _batches(rows: Iterator[Any], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Spark's rows as batches, for the version whose streams give no batches."""
    from pyspark.sql.conversion import LocalDataToArrowConversion

    while chunk := list(islice(rows, _ROWS)):
        # It knows that timestamps of rows are local ones.
        yield from LocalDataToArrowConversion.convert(chunk, schema, False).to_batches()
