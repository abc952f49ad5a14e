"""Functions of dates and timestamps on columns, against Python's calendar and zones."""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tests.support.expressions import answers

EPOCH = dt.datetime(1970, 1, 1)
MICRO, SECOND, DAY = dt.timedelta(microseconds=1), dt.timedelta(seconds=1), dt.timedelta(1)
TIMES = [
    dt.datetime(2024, 2, 29, 13, 47, 59, 999_999),
    dt.datetime(2024, 2, 29),
    dt.datetime(2023, 12, 31, 23, 59, 59, 1),
    dt.datetime(2021, 1, 3, 12, 30),
    dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 58, 500_000),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(1900, 3, 1, 0, 0, 0, 7),
    dt.datetime(1, 1, 2, 3, 4, 5, 6),
    dt.datetime(9999, 11, 30, 23, 0, 1),
]
ROWS = {
    "t": pa.array([*TIMES, None], pa.timestamp("us", "UTC")),
    "d": pa.array([*(t.date() for t in TIMES), None], pa.date32()),
}


def micros(at: dt.datetime) -> int:
    return (at - EPOCH) // MICRO


def days(at: dt.datetime | dt.date) -> int:
    return at.toordinal() - EPOCH.toordinal()


def check(call: str, expected: Callable[[dt.datetime], Any], kind: str, rows: dict[str, pa.Array] = ROWS) -> None:
    assert answers(call, rows) == (kind, [*map(expected, TIMES), None]), call


FIELDS: dict[str, Callable[[dt.datetime], object]] = {
    "YEAR": lambda t: t.year,
    "QUARTER": lambda t: (t.month + 2) // 3,
    "MONTH": lambda t: t.month,
    "WEEK": lambda t: t.isocalendar()[1],
    "YEAROFWEEK": lambda t: t.isocalendar()[0],
    "DAY": lambda t: t.day,
    "DOW": lambda t: t.isoweekday() % 7 + 1,
    "DOW_ISO": lambda t: t.isoweekday(),
    "DOY": lambda t: t.timetuple().tm_yday,
    "HOUR": lambda t: t.hour,
    "MINUTE": lambda t: t.minute,
    "SECOND": lambda t: t.second + Decimal(t.microsecond).scaleb(-6),
}


@pytest.mark.parametrize("field", FIELDS)
def test_fields(field: str) -> None:
    """Those of a difference are asked for in another way than those of a column."""
    kind = "decimal(8,6)" if field == "SECOND" else "int"
    check(f"EXTRACT({field} FROM t)", FIELDS[field], kind)
    check(f"date_part('{field}', t - INTERVAL '0' DAY)", FIELDS[field], kind)
    if field not in ("HOUR", "MINUTE", "SECOND"):
        check(f"EXTRACT({field} FROM d)", FIELDS[field], kind)


def test_names_of_fields() -> None:
    for name in ("hour", "minute", "second", "year", "month", "day"):
        check(f"{name}(t)", lambda t, name=name: getattr(t, name), "int")
    check("dayname(t)", lambda t: calendar.day_abbr[t.weekday()], "string")
    check("monthname(t)", lambda t: calendar.month_abbr[t.month], "string")


def monday(t: dt.datetime) -> dt.datetime:
    return t.replace(hour=0, minute=0, second=0, microsecond=0) - t.weekday() * DAY


UNITS: dict[str, Callable[[dt.datetime], dt.datetime]] = {
    "MICROSECOND": lambda t: t,
    "MILLISECOND": lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000),
    "SECOND": lambda t: t.replace(microsecond=0),
    "MINUTE": lambda t: t.replace(second=0, microsecond=0),
    "HOUR": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "DAY": lambda t: dt.datetime(t.year, t.month, t.day),
    "DD": lambda t: dt.datetime(t.year, t.month, t.day),
    "WEEK": monday,
    "MONTH": lambda t: dt.datetime(t.year, t.month, 1),
    "MON": lambda t: dt.datetime(t.year, t.month, 1),
    "QUARTER": lambda t: dt.datetime(t.year, (t.month + 2) // 3 * 3 - 2, 1),
    "YEAR": lambda t: dt.datetime(t.year, 1, 1),
    "YY": lambda t: dt.datetime(t.year, 1, 1),
}


@pytest.mark.parametrize("unit", UNITS)
def test_truncated(unit: str) -> None:
    """A unit of each row is another way than a constant."""
    first = UNITS[unit]
    rows = {**ROWS, "u": pa.array([unit.lower()] * (len(TIMES) + 1))}
    kept = [t for t in TIMES if t.year > 1]  # the week of the year 1 begins before it
    rows = {
        name: pa.concat_arrays([column[: len(TIMES)].filter(pa.array([t in kept for t in TIMES])), column[-1:]])
        for name, column in rows.items()
    }
    for given in (f"'{unit.lower()}'", "u"):
        assert answers(f"date_trunc({given}, t)", rows) == ("timestamp", [*(micros(first(t)) for t in kept), None])
        found = answers(f"trunc(d, {given})", rows)
        small = unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DD")
        assert found == ("date", [*(None if small else days(first(t)) for t in kept), None])


def test_truncated_to_what_is_no_unit() -> None:
    rows = {**ROWS, "u": pa.array(["x", None] * 5 + ["YEAR"])}
    nothing = [None] * (len(TIMES) + 1)
    for unit in ("'x'", "CAST(NULL AS STRING)", "u"):
        assert answers(f"date_trunc({unit}, t)", rows)[1] == nothing
        assert answers(f"trunc(d, {unit})", rows)[1] == nothing
    assert answers("date_trunc(u, TIMESTAMP'2024-02-29 12:00:00Z')", {"u": pa.array(["YEAR", None])})[1] == [
        micros(dt.datetime(2024, 1, 1)),
        None,
    ]


def test_days_that_follow() -> None:
    for number, name in enumerate(calendar.day_name):
        for text in (name, name[:2], name[:3].upper()):
            check(f"next_day(d, '{text}')", lambda t, n=number: days(t) + ((n - t.weekday() - 1) % 7 + 1), "date")
    for text in ("x", " mon", "m", "mond"):  # Spark 4.3 refuses these
        check(f"next_day(d, '{text}')", lambda t, text=text: f"! {text!r} is no day of the week", "date")
        assert answers(f"next_day(d, '{text}')", ROWS, ansi=False)[1] == [None] * (len(TIMES) + 1)
    check("last_day(d)", lambda t: days(t.replace(day=calendar.monthrange(t.year, t.month)[1])), "date")


def test_days_that_are_added() -> None:
    check("date_add(d, 3)", lambda t: days(t) + 3, "date")
    check("date_sub(d, 3)", lambda t: days(t) - 3, "date")
    check("datediff(d, DATE'2000-01-01')", lambda t: days(t) - 10957, "int")
    check("datediff(DATE'2000-01-01', d)", lambda t: 10957 - days(t), "int")


def test_what_is_added_to_days() -> None:
    rows = {
        "d": pa.array([dt.date(2024, 1, 31), None, dt.date(2024, 3, 31), dt.date(1970, 1, 1)]),
        "i": pa.array([1, 1, None, -2], pa.int32()),
    }
    assert answers("date_add(d, i)", rows) == ("date", [19754, None, None, -2])
    assert answers("date_sub(d, '1')", rows) == ("date", [19752, None, 19812, -1])
    assert answers("date_add(d, CAST(i AS TINYINT))", rows) == ("date", [19754, None, None, -2])
    assert answers("date_add(d, NULL)", rows) == ("date", [None] * 4)
    assert answers("add_months(d, i)", rows) == ("date", [19782, None, None, -61])
    for number in ("1L", "1.5D", "1.5", "true", "d"):
        with pytest.raises(InvalidPredicateError, match="the number of days has to be an INT"):
            answers(f"date_add(d, {number})", rows)
    rows["i"] = pa.array([12 * 5_879_570, 12 * 5_879_570, None, 12 * 5_879_570], pa.int32())
    out = "! the result is out of range"
    assert answers("add_months(d, i)", rows)[1] == [out, None, None, answers("make_date(5881540, 1, 1)", rows)[1][0]]


@pytest.mark.parametrize(
    ("end", "start", "months", "exact"),
    [
        ("2024-01-31", "2024-02-29", -1.0, -1.0),
        ("2024-02-29", "2023-11-30", 3.0, 3.0),
        ("2024-03-15 12:00:00", "2024-02-15", 1.0, 1.0),
        ("2024-03-16", "2024-02-15", 1.03225806, 1 + 1 / 31),
        ("2024-03-14", "2024-02-15", 0.96774194, 1 - 1 / 31),
        ("2024-03-16 00:00:01", "2024-02-15", 1.03225844, 1 + 86_401 / (31 * 86_400)),
        ("2024-03-16", "2024-02-15 00:00:01", 1.03225769, 1 + 86_399 / (31 * 86_400)),
        ("2024-03-16 00:00:01.9", "2024-02-15 00:00:00.2", 1.03225844, 1 + 86_401 / (31 * 86_400)),
        ("2025-01-01", "2023-12-02", 12.96774194, 13 - 1 / 31),
        ("1997-02-28 10:30:00", "1996-10-30", 3.94959677, 3.9495967741935485),
        ("2024-02-28", "2024-01-31", 0.90322581, 1 - 3 / 31),
    ],
)
def test_months_between(end: str, start: str, months: float, exact: float) -> None:
    row = {"a": pa.array([dt.datetime.fromisoformat(end)], pa.timestamp("us", "UTC"))}
    call = f"months_between(a, TIMESTAMP'{start}'"
    assert answers(f"{call})", row) == answers(f"{call}, true)", row) == ("double", [months])
    assert answers(f"{call}, false)", row)[1] == [pytest.approx(exact, abs=1e-14)]


@pytest.mark.parametrize(
    ("unit", "start", "end", "whole"),
    [
        ("MONTH", "2024-01-31", "2024-02-29", 0),
        ("MONTH", "2024-01-29", "2024-02-29", 1),
        ("MONTH", "2024-01-29 00:00:01", "2024-02-29", 0),
        ("MONTH", "2024-02-29", "2024-01-29", -1),
        ("MONTH", "2024-02-29", "2024-01-29 00:00:01", 0),
        ("MONTH", "2024-02-29", "2024-01-28", -1),
        ("MONTH", "2024-02-29", "2024-02-01", 0),
        ("MONTH", "2024-02-01", "2024-02-29", 0),
        ("MONTH", "2023-12-15", "2025-01-15", 13),
        ("QUARTER", "2024-01-01", "2024-06-30", 1),
        ("QUARTER", "2024-06-30", "2024-01-01", -1),
        ("YEAR", "2024-02-29", "2025-02-28", 0),
        ("YEAR", "2024-02-28", "2025-02-28", 1),
        ("YEAR", "2025-02-28", "2024-02-28", -1),
        ("DAY", "2024-02-28 12:00:00", "2024-03-01 11:59:59.999999", 1),
        ("DAY", "2024-03-01 11:59:59.999999", "2024-02-28 12:00:00", -1),
        ("DAYOFYEAR", "2024-02-28 12:00:00", "2024-03-01 12:00:00", 2),
        ("WEEK", "2024-02-01", "2024-02-15", 2),
        ("HOUR", "2024-02-28 12:00:00", "2024-02-28 13:59:59", 1),
        ("MICROSECOND", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000001", 2),
        ("SECOND", "1970-01-01", "1970-01-01", 0),
    ],
)
def test_whole_units_between(unit: str, start: str, end: str, whole: int) -> None:
    row = {"a": pa.array([dt.datetime.fromisoformat(start)], pa.timestamp("us", "UTC"))}
    assert answers(f"timestampdiff({unit}, a, TIMESTAMP'{end}')", row) == ("bigint", [whole])


@pytest.mark.parametrize(
    ("unit", "count", "later"),
    [
        ("MONTH", 1, "2024-02-29 23:00:00"),
        ("MONTH", -2, "2023-11-30 23:00:00"),
        ("QUARTER", 1, "2024-04-30 23:00:00"),
        ("YEAR", -1, "2023-01-31 23:00:00"),
        ("WEEK", 1, "2024-02-07 23:00:00"),
        ("DAY", 1, "2024-02-01 23:00:00"),
        ("HOUR", 1, "2024-02-01 00:00:00"),
        ("MINUTE", -1, "2024-01-31 22:59:00"),
        ("MICROSECOND", 1, "2024-01-31 23:00:00.000001"),
    ],
)
def test_units_that_are_added(unit: str, count: int, later: str) -> None:
    given, expected = dt.datetime(2024, 1, 31, 23), micros(dt.datetime.fromisoformat(later))
    for kind, name in ((pa.timestamp("us", "UTC"), "timestamp"), (pa.timestamp("us"), "timestamp_ntz")):
        row = {"a": pa.array([given, None], kind)}
        assert answers(f"timestampadd({unit}, {count}, a)", row) == (name, [expected, None])


def test_months_that_end_at_the_epoch() -> None:
    for given in (dt.datetime(1969, 12, 1, 12), dt.datetime(1970, 2, 1), dt.datetime(1970, 1, 31, 0, 0, 0, 1)):
        rows = {"a": pa.array([given], pa.timestamp("us", "UTC"))}
        for months in (-1, 0, 1):
            month = given.year * 12 + given.month - 1 + months
            first = dt.datetime(month // 12, month % 12 + 1, 1)
            day = min(given.day, calendar.monthrange(first.year, first.month)[1])
            later = given.replace(year=first.year, month=first.month, day=day)
            assert answers(f"timestampadd(MONTH, {months}, a)", rows)[1] == [micros(later)]


def test_seconds_since_the_epoch() -> None:
    check("unix_seconds(t)", lambda t: (t - EPOCH) // SECOND, "bigint")
    check("unix_millis(t)", lambda t: micros(t) // 1000, "bigint")
    check("unix_micros(t)", micros, "bigint")
    check("unix_date(d)", days, "int")
    check("unix_timestamp(t)", lambda t: int(Decimal(micros(t)) / 10**6), "bigint")
    check("unix_timestamp(d)", lambda t: days(t) * 86_400, "bigint")
    rows = {"n": pa.array([-1, 0, 1_709_214_479, None], pa.int64())}
    for function, size in (("timestamp_seconds", 10**6), ("timestamp_millis", 1000), ("timestamp_micros", 1)):
        assert answers(f"{function}(n)", rows) == ("timestamp", [-size, 0, 1_709_214_479 * size, None])
    texts = ["1969-12-31 23:59:59", "1970-01-01 00:00:00", "2024-02-29 13:47:59", None]
    assert answers("from_unixtime(n)", rows) == ("string", texts)
    assert answers("from_unixtime(n, 'yyyy')", rows)[1] == ["1969", "1970", "2024", None]
    assert answers("unix_timestamp(s)", {"s": pa.array(texts)}) == ("bigint", [-1, 0, 1_709_214_479, None])


def test_counts_that_become_timestamps() -> None:
    out, rounded = "! the result is out of range", "! rounding is needed to whole microseconds"
    rows = {"d": pa.array([1.5, -1.5, 0.0000019, math.nan, math.inf, -math.inf, 1e300, -1e300, None])}
    ends = [2**63 - 1, -(2**63)]
    assert answers("timestamp_seconds(d)", rows) == (
        "timestamp",
        [1_500_000, -1_500_000, 1, None, None, None, *ends, None],
    )
    assert answers("timestamp_seconds(CAST(d AS FLOAT))", {"d": rows["d"][:2]})[1] == [1_500_000, -1_500_000]
    few = {"d": pa.array([1.9, -1.9, None])}
    assert answers("timestamp_millis(d)", few) == ("timestamp", [1_000, -1_000, None])
    assert answers("timestamp_micros(d)", few) == ("timestamp", [1, -1, None])
    decimals = {"m": pa.array([Decimal("1.2500000"), Decimal("-0.0000010"), Decimal("0.0000001"), None])}
    assert answers("timestamp_seconds(m)", decimals) == ("timestamp", [1_250_000, -1, rounded, None])
    assert answers("timestamp_millis(m)", decimals)[1] == [1_000, 0, 0, None]
    longs = {"n": pa.array([9_223_372_036_854, 9_223_372_036_855, -9_223_372_036_854, -9_223_372_036_855, None])}
    found = answers("timestamp_seconds(n)", longs)[1]
    assert found == [9_223_372_036_854_000_000, out, -9_223_372_036_854_000_000, out, None]


def test_texts_and_numbers_without_a_pattern() -> None:
    rows = {"s": pa.array(["2024-02-29 13:00:00", "x", None]), "n": pa.array([1, -1, None]), "b": pa.array([True] * 3)}
    day, moment = days(dt.date(2024, 2, 29)), micros(dt.datetime(2024, 2, 29, 13))
    for name, kind, value in (
        ("to_date", "date", day),
        ("to_timestamp", "timestamp", moment),
        ("to_timestamp_ntz", "timestamp_ntz", moment),
    ):
        gives, found = answers(f"{name}(s)", rows)
        assert (gives, found[0], found[2]) == (kind, value, None) and str(found[1]).startswith("! 'x' cannot be cast")
        assert answers(f"{name}(s)", rows, ansi=False) == (kind, [value, None, None])
    for name, value in (("try_to_date", day), ("try_to_timestamp", moment)):
        assert answers(f"{name}(s)", rows)[1] == [value, None, None]
    assert answers("to_timestamp(n)", rows) == ("timestamp", [1_000_000, -1_000_000, None])
    for call in ("to_date(n)", "to_timestamp_ntz(n)", "to_timestamp(b)", "to_date(b)"):
        with pytest.raises(InvalidPredicateError, match="takes no values of type"):
            answers(call, rows)


def test_times_by_a_pattern() -> None:
    pattern = "yyyy-MM-dd HH:mm:ss.SSSSSS"
    check(f"date_format(t, '{pattern}')", lambda t: f"{t:%H:%M:%S.%f}".join([f"{t.date()} ", ""]), "string")
    check("date_format(d, 'd.M.')", lambda t: f"{t.day}.{t.month}.", "string")


def test_parts_of_seconds_before_1970_are_left_out() -> None:
    """The answers of Spark 4.3: other than those of unix_seconds."""
    parts = ("58.500000", "59.500000", "58.000000", "59.999999", "59.000001")
    rows = {"s": pa.array([f"1969-12-31 23:59:{part}" for part in parts])}
    assert answers("unix_timestamp(s, 'yyyy-MM-dd HH:mm:ss.SSSSSS')", rows)[1] == [-1, 0, -2, 0, 0]
    assert answers("unix_timestamp(to_timestamp(s))", rows)[1] == [-1, 0, -2, 0, 0]
    assert answers("unix_seconds(to_timestamp(s))", rows)[1] == [-2, -1, -2, -1, -1]


def test_texts_that_follow_a_pattern() -> None:
    rows = {"s": pa.array(["31.12.1969 23:00", "29.02.2024 00:00", "29.02.2023 00:00", "x", None])}
    pattern = "'dd.MM.yyyy HH:mm'"
    last, leap = dt.datetime(1969, 12, 31, 23), dt.datetime(2024, 2, 29)
    for name, kind, values in (
        ("to_date", "date", [days(last), days(leap)]),
        ("to_timestamp", "timestamp", [micros(last), micros(leap)]),
        ("unix_timestamp", "bigint", [micros(last) // 10**6, micros(leap) // 10**6]),
    ):
        gives, found = answers(f"{name}(s, {pattern})", rows)
        assert (gives, found[:2], found[4]) == (kind, values, None)
        assert "does not follow the pattern" in found[2] and "does not follow the pattern" in found[3]
        assert answers(f"{name}(s, {pattern})", rows, ansi=False)[1] == [*values, None, None, None]
        if name != "unix_timestamp":
            assert answers(f"try_{name}(s, {pattern})", rows)[1] == [*values, None, None, None]


@pytest.mark.parametrize(
    ("year", "month", "day", "is_date"),
    [
        (2024, 2, 29, True),
        (2023, 2, 29, False),
        (2024, 1, 1, True),
        (2024, 12, 31, True),
        (2024, 0, 1, False),
        (2024, 13, 1, False),
        (2024, 4, 0, False),
        (2024, 4, 30, True),
        (2024, 4, 31, False),
    ],
)
def test_dates_that_are_made(year: int, month: int, day: int, is_date: bool) -> None:
    rows = {"y": pa.array([year, None], pa.int32())}
    made = days(dt.date(year, month, day)) if is_date else None
    call = f"make_date(y, {month}, {day})"
    assert answers(call, rows, ansi=False) == ("date", [made, None])
    assert answers(call, rows)[1] == [made if is_date else f"! there is no date {year}-{month}-{day}", None]


def test_the_first_and_last_dates() -> None:
    for year, month, day, number in ((5881580, 7, 11, 2**31 - 1), (-5877641, 6, 23, -(2**31))):
        rows = {"y": pa.array([year], pa.int32())}
        assert answers(f"make_date(y, {month}, {day})", rows)[1] == [number]
        beyond = day + (1 if number > 0 else -1)
        assert answers(f"make_date(y, {month}, {beyond})", rows, ansi=False)[1] == [None]


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Sydney", "Asia/Kolkata", "UTC"])
@pytest.mark.parametrize("year", [1965, 2024, 2360, 2371, 2380, 2399, 2500, 2771, 3200, 9990])
def test_zones_in_any_year(year: int, zone: str) -> None:
    """Rules hold for years that no table of offsets has, on the day of each month on which clocks may change."""
    at = [dt.datetime(year, month, day, hour) for month in range(1, 13) for day in (1, 10, 14, 28) for hour in (4, 12)]
    rows = {"t": pa.array(at, pa.timestamp("us", "UTC"))}
    offsets = [t.replace(tzinfo=ZoneInfo(zone)).utcoffset() for t in at]
    assert answers(f"to_utc_timestamp(t, '{zone}')", rows)[1] == [
        micros(t - offset) for t, offset in zip(at, offsets, strict=True) if offset is not None
    ]
    offsets = [t.replace(tzinfo=dt.timezone.utc).astimezone(ZoneInfo(zone)).utcoffset() for t in at]
    assert answers(f"from_utc_timestamp(t, '{zone}')", rows)[1] == [
        micros(t + offset) for t, offset in zip(at, offsets, strict=True) if offset is not None
    ]


def test_zones_before_the_year_1() -> None:
    before = -62_200_000_000_000_000
    rows = {"n": pa.array([before])}
    for zone, offset in (("UTC", 0), ("+02:00", 7_200_000_000)):
        assert answers(f"to_utc_timestamp(timestamp_micros(n), '{zone}')", rows)[1] == [before - offset]
        assert answers(f"from_utc_timestamp(timestamp_micros(n), '{zone}')", rows)[1] == [before + offset]
