"""Functions of dates and timestamps: their fields, what they are truncated to, and what is counted in days and seconds.

Timestamps are seen in UTC (Spark: in the session's zone). Years are those of the proleptic Gregorian calendar.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....schema import INTEGER_RANGES, DecimalType, Type, is_floating, is_integer, is_numeric
from ....schema.datetimes import DAY_US, days_from_civil
from ...tree import Function, Literal
from ..arithmetic import OVERFLOW
from ..coercion import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    NTZ,
    STRING,
    TIMESTAMP,
    implicit,
    is_instant,
    is_void,
    mismatch,
    type_of,
)
from ..definitions import Computed, Definition
from ..vectors import RowError, Vector, each, numbers, with_nulls
from . import calendars
from .patterns import format_instant, parse_instant

__all__ = ["FUNCTIONS", "add_calendar_months", "add_date_months"]

_SECOND = 1_000_000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATE_FIELDS = ("year", "month", "day", "quarter", "dayofweek", "weekday", "dayofyear", "weekofyear", "yearofweek")
_CLOCK = {"hour": 3600 * _SECOND, "minute": 60 * _SECOND, "second": _SECOND}
_TRUNCATED = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
}
_MICROS = {
    **dict.fromkeys(("DAY", "DD"), DAY_US),
    "HOUR": 3600 * _SECOND,
    "MINUTE": 60 * _SECOND,
    "SECOND": _SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_LEAST, _GREATEST = INTEGER_RANGES["long"]
_MOST_DAYS = -(_LEAST // DAY_US)
"""A timestamp is not so many days away from 1970."""
_UNIT_MICROS = {**_MICROS, "WEEK": 7 * DAY_US}
_LONG_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_WEEKDAYS = {name[:length]: i for i, name in enumerate(_LONG_DAYS) for length in (2, 3, len(name))}


def _takes(gives: Type, *kinds: Type) -> Callable[[Function], Function]:
    """A rule: the arguments become ``kinds``, those that are left out stay out."""

    def rule(node: Function) -> Function:
        arguments = tuple(implicit(node, i, kinds[i]) for i in range(len(node.arguments)))
        return replace(node, arguments=arguments, type=gives)

    return rule


def _fields(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    days, valid = numbers(arguments[0].values)
    return with_nulls(calendars.date_field(node.name, days), valid, INT), {}


def _clock(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    micros, valid = numbers(arguments[0].values)
    unit = _CLOCK[node.name]
    size = 24 if node.name == "hour" else 60
    return with_nulls(micros // unit % size, valid, INT), {}


def _bind_extract(node: Function) -> Function:
    """What parsing leaves to it: SECOND with its fraction, days of ISO weeks, fields of ``t - INTERVAL 1 DAY``."""
    field = node.arguments[0]
    assert isinstance(field, Literal)
    if field.value == "second":
        return replace(node, arguments=(field, implicit(node, 1, TIMESTAMP)), type=DecimalType(8, 6))
    if field.value == "dayofweek_iso":
        return replace(node, arguments=(field, implicit(node, 1, DATE)), type=INT)
    kind = TIMESTAMP if field.value in _CLOCK else DATE
    return replace(node, name=str(field.value), arguments=(implicit(node, 1, kind),), type=INT)


def _extract(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    if node.type == INT:
        days, valid = numbers(arguments[1].values)
        return with_nulls(calendars.date_field("dayofweek_iso", days), valid, INT), {}
    kind = node.type
    assert kind is not None
    return each(
        lambda micros: decimal.Decimal((0, tuple(map(int, str(micros % (60 * _SECOND)))), -6)), arguments[1:], kind, n
    )


def _names(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    if node.name == "dayname":
        return each(lambda day: _DAYS[(day + 3) % 7], arguments, STRING, n)
    return each(lambda day: _MONTHS[int(calendars.date_field("month", np.array([day]))[0]) - 1], arguments, STRING, n)


def _days_apart(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    (a, a_valid), (b, b_valid) = (numbers(v.values) for v in arguments)
    with np.errstate(over="ignore"):
        values = a - b if node.name in ("datediff", "date_sub") else a + b
    assert node.type is not None
    return with_nulls(np.broadcast_to(values, n), np.broadcast_to(a_valid & b_valid, n), node.type), {}


def _bind_add_days(node: Function) -> Function:
    kind = type_of(node.arguments[1])
    if kind == LONG or not (is_integer(kind) or kind == STRING or is_void(kind)):
        raise mismatch(node, "the number of days has to be an INT", "CAST it AS INT.")
    return _takes(DATE, DATE, INT)(node)


def _add_months(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    (days, valid), (months, also) = (numbers(v.values) for v in arguments)
    found, over = add_date_months(*np.broadcast_arrays(days.astype(np.int64), months.astype(np.int64)))
    over = np.broadcast_to(over & valid & also, n)
    values = with_nulls(np.broadcast_to(found, n), np.broadcast_to(valid & also, n) & ~over, DATE)
    return values, {OVERFLOW: over} if over.any() else {}


def add_date_months(days: np.ndarray, months: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dates so many months later, and which of them are no dates (bool[n])."""
    found = calendars.add_months(days, months)
    return found, found != found.astype(np.int32)


def add_calendar_months(micros: np.ndarray, months: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Timestamps so many months (of 32 bits) later, at the same time of the day, and which are none (bool[n])."""
    days, rest = calendars.split_micros(micros)
    days = calendars.add_months(days, months)
    found = days * DAY_US + rest
    return found, (np.abs(days) > _MOST_DAYS) | ((days < 0) != (found < 0))


def _last_day(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    days, valid = numbers(arguments[0].values)
    year, month, _ = calendars.civil(days)
    return with_nulls(calendars.days_of(year, month, calendars.month_length(year, month)), valid, DATE), {}


def _next_day(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    def following(day: int, name: str) -> int | None:
        wanted = _WEEKDAYS.get(name.upper())
        if wanted is None:
            if node.ansi:
                raise RowError(f"{name!r} is no day of the week")
            return None
        return day + 1 + (wanted - day - 4) % 7

    return each(following, arguments, DATE, n)


def _trunc(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``trunc(date, unit)``; NULL for an unknown unit."""
    days, valid = numbers(arguments[0].values)
    unit = _constant_text(arguments[1])
    name = None if unit is None else _TRUNCATED.get(unit.upper())
    if arguments[1].is_constant:
        if name is None:
            return with_nulls(np.zeros(len(days)), np.zeros(len(days), bool), DATE), {}
        return with_nulls(calendars.truncated_days(name, days), valid, DATE), {}

    def truncated(day: int, text: str) -> int | None:
        found = _TRUNCATED.get(text.upper())
        return None if found is None else int(calendars.truncated_days(found, np.array([day]))[0])

    return each(truncated, arguments, DATE, n)


def _constant_text(vector: Vector) -> str | None:
    return vector.values[0].as_py() if vector.is_constant else None


def _date_trunc(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``date_trunc(unit, timestamp)``; NULL for an unknown unit."""
    if arguments[0].is_constant:
        micros, valid = numbers(arguments[1].values)
        unit = (_constant_text(arguments[0]) or "").upper()
        found = _truncated_micros(unit, micros)
        return with_nulls(micros if found is None else found, valid & (found is not None), TIMESTAMP), {}

    def truncated(text: str, instant: int) -> int | None:
        found = _truncated_micros(text.upper(), np.array([instant], np.int64))
        return None if found is None else int(found[0])

    return each(truncated, arguments, TIMESTAMP, n)


def _truncated_micros(unit: str, micros: np.ndarray) -> np.ndarray | None:
    if unit in _MICROS:
        return micros - micros % _MICROS[unit]
    if unit in _TRUNCATED:
        return calendars.truncated_days(_TRUNCATED[unit], micros // DAY_US) * DAY_US
    return None


def _months_between(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    def between(a: int, b: int, rounds: bool = True) -> float:
        (day_a, rest_a), (day_b, rest_b) = divmod(a, DAY_US), divmod(b, DAY_US)
        year, month, day = calendars.civil(np.array([day_a, day_b]))
        ends = day == calendars.month_length(year, month)
        months = int(year[0] * 12 + month[0] - year[1] * 12 - month[1])
        if day[0] == day[1] or ends.all():
            return float(months)
        seconds = int(day[0] - day[1]) * 86_400 + rest_a // _SECOND - rest_b // _SECOND
        apart = months + seconds / (31 * 86_400.0)
        return float(np.floor(apart * 1e8 + 0.5) / 1e8) if rounds else apart

    return each(between, arguments, DOUBLE, n)


def _bind_months_between(node: Function) -> Function:
    from ..coercion import BOOLEAN

    return _takes(DOUBLE, TIMESTAMP, TIMESTAMP, BOOLEAN)(node)


def _bind_to_date(gives: Type) -> Callable[[Function], Function]:
    """``to_date`` and ``to_timestamp``: a cast without a pattern."""

    def rule(node: Function) -> Function:
        value = node.arguments[0]
        name = "try_cast" if node.name.startswith("try_") else "cast"
        kind = type_of(value)
        if len(node.arguments) == 1 or is_instant(kind):
            if not (is_instant(kind) or kind == STRING or is_void(kind) or (is_numeric(kind) and gives == TIMESTAMP)):
                raise mismatch(node)
            return Function(name, (value,), gives, node.ansi)
        return replace(node, arguments=(implicit(node, 0, STRING), implicit(node, 1, STRING)), type=gives)

    return rule


def _parse(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    strict = node.ansi and not node.name.startswith("try_")
    gives = node.type
    assert gives is not None
    if arguments[0].kind == TIMESTAMP:
        micros, valid = numbers(arguments[0].values)
        return with_nulls(_seconds_towards_zero(micros), valid, LONG), {}

    def parsed(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int | None:
        micros = parse_instant(text, pattern, node)
        if micros is None:
            if strict:
                raise RowError(f"{text!r} does not follow the pattern {pattern!r}")
            return None
        return micros // DAY_US if gives == DATE else _seconds_towards_zero(micros) if gives == LONG else micros

    return each(parsed, arguments, gives, n)


def _seconds_towards_zero(micros: Any) -> Any:
    """What unix_timestamp() gives, other than unix_seconds(): before 1970 a part of a second is left out, too."""
    return micros // _SECOND + ((micros < 0) & (micros % _SECOND != 0))


def _bind_unix_timestamp(node: Function) -> Function:
    if is_instant(type_of(node.arguments[0])):
        return replace(node, arguments=(implicit(node, 0, TIMESTAMP),), type=LONG)
    return _takes(LONG, STRING, STRING)(node)


def _format(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    unit = _SECOND if node.name == "from_unixtime" else 1

    def formatted(value: int, pattern: str = "yyyy-MM-dd HH:mm:ss") -> str:
        return format_instant(value * unit, pattern, node)

    return each(formatted, arguments, STRING, n)


def _counts(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``unix_seconds`` and its kind: a whole number of units since the epoch, rounded down."""
    values, valid = numbers(arguments[0].values)
    unit = {"unix_seconds": _SECOND, "unix_millis": 1000}.get(node.name, 1)
    assert node.type is not None
    return with_nulls(values // unit, valid, node.type), {}


def _bind_from_count(node: Function) -> Function:
    kind = type_of(node.arguments[0])
    if node.name == "timestamp_seconds" and (is_floating(kind) or isinstance(kind, DecimalType)):
        return replace(node, type=TIMESTAMP)
    return replace(node, arguments=(implicit(node, 0, LONG),), type=TIMESTAMP)


def _from_count(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    unit = {"timestamp_seconds": _SECOND, "timestamp_millis": 1000, "timestamp_micros": 1}[node.name]

    def instant(value: Any) -> int | None:
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                return None
            micros = min(max(int(min(max(value, -1e18), 1e18) * _SECOND), _LEAST), _GREATEST)
        elif isinstance(value, decimal.Decimal):
            shifted = value.scaleb(6, decimal.Context(prec=80))
            micros = int(shifted)
            if micros != shifted:
                raise RowError("rounding is needed to whole microseconds")
        else:
            micros = value * unit
        if not _LEAST <= micros <= _GREATEST:
            raise RowError("the result is out of range")
        return micros

    return each(instant, arguments, TIMESTAMP, n)


def _make_date(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    def made(year: int, month: int, day: int) -> int | None:
        found = _day(year, month, day)
        if found is None and node.ansi:
            raise RowError(f"there is no date {year}-{month}-{day}")
        return found

    return each(made, arguments, DATE, n)


def _day(year: int, month: int, day: int) -> int | None:
    if not 1 <= month <= 12 or not 1 <= day <= int(calendars.month_length(np.array([year]), np.array([month]))[0]):
        return None
    found = days_from_civil(year, month, day)
    return found if -(1 << 31) <= found < 1 << 31 else None


def _make_timestamp(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    def made(year: int, month: int, day: int, hour: int, minute: int, second: decimal.Decimal) -> int | None:
        found = _day(year, month, day)
        micros = int(second.scaleb(6, decimal.Context(prec=40)))
        fits = 0 <= hour < 24 and 0 <= minute < 60 and 0 <= micros <= 60 * _SECOND
        if found is None or not fits:
            if node.ansi:
                raise RowError(f"there is no timestamp {year}-{month}-{day} {hour}:{minute}:{second}")
            return None
        return found * DAY_US + (hour * 60 + minute) * 60 * _SECOND + micros

    assert node.type is not None
    return each(made, arguments, node.type, n)


def _unit(node: Function) -> str:
    """One of the units that parsing takes."""
    unit = node.arguments[0]
    assert isinstance(unit, Literal)
    return "DAY" if unit.value == "DAYOFYEAR" else str(unit.value)


def _bind_timestamp_add(node: Function) -> Function:
    unit = Literal(_unit(node), STRING)
    if node.name == "timestampdiff":
        return replace(node, arguments=(unit, implicit(node, 1, TIMESTAMP), implicit(node, 2, TIMESTAMP)), type=LONG)
    kind = NTZ if type_of(node.arguments[2]) == NTZ else TIMESTAMP
    return replace(node, arguments=(unit, implicit(node, 1, LONG), implicit(node, 2, kind)), type=kind)


def _timestamp_add(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    name = _unit(node)

    def added(unit: str, count: int, instant: int) -> int:
        if name in _UNIT_MONTHS:
            months = min(max(count * _UNIT_MONTHS[name], -_MOST_DAYS), _MOST_DAYS)  # so many lead out of range
            (found,), (is_over,) = add_calendar_months(np.array([instant]), np.array([months]))
        else:
            found = instant + count * _UNIT_MICROS[name]
            is_over = not _LEAST <= found <= _GREATEST
        if is_over:
            raise RowError(OVERFLOW)
        return int(found)

    assert node.type is not None
    return each(added, arguments, node.type, n)


def _timestamp_diff(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    name = _unit(node)

    def apart(unit: str, start: int, end: int) -> int:
        if name not in _UNIT_MONTHS:
            whole = abs(end - start) // _UNIT_MICROS[name]
            return whole if end >= start else -whole
        year, month, day = calendars.civil(np.array([start // DAY_US, end // DAY_US]))
        months = int(year[1] * 12 + month[1] - year[0] * 12 - month[0])
        first, last = ((int(day[i]), (start, end)[i] % DAY_US) for i in (0, 1))
        if months > 0 and last < first:
            months -= 1
        elif months < 0 and last > first:
            months += 1
        whole = abs(months) // _UNIT_MONTHS[name]
        return whole if months >= 0 else -whole

    return each(apart, arguments, LONG, n)


def _zone_shift(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``from_utc_timestamp`` and ``to_utc_timestamp``."""
    from ....schema.datetimes import CYCLE_S, format_timestamp, offset_at, parse_timestamp

    def shifted(instant: int, zone: str) -> int:
        offset = offset_at(zone, instant)
        if offset is None:
            raise RowError(f"there is no time zone {zone!r}")
        return instant + offset if node.name == "from_utc_timestamp" else instant_of(instant, zone)

    def instant_of(local: int, zone: str) -> int:
        cycle = CYCLE_S * 1_000_000
        cycles = max((local - 400 * 366 * DAY_US) // cycle, 0)
        parsed = parse_timestamp(f"{format_timestamp(local - cycles * cycle)} {zone}")
        if parsed is None:  # before the year 1
            return local - (offset_at(zone, local) or 0)
        return parsed[0] // 1000 + cycles * cycle

    return each(shifted, arguments, TIMESTAMP, n)


FUNCTIONS: dict[str, Definition] = {
    **dict.fromkeys(_DATE_FIELDS, Definition(_takes(INT, DATE), _fields)),
    **dict.fromkeys(_CLOCK, Definition(_takes(INT, TIMESTAMP), _clock)),
    "extract": Definition(_bind_extract, _extract),
    **dict.fromkeys(("dayname", "monthname"), Definition(_takes(STRING, DATE), _names)),
    "datediff": Definition(_takes(INT, DATE, DATE), _days_apart),
    **dict.fromkeys(("date_add", "date_sub"), Definition(_bind_add_days, _days_apart)),
    "add_months": Definition(_takes(DATE, DATE, INT), _add_months),
    "last_day": Definition(_takes(DATE, DATE), _last_day),
    "next_day": Definition(_takes(DATE, DATE, STRING), _next_day),
    "trunc": Definition(_takes(DATE, DATE, STRING), _trunc),
    "date_trunc": Definition(_takes(TIMESTAMP, STRING, TIMESTAMP), _date_trunc),
    "months_between": Definition(_bind_months_between, _months_between),
    **dict.fromkeys(("to_date", "try_to_date"), Definition(_bind_to_date(DATE), _parse)),
    **dict.fromkeys(
        ("to_timestamp", "to_timestamp_ltz", "try_to_timestamp"), Definition(_bind_to_date(TIMESTAMP), _parse)
    ),
    "to_timestamp_ntz": Definition(_bind_to_date(NTZ), _parse),
    "unix_timestamp": Definition(_bind_unix_timestamp, _parse),
    "date_format": Definition(_takes(STRING, TIMESTAMP, STRING), _format),
    "from_unixtime": Definition(_takes(STRING, LONG, STRING), _format),
    "unix_date": Definition(_takes(INT, DATE), _counts),
    **dict.fromkeys(("unix_seconds", "unix_millis", "unix_micros"), Definition(_takes(LONG, TIMESTAMP), _counts)),
    **dict.fromkeys(
        ("timestamp_seconds", "timestamp_millis", "timestamp_micros"), Definition(_bind_from_count, _from_count)
    ),
    "date_from_unix_date": Definition(_takes(DATE, INT), _counts),
    "make_date": Definition(_takes(DATE, INT, INT, INT), _make_date),
    "make_timestamp": Definition(_takes(TIMESTAMP, INT, INT, INT, INT, INT, DecimalType(16, 6)), _make_timestamp),
    "make_timestamp_ntz": Definition(_takes(NTZ, INT, INT, INT, INT, INT, DecimalType(16, 6)), _make_timestamp),
    "timestampadd": Definition(_bind_timestamp_add, _timestamp_add),
    "timestampdiff": Definition(_bind_timestamp_add, _timestamp_diff),
    **dict.fromkeys(
        ("from_utc_timestamp", "to_utc_timestamp"), Definition(_takes(TIMESTAMP, TIMESTAMP, STRING), _zone_shift)
    ),
}
