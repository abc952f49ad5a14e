"""Metadata with every list, id and reference that updates work on, and as its version stores it."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.normal_metadata import normalized, stored

Json = dict[str, Any]
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "int"}]}
PART = {"source-id": 1, "name": "p", "transform": "identity"}


def first(**changes: Any) -> Json:
    """Version 1, as its first writers stored it."""
    found = {"format-version": 1, "location": "/t", "schema": SCHEMA, "partition-spec": [PART], "of-another": 7}
    return {**found, **{name.replace("_", "-"): value for name, value in changes.items()}}


def test_what_a_table_without_lists_gets() -> None:
    given = first()
    found = normalized(given)
    assert given == first(), "what was given stays"
    assert found["schemas"] == [{**SCHEMA, "schema-id": 0}] and found["current-schema-id"] == 0
    assert found["partition-specs"] == [{"spec-id": 0, "fields": [{"field-id": 1000, **PART}]}]
    assert (found["default-spec-id"], found["last-partition-id"]) == (0, 1000)
    assert found["sort-orders"] == [{"order-id": 0, "fields": []}] and found["default-sort-order-id"] == 0
    assert (found["properties"], found["refs"], found["current-snapshot-id"]) == ({}, {}, None)
    assert [found[name] for name in ("snapshots", "snapshot-log", "metadata-log")] == [[], [], []]
    assert found["last-sequence-number"] == 0 and found["of-another"] == 7


@pytest.mark.parametrize(
    ("changes", "schemas", "current"),
    [
        ({"schema": {**SCHEMA, "schema-id": 4}}, [4], 4),
        ({"schemas": [{**SCHEMA, "schema-id": 2}], "current_schema_id": 2}, [2], 2),
        ({"schemas": [{**SCHEMA, "schema-id": 2}]}, [2, 0], 0),
        ({"schemas": [SCHEMA, {**SCHEMA, "schema-id": 2}]}, [0, 2], 0),
        ({"schemas": [], "current_schema_id": 0}, [0], 0),
        (
            {"schemas": [{**SCHEMA, "schema-id": 1}], "current_schema_id": 1, "schema": {**SCHEMA, "schema-id": 5}},
            [1],
            1,
        ),
    ],
)
def test_schemas(changes: Json, schemas: list[int], current: int) -> None:
    found = normalized(first(**changes))
    assert ([one["schema-id"] for one in found["schemas"]], found["current-schema-id"]) == (schemas, current)


@pytest.mark.parametrize(
    ("changes", "specs", "default", "last"),
    [
        ({"partition_spec": []}, {0: []}, 0, 999),
        ({"partition_spec": [PART, PART]}, {0: [1000, 1001]}, 0, 1001),
        ({"partition_spec": [PART, {**PART, "field-id": 1009}]}, {0: [1000, 1009]}, 0, 1009),
        (
            {"partition_specs": [{"spec-id": 3, "fields": [{**PART, "field-id": 1004}]}, {"spec-id": 1, "fields": []}]},
            {3: [1004], 1: []},
            3,
            1004,
        ),
        ({"partition_specs": [{"spec-id": 3, "fields": [PART]}], "default_spec_id": 3}, {3: [1000]}, 3, 1000),
        ({"last_partition_id": 1050}, {0: [1000]}, 0, 1050),
    ],
)
def test_specs(changes: Json, specs: dict[int, list[int]], default: int, last: int) -> None:
    found = normalized(first(**changes))
    assert {one["spec-id"]: [f["field-id"] for f in one["fields"]] for one in found["partition-specs"]} == specs
    assert (found["default-spec-id"], found["last-partition-id"]) == (default, last)


@pytest.mark.parametrize(("current", "expected"), [(None, None), (-1, None), (0, 0), (7, 7)])
def test_the_current_snapshot_and_main(current: int | None, expected: int | None) -> None:
    found = normalized(first(current_snapshot_id=current))
    assert found["current-snapshot-id"] == expected
    assert found["refs"] == ({} if expected is None else {"main": {"snapshot-id": expected, "type": "branch"}})
    own = {"main": {"snapshot-id": 9, "type": "branch", "max-ref-age-ms": 5}}
    assert normalized(first(current_snapshot_id=7, refs=own))["refs"] == own


def test_what_each_version_stores() -> None:
    for version in (1, 2, 3):
        found = stored({**normalized(first(format_version=version)), "next-row-id": 5, "statistics": []})
        assert ("schema" in found, "partition-spec" in found) == (version == 1, version == 1)
        assert ("last-sequence-number" in found, "next-row-id" in found) == (version > 1, version > 2)
        assert found["current-snapshot-id"] == (None if version == 3 else -1) and "statistics" not in found
        assert found["of-another"] == 7
    old = normalized(first(schemas=[{**SCHEMA, "schema-id": 2}, {**SCHEMA, "schema-id": 3}], current_schema_id=3))
    specs = [{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [{**PART, "field-id": 1000}]}]
    found = stored({**old, "partition-specs": specs, "default-spec-id": 1, "current-snapshot-id": 8})
    assert found["schema"]["schema-id"] == 3 and found["partition-spec"] == specs[1]["fields"]
    assert found["current-snapshot-id"] == 8
    kept = {"statistics": [1], "partition-statistics": [2], "encryption-keys": [3]}
    assert stored({**old, **kept}).items() >= kept.items()
