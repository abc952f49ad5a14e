"""``create_table`` and ``write_table``: tables where none is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import (
    AmbiguousFormatError,
    CommitConflictError,
    NamespaceNotFoundError,
    TableExistsError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from ..schema import Schema
from .opening import location_of
from .table import Table, open_table

if TYPE_CHECKING:
    import pyarrow as pa

    from ..catalog.base import Catalog
    from ..io.storage import Storage
    from ..plugin.format import OpenOptions, TableFormat
    from ..plugin.writing.table_change import CreateRequest, TableChange
    from ..plugin.writing.transaction import Commit, FormatTransaction

__all__ = ["check_creation", "create_table", "write_table"]

_IF_EXISTS = ("error", "ignore", "replace")
_MODES = ("error", "ignore", "append", "overwrite", "replace")


def create_table(
    location: Any,
    schema: Any,
    *,
    format: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    sort_by: str | Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    catalog: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    if_exists: str = "error",
) -> Table:
    """Create a table without rows, in one commit.

    Parameters
    ----------
    location : str or path
        A directory, which need not be there, or with ``catalog`` an identifier.
    schema : Schema or pyarrow.Schema
        The columns; or anything with an Arrow schema, such as a DataFrame. A field that is not nullable becomes NOT
        NULL. The metadata of an Arrow field may say how the column is computed, as the format has it (Delta:
        ``delta.generationExpression``, ``CURRENT_DEFAULT``, ``delta.identity.start``, ...).
    format : str, optional
        "delta", "iceberg", ...; it need not be said where all tables of the catalog have one.
    partition_by : str or sequence of str, optional
        Names of columns, or transforms of them where the format has such.
    sort_by : str or sequence of str, optional
        The order of rows in files, where the format keeps one: names of columns, ``"name desc"``.
    properties : mapping, optional
        As the format has them.
    catalog
        As of :func:`open_table`; ``location`` is an identifier then, whose namespace is there.
    storage_options : mapping, optional
        As of :func:`open_table`.
    if_exists : {"error", "ignore", "replace"}
        What to do where a table is. "ignore": it is opened, as it is. "replace": the commit removes all rows, and gives
        the table these columns, partitioning and properties; its older versions can still be read.

    Raises
    ------
    TableExistsError
        A table, of any format, is there; or one of another format is to be replaced.
    CommitConflictError
        A table is to be replaced, and another writer changed its definition.
    UnsupportedFeatureError
        The format creates or replaces no tables, or a type, a transform or a property is not written (``field``).
    ConstraintViolationError
        The arguments contradict each other, such as a partition column that is no column.
    CommitUnknownError
        The store does not say whether the table was created.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import tableformats as tf
    >>> table = tf.create_table("visits", pa.schema({"id": pa.int64(), "day": pa.date32()}), format="delta")
    >>> table.schema.names, table.snapshot().version
    (['id', 'day'], 0)
    """
    from ..plugin.writing.table_change import CreateRequest
    from ..write.commit_loop import errors_say_nothing_done

    if if_exists not in _IF_EXISTS:
        raise ValueError(f"if_exists is one of {', '.join(_IF_EXISTS)}, not {if_exists!r}")
    place = _Place.of(location, format, catalog, storage_options)
    found, replaces = place.existing(), if_exists == "replace"
    if found is None or replaces:
        named = _names(partition_by), _names(sort_by), dict(properties or {})
        with errors_say_nothing_done():
            request = CreateRequest(_schema_of(schema), *named, replaces)
        try:
            _create(place, request, None, found)
            return place.opened_after_commit()
        except CommitConflictError:
            raced = place.existing()
            if found is not None or raced is None:
                raise
            found = raced
    if replaces:  # another writer created it
        _create(place, request, None, found)
        return place.opened_after_commit()
    if if_exists == "error":
        raise _exists(found)
    return found


def check_creation(
    location: Any,
    schema: Any,
    *,
    format: str,
    partition_by: str | Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    if_exists: str = "error",
) -> bool:
    """Whether :func:`create_table` would create or replace a table. Nothing is written; errors are those of it."""
    from ..plugin.writing.table_change import CreateRequest

    place = _Place.of(location, format, None, storage_options)
    found, replaces = place.existing(), if_exists == "replace"
    if found is None or replaces:
        request = CreateRequest(_schema_of(schema), _names(partition_by), (), dict(properties or {}), replaces)
        _begun(place, request, found)
        return True
    if if_exists == "error":
        raise _exists(found)
    return False


def write_table(
    data: Any,
    location: Any,
    *,
    mode: str = "error",
    format: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    sort_by: str | Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    catalog: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Commit:
    """Write rows to a table, which is created where none is, with the columns of the rows. One commit.

    Parameters
    ----------
    data : as of :meth:`Table.append`
    location : str or path
        A directory, which need not be there.
    mode : {"error", "ignore", "append", "overwrite", "replace"}
        What to do where a table is. "ignore": nothing. "overwrite": all of its rows are replaced, and its definition
        stays. "replace": its definition is replaced, too, as by :func:`create_table`.
    format : str, optional
        Needed to create a table.
    partition_by : str or sequence of str, optional
        As of :func:`create_table`. A table that is there, and is not replaced, must be partitioned so.
    sort_by : str or sequence of str, optional
        The rows of each file are sorted so.
    properties : mapping, optional
        Of a new table. One that is there, and is not replaced, must have them.
    catalog, storage_options
        As of :func:`create_table`.
    **options
        As :meth:`Table.transaction` takes them, but ``properties``.

    Returns
    -------
    Commit
        ``attempts`` is 0 where nothing was done.

    Raises
    ------
    TableExistsError
        A table is there, and ``mode`` is "error"; or it is partitioned otherwise, has other properties, or is to be
        replaced by one of another format.
    ConstraintViolationError, UnsupportedFeatureError, CommitConflictError, CommitUnknownError
        As :meth:`Table.append` and :func:`create_table`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import tableformats as tf
    >>> tf.write_table(pa.table({"id": [1, 2]}), "clicks", format="delta").version
    0
    >>> tf.write_table(pa.table({"id": [3]}), "clicks", mode="append").version
    1
    """
    from ..plugin.writing.table_change import CreateRequest
    from ..write.commit_loop import errors_say_nothing_done

    if mode not in _MODES:
        raise ValueError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
    place = _Place.of(location, format, catalog, storage_options)
    found, replaces = place.existing(), mode == "replace"
    if found is None or replaces:
        place.format_of_new(found)
        with errors_say_nothing_done():
            rows, schema = _rows_and_schema(data)
        request = CreateRequest(schema, _names(partition_by), (), dict(properties or {}), replaces)
        try:
            return _create(place, request, rows, found, _names(sort_by), **options)
        except CommitConflictError:
            raced = place.existing()
            if found is not None or raced is None:
                raise
            if mode not in ("error", "ignore") and not _is_of_spark(data):  # a stream has been read
                raise
            found = raced
    if replaces:  # another writer created it
        return _create(place, request, rows, found, _names(sort_by), **options)
    if mode == "error":
        raise _exists(found)
    _check_same(found, partition_by, properties)
    if mode == "ignore":
        from ..plugin.writing.transaction import Commit

        return Commit(found.snapshot().version, "ignore", attempts=0)
    verb = found.append if mode == "append" else found.overwrite
    return verb(data, sort_by=_names(sort_by), **options)


@dataclass(frozen=True)
class _Place:
    """Where a table is, or will be."""

    location: Any
    format: str | None
    catalog: Catalog | None
    storage_options: Mapping[str, Any] | None

    @classmethod
    def of(cls, location: Any, format: str | None, catalog: Any, storage_options: Any) -> _Place:
        """The arguments of ``create_table``. The format may be that of the catalog's tables."""
        if catalog is None:
            return cls(location, format, None, storage_options)
        from ..catalog.opening import catalog_of

        found = catalog_of(catalog)
        return cls(location, format or found.new_format, found, storage_options)

    def format_of_new(self, found: Table | None) -> str:
        """The format of a new table, or of the new definition of ``found``.

        Raises TypeError where nobody says it, and TableExistsError where it is another one than that of ``found``.
        """
        if found is not None and self.format in (None, found.format):
            return found.format
        if found is not None:
            raise _exists(found)
        if self.format is None:
            raise TypeError("there is no table, and format says which kind is created")
        return self.format

    def open(self) -> Table:
        """The table. Raises as ``open_table`` does."""
        if self.catalog is not None:
            return open_table(self.location, catalog=self.catalog, storage_options=self.storage_options)
        return open_table(self.location, format=self.format, storage_options=self.storage_options)

    def opened_after_commit(self) -> Table:
        """The table that was just created. Errors say that it was."""
        try:
            return self.open()
        except TableFormatsError as error:
            error.committed = True
            raise

    def existing(self) -> Table | None:
        """The table; None: there is none, of no format. Raises NamespaceNotFoundError."""
        try:
            if self.catalog is not None:
                return self.open()
            found = open_table(self.location, storage_options=self.storage_options)
            return found if _has_versions(found) else None
        except AmbiguousFormatError:
            if self.format is None:
                raise
            return self.open()
        except NamespaceNotFoundError:
            raise
        except (TableNotFoundError, UnknownFormatError):
            return None

    def storage(self, kind: TableFormat, request: CreateRequest, found: Table | None) -> tuple[Storage, OpenOptions]:
        """The storage of the files of a new table, or of ``found``, and what its format is told of the catalog."""
        from ..io.storage import Storage
        from ..plugin.format import OpenOptions

        if found is not None:
            origin, commits_to_catalog = found._origin, found._opened.commits_to_catalog
            if origin is not None:
                origin.check_writable(commits_to_catalog)
            writer = origin.writer() if origin is not None and commits_to_catalog else None
            return found.storage, OpenOptions(cache=found.cache, catalog_writer=writer)
        if self.catalog is None:
            return Storage(location_of(self.location), self.storage_options), OpenOptions()
        from ..catalog.base import parts_of
        from ..catalog.writing import TableWriter

        writer = TableWriter(self.catalog, parts_of(self.location))
        staged = writer.stage(kind.definition(request))
        storage = Storage(staged.location, self.storage_options or staged.storage_options)
        return storage, OpenOptions(catalog_writer=writer, staged=staged)


def _create(
    place: _Place,
    request: CreateRequest,
    data: Any,
    found: Table | None,
    sort_by: Sequence[str] = (),
    *,
    isolation: str | None = None,
    application: tuple[str, int] | None = None,
    branch: str | None = None,
    schema: str | None = None,
    tries: int = 100,
    timeout: float = 120.0,
) -> Commit:
    """Create a table, or replace ``found``, with the rows ``data`` (None: without)."""
    from ..write.commit_loop import CommitOptions, errors_say_nothing_done
    from ..write.sorting import sorted_target
    from ..write.transaction import AlreadyCommittedError, already_committed, check_application, commit, unchanged
    from .new_files import NewFiles

    if branch is not None:
        raise UnsupportedFeatureError("a new definition is that of no branch", path=str(place.location), field="branch")
    options = CommitOptions(tries, timeout)
    with errors_say_nothing_done():
        storage, transaction, change = _begun(place, request, found)
    change = replace(change, isolation=isolation, application=check_application(application))
    transaction.conflict_checks(change)
    if already_committed(transaction, change.application):
        return unchanged(transaction, change)
    if data is None:
        return commit(transaction, change, options)
    files = NewFiles(data)
    change = replace(change, added=files.write(storage, sorted_target(transaction.target, sort_by)))
    try:
        return commit(transaction, change, options)
    except AlreadyCommittedError:
        files.discard()
        return unchanged(transaction, change)
    except TableFormatsError as error:
        if error.committed is False:
            files.discard()
        raise


def _begun(
    place: _Place, request: CreateRequest, found: Table | None
) -> tuple[Storage, FormatTransaction, TableChange]:
    from ..plugin.registry import host
    from ..plugin.writing.table_change import MetadataChange, TableChange

    kind = host().get(place.format_of_new(found))
    storage, options = place.storage(kind, request, found)
    transaction = kind.create(storage, options, request)
    change = TableChange("create", metadata=MetadataChange(create=request))
    transaction.check(change)
    return storage, transaction, change


def _has_versions(table: Table) -> bool:
    """Whether there is more of a table than the directory that a writer made before it was killed."""
    try:
        table.snapshot()
    except TableNotFoundError:
        return False
    except TableFormatsError:
        return True  # there is a table, which cannot be read
    return True


def _exists(table: Table) -> TableExistsError:
    return TableExistsError(f"a table of the format {table.format!r} is there", path=table.location)


def _check_same(table: Table, partition_by: str | Sequence[str] | None, properties: Mapping[str, str] | None) -> None:
    names = None if partition_by is None else _names(partition_by)
    different = table._opened.definition_differs(names, properties or {})
    if different == "partition_by":
        found = ", ".join(f.name for f in table.snapshot().partition_fields)
        raise TableExistsError(
            f"the table is partitioned by {found or 'nothing'}", path=table.location, field="partition_by"
        )
    if different is not None:
        raise TableExistsError("the table has another value of a property", path=table.location, field=different)


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _schema_of(schema: Any) -> Schema:
    if isinstance(schema, Schema):
        return schema
    import pyarrow as pa

    if not isinstance(schema, pa.Schema):
        if not hasattr(schema, "__arrow_c_schema__") and hasattr(schema, "schema"):
            schema = schema.schema
        schema = schema if isinstance(schema, pa.Schema) else _arrow_schema(schema)
    return _with_metadata(Schema.from_arrow(schema), schema)


def _with_metadata(schema: Schema, given: pa.Schema) -> Schema:
    """The columns with what the metadata of the Arrow fields say, which the format may understand."""
    fields = []
    for f, arrow in zip(schema.fields, given, strict=True):
        told = {k.decode(errors="replace"): v.decode(errors="replace") for k, v in (arrow.metadata or {}).items()}
        fields.append(replace(f, metadata=told) if told else f)
    return replace(schema, fields=tuple(fields))


def _arrow_schema(given: Any) -> pa.Schema:
    import pyarrow as pa

    if hasattr(given, "__arrow_c_schema__"):
        return pa.schema(given)
    if _is_of_spark(given):
        from ..engines.spark.writing.frames import arrow_schema

        return arrow_schema(given)
    if not hasattr(given, "dtypes"):
        raise TypeError(f"a schema is one of tableformats, Arrow, Spark or pandas, not {type(given).__name__}")
    return pa.Schema.from_pandas(given, preserve_index=False)


def _is_of_spark(given: Any) -> bool:
    return type(given).__module__.startswith("pyspark.sql.")


def _rows_and_schema(data: Any) -> tuple[Any, Schema]:
    """Rows, of which the columns are known, and the columns of a table that is made for them."""
    if _is_of_spark(data):
        return data, Schema.from_arrow(_arrow_schema(data.schema))
    from ..engines.arrow.writing.plain_types import plain_schema
    from ..engines.arrow.writing.rows import reader_of

    reader = reader_of(data)
    return reader, Schema.from_arrow(plain_schema(reader.schema))
