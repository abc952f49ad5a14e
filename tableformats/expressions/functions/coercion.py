"""Types of values, and the types that Spark converts them to before it computes with them.

Conversions become casts in the tree, so that a kernel takes exactly the types that it knows, and a filter means the
same to every engine. Source: Spark SQL reference, "ANSI Compliance" (Type Promotion), and Spark's AnsiTypeCoercion,
TypeCoercion and DecimalPrecision.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...schema import DecimalType, FixedType, PrimitiveType, Type, is_floating, is_integer, is_numeric, primitive
from ..tree import BoundColumn, Constant, Function, Literal, Value
from .intervals import IntervalType

__all__ = [
    "BINARY",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "INT",
    "LONG",
    "NTZ",
    "STRING",
    "TIMESTAMP",
    "as_kind",
    "comparison_kinds",
    "decimal_of",
    "has_cast",
    "implicit",
    "is_instant",
    "is_void",
    "mismatch",
    "name_of",
    "refuse_unusual",
    "type_of",
    "wider_decimal",
    "wider_kind",
    "wider_numeric",
]

BOOLEAN, INT, LONG, DOUBLE = (primitive(name) for name in ("boolean", "int", "long", "double"))
FLOAT, STRING, DATE, TIMESTAMP = (primitive(name) for name in ("float", "string", "date", "timestamp"))
BINARY, NTZ, VOID = (primitive(name) for name in ("binary", "timestamp_ntz", "unknown"))

_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 20}
_INTEGERS = ("byte", "short", "int", "long")
_UNUSUAL = ("time", "timestamp_ns", "timestamp_ntz_ns", "variant")
"""Types that functions do not take."""


def type_of(value: Value) -> Type:
    """The type of a bound value."""
    if isinstance(value, (Literal, Function)):
        return VOID if value.type is None else value.type
    return value.type if isinstance(value, BoundColumn) else BOOLEAN


def name_of(kind: Type) -> str:
    """The name of a type without parameters; "decimal", "fixed" and so on for others."""
    return kind.name if isinstance(kind, PrimitiveType) else "decimal" if isinstance(kind, DecimalType) else str(kind)


def is_void(kind: Type) -> bool:
    return kind == VOID


def is_instant(kind: Type) -> bool:
    """Whether values are dates or timestamps of microseconds."""
    return kind in (DATE, TIMESTAMP, NTZ)


def mismatch(function: Function, reason: str | None = None, hint: str | None = None) -> InvalidPredicateError:
    """The error of a function whose arguments have the wrong types."""
    kinds = ", ".join(str(type_of(a)) for a in function.arguments)
    text = f"{function} takes no values of type {kinds}" + (f": {reason}" if reason else "")
    return InvalidPredicateError(text, field=str(function), hint=hint or "Cast them, as in CAST(a AS DOUBLE).")


def as_kind(value: Value, kind: Type, ansi: bool = True) -> Value:
    """``value`` cast to ``kind``, or as it is if it has that type."""
    if type_of(value) == kind:
        return value
    if isinstance(value, (Literal, Constant)) and value.value is None:
        return Literal(None, kind)
    return Function("cast", (value,), kind, ansi)


def implicit(function: Function, position: int, kind: Type) -> Value:
    """The argument at ``position`` as ``kind``, if Spark converts it by itself.

    Raises InvalidPredicateError where it does not.
    """
    value = function.arguments[position]
    given = type_of(value)
    if given == kind:
        return value
    if is_void(given) or _converts(given, kind):
        return as_kind(value, kind, function.ansi)
    raise InvalidPredicateError(
        f"argument {position + 1} of {function.name} is {value}, of type {given}, where a {kind} is needed",
        field=str(function),
        hint=f"Cast it: CAST({value} AS {str(kind).upper()})." if has_cast(given, kind) else None,
    )


def has_cast(source: Type, target: Type) -> bool:
    """Whether Spark casts from one type to another, and we do. Source: Spark SQL reference, "ANSI Compliance", Cast."""
    if str(source) in _UNUSUAL or str(target) in _UNUSUAL:
        return False
    if isinstance(source, IntervalType) and isinstance(target, IntervalType):
        return source.unit == "day" and target.unit == "microsecond"
    if source.is_nested or target.is_nested or isinstance(source, IntervalType) or isinstance(target, IntervalType):
        return False
    if target == STRING or source == STRING:
        return True
    if is_numeric(source) or source == BOOLEAN:
        return is_numeric(target) or target == BOOLEAN or (target == TIMESTAMP and source != BOOLEAN)
    if source == TIMESTAMP and is_numeric(target):
        return True
    return is_instant(source) and is_instant(target)


def _converts(given: Type, kind: Type) -> bool:
    if str(given) == "variant":
        return False
    refuse_unusual(given)
    if kind == STRING:
        return not given.is_nested and not isinstance(given, IntervalType)
    if is_numeric(kind):
        return is_numeric(given) or given == STRING
    if is_instant(kind):
        return is_instant(given) or given == STRING
    return kind in (BINARY, BOOLEAN) and given == STRING


def refuse_unusual(kind: Type) -> None:
    """Raise UnsupportedFeatureError for types that functions do not take."""
    if str(kind) in _UNUSUAL:
        raise UnsupportedFeatureError(
            f"a function of a value of type {kind}",
            field=str(kind),
            hint="Compare the column with a literal, or filter the rows after reading.",
        )


def decimal_of(value: Value) -> DecimalType | None:
    """The decimal type that holds an integer or a decimal; of an integer literal the least one. None for others."""
    kind = type_of(value)
    if isinstance(kind, DecimalType):
        return kind
    if not is_integer(kind):
        return None
    if isinstance(value, Literal) and value.value is not None:
        return DecimalType(max(len(str(abs(value.value))), 1), 0)
    return _decimal_of_kind(kind)


def _decimal_of_kind(kind: Type) -> DecimalType | None:
    return (
        kind if isinstance(kind, DecimalType) else DecimalType(_DIGITS[name_of(kind)], 0) if is_integer(kind) else None
    )


def wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    """The decimal type that holds both, within 38 digits: the digits before the point come first."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    if whole + scale <= 38:
        return DecimalType(whole + scale, scale)
    return DecimalType(38, min(scale, max(38 - whole, min(scale, 6))))


def wider_numeric(left: Type, right: Type, ansi: bool = True) -> Type | None:
    """The type in which two numbers meet. None if one is no number."""
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if left == right:
        return left
    if is_floating(left) or is_floating(right):
        others = {left, right} - {FLOAT}
        if DOUBLE in others or any(isinstance(kind, DecimalType) for kind in others) or ansi:
            return DOUBLE
        return FLOAT
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        a, b = _decimal_of_kind(left), _decimal_of_kind(right)
        assert a is not None and b is not None
        return wider_decimal(a, b)
    return max((left, right), key=lambda kind: _INTEGERS.index(name_of(kind)))


def wider_kind(kinds: Sequence[Type], ansi: bool, promotes_text: bool = True) -> Type | None:
    """The type that COALESCE, CASE, IN and their kind convert values of ``kinds`` to. None if Spark has none.

    ``promotes_text``: whether a text becomes the other type (ANSI), or the other value a text (without).
    """
    found: Type = VOID
    # Spark takes texts last: they become what the others are.
    for kind in sorted(kinds, key=lambda kind: kind == STRING) if not ansi else kinds:
        wider = _wider(found, kind, ansi, promotes_text)
        if wider is None:
            return None
        found = wider
    return found


def _wider(left: Type, right: Type, ansi: bool, promotes_text: bool) -> Type | None:
    if left == right or is_void(right):
        return left
    if is_void(left):
        return right
    if is_numeric(left) and is_numeric(right):
        return wider_numeric(left, right, ansi)
    if isinstance(left, IntervalType) and isinstance(right, IntervalType) and "month" not in (left.unit, right.unit):
        return IntervalType("microsecond")
    if is_instant(left) and is_instant(right):
        return TIMESTAMP if TIMESTAMP in (left, right) else NTZ
    if STRING in (left, right) and promotes_text:
        return text_meets(right if left == STRING else left) if ansi else _text_wins(right if left == STRING else left)
    return None


def text_meets(kind: Type) -> Type | None:
    """What a text and a value of type ``kind`` are converted to in ANSI mode."""
    if is_integer(kind):
        return LONG
    if is_numeric(kind):
        return DOUBLE
    return kind if kind in (BOOLEAN, BINARY) or is_instant(kind) else None


def _text_wins(kind: Type) -> Type | None:
    return None if kind in (BOOLEAN, BINARY) or kind.is_nested or isinstance(kind, IntervalType) else STRING


def comparison_kinds(left: Value, right: Value, ansi: bool) -> Type | None:
    """The type in which two values are compared. None if they do not compare."""
    a, b = type_of(left), type_of(right)
    if a == b or is_void(b):
        return a
    if is_void(a):
        return b
    if is_numeric(a) and is_numeric(b):
        if isinstance(a, DecimalType) or isinstance(b, DecimalType):
            x, y = decimal_of(left), decimal_of(right)
            return DOUBLE if x is None or y is None else wider_decimal(x, y)
        return wider_numeric(a, b, ansi)
    if STRING in (a, b):
        other = b if a == STRING else a
        if ansi:
            return text_meets(other)
        if isinstance(other, DecimalType):
            return DOUBLE
        return other if is_numeric(other) or is_instant(other) or other in (BOOLEAN, BINARY) else None
    if isinstance(a, FixedType) or isinstance(b, FixedType):
        return BINARY if all(isinstance(kind, FixedType) or kind == BINARY for kind in (a, b)) else None
    return _wider(a, b, ansi, False)
