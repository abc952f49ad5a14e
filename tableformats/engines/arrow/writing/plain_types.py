"""The columns of a new table for rows of any Arrow types: the narrowest types of tables that hold all of the values."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

__all__ = ["plain_schema"]

_UNSIGNED = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of a table for rows of ``schema``.

    Unsigned integers become wider signed ones, halves floats, dictionaries their values, and timestamps of any unit
    those of microseconds: nanoseconds that are not 0 are an error when rows are written.
    """
    return pa.schema([_field(f) for f in schema])


def _field(f: pa.Field) -> pa.Field:
    return pa.field(f.name, _type(f.type), f.nullable)


def _type(kind: pa.DataType) -> pa.DataType:
    if types.is_dictionary(kind):
        return _type(kind.value_type)
    if types.is_unsigned_integer(kind):
        return _UNSIGNED[kind.bit_width]
    if types.is_float16(kind):
        return pa.float32()
    if types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if types.is_date64(kind):
        return pa.date32()
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field))
    return kind
