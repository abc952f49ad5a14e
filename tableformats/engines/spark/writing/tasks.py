"""What a Python worker of Spark does: write the rows of its partition as data files, and say what it wrote.

A task gets a :class:`WriteTask`, which is plain data. Names of files are random, so attempts of a task that run at the
same time do not meet. An attempt that fails deletes its own files if it can: nobody else knows their names yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

import pyarrow as pa

from ....dataclass import dataclass
from ....errors import StoreError, TableFormatsError, UnsupportedFeatureError
from ....io.storage import Storage
from ....plugin.writing.write_target import WriteTarget
from ....version import __version__
from ...arrow.writing.data_files import FileWriter
from ...arrow.writing.rows import rows_of_table
from ..distributed.job_errors import check_version, pack_error
from ..distributed.transport import Access
from .spark_rows import table_rows

__all__ = ["RESULT_SCHEMA", "WriteTask", "pack_files", "unpack_files", "write_partition"]

RESULT_SCHEMA = "files binary, error string"
_RESULT = pa.schema([("files", pa.binary()), ("error", pa.string())])
_BUFFER_BYTES = 256 << 20
"""Of rows in memory. An executor runs several tasks at once, and its memory beside the JVM's is small."""
_LANES = 1 << 16
"""Writers for which identity columns have numbers; how many tasks a job will have, adaptive execution decides later."""
_FILES = 1_000
"""Files of a result row."""


@dataclass(frozen=True)
class WriteTask:
    """How the tasks of a job write. ``names`` are those of the DataFrame's columns, in their order."""

    root: str
    moves: Mapping[str, str]
    access: Access
    target: WriteTarget = field(repr=False)
    names: Sequence[str]
    version: str = __version__

    @classmethod
    def of(cls, storage: Storage, target: WriteTarget, names: Sequence[str]) -> WriteTask:
        """Tasks that write below the root of ``storage``."""
        access = Access(dict(storage.options), storage.allow_paths, storage.limits)
        return cls(storage.root, dict(storage.moves), access, target, tuple(names))

    def write(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Write the rows. Returns the files, as :func:`tableformats.plugin.added_files_schema` says.

        Raises
        ------
        ConstraintViolationError
            The data does not fit into the table.
        UnsupportedFeatureError
            This process has another version of the package.
        StoreError
            A file cannot be written. Another attempt may succeed.
        """
        check_version(self.version)
        storage = Storage(self.root, self.access.storage_options, self.access.allow_paths, self.access.limits)
        for old, new in self.moves.items():
            storage.relocate(old, new)
        writer = FileWriter(storage, self.target, _BUFFER_BYTES)
        rows = _reader(table_rows(batches, self.names, self.target.schema))
        if rows is None:
            return writer.write([])
        try:
            return writer.write(rows_of_table(rows, self.target, *self._lane()))
        except BaseException as error:
            writer.discard()
            if isinstance(error, OSError) and not isinstance(error, TableFormatsError):
                raise StoreError(f"a data file cannot be written: {error}") from error
            raise

    def _lane(self) -> tuple[int, int]:
        """The number of this task, and of all that there may be. Attempts of a task have one: one of them counts."""
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        if number >= _LANES and self.target.rules.identities:
            raise UnsupportedFeatureError(
                f"numbers of an identity column are given out by at most {_LANES} tasks",
                field=self.target.rules.identities[0].column.name,
                hint="Write fewer partitions: df.coalesce(...)",
            )
        return number % _LANES, 1 if context is None else _LANES


def write_partition(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The files that a task wrote as rows, or its error. For ``DataFrame.mapInArrow``."""
    try:
        files = task.write(batches)
    except StoreError:
        raise
    except TableFormatsError as error:
        yield _row(error=pack_error(error))
        return
    for start in range(0, files.num_rows, _FILES):
        yield _row(files=pack_files(files.slice(start, _FILES)))


def pack_files(files: pa.Table) -> bytes:
    """The table as a compressed Arrow stream."""
    sink = pa.BufferOutputStream()
    codec = "lz4" if pa.Codec.is_available("lz4") else None
    with pa.ipc.new_stream(sink, files.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
        stream.write_table(files.combine_chunks())
    return bytes(sink.getvalue())


def unpack_files(data: bytes) -> pa.Table:
    """The table that was packed."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _row(files: bytes | None = None, error: str | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"files": files, "error": error}], schema=_RESULT)


def _reader(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader | None:
    """The batches as a reader; None if there are none."""
    first = next(batches, None)
    if first is None:
        return None

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())
