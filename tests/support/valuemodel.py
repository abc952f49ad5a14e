"""What a function of a bound predicate gives for one row, in plain Python: the oracle beside ``rowmodel.py``.

Written from Spark's rules alone, with datetime, Decimal and float; the library's evaluation is not called. Values are
canonical. A value that cannot be computed in ANSI mode raises :class:`RowFails`.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from tableformats.expressions import BoundColumn, Function, Literal

EXACT = Context(prec=120)
DAY = 86_400_000_000
RANGES = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
EPOCH = dt.date(1970, 1, 1)


class RowFails(Exception):
    """The row has no value, and Spark raises an error."""


def value_of(value: Any, row: Mapping[int, Any]) -> Any:
    """The value of a column, a literal or a function for a row; None is NULL."""
    if isinstance(value, Literal):
        return value.value
    if isinstance(value, BoundColumn):
        return row.get(value.id)
    assert isinstance(value, Function), value
    name = value.name
    if name == "coalesce":
        return next((v for v in (value_of(a, row) for a in value.arguments) if v is not None), None)
    if name in ("case", "if"):
        *branches, otherwise = value.arguments
        for condition, then in zip(branches[::2], branches[1::2], strict=True):
            if condition_of(condition, row) is True:
                return value_of(then, row)
        return value_of(otherwise, row)
    given = [value_of(argument, row) for argument in value.arguments]
    kinds = [str(getattr(argument, "type", None)) for argument in value.arguments]
    if name in ("isnull", "isnotnull"):
        return (given[0] is None) == (name == "isnull")
    if name == "isnan":
        return given[0] is not None and math.isnan(given[0])
    if name == "<=>":
        return given[0] is None and given[1] is None if None in given else _order(*given) == 0
    if name in ("greatest", "least"):
        known = [v for v in given if v is not None]
        sign = 1 if name == "greatest" else -1
        best = known[0] if known else None
        for other in known[1:]:
            best = other if _order(other, best) * sign > 0 else best
        return best
    if name == "in":
        answers = [None if None in (given[0], item) else _order(given[0], item) == 0 for item in given[1:]]
        return True if True in answers else None if None in answers or given[0] is None else False
    if None in given:
        return None
    return FUNCTIONS[name](given, kinds, value)


def condition_of(node: Any, row: Mapping[int, Any]) -> bool | None:
    """The truth of an argument that is a condition."""
    if isinstance(node, Function):
        found: bool | None = value_of(node, row)
        return found
    from .rowmodel import evaluate

    return evaluate(node, row)


def _order(a: Any, b: Any) -> int:
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        return int(math.isnan(a)) - int(math.isnan(b))
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return int(a > b) - int(a < b)


def _fitted(number: Any, node: Function) -> Any:
    """A number as the type of ``node`` holds it, or an error. Without ANSI integers wrap around."""
    name = str(node.type)
    if name == "double":
        return float(number)
    if name == "float":
        return _float32(float(number))
    if name in RANGES:
        half = 1 << RANGES[name]
        if -half <= number < half:
            return int(number)
        if node.ansi:
            raise RowFails(str(node))
        return (number + half) % (2 * half) - half
    kind: Any = node.type
    rounded = EXACT.create_decimal(number).quantize(Decimal((0, (1,), -kind.scale)), ROUND_HALF_UP, EXACT)
    if len(rounded.as_tuple().digits) <= kind.precision:
        return rounded
    if node.ansi:
        raise RowFails(str(node))
    return None


def _float32(number: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return found


def _product(a: float, b: float) -> float:
    return math.nan if {abs(a), abs(b)} == {0.0, math.inf} else a * b


def _arithmetic(name: str) -> Callable[[list[Any], list[str], Function], Any]:
    def compute(given: list[Any], kinds: list[str], node: Function) -> Any:
        a, b = given
        if kinds[0] in ("date", "timestamp", "timestamp_ntz"):
            unit = str(kinds[1])
            steps = {"interval day": DAY, "interval day to second": 1}
            if kinds[0] == "date" and "second" not in unit:
                return a + b if name == "+" else a - b
            return (a if kinds[0] != "date" else a * DAY) + (b if name == "+" else -b) * steps[unit]
        exact = EXACT if isinstance(a, Decimal) else None
        if name == "+":
            return _fitted(exact.add(a, b) if exact else a + b, node)
        if name == "-":
            return _fitted(exact.subtract(a, b) if exact else a - b, node)
        return _fitted(exact.multiply(a, b) if exact else _product(a, b) if isinstance(a, float) else a * b, node)

    return compute


def _date(days: int) -> dt.date:
    return EPOCH + dt.timedelta(days=days)


def _days(value: int, kind: str) -> int:
    return value if kind == "date" else value // DAY


def _part(take: Callable[[dt.date], int]) -> Callable[[list[Any], list[str], Function], Any]:
    return lambda given, kinds, node: take(_date(_days(given[0], kinds[0])))


def _truncated(given: list[Any], kinds: list[str], node: Function) -> Any:
    unit, value = given if node.name == "date_trunc" else given[::-1]
    kind = kinds[1] if node.name == "date_trunc" else kinds[0]
    unit = {"mm": "month"}.get(unit.lower(), unit.lower())
    if unit in ("year", "quarter", "month"):
        day = _date(_days(value, kind))
        month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[unit]
        days = (day.replace(day=1, month=month) - EPOCH).days
        return days * DAY if node.name == "date_trunc" else days
    span = {"day": DAY, "hour": DAY // 24}[unit]
    return value // span * span


def _cast(given: list[Any], kinds: list[str], node: Function) -> Any:
    (value,), (source,), target = given, kinds, str(node.type)
    if source == target:
        return value
    if target == "date":
        return value // DAY
    if target in ("timestamp", "timestamp_ntz"):
        return value * DAY if source == "date" else value
    if target == "string":
        return _date(value).isoformat() if source == "date" else str(value)
    if target in RANGES and isinstance(value, float):
        half = 1 << RANGES[target]
        if math.isnan(value) or not -half - 1 < value < half:
            raise RowFails(str(node))
        return int(value)
    if target in RANGES and isinstance(value, Decimal):
        value = int(value)
    if target in ("float", "double"):
        return _float32(float(value)) if target == "float" else float(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RowFails(str(node))
        value = Decimal(repr(value))
    return _fitted(value, node)


def _compared(name: str) -> Callable[[list[Any], list[str], Function], Any]:
    tests: dict[str, Callable[[int], bool]] = {
        "=": lambda order: order == 0,
        "!=": lambda order: order != 0,
        "<": lambda order: order < 0,
        "<=": lambda order: order <= 0,
        ">": lambda order: order > 0,
        ">=": lambda order: order >= 0,
    }
    return lambda given, kinds, node: tests[name](_order(*given))


FUNCTIONS: dict[str, Callable[[list[Any], list[str], Function], Any]] = {
    **{name: _arithmetic(name) for name in ("+", "-", "*")},
    **{name: _compared(name) for name in ("=", "!=", "<", "<=", ">", ">=")},
    "negative": lambda given, kinds, node: _fitted(-given[0], node),
    "abs": lambda given, kinds, node: _fitted(abs(given[0]), node),
    "cast": _cast,
    "year": _part(lambda day: day.year),
    "quarter": _part(lambda day: (day.month + 2) // 3),
    "month": _part(lambda day: day.month),
    "day": _part(lambda day: day.day),
    "dayofyear": _part(lambda day: day.timetuple().tm_yday),
    "weekday": _part(lambda day: day.weekday()),
    "hour": lambda given, kinds, node: given[0] % DAY // (DAY // 24),
    "minute": lambda given, kinds, node: given[0] % (DAY // 24) // 60_000_000,
    "date_trunc": _truncated,
    "trunc": _truncated,
    "date_add": lambda given, kinds, node: given[0] + given[1],
    "date_sub": lambda given, kinds, node: given[0] - given[1],
    "datediff": lambda given, kinds, node: given[0] - given[1],
    "substring": lambda given, kinds, node: given[0][: given[2]],
    "left": lambda given, kinds, node: given[0][: max(given[1], 0)],
    "length": lambda given, kinds, node: len(given[0]),
    "concat": lambda given, kinds, node: "".join(given),
    "nullif": lambda given, kinds, node: given[0],
}
