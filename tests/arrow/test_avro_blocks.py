"""Where the blocks of an Avro file are, and the fewest bytes of its values."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow.files.avro_blocks import AvroBlocks
from tableformats.engines.arrow.files.avro_types import column_of
from tableformats.errors import CorruptMetadataError

SYNC = bytes(range(16))
SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}


def number(value: int, size: int = 1) -> bytes:
    """A small number as a varint of so many bytes."""
    digits = [value << 1 & 0x7F, *[0] * (size - 1)]
    return bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])


def text(value: bytes) -> bytes:
    return bytes([len(value) << 1 & 0x7F | 0x80, len(value) >> 6]) + value


def blocks_of(*blocks: bytes, schema: bytes | None = None) -> AvroBlocks:
    stored = json.dumps(SCHEMA).encode() if schema is None else schema
    head = b"Obj\x01" + number(1) + text(b"avro.schema") + text(stored) + number(0) + SYNC
    return AvroBlocks(pa.PythonFile(pa.BufferReader(head + b"".join(blocks)), "r"), "p")


def test_numbers_may_be_written_in_more_bytes_than_they_need() -> None:
    for size in (1, 2, 9, 10):
        found = blocks_of(number(3, size) + number(2, size) + b"ab" + SYNC, number(1) + number(1) + b"c" + SYNC)
        assert [(block.count, block.size) for block in found.blocks] == [(3, 2), (1, 1)]
        assert [found.inflated(block) for block in found.blocks] == [b"ab", b"c"] and found.num_rows == 4


@pytest.mark.parametrize(("count", "size"), [(0, 0), (0, 2)])
def test_blocks_without_records_are_left_out(count: int, size: int) -> None:
    found = blocks_of(number(count) + number(size) + bytes(size) + SYNC, number(1) + number(1) + b"c" + SYNC)
    assert [(block.count, block.size) for block in found.blocks] == [(1, 1)]
    assert blocks_of().blocks == []


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (b"\x01" + number(1) + b"a" + SYNC, "its size is wrong"),  # -1 records
        (number(1) + b"\x01" + b"a" + SYNC, "its size is wrong"),
        (number(1) + number(2) + b"a" + SYNC, "its size is wrong"),
        (number(1) + number(1) + b"a" + bytes(16), "does not end in the sync marker"),
        (number(1, 11) + number(1) + b"a" + SYNC, "a block is cut short"),
        (number(1), "a block is cut short"),
    ],
)
def test_damaged_blocks(block: bytes, message: str) -> None:
    with pytest.raises(CorruptMetadataError, match=message):
        blocks_of(block)


def test_a_schema_that_cannot_be_read() -> None:
    with pytest.raises(CorruptMetadataError, match="no schema that can be read") as caught:
        blocks_of(schema=b"{")
    assert (caught.value.path, caught.value.offset) == ("p", 0)


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("long", 1),
        ("double", 8),
        ("string", 1),
        (["null", "double"], 1),
        ({"type": "array", "items": "double"}, 1),
        ({"type": "map", "values": "double"}, 1),
        ({"type": "enum", "name": "e", "symbols": ["a"]}, 1),
        ({"type": "fixed", "name": "f", "size": 3}, 3),
        ({"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal", "precision": 4}, 3),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, 1),
        ({"type": "record", "name": "in", "fields": [{"name": n, "type": "float"} for n in "ab"]}, 8),
    ],
)
def test_the_fewest_bytes_of_a_value(kind: Any, least: int) -> None:
    fields = [{"name": "x", "type": kind}, {"name": "y", "type": "null"}]
    assert column_of({"type": "record", "name": "r", "fields": fields}, "p").min_size == least
