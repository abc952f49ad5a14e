"""Every function gives Spark's value on every row, or an error where Spark has one, with and without ANSI mode.

Spark's answers are stored (tests/golden/function_answers.json); tests/spark/test_functions.py asks Spark again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import zlib
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import Function, Holds, Value, casts
from tableformats.expressions.binding import bind, bound_value
from tableformats.expressions.evaluation import computed
from tableformats.expressions.functions.arithmetic import rounded
from tableformats.expressions.functions.coercion import type_of
from tableformats.expressions.functions.vectors import RowError, python_values
from tableformats.expressions.parse import parse_filter
from tableformats.schema import DecimalType, Schema
from tests.support import function_cases

ANSWERS: dict[str, Any] = json.loads(function_cases.ANSWERS.read_text("utf-8"))
TABLE = function_cases.table().combine_chunks()
SCHEMA = Schema.from_arrow(TABLE.schema)
_JAVA = "Java before 19 prints more digits of a FLOAT than it needs; ours is the text of later versions"
_FLOATS = ("CAST(d AS FLOAT)", "CAST(l AS FLOAT)", "CAST(i AS FLOAT)")
DIFFERENT: dict[tuple[str, str], str] = {(text, mode): _JAVA for text in _FLOATS for mode in ("ansi", "legacy")}
"""What differs from Spark, by expression and mode, and why."""


def value_of(text: str, ansi: bool) -> Value:
    """An expression bound to the rows' columns."""
    parsed = parse_filter(f"coalesce({text}, NULL) IS NULL", ansi)
    assert isinstance(parsed, Holds)
    (given,) = parsed.value.arguments
    assert isinstance(given, Function)
    return bound_value(given.arguments[0], SCHEMA, ansi=ansi)


def our_answers(text: str, ansi: bool) -> tuple[str, list[Any]]:
    """The type and the texts of our values, as the stored answers have them."""
    value = value_of(text, ansi)
    batch = TABLE.to_batches()[0]
    found = computed(value, lambda column: batch.column(column.field.name), batch.num_rows)
    kind = type_of(value)
    texts: list[Any] = [_text(v, kind, ansi) for v in python_values(found.values, kind)]
    for failure in found.failures:
        for row in failure.rows.nonzero()[0]:
            texts[row] = False
    return str(kind), texts


def _text(value: Any, kind: Any, ansi: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.hex().upper()
    return casts.printed(value, kind, ansi)


@pytest.mark.parametrize("mode", ["ansi", "legacy"])
@pytest.mark.parametrize("text", list(ANSWERS))
def test_values_are_those_of_spark(text: str, mode: str) -> None:
    expected = ANSWERS[text][mode]
    try:
        kind, texts = our_answers(text, mode == "ansi")
    except UnsupportedFeatureError:
        assert (text, mode) in DIFFERENT, "Arrow refuses it"
        return
    except InvalidPredicateError:
        assert expected is False or False in expected
        return
    if (text, mode) in DIFFERENT:
        assert texts != expected, "it does not differ any more"
        return
    assert texts == expected
    assert kind == ANSWERS[text][f"{mode}_type"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("round(m, -3)", "decimal(9,0)"),
        ("round(m, -9)", "decimal(10,0)"),
        ("bround(m, -20)", "decimal(21,0)"),
        ("round(m, -40)", "decimal(38,0)"),
        ("floor(m, 1)", "decimal(10,1)"),
        ("ceil(m, 5)", "decimal(11,2)"),
        ("round(w, 18)", "decimal(38,18)"),
    ],
)
def test_types_of_rounded_decimals(text: str, kind: str) -> None:
    """By the rule of Spark's RoundBase, for more numbers of digits than answers are stored for."""
    assert str(type_of(value_of(text, True))) == kind


def constant(call: str) -> object:
    """The value of a call of constants."""
    value = value_of(call, True)
    found = computed(value, lambda column: None, 1)
    assert not found.failures
    return python_values(found.values, type_of(value))[0]


@pytest.mark.parametrize("text", ["", "abc", "é😀", "x" * 200])
def test_digests_are_those_of_the_standard_library(text: str) -> None:
    data = text.encode()
    for bits in (0, 224, 256, 384, 512):
        assert constant(f"sha2('{text}', {bits})") == hashlib.new(f"sha{bits or 256}", data).hexdigest(), bits
    for bits in (-1, 1, 225, 255, 257, 385, 511, 513):
        assert constant(f"sha2('{text}', {bits})") is None, bits
    assert constant(f"md5('{text}')") == hashlib.md5(data).hexdigest()
    assert constant(f"sha1('{text}')") == hashlib.sha1(data).hexdigest()
    assert constant(f"crc32('{text}')") == zlib.crc32(data)


def located(part: str, text: str, start: int) -> int:
    """The first place from ``start`` on, counted from 1; 0: there is none."""
    places = [at for at in range(1, len(text) + 2) if text[at - 1 :].startswith(part) and at >= start]
    return (1 if not part else min(places, default=0)) if start >= 1 else 0


def test_places_in_texts() -> None:
    for part, text in itertools.product(("", "a", "b", "ab", "ba", "abc"), ("", "ab", "abab", "xabcab")):
        assert constant(f"instr('{text}', '{part}')") == located(part, text, 1), (part, text)
        assert constant(f"locate('{part}', '{text}')") == located(part, text, 1), (part, text)
        for start in range(-1, 8):
            assert constant(f"locate('{part}', '{text}', {start})") == located(part, text, start), (part, text, start)


DAY = dt.datetime(2024, 12, 30, 21, 43, 56, 789_000)
EXTRACTED = {
    ("year", "y", "years", "yr", "yrs"): 2024,
    ("quarter", "qtr"): 4,
    ("month", "mon", "mons", "months"): 12,
    ("week", "w", "weeks"): 1,
    ("day", "d", "days"): 30,
    ("dayofweek", "dow"): 2,
    ("dayofweek_iso", "dow_iso"): 1,
    ("doy",): 365,
    ("yearofweek",): 2025,
    ("hour", "h", "hours", "hr", "hrs"): 21,
    ("minute", "m", "min", "mins", "minutes"): 43,
    ("second", "s", "sec", "seconds", "secs"): Decimal("56.789000"),
}


@pytest.mark.parametrize(("names", "value"), EXTRACTED.items(), ids=lambda value: str(value)[:12])
def test_fields_of_timestamps(names: tuple[str, ...], value: object) -> None:
    for name in names:
        assert constant(f"extract({name} FROM TIMESTAMP'{DAY}Z')") == value, name
        assert constant(f"date_part('{name.upper()}', TIMESTAMP_NTZ'{DAY}')") == value, name


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "UTC", "+05:30"])
def test_zones_repeat_after_400_years(zone: str) -> None:
    """Far from today the rules are those of the same day in another cycle of the calendar."""
    for text, new_york in (("07-01 12:00:00", 4), ("01-01 12:00:00", 5)):
        hours = {"America/New_York": new_york, "Europe/Berlin": new_york - 6, "UTC": 0, "+05:30": -5.5}[zone]
        for year in (2024, 2424, 2824, 10024, 290024):
            sign = "+" if year > 9999 else ""
            local = f"TIMESTAMP'{sign}{year}-{text}Z'"
            for name, factor in (("to_utc_timestamp", 1), ("from_utc_timestamp", -1)):
                moved = constant(f"unix_micros({name}({local}, '{zone}')) - unix_micros({local})")
                assert moved == factor * hours * 3_600_000_000, (name, local)
    for year in ("0000", "-0001", "-0400"):
        local = f"TIMESTAMP'{year}-03-01 00:00:00Z'"
        assert constant(f"unix_micros(to_utc_timestamp({local}, 'UTC')) - unix_micros({local})") == 0


SIGNED = {
    "+5": 5,
    "-5": -5,
    "- 5": -5,
    "+-5": -5,
    "-+5": -5,
    "-(-5)": 5,
    "- -5": 5,
    "+ +5": 5,
    "~5": -6,
    "~-5": 4,
    "-~5": 6,
    "-(5)": -5,
    "+(5)": 5,
    "-9223372036854775808L": -(2**63),
    "1 - -5": 6,
    "1 - +5": -4,
}


@pytest.mark.parametrize(("text", "number"), SIGNED.items())
def test_signs(text: str, number: int) -> None:
    assert constant(text) == number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("99.9", "99.9"),
        ("-99.9", "-99.9"),
        ("99.94", "99.9"),
        ("99.95", None),
        ("-99.95", None),
        ("100", None),
        ("0.05", "0.1"),
        ("-0.04", "0.0"),
        ("NaN", None),
    ],
)
def test_decimals_are_rounded_half_up_within_their_digits(value: str, expected: str | None) -> None:
    kind = DecimalType(3, 1)
    found = rounded(Decimal(value), kind, False)
    assert (found if found is None else str(found)) == expected
    if expected is None:
        with pytest.raises(RowError):
            rounded(Decimal(value), kind, True)


def distance(left: str, right: str) -> int:
    """The least number of letters to add, remove or replace."""
    if not left or not right:
        return len(left) + len(right)
    same = distance(left[1:], right[1:]) + (left[0] != right[0])
    return min(same, distance(left[1:], right) + 1, distance(left, right[1:]) + 1)


def test_distances_of_texts() -> None:
    for left, right in itertools.product(("", "a", "ab", "ba", "abc", "cab", "aabb", "bcba"), repeat=2):
        assert constant(f"levenshtein('{left}', '{right}')") == distance(left, right), (left, right)


def test_stored_answers_are_those_of_these_expressions() -> None:
    assert list(ANSWERS) == function_cases.EXPRESSIONS
    assert isinstance(value_of("i + 1", True), Function)


def test_the_hint_is_a_cast_that_there_is() -> None:
    schema = Schema.from_arrow(pa.schema([("day", pa.date32()), ("flag", pa.bool_())]))
    hints = []
    for text in ("isnan(day)", "isnan(flag)"):
        with pytest.raises(InvalidPredicateError, match="where a double is needed") as caught:
            bind(parse_filter(text), schema)
        hints.append(caught.value.hint)
    assert hints == [None, "Cast it: CAST(flag AS DOUBLE)."], "Spark casts no date to a number"
