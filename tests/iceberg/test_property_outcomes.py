"""Properties that writers obey, with values of every kind: what each stands for, or the error, is pinned."""

from __future__ import annotations

import json

from tests.iceberg import property_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


def test_a_property_has_its_outcome() -> None:
    assert cases.outcomes() == PINNED["properties"]
