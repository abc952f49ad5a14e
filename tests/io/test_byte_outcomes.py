"""Files of reference writers of which each byte is damaged in turn: what parsers make of them is pinned."""

from __future__ import annotations

import json

import pytest

from tests.io import byte_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))["outcomes"]


@pytest.mark.parametrize("name", cases.CASES)
def test_a_damaged_byte_has_its_outcome(name: str) -> None:
    assert cases.outcomes(name) == PINNED[name]
