"""Masks of possible outcomes, and the truth tables that combine them.

A mask is the set of outcomes that a predicate may have over the live rows of one file, as bits: ``MAY_TRUE``,
``MAY_FALSE``, ``MAY_NULL``. A mask may have outcomes that do not occur (:data:`MAY_ANY` if nothing is known), but never
lacks one that occurs. The tables are computed here from SQL's three-valued logic, for the kernels and their twins.

Source: SQL:2016, "Boolean value expression" (Kleene's logic); Spark SQL reference, "NULL Semantics".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

__all__ = [
    "ALL",
    "AND_TABLE",
    "IS_TRUE_TABLE",
    "MAY_ANY",
    "MAY_FALSE",
    "MAY_NULL",
    "MAY_TRUE",
    "NONE",
    "NOT_TABLE",
    "OR_TABLE",
    "SOME",
    "VERDICT_TABLE",
]

NONE, SOME, ALL = 0, 1, 2
"""Verdicts: no row can match (drop the file), some may, every row does."""

MAY_TRUE, MAY_FALSE, MAY_NULL = 1, 2, 4
MAY_ANY = MAY_TRUE | MAY_FALSE | MAY_NULL

_OUTCOMES: dict[bool | None, int] = {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


def _or(a: bool | None, b: bool | None) -> bool | None:
    return _not(_and(_not(a), _not(b)))


def _members(mask: int) -> list[bool | None]:
    return [outcome for outcome, bit in _OUTCOMES.items() if mask & bit]


def _lifted(operator: Callable[..., bool | None], arity: int) -> bytes:
    """The operator over sets of outcomes: entry ``8 * a + b`` (or ``a``) has the outcome of every choice of members."""
    table = bytearray()
    for masks in product(range(MAY_ANY + 1), repeat=arity):
        outcomes = {operator(*chosen) for chosen in product(*map(_members, masks))}
        table.append(sum(_OUTCOMES[outcome] for outcome in outcomes))
    return bytes(table)


def _verdict(mask: int) -> int:
    if not mask & MAY_TRUE:
        return NONE
    return ALL if mask == MAY_TRUE else SOME


AND_TABLE = _lifted(_and, 2)
IS_TRUE_TABLE = _lifted(lambda a: a is True, 1)
OR_TABLE = _lifted(_or, 2)
NOT_TABLE = _lifted(_not, 1)
VERDICT_TABLE = bytes(_verdict(mask) for mask in range(MAY_ANY + 1))
