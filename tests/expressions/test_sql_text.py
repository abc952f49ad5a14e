"""Literals and calls as they are printed in SQL, and what texts mean without ANSI mode."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from tableformats.expressions import Literal, legacy_text
from tableformats.expressions.fitting import Fit
from tableformats.expressions.sql_text import quoted_name, sql_call, sql_literal
from tableformats.schema import DecimalType, Type, primitive

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("a", "a"), ("A_1", "A_1"), ("_", "_"), ("1a", "`1a`"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("And", "`And`")],
)
def test_names(name: str, quoted: str) -> None:
    assert quoted_name(name) == quoted


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, None, "NULL"),
        (True, None, "TRUE"),
        (False, "boolean", "FALSE"),
        ("it's", None, r"'it\'s'"),
        ("a\\b", None, r"'a\\b'"),
        (b"\x00\xff", None, "X'00FF'"),
        (bytearray(b"a"), None, "X'61'"),
        (uuid.UUID(int=1), None, "'00000000-0000-0000-0000-000000000001'"),
        (5, None, "5"),
        (-5, "long", "-5"),
        (19_782, "date", "DATE '2024-02-29'"),
        (3_600 * SECOND + 1, "time", "TIME '01:00:00.000001'"),
        (SECOND, "timestamp", "TIMESTAMP '1970-01-01 00:00:01Z'"),
        (SECOND, "timestamp_ntz", "TIMESTAMP_NTZ '1970-01-01 00:00:01'"),
        (1, "timestamp_ns", "TIMESTAMP '1970-01-01 00:00:00.000000001Z'"),
        (1, "timestamp_ntz_ns", "TIMESTAMP_NTZ '1970-01-01 00:00:00.000000001'"),
        (1.5, None, "1.5"),
        (math.nan, None, "CAST('NaN' AS DOUBLE)"),
        (math.inf, None, "CAST('Infinity' AS DOUBLE)"),
        (-math.inf, None, "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("1.50"), None, "1.50"),
        (Decimal("1E+5"), None, "100000"),
        (Decimal("1E+99"), None, "1" + "0" * 99),
        (Decimal("1E+100"), None, "1E+100"),
        (Decimal("1E-100"), None, "1E-100"),
        (dt.date(2024, 2, 29), None, "DATE '2024-02-29'"),
        (dt.time(1, 2), None, "TIME '01:02:00'"),
        (dt.datetime(2024, 2, 29), None, "TIMESTAMP_NTZ '2024-02-29 00:00:00'"),
        (dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc), None, "TIMESTAMP '2024-02-29 00:00:00+00:00'"),
    ],
)
def test_literals(value: Any, kind: str | None, text: str) -> None:
    assert sql_literal(value, None if kind is None else primitive(kind)) == text


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "text"),
    [
        ("cast", ("a",), "long", "CAST(a AS BIGINT)"),
        ("try_cast", ("a",), "date", "TRY_CAST(a AS DATE)"),
        ("[]", ("a", "1"), None, "a[1]"),
        (".", ("f(a)", "'b c'"), None, "f(a).`b c`"),
        (".", ("f(a)", "'b'"), None, "f(a).b"),
        ("interval", ("14", "'month'"), None, "INTERVAL '14' MONTH"),
        ("interval", ("-2", "'day'"), None, "INTERVAL '-2' DAY"),
        ("interval", ("1500000", "'microsecond'"), None, "INTERVAL '1.500000' SECOND"),
        ("interval", ("-60000000", "'microsecond'"), None, "INTERVAL '-60' SECOND"),
        ("timestampadd", ("'DAY'", "1", "t"), None, "timestampadd(DAY, 1, t)"),
        ("timestampdiff", ("'HOUR'", "a", "b"), None, "timestampdiff(HOUR, a, b)"),
        ("in", ("a", "1", "2"), None, "a IN (1, 2)"),
        ("isnull", ("a",), None, "a IS NULL"),
        ("isnotnull", ("a",), None, "a IS NOT NULL"),
        ("negative", ("a",), None, "(-a)"),
        ("bit_not", ("a",), None, "(~a)"),
        ("extract", ("'second'", "t"), None, "EXTRACT(SECOND FROM t)"),
        ("case", ("a", "1", "b", "2", "3"), None, "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END"),
        ("+", ("a", "b"), None, "(a + b)"),
        ("<=>", ("a", "b"), None, "(a <=> b)"),
        ("div", ("a", "b"), None, "(a DIV b)"),
        ("pmod", ("a", "b"), None, "pmod(a, b)"),
        ("upper", ("a",), None, "upper(a)"),
        ("pi", (), None, "pi()"),
    ],
)
def test_calls(name: str, arguments: tuple[str, ...], kind: str | None, text: str) -> None:
    assert sql_call(name, arguments, None if kind is None else primitive(kind)) == text


def kind_of(kind: str | Type) -> Type:
    return primitive(kind) if isinstance(kind, str) else kind


DECIMAL = DecimalType(5, 2)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", "int", 7),
        ("1.9", "int", 1),
        ("x", "int", None),
        ("x", "double", None),
        ("x", DECIMAL, None),
        ("0.1", "float", 0.10000000149011612),
        ("0.1", "double", "0.1"),
        ("0.1", DECIMAL, "0.1"),
        ("yes", "boolean", "yes"),
        ("maybe", "boolean", None),
        ("2024-02-29", "date", "2024-02-29"),
        ("x", "date", None),
        ("x", "timestamp", None),
        ("x", "timestamp_ntz", None),
        ("x", "string", "x"),
        ("x", "binary", "x"),
        ("x", "uuid", "x"),
    ],
)
def test_texts_beside_columns(text: str, kind: str | Type, value: Any) -> None:
    string = primitive("string")
    found = legacy_text.cast(Literal(text, string), kind_of(kind))
    assert found.value == value
    assert (found.type == string) == (isinstance(value, str))
    seven = Literal(7, primitive("int"))
    assert legacy_text.cast(seven, kind_of(kind)) is seven


@pytest.mark.parametrize("op", ["=", "!=", "<=>"])
def test_numbers_beside_truth_values(op: str) -> None:
    kinds = {"int": (0, 1, 2), "double": (0.0, 1.0, 0.5), "decimal": (Decimal(0), Decimal(1), Decimal(-1))}
    for name, (no, yes, neither) in kinds.items():
        kind = DECIMAL if name == "decimal" else primitive(name)
        boolean = primitive("boolean")
        assert legacy_text.fit_truth(op, Literal(yes, kind), boolean) == Fit(True)
        assert legacy_text.fit_truth(op, Literal(no, kind), boolean) == Fit(False)
        assert legacy_text.fit_truth(op, Literal(neither, kind), boolean) == Fit(True, 1)
        assert legacy_text.fit_truth(op, Literal(yes, kind), primitive("int")) is None
        assert legacy_text.fit_truth("<", Literal(yes, kind), boolean) is None
        assert legacy_text.fit_truth(op, Literal(None, kind), boolean) is None
    for literal in (Literal("1", primitive("string")), Literal(1), Literal(True, primitive("boolean"))):
        assert legacy_text.fit_truth(op, literal, primitive("boolean")) is None


@pytest.mark.parametrize(
    ("kind", "compares"),
    [
        *((one, True) for one in ("int", "double", DECIMAL, "date", "timestamp")),
        *((one, False) for one in ("string", "binary", "boolean", "uuid", "time", "unknown")),
    ],
)
def test_lists_that_are_compared_as_texts(kind: str | Type, compares: bool) -> None:
    text, number = Literal("1", primitive("string")), Literal(1, primitive("int"))
    assert legacy_text.compares_texts([number, text], kind_of(kind)) == compares
    assert not legacy_text.compares_texts([number, number], kind_of(kind))
    assert not legacy_text.compares_texts([], kind_of(kind))


@pytest.mark.parametrize(
    ("value", "kind", "fitted"),
    [
        ("7", "int", Fit(7)),
        ("07", "int", Fit(7, 1)),
        ("7.0", "int", Fit(0, 1)),
        ("x", "int", Fit(0, 1)),
        ("1.50", DECIMAL, Fit(Decimal("1.50"))),
        ("1.5", DECIMAL, Fit(Decimal("1.50"), 1)),
        ("x", DECIMAL, Fit(Decimal(0), 1)),
        ("0.1", "double", Fit(0.1)),
        ("0.10", "double", Fit(0.1, 1)),
        ("x", "double", Fit(0.0, 1)),
        ("0.1", "float", Fit(0.10000000149011612)),
        ("0.10", "float", Fit(0.10000000149011612, 1)),
        ("x", "float", Fit(0.0, 1)),
        ("-0.0", "float", Fit(0.0, 1)),
        ("2024-02-29", "date", Fit(19_782)),
        ("2024-2-29", "date", Fit(19_782, 1)),
        (7, "int", Fit(7)),
    ],
)
def test_values_that_are_printed_as_a_literal(value: Any, kind: str | Type, fitted: Fit) -> None:
    given = Literal(value, primitive("string" if isinstance(value, str) else "int"))
    assert repr(legacy_text.fit_text(given, kind_of(kind))) == repr(fitted)


def test_zeros_of_many_digits_are_printed_as_java_does() -> None:
    kind = DecimalType(38, 18)
    zero = Decimal("0E-18")
    for given in (Literal(zero, kind), Literal("0E-18", primitive("string"))):
        assert repr(legacy_text.fit_text(given, kind)) == repr(Fit(zero))
    plain = legacy_text.fit_text(Literal("0.000000000000000000", primitive("string")), kind)
    assert repr(plain) == repr(Fit(zero, 1))
