"""Bind the values of a predicate that are computed: type functions, convert their arguments, fold what is constant.

A condition over a function becomes a leaf over a column again where it says the same: ``abs(-5) < a`` is ``a > 5``.
``now()`` and ``current_date()`` are constants of one instant, which the caller gives. What is constant and cannot be
computed is an error at once, unless CASE or its kind decides whether anybody needs it.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..schema import INTEGER_RANGES, DecimalType, is_numeric, primitive
from ..schema.datetimes import DAY_US
from .functions.coercion import BOOLEAN, DATE, LONG, STRING, TIMESTAMP, type_of
from .functions.intervals import IntervalType
from .functions.signatures import ALIASES, SIGNATURES
from .literals import normalized
from .tree import (
    COMPARISONS,
    And,
    AnyColumn,
    BoundColumn,
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
    StartsWith,
    Value,
)

if TYPE_CHECKING:
    from .functions.definitions import Definition

__all__ = ["ValueBinder", "compares_plainly", "typed"]

_LAZY = ("case", "if", "coalesce")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class ValueBinder:
    """Binds functions.

    Parameters
    ----------
    column : callable
        Looks up a column, or an element of a map, by name.
    condition : callable
        Binds a predicate, simplified.
    ansi : bool
    now : int
        Microseconds since the epoch.
    """

    def __init__(
        self,
        column: Callable[[AnyColumn], Value],
        condition: Callable[[Expression], Expression],
        ansi: bool,
        now: int,
    ) -> None:
        self._column = column
        self._condition = condition
        self._ansi = ansi
        self._now = now
        self._guards = 0

    def holds(self, function: Function) -> Expression | Function:
        """A boolean function as a condition: an unbound leaf over columns if it is one, else the typed function."""
        bound = self._prepared(function)
        if isinstance(bound, Function):
            leaf = self._leaf(bound)
            if leaf is not None:
                return leaf
            bound = self._typed(bound)
        if isinstance(bound, Literal):
            if bound.value is not None and not isinstance(bound.value, bool):
                raise _no_condition(function, bound)
            return Constant(bound.value)
        if type_of(bound) != BOOLEAN:
            raise _no_condition(function, bound)
        if isinstance(bound, BoundColumn):
            return Comparison("=", bound, Literal(True))
        if isinstance(bound, Function):
            return _choice(bound)
        assert isinstance(bound, Expression)
        return bound

    def value(self, node: Value) -> Value:
        """``node`` bound: a literal with a type, a column, a typed function, or a bound condition."""
        if isinstance(node, Literal):
            return typed(node)
        if isinstance(node, Function):
            prepared = self._prepared(node)
            return self._typed(prepared) if isinstance(prepared, Function) else prepared
        if isinstance(node, Expression):
            bound = self._condition(node)
            if isinstance(bound, Constant):
                return Literal(bound.value, BOOLEAN)
            return bound.value if isinstance(bound, Holds) else bound
        return self._column(node)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Inside, a constant that cannot be computed is no error yet."""
        self._guards += 1
        try:
            yield
        finally:
            self._guards -= 1

    def _prepared(self, node: Function) -> Value:
        """``node`` under its proper name with bound arguments, or the value that it stands for."""
        name = ALIASES.get(node.name.lower(), node.name.lower())
        if name == "interval":
            amount, unit = node.arguments
            assert isinstance(amount, Literal) and isinstance(unit, Literal)
            return Literal(amount.value, IntervalType(unit.value))
        node = replace(node, name=name, ansi=node.ansi and self._ansi)
        _check_count(node)
        instant = self._instant(name) if not node.arguments else None
        if instant is not None:
            return instant
        simpler = _without_shorthand(node)
        if isinstance(simpler, Expression):
            return self.value(simpler)
        if simpler is not node:
            return self._prepared(simpler)
        return replace(node, arguments=tuple(self._each(node, node.arguments, self.value)))

    def _instant(self, name: str) -> Literal | None:
        if name == "current_date":
            return Literal(self._now // DAY_US, DATE)
        if name == "current_timestamp":
            return Literal(self._now, TIMESTAMP)
        if name == "localtimestamp":
            return Literal(self._now, primitive("timestamp_ntz"))
        if name == "unix_timestamp":
            return Literal(self._now // 1_000_000, LONG)
        return Literal("UTC", STRING) if name == "current_timezone" else None

    def _typed(self, node: Function) -> Value:
        _refuse_collations(node)
        if not any(isinstance(argument, Function) and argument.type is None for argument in node.arguments):
            node = _definition(node.name).rule(node)
        return self._folded(replace(node, arguments=tuple(self._each(node, node.arguments, self._folded))))

    def _each(self, node: Function, arguments: Sequence[Value], function: Callable[[Value], Value]) -> Iterator[Value]:
        """``function`` of each argument. A choice evaluates the first one alone on every row."""
        for i, argument in enumerate(arguments):
            with self.guarded() if i and node.name in _LAZY else nullcontext():
                yield function(argument)

    def _folded(self, node: Value) -> Value:
        """The literal that a function of literals is."""
        if not isinstance(node, Function) or not all(isinstance(a, Literal) for a in node.arguments):
            return node
        kind = type_of(node)
        if kind.is_nested or any(type_of(a).is_nested for a in node.arguments):
            return node
        from .evaluation import evaluate_value
        from .functions.vectors import python_values

        try:
            found = python_values(evaluate_value(node, _no_columns, 1), kind)[0]
        except UnsupportedFeatureError:
            return node
        except InvalidPredicateError as error:
            if self._guards:
                return node
            raise InvalidPredicateError(
                f"{node} cannot be computed: {_reason(error)}", field=str(node), hint="TRY_CAST and try_add give NULL."
            ) from None
        if found == 0 and isinstance(found, float):
            found = 0.0
        return Literal(found, kind)

    def _leaf(self, node: Function) -> Expression | None:
        """The condition on a column that ``node``, of bound arguments, is. None if it is none."""
        name, arguments = node.name, node.arguments
        first = arguments[0] if arguments else None
        if name in COMPARISONS:
            left, right = arguments
            if isinstance(left, Literal) and isinstance(right, BoundColumn):
                name, left, right = _FLIPPED.get(name, name), right, left
            if isinstance(left, BoundColumn) and isinstance(right, (Literal, BoundColumn)):
                return Comparison(name, left, right) if compares_plainly(left, right) else None
            return None
        if not isinstance(first, BoundColumn):
            return None
        rest = arguments[1:]
        if name == "in" and all(isinstance(a, Literal) and compares_plainly(first, a) for a in rest):
            return In(first, tuple(a for a in rest if isinstance(a, Literal)))
        if name == "isnull":
            return IsNull(first)
        if name == "isnotnull":
            return Not(IsNull(first))
        if name == "isnan" and is_numeric(first.type):
            return IsNaN(first)
        if name in ("startswith", "like") and first.type == STRING and len(rest) == 1:
            text = rest[0]
            if isinstance(text, Literal) and isinstance(text.value, str):
                return StartsWith(first, text.value) if name == "startswith" else Like(first, text.value)
        return None


def compares_plainly(column: BoundColumn, other: Literal | BoundColumn) -> bool:
    """Whether a comparison of a column with a literal or a column needs no conversion of the column's texts."""
    if column.field.collation is not None or column.type.is_nested:
        return True  # which is refused with its reason
    kinds = (column.type, type_of(other))
    if isinstance(kinds[1], IntervalType):
        return False
    if isinstance(other, BoundColumn):
        return STRING not in kinds or kinds[0] == kinds[1] or any(kind.is_nested for kind in kinds)
    return (
        kinds[0] != STRING
        or other.value is None
        or kinds[1] == STRING
        or not isinstance(other.value, (bool, int, float, decimal.Decimal))
    )


def typed(literal: Literal) -> Literal:
    """``literal`` with the type that Spark gives it: INT for integers that fit, else BIGINT, else a decimal."""
    value = literal.value
    if literal.type is not None:
        return literal
    if isinstance(value, int) and not isinstance(value, bool):
        for name in ("int", "long"):
            if INTEGER_RANGES[name][0] <= value <= INTEGER_RANGES[name][1]:
                return Literal(value, primitive(name))
        return typed(Literal(decimal.Decimal(value)))
    if isinstance(value, decimal.Decimal) and value.is_finite():
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale, count = max(-exponent, 0), len(digits) + max(exponent, 0)
        precision = max(count, scale)
        if precision > 38:
            raise InvalidPredicateError(f"{value} has more than 38 digits", hint="Write it as 1e40 for a DOUBLE.")
        return Literal(value, DecimalType(precision, scale))
    return normalized(literal)


def _definition(name: str) -> Definition:
    """The function called ``name``. Its module imports Arrow, which predicates without functions do without."""
    from .functions.registry import definition

    return definition(name)


def _refuse_collations(node: Function) -> None:
    for column in node.arguments:
        if isinstance(column, BoundColumn) and column.field.collation is not None and node.name not in _NULL_TESTS:
            raise UnsupportedFeatureError(
                f"column {str(column)!r} compares by the collation {column.field.collation!r}, which is not built",
                field=str(column),
                hint="Filter the rows after reading, in an engine that has the collation",
            )


_NULL_TESTS = ("isnull", "isnotnull")


def _check_count(node: Function) -> None:
    signature = SIGNATURES.get(node.name)
    if signature is None:
        _definition(node.name)
    elif not signature.accepts(len(node.arguments)):
        raise InvalidPredicateError(
            f"{node.name}() takes {signature}, not {len(node.arguments)}: {node}", field=str(node)
        )


def _without_shorthand(node: Function) -> Function | Expression:
    """Functions that stand for others, written out: nullif, nvl2, between."""
    a = node.arguments
    if node.name == "nullif":
        return replace(node, name="if", arguments=(Function("=", a, None, node.ansi), Literal(None), a[0]))
    if node.name == "nvl2":
        return replace(node, name="if", arguments=(Function("isnotnull", a[:1], None, node.ansi), *a[1:]))
    if node.name == "between":
        lower, upper = (Function(op, (a[0], b), None, node.ansi) for op, b in zip((">=", "<="), a[1:], strict=True))
        return And((Holds(lower), Holds(upper)))
    return node


def _choice(node: Function) -> Expression | Function:
    """A boolean CASE, IF or COALESCE as AND and OR of its conditions, where that is the same on every row."""
    parts = [_as_condition(argument) for argument in node.arguments]
    if node.name not in _LAZY or len(parts) > 17 or any(part is None for part in parts):
        return node
    conditions = [part for part in parts if part is not None]
    found = conditions[-1]
    if node.name == "coalesce":
        for part in reversed(conditions[:-1]):
            found = Or((IsTrue(part), And((Not(IsTrue(Not(part))), found))))
        return found
    pairs = list(zip(conditions[:-1:2], conditions[1:-1:2], strict=True))
    for when, then in reversed(pairs):
        found = Or((And((IsTrue(when), then)), And((Not(IsTrue(when)), found))))
    return found


def _as_condition(value: Value) -> Expression | None:
    if isinstance(value, Literal):
        return Constant(value.value) if value.value is None or isinstance(value.value, bool) else None
    if isinstance(value, BoundColumn):
        return Comparison("=", value, Literal(True)) if value.type == BOOLEAN else None
    if isinstance(value, Function):
        return Holds(value) if value.type == BOOLEAN else None
    return value if isinstance(value, Expression) else None


def _no_condition(function: Function, bound: Value) -> InvalidPredicateError:
    return InvalidPredicateError(
        f"{function} is no condition but a value of type {type_of(bound)}", field=str(function), hint="Compare it."
    )


def _no_columns(column: BoundColumn) -> Any:
    raise AssertionError(f"a constant names the column {column}")


def _reason(error: InvalidPredicateError) -> str:
    return error.message.rsplit("of those that were read: ", 1)[-1]
