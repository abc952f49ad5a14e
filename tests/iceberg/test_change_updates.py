"""What a change of metadata asks of a table, and which updates it makes: exact, part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.schema import parse_schema
from tableformats_iceberg.write.metadata_change import changes_of

import tableformats as tf
from tableformats.plugin import MetadataChange, ReferenceChange, Schema, primitive
from tests.support.iceberg_tables import FIELDS, metadata_json, snapshot_json

UUID = {"type": "assert-table-uuid", "uuid": "u"}


def made(change: MetadataChange, **members: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(requirements, updates), of which the first requirement is that of the uuid."""
    requirements, updates = changes_of(metadata_json(**members), change, "m")
    assert requirements[0] == UUID
    return requirements[1:], updates


def test_nothing_is_changed() -> None:
    assert made(MetadataChange()) == ([], [])
    assert changes_of(metadata_json(**{"format-version": 1, "table-uuid": None}), MetadataChange()) == ([], [])


@pytest.mark.parametrize(
    ("properties", "updates"),
    [
        ({"a": "1", "b": "2"}, [{"action": "set-properties", "updates": {"a": "1", "b": "2"}}]),
        ({"x": None}, [{"action": "remove-properties", "removals": ["x"]}]),
        ({"gone": None}, []),
        (
            {"x": None, "a": "1", "y": None, "gone": None},
            [
                {"action": "set-properties", "updates": {"a": "1"}},
                {"action": "remove-properties", "removals": ["x", "y"]},
            ],
        ),
    ],
)
def test_properties(properties: dict[str, str | None], updates: list[dict[str, Any]]) -> None:
    assert made(MetadataChange(properties=properties), properties={"x": "", "y": "1"}) == ([], updates)


@pytest.mark.parametrize(
    ("version", "wanted", "is_made"), [(1, "2", True), (2, "2", True), (2, "3", True), (2, "1", False)]
)
def test_format_versions(version: int, wanted: str, is_made: bool) -> None:
    change = MetadataChange(properties={"format-version": wanted, "a": "1"})
    members = {"format-version": version, "last-sequence-number": None if version == 1 else 0}
    if is_made:
        updates = made(change, **members)[1]
        assert updates[0] == {"action": "upgrade-format-version", "format-version": int(wanted)}
        assert updates[1:] == [{"action": "set-properties", "updates": {"a": "1"}}]
        return
    with pytest.raises(tf.ConstraintViolationError, match="no way leads back") as caught:
        made(change, **members)
    assert caught.value.field == "format-version"


def test_what_iceberg_does_not_have() -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        made(MetadataChange(constraints={"c": "a > 1"}))
    assert (caught.value.field, caught.value.path) == ("c", "m")
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        made(MetadataChange(defaults={("s", "x"): "1"}))
    assert (caught.value.field, caught.value.path) == ("s.x", "m")


# ---- columns --------------------------------------------------------------------------------------------------------

SCHEMAS = [
    {"type": "struct", "schema-id": 0, "fields": FIELDS},
    {"type": "struct", "schema-id": 6, "fields": FIELDS[:1]},
]
A, B = parse_schema(Node(SCHEMAS[0], "m")).fields
LONGER = Schema((replace(A, type=primitive("long")), B))
COLUMN_REQUIREMENTS = [
    {"type": "assert-current-schema-id", "current-schema-id": 0},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 9},
]
WIDE = [{**FIELDS[0], "type": "long"}, FIELDS[1]]


def test_columns() -> None:
    requirements, updates = made(MetadataChange(schema=LONGER), schemas=SCHEMAS, **{"last-column-id": 9})
    assert requirements == COLUMN_REQUIREMENTS
    assert updates == [
        {"action": "add-schema", "schema": {"type": "struct", "schema-id": 7, "fields": WIDE}},
        {"action": "set-current-schema", "schema-id": -1},
    ]


@pytest.mark.parametrize(
    ("properties", "given", "expected"),
    [
        ({"schema.name-mapping.default": "[]"}, {}, '[{"field-id":1,"names":["a"]},{"field-id":2,"names":["b"]}]'),
        ({"schema.name-mapping.default": "[]"}, {"schema.name-mapping.default": "own"}, "own"),
        ({"schema.name-mapping.default": ""}, {}, None),
        ({}, {}, None),
    ],
)
def test_name_mappings_follow(properties: dict[str, str], given: dict[str, str | None], expected: str | None) -> None:
    updates = made(MetadataChange(schema=LONGER, properties=given), properties=properties)[1][2:]
    key = "schema.name-mapping.default"
    assert updates == ([] if expected is None else [{"action": "set-properties", "updates": {key: expected}}])


@pytest.mark.parametrize("text", ["{", "[7]", '[{"field-id":1,"names":7}]'])
def test_name_mappings_that_are_malformed(text: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        made(MetadataChange(schema=LONGER), properties={"schema.name-mapping.default": text})
    assert (caught.value.field, caught.value.path) == ("schema.name-mapping.default", "m")


def test_metrics_of_renamed_columns() -> None:
    """A property that is set by the same change stays as it is set."""
    name = "write.metadata.metrics.column."
    change = MetadataChange(schema=Schema((A, replace(B, name="c"))), properties={name + "c": "none"})
    updates = made(change, properties={name + "b": "full"})[1][2:]
    assert updates == [
        {"action": "set-properties", "updates": {name + "c": "none"}},
        {"action": "remove-properties", "removals": [name + "b"]},
    ]


@pytest.mark.parametrize(("transform", "keys"), [("day", {"source-id": 3}), ("day", {"source-ids": [3]}), ("void", {})])
def test_dates_of_which_partition_values_are_computed(transform: str, keys: dict[str, Any]) -> None:
    dated = [*FIELDS, {"id": 3, "name": "d", "required": False, "type": "date"}]
    spec = {"spec-id": 0, "fields": [{"source-id": 3, **keys, "field-id": 1000, "name": "p", "transform": transform}]}
    members = {
        "format-version": 3,
        "next-row-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": dated}],
        "last-column-id": 3,
        "partition-specs": [spec],
    }
    d = parse_schema(Node(members["schemas"][0], "m")).fields[2]  # type: ignore[index]
    change = MetadataChange(schema=Schema((A, B, replace(d, type=primitive("timestamp_ntz")))))
    if transform == "void":
        assert made(change, **members)[1][0]["schema"]["fields"][2]["type"] == "timestamp"
        return
    with pytest.raises(tf.ConstraintViolationError, match="partition values"):
        made(change, **members)


# ---- partitioning and order -----------------------------------------------------------------------------------------


def field(source: int, name: str, transform: str, number: int) -> dict[str, Any]:
    return {"source-id": source, "field-id": number, "name": name, "transform": transform}


SPECS = {
    "partition-specs": [
        {"spec-id": 0, "fields": []},
        {"spec-id": 4, "fields": [field(1, "a", "identity", 1000)]},
        {"spec-id": 2, "fields": [field(2, "old", "truncate[2]", 1001)]},
    ],
    "default-spec-id": 4,
    "last-partition-id": 1001,
}
SPEC_REQUIREMENTS = [
    {"type": "assert-default-spec-id", "default-spec-id": 4},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1001},
]


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (["a", "bucket(4, a)"], [field(1, "a", "identity", 1000), field(1, "a_bucket_4", "bucket[4]", 1002)]),
        (["truncate(2, b)", "a"], [field(2, "old", "truncate[2]", 1001), field(1, "a", "identity", 1000)]),
        (["b", "bucket(9, b)"], [field(2, "b", "identity", 1002), field(2, "b_bucket_9", "bucket[9]", 1003)]),
    ],
)
def test_partitioning(texts: list[str], fields: list[dict[str, Any]]) -> None:
    """Fields that a spec had keep their ids and names; new ones get the next ids."""
    requirements, updates = made(MetadataChange(partition_by=texts), **SPECS)
    assert requirements == SPEC_REQUIREMENTS
    assert updates == [
        {"action": "add-spec", "spec": {"spec-id": 5, "fields": fields}},
        {"action": "set-default-spec", "spec-id": -1},
    ]


@pytest.mark.parametrize(("texts", "spec_id"), [([], 0), (["a"], 4), (["truncate(2, b)"], 2)])
def test_specs_that_are_there(texts: list[str], spec_id: int) -> None:
    requirements, updates = made(MetadataChange(partition_by=texts), **SPECS)
    assert requirements == SPEC_REQUIREMENTS and updates == [{"action": "set-default-spec", "spec-id": spec_id}]


def test_partitioning_of_version_1() -> None:
    """Fields are numbered by their places; one that goes becomes void."""
    members = {**SPECS, "format-version": 1, "last-sequence-number": None}
    updates = made(MetadataChange(partition_by=["b"]), **members)[1]
    assert updates[0]["spec"]["fields"] == [field(1, "a", "void", 1000), field(2, "b", "identity", 1001)]


ORDER = {"source-id": 1, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}
ORDERS = {
    "sort-orders": [{"order-id": 0, "fields": []}, {"order-id": 5, "fields": [ORDER]}],
    "default-sort-order-id": 5,
}


@pytest.mark.parametrize(
    ("texts", "updates"),
    [
        (["a desc"], [{"action": "set-default-sort-order", "sort-order-id": 5}]),
        ([], [{"action": "set-default-sort-order", "sort-order-id": 0}]),
        (
            ["a"],
            [
                {
                    "action": "add-sort-order",
                    "sort-order": {
                        "order-id": 6,
                        "fields": [{**ORDER, "direction": "asc", "null-order": "nulls-first"}],
                    },
                },
                {"action": "set-default-sort-order", "sort-order-id": -1},
            ],
        ),
    ],
)
def test_sort_orders(texts: list[str], updates: list[dict[str, Any]]) -> None:
    requirements, found = made(MetadataChange(sort_by=texts), **ORDERS)
    assert requirements == [{"type": "assert-default-sort-order-id", "default-sort-order-id": 5}]
    assert found == updates


# ---- branches and tags ----------------------------------------------------------------------------------------------

TREE = {
    "snapshots": [
        snapshot_json(1, 1),
        snapshot_json(2, 2, **{"parent-snapshot-id": 1}),
        snapshot_json(3, 3, **{"parent-snapshot-id": 1}),
    ],
    "current-snapshot-id": 2,
    "refs": {
        "main": {"snapshot-id": 2, "type": "branch"},
        "b": {"snapshot-id": 1, "type": "branch", "max-ref-age-ms": 7},
        "t": {"snapshot-id": 3, "type": "tag"},
    },
}


def reference(name: str, **wanted: Any) -> Any:
    return MetadataChange(references={name: ReferenceChange(**wanted)})


@pytest.mark.parametrize(
    ("name", "wanted", "at", "update"),
    [
        ("new", {"kind": "branch"}, None, {"type": "branch", "snapshot-id": 2}),
        ("new", {"kind": "tag", "version": 3}, None, {"type": "tag", "snapshot-id": 3}),
        ("new", {"kind": "tag", "must_exist": False}, None, {"type": "tag", "snapshot-id": 2}),
        ("b", {"kind": "branch"}, 1, {"type": "branch", "snapshot-id": 1, "max-ref-age-ms": 7}),
        ("b", {"kind": "branch", "version": 3}, 1, {"type": "branch", "snapshot-id": 3, "max-ref-age-ms": 7}),
        (
            "b",
            {"kind": "branch", "must_exist": True, "max_age_ms": 1, "min_versions": 2, "max_version_age_ms": 3},
            1,
            {
                "type": "branch",
                "snapshot-id": 1,
                "max-ref-age-ms": 1,
                "min-snapshots-to-keep": 2,
                "max-snapshot-age-ms": 3,
            },
        ),
        (
            "b",
            {"kind": "branch", "version": 2, "only_forward": True},
            1,
            {"type": "branch", "snapshot-id": 2, "max-ref-age-ms": 7},
        ),
        ("t", {"kind": "tag", "version": 1}, 3, {"type": "tag", "snapshot-id": 1}),
    ],
)
def test_branches_and_tags(name: str, wanted: dict[str, Any], at: int | None, update: dict[str, Any]) -> None:
    requirements, updates = made(reference(name, **wanted), **TREE)
    assert requirements == [{"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": at}]
    assert updates == [{"action": "set-snapshot-ref", "ref-name": name, **update}]


def test_removed_references() -> None:
    requirements, updates = made(reference("t", kind="tag", is_removed=True), **TREE)
    assert requirements == [{"type": "assert-ref-snapshot-id", "ref": "t", "snapshot-id": 3}]
    assert updates == [{"action": "remove-snapshot-ref", "ref-name": "t"}]
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        made(reference("main", kind="branch", is_removed=True), **TREE)
    assert (caught.value.field, caught.value.path) == ("main", "m")


@pytest.mark.parametrize(
    ("name", "wanted", "error", "message"),
    [
        ("new", {"kind": "branch", "must_exist": True}, tf.SnapshotNotFoundError, "there is no branch 'new'"),
        ("new", {"kind": "tag", "is_removed": True}, tf.SnapshotNotFoundError, "there is no tag 'new'"),
        ("new", {"kind": "tag", "version": 9}, tf.SnapshotNotFoundError, "there is no snapshot 9"),
        ("b", {"kind": "branch", "must_exist": False}, tf.ConstraintViolationError, "there is a branch 'b' already"),
        ("b", {"kind": "tag"}, tf.ConstraintViolationError, "'b' is a branch, and no tag"),
        ("t", {"kind": "branch", "is_removed": True}, tf.ConstraintViolationError, "'t' is a tag, and no branch"),
        (
            "main",
            {"kind": "branch", "version": 3, "only_forward": True},
            tf.ConstraintViolationError,
            "snapshot 3 does not",
        ),
    ],
)
def test_references_that_do_not_fit(name: str, wanted: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        made(reference(name, **wanted), **TREE)
    assert caught.value.path == "m"  # type: ignore[attr-defined]
    if error is tf.SnapshotNotFoundError:
        assert caught.value.hint == "The table's branches and tags: b, main, t"  # type: ignore[attr-defined]


def test_references_of_tables_without_snapshots() -> None:
    for members in ({}, {"current-snapshot-id": -1}):
        with pytest.raises(tf.SnapshotNotFoundError, match="the table has no snapshot yet"):
            made(reference("new", kind="branch"), **members)


def test_ten_references_are_named() -> None:
    refs = {f"r{n:02d}": {"snapshot-id": 1, "type": "tag"} for n in range(12)}
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        made(reference("no", kind="tag", must_exist=True), **{**TREE, "refs": refs})
    assert str(caught.value.hint).count(",") == 9
