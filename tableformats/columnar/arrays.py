"""Convert between NumPy and Arrow arrays without a copy where their layouts agree, and without importing pandas.

The first call of pyarrow's own ``pa.array``, ``pa.scalar`` or ``to_numpy`` imports pandas, if it is installed. That is
a quarter of the time of a process that plans one small table, so planning uses these functions instead.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa

from . import compute as pc

__all__ = [
    "FALSE",
    "TRUE",
    "ZERO",
    "array_of",
    "binaries",
    "distinct",
    "flat",
    "pad_strings",
    "repeated",
    "scalar",
    "strings",
    "text_buffers",
    "text_maps",
    "to_arrow",
    "to_numpy",
]

_KINDS: dict[np.dtype[Any], pa.DataType] = {
    np.dtype(np.int8): pa.int8(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.uint8): pa.uint8(),
    np.dtype(np.uint16): pa.uint16(),
    np.dtype(np.uint32): pa.uint32(),
    np.dtype(np.uint64): pa.uint64(),
    np.dtype(np.float32): pa.float32(),
    np.dtype(np.float64): pa.float64(),
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_DTYPES: dict[pa.DataType, np.dtype[Any]] = {kind: dtype for dtype, kind in _KINDS.items()}


def to_arrow(values: np.ndarray, kind: pa.DataType | None = None, valid: np.ndarray | None = None) -> pa.Array:
    """``values`` as an Arrow array that shares their memory. Booleans are copied into bits.

    Parameters
    ----------
    values : numpy.ndarray
        [n], numbers or bool.
    kind : pyarrow.DataType, optional
        A type of the same width (a timestamp for int64). None: the type that NumPy names.
    valid : numpy.ndarray, optional
        bool[n], False where the result is null. None: no nulls.
    """
    bitmap = None if valid is None or valid.all() else _bits(valid)
    if values.dtype == bool:
        return pa.Array.from_buffers(pa.bool_(), len(values), [bitmap, _bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_KINDS[values.dtype] if kind is None else kind, len(values), [bitmap, data])


def to_numpy(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The values of an array of numbers, dates, times or booleans as a NumPy array [n].

    Dates and times become integers. Where the array is null the result is arbitrary. It shares the array's memory,
    except for booleans, and must not be written to.
    """
    if isinstance(values, pa.ChunkedArray):
        return to_numpy(flat(values))
    kind, start, n = values.type, values.offset, len(values)
    buffer = values.buffers()[1]
    if pa.types.is_boolean(kind):
        if not n:
            return np.zeros(0, bool)
        first = start // 8
        bits = np.frombuffer(buffer, np.uint8)[first : (start + n + 7) // 8]
        return np.unpackbits(bits, count=start - 8 * first + n, bitorder="little")[start - 8 * first :].view(bool)
    dtype = _DTYPES.get(kind, np.dtype(f"i{kind.bit_width // 8}"))
    return np.zeros(0, dtype) if not n else np.frombuffer(buffer, dtype, n, start * dtype.itemsize)


_SHARED = 16_384
"""Constant columns of up to so many rows are slices of one cached array."""
_SMALL = 64
"""Longer texts are not: a row of them would be made so many times."""


def repeated(value: pa.Scalar, n: int) -> pa.Array:
    """The same value n times. Short arrays of small values share their memory."""
    text = value.as_buffer() if isinstance(value, pa.BinaryScalar) else None
    is_long = text is not None and text.size > _SMALL
    return pa.repeat(value, n) if is_long or n > _SHARED else _shared(value).slice(0, n)


@lru_cache(maxsize=16)
def _shared(value: pa.Scalar) -> pa.Array:
    return pa.repeat(value, _SHARED)


def scratch(n: int, dtype: type[np.generic]) -> np.ndarray:
    """``np.empty(n, dtype)`` in Arrow's memory: a large array that is dropped soon.

    The C library returns such memory to the system, and each page of it takes a fault when it comes from there again.
    """
    size = np.dtype(dtype).itemsize
    return np.frombuffer(pa.allocate_buffer(max(n, 1) * size), dtype, n)


def distinct(values: np.ndarray) -> list[Any]:
    """The distinct numbers among ``values`` (any[n]), ascending."""
    # Without a further output np.unique imports numpy.ma, which takes longer than a small plan can afford.
    found: list[Any] = np.unique(values, return_counts=True)[0].tolist()
    return found


def strings(texts: Sequence[str | None]) -> pa.StringArray:
    """string[n]; None is null."""
    present = [] if None in texts else cast("Sequence[str]", texts)
    if present and (joined := "".join(present)).isascii():  # so characters are bytes
        buffers = [None, _offsets(map(len, present)), pa.py_buffer(joined.encode())]
        return pa.Array.from_buffers(pa.string(), len(present), buffers)
    return binaries([None if text is None else text.encode() for text in texts]).view(pa.string())


def text_maps(rows: Sequence[Sequence[tuple[str, str | None]] | None]) -> pa.MapArray:
    """map<string, string>[n] of the pairs of each row; None is null."""
    ends = np.cumsum([0, *(len(row or ()) for row in rows)], dtype=np.int32)
    valid = np.array([*(row is not None for row in rows), True], bool)  # a null offset is a null map
    pairs = [pair for row in rows for pair in row or ()]
    keys, items = strings([key for key, _ in pairs]), strings([item for _, item in pairs])
    return pa.MapArray.from_arrays(to_arrow(ends, pa.int32(), valid), keys, items)


def binaries(values: Sequence[bytes | None]) -> pa.BinaryArray:
    """binary[n]; None is null."""
    data = pa.py_buffer(b"".join(value or b"" for value in values))
    missing = any(value is None for value in values)
    bitmap = _bits(np.array([value is not None for value in values], bool)) if missing else None
    return pa.Array.from_buffers(pa.binary(), len(values), [bitmap, _offsets(len(v or b"") for v in values), data])


def _offsets(lengths: Iterable[int]) -> pa.Buffer:
    """Where values of these lengths begin, and where the last one ends, as int32."""
    return pa.py_buffer(np.cumsum([0, *lengths], dtype=np.int64).astype(np.int32))


def text_buffers(values: pa.StringArray | pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """The buffers of n strings or binary values, as kernels take them. They must not be written to.

    Returns
    -------
    offsets : int32[n + 1]
    data : uint8[any]
        Value i is ``data[offsets[i]:offsets[i + 1]]``. Nulls look like empty values.
    """
    _, offsets, data = values.buffers()
    octets = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    if not len(values):
        return np.zeros(1, np.int32), octets
    return np.frombuffer(offsets, np.int32, len(values) + 1, 4 * values.offset), octets


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """``pa.array(values, kind)``. None is null; dates and times may be given as integers.

    Raises
    ------
    pa.ArrowInvalid, pa.ArrowTypeError, OverflowError
        A value is not of type ``kind``.
    """
    classes = {type(value) for value in values if value is not None}
    if not classes:
        return pa.nulls(len(values), kind)
    if classes == {str} and pa.types.is_string(kind):
        return strings(values)
    if classes == {bytes} and pa.types.is_binary(kind):
        return binaries(values)
    if classes == {decimal.Decimal} and pa.types.is_decimal(kind):
        return pc.cast(strings([None if value is None else str(value) for value in values]), kind)
    filled = [0 if value is None else value for value in values]
    dtype: np.dtype[Any] | None = None
    if classes == {bool} and pa.types.is_boolean(kind):
        dtype = np.dtype(bool)
    elif classes == {float} and kind == pa.float64():
        dtype = np.dtype(np.float64)
    else:
        whole = _as_integers(filled, classes, kind)
        limits = np.iinfo(_DTYPES.get(kind, np.dtype(f"i{kind.bit_width // 8}"))) if whole else None
        if limits is not None and limits.min <= min(whole) and max(whole) <= limits.max:
            filled, dtype = whole, limits.dtype
    if dtype is None:
        return pa.array(values, kind)
    valid = np.array([value is not None for value in values], bool)
    return to_arrow(np.array(filled, dtype), None if dtype.kind == "b" else kind, valid)


def _as_integers(values: list[Any], classes: set[type], kind: pa.DataType) -> list[int]:
    """The integers that arrays of ``kind`` store for the values. Empty where pyarrow has to convert them."""
    is_time = pa.types.is_timestamp(kind)
    if classes == {int} and (pa.types.is_integer(kind) or pa.types.is_date32(kind) or is_time):
        return values
    if classes == {dt.date} and pa.types.is_date32(kind):
        return [value and value.toordinal() - _EPOCH.toordinal() for value in values]
    if classes == {dt.datetime} and is_time and kind.unit == "us":
        if {value.tzinfo is not None for value in values if value} == {kind.tz is not None}:
            start = _EPOCH if kind.tz else _EPOCH.replace(tzinfo=None)
            return [value and (value - start) // dt.timedelta(microseconds=1) for value in values]
    return []


def scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """``value`` as an Arrow scalar of type ``kind``; None is null. Raises as :func:`array_of` does."""
    return pa.nulls(1, kind)[0] if value is None else array_of([value], kind)[0]


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array. It is copied only if it has several chunks."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks < 2:
        return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
    return pa.concat_arrays(column.chunks)


def _bits(flags: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


FALSE = scalar(False, pa.bool_())
TRUE = scalar(True, pa.bool_())
ZERO = scalar(0, pa.int64())


def pad_strings(values: pa.Array, length: int) -> pa.Array:
    """string[n]: values padded at their end with spaces to ``length`` characters; longer ones stay as they are.

    Raises
    ------
    pa.ArrowInvalid
        The result has 2 GiB or more.
    """
    if 4 * length * len(values) < 2**31:
        return pc.utf8_rpad(values, width=length, padding=" ")
    # Arrow counts four bytes for each character that may be needed.
    return pc.cast(pc.utf8_rpad(pc.cast(values, pa.large_string()), width=length, padding=" "), pa.string())
