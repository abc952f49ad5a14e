"""``+`` and ``-`` of dates, timestamps and intervals; for numbers they are arithmetic.

A date plus days or months is a date, plus hours a timestamp in UTC. The difference of two dates is an interval of days,
that of two timestamps one of microseconds. Source: Spark SQL reference, "Literals" (interval literal), and Spark's
BinaryArithmeticWithDatetimeResolver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....schema import is_integer
from ....schema.datetimes import DAY_US
from ...tree import Function, Value
from .. import arithmetic
from ..coercion import DATE, INT, NTZ, STRING, TIMESTAMP, as_kind, is_instant, mismatch, type_of
from ..definitions import Computed, Definition
from ..intervals import IntervalType
from ..vectors import Vector, numbers, with_nulls
from .datetimes import add_calendar_months, add_date_months

__all__ = ["FUNCTIONS"]

_DAY, _MONTH, _MICROS = IntervalType("day"), IntervalType("month"), IntervalType("microsecond")


def _bind(node: Function) -> Function:
    left, right = node.arguments
    a, b = type_of(left), type_of(right)
    if isinstance(a, IntervalType) and isinstance(b, IntervalType):
        return _of_intervals(node, a, b)
    if node.name == "+" and (isinstance(a, IntervalType) or (is_instant(b) and not is_instant(a))):
        left, right, a, b = right, left, b, a
        node = replace(node, arguments=(left, right))
    if isinstance(b, IntervalType) and (is_instant(a) or a == STRING):
        return _with_interval(node, left, b, right)
    if is_instant(a):
        if b == STRING and node.ansi:
            right, b = as_kind(right, a, node.ansi), a
        if a == DATE and is_integer(b):
            name = "date_add" if node.name == "+" else "date_sub"
            return replace(node, name=name, arguments=(left, as_kind(right, INT, node.ansi)), type=DATE)
        if node.name == "-" and is_instant(b):
            return _apart(node, left, right)
        raise mismatch(node)
    if is_instant(b) and node.name == "-" and a == STRING and node.ansi:
        return _apart(node, as_kind(left, b, node.ansi), right)
    return arithmetic.bind_operator(node)


def _of_intervals(node: Function, a: IntervalType, b: IntervalType) -> Function:
    if (a == _MONTH) != (b == _MONTH):
        raise mismatch(node)
    kind = a if a == b else _MICROS
    return replace(node, arguments=tuple(as_kind(v, kind) for v in node.arguments), type=kind)


def _with_interval(node: Function, left: Value, interval: IntervalType, right: Value) -> Function:
    kind = type_of(left)
    if kind == STRING:
        inner = _with_interval(node, as_kind(left, TIMESTAMP, node.ansi), interval, right)
        return Function("cast", (inner,), STRING, node.ansi)
    if kind == DATE and interval == _MICROS:
        left, kind = as_kind(left, TIMESTAMP), TIMESTAMP
    return replace(node, arguments=(left, right), type=kind)


def _apart(node: Function, left: Value, right: Value) -> Function:
    kinds = {type_of(left), type_of(right)}
    if kinds == {DATE}:
        return replace(node, arguments=(left, right), type=_DAY)
    kind = TIMESTAMP if TIMESTAMP in kinds else NTZ
    return replace(node, arguments=(as_kind(left, kind), as_kind(right, kind)), type=_MICROS)


def _compute(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    kinds = [argument.kind for argument in arguments]
    if not any(is_instant(kind) or isinstance(kind, IntervalType) for kind in kinds):
        kernel = arithmetic.NUMERIC_OPERATOR.kernel
        assert kernel is not None
        return kernel(node, arguments, n)
    (a, a_valid), (b, b_valid) = (numbers(v.values) for v in arguments)
    a, b = np.broadcast_arrays(a.astype(np.int64), b.astype(np.int64))
    valid = np.broadcast_to(a_valid & b_valid, n)
    sign = 1 if node.name == "+" else -1
    if kinds[1] == _MONTH and is_instant(kinds[0]):
        values, over = (add_date_months if kinds[0] == DATE else add_calendar_months)(a, sign * b)
    else:
        unit = DAY_US if kinds[1] == _DAY and kinds[0] in (TIMESTAMP, NTZ) else 1
        moved = sign * b * unit
        values = a + moved
        over = ((a ^ values) & (moved ^ values)) < 0
    assert node.type is not None
    return with_nulls(values, valid & ~over, node.type), {arithmetic.OVERFLOW: over & valid}


FUNCTIONS: dict[str, Definition] = {"+": Definition(_bind, _compute), "-": Definition(_bind, _compute)}
