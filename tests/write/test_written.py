"""All metadata that a program of every verb writes are those that are pinned, for each format and version."""

from __future__ import annotations

import json

import pytest

from tests.write import written_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


@pytest.mark.parametrize("kind", cases.KINDS)
def test_each_verb_writes_what_is_pinned(kind: str) -> None:
    assert cases.found_for(kind) == PINNED[kind]
