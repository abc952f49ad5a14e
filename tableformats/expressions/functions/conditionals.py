"""CASE, IF, COALESCE and their kind: functions that choose one of their arguments for each row.

What they do not choose they do not evaluate, so its failures do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columnar.arrays import to_arrow
from ..tree import Function
from .vectors import Failure, Vector, flags

__all__ = ["CHOICES", "choose", "inherited"]

CHOICES = ("case", "if", "coalesce")
"""The functions that :func:`choose` computes."""


def choose(node: Function, arguments: Sequence[Vector], n: int) -> Vector | None:
    """The value of a choice for ``n`` rows; None if ``node`` is no choice."""
    if node.name == "coalesce":
        return _coalesce([argument.spread(n) for argument in arguments], n)
    if node.name in ("case", "if"):
        return _case([argument.spread(n) for argument in arguments], n)
    return None


def inherited(arguments: Sequence[Vector], n: int) -> list[Failure]:
    """The failures of all arguments, for ``n`` rows."""
    return [
        replace(failure, rows=np.repeat(failure.rows, n)) if argument.is_constant else failure
        for argument in arguments
        for failure in argument.failures
    ]


def _coalesce(arguments: Sequence[Vector], n: int) -> Vector:
    asked = np.ones(n, bool)
    failures: list[Failure] = []
    values: pa.Array | None = None
    for argument in arguments:
        failures += argument.guarded(asked).failures
        values = argument.values if values is None else pc.if_else(to_arrow(asked), argument.values, values)
        asked = asked & flags(pc.is_null(argument.values))
        for failure in argument.failures:
            asked &= ~failure.rows
    return Vector(arguments[-1].kind, values, failures=tuple(failures))


def _case(arguments: Sequence[Vector], n: int) -> Vector:
    """``arguments`` are conditions and values in turn, and the ELSE last."""
    *pairs, last = arguments
    asked = np.ones(n, bool)
    failures: list[Failure] = []
    chosen: list[tuple[np.ndarray, Vector]] = []
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        failures += condition.guarded(asked).failures
        taken = asked & flags(condition.values)
        failures += value.guarded(taken).failures
        chosen.append((taken, value))
        asked = asked & ~taken
    failures += last.guarded(asked).failures
    values = last.values
    for taken, value in chosen:
        values = pc.if_else(to_arrow(taken), value.values, values)
    return Vector(last.kind, values, failures=tuple(failures))
