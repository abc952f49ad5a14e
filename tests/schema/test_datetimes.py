"""Dates and timestamps as text: Spark's formats, and the whole range of the types."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.schema.datetimes import (
    current_ms,
    current_us,
    days_from_civil,
    format_date,
    format_time,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
)

EPOCH = dt.date(1970, 1, 1)


@given(st.dates())
def test_the_calendar_is_pythons(date):
    assert days_from_civil(date.year, date.month, date.day) == (date - EPOCH).days
    assert format_date((date - EPOCH).days) == date.isoformat()


@given(st.integers(-(2**31), 2**31 - 1))
def test_dates_come_back(days):
    assert parse_date(format_date(days)) == days


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["", "Z", "+00:00", " UTC"]))
def test_timestamps_come_back(value, zone):
    assert parse_timestamp(format_timestamp(value) + zone) == (value * 1000, zone != "")
    assert parse_timestamp(format_timestamp(value, 9)) == (value, False)


@given(st.integers(0, 86_400_000_000 - 1))
def test_times_come_back(micros):
    assert parse_time(format_time(micros)) == micros


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970", 0),
        ("1970-2", 31),
        (" 1970-1-2 ", 1),
        ("1970-01-02T", 1),
        ("1970-01-02 any words", 1),
        ("+1970-01-01", 0),
        ("-0001-01-01", -719893),
        ("10000-01-01", 2932897),
    ],
)
def test_spark_reads_these_dates(text, days):
    assert parse_date(text) == days


@pytest.mark.parametrize(
    "text",
    [
        "",
        "70-01-01",
        "1970-13-01",
        "1970-02-29",
        "1970-01-32",
        "19700101x",
        "1970-01-01x",
        "today",
        "1970-1-",
        "٢٠٢٤-01-01",
        "99999999-01-01",
    ],
)
def test_these_are_no_dates(text):
    assert parse_date(text) is None and parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01 1:2:3", 3723),
        ("1970-01-01 1", 3600),
        ("1970-01-01T01:02", 3720),
        ("1970-01-01 00:00:00+01:30", -5400),
        ("1970-01-01 00:00:00 -0130", 5400),
        ("1970-01-01T00:00:00GMT+1", -3600),
        ("1970-07-01 00:00 Europe/Paris", 15634800),
        ("1970-01-02 ", 86400),
    ],
)
def test_spark_reads_these_timestamps(text, seconds):
    parsed = parse_timestamp(text)
    assert parsed is not None and parsed[0] == seconds * 1_000_000_000


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01 24:00",
        "1970-01-01 00:60",
        "1970-01-01 00:00:60",
        "1970-01-01 00:00 +19:00",
        "1970-01-01 00:00 Nowhere/Land",
        "1970-01-01 00:00 ../../etc/passwd",
        "10:00",
    ],
)
def test_these_are_no_timestamps(text):
    assert parse_timestamp(text) is None


def test_the_time_of_this_machine() -> None:
    before = time.time()
    assert before - 1 <= current_ms() / 1e3 <= time.time() + 1
    assert before - 1 <= current_us() / 1e6 <= time.time() + 1
