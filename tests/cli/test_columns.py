"""What is written of columns is what would be written of each value."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.cli import commands, main
from tableformats.cli.columns import json_objects, slices, texts_of
from tableformats.cli.options import as_number
from tableformats.cli.output import print_json, print_records
from tableformats.cli.values import is_number, json_value, rows_of, value_text, values_of
from tests.support.examples import examples

LEAVES = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=8)),
    (pa.binary(), st.binary(max_size=4)),
    (pa.float64(), st.floats()),
    (pa.decimal128(5, 2), st.decimals("-9", "9", places=2)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.timezone.utc))),
    (pa.timestamp("ns"), st.integers(-(2**40), 2**40)),
    (pa.null(), st.none()),
]


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    structs = st.lists(children, max_size=3).map(
        lambda found: (
            pa.struct([pa.field(f"%s {i}", kind) for i, (kind, _) in enumerate(found)]),
            st.fixed_dictionaries({f"%s {i}": st.none() | values for i, (_, values) in enumerate(found)}),
        )
    )
    lists = children.map(lambda one: (pa.list_(one[0]), st.lists(st.none() | one[1], max_size=3)))
    maps = children.map(
        lambda one: (pa.map_(pa.int64(), one[0]), st.lists(st.tuples(st.integers(0, 9), one[1]), max_size=2))
    )
    return structs | lists | maps


KINDS = st.recursive(st.sampled_from(LEAVES), nested, max_leaves=4)


@st.composite
def columns(draw: st.DrawFn) -> pa.ChunkedArray:
    kind, values = draw(KINDS)
    chunks = draw(st.lists(st.lists(st.none() | values, max_size=4), max_size=3))
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    return column.slice(draw(st.integers(0, 2)))


@settings(max_examples=40)
@given(st.lists(columns(), min_size=1, max_size=3))
def test_json_is_that_of_each_value(found: list[pa.ChunkedArray]) -> None:
    n = min(map(len, found))
    table = pa.table([column.slice(0, n) for column in found], names=[f'"{i}' for i in range(len(found))])
    rows = rows_of(table)
    assert json_objects(table) == [json.dumps(json_value(row), ensure_ascii=False) for row in rows]
    document = json.dumps([json_value(row) for row in rows], ensure_ascii=False, indent=2)
    written = ",".join(f"\n  {text}" for text in json_objects(table, "  "))
    assert (f"[{written}\n]" if written else "[]") == document


@settings(max_examples=examples(60))
@given(columns())
def test_texts_are_those_of_each_value(column: pa.ChunkedArray) -> None:
    assert texts_of(column) == [value_text(value) for value in values_of(column)]
    assert texts_of(column, "null") == ["null" if v is None else value_text(v) for v in values_of(column)]


def test_slices_have_all_rows_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"n": range(40_000), "text": ["\x1b"] * 40_000})
    assert pa.concat_tables(slices(table)).equals(table) and sum(1 for _ in slices(table)) == 3
    print_json("x", {"first": {"a": [1]}, "rows": table, "none": table.slice(0, 0), "last": Decimal("1.5")})
    text = capsys.readouterr().out
    document = json.loads(text)
    assert [row["n"] for row in document["rows"]] == list(range(40_000))
    assert text == json.dumps(document, indent=2) + "\n", "as json.dumps lays it out"
    assert document["rows"][0]["text"] == "\x1b" and "\x1b" not in text
    assert (document["none"], document["last"], document["first"]) == ([], "1.5", {"a": [1]})
    for form, header in (("jsonl", 0), ("tsv", 1)):
        print_records(form, table, table.column_names)
        assert len(capsys.readouterr().out.splitlines()) == header + 40_000


def test_bytes_that_are_no_text() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"a\xff"]).buffers())
    table = pa.table({"s": broken, "t": pa.StructArray.from_arrays([broken], ["s"])})
    assert json_objects(table) == ['{"s": "a�", "t": {"s": "a�"}}']
    assert texts_of(table["s"]) == ["a�"]


def test_two_members_of_one_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    assert json_objects(pa.table({"s": twice})) == ['{"s": {"x": 2}}']


def test_versions_are_numbers_of_at_most_twenty_digits() -> None:
    digits = "12345678901234567890"
    assert as_number(digits) == int(digits) and as_number(digits + "1") == digits + "1"
    for text in (None, "", "main", "-1", "1.0", "\u0663", "0x1"):
        assert as_number(text) == text
    assert as_number("007") == 7


def test_partition_fields_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = pa.schema({"a": pa.int64(), "b": pa.string()})
    tf.create_table(tmp_path / "t", schema, format="iceberg", partition_by=["a", "truncate(3, b)"])
    assert main(["describe", str(tmp_path / "t")]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Partitioned by")]
    assert line.split("  ")[-1].strip() == "a, truncate[3](b)"


def test_partitions_and_deletes_of_files() -> None:
    partitions = pa.array([{"day": 3, "kind": None}, {"day": None, "kind": "a\x1b"}, {"day": -1, "kind": ""}])
    assert commands._partition_texts(partitions) == ["day=3, kind=null", "day=null, kind=a\\x1b", "day=-1, kind="]
    assert commands._partition_texts(pa.array([{"a\nb": 1.5}])) == ["a\\nb=1.5"]
    assert commands._partition_texts(pa.array([{}, {}], pa.struct([]))) == ["", ""]
    kinds = ["equality", "deletion_vector", "position", "equality"]
    assert commands._kinds_text([{"kind": kind} for kind in kinds]) == "equality, position, vector"
    assert commands._kinds_text([]) == commands._kinds_text(None) == ""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((), {}),
        (("a",), {"a": None}),
        (("a=2",), {"a": 2.0}),
        (("a=-inf",), {"a": -math.inf}),
        (("all",), {"a": None, "b": None}),
        (("a=2", "all"), {"a": 2.0, "b": None}),
        (("all", "b=1e3"), {"a": None, "b": 1000.0}),
        (("a=1", "a=2"), {"a": 2.0}),
        (("a=",), "'a=' has no number behind '='"),
        (("a=nan",), "'a=nan' has no number behind '='"),
        (("b=x",), "'b=x' has no number behind '='"),
        (("all=1",), "there is no check 'all'; the checks are a, b, all"),
        (("c",), "there is no check 'c'; the checks are a, b, all"),
    ],
)
def test_checks_that_fail_a_command(given: tuple[str, ...], found: dict[str, float | None] | str) -> None:
    checks = {"a": 0.5, "b": 7.0}
    if isinstance(found, str):
        with pytest.raises(click.BadParameter) as caught:
            commands._thresholds(given, checks)
        assert caught.value.message == found
    else:
        assert commands._thresholds(given, checks) == found


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, True),
        (5, 5),
        ("a\ud800", "a\\ud800"),
        (1.5, 1.5),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (b"\xff\x00", "/wA="),
        (Decimal("1.50"), "1.50"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.time(1, 2, 3, 4), "01:02:03.000004"),
        (dt.datetime(2024, 2, 29, 1), "2024-02-29T01:00:00"),
        (dt.datetime(2024, 2, 29, 1, tzinfo=dt.timezone.utc), "2024-02-29T01:00:00Z"),
        (dt.datetime(2024, 2, 29, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2024-02-28T23:00:00Z"),
        ([(1, b"a")], [[1, "YQ=="]]),
        ({1: {"x": math.nan}}, {"1": {"x": "NaN"}}),
        (range(2), "range(0, 2)"),
    ],
)
def test_values_in_the_types_of_json(value: Any, written: Any) -> None:
    assert json_value(value) == written and type(json_value(value)) is type(written)


def test_values_that_python_lacks() -> None:
    days = pa.array([3_000_000, None, 1], pa.int32()).view(pa.date32())
    assert values_of(days) == ["+10183-09-21", None, dt.date(1970, 1, 2)]
    for unit, zone, value in (("s", None, 2**42), ("ms", "UTC", 2**52), ("us", "UTC", 2**62)):
        found = values_of(pa.array([value, None], pa.timestamp(unit, zone)))
        assert found[0].startswith("+14") and found[0][7] == "-" and "T" in found[0] and found[1] is None
        assert found[0].endswith("Z") == (zone is not None)
    nanos = pa.array([1_001, None], pa.timestamp("ns", "UTC"))
    assert list(map(value_text, values_of(nanos))) == ["1970-01-01T00:00:00.000001001Z", ""]
    nested = pa.array([[{"d": [(1, 3_000_000)]}], None], pa.list_(pa.struct([("d", pa.map_(pa.int8(), pa.int32()))])))
    wide = nested.cast(pa.list_(pa.struct([("d", pa.map_(pa.int8(), pa.date32()))])))
    assert values_of(wide) == [[{"d": [(1, "+10183-09-21")]}], None]


def test_which_columns_are_numbers() -> None:
    numbers = (pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(5, 2))
    assert all(map(is_number, numbers)) and not any(map(is_number, (pa.string(), pa.bool_(), pa.date32(), pa.null())))
