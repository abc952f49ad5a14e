"""The requirements and updates that give a table another definition, where it is there already."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.create import replace_updates

import tableformats as tf
from tableformats.plugin import CreateRequest, Field, ListType, Schema, primitive
from tests.support.iceberg_tables import FIELDS, metadata_json

Json = dict[str, Any]
A, B = Field(1, "a", primitive("int"), True), Field(2, "b", primitive("string"))


def replaced(*columns: Field, base: Json | None = None, **request: Any) -> tuple[list[Json], list[Json]]:
    """The answer for a table of the columns ``a`` (int NOT NULL) and ``b`` (string)."""
    return replace_updates(base or metadata_json(), CreateRequest(Schema(columns or (A, B)), **request))


def updates(*columns: Field, base: Json | None = None, **request: Any) -> dict[str, Any]:
    """The updates by their actions, without those names."""
    _, found = replaced(*columns, base=base, **request)
    return {one["action"]: {k: v for k, v in one.items() if k != "action"} for one in found}


def in_json(number: int, name: str, kind: Any, required: bool = False, **more: Any) -> Json:
    return {"id": number, "name": name, "required": required, "type": kind, **more}


def schema_of(number: int, *fields: Json, **more: Any) -> Json:
    return {"type": "struct", "schema-id": number, "fields": list(fields), **more}


def test_the_same_definition() -> None:
    """What is there already is chosen, not added."""
    requirements, found = replaced()
    assert requirements == [
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
        {"type": "assert-table-uuid", "uuid": "u"},
    ]
    assert found == [
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "set-default-spec", "spec-id": 0},
        {"action": "set-default-sort-order", "sort-order-id": 0},
        {"action": "remove-snapshot-ref", "ref-name": "main"},
    ]


def test_what_is_required_of_a_table_with_a_snapshot() -> None:
    snapshot = {"snapshot-id": 7, "timestamp-ms": 1, "manifest-list": "/m"}
    base = metadata_json(**{"snapshots": [snapshot], "current-snapshot-id": 7, "table-uuid": None})
    requirements, _ = replaced(base=base)
    assert requirements[0] == {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}
    assert [one["type"] for one in requirements][3:] == []


def test_properties() -> None:
    assert "set-properties" not in updates(properties={"format-version": "3"})
    found = updates(properties={"format-version": "3", "x": "y"})
    assert found["upgrade-format-version"] == {"format-version": 3} and found["set-properties"] == {
        "updates": {"x": "y"}
    }
    name = "schema.name-mapping.default"
    assert "remove-properties" not in updates(base=metadata_json(properties={"x": "y"}))
    assert updates(base=metadata_json(properties={name: "[]"}))["remove-properties"] == {"removals": [name]}
    with pytest.raises(tf.UnsupportedFeatureError):
        updates(properties={"format-version": "9"})


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (in_json(1, "a", "int"), Field(1, "a", primitive("int")), True),
        (in_json(1, "a", "int", True), Field(1, "a", primitive("int"), True), True),
        (in_json(1, "a", "int", True), Field(1, "a", primitive("int")), True),
        (in_json(1, "a", "int"), Field(1, "a", primitive("int"), True), False),
        (in_json(1, "a", "int"), Field(1, "a", primitive("long")), False),
        (in_json(1, "a", "int"), Field(1, "x", primitive("int")), False),
        (in_json(1, "a", "int", **{"initial-default": 4}), Field(1, "a", primitive("int")), False),
        (in_json(1, "a", "int", **{"write-default": 4}), Field(1, "a", primitive("int")), True),
        (
            in_json(1, "a", {"type": "list", "element-id": 2, "element": "int", "element-required": False}),
            Field(1, "a", ListType(Field(2, "element", primitive("int")))),
            False,
        ),
    ],
)
def test_columns_that_keep_their_ids(old: Json, new: Field, is_same: bool) -> None:
    """Those of the same name and type, unless rows of older files may lack what they have to have."""
    base = metadata_json(**{"schemas": [schema_of(0, old, in_json(2, "z", "int"))], "last-column-id": 8})
    added = updates(Field(5, "first", primitive("int")), new, base=base)["add-schema"]["schema"]
    assert [field["id"] for field in added["fields"]] == [9, 1 if is_same else 10]


def test_ids_are_those_of_the_current_schema() -> None:
    older = schema_of(3, in_json(7, "a", "int"))
    base = metadata_json(**{"schemas": [schema_of(0, *FIELDS), older], "last-column-id": 8})
    for current, number in ((0, 1), (3, 7)):
        found = updates(
            Field(1, "a", primitive("int")),
            Field(2, "c", primitive("int")),
            base={**base, "current-schema-id": current},
        )
        added = found["add-schema"]["schema"]
        assert added["schema-id"] == 4 and [field["id"] for field in added["fields"]] == [number, 10]
        assert found["set-current-schema"] == {"schema-id": -1}


def test_a_schema_that_is_there_is_chosen() -> None:
    now, before = schema_of(1, FIELDS[0]), schema_of(0, *FIELDS)
    base = metadata_json(**{"schemas": [before, now], "current-schema-id": 1})
    assert "add-schema" not in updates(A, base=base) and "set-current-schema" not in updates(A, base=base)
    # ``b`` has a new id, because it is no column of the current schema.
    assert updates(A, B, base=base)["add-schema"]["schema"]["fields"][1]["id"] == 4
    again = schema_of(2, *FIELDS)
    base = metadata_json(**{"schemas": [before, again], "current-schema-id": 2})
    assert "set-current-schema" not in updates(A, B, base=base)
    only = schema_of(0, FIELDS[0])
    base = metadata_json(**{"schemas": [only, schema_of(5, *FIELDS)], "current-schema-id": 5})
    found = updates(A, base=base)
    assert found["set-current-schema"] == {"schema-id": 0} and "add-schema" not in found


def test_columns_that_identify_rows_make_another_schema() -> None:
    base = metadata_json(schemas=[schema_of(0, *FIELDS, **{"identifier-field-ids": [1]})])
    found = updates(A, B, base=base)
    assert found["add-schema"]["schema"]["schema-id"] == 1 and found["set-current-schema"] == {"schema-id": -1}
    base = metadata_json(schemas=[schema_of(0, *FIELDS, **{"identifier-field-ids": []})])
    assert "add-schema" not in updates(A, B, base=base)


# ---- partitions and orders ------------------------------------------------------------------------------------------


def spec(number: int, *fields: tuple[int, int, str, str]) -> Json:
    found = [{"source-id": s, "field-id": i, "name": n, "transform": t} for s, i, n, t in fields]
    return {"spec-id": number, "fields": found}


def test_partition_specs_that_are_there_are_chosen() -> None:
    known = [
        spec(0),
        spec(4, (1, 1000, "a", "identity")),
        spec(2, (1, 1000, "a", "identity"), (2, 1001, "b", "identity")),
    ]
    base = metadata_json(**{"partition-specs": known, "last-partition-id": 1001})
    for wanted, number in (((), 0), (("a",), 4), (("a", "b"), 2)):
        found = updates(base=base, partition_by=wanted)
        assert found["set-default-spec"] == {"spec-id": number} and "add-spec" not in found
    turned = updates(base=base, partition_by=("b", "a"))
    assert turned["set-default-spec"] == {"spec-id": -1}
    assert turned["add-spec"]["spec"] == spec(5, (2, 1001, "b", "identity"), (1, 1000, "a", "identity"))


@pytest.mark.parametrize(
    ("version", "numbers"),
    [(1, [1000, 1001, 1002]), (2, [1000, 1008, 1009]), (3, [1000, 1008, 1009])],
)
def test_new_partition_fields_are_numbered(version: int, numbers: list[int]) -> None:
    """In version 1 by their places, else after the last one."""
    base = metadata_json(
        **{
            "format-version": version,
            "partition-specs": [spec(0, (1, 1000, "a", "identity"))],
            "last-partition-id": 1007,
            "next-row-id": 0 if version > 2 else None,
        }
    )
    found = updates(base=base, partition_by=("a", "bucket(4, b)", "truncate(2, b)"))
    assert [field["field-id"] for field in found["add-spec"]["spec"]["fields"]] == numbers
    assert found["add-spec"]["spec"]["spec-id"] == 1


def order(number: int, *fields: tuple[int, str, str]) -> Json:
    found = [{"transform": "identity", "source-id": s, "direction": d, "null-order": n} for s, d, n in fields]
    return {"order-id": number, "fields": found}


def test_sort_orders() -> None:
    known = [order(0), order(3, (1, "asc", "nulls-first"))]
    base = metadata_json(**{"sort-orders": known})
    for wanted, number in (((), 0), (("a",), 3)):
        found = updates(base=base, sort_by=wanted)
        assert found["set-default-sort-order"] == {"sort-order-id": number} and "add-sort-order" not in found
    found = updates(base=base, sort_by=("a desc",))
    assert found["set-default-sort-order"] == {"sort-order-id": -1}
    assert found["add-sort-order"]["sort-order"] == order(4, (1, "desc", "nulls-last"))
    # Without an unsorted order that one is added, with the id that the specification gives it.
    base = metadata_json(**{"sort-orders": known[1:]})
    assert updates(base=base)["add-sort-order"] == {"sort-order": order(0)}
