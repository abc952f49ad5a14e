"""Conditions on functions that become conditions on a column: the same value on every row, by a model of rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.schema import Field, Schema, primitive
from tests.support.rowmodel import evaluate
from tests.support.valuemodel import DAY, value_of

KINDS = {"day": "date", "ts": "timestamp", "ntz": "timestamp_ntz", "i": "int", "s": "string"}
SCHEMA = Schema(tuple(Field(n, name, primitive(kind)) for n, (name, kind) in enumerate(KINDS.items(), 1)))
EPOCH = dt.date(1970, 1, 1)
DAYS = [
    (dt.date(year, month, day) - EPOCH).days + shift
    for year, month, day in [(1900, 1, 1), (1969, 12, 31), (1970, 1, 1), (2023, 12, 31), (2024, 2, 29), (2024, 4, 1)]
    for shift in (-1, 0, 1)
]
TIMES = [day * DAY + shift for day in DAYS for shift in (-1, 0, 1, 3_600_000_000, DAY - 1)]
VALUES: dict[str, list[Any]] = {
    "day": [None, -(2**31), *DAYS, 2**31 - 1],
    "ts": [None, *TIMES],
    "ntz": [None, *TIMES],
    "i": [None, -(2**31), -1, 0, 5, 2**31 - 1],
    "s": [None, "", "a", "ab", "abc", "abd", "b", "é", "éa"],
}
OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "<=>"]


def column(name: str) -> ex.Reference:
    return ex.Reference((name,))


def call(name: str, *arguments: Any, kind: str | None = None) -> ex.Function:
    values = tuple(a if isinstance(a, ex.Value) else ex.Literal(a) for a in arguments)
    return ex.Function(name, values, None if kind is None else primitive(kind))


def dates(days: list[int]) -> list[ex.Literal]:
    return [ex.Literal(day, primitive("date")) for day in days]


def times(micros: list[int], kind: str) -> list[ex.Literal]:
    return [ex.Literal(time, primitive(kind)) for time in micros]


CASES: list[tuple[str, ex.Function, list[Any]]] = [
    *((name, call("cast", column(name), kind="date"), dates(DAYS)) for name in ("ts", "ntz")),
    *((name, call("year", column(name)), [1900, 1969, 1970, 2023, 2024, 0, -5]) for name in ("day", "ts", "ntz")),
    *(
        (name, call("date_trunc", unit, column(name)), times(TIMES[::3], KINDS[name]))
        for name in ("ts", "ntz")
        for unit in ("year", "QUARTER", "month", "day", "hour")
    ),
    *(("day", call("trunc", column("day"), unit), dates(DAYS)) for unit in ("year", "quarter", "MM")),
    ("i", call("cast", column("i"), kind="long"), [-(2**40), -(2**31), 0, 5, 6, 2**31 - 1, 2**31, 2**62]),
    *(("i", call("coalesce", column("i"), default), [-1, 0, 5]) for default in (0, 5)),
    ("s", call("coalesce", column("s"), "ab"), ["", "ab", "abc", "é"]),
    *(("s", call("substring", column("s"), 1, n), ["", "a", "ab", "abc", "é"]) for n in (1, 2, 3)),
    *(("s", call("left", column("s"), n), ["a", "ab", "éa"]) for n in (1, 2)),
]


def typed(function: ex.Function) -> ex.Holds:
    """The condition bound, but not rewritten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tableformats.expressions.binding.rewritten", lambda holds: holds)
        found = bind(ex.Holds(function), SCHEMA)
    assert isinstance(found, ex.Holds), found
    return found


@pytest.mark.parametrize(("name", "function", "literals"), CASES, ids=lambda case: str(case)[:40])
def test_the_same_value_on_every_row(name: str, function: ex.Function, literals: list[Any]) -> None:
    identity = next(f.id for f in SCHEMA if f.name == name)
    rewritten = 0
    for op in OPERATORS:
        for literal in literals:
            condition = call(op, function, literal)
            left = bind(ex.Holds(condition), SCHEMA)
            rewritten += not any(isinstance(node, ex.Holds) for node in ex.walk(left))
            plain = typed(condition)
            for value in VALUES[name]:
                row = {identity: value}
                try:
                    wanted = value_of(plain.value, row)
                except OverflowError:  # a date that Python has not
                    continue
                assert evaluate(left, row) is wanted, f"{plain} is {left} for {value}"
    assert rewritten, "none of them is a condition on the column"


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (call("=", call("year", column("day")), 2024), "day >= DATE '2024-01-01' AND day < DATE '2025-01-01'"),
        (call("<", ex.Literal(2024), call("year", column("day"))), "day >= DATE '2025-01-01'"),
        (call("=", call("substring", column("s"), 1, 2), "ab"), "startswith(s, 'ab')"),
        (call("=", call("substring", column("s"), 1, 3), "ab"), "s = 'ab'"),
    ],
)
def test_what_they_become(condition: ex.Function, wanted: str) -> None:
    assert str(bind(ex.Holds(condition), SCHEMA)) == wanted


@pytest.mark.parametrize(
    "condition",
    [
        call(">", call("+", column("i"), 1), 5),  # fails for the greatest integer
        call("=", call("month", column("day")), 2),
        call("=", call("year", column("day")), 2**31 - 1),
        call("=", call("substring", column("s"), 2, 2), "ab"),
        call("=", call("substring", column("s"), 1, 1), "ab"),
        call("in", call("year", column("day")), column("i")),
        call("<", call("substring", column("s"), 1, 2), "ab"),
    ],
)
def test_what_stays(condition: ex.Function) -> None:
    assert isinstance(bind(ex.Holds(condition), SCHEMA), ex.Holds)


def test_in_is_an_or() -> None:
    found = bind(ex.Holds(call("in", call("year", column("day")), 2023, None)), SCHEMA)
    for day, wanted in ((DAYS[9], True), (0, None), (None, None)):
        assert evaluate(found, {1: day}) is wanted, day
