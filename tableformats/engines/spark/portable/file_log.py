"""Have Spark's own readers read planned files without access to its JVM: through a file log instead of a listing.

Spark takes a directory with ``_spark_metadata`` for the output of a streaming query. It reads the files that the log
there names, wherever they are, without listing anything. Constants of a file and deleted positions are joined to its
rows by the file's number, which the log gives as its modification time. The directory is made once for each list of
files and stays until this process ends, because Spark Connect analyses a DataFrame again for each query.
Source: Spark, ``FileStreamSinkLog``, ``MetadataLogFileIndex``, ``SinkFileStatus``.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....errors import TableFormatsError, UnsupportedFeatureError
from ....io.storage import Storage
from ..columns.checks import has_time
from ..columns.naming import HIDDEN, ROW_INDEX, StoredColumn, quoted
from ..columns.spark_types import nullable_field, spark_struct
from ..deletes.positions import WORDS_FIELDS, as_lists, is_live
from ..hadoop_paths import hadoop_authorities, hadoop_path, our_path
from ..hadoop_settings import hint_for
from ..relations import READER_OPTIONS, LiveTest, Pages, Relation, RelationReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["StagedFiles", "staging_of"]

_LABEL = 40
"""The characters of a table's name and version that a directory's name has."""
_KEY = f"{HIDDEN}file"
_NUMBER = f"{HIDDEN}number"
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"
_IGNORE = "spark.sql.parquet.fieldId.read.ignoreMissing"
_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
_NESTED = "spark.sql.parquet.enableNestedColumnVectorizedReader"
_reached: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""The stores that each session could read."""


def staging_of(storage: Storage, staging: str | None) -> Storage | None:
    """Where file logs of a table are put.

    Parameters
    ----------
    storage : Storage
        Of the table.
    staging : str, optional
        A directory for them. None: a temporary directory for local tables.

    Returns
    -------
    Storage or None
        None for a remote table without ``staging``.
    """
    if staging is not None:
        return Storage(staging, storage.options)
    return Storage(_temporary(os.getpid())) if storage.is_local else None


def _temporary(process: int) -> str:
    """A temporary directory of this process, for its user alone, deleted when it ends."""
    made = _temporaries(process)
    if not made or not _is_private(made[-1]):
        made.append(tempfile.mkdtemp(prefix="tableformats-"))
        atexit.register(_at_end, process, partial(_delete_private, made[-1]))
    return made[-1]


@cache
def _temporaries(process: int) -> list[str]:
    """The temporary directories that this process made. More than one where something deleted them meanwhile."""
    return []


@cache
def _written(process: int) -> dict[tuple[str, str], str]:
    """The directories of the logs that this process wrote, by staging location, and label and digest of the log."""
    return {}


def _is_private(directory: str) -> bool:
    """Whether there is a directory that its owner alone enters, who is this process's user; no link to one.

    Programs that tidy up temporary files may delete it, and others know its name by then.
    """
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    is_of_user = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    return stat.S_ISDIR(found.st_mode) and is_of_user


def _delete_private(directory: str) -> None:
    if _is_private(directory):
        shutil.rmtree(directory, ignore_errors=True)


def _at_end(process: int, delete: Callable[[], None]) -> None:
    """Delete what ``process`` wrote. A child that was forked from it leaves that to it."""
    if os.getpid() == process:
        delete()


class StagedFiles(RelationReader):
    """Makes DataFrames of planned files in any session, without its JVM."""

    def __init__(self, spark: SparkSession, staging: Storage, storage: Storage | None = None) -> None:
        major, minor = spark.version.split(".")[:2]
        self.version = (int(major), int(minor))
        self.has_time = has_time(spark, self.version)
        self._spark = spark
        self._staging = staging
        self._storage = storage

    def live_test(self, deleted: Iterable[Pages]) -> LiveTest:
        """See :meth:`RelationReader.live_test`. Constants are joined to rows here, so they may be lists."""
        return LiveTest(WORDS_FIELDS, as_lists(deleted), is_live())

    def relation_frame(self, relation: Relation, output: Sequence[StoredColumn] | None = None) -> DataFrame:
        """See :meth:`RelationReader.relation_frame`. Filters that are added later reach the files, not the plan.

        Raises
        ------
        UnsupportedFeatureError
            The log cannot name the files, or the session's settings choose a reader that ignores field ids.
        TableFormatsError
            The staging location cannot be written.
        """
        frame = self._all_columns(relation)
        if relation.live is not None:
            frame = frame.where(relation.live.condition)
        return frame if output is None else frame.select(*(column.column() for column in output))

    def _all_columns(self, relation: Relation) -> DataFrame:
        from pyspark.sql import functions as F

        files = relation.files
        if not files.num_rows:
            return self.local_frame(None, spark_struct([*relation.data, *relation.constants]))
        self._check_settings(relation)
        _check_names(files["path"])
        self._check_reading(files["path"])
        # Without a schema Spark would infer one from the files.
        stored = relation.data or [nullable_field(ROW_INDEX, "long")]
        reader = self._spark.read.options(**READER_OPTIONS[relation.file_format]).option("recursiveFileLookup", "true")
        reader = reader.schema(self.spark_type(spark_struct(stored)))
        directory = self._stage(files["path"], files["size"], _label(relation))
        frame = reader.format(relation.file_format).load(directory)
        constants = relation.constant_columns
        if not constants.num_columns:
            return frame
        number = F.unix_millis(F.col("_metadata.file_modification_time"))
        keys = pa.array(np.arange(files.num_rows, dtype=np.int64))
        right = self.local_frame(
            constants.append_column(_KEY, keys), spark_struct([*relation.constants, nullable_field(_KEY, "long")])
        )
        frame = frame.select("*", number.alias(_NUMBER))
        return frame.join(F.broadcast(right), F.col(_NUMBER) == F.col(_KEY), "inner").drop(_NUMBER, _KEY)

    def _check_settings(self, relation: Relation) -> None:
        """Raise UnsupportedFeatureError if columns have field ids and the session's Parquet reader uses names.

        Field ids cannot be switched on here, because a reader's options arrive in lower case. Names are no substitute:
        files may have other names than the table (UniForm).
        """
        if not relation.has_field_ids:
            return
        needed = (_VECTORIZED, _NESTED) if relation.is_nested else (_VECTORIZED,)
        if not self._is_set(_BY_ID, "false") or self._is_set(_IGNORE, "false"):
            raise UnsupportedFeatureError(
                "the table's columns are found by field id, which the session's Parquet reader does not do",
                field=_BY_ID,
                hint=f'spark.conf.set("{_BY_ID}", "true") lets it',
            )
        for setting in needed:
            if not self._is_set(setting, "true"):
                raise UnsupportedFeatureError(
                    "the table's columns are found by field id, which Spark's Parquet reader does for vectors alone",
                    field=setting,
                    hint=f'spark.conf.set("{setting}", "true") lets it',
                )

    def _is_set(self, setting: str, default: str) -> bool:
        return (self._spark.conf.get(setting, default) or default).lower() == "true"

    def _check_reading(self, paths: pa.ChunkedArray) -> None:
        """Have the session look at one file of each store, once: it may lack the connector or credentials.

        Nothing is put into the reader's options, because those of a Spark Connect session are text in its plans.
        """
        if self._storage is None:
            return
        reached = _reached.setdefault(self._spark, set())
        for authority, path in hadoop_authorities(paths).items():
            if "://" not in authority or authority in reached:
                continue
            try:
                reader = self._spark.read.option("__globPaths__", "false").schema("x long")
                _ = reader.parquet(path).columns
            except Exception as error:
                text = self._storage.redact(str(error).splitlines()[0][:300])
                raise UnsupportedFeatureError(
                    f"the session cannot read {authority}: {text}",
                    path=authority,
                    field=authority,
                    hint=hint_for(self._storage, our_path(authority)),
                ) from None
            reached.add(authority)

    # ---- the log ------------------------------------------------------------------------------------------------

    def _stage(self, paths: pa.ChunkedArray, sizes: pa.ChunkedArray, label: str) -> str:
        """Write the log of the files, and return its directory, which EXPLAIN shows, as a Hadoop path."""
        lines = ["v1"]
        for number, (path, size) in enumerate(zip(paths.to_pylist(), sizes.to_pylist(), strict=True)):
            entry = {
                "path": _encoded(path),
                "size": size,
                "isDir": False,
                "modificationTime": number,
                "blockReplication": 1,
                "blockSize": 1 << 27,
                "action": "add",
            }
            lines.append(json.dumps(entry))
        data = "\n".join(lines).encode()
        # Nobody can guess the name, and so put another log there.
        digest = hashlib.sha256(data).hexdigest()
        logs, key = _written(os.getpid()), (self._staging.root, f"{label} {digest}")
        if key in logs and (not self._staging.is_local or _is_private(logs[key])):
            return hadoop_path(logs[key])
        directory = self._staging.join(f"tableformats-{label}-{uuid.uuid4().hex}")
        try:
            self._write(directory, data)
            logs[key] = directory
        except (OSError, pa.ArrowException) as error:
            raise TableFormatsError(
                f"the staging location cannot be written: {error}", path=directory, hint="Give another one"
            ) from error
        return hadoop_path(directory)

    def _write(self, directory: str, data: bytes) -> None:
        """Write a log below a new directory. Raises FileExistsError where there is one."""
        filesystem, inner = self._staging.filesystem_path(directory)
        if self._staging.is_local:
            os.makedirs(os.path.dirname(inner), exist_ok=True)
            os.mkdir(inner, 0o700)
        elif self._staging.is_dir(directory):
            raise FileExistsError(17, "There is a directory of this name", directory)
        filesystem.create_dir(f"{inner}/_spark_metadata", recursive=True)
        with filesystem.open_output_stream(f"{inner}/_spark_metadata/0") as out:
            out.write(data)
        process = os.getpid()
        if self._staging.root not in _temporaries(process):  # temporary directories are deleted as a whole
            delete = partial(_delete_private, inner) if self._staging.is_local else partial(_delete, filesystem, inner)
            atexit.register(_at_end, process, delete)

    # ---- rows ---------------------------------------------------------------------------------------------------

    def local_frame(self, table: pa.Table | None, schema: Mapping[str, Any]) -> DataFrame:
        """See :meth:`RelationReader.local_frame`; ``table`` is None for no rows.

        Timestamps are sent as numbers, or as text if they have no time zone, because PySpark would shift them by the
        session's time zone.
        """
        from pyspark.sql import functions as F

        wanted = self.spark_type(schema)
        if table is None:
            return self._spark.createDataFrame([], wanted)
        sent, columns = table, []
        for f in schema["fields"]:
            name, kind = f["name"], f["type"]
            column = F.col(quoted(name))
            if kind == "timestamp":
                sent = _replaced(sent, name, sent[name].cast(pa.int64()))
                column = F.timestamp_micros(column)
            elif kind == "timestamp_ntz":
                sent = _replaced(sent, name, pc.strftime(sent[name], format="%Y-%m-%dT%H:%M:%S"))
                column = column.cast("timestamp_ntz")
            columns.append(column.alias(name))
        sent_types = {"timestamp": "long", "timestamp_ntz": "string"}
        fields = [
            {**f, "type": sent_types.get(f["type"], f["type"]) if isinstance(f["type"], str) else f["type"]}
            for f in schema["fields"]
        ]
        sent = sent.select([f["name"] for f in fields])
        frame = self._spark.createDataFrame(sent, self.spark_type(spark_struct(fields)))
        return frame.select(*columns)


def _label(relation: Relation) -> str:
    """The table and how many files of it are read, of characters that mean nothing in a path or a pattern of paths."""
    table = re.sub(r"[^\w.]+", "-", relation.table, flags=re.ASCII)[-_LABEL:].strip("-")
    return f"{table}-{relation.files.num_rows}-of-{relation.files_total}-files"


def _check_names(paths: pa.ChunkedArray) -> None:
    """Raise UnsupportedFeatureError for files that Spark would silently leave out.

    Source: Spark, ``HadoopFSUtils.shouldFilterOutPathName``; a log holds each path once.
    """
    hidden = paths.filter(pc.match_substring_regex(paths, r"/[._][^/]*$|\._COPYING_$"))
    if len(hidden):
        raise UnsupportedFeatureError(
            "Spark leaves out files of such names",
            path=hidden[0].as_py(),
            field="file names",
            hint="The data source reads them",
        )
    if len(pc.unique(paths)) < len(paths):
        raise UnsupportedFeatureError(
            "a file is read several times, and Spark reads it once",
            field="file names",
            hint="The data source reads it as often",
        )


def _replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _encoded(path: str) -> str:
    """A path as Hadoop spells it, as a URI."""
    scheme, _, rest = hadoop_path(path).partition(":")
    return f"{scheme}:{quote(rest, safe='/@:')}"


def _delete(filesystem: Any, directory: str) -> None:
    try:
        filesystem.delete_dir(directory)
    except OSError:
        # Only a directory with a log stays behind, no data.
        return
