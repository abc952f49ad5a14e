"""Conditions on functions that become conditions on a column: the same value on every row, by a model of rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.evaluation import failures_of
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Field, Schema, arrow_type, primitive
from tableformats.schema.datetimes import days_from_civil
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


@pytest.mark.parametrize(
    "text",
    [
        "contains(coalesce(s, 'ab'), 'a')",
        "startswith(left(s, 2), 'a')",
        "year(day) = i",
        "i = year(day)",
        "year(day) < year(ts)",
        "i + i IN (1, 2)",
        "year(day) IN (1970, i)",
        "coalesce(s, 'a', 'b') = 'a'",
        "coalesce(s, left(s, 1)) = 'a'",
        "coalesce(upper(s), 'a') = 'a'",
        "coalesce(CAST(i AS BIGINT), 5L) = 5",
        "left(upper(s), 1) = 'A'",
        "substring(s, 1) = 'a'",
        "left(s, i) = 'a'",
        "substring(s, 1, 1) = 'ab'",
        "substring(s, -1, 1) = 'a'",
        "CAST(i AS SMALLINT) = 1",
        "CAST(i AS DOUBLE) = 1",
        "month(ts) = 1",
        "trunc(day, 'week') = DATE'1970-01-01'",
        "trunc(CAST(ts AS DATE), 'year') = DATE'1970-01-01'",
        "date_trunc('week', ts) = TIMESTAMP'1970-01-01 00:00:00'",
        "date_trunc(s, ts) = TIMESTAMP'1970-01-01 00:00:00'",
        "year(last_day(day)) = 1970",
        "timestampdiff(DAY, ts, TIMESTAMP'2024-01-01 00:00:00') = 1",
        "CAST(bit_not(i) AS BIGINT) = 5",
        "CAST(s AS BIGINT) = 5",
        "CAST(date_trunc('hour', ts) AS DATE) = DATE'1970-01-01'",
        "CAST(s AS DATE) = DATE'1970-01-01'",
        "year(CAST(s AS DATE)) = 1970",
        "date_trunc('year', date_trunc('day', ts)) = TIMESTAMP'1970-01-01 00:00:00'",
        "trunc(last_day(day), 'year') = DATE'1970-01-01'",
    ],
)
def test_conditions_that_are_computed(text: str) -> None:
    assert any(isinstance(node, ex.Holds) for node in ex.walk(bind(parse_filter(text), SCHEMA)))


def test_in_is_an_or() -> None:
    found = bind(ex.Holds(call("in", call("year", column("day")), 2023, None)), SCHEMA)
    for day, wanted in ((DAYS[9], True), (0, None), (None, None)):
        assert evaluate(found, {1: day}) is wanted, day


FAR = [days_from_civil(year, 7, 1) + shift for year in (-200_000, 200_000) for shift in (-1, 0)]
DAY_ENDS = [-(2**31), -(2**31) + 366, -719_162, -1, 0, 59, 60, 365, 19_722, 19_723, 2**31 - 2, 2**31 - 1, None]
TIME_ENDS = [
    *(-(2**63), -(2**63) + 366 * DAY, -DAY - 1, -DAY, -1, 0, 999, 1000, 999_999, 1_000_000, 59_999_999, 60_000_000),
    *(
        3_599_999_999,
        3_600_000_000,
        DAY - 1,
        DAY,
        90 * DAY - 1,
        90 * DAY,
        19_723 * DAY - 1,
        19_723 * DAY,
        2**63 - 1,
        None,
    ),
]
ENDS = {
    "day": [DAY_ENDS[0], *FAR, *DAY_ENDS[1:]],
    "ts": TIME_ENDS,
    "i": [-(2**31), -(2**31) + 1, -1, 0, 1, 5, 2**31 - 2, 2**31 - 1, None],
    "s": [None, "", "a", "ab", "abc", "b", "\u00e9", "\U0001f600"],
}
YEARS = ["1970", "2024", "-5877642", "2147483647", "-290001", "294000"]
DAY_TEXTS = [f"DATE'{day}'" for day in ("1969-12-31", "1970-01-01", "1970-01-02", "2024-01-01")]
FAR_TEXTS = ["DATE'-200000-07-01'", "DATE'+200000-07-01'", "DATE'-290000-01-01'", "DATE'+294000-01-01'"]
TIME_TEXTS = [
    *(f"TIMESTAMP'{time}Z'" for time in ("1970-01-01 00:00:00", "1970-01-01 00:00:00.001", "1970-01-01 00:01:00")),
    "timestamp_micros(9223372036854775807L)",
]
LONGS = ["-2147483649", "-2147483648", "2147483647", "2147483648", "9223372036854775807"]
UNITS = ("year", "DAY", "hour", "minute", "second", "millisecond", "week")
COMPUTED: list[tuple[str, str, list[str]]] = [
    ("day", "year(day)", YEARS),
    ("ts", "year(ts)", YEARS),
    ("ts", "CAST(ts AS DATE)", DAY_TEXTS),
    *(("day", f"trunc(day, '{unit}')", [*DAY_TEXTS, *FAR_TEXTS]) for unit in ("year", "quarter", "MM")),
    *(("ts", f"date_trunc('{unit}', ts)", TIME_TEXTS) for unit in UNITS),
    ("i", "CAST(i AS BIGINT)", LONGS),
    ("i", "coalesce(i, 5)", ["4", "5", "6"]),
    ("s", "coalesce(s, 'ab')", ["'aa'", "'ab'", "'ac'"]),
    *(("s", f"substring(s, {at})", ["''", "'a'", "'ab'"]) for at in ("0, 2", "1, 2", "2, 2", "1, 0", "0, -1")),
    *(("s", f"left(s, {n})", ["''", "'a'", "'ab'"]) for n in (0, 2)),
]


@pytest.mark.parametrize(("name", "text", "literals"), COMPUTED, ids=[text for _, text, _ in COMPUTED])
def test_the_same_as_computed_at_the_ends_of_types(name: str, text: str, literals: list[str]) -> None:
    """Where the model has no values: the rewritten condition against the function, which is computed."""
    ends = ENDS[name][1:] if "trunc" in text else ENDS[name]  # the first unit begins before the type does
    kind = arrow_type(primitive(KINDS[name]))
    rows = pa.array(ends, {"day": pa.int32(), "ts": pa.int64()}.get(name, kind)).view(kind)

    def answers(condition: ex.Expression) -> list[bool | None]:
        found, failed = failures_of(condition, lambda _: rows, len(rows))
        assert not failed.any()
        values: list[bool | None] = found.to_pylist()
        return values

    conditions = [f"{text} {op} {literal}" for literal in literals for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
    conditions += [
        f"{literals[0]} < {text}",
        f"{text} IN ({literals[0]}, NULL)",
        f"{text} IN ({', '.join(literals[:2])})",
    ]
    parsed = [parse_filter(condition, ansi=False) for condition in conditions]
    found = [answers(bind(one, SCHEMA, ansi=False)) for one in parsed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tableformats.expressions.binding.rewritten", lambda holds: holds)
        wanted = [answers(bind(one, SCHEMA, ansi=False)) for one in parsed]
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, wanted, strict=True))


@pytest.mark.parametrize(("items", "is_rewritten"), [(1, True), (100, True), (101, False)])
def test_long_lists_are_computed(items: int, is_rewritten: bool) -> None:
    found = bind(parse_filter(f"year(day) IN ({', '.join(str(1900 + n) for n in range(items))})"), SCHEMA)
    assert isinstance(found, ex.Holds) != is_rewritten
