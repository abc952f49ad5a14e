"""Conditions on computed values: comparisons, IN, IS NULL, isnan; and the greatest, the least and the first value.

Values are compared in the type that Spark converts both to; see :mod:`.coercion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columnar.arrays import to_arrow
from ...schema import FixedType, Type
from ..tree import Function
from .coercion import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    as_kind,
    comparison_kinds,
    has_cast,
    implicit,
    mismatch,
    type_of,
    wider_kind,
)
from .comparing import comparable, compare
from .definitions import Computed, Definition
from .vectors import Vector, flags

__all__ = ["FUNCTIONS"]


def _bind_comparison(node: Function) -> Function:
    left, right = node.arguments
    kind = comparison_kinds(left, right, node.ansi)
    if kind is None and BOOLEAN in (type_of(left), type_of(right)) and not node.ansi:
        other = type_of(left) if type_of(right) == BOOLEAN else type_of(right)
        kind = other if has_cast(BOOLEAN, other) else None
    if kind is None or kind.is_nested or str(kind) == "variant":
        raise mismatch(node)
    return replace(node, arguments=(as_kind(left, kind, node.ansi), as_kind(right, kind, node.ansi)), type=BOOLEAN)


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(op: str, left: Vector, right: Vector) -> pa.BooleanArray:
    """``left op right``, of one type; NULL where one is NULL."""
    a, b = comparable(left.values, left.kind), comparable(right.values, right.kind)
    if right.is_constant:
        return compare(op, a, b[0])
    if left.is_constant:
        return compare(_FLIPPED.get(op, op), b, a[0])
    return compare(op, a, b)


def _compare(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    left, right = arguments
    if node.name != "<=>":
        return compared(node.name, left, right), {}
    answer = pc.fill_null(compared("=", left, right), False)
    both = np.logical_and(flags(pc.is_null(left.values)), flags(pc.is_null(right.values)))
    return pc.or_(answer, to_arrow(np.broadcast_to(both, n).copy())), {}


def common_kind(node: Function, *positions: int, promotes_text: bool = True) -> Type:
    """The type that the arguments at ``positions`` are converted to; of all of them if none is given."""
    kinds = [type_of(node.arguments[i]) for i in positions or range(len(node.arguments))]
    kind = wider_kind(kinds, node.ansi, promotes_text)
    if kind is None and all(isinstance(k, FixedType) or k == BINARY for k in kinds):
        kind = BINARY
    if kind is None:
        raise mismatch(node, "they have no common type")
    return kind


def _bind_in(node: Function) -> Function:
    kind = common_kind(node)
    if kind.is_nested or str(kind) == "variant":
        raise mismatch(node)
    return replace(node, arguments=tuple(as_kind(a, kind, node.ansi) for a in node.arguments), type=BOOLEAN)


def _in(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    value, *listed = (argument.spread(n) for argument in arguments)
    return reduce(pc.or_kleene, (compared("=", value, item) for item in listed)), {}


def _bind_null_test(node: Function) -> Function:
    return replace(node, type=BOOLEAN)


def _is_null(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    found = pc.is_null(arguments[0].values)
    return found if node.name == "isnull" else pc.invert(found), {}


def _bind_is_nan(node: Function) -> Function:
    return replace(node, arguments=(implicit(node, 0, DOUBLE),), type=BOOLEAN)


def _is_nan(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    return pc.fill_null(pc.is_nan(arguments[0].values), False), {}


def _bind_extreme(node: Function) -> Function:
    kind = common_kind(node, promotes_text=False)
    if kind.is_nested or str(kind) == "variant":
        raise mismatch(node)
    return replace(node, arguments=tuple(as_kind(a, kind, node.ansi) for a in node.arguments), type=kind)


def _extreme(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    best, *others = (argument.spread(n) for argument in arguments)
    op = ">" if node.name == "greatest" else "<"
    for other in others:
        better = pc.fill_null(compared(op, other, best), False)
        takes = pc.or_(better, pc.is_null(best.values))
        best = replace(best, values=pc.if_else(takes, other.values, best.values))
    return best.values, {}


def _bind_coalesce(node: Function) -> Function:
    kind = common_kind(node)
    return replace(node, arguments=tuple(as_kind(a, kind, node.ansi) for a in node.arguments), type=kind)


def _bind_case(node: Function) -> Function:
    """``case`` and ``if``: conditions and values in turn, and the ELSE last."""
    last = len(node.arguments) - 1
    values = [*range(1, last, 2), last]
    kind = common_kind(node, *values)
    arguments = list(node.arguments)
    for i in range(0, last, 2):
        arguments[i] = implicit(node, i, BOOLEAN)
    for i in values:
        arguments[i] = as_kind(arguments[i], kind, node.ansi)
    return replace(node, arguments=tuple(arguments), type=kind)


def _chosen(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    raise AssertionError(f"{node.name} is evaluated by choosing")


FUNCTIONS: dict[str, Definition] = {
    **dict.fromkeys(("=", "<=>", "!=", "<", "<=", ">", ">="), Definition(_bind_comparison, _compare)),
    "in": Definition(_bind_in, _in),
    "isnull": Definition(_bind_null_test, _is_null),
    "isnotnull": Definition(_bind_null_test, _is_null),
    "isnan": Definition(_bind_is_nan, _is_nan),
    "greatest": Definition(_bind_extreme, _extreme),
    "least": Definition(_bind_extreme, _extreme),
    "coalesce": Definition(_bind_coalesce, _chosen),
    "case": Definition(_bind_case, _chosen),
    "if": Definition(_bind_case, _chosen),
}
