"""Bounds and partition values: each type from its serialised bytes, promoted types, and bytes that are no value."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_iceberg.avro.columns import RawColumn
from tableformats_iceberg.manifests.entries import EntriesRequest, read_entries
from tableformats_iceberg.manifests.manifest_list import DATA, Manifest, parse_manifest_list
from tableformats_iceberg.manifests.values import decode_bounds, decode_partition

from tableformats.errors import CorruptMetadataError
from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.plugin.report import ScanReport
from tableformats.pruning.compiled_predicate import NONE, Decision
from tableformats.schema import DecimalType, Field, FixedType, Type, arrow_type, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.iceberg_manifests import container, entry, manifest_bytes, record, text, varint

EPOCH = dt.datetime(1970, 1, 1)


def raw_bytes(values: list[bytes | None], avro: str = "bytes") -> RawColumn:
    sizes = [len(v or b"") for v in values]
    data = np.frombuffer(b"".join(v or b"" for v in values), np.uint8)
    widths = {len(v) for v in values if v is not None}
    width = widths.pop() if len(widths) == 1 else None
    offsets = np.cumsum([0, *sizes], dtype=np.int32)
    return RawColumn(None, offsets, data, known(values), width, 0, {"type": avro})


def raw_ints(values: list[int | None], avro: str = "long") -> RawColumn:
    numbers = np.array([v or 0 for v in values], np.int64)
    return RawColumn(numbers, None, None, known(values), None, 0, {"type": avro})


def known(values: list[Any]) -> np.ndarray | None:
    found = np.array([v is not None for v in values], bool)
    return None if found.all() else found


def decoded(kind: Type, values: list[bytes | None], is_lower: bool = True) -> list[Any]:
    found = decode_bounds(raw_bytes(values), Field(1, "a", kind), is_lower)
    assert found is not None
    assert found.type == arrow_type(kind)
    found.validate(full=True)
    return found.to_pylist()


def packer(code: str) -> Callable[[Any], bytes]:
    return lambda value: struct.pack("<" + code, value)


def big_endian(value: int) -> bytes:
    return value.to_bytes(max(1, (value + (value < 0)).bit_length() // 8 + 1), "big", signed=True)


INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32, allow_nan=False)
ROUND_TRIPS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bytes]]] = {
    "boolean": (st.booleans(), packer("?")),
    "int": (INT, packer("i")),
    "long": (LONG, packer("q")),
    "float": (FLOATS, packer("f")),
    "double": (st.floats(allow_nan=False), packer("d")),
    "string": (st.text(max_size=20), str.encode),
    "binary": (st.binary(max_size=20), bytes),
    "uuid": (st.binary(min_size=16, max_size=16), bytes),
    "date": (st.dates(), lambda v: struct.pack("<i", (v - EPOCH.date()).days)),
    "timestamp_ntz": (st.datetimes(), lambda v: struct.pack("<q", (v - EPOCH) // dt.timedelta(microseconds=1))),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_bounds_round_trip(name: str) -> None:
    strategy, encode = ROUND_TRIPS[name]

    @settings(deadline=None)
    @given(st.lists(st.none() | strategy, max_size=6))
    def check(values: list[Any]) -> None:
        assert decoded(primitive(name), [None if v is None else encode(v) for v in values]) == values

    check()


@settings(deadline=None)
@given(st.integers(1, 38), st.data())
def test_decimals_of_any_length(precision: int, data: st.DataObject) -> None:
    limit = 10**precision - 1
    unscaled = data.draw(st.integers(-limit, limit))
    scale = data.draw(st.integers(0, precision))
    padding = data.draw(st.integers(0, 16 - len(big_endian(unscaled))))
    fill = b"\xff" if unscaled < 0 else b"\x00"
    with decimal.localcontext(prec=60):
        expected = decimal.Decimal(unscaled).scaleb(-scale)
    assert decoded(DecimalType(precision, scale), [None, fill * padding + big_endian(unscaled)]) == [None, expected]


def test_promoted_types_by_the_stored_length() -> None:
    assert decoded(primitive("long"), [packer("i")(-5), packer("q")(2**40), None]) == [-5, 2**40, None]
    assert decoded(primitive("double"), [packer("f")(1.5), packer("d")(-2.5)]) == [1.5, -2.5]
    assert decoded(primitive("timestamp_ntz"), [packer("i")(-1)]) == [dt.datetime(1969, 12, 31)]
    assert decoded(primitive("timestamp_ntz_ns"), [packer("i")(1)])[0].value == 86_400 * 10**9
    assert decoded(primitive("timestamp_ntz_ns"), [packer("i")(2**31 - 1)]) == [None]


def test_days_of_a_column_that_became_a_timestamp_of_64_bits() -> None:
    """2**63 microseconds are a little more than 106751991 days, and of nanoseconds 106751 days."""
    for name, most, unit in (("timestamp_ntz", 106_751_991, 86_400_000_000), ("timestamp_ns", 106_751, 86_400 * 10**9)):
        values = [packer("i")(days) for days in (most, most + 1, -most, -most - 1)]
        found = decode_bounds(raw_bytes([*values, None]), Field(1, "a", primitive(name)), True)
        assert found is not None
        assert found.cast(pa.int64()).to_pylist() == [most * unit, None, -most * unit, None, None]


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (primitive("int"), [b"", b"123", b"12345", b"12345678"]),
        (primitive("long"), [b"", b"1234567", bytes(16)]),
        (primitive("boolean"), [b"", b"12"]),
        (primitive("float"), [bytes(8), packer("f")(math.nan)]),
        (primitive("double"), [packer("d")(math.nan), packer("f")(math.nan), b"1"]),
        (primitive("double"), [packer("d")(math.nan)] * 2),
        (primitive("float"), [packer("f")(math.nan)] * 2),
        (primitive("uuid"), [bytes(15)]),
        (primitive("date"), [bytes(8)]),
        (FixedType(4), [b"123", b"12345"]),
        (DecimalType(4, 2), [b"", bytes(17)]),
        (DecimalType(4, 2), [big_endian(10_000), big_endian(-10_000), b"\x7f" * 16, b"\x80" + bytes(15)]),
    ],
    ids=str,
)
def test_bytes_that_are_no_value_are_unknown(kind: Type, bad: list[bytes]) -> None:
    assert decoded(kind, list(bad)) == [None] * len(bad)


def test_strings_cut_inside_a_character() -> None:
    cut = "aé".encode()[:-1]
    assert decoded(primitive("string"), [cut, b"b"], is_lower=True) == ["a", "b"]
    assert decoded(primitive("string"), [cut, b"b"], is_lower=False) == [None, "b"]
    assert decoded(primitive("string"), [b"a\x80", None], is_lower=True) == ["a", None]


@pytest.mark.parametrize("kind", [primitive("variant"), primitive("unknown")])
def test_types_without_bounds(kind: Type) -> None:
    assert decode_bounds(raw_bytes([b"x"]), Field(1, "a", kind), True) is None


def test_geometry_has_no_bounds() -> None:
    shape = Field(1, "a", primitive("binary"), metadata={"logical_type": "geometry"})
    assert decode_bounds(raw_bytes([b"x"]), shape, True) is None


# ---- partition values -----------------------------------------------------------------------------------------------


def test_partition_values() -> None:
    def of(raw: RawColumn, kind: Type) -> list[Any]:
        found = decode_partition(raw, kind, "m", "p")
        assert found.type == arrow_type(kind)
        return found.to_pylist()

    assert of(raw_ints([1, None], "int"), primitive("long")) == [1, None]
    assert of(raw_ints([-1], "int"), primitive("date")) == [dt.date(1969, 12, 31)]
    assert of(raw_ints([1], "int"), primitive("timestamp_ntz")) == [dt.datetime(1970, 1, 2)]
    assert of(raw_ints([5], "long"), primitive("timestamp_ntz")) == [EPOCH + dt.timedelta(microseconds=5)]
    assert of(raw_ints([1, 0, None], "boolean"), primitive("boolean")) == [True, False, None]
    bits = struct.unpack("<I", struct.pack("<f", 1.5))[0]
    assert of(raw_ints([bits, None], "float"), primitive("double")) == [1.5, None]
    assert of(raw_bytes([b"\xff\x38"], "fixed"), DecimalType(6, 2)) == [decimal.Decimal("-2.00")]
    assert of(raw_bytes([b"x", None], "string"), primitive("string")) == ["x", None]
    key = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    assert of(raw_bytes([key.bytes], "fixed"), primitive("uuid")) == [key.bytes]
    assert of(raw_bytes([str(key).encode()], "string"), primitive("uuid")) == [key.bytes]
    assert of(raw_ints([7, -7, None], "int"), primitive("binary")) == [
        struct.pack("<q", 7),
        struct.pack("<q", -7),
        None,
    ]
    assert of(raw_bytes([None, None], "string"), primitive("int")) == [None, None], "of any type"
    assert of(raw_ints([None], ""), primitive("binary")) == [None]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (raw_ints([2**40]), primitive("int")),
        (raw_bytes([b"x"], "string"), primitive("int")),
        (raw_bytes([b"123"], "fixed"), FixedType(4)),
        (raw_bytes([b"\xff"], "string"), primitive("string")),
        (raw_bytes([b"no uuid"], "string"), primitive("uuid")),
        (raw_bytes([b"\x7f" * 9], "fixed"), DecimalType(4, 2)),
    ],
)
def test_partition_values_of_another_type(raw: RawColumn, kind: Type) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        decode_partition(raw, kind, "m", "p")
    assert caught.value.field == "partition.p"


# ---- through manifests ----------------------------------------------------------------------------------------------


def pair(value: Any) -> list[dict[str, Any]]:
    return [{"key": 1, "value": value}]


def test_statistics_of_live_files_only() -> None:
    data = manifest_bytes(
        [
            entry("gone", status=2, lower_bounds=pair(packer("i")(9)), null_value_counts=pair(9)),
            entry("a", lower_bounds=pair(packer("i")(1)), upper_bounds=pair(b"?"), null_value_counts=pair(2)),
            entry("b", value_counts=pair(-4), nan_value_counts=pair(0)),
        ]
    )
    manifest = Manifest("m", len(data), 0, DATA, 1, 0, 1, -1, -1, -1, -1, -1, -1, None)
    entries = read_entries(data, "m", manifest, EntriesRequest({0: PartitionSpec(0, ())}, 0, [1]))
    column = Field(1, "x", primitive("long"))
    bounds = entries.statistics.bounds((column, Field(2, "y", primitive("int"))), None)
    assert bounds.lower[1].to_pylist() == [1, None]
    assert bounds.upper[1].to_pylist() == [None, None]
    assert bounds.null_count[1].to_pylist() == [2, None]
    assert bounds.value_count[1].to_pylist() == [None, None]
    assert bounds.nan_count[1].to_pylist() == [None, 0]
    assert 2 not in bounds.lower
    assert entries.statistics.bounds((column,), np.array([1])).lower[1].to_pylist() == [None]
    for row, lower in ((0, 1), (1, None)):
        one = entries.take(np.array([row])).statistics
        assert one.bounds((column,), None).lower[1].to_pylist() == [lower]
        assert one.bounds((column,), np.array([0])).lower[1].to_pylist() == [lower]


def test_texts_that_were_cut_inside_a_character_bound_a_file_on_one_side() -> None:
    cut = "aé".encode()[:2]
    data = manifest_bytes([entry("a", lower_bounds=pair(cut), upper_bounds=pair(cut), null_value_counts=pair(0))])
    manifest = Manifest("m", len(data), 0, DATA, 1, 0, 1, -1, -1, -1, -1, -1, -1, None)
    entries = read_entries(data, "m", manifest, EntriesRequest({0: PartitionSpec(0, ())}, 0, [1]))
    bounds = entries.statistics.bounds((Field(1, "x", primitive("string")),), None)
    assert (bounds.lower[1].to_pylist(), bounds.upper[1].to_pylist()) == (["a"], [None])
    assert bounds.null_count[1].to_pylist() == [0]


TEXTS: list[list[bytes | None]] = [
    [b"a", b"bcd", b"", b"ef"],
    [b"a", None, b"bc", None],
    [b"abc", b"def", b"ghi", b"jkl"],
    [b"abc", None, b"ghi", b"jkl"],
    [None, None, None, None],
    [b"", b"", b"", b""],
]


@pytest.mark.parametrize("rows", [None, [], [0], [3, 1], [2, 2, 0, 1, 3], [1]])
def test_chosen_rows_of_a_column_are_those_of_a_list(rows: list[int] | None) -> None:
    indices = None if rows is None else np.array(rows, np.int64)
    chosen = range(4) if rows is None else rows
    for values in TEXTS:
        found, expected = raw_bytes(values).take(indices), [values[row] for row in chosen]
        assert found.bytes_array(pa.binary()).to_pylist() == expected
        assert found.sizes.tolist() == [len(value or b"") for value in expected]
        assert (len(found), found.null_count, found.is_bytes) == (len(expected), expected.count(None), True)
        assert found.take(np.arange(len(expected))).bytes_array(pa.binary()).to_pylist() == expected
    for numbers in ([7, -1, 2**62, 0], [7, None, 0, -5], [None] * 4):
        taken, wanted = raw_ints(numbers).take(indices), [numbers[row] for row in chosen]
        assert taken.int_array().to_pylist() == wanted
        assert taken.int_array(pa.decimal128(19)).to_pylist() == wanted
        assert taken.integers(-9).tolist() == [-9 if number is None else number for number in wanted]
        assert (len(taken), taken.null_count, taken.is_bytes) == (len(wanted), wanted.count(None), False)
        assert taken.valid.tolist() == [number is not None for number in wanted]
        mask = taken.mask
        assert (mask is None or mask.tolist() == [number is None for number in wanted]) and taken.nbytes >= 8 * len(
            wanted
        )


class Recorder:
    """A manifest filter that drops everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def decide(self, *asked: Any) -> Decision:
        self.asked.append(asked)
        return Decision(np.full(len(next(iter(asked[1].values()))), NONE, np.uint8), {})


def test_summaries_are_given_to_the_filter_by_spec() -> None:
    identity = parse_transform("identity")
    specs = {
        0: PartitionSpec(0, ()),
        1: PartitionSpec(1, (PartitionField(1000, "d", 1, identity, primitive("double")),)),
    }
    summary = record(
        ("contains_null", 509, "boolean"),
        ("lower_bound", 510, ["null", "bytes"]),
        ("upper_bound", 511, ["null", "bytes"]),
        name="r508",
    )
    schema = record(
        ("manifest_path", 500, "string"),
        ("manifest_length", 501, "long"),
        ("partition_spec_id", 502, "int"),
        ("partitions", 507, ["null", {"type": "array", "items": summary}]),
        ("added_data_files_count", 504, "int"),
    )

    def row(
        path: str, spec_id: int, summaries: list[tuple[bytes | None, bytes | None]] | None, added: int = 1
    ) -> bytes:
        def bound(value: bytes | None) -> bytes:
            return varint(0) if value is None else varint(1) + text(value)

        items = b"".join(b"\x00" + bound(low) + bound(high) for low, high in summaries or ())
        block = varint(len(summaries)) + items + b"\x00" if summaries else b"\x00"
        head = text(path) + varint(10) + varint(spec_id)
        return head + (varint(0) if summaries is None else varint(1) + block) + varint(added)

    one, nan = packer("d")(1.0), packer("d")(math.nan)
    rows = [
        row("unpartitioned", 0, None),
        row("bounded", 1, [(one, one)]),
        row("all null", 1, [(None, None)]),
        row("nan", 1, [(nan, nan)]),
        row("cut", 1, [(b"12", one)]),
        row("half", 1, [(None, one)]),
        row("two summaries", 1, [(one, one), (one, one)]),
        row("no summaries", 1, None),
        row("other spec", 9, [(one, one)]),
    ]
    found = parse_manifest_list(container(schema, [(len(rows), b"".join(rows))]), "l")
    recorder, report = Recorder(), ScanReport()
    kept = [m.path for m in found.select(DATA, specs, recorder, report)]
    # Only what is known to hold no value but those of its bounds may be dropped.
    assert kept == ["unpartitioned", "nan", "cut", "half", "two summaries", "no summaries", "other spec"]
    ((spec_id, lower, upper, nulls, _),) = recorder.asked
    assert spec_id == 1
    assert lower[1000].to_pylist() == [1.0, None, None, None, None]
    assert upper[1000].to_pylist() == [1.0, None, None, 1.0, 1.0]
    assert nulls[1000].to_pylist() == [False] * 5
    assert (report.manifests_total, report.manifests_skipped, report.files_skipped_with_manifests) == (9, 2, 2)
