"""Where a literal lies among the values of a column's type: at a value, or between which two of them."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Literal
from tableformats.expressions.casts import cast, printed
from tableformats.expressions.fitting import Fit, fit
from tableformats.schema import DecimalType, FixedType, Type, primitive

DAY = 86_400_000_000
NANOS = DAY * 1000
UTC = dt.timezone.utc
LEAST, GREATEST = -(2**63), 2**63 - 1


def kind_of(name: str | Type) -> Type:
    return primitive(name) if isinstance(name, str) else name


def of(value: int, name: str) -> Literal:
    """A literal of a type whose values are counted."""
    return Literal(value, primitive(name))


INTEGERS = [
    (5, 5, 0),
    (-128, -128, 0),
    (127, 127, 0),
    (128, 127, 1),
    (-129, -128, -1),
    (2**80, 127, 1),
    (1.5, 1, 1),
    (-1.5, -2, 1),
    (2.0, 2, 0),
    (127.5, 127, 1),
    (-128.5, -128, -1),
    (1e300, 127, 1),
    (-1e300, -128, -1),
    (math.inf, 127, 1),
    (-math.inf, -128, -1),
    (math.nan, 127, 1),
    (Decimal("1.25"), 1, 1),
    (Decimal("-0.5"), -1, 1),
    (Decimal("7.00"), 7, 0),
    ("7", 7, 0),
    (" +7\t", 7, 0),
    ("-8", -8, 0),
    ("300", 127, 1),
]
DECIMALS = [  # DECIMAL(4,2)
    (1, Decimal("1.00"), 0),
    (99, Decimal("99.00"), 0),
    (100, Decimal("99.99"), 1),
    (-100, Decimal("-99.99"), -1),
    (Decimal("1.25"), Decimal("1.25"), 0),
    (Decimal("1.251"), Decimal("1.25"), 1),
    (Decimal("-1.251"), Decimal("-1.26"), 1),
    (Decimal("99.99"), Decimal("99.99"), 0),
    (Decimal("99.991"), Decimal("99.99"), 1),
    (Decimal("-99.991"), Decimal("-99.99"), -1),
    (Decimal("-0.001"), Decimal("-0.01"), 1),
    (Decimal("0.001"), Decimal("0.00"), 1),
    (Decimal("-0.0"), Decimal("0.00"), 0),
    (0.1, Decimal("0.10"), 0),
    (0.125, Decimal("0.12"), 1),
    (math.inf, Decimal("99.99"), 1),
    (-math.inf, Decimal("-99.99"), -1),
    (math.nan, Decimal("99.99"), 1),
    ("0.1", Decimal("0.10"), 0),
    ("1e1", Decimal("10.00"), 0),
    ("0.10000000000000000001", Decimal("0.10"), 0),  # as a double
]
DOUBLES = [
    (1, 1.0, 0),
    (2**53 + 1, 2.0**53, 0),
    (10**400, math.inf, -1),
    (-(10**400), -math.inf, 1),
    (Decimal("1e400"), math.inf, -1),
    (Decimal("0.1"), 0.1, 0),
    (1.5, 1.5, 0),
    (-0.0, 0.0, 0),
    (math.inf, math.inf, 0),
    (-math.inf, -math.inf, 0),
    (math.nan, math.nan, 0),
    ("1.5", 1.5, 0),
    ("1e400", math.inf, 0),
    ("-1e400", -math.inf, 0),
    ("NaN", math.nan, 0),
    ("0x1p3", 8.0, 0),
]
NUL, ID = b"\0", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
CASES: list[tuple[Any, str | Type, Any, int]] = [
    *((value, "byte", fitted, side) for value, fitted, side in INTEGERS),
    *((value, DecimalType(4, 2), fitted, side) for value, fitted, side in DECIMALS),
    *((value, name, fitted, side) for value, fitted, side in DOUBLES for name in ("double", "float")),
    ("0.10000000000000000001", DecimalType(16, 2), Decimal("0.10"), 1),
    ("0.10000000000000000001", DecimalType(15, 2), Decimal("0.10"), 0),
    (2**63, "long", 2**63 - 1, 1),
    (-(2**63), "long", -(2**63), 0),
    *((text, "boolean", True, 0) for text in ("t", "TRUE", " y ", "Yes", "1")),
    *((text, "boolean", False, 0) for text in ("f", "False", "n", "NO", "0")),
    (True, "boolean", True, 0),
    ("a", "string", "a", 0),
    ("a\u00e9", "binary", b"a\xc3\xa9", 0),
    (b"\xff", "binary", b"\xff", 0),
    (b"ab", FixedType(2), b"ab", 0),
    (b"a", FixedType(2), b"a" + NUL, -1),
    (b"abc", FixedType(2), b"ab", 1),
    (b"", FixedType(2), NUL * 2, -1),
    (ID, "uuid", ID.bytes, 0),
    (ID.bytes, "uuid", ID.bytes, 0),
    (str(ID), "uuid", ID.bytes, 0),
    (str(ID).upper(), "uuid", ID.bytes, 0),
    (dt.time(1, 2, 3, 4), "time", 3_723_000_004, 0),
    ("01:02:03", "time", 3_723_000_000, 0),
    (dt.date(1970, 1, 2), "date", 1, 0),
    ("1970-01-02", "date", 1, 0),
    (dt.datetime(1970, 1, 2), "date", 1, 0),
    (dt.datetime(1970, 1, 2, 0, 0, 0, 1), "date", 1, 1),
    (dt.datetime(1969, 12, 31, 23), "date", -1, 1),
    (of(NANOS + 1, "timestamp_ntz_ns"), "date", 1, 1),
    (dt.date(1970, 1, 2), "timestamp", DAY, 0),
    (dt.date(1970, 1, 2), "timestamp_ns", NANOS, 0),
    (of(2**31 - 1, "date"), "timestamp", GREATEST, 1),
    (of(-(2**31), "date"), "timestamp", LEAST, -1),
    (of(2**31 - 1, "date"), "date", 2**31 - 1, 0),
    (dt.datetime(1970, 1, 2, tzinfo=UTC), "timestamp", DAY, 0),
    (dt.datetime(1970, 1, 2), "timestamp_ntz_ns", NANOS, 0),
    (of(1_999, "timestamp_ns"), "timestamp", 1, 1),
    (of(2_000, "timestamp_ns"), "timestamp", 2, 0),
    (of(-1, "timestamp_ns"), "timestamp", -1, 1),
    (of(1, "timestamp_ns"), "timestamp_ns", 1, 0),
    (of(GREATEST, "timestamp"), "timestamp_ns", GREATEST, 1),
    (of(LEAST, "timestamp"), "timestamp_ns", LEAST, -1),
    ("1970-01-01 00:00:00.0000019", "timestamp", 1, 0),  # digits of a text are dropped
    ("1970-01-01 00:00:00.0000019", "timestamp_ns", 1_900, 0),
    ("1970-01-01 01:00:00+01:00", "timestamp", 0, 0),
    ("1970-01-01 01:00:00+01:00", "timestamp_ntz", 3_600_000_000, 0),
]


@pytest.mark.parametrize(("value", "kind", "fitted", "side"), CASES, ids=lambda one: str(one)[:30])
def test_where_a_literal_lies(value: Any, kind: str | Type, fitted: Any, side: int) -> None:
    literal = value if isinstance(value, Literal) else Literal(value)
    found = fit(literal, kind_of(kind))
    assert repr(found) == repr(Fit(fitted, side)) and str(found.value) == str(fitted)


@pytest.mark.parametrize(
    ("value", "kind", "said", "hint"),
    [
        ("1.5", "int", "(string) cannot be compared with a column of type int", "Write a number without quotes."),
        ("a", "double", "(string)", "Write a number without quotes."),
        ("a", "date", "(string)", "Write DATE '2024-01-31'."),
        ("a", "timestamp", "(string)", "Write TIMESTAMP '2024-01-31 12:00:00'."),
        ("a", "time", "(string)", "Write TIME '12:00:00'."),
        ("maybe", "boolean", "(string)", "Write TRUE or FALSE."),
        ("a", "uuid", "(string)", "Write 'f79c3e09-677c-4bbd-a479-3f349cb785e7'."),
        ("a", FixedType(3), "(string) cannot be compared with a column of type fixed[3]", "Write X'00FF'."),
        (1, "string", "(number)", "Put the value in quotes."),
        (Decimal(1), "string", "(decimal)", "Put the value in quotes."),
        (1, "date", "(number)", "Write a value of the column's type."),
        (1, "boolean", "(number)", "Write a value of the column's type."),
        (True, "int", "(boolean)", "Write a value of the column's type."),
        (True, "double", "(boolean)", "Write a value of the column's type."),
        (True, DecimalType(4, 2), "(boolean)", "Write a value of the column's type."),
        (b"a", "string", "(binary)", "Put the value in quotes."),
        (1, "binary", "(number)", "Write a value of the column's type."),
        (b"abc", "uuid", "(binary)", "Write a value of the column's type."),
        (1, "time", "(number)", "Write a value of the column's type."),
        (dt.time(1), "timestamp", "(time)", "Write a value of the column's type."),
        (1, "variant", "(number)", "Write a value of the column's type."),
    ],
)
def test_what_does_not_compare(value: Any, kind: str | Type, said: str, hint: str) -> None:
    with pytest.raises(InvalidPredicateError) as caught:
        fit(Literal(value), kind_of(kind))
    assert said in str(caught.value) and caught.value.hint == hint


def test_half_a_pair_of_surrogates_is_no_text() -> None:
    for name in ("string", "binary"):
        with pytest.raises(InvalidPredicateError, match="lone surrogate"):
            fit(Literal("\ud800"), primitive(name))


SECOND = 1_000_000
CASTS: list[tuple[Any, str, str | Type, Any, Any]] = [
    # value, its type, the target, what it is in ANSI mode (an exception: it is refused), and without
    (3.7, "double", "int", 3, 3),
    (-3.7, "double", "int", -3, -3),
    (2**31, "long", "int", ValueError, -(2**31)),
    (-(2**31) - 1, "long", "int", ValueError, 2**31 - 1),
    (300, "int", "byte", ValueError, 44),
    (-129, "int", "byte", ValueError, 127),
    (127, "int", "byte", 127, 127),
    (1e10, "double", "int", ValueError, 2**31 - 1),
    (-1e10, "double", "int", ValueError, -(2**31)),
    (1e30, "double", "long", ValueError, 2**63 - 1),
    (1e10, "double", "byte", ValueError, -1),
    (-1e10, "double", "short", ValueError, 0),
    (math.nan, "double", "int", ValueError, 0),
    (math.inf, "double", "long", ValueError, 2**63 - 1),
    (-math.inf, "double", "int", ValueError, -(2**31)),
    (True, "boolean", "int", 1, 1),
    (Decimal("-1.9"), "decimal", "int", -1, -1),
    (1_999_999, "timestamp", "long", 1, 1),
    (-1, "timestamp", "long", -1, -1),
    (-1, "timestamp", "byte", -1, -1),
    (" 12 ", "string", "int", 12, 12),
    ("1.9", "string", "int", ValueError, 1),
    ("-.9", "string", "int", ValueError, 0),
    (".", "string", "int", ValueError, 0),
    ("", "string", "int", ValueError, None),
    (".", "string", "int", ValueError, 0),
    ("1x", "string", "int", ValueError, None),
    ("\u0661", "string", "int", ValueError, None),
    ("128", "string", "byte", ValueError, None),
    ("-128", "string", "byte", -128, -128),
    ("+127", "string", "byte", 127, 127),
    ("1" * 1000, "string", "long", ValueError, None),
    ("0" * 999 + "7", "string", "long", 7, 7),
    ("0" * 1000 + "7", "string", "long", ValueError, None),
    (1.005, "double", DecimalType(4, 2), Decimal("1.01"), Decimal("1.01")),
    (-1.005, "double", DecimalType(4, 2), Decimal("-1.01"), Decimal("-1.01")),
    (99.994, "double", DecimalType(4, 2), Decimal("99.99"), Decimal("99.99")),
    (99.995, "double", DecimalType(4, 2), ValueError, None),
    (-0.001, "double", DecimalType(4, 2), Decimal("0.00"), Decimal("0.00")),
    (100, "int", DecimalType(4, 2), ValueError, None),
    ("1e1", "string", DecimalType(4, 2), Decimal("10.00"), Decimal("10.00")),
    ("1d", "string", DecimalType(4, 2), ValueError, None),
    ("1e-2000", "string", DecimalType(4, 2), Decimal("0.00"), Decimal("0.00")),
    ("1e2000", "string", DecimalType(4, 2), ValueError, None),
    (math.nan, "double", DecimalType(4, 2), None, None),
    ("NaN", "string", DecimalType(4, 2), ValueError, None),
    (True, "boolean", DecimalType(4, 2), Decimal("1.00"), Decimal("1.00")),
    (1_500_000, "timestamp", DecimalType(4, 2), Decimal("1.50"), Decimal("1.50")),
    (0, "int", "boolean", False, False),
    (2, "int", "boolean", True, True),
    (0.5, "double", "boolean", True, True),
    ("yes", "string", "boolean", True, True),
    ("maybe", "string", "boolean", ValueError, None),
    ("0.1", "string", "float", 0.10000000149011612, 0.10000000149011612),
    ("0.1", "string", "double", 0.1, 0.1),
    ("x", "string", "double", ValueError, None),
    (2**53 + 1, "long", "double", 2.0**53, 2.0**53),
    (1_500_000, "timestamp", "double", 1.5, 1.5),
    ("a\u00e9", "string", "binary", b"a\xc3\xa9", b"a\xc3\xa9"),
    (-1, "timestamp", "date", -1, -1),
    (DAY, "timestamp", "date", 1, 1),
    ("1970-01-02", "string", "date", 1, 1),
    ("x", "string", "date", ValueError, None),
    (1, "int", "date", InvalidPredicateError, InvalidPredicateError),
    (1, "int", "timestamp", SECOND, SECOND),
    (2**62, "long", "timestamp", 2**63 - 1, 2**63 - 1),
    (-(2**62), "long", "timestamp", -(2**63), -(2**63)),
    (1.5, "double", "timestamp", 1_500_000, 1_500_000),
    (-1.0000005, "double", "timestamp", -1_000_000, -1_000_000),
    (1e20, "double", "timestamp", ValueError, 2**63 - 1),
    (-1e20, "double", "timestamp", ValueError, -(2**63)),
    (math.nan, "double", "timestamp", ValueError, None),
    (math.inf, "double", "timestamp", ValueError, None),
    (Decimal("1.5"), "decimal", "timestamp", 1_500_000, 1_500_000),
    (1, "date", "timestamp", DAY, DAY),
    (1, "date", "timestamp_ntz", DAY, DAY),
    (2**31 - 1, "date", "timestamp", ValueError, None),
    (7, "timestamp", "timestamp_ntz", 7, 7),
    (1, "int", "timestamp_ntz", InvalidPredicateError, InvalidPredicateError),
    (1, "timestamp", "timestamp_ns", 1_000, 1_000),
    (2**31 - 1, "date", "timestamp_ns", InvalidPredicateError, InvalidPredicateError),
    (b"ab", "binary", FixedType(2), b"ab", b"ab"),
    (b"abc", "binary", FixedType(2), InvalidPredicateError, InvalidPredicateError),
    (Decimal("0.1234567890123456789"), "decimal", "double", 0.12345678901234568, 0.12345678901234568),
    (None, "int", "string", None, None),
]


@pytest.mark.parametrize(("value", "source", "target", "ansi", "legacy"), CASTS, ids=lambda one: str(one)[:20])
def test_casts_of_constants(value: Any, source: str, target: str | Type, ansi: Any, legacy: Any) -> None:
    literal = Literal(value, DecimalType(38, 1) if source == "decimal" else primitive(source))
    for mode, wanted in ((True, ansi), (False, legacy)):
        if isinstance(wanted, type):
            with pytest.raises(
                InvalidPredicateError, match="no cast" if wanted is InvalidPredicateError else "cannot be cast"
            ):
                cast(literal, kind_of(target), mode)
            continue
        found = cast(literal, kind_of(target), mode)
        assert (repr(found.value), found.type) == (repr(wanted), kind_of(target))


@pytest.mark.parametrize(
    ("text", "nanos"), [("1970-01-01 00:00:00.000001001", 1001), ("1970-01-01 00:00:00.000001", None)]
)
def test_a_text_with_nanoseconds_is_one_of_them(text: str, nanos: int | None) -> None:
    for name in ("timestamp", "timestamp_ntz"):
        found = cast(Literal(text), primitive(name))
        expected = (1, name) if nanos is None else (nanos, f"{name}_ns")
        assert (found.value, found.type) == (expected[0], primitive(expected[1]))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, "boolean", "true"),
        (-5, "long", "-5"),
        ("a", "string", "a"),
        (0.1, "double", "0.1"),
        (0.10000000149011612, "float", "0.1"),
        (1, "date", "1970-01-02"),
        (1, "time", "00:00:00.000001"),
        (1, "timestamp", "1970-01-01 00:00:00.000001"),
        (1, "timestamp_ntz", "1970-01-01 00:00:00.000001"),
        (1, "timestamp_ns", "1970-01-01 00:00:00.000000001"),
        (1_000, "timestamp_ntz_ns", "1970-01-01 00:00:00.000001"),
    ],
)
def test_printed_values(value: Any, kind: str, text: str) -> None:
    assert printed(value, primitive(kind), True) == printed(value, primitive(kind), False) == text


def test_printed_decimals_and_bytes() -> None:
    small = Decimal("0E-18")
    assert printed(small, DecimalType(38, 18), True) == "0.000000000000000000"
    assert printed(small, DecimalType(38, 18), False) == "0E-18"
    with pytest.raises(InvalidPredicateError, match="a binary has no cast to string here"):
        printed(b"a", primitive("binary"), True)
