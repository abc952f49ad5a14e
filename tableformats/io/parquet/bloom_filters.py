"""Split block Bloom filters of Parquet column chunks: whether a chunk may hold a value.

A filter answers "no" with certainty, and "perhaps". Only the head and the block of a value are looked at. Source:
Parquet format, "Parquet Bloom Filter"; parquet.thrift, BloomFilterHeader; xxHash specification, "XXH64".
"""

from __future__ import annotations

from typing import Any

from .._thrift import read_struct_at

__all__ = ["BLOCK_BYTES", "HEAD_BYTES", "BloomFilter", "xxh64"]

BLOCK_BYTES = 32
HEAD_BYTES = 64
"""The head of a filter has fewer."""
_SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
_WORD, _MASK = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


class BloomFilter:
    """A filter in a file.

    Parameters
    ----------
    head : bytes or memoryview
        ``HEAD_BYTES`` from where the filter begins; fewer at the file's end.

    Raises
    ------
    ValueError
        It is no filter that is known here.
    """

    def __init__(self, head: bytes | memoryview) -> None:
        fields, self._start = read_struct_at(head, 0)
        size = fields[1][1] if 1 in fields else None
        if not isinstance(size, int) or size < BLOCK_BYTES or size % BLOCK_BYTES:
            raise ValueError("a Bloom filter has no whole blocks")
        if not all(_is_first_of_union(fields.get(key)) for key in (2, 3, 4)):
            raise ValueError("a Bloom filter of another kind")
        self._blocks = size // BLOCK_BYTES

    def block_of(self, hashed: int) -> int:
        """Where the block of a value with this hash begins, from the begin of the filter on."""
        return self._start + ((hashed >> 32) * self._blocks >> 32) * BLOCK_BYTES

    @staticmethod
    def may_hold(block: bytes | memoryview, hashed: int) -> bool:
        """Whether a value with this hash may be among those of its block."""
        if len(block) != BLOCK_BYTES:
            raise ValueError("a Bloom filter is cut short")
        words = [int.from_bytes(block[i : i + 4], "little") for i in range(0, BLOCK_BYTES, 4)]
        bits = [((hashed & _WORD) * salt & _WORD) >> 27 for salt in _SALTS]
        return all(word >> bit & 1 for word, bit in zip(words, bits, strict=True))


def _is_first_of_union(field: tuple[int, Any] | None) -> bool:
    """Whether a union has its first member alone: a block filter, of XXH64, not compressed."""
    return field is not None and isinstance(field[1], dict) and list(field[1]) == [1]


def xxh64(data: bytes) -> int:
    """The XXH64 of ``data`` with the seed 0."""
    length, at = len(data), 0
    if length >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at + 32 <= length:
            for i in range(4):
                lanes[i] = _round(lanes[i], int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little"))
            at += 32
        found = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        found = _P5
    found = (found + length) & _MASK
    while at + 8 <= length:
        found ^= _round(0, int.from_bytes(data[at : at + 8], "little"))
        found = (_rotated(found, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= length:
        found ^= int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK
        found = (_rotated(found, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        found = _rotated(found ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    found = (found ^ found >> 33) * _P2 & _MASK
    found = (found ^ found >> 29) * _P3 & _MASK
    return found ^ found >> 32


def _round(lane: int, value: int) -> int:
    return _rotated((lane + value * _P2) & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK
