"""Encodes columns of values as Avro, one binary value a row.

A record is its fields one after the other. So the records of a block are the values of the fields' columns, joined row
by row: :func:`join`. Nothing here makes a Python object for a row, where there are more than a few.
Source: Apache Avro specification, "Binary Encoding"; Iceberg spec, appendix A, "Avro".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tableformats.plugin import compute as pc
from tableformats.plugin import scalar, text_buffers, to_numpy

__all__ = [
    "NOTHING",
    "arrays",
    "constant",
    "int_map",
    "join",
    "lengthed",
    "lists_of_longs",
    "long_map",
    "longs",
    "optional",
    "varint",
]

_BINARY = pa.binary()
_EMPTY = scalar(b"", _BINARY)
_IS_NULL, _IS_VALUE = scalar(b"\x00", _BINARY), scalar(b"\x02", _BINARY)
_END = scalar(b"\x00", _BINARY)
_FEW = 16
"""So many integers are encoded one by one, which is quicker than to set columns up."""
NOTHING = b"\x00"
"""A union of null and something, where it is null; also an empty array."""


def varint(value: int) -> bytes:
    """One integer of at most 64 bits."""
    bits = ((value << 1) ^ (value >> 63)) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    out.append(bits)
    return bytes(out)


def longs(values: np.ndarray) -> pa.BinaryArray:
    """Integers (int64[n]): zig-zag varints."""
    if len(values) <= _FEW:
        return pa.array([varint(value) for value in values.tolist()], _BINARY)
    values = np.ascontiguousarray(values, np.int64)
    bits = ((values << 1) ^ (values >> 63)).view(np.uint64)
    widths = np.ones(len(bits), np.int32)
    for shift in range(7, 64, 7):
        more = bits >= np.uint64(1) << np.uint64(shift)
        if not more.any():
            break
        widths += more
    offsets = np.zeros(len(bits) + 1, np.int32)
    np.cumsum(widths, out=offsets[1:])
    data = np.zeros(int(offsets[-1]), np.uint8)
    rows = np.arange(len(bits))
    for step in range(int(widths.max())):
        follows = np.where(widths[rows] > step + 1, 0x80, 0).astype(np.uint8)
        data[offsets[rows] + step] = ((bits[rows] >> np.uint64(7 * step)) & np.uint64(0x7F)).astype(np.uint8) | follows
        rows = rows[follows != 0]
    return pa.Array.from_buffers(_BINARY, len(bits), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def join(*columns: pa.Array | pa.Scalar | bytes) -> pa.BinaryArray:
    """The values of columns, joined row by row. Null is no bytes. Bytes stand for a column that is the same everywhere.

    At least one of them is an array.
    """
    parts = [scalar(c, _BINARY) if isinstance(c, bytes) else c for c in columns]
    return pc.binary_join_element_wise(*parts, _EMPTY, null_handling="replace")


def constant(value: bytes, rows: int) -> pa.BinaryArray:
    """The same encoded value in each of ``rows`` rows."""
    return pa.repeat(scalar(value, _BINARY), rows)


def lengthed(values: pa.Array) -> pa.BinaryArray:
    """Strings or bytes: the length, then the bytes. Null stays null."""
    values = values.cast(_BINARY)
    encoded = join(longs(to_numpy(pc.fill_null(pc.binary_length(values), 0)).astype(np.int64)), values)
    return pc.if_else(pc.is_valid(values), encoded, scalar(None, _BINARY)) if values.null_count else encoded


def optional(encoded: pa.Array, valid: np.ndarray | None = None) -> pa.BinaryArray:
    """A union of null and something. Null: where ``encoded`` is, or not ``valid`` (bool[n])."""
    if valid is not None and not valid.all():
        encoded = pc.if_else(pa.array(valid), encoded, scalar(None, _BINARY))
    if not encoded.null_count:
        return join(_IS_VALUE, encoded)
    return join(pc.if_else(pc.is_valid(encoded), _IS_VALUE, _IS_NULL), encoded)


def lists_of_longs(values: pa.ListArray) -> pa.BinaryArray:
    """Arrays of integers. Null stays null."""
    offsets = np.asarray(values.offsets)
    items = longs(to_numpy(values.values).astype(np.int64))
    encoded = arrays(items, offsets)
    return pc.if_else(pc.is_valid(values), encoded, scalar(None, _BINARY)) if values.null_count else encoded


def long_map(keys: Sequence[int], values: np.ndarray, valid: np.ndarray) -> pa.BinaryArray:
    """Maps from int to long, as arrays of pairs.

    Parameters
    ----------
    keys : sequence of int
        k keys.
    values : int64[n, k]
    valid : bool[n, k]
        Which keys each row has. Null: a row that has none.
    """
    return int_map(keys, longs(values[valid]), valid)


def int_map(keys: Sequence[int], encoded: pa.BinaryArray, valid: np.ndarray) -> pa.BinaryArray:
    """Maps from int to encoded values: those of the first row, then of the next. See :func:`long_map`."""
    counts = valid.sum(axis=1)
    names = pa.array([varint(key) for key in keys], _BINARY)
    which = pa.array(np.nonzero(valid)[1])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    pairs = join(pc.take(names, which), encoded) if len(which) else pa.array([], _BINARY)
    maps = arrays(pairs, offsets)
    return pc.if_else(pa.array(counts > 0), maps, scalar(None, _BINARY))


def arrays(items: pa.BinaryArray, offsets: np.ndarray) -> pa.BinaryArray:
    """Avro arrays: row i has the items from ``offsets[i]`` on (int[n + 1], ascending)."""
    counts = np.diff(offsets)
    starts, data = text_buffers(items)
    bodies = np.ascontiguousarray(starts[offsets], np.int32)
    body = pa.Array.from_buffers(_BINARY, len(counts), [None, pa.py_buffer(bodies), pa.py_buffer(data)])
    end = pc.if_else(pa.array(counts > 0), _END, _EMPTY)
    return join(longs(counts), body, end)
