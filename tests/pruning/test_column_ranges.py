"""Ranges of columns: what is made of bounds that contradict each other, and the ranges of some of the files."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions import BoundColumn
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.column_ranges import Range, partition_range_source, ranges_of
from tableformats.pruning.literal_codes import MatchingCodes
from tableformats.schema import DecimalType, Field, Type, arrow_type, primitive
from tableformats.schema.transforms import parse_transform


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("boolean", False, True),
        ("int", 1, 9),
        ("long", -(2**60), 2**60),
        ("double", 1.5, 9.5),
        ("date", date(2020, 1, 1), date(2020, 1, 2)),
        ("string", "a", "b"),
        ("binary", b"a", b"b"),
        (DecimalType(9, 2), Decimal("1.00"), Decimal("1.01")),
    ],
)
def test_bounds_that_contradict_each_other_are_unknown(kind: Any, low: Any, high: Any) -> None:
    field = Field(3, "x", primitive(kind) if isinstance(kind, str) else kind)
    arrow = arrow_type(field.type)
    lower, upper = [low, high, low, None, high], [high, low, low, low, None]
    found = ranges_of(Bounds({3: pa.array(lower, arrow)}, {3: pa.array(upper, arrow)}), pa.array([5] * 5), [field])[3]
    assert found.lower.to_pylist() == [low, None, low, None, high]
    assert found.upper.to_pylist() == [high, None, low, low, None]
    assert found.may_value.tolist() == [1] * 5


def test_types_without_an_order_have_no_bounds() -> None:
    field = Field(3, "v", primitive("variant"))
    counts = {3: pa.array([0, 5, 2, None])}
    found = ranges_of(Bounds(null_count=counts, value_count={3: pa.array([5] * 4)}), pa.array([5] * 4), [field])[3]
    assert found.may_value.tolist() == [1, 0, 1, 1] and found.may_null.tolist() == [0, 1, 1, 1]
    assert found.lower.null_count == found.upper.null_count == 4


def column(kind: Type) -> BoundColumn:
    return BoundColumn((Field(1, "x", kind),))


@pytest.mark.parametrize("is_asked_before", [False, True])
@pytest.mark.parametrize(
    ("transform", "kind", "sides"),
    [
        ("identity", "int", {0: (0, 0), 7: (7, 7), 2019: (2019, 2019)}),
        ("truncate[5]", "int", {0: (0, 4), 7: (5, 9), 2019: (2015, 2019)}),
        ("year", "date", {2: ("1972-01-01", "1972-12-31"), 7: ("1977-01-01", "1977-12-31"), 3: (None, None)}),
    ],
)
@pytest.mark.parametrize("n", [2020, 8])
def test_some_of_the_files(
    transform: str, kind: str, sides: dict[int, tuple[Any, Any]], n: int, is_asked_before: bool
) -> None:
    """Of many files each distinct partition value is turned back once; the ranges of some files are the same."""
    made = parse_transform(transform)
    field = PartitionField(1000, "p", 1, made, made.result_type(primitive(kind)))
    values: list[int | None] = list(range(n))
    if transform == "truncate[5]":
        values = [i - i % 5 for i in range(n)]
    if transform == "year":
        values[3] = None
    stored = pa.array(values, pa.int32()).cast(arrow_type(field.type))
    partition = pa.StructArray.from_arrays([stored], ["1000"])
    source = partition_range_source(PartitionSpec(0, (field,)), partition)
    if is_asked_before:
        (all_files,) = source.ranges(column(primitive(kind)))
        assert (all_files.indices is not None) == (n > 1024 and transform != "identity")
    rows = [row for row in sides if row < n]
    taken = source.take(np.array(rows))
    assert taken.n == len(rows)
    (found,) = taken.ranges(column(primitive(kind)))
    found = found.of_files()
    lower, upper = (side.to_pylist() for side in (found.lower, found.upper))
    shown = [tuple(None if v is None else str(v) for v in pair) for pair in zip(lower, upper, strict=True)]
    assert shown == [tuple(None if v is None else str(v) for v in sides[row]) for row in rows]
    assert found.may_null.tolist() == [int(values[row] is None) for row in rows]
    assert found.may_value.tolist() == [int(values[row] is not None) for row in rows]


def test_ranges_of_files_are_expanded_once_a_file() -> None:
    made = parse_transform("truncate[5]")
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, made, primitive("int")),))
    many = pa.StructArray.from_arrays([pa.array([5, 10, None, 5] * 300, pa.int32())], ["1000"])
    (found,) = partition_range_source(spec, many).ranges(column(primitive("int")))
    assert len(found.lower) == 3 and len(found.of_files().lower) == 1200
    assert found.of_files().lower.to_pylist()[:5] == [5, 10, None, 5, 5]
    assert found.of_files().upper.to_pylist()[:5] == [9, 14, None, 9, 9]
    assert found.expand(np.array([1, 2, 3])).tolist()[:5] == [1, 2, 3, 1, 1]
    few = partition_range_source(spec, many.slice(0, 3)).ranges(column(primitive("int")))[0]
    assert few.indices is None and few.expand(np.array([1, 2, 3])).tolist() == [1, 2, 3]
    assert few.of_files() is few


@pytest.mark.parametrize(
    ("kind", "literals", "lower", "upper", "codes"),
    [
        ("int64", (5, 9), [4, 5, 6, None], [9, 5, None, None], ([0, 1, 2, 0], [3, 1, 4, 4])),
        ("float64", (5.0,), [4.0, None], [5.0, 6.0], ([0, 0], [1, 2])),
        ("float64", (5.0, math.nan), [4.0, None], [None, None], ([0, 0], [2, 2])),  # NaN is not within bounds
        ("float64", (math.nan,), [None, None], [None, None], ([0, 0], [0, 0])),
        ("float64", (5.0,), [None, None], [None, None], None),
        ("int64", (5, 9), [None, None], [None, 5], ([0, 0], [4, 1])),
    ],
)
def test_codes_of_bounds(kind: str, literals: tuple[Any, ...], lower: list[Any], upper: list[Any], codes: Any) -> None:
    """Where a bound is unknown the least or the greatest code. None: all of them are."""
    matching = MatchingCodes(kind, literals, odd_only=True)
    arrow = pa.int64() if kind == "int64" else pa.float64()
    sides = pa.array(lower, arrow), pa.array(upper, arrow)
    found = Range(*sides, *(np.ones(len(lower), np.uint8) for _ in range(3))).codes(matching)
    assert (None if found is None else tuple(side.tolist() for side in found)) == codes


@pytest.mark.parametrize("values", [[4, 5, 6], [4, None, 9]])
def test_codes_of_one_value(values: list[int | None]) -> None:
    """Both bounds are one array: its codes are found once, unless it has unknown values."""
    bound = pa.array(values, pa.int64())
    found = Range(bound, bound, *(np.ones(3, np.uint8) for _ in range(3))).codes(MatchingCodes("int64", (5, 9)))
    assert found is not None and (found[0] is found[1]) == (None not in values)
    assert [side.tolist() for side in found] == ([[0, 1, 2]] * 2 if None not in values else [[0, 0, 3], [0, 4, 3]])
