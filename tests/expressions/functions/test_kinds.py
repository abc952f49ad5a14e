"""Which types are cast to which, and in which type values of two types meet: pinned for all pairs."""

from __future__ import annotations

import json

from tests.expressions.functions import kind_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


def test_all_pairs_of_types() -> None:
    assert cases.outcomes() == PINNED
