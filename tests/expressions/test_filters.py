"""Filters over columns of every type, and clauses with one damaged token, are bound or refused as it is pinned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.expressions import filter_cases as cases

PINNED: dict[str, Any] = json.loads(cases.PINNED.read_text("utf-8"))
CLAUSES = cases.clauses()
PART = 50
"""So many clauses are one test."""


@pytest.mark.parametrize("column", [*cases.TYPES, "nowhere"])
def test_tuples_over_a_column(column: str) -> None:
    found = cases.of_tuples(column)
    assert found == {key: PINNED["tuples"][key] for key in found}


@pytest.mark.parametrize("start", range(0, len(CLAUSES), PART))
def test_clauses_with_a_damaged_token(start: int) -> None:
    for clause in CLAUSES[start : start + PART]:
        assert cases.of_clause(clause) == PINNED["clauses"][clause], clause


def test_nothing_else_is_pinned() -> None:
    assert list(PINNED["clauses"]) == CLAUSES
    assert {key.partition(" ")[0] for key in PINNED["tuples"]} == {*cases.TYPES, "nowhere"}
