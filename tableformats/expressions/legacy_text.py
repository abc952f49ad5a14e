"""Texts and numbers compared with columns of other types as Spark does it without ANSI mode, the default of Spark 3.

- ``column = text`` and the other comparisons cast the text to the column's type (for decimals to DOUBLE). ``f = '0.1'``
  matches the float nearest to 0.1. A cast to an integer drops the digits behind the point. What cannot be cast is NULL.
- ``column IN (text, ...)`` casts the column and all items to STRING. ``i IN ('01')`` and ``f IN ('1e10')`` never match,
  because Spark prints ``1`` and ``1.0E10``. Timestamps are printed in UTC here (Spark: in the session's zone).
- ``flag = 1`` is ``flag = TRUE``, and ``flag = 0`` is ``flag = FALSE``.

Other than Spark, a long or integer column is compared with a FLOAT exactly, in either mode, and a text column that is
compared with a number is refused. Source: Spark SQL reference, "ANSI Compliance"; Spark's TypeCoercion.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

from ..errors import InvalidPredicateError
from ..schema import DecimalType, PrimitiveType, Type, is_floating, is_integer, is_numeric
from . import casts
from .fitting import Fit, fit
from .numbers import nearest_float, parse_number
from .tree import Literal

__all__ = ["cast", "compares_texts", "fit_text", "fit_truth"]

_NEVER_TEXT = ("string", "binary", "boolean", "uuid", "time", "unknown")
"""Types whose IN lists Spark does not compare as texts, or that it does not have."""


def cast(literal: Literal, kind: Type) -> Literal:
    """What ``literal`` (normalized) is compared as with a column of type ``kind``; ``value`` is None for NULL."""
    text = literal.value
    if not isinstance(text, str):
        return literal
    if is_integer(kind):
        return casts.cast(literal, kind, ansi=False)
    if is_numeric(kind):
        number = parse_number(text)
        if number is None:
            return Literal(None, kind)
        return Literal(nearest_float(number), kind) if str(kind) == "float" else literal
    if isinstance(kind, PrimitiveType) and (kind.name in ("boolean", "date") or kind.name.startswith("timestamp")):
        try:
            fit(literal, kind)
        except InvalidPredicateError:
            return Literal(None, kind)
    return literal


def fit_truth(op: str, literal: Literal, kind: Type) -> Fit | None:
    """What a number means beside a boolean column: 1 is TRUE, 0 is FALSE, others are neither. None for other types, and
    for operators that Spark refuses."""
    is_compared = str(kind) == "boolean" and op in ("=", "!=", "<=>")
    if not is_compared or literal.value is None or literal.type is None or not is_numeric(literal.type):
        return None
    return Fit(bool(literal.value)) if literal.value in (0, 1) else Fit(True, 1)


def compares_texts(literals: Sequence[Literal], kind: Type) -> bool:
    """Whether ``column IN (literals)`` compares texts, for a column of type ``kind``."""
    prints = isinstance(kind, DecimalType) or (isinstance(kind, PrimitiveType) and kind.name not in _NEVER_TEXT)
    return prints and any(isinstance(literal.value, str) for literal in literals)


def fit_text(literal: Literal, kind: Type) -> Fit:
    """The value of type ``kind`` that Spark prints as it prints ``literal``; ``side`` is not 0 where there is none."""
    text = literal.value if isinstance(literal.value, str) else casts.printed(literal.value, literal.type, ansi=False)
    if str(kind) == "float":
        number = parse_number(text)
        fitted = Fit(0.0, 1) if number is None else Fit(nearest_float(number) + 0.0)
    else:
        try:
            fitted = fit(Literal(text), kind)
        except InvalidPredicateError:
            fitted = Fit(_any_value(kind), 1)
    is_printed_so = fitted.side == 0 and casts.printed(fitted.value, kind, ansi=False) == text
    return fitted if is_printed_so else Fit(fitted.value, 1)


def _any_value(kind: Type) -> Any:
    return decimal.Decimal(0) if isinstance(kind, DecimalType) else 0.0 if is_floating(kind) else 0
