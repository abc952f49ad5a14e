"""The types of intervals. A literal of such a type counts its unit, with a sign.

``INTERVAL '1-2' YEAR TO MONTH`` is ``Literal(14, IntervalType("month"))``, ``INTERVAL 3 DAYS`` is ``Literal(3,
IntervalType("day"))``, and an interval with hours, minutes or seconds is one of microseconds. A date plus days is a
date; a date plus microseconds is a timestamp.
"""

from __future__ import annotations

from ...dataclass import dataclass
from ...schema import Type

__all__ = ["IntervalType"]

_NAMES = {"month": "interval year to month", "day": "interval day", "microsecond": "interval day to second"}


@dataclass(frozen=True)
class IntervalType(Type):
    """An interval in one unit: ``month``, ``day`` or ``microsecond``."""

    unit: str

    def __str__(self) -> str:
        return _NAMES[self.unit]
