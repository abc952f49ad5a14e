"""Raw minimum and maximum -> bounds in the column's type, widened by what writers are known to cut.

* Timestamps are cut to milliseconds: the upper bound gets 999 microseconds. Before 1900 zone offsets lost their
  seconds: both bounds get 60 seconds.
* Dates and timestamps that are typed, not text, may stand in a checkpoint that Spark wrote by the calendar of old
  Java classes, which counts days before 1582-10-15 and instants before 1900 otherwise: both bounds get the difference.
* Strings are cut to 32 characters: a cut minimum is still a lower bound, a cut maximum has a tie-break character
  appended. An old writer appends U+FFFD, which stands below half of Unicode in UTF-8: it counts as U+10FFFF. The
  protocol asks for no such character, so a maximum of just 32 characters may be one that was cut without it.
* Decimals of more than 15 digits may have been doubles on their way: both bounds get what a double cannot hold of them,
  and more (delta-rs 1.6 divides doubles, and writes those of scale 0 by way of an int64, whose ends stand for all that
  lies beyond them).
* NaN is no bound; a minimum above its maximum makes both unknown.

Sources: Delta PROTOCOL.md, "Per-file Statistics"; Spark, ``RebaseDateTime``.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    DAY_US,
    FALSE,
    FIRST_GREGORIAN_DAY,
    YEAR_1900_S,
    DecimalType,
    PrimitiveType,
    array_of,
    arrow_type,
    days_from_civil,
    scalar,
    to_arrow,
)
from tableformats.plugin import compute as pc

from ..json.values import INT_RANGES, fit_decimal, parse_date, parse_instant, parse_local

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .stats_json import Leaf

__all__ = ["FIRST_SURE_INSTANT", "bound_pair", "ends_of_int64", "in_either_calendar"]

_CUT_US = 999
_CUT_CHARACTERS = 32
_OLD_ZONE_US = 60_000_000
_DIGITS_OF_A_DOUBLE = 15
_LOST_OF_A_DOUBLE = 2.0**-49
"""Of a number's size: sixteen times what one rounding loses. Of 1,800 decimals that delta-rs wrote none lost more than
three and a half times as much."""
_YEAR_1900_US = YEAR_1900_S * 1_000_000
FIRST_SURE_INSTANT = _YEAR_1900_US + 4 * DAY_US
"""Microseconds: what is widened does not get here."""
_YEAR_1 = days_from_civil(1, 1, 1) - 2
"""Days: 0001-01-01 by the old calendar, before which it is further from the new one than after."""
_MARKS = ("\u007f", "\ufffd", "\U0010ffff")  # what writers put behind a cut
# A '?' in front of a cut may be half of a character that the writer could not encode.
_LOST_CHARACTER = f"(?s)^.{{15,31}}\\?.*[{''.join(_MARKS)}]$"


def bound_pair(leaf: Leaf, lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Inclusive bounds of ``leaf``, each [n] in its Arrow type; null = unknown.

    Parameters
    ----------
    lower, upper : raw values of the JSON, or typed values of ``stats_parsed`` of this or an older type
    """
    import pyarrow as pa

    kind = leaf.type
    target = arrow_type(kind)
    convert = _converter(leaf)
    if convert is None:
        return pa.nulls(len(lower), target), pa.nulls(len(upper), target)
    low, high = convert(lower), convert(upper)
    crossed = pc.greater(low, high)
    if crossed.true_count:
        crossed, unknown = pc.fill_null(crossed, FALSE), scalar(None, target)
        low, high = pc.if_else(crossed, unknown, low), pc.if_else(crossed, unknown, high)
    if not pa.types.is_string(lower.type):
        low, high = in_either_calendar(low, high)
    if isinstance(kind, DecimalType) and kind.precision > _DIGITS_OF_A_DOUBLE:
        return _widen_decimals(low, high, kind)
    if isinstance(kind, PrimitiveType):
        if kind.name in ("timestamp", "timestamp_ntz"):
            return _widen_timestamps(low, high)
        if kind.name == "string":
            return low, _widen_strings(high)
        if leaf.from_float:
            return _widen_floats(low, high)
    return low, high


def _converter(leaf: Leaf) -> Callable[[pa.Array], pa.Array] | None:
    kind = leaf.type
    if isinstance(kind, DecimalType):
        return lambda raw: _decimals(raw, kind)
    assert isinstance(kind, PrimitiveType)
    name, target = kind.name, arrow_type(kind)
    if name in INT_RANGES:
        return lambda raw: _integers(raw, name, target)
    if name in ("float", "double"):
        return lambda raw: _floats(raw, target)
    if name == "string":
        return lambda raw: _cast(raw, target)
    if name == "date":
        return lambda raw: _parsed_text(raw, target, parse_date)
    if name == "timestamp":
        return lambda raw: _parsed_text(raw, target, _instant)
    if name == "timestamp_ntz":
        return lambda raw: _parsed_text(raw, target, parse_local)
    return None


def _cast(raw: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast to a type of the same order (an older type, another unit); where it is none, all is unknown."""
    import pyarrow as pa

    if _order_of(raw.type) != _order_of(target):
        return pa.nulls(len(raw), target)
    try:
        return raw if raw.type == target else pc.cast(raw, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(raw), target)


def _order_of(kind: pa.DataType) -> str:
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "time" if types.is_date(kind) or types.is_timestamp(kind) else str(kind)


def _integers(raw: pa.Array, name: str, target: pa.DataType) -> pa.Array:
    import pyarrow as pa

    wide = _cast(raw, pa.int64())
    try:
        return pc.cast(wide, target)  # in most columns all values fit
    except pa.ArrowInvalid:
        pass
    limits = INT_RANGES[name]
    least, most = (scalar(limit, pa.int64()) for limit in (limits.start, limits.stop - 1))
    fits = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, most))
    return pc.cast(pc.if_else(fits, wide, scalar(None, pa.int64())), target)


def _floats(raw: pa.Array, target: pa.DataType) -> pa.Array:
    values = _cast(raw, target)
    nan = pc.is_nan(values)
    return pc.if_else(nan, scalar(None, target), values) if nan.true_count else values


def _decimals(raw: pa.Array, kind: DecimalType) -> pa.Array:
    import pyarrow as pa

    target = arrow_type(kind)
    if _order_of(raw.type) != "number":
        return pa.nulls(len(raw), target)
    try:
        return pc.cast(raw, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array_of([_fit(value, kind) for value in raw.to_pylist()], target)


def _fit(value: Any, kind: DecimalType) -> Any:
    try:
        return None if value is None else fit_decimal(decimal.Decimal(value), kind.precision, kind.scale)
    except (ValueError, TypeError):
        return None


def ends_of_int64(kind: DecimalType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The least and the greatest int64, where a writer may have put them in place of decimals that lie beyond."""
    limits = INT_RANGES["long"]
    if kind.scale or kind.precision < len(str(limits.stop)):
        return None
    least, greatest = (scalar(decimal.Decimal(end), arrow_type(kind)) for end in (limits.start, limits.stop - 1))
    return least, greatest


def _widen_decimals(low: pa.Array, high: pa.Array, kind: DecimalType) -> tuple[pa.Array, pa.Array]:
    """Numbers that became these as doubles lie between the results."""
    least, greatest = ends_of_int64(kind) or (None, None)
    return _outwards(low, pc.subtract, least, kind), _outwards(high, pc.add, greatest, kind)


def _outwards(bounds: pa.Array, way: Callable[..., pa.Array], end: pa.Scalar | None, kind: DecimalType) -> pa.Array:
    """``bounds`` less or more (``way``) what is lost; unknown where that leaves the type, and where they are ``end``.

    What is lost is rounded to the type's scale: no number of that scale lies between.
    """
    import pyarrow as pa

    if end is not None:
        bounds = pc.if_else(pc.equal(bounds, end), scalar(None, bounds.type), bounds)
    wide = pa.decimal256(kind.precision, kind.scale)
    size = pc.abs(pc.cast(bounds, pa.float64()))
    lost = pc.cast(pc.multiply(size, scalar(_LOST_OF_A_DOUBLE, pa.float64())), wide)
    moved = way(pc.cast(bounds, wide), lost)
    fits = pc.less_equal(pc.abs(moved), pc.cast(scalar(kind.greatest, bounds.type), wide))
    return pc.cast(pc.if_else(fits, moved, scalar(None, moved.type)), bounds.type)


def _parsed_text(raw: pa.Array, target: pa.DataType, parse: Callable[[str], int]) -> pa.Array:
    """Dates and timestamps: from text, or from typed values of this or an older type."""
    import pyarrow as pa

    if not pa.types.is_string(raw.type):
        return _cast(raw, target)
    try:
        return pc.cast(raw, target)
    except pa.ArrowInvalid:
        return array_of([_try(parse, text) for text in raw.to_pylist()], target)


def _try(parse: Callable[[str], int], text: str | None) -> int | None:
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None


def _instant(text: str) -> int:
    """A bound without a zone is in the writer's, which nobody knows: no bound."""
    micros, has_zone = parse_instant(text)
    if not has_zone:
        raise ValueError(text)
    return micros


def in_either_calendar(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Bounds, each [n] of one type, with what they are by the old calendar between them, where they are dates or
    timestamps: up to ten days less to two more, of instants up to a day further in zones whose past is not known to it.
    """
    import pyarrow as pa

    if pa.types.is_date(low.type):
        first, days, per_day = FIRST_GREGORIAN_DAY, (-10, 2), 1
    elif pa.types.is_timestamp(low.type):
        first, days, per_day = _YEAR_1900_US, (-12, 4), DAY_US
    else:
        return low, high
    kind = pa.int32() if pa.types.is_date(low.type) else pa.int64()
    least = scalar(_YEAR_1 * per_day, kind)
    moved = []
    for side, distance in zip((low, high), days, strict=True):
        numbers = pc.cast(side, kind)
        if not pc.less(numbers, scalar(first, kind)).true_count:
            moved.append(side)
            continue
        known = pc.if_else(pc.less(numbers, least), scalar(None, kind), numbers)
        other = pc.add(known, scalar(distance * per_day, kind))
        moved.append(pc.cast(pc.if_else(pc.less(known, scalar(first, kind)), other, known), side.type))
    return moved[0], moved[1]


def _widen_timestamps(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    import pyarrow as pa

    limits, margin = INT_RANGES["long"], _OLD_ZONE_US + _CUT_US
    unknown, least, most, year_1900, old_zone, cut = (
        scalar(micros, pa.int64())
        for micros in (None, limits.start + margin, limits.stop - margin, _YEAR_1900_US, _OLD_ZONE_US, _CUT_US)
    )
    first, last = pc.cast(low, pa.int64()), pc.cast(high, pa.int64())
    first = pc.if_else(pc.greater(first, least), first, unknown)
    last = pc.if_else(pc.less(last, most), last, unknown)
    first = pc.if_else(pc.less(first, year_1900), pc.subtract(first, old_zone), first)
    last = pc.if_else(pc.less(last, year_1900), pc.add(last, old_zone), last)
    return pc.cast(first, low.type), pc.cast(pc.add(last, cut), high.type)


def _widen_strings(high: pa.StringArray) -> pa.StringArray:
    """Few strings are long enough to have been cut, or end like a cut one: the others stay as they are."""

    suspects = _suspects(high)
    if not suspects.any():
        return high
    chosen = pc.and_(to_arrow(suspects), pc.is_valid(high))
    return pc.replace_with_mask(high, chosen, _widen_cut(pc.filter(high, chosen)))


def _suspects(high: pa.StringArray) -> np.ndarray:
    """bool[n]: texts of at least as many bytes as a cut one has characters, and those that may end with a mark."""
    import numpy as np

    _, places, data = high.buffers()
    if data is None or not data.size:
        return np.zeros(len(high), bool)
    offsets = np.frombuffer(places, np.int32)[high.offset : high.offset + len(high) + 1]
    last = np.frombuffer(data, np.uint8)[np.maximum(offsets[1:] - 1, 0)]  # of an empty text whatever stands there
    return reduce(or_, (last == mark.encode()[-1] for mark in _MARKS), np.diff(offsets) >= _CUT_CHARACTERS)


def _widen_cut(high: pa.StringArray) -> pa.StringArray:
    import pyarrow as pa

    lost = pc.match_substring_regex(high, _LOST_CHARACTER)
    nothing, greatest, between = (scalar(text, pa.string()) for text in (None, "\U0010ffff", ""))
    high = pc.if_else(lost, nothing, high)
    high = pc.replace_substring_regex(high, "\ufffd$", "\U0010ffff")
    cut = pc.equal(pc.utf8_length(high), scalar(_CUT_CHARACTERS, pa.int32()))
    return pc.if_else(cut, pc.binary_join_element_wise(high, greatest, between), high)


def _widen_floats(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """3.14 as a float is another double than 3.14: take whichever lies outside."""
    import pyarrow as pa

    as_floats = [pc.cast(pc.cast(side, pa.float32(), safe=False), pa.float64()) for side in (low, high)]
    return pc.min_element_wise(low, as_floats[0]), pc.max_element_wise(high, as_floats[1])
