"""Compare two values, or a value with constants, over Arrow arrays in Spark's order.

NaN equals NaN and is greater than every other number, -0.0 equals 0.0, and strings compare by their bytes. Integers,
dates and timestamps compare as integers, and nothing is rounded. Source: Spark SQL reference, "NaN Semantics", "LIKE".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InvalidPredicateError
from ...lazy_pattern import lazy_pattern
from ...schema import DecimalType, Type, arrow_type, is_floating
from ...schema.datetimes import DAY_US
from ..tree import Literal, like_parts
from .intervals import IntervalType

__all__ = ["comparable", "compare", "compare_columns", "is_in", "like", "scalar_of"]

_SURROGATE = lazy_pattern(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_OPERATORS: dict[str, Callable[[Any, Any], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_INVERSE = {">": "<=", ">=": "<"}


def comparable(values: pa.Array, kind: Type) -> pa.Array:
    """The values in a type that Arrow orders as SQL does: integers for dates, times, timestamps and untyped NULL."""
    name = str(kind)
    if isinstance(kind, IntervalType):
        return values
    if name == "date":
        return values.cast(pa.date32()).cast(pa.int32())
    if name.startswith(("time", "timestamp")):
        return values.cast(arrow_type(kind)).cast(pa.int64())
    if name in ("boolean", "void"):
        return values.cast(pa.uint8())
    if is_floating(kind):
        return values.cast(pa.float64())
    if name in ("binary", "uuid") or name.startswith("fixed"):
        return values.cast(pa.binary())
    return values.cast(arrow_type(kind))


def scalar_of(literal: Literal, values: pa.Array) -> pa.Scalar:
    value = int(literal.value) if isinstance(literal.value, bool) else literal.value
    return pa.scalar(value, values.type)


def compare(op: str, left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """Compare two operands of the same comparable type; NULL where one is NULL."""
    if pa.types.is_floating(left.type):
        return pc.invert(_float_compare("=", left, right)) if op == "!=" else _float_compare(op, left, right)
    return _OPERATORS[op](left, right)


def _float_compare(op: str, left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """IEEE comparison, except that NaN equals NaN and is greater than every other number."""
    if isinstance(right, pa.Scalar) and right.is_valid and not math.isnan(right.as_py()):
        # Every IEEE comparison of NaN with a number is FALSE.
        return pc.invert(_OPERATORS[_INVERSE[op]](left, right)) if op in _INVERSE else _OPERATORS[op](left, right)
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    ordered = _OPERATORS[op](left, right)  # FALSE where a side is NaN
    if op == "=":
        return pc.or_(ordered, pc.and_(left_nan, right_nan))
    greater, lesser = (left_nan, right_nan) if op in (">", ">=") else (right_nan, left_nan)
    if op in (">=", "<="):
        return pc.or_(ordered, greater)
    return pc.or_(ordered, pc.and_(greater, pc.invert(lesser)))


def compare_columns(op: str, left: tuple[pa.Array, Type], right: tuple[pa.Array, Type]) -> pa.BooleanArray:
    (a, a_type), (b, b_type) = left, right
    kinds = {str(a_type), str(b_type)}
    if "date" in kinds and len(kinds) == 2:
        return _compare_with_dates(op, left, right)
    if is_floating(a_type) or is_floating(b_type):
        return compare(op, _as_doubles(a, a_type), _as_doubles(b, b_type))
    if isinstance(a_type, DecimalType) or isinstance(b_type, DecimalType):
        scale = max(kind.scale for kind in (a_type, b_type) if isinstance(kind, DecimalType))
        common = pa.decimal256(76, scale)  # holds every 38-digit number at every scale
        return compare(op, a.cast(common), b.cast(common))
    return compare(op, comparable(a, a_type), comparable(b, b_type))


def _as_doubles(values: pa.Array, kind: Type) -> pa.Array:
    """Values rounded to the nearest double. Decimals are cast as text, because Arrow's own cast rounds them twice."""
    if isinstance(kind, DecimalType):
        values = values.cast(pa.string())
    return values.cast(pa.float64(), safe=False)


def _compare_with_dates(op: str, left: tuple[pa.Array, Type], right: tuple[pa.Array, Type]) -> pa.BooleanArray:
    """Compare a date with a timestamp: first the day, then the time of day, since dates as microseconds overflow."""
    (a_day, a_rest), (b_day, b_rest) = _days_and_rest(*left), _days_and_rest(*right)
    same_day = pc.equal(a_day, b_day)
    by_rest = pc.and_(same_day, _OPERATORS[op](a_rest, b_rest))
    if op == "=":
        return by_rest
    return pc.or_(by_rest, pc.and_(pc.invert(same_day), _OPERATORS[op](a_day, b_day)))


def _days_and_rest(values: pa.Array, kind: Type) -> tuple[pa.Array, pa.Array]:
    numbers = comparable(values, kind).cast(pa.int64())
    if str(kind) == "date":
        return numbers, pc.multiply(numbers, pa.scalar(0, pa.int64()))
    quotient = pc.divide(numbers, pa.scalar(DAY_US, pa.int64()))  # rounds towards zero
    rest = pc.subtract(numbers, pc.multiply(quotient, pa.scalar(DAY_US, pa.int64())))
    borrow = pc.less(rest, pa.scalar(0, pa.int64())).cast(pa.int64())
    return pc.subtract(quotient, borrow), pc.add(rest, pc.multiply(borrow, pa.scalar(DAY_US, pa.int64())))


def is_in(values: pa.Array, kind: Type, literals: Sequence[Literal]) -> pa.BooleanArray:
    """``values IN (literals)``, of one type; NULL for NULL. No literal is NULL."""
    values = comparable(values, kind)
    listed = [scalar_of(literal, values) for literal in literals]
    if pa.types.is_floating(values.type):
        values = pc.add(values, 0.0)  # turns -0.0 into 0.0, which is_in takes for another value
        numbers = [s for s in listed if not math.isnan(s.as_py())]
        found = pc.is_in(values, value_set=pa.array([s.as_py() for s in numbers], values.type))
        if len(numbers) < len(listed):
            found = pc.or_(found, pc.is_nan(values))
    else:
        found = pc.is_in(values, value_set=pa.array([s.as_py() for s in listed], values.type))
    return pc.if_else(pc.is_valid(values), found, pa.scalar(None, pa.bool_()))


def like(values: pa.Array, pattern: str) -> pa.BooleanArray:
    """Whether each text matches a LIKE pattern, where a backslash is the escape character."""
    pieces = []
    for character, is_wildcard in like_parts(pattern):
        if is_wildcard:
            pieces.append(".*" if character == "%" else ".")
        else:
            pieces.append(character if character.isalnum() else f"\\x{{{ord(character):x}}}")
    try:
        return pc.match_substring_regex(_as_java_decodes(values), pattern=rf"(?s)\A{''.join(pieces)}\z")
    except pa.ArrowInvalid:
        raise InvalidPredicateError(
            f"the LIKE pattern {pattern[:40]!r}... of {len(pattern)} characters is too long"
        ) from None


def _as_java_decodes(texts: pa.Array) -> pa.Array:
    """The texts with U+FFFD where their bytes are not UTF-8: what wildcards match in Spark. RE2 matches none there."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        stored = texts.cast(pa.large_binary()).to_pylist()
        return pa.array([None if text is None else _java_text(text) for text in stored], texts.type)
    return texts


def _java_text(text: bytes) -> str:
    """As Python decodes, but for an encoded surrogate, whole or cut: one character to Java, one per byte to Python."""
    return _SURROGATE.sub("\ufffd".encode(), text).decode("utf-8", "replace")
