"""Casts of constants, as Spark does them with and without its ANSI mode.

A text is rounded once: ``CAST('0.1' AS FLOAT)`` is the float nearest to 0.1. Timestamps and dates are cast in UTC
(Spark: in the session's zone). A text with more than six digits behind the second becomes a timestamp in nanoseconds,
which compares with such columns; Spark drops these digits. Source: Spark SQL reference, "ANSI Compliance" (Cast).
"""

from __future__ import annotations

import decimal
import math
from typing import Any

from ..errors import InvalidPredicateError
from ..schema import (
    INTEGER_RANGES,
    DecimalType,
    PrimitiveType,
    Type,
    is_floating,
    is_integer,
    is_numeric,
    primitive,
)
from ..schema.datetimes import DAY_NANOS, format_date, format_time, format_timestamp, parse_timestamp
from .fitting import fit, instant_nanos
from .literals import normalized
from .numbers import BLANKS, decimal_step, double_of, java_text, nearest_float, parse_number
from .tree import Literal

__all__ = ["cast", "printed"]

_WIDE = decimal.Context(prec=1200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def cast(literal: Literal, target: Type, ansi: bool = True) -> Literal:
    """``literal`` cast to ``target``. ``value`` is None for NULL, which without ANSI is also what cannot be cast.

    Raises
    ------
    InvalidPredicateError
        ANSI: the value cannot be cast, or is out of range. Either mode: Spark has no cast between the types.
    """
    source = normalized(literal)
    if source.value is None:
        return Literal(None, target)
    value = _converted(source, target, ansi)
    if value is None and ansi:
        raise InvalidPredicateError(f"{source} cannot be cast to {target}", hint="TRY_CAST gives NULL instead.")
    if isinstance(value, Literal):
        return value
    return Literal(value, target)


def _converted(source: Literal, target: Type, ansi: bool) -> Any:
    """The canonical value, a literal of another type that stands for it, or None where it cannot be cast."""
    name = str(target)
    if name == str(source.type):
        return source.value
    if is_integer(target):
        assert isinstance(target, PrimitiveType)
        return _to_integer(source, target, ansi)
    if is_floating(target):
        number = _number(source)
        if str(source.type).startswith("timestamp"):
            number = float(number.scaleb(6, _WIDE)) / 1e6  # Spark rounds the microseconds first
        return None if number is None else nearest_float(number) if name == "float" else double_of(number)
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    if name == "string":
        return printed(source.value, source.type, ansi)
    if name == "boolean" and is_numeric(source.type):
        return source.value != 0
    if name == "binary" and isinstance(source.value, str):
        return source.value.encode("utf-8", "surrogatepass")
    if name == "date" and not isinstance(source.value, str):
        nanos = instant_nanos(source)
        return _no_cast(source, target) if nanos is None else nanos // DAY_NANOS
    if name in ("timestamp", "timestamp_ntz"):
        return _to_timestamp(source, target, ansi)
    return _fitted(source, target, ansi)


def _no_cast(source: Literal, target: Type) -> Any:
    raise InvalidPredicateError(f"{source} ({source.type}) has no cast to {target}")


def _fitted(source: Literal, target: Type, ansi: bool) -> Any:
    try:
        fitted = fit(source, target)
    except InvalidPredicateError as error:
        if not isinstance(source.value, str):
            raise
        if ansi:
            raise InvalidPredicateError(f"{source} cannot be cast to {target}", hint=error.hint) from None
        return None
    if isinstance(source.value, str):
        return fitted.value
    return _no_cast(source, target) if fitted.side else fitted.value


def _number(source: Literal) -> Any:
    if isinstance(source.value, bool):
        return int(source.value)
    if isinstance(source.value, str):
        return parse_number(source.value)
    return source.value if is_numeric(source.type) else _seconds(source)


def _seconds(source: Literal) -> decimal.Decimal:
    """The seconds since the epoch of a timestamp, which Spark casts to numbers."""
    nanos = instant_nanos(source) if str(source.type).startswith("timestamp") else None
    if nanos is None:
        raise InvalidPredicateError(f"{source} ({source.type}) has no cast to a number")
    return decimal.Decimal(nanos).scaleb(-9, _WIDE)


def _to_integer(source: Literal, target: PrimitiveType, ansi: bool) -> int | None:
    least, greatest = INTEGER_RANGES[target.name]
    if isinstance(source.value, str):
        number = integer_of_text(source.value, with_fraction=not ansi)
        return number if number is not None and least <= number <= greatest else None
    exact = _number(source)
    if isinstance(exact, float) and not math.isfinite(exact):
        exact = 0 if exact != exact else math.copysign(2.0**80, exact)
        is_in_range = False
    else:
        is_in_range = True
    whole = math.floor(exact) if not is_numeric(source.type) else math.trunc(exact)
    if least <= whole <= greatest and is_in_range:
        return whole
    if ansi:
        return None
    if isinstance(source.value, float):  # Java: doubles saturate at an int or a long, integers lose their high bits
        low, high = INTEGER_RANGES["long" if target.name == "long" else "int"]
        whole = min(max(whole, low), high)
    return (whole - least) % (greatest - least + 1) + least


def integer_of_text(text: str, with_fraction: bool) -> int | None:
    """The integer that ``text`` spells; with a fraction, whose digits are dropped, only if ``with_fraction``."""
    text = text.strip(BLANKS)
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") and text else ("", text)
    whole, point, fraction = digits.partition(".")
    if (point and not with_fraction) or not (whole or point) or len(digits) > 1000:
        return None
    if not all(part.isascii() and part.isdigit() for part in (whole, fraction) if part):
        return None
    number = int(whole or 0)
    return -number if sign == "-" else number


def _to_decimal(source: Literal, target: DecimalType) -> decimal.Decimal | Literal | None:
    if isinstance(source.value, str) and source.value.strip(BLANKS)[-1:].lower() in ("f", "d"):
        return None
    number = _number(source)
    if isinstance(number, float):
        if not math.isfinite(number):
            return Literal(None, target) if is_floating(source.type) else None  # NULL in either mode
        number = decimal.Decimal(repr(number))
    if number is None or decimal.Decimal(number).adjusted() > 1000:
        return None
    exact = decimal.Decimal(number if decimal.Decimal(number).adjusted() > -1000 else 0)
    rounded = exact.quantize(decimal_step(target.scale), decimal.ROUND_HALF_UP, _WIDE)
    if abs(rounded) > target.greatest:
        return None
    return rounded.copy_abs() if rounded == 0 else rounded


def _to_timestamp(source: Literal, target: Type, ansi: bool) -> Any:
    name = str(target)
    if isinstance(source.value, str):
        parsed = parse_timestamp(source.value)
        if parsed is not None and parsed[0] % 1000:
            nanoseconds = primitive(f"{name}_ns")
            return Literal(_fitted(source, nanoseconds, ansi), nanoseconds)
        return _fitted(source, target, ansi)
    nanos = instant_nanos(source)
    if nanos is None and is_numeric(source.type) and name == "timestamp":
        if isinstance(source.value, float) and not math.isfinite(source.value):
            return None
        seconds = decimal.Decimal(repr(source.value)) if isinstance(source.value, float) else source.value
        nanos = math.trunc(decimal.Decimal(seconds).scaleb(6, _WIDE)) * 1000
    if nanos is None:
        return _no_cast(source, target)
    least, greatest = INTEGER_RANGES["long"]
    micros = nanos // 1000
    if is_integer(source.type) or (is_floating(source.type) and not ansi):
        return min(max(micros, least), greatest)  # the first or the last instant
    return micros if least <= micros <= greatest else None


def printed(value: Any, kind: Type | None, ansi: bool) -> str:
    """A canonical value of type ``kind`` as Spark's cast to STRING prints it."""
    name = str(kind)
    if kind is not None and is_floating(kind):
        return java_text(value, name == "float")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, decimal.Decimal):
        return format(value, "f") if ansi else str(value)  # without ANSI as Java's BigDecimal: 0E-18
    if name == "date":
        return format_date(value)
    if name == "time":
        return format_time(value)
    if name.startswith("timestamp"):
        return format_timestamp(value, 9 if name.endswith("_ns") else 6)
    if isinstance(value, (int, str)):
        return str(value)
    raise InvalidPredicateError(f"a {kind} has no cast to string here")
