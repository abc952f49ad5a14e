"""The definition of a table that is created.

Source: Delta PROTOCOL.md, "Change Metadata", "Protocol Evolution", "Column Mapping".
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence

from tableformats.plugin import (
    ConstraintViolationError,
    CreateRequest,
    Field,
    Limits,
    MetadataChange,
    Schema,
    UnsupportedFeatureError,
)

from ..evolution.protocol_upgrade import NEW_PROTOCOL, with_features
from ..evolution.schema_json import struct_features, struct_json
from ..schema.table_metadata import TableMetadata
from .definition import TableDefinition, altered_definition

__all__ = ["created_definition"]

_MODE = "delta.columnMapping.mode"
_FORBIDDEN = frozenset(" ,;{}()\n\t=")
"""What names of columns have only under column mapping: Parquet writers of other engines refuse them."""


def created_definition(request: CreateRequest, path: str, limits: Limits) -> TableDefinition:
    """The definition of a new table at ``path``.

    Raises
    ------
    UnsupportedFeatureError
        A type, a name, a property or a transform is not written; ``field`` names it.
    ConstraintViolationError
        A partition column is no column, is named twice, or is nested; or there is no other column.
    ValueError
        A property has no such value.
    """
    if request.replace or request.sort_by:
        field = "replace" if request.replace else "sort_by"
        raise UnsupportedFeatureError(
            f"tables of Delta are not created with {field!r}", path=path, field=field, hint="Nothing was written"
        )
    struct = struct_json(request.schema.fields)
    if request.properties.get(_MODE, "none") == "none":
        _check_names(request.schema.fields, path)
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(struct, ensure_ascii=False, separators=(",", ":")),
        "partitionColumns": _partition_columns(request.partition_by, request.schema, path),
        "configuration": {},
        "createdTime": time.time_ns() // 1_000_000,
    }
    protocol = with_features(NEW_PROTOCOL, struct_features(struct))
    plain = TableDefinition(protocol, metadata, TableMetadata.of_actions(metadata, protocol, path, limits))
    return altered_definition(plain, MetadataChange(properties=request.properties), True, path, limits)


def _check_names(fields: Sequence[Field], path: str) -> None:
    for f in fields:
        if _FORBIDDEN & set(f.name) or not f.name:
            raise UnsupportedFeatureError(
                "the name of a column is empty, or has a space or one of ,;{}()=",
                path=path,
                field=f.name,
                hint=f"Set the property {_MODE} to name",
            )
        _check_names(f.type.members, path)


def _partition_columns(names: Sequence[str], schema: Schema, path: str) -> list[str]:
    found: list[str] = []
    for name in names:
        column = schema.resolve([name])
        if column is None or column[0].type.is_nested or column[0].name in found:
            raise ConstraintViolationError(
                "a partition column is a column of the table that is not nested, and is named once",
                path=path,
                field=name,
                hint=f"The table has {', '.join(schema.names)}",
            )
        found.append(column[0].name)
    if len(found) == len(schema.fields):
        raise ConstraintViolationError("a table needs a column beside its partition columns", path=path)
    return found
