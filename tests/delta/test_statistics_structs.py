"""Statistics as structs and as texts: which columns have them, in which types, and how values are spelled."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.statistics import stats_struct
from tableformats_delta.statistics.indexed_columns import indexed_leaves
from tableformats_delta.statistics.stats_struct import stats_columns, stats_texts, stats_type, structs_of_texts

from tableformats.plugin import DecimalType, Field, ListType, Schema, StructType, Type, primitive

LONG, STRING = primitive("long"), primitive("string")


def table() -> Schema:
    """The columns a, S (b, `T` (c)), d, and a list e."""
    inner = StructType((Field(4, "c", STRING),))
    outer = StructType((Field(3, "b", LONG), Field(5, "T", inner)))
    of_list = ListType(Field(8, "element", LONG))
    return Schema((Field(1, "a", LONG), Field(2, "S", outer), Field(6, "d", STRING), Field(7, "e", of_list)))


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({}, ["a", "S.b", "S.T.c", "d", "e"]),
        ({"delta.dataSkippingNumIndexedCols": "2"}, ["a", "S.b"]),
        ({"delta.dataSkippingNumIndexedCols": " 3 "}, ["a", "S.b", "S.T.c"]),
        ({"delta.dataSkippingNumIndexedCols": "0"}, []),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, ["a", "S.b", "S.T.c", "d", "e"]),
        ({"delta.dataSkippingNumIndexedCols": "-2"}, []),
        ({"delta.dataSkippingNumIndexedCols": "x"}, []),
        ({"delta.dataSkippingStatsColumns": "d, s"}, ["S.b", "S.T.c", "d"]),
        ({"delta.dataSkippingStatsColumns": "`S`.`t`"}, ["S.T.c"]),
        ({"delta.dataSkippingStatsColumns": "S.T.C,unknown", "delta.dataSkippingNumIndexedCols": "1"}, ["S.T.c"]),
        ({"delta.dataSkippingStatsColumns": ""}, []),
    ],
)
def test_columns_with_statistics(properties: dict[str, str], names: list[str]) -> None:
    found = stats_columns(table(), (), properties)
    assert [".".join(one.path) for one in found] == names
    without = stats_columns(table(), {1}, properties)
    if "delta.dataSkippingNumIndexedCols" not in properties:
        assert [one.path for one in without] == [one.path for one in found if one.path != ("a",)]


def test_leaves_in_lists_have_none() -> None:
    number, listed = Field(2, "n", LONG), Field(1, "l", ListType(Field(3, "element", LONG)))
    assert indexed_leaves([(listed, number), (number,)], {}) == [(number,)]


def test_only_the_first_columns() -> None:
    fields = tuple((Field(n, f"c{n}", LONG),) for n in range(40))
    assert indexed_leaves(fields, {}) == list(fields[:32])


@pytest.mark.parametrize(
    ("kind", "has_bounds"),
    [
        (LONG, True),
        (primitive("double"), True),
        (DecimalType(5, 2), True),
        (primitive("timestamp_ntz"), True),
        (primitive("boolean"), False),
        (primitive("binary"), False),
        (ListType(Field(2, "element", LONG)), False),
    ],
)
def test_columns_with_bounds(kind: Type, has_bounds: bool) -> None:
    (column,) = stats_columns(Schema((Field(1, "c", kind, physical_name="col-1"),)), (), {})
    assert (column.path, column.leaf is not None) == (("col-1",), has_bounds)
    names = [member.name for member in stats_type([column])]
    assert names == ["numRecords", *(["minValues", "maxValues"] if has_bounds else []), "nullCount", "tightBounds"]


def test_the_type_of_structs() -> None:
    found = stats_type(stats_columns(table(), (), {}))
    bounds = pa.struct(
        [
            ("a", pa.int64()),
            ("S", pa.struct([("b", pa.int64()), ("T", pa.struct([("c", pa.string())]))])),
            ("d", pa.string()),
        ]
    )
    number = pa.int64()
    nested = pa.struct([("b", number), ("T", pa.struct([("c", number)]))])
    nulls = pa.struct([("a", number), ("S", nested), ("d", number), ("e", number)])
    members = [("numRecords", number), ("minValues", bounds), ("maxValues", bounds), ("nullCount", nulls)]
    assert found == pa.struct([*members, ("tightBounds", pa.bool_())])
    assert stats_type([]) == pa.struct([("numRecords", number), ("tightBounds", pa.bool_())])


# ---- structs of texts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 2, 100])
def test_structs_of_texts(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that says neither how many rows nor how many NULLs there are is none."""
    monkeypatch.setattr(stats_struct, "PIECE_ROWS", piece)
    values = [
        {"numRecords": 5, "minValues": {"a": 1}, "maxValues": {"a": 2}, "nullCount": {"a": 3}, "tightBounds": False},
        {"nullCount": {"a": 1}},
        {"minValues": {"a": 1}},
        {"numRecords": 1, "minValues": {"a": "x"}},
    ]
    columns = stats_columns(Schema((Field(1, "a", LONG), Field(2, "f", primitive("boolean")))), (), {})
    texts = pa.array([*map(json.dumps, values), None, "{"])
    unknown = {"minValues": {"a": None}, "maxValues": {"a": None}, "nullCount": {"a": None, "f": None}}
    plain = {"numRecords": None, **unknown, "tightBounds": None}
    assert structs_of_texts(texts, columns).to_pylist() == [
        {**values[0], "nullCount": {"a": 3, "f": None}},
        {**plain, "nullCount": {"a": 1, "f": None}},
        None,
        {**plain, "numRecords": 1},
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (STRING, "a", "b"),
        (primitive("double"), 0.5, 1.5),
        (primitive("date"), dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
        (DecimalType(5, 2), Decimal("1.50"), Decimal("2.00")),
        (primitive("byte"), -1, 1),
    ],
)
def test_structs_of_values(kind: Type, low: Any, high: Any) -> None:
    columns = stats_columns(Schema((Field(1, "c", kind),)), (), {})
    spelled = [
        float(one) if isinstance(one, Decimal) else str(one) if isinstance(one, dt.date) else one for one in (low, high)
    ]
    value = {"numRecords": 2, "minValues": {"c": spelled[0]}, "maxValues": {"c": spelled[1]}, "nullCount": {"c": 1}}
    (found,) = structs_of_texts(pa.array([json.dumps(value)]), columns).to_pylist()
    assert found == {**value, "minValues": {"c": low}, "maxValues": {"c": high}, "tightBounds": None}


# ---- texts of structs ------------------------------------------------------------------------------------------------


def text_of(value: Any, kind: pa.DataType, side: str = "minValues") -> Any:
    (found,) = stats_texts(pa.array([{side: {"c": value}}], pa.struct([(side, pa.struct([("c", kind)]))]))).to_pylist()
    return json.loads(found)[side].get("c")


INSTANT = dt.datetime(2020, 1, 2, 3, 4, 5, 678_901)


@pytest.mark.parametrize(
    ("value", "kind", "low", "high"),
    [
        (5, pa.int64(), 5, 5),
        (1.5, pa.float64(), 1.5, 1.5),
        (float("nan"), pa.float64(), None, None),
        (float("inf"), pa.float64(), None, None),
        (True, pa.bool_(), True, True),
        (Decimal("1.50"), pa.decimal128(5, 2), 1.5, 1.5),
        ("é", pa.string(), "é", "é"),
        ("a", pa.large_string(), "a", "a"),
        ('"\\', pa.string(), '"\\', '"\\'),
        ("".join(map(chr, range(34))), pa.string(), *["".join(map(chr, range(34)))] * 2),
        (dt.date(2020, 1, 2), pa.date32(), "2020-01-02", "2020-01-02"),
        (INSTANT, pa.timestamp("us"), "2020-01-02T03:04:05.678", "2020-01-02T03:04:05.679"),
        (INSTANT, pa.timestamp("us", "UTC"), "2020-01-02T03:04:05.678Z", "2020-01-02T03:04:05.679Z"),
        (None, pa.int64(), None, None),
        (b"a", pa.binary(), None, None),
        ({"x": 1, "y": b"a"}, pa.struct([("x", pa.int64()), ("y", pa.binary())]), {"x": 1}, {"x": 1}),
        ({"x": None}, pa.struct([("x", pa.int64())]), {}, {}),
    ],
)
def test_texts_of_values(value: Any, kind: pa.DataType, low: Any, high: Any) -> None:
    """Of types that have no JSON there is nothing; maxima of instants are rounded up, minima down."""
    if kind == pa.binary():
        kind, value = pa.struct([("b", kind), ("n", pa.int64())]), {"b": value, "n": 1}
        low = high = {"n": 1}
    assert (text_of(value, kind), text_of(value, kind, "maxValues")) == (low, high)


def test_texts_of_structs() -> None:
    """Members whose types have no JSON are left out, and so are NULLs; names are escaped as values are."""
    kind = pa.struct(
        [("numRecords", pa.int64()), ('a"é', pa.struct([("b", pa.binary())])), ('c"', pa.struct([('d"', pa.int64())]))]
    )
    values = [{"numRecords": 1, 'c"': {'d"': 2}}, {"numRecords": None}, None]
    found = stats_texts(pa.array(values, kind)).to_pylist()
    assert found == ['{"numRecords":1,"c\\"":{"d\\"":2}}', '{"c\\"":{}}', None]
