"""Bounds of columns, made of what logs say: exact values, and how far they are moved for what writers lose."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.statistics.bounds import (
    _suspects,
    _widen_timestamps,
    bound_pair,
    ends_of_int64,
    exact_values,
    in_either_calendar,
)
from tableformats_delta.statistics.stats_json import Leaf

from tableformats.plugin import DecimalType, Type, primitive

DAY = 86_400_000_000
YEAR_1900 = -2_208_988_800_000_000
GREGORIAN = -141_427
"""Days from 1582-10-15 to 1970."""
YEAR_1 = -719_164
"""Days from the first day of year 1 of the hybrid calendar to 1970."""
INSTANT = pa.timestamp("us", "UTC")
REPLACED = "\ufffd"


def kind_of(text: str) -> Type:
    return DecimalType(*map(int, text[8:-1].split(","))) if text.startswith("decimal") else primitive(text)


def leaf(kind: str, **more: Any) -> Leaf:
    return Leaf(1, ("c",), kind_of(kind), more.pop("from_float", False), **more)


def pair(of: Leaf, low: Any, high: Any, raw: pa.DataType | None = None) -> list[Any]:
    found = bound_pair(of, pa.array([low], raw), pa.array([high], raw))
    return [side.to_pylist()[0] for side in found]


def numbers(arrays: tuple[pa.Array, pa.Array]) -> list[list[Any]]:
    return [array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64()).to_pylist() for array in arrays]


@pytest.mark.parametrize(
    ("kind", "raw", "wanted"),
    [
        ("byte", [-129, -128, 127, 128, None], [None, -128, 127, None, None]),
        ("byte", [-128, 127], [-128, 127]),
        ("short", [-32_769, -32_768, 32_767, 32_768], [None, -32_768, 32_767, None]),
        ("int", [-(2**31) - 1, -(2**31), 2**31 - 1, 2**31], [None, -(2**31), 2**31 - 1, None]),
        ("long", [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        ("long", ["1", None], [None, None]),
        ("string", [1], [None]),
        ("string", ["a"], ["a"]),
        ("double", [1, None], [1.0, None]),
        ("double", [dt.date(2020, 1, 1)], [None]),
        ("boolean", [True], [None]),
        ("binary", ["a"], [None]),
        ("date", ["2020-01-02", "x", None], [dt.date(2020, 1, 2), None, None]),
        ("date", [5], [None]),
        (
            "timestamp_ntz",
            ["2020-01-02T03:04:05.006", "2020-01-02"],
            [dt.datetime(2020, 1, 2, 3, 4, 5, 6000), dt.datetime(2020, 1, 2)],
        ),
        ("decimal(3,1)", [Decimal("99.9"), Decimal("-99.9"), None], [Decimal("99.9"), Decimal("-99.9"), None]),
        ("decimal(3,1)", [Decimal("99.9"), Decimal("100.0")], [Decimal("99.9"), None]),
        ("decimal(3,1)", ["1.0"], [None]),
    ],
)
def test_exact_values(kind: str, raw: list[Any], wanted: list[Any]) -> None:
    assert exact_values(leaf(kind), pa.array(raw)).to_pylist() == wanted


def test_instants_need_a_zone() -> None:
    texts = ["2020-01-02T03:04:05.006Z", "2020-01-02T03:04:05.006+01:00", "2020-01-02T03:04:05.006", "x", None]
    found = exact_values(leaf("timestamp"), pa.array(texts)).to_pylist()
    first = dt.datetime(2020, 1, 2, 3, 4, 5, 6000, dt.timezone.utc)
    assert found == [first, first - dt.timedelta(hours=1), None, None, None]
    values = pa.array([1, None], pa.timestamp("ms", "UTC"))
    assert exact_values(leaf("timestamp"), values).cast(pa.int64()).to_pylist() == [1000, None]


# ---- dates and times -------------------------------------------------------------------------------------------------


def test_instants_that_were_cut() -> None:
    """To milliseconds, and before 1900 offsets of zones to minutes."""
    low, high = (pa.array([YEAR_1900 - 1, YEAR_1900, 0, None], INSTANT) for _ in range(2))
    minute = 60_000_000
    assert numbers(_widen_timestamps(low, high)) == [
        [YEAR_1900 - 1 - minute, YEAR_1900, 0, None],
        [YEAR_1900 - 1 + minute + 999, YEAR_1900 + 999, 999, None],
    ]


def test_instants_at_the_ends_of_time() -> None:
    margin = 60_000_999
    low = pa.array([-(2**63) + margin, -(2**63) + margin + 1, 2**63 - 1], INSTANT)
    high = pa.array([2**63 - margin, 2**63 - margin - 1, -(2**63)], INSTANT)
    first, last = numbers(_widen_timestamps(low, high))
    assert first == [None, -(2**63) + margin + 1 - 60_000_000, 2**63 - 1]
    assert last == [None, 2**63 - margin - 1 + 999, -(2**63) + 60_000_999]


def test_texts_of_instants() -> None:
    """They are in one calendar."""
    low, high = bound_pair(leaf("timestamp"), *(pa.array(["1500-01-01T00:00:00.000Z"]) for _ in range(2)))
    start = dt.datetime(1500, 1, 1, tzinfo=dt.timezone.utc)
    assert low.to_pylist() == [start - dt.timedelta(minutes=1)]
    assert high.to_pylist() == [start + dt.timedelta(minutes=1, microseconds=999)]


@pytest.mark.parametrize(
    ("day", "low", "high"),
    [
        (GREGORIAN, GREGORIAN, GREGORIAN),
        (GREGORIAN - 1, GREGORIAN - 11, GREGORIAN + 1),
        (YEAR_1, YEAR_1 - 10, YEAR_1 + 2),
        (YEAR_1 - 1, None, None),
        (None, None, None),
    ],
)
def test_days_in_either_calendar(day: int | None, low: int | None, high: int | None) -> None:
    for others in ([], [GREGORIAN - 5]):
        days = pa.array([day, *others], pa.date32())
        found = numbers(in_either_calendar(days, days))
        assert [side[0] for side in found] == [low, high]
        assert [side[1:] for side in found] == ([[], []] if not others else [[GREGORIAN - 15], [GREGORIAN - 3]])


@pytest.mark.parametrize(
    ("micros", "low", "high"),
    [
        (YEAR_1900, YEAR_1900, YEAR_1900),
        (YEAR_1900 - 1, YEAR_1900 - 1 - 12 * DAY, YEAR_1900 - 1 + 4 * DAY),
        (YEAR_1 * DAY, (YEAR_1 - 12) * DAY, (YEAR_1 + 4) * DAY),
        (YEAR_1 * DAY - 1, None, None),
    ],
)
def test_instants_in_either_calendar(micros: int, low: int | None, high: int | None) -> None:
    for kind in (INSTANT, pa.timestamp("us")):
        found = in_either_calendar(*(pa.array([micros], kind) for _ in range(2)))
        assert numbers(found) == [[low], [high]] and found[0].type == kind


def test_only_times_are_in_calendars() -> None:
    low, high = pa.array([-(10**6)]), pa.array([1.0])
    found = in_either_calendar(low, high)
    assert found[0] is low and found[1] is high


def test_typed_days_move_and_texts_stay() -> None:
    assert pair(leaf("date"), "1500-01-01", "1500-01-01") == [dt.date(1500, 1, 1)] * 2
    day = dt.date(1500, 1, 1)
    moved = [day - dt.timedelta(days=10), day + dt.timedelta(days=2)]
    assert pair(leaf("date"), day, day, pa.date32()) == moved


# ---- decimals and floats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("decimal(18,0)", None),
        ("decimal(19,0)", (-(2**63), 2**63 - 1)),
        ("decimal(38,0)", (-(2**63), 2**63 - 1)),
        ("decimal(38,1)", None),
    ],
)
def test_ends_of_integers(kind: str, ends: tuple[int, int] | None) -> None:
    of = kind_of(kind)
    assert isinstance(of, DecimalType)
    found = ends_of_int64(of)
    assert (None if found is None else tuple(int(one.as_py()) for one in found)) == ends


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        ("decimal(15,0)", "999999999999999", "999999999999999", ["999999999999999", "999999999999999"]),
        ("decimal(16,0)", "5629499534213120", "5629499534213120", ["5629499534213110", "5629499534213130"]),
        ("decimal(16,0)", "-5629499534213120", "-5629499534213120", ["-5629499534213130", "-5629499534213110"]),
        ("decimal(16,2)", "1.00", "1.00", ["1.00", "1.00"]),
        ("decimal(16,0)", "-9999999999999999", "9999999999999999", [None, None]),
        ("decimal(20,0)", "-9223372036854775808", "9223372036854775807", [None, None]),
        (
            "decimal(20,0)",
            "-9223372036854775807",
            "9223372036854775806",
            ["-9223372036854792191", "9223372036854792190"],
        ),
        ("decimal(18,0)", "-999999999999999999", "0", [None, "0"]),
        ("decimal(16,0)", None, "0", [None, "0"]),
    ],
)
def test_decimals_that_were_doubles(kind: str, low: str | None, high: str, wanted: list[str | None]) -> None:
    """A bound moves by 2**-49 of itself: 5629499534213120 is ten times 2**49."""
    of = kind_of(kind)
    assert isinstance(of, DecimalType)
    raw = pa.decimal128(38, of.scale)
    found = pair(leaf(kind), None if low is None else Decimal(low), Decimal(high), raw)
    assert found == [None if text is None else Decimal(text) for text in wanted]


def test_floats_that_are_doubles_now() -> None:
    """Of the float and its shortest decimal the outer one counts."""
    above, below = 3.14, 0.7
    as_floats = [float(np.float32(value)) for value in (above, below)]
    assert as_floats[0] > above and as_floats[1] < below
    assert pair(leaf("double", from_float=True), above, above) == [above, as_floats[0]]
    assert pair(leaf("double", from_float=True), below, below) == [as_floats[1], below]
    assert pair(leaf("double"), above, above) == [above, above]


# ---- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("high", "wanted"),
    [
        ("", ""),
        ("x" * 31, "x" * 31),
        ("x" * 32, "x" * 32 + "\U0010ffff"),
        ("x" * 33, "x" * 33),
        ("é" * 16, "é" * 16),
        ("é" * 32, "é" * 32 + "\U0010ffff"),
        ("x" * 14 + "?\x7f", "x" * 14 + "?\x7f"),
        ("x" * 15 + "?\x7f", None),
        ("x" * 15 + "?" + REPLACED, None),
        ("x" * 15 + "?\U0010ffff", None),
        ("x" * 15 + "?" + "\n" * 9 + "\x7f", None),
        ("x" * 15 + "?y", "x" * 15 + "?y"),
        ("x" * 31 + "?\x7f", None),
        ("x" * 32 + "?\x7f", "x" * 32 + "?\x7f"),
    ],
)
def test_texts_that_were_cut(high: str, wanted: str | None) -> None:
    """Thirty-two characters may be the start of more. A '?' may be half of a character that was lost."""
    for before in ([], ["x" * 40, None]):
        values = pa.array([*before, high, "", None])
        _, found = bound_pair(leaf("string"), pa.nulls(len(values), pa.string()), values)
        assert found.to_pylist() == [*before, wanted, "", None]


def test_which_texts_are_looked_at() -> None:
    values = pa.array(["x" * 32, "a\x7f", "a", "a" + REPLACED, "x" * 31, "x" * 40])
    assert _suspects(values).tolist() == [True, True, False, True, False, True]
    assert _suspects(values.slice(2, 2)).tolist() == [False, True]
    assert _suspects(values.slice(3)).tolist() == [True, False, True]
    assert _suspects(pa.array(["", ""])).tolist() == [False, False]
    assert _suspects(pa.nulls(2, pa.string())).tolist() == [False, False]


def test_texts_of_padded_columns() -> None:
    assert pair(leaf("string", char_length=3), "a", "a\t") == ["a", "a  "]
    assert pair(leaf("string"), "a", "a\t") == ["a", "a\t"]


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        ("long", 2, 1, [None, None]),
        ("long", 1, 1, [1, 1]),
        ("long", None, 1, [None, 1]),
        ("string", "b", "a", [None, None]),
        ("string", "b", "a" + REPLACED, ["b", "a" + REPLACED]),
        ("string", "b" + REPLACED, "a", ["b" + REPLACED, "a"]),
    ],
)
def test_bounds_that_contradict_each_other(kind: str, low: Any, high: Any, wanted: list[Any]) -> None:
    """The order of texts with U+FFFD is not that of the values."""
    assert pair(leaf(kind), low, high) == wanted
    columns = [
        pa.array([value, other])
        for value, other in zip((low, high), ("5", "6") if kind == "string" else (5, 6), strict=True)
    ]
    found = bound_pair(leaf(kind), *columns)
    assert [side.to_pylist()[1] for side in found] == [column.to_pylist()[1] for column in columns]
