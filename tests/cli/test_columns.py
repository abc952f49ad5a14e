"""What is written of columns is what would be written of each value."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.cli import main
from tableformats.cli.columns import json_objects, slices, texts_of
from tableformats.cli.options import as_number
from tableformats.cli.output import print_json, print_records
from tableformats.cli.values import json_value, rows_of, value_text, values_of

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


@settings(max_examples=60)
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
