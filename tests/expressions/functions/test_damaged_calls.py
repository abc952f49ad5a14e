"""Expressions with one token changed have the values, or the error, that are pinned."""

from __future__ import annotations

import json

import pytest

from tests.expressions.functions import damaged_cases as cases
from tests.support import function_cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))["expressions"]
PART = 40
"""So many expressions are one test."""


@pytest.mark.parametrize("start", range(0, len(function_cases.EXPRESSIONS), PART))
def test_a_changed_token_has_its_outcome(start: int) -> None:
    for text in function_cases.EXPRESSIONS[start : start + PART]:
        assert cases.outcomes(text) == PINNED[text], text


def test_nothing_else_is_pinned() -> None:
    assert list(PINNED) == function_cases.EXPRESSIONS


@pytest.mark.parametrize("text", ["concat_ws('-', list)", "concat_ws(list, 'a')", "concat_ws('-', map)"])
def test_lists_of_numbers_are_not_joined(text: str) -> None:
    assert cases.outcome_of(text).startswith("InvalidPredicateError: argument ")
