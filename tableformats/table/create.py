"""``create_table`` and ``write_table``: tables where none is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import (
    AmbiguousFormatError,
    CommitConflictError,
    TableExistsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from ..schema import Schema
from .opening import location_of
from .table import Table, open_table

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.storage import Storage
    from ..plugin.writing.table_change import CreateRequest, TableChange
    from ..plugin.writing.transaction import Commit, FormatTransaction

__all__ = ["check_creation", "create_table", "write_table"]

_IF_EXISTS = ("error", "ignore")
_MODES = ("error", "ignore", "append", "overwrite")


def create_table(
    location: Any,
    schema: Any,
    *,
    format: str,
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
        A directory, which need not be there.
    schema : Schema or pyarrow.Schema
        The columns; or anything with an Arrow schema, such as a DataFrame. A field that is not nullable becomes NOT
        NULL.
    format : str
        "delta", ...
    partition_by : str or sequence of str, optional
        Names of columns, or transforms of them where the format has such.
    sort_by : str or sequence of str, optional
        The order of rows in files, where the format keeps one: names of columns, ``"name desc"``.
    properties : mapping, optional
        As the format has them.
    catalog
        Tables are not created in catalogs yet.
    storage_options : mapping, optional
        As of :func:`open_table`.
    if_exists : {"error", "ignore"}
        What to do where a table is. "ignore": it is opened, as it is.

    Raises
    ------
    TableExistsError
        A table, of any format, is there.
    UnsupportedFeatureError
        The format creates no tables, or a type, a transform or a property is not written (``field``).
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

    if if_exists not in _IF_EXISTS:
        raise ValueError(f"if_exists is one of {', '.join(_IF_EXISTS)}, not {if_exists!r}")
    _refuse_catalog(catalog)
    found = _existing(location, format, storage_options)
    if found is None:
        request = CreateRequest(_schema_of(schema), _names(partition_by), _names(sort_by), dict(properties or {}))
        try:
            _create(location, format, storage_options, request, None)
        except CommitConflictError:
            found = _existing(location, format, storage_options)
            if found is None:
                raise
    if found is not None and if_exists == "error":
        raise _exists(found)
    return found or open_table(location, format=format, storage_options=storage_options)


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
    """Whether :func:`create_table` would create a table. Nothing is written; errors are those of it."""
    from ..plugin.writing.table_change import CreateRequest

    found = _existing(location, format, storage_options)
    if found is None:
        request = CreateRequest(_schema_of(schema), _names(partition_by), (), dict(properties or {}))
        _begun(location, format, storage_options, request)
    elif if_exists == "error":
        raise _exists(found)
    return found is None


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
    mode : {"error", "ignore", "append", "overwrite"}
        What to do where a table is. "ignore": nothing. "overwrite": all of its rows are replaced, and its definition
        stays.
    format : str, optional
        Needed to create a table.
    partition_by : str or sequence of str, optional
        As of :func:`create_table`. A table that is there must be partitioned so.
    sort_by : str or sequence of str, optional
        The rows of each file are sorted so.
    properties : mapping, optional
        Of a new table. One that is there must have them.
    catalog, storage_options
        As of :func:`create_table`.
    **options
        As :meth:`Table.transaction` takes them, where a table is.

    Returns
    -------
    Commit
        ``attempts`` is 0 where nothing was done.

    Raises
    ------
    TableExistsError
        A table is there, and ``mode`` is "error"; or it is partitioned otherwise, or has other properties.
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

    if mode not in _MODES:
        raise ValueError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
    _refuse_catalog(catalog)
    open_existing = partial(_existing, location, format, storage_options)
    found = open_existing()
    if found is None:
        if format is None:
            raise TypeError("there is no table, and format says which kind is created")
        rows, schema = _rows_and_schema(data)
        request = CreateRequest(schema, _names(partition_by), (), dict(properties or {}))
        try:
            return _create(location, format, storage_options, request, rows, _names(sort_by))
        except CommitConflictError:
            found = open_existing()
            if found is None or rows is not data:  # a stream has been read
                raise
    if mode == "error":
        raise _exists(found)
    _check_same(found, partition_by, properties)
    if mode == "ignore":
        from ..plugin.writing.transaction import Commit

        return Commit(found.snapshot().version, "ignore", attempts=0)
    verb = found.append if mode == "append" else found.overwrite
    return verb(data, sort_by=_names(sort_by), **options)


def _create(
    location: Any,
    format: str,
    storage_options: Mapping[str, Any] | None,
    request: CreateRequest,
    data: Any,
    sort_by: Sequence[str] = (),
) -> Commit:
    """Create a table, with the rows ``data`` (None: without)."""
    from ..write.commit_loop import CERTAINLY_LOST, CommitOptions
    from ..write.sorting import sorted_target
    from ..write.transaction import commit
    from .new_files import NewFiles

    storage, transaction, change = _begun(location, format, storage_options, request)
    if data is None:
        return commit(transaction, change, CommitOptions())
    files = NewFiles(data)
    change = replace(change, added=files.write(storage, sorted_target(transaction.target, sort_by)))
    try:
        return commit(transaction, change, CommitOptions())
    except CERTAINLY_LOST:
        files.discard()
        raise


def _begun(
    location: Any, format: str, storage_options: Mapping[str, Any] | None, request: CreateRequest
) -> tuple[Storage, FormatTransaction, TableChange]:
    from ..io.storage import Storage
    from ..plugin.format import OpenOptions
    from ..plugin.registry import host
    from ..plugin.writing.table_change import MetadataChange, TableChange

    storage = Storage(location_of(location), storage_options)
    transaction = host().get(format).create(storage, OpenOptions(), request)
    change = TableChange("create", metadata=MetadataChange(create=request))
    transaction.check(change)
    return storage, transaction, change


def _existing(location: Any, format: str | None, storage_options: Mapping[str, Any] | None) -> Table | None:
    """The table at the location; None: there is none, of no format."""
    try:
        return open_table(location, storage_options=storage_options)
    except AmbiguousFormatError:
        if format is None:
            raise
        return open_table(location, format=format, storage_options=storage_options)
    except (TableNotFoundError, UnknownFormatError):
        return None


def _exists(table: Table) -> TableExistsError:
    return TableExistsError(f"a table of the format {table.format!r} is there", path=table.location)


def _check_same(table: Table, partition_by: str | Sequence[str] | None, properties: Mapping[str, str] | None) -> None:
    snapshot = table.snapshot()
    if partition_by is not None:
        found = [f.name.lower() for f in snapshot.partition_fields]
        if [name.lower() for name in _names(partition_by)] != found:
            raise TableExistsError(
                f"the table is partitioned by {', '.join(found) or 'nothing'}",
                path=table.location,
                field="partition_by",
            )
    for name, value in (properties or {}).items():
        if snapshot.properties.get(name) != value:
            raise TableExistsError("the table has another value of a property", path=table.location, field=name)


def _refuse_catalog(catalog: Any) -> None:
    if catalog is not None:
        raise UnsupportedFeatureError(
            "tables are not created in catalogs yet", field="catalog", hint="Nothing was written; give a location"
        )


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
    return Schema.from_arrow(schema)


def _arrow_schema(given: Any) -> pa.Schema:
    import pyarrow as pa

    if hasattr(given, "__arrow_c_schema__"):
        return pa.schema(given)
    if type(given).__module__.startswith("pyspark.sql."):
        from ..engines.spark.writing.frames import arrow_schema

        return arrow_schema(given)
    return pa.Schema.from_pandas(given, preserve_index=False)


def _rows_and_schema(data: Any) -> tuple[Any, Schema]:
    """Rows, of which the columns are known, and the columns of a table that is made for them."""
    if type(data).__module__.startswith("pyspark.sql."):
        return data, Schema.from_arrow(_arrow_schema(data.schema))
    from ..engines.arrow.writing.plain_types import plain_schema
    from ..engines.arrow.writing.rows import reader_of

    reader = reader_of(data)
    return reader, Schema.from_arrow(plain_schema(reader.schema))
