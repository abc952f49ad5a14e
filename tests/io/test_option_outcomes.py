"""Storage options with values of every kind: what is made of each, or the error, is pinned."""

from __future__ import annotations

import json

import pytest

from tests.io import option_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


@pytest.mark.parametrize("service", cases.SERVICES)
def test_an_option_has_its_outcome(service: str) -> None:
    with cases.environment():
        assert cases.outcomes(service) == PINNED[service]
