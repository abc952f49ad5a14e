"""The verifier's rules for a metadata file that compare two of its values: what is just allowed, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.verification.metadata_rules import metadata_violations

from tests.support.iceberg_tables import metadata_json, snapshot_json

Json = dict[str, Any]
MINUTE = 60_000
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


def logged(*entries: tuple[int, int]) -> list[Json]:
    return [{"timestamp-ms": at, "snapshot-id": snapshot_id} for at, snapshot_id in entries]


def files(*entries: tuple[int, str]) -> list[Json]:
    return [{"timestamp-ms": at, "metadata-file": name} for at, name in entries]


def order(number: int, *fields: tuple[int, str, str]) -> Json:
    found = [{"source-id": s, "transform": "identity", "direction": d, "null-order": n} for s, d, n in fields]
    return {"order-id": number, "fields": found}


def spec(number: int, *fields: tuple[int, int, str, str]) -> Json:
    found = [{"source-id": s, "field-id": i, "name": n, "transform": t} for s, i, n, t in fields]
    return {"spec-id": number, "fields": found}


def ref(kind: str = "branch", snapshot_id: int = 2, **limits: int) -> Json:
    return {"type": kind, "snapshot-id": snapshot_id, **{name.replace("_", "-"): n for name, n in limits.items()}}


def made(version: int = 2, **changes: Any) -> Json:
    """A table of two snapshots, with changes to its fields, which are called with underscores."""
    rows: list[Json] = [{}, {}]
    if version > 2:
        rows = [{"first-row-id": 0, "added-rows": 5}, {"first-row-id": 5, "added-rows": 2}]
    snapshots = [
        snapshot_json(number, number * 1000, **{"sequence-number": number, "parent-snapshot-id": number - 1, **more})
        for number, more in enumerate(rows, 1)
    ]
    del snapshots[0]["parent-snapshot-id"]
    base = metadata_json(
        **{
            "format-version": version,
            "table-uuid": UUID,
            "last-sequence-number": 2,
            "last-updated-ms": 2000,
            "last-partition-id": 1001,
            "current-snapshot-id": 2,
            "snapshots": snapshots,
            "snapshot-log": logged((1000, 1), (2000, 2)),
            "metadata-log": files((1, "a"), (2, "b")),
            "refs": {"main": ref()},
            "next-row-id": 7 if version > 2 else None,
        }
    )
    return {**base, **{name.replace("_", "-"): value for name, value in changes.items()}}


def changed(at: int, version: int = 2, **fields: Any) -> Json:
    """The table with another snapshot."""
    base = made(version)
    base["snapshots"][at] |= {name.replace("_", "-"): value for name, value in fields.items()}
    return base


def broken(document: Json) -> list[str]:
    metadata = parse_metadata(json.dumps(document).encode(), "m")
    return [f"{one.rule}: {one.what}" for one in metadata_violations(document, metadata)]


@pytest.mark.parametrize(
    "document",
    [
        made(),
        made(3),
        made(last_updated_ms=1000 + MINUTE, snapshot_log=logged((1000 + MINUTE, 1), (1000, 2))),
        made(snapshot_log=logged((1000, 1), (2000 + MINUTE, 2))),
        made(metadata_log=files((1 + MINUTE, "a"), (1, "b"))),
        changed(1, timestamp_ms=2000 + MINUTE),
        changed(0, sequence_number=0),
        made(last_column_id=9),
        made(refs={"main": ref(max_ref_age_ms=1, min_snapshots_to_keep=1, max_snapshot_age_ms=1)}),
        made(refs={"main": ref(), "t": ref("tag", 1, max_ref_age_ms=1)}),
        made(partition_specs=[spec(0, (1, 1000, "a", "identity"), (2, 1001, "b", "identity"))]),
        made(partition_specs=[spec(0, (1, 1000, "a", "identity")), spec(1, (1, 1000, "a", "void"))]),
        made(sort_orders=[order(0), order(1, (1, "asc", "nulls-first"), (2, "desc", "nulls-last"))]),
        changed(1, 3, first_row_id=6, added_rows=1),
        changed(1, 3, added_rows=0),
    ],
)
def test_what_is_allowed(document: Json) -> None:
    assert broken(document) == []


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            made(last_updated_ms=1001 + MINUTE, snapshot_log=logged((1001 + MINUTE, 1), (1000, 2))),
            ["snapshot-log: the time 1000 follows 61001"],
        ),
        (
            made(snapshot_log=logged((1000, 1), (2000, 2), (2001 + MINUTE, 2))),
            ["timestamp: the newest entry of snapshot-log is newer than last-updated-ms"],
        ),
        (
            made(last_updated_ms=2 * MINUTE, snapshot_log=logged((2 * MINUTE, 1), (9, 1), (7, 2))),
            ["snapshot-log: the time 9 follows 120000"],
        ),
        (
            made(snapshot_log=logged((1000, 3), (1500, 2), (2000, 1))),
            [
                "snapshot-log: snapshot 3 is not there any more",
                "snapshot-log: it ends with snapshot 1, the current one is 2",
            ],
        ),
        (
            made(metadata_log=files((3, "a"), (2 + MINUTE, "b"), (1, "b"))),
            ["metadata-log: the time 1 follows 60002", "metadata-log: it has the id b 2 times"],
        ),
        (changed(1, timestamp_ms=2001 + MINUTE), ["timestamp: snapshot 2 is newer than last-updated-ms"]),
        (
            changed(1, sequence_number=1),
            [
                "snapshot-sequence: the sequence number of snapshot 2 is 1, its parent's 1",
                "snapshot-sequence: 2 snapshots have the sequence number 1",
            ],
        ),
        (
            changed(1, sequence_number=3),
            ["snapshot-sequence: snapshot 2 has 3, last-sequence-number is 2"],
        ),
        (changed(0, manifests=["x"]), ["snapshot: snapshot 1 has both manifests and a manifest-list"]),
        (made(last_column_id=1), ["column-id: last-column-id is 1, and a schema has the field id 2"]),
        (
            made(refs={"main": ref(max_ref_age_ms=0), "t": ref("tag", min_snapshots_to_keep=-1)}),
            [
                "reference: max-ref-age-ms of 'main' is 0",
                "reference: min-snapshots-to-keep of 't' is -1",
                "reference: the tag 't' has min-snapshots-to-keep",
            ],
        ),
        (made(refs={"main": ref("tag")}), ["reference: main is no branch"]),
        (
            made(refs={"main": ref(snapshot_id=1)}),
            ["current-snapshot: current-snapshot-id is 2, main is at 1"],
        ),
        (
            made(partition_specs=[spec(0, (1, 1000, "a", "identity"), (2, 1002, "a", "identity"))]),
            [
                "partition-spec: spec 0 has two fields 'a'",
                "partition-spec: last-partition-id is 1001, and a spec has the field id 1002",
            ],
        ),
        (
            made(partition_specs=[spec(0, (1, 1000, "a", "identity")), spec(1, (2, 1000, "b", "identity"))]),
            ["partition-spec: spec 1: the field id 1000 stands for another field elsewhere"],
        ),
        (
            made(partition_specs=[spec(0, (1, 1000, "a", "identity")), spec(1, (1, 1001, "a", "identity"))]),
            ["partition-spec: 2 specs have the fields ['a']"],
        ),
        (
            made(
                sort_orders=[order(0, (1, "asc", "nulls-first")), order(1), order(2, (9, "up", "nulls-last"))],
                default_sort_order_id=2,
            ),
            [
                "sort-order: order 0 has 1 fields; 0 is the unsorted one",
                "sort-order: order 1 has 0 fields; 0 is the unsorted one",
                "sort-order: order 2: 'up' 'nulls-last'",
                "sort-order: order 2 sorts by the column 9, which the schema lacks",
            ],
        ),
        (
            made(sort_orders=[order(0), order(1, (9, "asc", "first"))], default_sort_order_id=3),
            ["sort-order: there is no default sort order 3", "sort-order: order 1: 'asc' 'first'"],
        ),
        (
            changed(1, 3, first_row_id=4),
            ["row-lineage: snapshot 2 has first-row-id 4, ids are taken up to 5"],
        ),
        (
            changed(1, 3, added_rows=3),
            ["row-lineage: snapshot 2 takes row ids up to 8, next-row-id is 7"],
        ),
        (
            changed(1, 3, added_rows=-1),
            ["row-lineage: snapshot 2 has first-row-id 5, ids are taken up to 5"],
        ),
        (
            changed(1, 3, first_row_id=None),
            ["row-lineage: snapshot 2 lacks first-row-id or added-rows"],
        ),
        (
            changed(1, 3, first_row_id=None, added_rows=None),
            ["row-lineage: snapshot 2 lacks first-row-id or added-rows"],
        ),
        (changed(0, added_rows=1), ["row-lineage: snapshot 1 has row ids, which came with version 3"]),
    ],
)
def test_what_is_not(document: Json, said: list[str]) -> None:
    assert broken(document) == said


def test_which_fields_a_version_has() -> None:
    newer = {"last-sequence-number": 1, "next-row-id": 1}
    document = {**made(schema={"type": "struct", "fields": []}), **{"partition-spec": [], "next-row-id": 7}}
    assert broken(document) == [
        "extra-field: schema is not written in version 2",
        "extra-field: partition-spec is not written in version 2",
        "extra-field: next-row-id is not written in version 2",
    ]
    assert broken({**made(), "table-uuid": "x"}) == ["missing-field: table-uuid is no UUID: 'x'"]
    first = {**metadata_json(**{"table-uuid": UUID}), "format-version": 1}
    first |= {"schema": first["schemas"][0], "partition-spec": []}
    assert broken(first) == []
    assert broken({**first, **newer}) == [
        f"extra-field: {name} is not written in version 1" for name in ("last-sequence-number", "next-row-id")
    ]


@pytest.mark.parametrize(
    ("version", "other", "is_broken"),
    [
        (2, (1, 1000, "x", "identity"), False),
        (2, (1, 1000, "a", "void"), False),
        (2, (2, 1000, "a", "void"), False),
        (2, (1, 1000, "a", "bucket[4]"), True),
        (2, (2, 1000, "a", "identity"), True),
        (3, (2, 1000, "a", "identity"), True),
        (1, (2, 1000, "a", "identity"), False),
    ],
)
def test_ids_of_partition_fields(version: int, other: tuple[int, int, str, str], is_broken: bool) -> None:
    """They stand for one field in all specs; in version 1 they say its place alone."""
    document = made(version, partition_specs=[spec(0, (1, 1000, "a", "identity")), spec(1, other)])
    if version == 1:
        document |= {"schema": document["schemas"][0], "partition-spec": []}
        for one in document["snapshots"]:
            del one["sequence-number"]
        del document["last-sequence-number"]
    said = "partition-spec: spec 1: the field id 1000 stands for another field elsewhere"
    assert broken(document) == ([said] if is_broken else [])


@pytest.mark.parametrize(("version", "is_broken"), [(2, False), (3, True)])
def test_no_snapshot_is_minus_one_before_version_3(version: int, is_broken: bool) -> None:
    empty: Json = {"snapshots": [], "snapshot_log": [], "refs": {}, "current_snapshot_id": -1}
    said = ["current-snapshot: -1 is not written in version 3"] if is_broken else []
    assert broken(made(version, **empty)) == said


def column(number: int, kind: Any, required: bool = True) -> Json:
    return {"id": number, "name": f"c{number}", "required": required, "type": kind}


def struct(*fields: Json) -> Json:
    return {"type": "struct", "fields": list(fields)}


def test_which_columns_identify_rows() -> None:
    """Required ones, with all structs above them required; no numbers with NaN; none in a list or map."""
    of_list = {"type": "list", "element-id": 10, "element": "int", "element-required": True}
    fields = [
        column(1, "int"),
        column(2, "int", required=False),
        column(3, "double"),
        column(4, "float"),
        column(5, struct(column(6, "int"), column(7, "int", required=False))),
        column(8, struct(column(9, "int")), required=False),
        column(11, of_list),
    ]
    schema = {**struct(*fields), "schema-id": 0, "identifier-field-ids": [*range(1, 13)]}
    found = broken(made(schemas=[schema], last_column_id=11))
    names = [said.removeprefix("identifier-field: schema 0").partition(" cannot")[0] for said in found]
    assert names == [": c2", ": c3", ": c4", ": c5", ": c7", ": c8", ": c9", ": element", ": c11", " has no field 12"]


@pytest.mark.parametrize("id", [{}, {"schema-id": None}])
def test_a_schema_without_an_id_is_schema_0(id: Json) -> None:
    schema = {**struct(column(1, "int"), column(2, "int")), **id, "identifier-field-ids": [2, 3]}
    assert broken(made(schemas=[schema])) == ["identifier-field: schema 0 has no field 3"]


@pytest.mark.parametrize("ids", [None, [], 5, "1", {"1": 1}])
def test_no_columns_that_identify_rows(ids: Any) -> None:
    schema = {**struct(column(1, "int"), column(2, "int")), "schema-id": 0, "identifier-field-ids": ids}
    assert broken(made(schemas=[schema])) == []


@pytest.mark.parametrize("id", [True, None, "1", 1.0, [1]])
def test_what_is_no_column_does_not_identify_rows(id: Any) -> None:
    schema = {**struct(column(1, "int"), column(2, "int")), "schema-id": 0, "identifier-field-ids": [id]}
    assert broken(made(schemas=[schema])) == [f"identifier-field: schema 0 has no field {id}"]


def test_ids_and_types_of_columns() -> None:
    fields = [
        column(1, "int"),
        column(3, struct(column(2, "timestamp_ns", required=False))),
        column(2147483446, "int"),
        column(2147483447, "int"),
    ]
    schemas = [{**struct(*fields), "schema-id": 0}]
    reserved = "schema: schema 0: the field id 2147483447 is reserved"
    newer = "schema: schema 0: c2 has the type timestamp_ntz_ns, which came with version 3"
    assert broken(made(schemas=schemas, last_column_id=2147483447)) == [newer, reserved]
    assert broken(made(3, schemas=schemas, last_column_id=2147483447)) == [reserved]
