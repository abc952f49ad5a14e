"""Ranges of computed values are just as wide as the values of all numbers, days and times within the bounds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions import BoundColumn
from tableformats.expressions.functions.vectors import python_values
from tableformats.pruning.column_ranges import Range
from tableformats.pruning.computed_ranges import RangeEvaluator
from tableformats.pruning.value_ranges import ValueRange
from tableformats.schema import Field, ListType, StructType, Type, primitive
from tests.support.expressions import answers, bound

DAY, SECOND = 86_400_000_000, 1_000_000
NUMBERS = [-7, -1, 0, 1, 2, 5, 12]
DAYS = [-1, 0, 3, 4, 31, 59, 90, 364, 365]
TIMES = [s * SECOND for s in (-1, 0, 59, 60, 3_599, 3_600, 86_399, 86_400)]
DOMAINS: dict[str, tuple[pa.DataType, list[int]]] = {
    "i": (pa.int32(), NUMBERS),
    "d": (pa.date32(), DAYS),
    "t": (pa.timestamp("us", "UTC"), TIMES),
}


class Source:
    """One source of ranges that knows the bounds of one column."""

    def __init__(self, lower: pa.Array, upper: pa.Array, may_null: int) -> None:
        flags = [np.full(len(lower), one, np.uint8) for one in (1, may_null, 0)]
        self._range = Range(lower, upper, *flags)

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        return [self._range]


def array(name: str, values: Sequence[int | None]) -> pa.Array:
    kind = DOMAINS[name][0]
    return pa.array(values, {"i": pa.int32(), "d": pa.int32(), "t": pa.int64()}[name]).view(kind)


def found_range(
    call: str, name: str, files: list[tuple[int | None, int | None]], null: int = 0, ansi: bool = True
) -> ValueRange:
    value = bound(call, pa.schema({name: DOMAINS[name][0]}), ansi)
    sides = [array(name, side) for side in zip(*files, strict=True)]
    return RangeEvaluator([Source(sides[0], sides[1], null)], len(files)).value(value)  # type: ignore[list-item]


def bounds(found: ValueRange) -> list[tuple[Any, Any]]:
    lower, upper = (python_values(side, found.kind) for side in found.bounds)
    return list(zip(lower, upper, strict=True))


def values_within(call: str, name: str, low: int, high: int) -> list[Any]:
    domain = DOMAINS[name][1] if name == "t" else range(low, high + 1)
    inside = [v for v in domain if low <= v <= high]
    return answers(call, {name: array(name, inside)})[1]


ORDERED = [
    *(
        ("i", call)
        for call in ("i + 3", "3 + i", "i - 3", "3 - i", "i * 2", "i * -2", "-3 * i", "-i", "abs(i)", "i DIV 3")
    ),
    *(
        ("i", call)
        for call in ("i / 2", "CAST(i AS BIGINT)", "CAST(i AS DOUBLE)", "CAST(i AS DECIMAL(12,2))", "floor(i)")
    ),
    *(("i", call) for call in ("round(i, -1)", "i + 0", "timestamp_seconds(i)")),
    *(
        ("i", call)
        for call in ("timestamp_millis(i)", "date_from_unix_date(i)", "CAST(i AS TIMESTAMP)", "-abs(i)", "abs(i) * -1")
    ),
    *(
        ("d", call)
        for call in (
            "year(d)",
            "last_day(d)",
            "trunc(d, 'month')",
            "trunc(d, 'week')",
            "unix_date(d)",
            "date_add(d, 5)",
        )
    ),
    *(
        ("d", call)
        for call in ("date_sub(d, 5)", "add_months(d, 1)", "datediff(d, DATE'2000-01-01')", "CAST(d AS TIMESTAMP)")
    ),
    *(
        ("d", call)
        for call in (
            "datediff(DATE'2000-01-01', d)",
            "CAST(d AS STRING)",
            "unix_timestamp(d)",
            "year(add_months(d, 2))",
        )
    ),
    *(
        ("t", call)
        for call in ("date_trunc('hour', t)", "CAST(t AS DATE)", "unix_seconds(t)", "unix_millis(t)", "unix_micros(t)")
    ),
    *(
        ("t", call)
        for call in ("unix_timestamp(t)", "year(t)", "CAST(t AS STRING)", "CAST(t AS BIGINT)", "date_add(t, 1)")
    ),
]


@pytest.mark.parametrize(("name", "call"), ORDERED, ids=[call for _, call in ORDERED])
def test_functions_that_keep_the_order(name: str, call: str) -> None:
    files = list(combinations_with_replacement(DOMAINS[name][1], 2))
    found = found_range(call, name, files)
    expected = [values_within(call, name, low, high) for low, high in files]
    assert bounds(found) == [(min(values), max(values)) for values in expected]
    assert not found.may_fail.any() and not found.range.may_null.any() and found.range.may_value.all()
    assert found_range(call, name, files, null=1).range.may_null.all()


def period(name: str) -> Callable[[int, str], object]:
    """What tells two periods apart in which a function keeps the order."""

    def of(value: int, column: str) -> object:
        micros = value * (DAY if column == "d" else 1)
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)
        monday = moment.date() - dt.timedelta(moment.weekday())
        return {
            "year": moment.year,
            "month": (moment.year, moment.month),
            "week": monday,
            "day": moment.date(),
            "hour": (moment.date(), moment.hour),
            "minute": (moment.date(), moment.hour, moment.minute),
        }[name]

    return of


PERIODIC = [
    ("d", "month", "year", 1, 12),
    ("d", "quarter", "year", 1, 4),
    ("d", "dayofyear", "year", 1, 366),
    ("d", "day", "month", 1, 31),
    ("d", "weekday", "week", 0, 6),
    ("t", "month", "year", 1, 12),
    ("t", "hour", "day", 0, 23),
    ("t", "minute", "hour", 0, 59),
    ("t", "second", "minute", 0, 59),
]


@pytest.mark.parametrize(("name", "function", "within", "least", "greatest"), PERIODIC)
def test_functions_that_keep_the_order_within_a_period(
    name: str, function: str, within: str, least: int, greatest: int
) -> None:
    files = list(combinations_with_replacement(DOMAINS[name][1], 2))
    found = found_range(f"{function}({name})", name, files)
    of = period(within)
    expected = []
    for low, high in files:
        values = values_within(f"{function}({name})", name, low, high)
        is_same = of(low, name) == of(high, name)
        expected.append((min(values), max(values)) if is_same else (least, greatest))
    assert bounds(found) == expected
    unknown = found_range(f"{function}({name})", name, [(None, None), (0, None), (None, 0)], null=1)
    assert bounds(unknown) == [(least, greatest)] * 3 and unknown.range.may_null.all()


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("i + 3", [(None, None), (4, None), (None, 4)]),
        ("3 - i", [(None, None), (None, 2), (2, None)]),
        ("-i", [(None, None), (None, -1), (-1, None)]),
        ("CAST(i AS BIGINT)", [(None, None), (1, None), (None, 1)]),
        ("i DIV 2", [(None, None), (0, None), (None, 0)]),
        ("i % 3", [(None, None)] * 3),
        ("i DIV -2", [(None, None)] * 3),
        ("7", [(7, 7)] * 3),
        ("coalesce(i, 5)", [(None, None), (1, None), (None, 5)]),
        ("IF(i > 0, 2, 9)", [(2, 9)] * 3),
        ("nullif(i, 0)", [(None, None), (1, None), (None, 1)]),
    ],
)
def test_bounds_that_are_unknown(call: str, wanted: list[tuple[Any, Any]]) -> None:
    assert bounds(found_range(call, "i", [(None, None), (1, None), (None, 1)], null=1)) == wanted


@pytest.mark.parametrize(
    ("call", "files", "ansi", "fails", "null"),
    [
        ("i + 1", [(0, 2**31 - 2), (0, 2**31 - 1), (None, None)], True, [0, 1, 1], [0, 0, 0]),
        ("i - 1", [(-(2**31) + 1, 0), (-(2**31), 0), (0, None)], True, [0, 1, 1], [0, 0, 0]),
        ("i * 2", [(-(2**30), 2**30 - 1), (-(2**30) - 1, 0), (0, 2**30)], True, [0, 1, 1], [0, 0, 0]),
        ("-i", [(-(2**31) + 1, 0), (-(2**31), 0), (None, 0)], True, [0, 1, 1], [0, 0, 0]),
        ("abs(i)", [(-(2**31) + 1, 0), (-(2**31), 0), (0, None)], True, [0, 1, 1], [0, 0, 0]),
        ("CAST(i AS TINYINT)", [(-128, 127), (-129, 0), (0, 128)], True, [0, 1, 1], [0, 0, 0]),
        ("TRY_CAST(i AS TINYINT)", [(-128, 127), (-129, 0), (0, 128)], True, [0, 0, 0], [0, 1, 1]),
    ],
)
def test_values_that_may_fail(
    call: str, files: list[tuple[int | None, int | None]], ansi: bool, fails: list[int], null: list[int]
) -> None:
    found = found_range(call, "i", files, ansi=ansi)
    assert [int(one != 0) for one in found.may_fail] == fails
    assert [int(one != 0) for one in found.range.may_null] >= null


@pytest.mark.parametrize("kind", ["list", "struct", "variant"])
def test_columns_without_an_order_have_no_bounds(kind: str) -> None:
    """Whatever a source says of them."""
    types: dict[str, Type] = {
        "list": ListType(Field(3, "element", primitive("int"))),
        "struct": StructType((Field(4, "a", primitive("int")),)),
        "variant": primitive("variant"),
    }
    column = BoundColumn((Field(1, "x", types[kind]),))
    source = Source(array("i", [1, 2]), array("i", [3, 4]), 0)
    found = RangeEvaluator([source], 2).value(column)  # type: ignore[list-item]
    assert found.range.lower.null_count == found.range.upper.null_count == 2
    assert found.range.may_value.all() and found.range.may_null.all() and not found.range.may_nan.any()
