"""The range of a value that a function computes, per file, from the ranges of the columns that it is computed from.

Functions keep an order (:data:`_INCREASING`), or keep it within a period (``month`` within a year); then the function
of the bounds bounds the function of the values, and the functions of rows compute it (``expressions/evaluation.py``).
Sums and their kind are interval arithmetic (``value_ranges.py``). Of other functions only NULLs are known, or nothing.

So ``year(ts) = 2024``, ``CAST(ts AS DATE) = d``, ``a + b > 5`` and ``date_add(d, 7) < e`` prune by bounds and partition
values alike, without a rule for each function on each side of each comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import scalar, to_arrow, to_numpy
from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..expressions import BoundColumn, Constant, Function, Literal
from ..expressions.evaluation import computed
from ..expressions.functions.coercion import type_of
from ..expressions.tree import COMPARISONS, Value
from ..schema import Field, Type, arrow_type, is_integer, is_numeric
from ..schema.datetimes import DAY_US, days_from_civil
from .column_pairs import unknown_range
from .column_ranges import RangeSource
from .relations import outcomes, relations
from .value_ranges import (
    ValueRange,
    absolute,
    arithmetic,
    constant,
    from_mask,
    has_order,
    merged,
    negated,
    of_any,
    to_mask,
    unknown,
)

__all__ = ["RangeEvaluator", "has_range"]

_INCREASING = {
    **dict.fromkeys(("year", "last_day", "unix_date", "unix_seconds", "unix_millis", "unix_micros"), 0),
    **dict.fromkeys(("unix_timestamp", "timestamp_seconds", "timestamp_millis", "timestamp_micros"), 0),
    **dict.fromkeys(("date_from_unix_date", "trunc", "date_add", "date_sub", "add_months", "datediff"), 0),
    **dict.fromkeys(("floor", "ceil", "round", "bround", "left", "substring", "/", "div", "+", "-"), 0),
    "date_trunc": 1,
}
"""Functions that keep the order of the argument at this place, if all others are literals; see :func:`_keeps_order`."""

_DECREASING = {"datediff": 1}
"""Functions that turn the order of the argument at this place around, if all others are literals."""

_PERIODS = {
    "month": ("year", 1, 12),
    "quarter": ("year", 1, 4),
    "dayofyear": ("year", 1, 366),
    "day": ("month", 1, 31),
    "weekday": ("week", 0, 6),
    "hour": ("day", 0, 23),
    "minute": ("hour", 0, 59),
    "second": ("minute", 0, 59),
}
"""Functions that keep the order within a period, and the least and the greatest value of all."""

_STRICT = frozenset(
    (
        *("lower", "upper", "trim", "ltrim", "rtrim", "btrim", "left", "right", "substring", "replace", "translate"),
        *("lpad", "rpad", "concat", "initcap", "reverse", "length", "octet_length", "bit_length", "ascii", "instr"),
        *("hex", "md5", "sha1", "crc32", "contains", "startswith", "endswith", "like", "ilike", "rlike"),
        *("year", "month", "day", "quarter", "hour", "minute", "second", "dayofweek", "weekday", "dayofyear"),
        *("weekofyear", "yearofweek", "last_day", "datediff", "dayname", "monthname"),
        *("unix_date", "unix_seconds", "unix_millis", "unix_micros", "sign", "cbrt", "exp"),
    )
)
"""Functions that are NULL for just the rows for which an argument is, and never fail."""

_CHOOSING = ("coalesce", "case", "if", "nanvl", "greatest", "least")
_FAILURES = (InvalidPredicateError, UnsupportedFeatureError, pa.ArrowException, ArithmeticError, ValueError)


def has_range(value: Value) -> bool:
    """Whether a range of a bound value can be known, if those of its columns are."""
    if not isinstance(value, Function):
        return isinstance(value, (BoundColumn, Literal, Constant)) and not type_of(value).is_nested
    name, arguments = value.name, value.arguments
    if name in COMPARISONS or name in ("in", "isnan"):
        return all(map(has_range, arguments))
    if name in ("isnull", "isnotnull"):
        argument = arguments[0]
        return has_range(argument) or (isinstance(argument, Function) and argument.name in _STRICT)
    if name in _CHOOSING:
        return all(map(has_range, _chosen(value)))
    if name in ("+", "-", "*", "negative", "abs") and value.type is not None and is_numeric(value.type):
        return all(map(has_range, arguments))
    if name in ("cast", "try_cast"):
        return _casts_in_order(type_of(arguments[0]), type_of(value)) and has_range(arguments[0])
    at = 0 if name in _PERIODS else _ordered_argument(value)
    return at is not None and has_range(arguments[at])


class RangeEvaluator:
    """Computes ranges of values over ``n`` files of which ``sources`` know the columns."""

    def __init__(self, sources: Sequence[RangeSource], n: int) -> None:
        self._sources = sources
        self.n = n
        self._known: dict[Value, ValueRange] = {}

    def column(self, column: BoundColumn) -> ValueRange:
        """The range of a column, by all sources together."""
        if column not in self._known:
            self._known[column] = self._column(column)
        return self._known[column]

    def _column(self, column: BoundColumn) -> ValueRange:
        if not has_order(column.type):
            return unknown(column.type, (), self.n)
        ranges = [range_ for source in self._sources for range_ in source.ranges(column)]
        found = merged(ranges or [unknown_range(column, self.n)], column.type)
        return ValueRange(column.type, found, np.zeros(self.n, np.uint8))

    def value(self, value: Value) -> ValueRange:
        """The range of a bound value."""
        if isinstance(value, BoundColumn):
            return self.column(value)
        kind = type_of(value)
        if isinstance(value, Literal):
            return constant(value.value, kind, self.n)
        if isinstance(value, Constant):
            return constant(value.value, kind, self.n)
        if not isinstance(value, Function):
            return unknown(kind, (), self.n)
        if value not in self._known:
            self._known[value] = self._call(value)
        return self._known[value]

    def condition(self, function: Function) -> np.ndarray:
        """uint8[n]: the possible outcomes of a boolean value. A row that fails counts as NULL."""
        value = self.value(function)
        return to_mask(value) | value.may_fail * np.uint8(MAY_NULL)

    def _call(self, node: Function) -> ValueRange:
        name, kind = node.name, type_of(node)
        if name in _CHOOSING:
            return self._choice(node)
        arguments = [self.value(argument) for argument in node.arguments]
        if name in COMPARISONS:
            return self._compared(name, *arguments)
        special: dict[str, Callable[[], ValueRange]] = {
            "in": lambda: self._any_equal(arguments),
            "isnull": lambda: _null_test(arguments[0], MAY_TRUE, MAY_FALSE),
            "isnotnull": lambda: _null_test(arguments[0], MAY_FALSE, MAY_TRUE),
            "isnan": lambda: _nan_test(arguments[0]),
        }
        if name in special:
            return special[name]()
        if name in ("+", "-", "*") and all(is_numeric(argument.kind) for argument in arguments):
            return arithmetic(name, arguments[0], arguments[1], kind, node.ansi)
        if name in ("negative", "abs") and is_numeric(kind):
            return (negated if name == "negative" else absolute)(arguments[0], node.ansi)
        if name in ("cast", "try_cast"):
            return self._cast(node, arguments[0])
        if name in _PERIODS:
            return self._periodic(node, arguments[0])
        at = _ordered_argument(node)
        if at is not None:
            return self._in_order(node, at, arguments[at])
        return unknown(kind, arguments, self.n, name in _STRICT)

    # ---- conditions -------------------------------------------------------------------------------------------------

    def _compared(self, op: str, left: ValueRange, right: ValueRange) -> ValueRange:
        known = relations((left.range, left.kind), (right.range, right.kind))
        return from_mask(outcomes(op, known), left.may_fail | right.may_fail)

    def _any_equal(self, arguments: list[ValueRange]) -> ValueRange:
        value, *items = arguments
        masks = [to_mask(self._compared("=", value, item)) for item in items]
        fails = reduce(np.bitwise_or, (argument.may_fail for argument in arguments))
        mask = masks[0] if masks else np.full(self.n, MAY_FALSE, np.uint8)
        for other in masks[1:]:
            joined = np.empty(self.n, np.uint8)
            kernels.or_masks(mask, other, joined)
            mask = joined
        return from_mask(mask, fails)

    # ---- values -----------------------------------------------------------------------------------------------------

    def _choice(self, node: Function) -> ValueRange:
        """A value that is one of several, whatever decides which."""
        kind = type_of(node)
        every = [self.value(argument) for argument in node.arguments]
        fails = reduce(np.bitwise_or, (argument.may_fail for argument in every))
        choices = [self.value(argument) for argument in _chosen(node)]
        if not has_order(kind):
            return unknown(kind, (), self.n)
        if node.name == "coalesce":  # behind a value that is never NULL nobody looks
            asked = np.ones(self.n, np.uint8)
            for i, choice in enumerate(choices):
                choices[i] = replace(choice, range=replace(choice.range, may_value=choice.range.may_value & asked))
                asked = asked & choice.range.may_null
        found = of_any(choices, kind, fails)
        if node.name in ("coalesce", "greatest", "least"):
            null = reduce(np.bitwise_and, (choice.range.may_null for choice in choices))
            found = replace(found, range=replace(found.range, may_null=null))
        return found

    def _in_order(self, node: Function, at: int, argument: ValueRange) -> ValueRange:
        """A function that keeps or turns the order of an argument: what it gives for bounds bounds its values.

        The other arguments are literals that are not NULL.
        """
        kind = type_of(node)
        found = unknown(kind, (argument,), self.n, is_strict=True)
        lower, upper = argument.bounds
        if _DECREASING.get(node.name) == at:
            lower, upper = upper, lower
        if argument.range.lower is argument.range.upper:
            (lower, low_fails) = (upper, high_fails) = self._of_bounds(node, at, lower)
        else:
            (lower, low_fails), (upper, high_fails) = (self._of_bounds(node, at, side) for side in (lower, upper))
        fails = (low_fails | high_fails) & (found.range.may_value != 0)
        if not node.ansi and node.name != "try_cast":  # what fails is NULL, wraps around or is cut off instead
            lower, upper = (pc.if_else(to_arrow(fails), scalar(None, side.type), side) for side in (lower, upper))
        nans = argument.may_nan()
        if nans.any():  # what a function makes of NaN is any number, or an error
            lower, upper = (pc.if_else(to_arrow(nans), scalar(None, side.type), side) for side in (lower, upper))
            fails = fails | nans
        may_nan = np.where(nans | fails, found.range.may_nan, np.uint8(0))
        found = replace(found, range=replace(found.range, lower=lower, upper=upper, may_nan=may_nan))
        return found.with_flags(fails, fails) if node.ansi and node.name != "try_cast" else found.with_flags(fails)

    def _of_bounds(self, node: Function, at: int, bounds: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """A function of an array of bounds, null where unknown, and bool[n]: for which it may fail, or is unknown."""
        kind, unknown_ones = type_of(node), to_numpy(pc.is_null(bounds))
        column = BoundColumn((Field(-1, "bound", type_of(node.arguments[at])),))
        arguments = [column if i == at else argument for i, argument in enumerate(node.arguments)]
        call = replace(node, arguments=tuple(arguments), ansi=True)
        try:
            found = computed(call, lambda _: bounds, len(bounds))
        except _FAILURES:
            return pa.nulls(len(bounds), arrow_type(kind)), np.ones(len(bounds), bool)
        return found.values, unknown_ones | to_numpy(pc.is_null(found.values))

    def _cast(self, node: Function, argument: ValueRange) -> ValueRange:
        source, kind = argument.kind, type_of(node)
        if source == kind:
            return argument
        if not _casts_in_order(source, kind):
            found = unknown(kind, (argument,), self.n)
            return found if str(kind) != "string" else unknown(kind, (argument,), self.n, is_strict=True)
        if str(kind) == "string":  # texts have the order of times while years have four digits
            argument = _within_four_digits(argument)
        return self._in_order(node, 0, argument)

    def _periodic(self, node: Function, argument: ValueRange) -> ValueRange:
        """A function that keeps the order within a period: exact where both bounds are in the same one."""
        period, least, greatest = _PERIODS[node.name]
        kind = type_of(node)
        lower, upper = argument.bounds
        found = self._in_order(node, 0, argument)
        same = _period_number(lower, period) == _period_number(upper, period)
        same &= ~to_numpy(pc.is_null(lower)) & ~to_numpy(pc.is_null(upper))
        inside = to_arrow(same)
        first, last = (scalar(side, arrow_type(kind)) for side in (least, greatest))
        low, high = found.bounds
        flags = unknown(kind, (argument,), self.n, is_strict=True)
        return flags.with_bounds(pc.if_else(inside, low, first), pc.if_else(inside, high, last))


# ---- which functions keep an order ----------------------------------------------------------------------------------


def _ordered_argument(node: Function) -> int | None:
    """The place of the argument whose order the function keeps, or turns. None: there is none."""
    for table in (_INCREASING, _DECREASING):
        at = table.get(node.name)
        if at is not None and _keeps_order(node, at):
            return at
    return None


def _keeps_order(node: Function, at: int) -> bool:
    """Whether the function keeps the order of the argument at ``at``: what the other arguments have to be."""
    others = [argument for i, argument in enumerate(node.arguments) if i != at]
    if not all(isinstance(other, Literal) and other.value is not None for other in others):
        return False
    values = [other.value for other in others if isinstance(other, Literal)]
    kind = type_of(node.arguments[at])
    if node.name in ("/", "div"):
        return bool(values[0] > 0)
    if node.name == "substring":
        return str(kind) == "string" and len(values) == 2 and values[0] in (0, 1) and values[1] >= 0
    if node.name == "left":
        return str(kind) == "string"
    return str(kind) != "string"  # which unix_timestamp reads


_TIMES = ("date", "timestamp", "timestamp_ntz")


def _casts_in_order(source: Type, target: Type) -> bool:
    """Whether a cast keeps the order of the values that it can cast."""
    a, b = str(source), str(target)
    if source == target:
        return True
    if a in _TIMES:
        return b in _TIMES or b == "string" or is_numeric(target)
    if is_numeric(source):
        return is_numeric(target) or (b == "timestamp" and is_integer(source))
    return a == "boolean" and is_numeric(target)


_FIRST_DAY, _LAST_DAY = days_from_civil(0, 1, 1), days_from_civil(10_000, 1, 1) - 1


def _within_four_digits(argument: ValueRange) -> ValueRange:
    """Dates or times with those bounds alone that bound their texts, too.

    The text of a year with more digits begins with a sign, and signs are less than digits. So a lower bound needs an
    upper one in a year of four digits.
    """
    lower, upper = argument.bounds
    nothing = scalar(None, lower.type)
    upper = pc.if_else(_has_four_digits(upper), upper, nothing)
    lower = pc.if_else(pc.and_(_has_four_digits(lower), pc.is_valid(upper)), lower, nothing)
    return argument.with_bounds(lower, upper)


def _has_four_digits(times: pa.Array) -> pa.BooleanArray:
    """Whether the year of a date or time has four digits and no sign; of null anything."""
    days = _days(times)
    return to_arrow((days >= _FIRST_DAY) & (days <= _LAST_DAY))


def _days(values: pa.Array) -> np.ndarray:
    """int64[n]: the days since the epoch of dates or timestamps; of null anything."""
    numbers = to_numpy(values).astype(np.int64)
    return numbers if pa.types.is_date32(values.type) else numbers // DAY_US


def _period_number(values: pa.Array, period: str) -> np.ndarray:
    """int64[n]: which period each date or timestamp is in; of null anything."""
    if period in ("hour", "minute"):
        if pa.types.is_date32(values.type):
            return _days(values)
        return to_numpy(values).astype(np.int64) // (60_000_000 * (60 if period == "hour" else 1))
    days = _days(values)
    if period == "day":
        return days
    if period == "week":
        return (days + 3) // 7  # 1970-01-01 was a Thursday; weeks begin on Monday
    return days.astype("datetime64[D]").astype(f"datetime64[{'Y' if period == 'year' else 'M'}]").astype(np.int64)


def _chosen(node: Function) -> Sequence[Value]:
    """The arguments of a function that gives one of them."""
    arguments = node.arguments
    if node.name in ("case", "if"):
        return [*arguments[1:-1:2], arguments[-1]]
    return arguments


# ---- tests of a value -----------------------------------------------------------------------------------------------


def _null_test(value: ValueRange, of_null: int, of_value: int) -> ValueRange:
    range_ = value.range
    return from_mask(range_.may_null * np.uint8(of_null) | range_.may_value * np.uint8(of_value), value.may_fail)


def _nan_test(value: ValueRange) -> ValueRange:
    """``isnan``: FALSE for NULL."""
    nan, range_ = value.may_nan().astype(np.uint8), value.range
    return from_mask(
        nan * np.uint8(MAY_TRUE) | (range_.may_value | range_.may_null) * np.uint8(MAY_FALSE), value.may_fail
    )
