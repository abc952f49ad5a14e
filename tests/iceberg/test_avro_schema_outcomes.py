"""Avro schemas with one damaged value, and of each type: what the decoders of manifests and of rows make of them."""

from __future__ import annotations

import json

from tests.iceberg import avro_schema_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))


def test_a_damaged_schema_has_its_outcome() -> None:
    assert "Error" not in cases.program(cases.MANIFEST) + cases.program(cases.UNNAMED) + cases.columns(cases.ROWS)
    found = cases.outcomes()
    assert found == {name: PINNED[name] for name in found}


def test_each_type_has_its_outcome() -> None:
    found = cases.tables()
    assert found == {name: PINNED[name] for name in found}
