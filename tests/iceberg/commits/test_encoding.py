"""The Avro encoder of columns, compared with fastavro value by value."""

from __future__ import annotations

import decimal
import io
import json
import struct
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tableformats_iceberg.write.encode import avro_encoding as encoding
from tableformats_iceberg.write.encode.layouts import members_of_writer
from tableformats_iceberg.write.encode.metrics import MetricsMode, cut_bounds
from tableformats_iceberg.write.encode.values import bound_bytes, has_bounds, partition_values

from tableformats.plugin import CorruptMetadataError, DecimalType, PartitionField, Type, parse_transform
from tableformats.schema import Field, primitive

INT64 = st.integers(-(2**63), 2**63 - 1)


def decoded(kind: Any, values: pa.Array) -> list[Any]:
    """Each encoded value as fastavro reads it. Nothing may be left over."""
    found = []
    for value in values.to_pylist():
        stream = io.BytesIO(value)
        found.append(fastavro.schemaless_reader(stream, fastavro.parse_schema(kind), None))
        assert not stream.read()
    return found


@given(st.lists(INT64 | st.sampled_from([0, -1, 63, 64, -64, -65, 2**63 - 1, -(2**63)])))
def test_longs(values: list[int]) -> None:
    assert decoded("long", encoding.longs(np.array(values, np.int64))) == values
    assert [encoding.varint(value) for value in values] == encoding.longs(np.array(values, np.int64)).to_pylist()


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**62 - 1, "feffffffffffffff7f"),
        (2**62, "80808080808080808001"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_one_integer(value: int, octets: str) -> None:
    """In the fewest bytes, alone and among many of other sizes."""
    assert encoding.varint(value).hex() == octets
    for others in ([], [0] * 20, [2**40, -3, 64, 2**62] * 5):
        many = encoding.longs(np.array([*others, value, *others], np.int64)).to_pylist()
        assert many[len(others)].hex() == octets and len(many) == 2 * len(others) + 1
        assert many[: len(others)] == many[len(others) + 1 :] == [encoding.varint(other) for other in others]


@given(st.lists(st.none() | st.text()), st.integers(0, 3))
def test_texts(values: list[str | None], start: int) -> None:
    array = pa.array(values, pa.string()).slice(start)
    found = encoding.optional(encoding.lengthed(array))
    assert decoded(["null", "string"], found) == array.to_pylist()


@given(st.lists(st.none() | st.lists(INT64, max_size=4)), st.integers(0, 3))
def test_lists(values: list[list[int] | None], start: int) -> None:
    array = pa.array(values, pa.list_(pa.int64())).slice(start)
    found = encoding.optional(encoding.lists_of_longs(array))
    assert decoded(["null", {"type": "array", "items": "long"}], found) == array.to_pylist()


@given(st.lists(st.lists(st.none() | INT64, min_size=3, max_size=3)))
def test_maps(rows: list[list[int | None]]) -> None:
    keys = [1, 200, -7]
    valid = np.array([[v is not None for v in row] for row in rows], bool).reshape(-1, 3)
    values = np.array([[v or 0 for v in row] for row in rows], np.int64).reshape(-1, 3)
    pair = {
        "type": "record",
        "name": "p",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "long"}],
    }
    found = decoded(
        ["null", {"type": "array", "items": pair}], encoding.optional(encoding.long_map(keys, values, valid))
    )
    expected = [{k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in rows]
    assert [{p["key"]: p["value"] for p in row or []} for row in found] == expected


@given(st.lists(st.text(), min_size=1), st.integers(1, 4), st.booleans())
def test_cut_bounds_hold(values: list[str], length: int, as_bytes: bool) -> None:
    """A cut lower bound is no greater than its value and a cut upper bound no less; both have the length at most."""
    kind = primitive("binary" if as_bytes else "string")
    column, mode = Field(1, "c", kind), MetricsMode(length=length)
    data: list[Any] = [v.encode() for v in values] if as_bytes else values
    array = pa.array(data, pa.binary() if as_bytes else pa.string())
    lower, upper = (cut_bounds(array, column, mode, is_lower=side) for side in (True, False))
    assert lower is not None and upper is not None
    for value, low, high in zip(data, lower.to_pylist(), upper.to_pylist(), strict=True):
        plain = value if as_bytes else value.encode()
        assert low <= plain and (high is None or plain <= high)
        for bound in (low, high):
            size = None if bound is None else len(bound if as_bytes else bound.decode())
            assert size is None or size <= length
        assert high is not None or len(value) > length


@pytest.mark.parametrize(
    ("text", "upper"),
    [
        ("abcd", "abd"),
        ("ab\U0010ffff!", "ac"),
        ("\U0010ffff" * 4, None),
        ("ab\ud7ff!", "ab\ue000"),
        ("ab\x7f!", "ab\x80"),
        ("abc", "abc"),
    ],
)
def test_upper_bounds_of_texts(text: str, upper: str | None) -> None:
    found = cut_bounds(pa.array([text]), Field(1, "c", primitive("string")), MetricsMode(length=3), is_lower=False)
    assert found is not None and found.to_pylist() == [None if upper is None else upper.encode()]


@pytest.mark.parametrize(("value", "lower", "upper"), [(0.0, "-0.0", "0.0"), (-0.0, "-0.0", "0.0")])
def test_bounds_of_zero_hold_for_both_zeros(value: float, lower: str, upper: str) -> None:
    column, array = Field(1, "c", primitive("double")), pa.array([value, float("nan"), None])
    for side, expected in ((True, lower), (False, upper)):
        found = cut_bounds(array, column, MetricsMode(), is_lower=side)
        assert found is not None
        assert str(np.frombuffer(found[0].as_py(), "<f8")[0]) == expected
        assert found.to_pylist()[1:] == [None, None]


EDGES = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    256,
    32767,
    32768,
    -32768,
    -32769,
    10**18,
    -(10**18),
    10**38 - 1,
    1 - 10**38,
]


def decimals(numbers: list[int | None], precision: int = 38) -> pa.Array:
    found = [None if n is None else decimal.Decimal(n) for n in numbers]
    return pa.array(found, pa.decimal128(precision, 0))


def shortest(number: int) -> bytes:
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


@given(st.lists(st.none() | st.sampled_from(EDGES) | st.integers(1 - 10**38, 10**38 - 1)), st.integers(0, 2))
@example([], 0)
@example([*EDGES, None], 1)
def test_bounds_of_decimals_have_the_fewest_bytes(numbers: list[int | None], start: int) -> None:
    values = decimals(numbers).slice(start)
    found = bound_bytes(values, DecimalType(38, 0), is_lower=True).to_pylist()
    assert found == [None if n is None else shortest(n) for n in numbers[start:]]


def in_partition(kind: Type, values: pa.Array) -> list[bytes]:
    field = PartitionField(1000, "p", 1, parse_transform("identity"), kind)
    return partition_values(values, field).to_pylist()


def test_the_first_of_some_decimals() -> None:
    """Whose memory goes on behind them."""
    for count in range(4):
        found = bound_bytes(decimals([1, -2, 300]).slice(0, count), DecimalType(38, 0), is_lower=True)
        assert found.to_pylist() == [b"\x01", b"\xfe", b"\x01\x2c"][:count]


@pytest.mark.parametrize(("precision", "size"), [(2, 1), (9, 4), (18, 8), (19, 9), (38, 16)])
def test_partition_values_of_decimals_have_the_size_of_their_precision(precision: int, size: int) -> None:
    numbers = [0, 1, -1, 10**precision - 1, 1 - 10**precision, None]
    found = in_partition(DecimalType(precision, 0), decimals(numbers, precision).slice(1))
    assert found == [b"\0" if n is None else b"\2" + n.to_bytes(size, "big", signed=True) for n in numbers[1:]]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("boolean", pa.array([True, False, None]), [b"\2\1", b"\2\0", b"\0"]),
        ("int", pa.array([-1, 64, None], pa.int32()), [b"\2\1", b"\2\x80\1", b"\0"]),
        ("long", pa.array([2**62, None]), [b"\2" + encoding.varint(2**62), b"\0"]),
        ("date", pa.array([1, None], pa.int32()).cast(pa.date32()), [b"\2\2", b"\0"]),
        ("float", pa.array([1.0, None], pa.float32()), [b"\2" + struct.pack("<f", 1), b"\0"]),
        ("double", pa.array([-0.0, None]), [b"\2" + struct.pack("<d", -0.0), b"\0"]),
        ("string", pa.array(["é", None]), ["\2\4é".encode(), b"\0"]),
        ("binary", pa.array([b"ab", None]), [b"\2\4ab", b"\0"]),
        ("uuid", pa.array([b"0123456789abcdef", None], pa.binary(16)), [b"\0020123456789abcdef", b"\0"]),
    ],
)
def test_partition_values(kind: str, values: pa.Array, expected: list[bytes]) -> None:
    assert in_partition(primitive(kind), values) == expected


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("boolean", pa.array([True, False, None]), [b"\1", b"\0", None]),
        ("int", pa.array([-1, None], pa.int32()), [b"\xff" * 4, None]),
        ("timestamp", pa.array([1, None], pa.timestamp("us", "UTC")), [b"\1" + bytes(7), None]),
        ("float", pa.array([1.0, float("nan"), None], pa.float32()), [struct.pack("<f", 1), None, None]),
        ("string", pa.array(["é", None]), ["é".encode(), None]),
    ],
)
def test_bounds(kind: str, values: pa.Array, expected: list[bytes | None]) -> None:
    assert has_bounds(primitive(kind)) and bound_bytes(values, primitive(kind), is_lower=False).to_pylist() == expected


def test_members_of_a_manifest_as_their_writer_declared_them() -> None:
    def members(**data_file: Any) -> list[tuple[int, str]]:
        fields = [
            {"name": "file_path", "type": "string", "field-id": 100},
            {"name": "record_count", "type": "long"},
            {"name": "of_another", "type": "long"},
            {"name": "other", "type": ["null", "int"], "field-id": 900},
        ]
        kind = {"type": "record", "name": "r2", "fields": fields}
        first = {"name": "data_file", "type": {"type": "record", "name": "r9", "fields": []}, "field-id": 9}
        schema = {
            "type": "record",
            "name": "e",
            "fields": [first, {"name": "x", "type": "int"}, {"type": kind, **data_file}],
        }
        return [(m.id, m.name) for m in members_of_writer(json.dumps(schema).encode())]

    expected = [(100, "file_path"), (103, "record_count"), (900, "other")]
    assert members(name="data_file") == members(name="called_otherwise", **{"field-id": 2}) == expected
    with pytest.raises(CorruptMetadataError, match="schema of a manifest is damaged"):
        members(name="data_file", **{"field-id": 3})
    for damaged in (b"{", b"[]", b"{}", b'{"type": "record", "name": "e", "fields": [{}]}', b"[" * 100_000):
        with pytest.raises(CorruptMetadataError, match="schema of a manifest is damaged"):
            members_of_writer(damaged)
