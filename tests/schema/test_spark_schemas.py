"""Types and fields as Spark's JSON, of which no Spark is needed."""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.engines.spark.columns.spark_types import (
    char_metadata,
    logical_type,
    nullable_field,
    spark_struct,
    stored_type,
)
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, StructType, Type, primitive

STRING, LONG, UUID = (primitive(name) for name in ("string", "long", "uuid"))


def test_fields() -> None:
    whole = {"name": "a", "type": "long", "nullable": True, "metadata": {"k": 1}}
    assert nullable_field("a", "long", {"k": 1}) == whole
    assert nullable_field("a", "long") == nullable_field("a", "long", {}) == {**whole, "metadata": {}}
    assert spark_struct([whole, whole]) == {"type": "struct", "fields": [whole, whole]}


@pytest.mark.parametrize(
    ("kind", "logical", "stored"),
    [
        (LONG, "long", "long"),
        (primitive("int"), "integer", "integer"),
        (primitive("unknown"), "void", "void"),
        (primitive("time"), "time(6)", "time(6)"),
        (primitive("timestamp_ntz"), "timestamp_ntz", "timestamp_ntz"),
        (UUID, "string", "binary"),
        (FixedType(4), "binary", "binary"),
        (DecimalType(9, 2), "decimal(9,2)", "decimal(9,2)"),
        (
            ListType(Field(2, "element", UUID)),
            {"type": "array", "elementType": "string", "containsNull": True},
            {"type": "array", "elementType": "binary", "containsNull": True},
        ),
        (
            MapType(Field(2, "key", UUID), Field(3, "value", LONG)),
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
            {"type": "map", "keyType": "binary", "valueType": "long", "valueContainsNull": True},
        ),
        (
            StructType((Field(2, "m", UUID, required=True),)),
            {"type": "struct", "fields": [{"name": "m", "type": "string", "nullable": True, "metadata": {}}]},
            {"type": "struct", "fields": [{"name": "m", "id": 2}]},
        ),
    ],
    ids=str,
)
def test_types(kind: Type, logical: Any, stored: Any) -> None:
    assert logical_type(kind) == logical
    assert stored_type(kind, lambda f: {"name": f.name, "id": f.id}) == stored


@pytest.mark.parametrize(
    ("collation", "found"),
    [
        ("spark.UTF8_LCASE", "string collate UTF8_LCASE"),
        ("ICU.de_CI", "string collate de_CI"),
        ("other.x", "string"),
        ("spark.", "string"),
        (None, "string"),
    ],
)
def test_collations(collation: str | None, found: str) -> None:
    assert logical_type(STRING, collation) == found
    member = Field(2, "m", STRING, collation=collation)
    assert logical_type(StructType((member,)))["fields"][0]["type"] == found
    assert logical_type(ListType(member))["elementType"] == found
    assert stored_type(ListType(member), lambda f: {})["elementType"] == "string"


def test_texts_of_a_fixed_length() -> None:
    assert char_metadata(Field(1, "c", STRING, char_length=3)) == {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    assert char_metadata(Field(1, "c", STRING)) == {}
