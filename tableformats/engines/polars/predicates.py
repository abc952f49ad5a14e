"""Conditions of polars as conditions of ours, for planning: what they let pass may be more than polars would.

polars evaluates its own filter on all rows that it is given. So a translated condition only has to hold for each row
for which the filter is true, and what is not understood is left out.

How polars stores an expression changes from release to release, and what its methods mean does not. So a node is
recognised by making it anew: ``meta.pop`` gives its inputs, and if ``left < right`` of these is the same expression
(``meta.eq``), it is that. Both order NaN above all numbers, take -0.0 for 0.0, compare texts by their bytes, and know
NULL as a third truth value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

from ...expressions.tree import And, Comparison, Expression, In, IsNaN, IsNull, Literal, Not, Or, Reference, StartsWith
from ...schema import DecimalType, Field, PrimitiveType, Type

if TYPE_CHECKING:
    import polars

__all__ = ["implied_condition"]

_COMPARISONS: Sequence[tuple[str, Callable[[Any, Any], Any]]] = (
    ("=", operator.eq),
    (">", operator.gt),
    ("<", operator.lt),
    (">=", operator.ge),
    ("<=", operator.le),
    ("!=", operator.ne),
)
_CLOSED = {"both": (">=", "<="), "left": (">=", "<"), "right": (">", "<="), "none": (">", "<")}
_INTEGERS = frozenset(("byte", "short", "int", "long"))
_SAME_TYPE = frozenset(("boolean", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz"))
"""Types whose literals are translated where polars gives them the column's type."""
_MOST_NODES = 300
"""A filter of more nodes is not looked at further: each takes some hundred microseconds."""


def implied_condition(
    predicate: polars.Expr, fields: Sequence[Field], schema: Mapping[str, polars.DataType]
) -> Expression | None:
    """A condition over names that holds for each row for which ``predicate`` is true. None: nothing is known.

    Parameters
    ----------
    predicate : polars.Expr
    fields : sequence of Field
        The columns of the table that it may name.
    schema : mapping of str to polars.DataType
        Their types in polars.
    """
    by_name = {f.name: (f, schema[f.name]) for f in fields if _is_comparable(f)}
    return _Translation(by_name).implied(predicate)


def _is_comparable(f: Field) -> bool:
    """Whether polars and the table compare values of the column alike."""
    if f.collation is not None or f.char_length is not None:
        return False
    return isinstance(f.type, DecimalType) or (
        isinstance(f.type, PrimitiveType) and f.type.name in _INTEGERS | _SAME_TYPE
    )


class _Translation:
    def __init__(self, columns: Mapping[str, tuple[Field, Any]]) -> None:
        self._columns = columns
        self._nodes = 0

    def implied(self, e: Any) -> Expression | None:
        """What holds for each row for which ``e`` is true."""
        inputs = self._inputs(e)
        if inputs is None:
            return None
        if _is_made_of(e, inputs, operator.and_):
            # The last ones first: before them stands what may be a long chain.
            found = [condition for condition in map(self.implied, inputs) if condition is not None]
            return _joined(And, found[::-1])
        if _is_made_of(e, inputs, operator.or_):
            return _all_joined(Or, [self.implied(c) for c in reversed(inputs)])
        return self._leaf(e, inputs)

    def _exact(self, e: Any) -> Expression | None:
        """What is true, false and NULL for the same rows as ``e``."""
        inputs = self._inputs(e)
        if inputs is None:
            return None
        for kind, made in ((And, operator.and_), (Or, operator.or_)):
            if _is_made_of(e, inputs, made):
                return _all_joined(kind, [self._exact(c) for c in reversed(inputs)])
        return self._leaf(e, inputs)

    def _inputs(self, e: Any) -> list[Any] | None:
        """The inputs of a node, none of a column. None: it has none, or there were too many nodes."""
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            return None
        found = e.meta.pop()
        return list(found) if found or e.meta.is_column() else None

    def _leaf(self, e: Any, inputs: list[Any]) -> Expression | None:
        if not inputs:
            return self._boolean(e)
        if len(inputs) == 1:
            return self._of_one(e, inputs[0])
        for ordered in permutations(inputs):
            column, *values = ordered
            found = self._column(column)
            if found is not None and all(value.meta.is_literal() for value in values):
                tests = {1: self._of_value, 2: self._between}
                test = tests.get(len(values))
                return None if test is None else test(e, column, found, values)
        return None

    def _boolean(self, e: Any) -> Expression | None:
        found = self._column(e)
        if found is None or str(found[0].type) != "boolean":
            return None
        return Comparison("=", Reference((found[0].name,)), Literal(True))

    def _of_one(self, e: Any, child: Any) -> Expression | None:
        if (~child).meta.eq(e):
            condition = self._exact(child)
            return None if condition is None else Not(condition)
        found = self._column(child)
        if found is None:
            return None
        column, name = Reference((found[0].name,)), str(found[0].type)
        if child.is_null().meta.eq(e):
            return IsNull(column)
        if child.is_not_null().meta.eq(e):
            return Not(IsNull(column))
        if name in ("float", "double") and child.is_nan().meta.eq(e):
            # NULL is no answer of ours.
            return _joined(And, [IsNaN(column), Not(IsNull(column))]) if self._nodes == 1 else None
        return None

    def _of_value(self, e: Any, column: Any, found: tuple[Field, Any], values: list[Any]) -> Expression | None:
        """A comparison with a constant, or with a list of them, or of the beginning of a text."""
        (f, kind), (literal,) = found, values
        reference = Reference((f.name,))
        for op, made in _COMPARISONS:
            if made(column, literal).meta.eq(e):
                return _compared(op, reference, _constants(literal, f.type, kind))
            if made(literal, column).meta.eq(e):
                return _compared(_turned(op), reference, _constants(literal, f.type, kind))
        if column.is_in(literal).meta.eq(e):
            constants = _constants(literal, f.type, kind, many=True)
            return In(reference, tuple(map(Literal, constants))) if constants else None
        if str(f.type) == "string" and column.str.starts_with(literal).meta.eq(e):
            constants = _constants(literal, f.type, kind)
            return StartsWith(reference, constants[0]) if constants else None
        return None

    def _between(self, e: Any, column: Any, found: tuple[Field, Any], values: list[Any]) -> Expression | None:
        f, kind = found
        for low, high in permutations(values):
            for closed, ops in _CLOSED.items():
                if column.is_between(low, high, closed=closed).meta.eq(e):
                    sides = [
                        _compared(op, Reference((f.name,)), _constants(value, f.type, kind))
                        for op, value in zip(ops, (low, high), strict=True)
                    ]
                    return _all_joined(And, sides)
        return None

    def _column(self, e: Any) -> tuple[Field, Any] | None:
        return self._columns.get(e.meta.output_name()) if e.meta.is_column() else None


def _is_made_of(e: Any, inputs: list[Any], made: Callable[[Any, Any], Any]) -> bool:
    return len(inputs) == 2 and any(made(a, b).meta.eq(e) for a, b in permutations(inputs))


def _turned(op: str) -> str:
    """``5 < x`` is ``x > 5``."""
    return op.translate(str.maketrans("<>", "><"))


def _compared(op: str, column: Reference, constants: list[Any] | None) -> Expression | None:
    return Comparison(op, column, Literal(constants[0])) if constants else None


def _joined(kind: type[And] | type[Or], parts: list[Expression]) -> Expression | None:
    return kind(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)


def _all_joined(kind: type[And] | type[Or], parts: list[Expression | None]) -> Expression | None:
    known = [part for part in parts if part is not None]
    return _joined(kind, known) if len(known) == len(parts) else None


def _constants(literal: Any, kind: Type, dtype: Any, many: bool = False) -> list[Any] | None:
    """The Python values of a literal, or of a list of them. None: they are of other types than the column, or NULL."""
    import polars as pl

    values = pl.select(literal).to_series()
    if many and isinstance(values.dtype, pl.List) and len(values) == 1:
        values = values.explode()
    if isinstance(kind, DecimalType):  # numbers, whatever their digits
        is_same = isinstance(values.dtype, pl.Decimal)
    elif isinstance(kind, PrimitiveType) and kind.name in _INTEGERS:
        is_same = values.dtype.is_integer()
    else:
        is_same = values.dtype == dtype
    if not is_same or values.null_count() or (len(values) != 1 and not many):
        return None
    try:
        return values.to_list()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):  # a time that Python lacks
        return None
