"""Decodes bounds and partition values to typed Arrow arrays, a column at a time.

Bounds use Iceberg's single-value serialization. Their stored length tells the type that the column had when they were
written: an int bound of a column that is long now, a float of a double, a decimal of any length, days of a column that
became a timestamp. A bound that does not fit the column's type is unknown (null), not an error, because bounds are
optional. Partition values are Avro values. One that does not fit its type is damage.
Source: Iceberg spec, appendix D "Binary single-value serialization", appendix A "Avro", "Schema Evolution".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DAY_US,
    CorruptMetadataError,
    DecimalType,
    Field,
    FixedType,
    PrimitiveType,
    Type,
    arrow_type,
    strings,
    to_arrow,
)
from tableformats.plugin import compute as pc

from ..avro._avro import widen_decimals
from ..avro.columns import RawColumn

__all__ = ["decode_bounds", "decode_partition"]

_TIMESTAMPS = {"timestamp": 1, "timestamp_ntz": 1, "timestamp_ns": 1000, "timestamp_ntz_ns": 1000}


def decode_bounds(raw: RawColumn, field: Field, is_lower: bool) -> pa.Array | None:
    """Decode the bounds of a field.

    Parameters
    ----------
    raw : RawColumn
        Byte values, one a file. Null: no bound.
    field : Field
    is_lower : bool
        Whether these are lower bounds. Only a lower bound can be shortened if it was cut inside a character.

    Returns
    -------
    array[n], optional
        In the field's Arrow type. Null: unknown, also for NaN and for bytes of an impossible length. None: bounds of
        this type are not used.
    """
    kind = field.type
    if kind.is_nested or "logical_type" in field.metadata or not raw.is_bytes:
        return None
    if isinstance(kind, DecimalType):
        return _decimals(raw, kind)
    if isinstance(kind, FixedType):
        return _fixed(raw, kind.length)
    assert isinstance(kind, PrimitiveType)
    if kind.name == "string":
        return _strings(raw, is_lower)
    if kind.name == "binary":
        return raw.bytes_array(pa.binary())
    if kind.name == "uuid":
        return _fixed(raw, 16)
    reader = _NUMBERS.get(kind.name)
    return reader(raw, arrow_type(kind)) if reader else None


def _gather(raw: RawColumn, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose value has exactly ``width`` bytes, and these bytes as uint8[k, width]."""
    assert raw.offsets is not None and raw.data is not None
    if raw.width == width and width:
        return np.flatnonzero(raw.valid), raw.data.reshape(-1, width)
    rows = np.flatnonzero(raw.valid & (raw.sizes == width))
    return rows, raw.data[raw.offsets[rows][:, None] + np.arange(width)]


def _read(raw: RawColumn, width: int, dtype: str, out: np.ndarray, known: np.ndarray, factor: int = 1) -> None:
    """Write the values of ``width`` bytes to ``out``, times ``factor``. Values that overflow stay unknown."""
    rows, octets = _gather(raw, width)
    values = np.ascontiguousarray(octets).view(dtype).ravel() if len(rows) else np.zeros(0, dtype)
    if factor != 1:
        fits = np.abs(values.astype(np.float64)) * factor < 2.0**63
        rows, values = rows[fits], values[fits].astype(np.int64) * factor
    out[rows] = values
    known[rows] = True


def _numbers(*widths: tuple[int, str, int]) -> Callable[[RawColumn, pa.DataType], pa.Array]:
    """Make a reader of little-endian numbers.

    ``widths`` are the stored sizes: (bytes, NumPy type, factor to the column's unit). The column's own size is first.
    """
    usual, stored, _ = widths[0]

    def read(raw: RawColumn, target: pa.DataType) -> pa.Array:
        if raw.known is None and raw.width == usual > 1 and not pa.types.is_floating(target):
            assert raw.data is not None
            return to_arrow(raw.data.view(stored), target)
        storage = {1: np.uint8, 4: np.int32, 8: np.int64}[max(1, target.bit_width // 8)]
        dtype = np.dtype(f"f{target.bit_width // 8}" if pa.types.is_floating(target) else storage)
        out, known = np.zeros(len(raw), dtype), np.zeros(len(raw), bool)
        for width, source, factor in widths:
            _read(raw, width, source, out, known, factor)
        if pa.types.is_floating(target):
            known &= ~np.isnan(out)
            return to_arrow(out, target, known)
        if pa.types.is_boolean(target):
            return to_arrow(out != 0, valid=known)
        return to_arrow(out, target, known)

    return read


_MICRO_TIMESTAMP = _numbers((8, "<i8", 1), (4, "<i4", DAY_US))
_NANO_TIMESTAMP = _numbers((8, "<i8", 1), (4, "<i4", DAY_US * 1000))
_NUMBERS = {
    "boolean": _numbers((1, "u1", 1)),
    "int": _numbers((4, "<i4", 1)),
    "date": _numbers((4, "<i4", 1)),
    "long": _numbers((8, "<i8", 1), (4, "<i4", 1)),
    "float": _numbers((4, "<f4", 1)),
    "double": _numbers((8, "<f8", 1), (4, "<f4", 1)),
    "time": _numbers((8, "<i8", 1)),
    "timestamp": _MICRO_TIMESTAMP,
    "timestamp_ntz": _MICRO_TIMESTAMP,
    "timestamp_ns": _NANO_TIMESTAMP,
    "timestamp_ntz_ns": _NANO_TIMESTAMP,
}


def _decimals(raw: RawColumn, kind: DecimalType) -> pa.Array:
    """Decode unscaled big-endian two's complement numbers of 1 to 16 bytes to decimal128."""
    words, known = widen_decimals(raw.offsets, raw.data)
    known &= raw.valid & _in_precision(words, kind.precision)
    validity = to_arrow(known).buffers()[1] if len(raw) else None
    buffers = [validity, pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.decimal128(kind.precision, kind.scale), len(raw), buffers)


def _in_precision(words: np.ndarray, precision: int) -> np.ndarray:
    """bool[n]: which 128-bit little-endian integers have at most ``precision`` digits."""
    low = np.ascontiguousarray(words[:, :8]).view("<u8").ravel()
    high = np.ascontiguousarray(words[:, 8:]).view("<i8").ravel()

    def at_most(limit: int) -> np.ndarray:
        limit_high, limit_low = limit >> 64, limit & 0xFFFFFFFFFFFFFFFF
        return np.asarray((high < limit_high) | ((high == limit_high) & (low <= np.uint64(limit_low))))

    return at_most(10**precision - 1) & ~at_most(-(10**precision))


def _fixed(raw: RawColumn, width: int) -> pa.Array:
    """Values of exactly ``width`` bytes. A truncated one is unknown."""
    out = np.zeros((len(raw), width), np.uint8)
    rows, octets = _gather(raw, width)
    out[rows] = octets
    known = np.zeros(len(raw), bool)
    known[rows] = True
    validity = to_arrow(known).buffers()[1] if len(raw) else None
    return pa.Array.from_buffers(pa.binary(width), len(raw), [validity, pa.py_buffer(out)])


def _strings(raw: RawColumn, is_lower: bool) -> pa.Array:
    """UTF-8 strings. Some writers cut bounds inside a character.

    The characters before the cut are a smaller string, so they are a lower bound. Such an upper bound is unknown.
    """
    array = raw.bytes_array(pa.string())
    assert raw.data is not None
    if not len(raw.data) or raw.data.max() < 0x80:
        return array
    try:
        array.validate(full=True)
        return array
    except pa.ArrowInvalid:
        values = raw.bytes_array(pa.binary())
        return strings([_whole_characters(v, is_lower) for v in values.to_pylist()])


def _whole_characters(value: bytes | None, is_lower: bool) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        return value[: error.start].decode() if is_lower else None


# ---- partition values -----------------------------------------------------------------------------------------------


def decode_partition(raw: RawColumn, kind: Type, path: str, name: str) -> pa.Array:
    """Decode the partition values of one field.

    Parameters
    ----------
    raw : RawColumn
        The values as Avro stores them.
    kind : Type
        The type of the partition field now.
    path, name : str
        The manifest and the partition field, for errors.

    Returns
    -------
    array[n]
        In the Arrow type of ``kind``.

    Raises
    ------
    CorruptMetadataError
        A value does not fit the type. ``field`` is ``partition.<name>``.
    """
    target = arrow_type(kind)
    if raw.null_count == len(raw):
        return pa.nulls(len(raw), target)
    try:
        return _partition_values(raw, kind, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, KeyError) as error:
        raise CorruptMetadataError(
            f"a partition value of Avro type {raw.avro['type']} is no {kind}: {str(error)[:200]}",
            path=path,
            field=f"partition.{name}",
        ) from None


def _partition_values(raw: RawColumn, kind: Type, target: pa.DataType) -> pa.Array:
    avro = raw.avro["type"]
    if raw.is_bytes:
        return _partition_bytes(raw, kind, target)
    if pa.types.is_binary(target):
        # The source column is in no schema any more. Its values are only compared for equality.
        return pa.array([v.to_bytes(8, "little", signed=True) for v in raw.values.tolist()], target, mask=raw.mask)
    if avro in ("float", "double"):
        floats = raw.values.astype(np.uint32).view(np.float32) if avro == "float" else raw.values.view(np.float64)
        return pc.cast(to_arrow(floats, valid=raw.known), target)
    if pa.types.is_boolean(target):
        return to_arrow(raw.values != 0, valid=raw.known)
    values = raw.values
    if isinstance(kind, PrimitiveType) and kind.name in _TIMESTAMPS and avro == "int":
        values = values * (DAY_US * _TIMESTAMPS[kind.name])
    if target.bit_width == 32:
        narrow = values.astype(np.int32)
        if (narrow != values).any():
            raise ValueError("more than 32 bits")
        values = narrow
    return to_arrow(values, target, raw.known)


def _partition_bytes(raw: RawColumn, kind: Type, target: pa.DataType) -> pa.Array:
    if isinstance(kind, DecimalType):
        found: pa.Array = _decimals(raw, kind)
    elif isinstance(kind, FixedType):
        found = _fixed(raw, kind.length)
    elif isinstance(kind, PrimitiveType) and kind.name == "uuid" and raw.avro["type"] == "string":
        found = _uuid_texts(raw)
    elif isinstance(kind, PrimitiveType) and kind.name == "uuid":
        found = _fixed(raw, 16)
    elif pa.types.is_string(target) or pa.types.is_binary(target):
        found = raw.bytes_array(target)
        found.validate(full=True)
    else:
        raise ValueError("bytes")
    if found.null_count != raw.null_count:
        raise ValueError("a wrong length or precision")
    return found


def _uuid_texts(raw: RawColumn) -> pa.Array:
    texts: list[str | None] = raw.bytes_array(pa.string()).to_pylist()
    return pa.array([None if t is None else uuid.UUID(t).bytes for t in texts], pa.binary(16))
