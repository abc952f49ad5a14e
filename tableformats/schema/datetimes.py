"""Read dates, times and timestamps from text in Spark's formats as integers since the epoch, and write them.

The functions cover the whole range of the types (years -290308 to 294247 for timestamps, five million for dates),
whereas :mod:`datetime` ends with the year 9999. The calendar is the proleptic Gregorian one, as in Spark since 3.0. A
timestamp without a zone means UTC.

Source: Spark SQL reference, "Literals" (datetime literal) and "Cast" for the accepted formats.
"""

from __future__ import annotations

import datetime as dt
import re
import time

from ..lazy_pattern import lazy_pattern

__all__ = [
    "DATETIME_MS",
    "DAY_NANOS",
    "DAY_S",
    "DAY_US",
    "FIRST_GREGORIAN_DAY",
    "YEAR_1900_S",
    "civil_from_days",
    "current_ms",
    "current_us",
    "days_from_civil",
    "format_date",
    "format_time",
    "format_timestamp",
    "is_zone",
    "offset_at",
    "parse_date",
    "parse_time",
    "parse_timestamp",
]

SECOND_NANOS = 1_000_000_000
DAY_S = 86_400
DAY_US = DAY_S * 1_000_000
DAY_NANOS = DAY_S * SECOND_NANOS
DATETIME_MS = range(-62_135_596_800_000, 253_402_300_800_000)
"""The milliseconds since the epoch that a datetime can hold: the years 1 to 9999."""

_DATE = r"(?P<year>[+-]?[0-9]{4,7})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?P<rest>[ T].*)?)?)?"
_DATE_TEXT = lazy_pattern(_DATE, re.DOTALL)
_CLOCK = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{0,9})[0-9]*)?)?)?"
)
_CLOCK_TEXT = lazy_pattern(_CLOCK)
_CLOCK_AND_ZONE = lazy_pattern(_CLOCK + r"\s*(?P<zone>\S.*)?")
_OFFSET = lazy_pattern(
    r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})"
    r"(?::?(?P<minutes>[0-9]{2})(?::?(?P<seconds>[0-9]{2}))?)?"
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH = dt.datetime(1970, 1, 1)
_YEAR_1_S = -62_135_596_800 + 2 * DAY_S
CYCLE_S = 146_097 * DAY_S
"""After this many seconds the calendar repeats: 400 years."""


def current_us() -> int:
    """The time of this machine in microseconds since the epoch."""
    return time.time_ns() // 1000


def current_ms() -> int:
    """The time of this machine in milliseconds since the epoch."""
    return current_us() // 1000


def parse_date(text: str) -> int | None:
    """Days since 1970-01-01 of ``yyyy[-[m]m[-[d]d]]``. As in Spark, text after ``T`` or a space is ignored.

    None where the text is no date.
    """
    parsed = _split_date(text)
    return None if parsed is None else parsed[0]


def parse_timestamp(text: str, default_zone: str = "UTC", *, ignores_zone: bool = False) -> tuple[int, bool] | None:
    """The instant of ``yyyy[-[m]m[-[d]d[( |T)[h]h[:[m]m[:[s]s[.fraction]]][zone]]]]``.

    A zone is ``Z``, an offset such as ``+02:00``, or a region such as ``Europe/Paris``. Without one the text means
    ``default_zone``. With ``ignores_zone`` it means the local time that is written, whatever its zone. Digits after the
    ninth are dropped. As in Java, a local time that a region skips is as much later,
    and of one that it has twice the earlier one counts.

    Returns
    -------
    (int, bool), or None
        Nanoseconds since the epoch, and whether the text names a zone. None where the text is no timestamp.
    """
    parsed = _split_date(text)
    if parsed is None:
        return None
    days, rest = parsed
    local, zone = days * DAY_NANOS, None
    if rest:
        match = _CLOCK_AND_ZONE.fullmatch(rest)
        nanos = _clock_nanos(match) if match else None
        if match is None or nanos is None:
            return None
        local, zone = local + nanos, match["zone"]
    offset = _zone_seconds(zone.strip() if zone else default_zone, local // SECOND_NANOS)
    if offset is None:
        return None
    return local if ignores_zone else local - offset * SECOND_NANOS, zone is not None


def is_zone(name: str) -> bool:
    """Whether ``name`` is a zone that a timestamp may have: ``Z``, an offset, or a region that this machine knows."""
    return _zone_seconds(name, 0) is not None


def offset_at(zone: str, instant_us: int) -> int | None:
    """Microseconds by which the clocks of a zone are ahead of UTC at an instant; None for an unknown zone.

    Parameters
    ----------
    zone : str
        See :func:`is_zone`.
    instant_us : int
        Microseconds since the epoch. Rules repeat every 400 years after the year 2370; before the year 1 those of that
        year hold.
    """
    seconds = instant_us // 1_000_000
    cycles = max((seconds - 400 * 366 * DAY_S) // CYCLE_S, 0)
    offset = _zone_seconds(zone, max(seconds - cycles * CYCLE_S, _YEAR_1_S), is_local=False)
    return None if offset is None else offset * 1_000_000


def parse_time(text: str) -> int | None:
    """Microseconds since midnight of ``[h]h[:[m]m[:[s]s[.fraction]]]``, or None where the text is no time of day."""
    match = _CLOCK_TEXT.fullmatch(text.strip())
    nanos = _clock_nanos(match) if match else None
    return None if nanos is None else nanos // 1000


def format_date(days: int) -> str:
    """``yyyy-mm-dd`` of days since 1970-01-01. The year has a sign and more digits where it needs them."""
    year, month, day = civil_from_days(days)
    return f"{_year_text(year)}-{month:02}-{day:02}"


def format_timestamp(value: int, digits: int = 6) -> str:
    """``yyyy-mm-dd hh:mm:ss[.fraction]`` of a number of 10**-digits seconds since the epoch."""
    days, rest = divmod(value, DAY_S * 10**digits)
    return f"{format_date(days)} {format_time(rest, digits)}"


def format_time(value: int, digits: int = 6) -> str:
    """``hh:mm:ss[.fraction]`` of a number of 10**-digits seconds since midnight."""
    seconds, fraction = divmod(value, 10**digits)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:0{digits}}".rstrip("0") if fraction else "")


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar.

    A cycle of 400 years has 146097 days. Years are counted from March, so that the leap day comes last.
    """
    year -= month <= 2
    cycle, year_of_cycle = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return cycle * 146_097 + day_of_cycle - 719_468


FIRST_GREGORIAN_DAY = days_from_civil(1582, 10, 15)
"""Days since the epoch. Before, the calendar of old Java classes, and so of Spark 2, is the Julian one."""
YEAR_1900_S = days_from_civil(1900, 1, 1) * DAY_S
"""Seconds since the epoch. For earlier times these classes use the zone offsets of that moment."""


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The year, the month and the day of a number of days since 1970-01-01. Inverse of :func:`days_from_civil`."""
    cycle, day_of_cycle = divmod(days + 719_468, 146_097)
    year = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + cycle * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def _split_date(text: str) -> tuple[int, str] | None:
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    if not 1 <= month <= 12:
        return None
    leap_day = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS_IN_MONTH[month - 1] + leap_day:
        return None
    return days_from_civil(year, month, day), (match["rest"] or "")[1:].strip()


def _clock_nanos(match: re.Match[str]) -> int | None:
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return (hour * 3600 + minute * 60 + second) * SECOND_NANOS + int((match["fraction"] or "0").ljust(9, "0"))


def _zone_seconds(zone: str, seconds: int, *, is_local: bool = True) -> int | None:
    """The zone's offset from UTC at that local time, or at that instant. None for an unknown zone."""
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match:
        hours, minutes, seconds = (int(match[part] or 0) for part in ("hours", "minutes", "seconds"))
        total = hours * 3600 + minutes * 60 + seconds
        valid = minutes <= 59 and seconds <= 59 and total <= 18 * 3600
        return (-total if match["sign"] == "-" else total) if valid else None
    import zoneinfo

    try:
        region = zoneinfo.ZoneInfo(zone)
        time = _EPOCH + dt.timedelta(seconds=seconds)
        time = time.replace(tzinfo=region) if is_local else time.replace(tzinfo=dt.timezone.utc).astimezone(region)
        offset = time.utcoffset()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return None
    return None if offset is None else int(offset.total_seconds())


def _year_text(year: int) -> str:
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
