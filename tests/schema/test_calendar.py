"""Dates, times and zones at the ends of what they may be: each one next to one that is none."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tableformats.schema import datetimes
from tableformats.schema.datetimes import (
    civil_from_days,
    days_from_civil,
    format_date,
    format_time,
    format_timestamp,
    is_zone,
    offset_at,
    parse_date,
    parse_time,
    parse_timestamp,
)

EPOCH = dt.date(1970, 1, 1)
HOUR = 3_600_000_000
SECOND = 1_000_000_000


def test_the_first_and_last_days_of_months_of_six_cycles() -> None:
    """A cycle has 400 years."""
    for year in range(1, 2402):
        for month, day in ((1, 1), (2, 28), (3, 1), (12, 31), (2, 29)):
            if (month, day) == (2, 29) and not (year % 4 == 0 and (year % 100 or year % 400 == 0)):
                continue
            days = (dt.date(year, month, day) - EPOCH).days
            assert (days_from_civil(year, month, day), civil_from_days(days)) == (days, (year, month, day))
            assert days_from_civil(year + 10_000, month, day) == days + 25 * 146_097
            assert civil_from_days(days - 25 * 146_097) == (year - 10_000, month, day)


@pytest.mark.parametrize("month", range(1, 13))
def test_how_many_days_months_have(month: int) -> None:
    for year in (1900, 2000, 2023, 2024):
        following = dt.date(year + month // 12, month % 12 + 1, 1)
        last = (following - dt.timedelta(days=1)).day
        assert parse_date(f"{year}-{month}-{last}") == (following - EPOCH).days - 1
        assert parse_date(f"{year}-{month}-{last + 1}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1970-0",
        "1970-13",
        "1970-00-01",
        "1970-1-0",
        "1970-1-32",
        "1970-1-1x",
        "197-01-01",
        "1970-",
        "1970-01-01-",
    ],
)
def test_texts_that_are_no_dates(text: str) -> None:
    assert parse_date(text) is None and parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (-719_162, "0001-01-01"),
        (0, "1970-01-01"),
    ],
)
def test_years_with_signs(days: int, text: str) -> None:
    assert format_date(days) == text and parse_date(text) == days


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("23", 23 * HOUR),
        ("23:59:59.999999", 24 * HOUR - 1),
        ("1:2:3", HOUR + 2 * 60_000_000 + 3_000_000),
        ("00:00:00.1", 100_000),
        ("00:00:00.0000019", 1),
        (" 01:00 ", HOUR),
        ("24", None),
        ("24:00:00", None),
        ("23:60", None),
        ("23:59:60", None),
        ("", None),
        ("1:2:3:4", None),
    ],
)
def test_times_of_day(text: str, micros: int | None) -> None:
    assert parse_time(text) == micros


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 6, "00:00:00"),
        (1, 6, "00:00:00.000001"),
        (100_000, 6, "00:00:00.1"),
        (86_399_999_999, 6, "23:59:59.999999"),
        (3_661, 0, "01:01:01"),
        (1, 9, "00:00:00.000000001"),
        (7_260_000, 3, "02:01:00"),
    ],
)
def test_times_as_text(value: int, digits: int, text: str) -> None:
    assert format_time(value, digits) == text
    assert format_timestamp(value, digits) == f"1970-01-01 {text}"


@pytest.mark.parametrize(
    ("value", "text"), [(-1, "1969-12-31 23:59:59.999999"), (-86_400_000_000, "1969-12-31 00:00:00")]
)
def test_timestamps_before_the_epoch(value: int, text: str) -> None:
    assert format_timestamp(value) == text


# ---- zones ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [
        ("Z", 0),
        ("UTC", 0),
        ("+00:00", 0),
        ("+02:00", 7200),
        ("-02:30", -9000),
        ("+18:00", 64_800),
        ("-18:00", -64_800),
        ("+00:00:01", 1),
        ("+01:59:59", 7199),
        ("+18:01", None),
        ("+18:00:01", None),
        ("+01:60", None),
        ("+01:00:60", None),
        ("+19", None),
        ("Nowhere/At_All", None),
        ("../etc/passwd", None),
        ("", None),
    ],
)
def test_offsets(zone: str, seconds: int | None) -> None:
    assert is_zone(zone) is (seconds is not None)
    assert offset_at(zone, 0) == (None if seconds is None else seconds * 1_000_000)
    if zone:
        found = parse_timestamp(f"1970-01-01 00:00:00{zone}")
        assert found == (None if seconds is None else (-seconds * SECOND, True))


@pytest.mark.parametrize(
    ("text", "local", "instant"),
    [
        # In Paris one hour is skipped in March, and one comes twice in October.
        ("2024-03-31 01:59:59", 0, -3600),
        ("2024-03-31 02:30:00", 0, -3600),
        ("2024-03-31 03:00:00", 0, -7200),
        ("2024-10-27 02:30:00", 0, -7200),
        ("2024-10-27 03:00:00", 0, -3600),
    ],
)
def test_local_times_of_a_region(text: str, local: int, instant: int) -> None:
    plain = parse_timestamp(text)
    assert plain is not None and plain[1] is False
    named = parse_timestamp(f"{text} Europe/Paris")
    assert named == (plain[0] + instant * SECOND, True)
    assert parse_timestamp(text, "Europe/Paris") == (plain[0] + instant * SECOND, False)
    assert parse_timestamp(f"{text} Europe/Paris", ignores_zone=True) == (plain[0], True)


def seconds_of(year: int, month: int = 7) -> int:
    return days_from_civil(year, month, 1) * 86_400


@pytest.mark.parametrize(
    ("year", "month", "hours"),
    [
        (2024, 7, 2),
        (2024, 1, 1),
        (2369, 7, 2),
        (2371, 7, 2),
        (2424, 7, 2),
        (2824, 1, 1),
        (9999, 7, 2),
        (20_024, 7, 2),
        (200_024, 1, 1),
    ],
)
def test_rules_of_a_region_repeat(year: int, month: int, hours: int) -> None:
    assert offset_at("Europe/Paris", seconds_of(year, month) * 1_000_000) == hours * HOUR


def test_before_the_first_year_its_rules_hold() -> None:
    first = offset_at("Europe/Paris", seconds_of(1) * 1_000_000)
    assert first == 561_000_000, "the local mean time"
    for year in (0, -5, -200_000):
        assert offset_at("Europe/Paris", seconds_of(year) * 1_000_000) == first


def test_the_first_instant_of_the_next_second() -> None:
    """Paris turned its clocks at 2024-03-31 01:00 UTC."""
    turn = (days_from_civil(2024, 3, 31) * 86_400 + 3600) * 1_000_000
    assert [offset_at("Europe/Paris", turn + micros) for micros in (-1, 0)] == [HOUR, 2 * HOUR]


def test_the_time_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datetimes.time, "time_ns", lambda: 1_999_999_999)
    assert (datetimes.current_us(), datetimes.current_ms()) == (1_999_999, 1999)


def test_constants() -> None:
    found: dict[str, Any] = {
        "FIRST_GREGORIAN_DAY": (dt.date(1582, 10, 15) - EPOCH).days,
        "YEAR_1900_S": (dt.date(1900, 1, 1) - EPOCH).days * 86_400,
        "CYCLE_S": (dt.date(2400, 1, 1) - dt.date(2000, 1, 1)).days * 86_400,
    }
    assert {name: getattr(datetimes, name) for name in found} == found
