"""Run the job that writes the rows of a DataFrame, and collect what the winning attempts of its tasks wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ....errors import ConstraintViolationError
from ....io.storage import Storage
from ....plugin.writing.write_target import WriteTarget, added_files_schema
from ...arrow.writing.data_files import discard_files
from ...arrow.writing.rows import rows_of_table
from ..distributed.job_errors import raised_error, unpack_error
from .clustering import clustered, in_spark
from .spark_parquet import is_written_by_spark, write_by_spark
from .spark_rows import arrow_schema, table_schema
from .tasks import RESULT_SCHEMA, WriteTask, unpack_files, write_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["check_columns", "merged", "write_frame"]


def check_columns(given: pa.Schema, target: WriteTarget) -> None:
    """Raise ConstraintViolationError unless rows with these columns, in Spark's Arrow types, may be rows of the table.

    A task checks the values.
    """
    empty = pa.RecordBatchReader.from_batches(table_schema(given, target.schema), [])
    for _ in rows_of_table(empty, target):
        pass
    names = {name.lower() for name in given.names}
    for f in target.schema.fields:
        if f.required and f.name.lower() not in names and f.name not in target.rules.provided:
            raise ConstraintViolationError("NULL is not allowed in the column", field=f.name)


def write_frame(frame: DataFrame, storage: Storage, target: WriteTarget) -> pa.Table:
    """Write the rows of a DataFrame by its session's executors, which need the package.

    Returns
    -------
    pyarrow.Table
        The files, as :func:`tableformats.plugin.added_files_schema` says.

    Raises
    ------
    ConstraintViolationError
        The data does not fit into the table. What the columns tell is checked before the job starts. The files of the
        job are deleted.
    UnsupportedFeatureError
        The executors' Python lacks the package, or has another version of it.
    StoreError
        A file could not be written, after Spark tried the task again. Files of other tasks may be left over.
    """
    given = arrow_schema(frame.schema)
    check_columns(given, target)
    # Spark's names may hold dots and backticks, which its own functions read otherwise.
    names = [f"c{number}" for number in range(len(given.names))]
    plain = frame.toDF(*names)
    columns = {name.lower(): plain_name for name, plain_name in zip(given.names, names, strict=True)}
    if is_written_by_spark(frame, given, storage, target):
        with _our_errors(storage):
            return write_by_spark(plain, given.names, storage, target)
    # The rows of a task come in the table's order, as far as Spark can say it.
    left = target.sort_by if len(in_spark(target)) < len(target.sort_by) else ()
    task = WriteTask.of(storage, replace(target, sort_by=left), given.names)
    job = clustered(plain, target, columns).mapInArrow(partial(write_partition, task), RESULT_SCHEMA)
    with _our_errors(storage):
        rows = job.collect()
    files = [unpack_files(row.files) for row in rows if row.files is not None]
    failed = [row.error for row in rows if row.error is not None]
    return merged(files, failed, storage, target)


@contextmanager
def _our_errors(storage: Storage) -> Iterator[None]:
    """Raise the error of ours that made a job fail."""
    try:
        yield
    except Exception as error:
        ours = raised_error(error, storage.root)
        if ours is None:
            raise
        raise ours from error


def merged(files: Sequence[pa.Table], errors: Sequence[str], storage: Storage, target: WriteTarget) -> pa.Table:
    """The files of all tasks of a job. If a task had an error, it is raised, and the files are deleted."""
    found = pa.concat_tables(files) if files else added_files_schema(target).empty_table()
    if not errors:
        return found
    # No commit names them, because this is where the job ends.
    discard_files(storage, target, found.column("path").to_pylist())
    error: Any = unpack_error(errors[0])
    raise error
