"""Equal rows as numbers, and decoded columns: against plain Python."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tableformats_iceberg.avro.columns import RawColumn
from tableformats_iceberg.avro.container import Want, read_columns
from tableformats_iceberg.deletes.partition_codes import find_in_sorted, row_codes
from tableformats_iceberg.files.paths import comparable

from tableformats.errors import CorruptMetadataError
from tests.support.iceberg_manifests import container, record, text, varint

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-3, 12)
KINDS = [
    (pa.int32(), SMALL),
    (pa.int64(), INT64),
    (pa.int64(), SMALL),
    (pa.date32(), st.integers(-5, 5)),
    (pa.string(), st.text(max_size=2)),
    (pa.bool_(), st.booleans()),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.nan])),
    (pa.null(), st.none()),
]


@given(st.lists(st.integers(0, 30) | st.integers(0, 2**62), min_size=1, unique=True), st.lists(INT64 | SMALL))
@example([5], [-1, 4, 5, 6])
@example([2**40], [2**40, 0])
def test_places(groups: list[int], values: list[int]) -> None:
    ascending = sorted(groups)
    rows, place = find_in_sorted(np.array(ascending, np.int64), np.array(values, np.int64))
    expected = [(i, ascending.index(v)) for i, v in enumerate(values) if v in groups]
    assert list(zip(rows.tolist(), place.tolist(), strict=True)) == expected


def same_by_bits(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "nan" if math.isnan(value) else struct.pack("<d", value)


@given(st.data())
def test_row_codes(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    cut = data.draw(st.integers(0, count))
    columns, rows = [], [()] * count
    for kind, values in data.draw(st.lists(st.sampled_from(KINDS), max_size=5)):
        column = data.draw(st.lists(st.none() | values, min_size=count, max_size=count))
        columns.append([pa.array(column[:cut], kind), pa.array(column[cut:], kind)])
        rows = [(*row, same_by_bits(v)) for row, v in zip(rows, column, strict=True)]
    codes, bound = row_codes(columns, count)
    assert all(0 <= code < bound for code in codes.tolist())
    equal = [[a == b for b in codes.tolist()] for a in codes.tolist()]
    assert equal == [[a == b for b in rows] for a in rows]


def test_row_codes_of_chunks_of_several_types() -> None:
    """Those of one value are the same, as of a column that became wider."""
    codes, _ = row_codes([[pa.array([1, 2, None], pa.int64()), pa.array([2, 1, 3], pa.int32())]], 6)
    assert [[a == b for b in codes.tolist()] for a in codes.tolist()] == [
        [a == b for b in (1, 2, None, 2, 1, 3)] for a in (1, 2, None, 2, 1, 3)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_row_codes_of_columns_with_many_values(count: int) -> None:
    """Which together have more combinations than 64 bits."""
    one = [None, 0, (1 << 20) - 1, (1 << 22) - 2]
    rows = list(itertools.product(one, repeat=count))
    columns = [[pa.array([row[at] for row in rows], pa.int32())] for at in range(count)]
    codes, bound = row_codes(columns, len(rows))
    assert len(set(codes.tolist())) == len(rows)
    assert codes.min() >= 0 and codes.max() < bound


@pytest.mark.parametrize(
    ("left", "right", "kept"),
    [
        (["s3://b/t/a", "s3://b/t/c"], ["s3://b/t/a", None], True),
        (["file:///d/a"], ["file:///d/b"], True),
        (["/d/a"], ["/d/a"], True),
        (["a/b"], ["a/b"], False),
        (["file:///d/a"], ["file:////d/a"], False),
        (["s3://b/t"], ["s3a://b/t"], False),
        (["/d"], [None], True),
    ],
)
def test_paths_of_one_spelling_are_left_as_they_are(left: list[str], right: list[str | None], kept: bool) -> None:
    arrays = pa.chunked_array([left]), pa.chunked_array([right], pa.string())
    found = comparable(*arrays)
    assert (found[0] is arrays[0]) == kept


@given(st.lists(st.binary(max_size=20) | st.text(max_size=12).map(str.encode), max_size=4))
@example([b"\xf4\x90\x80\x80"])
@example([b"\xed\xa0\x80"])
@example([b"aaaaaaaa\xc3\xa9bbbbbbbb\x00"])
@example([b"aaaaaaa\xc0\x80"])
def test_text_is_what_python_decodes(values: list[bytes]) -> None:
    def is_text(value: bytes) -> bool:
        try:
            return "\0" not in value.decode()
        except UnicodeDecodeError:
            return False

    blocks = [(1, text(value)) for value in values]
    columns = read_columns(container(record(("a", 1, "string")), blocks), (Want(1, ("a",), "text"),), [], "x")
    if all(map(is_text, values)):
        assert columns.strings((1,), "a").to_pylist() == [v.decode() for v in values]
        return
    with pytest.raises(CorruptMetadataError):
        columns.strings((1,), "a")


def raw(values: list[bytes | None]) -> RawColumn:
    schema = record(("a", 1, ["null", "bytes"]))
    blocks = [(1, varint(0) if v is None else varint(1) + text(v)) for v in values]
    return read_columns(container(schema, blocks), (Want(1, ("a",), "bytes"),), [], "x")[(1,)]


@given(st.data())
def test_taken_rows(data: st.DataObject) -> None:
    width = data.draw(st.none() | st.integers(0, 9))
    octets = st.binary(max_size=9) if width is None else st.binary(min_size=width, max_size=width)
    values = data.draw(st.lists(octets if data.draw(st.booleans()) else st.none() | octets, max_size=8))
    rows = [i for i in range(len(values)) if data.draw(st.booleans())]
    column = raw(values)
    assert column.bytes_array(pa.binary()).to_pylist() == values if column.is_bytes else set(values) <= {None}
    taken = column.take(np.array(rows, np.int64))
    assert taken.bytes_array(pa.binary()).to_pylist() == [values[i] for i in rows]
    assert taken.null_count == sum(values[i] is None for i in rows)


RECORDS = st.tuples(st.integers(0, 3), st.lists(st.integers(-9, 9), max_size=3), st.none() | st.binary(max_size=3))


@given(st.lists(RECORDS))
def test_records_are_left_out_with_all_they_hold(records: list[tuple[int, list[int], bytes | None]]) -> None:
    pairs = {"type": "array", "items": record(("key", 10, "int"), ("value", 11, "bytes"), name="p")}
    lists = {"type": "array", "items": "long", "element-id": 20}
    schema = record(("s", 0, "int"), ("l", 2, lists), ("m", 3, pairs), ("b", 4, ["null", "bytes"]))
    wants = (
        Want(0, ("s",)),
        Want(2, ("l",), "int", "list"),
        Want(4, ("b",), "bytes"),
        Want(3, ("m",), "any", "map", (Want(10, ("key",)), Want(11, ("value",), "bytes"))),
    )

    def encoded(status: int, items: list[int], value: bytes | None) -> bytes:
        array = (varint(len(items)) + b"".join(map(varint, items)) if items else b"") + b"\x00"
        own = b"\x00" if value is None else varint(1) + varint(7) + text(value) + b"\x00"
        return varint(status) + array + own + (varint(0) if value is None else varint(1) + text(value))

    blocks = [(len(part), b"".join(encoded(*r) for r in part)) for part in (records[:3], records[3:]) if part]
    columns = read_columns(container(schema, blocks), wants, [7], "x", drop=((0,), 2), expected=5)
    left = [r for r in records if r[0] != 2]
    assert columns.rows == len(left)
    assert columns[(0,)].values.tolist() == [status for status, _, _ in left]
    assert columns[(2, -1)].values.tolist() == [item for _, items, _ in left for item in items]
    assert columns[(2,)].values.tolist() == np.cumsum([len(items) for _, items, _ in left]).astype(int).tolist()
    values = [value for _, _, value in left]
    assert columns[(4,)].bytes_array(pa.binary()).to_pylist() == values
    assert columns.map_columns((3,))[7].bytes_array(pa.binary()).to_pylist() == values
