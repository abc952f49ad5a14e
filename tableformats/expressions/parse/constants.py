"""Read constants and casts: types by name, ``DATE '2024-01-31'``, intervals.

Source: Spark SQL reference, "Literals", "Data Types" and "ANSI Compliance" (Cast).
"""

from __future__ import annotations

import decimal
import re

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...lazy_pattern import lazy_pattern
from ...schema import DecimalType, Type, is_numeric, primitive
from ...schema.datetimes import DAY_US
from ..casts import cast
from ..tree import Function, Literal, Value
from .lexing import MAX_DIGITS

__all__ = [
    "TYPED_LITERALS",
    "UNITS",
    "cast_value",
    "interval",
    "interval_fields",
    "negated_interval",
    "negative",
    "type_named",
    "typed",
]

_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "byte",
    "BYTE": "byte",
    "SMALLINT": "short",
    "SHORT": "short",
    "INT": "int",
    "INTEGER": "int",
    "BIGINT": "long",
    "LONG": "long",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "VARCHAR": "string",
    "CHAR": "string",
    "CHARACTER": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "UUID": "uuid",
}
_SIZED = {"VARCHAR": 1, "CHAR": 1, "CHARACTER": 1, "TIME": 1}
TYPED_LITERALS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
"""Words that make a literal of the string behind them."""

_MONTHS = {"YEAR": 12, "MONTH": 1}
_MICROS = {
    "WEEK": 7 * DAY_US,
    "DAY": DAY_US,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
UNITS = {unit + plural: unit for unit in (*_MONTHS, *_MICROS) for plural in ("", "S")}
"""The units of an interval, in upper case, in singular and plural."""
_PART = lazy_pattern(r"([+-]?)\s*([0-9]*\.?[0-9]+|[0-9]+\.)\s*([a-zA-Z]+)\s*")
_CLOCK = r"(?P<hour>[0-9]{1,10}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2}(?:\.[0-9]{1,9})?))?"
_RANGES = {
    ("YEAR", "MONTH"): r"(?P<year>[0-9]{1,9})-(?P<month>[0-9]{1,2})",
    ("DAY", "HOUR"): r"(?P<day>[0-9]{1,9})[ T]+(?P<hour>[0-9]{1,2})",
    ("DAY", "MINUTE"): r"(?P<day>[0-9]{1,9})[ T]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})",
    ("DAY", "SECOND"): r"(?P<day>[0-9]{1,9})[ T]+" + _CLOCK,
    ("HOUR", "MINUTE"): r"(?P<hour>[0-9]{1,10}):(?P<minute>[0-9]{1,2})",
    ("HOUR", "SECOND"): _CLOCK,
    ("MINUTE", "SECOND"): r"(?P<minute>[0-9]{1,12}):(?P<second>[0-9]{1,2}(?:\.[0-9]{1,9})?)",
}
_DAY_WORDS = {"today": 0, "now": 0, "yesterday": -1, "tomorrow": 1}


def type_named(name: str, sizes: tuple[int, ...] = ()) -> Type:
    """The type of a cast: ``DECIMAL(10, 2)``, ``VARCHAR(5)``, which is a string, as casts go.

    Raises UnsupportedFeatureError for nested types, InvalidPredicateError for names of no type.
    """
    word = name.upper()
    if word in ("DECIMAL", "DEC", "NUMERIC") and len(sizes) <= 2:
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        if 1 <= precision <= MAX_DIGITS and scale <= precision:
            return DecimalType(precision, scale)
        raise InvalidPredicateError(f"there is no decimal({precision},{scale})", hint="It has 1 to 38 digits.")
    if word in ("ARRAY", "MAP", "STRUCT", "INTERVAL", "VARIANT", "VOID"):
        raise UnsupportedFeatureError(
            f"a cast to {word} is not built", field=word, hint="Filter the rows after reading."
        )
    if word not in _TYPES or len(sizes) > _SIZED.get(word, 0):
        shown = f"{name}({', '.join(map(str, sizes))})" if sizes else name
        raise InvalidPredicateError(f"there is no type {shown!r} to cast to")
    return primitive(_TYPES[word])


def cast_value(value: Value, target: Type, is_try: bool, ansi: bool) -> Value:
    """``CAST(value AS target)``. A constant is cast at once.

    Raises InvalidPredicateError where a constant cannot be cast, unless ``is_try``.
    """
    if not isinstance(value, Literal):
        return Function("try_cast" if is_try else "cast", (value,), target, ansi)
    try:
        return cast(value, target, ansi or is_try)
    except InvalidPredicateError:
        if is_try:
            return Literal(None, target)
        raise


def typed(word: str, text: str, ansi: bool) -> Value:
    """``DATE '2024-01-31'``. ``DATE 'today'`` and such are computed when the filter is bound."""
    special = text.strip().lower()
    is_time = word.startswith("TIMESTAMP")
    if word == "DATE" or is_time:
        if special == "epoch":
            return Literal(0, primitive(_TYPES[word]))
        if special == "now" and is_time:
            name = "localtimestamp" if word == "TIMESTAMP_NTZ" else "current_timestamp"
            return Function(name, (), ansi=ansi)
        if special in _DAY_WORDS:
            today: Value = Function("current_date", (), ansi=ansi)
            if _DAY_WORDS[special]:
                today = Function("date_add", (today, Literal(_DAY_WORDS[special])), ansi=ansi)
            return Function("cast", (today,), primitive(_TYPES[word]), ansi) if is_time else today
    return cast(Literal(text), primitive(_TYPES[word]), True)


def negative(value: Value, ansi: bool) -> Value:
    """``-value``."""
    if isinstance(value, Literal) and value.value is not None and not isinstance(value.value, bool):
        number = value.value
        edge = value.type is not None and number in (-(2**63), -(2**15), -(2**7))
        if isinstance(number, decimal.Decimal):
            return Literal(number.copy_negate(), value.type)
        if isinstance(number, (int, float)) and not edge and (value.type is None or is_numeric(value.type)):
            return Literal(-number, value.type)
    if isinstance(value, Function) and value.name == "interval":
        return negated_interval(value)
    return Function("negative", (value,), ansi=ansi)


def negated_interval(value: Function) -> Function:
    """The interval back."""
    amount, unit = value.arguments
    assert isinstance(amount, Literal)
    return Function("interval", (Literal(-amount.value), unit), ansi=value.ansi)


def interval(parts: list[tuple[str, str]], ansi: bool) -> Function:
    """An interval of amounts, as they are written, each with its unit (a key of :data:`UNITS`).

    Raises InvalidPredicateError where months are mixed with days, or an amount is no number.
    """
    units = [UNITS[unit] for _, unit in parts]
    if all(unit in _MONTHS for unit in units):
        amount = sum(_whole(text, unit) * _MONTHS[unit] for (text, _), unit in zip(parts, units, strict=True))
        return _interval(amount, "month", ansi)
    if any(unit in _MONTHS for unit in units):
        raise InvalidPredicateError(
            "an interval cannot mix years or months with days or times", hint="Add two intervals."
        )
    micros = 0
    for (text, _), unit in zip(parts, units, strict=True):
        exact = _decimal(text) * _MICROS[unit] if unit == "SECOND" else _whole(text, unit) * _MICROS[unit]
        micros += int(exact)
    if all(unit in ("WEEK", "DAY") for unit in units):
        return _interval(micros // DAY_US, "day", ansi)
    return _interval(micros, "microsecond", ansi)


def interval_fields(text: str, first: str, last: str, ansi: bool) -> Function:
    """``INTERVAL '1-2' YEAR TO MONTH``. Raises InvalidPredicateError where the text has other fields."""
    pattern = _RANGES.get((UNITS.get(first, ""), UNITS.get(last, "")))
    if pattern is None:
        raise InvalidPredicateError(f"there is no interval of {first} TO {last}")
    body = text.strip()
    match = re.fullmatch(pattern, body[1:] if body[:1] in ("-", "+") else body)
    if match is None:
        raise InvalidPredicateError(f"{text!r} is no interval of {first} TO {last}")
    parts = [(amount, name.upper()) for name, amount in match.groupdict().items() if amount is not None]
    limits = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
    if any(float(amount) >= limits[unit] + 1 for amount, unit in parts[1:]):
        raise InvalidPredicateError(f"{text!r} is no interval of {first} TO {last}")
    found = interval(parts, ansi)
    return negated_interval(found) if body[:1] == "-" else found


def interval_text(text: str) -> list[tuple[str, str]]:
    """The amounts and units of ``'1 day 2 hours'``. Raises InvalidPredicateError where it has none."""
    body = re.sub(r"(?i)^\s*interval\s", "", text).strip()
    parts: list[tuple[str, str]] = []
    offset = 0
    while offset < len(body):
        match = _PART.match(body, offset)
        if match is None or match[3].upper() not in UNITS:
            parts = []
            break
        parts.append((match[1] + match[2], match[3].upper()))
        offset = match.end()
    if not parts:
        raise InvalidPredicateError(f"{text!r} is no interval", hint="Write INTERVAL '1 day 2 hours'.")
    return parts


def _interval(amount: int, unit: str, ansi: bool) -> Function:
    if not -(2**63) <= amount < 2**63 or (unit == "month" and not -(2**31) <= amount < 2**31):
        raise InvalidPredicateError("the interval is too long")
    return Function("interval", (Literal(amount), Literal(unit)), ansi=ansi)


def _decimal(text: str) -> decimal.Decimal:
    try:
        return decimal.Decimal(text.strip())
    except decimal.InvalidOperation:
        raise InvalidPredicateError(f"{text!r} is no amount of an interval") from None


def _whole(text: str, unit: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text):
        raise InvalidPredicateError(f"{text!r} is no whole number of {unit.lower()}s")
    return int(text)
