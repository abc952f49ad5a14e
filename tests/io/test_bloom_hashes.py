"""Hashes and blocks of Bloom filters, beside values of python-xxhash."""

from __future__ import annotations

import pytest

from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet.bloom_filters import BloomFilter, xxh64


@pytest.mark.parametrize(
    ("length", "hashed"),
    [
        (3, 0x22C08528601D4F27),
        (4, 0xFB1E5CF2F1AE4D95),
        (5, 0x9D213ECA1F68F273),
        (7, 0x5613AC510496C04E),
        (8, 0x57CB2B7521F3E21A),
        (9, 0xC3F1D09775257B66),
        (12, 0x2F53B00266039E64),
        (31, 0xE4A0E629E519A4AE),
        (32, 0xCC6B8AAADA790B2D),
        (33, 0x35EC49850475A832),
        (36, 0xBEBB6D8C24FB3CFA),
        (40, 0x3B21ED23EEA85C2D),
        (63, 0xBF9F0BA3CF95B28A),
        (64, 0x155CCCE4BF32BEFC),
        (65, 0xDA5EE441A595CFB8),
        (100, 0x4826E367566EA023),
    ],
)
def test_bytes_of_every_length(length: int, hashed: int) -> None:
    assert xxh64(bytes((i * 37 + 11) % 256 for i in range(length))) == hashed


@pytest.mark.parametrize(
    ("hashed", "block"),
    [
        (0, 0),
        (0x3FFFFFFF_FFFFFFFF, 0),
        (0x40000000_00000000, 1),
        (0x7FFFFFFF_FFFFFFFF, 1),
        (0x80000000_00000000, 2),
        (0xBFFFFFFF_00000000, 2),
        (0xFFFFFFFF_00000000, 3),
    ],
)
def test_the_upper_half_of_a_hash_names_the_block(hashed: int, block: int) -> None:
    union = (12, {1: (12, {})})
    head = write_struct({1: (5, 4 * 32), 2: union, 3: union, 4: union})
    assert BloomFilter(head).block_of(hashed) == len(head) + 32 * block
    with pytest.raises(ValueError, match="has no whole blocks"):
        BloomFilter(write_struct({2: union, 3: union, 4: union}))
    with pytest.raises(ValueError, match="has no whole blocks"):
        BloomFilter(write_struct({1: (8, b"x" * 32), 2: union, 3: union, 4: union}))
