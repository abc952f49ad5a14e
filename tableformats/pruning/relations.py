"""How the values of two ranges can lie to each other: what decides ``a < b`` from the bounds of both sides.

For each file the relations of two values ``a`` and ``b`` of one row are a set: less, equal, greater, and which of them
is NULL. A range is a superset of the values, so the set is one of what can occur. It maps to the possible outcomes of
each comparison. Whether a bound is a value or only beyond all values does not matter: ``a < b`` is impossible where the
lower bound of ``a`` is not below the upper bound of ``b``.

Numbers of any type compare with each other, and dates with timestamps. Where an integer or a decimal meets a float,
engines may compare exactly, or round both sides to doubles. Rounding never changes the order of two numbers but makes
them equal, so what is equal as doubles counts as equal, less and greater.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from .._core.masks import MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import FALSE, TRUE, scalar, to_numpy
from ..schema import DecimalType, Type, is_floating, is_integer, is_numeric, primitive
from ..schema.datetimes import DAY_US
from .column_ranges import Range

__all__ = ["ANY_RELATION", "are_comparable", "intersected", "outcomes", "relations", "same_value"]

_LESS, _EQUAL, _GREATER, _LEFT_NULL, _RIGHT_NULL, _BOTH_NULL = (1 << i for i in range(6))
ANY_RELATION = 63
_LONG = primitive("long")
_EXACT_DOUBLES = 2.0**53
"""Below it each double that stands for an integer stands for one integer only."""

_ACCEPTED = {
    "=": _EQUAL,
    "<=>": _EQUAL,
    "!=": _LESS | _GREATER,
    "<": _LESS,
    "<=": _LESS | _EQUAL,
    ">": _GREATER,
    ">=": _GREATER | _EQUAL,
}


def _table(op: str) -> np.ndarray:
    """uint8[64]: the mask of outcomes for each set of relations."""
    accepted = _ACCEPTED[op] | (_BOTH_NULL if op == "<=>" else 0)
    null = 0 if op == "<=>" else _LEFT_NULL | _RIGHT_NULL | _BOTH_NULL
    refused = ANY_RELATION & ~(accepted | null)
    found = [
        (MAY_TRUE if known & accepted else 0)
        | (MAY_FALSE if known & refused else 0)
        | (MAY_NULL if known & null else 0)
        for known in range(ANY_RELATION + 1)
    ]
    return np.array(found, np.uint8)


_TABLES = {op: _table(op) for op in _ACCEPTED}


def outcomes(op: str, known: np.ndarray) -> np.ndarray:
    """uint8[n]: the masks of ``a op b`` for sets of relations, uint8[n]."""
    found: np.ndarray = _TABLES[op][known]
    return found


def same_value(known: np.ndarray) -> np.ndarray:
    """The relations of a column with itself, from those of its range with itself."""
    return known & np.uint8(_EQUAL | _BOTH_NULL)


def intersected(known: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The relations that two sources both allow. If they contradict each other, neither is trusted."""
    both = known & other
    contradictory = (both == 0) & (known != 0) & (other != 0)
    return np.where(contradictory, np.uint8(ANY_RELATION), both) if contradictory.any() else both


def are_comparable(left: Type, right: Type) -> bool:
    """Whether :func:`relations` compares bounds of the two types. Otherwise it looks at NULLs only."""
    return _common(left, right) is not None


def relations(left: tuple[Range, Type], right: tuple[Range, Type], has_order: bool = True) -> np.ndarray:
    """uint8[n]: the relations that can occur between a value of each range. The ranges have no ``indices``.

    Parameters
    ----------
    has_order : bool
        Whether the rows are compared as bounds are. If not, only NULLs are looked at.
    """
    (a, a_type), (b, b_type) = left, right
    n = len(a.may_value)
    known = np.zeros(n, np.uint8)
    known |= (a.may_null & b.may_value) * np.uint8(_LEFT_NULL)
    known |= (a.may_value & b.may_null) * np.uint8(_RIGHT_NULL)
    known |= (a.may_null & b.may_null) * np.uint8(_BOTH_NULL)
    common = _common(a_type, b_type) if has_order else None
    if common is None:
        return known | (a.may_value & b.may_value) * np.uint8(_LESS | _EQUAL | _GREATER)
    a_numbers, b_numbers = _has_numbers(a), _has_numbers(b)
    a_low, a_high = _trusted(*(common(side, a_type) for side in (a.lower, a.upper)))
    b_low, b_high = _trusted(*(common(side, b_type) for side in (b.lower, b.upper)))
    of_numbers = (_may("less_equal", a_low, b_high) & _may("greater_equal", a_high, b_low)) * np.uint8(_EQUAL)
    less, greater = _may("less", a_low, b_high), _may("greater", a_high, b_low)
    if is_floating(a_type) != is_floating(b_type):
        other = b_type if is_floating(a_type) else a_type
        less |= _may_be_rounded(a_low, b_high, other)
        greater |= _may_be_rounded(a_high, b_low, other)
    of_numbers |= less * np.uint8(_LESS) | greater * np.uint8(_GREATER)
    known |= of_numbers * (a_numbers & b_numbers)
    a_nan, b_nan = _has_nan(a), _has_nan(b)
    if a_nan.any() or b_nan.any():
        known |= (a_nan & b_numbers) * np.uint8(_GREATER) | (a_numbers & b_nan) * np.uint8(_LESS)
        known |= (a_nan & b_nan) * np.uint8(_EQUAL)
    return known


def _may(op: str, a: pa.Array, b: pa.Array) -> np.ndarray:
    """uint8[n]: 0 where the comparison is FALSE; it is not where a bound is unknown."""
    return to_numpy(pc.fill_null(getattr(pc, op)(a, b), TRUE)).view(np.uint8)


def _may_be_rounded(a: pa.Array, b: pa.Array, kind: Type) -> np.ndarray:
    """uint8[n]: 0 where the doubles differ, or are just what they were made of; one side had type ``kind``."""
    if is_integer(kind) and kind != _LONG:
        return np.zeros(len(a), np.uint8)
    equal = pc.equal(a, b)
    if kind == _LONG:
        equal = pc.and_(equal, pc.greater_equal(pc.abs(a), scalar(_EXACT_DOUBLES, pa.float64())))
    return to_numpy(pc.fill_null(equal, FALSE)).view(np.uint8)


def _is_nan(values: pa.Array) -> np.ndarray:
    """uint8[n]"""
    return to_numpy(pc.fill_null(pc.is_nan(values), FALSE)).view(np.uint8)


def _has_numbers(range_: Range) -> np.ndarray:
    """uint8[n]: 0 where no row has a value other than NaN."""
    if not pa.types.is_floating(range_.lower.type):
        return range_.may_value
    return range_.may_value & (1 - (_is_nan(range_.lower) & _is_nan(range_.upper)))


def _has_nan(range_: Range) -> np.ndarray:
    """uint8[n]: 0 where no row has a NaN."""
    beside = (range_.may_nan != 0).view(np.uint8)
    if not pa.types.is_floating(range_.lower.type):
        return beside
    return range_.may_value & (beside | _is_nan(range_.lower) | _is_nan(range_.upper))


def _trusted(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The bounds; where they contradict each other, unknown."""
    wrong = pc.fill_null(pc.greater(lower, upper), FALSE)
    if not wrong.true_count:
        return lower, upper
    unknown = scalar(None, lower.type)
    return pc.if_else(wrong, unknown, lower), pc.if_else(wrong, unknown, upper)


# ---- one type for both sides ----------------------------------------------------------------------------------------

_Conversion = Callable[[pa.Array, Type], pa.Array]


def _common(left: Type, right: Type) -> _Conversion | None:
    """What brings bounds of both types into one type that Arrow orders as SQL does. None: there is none."""
    families = {_family(left), _family(right)}
    if None in families or len(families) > 1:
        return None
    if is_floating(left) or is_floating(right):
        return _as_doubles
    scales = [kind.scale for kind in (left, right) if isinstance(kind, DecimalType)]
    if scales:
        wide = pa.decimal256(76, max(scales))  # holds every number of 38 digits at every scale
        return lambda values, kind: pc.cast(values, wide)
    if "date" in (str(left), str(right)) and str(left) != str(right):
        return _as_instants
    return _as_stored


def _family(kind: Type) -> str | None:
    """The group of types that compare with each other; None for types without an order here."""
    if is_numeric(kind):
        return "number"
    name = str(kind)
    if name in ("date", "timestamp", "timestamp_ntz"):
        return "instant"
    if name in ("timestamp_ns", "timestamp_ntz_ns"):
        return "instant of nanoseconds"
    if name in ("binary", "uuid") or name.startswith("fixed"):
        return "binary"
    return name if name in ("string", "boolean", "time") else None


def _as_doubles(values: pa.Array, kind: Type) -> pa.Array:
    """Rounded to the nearest double; decimals as text, because Arrow's own cast rounds them twice."""
    if isinstance(kind, DecimalType):
        values = pc.cast(values, pa.string())
    return pc.cast(values, pa.float64(), False)


_INSTANT, _DAY = pa.decimal128(38, 0), pa.decimal128(10, 0)


def _as_instants(values: pa.Array, kind: Type) -> pa.Array:
    """Microseconds as decimals: those of a late date are no 64-bit integer."""
    stored: Any = _as_stored(values, kind)
    if str(kind) != "date":
        return pc.cast(stored, _INSTANT)
    return pc.cast(pc.multiply(pc.cast(stored, _DAY), scalar(DAY_US, pa.int64())), _INSTANT)


def _as_stored(values: pa.Array, kind: Type) -> pa.Array:
    stored = values.type
    if pa.types.is_date32(stored):
        return values.view(pa.int32())
    if pa.types.is_timestamp(stored) or pa.types.is_time64(stored):
        return values.view(pa.int64())
    if pa.types.is_boolean(stored):
        return pc.cast(values, pa.uint8())
    if pa.types.is_integer(stored):
        return pc.cast(values, pa.int64())
    return pc.cast(values, pa.binary()) if pa.types.is_fixed_size_binary(stored) else values
