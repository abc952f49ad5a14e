"""Arrow values as Python objects, and as text where Python has no object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .datetimes import format_date, format_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["python_value"]

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def python_value(scalar: pa.Scalar) -> Any:
    """A value as ``as_py`` gives it; text for what it refuses, at any depth.

    Dates and times, of years that Python lacks or with nanoseconds, are ISO 8601 text. In a text that is no UTF-8,
    U+FFFD stands for what is wrong.
    """
    from pyarrow import types

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if types.is_struct(kind):
        return {f.name: python_value(scalar[i]) for i, f in enumerate(kind)}
    if types.is_map(kind):
        return [(python_value(entry[0]), python_value(entry[1])) for entry in scalar.values]
    if types.is_list(kind):
        return [python_value(member) for member in scalar.values]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return _text(scalar)


def _text(scalar: pa.Scalar) -> str:
    from pyarrow import types

    kind = scalar.type
    if types.is_date(kind):
        return format_date(scalar.value)
    if types.is_string(kind) or types.is_large_string(kind):
        return bytes(scalar.as_buffer()).decode("utf-8", "replace")
    return format_timestamp(scalar.value, _DIGITS[kind.unit]).replace(" ", "T") + ("Z" if kind.tz else "")
