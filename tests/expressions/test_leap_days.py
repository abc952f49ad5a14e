"""The 29th of February as texts of a pattern: the days that the calendar has, and no others."""

from __future__ import annotations

import calendar

import pytest

from tableformats.expressions import Constant
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Field, Schema, primitive

SCHEMA = Schema((Field(1, "s", primitive("string")),))


@pytest.mark.parametrize("year", [1896, 1900, 2000, 2023, 2024, 2100, 2400])
def test_leap_days(year: int) -> None:
    parsed = parse_filter(f"to_date('29-02-{year}', 'dd-MM-yyyy') IS NOT NULL", ansi=False)
    assert parsed is not None
    assert bind(parsed, SCHEMA, ansi=False) == Constant(calendar.isleap(year))
