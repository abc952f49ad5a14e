"""The Avro decoder against fastavro, and against everything that a damaged or hostile file may hold."""

from __future__ import annotations

import math
import struct
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_iceberg.avro import container as files
from tableformats_iceberg.avro._avro import AvroDecodeError, read_varint
from tableformats_iceberg.avro.container import Want, read_columns, read_header
from tableformats_iceberg.avro.decode_program import MAX_DEPTH, compile_program
from tableformats_iceberg.manifests.entries import _wants

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.limits import Limits
from tableformats.plugin import PartitionSpec
from tests.support.conformance import ROOT, needs_tables
from tests.support.examples import EVERY, examples, some_of
from tests.support.iceberg_avro import check_against_oracle, manifests, spec_of
from tests.support.iceberg_manifests import (
    SYNC,
    assert_same,
    compress,
    container,
    entry,
    entry_schema,
    fastavro_records,
    manifest_bytes,
    recompress,
    record,
    text,
    varint,
)

AVRO_FILES = sorted((ROOT / "iceberg").rglob("metadata/*.avro"))
AVRO_FILES += sorted((ROOT / "iceberg").rglob("*_manifest_list.avro"))
LARGE = 100_000
LONG = (Want(1, ("a",)),)


@needs_tables
@pytest.mark.conformance
def test_every_file_of_the_conformance_tables_as_fastavro_reads_it() -> None:
    """One of the six large files, of thousands of entries each, for each change, and all of them at night."""
    small = [path for path in AVRO_FILES if path.stat().st_size < LARGE]
    large = [path for path in AVRO_FILES if path.stat().st_size >= LARGE]
    assert len(small) > 300 and len(large) == 6
    for path in [*small, *some_of(6, large)]:
        check_against_oracle(path.read_bytes(), str(path))


@needs_tables
@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_codecs(codec: str) -> None:
    path = next(
        p for p in AVRO_FILES if fastavro_records(p.read_bytes())[1] and b"avro.codec\x08null" in p.read_bytes()
    )
    assert check_against_oracle(path.read_bytes(), codec=codec)


# ---- generated manifests --------------------------------------------------------------------------------------------


@settings(max_examples=examples(150), deadline=None)
@given(manifests(), st.sampled_from([1, 100, 16000]), st.sampled_from(["null", "deflate", "snappy", "zstandard"]))
def test_generated_manifests_as_fastavro_reads_them(made: Any, interval: int, codec: str) -> None:
    records, partition = made
    data = manifest_bytes(records, partition, sync_interval=interval)
    assert check_against_oracle(data, codec=codec) == len(records)


# ---- damage ---------------------------------------------------------------------------------------------------------

SMALL = manifest_bytes(
    [
        entry("a", lower_bounds=[{"key": 1, "value": b"\x01\0\0\0"}], partition={"p": 7}, equality_ids=[1, 2]),
        entry("bb", sequence_number=3, status=0, value_counts=[{"key": 1, "value": 9}], partition={"p": None}),
    ],
    [("p", 1000, "int")],
)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_damage_at_every_position_is_found_or_read_as_fastavro_reads_it(codec: str) -> None:
    """No crash, no foreign exception; what both readers accept has one meaning.

    For each change every position is damaged in one of three ways, at night in all of them.
    """
    data = SMALL if codec == "null" else recompress(SMALL, codec)
    refused = agreed = 0
    for position in range(len(data)):
        for mask in some_of(3, (0x01, 0x80, 0xFF), position):
            damaged = bytearray(data)
            damaged[position] ^= mask
            outcome = _outcome(bytes(damaged), codec in ("null", "deflate"))
            refused += outcome == "refused"
            agreed += outcome == "agreed"
    assert refused > len(data) // (4 if EVERY else 12)
    assert agreed or codec not in ("null", "deflate")


def _outcome(data: bytes, oracle_has_codec: bool) -> str:
    spec = spec_of(entry_schema([("p", 1000, "int")]))
    wants = _wants(spec, 1)
    try:
        columns = read_columns(data, wants, [1], "x")
    except (CorruptMetadataError, LimitExceededError) as error:
        assert error.path == "x"
        return "refused"
    if not oracle_has_codec:
        return "read"
    try:
        schema, records = fastavro_records(data)
    except Exception:
        return "read"
    assert_same(columns, schema, records, wants, [1])
    return "agreed"


def test_cut_at_every_position() -> None:
    for size in range(len(SMALL)):
        with pytest.raises(CorruptMetadataError):
            if len(read_columns(SMALL[:size], LONG, [], "x").header.sync) and size < len(SMALL):
                # A file that ends behind its header is a valid file without records: only its length tells.
                assert size == read_header(SMALL, "x").offset
                raise CorruptMetadataError("no records")


def test_varints() -> None:
    for value in (0, -1, 1, 63, -64, 64, 2**31, 2**63 - 1, -(2**63)):
        assert read_varint(varint(value), 0) == (value, len(varint(value)))
    for bad in (b"", b"\x80", b"\xff" * 9, b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"):
        with pytest.raises(AvroDecodeError):
            read_varint(bad, 0)
    with pytest.raises(AvroDecodeError):
        read_varint(b"\x00", -1)


NULLABLE = ["null", "long"]
ARRAY = {"type": "array", "items": "long"}
INT64_MIN = b"\xff" * 9 + b"\x01"

MALFORMED: dict[str, tuple[Any, bytes]] = {
    "a varint of eleven bytes": ("long", b"\xff" * 10 + b"\x01"),
    "a truncated varint": ("long", b"\x80"),
    "an int of 33 bits": ("int", varint(2**32)),
    "a union index past the end": (NULLABLE, varint(2)),
    "a negative union index": (NULLABLE, varint(-1)),
    "a boolean of 2": ("boolean", b"\x02"),
    "an enum index past the end": ({"type": "enum", "name": "e", "symbols": ["x"]}, varint(1)),
    "bytes after the record": ("long", varint(1) + b"\x00"),
}
MALFORMED_SKIPPED: dict[str, tuple[Any, bytes]] = {
    "a negative length": ("bytes", varint(-1)),
    "a length past the end": ("bytes", varint(256 << 20)),
    "a length of 2^62": ("string", varint(2**62)),
    "an array of INT64_MIN items": (ARRAY, INT64_MIN + varint(8) + b"\x00"),
    "an array longer than the bytes": (ARRAY, varint(1000) + varint(1)),
    "an array block past the end": (ARRAY, varint(-1) + varint(1000)),
    "an array block of negative size": (ARRAY, varint(-1) + varint(-5)),
    "a short fixed": ({"type": "fixed", "name": "f", "size": 9}, b"12345"),
    "a short double": ("double", b"1234"),
    "an unclosed array": (ARRAY, varint(1) + varint(1)),
    "a map longer than the bytes": ({"type": "map", "values": "long"}, varint(9) + text("k")),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_value_that_is_read(name: str) -> None:
    kind, data = MALFORMED[name]
    with pytest.raises(CorruptMetadataError) as caught:
        read_columns(container(record(("a", 1, kind)), [(1, data)]), LONG, [], "x")
    assert caught.value.path == "x"
    assert caught.value.offset is not None


@pytest.mark.parametrize("name", MALFORMED_SKIPPED)
def test_malformed_value_that_is_skipped(name: str) -> None:
    kind, data = MALFORMED_SKIPPED[name]
    with pytest.raises(CorruptMetadataError) as caught:
        read_columns(container(record(("b", 2, kind), ("a", 1, "long")), [(1, data)]), LONG, [], "x")
    assert caught.value.offset is not None


def test_a_wanted_list_with_a_false_block_size() -> None:
    wants = (Want(1, ("a",), "int", "list"),)
    good = varint(-2) + varint(2) + varint(1) + varint(2) + b"\x00"
    columns = read_columns(container(record(("a", 1, ARRAY)), [(1, good)]), wants, [], "x")
    assert columns[(1, -1)].values.tolist() == [1, 2]
    bad = varint(-2) + varint(3) + varint(1) + varint(2) + b"\x00"
    with pytest.raises(CorruptMetadataError):
        read_columns(container(record(("a", 1, ARRAY)), [(1, bad)]), wants, [], "x")


def test_an_array_of_nulls_costs_nothing() -> None:
    schema = record(("b", 2, {"type": "array", "items": "null"}), ("a", 1, "long"))
    data = varint(100_000_000) + b"\x00" + varint(5)
    assert read_columns(container(schema, [(1, data)]), LONG, [], "x")[(1,)].values.tolist() == [5]


def test_arrays_of_empty_arrays_that_are_skipped() -> None:
    kind = {"type": "array", "items": {"type": "array", "items": "int"}}
    data = varint(3) + varint(0) * 3 + varint(0) + varint(5)
    columns = read_columns(container(record(("b", 2, kind), ("a", 1, "long")), [(1, data)]), LONG, [], "x")
    assert columns[(1,)].values.tolist() == [5]


def test_false_counts_and_sizes_of_blocks() -> None:
    good = container(record(("a", 1, "long")), [(1, varint(5))])
    head = len(good) - 16 - 3
    for count, size in ((2**62, 1), (-1, 1), (1, -1), (1, 2**62), (2, 1), (0, 1), (1, 17)):
        with pytest.raises(CorruptMetadataError):
            read_columns(good[:head] + varint(count) + varint(size) + varint(5) + SYNC, LONG, [], "x")
    with pytest.raises(CorruptMetadataError, match="sync"):
        read_columns(good[:-1] + b"\xee", LONG, [], "x")


def test_a_record_count_that_no_byte_backs() -> None:
    with pytest.raises(CorruptMetadataError):
        read_columns(container(record(("a", 1, "null")), [(2**40, b"")]), LONG, [], "x")


# ---- headers and schemas --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Obj",
        b"Obj\x02",
        b"PAR1",
        b"Obj\x01",
        b"Obj\x01\x02",
        b"Obj\x01\x00",
        b"Obj\x01\x00" + SYNC,
        b"Obj\x01" + varint(-1) + varint(0),
        b"Obj\x01" + varint(2**62),
        b"Obj\x01\x02" + varint(-3),
    ],
)
def test_broken_headers(data: bytes) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        read_header(data, "x")
    assert caught.value.path == "x"


@pytest.mark.parametrize("codec", ["bzip2", "xz", "lz77", ""])
def test_unknown_codec(codec: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        read_header(container(record(("a", 1, "long")), [], codec), "x")
    assert caught.value.field == "avro.codec"


def nested(depth: int) -> Any:
    kind: Any = "long"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record(("b", 2, kind), ("a", 1, "long"))


def chain(depth: int) -> Any:
    """Records within records, so many in all."""
    kind: Any = "long"
    for i in range(depth - 1):
        kind = record(("x", None, kind), name=f"r{i}")
    return record(("b", 2, kind), ("a", 1, "long"), name="top")


def doubling(depth: int, leaf: Any) -> Any:
    kind: Any = record(("x", None, leaf), name="r0")
    for i in range(depth):
        kind = record(("x", None, kind), ("y", None, f"r{i}"), name=f"r{i + 1}")
    return record(("b", 2, kind), ("a", 1, "long"), name="top")


def test_the_deepest_schema() -> None:
    rows = [(1, varint(1) * 2)]
    read_columns(container(chain(MAX_DEPTH), rows), LONG, [], "x")
    with pytest.raises(CorruptMetadataError, match="nested too deeply"):
        read_columns(container(chain(MAX_DEPTH + 1), rows), LONG, [], "x")


PAIR = [("key", 5, "int"), ("value", 6, "bytes")]
PLAIN_MAP = Want(4, ("m",), "any", "map", (Want(5, ("key",)), Want(6, ("value",), "bytes")))


@pytest.mark.parametrize(
    ("around", "wants"),
    [
        (lambda kind: {"type": "array", "items": kind}, ()),
        (lambda kind: {"type": "map", "values": kind}, ()),
        (lambda kind: ["null", kind], ()),
        (lambda kind: [kind, "null"], ()),
        (lambda kind: ["null", "string", kind], ()),
        (lambda kind: record(("x", None, kind), name="s"), ()),
        (lambda kind: {"type": "array", "items": record(*PAIR, ("more", 7, kind), name="s")}, (PLAIN_MAP,)),
    ],
    ids=["array", "map", "optional", "optional first", "union", "record", "pairs with more"],
)
def test_levels_of_schemas(around: Any, wants: tuple[Want, ...]) -> None:
    """A field is a level below its record, and each type around another one is a level of its own."""

    def schema(levels: int) -> Any:
        kind: Any = "long"
        for _ in range(levels):
            kind = {"type": "array", "items": kind}
        return record(("m", 4, around(kind)))

    assert compile_program(schema(MAX_DEPTH - 2), wants, 1, "x").min_size >= 1
    with pytest.raises(CorruptMetadataError, match="nested too deeply"):
        compile_program(schema(MAX_DEPTH - 1), wants, 1, "x")


def test_parts_of_a_file_are_of_similar_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PART_BYTES", 1)
    data = container(record(("a", 1, "long")), [(1, varint(1))] * 40)
    header = read_header(data, "x")
    ends = [header.offset, *files._cuts(data, header, 4), len(data)]
    sizes = [stop - start for start, stop in pairwise(ends)]
    assert len(sizes) == 4 and max(sizes) - min(sizes) <= (len(data) - header.offset) // 40


BROKEN_SCHEMAS: list[Any] = [
    "long",
    "5",
    "[]",
    "{}",
    "not json",
    "[" * 100_000,
    '"r"',
    {"type": "record", "name": "r"},
    {"type": "record", "name": "r", "fields": [5]},
    record(),
    record(("a", 1, "nothing")),
    record(("a", 1, "r")),
    record(("b", 2, {"type": "long", "name": "n"}), ("a", 1, "n")),
    record(("b", 2, ["null", "r"]), ("a", 1, "long")),
    record(("a", 1, {"type": "fixed", "name": "f"})),
    record(("a", 1, {"type": "fixed", "name": "f", "size": -1})),
    record(("a", 1, {"type": "enum", "name": "e"})),
    record(("a", 1, "long"), ("b", 1, "long")),
    record(("a", 1, ["long", ["null"]])),
    record(("a", 1, [])),
    record(("a", 1, ["long", "string"])),
    record(("a", 1, "string")),
    record(("a", 1, ARRAY)),
    record(("b", 2, {"type": "array"}), ("a", 1, "long")),
    nested(100),
    doubling(40, "long"),
    doubling(40, "null"),
]


@pytest.mark.parametrize("schema", BROKEN_SCHEMAS, ids=range(len(BROKEN_SCHEMAS)))
def test_broken_schemas(schema: Any) -> None:
    with pytest.raises(CorruptMetadataError):
        read_columns(container(schema, [(1, varint(1) * 4)]), LONG, [], "x")


def test_unions_in_any_order_and_wrapped_types() -> None:
    schema = record(("a", 1, [{"type": "long"}, "null"]), ("c", 3, {"type": "string"}))
    data = varint(0) + varint(7) + text("x") + varint(1) + text("y")
    columns = read_columns(container(schema, [(2, data)]), (*LONG, Want(3, ("c",), "text")), [], "x")
    assert columns[(1,)].int_array().to_pylist() == [7, None]
    assert columns.strings((3,), "c").to_pylist() == ["x", "y"]


def test_fields_are_found_by_id_and_by_name_only_without_ids() -> None:
    data = varint(1) + varint(2)
    by_id = record(("z", 1, "long"), ("a", 9, "long"))
    assert read_columns(container(by_id, [(1, data)]), LONG, [], "x")[(1,)].values.tolist() == [1]
    by_name = record(("z", None, "long"), ("a", None, "long"))
    assert read_columns(container(by_name, [(1, data)]), LONG, [], "x")[(1,)].values.tolist() == [2]


def test_map_with_keys_behind_values_and_repeated_keys() -> None:
    item = record(("value", 11, "bytes"), ("key", 10, "int"))
    schema = record(("m", 1, {"type": "array", "items": item}))
    wants = (Want(1, ("m",), "any", "map", (Want(10, ("key",)), Want(11, ("value",), "bytes"))),)
    data = varint(3) + text("ab") + varint(5) + text("x") + varint(6) + text("c") + varint(5) + b"\x00"
    found = read_columns(container(schema, [(2, data * 2)]), wants, [5, 7], "x").map_columns((1,))
    assert found[5].bytes_array(pa.binary()).to_pylist() == [b"c", b"c"]
    assert found[7].bytes_array(pa.binary()).to_pylist() == [None, None]


def test_map_whose_values_are_null_by_their_type() -> None:
    item = record(("key", 10, "int"), ("value", 11, ["null"]))
    schema = record(("m", 1, {"type": "array", "items": item}))
    wants = (Want(1, ("m",), "any", "map", (Want(10, ("key",)), Want(11, ("value",), "bytes"))),)
    data = varint(1) + varint(5) + varint(0) + b"\x00"
    found = read_columns(container(schema, [(1, data)]), wants, [5], "x").map_columns((1,))
    assert found[5].bytes_array(pa.binary()).to_pylist() == [None]


@pytest.mark.parametrize("value", [b"\xff\xfe", b"a\0b"])
def test_a_path_that_is_no_text(value: bytes) -> None:
    data = container(record(("a", 1, "string")), [(1, text(value))])
    with pytest.raises(CorruptMetadataError) as caught:
        read_columns(data, (Want(1, ("a",), "text"),), [], "x").strings((1,), "a")
    assert caught.value.field == "a"


# ---- bombs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_bombs_stop_at_the_limit(codec: str) -> None:
    limits = Limits(inflated_bytes=1 << 20)
    for size, bomb in ((1 << 20, False), ((1 << 20) + 1, True), (64 << 20, True)):
        schema = record(("b", 2, {"type": "fixed", "name": "f", "size": size - 1}), ("a", 1, "long"))
        data = container(schema, [(1, compress(bytes(size), codec))], codec)
        if bomb:
            with pytest.raises(LimitExceededError, match="inflated_bytes"):
                read_columns(data, LONG, [], "x", limits=limits)
        else:
            assert read_columns(data, LONG, [], "x", limits=limits).rows == 1


@pytest.mark.parametrize("limits", [Limits(decoded_bytes=1 << 16), Limits(entries=99_999)])
def test_columns_stop_at_the_limit(limits: Limits) -> None:
    data = container(record(("a", 1, "long")), [(50_000, b"\x02" * 50_000)] * 2)
    with pytest.raises(LimitExceededError) as caught:
        read_columns(data, LONG, [], "x", limits=limits)
    assert caught.value.limit in ("decoded_bytes", "entries") and caught.value.path == "x"
    assert read_columns(data, LONG, [], "x").rows == 100_000


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_damaged_compressed_blocks(codec: str) -> None:
    plain = varint(12345) * 50
    good = compress(plain, codec)
    schema = record(("a", 1, "long"))
    assert read_columns(container(schema, [(50, good)], codec), LONG, [], "x").rows == 50
    for bad in (b"", good[:-1], good[: len(good) // 2], good + b"\x00", b"\xff" * 40):
        with pytest.raises((CorruptMetadataError, LimitExceededError)):
            read_columns(container(schema, [(50, bad)], codec), LONG, [], "x")


def test_snappy_checksum() -> None:
    good = compress(varint(5), "snappy")
    bad = good[:-4] + struct.pack(">I", zlib.crc32(varint(6)))
    with pytest.raises(CorruptMetadataError):
        read_columns(container(record(("a", 1, "long")), [(1, bad)], "snappy"), LONG, [], "x")


# ---- the rest -------------------------------------------------------------------------------------------------------


def test_the_program_is_small() -> None:
    program = compile_program(entry_schema(), _wants(PartitionSpec(0, ()), 0), 3, "x")
    assert len(program.words) < 500
    assert program.maps


def test_floats_keep_their_bits() -> None:
    data = container(record(("a", 1, "float"), ("b", 2, "double")), [(1, struct.pack("<fd", 1.5, -0.0))])
    columns = read_columns(data, (Want(1, ("a",), "any"), Want(2, ("b",), "any")), [], "x")
    assert columns[(1,)].values.astype(np.uint32).view(np.float32)[0] == 1.5
    assert math.copysign(1, columns[(2,)].values.view(np.float64)[0]) == -1


@needs_tables
@pytest.mark.parametrize("name", ["iceberg-rust/manifests_lists/manifest-list-v3-encrypted.avro"])
def test_encrypted_files_are_no_avro(name: str) -> None:
    path = Path(ROOT / "iceberg" / name)
    with pytest.raises(CorruptMetadataError, match="encrypted"):
        read_header(path.read_bytes(), str(path))
