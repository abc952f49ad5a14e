"""The proleptic Gregorian calendar over NumPy arrays of days since the epoch, for all years that a date can have."""

from __future__ import annotations

import numpy as np

from ....schema.datetimes import DAY_US

__all__ = ["add_months", "civil", "date_field", "days_of", "month_length", "split_micros", "truncated_days"]

_BEFORE = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


def civil(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(year, month, day of the month), each int64[n], of days since 1970-01-01."""
    shifted = days.astype(np.int64) + 719_468
    cycle = shifted // 146_097
    of_cycle = shifted - cycle * 146_097
    year = (of_cycle - of_cycle // 1460 + of_cycle // 36_524 - of_cycle // 146_096) // 365
    of_year = of_cycle - (365 * year + year // 4 - year // 100)
    part = (5 * of_year + 2) // 153
    month = np.where(part < 10, part + 3, part - 9)
    return year + cycle * 400 + (month <= 2), month, of_year - (153 * part + 2) // 5 + 1


def days_of(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Days since 1970-01-01, int64[n]. Inverse of :func:`civil`."""
    year = year - (month <= 2)
    cycle = year // 400
    of_cycle = year - cycle * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return np.asarray(cycle * 146_097 + of_cycle * 365 + of_cycle // 4 - of_cycle // 100 + of_year - 719_468)


def is_leap(year: np.ndarray) -> np.ndarray:
    return np.asarray((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))


def month_length(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """The days of a month."""
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return np.asarray(lengths[month - 1] + ((month == 2) & is_leap(year)))


def add_months(days: np.ndarray, months: np.ndarray) -> np.ndarray:
    """The date so many months later; the last of the month where that month is shorter."""
    year, month, day = civil(days)
    count = year * 12 + month - 1 + months
    year, month = count // 12, count % 12 + 1
    return days_of(year, month, np.minimum(day, month_length(year, month)))


def date_field(name: str, days: np.ndarray) -> np.ndarray:
    """A field of dates: ``year``, ``month``, ``dayofweek`` (1 is Sunday), ``weekofyear`` (ISO 8601) and so on."""
    days = days.astype(np.int64)
    weekday = (days + 3) % 7  # 0 is Monday
    if name == "weekday":
        return weekday
    if name == "dayofweek":
        return (weekday + 1) % 7 + 1
    if name == "dayofweek_iso":
        return weekday + 1
    if name in ("weekofyear", "yearofweek"):
        thursday = days - weekday + 3
        year, _, _ = civil(thursday)
        first = days_of(year, np.ones_like(year), np.ones_like(year))
        return (thursday - first) // 7 + 1 if name == "weekofyear" else year
    year, month, day = civil(days)
    if name == "dayofyear":
        return np.asarray(_BEFORE[month - 1] + day + ((month > 2) & is_leap(year)))
    return {"year": year, "month": month, "day": day, "quarter": (month - 1) // 3 + 1}[name]


def truncated_days(unit: str, days: np.ndarray) -> np.ndarray:
    """The first day of the year, quarter, month or week that each day is in."""
    days = days.astype(np.int64)
    if unit == "week":
        return days - (days + 3) % 7
    year, month, _ = civil(days)
    one = np.ones_like(year)
    if unit == "year":
        month = one
    elif unit == "quarter":
        month = (month - 1) // 3 * 3 + 1
    return days_of(year, month, one)


def split_micros(micros: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(days since the epoch, microseconds of the day) of timestamps in UTC."""
    days = micros // DAY_US
    return days, micros - days * DAY_US
