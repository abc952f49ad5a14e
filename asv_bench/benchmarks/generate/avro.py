"""Avro containers written by columns: every record's value of a field at once, in NumPy.

A field of n records is :class:`Cells`: a row of bytes for each record, as wide as the longest value, and which of them
are used. Fields stand beside each other as Avro's record does, and the used bytes, row by row, are the data.

Source: Apache Avro specification, "Binary Encoding" and "Object Container Files".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BLOCK_BYTES = 64_000
SYNC = bytes(range(16))


def _deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": _deflate,
    "snappy": lambda data: pa.compress(data, "snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big"),
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@dataclass(frozen=True)
class Cells:
    """One field of n records.

    octets : uint8[n, width]
    used : bool[n, width]
    """

    octets: np.ndarray
    used: np.ndarray

    def where(self, has: np.ndarray) -> Cells:
        """Nothing in the records that do not have it."""
        return Cells(self.octets, self.used & has[:, None])

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bytes a record."""
        return self.used.sum(axis=1)

    def sized(self) -> Cells:
        """As a value of bytes: behind its length."""
        return beside(longs(self.lengths), self)


def beside(*fields: Cells) -> Cells:
    return Cells(np.hstack([f.octets for f in fields]), np.hstack([f.used for f in fields]))


def constant(octets: bytes, n: int) -> Cells:
    """The same bytes in every record."""
    return fixed(np.broadcast_to(np.frombuffer(octets, np.uint8), (n, len(octets))))


def fixed(octets: np.ndarray) -> Cells:
    """uint8[n, width], all of it used."""
    return Cells(octets, np.ones(octets.shape, bool))


def plain(values: np.ndarray) -> Cells:
    """Numbers as their own little-endian bytes, as Iceberg serializes single values."""
    values = np.ascontiguousarray(values)
    return fixed(values.view(np.uint8).reshape(len(values), values.itemsize))


def longs(values: np.ndarray) -> Cells:
    """int and long: zig-zag, seven bits a byte, the lowest first."""
    signed = values.astype(np.int64)
    rest = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    octets, used = [], []
    alive = np.ones(len(rest), bool)
    while alive.any():
        used.append(alive)
        more = rest > 0x7F
        octets.append(((rest & np.uint64(0x7F)) | (more.astype(np.uint64) << np.uint64(7))).astype(np.uint8))
        rest = rest >> np.uint64(7)
        alive = alive & more
    return Cells(np.stack(octets, axis=1), np.stack(used, axis=1))


def long(value: int) -> bytes:
    """One int or long."""
    return longs(np.array([value])).octets.tobytes()


def texts(values: pa.Array, shortest: int = 0) -> Cells:
    """Characters of text without their length; nothing where NULL."""
    width = max(pc.max(pc.binary_length(values)).as_py() or 0, shortest)
    lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    padded = pc.utf8_rpad(values.fill_null(""), width)
    octets = np.frombuffer(padded.buffers()[2], np.uint8)[: len(values) * width].reshape(len(values), width)
    return Cells(octets, np.arange(width) < lengths[:, None])


def big_endian(values: np.ndarray) -> Cells:
    """Unscaled decimals that are not negative: two's complement, high byte first, as few bytes as keep the sign."""
    octets = values.astype(">i8").view(np.uint8).reshape(len(values), 8)
    bits = np.ceil(np.log2(values.astype(np.float64) + 1)).astype(int)
    return Cells(octets, np.arange(8) >= 7 - (bits // 8)[:, None])


def pairs(values: dict[int, Cells], n: int) -> Cells:
    """Iceberg's map with int keys: an array of key and value; a value with no bytes has no pair."""
    present: list[np.ndarray] = [cells.lengths > 0 for cells in values.values()]
    items = [
        beside(constant(long(key), n), cells).where(has)
        for (key, cells), has in zip(values.items(), present, strict=True)
    ]
    count = np.sum(present, axis=0)
    return beside(longs(count), *items, constant(b"\0", n).where(count > 0))


def container(path: Path, schema: str, header: dict[str, str], records: Cells, codec: str) -> int:
    """Write the records in blocks of about BLOCK_BYTES; the file's size in bytes."""
    data = records.octets[records.used].tobytes()
    ends = np.cumsum(records.lengths)
    edges = np.unique(np.searchsorted(ends, np.arange(0, len(data), BLOCK_BYTES)))
    starts, stops = edges, [*edges[1:], len(ends)]
    items = {"avro.schema": schema, "avro.codec": codec, **header}
    parts = [b"Obj\1", long(len(items))]
    for key, value in items.items():
        parts += [long(len(key.encode())), key.encode(), long(len(value.encode())), value.encode()]
    parts += [b"\0", SYNC]
    for start, stop in zip(starts, stops, strict=True):
        block = CODECS[codec](data[ends[start - 1] if start else 0 : ends[stop - 1]])
        parts += [long(stop - start), long(len(block)), block, SYNC]
    return path.write_bytes(b"".join(parts))
