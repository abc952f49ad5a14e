"""Fields of dates, months later, and first days of units: Python's calendar says the same on every day of an era."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions import Holds
from tableformats.expressions.binding import bound_value
from tableformats.expressions.evaluation import computed
from tableformats.expressions.functions.temporal import calendars
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema

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


def test_units_of_rows() -> None:
    """``trunc`` and ``date_trunc`` whose unit is a column, as where it is a constant."""
    day, instant = dt.date(2024, 5, 16), dt.datetime(2024, 5, 16, 13, 14, 15, 678_901, dt.timezone.utc)
    midnight = instant.replace(hour=0, minute=0, second=0, microsecond=0)
    found = {
        "year": midnight.replace(month=1, day=1),
        "QUARTER": midnight.replace(month=4, day=1),
        "Mon": midnight.replace(day=1),
        "week": midnight.replace(day=13),
        "dd": midnight,
        "HOUR": midnight.replace(hour=13),
        "minute": midnight.replace(hour=13, minute=14),
        "second": instant.replace(microsecond=0),
        "millisecond": instant.replace(microsecond=678_000),
        "microsecond": instant,
        "nothing": None,
        None: None,
    }
    columns = {
        "unit": pa.array([*found]),
        "day": pa.array([day] * len(found)),
        "t": pa.array([instant] * len(found), pa.timestamp("us", "UTC")),
    }
    schema = Schema.from_arrow(pa.schema({name: column.type for name, column in columns.items()}))

    def values_of(text: str) -> list[Any]:
        parsed = parse_filter(f"{text} IS NULL")
        assert isinstance(parsed, Holds)
        value = bound_value(parsed.value.arguments[0], schema)
        return computed(value, lambda column: columns[column.field.name], len(found)).values.to_pylist()

    assert values_of("date_trunc(unit, t)") == [*found.values()]
    dates = [one.date() if one and i < 4 else None for i, one in enumerate(found.values())]  # it has no shorter units
    assert values_of("trunc(day, unit)") == dates
    for i, unit in enumerate(found):
        if unit is not None:
            assert values_of(f"date_trunc('{unit}', t)") == [[*found.values()][i]] * len(found)
            assert values_of(f"trunc(day, '{unit}')") == [dates[i]] * len(found)
