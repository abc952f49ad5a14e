"""The definition of a table that is created, or that replaces the one that a table had.

Source: Delta PROTOCOL.md, "Change Metadata", "Protocol Evolution", "Column Mapping".
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tableformats.plugin import (
    ConstraintViolationError,
    CreateRequest,
    Field,
    Limits,
    MetadataChange,
    Schema,
    UnsupportedFeatureError,
    column_default,
    current_ms,
    lazy_pattern,
    names_in,
)

from ..evolution.metadata_change import without_nulls
from ..evolution.properties import GREATEST_ID
from ..evolution.protocol_upgrade import NEW_PROTOCOL, with_features
from ..evolution.schema_json import struct_features, struct_json
from ..schema.table_metadata import TableMetadata
from .definition import TableDefinition, altered_definition

__all__ = ["created_definition"]

_GENERATED = "delta.generationExpression"
_DEFAULT = "CURRENT_DEFAULT"
_IDENTITY = "delta.identity."
_NO_NAMES = lazy_pattern(r"'[^']*'|\w+\s*\(")
"""Texts and names of functions within an expression."""
_LONG = range(-(2**63), 2**63)
_MODE = "delta.columnMapping.mode"
_FORBIDDEN = frozenset(" ,;{}()\n\t=")
"""What names of columns have only under column mapping: Parquet writers of other engines refuse them."""


def created_definition(
    request: CreateRequest, path: str, limits: Limits, replaced: TableDefinition | None = None
) -> TableDefinition:
    """The definition of a new table at ``path``, or of one that had the definition ``replaced``.

    Of the latter stay the id, and the features of the protocol: those of files that older versions have. Ids of columns
    are not given out again.

    Raises
    ------
    UnsupportedFeatureError
        A type, a name, a property or a transform is not written; ``field`` names it.
    ConstraintViolationError
        A partition column is no column, is named twice, or is nested; or there is no other column.
    ValueError
        A property has no such value.
    """
    if request.sort_by:
        raise UnsupportedFeatureError(
            "tables of Delta have no sort order", path=path, field="sort_by", hint="Nothing was written"
        )
    struct = struct_json(request.schema.fields)
    for column, f in zip(struct["fields"], request.schema.fields, strict=True):
        column["metadata"] = {**_computed(f, path), **column["metadata"]}
    if not _is_mapped(request.properties):
        _check_names(request.schema.fields, path)
    configuration = {}
    if replaced is not None and _is_mapped(request.properties) and GREATEST_ID in replaced.properties:
        configuration[GREATEST_ID] = replaced.properties[GREATEST_ID]
    metadata = {
        "id": str(uuid.uuid4()) if replaced is None else replaced.metadata["id"],
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(struct, ensure_ascii=False, separators=(",", ":")),
        "partitionColumns": _partition_columns(request.partition_by, request.schema, path),
        "configuration": configuration,
        "createdTime": current_ms(),
    }
    protocol = NEW_PROTOCOL if replaced is None else without_nulls(replaced.protocol)
    protocol = with_features(protocol, struct_features(struct))
    plain = TableDefinition(protocol, metadata, TableMetadata.of_actions(metadata, protocol, path, limits))
    _check_expressions(plain.table_metadata.schema, path)
    return altered_definition(plain, MetadataChange(properties=request.properties), True, path, limits)


def _computed(f: Field, path: str) -> dict[str, Any]:
    """What the metadata of a new column say of how it is computed, as the protocol has it.

    Raises UnsupportedFeatureError for a column that is computed in two ways, and identities that are none.
    """
    found: dict[str, Any] = {key: str(f.metadata[key]) for key in (_GENERATED, _DEFAULT) if key in f.metadata}
    if any(key.startswith(_IDENTITY) for key in f.metadata):
        given = str(f.metadata.get(f"{_IDENTITY}allowExplicitInsert", "false")).lower()
        numbers = [str(f.metadata.get(f"{_IDENTITY}{key}", 1)) for key in ("start", "step")]
        are_numbers = all(re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) and int(text) in _LONG for text in numbers)
        if not are_numbers or not int(numbers[1]) or given not in ("true", "false") or str(f.type) != "bigint":
            raise UnsupportedFeatureError(
                f"an identity column is a bigint with a start, a step that is not 0, and a switch; it has {f.metadata}",
                path=path,
                field=f.name,
                hint="Nothing was written",
            )
        for key, text in zip(("start", "step"), numbers, strict=True):
            found[f"{_IDENTITY}{key}"] = int(text)
        found[f"{_IDENTITY}allowExplicitInsert"] = given == "true"
    if len({key.startswith(_IDENTITY) or key for key in found}) > 1:
        raise UnsupportedFeatureError(
            "a column is generated, has a default or is an identity: one of these",
            path=path,
            field=f.name,
            hint="Nothing was written",
        )
    comment = f.metadata.get("comment")
    return found if comment is None else {"comment": str(comment), **found}


def _check_expressions(schema: Schema, path: str) -> None:
    """Refuse defaults that cannot be computed, and generated columns that need one that is computed too."""
    computed = {f.name.lower() for f in schema.fields if _GENERATED in f.metadata or f"{_IDENTITY}start" in f.metadata}
    for f in schema.fields:
        refusal = ""
        if _DEFAULT in f.metadata:
            refusal = column_default(f, str(f.metadata[_DEFAULT]), schema).refusal
        if _GENERATED in f.metadata:
            text = _NO_NAMES.sub(" ", str(f.metadata[_GENERATED]))
            named = sorted(computed & names_in([text]))
            refusal = f"it needs {named[0]!r}, which is computed too" if named else ""
        if refusal:
            raise UnsupportedFeatureError(
                f"the expression of the column is not computed: {refusal}",
                path=path,
                field=f.name,
                hint="Nothing was written",
            )


def _is_mapped(properties: Mapping[str, str]) -> bool:
    return properties.get(_MODE, "none") != "none"


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
