"""Rounding to floats, and numbers as Spark reads and prints them."""

from __future__ import annotations

import decimal
import math
import struct
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.engines.arrow.filters import evaluate
from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Literal
from tableformats.expressions.binding import bind
from tableformats.expressions.casts import cast
from tableformats.expressions.literals import normalized
from tableformats.expressions.numbers import java_text, nearest_float, parse_number
from tableformats.expressions.parse import parse_filter
from tableformats.expressions.value_binding import typed
from tableformats.schema import DecimalType, Schema, primitive

FLOATS = st.integers(0, 2**32 - 1).map(lambda bits: struct.unpack("f", struct.pack("I", bits))[0])


def neighbours(value: float) -> tuple[float, float]:
    """The floats of 32 bits below and above a finite one."""
    (bits,) = struct.unpack("i", struct.pack("f", value + 0.0))
    order = bits if bits >= 0 else -(bits & 0x7FFFFFFF)

    def at(place: int) -> float:
        return struct.unpack("f", struct.pack("I", place if place >= 0 else -place | 0x80000000))[0]

    return at(order - 1), at(order + 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("d = CAST(0.1 AS FLOAT)", [False, True]),
        ("d = 0.1F", [False, True]),
        ("d IN (0.1F, 7)", [False, True]),
        ("d BETWEEN 0.1F AND 1", [False, True]),
        ("d <= 0.1D", [True, False]),
        ("f = 0.1", [False, False]),
        ("f = 0.1F", [True, True]),
        ("f = 0.1D", [False, False]),
    ],
)
def test_floats_are_compared_as_doubles(text, found):
    """A FLOAT is the double that its 32 bits stand for, which is not that of its text."""
    (single,) = struct.unpack("f", struct.pack("f", 0.1))
    rows = pa.record_batch({"d": [0.1, single], "f": pa.array([0.1, single], pa.float32())})
    assert evaluate(bind(parse_filter(text), Schema.from_arrow(rows.schema)), rows).to_pylist() == found


@given(FLOATS.filter(math.isfinite), st.integers(-1, 1), st.integers(0, 60))
def test_a_text_beside_the_middle_of_two_floats_is_rounded_once(value, step, digits):
    """The middle is a double. A text that differs from it in far digits rounds to that double first."""
    upper = neighbours(value)[1]
    if not math.isfinite(upper):
        return
    middle = (Fraction(value) + Fraction(upper)) / 2
    context = decimal.Context(prec=400)
    exact = context.divide(decimal.Decimal(middle.numerator), decimal.Decimal(middle.denominator))
    number = context.add(exact, context.multiply(decimal.Decimal(step), exact.scaleb(-20 - digits, context)))
    found = nearest_float(number)
    distance = abs(Fraction(found) - Fraction(number))
    assert all(distance <= abs(Fraction(other) - Fraction(number)) for other in (value, upper))
    if Fraction(number) == middle:
        assert struct.unpack("I", struct.pack("f", found))[0] % 2 == 0, "ties go to the even float"


@given(FLOATS)
def test_a_float_is_its_own_nearest_and_is_read_back(value):
    assert struct.pack("f", nearest_float(value)) == struct.pack("f", value) or value != value
    read = parse_number(java_text(value, is_float=True))
    assert read is not None
    assert nearest_float(read) == value or value != value


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("1.00000005960464477539062500000000000001", 1.0000001192092896),  # a little above the middle
        ("1.000000059604644775390625", 1.0),  # the middle
        ("340282356779733661637539395458142568448", math.inf),  # the middle between the greatest and what would follow
        ("3.4028235677973366e38", 3.4028234663852886e38),
        ("7.006492321624085354618e-46", 0.0),  # half of the least float
        ("7.006492321624085354619e-46", 1.401298464324817e-45),
        ("1e-99999", 0.0),
        ("-1e99999", -math.inf),
    ],
)
def test_nearest_floats(text, nearest):
    number = parse_number(text)
    assert number is not None and nearest_float(number) == nearest


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" 1.5 ", 1.5),
        ("1.", 1),
        (".5", 0.5),
        ("1e1d", 10),
        ("-2F", -2),
        ("+inf", math.inf),
        ("-INFINITY", -math.inf),
        ("0x1.8p1", 3),
        ("-0x1p9999", -math.inf),
        ("", None),
        (".", None),
        ("1_0", None),
        ("+nan", None),
        ("\u0661", None),
        ("\u00a01", None),
        ("1e", None),
        ("0x10", None),
    ],
)
def test_numbers_in_text(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["nan", "NaN", "NAN", "-NaN", "+NaN"])
def test_nan_in_text(text):
    number = parse_number(text)
    assert number is not None and number != number


@pytest.mark.parametrize(
    ("number", "is_float", "text"),
    [
        (0.10000000149011612, True, "0.1"),
        (0.10000000149011612, False, "0.10000000149011612"),
        (100.0, True, "100.0"),
        (1e7, False, "1.0E7"),
        (1.25e-4, False, "1.25E-4"),
        (0.001, False, "0.001"),
        (-12345678.0, False, "-1.2345678E7"),
        (-0.0, False, "-0.0"),
        (math.nan, True, "NaN"),
        (-math.inf, True, "-Infinity"),
        (math.inf, False, "Infinity"),
        (0.0, True, "0.0"),
        (2.0**-149, True, "1.4E-45"),
        (2.0**-1074, False, "4.9E-324"),
        (2.0**-96, True, "1.2621775E-29"),  # of eight digits, of which none is a rounded one
        (9999999.0, False, "9999999.0"),
    ],
)
def test_numbers_are_printed_as_java_prints_them(number, is_float, text):
    assert java_text(number, is_float) == text


def test_seconds_that_no_timestamp_has():
    """Spark 4.3: integers become the first or the last timestamp, doubles an error in ANSI mode."""
    timestamp, far = primitive("timestamp"), 2**63 - 1
    for value, wanted in ((far, far), (-far - 1, -far - 1), (10**13, far), (-1, -1_000_000)):
        for ansi in (True, False):
            assert cast(Literal(value, primitive("long")), timestamp, ansi).value == wanted
    assert cast(Literal(-1e300, primitive("double")), timestamp, False).value == -far - 1
    with pytest.raises(InvalidPredicateError):
        cast(Literal(1e300, primitive("double")), timestamp, True)


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [("0", 1, 0), ("1E+5", 6, 0), ("1E+37", 38, 0), ("0.001", 3, 3), ("12.50", 4, 2), ("1E-38", 38, 38), ("-7", 1, 0)],
)
def test_decimals_have_the_digits_that_they_need(text, precision, scale):
    found = typed(Literal(decimal.Decimal(text)))
    assert found.type == DecimalType(precision, scale)


@pytest.mark.parametrize("text", ["1E+38", "1E-39", "1." + "0" * 38])
def test_decimals_of_too_many_digits(text):
    with pytest.raises(InvalidPredicateError, match="more than 38 digits"):
        typed(Literal(decimal.Decimal(text)))


class Tensor:
    """What has ``item`` as NumPy's scalars do, and is none."""

    def item(self):
        return 5


@pytest.mark.parametrize("value", [Tensor(), np.sum, object()], ids=["tensor", "function", "object"])
def test_other_objects_are_no_literals(value):
    with pytest.raises(InvalidPredicateError, match=f"Python type {type(value).__name__}"):
        normalized(Literal(value))
    assert normalized(Literal(np.int8(5))) == Literal(5, primitive("long"))
