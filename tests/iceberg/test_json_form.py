"""The form of the metadata that a commit changes: each field that is none is named, whatever stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tableformats_iceberg.write.json_form import check_form

import tableformats as tf
from tests.support.iceberg_tables import metadata_json, write_table

Json = dict[str, Any]
OF_LIST = {"type": "list", "element-id": 3, "element-required": True, "element": "int"}
OF_MAP = {"type": "map", "key-id": 4, "key": "int", "value-id": 5, "value-required": True, "value": "string"}


def schema(kind: Any = "int", **more: Any) -> Json:
    return {
        "type": "struct",
        "schema-id": 0,
        "fields": [{"id": 1, "name": "a", "required": True, "type": kind, **more}],
    }


def without(value: Json, name: str) -> Json:
    return {key: one for key, one in value.items() if key != name}


def inner(**more: Any) -> Json:
    return schema({"type": "struct", "fields": [{"id": 2, "name": "b", "required": False, "type": "int", **more}]})


def spec(**more: Any) -> Json:
    field = {"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity", **more}
    return {"spec-id": 0, "fields": [field]}


def order(**more: Any) -> Json:
    field = {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first", **more}
    return {"order-id": 0, "fields": [field]}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"last-sequence-number": 2**62 - 1},
        {"next-row-id": None},
        {"properties": None, "refs": None, "snapshots": None, "sort-orders": None},
        {"schemas": [schema(OF_LIST)]},
        {"schemas": [schema(OF_MAP)]},
        {"schemas": [inner()]},
        {"schema": schema()},
        {"partition-specs": [spec()]},
        {"partition-spec": spec()["fields"]},
        {"sort-orders": [order()]},
        {"refs": {"main": {}}},
        {"schemas": None, "schema": schema(), "current-schema-id": None},
    ],
)
def test_forms_that_are_taken(changes: Json) -> None:
    check_form({**metadata_json(), **changes}, "m")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("last-sequence-number", -1),
        ("last-sequence-number", 2**62),
        ("last-sequence-number", "1"),
        ("next-row-id", 1.0),
        ("properties", [1]),
        ("properties", {"a": 1}),
        ("refs", "x"),
        ("refs", {"main": 1}),
        *((name, value) for name in ("snapshots", "snapshot-log", "metadata-log") for value in ({"a": 1}, [1], "x")),
        ("schemas", {"a": 1}),
        ("schemas", [1]),
        ("schemas", [{**schema(), "type": "list"}]),
        ("schemas", [{**schema(), "fields": {}}]),
        ("schemas", [without(schema(), "fields")]),
        ("schemas", [schema(7)]),
        ("schemas", [schema({"type": "int"})]),
        ("schemas", [schema({"type": ["list"]})]),
        ("schemas", [schema(id="1")]),
        ("schemas", [schema(name=None)]),
        ("schemas", [schema(required=1)]),
        ("schemas", [inner(required="no")]),
        ("schemas", [inner(type=None)]),
        *(("schemas", [schema(without(OF_LIST, name))]) for name in OF_LIST),
        *(("schemas", [schema(without(OF_MAP, name))]) for name in OF_MAP),
        ("partition-specs", [{"fields": []}]),
        ("partition-specs", [{"spec-id": "0", "fields": []}]),
        ("partition-specs", [{"spec-id": 0}]),
        ("partition-specs", [spec(name=1)]),
        ("partition-specs", [spec(transform=None)]),
        ("sort-orders", [{"fields": []}]),
        ("sort-orders", [{"order-id": 0, "fields": None}]),
        *(("sort-orders", [order(**{name: None})]) for name in ("transform", "direction", "null-order")),
        ("current-schema-id", 7),
        ("default-spec-id", 7),
        ("default-sort-order-id", 7),
    ],
)
def test_forms_that_are_not(field: str, value: Any) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        check_form({**metadata_json(), field: value}, "m")
    assert (caught.value.field, caught.value.path) == (field, "m")


@pytest.mark.parametrize(
    ("name", "value", "field"), [("schema", "int", "schemas"), ("partition-spec", 7, "partition-specs")]
)
def test_what_a_reader_of_version_2_passes_over(tmp_path: Path, name: str, value: Any, field: str) -> None:
    folder = tmp_path / "t"
    file = write_table(folder, location=str(folder), **{"last-column-id": 2})
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    table = tf.open_table(folder)
    assert table.count() == 0
    with pytest.raises(tf.CorruptMetadataError) as caught:
        table.alter.set_properties({"a": "b"})
    assert caught.value.field == field
