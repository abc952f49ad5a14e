"""Damaged Avro files: what is said of each, and the offset of the byte that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.avro.container import Header, Want, decodes_at_once, read_columns, read_header
from tableformats_iceberg.avro.decode_program import compile_program

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.limits import Limits
from tests.support.iceberg_manifests import SYNC, compress, container, record, varint

SCHEMA = record(("a", 1, "long"))
WANTS = (Want(1, ("a",)),)


def numbers(*values: int) -> bytes:
    return b"".join(map(varint, values))


def stored(*blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    return container(SCHEMA, blocks, codec)


def first_of(data: bytes) -> int:
    """Where the first block begins."""
    return read_header(data, "m").offset


def damage_of(data: bytes, limits: Limits | None = None) -> tuple[str, int | None]:
    with pytest.raises(CorruptMetadataError) as caught:
        read_columns(data, WANTS, (), "m", limits=limits or Limits())
    assert caught.value.path == "m"
    return caught.value.message, caught.value.offset


# ---- headers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"", "The file is damaged or of another kind"),
        (b"PAR1" + bytes(40), "The file is damaged or of another kind"),
        (b"Obj\2" + bytes(40), "The file is damaged or of another kind"),
        (b"AGS1" + bytes(40), "It may be encrypted"),
        (b"AGS1", "It may be encrypted"),
    ],
)
def test_files_of_another_kind(data: bytes, hint: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        read_header(data, "m")
    assert (caught.value.message, caught.value.offset, caught.value.hint) == ("this is no Avro file", 0, hint)


def test_headers_that_are_cut() -> None:
    data = stored()
    end = len(data)
    assert first_of(data) == end, "without a block"
    for cut in (end - 1, end - 16):
        with pytest.raises(CorruptMetadataError, match="the Avro header is truncated") as caught:
            read_header(data[:cut], "m")
        assert caught.value.offset == end - 16
    with pytest.raises(CorruptMetadataError, match="the Avro header is damaged") as damaged:
        read_header(data[: end - 17], "m")
    assert damaged.value.offset is not None and damaged.value.path == "m"


def test_headers() -> None:
    found = read_header(container(SCHEMA, [], "deflate", a="b"), "m")
    assert (found.codec, found.sync, found.text("a"), found.text("c")) == ("deflate", SYNC, "b", None)
    with pytest.raises(CorruptMetadataError, match="the Avro codec 'lzo' is none") as caught:
        read_header(container(SCHEMA, [], "null", **{"avro.codec": "lzo"}), "m")
    assert caught.value.field == "avro.codec"


@pytest.mark.parametrize(
    ("codec", "has_library", "at_once"),
    [
        ("null", True, True),
        ("null", False, True),
        ("deflate", True, True),
        ("deflate", False, False),
        ("snappy", True, False),
    ],
)
def test_what_is_decoded_in_one_call(
    monkeypatch: pytest.MonkeyPatch, codec: str, has_library: bool, at_once: bool
) -> None:
    monkeypatch.setattr("tableformats_iceberg.avro.container.libdeflate", lambda: object() if has_library else None)
    assert decodes_at_once(Header({}, codec, SYNC, 0)) is at_once


# ---- blocks ---------------------------------------------------------------------------------------------------------


def test_blocks_that_are_right() -> None:
    data = stored((2, numbers(1, -2)), (0, b""), (1, numbers(3)))
    assert read_columns(data, WANTS, (), "m")[(1,)].values.tolist() == [1, -2, 3]


@pytest.mark.parametrize(
    ("head", "message", "at"),
    [
        (varint(-1) + varint(2), "an Avro block is truncated, or its size is wrong", 0),
        (varint(2) + varint(-1), "an Avro block is truncated, or its size is wrong", 0),
        (varint(2) + varint(3), "an Avro block is truncated, or its size is wrong", 0),
        (varint(2) + varint(1), "an Avro block does not end in the sync marker", 3),
        (b"\xff" * 11, "an Avro block is damaged", None),
    ],
)
def test_heads_of_blocks(head: bytes, message: str, at: int | None) -> None:
    """Behind a block that is right."""
    data = stored((1, numbers(9)))
    start = len(data)
    found, offset = damage_of(data + head + numbers(1, 2) + SYNC)
    assert found.startswith(message)
    assert offset == start + at if at is not None else offset is not None and offset >= start


def test_a_marker_that_is_another() -> None:
    data = stored((2, numbers(1, 2)))
    changed = data[:-1] + bytes([data[-1] ^ 1])
    assert damage_of(changed) == ("an Avro block does not end in the sync marker", len(data) - 16)


def test_more_records_than_bytes() -> None:
    data = stored((3, numbers(1, 2)))
    assert damage_of(data) == ("an Avro block declares 3 records in 2 bytes", first_of(data))


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_records_that_do_not_fill_a_block(codec: str) -> None:
    """The offset is that of the record where it can be told; else of the block, and of the inflated bytes."""
    plain = varint(1) + b"\xff\xff"
    data = stored((1, compress(numbers(5), codec)), (2, packed := compress(plain, codec)), codec=codec)
    found, offset = damage_of(data)
    assert found.startswith("an Avro record is damaged")
    last = len(data) - 16 - len(packed)
    if codec == "null":
        assert offset == last + 1 and "inflated" not in found
    else:
        assert ", 1 bytes into the inflated block" in found
        assert offset == last


def test_how_many_records_there_may_be() -> None:
    data = stored((2, numbers(1, 2)), (2, numbers(3, 4)))
    assert len(read_columns(data, WANTS, (), "m", limits=Limits(entries=4))[(1,)]) == 4
    with pytest.raises(LimitExceededError, match="4 records or more of an Avro file") as caught:
        read_columns(data, WANTS, (), "m", limits=Limits(entries=3))
    second = first_of(data) + len(varint(2) * 2) + 2 + 16
    assert (caught.value.limit, caught.value.offset, caught.value.path) == ("entries", second, "m")


def test_how_much_memory_columns_may_take() -> None:
    data = stored((3, numbers(1, 2, 3)))
    with pytest.raises(LimitExceededError, match="bytes of an Avro file's columns") as caught:
        read_columns(data, WANTS, (), "m", limits=Limits(decoded_bytes=1))
    assert (caught.value.limit, caught.value.path) == ("decoded_bytes", "m")


def test_memory_is_made_for_as_many_records_as_a_file_may_have() -> None:
    """The table may say that there are more."""
    for expected in (0, 3, 1 << 60):
        assert read_columns(stored((1, numbers(7))), WANTS, (), "m", expected=expected)[(1,)].values.tolist() == [7]


# ---- schemas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('"long"', "the Avro schema is no record"),
        (["null", SCHEMA], "the Avro schema is no record"),
        ({"type": "record", "name": "r", "fields": []}, "the Avro schema has no fields"),
        ({"type": "array", "items": "long"}, "the Avro schema is no record"),
    ],
)
def test_schemas_that_are_none(schema: Any, message: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        read_columns(container(schema, []), WANTS, (), "m")
    assert (caught.value.message, caught.value.path) == (message, "m")
    assert caught.value.hint == "The Avro file's schema is damaged"


LONG_NAME = "n" * 300


@pytest.mark.parametrize(
    "schema",
    [
        LONG_NAME,
        {"type": "record", "name": LONG_NAME, "fields": [{"name": "a", "type": LONG_NAME}]},
        {"type": "record", "name": LONG_NAME},
        {"type": "fixed", "name": LONG_NAME, "size": -1},
        {"type": "enum", "name": LONG_NAME, "symbols": []},
    ],
    ids=["unknown", "recursive", "without fields", "fixed", "enum"],
)
def test_long_names_are_cut(schema: Any) -> None:
    """Where an error names a type."""
    whole = {"type": "record", "name": "r", "fields": [{"name": "x", "type": schema}]}
    with pytest.raises(CorruptMetadataError) as caught:
        compile_program(whole, (), 0, "m")
    assert (caught.value.field, caught.value.path) == (LONG_NAME[:200], "m")
