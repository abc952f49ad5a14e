"""Dates and times by a pattern: each letter against Python's, and what does not follow a pattern."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable

import pytest

from tableformats.errors import UnsupportedFeatureError
from tableformats.expressions import Function
from tableformats.expressions.functions.temporal.patterns import format_instant, parse_instant

NODE = Function("date_format", ())
EPOCH = dt.datetime(1970, 1, 1)
TIMES = [
    *(dt.datetime(2024, 2, 29, hour, 5, 9, 1_020) for hour in (0, 1, 11, 12, 13, 23)),
    *(dt.datetime(2023, 12, day, 23, 59, 59, 999_999) for day in range(25, 32)),
    dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(2000, 3, 1),
    *(dt.datetime(1900 + month, month, 1) for month in range(1, 13)),
]


def micros(at: dt.datetime) -> int:
    return (at - EPOCH) // dt.timedelta(microseconds=1)


PRINTED: dict[str, Callable[[dt.datetime], str]] = {
    "yyyy": lambda t: f"{t.year:04}",
    "uuuu": lambda t: f"{t.year:04}",
    "y": lambda t: str(t.year),
    "yy": lambda t: f"{t.year % 100:02}",
    "M": lambda t: str(t.month),
    "MM": lambda t: f"{t.month:02}",
    "MMM": lambda t: calendar.month_abbr[t.month],
    "MMMM": lambda t: calendar.month_name[t.month],
    "d": lambda t: str(t.day),
    "dd": lambda t: f"{t.day:02}",
    "D": lambda t: str(t.timetuple().tm_yday),
    "DDD": lambda t: f"{t.timetuple().tm_yday:03}",
    "H": lambda t: str(t.hour),
    "HH": lambda t: f"{t.hour:02}",
    "h": lambda t: str(t.hour % 12 or 12),
    "hh": lambda t: f"{t.hour % 12 or 12:02}",
    "m": lambda t: str(t.minute),
    "mm": lambda t: f"{t.minute:02}",
    "s": lambda t: str(t.second),
    "ss": lambda t: f"{t.second:02}",
    "a": lambda t: "AM" if t.hour < 12 else "PM",
    "E": lambda t: calendar.day_abbr[t.weekday()],
    "EEE": lambda t: calendar.day_abbr[t.weekday()],
    "EEEE": lambda t: calendar.day_name[t.weekday()],
    **{"S" * n: lambda t, n=n: f"{t.microsecond:06}"[:n] for n in range(1, 7)},
    "yyyy-MM-dd'T'HH:mm:ss.SSS": lambda t: t.isoformat(timespec="milliseconds"),
    "d. MMMM ''yy": lambda t: f"{t.day}. {calendar.month_name[t.month]} '{t.year % 100:02}",
    "'it''s' dd": lambda t: f"it's {t.day:02}",
    "MMdd": lambda t: f"{t.month:02}{t.day:02}",
    "": lambda t: "",
}


@pytest.mark.parametrize("pattern", PRINTED)
def test_printed(pattern: str) -> None:
    assert [format_instant(micros(t), pattern, NODE) for t in TIMES] == [PRINTED[pattern](t) for t in TIMES]


@pytest.mark.parametrize(
    "pattern",
    ["Y", "yyy", "yyyyy", "MMMMM", "ddd", "DD", "HHH", "SSSSSSS", "z", "EEEEE", "aa", "'a", "[dd]", "d{", "}", "#"],
)
def test_letters_that_are_not_built(pattern: str) -> None:
    for call in (lambda: format_instant(0, pattern, NODE), lambda: parse_instant("1970", f"yyyy{pattern}", NODE)):
        with pytest.raises(UnsupportedFeatureError) as caught:
            call()
        assert caught.value.field == str(NODE)


@pytest.mark.parametrize(
    "instant", [micros(dt.datetime(1, 1, 1)) - 1, micros(dt.datetime(9999, 12, 31)) + 86_400_000_000]
)
def test_years_that_have_no_four_digits(instant: int) -> None:
    with pytest.raises(UnsupportedFeatureError):
        format_instant(instant, "yyyy", NODE)


PARSED: list[tuple[str, str, tuple[int, ...] | None]] = [
    ("yyyy", "2024", (2024, 1, 1)),
    ("uuuu", "0001", (1, 1, 1)),
    ("yyyy", "24", None),
    ("yyyy", "20240", None),
    ("yyyy-M", "2024-2", (2024, 2, 1)),
    ("yyyy-M", "2024-12", (2024, 12, 1)),
    ("yyyy-MM", "2024-2", None),
    ("yyyy-M-d", "2024-2-9", (2024, 2, 9)),
    ("yyyyMMdd", "20240229", (2024, 2, 29)),
    ("dd.MM.yyyy", "29.02.2023", None),
    ("dd.MM.yyyy", "29.02.1900", None),
    ("dd.MM.yyyy", "29.02.2000", (2000, 2, 29)),
    ("dd.MM.yyyy", "31.04.2024", None),
    ("dd.MM.yyyy", "30.04.2024", (2024, 4, 30)),
    ("dd.MM.yyyy", "00.04.2024", None),
    ("dd.MM.yyyy", "01.00.2024", None),
    ("dd.MM.yyyy", "01.13.2024", None),
    ("yyyy-MM-dd H:mm", "2024-02-29 7:08", (2024, 2, 29, 7, 8)),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 23:59:59", (2024, 2, 29, 23, 59, 59)),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 24:00:00", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 00:60:00", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 00:00:60", None),
    ("yyyy-MM-dd HH:mm:ss", "2024-02-29 00:00:00 ", None),
    ("yyyy-MM-dd HH:mm:ss.S", "2024-02-29 00:00:00.5", (2024, 2, 29, 0, 0, 0, 500_000)),
    ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-02-29 00:00:00.000005", (2024, 2, 29, 0, 0, 0, 5)),
    ("yyyy-MM-dd HH:mm:ss.SS", "2024-02-29 00:00:00.5", None),
    ("yyyy-MM-dd'T'HH", "2024-02-29T07", (2024, 2, 29, 7)),
    ("yyyy.MM", "2024-02", None),
    ("mm yyyy", "05 1969", (1969, 1, 1, 0, 5)),
]


@pytest.mark.parametrize(("pattern", "text", "fields"), PARSED)
def test_parsed(pattern: str, text: str, fields: tuple[int, ...] | None) -> None:
    assert parse_instant(text, pattern, NODE) == (None if fields is None else micros(dt.datetime(*fields)))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("MM-dd", "01-02"),
        ("yyyy-dd", "2024-01"),
        ("yyyy yyyy", "2024 2024"),
        ("yyyyM", "20241"),
        ("Mdyyyy", "112024"),
        ("yyyyMMd", "2024021"),
        ("H yyyyMM", "1 202401"),
        ("yyyy-MMM", "2024-Jan"),
        ("yy", "24"),
        ("yyyy a", "2024 AM"),
        ("yyyy", "+2024"),
        ("yyyy-MM-dd", "-2024-01-01"),
        ("", ""),
    ],
)
def test_what_is_not_parsed(pattern: str, text: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        parse_instant(text, pattern, NODE)


def test_a_field_of_one_digit_beside_a_text() -> None:
    assert parse_instant("2024/2/9", "yyyy/M/d", NODE) == micros(dt.datetime(2024, 2, 9))
    assert parse_instant("+24", "yyyy", NODE) is None
