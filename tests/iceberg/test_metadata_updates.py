"""Updates of table metadata, compared with those of PyIceberg, and with the specification's words."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.write.metadata_updates import apply_updates
from tableformats_iceberg.write.requirements import check_requirements, failed_requirement

from tableformats.errors import CommitConflictError, ConstraintViolationError, UnsupportedFeatureError

pytest.importorskip("pyiceberg")
from pydantic import TypeAdapter
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import TableUpdate, update_table_metadata

from tests.support.examples import examples

START = 1_700_000_000_000
UUID = "0b8c5a52-8e38-4e3c-9f4e-1f3a1c2a0f6e"
TYPES = ["int", "long", "string", "date", "timestamptz", "decimal(9, 2)"]
Json = dict[str, Any]


def field(i: int, kind: Any = "long", **more: Any) -> Json:
    return {"id": i, "name": f"c{i}", "type": kind, "required": False, **more}


def schema(*fields: Json, schema_id: int = 0) -> Json:
    return {"type": "struct", "schema-id": schema_id, "fields": list(fields), "identifier-field-ids": []}


def created(version: int, *fields: Json, now_ms: int = START) -> Json:
    """A new table by updates alone."""
    updates = [
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": version},
        {"action": "set-location", "location": "file:///t"},
        {"action": "add-schema", "schema": schema(*(fields or (field(1), field(2, "string"))))},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
    ]
    return apply_updates(None, updates, now_ms=now_ms)


def snapshot(metadata: Json, i: int, at: int, rows: int = 3) -> Json:
    number = metadata.get("last-sequence-number", -1) + 1
    found = {
        "snapshot-id": i,
        "sequence-number": number,
        "timestamp-ms": at,
        "manifest-list": f"file:///t/metadata/{i}.avro",
        "summary": {"operation": "append"},
        "schema-id": metadata["current-schema-id"],
    }
    if metadata["current-snapshot-id"] not in (None, -1):
        found["parent-snapshot-id"] = metadata["current-snapshot-id"]
    if metadata["format-version"] == 3:
        found |= {"first-row-id": metadata["next-row-id"], "added-rows": rows}
    return found


def append(metadata: Json, i: int, at: int, ref: str = "main") -> list[Json]:
    return [
        {"action": "add-snapshot", "snapshot": snapshot(metadata, i, at)},
        {"action": "set-snapshot-ref", "ref-name": ref, "type": "branch", "snapshot-id": i},
    ]


# ---- against PyIceberg ----------------------------------------------------------------------------------------------


@st.composite
def changes(draw: st.DrawFn, metadata: Json, step: int) -> list[Json]:
    """Updates of one commit, to which both libraries give one meaning."""
    kinds = ["append", "branch", "tag", "schema", "spec", "order", "properties", "location", "remove-ref", "upgrade"]
    kind, at = draw(st.sampled_from(kinds)), START + 1000 * step
    ids = [one["snapshot-id"] for one in metadata.get("snapshots", [])]
    current = next(s for s in metadata["schemas"] if s["schema-id"] == metadata["current-schema-id"])
    if kind == "append":
        return append(metadata, 100 + step, at, draw(st.sampled_from(["main", "b"])))
    if kind in ("branch", "tag") and ids:
        name = draw(st.sampled_from(["b", "c"])) if kind == "branch" else "t"
        keep = {"min-snapshots-to-keep": draw(st.integers(1, 9))} if kind == "branch" else {"max-ref-age-ms": 5}
        target = draw(st.sampled_from(ids))
        return [{"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": target, **keep}]
    if kind == "schema":
        new = field(metadata["last-column-id"] + 1, draw(st.sampled_from(TYPES)))
        new_id = max(s["schema-id"] for s in metadata["schemas"]) + 1
        return [
            {"action": "add-schema", "schema": schema(*current["fields"], new, schema_id=new_id)},
            {"action": "set-current-schema", "schema-id": draw(st.sampled_from([-1, new_id]))},
        ]
    if kind == "spec":
        first = metadata["last-partition-id"] + 1 if metadata["format-version"] > 1 else 1000
        source = draw(st.sampled_from(current["fields"]))
        new_id = max(s["spec-id"] for s in metadata["partition-specs"]) + 1
        fields = [
            {"source-id": source["id"], "field-id": first, "transform": f"bucket[{new_id}]", "name": f"p{new_id}"}
        ]
        spec = {"spec-id": new_id, "fields": fields}
        return [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]
    if kind == "order":
        new_id = max(s["order-id"] for s in metadata["sort-orders"]) + 1
        one = {"source-id": 1, "transform": f"bucket[{new_id}]", "direction": "asc", "null-order": "nulls-first"}
        order = {"order-id": new_id, "fields": [one]}
        return [
            {"action": "add-sort-order", "sort-order": order},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ]
    if kind == "remove-ref":
        return [{"action": "remove-snapshot-ref", "ref-name": draw(st.sampled_from(["b", "c", "t", "main"]))}]
    if kind == "upgrade":
        version = 2 if metadata["format-version"] < 3 else 3
        return [{"action": "upgrade-format-version", "format-version": version}] if version < 3 else []
    if kind == "location":
        return [{"action": "set-location", "location": draw(st.sampled_from(["file:///t", "file:///u"]))}]
    names = draw(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=2))
    gone = [n for n in metadata["properties"] if n not in names][:1]
    return [{"action": "set-properties", "updates": names}, {"action": "remove-properties", "removals": gone}]


def compared(metadata: Any) -> Json:
    """All fields but the time, and those of version 1 that PyIceberg's updates leave as they were."""
    left_out = ["last_updated_ms", "schema_", "partition_spec"]
    left_out += ["last_sequence_number"] * (metadata.format_version == 1) + ["next_row_id"] * (
        metadata.format_version < 3
    )
    return {name: value for name, value in dict(metadata).items() if name not in left_out}


def theirs(metadata: Json, updates: list[Json], previous: str) -> Any:
    parsed = [TypeAdapter(TableUpdate).validate_json(json.dumps(one)) for one in updates]
    base = TableMetadataUtil.parse_obj(copy.deepcopy(metadata))
    return update_table_metadata(base, tuple(parsed), metadata_location=previous)


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(version=st.integers(1, 3), data=st.data())
def test_updates_do_what_those_of_pyiceberg_do(version: int, data: st.DataObject) -> None:
    metadata = created(version)
    metadata["properties"]["write.metadata.previous-versions-max"] = "3"
    for step in range(1, data.draw(st.integers(2, 8)) + 1):
        updates = data.draw(changes(metadata, step))
        now, previous = START + 1000 * step, f"file:///t/metadata/v{step}.metadata.json"
        after = apply_updates(metadata, updates, now_ms=now, previous_file=previous)
        expected = theirs(metadata, updates, previous)
        ours = TableMetadataUtil.parse_obj(copy.deepcopy(after))
        if after is metadata:  # PyIceberg makes a new file of the same content
            expected = expected.model_copy(update={"metadata_log": ours.metadata_log})
        assert compared(ours) == compared(expected)
        assert parse_metadata(json.dumps(after).encode(), "m.json").format_version == after["format-version"]
        metadata = after


# ---- by the specification -------------------------------------------------------------------------------------------


def test_fields_that_nobody_knows_are_kept() -> None:
    metadata = created(2)
    metadata["x-own"] = {"a": [1.0, None]}
    metadata["schemas"][0]["x-schema"] = 1
    metadata = apply_updates(metadata, append(metadata, 7, START), now_ms=START)
    metadata["snapshots"][0]["x-snapshot"] = True
    before = copy.deepcopy(metadata)
    after = apply_updates(metadata, append(metadata, 8, START + 1), now_ms=START + 1)
    assert metadata == before
    assert after["x-own"] == {"a": [1.0, None]}
    assert after["schemas"][0]["x-schema"] == 1
    assert after["snapshots"][0]["x-snapshot"] is True


def test_updates_that_change_nothing_make_no_new_metadata() -> None:
    metadata = created(2)
    same = [{"action": "set-location", "location": "file:///t"}, {"action": "remove-properties", "removals": ["no"]}]
    assert apply_updates(metadata, same, now_ms=START + 5, previous_file="v1") is metadata


def test_version_1_has_its_own_fields_and_loses_them_when_it_is_upgraded() -> None:
    metadata = created(1)
    spec = {"fields": [{"source-id": 1, "transform": "bucket[4]", "name": "b"}]}
    updates = [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]
    metadata = apply_updates(metadata, updates, now_ms=START)
    assert [f["field-id"] for f in metadata["partition-spec"]] == [1000]
    assert metadata["schema"]["fields"] == metadata["schemas"][0]["fields"]
    assert "last-sequence-number" not in metadata
    metadata = apply_updates(metadata, append(metadata, 1, START), now_ms=START)
    assert "sequence-number" not in metadata["snapshots"][0]
    upgraded = apply_updates(metadata, [{"action": "upgrade-format-version", "format-version": 3}], now_ms=START)
    assert {"schema", "partition-spec"}.isdisjoint(upgraded)
    assert (upgraded["last-sequence-number"], upgraded["next-row-id"]) == (0, 0)
    assert TableMetadataUtil.parse_obj(copy.deepcopy(upgraded)).format_version == 3


def test_metadata_of_an_old_writer_of_version_1_is_filled_in() -> None:
    old = {
        "format-version": 1,
        "location": "file:///t",
        "last-updated-ms": START,
        "last-column-id": 2,
        "schema": {"type": "struct", "fields": [field(1), field(2)]},
        "partition-spec": [{"source-id": 1, "transform": "identity", "name": "c1"}],
        "current-snapshot-id": -1,
    }
    after = apply_updates(old, [{"action": "set-properties", "updates": {"a": "b"}}], now_ms=START)
    assert after["partition-specs"] == [
        {"spec-id": 0, "fields": [{"field-id": 1000, "source-id": 1, "transform": "identity", "name": "c1"}]}
    ]
    assert (after["current-schema-id"], after["default-spec-id"], after["last-partition-id"]) == (0, 0, 1000)
    assert parse_metadata(json.dumps(after).encode(), "m").schema.names == ["c1", "c2"]
    with pytest.raises(ConstraintViolationError, match="from 1000 on"):
        spec = {"fields": [{"source-id": 2, "field-id": 1001, "transform": "identity", "name": "c2"}]}
        apply_updates(old, [{"action": "add-spec", "spec": spec}], now_ms=START)


def test_row_ids_of_version_3_are_counted() -> None:
    metadata = created(3)
    for i, rows in enumerate([3, 0, 5]):
        update = {"action": "add-snapshot", "snapshot": snapshot(metadata, i + 1, START + i, rows)}
        metadata = apply_updates(metadata, [update], now_ms=START)
    assert metadata["next-row-id"] == 8
    stale = snapshot(metadata, 9, START) | {"first-row-id": 7}
    with pytest.raises(ConstraintViolationError, match="next-row-id"):
        apply_updates(metadata, [{"action": "add-snapshot", "snapshot": stale}], now_ms=START)


def test_a_snapshot_that_expired_ends_the_log_before_it() -> None:
    metadata = created(2)
    for i in (1, 2, 3):
        metadata = apply_updates(metadata, append(metadata, i, START + i), now_ms=START + i)
    tag = {"action": "set-snapshot-ref", "ref-name": "t", "type": "tag", "snapshot-id": 2}
    metadata = apply_updates(metadata, [tag], now_ms=START + 4)
    metadata["statistics"] = [{"snapshot-id": 2}, {"snapshot-id": 3}]
    after = apply_updates(metadata, [{"action": "remove-snapshots", "snapshot-ids": [2]}], now_ms=START + 5)
    assert [entry["snapshot-id"] for entry in after["snapshot-log"]] == [3]
    assert [one["snapshot-id"] for one in after["snapshots"]] == [1, 3]
    assert set(after["refs"]) == {"main"}
    assert [one["snapshot-id"] for one in after["statistics"]] == [3]


def test_entries_of_snapshots_that_another_writer_left_out_stay_in_the_log() -> None:
    metadata = created(2)
    for i in (1, 2):
        metadata = apply_updates(metadata, append(metadata, i, START + i), now_ms=START + i)
    metadata["snapshots"] = metadata["snapshots"][1:]
    after = apply_updates(metadata, [{"action": "set-properties", "updates": {"a": "b"}}], now_ms=START + 3)
    assert [entry["snapshot-id"] for entry in after["snapshot-log"]] == [1, 2]


def test_a_clock_that_goes_back_does_not_disorder_the_logs() -> None:
    metadata = created(2)
    metadata = apply_updates(metadata, append(metadata, 1, START + 100_000), now_ms=START + 100_000)
    metadata = apply_updates(metadata, append(metadata, 2, START), now_ms=START, previous_file="v1")
    assert [entry["timestamp-ms"] for entry in metadata["snapshot-log"]] == [START + 100_000] * 2
    assert metadata["last-updated-ms"] == START + 100_000
    assert metadata["metadata-log"] == [{"timestamp-ms": START + 100_000, "metadata-file": "v1"}]


def test_a_log_in_disorder_goes_on_from_its_last_entry() -> None:
    """Clocks of other writers differ by some seconds."""
    metadata = created(2)
    for number, at in ((1, START), (2, START)):
        metadata = apply_updates(metadata, append(metadata, number, at), now_ms=at)
    first, second = metadata["snapshot-log"]
    metadata["snapshot-log"] = [{**first, "timestamp-ms": START + 500}, second]
    metadata = apply_updates(metadata, append(metadata, 3, START + 7), now_ms=START + 7)
    assert [entry["timestamp-ms"] - START for entry in metadata["snapshot-log"]] == [500, 0, 7]


def test_snapshots_that_were_never_current_for_readers_are_not_in_the_log() -> None:
    metadata = created(2)
    both = append(metadata, 1, START + 1)
    after_first = apply_updates(metadata, both, now_ms=START)
    both += append(after_first, 2, START + 2)
    after = apply_updates(metadata, both, now_ms=START + 2)
    assert [entry["snapshot-id"] for entry in after["snapshot-log"]] == [2]


def test_the_catalog_numbers_schemas_and_specs_and_reuses_equal_ones() -> None:
    metadata = created(2)
    proposed = schema(*metadata["schemas"][0]["fields"], field(3), schema_id=77)
    after = apply_updates(metadata, [{"action": "add-schema", "schema": proposed}], now_ms=START)
    assert [one["schema-id"] for one in after["schemas"]] == [0, 1]
    assert (after["last-column-id"], after["current-schema-id"]) == (3, 0)
    again = [{"action": "add-schema", "schema": proposed}, {"action": "set-current-schema", "schema-id": -1}]
    assert apply_updates(after, again, now_ms=START)["current-schema-id"] == 1
    spec = {"fields": [{"source-id": 1, "transform": "identity", "name": "c1"}]}
    empty = {"fields": []}
    by_turns = [{"action": "add-spec", "spec": one} for one in (spec, empty, spec)]
    specs = apply_updates(metadata, by_turns, now_ms=START)["partition-specs"]
    assert [(one["spec-id"], [f["field-id"] for f in one["fields"]]) for one in specs] == [(0, []), (1, [1000])]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "set-current-schema", "schema-id": 5}, "no schema-id 5"),
        ({"action": "set-current-schema", "schema-id": -1}, "none was added"),
        ({"action": "set-default-spec", "spec-id": 5}, "no spec-id 5"),
        ({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 5}, "no snapshot 5"),
        ({"action": "set-snapshot-ref", "ref-name": "main", "type": "tag", "snapshot-id": 1}, "cannot be a tag"),
        ({"action": "assign-uuid", "uuid": UUID.replace("0", "1")}, "has the uuid"),
        ({"action": "upgrade-format-version", "format-version": 1}, "no way leads back"),
        ({"action": "remove-schemas", "schema-ids": [0]}, "in use"),
        ({"action": "add-snapshot", "snapshot": {"snapshot-id": 2, "sequence-number": 1}}, "does not come after"),
        ({"action": "add-snapshot", "snapshot": {"snapshot-id": 1}}, "there is a snapshot"),
        ({"action": "add-snapshot"}, "malformed"),
        ({"action": "set-properties", "updates": {"a": 1}}, "properties are texts"),
        ({"action": "add-schema", "schema": schema(field(1), field(1))}, "used twice"),
        ({"action": "add-schema", "schema": schema(field(1), {**field(2), "name": "c1"})}, "two columns"),
    ],
)
def test_updates_that_do_not_fit_are_refused(update: Json, message: str) -> None:
    metadata = created(2)
    metadata = apply_updates(metadata, append(metadata, 1, START), now_ms=START)
    with pytest.raises(ConstraintViolationError, match=message):
        apply_updates(metadata, [update], now_ms=START, previous_file="v1")


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "set-fire"}, "not known"),
        ({"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "x"}}, "a whole number"),
        ({"action": "upgrade-format-version", "format-version": 4}, "not written"),
        ({"action": "add-schema", "schema": schema(field(1, "timestamp_ns"))}, "need format version 3"),
        (
            {"action": "add-schema", "schema": schema(field(1, "long", **{"initial-default": 3}))},
            "need format version 3",
        ),
        ({"action": "add-schema", "schema": schema(field(1, "longish"))}, "not known"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(update: Json, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        apply_updates(created(2), [update], now_ms=START, previous_file="v1")


@pytest.mark.parametrize(
    ("source", "transform", "message"),
    [
        (1, "day", "does not take values of type long"),
        (2, "hour", "does not take"),
        (4, "identity", "no single value"),
        (3, "identity", "no single value"),
        (9, "identity", "not in the schema"),
    ],
)
def test_transforms_that_do_not_fit_are_refused(source: int, transform: str, message: str) -> None:
    listed = {"type": "list", "element-id": 4, "element": "long", "element-required": False}
    metadata = created(2, field(1), field(2, "string"), field(3, listed))
    spec = {"fields": [{"source-id": source, "transform": transform, "name": "p"}]}
    updates = [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]
    with pytest.raises(ConstraintViolationError, match=message):
        apply_updates(metadata, updates, now_ms=START)


def test_a_source_column_of_the_default_spec_cannot_be_dropped_unless_its_field_is_void() -> None:
    metadata = created(2)
    for transform, name in (("identity", "c2"), ("void", "gone")):
        spec = {"fields": [{"source-id": 2, "transform": transform, "name": name}]}
        updates = [
            {"action": "add-spec", "spec": spec},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-schema", "schema": schema(field(1))},
            {"action": "set-current-schema", "schema-id": -1},
        ]
        if transform == "void":
            assert apply_updates(metadata, updates, now_ms=START)["current-schema-id"] == 1
        else:
            with pytest.raises(ConstraintViolationError, match="remove the field first"):
                apply_updates(metadata, updates, now_ms=START)


# ---- requirements ---------------------------------------------------------------------------------------------------


def test_requirements_hold_or_are_named() -> None:
    metadata = created(2)
    metadata = apply_updates(metadata, append(metadata, 7, START), now_ms=START)
    holding = [
        {"type": "assert-table-uuid", "uuid": UUID.upper()},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7},
        {"type": "assert-ref-snapshot-id", "ref": "b", "snapshot-id": None},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
    ]
    assert failed_requirement(metadata, holding) is None
    for one in holding:
        key = next(k for k in one if k not in ("type", "ref"))
        wrong = {**one, key: "x" if key == "uuid" else 5}
        with pytest.raises(CommitConflictError, match="another writer"):
            check_requirements(metadata, [wrong])
        assert failed_requirement(None, [one]) == "the table does not exist"
    assert failed_requirement(metadata, [{"type": "assert-create"}]) == "the table exists"
    assert failed_requirement(None, [{"type": "assert-create"}]) is None
    taken = [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}]
    assert failed_requirement(metadata, taken) == "there is a branch or tag 'main'"
    with pytest.raises(UnsupportedFeatureError):
        failed_requirement(metadata, [{"type": "assert-weather"}])


@pytest.mark.parametrize(
    ("key", "kind", "id_key", "set_it", "remove_it"),
    [
        ("statistics", "statistics", "snapshot-id", "set-statistics", "remove-statistics"),
        (
            "partition-statistics",
            "partition-statistics",
            "snapshot-id",
            "set-partition-statistics",
            "remove-partition-statistics",
        ),
        ("encryption-keys", "encryption-key", "key-id", "add-encryption-key", "remove-encryption-key"),
    ],
)
def test_what_is_kept_of_snapshots_and_keys(key: str, kind: str, id_key: str, set_it: str, remove_it: str) -> None:
    """One of each id: the last one of statistics, the first one of keys."""

    def put(number: int, value: str) -> Json:
        return {"action": set_it, kind: {id_key: number, "x": value}}

    def after(*updates: Json) -> Any:
        found = apply_updates(metadata, updates, now_ms=START)
        return [(one[id_key], one["x"]) for one in found[key]] if key in found else None

    metadata = created(3)
    two = (put(1, "a"), put(2, "b"))
    is_key = kind == "encryption-key"
    assert after(*two) == [(1, "a"), (2, "b")]
    assert after(*two, put(1, "c")) == ([(1, "a"), (2, "b")] if is_key else [(2, "b"), (1, "c")])
    assert after(*two, {"action": remove_it, id_key: 1}) == [(2, "b")]
    assert after(*two, {"action": remove_it, id_key: 2}) == [(1, "a")]
    assert after(*two, {"action": remove_it, id_key: 3}) == [(1, "a"), (2, "b")]
    assert after({"action": remove_it, id_key: 1}) is None
    assert after(two[0], {"action": remove_it, id_key: 1}) is None


@pytest.mark.parametrize(
    ("updates", "is_refused"),
    [
        ([], True),
        ([{"action": "add-schema", "schema": schema(field(1))}], True),
        ([{"action": "add-spec", "spec": {"fields": []}}], True),
        ([{"action": "add-schema", "schema": schema(field(1))}, {"action": "add-spec", "spec": {"fields": []}}], False),
    ],
)
def test_a_snapshot_of_a_new_table(updates: list[Json], is_refused: bool) -> None:
    """Its columns and partitions come before it."""
    named = [
        {"action": "set-location", "location": "/t"},
        {"action": "set-current-schema", "schema-id": 0},
        {"action": "set-default-spec", "spec-id": 0},
    ]
    given = {"snapshot-id": 7, "sequence-number": 1, "timestamp-ms": START, "manifest-list": "/m"}
    added = {"action": "add-snapshot", "snapshot": given}
    if is_refused:
        with pytest.raises(ConstraintViolationError, match="no schema or no partition spec yet"):
            apply_updates(None, [*updates, added], now_ms=START)
    else:
        found = apply_updates(None, [*updates, added, *named], now_ms=START)
        assert (found["snapshots"], found["last-sequence-number"]) == ([given], 1)


@pytest.mark.parametrize(
    ("listed", "fields", "number"),
    [([0], "", 0), ([0], "a", 1), ([3], "", 0), ([3], "a", 3), ([3], "b", 4), ([0, 3], "b", 4), ([1, 3], "", 0)],
)
def test_ids_of_sort_orders(listed: list[int], fields: str, number: int) -> None:
    """An order that is there is taken; an unsorted one is the order 0; others follow the greatest."""

    def order(order_id: int, names: str) -> Json:
        found = [
            {"source-id": "_ab".index(n), "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
            for n in names
        ]
        return {"order-id": order_id, "fields": found}

    metadata = {**created(2), "sort-orders": [order(one, "a" if one == 3 else "b" * one) for one in listed]}
    given = [
        {"action": "add-sort-order", "sort-order": order(77, fields)},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    found = apply_updates({**metadata, "default-sort-order-id": listed[-1]}, given, now_ms=START)
    assert found["default-sort-order-id"] == number
    assert [one["order-id"] for one in found["sort-orders"]] == [*dict.fromkeys([*listed, number])]


@pytest.mark.parametrize(("version", "numbers", "last"), [(1, [1000, 1001], 1004), (2, [1005, 1003], 1005)])
def test_ids_of_partition_fields(version: int, numbers: list[int], last: int) -> None:
    """That of an equal field of an earlier spec, else a new one; in version 1 by the place."""

    def spec(number: int, *fields: Json) -> Json:
        return {"spec-id": number, "fields": [{"transform": "identity", **one} for one in fields]}

    old = spec(1, {"source-id": 1, "name": "c1", "field-id": 1003}, {"source-id": 1, "name": "x", "field-id": 1004})
    metadata = {**created(version), "partition-specs": [spec(0), old], "last-partition-id": 1004}
    given = spec(9, {"source-id": 2, "name": "c2"}, {"source-id": 1, "name": "c1", "field-id": None})
    found = apply_updates(metadata, [{"action": "add-spec", "spec": given}], now_ms=START)
    assert [one["field-id"] for one in found["partition-specs"][2]["fields"]] == numbers
    assert (found["partition-specs"][2]["spec-id"], found["last-partition-id"]) == (2, last)


def test_the_time_of_a_change_is_not_before_the_last_one() -> None:
    assert created(2, now_ms=0)["last-updated-ms"] == 0
    metadata = created(2, now_ms=7)
    for now, found in ((6, 7), (8, 8)):
        again = apply_updates(metadata, [{"action": "set-location", "location": "/x"}], now_ms=now)
        assert again["last-updated-ms"] == found
