"""Fit a literal to a column: the value of the column's type that it equals, or the two values that it lies between.

After binding, a literal is always a value of its column's type, and the comparison is mathematically the one that was
written. So whoever evaluates it needs no rules for types. The rules for fitting, by type of the column:

- Integers and decimals compare with every number exactly: ``i < 1.5`` is ``i <= 1``, and ``i < 1e300`` holds for every
  ``i``. Against a decimal column a double literal means its shortest decimal text, against an integer column its exact
  value. (Spark compares both as doubles, which rounds beyond 2**53.)
- Float and double columns compare as doubles (Spark SQL reference, "ANSI Compliance", Type Promotion: float with
  integer or decimal gives double). NaN equals NaN and is the greatest; -0.0 equals 0.0.
- A string is read as the column's type if that is a boolean, date, time, timestamp or uuid, as an integer for integer
  columns, and as a double for floats, doubles and decimals (of up to 15 digits; beyond them its digits count), as in
  Spark's ANSI mode (ibid., Type Promotion, Cast). A string that cannot be read so is an error. What Spark does where
  this mode is off is in :mod:`tableformats.expressions.legacy_text`.
- Dates and timestamps compare as instants. A date is its midnight in UTC (Spark: in the session's zone), and a
  timestamp without a zone means UTC. Digits of a string beyond the column's unit are dropped, as in Spark; those of a
  TIMESTAMP literal or of a ``pandas.Timestamp`` count.
- Every other type compares with its own kind only.
"""

from __future__ import annotations

import decimal
import math
import uuid
from typing import Any

from ..dataclass import dataclass
from ..errors import InvalidPredicateError
from ..lazy_pattern import lazy_pattern
from ..schema import (
    INTEGER_RANGES,
    DecimalType,
    FixedType,
    PrimitiveType,
    Type,
    is_floating,
    is_integer,
    is_numeric,
    primitive,
)
from ..schema.datetimes import DAY_NANOS, parse_date, parse_time, parse_timestamp
from .literals import normalized
from .numbers import BLANKS, decimal_step, double_of, parse_number
from .tree import Literal

__all__ = ["Fit", "fit", "instant_nanos"]

_LONG = INTEGER_RANGES["long"]
_NANOS = {"timestamp": 1000, "timestamp_ntz": 1000, "timestamp_ns": 1, "timestamp_ntz_ns": 1}
_TRUE_TEXTS = ("t", "true", "y", "yes", "1")  # Spark: StringUtils.isTrueString
_FALSE_TEXTS = ("f", "false", "n", "no", "0")
_INTEGER_TEXT = lazy_pattern(r"[+-]?[0-9]{1,1000}")
_EXACT_DOUBLE_DIGITS = 15
"""Decimals of so many digits differ as doubles."""
_WIDE = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


@dataclass(frozen=True)
class Fit:
    """Where a literal lies among the values of a type.

    Attributes
    ----------
    value : object
        A canonical value of the type.
    side : int
        0: the literal equals ``value``. 1: it lies between ``value`` and the type's next value. -1: it lies between the
        type's previous value and ``value``.
    """

    value: Any
    side: int = 0


def fit(literal: Literal, kind: Type) -> Fit:
    """Where ``literal`` (not NULL) lies among the values of type ``kind``.

    Raises
    ------
    InvalidPredicateError
        Values of the two types do not compare. The message names both types.
    """
    value = normalized(literal)
    if is_integer(kind):
        fitted = _fit_integer(value, kind)
    elif isinstance(kind, DecimalType):
        fitted = _fit_decimal(value, kind)
    elif is_floating(kind):
        fitted = _fit_floating(value)
    elif isinstance(kind, FixedType):
        fitted = _fit_fixed(value, kind.length)
    else:
        assert isinstance(kind, PrimitiveType)
        fitted = _FITTERS[kind.name](value, kind) if kind.name in _FITTERS else None
    if fitted is None:
        raise _mismatch(literal, value, kind)
    return fitted


def _mismatch(original: Literal, value: Literal, kind: Type) -> InvalidPredicateError:
    written = value.type
    if isinstance(written, PrimitiveType) and written.name == "string":
        forms = {
            "date": "DATE '2024-01-31'",
            "timestamp": "TIMESTAMP '2024-01-31 12:00:00'",
            "time": "TIME '12:00:00'",
            "timestamp_ntz": "TIMESTAMP_NTZ '2024-01-31 12:00:00'",
            "binary": "X'00FF'",
            "boolean": "TRUE or FALSE",
            "uuid": "'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
        }
        form = forms.get(str(kind), "X'00FF'" if isinstance(kind, FixedType) else "a number without quotes")
        return InvalidPredicateError(
            f"{original} (string) cannot be compared with a column of type {kind}", hint=f"Write {form}."
        )
    shown = "decimal" if isinstance(written, DecimalType) else "number" if is_numeric(written) else str(written)
    hint = "Put the value in quotes." if str(kind) == "string" else "Write a value of the column's type."
    return InvalidPredicateError(f"{original} ({shown}) cannot be compared with a column of type {kind}", hint=hint)


def _number(value: Literal) -> int | float | decimal.Decimal | None:
    """The number that ``value`` is, or that its text spells. None for anything else."""
    if is_numeric(value.type):
        number: int | float | decimal.Decimal = value.value
        return number
    return parse_number(value.value) if isinstance(value.value, str) else None


def _outside(value: int | float | decimal.Decimal, low: Any, high: Any) -> Fit | None:
    """The fit of a number outside of ``low`` to ``high``. NaN is greater than every number."""
    if value != value or value > high:
        return Fit(high, 1)
    return Fit(low, -1) if value < low else None


def _fit_integer(value: Literal, kind: Type) -> Fit | None:
    if isinstance(value.value, str) and not _INTEGER_TEXT.fullmatch(value.value.strip(BLANKS)):
        return None
    number = _number(value)
    if number is None:
        return None
    assert isinstance(kind, PrimitiveType)
    outside = _outside(number, *INTEGER_RANGES[kind.name])
    if outside:
        return outside
    floor = math.floor(number)
    return Fit(floor, int(floor != number))


def _fit_decimal(value: Literal, kind: DecimalType) -> Fit | None:
    number = _number(value)
    if number is None:
        return None
    if isinstance(value.value, str) and kind.precision <= _EXACT_DOUBLE_DIGITS:
        number = double_of(number)
    if isinstance(number, float) and math.isfinite(number):
        number = decimal.Decimal(repr(number))
    outside = _outside(number, kind.greatest.copy_negate(), kind.greatest)
    if outside:
        return outside
    exact = number if isinstance(number, decimal.Decimal) else decimal.Decimal(number)
    floor = exact.quantize(decimal_step(kind.scale), decimal.ROUND_FLOOR, _WIDE)
    return Fit(floor.copy_abs() if floor == 0 else floor, int(floor != exact))


def _fit_floating(value: Literal) -> Fit | None:
    number = _number(value)
    if number is None:
        return None
    double = double_of(number)
    if math.isnan(double):
        return Fit(math.nan)
    is_text = isinstance(value.value, str)  # which is rounded before it is compared
    if math.isinf(double) and not is_text and not (isinstance(number, float) and math.isinf(number)):
        return Fit(double, -1 if double == math.inf else 1)
    return Fit(double + 0.0)  # -0.0 + 0.0 is 0.0


def _fit_boolean(value: Literal, kind: PrimitiveType) -> Fit | None:
    if isinstance(value.value, str):
        text = value.value.strip().lower()
        return Fit(True) if text in _TRUE_TEXTS else Fit(False) if text in _FALSE_TEXTS else None
    return Fit(value.value) if isinstance(value.value, bool) else None


def _fit_string(value: Literal, kind: PrimitiveType) -> Fit | None:
    if not isinstance(value.value, str):
        return None
    try:
        value.value.encode()
    except UnicodeEncodeError:
        raise InvalidPredicateError(f"{value.value!r} is not Unicode text: it has a lone surrogate") from None
    return Fit(value.value)


def _fit_binary(value: Literal, kind: PrimitiveType) -> Fit | None:
    if isinstance(value.value, str):
        return Fit(_fit_string(value, kind).value.encode())  # type: ignore[union-attr]
    return Fit(value.value) if isinstance(value.value, bytes) else None


def _fit_fixed(value: Literal, length: int) -> Fit | None:
    if not isinstance(value.value, bytes):
        return None
    if len(value.value) > length:
        return Fit(value.value[:length], 1)
    return Fit(value.value.ljust(length, b"\0"), 0 if len(value.value) == length else -1)


def _fit_uuid(value: Literal, kind: PrimitiveType) -> Fit | None:
    if isinstance(value.value, bytes) and len(value.value) == 16:
        return Fit(value.value)
    if isinstance(value.value, str):
        try:
            return Fit(uuid.UUID(value.value).bytes)
        except ValueError:
            return None
    return None


def _fit_time(value: Literal, kind: PrimitiveType) -> Fit | None:
    if value.type == primitive("time"):
        return Fit(value.value)
    micros = parse_time(value.value) if isinstance(value.value, str) else None
    return None if micros is None else Fit(micros)


def instant_nanos(value: Literal) -> int | None:
    """Nanoseconds since the epoch of a timestamp, or of a date's midnight in UTC. None for anything else."""
    name = value.type.name if isinstance(value.type, PrimitiveType) else ""
    if name == "date":
        return int(value.value) * DAY_NANOS
    return int(value.value) * _NANOS[name] if name in _NANOS else None


def _fit_date(value: Literal, kind: PrimitiveType) -> Fit | None:
    if isinstance(value.value, str):
        days = parse_date(value.value)
        if days is None:
            return None
        rest = 0
    else:
        instant = instant_nanos(value)
        if instant is None:
            return None
        days, rest = divmod(instant, DAY_NANOS)
    return _outside(days, *INTEGER_RANGES["int"]) or Fit(days, int(rest != 0))


def _fit_timestamp(value: Literal, kind: PrimitiveType) -> Fit | None:
    if isinstance(value.value, str):
        parsed = parse_timestamp(value.value, ignores_zone="ntz" in kind.name)
        instant = None if parsed is None else parsed[0]
    else:
        instant = instant_nanos(value)
    if instant is None:
        return None
    count, rest = divmod(instant, _NANOS[kind.name])
    return _outside(count, *_LONG) or Fit(count, int(rest != 0 and not isinstance(value.value, str)))


_FITTERS = {
    "boolean": _fit_boolean,
    "string": _fit_string,
    "binary": _fit_binary,
    "uuid": _fit_uuid,
    "date": _fit_date,
    "time": _fit_time,
    "timestamp": _fit_timestamp,
    "timestamp_ntz": _fit_timestamp,
    "timestamp_ns": _fit_timestamp,
    "timestamp_ntz_ns": _fit_timestamp,
}
