"""Typed Arrow values as bytes: bounds (single-value serialization), and partition values as Avro stores them.

Source: Iceberg spec, appendix D "Binary single-value serialization", appendix A "Avro", "Data File Fields" (note 2).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DecimalType,
    FixedType,
    PartitionField,
    PrimitiveType,
    Type,
    arrow_type,
    scalar,
    to_numpy,
)
from tableformats.plugin import compute as pc

from .avro_encoding import join, lengthed, longs, optional
from .layouts import decimal_bytes

__all__ = ["bound_bytes", "has_bounds", "partition_values"]

_BINARY = pa.binary()
_INT32 = frozenset(("int", "date"))
_INT64 = frozenset(("long", "time", "timestamp", "timestamp_ntz", "timestamp_ns", "timestamp_ntz_ns"))
_WIDTHS = {
    "boolean": "|u1",
    "float": "<f4",
    "double": "<f8",
    **dict.fromkeys(_INT32, "<i4"),
    **dict.fromkeys(_INT64, "<i8"),
}


def has_bounds(kind: Type) -> bool:
    """Whether bounds of this type are written."""
    if isinstance(kind, (DecimalType, FixedType)):
        return True
    return isinstance(kind, PrimitiveType) and kind.name in {*_WIDTHS, "string", "binary", "uuid"}


def bound_bytes(values: pa.Array, kind: Type, *, is_lower: bool) -> pa.BinaryArray:
    """Values of a column (Arrow type of ``kind``) as bounds. Null stays null.

    A bound that is zero gets the sign that holds for both zeros. NaN is no bound, and becomes null.
    """
    if isinstance(kind, DecimalType):
        return _masked(_minimal(_big_endian(values)), values)
    if isinstance(kind, FixedType):
        return values.cast(_BINARY)
    assert isinstance(kind, PrimitiveType)
    if kind.name in ("string", "binary", "uuid"):
        return values.cast(_BINARY)
    numbers = _numbers(values, kind)
    if kind.name not in ("float", "double"):
        return _masked(_fixed(numbers), values)
    numbers = np.where(numbers == 0, numbers.dtype.type(-0.0 if is_lower else 0.0), numbers)
    known = to_numpy(pc.is_valid(values)) & ~np.isnan(numbers)
    return pc.if_else(pa.array(known), _fixed(numbers), scalar(None, _BINARY))


def partition_values(values: pa.Array, field: PartitionField) -> pa.BinaryArray:
    """Partition values of one field as unions of null and the Avro type of :func:`layouts.partition_type`."""
    kind = field.type
    if isinstance(kind, DecimalType):
        size = decimal_bytes(kind.precision)
        return optional(_masked(_fixed_rows(_big_endian(values)[:, 16 - size :]), values))
    if isinstance(kind, FixedType) or str(kind) == "uuid":
        return optional(values.cast(_BINARY))
    assert isinstance(kind, PrimitiveType)
    if kind.name in ("string", "binary"):
        return optional(lengthed(values))
    if kind.name in ("float", "double", "boolean"):
        return optional(_masked(_fixed(_numbers(values, kind)), values))
    return optional(_masked(longs(_numbers(values, kind).astype(np.int64)), values))


def _numbers(values: pa.Array, kind: PrimitiveType) -> np.ndarray:
    """The values as little-endian numbers, 0 for null."""
    dtype = np.dtype(_WIDTHS[kind.name])
    plain = values.cast(pa.uint8() if kind.name == "boolean" else arrow_type(kind))
    if dtype.kind == "i":
        plain = plain.view({4: pa.int32(), 8: pa.int64()}[dtype.itemsize])
    return to_numpy(pc.fill_null(plain, scalar(0, plain.type))).astype(dtype)


def _fixed(numbers: np.ndarray) -> pa.BinaryArray:
    return _fixed_rows(np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), numbers.dtype.itemsize))


def _fixed_rows(rows: np.ndarray) -> pa.BinaryArray:
    """binary[n] of uint8[n, width]."""
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
    data = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(_BINARY, len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _big_endian(values: pa.Array) -> np.ndarray:
    """Unscaled decimals as uint8[n, 16]: big-endian two's complement. 0 for null."""
    if values.offset:
        values = pa.concat_arrays([values, values.slice(0, 0)])
    data = values.buffers()[1] or b""
    words = np.frombuffer(data, np.uint8)[: 16 * len(values)].reshape(-1, 16)
    words = np.where(to_numpy(pc.is_valid(values))[:, None], words, 0).astype(np.uint8)
    return words[:, ::-1]


def _minimal(words: np.ndarray) -> pa.BinaryArray:
    """The fewest bytes that give each number: leading bytes that only repeat the sign are left out."""
    sign = np.where(words[:, :1] >> 7, 0xFF, 0).astype(np.uint8)
    repeats = (words[:, :-1] == sign) & ((words[:, 1:] >> 7) == (sign & 1))
    skipped = np.cumprod(repeats, axis=1).sum(axis=1)
    offsets = np.zeros(len(words) + 1, np.int32)
    np.cumsum(16 - skipped, out=offsets[1:])
    keep = np.arange(16)[None, :] >= skipped[:, None]
    return pa.Array.from_buffers(_BINARY, len(words), [None, pa.py_buffer(offsets), pa.py_buffer(words[keep])])


def _masked(encoded: pa.BinaryArray, values: pa.Array) -> pa.BinaryArray:
    return pc.if_else(pc.is_valid(values), encoded, scalar(None, _BINARY)) if values.null_count else encoded


def partition_struct(values: pa.StructArray, fields: tuple[PartitionField, ...], rows: int) -> pa.BinaryArray:
    """The partition values of files as encoded records. ``values`` has a member for each field, in their order."""
    if not fields:
        return pa.repeat(scalar(b"", _BINARY), rows)
    return join(*(partition_values(member, f) for member, f in zip(values.flatten(), fields, strict=True)))
