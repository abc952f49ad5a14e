"""Dates and times by a pattern, as Spark's ``date_format`` and ``to_date`` have it: the letters in common use.

A pattern with other letters is refused. Parsing is strict: ``MM`` takes two digits, ``M`` one or two, and text that is
left over is an error. Source: Spark SQL reference, "Datetime Patterns for Formatting and Parsing".
"""

from __future__ import annotations

import re
from functools import lru_cache

from ....errors import UnsupportedFeatureError
from ....lazy_pattern import lazy_pattern
from ....schema.datetimes import DAY_US, civil_from_days, days_from_civil
from ...tree import Function

__all__ = ["format_instant", "parse_instant"]

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_TOKEN = lazy_pattern(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'])")
_PRINTED = {
    *("yyyy", "y", "uuuu", "yy", "M", "MM", "MMM", "MMMM", "d", "dd", "D", "DDD", "H", "HH", "h", "hh", "m", "mm", "s"),
    *("ss", "a", "E", "EE", "EEE", "EEEE", "S", "SS", "SSS", "SSSS", "SSSSS", "SSSSSS"),
}
_PARSED = {
    "yyyy": r"(?P<y>[0-9]{4})",
    "uuuu": r"(?P<y>[0-9]{4})",
    "MM": r"(?P<M>[0-9]{2})",
    "M": r"(?P<M>[0-9]{1,2})",
    "dd": r"(?P<d>[0-9]{2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "HH": r"(?P<H>[0-9]{2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "mm": r"(?P<m>[0-9]{2})",
    "ss": r"(?P<s>[0-9]{2})",
    **{"S" * n: rf"(?P<S>[0-9]{{{n}}})" for n in range(1, 7)},
}


@lru_cache(maxsize=64)
def _tokens(pattern: str) -> tuple[tuple[str, bool], ...] | None:
    """The pattern's parts, each with whether it is letters of a field. None where a quote is not closed."""
    found: list[tuple[str, bool]] = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None or (match[3] and match[3] in "[]{}#"):
            return None
        if match[2]:
            found.append((match[0], True))
        else:
            found.append((match[3] if match[3] else (match[1].replace("''", "'") or "'"), False))
        position = match.end()
    return tuple(found)


def _refuse(pattern: str, node: Function) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the pattern {pattern!r} of {node}: Arrow formats and parses years, months, days and times only",
        field=str(node),
        hint="Read with to_spark, or use the letters y M d H m s S.",
    )


def format_instant(micros: int, pattern: str, node: Function) -> str:
    """A timestamp in UTC printed by a pattern. Raises UnsupportedFeatureError for letters that are not built."""
    tokens = _tokens(pattern)
    if tokens is None or any(is_field and text not in _PRINTED for text, is_field in tokens):
        raise _refuse(pattern, node)
    days, of_day = divmod(micros, DAY_US)
    year, month, day = civil_from_days(days)
    if not 0 < year <= 9999:
        raise _refuse(pattern, node)
    seconds, fraction = divmod(of_day, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    weekday = _DAYS[(days + 3) % 7]
    numbers = {"d": day, "H": hour, "h": (hour + 11) % 12 + 1, "m": minute, "s": second, "M": month}
    numbers["D"] = days - days_from_civil(year, 1, 1) + 1
    pieces = []
    for text, is_field in tokens:
        letter = text[0]
        if not is_field:
            pieces.append(text)
        elif letter in "yu":
            pieces.append(f"{year % 100:02}" if len(text) == 2 else f"{year:0{len(text)}}")
        elif letter == "M" and len(text) > 2:
            pieces.append(_MONTHS[month - 1][: 3 if len(text) == 3 else None])
        elif letter == "E":
            pieces.append(weekday if len(text) == 4 else weekday[:3])
        elif letter == "a":
            pieces.append("AM" if hour < 12 else "PM")
        elif letter == "S":
            pieces.append(f"{fraction:06}"[: len(text)])
        else:
            pieces.append(f"{numbers[letter]:0{len(text)}}")
    return "".join(pieces)


def parse_instant(text: str, pattern: str, node: Function) -> int | None:
    """Microseconds since the epoch of a text, in UTC. None where it does not follow the pattern.

    Raises UnsupportedFeatureError for letters that are not built, and for years of other than four digits.
    """
    expression = _parser(pattern)
    if expression is None or re.match("[+-][0-9]{4}", text):
        raise _refuse(pattern, node)
    match = expression.fullmatch(text)
    if match is None:
        return None
    found = {name: int(value) for name, value in match.groupdict().items()}
    year, month, day = found["y"], found.get("M", 1), found.get("d", 1)
    hour, minute, second = (found.get(name, 0) for name in "Hms")
    if not 1 <= month <= 12 or not 1 <= day <= _LENGTHS[month - 1] + (month == 2 and _is_leap(year)):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match.groupdict().get("S") or "0").ljust(6, "0"))
    return days_from_civil(year, month, day) * DAY_US + ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


@lru_cache(maxsize=64)
def _parser(pattern: str) -> re.Pattern[str] | None:
    tokens = _tokens(pattern)
    if tokens is None:
        return None
    letters = [text[0] for text, is_field in tokens if is_field]
    parts = [_PARSED.get(text) if is_field else re.escape(text) for text, is_field in tokens]
    one_digit = any(is_field and text in ("M", "d", "H") for text, is_field in tokens)
    adjacent = any(a[1] and b[1] for a, b in zip(tokens, tokens[1:], strict=False))
    if None in parts or len(set(letters)) < len(letters) or (one_digit and adjacent):
        return None
    if not {"y", "u"} & set(letters) or ("d" in letters and "M" not in letters):
        return None
    return re.compile("".join(part for part in parts if part is not None), re.DOTALL)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
