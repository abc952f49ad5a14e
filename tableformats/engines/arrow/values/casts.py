"""Cast values of a data file to the type that the table gives them now; a cast that would change a value is an error.

Allowed are the casts that the formats call promotion or widening, and those between representations of one type (large,
view and dictionary layouts, int96 timestamps, bytes that the file does not mark as UTF-8). The table says whether a
timestamp is an instant, so no value is ever shifted by a time zone. Sources: Iceberg spec, "Schema Evolution"; Delta
PROTOCOL.md, "Type Widening"; Parquet LogicalTypes.md.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types

from ....columnar.coded_texts import without_dictionary
from ....schema import DecimalType, FixedType, PrimitiveType, Type, arrow_type

__all__ = ["can_read", "cast_values", "storage_of", "without_views"]


def storage_of(stored: pa.DataType) -> pa.DataType:
    """The type below extension types and dictionaries."""
    while isinstance(stored, pa.BaseExtensionType):
        stored = stored.storage_type
    return storage_of(stored.value_type) if types.is_dictionary(stored) else stored


def without_views(rows: pa.StructArray) -> pa.StructArray:
    """The same columns with string and binary views as ordinary layouts, because Arrow cannot filter or take views."""
    kinds = [_without_views(f.type) for f in rows.type]
    if all(kind == f.type for kind, f in zip(kinds, rows.type, strict=True)):
        return rows
    columns = [values.cast(kind) for values, kind in zip(rows.flatten(), kinds, strict=True)]
    fields = [f.with_type(kind) for f, kind in zip(rows.type, kinds, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _without_views(kind: pa.DataType) -> pa.DataType:
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([f.with_type(_without_views(f.type)) for f in kind])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_without_views(kind.value_type)))
    if types.is_map(kind):
        key, item = (f.with_type(_without_views(f.type)) for f in (kind.key_field, kind.item_field))
        return pa.map_(key, item, keys_sorted=kind.keys_sorted)
    return kind


def can_read(stored: pa.DataType, kind: Type) -> bool:
    """Whether values stored as ``stored`` may be read as ``kind``. The cast still checks each value."""
    stored = storage_of(stored)
    if types.is_null(stored):
        return True
    if isinstance(kind, DecimalType):
        return bool(types.is_decimal(stored) or types.is_integer(stored))
    if isinstance(kind, FixedType):
        return _is_bytes(stored)
    return isinstance(kind, PrimitiveType) and kind.name in _READABLE and _READABLE[kind.name](stored)


def cast_values(values: pa.Array, kind: Type) -> pa.Array:
    """``values`` in the Arrow type of ``kind``.

    Raises
    ------
    pyarrow.ArrowInvalid
        A value does not fit (range, precision, width, UTF-8).
    pyarrow.ArrowNotImplementedError
        There is no such cast, see :func:`can_read`.
    """
    target = arrow_type(kind)
    while isinstance(values, pa.ExtensionArray):
        values = values.storage
    if types.is_dictionary(values.type):
        values = without_dictionary(values)
    if values.type == target:
        return values
    if types.is_null(values.type):
        return pa.nulls(len(values), target)
    if types.is_decimal(target) and types.is_integer(values.type):
        # A 64-bit integer has at most 20 digits; Arrow refuses lower precisions whatever the values are.
        values = values.cast(pa.decimal128(20, 0))
    if types.is_fixed_size_binary(target) and not types.is_fixed_size_binary(values.type):
        values = values.cast(pa.binary())
    return values.cast(target)


def _is_bytes(stored: pa.DataType) -> bool:
    return _is_text(stored) or bool(types.is_fixed_size_binary(stored))


def _is_text(stored: pa.DataType) -> bool:
    kinds = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary(), pa.string_view(), pa.binary_view())
    return stored in kinds


def _is_small_integer(stored: pa.DataType) -> bool:
    return bool(types.is_integer(stored)) and stored.bit_width <= 32


def _is_instant(stored: pa.DataType) -> bool:
    return bool(types.is_timestamp(stored))


def _is_instant_or_date(stored: pa.DataType) -> bool:
    return bool(types.is_timestamp(stored) or types.is_date(stored))


_READABLE: dict[str, Callable[[pa.DataType], bool]] = {
    "boolean": types.is_boolean,
    **dict.fromkeys(("byte", "short", "int", "long"), types.is_integer),
    "float": lambda stored: types.is_float16(stored) or types.is_float32(stored),
    # A double holds every 32-bit integer exactly; neither format promotes longer ones.
    "double": lambda stored: types.is_floating(stored) or _is_small_integer(stored),
    "string": _is_text,
    "binary": _is_bytes,
    "uuid": _is_bytes,
    "date": types.is_date,
    "time": types.is_time,
    **dict.fromkeys(("timestamp", "timestamp_ns"), _is_instant),
    **dict.fromkeys(("timestamp_ntz", "timestamp_ntz_ns"), _is_instant_or_date),
}
