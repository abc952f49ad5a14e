"""Columns as ``schemaString`` spells them, from the schema's types.

Source: Delta PROTOCOL.md, "Schema Serialization Format", "Column Mapping".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tableformats.plugin import (
    DecimalType,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    UnsupportedFeatureError,
)

__all__ = [
    "ID",
    "PHYSICAL_NAME",
    "ColumnIds",
    "all_structs",
    "field_json",
    "struct_features",
    "struct_json",
    "type_json",
]

ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
_NAMES = {
    "boolean": "boolean",
    "byte": "byte",
    "short": "short",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_BY_METADATA = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
}
"""The features that keys of a field's metadata need."""


class ColumnIds:
    """Gives out ids and physical names of new columns.

    Parameters
    ----------
    greatest : int
        The greatest id that was ever given out.
    physical_name : callable, optional
        (name of a column) -> its name in data files. None: a random one.
    """

    def __init__(self, greatest: int, physical_name: Callable[[str], str] | None = None) -> None:
        self.greatest = greatest
        self._physical_name = physical_name or (lambda name: f"col-{uuid.uuid4()}")

    def metadata_of(self, name: str) -> dict[str, Any]:
        """The metadata of one more column."""
        self.greatest += 1
        return {ID: self.greatest, PHYSICAL_NAME: self._physical_name(name)}


def struct_json(fields: Iterable[Field], ids: ColumnIds | None = None, column: str = "") -> dict[str, Any]:
    """A struct of columns. With ``ids`` each gets an id and a physical name. ``column`` is what it is the type of.

    Raises
    ------
    UnsupportedFeatureError
        Delta has no such type, or it is not written; or a column has a default for older files.
    """
    listed = list(fields)
    names = [f.name.lower() for f in listed]
    if not names or len(set(names)) < len(names):
        raise UnsupportedFeatureError(
            "a struct has no columns, or two of one name; case does not distinguish names",
            field=max(names, key=names.count) if names else column,
            hint="Nothing was changed",
        )
    return {"type": "struct", "fields": [field_json(f, ids) for f in listed]}


def field_json(f: Field, ids: ColumnIds | None = None) -> dict[str, Any]:
    """One column or member of a struct. Errors are those of :func:`struct_json`."""
    if f.initial_default is not None:
        raise UnsupportedFeatureError(
            "a column of Delta has no default for files that were written before it",
            field=f.name,
            hint="Nothing was changed",
        )
    metadata: dict[str, Any] = {} if f.doc is None else {"comment": f.doc}
    if ids is not None:
        metadata.update(ids.metadata_of(f.name))
    return {"name": f.name, "type": type_json(f.type, f.name, ids), "nullable": not f.required, "metadata": metadata}


def type_json(kind: Type, column: str, ids: ColumnIds | None = None) -> Any:
    """A type: a name, or an object. Errors are those of :func:`struct_json`."""
    if isinstance(kind, StructType):
        return struct_json(kind.fields, ids, column)
    if isinstance(kind, ListType):
        element = type_json(kind.element.type, column, ids)
        return {"type": "array", "elementType": element, "containsNull": not kind.element.required}
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": type_json(kind.key.type, column, ids),
            "valueType": type_json(kind.value.type, column, ids),
            "valueContainsNull": not kind.value.required,
        }
    if isinstance(kind, DecimalType):
        return str(kind)
    if isinstance(kind, PrimitiveType) and kind.name in _NAMES:
        return _NAMES[kind.name]
    raise UnsupportedFeatureError(
        f"columns of type {kind} are not written to tables of Delta", field=column, hint="Choose another type"
    )


def all_structs(value: Any) -> Iterator[Mapping[str, Any]]:
    """The structs of a type in ``schemaString``, at every depth, itself first."""
    if not isinstance(value, dict):
        return
    if value.get("type") == "struct":
        yield value
        for field in value.get("fields") or ():
            yield from all_structs(field.get("type"))
    for name in ("elementType", "keyType", "valueType", "sqlType"):
        yield from all_structs(value.get(name))


def struct_features(schema: Mapping[str, Any]) -> frozenset[str]:
    """The features that the columns of a schema need: by their types, their metadata, and NOT NULL."""
    found = set()
    for struct in all_structs(schema):
        for field in struct["fields"]:
            if "timestamp_ntz" in _leaves(field.get("type")):
                found.add("timestampNtz")
            if field.get("nullable") is False:
                found.add("invariants")
            found.update(_BY_METADATA[key] for key in field.get("metadata") or {} if key in _BY_METADATA)
    return frozenset(found)


def _leaves(kind: Any) -> Iterator[str]:
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, dict) and kind.get("type") != "struct":
        for name in ("elementType", "keyType", "valueType"):
            yield from _leaves(kind.get(name))
