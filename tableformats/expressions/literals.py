"""What a Python object means as a literal: its type and its canonical value, such as days for a date.

The canonical values are listed at :class:`tableformats.expressions.tree.Literal`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from typing import Any

from ..errors import InvalidPredicateError
from ..schema import DecimalType, primitive
from .tree import Literal

__all__ = ["normalized"]


def normalized(literal: Literal) -> Literal:
    """``literal`` with a type and a canonical value, by the Python type of its value.

    Every int becomes long and every Decimal decimal(38,0), whatever their size. A ``pandas.Timestamp`` with nanoseconds
    and a ``numpy.datetime64`` become timestamp_ns. NaT becomes NULL (``value`` None).

    Raises
    ------
    InvalidPredicateError
        No column has values of this Python type.
    """
    if literal.type is not None:
        return literal
    value = literal.value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = _from_numpy(value)
    if isinstance(value, dt.datetime):
        return _from_datetime(value)
    for python_type, name in _PYTHON_TYPES:
        if isinstance(value, python_type):
            return Literal(_CANONICAL[name](value) if name in _CANONICAL else value, primitive(name))
    if isinstance(value, decimal.Decimal):
        if value.is_finite():
            return Literal(value, DecimalType(38, 0))
        return Literal(math.nan if value.is_nan() else float(value), primitive("double"))
    if value is None:
        return Literal(None, primitive("unknown"))
    if isinstance(value, Literal):
        return value
    raise InvalidPredicateError(
        f"a value of Python type {type(value).__name__} cannot be compared with a column",
        hint="Use bool, int, float, Decimal, str, bytes, date, datetime, time or UUID.",
    )


_PYTHON_TYPES: tuple[tuple[Any, str], ...] = (
    (bool, "boolean"),
    (int, "long"),
    (float, "double"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "binary"),
    (dt.date, "date"),
    (dt.time, "time"),
    (uuid.UUID, "uuid"),
)
_CANONICAL: dict[str, Any] = {
    "long": int,
    "double": float,
    "binary": bytes,
    "date": lambda d: d.toordinal() - dt.date(1970, 1, 1).toordinal(),
    "time": lambda t: ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond,
    "uuid": lambda u: u.bytes,
}


def _from_numpy(value: Any) -> Any:
    if type(value).__name__ == "datetime64":
        nanos = value.astype("datetime64[ns]")
        return None if nanos != nanos else Literal(int(nanos.astype("int64")), primitive("timestamp_ntz_ns"))
    return value.item()


def _from_datetime(value: dt.datetime) -> Literal:
    if value != value:  # pandas.NaT is a datetime
        return Literal(None, primitive("unknown"))
    zone = value.tzinfo is not None
    aware = value if zone else value.replace(tzinfo=dt.timezone.utc)
    micros = (aware - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)
    nanos = int(getattr(value, "nanosecond", 0))
    name = "timestamp" if zone else "timestamp_ntz"
    return Literal(micros * 1000 + nanos, primitive(name + "_ns")) if nanos else Literal(micros, primitive(name))
