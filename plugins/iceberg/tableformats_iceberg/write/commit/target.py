"""How the data files of an Iceberg table are written: :func:`target_of`; and what of a table is not written.

Source: Iceberg spec, "Writing data files", "Sort Orders"; Iceberg documentation, "Configuration", "Write properties".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tableformats.plugin import (
    ComputedColumn,
    Field,
    RowRules,
    Schema,
    SortColumn,
    StructType,
    UnsupportedFeatureError,
    WriteTarget,
    constant_default,
    hash_bytes,
    parse_transform,
    strip_trailing,
)

from ...files.strict_json import Node
from ...metadata.metadata_columns import metadata_columns
from ...metadata.schema import parse_default
from ...metadata.table_metadata import TableMetadata
from ..encode.avro_files import codec_of
from ..encode.layouts import layout_of
from ..encode.metrics import check_metrics, metrics_modes
from ..properties import FILE_SIZE, OBJECT_STORAGE, PARTITIONED_PATHS, Choice, check_values
from .isolation import check_levels
from .manifest_store import current_schema
from .parquet_properties import CODEC, ROW_GROUP_ROWS, parquet_options

__all__ = ["check_writable", "check_properties", "data_base", "sort_order_of", "target_of"]

FORMAT = "write.format.default"
DISTRIBUTION = Choice("write.distribution-mode", "hash", {name: name for name in ("hash", "none", "range")})
DATA_PATH, PROVIDER = "write.data.path", "write.location-provider.impl"
OLD_PATHS = ("write.object-storage.path", "write.folder-storage.path")
_MOST_ROWS = 64 << 20
"""Of a row group whose bytes are limited."""


def target_of(metadata: TableMetadata, value: Mapping[str, Any], root: str) -> WriteTarget:
    """The target of new files.

    Parameters
    ----------
    value : mapping
        The JSON of the metadata file.
    root : str
        Where the table's location is, absolute.

    Raises
    ------
    UnsupportedFeatureError
        A property has an unknown value; ``field`` names it.
    """
    schema, properties = metadata.schema, metadata.properties
    spec = metadata.specs[metadata.default_spec_id]
    order = sort_order_of(value, schema)
    parquet = parquet_options(schema, properties)
    most_rows = ROW_GROUP_ROWS.of(properties)
    if parquet.row_group_bytes is not None and ROW_GROUP_ROWS.name not in properties:
        most_rows = _MOST_ROWS
    modes = metrics_modes(schema, properties, {column.source_id for column in order})
    return WriteTarget(
        schema,
        spec.fields,
        spec.id,
        partition_columns_in_files=True,
        with_field_ids=True,
        root=root,
        directory=_directory(metadata),
        place=_place(metadata),
        bounded=frozenset(i for i, mode in modes.items() if mode.bounds),
        target_file_size=FILE_SIZE.of(properties),
        row_group_rows=most_rows,
        compression=CODEC.of(properties),
        parquet=parquet,
        sort_by=order,
        distribution=DISTRIBUTION.of(properties),
        rules=RowRules(defaults=_defaults(metadata, value)),
        carried=_lineage(metadata),
    )


def _defaults(metadata: TableMetadata, value: Mapping[str, Any]) -> tuple[ComputedColumn, ...]:
    """What top-level columns are in new rows that lack them. Source: Iceberg spec, "Default values"."""
    schema, found = metadata.schema, []
    for raw in current_schema(value)["fields"]:
        column = schema.find_id(raw["id"])
        if column is not None and raw.get("write-default") is not None:
            default = parse_default(Node(raw, metadata.path), "write-default", column.type)
            found.append(constant_default(column, default, schema))
    return tuple(found)


def _lineage(metadata: TableMetadata) -> tuple[Field, ...]:
    """The columns by which rows that are written again stay the same rows: their ids and when they were changed.

    Columns of the table with their names leave no room for them in files. Rows then get new ids, as rows that are
    deleted and inserted. Source: Iceberg spec, "Row lineage assignment".
    """
    columns = metadata_columns(metadata.format_version, metadata.specs, metadata.schema)
    stored = tuple(c.field for c in columns if c.stored_id is not None)
    taken = {f.name.lower() for f in metadata.schema.fields}
    return () if taken & {f.name for f in stored} else stored


def data_base(metadata: TableMetadata) -> str:
    """The directory from which paths of new data files count, as the metadata spells it: the table's location, or
    ``write.data.path`` where that is elsewhere."""
    path = _data_path(metadata)
    return metadata.location if path.startswith(metadata.location + "/") else path


def _data_path(metadata: TableMetadata) -> str:
    return strip_trailing(metadata.properties.get(DATA_PATH) or f"{metadata.location}/data")


def _directory(metadata: TableMetadata) -> str:
    """The directory of data files below :func:`data_base`."""
    return _data_path(metadata)[len(data_base(metadata)) :].strip("/")


def _place(metadata: TableMetadata) -> Callable[[str], str] | None:
    """How paths get the entropy that object stores like, where the table asks for it."""
    properties = metadata.properties
    if not OBJECT_STORAGE.of(properties):
        return None
    context = ""
    if not _data_path(metadata).startswith(metadata.location):  # several tables may share the directory
        context = "/".join(metadata.location.rstrip("/").rpartition("://")[2].split("/")[-2:])
    return partial(hashed_path, context=context, in_directories=PARTITIONED_PATHS.of(properties))


def hashed_path(path: str, context: str, in_directories: bool) -> str:
    """The path of a file with 20 bits of its hash before it, as three directories of four bits and the rest.

    ``context`` names the table, where the directory is not its own. Without ``in_directories`` the rest of the hash
    is the beginning of the file's name. Source: Iceberg documentation, "AWS", "Object Store File Layout".
    """
    bits = f"{hash_bytes(path.encode()) & 0xFFFFF:020b}"
    entropy = "/".join((bits[:4], bits[4:8], bits[8:12], bits[12:]))
    if context:
        return f"{entropy}/{context}/{path}"
    return f"{entropy}/{path}" if in_directories else f"{entropy}-{path}"


def sort_order_of(value: Mapping[str, Any], schema: Schema) -> tuple[SortColumn, ...]:
    """The table's sort order; () where it is unsorted, or cannot be kept: files say then that they are unsorted."""
    orders: Iterable[Mapping[str, Any]] = value.get("sort-orders") or ()
    default = value.get("default-sort-order-id", 0)
    fields: list[Any] = next((order["fields"] for order in orders if order["order-id"] == default), [])
    found = [_sort_column(f, schema) for f in fields]
    return tuple(column for column in found if column is not None) if None not in found else ()


def _sort_column(field: Mapping[str, Any], schema: Schema) -> SortColumn | None:
    """A field of a sort order. None: its column is gone, or lies in a list or map, or its transform is not known."""
    try:
        path = schema.path_of(field["source-id"])
    except KeyError:
        return None
    transform = parse_transform(field["transform"])
    is_known = transform.name != "unknown" and not path[-1].type.is_nested
    if not is_known or any(f.type.is_nested and not isinstance(f.type, StructType) for f in path):
        return None
    is_plain = transform.name == "identity"
    return SortColumn(
        path[-1].id,
        field["direction"] == "desc",
        field["null-order"] == "nulls-first",
        None if is_plain else transform,
    )


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse a value of a property that writers obey, if it is not known.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names it.
    """
    check_values(properties)
    codec_of(properties)
    DISTRIBUTION.of(properties)
    check_levels(properties)
    parquet_options(Schema(()), properties)
    check_metrics(properties)


def check_writable(metadata: TableMetadata, value: Mapping[str, Any]) -> None:
    """Refuse a table that has what is not honoured when files are written.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names it.
    """
    properties = metadata.properties
    check_properties(properties)

    def refuse(message: str, field: str, hint: str | None = None) -> None:
        raise UnsupportedFeatureError(message, path=metadata.path, field=field, hint=hint)

    if properties.get(FORMAT, "parquet").lower() != "parquet":
        refuse(f"the table's files are {properties[FORMAT][:50]!r}, and only Parquet is written", FORMAT)
    if PROVIDER in properties:
        refuse("the table names a class that chooses the paths of files", PROVIDER)
    for name in OLD_PATHS:
        if name in properties:
            refuse("the table names the directory of its files by an old property", name, f"Set {DATA_PATH} instead")
    spec = metadata.specs[metadata.default_spec_id]
    layout_of(metadata.format_version, spec)
    for f in spec.fields:
        if f.transform.name == "unknown":
            refuse(f"the partition field {f.name!r} has a transform that is not known", "partition-specs")
        if f.transform.name != "void" and metadata.schema.find_id(f.source_id) is None:
            hint = "Remove the partition field from the spec"
            refuse(f"the source column of the partition field {f.name!r} was dropped", "partition-specs", hint)
    for name in _with_write_default(current_schema(value)):
        refuse(f"the member {name!r} of a column has a default for new rows", "write-default", "Write it with Spark")


def _with_write_default(schema: Mapping[str, Any]) -> list[str]:
    """The members of columns, at any depth, whose default for new rows is not NULL."""
    found: list[str] = []
    left = [{"type": field["type"]} for field in schema.get("fields") or ()]
    while left:
        item = left.pop()
        if item.get("write-default") is not None:
            found.append(str(item.get("name")))
        kind = item.get("type")
        while isinstance(kind, dict):
            left += kind.get("fields") or ()
            left += [{"type": kind[part]} for part in ("key", "value") if part in kind]
            kind = kind.get("element")
    return found
