"""Durations of table properties, such as ``interval 7 days``, in milliseconds.

Source: Delta documentation, "Table properties reference"; Delta PROTOCOL.md, "Metadata Cleanup".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tableformats.plugin import CorruptMetadataError, lazy_pattern

__all__ = ["interval_of", "parse_interval"]

_UNITS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_PART = lazy_pattern(r"\s*([+-]?\d{1,15})\s+([a-z]+?)s?(?=\s|$)", re.ASCII | re.IGNORECASE)


def parse_interval(text: str) -> int:
    """Milliseconds of an interval. Raises ValueError; also for months and years, whose length varies."""
    rest = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    total, place = 0, 0
    while (match := _PART.match(rest, place)) is not None:
        unit = _UNITS.get(match.group(2).lower())
        if unit is None:
            raise ValueError(text)
        total, place = total + int(match.group(1)) * unit, match.end()
    if place == 0 or rest[place:].strip() or total < 0:
        raise ValueError(text)
    return total // 1000


def interval_of(properties: Mapping[str, str], name: str, default: str | None, path: str) -> int | None:
    """The property ``name`` in milliseconds, or that of ``default``. Raises CorruptMetadataError."""
    text = properties.get(name, default)
    if text is None:
        return None
    try:
        return parse_interval(text)
    except ValueError:
        raise CorruptMetadataError(
            f"the table property {name} is {text!r}, which is no interval of fixed length", path=path, field=name
        ) from None
