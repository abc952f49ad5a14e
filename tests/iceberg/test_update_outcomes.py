"""Updates of table metadata of which one value is damaged have the outcome that is pinned; so have requirements."""

from __future__ import annotations

import json

import pytest

from tests.iceberg import update_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


@pytest.mark.parametrize("version", cases.DOCUMENTS)
def test_a_damaged_update_has_its_outcome(version: str) -> None:
    assert cases.of_updates(version) == PINNED[version]


def test_a_damaged_requirement_has_its_outcome() -> None:
    assert cases.of_requirements() == PINNED["requirements"]
