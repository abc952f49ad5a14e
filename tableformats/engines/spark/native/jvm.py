"""Access to the driver's JVM: compile our Java classes at first use, and send files and rows to them in bulk.

The compiler is Janino, which Spark ships for its generated code. Compiled classes stay in the driver: no task refers to
them, so executors need nothing. Source: Spark's ``FileIndex``, ``HadoopFsRelation`` and ``LocalRelation``. These are
internal to Spark; only this module and the ``.java`` files use them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from threading import Thread
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....columnar.arrays import flat, text_buffers, to_numpy
from ....errors import UnsupportedFeatureError
from ..columns.checks import has_time
from ..columns.naming import ROW_INDEX, StoredColumn
from ..deletes.positions import ADDRESS, ADDRESS_FIELD, in_pieces
from ..hadoop_paths import hadoop_authorities
from ..relations import READER_OPTIONS, LiveTest, Pages, Relation, RelationReader
from .hadoop_access import HadoopAccess, java_class, java_message

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ....io.storage import Storage

__all__ = ["Bridge"]

_LOG = logging.getLogger(__name__)
_SOURCES = (
    "ArrowRows",
    "CatalystFilters",
    "DeletedRows",
    "FileList",
    "LiveRows",
    "ScannedFiles",
    "PlannedFiles",
    "PlannedRelation",
    "CountedRows",
    "PrunedFiles",
    "Relations",
)
"""Our Java classes, each after the classes that it refers to."""
_PIECE_BYTES = 16 << 20
_PIECE_FILES = 1 << 16
_FRAME_BYTES = 1 << 17
_SQL = "org.apache.spark.sql"
_SOURCES_OF_SPARK = f"{_SQL}.execution.datasources"
_READERS = {
    "parquet": f"{_SOURCES_OF_SPARK}.parquet.ParquetFileFormat",
    "orc": f"{_SOURCES_OF_SPARK}.orc.OrcFileFormat",
}
"""Spark's readers by file format."""
_loaders: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


class PlannerCallback:
    """What the JVM calls when it plans a query: ``keep`` and ``count`` of a :class:`Relation`.

    The JVM refers to it as long as a DataFrame of the plan lives.
    """

    def __init__(self, keep: Callable[[str], bytes | None], count: Callable[[bytes | None, bool], int]) -> None:
        self._keep = keep
        self._count = count

    def apply(self, filters: str) -> bytes | None:
        return self._keep(filters)

    def applyAsLong(self, files: bytes | None, is_live: bool) -> int:
        return self._count(files, is_live)

    class Java:
        implements = ["java.util.function.Function", "java.util.function.ToLongBiFunction"]


class Bridge(RelationReader):
    """The JVM of one classic session.

    Parameters
    ----------
    spark : SparkSession
        A classic session.
    storage : Storage, optional
        Of the table that is read: its options go to the file systems of its relations.

    Raises
    ------
    UnsupportedFeatureError
        The session keeps its JVM from Python.
    """

    def __init__(self, spark: SparkSession, storage: Storage | None = None) -> None:
        major, minor = spark.version.split(".")[:2]
        self.version = (int(major), int(minor))
        self.has_time = has_time(spark, self.version)
        self._spark = spark
        self._storage = storage
        try:
            self._session = spark._jsparkSession
            self._gateway = spark.sparkContext._gateway
            if self._gateway not in _loaders:  # otherwise this JVM has compiled our classes, so it can be reached
                self._java("java.lang.System").nanoTime()
        except Exception as error:
            # Platforms that keep Python from the JVM raise many kinds of errors.
            raise UnsupportedFeatureError(
                f"the native path needs the driver's JVM, which the session keeps from Python: {java_message(error)}",
                field="Py4J",
                hint='Use mode="portable"',
            ) from error

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Compile our classes, unless that is done, while the block runs."""
        if self._gateway in _loaders:
            yield
            return
        thread = Thread(target=self._prepare, name="tableformats compiles")
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def _prepare(self) -> None:
        try:
            self._loader()
        except Exception:
            # The first use of a class compiles again, and raises the error.
            _LOG.debug("the classes were not compiled ahead", exc_info=True)

    def relation_frame(self, relation: Relation, output: Sequence[StoredColumn] | None = None) -> DataFrame:
        """See :meth:`RelationReader.relation_frame`.

        Raises
        ------
        UnsupportedFeatureError
            Columns have Parquet field ids, and the session's settings choose a reader that ignores them (the query
            fails if the settings do so later); the session has no Hadoop connector for a file's scheme, or no settings
            for its store.
        StoreError
            The session's file system cannot read the files.
        """
        from pyspark.java_gateway import ensure_callback_server_started

        ensure_callback_server_started(self._gateway)
        files, options = self._opened(relation.files)
        # Each call of the JVM takes a tenth of a millisecond.
        relations = self._instance("Relations").open(self._session, self._dataset)
        has_field_ids, is_nested = relation.has_field_ids, relation.is_nested
        if has_field_ids:
            self._check_vectorized(relations, is_nested)
        constants, rows = relation.constant_columns, None
        if constants.num_columns:
            rows = self._rows(constants, self._data_type(relation.constant_schema))
        return self._frame(
            relations.frame(
                relation.table,
                relation.files_total,
                self._files(relations, files),
                rows,
                json.dumps(relation.constant_schema),
                json.dumps(relation.data_schema),
                _READERS[relation.file_format],
                json.dumps({**READER_OPTIONS[relation.file_format], **options}),
                PlannerCallback(relation.keep, relation.count),
                has_field_ids,
                is_nested,
                None if relation.live is None else relation.live.condition,
                None if output is None else json.dumps([[c.stored, c.name, c.is_float] for c in output]),
            )
        )

    def _check_vectorized(self, relations: Any, nested: bool) -> None:
        offending = relations.offendingSetting(nested)
        if offending is not None:
            raise UnsupportedFeatureError(
                "the table's columns are found by field id, which Spark's Parquet reader does for vectors alone",
                field=offending,
                hint=f'Set it: spark.conf.set("{offending}", "true")',
            )

    def _opened(self, files: pa.Table) -> tuple[pa.Table, dict[str, str]]:
        """The files under the paths by which the relation reads them, and options of its file systems."""
        paths = files["path"]
        if not hadoop_authorities(paths):
            return files, {}
        access = HadoopAccess(self._gateway, self._session.sessionState().newHadoopConf(), self._storage)
        paths, options = access.opened(paths)
        return files.set_column(files.column_names.index("path"), "path", paths), options

    def local_frame(self, table: pa.Table, schema: Mapping[str, Any]) -> DataFrame:
        """See :meth:`RelationReader.local_frame`. Spark's plans do not print the rows."""
        struct = self._data_type(schema)
        rows = self._java("org.apache.spark.api.python.PythonUtils").toSeq(self._rows(table, struct))
        attributes = self._java(f"{_SQL}.catalyst.types.DataTypeUtils").toAttributes(struct)
        arguments = [attributes, rows, False]
        relation = self._java(f"{_SQL}.catalyst.plans.logical.LocalRelation")
        # Only some patch releases of 4.0 have a last argument, the stream that the rows come from.
        if relation._java_lang_class.getConstructors()[0].getParameterCount() > len(arguments):
            arguments.append(self._java("scala.Option").empty())
        plan = relation(*arguments)
        return self._frame(self._java(self._dataset).ofRows(self._session, plan))

    @property
    def _dataset(self) -> str:
        return f"{_SQL}.classic.Dataset" if self.version >= (4, 0) else f"{_SQL}.Dataset"

    def live_test(self, deleted: Iterable[Pages]) -> LiveTest:
        """See :meth:`RelationReader.live_test`. Executors fetch the deleted rows of a file when they read it."""
        import pyarrow as pa

        rows = self._instance("DeletedRows")
        addresses = [np.zeros(0, np.int64)]
        for number, (starts, piece) in enumerate(in_pieces(deleted)):
            addresses.append((number << 32) + starts)
            for start in range(0, len(piece), _PIECE_BYTES):
                part = _compressed(piece[start : start + _PIECE_BYTES])
                rows.add(self._spark.sparkContext._jsc, part, start + _PIECE_BYTES >= len(piece))
        constants = pa.table({ADDRESS: np.concatenate(addresses)})
        return LiveTest([ADDRESS_FIELD], constants, self._is_live(rows))

    def _is_live(self, rows: Any) -> Any:
        """Our Catalyst expression over ``rows``, which does not reach executors, see ``LiveRows.java``."""
        named = self._java(f"{_SQL}.catalyst.analysis.UnresolvedAttribute").quoted
        arguments = self._gateway.new_array(self._java("java.lang.Object"), 3)
        for i, argument in enumerate((named(ADDRESS), named(ROW_INDEX), rows)):
            arguments[i] = argument
        (constructor,) = self._loader().loadClass("tableformats.spark.LiveRows").getConstructors()
        return constructor.newInstance(arguments)

    def _frame(self, jdf: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        return DataFrame(jdf, self._spark)

    def _data_type(self, schema: Mapping[str, Any] | str) -> Any:
        return self._java(f"{_SQL}.types.DataType").fromJson(json.dumps(schema))

    def _files(self, relations: Any, files: pa.Table) -> Any:
        """``path`` and ``size`` of the table as a FileList in the JVM."""
        found = relations.files(files.num_rows, _PIECE_FILES)
        for start in range(0, files.num_rows, _PIECE_FILES):
            piece = files.slice(start, _PIECE_FILES)
            offsets, text = text_buffers(flat(piece["path"]))
            sizes = to_numpy(piece["size"]).astype("<i8", copy=False)
            starts = (offsets - offsets[0]).astype("<i4", copy=False)
            columns = [sizes, starts, text[offsets[0] : offsets[-1]]]
            found.add(sum(column.nbytes for column in columns), b"".join(map(_in_frames, columns)))
        return found

    def _rows(self, table: pa.Table, struct: Any) -> Any:
        """The table's rows as a java.util.List; the table has at least one column."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        stream = memoryview(sink.getvalue())
        rows = self._instance("ArrowRows")
        for start in range(0, len(stream), _PIECE_BYTES):
            rows.add(_compressed(stream[start : start + _PIECE_BYTES]))
        return rows.read(struct)

    def _java(self, name: str) -> Any:
        return java_class(self._gateway, name)

    def _instance(self, name: str) -> Any:
        return self._loader().loadClass(f"tableformats.spark.{name}").newInstance()

    def _loader(self) -> Any:
        """The class loader of our classes. Each JVM has one, even if two threads compile at the same time."""
        loader = _loaders.get(self._gateway)
        return _loaders.setdefault(self._gateway, self._compile(_SOURCES)) if loader is None else loader

    def _compile(self, names: Sequence[str]) -> Any:
        loader = self._java("java.lang.Thread").currentThread().getContextClassLoader()
        relation = self._java(f"{_SOURCES_OF_SPARK}.HadoopFsRelation")._java_lang_class
        session = relation.getConstructors()[0].getParameterTypes()[6].getName()
        for name in names:
            source = resources.files(__package__).joinpath(f"{name}.java").read_text("utf-8")
            if self.version < (4, 0):
                # Scala 2.12: Spark's own signatures say scala.collection.Seq.
                source = source.replace("scala.collection.immutable.Seq;", "scala.collection.Seq;")
            source = source.replace("org.apache.spark.sql.SparkSession;", f"{session};")
            compiler = self._java("org.codehaus.janino.SimpleCompiler")()
            compiler.setParentClassLoader(loader)
            compiler.cook(source)
            loader = compiler.getClassLoader()
        return loader


def _compressed(data: bytes | memoryview | np.ndarray) -> bytes:
    """The data as a Zstandard frame. Py4J sends bytes as text, and every Spark process has this codec."""
    import pyarrow as pa

    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def _in_frames(column: np.ndarray) -> bytes:
    """The memory of a column as Zstandard frames; a single frame would need a zeroed buffer of the column's size."""
    octets = column.view(np.uint8)
    return b"".join(_compressed(octets[at : at + _FRAME_BYTES]) for at in range(0, len(octets), _FRAME_BYTES))
