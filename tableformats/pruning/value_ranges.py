"""The range of a value that is computed from columns, for each file, and interval arithmetic with such ranges.

The range is a superset of the values that the rows of a file give. Integers and decimals are added and multiplied
exactly, in 76 digits. A result that its type does not hold fails the row in ANSI mode, so other rows have results that
the type does hold; without ANSI it may be any value. Sums and products of floats are rounded as those of the rows are,
which keeps their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from .._core.masks import MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import FALSE, TRUE, repeated, scalar, to_arrow, to_numpy
from ..dataclass import dataclass
from ..expressions.functions.vectors import stored_type
from ..schema import INTEGER_RANGES, DecimalType, PrimitiveType, Type, arrow_type, is_floating, is_integer, primitive
from .column_ranges import NAN_UNCOUNTED, Range, without_nan

__all__ = [
    "ValueRange",
    "absolute",
    "arithmetic",
    "constant",
    "from_mask",
    "has_order",
    "merged",
    "negated",
    "of_any",
    "to_mask",
    "unknown",
]

_BOOLEAN = primitive("boolean")
_EXACT = 76
"""Digits of Arrow's widest decimals."""


@dataclass(frozen=True)
class ValueRange:
    """What is known of a value.

    Attributes
    ----------
    kind : Type
    range : Range
        Without ``indices``. Of a nested type the bounds are null.
    may_fail : numpy.ndarray
        uint8[n]: 0 where no row has an error instead of a value. Such a row is neither a value nor a NULL here.
    """

    kind: Type
    range: Range
    may_fail: np.ndarray

    @property
    def n(self) -> int:
        """The number of files."""
        return len(self.may_fail)

    @property
    def bounds(self) -> tuple[pa.Array, pa.Array]:
        """The lower and the upper bound of the values other than NaN; null where unknown."""
        lower, upper = self.range.lower, self.range.upper
        return (without_nan(lower), without_nan(upper)) if is_floating(self.kind) else (lower, upper)

    def may_nan(self) -> np.ndarray:
        """bool[n]: where a row may have a NaN."""
        found = self.range.may_nan != 0
        if is_floating(self.kind):
            for side in (self.range.lower, self.range.upper):
                found = found | to_numpy(pc.fill_null(pc.is_nan(side), FALSE))
        return found

    def with_bounds(self, lower: pa.Array, upper: pa.Array) -> ValueRange:
        """The same flags beside other bounds."""
        return replace(self, range=replace(self.range, lower=lower, upper=upper))

    def with_flags(self, may_null: np.ndarray | None = None, may_fail: np.ndarray | None = None) -> ValueRange:
        """The same, but more rows may be NULL, or fail."""
        found = self
        if may_null is not None:
            found = replace(found, range=replace(found.range, may_null=found.range.may_null | _flags(may_null)))
        return found if may_fail is None else replace(found, may_fail=found.may_fail | _flags(may_fail))


def has_order(kind: Type) -> bool:
    """Whether values of the type can have bounds."""
    return not (kind.is_nested or str(kind) in ("variant", "void"))


def _flags(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint8)


def unknown(kind: Type, arguments: Sequence[ValueRange], n: int, is_strict: bool = False) -> ValueRange:
    """Any value of type ``kind``.

    Parameters
    ----------
    is_strict : bool
        The value is NULL for just the rows for which an argument is, and no row fails by itself.
    """
    stored = pa.nulls(n, pa.null() if kind.is_nested else stored_type(kind))
    ones, zeros = np.ones(n, np.uint8), np.zeros(n, np.uint8)
    may_nan = ones * np.uint8(NAN_UNCOUNTED * is_floating(kind))
    if not is_strict:
        return ValueRange(kind, Range(stored, stored, ones, ones, may_nan), ones)
    may_value, may_null, may_fail = ones, zeros, zeros
    for argument in arguments:
        may_value = may_value & argument.range.may_value
        may_null = may_null | argument.range.may_null
        may_fail = may_fail | argument.may_fail
    return ValueRange(kind, Range(stored, stored, may_value, may_null, may_nan), may_fail)


def constant(value: object, kind: Type, n: int) -> ValueRange:
    """One canonical value, or NULL (None), for all rows."""
    ones, zeros = np.ones(n, np.uint8), np.zeros(n, np.uint8)
    if value is None:
        found = unknown(kind, (), n, is_strict=True)
        return replace(found, range=replace(found.range, may_value=zeros, may_null=ones, may_nan=zeros))
    bound = repeated(scalar(value, stored_type(kind)), n)
    return ValueRange(kind, Range(bound, bound, ones, zeros, ones * np.uint8(value != value)), zeros)


def merged(ranges: Sequence[Range], kind: Type) -> Range:
    """What several ranges of one column say together; nothing of bounds that contradict each other."""
    first, *others = (range_.of_files() for range_ in ranges)
    for other in others:
        lower, upper = _greater(first.lower, other.lower), _less(first.upper, other.upper)
        may_value, may_null = first.may_value & other.may_value, first.may_null & other.may_null
        may_nan = np.where((first.may_nan != 0) & (other.may_nan != 0), first.may_nan | other.may_nan, np.uint8(0))
        wrong = to_numpy(pc.fill_null(pc.greater(lower, upper), FALSE)) | ((may_value | may_null) == 0)
        if is_floating(kind):  # NaN is the bound of files with nothing else
            nans = [to_numpy(pc.fill_null(pc.is_nan(side), FALSE)) for side in (first.lower, other.lower)]
            wrong = wrong | (nans[0] != nans[1])
        if wrong.any():
            unsure, ones = to_arrow(wrong), _flags(wrong)
            lower, upper = (pc.if_else(unsure, scalar(None, side.type), side) for side in (lower, upper))
            may_value, may_null = may_value | ones, may_null | ones
            may_nan = may_nan | ones * np.uint8(NAN_UNCOUNTED * is_floating(kind))
        first = Range(lower, upper, may_value, may_null, may_nan)
    return first


def _greater(a: pa.Array, b: pa.Array) -> pa.Array:
    """The greater of two values; where one is null, the other."""
    return pc.if_else(pc.fill_null(pc.greater(b, a), FALSE), b, pc.coalesce(a, b))


def _less(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(pc.less(b, a), FALSE), b, pc.coalesce(a, b))


def _hull(a: pa.Array, b: pa.Array, op: str) -> pa.Array:
    """The ``less`` or the ``greater`` of two values; where one is null, null."""
    return pc.if_else(getattr(pc, op)(a, b), a, b)


def of_any(choices: Sequence[ValueRange], kind: Type, may_fail: np.ndarray) -> ValueRange:
    """The range of a value that is one of ``choices``, all of type ``kind``."""
    found = replace(choices[0], may_fail=may_fail)
    for other in choices[1:]:
        a, b = found.range, other.range
        (a_low, a_high), (b_low, b_high) = found.bounds, other.bounds
        lower, upper = _hull(a_low, b_low, "less"), _hull(a_high, b_high, "greater")
        for empty, sides in ((a.may_value == 0, (b_low, b_high)), (b.may_value == 0, (a_low, a_high))):
            if empty.any():
                lower, upper = (pc.if_else(to_arrow(empty), x, y) for x, y in zip(sides, (lower, upper), strict=True))
        may_nan = (found.may_nan() | other.may_nan()) * np.uint8(NAN_UNCOUNTED)
        joined = Range(lower, upper, a.may_value | b.may_value, a.may_null | b.may_null, may_nan)
        found = ValueRange(kind, joined, may_fail)
    return found


# ---- conditions -----------------------------------------------------------------------------------------------------


def from_mask(mask: np.ndarray, may_fail: np.ndarray) -> ValueRange:
    """The boolean value of a condition."""
    can_be, can_fail = mask & MAY_TRUE != 0, mask & MAY_FALSE != 0
    one = can_be != can_fail
    bound = to_arrow(can_be, None, one)
    zeros = np.zeros(len(mask), np.uint8)
    null = _flags(mask & MAY_NULL != 0)
    return ValueRange(_BOOLEAN, Range(bound, bound, _flags(can_be | can_fail), null, zeros), may_fail)


def to_mask(value: ValueRange) -> np.ndarray:
    """uint8[n]: the possible outcomes of a boolean value."""
    lower, upper, range_ = value.range.lower, value.range.upper, value.range
    can_be = _flags(to_numpy(pc.fill_null(upper, TRUE))) & range_.may_value
    can_fail = (1 - _flags(to_numpy(pc.fill_null(lower, FALSE)))) & range_.may_value
    found: np.ndarray = can_be * np.uint8(MAY_TRUE) | can_fail * np.uint8(MAY_FALSE)
    return found | range_.may_null * np.uint8(MAY_NULL)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def arithmetic(name: str, a: ValueRange, b: ValueRange, kind: Type, ansi: bool) -> ValueRange:
    """The range of ``a + b``, ``a - b`` or ``a * b``, which has type ``kind``."""
    found = unknown(kind, (a, b), a.n, is_strict=True)
    if not (is_integer(kind) or is_floating(kind) or isinstance(kind, DecimalType)):
        return unknown(kind, (a, b), a.n)
    sides = (*a.bounds, *b.bounds)
    if not is_floating(kind):
        try:
            lower, upper = _combined(name, *map(_exact, sides))
            return _fitted(found, lower, upper, ansi)
        except pa.ArrowInvalid:  # more than 76 digits
            return found.with_flags(found.range.may_value, found.range.may_value)
    if any(side.type != arrow_type(kind) for side in sides):
        return found
    lower, upper = _combined(name, *sides)
    # Infinities give NaN: inf - inf, 0 * inf.
    odd = np.zeros(a.n, bool)
    for side in sides:
        odd |= ~to_numpy(pc.fill_null(pc.is_finite(side), FALSE))
    odd |= ~to_numpy(pc.fill_null(pc.and_(pc.is_finite(lower), pc.is_finite(upper)), FALSE))
    unsure = to_arrow(odd)
    lower, upper = (pc.if_else(unsure, scalar(None, side.type), side) for side in (lower, upper))
    may_nan = np.where(odd | a.may_nan() | b.may_nan(), np.uint8(NAN_UNCOUNTED), np.uint8(0))
    return replace(found, range=replace(found.range, lower=lower, upper=upper, may_nan=may_nan))


def _combined(name: str, a_low: pa.Array, a_high: pa.Array, b_low: pa.Array, b_high: pa.Array) -> tuple[pa.Array, ...]:
    if name == "+":
        return pc.add(a_low, b_low), pc.add(a_high, b_high)
    if name == "-":
        return pc.subtract(a_low, b_high), pc.subtract(a_high, b_low)
    first, *others = (pc.multiply(x, y) for x in (a_low, a_high) for y in (b_low, b_high))
    lower = upper = first
    for product in others:
        lower, upper = _hull(lower, product, "less"), _hull(upper, product, "greater")
    return lower, upper


def _exact(values: pa.Array) -> pa.Array:
    """Integers or decimals as decimals whose sums and products are exact."""
    if pa.types.is_decimal(values.type):
        return pc.cast(values, pa.decimal256(values.type.precision, values.type.scale))
    return pc.cast(pc.cast(values, pa.int64()), pa.decimal256(19, 0))


def _fitted(found: ValueRange, lower: pa.Array, upper: pa.Array, ansi: bool) -> ValueRange:
    """The range with exact bounds in decimals, as far as the type holds them."""
    kind = found.kind
    if isinstance(kind, DecimalType):
        least, greatest, scale = kind.greatest.copy_negate(), kind.greatest, kind.scale
        if lower.type.scale > scale:  # rows are rounded
            return found.with_flags(found.range.may_value, found.range.may_value)
    else:
        assert isinstance(kind, PrimitiveType)
        least, greatest = map(Decimal, INTEGER_RANGES[kind.name])
    wide = pa.decimal256(_EXACT, lower.type.scale)
    lower, upper = pc.cast(lower, wide), pc.cast(upper, wide)
    low_fits = _within(lower, least, greatest)
    high_fits = _within(upper, least, greatest)
    fails = ~(low_fits & high_fits)
    if not ansi and not isinstance(kind, DecimalType):  # wraps around
        low_fits = high_fits = low_fits & high_fits
    stored = arrow_type(kind)
    lower, upper = (
        pc.cast(pc.if_else(to_arrow(fits), side, scalar(None, wide)), stored)
        for side, fits in ((lower, low_fits), (upper, high_fits))
    )
    may = fails & (found.range.may_value != 0)
    found = found.with_bounds(lower, upper)
    return found.with_flags(may_fail=may) if ansi else found.with_flags(may_null=may)


def _within(values: pa.Array, least: Decimal, greatest: Decimal) -> np.ndarray:
    """bool[n]: which values lie between two numbers. Null does not."""
    low, high = (scalar(side, pa.decimal256(_EXACT, values.type.scale)) for side in (least, greatest))
    return to_numpy(pc.fill_null(pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high)), FALSE))


def negated(a: ValueRange, ansi: bool) -> ValueRange:
    """The range of ``-a``."""
    if not is_floating(a.kind):
        zero: object = Decimal(0) if isinstance(a.kind, DecimalType) else 0
        return arithmetic("-", constant(zero, a.kind, a.n), a, a.kind, ansi)
    lower, upper = a.bounds
    may_nan = a.may_nan() * np.uint8(NAN_UNCOUNTED)
    return replace(a, range=replace(a.range, lower=pc.negate(upper), upper=pc.negate(lower), may_nan=may_nan))


def absolute(a: ValueRange, ansi: bool) -> ValueRange:
    """The range of ``abs(a)``."""
    turned = negated(a, ansi)
    zero = scalar(Decimal(0) if isinstance(a.kind, DecimalType) else 0, arrow_type(a.kind))
    (low, high), (turned_low, turned_high) = a.bounds, turned.bounds
    nought = repeated(zero, a.n)
    lower = _greater(nought, _greater(low, turned_low))
    upper = _hull(high, turned_high, "greater")
    if not ansi and is_integer(a.kind):  # the least number has no counterpart
        lower = pc.if_else(to_arrow(turned.range.may_null > a.range.may_null), scalar(None, lower.type), lower)
    return turned.with_bounds(lower, upper)
