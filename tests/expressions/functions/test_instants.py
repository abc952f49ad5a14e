"""Dates and timestamps plus and minus intervals, days and each other."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tests.support.expressions import answers, bound

NOON = dt.datetime(2024, 1, 31, 12)
EPOCH = dt.datetime(1970, 1, 1)
ROWS = {
    "t": pa.array([NOON, None], pa.timestamp("us", "UTC")),
    "n": pa.array([NOON, None], pa.timestamp("us")),
    "d": pa.array([NOON.date(), None], pa.date32()),
    "s": pa.array(["2024-01-31 12:00:00", None]),
    "i": pa.array([2, None], pa.int32()),
    "b": pa.array([2, None], pa.int64()),
    "f": pa.array([1.5, None]),
}
HOUR = 3_600_000_000


def micros(*fields: int) -> int:
    return (dt.datetime(*fields) - EPOCH) // dt.timedelta(microseconds=1)


def days(*fields: int) -> int:
    return (dt.datetime(*fields) - EPOCH).days


@pytest.mark.parametrize(
    ("call", "kind", "value"),
    [
        ("t + INTERVAL 1 MONTH", "timestamp", micros(2024, 2, 29, 12)),
        ("INTERVAL 1 MONTH + t", "timestamp", micros(2024, 2, 29, 12)),
        ("t - INTERVAL 1 MONTH", "timestamp", micros(2023, 12, 31, 12)),
        ("t + INTERVAL 1 DAY", "timestamp", micros(2024, 2, 1, 12)),
        ("t - INTERVAL 1 DAY", "timestamp", micros(2024, 1, 30, 12)),
        ("t + INTERVAL 90 MINUTE", "timestamp", micros(2024, 1, 31, 13, 30)),
        ("INTERVAL 90 MINUTE + n", "timestamp_ntz", micros(2024, 1, 31, 13, 30)),
        ("n - INTERVAL 1 YEAR", "timestamp_ntz", micros(2023, 1, 31, 12)),
        ("n + INTERVAL 1 DAY", "timestamp_ntz", micros(2024, 2, 1, 12)),
        ("d + INTERVAL 1 MONTH", "date", days(2024, 2, 29)),
        ("d - INTERVAL 2 MONTH", "date", days(2023, 11, 30)),
        ("d + INTERVAL 1 DAY", "date", days(2024, 2, 1)),
        ("d - INTERVAL 1 DAY", "date", days(2024, 1, 30)),
        ("d + INTERVAL 1 HOUR", "timestamp", micros(2024, 1, 31, 1)),
        ("INTERVAL 1 HOUR + d", "timestamp", micros(2024, 1, 31, 1)),
        ("d - INTERVAL 1 HOUR", "timestamp", micros(2024, 1, 30, 23)),
        ("d + 1", "date", days(2024, 2, 1)),
        ("1 + d", "date", days(2024, 2, 1)),
        ("d - 1", "date", days(2024, 1, 30)),
        ("i + d", "date", days(2024, 2, 2)),
        ("d - i", "date", days(2024, 1, 29)),
        ("s + INTERVAL 1 DAY", "string", "2024-02-01 12:00:00"),
        ("INTERVAL 1 DAY + s", "string", "2024-02-01 12:00:00"),
        ("s - INTERVAL 1 HOUR", "string", "2024-01-31 11:00:00"),
        ("t + (INTERVAL 1 DAY + INTERVAL 1 HOUR)", "timestamp", micros(2024, 2, 1, 13)),
        ("d + (INTERVAL 1 MONTH - INTERVAL 2 MONTH)", "date", days(2023, 12, 31)),
        ("d + (INTERVAL 3 DAY - INTERVAL 1 DAY)", "date", days(2024, 2, 2)),
        ("t - d", None, 12 * HOUR),
        ("d - t", None, -12 * HOUR),
        ("t - n", None, 0),
        ("n - TIMESTAMP_NTZ'2024-01-31 00:00:00'", None, 12 * HOUR),
        ("d - DATE'2024-01-01'", None, 30),
        ("DATE'2024-01-01' - d", None, -30),
        ("d + (d - DATE'2024-01-30')", "date", days(2024, 2, 1)),
        ("t + (t - TIMESTAMP'2024-01-31 11:00:00')", "timestamp", micros(2024, 1, 31, 13)),
    ],
)
def test_sums_and_differences(call: str, kind: str | None, value: Any) -> None:
    for ansi in (True, False):
        gives, found = answers(call, ROWS, ansi)
        assert found == [value, None] and (gives == kind if kind is not None else gives.startswith("interval"))


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("t - '2024-01-31 00:00:00'", 12 * HOUR),
        ("'2024-01-31 13:00:00' - t", HOUR),
        ("d - '2024-01-01'", 30),
        ("'2024-02-01' - d", 1),
    ],
)
def test_texts_become_what_they_meet_in_ansi_mode(call: str, value: int) -> None:
    assert answers(call, ROWS)[1] == [value, None]
    with pytest.raises(InvalidPredicateError):
        answers(call, ROWS, ansi=False)


@pytest.mark.parametrize(
    "call",
    [
        *("t + 1", "1 + t", "t - 1", "t + d", "d + t", "t + t", "d + f", "f + d", "1 - d", "1.5 - d", "t + s", "d + s"),
        *("INTERVAL 1 DAY - t", "INTERVAL 1 DAY - d", "INTERVAL 1 MONTH + INTERVAL 1 DAY", "INTERVAL 1 DAY + 1"),
        *("t * INTERVAL 1 DAY", "i - INTERVAL 1 DAY"),
    ],
)
def test_what_does_not_add_up(call: str) -> None:
    for ansi in (True, False):
        with pytest.raises(InvalidPredicateError, match=r"takes no values of type|cannot be cast|has no cast"):
            answers(call, ROWS, ansi)


def test_sums_out_of_range() -> None:
    last, first = 2**63 - 1, -(2**63)
    rows = {"m": pa.array([last, first, 0, None], pa.int64())}
    out = "! the result is out of range"
    for ansi in (True, False):
        assert answers("timestamp_micros(m) + INTERVAL 1 DAY", rows, ansi)[1] == [
            out,
            first + 24 * HOUR,
            24 * HOUR,
            None,
        ]
        assert answers("timestamp_micros(m) - INTERVAL 1 SECOND", rows, ansi)[1] == [last - 10**6, out, -(10**6), None]
        assert answers("timestamp_micros(m) - timestamp_micros(0L)", rows, ansi)[1] == [last, first, 0, None]
        assert answers("timestamp_micros(m) - timestamp_micros(1L)", rows, ansi)[1] == [last - 1, out, -1, None]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("t - n", "(t - CAST(n AS TIMESTAMP))"),
        ("n - t", "(CAST(n AS TIMESTAMP) - t)"),
        ("n - d", "(n - CAST(d AS TIMESTAMP_NTZ))"),
        ("d - t", "(CAST(d AS TIMESTAMP) - t)"),
        ("d - d", "(d - d)"),
        ("n - n", "(n - n)"),
        ("d + INTERVAL 1 HOUR", "(CAST(d AS TIMESTAMP) + INTERVAL '3600' SECOND)"),
        ("d + i", "date_add(d, i)"),
        ("d - CAST(i AS SMALLINT)", "date_sub(d, CAST(CAST(i AS SMALLINT) AS INT))"),
    ],
)
def test_types_in_which_instants_meet(call: str, text: str) -> None:
    assert str(bound(call, pa.schema({name: column.type for name, column in ROWS.items()}))) == text
