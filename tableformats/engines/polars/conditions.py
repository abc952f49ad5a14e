"""Our conditions as conditions of polars, where these are true for exactly the same rows.

Both order NaN above all numbers, take -0.0 for 0.0, compare texts by their bytes, and know NULL as a third truth value.
What computes, what names a member of a struct, and texts with a collation or a fixed length are left to our reader.
"""

from __future__ import annotations

import datetime as dt
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

from ...expressions.tree import (
    And,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Literal,
    Not,
    Or,
    StartsWith,
    Value,
)
from ...schema import DecimalType, PrimitiveType

if TYPE_CHECKING:
    import polars

__all__ = ["same_condition"]

_COMPARISONS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_PLAIN = frozenset(("boolean", "byte", "short", "int", "long", "float", "double", "string", "binary"))
_EPOCH = dt.datetime(1970, 1, 1)


def same_condition(condition: Expression) -> polars.Expr | None:
    """A bound condition over top-level columns, by their names in the table. None: polars has no such one."""
    try:
        return _translated(condition)
    except (_Unknown, OverflowError):  # a time that Python lacks
        return None


class _Unknown(Exception):
    """A condition that is not translated."""


def _translated(condition: Expression) -> Any:
    import polars as pl

    if isinstance(condition, Constant):
        return pl.lit(condition.value, dtype=pl.Boolean)
    if isinstance(condition, (And, Or)):
        return reduce(and_ if isinstance(condition, And) else or_, map(_translated, condition.children))
    if isinstance(condition, Not):
        return ~_translated(condition.child)
    if isinstance(condition, IsTrue):
        return _translated(condition.child).fill_null(False)
    if isinstance(condition, IsNull):
        return _column(condition.column).is_null()
    return _leaf(condition)


def _leaf(condition: Expression) -> Any:
    import polars as pl

    if isinstance(condition, IsNaN):
        return _column(condition.column).is_nan().fill_null(False)
    if isinstance(condition, StartsWith):
        return _comparable(condition.column).str.starts_with(pl.lit(condition.prefix))
    if isinstance(condition, Comparison) and isinstance(condition.right, Literal):
        column, constant = _comparable(condition.column), _constant(condition.right)
        if condition.op == "<=>":
            return column.eq_missing(constant)
        return _COMPARISONS[condition.op](column, constant)
    if isinstance(condition, In):
        column = _comparable(condition.column)
        constants = pl.select(pl.concat_list([_constant(literal) for literal in condition.literals])).to_series()
        return column.is_in(pl.lit(constants))
    raise _Unknown


def _column(column: Value) -> Any:
    import polars as pl

    if not isinstance(column, BoundColumn) or len(column.path) > 1:
        raise _Unknown
    return pl.col(column.field.name)


def _comparable(column: Value) -> Any:
    """A column whose values are compared with constants of :func:`_constant`."""
    import polars as pl

    found = _column(column)
    assert isinstance(column, BoundColumn)
    if column.field.collation is not None or column.field.char_length is not None:
        raise _Unknown
    return found.cast(pl.Float64) if str(column.type) == "float" else found


def _constant(literal: Literal) -> Any:
    """A canonical value as polars has it, in the type of its column."""
    import polars as pl

    value, kind = literal.value, literal.type
    if isinstance(kind, DecimalType):
        return pl.lit(value, dtype=pl.Decimal(kind.precision, kind.scale))
    name = kind.name if isinstance(kind, PrimitiveType) else ""
    if name in _PLAIN:
        types = {"byte": pl.Int8, "short": pl.Int16, "int": pl.Int32, "long": pl.Int64}
        return pl.lit(value, dtype=types.get(name))
    if name == "date":
        return pl.lit((_EPOCH + dt.timedelta(days=value)).date())
    if name in ("timestamp", "timestamp_ntz"):
        moment = _EPOCH + dt.timedelta(microseconds=value)
        if name == "timestamp_ntz":
            return pl.lit(moment, dtype=pl.Datetime("us"))
        return pl.lit(moment.replace(tzinfo=dt.timezone.utc), dtype=pl.Datetime("us", "UTC"))
    raise _Unknown
