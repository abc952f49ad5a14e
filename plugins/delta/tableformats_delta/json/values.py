"""Numbers, dates and timestamps in the spellings of the log -> values that Arrow accepts.

Every function raises ValueError for a text that is no such value.

Source: Delta PROTOCOL.md, "Partition Value Serialization", "Per-file Statistics".
"""

from __future__ import annotations

import decimal
import re

from tableformats.plugin import datetimes, lazy_pattern

__all__ = [
    "INT_RANGES",
    "fit_decimal",
    "parse_date",
    "parse_decimal",
    "parse_float",
    "parse_instant",
    "parse_int",
    "parse_local",
]

INT_RANGES = {
    "byte": range(-(2**7), 2**7),
    "short": range(-(2**15), 2**15),
    "int": range(-(2**31), 2**31),
    "long": range(-(2**63), 2**63),
}
_INTEGER = lazy_pattern(r"[+-]?\d{1,40}", re.ASCII)
# The length is bounded, so that no text becomes a number of unbounded size.
_NUMBER = lazy_pattern(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,5})?", re.ASCII)
_SPECIAL = {"nan": "nan", "inf": "inf", "infinity": "inf"}
_CONTEXT = decimal.Context(prec=80, Emin=-99999, Emax=99999, traps=[decimal.Inexact, decimal.InvalidOperation])


def parse_int(text: str, kind: str) -> int:
    """Parse an integer of type ``kind``, a key of :data:`INT_RANGES`."""
    if not _INTEGER.fullmatch(text) or int(text) not in INT_RANGES[kind]:
        raise ValueError(text)
    return int(text)


def parse_float(text: str) -> float:
    """Parse a double; NaN and Infinity in upper or lower case."""
    sign, word = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if word.lower() in _SPECIAL:
        return float(sign + _SPECIAL[word.lower()])
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


def parse_decimal(text: str, precision: int, scale: int) -> decimal.Decimal:
    """Parse a decimal that the type holds exactly."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return fit_decimal(decimal.Decimal(text), precision, scale)


def fit_decimal(value: decimal.Decimal, precision: int, scale: int) -> decimal.Decimal:
    """The value with ``scale`` digits after the point. Raises ValueError where that loses digits."""
    if not value.is_finite() or value.adjusted() > 50:
        raise ValueError(str(value))
    try:
        fitted = value.quantize(decimal.Decimal(f"1e{-scale}"), context=_CONTEXT)
    except (decimal.Inexact, decimal.InvalidOperation):
        raise ValueError(str(value)) from None
    if fitted and fitted.adjusted() + 1 > precision - scale:
        raise ValueError(str(value))
    return fitted


def parse_date(text: str) -> int:
    """Parse a date as days since the epoch."""
    days = datetimes.parse_date(text)
    if days is None or days not in INT_RANGES["int"]:
        raise ValueError(text)
    return days


def parse_instant(text: str, zone: str = "UTC") -> tuple[int, bool]:
    """Parse a timestamp as microseconds since the epoch, and say whether it names a zone; else it is of ``zone``."""
    parsed = datetimes.parse_timestamp(text, zone)
    if parsed is None or parsed[0] // 1000 not in INT_RANGES["long"]:
        raise ValueError(text)
    return parsed[0] // 1000, parsed[1]


def parse_local(text: str) -> int:
    """Parse a timestamp without a zone as microseconds since the epoch; ``Z`` is accepted, another zone is not."""
    micros, has_zone = parse_instant(text.removesuffix("Z"))
    if has_zone:
        raise ValueError(text)
    return micros
