"""Evaluate bound predicates, and values that are computed from columns, over Arrow arrays.

The result of a predicate is a boolean array with nulls for NULL. Binding has converted literals to the type that they
are compared as, so nothing is rounded here. AND, OR, CASE, IF and COALESCE do not evaluate what their first operands
decide: a value that cannot be computed is an error only for rows that need it, as in Spark.

Source: Spark SQL reference, "NaN Semantics", "NULL Semantics", "ANSI Compliance".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columnar.arrays import pad_strings
from ..errors import TableFormatsError, UnsupportedFeatureError
from ..schema import primitive
from .error_places import placed
from .functions import comparing, conditionals
from .functions.coercion import type_of
from .functions.registry import definition
from .functions.vectors import Failure, Vector, flags, raise_failures, stored_type, vector_of
from .tree import (
    And,
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

__all__ = ["Columns", "computed", "evaluate", "evaluate_value", "failures_of"]

Columns = Callable[[BoundColumn], pa.Array]
"""Gives the values of a column, one for each row; a member of a NULL struct is NULL."""

_BOOLEAN = primitive("boolean")


def evaluate(
    expression: Expression, columns: Columns, length: int, known: Mapping[Expression, pa.BooleanArray] = {}
) -> pa.BooleanArray:
    """The truth value of a bound predicate for every row: TRUE, FALSE or NULL.

    Parameters
    ----------
    expression : Expression
    columns : callable
        Gives the ``length`` values of a column of the predicate.
    length : int
    known : mapping of Expression to pa.BooleanArray
        Conditions within the predicate whose truth values are known. Their columns are not asked for.

    Raises
    ------
    InvalidPredicateError
        A value cannot be computed for a row that needs it, such as a quotient by zero in ANSI mode.
    UnsupportedFeatureError
        Arrow does not compute a function exactly as Spark does.
    """
    found = _Evaluator(columns, length, known).condition(expression)
    raise_failures(found)
    return found.values


def evaluate_value(value: Value, columns: Columns, length: int) -> pa.Array:
    """A bound value for every row, in its type. Parameters and errors are those of :func:`evaluate`."""
    found = _Evaluator(columns, length).value(value).spread(length)
    raise_failures(found)
    return found.values


def computed(value: Value, columns: Columns, length: int) -> Vector:
    """As :func:`evaluate_value`, but rows with an error are told instead of raised: they are NULL, with failures."""
    return _Evaluator(columns, length).value(value).spread(length)


def failures_of(expression: Expression, columns: Columns, length: int) -> tuple[pa.BooleanArray, np.ndarray]:
    """As :func:`evaluate`, but rows with an error are told instead of raised.

    Returns
    -------
    values : pa.BooleanArray
    failed : numpy.ndarray
        bool[length], the rows whose value cannot be computed.
    """
    found = _Evaluator(columns, length).condition(expression)
    failed = np.zeros(length, bool)
    for failure in found.failures:
        failed |= failure.rows
    return found.values, failed


class _Evaluator:
    def __init__(self, columns: Columns, length: int, known: Mapping[Expression, pa.BooleanArray] = {}) -> None:
        self._columns = columns
        self._known = known
        self._length = length
        self._place: tuple[str, int] | None = None

    def condition(self, node: Expression) -> Vector:
        """The truth values [length] of a predicate."""
        if self._known and node in self._known:
            return Vector(_BOOLEAN, self._known[node])
        if isinstance(node, (And, Or)):
            return self._junction(node)
        if isinstance(node, Not):
            child = self.condition(node.child)
            return replace(child, values=pc.invert(child.values))
        if isinstance(node, IsTrue):
            child = self.condition(node.child)
            return replace(child, values=pc.fill_null(child.values, False))
        if isinstance(node, Holds):
            return self.value(node.value).spread(self._length)
        if isinstance(node, Constant):
            return vector_of(node.value, _BOOLEAN).spread(self._length)
        return Vector(_BOOLEAN, self._leaf(node))

    def value(self, node: Value) -> Vector:
        """The values of a column, a literal, a function or a condition."""
        if isinstance(node, Literal):
            assert node.type is not None, "predicates are bound before they are evaluated"
            return vector_of(node.value, node.type)
        if isinstance(node, Constant):
            return vector_of(node.value, _BOOLEAN)
        if isinstance(node, Expression):
            return self.condition(node)
        if isinstance(node, Function):
            return self._call(node)
        column = _bound(node)
        values = self._columns(column)
        wanted = stored_type(column.type)
        keeps = values.type == wanted or column.type.is_nested
        return Vector(column.type, values if keeps else values.cast(wanted))

    def _call(self, node: Function) -> Vector:
        outer = self._place
        self._place = node.place or outer  # functions that binding adds stand where those around them do
        try:
            return self._computed(node)
        except TableFormatsError as error:
            raise placed(error, self._place) from None
        finally:
            self._place = outer

    def _computed(self, node: Function) -> Vector:
        arguments = [self.value(argument) for argument in node.arguments]
        is_constant = all(argument.is_constant for argument in arguments)
        n = 1 if is_constant else self._length
        kind = type_of(node)
        chosen = conditionals.choose(node, arguments, n)
        if chosen is not None:
            return replace(chosen, is_constant=is_constant)
        kernel = definition(node.name).kernel
        if kernel is None:
            raise UnsupportedFeatureError(
                f"{node} cannot be computed with Arrow exactly as Spark does",
                field=str(node),
                hint="Read with to_spark, which can.",
            )
        values, failed = kernel(node, arguments, n)
        failures = [*conditionals.inherited(arguments, n)]
        failures += [Failure(str(node), reason, rows, self._place) for reason, rows in failed.items() if rows.any()]
        return Vector(kind, values, is_constant, tuple(failures))

    def _junction(self, node: And | Or) -> Vector:
        children = [self.condition(child) for child in node.children]
        join = pc.and_kleene if isinstance(node, And) else pc.or_kleene
        values = reduce(join, (child.values for child in children))
        if not any(child.failures for child in children):
            return Vector(_BOOLEAN, values)
        asked = np.ones(self._length, bool)
        failures: list[Failure] = []
        for child in children:
            failures += child.guarded(asked).failures
            asked &= flags(child.values, True) if isinstance(node, And) else ~flags(child.values)
        return Vector(_BOOLEAN, values, failures=tuple(failures))

    def _leaf(self, node: Expression) -> pa.BooleanArray:
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, In):
            column = _bound(node.column)
            return comparing.is_in(self._columns(column), column.type, node.literals)
        if isinstance(node, IsNull):
            return pc.is_null(self._columns(_bound(node.column)))
        if isinstance(node, IsNaN):
            return pc.fill_null(pc.is_nan(self._columns(_bound(node.column))), False)
        if isinstance(node, StartsWith):
            return pc.starts_with(self._columns(_bound(node.column)), pattern=node.prefix)
        assert isinstance(node, Like), f"{node} is no bound predicate"
        return comparing.like(self._columns(_bound(node.column)), node.pattern)

    def _comparison(self, node: Comparison) -> pa.BooleanArray:
        left = _bound(node.column)
        values = self._columns(left)
        op = "=" if node.op == "<=>" else node.op
        if isinstance(node.right, Literal):
            operand = comparing.comparable(values, left.type)
            answer = comparing.compare(op, operand, comparing.scalar_of(node.right, operand))
            return pc.fill_null(answer, False) if node.op == "<=>" else answer
        right = _bound(node.right)
        others = self._columns(right)
        if left.padded_length and right.padded_length:
            longer = max(left.padded_length, right.padded_length)
            values, others = pad_strings(values, longer), pad_strings(others, longer)
        answer = comparing.compare_columns(op, (values, left.type), (others, right.type))
        if node.op == "<=>":
            both_null = pc.and_(pc.is_null(values), pc.is_null(others))
            return pc.or_(both_null, pc.fill_null(answer, False))
        return answer


def _bound(column: Any) -> BoundColumn:
    assert isinstance(column, BoundColumn), "predicates are bound before they are evaluated"
    return column
