"""Fields of dates, months later, and first days of units: Python's calendar says the same on every day of an era."""

from __future__ import annotations

import calendar
import datetime as dt

import numpy as np
import pytest

from tableformats.expressions.functions.temporal import calendars

EPOCH = dt.date(1970, 1, 1).toordinal()
# The days around each end of a month over 400 years and more, and every day of some years.
DATES = [dt.date(year, month, day) for year in range(1890, 2305) for month in range(1, 13) for day in (1, 2)]
DATES = sorted({*DATES, *(date - dt.timedelta(1) for date in DATES)})
DATES += [dt.date.fromordinal(EPOCH + i) for i in range(-800, 800)] + [dt.date.min, dt.date.max]
DAYS = np.array([date.toordinal() - EPOCH for date in DATES], np.int64)

FIELDS = {
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "weekday": lambda d: d.weekday(),
    "dayofweek": lambda d: d.isoweekday() % 7 + 1,
    "dayofweek_iso": lambda d: d.isoweekday(),
    "dayofyear": lambda d: d.timetuple().tm_yday,
    "weekofyear": lambda d: d.isocalendar()[1],
    "yearofweek": lambda d: d.isocalendar()[0],
}
FIRSTS = {
    "year": lambda d: d.replace(month=1, day=1),
    "quarter": lambda d: d.replace(month=(d.month + 2) // 3 * 3 - 2, day=1),
    "month": lambda d: d.replace(day=1),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields(name: str) -> None:
    assert calendars.date_field(name, DAYS.astype(np.int32)).tolist() == [FIELDS[name](date) for date in DATES]


def test_dates_and_days() -> None:
    year, month, day = calendars.civil(DAYS)
    assert [*zip(year.tolist(), month.tolist(), day.tolist(), strict=True)] == [(d.year, d.month, d.day) for d in DATES]
    assert calendars.days_of(year, month, day).tolist() == DAYS.tolist()
    lengths = [calendar.monthrange(d.year, d.month)[1] for d in DATES]
    assert calendars.month_length(year, month).tolist() == lengths
    assert calendars.is_leap(year).tolist() == [calendar.isleap(d.year) for d in DATES]


@pytest.mark.parametrize("unit", FIRSTS)
def test_first_days(unit: str) -> None:
    expected = [FIRSTS[unit](date).toordinal() - EPOCH for date in DATES]
    assert calendars.truncated_days(unit, DAYS).tolist() == expected


def test_first_days_of_weeks() -> None:
    assert calendars.truncated_days("week", DAYS).tolist() == [d.toordinal() - EPOCH - d.weekday() for d in DATES]


@pytest.mark.parametrize("count", [-25, -12, -1, 0, 1, 2, 11, 12, 13, 48])
def test_months_later(count: int) -> None:
    dates = [date for date in DATES if 10 < date.year < 9990]
    expected = []
    for date in dates:
        months = date.year * 12 + date.month - 1 + count
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        expected.append(dt.date(year, month + 1, min(date.day, last)).toordinal() - EPOCH)
    days = np.array([date.toordinal() - EPOCH for date in dates], np.int64)
    assert calendars.add_months(days, np.full(len(days), count)).tolist() == expected


def test_parts_of_timestamps() -> None:
    days, micros = calendars.split_micros(np.array([0, -1, 86_400_000_000, 86_399_999_999, -86_400_000_001]))
    assert (days.tolist(), micros.tolist()) == (
        [0, -1, 1, 0, -2],
        [0, 86_399_999_999, 0, 86_399_999_999, 86_399_999_999],
    )
