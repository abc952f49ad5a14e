"""The Avro schemas of manifests and their lists: the members of each version, and those that other writers declared."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tableformats_iceberg.write.encode.avro_encoding import NOTHING, varint
from tableformats_iceberg.write.encode.layouts import (
    PARTITION,
    Layout,
    Member,
    carried_layout,
    encoding_of,
    layout_of,
    list_members,
    list_schema,
    list_writers,
    members_of_writer,
    merged_members,
    partition_type,
)

import tableformats as tf
from tableformats.plugin import (
    DecimalType,
    Field,
    FixedType,
    ListType,
    PartitionField,
    PartitionSpec,
    Type,
    parse_transform,
    primitive,
)

EMPTY = PartitionSpec(0, ())


def spec(name: str, kind: Type) -> PartitionSpec:
    return PartitionSpec(0, (PartitionField(1000, name, 1, parse_transform("identity"), kind),))


# ---- the members of each version ------------------------------------------------------------------------------------

SHARED = [100, 101, 102, 103, 104]
MAPS = [108, 109, 110, 137, 125, 128, 131, 132]


@pytest.mark.parametrize(
    ("version", "ids"),
    [
        (1, [*SHARED, 105, *MAPS, 140]),
        (2, [134, *SHARED, *MAPS, 135, 140, 143]),
        (3, [134, *SHARED, *MAPS, 135, 140, 142, 143, 144, 145]),
    ],
)
def test_members_of_entries(version: int, ids: list[int]) -> None:
    layout = layout_of(version, EMPTY)
    assert [member.id for member in layout.members] == ids
    defaults = {member.id: member.default for member in layout.members}
    zero = dict.fromkeys(ids, varint(0))  # which is NULL, too
    assert defaults == zero | dict.fromkeys(SHARED) | ({105: varint(64 << 20)} if version == 1 else {})
    heads = layout.schema["fields"]
    assert [f["field-id"] for f in heads] == ([0, 1, 2] if version == 1 else [0, 1, 3, 4, 2])
    assert [f["type"] for f in heads[:-1]] == [
        "int",
        *(["long"] if version == 1 else [["null", "long"]] * 3),
    ]
    assert [f.get("default", "none") for f in heads] == ["none", *(["none"] if version == 1 else [None] * 3), "none"]
    inner = heads[-1]["type"]["fields"]
    assert [f["field-id"] for f in inner] == ids and heads[-1]["type"]["name"] == "r2"
    assert all(("default" in f) is isinstance(f["type"], list) for f in inner)


@pytest.mark.parametrize(
    ("version", "ids", "optional"),
    [
        (1, [500, 501, 502, 503, 504, 505, 506, 512, 513, 514, 507, 519], {504, 505, 506, 512, 513, 514, 507, 519}),
        (2, [500, 501, 502, 517, 515, 516, 503, 504, 505, 506, 512, 513, 514, 507, 519], {507, 519}),
        (3, [500, 501, 502, 517, 515, 516, 503, 504, 505, 506, 512, 513, 514, 507, 519, 520], {507, 519, 520}),
    ],
)
def test_members_of_lists(version: int, ids: list[int], optional: set[int]) -> None:
    members = list_members(version)
    assert [member.id for member in members] == ids
    assert {member.id for member in members if isinstance(member.avro, list)} == optional
    assert {member.id for member in members if member.default == NOTHING} - {517, 515, 516} == optional
    schema = list_schema(members)
    assert schema["name"] == "manifest_file" and [f["field-id"] for f in schema["fields"]] == ids
    assert {f["field-id"] for f in schema["fields"] if "default" in f} == optional


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a_B9", "a_B9"),
        ("a-b", "a_x2Db"),
        ("a b.c", "a_x20b_x2Ec"),
        ("9a", "_9a"),
        ("9-a", "_9_x2Da"),
        ("٣a", "_x663a"),
        ("é", "_xE9"),
        ("", ""),
    ],
)
def test_names_of_partition_fields(name: str, stored: str) -> None:
    (found,) = partition_type(spec(name, primitive("int")))["fields"]
    own = {} if name == stored else {"iceberg-field-name": name}
    assert found == {"name": stored, "type": ["null", "int"], "default": None, "field-id": 1000, **own}


@pytest.mark.parametrize(
    ("kind", "avro"),
    [
        (primitive("long"), "long"),
        (primitive("binary"), "bytes"),
        (primitive("date"), {"type": "int", "logicalType": "date"}),
        (primitive("timestamp_ntz"), {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}),
        (primitive("timestamp"), {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}),
        (FixedType(7), {"type": "fixed", "name": "fixed_7", "size": 7}),
        (
            DecimalType(9, 2),
            {"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
        ),
    ],
)
def test_types_of_partition_fields(kind: Type, avro: Any) -> None:
    (found,) = partition_type(spec("p", kind))["fields"]
    assert found["type"] == ["null", avro]


@pytest.mark.parametrize("kind", [primitive("variant"), ListType(Field(2, "element", primitive("int")))])
def test_types_that_partitions_do_not_have(kind: Type) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        layout_of(2, spec("p", kind))
    assert caught.value.field == "partition"


# ---- other writers --------------------------------------------------------------------------------------------------


def manifest(*members: dict[str, Any], head: dict[str, Any] | None = None) -> bytes:
    file = {"type": "record", "name": "r2", "fields": list(members)}
    own = {"name": "data_file", "field-id": 2} if head is None else head
    status = {"name": "status", "type": "int", "field-id": 0}
    return json.dumps({"type": "record", "name": "e", "fields": [status, {**own, "type": file}]}).encode()


def member(field_id: Any, name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro, **({} if field_id is None else {"field-id": field_id})}


def found_in(schema: bytes) -> list[tuple[int, str, Any]]:
    return [(one.id, one.name, one.avro) for one in members_of_writer(schema)]


@pytest.mark.parametrize(
    ("head", "is_found"),
    [
        ({"name": "data_file", "field-id": 2}, True),
        ({"name": "anything", "field-id": 2}, True),
        ({"name": "data_file"}, True),
        ({"name": "data_file", "field-id": 3}, False),
        ({"name": "anything"}, False),
    ],
)
def test_where_the_members_are(head: dict[str, Any], is_found: bool) -> None:
    schema = manifest(member(100, "file_path", "string"), head=head)
    if is_found:
        assert found_in(schema) == [(100, "file_path", "string")]
        return
    with pytest.raises(tf.CorruptMetadataError) as caught:
        members_of_writer(schema)
    assert caught.value.field == "avro.schema"


def test_members_by_id_or_by_name() -> None:
    """A name counts where there is no id, and is left out where it is not known."""
    schema = manifest(
        member(100, "path", "string"),
        member(None, "record_count", "long"),
        member(None, "mine", "long"),
        member(7000, "mine_too", ["null", "int"]),
        member("103", "odd", "long"),
    )
    assert found_in(schema) == [
        (100, "path", "string"),
        (103, "record_count", "long"),
        (7000, "mine_too", ["null", "int"]),
    ]


def test_names_of_types_are_replaced_by_the_types() -> None:
    """Also within arrays, maps, unions and types of types; with or without their namespace."""
    pair = {"type": "record", "name": "n.pair", "fields": [{"name": "k", "type": "int", "field-id": 1}]}
    schema = manifest(
        member(1, "a", pair),
        member(2, "b", {"type": "array", "items": "n.pair"}),
        member(3, "c", {"type": "map", "values": "pair"}),
        member(4, "d", ["null", "pair"]),
        member(5, "e", {"type": {"type": "string"}}),
        member(6, "f", {"type": ["null", "n.pair"]}),
        member(7, "g", "unknown"),
    )
    assert [avro for _, _, avro in found_in(schema)] == [
        pair,
        {"type": "array", "items": pair},
        {"type": "map", "values": pair},
        ["null", pair],
        {"type": "string"},
        ["null", pair],
        "unknown",
    ]


def nested(levels: int, kind: str) -> Any:
    if not levels:
        return "int"
    inner = nested(levels - 1, kind)
    if kind == "union":
        return [inner]
    if kind == "record":
        return {"type": "record", "name": f"r{levels}", "fields": [member(1, "f", inner)]}
    return {"type": "array", "items": inner} if kind == "array" else {"type": {"type": inner}}


@pytest.mark.parametrize(("kind", "most"), [("union", 30), ("array", 30), ("record", 30), ("type of a type", 15)])
def test_how_deep_types_may_be(kind: str, most: int) -> None:
    """32 levels are read; of a manifest the record of entries and that of files are the first two."""
    for levels in range(most - 2, most + 4):
        entry = manifest(member(1, "a", nested(levels, kind)))
        row = json.dumps({"type": "record", "name": "m", "fields": [member(1, "a", nested(levels + 1, kind))]}).encode()
        if levels <= most:
            assert members_of_writer(entry)[0].id == 1
        else:
            with pytest.raises(tf.CorruptMetadataError):
                members_of_writer(entry)
        if kind == "union" and levels <= most:
            assert list_writers(row)[0].id == 1
        elif kind == "union":
            with pytest.raises(tf.CorruptMetadataError):
                list_writers(row)


@pytest.mark.parametrize("schema", [b"", b"{", b"[]", b'"int"', b"{}", b'{"type":"record","fields":7}', b"[" * 9999])
def test_schemas_that_are_damaged(schema: bytes) -> None:
    for read in (members_of_writer, list_writers):
        with pytest.raises(tf.CorruptMetadataError) as caught:
            read(schema)
        assert caught.value.field == "avro.schema"


def test_rows_of_lists() -> None:
    fields = [
        member(500, "manifest_path", "string"),
        member(None, "added_data_files_count", ["null", "int"]),
        member(None, "deleted_files_count", "int"),
        member(None, "mine", "int"),
        member(7001, "theirs", "int"),
    ]
    schema = json.dumps({"type": "record", "name": "m", "fields": fields}).encode()
    assert [(one.id, one.name) for one in list_writers(schema)] == [
        (500, "manifest_path"),
        (504, "added_data_files_count"),
        (506, "deleted_files_count"),
        (7001, "theirs"),
    ]


RECORD = {"type": "record", "name": "a", "fields": [member(1, "x", "int")]}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("int", {"type": "int", "logicalType": "date"}, True),
        ("int", "long", False),
        (["null", "int"], ["int", "null"], False),
        (["null", "int"], ["null", {"type": "int"}], True),
        (RECORD, {**RECORD, "name": "b", "fields": [member(1, "y", "int")]}, True),
        (RECORD, {**RECORD, "fields": [member(2, "x", "int")]}, False),
        (RECORD, {**RECORD, "fields": [member(1, "x", "long")]}, False),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "int", "element-id": 3}, False),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, False),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "int", "key-id": 3}, True),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, False),
        ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, False),
        ({"type": "fixed", "name": "f", "size": 4}, {"type": "fixed", "name": "g", "size": 4}, True),
        ({"type": "fixed", "name": "f", "size": 4}, {"type": "fixed", "name": "f", "size": 5}, False),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, {"type": "enum", "name": "f", "symbols": ["A"]}, True),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, {"type": "enum", "name": "e", "symbols": ["B"]}, False),
    ],
)
def test_types_that_are_encoded_alike(left: Any, right: Any, same: bool) -> None:
    assert (encoding_of(left) == encoding_of(right)) is same
    layouts = [Layout(2, (Member(1, "m", avro),)) for avro in (left, right)]
    assert (layouts[0].key == layouts[1].key) is same
    assert layouts[0].key != Layout(1, (Member(1, "m", left),)).key


def test_entries_that_are_carried_over() -> None:
    """A member has its writer's type; but the first row id is written anew, and what a version lacks is left out."""
    own = [
        Member(103, "rows", "int"),
        Member(104, "bytes", {"type": "long", "logicalType": "x"}),
        Member(105, "block_size_in_bytes", "long"),
        Member(142, "first_row_id", "long"),
        Member(7000, "mine", "string"),
    ]
    found = {one.id: one for one in carried_layout(3, EMPTY, tuple(own)).members}
    assert [*found][-2:] == [145, 7000] and 105 not in found
    assert (found[103].name, found[103].avro, found[103].default) == ("record_count", "int", None)
    assert found[104].avro == "long" and found[142].avro == ["null", "long"] and found[7000] == own[-1]
    assert [one.id for one in carried_layout(1, EMPTY, ()).members] == [one.id for one in layout_of(1, EMPTY).members]


def test_lists_that_are_carried_over() -> None:
    """A member that is not known is kept where it may be null, which it is of new manifests."""
    own = [
        Member(500, "manifest_path", "string"),
        Member(520, "first_row_id", ["null", "long"]),
        Member(7000, "kept", ["null", "int"]),
        Member(7001, "kept_too", ["int", "null"]),
        Member(7002, "gone", "int"),
        Member(7003, "gone_too", ["int", "string"]),
    ]
    found = merged_members(list_members(2), {one.id: one for one in own})
    assert [one.id for one in found] == [*(one.id for one in list_members(2)), 7000, 7001]


def test_names_are_defined_once() -> None:
    """A type that stands again is named; another one of the same name gets another name."""
    fixed = {"type": "fixed", "name": "f", "size": 4, "namespace": "n"}
    other = {"type": "fixed", "name": "f", "size": 5}
    avro = {"type": "array", "items": ["null", fixed]}
    members = [
        Member(1, "a", fixed),
        Member(2, "b", avro),
        Member(3, "c", other),
        Member(4, "d", {"type": "map", "values": other}),
    ]
    types = [f["type"] for f in list_schema(members)["fields"]]
    assert types == [
        {"type": "fixed", "name": "f", "size": 4},
        {"type": "array", "items": ["null", "f"]},
        {"type": "fixed", "name": "f_", "size": 5},
        {"type": "map", "values": "f_"},
    ]
    record = {"type": "record", "name": "manifest_file", "fields": [member(5, "x", fixed)]}
    (found,) = list_schema([Member(1, "a", record)])["fields"]
    assert found["type"]["name"] == "manifest_file_" and found["type"]["fields"][0]["type"]["name"] == "f"


def test_the_partition_is_that_of_the_spec() -> None:
    for version in (1, 2, 3):
        (found,) = [one for one in layout_of(version, spec("p", primitive("int"))).members if one.id == PARTITION]
        assert found.avro["name"] == "r102" and [f["field-id"] for f in found.avro["fields"]] == [1000]
