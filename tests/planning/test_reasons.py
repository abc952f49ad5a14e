"""Pieces of what a filter did to files: wide bounds, texts that are cut, and the names of parts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.planning.attribution.parts import Attribution, PartCounts, parts_of
from tableformats.planning.attribution.reasons import Reason, _cannot_prune, _is_cut, _of_bounds
from tableformats.planning.attribution.verdicts import FileVerdict, PartVerdict
from tableformats.planning.attribution.widths import Widths, _is_measured, _numbers
from tableformats.pruning.column_ranges import Range
from tableformats.pruning.compiled_predicate import CompiledPredicate
from tableformats.schema import Schema

SCHEMA = Schema.from_arrow(pa.schema({"i": pa.int64(), "s": pa.string(), "st": pa.struct({"x": pa.int64()})}))


def bound(text: str) -> ex.Expression:
    parsed = parse_filter(text)
    assert parsed is not None
    return bind(parsed, SCHEMA)


@pytest.mark.parametrize(
    ("values", "is_cut"),
    [
        (pa.array(["a" * 15, "a" * 16, "a" * 17, "a" * 32, None]), [0, 1, 0, 1, 0]),
        (pa.array(["é" * 16, "é" * 8]), [1, 0]),  # 16 and 8 characters
        (pa.array([b"a" * 16, b"a" * 31, b"a" * 32]), [1, 0, 1]),
        (pa.array(["a" * 15]), [0]),
        (pa.array([None], pa.string()), [0]),
        (pa.array([16, 32]), [0, 0]),
    ],
)
def test_texts_that_writers_cut(values: pa.Array, is_cut: list[int]) -> None:
    assert _is_cut(values).tolist() == [bool(one) for one in is_cut]


def test_what_is_wrong_with_bounds() -> None:
    lower, upper = pa.array(["a", None, None, "a" * 16, "a", "a"]), pa.array(["b", "b", None, "b", "b" * 32, None])
    within, cut, none = Reason.WITHIN_BOUNDS, Reason.CUT_BOUNDS, Reason.NO_STATISTICS
    assert _of_bounds(lower, upper).tolist() == [within, cut, none, cut, cut, cut]


@pytest.mark.parametrize(
    ("text", "cannot"),
    [
        ("i > 1", False),
        ("i IS NULL", False),
        ("st IS NULL", False),
        ("s LIKE '%a'", True),
        ("s LIKE 'a%b'", False),
        ("NOT (s LIKE '%a')", True),
        ("NOT (i > 1 AND s LIKE '%a')", True),
        ("NOT (i > 1)", False),
        ("upper(s) = 'A'", True),
        ("i + 1 > 2", False),
        ("NOT (upper(s) = 'A' OR i = 1)", True),
    ],
)
def test_conditions_that_no_bounds_decide(text: str, cannot: bool) -> None:
    node = bound(text)
    assert _cannot_prune(node, CompiledPredicate(node)) is cannot


def range_of(sides: list[tuple[Any, Any]]) -> Range:
    lower, upper = (pa.array(side) for side in zip(*sides, strict=True))
    return Range(lower, upper, *(np.ones(len(sides), np.uint8) for _ in range(3)))


@pytest.mark.parametrize(
    ("sides", "kept", "wide"),
    [
        ([(0, 5)] * 9 + [(0, 10)], [1] * 10, 10),
        ([(0, 4)] * 9 + [(0, 10)], [1] * 10, 1),
        ([(0, 4)] * 9 + [(0, 10)], [1] * 9 + [0], 0),
        ([(0, 5)] * 8 + [(0, 10)], [1] * 9, 0),  # too few files
        ([(3, 3)] * 12, [1] * 12, 0),
        ([(0.0, 9.0)] * 9 + [(0.0, float("inf"))], [1] * 10, 0),
        ([(0, 9)] * 9 + [(0, None)], [1] * 10, 9),
        ([(None, None)] * 10, [1] * 10, 0),
    ],
)
def test_wide_bounds(sides: list[tuple[Any, Any]], kept: list[int], wide: int) -> None:
    whole, halves = Widths(), Widths()
    whole.add(range_of(sides), None, np.array(kept, bool))
    assert whole.wide() == wide
    for start, stop in ((0, 5), (5, len(sides))):
        mask = np.array([start <= i < stop for i in range(len(sides))])
        halves.add(range_of(sides), mask, np.array(kept, bool)[mask])
    assert halves.wide() == wide


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([1, None], [1.0, None]),
        ([Decimal("1.5")], [1.5]),
        ([dt.date(1970, 1, 3)], [2.0]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], [1e6]),
        ([0.5], [0.5]),
        (["a"], None),
        ([b"a"], None),
        ([True], None),
    ],
)
def test_numbers_that_are_apart(values: list[Any], numbers: list[float | None] | None) -> None:
    stored = pa.array(values)
    assert _is_measured(stored.type) == (numbers is not None)
    if numbers is not None:
        assert [None if v != v else v for v in _numbers(stored).tolist()] == numbers


def test_parts_of_a_filter() -> None:
    assert parts_of(ex.TRUE) == () and [str(one) for one in parts_of(bound("i > 1"))] == ["i > 1"]
    joined = parts_of(bound("i > 1 AND s = 'a' AND (i < 3 OR i = 9)"))
    assert [str(one) for one in joined] == ["i > 1", "s = 'a'", "i < 3 OR i = 9"]
    assert len(parts_of(bound("i > 1 OR s = 'a'"))) == 1


def test_counts_of_wide_bounds() -> None:
    part = PartCounts(
        "i > 1", ("i",), dropped=2, kept={Reason.WITHIN_BOUNDS: 5}, kept_by={Reason.WITHIN_BOUNDS: ("i",)}
    )
    assert repr(part) == "PartCounts('i > 1' drops 2, keeps 5 within_bounds)"
    part.name_wide_bounds(0)
    assert part.kept == {Reason.WITHIN_BOUNDS: 5}
    part.name_wide_bounds(2)
    assert part.kept == {Reason.WITHIN_BOUNDS: 3, Reason.WIDE_BOUNDS: 2}
    part.name_wide_bounds(3)
    assert part.kept == {Reason.WIDE_BOUNDS: 3}
    assert repr(PartCounts("x")) == "PartCounts('x' drops 0, keeps none)"
    found = part.as_dict()
    assert found["kept"] == [{"reason": "wide_bounds", "files": 3, "columns": []}] and found["columns"] == ["i"]
    whole = Attribution([part], files=4, skipped_with_manifests=3, planned=2)
    assert repr(whole) == "Attribution(2 of 7 files planned: 'i > 1' drops 2)"
    assert whole.as_dict()["parts"] == [found]


def test_verdicts_as_text() -> None:
    drops, keeps = PartVerdict("a = 1", None, ()), PartVerdict("b = 1", Reason.NAN, ())
    assert repr(drops) == "PartVerdict('a = 1' drops the file)" and repr(keeps) == "PartVerdict('b = 1' keeps it: nan)"
    assert repr(FileVerdict("p", "planned", (keeps,))) == "FileVerdict('p', 'planned')"
    dropped = FileVerdict("p", "dropped by bounds", (keeps, drops))
    assert repr(dropped) == "FileVerdict('p', 'dropped by bounds', dropped_by=['a = 1'])"
