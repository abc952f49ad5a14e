"""Raw minimum and maximum -> bounds in the column's type, widened by what writers are known to lose.

* Timestamps are truncated to milliseconds: the upper bound grows by 999 microseconds. Some writers drop the seconds of
  zone offsets before 1900: both bounds move out by 60 seconds.
* Typed dates and timestamps (of ``stats_parsed``) may be in the hybrid calendar of old Java classes, where days before
  1582-10-15 and instants before 1900 differ: both bounds move out by the difference.
* Strings are truncated to 32 characters. A truncated minimum is still a lower bound. A truncated maximum has a
  tie-break character appended. Old writers append U+FFFD, which half of Unicode exceeds in UTF-8: it is left for the
  core, which widens every bound that holds it. The protocol does not demand a tie-break character, so U+10FFFF is
  appended to a maximum of just 32 characters.
* Values of CHAR(n) columns are padded when they are read, and bounds are of values as they are stored. A lower bound
  stays below the padded value; see :func:`pad_upper` for the upper one.
* Decimals of more than 15 digits may have passed through a double: both bounds move out by more than a double loses.
  (delta-rs 1.6 divides doubles. It writes decimals of scale 0 through an int64, whose ends then mean "or beyond".)
* NaN is no bound, which the core knows. A minimum above its maximum makes both unknown, unless texts hold U+FFFD.

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
    pad_strings,
    scalar,
    to_arrow,
)
from tableformats.plugin import compute as pc

from ..json.values import INT_RANGES, fit_decimal, parse_date, parse_instant, parse_local

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .stats_json import Leaf

__all__ = ["FIRST_SURE_INSTANT", "bound_pair", "ends_of_int64", "exact_values", "in_either_calendar", "pad_upper"]

_CUT_US = 999
_CUT_CHARACTERS = 32
_OLD_ZONE_US = 60_000_000
_DIGITS_OF_A_DOUBLE = 15
_LOST_OF_A_DOUBLE = 2.0**-49
"""Relative to the number: sixteen times what one rounding loses. None of 1,800 decimals that delta-rs wrote lost more
than three and a half times as much."""
_YEAR_1900_US = YEAR_1900_S * 1_000_000
FIRST_SURE_INSTANT = _YEAR_1900_US + 4 * DAY_US
"""Microseconds since the epoch. Widening an older instant never reaches this one."""
_YEAR_1 = days_from_civil(1, 1, 1) - 2
"""Days since the epoch: 0001-01-01 of the hybrid calendar. Before it the two calendars differ by more days."""
_REPLACEMENT = "\ufffd"
_TIE_BREAKS = ("\u007f", _REPLACEMENT, "\U0010ffff")  # what writers append to a truncated maximum
# A '?' before the tie-break may be half of a surrogate pair that the writer could not encode.
_LOST_CHARACTER = f"(?s)^.{{15,31}}\\?.*[{''.join(_TIE_BREAKS)}]$"


def bound_pair(leaf: Leaf, lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Inclusive bounds of ``leaf``, each [n] in its Arrow type; null = unknown.

    Parameters
    ----------
    leaf : Leaf
        The column.
    lower, upper : pyarrow.Array
        Raw values of the JSON, or values of ``stats_parsed`` in the column's type or an older one.
    """
    import pyarrow as pa

    kind = leaf.type
    target = arrow_type(kind)
    convert = _converter(leaf)
    if convert is None:
        return pa.nulls(len(lower), target), pa.nulls(len(upper), target)
    low, high = convert(lower), convert(upper)
    crossed = pc.fill_null(pc.greater(low, high), FALSE)
    if crossed.true_count:
        if pa.types.is_string(target):
            crossed = pc.and_not(crossed, _holds_replacement(low, high))
        unknown = scalar(None, target)
        low, high = pc.if_else(crossed, unknown, low), pc.if_else(crossed, unknown, high)
    if not pa.types.is_string(lower.type):
        low, high = in_either_calendar(low, high)
    if isinstance(kind, DecimalType) and kind.precision > _DIGITS_OF_A_DOUBLE:
        return _widen_decimals(low, high, kind)
    if isinstance(kind, PrimitiveType):
        if kind.name in ("timestamp", "timestamp_ntz"):
            return _widen_timestamps(low, high)
        if kind.name == "string":
            high = _widen_strings(high)
            return low, high if leaf.char_length is None else pad_upper(high, leaf.char_length)
        if leaf.from_float:
            return _widen_floats(low, high)
    return low, high


def exact_values(leaf: Leaf, raw: pa.Array) -> pa.Array:
    """Raw values of ``leaf`` in its Arrow type, [n], not widened; null where there is no value of the type.

    A timestamp without a zone is none, as the writer's zone is not known.
    """
    import pyarrow as pa

    convert = _converter(leaf)
    return pa.nulls(len(raw), arrow_type(leaf.type)) if convert is None else convert(raw)


def _converter(leaf: Leaf) -> Callable[[pa.Array], pa.Array] | None:
    kind = leaf.type
    if isinstance(kind, DecimalType):
        return lambda raw: _decimals(raw, kind)
    assert isinstance(kind, PrimitiveType)
    name, target = kind.name, arrow_type(kind)
    if name in INT_RANGES:
        return lambda raw: _integers(raw, name, target)
    if name in ("float", "double", "string"):
        return lambda raw: _cast(raw, target)
    if name == "date":
        return lambda raw: _parsed_text(raw, target, parse_date)
    if name == "timestamp":
        return lambda raw: _parsed_text(raw, target, _instant)
    if name == "timestamp_ntz":
        return lambda raw: _parsed_text(raw, target, parse_local)
    return None


def _cast(raw: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast to a type with the same order (a wider type, another unit); all null where the order differs."""
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
        return pc.cast(wide, target)  # the fast way: in most columns all values fit
    except pa.ArrowInvalid:
        pass
    limits = INT_RANGES[name]
    least, most = (scalar(limit, pa.int64()) for limit in (limits.start, limits.stop - 1))
    fits = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, most))
    return pc.cast(pc.if_else(fits, wide, scalar(None, pa.int64())), target)


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
    """The least and the greatest int64 as ``kind``, where a writer may have stored them for decimals beyond int64."""
    limits = INT_RANGES["long"]
    if kind.scale or kind.precision < len(str(limits.stop)):
        return None
    least, greatest = (scalar(decimal.Decimal(end), arrow_type(kind)) for end in (limits.start, limits.stop - 1))
    return least, greatest


def _widen_decimals(low: pa.Array, high: pa.Array, kind: DecimalType) -> tuple[pa.Array, pa.Array]:
    """Bounds of all decimals that a double may have turned into ``low`` and ``high``."""
    least, greatest = ends_of_int64(kind) or (None, None)
    return _outwards(low, pc.subtract, least, kind), _outwards(high, pc.add, greatest, kind)


def _outwards(bounds: pa.Array, move: Callable[..., pa.Array], end: pa.Scalar | None, kind: DecimalType) -> pa.Array:
    """``bounds`` moved by what a double loses; null where that leaves the type, and where a bound equals ``end``.

    ``move`` adds or subtracts. The loss is rounded to the type's scale, as all values of the column have that scale.
    """
    import pyarrow as pa

    if end is not None:
        bounds = pc.if_else(pc.equal(bounds, end), scalar(None, bounds.type), bounds)
    wide = pa.decimal256(kind.precision, kind.scale)
    size = pc.abs(pc.cast(bounds, pa.float64()))
    lost = pc.cast(pc.multiply(size, scalar(_LOST_OF_A_DOUBLE, pa.float64())), wide)
    moved = move(pc.cast(bounds, wide), lost)
    fits = pc.less_equal(pc.abs(moved), pc.cast(scalar(kind.greatest, bounds.type), wide))
    return pc.cast(pc.if_else(fits, moved, scalar(None, moved.type)), bounds.type)


def _parsed_text(raw: pa.Array, target: pa.DataType, parse: Callable[[str], int]) -> pa.Array:
    """Dates and timestamps from text, or from values of the column's type or an older one."""
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
    """Parse a bound; one without a zone is no bound, as the writer's zone is not known."""
    micros, has_zone = parse_instant(text)
    if not has_zone:
        raise ValueError(text)
    return micros


def in_either_calendar(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Widen dates and timestamps to hold also in the hybrid calendar; other types are returned unchanged.

    Days move by up to ten days back and two forward. Instants move by up to two days more, for zones whose history the
    old classes do not know.
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
    """Widen the strings that may be truncated: those that are long enough, or end with a tie-break character."""
    suspects = _suspects(high)
    if not suspects.any():
        return high
    chosen = pc.and_(to_arrow(suspects), pc.is_valid(high))
    return pc.replace_with_mask(high, chosen, _widen_cut(pc.filter(high, chosen)))


def _suspects(high: pa.StringArray) -> np.ndarray:
    """Which strings have at least 32 bytes or may end with a tie-break character, bool[n]; cheap and approximate."""
    import numpy as np

    _, places, data = high.buffers()
    if data is None or not data.size:
        return np.zeros(len(high), bool)
    offsets = np.frombuffer(places, np.int32)[high.offset : high.offset + len(high) + 1]
    last = np.frombuffer(data, np.uint8)[np.maximum(offsets[1:] - 1, 0)]  # any byte for an empty text
    return reduce(or_, (last == mark.encode()[-1] for mark in _TIE_BREAKS), np.diff(offsets) >= _CUT_CHARACTERS)


def _holds_replacement(low: pa.StringArray, high: pa.StringArray) -> pa.BooleanArray:
    """Where a bound holds U+FFFD. Its text is not in the order of the values, so it contradicts nothing."""
    found = pc.or_(*(pc.match_substring(side, pattern=_REPLACEMENT) for side in (low, high)))
    return pc.fill_null(found, FALSE)


def _widen_cut(high: pa.StringArray) -> pa.StringArray:
    import pyarrow as pa

    lost = pc.match_substring_regex(high, _LOST_CHARACTER)
    nothing, greatest, between = (scalar(text, pa.string()) for text in (None, "\U0010ffff", ""))
    high = pc.if_else(lost, nothing, high)
    cut = pc.equal(pc.utf8_length(high), scalar(_CUT_CHARACTERS, pa.int32()))
    return pc.if_else(cut, pc.binary_join_element_wise(high, greatest, between), high)


def pad_upper(high: pa.StringArray, length: int) -> pa.StringArray:
    """Upper bounds of values padded to ``length`` characters, from upper bounds of these values as they are stored.

    A value that is a prefix of its bound may end up above it: ``"a"`` becomes ``"a  "``, which is above ``"a"`` and
    above ``"a\\t"``. So the bound is cut before its first character below the space, and padded, too.
    """
    return pad_strings(pc.replace_substring_regex(high, r"(?s)[\x00-\x1f].*", " "), length)


def _widen_floats(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The float 3.14 is not the double 3.14: take the outer one of both."""
    import pyarrow as pa

    as_floats = [pc.cast(pc.cast(side, pa.float32(), safe=False), pa.float64()) for side in (low, high)]
    return pc.min_element_wise(low, as_floats[0]), pc.max_element_wise(high, as_floats[1])
