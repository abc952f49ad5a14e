"""Batches without deleted rows, of every type and layout, against Arrow's own filter."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.columnar.dropped_rows import without_rows

_D = decimal.Decimal
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "null": (pa.null(), [None] * 6),
    "boolean": (pa.bool_(), [True, None, False, True, True, None]),
    "byte": (pa.int8(), [1, 2, None, 4, 5, 6]),
    "long": (pa.int64(), [1, 2, 3, 4, 5, 6]),
    "double": (pa.float64(), [1.5, None, float("inf"), -0.0, 2.0, 3.0]),
    "decimal": (pa.decimal128(38, 2), [_D("1.25"), None, _D("-3.00"), _D("4"), _D("5"), _D("6")]),
    "wide decimal": (pa.decimal256(60, 2), [_D("1.25"), None, _D("-3.00"), _D("4"), _D("5"), _D("6")]),
    "date": (pa.date32(), [dt.date(2024, 1, day) for day in range(1, 7)]),
    "time": (pa.time64("us"), [dt.time(day) for day in range(6)]),
    "timestamp": (pa.timestamp("us", "UTC"), [None, 1, 2, 3, 4, 5]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3), None, (4, 5, 6), (0, 0, 0), (7, 8, 9), None]),
    "string": (pa.string(), ["a", "", None, "long text", "é", "z"]),
    "binary": (pa.binary(), [b"", None, b"\xff\x00", b"a", b"", b"bcd"]),
    "large string": (pa.large_string(), ["a", None, "b", "", "cc", "d"]),
    "fixed": (pa.binary(3), [b"abc", None, b"def", b"ghi", b"jkl", b"mno"]),
    "fixed, empty": (pa.binary(0), [b"", None, b"", b"", b"", b""]),
    "list": (pa.list_(pa.string()), [["a"], None, [], [None, "b"], ["c"], ["d", "e"]]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None, [], [("b", None)], [("c", 3)], []]),
    "struct": (pa.struct([("x", pa.int32())]), [{"x": 1}, None, {"x": None}, {"x": 4}, {"x": 5}, {"x": 6}]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", None, "a", "b", "b"]),
    "uuid": (pa.uuid(), [bytes([day] * 16) for day in range(6)]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types(name: str) -> None:
    kind, values = COLUMNS[name]
    repeated = values * 4
    rows = pa.StructArray.from_arrays([pa.array(repeated, kind), pa.array(range(24))], ["column", "row"])
    for dropped in ([], [0], [23], [2, 3, 13], [1, 2, 3, 4, 5], list(range(0, 24, 2)), list(range(24))):
        for start, stop in ((0, 24), (3, 24), (5, 19)):
            part = rows.slice(start, stop - start)
            gone = np.array([i for i in dropped if i < len(part)], np.int64)
            found = without_rows(part, gone)
            found.validate(full=True)
            mask = np.ones(len(part), bool)
            mask[gone] = False
            expected = part.filter(pa.array(mask))
            assert found.type == expected.type
            assert found.to_pylist() == expected.to_pylist(), (dropped, start, stop)


@given(st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=20)), st.booleans()), max_size=200))
def test_texts(drawn: list[tuple[str | None, bool]]) -> None:
    texts = [text for text, _ in drawn]
    rows = pa.StructArray.from_arrays([pa.array(texts, pa.string())], ["text"])
    found = without_rows(rows, np.flatnonzero([goes for _, goes in drawn]).astype(np.int64))
    found.validate(full=True)
    assert found.field(0).to_pylist() == [text for text, goes in drawn if not goes]


def test_no_columns() -> None:
    rows = pa.Array.from_buffers(pa.struct([]), 5, [None], children=[])
    assert len(without_rows(rows, np.array([1, 4], np.int64))) == 3
