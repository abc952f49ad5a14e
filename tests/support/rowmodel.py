"""What a bound predicate means for one row, in plain Python: the oracle of the property tests.

A row maps field ids to canonical values (see ``tableformats.expressions.tree.Literal``) or None. Written from the rules
alone, without any engine: SQL's three-valued logic, and Spark's order in which NaN equals NaN and is the greatest.
Functions are in ``valuemodel.py``. A condition that has an error instead of a value counts as NULL: such a row does not
match, and its file is not fully matched, unless another condition decides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from tableformats.expressions import (
    And,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
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
)

from .valuemodel import RowFails, value_of

Truth = bool | None


def evaluate(expression: Expression, row: Mapping[int, Any]) -> Truth:
    """TRUE, FALSE or NULL (None). A column that the row lacks is NULL."""
    e = expression
    if isinstance(e, Constant):
        return e.value
    if isinstance(e, Holds):
        try:
            found: Truth = value_of(e.value, row)
        except RowFails:
            return None
        return found
    if isinstance(e, Not):
        child = evaluate(e.child, row)
        return None if child is None else not child
    if isinstance(e, IsTrue):
        return evaluate(e.child, row) is True
    if isinstance(e, And):
        answers = [evaluate(child, row) for child in e.children]
        return False if False in answers else None if None in answers else True
    if isinstance(e, Or):
        answers = [evaluate(child, row) for child in e.children]
        return True if True in answers else None if None in answers else False
    assert isinstance(e, (Comparison, In, IsNull, IsNaN, StartsWith, Like)) and isinstance(e.column, BoundColumn)
    value = row.get(e.column.id)
    if isinstance(e, IsNull):
        return value is None
    if isinstance(e, IsNaN):
        return value is not None and math.isnan(value)
    if isinstance(e, Comparison):
        return _compare(e, value, row)
    if value is None:
        return None
    if isinstance(e, In):
        return any(_order(value, literal.value) == 0 for literal in e.literals)
    if isinstance(e, StartsWith):
        return bool(value.encode().startswith(e.prefix.encode()))
    return _like(value, e.pattern)


def _compare(e: Comparison, left: Any, row: Mapping[int, Any]) -> Truth:
    if isinstance(e.right, Literal):
        right = e.right.value
    else:
        assert isinstance(e.column, BoundColumn) and isinstance(e.right, BoundColumn)
        right = row.get(e.right.id)
        left, right = _alike(left, str(e.column.type), right, str(e.right.type))
    if left is None or right is None:
        return left is None and right is None if e.op == "<=>" else None
    order = _order(left, right)
    return {
        "=": order == 0,
        "<=>": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[e.op]


def _order(a: Any, b: Any) -> int:
    """-1, 0 or 1 in Spark's order."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            return int(math.isnan(a)) - int(math.isnan(b))
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return int(a > b) - int(a < b)


def _alike(a: Any, a_type: str, b: Any, b_type: str) -> tuple[Any, Any]:
    """Values of two columns in one unit: a date is its midnight, in microseconds."""
    if a is not None and a_type == "date" != b_type:
        a *= 86_400_000_000
    if b is not None and b_type == "date" != a_type:
        b *= 86_400_000_000
    return a, b


def _like(value: str, pattern: str) -> bool:
    @functools.cache
    def matches(v: int, p: int) -> bool:
        if p == len(pattern):
            return v == len(value)
        if pattern[p] == "%":
            return matches(v, p + 1) or (v < len(value) and matches(v + 1, p))
        step = 2 if pattern[p] == "\\" else 1
        if v == len(value):
            return False
        return (pattern[p] == "_" or value[v] == pattern[p + step - 1]) and matches(v + 1, p + step)

    return matches(0, 0)


def is_kept(expression: Expression, row: Mapping[int, Any]) -> bool:
    """Whether a scan returns the row."""
    return evaluate(expression, row) is True


__all__ = ["Truth", "evaluate", "is_kept"]
