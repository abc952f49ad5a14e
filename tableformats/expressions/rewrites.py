"""Turn conditions on functions of a column into conditions on the column: ``year(ts) = 2024`` becomes two comparisons.

The result has the same value, TRUE, FALSE or NULL, on every row, and engines skip row groups by it. Only functions that
never fail are rewritten here. Of all others, sums above all, pruning computes ranges (``pruning/computed_ranges.py``),
and errors stay errors of the rows.

A function that keeps the order of its argument cuts the values of the column into intervals, one for each result. So
the condition is about where an interval begins: ``CAST(ts AS DATE) <= d`` is ``ts < d + 1``.
"""

from __future__ import annotations

from collections.abc import Callable

from ..schema import INTEGER_RANGES, PrimitiveType, is_integer
from ..schema.datetimes import DAY_US, civil_from_days, days_from_civil
from .tree import (
    And,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
    Function,
    Holds,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Value,
)

__all__ = ["rewritten"]

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MOST_ITEMS = 100
"""Items of an IN that become intervals. Longer lists are evaluated on rows, and prune by ranges."""

First = Callable[[int], int | None]
"""The first value of the column, as an integer, whose result is the given one or greater."""


def rewritten(holds: Holds) -> Expression:
    """``holds``, or a bound predicate over plain columns that has the same value on every row."""
    function = holds.value
    name, arguments = function.name, function.arguments
    if name == "in":
        return _in(holds, arguments)
    if len(arguments) != 2 or name not in ("=", "<=>", "!=", "<", "<=", ">", ">="):
        return holds
    left, right = arguments
    if isinstance(left, Literal):
        name, left, right = _FLIPPED.get(name, name), right, left
    if not isinstance(left, Function) or not isinstance(right, Literal) or right.value is None:
        return holds
    found = _compared(name, left, right)
    return holds if found is None else found


def _in(holds: Holds, arguments: tuple[Value, ...]) -> Expression:
    """IN as an OR of equalities, if each of them can be rewritten."""
    value, *items = arguments
    if not isinstance(value, Function) or not 0 < len(items) <= _MOST_ITEMS:
        return holds
    found: list[Expression] = []
    for item in items:
        if not isinstance(item, Literal):
            return holds
        term = Constant(None) if item.value is None else _compared("=", value, item)
        if term is None:
            return holds
        found.append(term)
    return Or(tuple(found)) if len(found) > 1 else found[0]


def _compared(op: str, value: Function, literal: Literal) -> Expression | None:
    """``value op literal`` over the column, or None. The literal is not NULL."""
    if value.name == "coalesce":
        return _of_default(op, value, literal)
    if value.name in ("substring", "left"):
        return _of_prefix(op, value, literal)
    found = _steps(value)
    if found is None or isinstance(literal.value, bool) or not isinstance(literal.value, int):
        return None
    column, first = found
    return _between(op, column, first, literal.value)


def _between(op: str, column: BoundColumn, first: First, wanted: int) -> Expression | None:
    """``f(column) op wanted`` of a function that keeps the order, by the first values of two neighbouring results."""
    start, end = first(wanted), first(wanted + 1)
    if start is None or end is None:
        return None
    least, greatest = _ends(column)

    def below(limit: int) -> Expression:
        """column < limit"""
        if limit > greatest:
            return _always(column)
        return Comparison("<", column, Literal(max(limit, least), column.type))

    if op in ("<", ">="):
        found = below(start)
        return found if op == "<" else _negated(found)
    if op in ("<=", ">"):
        found = below(end)
        return found if op == "<=" else _negated(found)
    equal = And((_negated(below(start)), below(end)))
    if op == "=":
        return equal
    return _negated(equal) if op == "!=" else And((Not(IsNull(column)), equal))


def _always(column: BoundColumn) -> Expression:
    """TRUE, but NULL for NULL."""
    return Comparison(">=", column, Literal(_ends(column)[0], column.type))


def _negated(node: Expression) -> Expression:
    if isinstance(node, Comparison) and isinstance(node.right, Literal):
        return Comparison({"<": ">=", ">=": "<"}[node.op], node.column, node.right)
    return Not(node)


def _ends(column: BoundColumn) -> tuple[int, int]:
    """The least and the greatest value of the column, as an integer."""
    kind = column.type
    assert isinstance(kind, PrimitiveType)
    return INTEGER_RANGES[{"date": "int"}.get(kind.name, kind.name if is_integer(kind) else "long")]


# ---- functions that keep the order ----------------------------------------------------------------------------------

_TIMES = ("timestamp", "timestamp_ntz")
_UNITS = {"year": 12, "yyyy": 12, "yy": 12, "quarter": 3, "month": 1, "mon": 1, "mm": 1}
"""Units of ``date_trunc`` and ``trunc`` that are months, and how many of them."""
_SPANS = {
    "day": DAY_US,
    "dd": DAY_US,
    "hour": DAY_US // 24,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
}
_FIRST_YEAR, _LAST_YEAR = -290_000, 294_000
"""Years within which every day's midnight is a timestamp."""


def _steps(value: Function) -> tuple[BoundColumn, First] | None:
    """The column that ``value`` is computed from, and where its results begin. None for other functions."""
    arguments = value.arguments
    if value.name == "cast" and len(arguments) == 1:
        return _cast_steps(arguments[0], value)
    if value.name == "year":
        days = _days_of(arguments[0])
        return None if days is None else (days[0], lambda year: _in_units(days[1], _first_day(12 * year)))
    if value.name == "date_trunc" and isinstance(arguments[0], Literal):
        return _truncated(str(arguments[0].value).lower(), arguments[1], is_date=False)
    if value.name == "trunc" and isinstance(arguments[1], Literal):
        return _truncated(str(arguments[1].value).lower(), arguments[0], is_date=True)
    return None


def _cast_steps(argument: Value, value: Function) -> tuple[BoundColumn, First] | None:
    """Casts that cannot fail: of timestamps to dates, and of integers to wider ones."""
    if str(value.type) == "date":
        days = _days_of(value)
        return None if days is None else (days[0], lambda day: _in_units(days[1], day))
    assert value.type is not None
    if isinstance(argument, BoundColumn) and is_integer(argument.type) and is_integer(value.type):
        wide, narrow = value.type, argument.type
        assert isinstance(wide, PrimitiveType) and isinstance(narrow, PrimitiveType)
        if INTEGER_RANGES[wide.name][1] > INTEGER_RANGES[narrow.name][1]:
            return argument, lambda number: number
    return None


Days = tuple[BoundColumn, int]
"""A column of dates or timestamps, and how many of its units a day has."""


def _days_of(value: Value) -> Days | None:
    """The column whose days ``value``, a date, is."""
    if isinstance(value, Function) and value.name == "cast" and str(value.type) == "date":
        value = value.arguments[0]
        if isinstance(value, BoundColumn) and str(value.type) in _TIMES:
            return value, DAY_US
        return None
    return (value, 1) if isinstance(value, BoundColumn) and str(value.type) == "date" else None


def _in_units(a_day: int, day: int | None) -> int | None:
    return None if day is None else day * a_day


def _first_day(month: int) -> int | None:
    """The first day of a month, counted from the year 0."""
    year, rest = divmod(month, 12)
    return days_from_civil(year, rest + 1, 1) if _FIRST_YEAR <= year <= _LAST_YEAR else None


def _truncated(unit: str, value: Value, is_date: bool) -> tuple[BoundColumn, First] | None:
    """``date_trunc`` and ``trunc``: a result begins at the first time of the unit that is not before it."""
    if isinstance(value, Function) and value.name == "cast" and str(value.type) in _TIMES:
        value = value.arguments[0]  # UTC is the zone of both kinds of timestamps
    if not isinstance(value, BoundColumn) or str(value.type) not in (("date",) if is_date else _TIMES):
        return None
    column = value
    a_day = 1 if is_date else DAY_US
    span = None if is_date else _SPANS.get(unit)
    if span is not None:
        return column, lambda time: -(-time // span) * span
    months = _UNITS.get(unit)
    if months is None:
        return None

    def first(time: int) -> int | None:
        day = -(-time // a_day)
        month = _month_of(day)
        if month is None:
            return None
        start = _first_day(month // months * months)
        if start is not None and start < day:
            start = _first_day((month // months + 1) * months)
        return None if start is None else start * a_day

    return column, first


def _month_of(day: int) -> int | None:
    """The month, counted from the year 0, of a day. None beyond the years that are rewritten."""
    year, month, _ = civil_from_days(day)
    return 12 * year + month - 1 if _FIRST_YEAR <= year < _LAST_YEAR else None


# ---- other functions ------------------------------------------------------------------------------------------------


def _of_default(op: str, value: Function, literal: Literal) -> Expression | None:
    """``coalesce(column, constant) op literal``: by the column, or where that is NULL by the constant."""
    if len(value.arguments) != 2:
        return None
    column, default = value.arguments
    if not isinstance(column, BoundColumn) or not isinstance(default, Literal) or default.value is None:
        return None
    if column.type != default.type or column.type != literal.type or column.padded_length is not None:
        return None
    answer = _order_of(default, literal)
    if answer is None:
        return None
    test = {"=": answer == 0, "<=>": answer == 0, "!=": answer != 0, "<": answer < 0, "<=": answer <= 0}
    of_null = {**test, ">": answer > 0, ">=": answer >= 0}[op]
    compared = Comparison("=" if op == "<=>" else op, column, literal)
    is_value = And((Not(IsNull(column)), compared))
    return Or((is_value, IsNull(column))) if of_null else is_value


def _order_of(a: Literal, b: Literal) -> int | None:
    """-1, 0 or 1 for literals of one type whose Python values have Spark's order; else None."""
    if isinstance(a.value, int) and isinstance(b.value, int):
        return (a.value > b.value) - (a.value < b.value)
    if isinstance(a.value, str) and isinstance(b.value, str):
        return (a.value.encode() > b.value.encode()) - (a.value.encode() < b.value.encode())
    return None


def _of_prefix(op: str, value: Function, literal: Literal) -> Expression | None:
    """``substring(s, 1, n) = text`` or ``left(s, n) = text``: a text of n characters is a prefix, a shorter one all."""
    column, *rest = value.arguments
    numbers = [other.value for other in rest if isinstance(other, Literal)]
    if value.name == "left":
        numbers = [1, *numbers]
    if not isinstance(column, BoundColumn) or str(column.type) != "string" or column.padded_length is not None:
        return None
    if op not in ("=", "!=") or len(numbers) != 2 or None in numbers or not isinstance(literal.value, str):
        return None
    start, length = numbers
    if start not in (0, 1) or len(literal.value) > length:
        return None
    is_prefix = 0 < len(literal.value) == length
    found = StartsWith(column, literal.value) if is_prefix else Comparison("=", column, literal) if length > 0 else None
    return Not(found) if found is not None and op == "!=" else found
