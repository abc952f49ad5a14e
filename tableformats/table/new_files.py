"""Any data to data files: :class:`NewFiles`. Arrow writes here; the rows of a Spark DataFrame, its executors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import CommitConflictError

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.storage import Storage
    from ..plugin.writing.write_target import WriteTarget

__all__ = ["NewFiles", "WrittenFiles"]


@dataclass(frozen=True)
class WrittenFiles:
    """Data files that were written before, as ``target`` says. A verb takes them in place of data.

    ``files``: as :func:`tableformats.plugin.added_files_schema` says.
    """

    target: WriteTarget
    files: pa.Table


class NewFiles:
    """The data files of one change. ``files``: what :meth:`write` returned.

    Parameters
    ----------
    data : Any
        A Spark DataFrame, :class:`WrittenFiles`, or what :func:`.rows.reader_of` takes.

    Raises
    ------
    TypeError
        ``data`` is nothing of these.
    """

    def __init__(self, data: Any) -> None:
        from ..engines.arrow.writing.rows import reader_of

        is_taken = isinstance(data, WrittenFiles) or _is_spark_frame(data)
        self._data = data if is_taken else reader_of(data)
        self._storage: Storage | None = None
        self._target: WriteTarget | None = None
        self.files: pa.Table | None = None
        self._paths: Sequence[str] = ()

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the rows."""
        if _is_spark_frame(self._data):
            from ..engines.spark.writing.frames import arrow_schema

            return arrow_schema(self._data.schema)
        return self._data.schema if hasattr(self._data, "schema") else self._data.target.schema.to_arrow()

    def write(self, storage: Storage, target: WriteTarget) -> pa.Table:
        """Write all rows. Returns the files; after an error there are none, as far as they can be deleted.

        Raises
        ------
        ConstraintViolationError
            The data does not fit into the table.
        CommitConflictError
            The files were written before, and the table has changed since.
        StoreError
            As the store fails. OSError if it is local.
        """
        self._storage, self._target = storage, target
        self.files = self._written(storage, target)
        return self.files

    def _written(self, storage: Storage, target: WriteTarget) -> pa.Table:
        if isinstance(self._data, WrittenFiles):
            self._paths = self._data.files.column("path").to_pylist()
            if self._data.target != target:
                self.discard()
                raise CommitConflictError("another writer changed the table after the data files were begun")
            return self._data.files
        if _is_spark_frame(self._data):
            from ..engines.spark.writing.frames import write_frame

            files = write_frame(self._data, storage, target)
            self._paths = files.column("path").to_pylist()
            return files
        return self._by_arrow(storage, target)

    def _by_arrow(self, storage: Storage, target: WriteTarget) -> pa.Table:
        from ..engines.arrow.writing.data_files import FileWriter
        from ..engines.arrow.writing.rows import rows_of_table

        writer = FileWriter(storage, target)
        self._paths = writer.written
        try:
            return writer.write(rows_of_table(self._data, target))
        except BaseException:
            writer.discard()
            raise

    @classmethod
    def of_batches(cls, batches: Iterable[pa.RecordBatch], storage: Storage, target: WriteTarget) -> NewFiles:
        """Write rows that have the columns and types of the target. Raises as :meth:`write`."""
        from ..engines.arrow.writing.data_files import FileWriter

        found = cls.__new__(cls)
        found._storage, found._target = storage, target
        writer = FileWriter(storage, target)
        found._paths = writer.written
        try:
            found.files = writer.write(batches)
        except BaseException:
            writer.discard()
            raise
        return found

    def discard(self) -> None:
        """Delete what was written. Only for a commit that has certainly not been made."""
        from ..engines.arrow.writing.data_files import discard_files

        if self._storage is not None and self._target is not None:
            discard_files(self._storage, self._target, self._paths)


def files_of_target(files: pa.Table, target: WriteTarget) -> pa.Table:
    """Written files without what is known of columns that ``target`` has not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..plugin.writing.write_target import added_files_schema

    columns = []
    for wanted in added_files_schema(target):
        column = files.column(wanted.name)
        if not column.type.equals(wanted.type):
            members = [pc.struct_field(column, member.name).combine_chunks() for member in wanted.type]
            column = pa.StructArray.from_arrays(members, fields=list(wanted.type))
        columns.append(column)
    return pa.table(columns, schema=added_files_schema(target))


def _is_spark_frame(data: object) -> bool:
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "mapInArrow")
