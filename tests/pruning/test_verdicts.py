"""The verdicts for files of WHERE clauses and of conditions on every function: sound by Spark's answers, and pinned.

``verdicts.json`` holds what ``verdict_cases.py`` made of them. A file that is kept although it was dropped before shows
here; so do a predicate that is bound in another way, a residual and a column that could decide more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.expressions import where_clauses
from tests.expressions.test_where_clauses import ANSWERS, ids
from tests.pruning import verdict_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))
WHERE, FUNCTIONS = cases.where_files(), cases.function_files()
CLAUSES, OF_SPARK = cases.clauses(), cases.answers()
ROWS = FUNCTIONS.rows["row"].to_pylist()
PART = 40
"""So many of them are one test."""


def parts(every: Sequence[str]) -> list[list[str]]:
    return [list(every[start : start + PART]) for start in range(0, len(every), PART)]


def unsound(letters: str, pieces: Sequence[tuple[int, int]], matches: Sequence[Any]) -> list[tuple[int, int]]:
    """The files that are dropped with a row that matches, or said to match whole with one that does not."""
    rows = [[matches[row] is True for row in range(start, start + count)] for start, count in pieces]
    found = zip(letters, pieces, rows, strict=True)
    return [piece for letter, piece, one in found if (letter == "N" and any(one)) or (letter == "A" and not all(one))]


@pytest.mark.parametrize("clauses", parts(CLAUSES), ids=lambda clauses: clauses[0])
def test_verdicts_of_where_clauses(clauses: list[str]) -> None:
    for clause in clauses:
        answer = {*ids(ANSWERS[clause])}
        letters = WHERE.by_bounds(cases.bound(WHERE, clause))
        assert not unsound(letters, WHERE.pieces, [row in answer for row in range(where_clauses.ROWS)]), clause
        assert cases.of_clause(WHERE, clause) == PINNED[clause], clause


@pytest.mark.parametrize("texts", parts(list(OF_SPARK)), ids=lambda texts: texts[0])
def test_verdicts_of_conditions_on_functions(texts: list[str]) -> None:
    for text in texts:
        found = cases.of_function(FUNCTIONS, text, OF_SPARK[text])
        assert found == PINNED[f"function: {text}"], text
        for mode in ("ansi", "legacy"):
            for condition, value in cases.conditions(text, OF_SPARK[text], mode):
                if value is not ...:
                    matches = [OF_SPARK[text][mode][row] == value for row in ROWS]
                    letters = letters_of(condition, mode)
                    assert not unsound(letters, FUNCTIONS.pieces, matches), condition


def letters_of(condition: str, mode: str) -> str:
    """The verdicts; of a condition that is refused, that nothing is known."""
    try:
        return FUNCTIONS.by_bounds(cases.bound(FUNCTIONS, condition, mode))
    except (InvalidPredicateError, UnsupportedFeatureError):
        return "S" * len(FUNCTIONS.pieces)


def test_nothing_else_is_pinned() -> None:
    assert list(PINNED) == [*CLAUSES, *(f"function: {text}" for text in OF_SPARK)]
