"""Texts of instants and of offsets at the edges of each of their fields: what is valid, and what it stands for."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest

from tableformats.expressions import Function
from tableformats.expressions.functions.temporal.patterns import parse_instant
from tableformats.schema.datetimes import is_zone, offset_at, parse_time
from tests.expressions.functions.constant_cases import outcome

EPOCH = dt.datetime(1970, 1, 1)
NODE = Function("to_timestamp", ())


def micros(*fields: int) -> int | None:
    """Microseconds since the epoch by Python's own calendar; None for what is no date or time."""
    try:
        return (dt.datetime(*fields) - EPOCH) // dt.timedelta(microseconds=1)
    except ValueError:
        return None


@pytest.mark.parametrize("year", [1900, 1970, 2000, 2023, 2024])
def test_dates(year: int) -> None:
    for month, day in itertools.product(range(14), (0, 1, 2, 28, 29, 30, 31, 32)):
        text = f"{year}-{month:02}-{day:02}"
        assert parse_instant(text, "yyyy-MM-dd", NODE) == micros(year, month, day), text


def test_times_of_day() -> None:
    for hour, minute, second in itertools.product((0, 1, 22, 23, 24, 25), (0, 1, 58, 59, 60, 61), (0, 1, 58, 59, 60)):
        text = f"2024-02-29 {hour:02}:{minute:02}:{second:02}"
        expected = micros(2024, 2, 29, hour, minute, second)
        assert parse_instant(text, "yyyy-MM-dd HH:mm:ss", NODE) == expected, text
        clock = f"{hour}:{minute:02}:{second:02}"
        assert parse_time(clock) == (None if expected is None else expected % 86_400_000_000), clock


def test_fields_that_are_not_there() -> None:
    assert parse_instant("2024", "yyyy", NODE) == micros(2024, 1, 1)
    assert parse_instant("2024-03", "yyyy-MM", NODE) == micros(2024, 3, 1)
    assert parse_instant("2024-03-02 07", "yyyy-MM-dd HH", NODE) == micros(2024, 3, 2, 7)
    assert parse_instant("2024-03-02 07:08:09.25", "yyyy-MM-dd HH:mm:ss.SS", NODE) == micros(
        2024, 3, 2, 7, 8, 9, 250000
    )
    assert parse_instant("2024-3", "yyyy-MM", NODE) is None


def test_offsets() -> None:
    for sign, hour, minute, second in itertools.product("+-", (0, 1, 17, 18, 19), (0, 1, 59, 60), (None, 0, 1, 59, 60)):
        zone = f"{sign}{hour:02}:{minute:02}" + ("" if second is None else f":{second:02}")
        total = hour * 3600 + minute * 60 + (second or 0)
        valid = minute < 60 and (second or 0) < 60 and total <= 18 * 3600
        assert is_zone(zone) == valid, zone
        assert offset_at(zone, 0) == ((total if sign == "+" else -total) * 1_000_000 if valid else None), zone


def test_names_of_utc() -> None:
    for zone in ("Z", "UTC", "GMT", "UT"):
        assert offset_at(zone, 10**15) == 0
    assert not is_zone("Nowhere/At_All")


@pytest.mark.parametrize(
    ("call", "last", "beyond"),
    [
        ("timestampadd(YEAR, 292277, TIMESTAMP'{}Z')", "1970-01-10 04:00:54.775807", "1970-01-10 04:00:54.775808"),
        ("timestampadd(YEAR, -292278, TIMESTAMP'{}Z')", "1970-12-21 19:59:05.224192", "1970-12-21 19:59:05.224191"),
        ("TIMESTAMP'{}Z' + INTERVAL '292277' YEAR", "1970-01-10 04:00:54.775807", "1970-01-10 04:00:54.775808"),
        ("TIMESTAMP'{}Z' - INTERVAL '292278' YEAR", "1970-12-21 19:59:05.224192", "1970-12-21 19:59:05.224191"),
        ("TIMESTAMP'{}Z' + INTERVAL '292278' YEAR", "1969-01-10 04:00:54.775807", "1970-01-01 00:00:00"),
        ("timestampadd(MONTH, 9223372036854775807L, TIMESTAMP'{}Z')", None, "1970-01-01 00:00:00"),
        ("timestampadd(YEAR, -9223372036854775807L, TIMESTAMP'{}Z')", None, "1970-01-01 00:00:00"),
        ("timestampadd(QUARTER, 178956970, TIMESTAMP'{}Z')", None, "1970-01-01 00:00:00"),
        ("add_months(DATE'{}', 12 * 5879610)", "1970-07-11", "1970-07-12"),
        ("add_months(DATE'{}', 12 * -5879611)", "1970-06-23", "1970-06-22"),
        ("DATE'{}' + INTERVAL '5879610' YEAR", "1970-07-11", "1970-07-12"),
        ("DATE'{}' - INTERVAL '5879611' YEAR", "1970-06-23", "1970-06-22"),
    ],
)
@pytest.mark.parametrize("ansi", [True, False])
def test_months_that_are_added_end_where_the_type_does(call: str, last: str | None, beyond: str, ansi: bool) -> None:
    assert "out of range" in outcome(call.format(beyond), ansi)
    assert last is None or "InvalidPredicateError" not in outcome(call.format(last), ansi)


def test_fields_of_timestamps_that_are_made() -> None:
    """60 seconds are the next minute."""
    clocks = [
        ("23", "59", "60"),
        ("0", "0", "0"),
        ("24", "0", "0"),
        ("-1", "0", "0"),
        ("0", "60", "0"),
        ("0", "-1", "0"),
    ]
    clocks += [("0", "0", second) for second in ("59.999999", "60", "60.000001", "61", "-0.000001", "60.5")]
    for hour, minute, second in clocks:
        in_range = int(hour) in range(24) and int(minute) in range(60) and 0 <= float(second) <= 60
        call = f"make_timestamp(2024, 2, 29, {hour}, {minute}, {second})"
        time = dt.timedelta(hours=int(hour), minutes=int(minute), seconds=float(second))
        text = f"{dt.datetime(2024, 2, 29) + time}"
        expected = f"x = '{text.rstrip('0') if '.' in text else text}'"
        assert outcome(call, False) == (expected if in_range else "NULL"), call
        assert ("Error" in outcome(call, True)) == (not in_range), call
    for year, month, day in ((2023, 2, 29), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0), (2024, 1, 32)):
        assert outcome(f"make_timestamp({year}, {month}, {day}, 0, 0, 0)", False) == "NULL"


def test_intervals_of_months_do_not_mix_with_others() -> None:
    units = {"MONTH": "month", "YEAR": "month", "DAY": "day", "HOUR": "time", "SECOND": "time"}
    for (a, kind), (b, other), sign in itertools.product(units.items(), units.items(), "+-"):
        found = outcome(f"TIMESTAMP'2024-01-31 00:00:00Z' + (INTERVAL '1' {a} {sign} INTERVAL '1' {b})", True)
        mixed = (kind == "month") != (other == "month")
        assert ("takes no values of type interval" in found) == mixed == ("Error" in found), (a, sign, b)


@pytest.mark.parametrize("unit", ["MICROSECOND", "MILLISECOND", "HOUR", "WEEK"])
def test_what_is_added_ends_at_64_bits(unit: str) -> None:
    size = {"MICROSECOND": 1, "MILLISECOND": 1000, "HOUR": 3_600_000_000, "WEEK": 604_800_000_000}[unit]
    for sign, instant in itertools.product((1, -1), (-1, 0, 1)):
        most = ((1 << 63) - (sign > 0) - sign * instant) // size
        text = (EPOCH + dt.timedelta(microseconds=instant)).isoformat() + "Z"
        for count in (most, most + 1):
            if count < 1 << 63:
                found = outcome(f"timestampadd({unit}, {sign * count}L, TIMESTAMP'{text}')", True)
                assert ("out of range" in found) == (count > most), (sign, text, count)
