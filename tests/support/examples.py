"""How many cases are tried: all at night and for mutants, a share of them for each change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")

__all__ = ["EVERY", "examples", "one_of", "some_of"]

EVERY = bool(os.environ.get("TF_NIGHTLY") or os.environ.get("TABLEFORMATS_PROFILE"))
"""Whether time does not matter."""


def examples(count: int) -> int:
    """How many random cases: ``count``, or a quarter of it."""
    return count if EVERY else count // 4


def some_of(count: int, cases: Sequence[Case], first: int = 0) -> Sequence[Case]:
    """Every ``count``-th of the cases, from ``first`` on; all of them at night."""
    return cases if EVERY else cases[first % count :: count]


def one_of(count: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters of a test, of which one of ``count`` runs for each change and the others at night alone."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*value, marks=pytest.mark.nightly if i % count else ()) for i, value in enumerate(values)]
