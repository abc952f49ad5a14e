"""Table types as the JSON of Spark's ``StructType``."""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedFeatureError
from .types import DecimalType, FixedType, ListType, MapType, PrimitiveType, StructType, Type

__all__ = ["spark_type"]


def spark_type(kind: Type) -> Any:
    """``kind`` as Spark's JSON has it: a name, or a dict. Raises UnsupportedFeatureError where Spark has no type."""
    if isinstance(kind, StructType):
        return {
            "type": "struct",
            "fields": [
                {"name": f.name, "type": spark_type(f.type), "nullable": not f.required, "metadata": {}}
                for f in kind.fields
            ],
        }
    if isinstance(kind, ListType):
        return {
            "type": "array",
            "elementType": spark_type(kind.element.type),
            "containsNull": not kind.element.required,
        }
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": spark_type(kind.key.type),
            "valueType": spark_type(kind.value.type),
            "valueContainsNull": not kind.value.required,
        }
    if isinstance(kind, DecimalType):
        return str(kind)
    if isinstance(kind, FixedType):
        return "binary"
    assert isinstance(kind, PrimitiveType)
    names = {"int": "integer", "uuid": "string", "unknown": "void"}
    if kind.name in ("time", "timestamp_ns", "timestamp_ntz_ns"):
        raise UnsupportedFeatureError(f"Spark reads no column of type {kind} yet", field=kind.name)
    return names.get(kind.name, kind.name)
