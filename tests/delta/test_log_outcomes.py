"""Delta logs of which one value is damaged: plan, error and the verifier's findings are those that are pinned."""

from __future__ import annotations

import json

import pytest

from tests.delta import log_cases as cases
from tests.support import leaves

PINNED = json.loads(cases.PINNED.read_text("utf-8"))
SHARES = [(version, (k, 4)) for version in range(len(cases.LOG)) for k in range(4)]


@pytest.mark.parametrize(("version", "share"), SHARES, ids=str)
def test_a_damaged_value_has_its_outcome(version: int, share: leaves.Share) -> None:
    with cases.a_log() as log:
        assert log.outcome().endswith("sound")
        pinned = leaves.pinned_share(PINNED[f"version {version}"], cases.LOG[version], share)
        assert log.outcomes(version, share) == pinned
