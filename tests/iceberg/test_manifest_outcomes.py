"""Manifest lists and manifests with one damaged value: plan, error and what the verifier finds are pinned."""

from __future__ import annotations

import json

import pytest

from tests.iceberg import manifest_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


@pytest.mark.parametrize(("version", "name"), cases.CASES)
def test_a_damaged_value_has_its_outcome(version: str, name: str) -> None:
    with cases.a_table(version) as table:
        assert table.outcome().endswith("sound")
        assert table.outcomes(name) == PINNED[f"version {version}, {name}"]
