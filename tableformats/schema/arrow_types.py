"""Table types as Arrow types, and back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..errors import UnsupportedFeatureError
from .types import DecimalType, Field, FixedType, ListType, MapType, PrimitiveType, StructType, Type, primitive

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_field", "arrow_type", "field_of_arrow", "nullable_type"]


def arrow_field(f: Field) -> pa.Field:
    """The Arrow field of ``f``.

    Its metadata has the id under ``PARQUET:field_id``. Under ``logical_type`` it has the format's own type, where
    ``Field.metadata`` names one, because the values are more than binary (geometry).
    """
    import pyarrow as pa

    metadata = {"PARQUET:field_id": str(f.id)}
    if "logical_type" in f.metadata:
        metadata["logical_type"] = str(f.metadata["logical_type"])
    return pa.field(f.name, arrow_type(f.type), not f.required, metadata)


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of values of ``kind``; variant is ``struct<metadata: binary, value: binary>``."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, FixedType):
        return pa.binary(kind.length)
    if isinstance(kind, StructType):
        return pa.struct([arrow_field(f) for f in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(arrow_field(replace(kind.element, name="element")))
    if isinstance(kind, MapType):
        return pa.map_(
            arrow_field(replace(kind.key, name="key", required=True)), arrow_field(replace(kind.value, name="value"))
        )
    assert isinstance(kind, PrimitiveType)
    return _arrow_primitives()[kind.name]


def nullable_type(kind: Type) -> pa.DataType:
    """As :func:`arrow_type`, with members that are all nullable: for rows that are not checked yet."""
    import pyarrow as pa

    if isinstance(kind, StructType):
        return pa.struct([pa.field(f.name, nullable_type(f.type)) for f in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(pa.field("element", nullable_type(kind.element.type)))
    if isinstance(kind, MapType):
        return pa.map_(nullable_type(kind.key.type), nullable_type(kind.value.type))
    return arrow_type(kind)


@cache
def _arrow_primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "uuid": pa.binary(16),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "timestamp_ns": pa.timestamp("ns", "UTC"),
        "timestamp_ntz_ns": pa.timestamp("ns"),
        "variant": pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())]),
        "unknown": pa.null(),
    }


def field_of_arrow(f: pa.Field) -> Field:
    """The field of an Arrow field, with id 0. Raises UnsupportedFeatureError where no table type fits."""
    return Field(0, f.name, _type_of_arrow(f.type, f.name), required=not f.nullable)


def _type_of_arrow(kind: pa.DataType, name: str) -> Type:
    import pyarrow as pa
    from pyarrow import types

    if types.is_struct(kind):
        return StructType(tuple(field_of_arrow(kind.field(i)) for i in range(kind.num_fields)))
    if types.is_list(kind) or types.is_large_list(kind):
        return ListType(field_of_arrow(kind.value_field))
    if types.is_map(kind):
        return MapType(field_of_arrow(kind.key_field), field_of_arrow(kind.item_field))
    if types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        zone, nanos = kind.tz is not None, kind.unit == "ns"
        return primitive("timestamp" + ("" if zone else "_ntz") + ("_ns" if nanos else ""))
    if types.is_fixed_size_binary(kind):
        return FixedType(kind.byte_width)
    if types.is_dictionary(kind):
        return _type_of_arrow(kind.value_type, name)
    aliases = {kind: "string" for kind in (pa.large_string(), pa.string_view())}
    aliases.update({kind: "binary" for kind in (pa.large_binary(), pa.binary_view())})
    aliases.update({arrow: ours for ours, arrow in _arrow_primitives().items() if ours != "uuid"})
    if kind not in aliases:
        raise UnsupportedFeatureError(f"Arrow type {kind} has no table type", field=name, hint="Choose another type")
    return primitive(aliases[kind])
