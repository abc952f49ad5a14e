"""Delta logs of which one value is damaged: plan, error and the verifier's findings are those that are pinned."""

from __future__ import annotations

import json

import pytest

from tests.delta import log_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


@pytest.mark.parametrize("version", range(len(cases.LOG)))
def test_a_damaged_value_has_its_outcome(version: int) -> None:
    with cases.a_log() as log:
        assert log.outcome().endswith("sound")
        assert log.outcomes(version) == PINNED[f"version {version}"]
