"""Numbers: as Spark reads them from text, rounds them to floats, and prints them.

Source: Spark SQL reference, "ANSI Compliance" (Cast) and "Floating Point Special Values"; Java's ``Float.parseFloat``
and ``Double.toString``, which Spark calls.
"""

from __future__ import annotations

import decimal
import math
import re
import struct

from ..lazy_pattern import lazy_pattern

__all__ = ["BLANKS", "decimal_step", "double_of", "java_text", "nearest_float", "parse_number"]

BLANKS = "".join(map(chr, range(0x21)))
"""What Java trims from a text before it reads a number."""

_DECIMAL_TEXT = lazy_pattern(
    r"([+-]?(?:[0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})(?:[eE][+-]?[0-9]{1,5})?)[fFdD]?"
)
_HEXADECIMAL_TEXT = lazy_pattern(r"([+-]?0[xX][0-9a-fA-F]{1,8}(?:\.[0-9a-fA-F]{0,5})?[pP][+-]?[0-9]{1,4})[fFdD]?")
_INFINITY_TEXT = lazy_pattern(r"([+-]?)inf(?:inity)?", re.IGNORECASE | re.ASCII)
_NAN_TEXT = lazy_pattern(r"[nN][aA][nN]|[+-]NaN")

Number = int | float | decimal.Decimal


def parse_number(text: str) -> float | decimal.Decimal | None:
    """The number that ``text`` spells, unrounded. None where Spark's cast to DOUBLE reads no number."""
    text = text.strip(BLANKS)
    found = _DECIMAL_TEXT.fullmatch(text)
    if found:
        return decimal.Decimal(found[1])
    found = _INFINITY_TEXT.fullmatch(text)
    if found:
        return -math.inf if found[1] == "-" else math.inf
    if _NAN_TEXT.fullmatch(text):
        return math.nan
    found = _HEXADECIMAL_TEXT.fullmatch(text)
    try:
        return float.fromhex(found[1]) if found else None
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def decimal_step(scale: int) -> decimal.Decimal:
    """The step between two numbers of so many digits behind the point."""
    return decimal.Decimal(f"1e{-scale}")


def double_of(number: Number) -> float:
    """``number`` rounded to the nearest double; infinite where it is greater than all of them."""
    try:
        return float(number)
    except OverflowError:  # an int
        return math.inf if number > 0 else -math.inf


def nearest_float(number: Number) -> float:
    """``number`` rounded once to the nearest float of 32 bits, as a double. Ties go to the even float.

    Rounding to a double first may end on the middle between two floats, although ``number`` is not that middle. Then
    ``number`` decides.
    """
    double = double_of(number)
    below, above = (_float32(math.nextafter(double, side)) for side in (-math.inf, math.inf))
    if below < above and number != double:
        return above if number > double else below
    return _float32(double)


def _float32(double: float) -> float:
    try:
        rounded: float = struct.unpack("f", struct.pack("f", double))[0]
    except OverflowError:
        return math.copysign(math.inf, double)
    return rounded


def java_text(number: float, is_float: bool) -> str:
    """``number`` as Spark's cast to STRING prints a FLOAT or a DOUBLE: ``0.1``, ``100.0``, ``1.0E10``.

    The digits are those of Java 19 and later: the fewest that are read back as this number, and two at least.
    """
    if number != number:
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return str(float(number))  # with its sign
    import numpy as np

    digits_of = np.format_float_scientific
    shortest = decimal.Decimal(digits_of((np.float32 if is_float else np.float64)(number), min_digits=1)).normalize()
    if 1e-3 <= abs(number) < 1e7:
        text = format(shortest, "f")
        return text if "." in text else f"{text}.0"
    sign, digits, _ = shortest.as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{shortest.adjusted()}"
