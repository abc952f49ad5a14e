"""Parse filters that are unbound expressions of PyIceberg: ``EqualTo("a", 1) & IsNull("b")``.

They mean what the same SQL means to Spark, as all filters here: ``NotEqualTo``, ``NotIn`` and ``NotStartsWith`` do not
hold for NULL, NaN is greater than every number, and a literal is compared with a float column as a double.
docs/correctness.md says where PyIceberg answers otherwise, and why. Source: pyiceberg.expressions.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from ...errors import InvalidPredicateError
from ...schema import primitive
from ..columns import split_name
from ..tree import (
    And,
    Comparison,
    Constant,
    Expression,
    In,
    IsNaN,
    IsNull,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
)

__all__ = ["parse_pyiceberg"]

_COMPARISONS = {
    "EqualTo": "=",
    "NotEqualTo": "!=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_MICROSECOND = dt.timedelta(microseconds=1)


def parse_pyiceberg(filter: Any) -> Expression:
    """The unbound predicate. Raises InvalidPredicateError for bound expressions and unknown classes."""
    name = type(filter).__name__
    if name in ("AlwaysTrue", "AlwaysFalse"):
        return Constant(name == "AlwaysTrue")
    if name in ("And", "Or"):
        kind = And if name == "And" else Or
        return kind((parse_pyiceberg(filter.left), parse_pyiceberg(filter.right)))
    if name == "Not":
        return Not(parse_pyiceberg(filter.child))
    column = getattr(getattr(filter, "term", None), "name", None)
    if not isinstance(column, str):
        raise InvalidPredicateError(
            f"{filter!r} is no unbound PyIceberg predicate", hint="Write it over names, as in EqualTo('a', 1)"
        )
    return _predicate(name, Reference(split_name(column)), filter)


def _predicate(name: str, column: Reference, filter: Any) -> Expression:
    if name in _COMPARISONS:
        return Comparison(_COMPARISONS[name], column, _literal(filter.literal))
    if name in ("In", "NotIn"):
        member = In(column, tuple(sorted(map(_literal, filter.literals), key=str)))
        return member if name == "In" else Not(member)
    if name in ("IsNull", "NotNull"):
        return IsNull(column) if name == "IsNull" else Not(IsNull(column))
    if name in ("IsNaN", "NotNaN"):
        return IsNaN(column) if name == "IsNaN" else Not(IsNaN(column))
    if name in ("StartsWith", "NotStartsWith"):
        prefix = StartsWith(column, filter.literal.value)
        return prefix if name == "StartsWith" else Not(prefix)
    raise InvalidPredicateError(f"the PyIceberg predicate {name} is not known", field=name)


def _literal(literal: Any) -> Literal:
    """The literal. PyIceberg has days for dates, and microseconds for times and timestamps."""
    name, value = type(literal).__name__, literal.value
    if name == "DateLiteral":
        return Literal(value, primitive("date"))
    if name == "TimestampLiteral":
        return Literal(dt.datetime(1970, 1, 1) + value * _MICROSECOND)
    if name == "TimeLiteral":
        return Literal(value, primitive("time"))
    if name == "UUIDLiteral":
        return Literal(value, primitive("uuid"))
    return Literal(value)
