"""Types and fields as Spark's JSON. Every field, element and value is nullable, because files hold what they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....lazy_pattern import lazy_pattern
from ....schema import DecimalType, Field, FixedType, ListType, MapType, PrimitiveType, StructType, Type

__all__ = ["COLLATION", "char_metadata", "logical_type", "nullable_field", "spark_struct", "stored_type"]

COLLATION = lazy_pattern(r"(?:spark|icu)\.(\w+)", re.ASCII | re.IGNORECASE)
"""A collation as Delta writes it, provider and name. Source: Spark, ``StructField.schemaCollationValue``."""

_SparkField = Callable[[Field], Mapping[str, Any]]


def nullable_field(name: str, kind: Any, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Spark's JSON of a nullable field.

    Parameters
    ----------
    name : str
        Its name.
    kind : str or dict
        Spark's JSON of its type.
    metadata : Mapping[str, Any], optional
        Its metadata, such as ``parquet.field.id``.
    """
    return {"name": name, "type": kind, "nullable": True, "metadata": dict(metadata or {})}


def spark_struct(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Spark's JSON of a struct of these fields."""
    return {"type": "struct", "fields": list(fields)}


def logical_type(kind: Type, collation: str | None = None) -> Any:
    """Spark's JSON of the type as users see it: the table's names, uuid as text, collated strings.

    Parameters
    ----------
    kind : Type
        The type.
    collation : str, optional
        The collation of the field that has this type. Those of nested fields are taken from the fields.
    """
    return _spark_type(Field(0, "", kind, collation=collation), _logical_field, is_logical=True)


def char_metadata(f: Field) -> dict[str, Any]:
    """The metadata by which Spark pads the literals that a CHAR column is compared with; empty for other columns.

    Source: Spark, ``CharVarcharUtils``.
    """
    return {"__CHAR_VARCHAR_TYPE_STRING": f"char({f.char_length})"} if f.char_length else {}


def stored_type(kind: Type, member: _SparkField) -> Any:
    """Spark's JSON of the type as files store it: uuid as binary, strings without collation.

    Parameters
    ----------
    kind : Type
        The type.
    member : Callable[[Field], Mapping[str, Any]]
        Gives the JSON of each member of a struct.
    """
    return _spark_type(Field(0, "", kind), member, is_logical=False)


def _logical_field(f: Field) -> dict[str, Any]:
    return nullable_field(f.name, logical_type(f.type, f.collation))


def _spark_type(f: Field, member: _SparkField, is_logical: bool) -> Any:
    kind = f.type
    if isinstance(kind, StructType):
        return spark_struct(member(f) for f in kind.fields)
    if isinstance(kind, ListType):
        return {"type": "array", "elementType": _spark_type(kind.element, member, is_logical), "containsNull": True}
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key, member, is_logical),
            "valueType": _spark_type(kind.value, member, is_logical),
            "valueContainsNull": True,
        }
    if isinstance(kind, DecimalType):
        return str(kind)
    if isinstance(kind, FixedType):
        return "binary"
    assert isinstance(kind, PrimitiveType)
    if is_logical and f.collation is not None and (known := COLLATION.fullmatch(f.collation)):
        return f"string collate {known[1]}"
    uuid = "string" if is_logical else "binary"
    return {"int": "integer", "uuid": uuid, "unknown": "void", "time": "time(6)"}.get(kind.name, kind.name)
