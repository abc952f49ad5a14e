"""The text of Arrow values for which Python has no object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .datetimes import format_date, format_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["text_beyond_python"]

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def text_beyond_python(scalar: pa.Scalar) -> str:
    """The text of a value that ``as_py`` refuses with OverflowError or ValueError.

    Dates and times, of years that Python lacks or with nanoseconds, are ISO 8601 text. In a text that is no UTF-8,
    U+FFFD stands for what is wrong.
    """
    from pyarrow import types

    kind = scalar.type
    if types.is_date(kind):
        return format_date(scalar.value)
    if types.is_string(kind) or types.is_large_string(kind):
        return bytes(scalar.as_buffer()).decode("utf-8", "replace")
    return format_timestamp(scalar.value, _DIGITS[kind.unit]).replace(" ", "T") + ("Z" if kind.tz else "")
