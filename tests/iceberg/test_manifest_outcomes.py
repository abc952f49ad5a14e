"""Manifest lists and manifests with one damaged value: plan, error and what the verifier finds are pinned."""

from __future__ import annotations

import json

import pytest

from tests.iceberg import manifest_cases as cases
from tests.support import leaves

PINNED = json.loads(cases.PINNED.read_text("utf-8"))
SHARES = [(*case, (k, n)) for case, n in cases.CASES.items() for k in range(n)]


@pytest.mark.parametrize(("version", "name", "share"), SHARES, ids=str)
def test_a_damaged_value_has_its_outcome(version: str, name: str, share: leaves.Share) -> None:
    with cases.a_table(version) as table:
        assert table.outcome().endswith("sound")
        pinned = leaves.pinned_share(PINNED[f"version {version}, {name}"], table.first_record(name), share)
        assert table.outcomes(name, share) == pinned
