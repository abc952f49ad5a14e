"""Constants of SQL: types by name, typed literals, negative numbers and intervals, with their limits."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import Function, Literal
from tableformats.expressions.parse import constants
from tableformats.schema import DecimalType, Type, primitive

DAY = 86_400_000_000
HOUR, MINUTE, SECOND = 3_600_000_000, 60_000_000, 1_000_000


@pytest.mark.parametrize(
    ("name", "sizes", "kind"),
    [
        ("boolean", (), "boolean"),
        ("TinyInt", (), "byte"),
        ("byte", (), "byte"),
        ("smallint", (), "short"),
        ("integer", (), "int"),
        ("long", (), "long"),
        ("real", (), "float"),
        ("varchar", (5,), "string"),
        ("varchar", (), "string"),
        ("character", (1,), "string"),
        ("time", (6,), "time"),
        ("timestamp_ltz", (), "timestamp"),
        ("uuid", (), "uuid"),
        ("decimal", (), DecimalType(10, 0)),
        ("dec", (5,), DecimalType(5, 0)),
        ("numeric", (38, 38), DecimalType(38, 38)),
        ("decimal", (1, 1), DecimalType(1, 1)),
        ("decimal", (38, 0), DecimalType(38, 0)),
    ],
)
def test_types_by_name(name: str, sizes: tuple[int, ...], kind: str | Type) -> None:
    assert constants.type_named(name, sizes) == (primitive(kind) if isinstance(kind, str) else kind)


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("decimal", (0, 0), "there is no decimal(0,0)"),
        ("decimal", (39,), "there is no decimal(39,0)"),
        ("decimal", (5, 6), "there is no decimal(5,6)"),
        ("decimal", (5, 2, 1), "there is no type 'decimal(5, 2, 1)' to cast to"),
        ("varchar", (5, 5), "there is no type 'varchar(5, 5)' to cast to"),
        ("int", (4,), "there is no type 'int(4)' to cast to"),
        ("Money", (), "there is no type 'Money' to cast to"),
    ],
)
def test_names_of_no_type(name: str, sizes: tuple[int, ...], said: str) -> None:
    with pytest.raises(InvalidPredicateError) as caught:
        constants.type_named(name, sizes)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("name", ["array", "Map", "STRUCT", "interval", "variant", "void"])
def test_types_that_are_not_built(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"a cast to {name.upper()} is not built"):
        constants.type_named(name)


def test_casts_of_constants_are_done_at_once() -> None:
    integer = primitive("int")
    assert constants.cast_value(Literal("7"), integer, False, True) == Literal(7, integer)
    assert constants.cast_value(Literal("x"), integer, True, True) == Literal(None, integer)
    assert constants.cast_value(Literal("1.5"), integer, True, False) == Literal(None, integer), "as in ANSI mode"
    assert constants.cast_value(Literal("1.5"), integer, False, False) == Literal(1, integer)
    assert constants.cast_value(Literal("x"), integer, False, False) == Literal(None, integer)
    with pytest.raises(InvalidPredicateError, match="cannot be cast to int"):
        constants.cast_value(Literal("x"), integer, False, True)
    column = Function("upper", (Literal("a"),))
    for is_try, name in ((False, "cast"), (True, "try_cast")):
        for ansi in (True, False):
            assert constants.cast_value(column, integer, is_try, ansi) == Function(name, (column,), integer, ansi)


TODAY = Function("current_date", ())


@pytest.mark.parametrize(
    ("word", "text", "value"),
    [
        ("DATE", "2024-02-29", Literal(19782, primitive("date"))),
        ("DATE", " Epoch ", Literal(0, primitive("date"))),
        ("TIMESTAMP", "epoch", Literal(0, primitive("timestamp"))),
        ("TIMESTAMP_NTZ", "epoch", Literal(0, primitive("timestamp_ntz"))),
        ("DATE", "today", TODAY),
        ("DATE", "NOW", TODAY),
        ("DATE", "tomorrow", Function("date_add", (TODAY, Literal(1)))),
        ("DATE", "yesterday", Function("date_add", (TODAY, Literal(-1)))),
        ("TIMESTAMP", "now", Function("current_timestamp", ())),
        ("TIMESTAMP_LTZ", "now", Function("current_timestamp", ())),
        ("TIMESTAMP_NTZ", "now", Function("localtimestamp", ())),
        ("TIMESTAMP", "today", Function("cast", (TODAY,), primitive("timestamp"))),
        (
            "TIMESTAMP_NTZ",
            "tomorrow",
            Function("cast", (Function("date_add", (TODAY, Literal(1))),), primitive("timestamp_ntz")),
        ),
        ("TIME", "01:00:00", Literal(HOUR, primitive("time"))),
        ("TIMESTAMP", "1970-01-01 00:00:01", Literal(SECOND, primitive("timestamp"))),
    ],
)
def test_typed_literals(word: str, text: str, value: Any) -> None:
    assert constants.typed(word, text, True) == value


@pytest.mark.parametrize(("word", "text"), [("TIME", "now"), ("TIME", "epoch"), ("DATE", "x"), ("DATE", "todays")])
def test_texts_of_no_typed_literal(word: str, text: str) -> None:
    for ansi in (True, False):
        with pytest.raises(InvalidPredicateError, match="cannot be cast"):
            constants.typed(word, text, ansi)


@pytest.mark.parametrize(
    ("value", "kind", "opposite"),
    [
        (5, None, -5),
        (-5, None, 5),
        (-(2**63), None, 2**63),
        (2**63, None, -(2**63)),
        (1.5, None, -1.5),
        (0.0, "double", -0.0),
        (Decimal("1.50"), None, Decimal("-1.50")),
        (Decimal("0.0"), None, Decimal("-0.0")),
        (5, "byte", -5),
        (-127, "byte", 127),
        (-32767, "short", 32767),
        (-(2**63) + 1, "long", 2**63 - 1),
    ],
)
def test_negative_numbers(value: Any, kind: str | None, opposite: Any) -> None:
    typed = None if kind is None else primitive(kind)
    assert repr(constants.negative(Literal(value, typed), True)) == repr(Literal(opposite, typed))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(-128, "byte"), (-(2**15), "short"), (-(2**63), "long"), (None, None), (True, None), ("a", None), (5, "date")],
)
def test_what_is_negated_on_rows(value: Any, kind: str | None) -> None:
    literal = Literal(value, None if kind is None else primitive(kind))
    for ansi in (True, False):
        assert constants.negative(literal, ansi) == Function("negative", (literal,), ansi=ansi)


def interval_of(amount: int, unit: str) -> Function:
    return Function("interval", (Literal(amount), Literal(unit)))


def test_a_negative_interval() -> None:
    assert constants.negative(interval_of(3, "month"), True) == interval_of(-3, "month")


@pytest.mark.parametrize(
    ("parts", "amount", "unit"),
    [
        ([("1", "YEAR"), ("2", "MONTHS")], 14, "month"),
        ([("-1", "YEARS")], -12, "month"),
        ([("1", "WEEK"), ("2", "DAYS")], 9, "day"),
        ([("-1", "DAY")], -1, "day"),
        ([("1", "DAY"), ("2", "HOURS")], DAY + 2 * HOUR, "microsecond"),
        ([("1", "HOUR"), ("-1", "MINUTE")], HOUR - MINUTE, "microsecond"),
        ([("1.5", "SECONDS")], 1_500_000, "microsecond"),
        ([("-0.0000019", "SECOND")], -1, "microsecond"),
        ([("1", "MILLISECOND"), ("1", "MICROSECONDS")], 1_001, "microsecond"),
        ([("2147483647", "MONTH")], 2**31 - 1, "month"),
        ([("-2147483648", "MONTH")], -(2**31), "month"),
        ([("9223372036854.775807", "SECOND")], 2**63 - 1, "microsecond"),
        ([("-9223372036854.775808", "SECOND")], -(2**63), "microsecond"),
        ([("2147483648", "DAY")], 2**31, "day"),
    ],
)
def test_intervals(parts: list[tuple[str, str]], amount: int, unit: str) -> None:
    assert constants.interval(parts, True) == interval_of(amount, unit)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([("1", "MONTH"), ("1", "DAY")], "cannot mix years or months with days or times"),
        ([("1.5", "DAY")], "1.5"),
        ([("x", "SECOND")], "x"),
        ([("x", "YEAR")], "x"),
        ([("2147483648", "MONTH")], "too long"),
        ([("-2147483649", "MONTH")], "too long"),
        ([("9223372036854.775808", "SECOND")], "too long"),
        ([("-9223372036854.775809", "SECOND")], "too long"),
        ([("1234567890123456789", "DAY")], "no whole number of days"),
    ],
)
def test_intervals_of_no_amount(parts: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(InvalidPredicateError, match=said):
        constants.interval(parts, True)


@pytest.mark.parametrize(
    ("text", "first", "last", "amount", "unit"),
    [
        ("1-11", "YEAR", "MONTH", 23, "month"),
        ("-1-2", "YEAR", "MONTH", -14, "month"),
        (" +1-0 ", "YEARS", "MONTHS", 12, "month"),
        ("1 23", "DAY", "HOUR", DAY + 23 * HOUR, "microsecond"),
        ("-1 1", "DAY", "HOUR", -DAY - HOUR, "microsecond"),
        ("1T02:59", "DAY", "MINUTE", DAY + 2 * HOUR + 59 * MINUTE, "microsecond"),
        ("1 02:03:59.5", "DAY", "SECOND", DAY + 2 * HOUR + 3 * MINUTE + 59_500_000, "microsecond"),
        ("1 02:03", "DAY", "SECOND", DAY + 2 * HOUR + 3 * MINUTE, "microsecond"),
        ("100:59", "HOUR", "MINUTE", 100 * HOUR + 59 * MINUTE, "microsecond"),
        ("1:2:3", "HOUR", "SECOND", HOUR + 2 * MINUTE + 3 * SECOND, "microsecond"),
        ("100:59.999999", "MINUTE", "SECOND", 100 * MINUTE + 59_999_999, "microsecond"),
    ],
)
def test_intervals_of_fields(text: str, first: str, last: str, amount: int, unit: str) -> None:
    assert constants.interval_fields(text, first, last, True) == interval_of(amount, unit)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1-12", "YEAR", "MONTH"),
        ("1", "YEAR", "MONTH"),
        ("1 24", "DAY", "HOUR"),
        ("1 02:60", "DAY", "MINUTE"),
        ("1:60", "HOUR", "MINUTE"),
        ("1:60", "MINUTE", "SECOND"),
        ("1:59:60", "HOUR", "SECOND"),
        ("--1-1", "YEAR", "MONTH"),
        ("", "DAY", "HOUR"),
    ],
)
def test_texts_without_these_fields(text: str, first: str, last: str) -> None:
    with pytest.raises(InvalidPredicateError, match=f"is no interval of {first} TO {last}"):
        constants.interval_fields(text, first, last, True)


@pytest.mark.parametrize(("first", "last"), [("MONTH", "YEAR"), ("DAY", "DAY"), ("YEAR", "DAY"), ("x", "HOUR")])
def test_fields_of_no_interval(first: str, last: str) -> None:
    with pytest.raises(InvalidPredicateError, match=f"there is no interval of {first} TO {last}"):
        constants.interval_fields("1", first, last, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 day 2 hours", [("1", "DAY"), ("2", "HOURS")]),
        ("Interval -1 month", [("-1", "MONTH")]),
        (" + 1.5 seconds ", [("+1.5", "SECONDS")]),
        (".5 second", [(".5", "SECOND")]),
        ("1day-2hours", [("1", "DAY"), ("-2", "HOURS")]),
    ],
)
def test_texts_of_intervals(text: str, parts: list[tuple[str, str]]) -> None:
    assert constants.interval_text(text) == parts


@pytest.mark.parametrize("text", ["", "interval", "1", "day", "1 day x", "1 fortnight", "1 day 2"])
def test_texts_of_no_interval(text: str) -> None:
    with pytest.raises(InvalidPredicateError, match="is no interval"):
        constants.interval_text(text)


def test_infinite_numbers_are_negated() -> None:
    assert constants.negative(Literal(math.inf), True) == Literal(-math.inf)
