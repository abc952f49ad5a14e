"""Schemas: types and fields by id, partition transforms, dates and times."""

from .types import (
    EXACT,
    PRIMITIVE_NAMES,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    arrow_field,
    arrow_type,
    number_fields,
    primitive,
)

__all__ = [
    "DecimalType",
    "EXACT",
    "Field",
    "FixedType",
    "ListType",
    "MapType",
    "PRIMITIVE_NAMES",
    "PrimitiveType",
    "Schema",
    "StructType",
    "Type",
    "arrow_field",
    "arrow_type",
    "number_fields",
    "primitive",
]
