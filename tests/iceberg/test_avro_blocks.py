"""All blocks of a manifest in one pass: what the pass guesses from the record before, and what it leaves to others."""

from __future__ import annotations

import random
import zlib

import pytest
from tableformats_iceberg.avro import container as avro
from tableformats_iceberg.avro.container import Want, read_columns

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.io import compression as inflate
from tableformats.limits import Limits
from tests.support.iceberg_avro import LAST, check_against_oracle, similar_entries
from tests.support.iceberg_manifests import (
    blocks_of,
    compress,
    container,
    fastavro_records,
    int_map,
    manifest_bytes,
    recompress,
    record,
    varint,
)

needs_libdeflate = pytest.mark.skipif(inflate.libdeflate() is None, reason="deflate's wheel has no C functions here")


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("seed", range(4))
def test_records_that_are_alike_and_those_that_are_not(seed: int, codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if codec == "null" or inflate.libdeflate() is not None:
        monkeypatch.setattr(avro, "_decode_blocks", None)
    data = manifest_bytes(similar_entries(random.Random(seed), 150), sync_interval=20_000)
    assert check_against_oracle(data, codec=codec) == 150
    # With one key of many, and with none, everything else is skipped.
    data = data if codec == "null" else recompress(data, codec)
    expected = [r["data_file"]["record_count"] for r in fastavro_records(data)[1]]
    wants = (Want(2, ("data_file",), "any", "record", (Want(103, ("record_count",)), Want(140, ("sort_order_id",)))),)
    assert read_columns(data, wants, [], "x")[(2, 103)].values.tolist() == expected


def _skipped(items: bytes, count: int) -> bytes:
    """A record with a map of numbers that nobody asked for, in front of ``a``, and many bytes behind it."""
    schema = record(int_map("m", 9, 10, 11, "long"), ("a", 1, "long"), ("rest", 2, "bytes"))
    return container(schema, [(1, b"\x02" + varint(count) + items + b"\x00" + varint(7) + varint(100) + bytes(100))])


def test_numbers_that_are_skipped_have_ten_bytes_at_most() -> None:
    longest = b"\xff" * 9 + b"\x01"
    for items in (b"\x02" + longest, longest + b"\x02", b"\x02\x02" * 7 + longest + longest):
        count = sum(byte < 0x80 for byte in items) // 2
        assert read_columns(_skipped(items, count), LAST, [], "x")[(1,)].values.tolist() == [7]
    for number in (b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"):
        for pairs in (b"\x02" + number, b"\x02\x02" * 7 + b"\x02" + number):
            with pytest.raises(CorruptMetadataError, match="64 bits"):
                read_columns(_skipped(pairs, sum(byte < 0x80 for byte in pairs) // 2), LAST, [], "x")


@needs_libdeflate
def test_the_beginning_of_a_checksum_may_follow_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's Avro writers leave it there."""
    plain = varint(12345) * 50
    good, checksum = compress(plain, "deflate"), zlib.adler32(plain).to_bytes(4, "big")
    for rest in range(5):
        data = container(record(("a", 1, "long")), [(50, good + checksum[:rest])], "deflate")
        with monkeypatch.context() as patch:
            patch.setattr(avro, "_decode_blocks", None)
            assert read_columns(data, LAST, [], "x").rows == 50
    for wrong in (checksum + b"\0", checksum[:3] + b"\x77", b"\x77"):
        data = container(record(("a", 1, "long")), [(50, good + wrong)], "deflate")
        with pytest.raises(CorruptMetadataError, match="bytes follow its end"):
            read_columns(data, LAST, [], "x")


@needs_libdeflate
def test_a_limit_holds_whatever_the_file_before_needed() -> None:
    schema = record(("b", 2, {"type": "fixed", "name": "f", "size": (1 << 20) - 1}), ("a", 1, "long"))
    data = container(schema, [(1, compress(bytes(1 << 20), "deflate"))], "deflate")
    assert read_columns(data, LAST, [], "x").rows == 1
    header = avro.read_header(data, "x")
    program, layout = avro._compiled(header.schema, LAST, (), None)
    for limits in (Limits(), Limits(inflated_bytes=1000), Limits()):
        decoder = avro.BlockDecoder(*layout, 0, limits.decoded_bytes)
        assert avro._decode_at_once(decoder, avro._File(data, header, program.min_size, "x", limits, limits)) == (
            limits == Limits()
        )


def test_entries_are_counted_over_all_blocks() -> None:
    data = container(record(("a", 1, "long")), [(2, b"\x02\x04")] * 3)
    assert read_columns(data, LAST, [], "x", limits=Limits(entries=6)).rows == 6
    with pytest.raises(LimitExceededError, match="entries"):
        read_columns(data, LAST, [], "x", limits=Limits(entries=5))


def test_without_libdeflate_blocks_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = manifest_bytes(similar_entries(random.Random(9), 50))
    assert len(blocks_of(data)) >= 1
    monkeypatch.setattr(avro, "libdeflate", lambda: None)
    assert check_against_oracle(data, codec="deflate") == 50


@pytest.mark.parametrize("at_once", [True, False])
def test_empty_blocks_hold_nothing(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not at_once:
        monkeypatch.setattr(avro, "_decode_at_once", lambda *_: False)
    data = container(record(("a", 1, "long")), [(0, b""), (2, b"\x02\x04"), (0, b""), (1, b"\x06"), (0, b"")])
    assert read_columns(data, LAST, [], "x")[(1,)].values.tolist() == [1, 2, 3]
