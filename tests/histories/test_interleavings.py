"""Two and three writers, stepped request by request in every order that is drawn: each history is explained."""

from __future__ import annotations

from collections import Counter

import pytest

from ..support.examples import examples
from ..support.summary import CASES as COUNTED
from .interleaving import CASES, interleaved

HISTORIES = examples(72)
"""Of each format and level; ``python -m tests.histories run`` makes thousands."""


@pytest.mark.parametrize(("format", "level"), CASES)
def test_random_interleavings(format: str, level: str) -> None:
    outcomes: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    for seed in range(HISTORIES):
        run = interleaved(format, level, seed, writers=2 + seed % 2, each=1)
        assert run.violations == [], f"seed {seed}"
        COUNTED["steps of interleaved writers"] += run.steps
        COUNTED["interleaved histories"] += 1
        outcomes.update(op.outcome for op in run.history.operations)
        phases.update(run.phases)
    assert outcomes["ok"] > HISTORIES, outcomes
    assert outcomes["fail"], "no race was lost for good"
    wanted = {"analyse", "write files", "put"} | ({"prepare", "publish"} if format == "iceberg" else {"checkpoint"})
    assert wanted <= set(phases), phases
