"""Data files by Spark's own Parquet writer, where its files are the very ones that a target asks for.

It spares handing every row to Python, which costs as much as writing it. So the way is open where nobody has to look at
the rows: they have the table's columns and types, and the table has no partitions, order and rules. The files get a
directory of their own, since nobody but Spark knows their names before the job ends. Their statistics come from their
footers, but for NaN, which footers do not count: columns that may have it are read once more.

The way is taken on one machine alone, for a local table in a local session: elsewhere the files of executors would have
to be moved, and the driver would have to see them.

Sources: Spark, ``ParquetUtils.prepareWrite``, ``ParquetWriteSupport``; parquet-format, ``Statistics``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ....io.local_writes import sync_local
from ....io.storage import Storage
from ....plugin.writing.parquet_options import ParquetOptions
from ....plugin.writing.write_target import WriteTarget
from ...arrow.writing.file_statistics import AddedFiles
from ...arrow.writing.stored_columns import FIELD_ID, stored_schema
from ..hadoop_paths import hadoop_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["is_written_by_spark", "write_by_spark"]

_CODECS = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "none": "uncompressed"}
"""Spark's names of codecs."""
_SPLIT_BYTES = 128 << 20
"""A task of Spark writes one file. It reads no more than this in one, as Spark is set by default."""
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
}
"""What decides the types and the place of the files. A copy of the session has them, so no other query meets them."""


def is_written_by_spark(frame: DataFrame, given: pa.Schema, storage: Storage, target: WriteTarget) -> bool:
    """Whether :func:`write_by_spark` writes what the target asks for.

    ``given``: the frame's columns in Spark's Arrow types.
    """
    is_plain = (
        not (target.partitioning or target.sort_by or target.place)
        and not target.rules
        and target.compression in _CODECS
        and target.parquet == ParquetOptions()
        and target.row_group_rows >= WriteTarget.row_group_rows
        and target.target_file_size >= _SPLIT_BYTES
        and not any(f.required for f in target.schema.fields)
    )
    is_here = storage.is_local and (target.root is None or target.root.startswith("/")) and _runs_here(frame)
    return is_plain and is_here and _has_columns(given, target)


def _runs_here(frame: DataFrame) -> bool:
    """Whether one process runs the session, and lets Python at its JVM."""
    try:
        session = frame.sparkSession
        is_local: bool = session.sparkContext._jsc.sc().isLocal()
        return is_local and hasattr(session, "_jsparkSession")
    except Exception:  # a Connect session, or a platform that keeps Python from the JVM
        return False


def _has_columns(given: pa.Schema, target: WriteTarget) -> bool:
    """Whether rows with these columns need no cast and no column more. Nested columns have ids that Spark lacks."""
    kinds = {f.name.lower(): _in_utc(f.type) for f in given}
    stored = stored_schema(target)
    return (
        len(kinds) == len(given) == len({name.lower() for name in stored.names})
        and not any(pa.types.is_nested(f.type) for f in stored)
        and {f.name.lower(): s.type for f, s in zip(target.schema.fields, stored, strict=True)} == kinds
    )


def _in_utc(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz is not None else kind


def write_by_spark(frame: DataFrame, names: Sequence[str], storage: Storage, target: WriteTarget) -> pa.Table:
    """Write the rows. Returns the files, as :func:`tableformats.plugin.added_files_schema` says.

    ``names``: those of the frame's columns in the table, whose own names are plain. An error of the job is Spark's, and
    no file of the job is left.
    """
    root = storage.root if target.root is None else target.root
    directory = "/".join(filter(None, (target.directory, f"spark-{uuid.uuid4()}")))
    place = f"{root}/{directory}"
    try:
        _run(_stored(frame, names, target), hadoop_path(place), target)
        files = _files(place)
        sync_local(place, files)
        return _added(root, directory, files, target)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _stored(frame: DataFrame, names: Sequence[str], target: WriteTarget) -> DataFrame:
    """The columns as the files store them: in the table's order, by their stored names, with their field ids."""
    from pyspark.sql import functions

    given = {name.lower(): column for name, column in zip(names, frame.columns, strict=True)}
    columns = []
    for column, stored in zip(target.schema.fields, stored_schema(target), strict=True):
        number = (stored.metadata or {}).get(FIELD_ID.encode())
        metadata = {} if number is None else {"parquet.field.id": int(number)}
        columns.append(functions.col(given[column.name.lower()]).alias(stored.name, metadata=metadata))
    return frame.select(*columns)


def _run(frame: DataFrame, path: str, target: WriteTarget) -> None:
    """Write the rows below ``path`` in a copy of the session that has our settings."""
    copy = frame.sparkSession._jsparkSession.cloneSession()
    for key, value in _SETTINGS.items():
        copy.conf().set(key, value)
    jvm: Any = frame.sparkSession.sparkContext._jvm
    sql = jvm.org.apache.spark.sql
    datasets = sql.classic.Dataset if int(frame.sparkSession.version.split(".")[0]) >= 4 else sql.Dataset
    rows = datasets.ofRows(copy, frame._jdf.queryExecution().analyzed())
    writer = rows.write().mode("errorifexists").option("compression", _CODECS[target.compression])
    # Without this, readers that list directories would meet an empty file.
    writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(path)


def _files(place: str) -> list[str]:
    """The names of the data files, in their order. Checksums that Hadoop keeps beside them are deleted."""
    found = []
    for name in sorted(os.listdir(place)):
        if name.startswith("."):
            os.unlink(f"{place}/{name}")
        else:
            found.append(name)
    return found


def _added(root: str, directory: str, names: Sequence[str], target: WriteTarget) -> pa.Table:
    added = AddedFiles(target)
    for name in names:
        path = f"{root}/{directory}/{name}"
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows:
                added.add_footer(f"{directory}/{name}", os.stat(path).st_size, file.metadata, partial(_values, file))
                continue
        os.unlink(path)
    if not len(added):
        with contextlib.suppress(OSError):
            os.rmdir(f"{root}/{directory}")
    return added.table()


def _values(file: pq.ParquetFile, number: int) -> Iterator[pa.ChunkedArray]:
    """The values of a column, row group by row group."""
    name = file.metadata.schema.column(number).path
    for group in range(file.num_row_groups):
        yield file.read_row_group(group, columns=[name]).column(name)
