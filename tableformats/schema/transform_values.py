"""Applies partition transforms to columns: the partition value of every row, at the speed of NumPy.

Source: Iceberg spec, "Partition Transforms", "Bucket Transform Details", "Truncate Transform Details", appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columnar.arrays import text_buffers, to_arrow, to_numpy
from .arrow_types import arrow_type
from .transforms import Transform, hash_bytes
from .types import DecimalType, FixedType, PrimitiveType, Type

__all__ = ["transformed"]

_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_LONG_TEXT = 256
"""Bytes; longer values are hashed one by one, because a pass over all rows for each four bytes would be slow."""
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


def transformed(transform: Transform, values: pa.Array, source: Type) -> pa.Array:
    """The partition values of rows.

    Parameters
    ----------
    transform : Transform
    values : pyarrow.Array
        [n], in the Arrow type of ``source``.

    Returns
    -------
    pyarrow.Array
        [n], in the Arrow type of ``transform.result_type(source)``. Null for null.

    Raises
    ------
    ValueError
        The transform is not known, or not one of such a column.
    """
    name = transform.name
    if name == "identity":
        return values
    if name == "void":
        return pa.nulls(len(values), arrow_type(source))
    if name == "truncate":
        return _truncated(values, transform.width, source)
    if name in _TIMES:
        return _units(values, name, source)
    if name == "bucket":
        return _buckets(values, transform.width, source)
    raise ValueError(f"the transform {transform} is not known")


def _valid(values: pa.Array) -> np.ndarray | None:
    return to_numpy(pc.is_valid(values)) if values.null_count else None


def _integers(values: pa.Array) -> np.ndarray:
    """int32 or int64[n]: numbers, days or units of time; 0 for null."""
    storage = pa.int32() if values.type.bit_width == 32 else pa.int64()
    return to_numpy(pc.fill_null(values.view(storage), pa.scalar(0, storage)))


def _truncated(values: pa.Array, width: int, source: Type) -> pa.Array:
    if isinstance(source, DecimalType):
        return _truncated_decimals(values, width, source)
    if isinstance(source, PrimitiveType) and source.name == "string":
        return pc.utf8_slice_codeunits(values, start=0, stop=width)
    if isinstance(source, PrimitiveType) and source.name == "binary":
        return pc.binary_slice(values, start=0, stop=width)
    if not isinstance(source, PrimitiveType) or source.name not in ("int", "long"):
        raise ValueError(f"a column of the type {source} is not truncated")
    numbers = _integers(values)
    # As in the Java reference, what is below the least number wraps around.
    with np.errstate(over="ignore"):
        found = numbers - numbers % numbers.dtype.type(width)
    return to_arrow(found, arrow_type(source), _valid(values))


def _truncated_decimals(values: pa.Array, width: int, source: DecimalType) -> pa.Array:
    unique = pc.unique(values)
    exponent = -source.scale
    made: list[Any] = []
    for value in unique.to_pylist():
        if value is None:
            made.append(None)
            continue
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        unscaled -= unscaled % width
        made.append(type(value)((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), exponent)))
    table = pa.array(made, arrow_type(source))
    return table.take(pc.index_in(values, value_set=unique))


def _units(values: pa.Array, name: str, source: Type) -> pa.Array:
    kind = source.name if isinstance(source, PrimitiveType) else ""
    if not (kind.startswith("timestamp") or (kind == "date" and name != "hour")):
        raise ValueError(f"a column of the type {source} has no {name}")
    unit = "D" if kind == "date" else "ns" if kind.endswith("_ns") else "us"
    found = _integers(values).astype(np.int64).view(f"M8[{unit}]").astype(f"M8[{_TIMES[name]}]").astype(np.int64)
    result = pa.date32() if name == "day" else pa.int32()
    return to_arrow(found.astype(np.int32), result, _valid(values))


# ---- bucket ---------------------------------------------------------------------------------------------------------


def _buckets(values: pa.Array, count: int, source: Type) -> pa.Array:
    found = (_hashes(values, source) & np.uint32(0x7FFFFFFF)).astype(np.int64) % count
    return to_arrow(found.astype(np.int32), pa.int32(), _valid(values))


def _hashes(values: pa.Array, source: Type) -> np.ndarray:
    """uint32[n]; anything for null."""
    if isinstance(source, DecimalType):
        return _hashed_texts(_unscaled(values))
    if isinstance(source, FixedType):
        return _hashed_texts(values.cast(pa.binary()))
    assert isinstance(source, PrimitiveType)
    if source.name in ("string", "binary", "uuid"):
        return _hashed_texts(values.cast(pa.binary()))
    if source.name not in ("int", "long", "date", "time") and not source.name.startswith("timestamp"):
        raise ValueError(f"a column of the type {source} has no buckets")
    numbers = _integers(values).astype(np.int64)
    if source.name.endswith("_ns"):
        numbers = numbers // 1000
    words = numbers.astype("<i8").view("<u4").reshape(-1, 2)
    state = np.zeros(len(words), np.uint32)
    for block in range(2):
        state = _mixed(state, words[:, block])
    return _finished(state, np.full(len(words), 8, np.uint32))


def _unscaled(values: pa.Array) -> pa.BinaryArray:
    """The unscaled numbers of decimals as the fewest big-endian bytes of two's complement."""
    unique = pc.unique(values)
    made: list[bytes | None] = []
    for value in unique.to_pylist():
        if value is None:
            made.append(None)
            continue
        sign, digits, _ = value.as_tuple()
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        made.append(number.to_bytes(((number if number >= 0 else ~number).bit_length() + 8) // 8, "big", signed=True))
    return pa.array(made, pa.binary()).take(pc.index_in(values, value_set=unique))


def _hashed_texts(values: pa.BinaryArray) -> np.ndarray:
    offsets, data = text_buffers(values)
    sizes = np.diff(offsets).astype(np.int64)
    state = np.zeros(len(values), np.uint32)
    short = sizes <= _LONG_TEXT
    starts = offsets[:-1].astype(np.int64)
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    rows = np.flatnonzero(short & (sizes >= 4))
    block = 0
    while len(rows):
        state[rows] = _mixed(state[rows], _words(padded, starts[rows] + 4 * block))
        block += 1
        rows = rows[sizes[rows] >= 4 * (block + 1)]
    rows = np.flatnonzero(short & (sizes % 4 != 0))
    rest = sizes[rows] % 4
    tail = _words(padded, starts[rows] + sizes[rows] - rest)
    tail &= (np.uint32(1) << (8 * rest).astype(np.uint32)) - np.uint32(1)
    state[rows] ^= _scrambled(tail)
    state = _finished(state, sizes.astype(np.uint32))
    for row in np.flatnonzero(~short).tolist():
        state[row] = hash_bytes(data[starts[row] : starts[row] + sizes[row]].tobytes()) & 0xFFFFFFFF
    return state


def _words(octets: np.ndarray, at: np.ndarray) -> np.ndarray:
    """uint32[n]: the four bytes from each position on, little-endian."""
    found = octets[at[:, None] + np.arange(4)]
    return np.ascontiguousarray(found).view("<u4").ravel().astype(np.uint32)


def _scrambled(words: np.ndarray) -> np.ndarray:
    words = words * _C1
    return ((words << np.uint32(15)) | (words >> np.uint32(17))) * _C2


def _mixed(state: np.ndarray, words: np.ndarray) -> np.ndarray:
    state = state ^ _scrambled(words.astype(np.uint32))
    state = (state << np.uint32(13)) | (state >> np.uint32(19))
    return state * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(state: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    state = state ^ sizes
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray(state ^ (state >> np.uint32(16)))
