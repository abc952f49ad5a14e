"""Schemas: to Arrow and back, to Spark, and what is looked up in them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.schema import (
    PRIMITIVE_NAMES,
    DecimalType,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
    arrow_type,
    number_fields,
    primitive,
)
from tableformats.schema.arrow_types import field_of_arrow
from tableformats.schema.type_text import parse_type

NOT_OF_ARROW = {"uuid": FixedType(16), "variant": StructType}
"""What these come back as: Arrow has 16 bytes and a struct of two for them."""


def field(name: str, kind: Type, required: bool = False) -> tf.Field:
    return tf.Field(0, name, kind, required)


def nested() -> tf.Schema:
    texts = ListType(field("element", primitive("string")))
    entry = StructType((field("x", primitive("int"), True), field("y", texts)))
    pairs = MapType(field("key", primitive("string"), True), field("value", entry))
    return tf.Schema(number_fields([field("a", primitive("long"), True), field("m", pairs), field("z", entry)]))


@pytest.mark.parametrize("name", [name for name in PRIMITIVE_NAMES if name not in NOT_OF_ARROW])
def test_primitive_types_come_back_from_arrow(name: str) -> None:
    schema = tf.Schema(number_fields([field("a", primitive(name), name == "int")]))
    assert tf.Schema.from_arrow(schema.to_arrow()) == schema


def test_types_with_parameters_and_nested_ones_come_back_from_arrow() -> None:
    kinds = [DecimalType(38, 9), FixedType(3)]
    schema = tf.Schema(number_fields([field(f"c{i}", kind) for i, kind in enumerate(kinds)]))
    assert tf.Schema.from_arrow(schema.to_arrow()) == schema
    assert tf.Schema.from_arrow(nested().to_arrow()) == nested()
    for name, kind in NOT_OF_ARROW.items():
        (back,) = tf.Schema.from_arrow(tf.Schema((field("a", primitive(name)),)).to_arrow())
        assert back.type == kind or isinstance(back.type, type(kind) if isinstance(kind, Type) else kind)


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.large_string(), "string"),
        (pa.large_binary(), "binary"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.large_list(pa.int64()), "array<bigint>"),
        (pa.timestamp("ms"), "timestamp_ntz"),
        (pa.timestamp("ns", "Europe/Paris"), "timestamp_ns"),
    ],
)
def test_other_spellings_of_arrow(arrow: pa.DataType, expected: str) -> None:
    (found,) = tf.Schema.from_arrow(pa.schema([("a", arrow)]))
    assert str(found.type) == expected


@pytest.mark.parametrize("arrow", [pa.uint64(), pa.duration("s"), pa.decimal256(60, 2), pa.time32("s")])
def test_types_that_no_table_has(arrow: pa.DataType) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="no table type") as caught:
        tf.Schema.from_arrow(pa.schema([("a", pa.list_(arrow))]))
    assert caught.value.field is not None


def test_columns_are_found_by_id_and_by_name() -> None:
    schema = nested()
    assert [f.id for f in schema] == [1, 2, 8] and len(schema) == 3
    assert [f.name for f in schema.path_of(5)] == ["m", "value", "x"]
    assert schema.find_id(5) == schema.path_of(5)[-1] and schema.find_id(99) is None
    with pytest.raises(KeyError):
        schema.path_of(99)
    path = schema.resolve(["Z", "X"])
    assert path is not None and path[-1].id == 9
    assert schema.resolve(["Z", "X"], case_sensitive=True) is None
    assert schema.resolve(["m", "value"]) is schema.resolve([]) is None
    assert [path[-1].id for path in schema.leaves()] == [1, 9], "through structs alone"
    assert schema.near_names("z.xx")[0] == "z.x" and schema.near_names("quite another") == []


def test_the_schema_of_spark() -> None:
    def names(kind: Any) -> Any:
        return kind if isinstance(kind, str) else kind["type"]

    found = json.loads(nested().to_spark_json())
    assert [(f["name"], names(f["type"]), f["nullable"]) for f in found["fields"]] == [
        ("a", "long", False),
        ("m", "map", True),
        ("z", "struct", True),
    ]
    pairs = found["fields"][1]["type"]
    assert (pairs["keyType"], pairs["valueContainsNull"]) == ("string", True)
    assert pairs["valueType"]["fields"][1]["type"] == {"type": "array", "elementType": "string", "containsNull": True}
    others = {"int": "integer", "uuid": "string", "unknown": "void", "variant": "variant", "byte": "byte"}
    schema = tf.Schema(tuple(field(name, primitive(name)) for name in others))
    assert [f["type"] for f in json.loads(schema.to_spark_json())["fields"]] == list(others.values())
    kinds = (DecimalType(9, 2), FixedType(4))
    schema = tf.Schema(tuple(field(str(kind), kind) for kind in kinds))
    assert [f["type"] for f in json.loads(schema.to_spark_json())["fields"]] == ["decimal(9,2)", "binary"]


def test_every_type_has_one_of_arrow() -> None:
    for name in PRIMITIVE_NAMES:
        assert isinstance(arrow_type(primitive(name)), pa.DataType)
    with pytest.raises(KeyError):
        primitive("nothing")


def test_fields_of_a_text_have_no_ids_yet() -> None:
    kind = parse_type("struct<a: array<int>, b: map<string, struct<c: date>>>")
    assert isinstance(kind, StructType)
    left, ids = [*kind.fields], []
    while left:
        one = left.pop()
        ids.append(one.id)
        kind = one.type
        left += kind.fields if isinstance(kind, StructType) else ()
        left += [kind.element] if isinstance(kind, ListType) else []
        left += [kind.key, kind.value] if isinstance(kind, MapType) else []
    assert ids == [0] * 6


def test_keys_of_maps_are_never_null() -> None:
    """Whatever the field says. Members have the names that Arrow gives them."""
    text, number = primitive("string"), primitive("int")
    found = arrow_type(MapType(field("k", text), field("v", number, True)))
    assert not found.key_field.nullable and not found.item_field.nullable
    assert (found.key_field.name, found.item_field.name) == ("key", "value")
    assert arrow_type(ListType(field("e", number, True))) == pa.list_(pa.field("element", pa.int32(), nullable=False))
    assert arrow_type(primitive("uuid")) == pa.binary(16)


def test_columns_of_arrow_have_no_ids_yet() -> None:
    kind = pa.struct([("x", pa.list_(pa.int64()))])
    (found,) = (field_of_arrow(f) for f in pa.schema([pa.field("a", kind, nullable=False)]))
    assert found.id == 0 and found.required and isinstance(found.type, StructType)
    (member,) = found.type.fields
    assert member.id == 0 and isinstance(member.type, ListType) and member.type.element.id == 0
