"""Answers of catalogs with one damaged value, or of every status: what is made of each, or the error, is pinned."""

from __future__ import annotations

import json

from tests.catalog import answer_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


def test_a_damaged_answer_has_its_outcome() -> None:
    assert cases.all_outcomes() == PINNED
