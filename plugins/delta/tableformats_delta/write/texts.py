"""Partition values and statistics of new files as the texts of an add action.

Bounds are never narrower than the values: timestamps are cut to milliseconds downwards and upwards, long strings to 32
characters with a greater character behind the upper one. What JSON cannot hold has no bound. Source: Delta PROTOCOL.md,
"Partition Value Serialization", "Per-file Statistics"; delta-spark, ``StatisticsCollection.truncateMaxStringAgg``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from collections.abc import Mapping
from typing import Any

from tableformats.plugin import ConstraintViolationError, Field

__all__ = ["partition_text", "statistics_text"]

_MOST_CHARACTERS = 32
_GREATEST = "\U0010ffff"
_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_MILLISECOND = dt.timedelta(milliseconds=1)


def partition_text(column: Field, value: object) -> str:
    """A partition value other than NULL as text. Raises ConstraintViolationError for an empty string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        zone = "T%H:%M:%S.%fZ" if value.tzinfo else " %H:%M:%S.%f"
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}{value.strftime(zone)}"
    if isinstance(value, dt.date):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return _float_text(value)
    text = str(value)
    if not text:
        raise ConstraintViolationError(
            "an empty string is no partition value, because readers take it for NULL", field=column.name
        )
    return text


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return _INFINITE.get(value) or repr(value or 0.0)  # -0.0 and 0.0 are one value


def statistics_text(
    record_count: int, lower: Mapping[str, Any], upper: Mapping[str, Any], nulls: Mapping[str, Any]
) -> str:
    """The JSON of ``add.stats``. Values are Python's, None where a bound is unknown; structs are mappings."""
    least, greatest = _bounds(lower, upper)
    parts = [f'"numRecords":{record_count}', f'"minValues":{_object(least)}', f'"maxValues":{_object(greatest)}']
    parts += [f'"nullCount":{_object(nulls)}', '"tightBounds":true']
    return "{" + ",".join(parts) + "}"


def _bounds(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The texts of those bounds of which both sides have one."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    for name, value in lower.items():
        if isinstance(value, Mapping):
            below, above = _bounds(value, upper[name])
            if below:
                least[name], greatest[name] = below, above
            continue
        texts = _json_bound(value, False), _json_bound(upper[name], True)
        if None not in texts:
            least[name], greatest[name] = texts
    return least, greatest


def _object(members: Mapping[str, Any]) -> str:
    texts = ((name, _object(text) if isinstance(text, Mapping) else text) for name, text in members.items())
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in texts) + "}"


def _json_bound(value: Any, is_upper: bool) -> str | None:
    """A bound as JSON; None: there is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, str):
        value = _cut_text(value, is_upper)
        return None if value is None else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dt.datetime):
        return _instant_bound(value, is_upper)
    if isinstance(value, dt.date):
        return f'"{value.year:04d}-{value.month:02d}-{value.day:02d}"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    return str(value) if isinstance(value, int) else None


def _cut_text(text: str, is_upper: bool) -> str | None:
    if len(text) <= _MOST_CHARACTERS:
        return text
    prefix, following = text[:_MOST_CHARACTERS], text[_MOST_CHARACTERS]
    if not is_upper:
        return prefix
    if following == _GREATEST:
        return None
    return prefix + ("\x7f" if following < "\x7f" else _GREATEST)


def _instant_bound(value: dt.datetime, is_upper: bool) -> str | None:
    rest = value.microsecond % 1000
    try:
        value = value - dt.timedelta(microseconds=rest) + (_MILLISECOND if is_upper and rest else 0 * _MILLISECOND)
    except OverflowError:
        return None
    zone = "Z" if value.tzinfo else ""
    return f'"{value.replace(tzinfo=None).isoformat(timespec="milliseconds")}{zone}"'
