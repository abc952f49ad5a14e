"""Build conditions from values that were read: leaves over plain columns where these say the same, else functions.

A leaf (``a > 1``) prunes by bounds; ``Holds(Function(..))`` is evaluated, and rewritten where that is exact. Source:
Spark SQL reference, "Operators" and "NULL Semantics".
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from typing import Any

from ...dataclass import dataclass
from ...errors import InvalidPredicateError
from ...schema import is_numeric
from ..literals import normalized
from ..tree import (
    And,
    Comparison,
    Constant,
    Expression,
    Function,
    Holds,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
    Value,
    walk,
    with_backslashes,
)

__all__ = [
    "Operand",
    "Row",
    "between",
    "choice",
    "comparison",
    "condition_of",
    "is_in",
    "is_nan",
    "is_null",
    "is_true",
    "like",
    "starts_with",
    "value_of",
]

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NULL = Constant(None)


@dataclass(frozen=True)
class Row:
    """Several values in parentheses, which compare as one: ``(a, b)``."""

    values: tuple[Operand, ...]


Operand = Value | Row


def value_of(operand: Operand) -> Value:
    """The single value of an operand. A constant condition is a literal. Raises InvalidPredicateError for a tuple."""
    if isinstance(operand, Row):
        raise InvalidPredicateError(
            "a tuple is compared with tuples only", hint="Write (a, b) = (1, 2), or (a, b) IN ((1, 2), (3, 4))."
        )
    return Literal(operand.value) if isinstance(operand, Constant) else operand


def condition_of(operand: Operand) -> Expression:
    """The operand as a condition: a boolean column, constant or function. Raises InvalidPredicateError for others."""
    value = operand if isinstance(operand, Expression) else value_of(operand)
    if isinstance(value, Expression):
        return value
    if isinstance(value, Reference):
        return Comparison("=", value, Literal(True))
    if isinstance(value, Literal):
        if value.value is None or isinstance(value.value, bool):
            return Constant(value.value)
        raise InvalidPredicateError(f"{value} cannot stand here, for it is no condition")
    assert isinstance(value, Function)
    rewritten = _rewritten_choice(value)
    return Holds(value) if rewritten is None else rewritten


def comparison(op: str, left: Operand, right: Operand, ansi: bool = True) -> Expression:
    """``left op right``."""
    if isinstance(left, Row) and isinstance(right, Row):
        return _compare_rows(op, left, right, ansi)
    first, second = value_of(left), value_of(right)
    if isinstance(first, Reference) and isinstance(second, (Reference, Literal)):
        return Comparison(op, first, second if isinstance(second, Reference) else _plain(second))
    if isinstance(second, Reference) and isinstance(first, Literal):
        return Comparison(_FLIPPED.get(op, op), second, _plain(first))
    if isinstance(second, Literal):
        found = _constant(op, first, second) if isinstance(first, Literal) else _compare_computed(op, first, second)
        if found is not None:
            return found
    elif isinstance(first, Literal):
        found = _compare_computed(_FLIPPED.get(op, op), second, first)
        if found is not None:
            return found
    return Holds(Function(op, (first, second), ansi=ansi))


def between(value: Operand, low: Operand, high: Operand, ansi: bool = True) -> Expression:
    """``value BETWEEN low AND high``."""
    return And((comparison(">=", value, low, ansi), comparison("<=", value, high, ansi)))


def is_in(value: Operand, items: tuple[Operand, ...], ansi: bool = True) -> Expression:
    """``value IN (items)``."""
    if isinstance(value, Row):
        return _any_of(comparison("=", value, item, ansi) for item in items)
    first, listed = value_of(value), tuple(map(value_of, items))
    literals = tuple(item for item in listed if isinstance(item, Literal))
    if isinstance(first, Reference) and len(literals) == len(listed):
        return In(first, tuple(map(_plain, literals)))
    if all(isinstance(v, (Reference, Literal)) for v in (first, *listed)):
        return _any_of(comparison("=", first, item, ansi) for item in listed)
    return Holds(Function("in", (first, *listed), ansi=ansi))


def is_null(operand: Operand) -> Expression:
    """``operand IS NULL``, or IS UNKNOWN. A tuple is never NULL."""
    if isinstance(operand, Row):
        return Constant(False)
    if isinstance(operand, Reference):
        return IsNull(operand)
    if isinstance(operand, Literal):
        return Constant(operand.value is None)
    if isinstance(operand, Constant):
        return Constant(operand.value is None)
    return Holds(Function("isnull", (value_of(operand),)))


def is_true(operand: Operand, wanted: bool) -> Expression:
    """``operand IS TRUE``, or IS FALSE."""
    if isinstance(operand, Reference):
        return Comparison("<=>", operand, Literal(wanted))
    condition = condition_of(operand)
    if isinstance(condition, Constant):
        return Constant(condition.value is wanted)
    return IsTrue(condition if wanted else Not(condition))


def is_nan(operand: Operand) -> Expression:
    """``isnan(operand)``."""
    value = value_of(operand)
    return IsNaN(value) if isinstance(value, Reference) else Holds(Function("isnan", (value,)))


def like(value: Operand, pattern: Operand, escape: str = "\\", folds: bool = False, ansi: bool = True) -> Expression:
    """``value LIKE pattern ESCAPE escape``; ILIKE where ``folds``."""
    first, second = value_of(value), value_of(pattern)
    escaped = escape != "\\"
    if isinstance(second, Literal):
        if second.value is None:
            return NULL
        if isinstance(second.value, str):
            second, escaped = Literal(with_backslashes(second.value, escape)), False
            if isinstance(first, Reference) and not folds:
                return Like(first, second.value)
    arguments = (first, second, Literal(escape)) if escaped else (first, second)
    return Holds(Function("ilike" if folds else "like", arguments, ansi=ansi))


def starts_with(value: Operand, prefix: Operand, ansi: bool = True) -> Expression:
    """``startswith(value, prefix)``."""
    first, second = value_of(value), value_of(prefix)
    if isinstance(first, Reference) and isinstance(second, Literal):
        if second.value is None:
            return NULL
        if isinstance(second.value, str):
            return StartsWith(first, second.value)
    return Holds(Function("startswith", (first, second), ansi=ansi))


def choice(pairs: list[tuple[Operand, Operand]], otherwise: Operand, ansi: bool = True) -> Function:
    """CASE: the value of the first pair whose condition is TRUE."""
    arguments: list[Value] = []
    for condition, value in pairs:
        arguments += (condition_of(condition), value_of(value))
    return Function("case", (*arguments, value_of(otherwise)), ansi=ansi)


def _plain(literal: Literal) -> Literal:
    """The literal as it is compared with a column: the type of an integer, decimal or double does not matter."""
    kind = literal.type
    if kind is None or literal.value is None or str(kind) == "float":
        return literal
    matters = not is_numeric(kind) and not isinstance(literal.value, (str, bool))
    return literal if matters else Literal(literal.value)


def _any_of(conditions: Any) -> Expression:
    parts = tuple(conditions)
    return parts[0] if len(parts) == 1 else Or(parts)


def _compare_rows(op: str, left: Row, right: Row, ansi: bool) -> Expression:
    """Tuples are never NULL, and a NULL in one equals a NULL in the other and is less than any value: Spark compares
    them as structs, the first members first."""
    if len(left.values) != len(right.values):
        raise InvalidPredicateError(f"tuples of {len(left.values)} and {len(right.values)} values do not compare")
    pairs = list(zip(left.values, right.values, strict=True))
    same = [comparison("<=>", first, second, ansi) for first, second in pairs]
    if op in ("=", "<=>", "!="):
        return Not(And(tuple(same))) if op == "!=" else And(tuple(same))
    orders = [_is_before(*(pair if "<" in op else pair[::-1]), ansi) for pair in pairs]
    parts: list[Expression] = [And((*same[:i], order)) if i else order for i, order in enumerate(orders)]
    return _any_of([*parts, And(tuple(same))] if "=" in op else parts)


def _is_before(left: Operand, right: Operand, ansi: bool) -> Expression:
    """Whether a member of a tuple is less than the other one. TRUE or FALSE, for NULL is the least value."""
    none_left, none_right = is_null(left), is_null(right)
    less = And((Not(none_left), Not(none_right), comparison("<", left, right, ansi)))
    return Or((And((none_left, Not(none_right))), less))


def _constant(op: str, left: Literal, right: Literal) -> Expression | None:
    """A comparison of two constants of one kind, such as ``1 = 1`` in generated SQL. None: binding decides."""
    a, b = normalized(left), normalized(right)
    if a.value is None or b.value is None:
        return Constant(a.value is b.value) if op == "<=>" else NULL
    if isinstance(a.value, float) and isinstance(b.value, float):
        first, second = ((math.isnan(v), 0 if math.isnan(v) else v) for v in (a.value, b.value))
        return Constant(bool(_PYTHON[op](first, second)))
    exact = all(isinstance(v, (int, decimal.Decimal)) and not isinstance(v, bool) for v in (a.value, b.value))
    both_numbers = exact and all(x.type is not None and is_numeric(x.type) for x in (a, b))
    return Constant(bool(_PYTHON[op](a.value, b.value))) if both_numbers or a.type == b.type else None


def _compare_computed(op: str, value: Value, literal: Literal) -> Expression | None:
    """A condition compared with TRUE, FALSE or NULL, or a CASE of constants with a constant. None: as any other."""
    constant = literal.value
    if isinstance(value, Function) and isinstance(constant, bool) and any(map(_is_condition, value.arguments)):
        rewritten = _rewritten_choice(value)
        value = value if rewritten is None else rewritten
    if isinstance(value, Expression) and (constant is None or isinstance(constant, bool)):
        if op in ("=", "!="):
            return NULL if constant is None else value if (op == "=") is constant else Not(value)
        if op == "<=>":
            return is_null(value) if constant is None else is_true(value, constant)
    if not isinstance(value, Function) or value.name != "case" or constant is None:
        return None
    branches = [*value.arguments[1::2], value.arguments[-1]]
    kind = type(constant)
    if not all(isinstance(b, Literal) and (b.value is None or type(b.value) is kind) for b in branches):
        return None
    results = [_constant(op, b, literal) for b in branches if isinstance(b, Literal)]
    if any(result is None for result in results):
        return None
    values = tuple(Literal(result.value) for result in results if isinstance(result, Constant))
    arguments: list[Value] = []
    for condition, found in zip(value.arguments[:-1:2], values, strict=False):
        arguments += (condition, found)
    return condition_of(Function("case", (*arguments, values[-1]), ansi=value.ansi))


def _rewritten_choice(value: Function) -> Expression | None:
    """A boolean CASE or coalesce as AND, OR and IS TRUE, which prune. None where a part computes.

    Each part is evaluated then, on all rows, so that a part which may fail must stay where its condition guards it.
    """
    if value.name not in ("case", "coalesce") or not all(_is_simple(argument) for argument in value.arguments):
        return None
    *firsts, last = (condition_of(argument) for argument in value.arguments)
    found = last
    if value.name == "coalesce":
        for first in reversed(firsts):
            found = Or((is_true(first, True), And((Not(is_true(first, False)), found))))
        return found
    for condition, result in zip(firsts[-2::-2], firsts[::-2], strict=True):
        found = Or((And((is_true(condition, True), result)), And((Not(is_true(condition, True)), found))))
    return found


def _is_condition(value: Value) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, bool)


def _is_simple(value: Value) -> bool:
    """Whether ``value`` is a condition over plain columns, a column, or TRUE, FALSE or NULL."""
    if isinstance(value, Expression):
        return not any(isinstance(node, Holds) for node in walk(value))
    return isinstance(value, Reference) or (
        isinstance(value, Literal) and (value.value is None or isinstance(value.value, bool))
    )
