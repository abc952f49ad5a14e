"""Texts of types, whole and with one part changed: the type, or the error, is pinned."""

from __future__ import annotations

import json

from tests.schema import type_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


def test_a_changed_text_has_its_outcome() -> None:
    assert {"texts": cases.outcomes(), "nested": cases.nested()} == PINNED
