"""How the data files of an Iceberg table are written: :func:`target_of`; and what of a table is not written.

Source: Iceberg spec, "Writing data files", "Sort Orders"; Iceberg documentation, "Configuration", "Write properties".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tableformats.plugin import (
    ComputedColumn,
    Field,
    RowRules,
    Schema,
    SortColumn,
    UnsupportedFeatureError,
    WriteTarget,
    constant_default,
)

from ...files.strict_json import Node
from ...metadata.metadata_columns import metadata_columns
from ...metadata.schema import parse_default
from ...metadata.table_metadata import TableMetadata
from ..encode.layouts import layout_of
from ..encode.metrics import metrics_modes
from .manifest_store import current_schema, whole_number

__all__ = ["check_writable", "sort_order_of", "target_of"]

FILE_SIZE, ROW_GROUP_ROWS = "write.target-file-size-bytes", "write.parquet.row-group-limit"
COMPRESSION, FORMAT = "write.parquet.compression-codec", "write.format.default"
DISTRIBUTION, DISTRIBUTIONS = "write.distribution-mode", ("hash", "none", "range")
DATA_PATH, PROVIDER = "write.data.path", "write.location-provider.impl"
_CODECS = {"zstd": "zstd", "gzip": "gzip", "snappy": "snappy", "lz4": "lz4", "brotli": "brotli", "uncompressed": "none"}
DEFAULT_FILE_SIZE = 512 << 20


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
    codec = properties.get(COMPRESSION, "zstd").lower()
    if codec not in _CODECS:
        raise UnsupportedFeatureError(f"the codec {codec[:50]!r} is not written", field=COMPRESSION)
    distribution = properties.get(DISTRIBUTION, "hash").lower()
    if distribution not in DISTRIBUTIONS:
        raise UnsupportedFeatureError(f"there is no distribution {distribution[:50]!r}", field=DISTRIBUTION)
    modes = metrics_modes(schema, properties, {column.source_id for column in order})
    return WriteTarget(
        schema,
        spec.fields,
        spec.id,
        partition_columns_in_files=True,
        with_field_ids=True,
        root=root,
        directory=_directory(metadata),
        bounded=frozenset(i for i, mode in modes.items() if mode.bounds),
        target_file_size=whole_number(properties, FILE_SIZE, DEFAULT_FILE_SIZE),
        compression=_CODECS[codec],
        sort_by=order,
        distribution=distribution,
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


def _directory(metadata: TableMetadata) -> str:
    """The directory of data files below the table's location."""
    path = metadata.properties.get(DATA_PATH)
    if path is None:
        return "data"
    prefix = metadata.location + "/"
    if not path.startswith(prefix):
        raise UnsupportedFeatureError(
            f"the table's data files are outside of its location: {path[:200]!r}", path=metadata.path, field=DATA_PATH
        )
    return path[len(prefix) :].strip("/")


def sort_order_of(value: Mapping[str, Any], schema: Schema) -> tuple[SortColumn, ...]:
    """The table's sort order as far as it is of top-level columns themselves; () where it is not, or unsorted."""
    orders: Iterable[Mapping[str, Any]] = value.get("sort-orders") or ()
    default = value.get("default-sort-order-id", 0)
    fields: list[Any] = next((order["fields"] for order in orders if order["order-id"] == default), [])
    top = {f.id for f in schema.fields}
    if not all(f["transform"] == "identity" and f.get("source-id") in top for f in fields):
        return ()
    if len({f["null-order"] for f in fields}) > 1:
        return ()
    return tuple(SortColumn(f["source-id"], f["direction"] == "desc", f["null-order"] == "nulls-first") for f in fields)


def check_writable(metadata: TableMetadata, value: Mapping[str, Any]) -> None:
    """Refuse a table that has what is not honoured when files are written.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names it.
    """
    properties = metadata.properties

    def refuse(message: str, field: str, hint: str | None = None) -> None:
        raise UnsupportedFeatureError(message, path=metadata.path, field=field, hint=hint)

    if properties.get(FORMAT, "parquet").lower() != "parquet":
        refuse(f"the table's files are {properties[FORMAT][:50]!r}, and only Parquet is written", FORMAT)
    if PROVIDER in properties:
        refuse("the table names a class that chooses the paths of files", PROVIDER)
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
