"""Schemas and name mappings of Iceberg metadata: ids, nesting, types, and how much a small text may stand for."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.metadata_columns import metadata_columns
from tableformats_iceberg.metadata.schema import field_ids, parse_name_mapping, parse_schema

from tableformats.errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from tableformats.limits import Limits
from tableformats.plugin import (
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    MetadataColumn,
    Schema,
    StructType,
    primitive,
)

INT, STRING = primitive("int"), primitive("string")


def column(number: Any, name: Any, kind: Any = "int", **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "required": False, "type": kind, **more}


def struct_of(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def list_of(number: int, kind: Any, required: bool = False) -> dict[str, Any]:
    return {"type": "list", "element-id": number, "element": kind, "element-required": required}


def map_of(number: int, key: Any, value: Any, required: bool = False) -> dict[str, Any]:
    ids = {"key-id": number, "value-id": number + 1, "value-required": required}
    return {"type": "map", "key": key, "value": value, **ids}


def parsed(*fields: dict[str, Any], limits: Limits | None = None, **more: Any) -> Schema:
    return parse_schema(Node({**struct_of(*fields), **more}, "m", "schemas[0]", limits or Limits()))


def test_a_schema_of_all_kinds_of_types() -> None:
    found = parsed(
        column(1, "a", doc="first", required=True),
        column(2, "b", struct_of(column(3, "c", "string"))),
        column(4, "d", list_of(5, "int", True)),
        column(6, "e", map_of(7, "string", list_of(9, "int"))),
        column(10, "f", list_of(11, "geometry(srid:3857)")),
        column(12, "g", "geography"),
        **{"schema-id": 7},
    )
    geo = {"logical_type": "geometry(srid:3857)"}
    assert found == Schema(
        (
            Field(1, "a", INT, True, doc="first"),
            Field(2, "b", StructType((Field(3, "c", STRING, False),)), False),
            Field(4, "d", ListType(Field(5, "element", INT, True)), False),
            Field(
                6,
                "e",
                MapType(
                    Field(7, "key", STRING, True),
                    Field(8, "value", ListType(Field(9, "element", INT, False)), False),
                ),
                False,
            ),
            Field(10, "f", ListType(Field(11, "element", primitive("binary"), False, metadata=geo)), False),
            Field(12, "g", primitive("binary"), False, metadata={"logical_type": "geography"}),
        ),
        7,
    )
    assert list(field_ids(found.fields)) == list(range(1, 13))
    metadata = [dict(f.metadata) for f in found.fields]
    assert metadata == [{}, {}, {}, {}, {}, {"logical_type": "geography"}]
    assert isinstance(found.fields[4].type, ListType) and dict(found.fields[4].type.element.metadata) == geo
    assert parsed().id is None and parsed().fields == ()


@pytest.mark.parametrize(
    ("field", "named"),
    [
        (column(2**31, "a"), "schemas[0].fields[0].id"),
        (column(1, "a", list_of(2**31, "int")), "schemas[0].fields[0].type.element-id"),
        (column(1, "a", map_of(2**31, "int", "int")), "schemas[0].fields[0].type.key-id"),
        (column(1, "a", map_of(2**31 - 1, "int", "int")), "schemas[0].fields[0].type.value-id"),
        (column(1, 5), "schemas[0].fields[0].name"),
        (column(1, "a", required=5), "schemas[0].fields[0].required"),
        (column(1, "a", doc=5), "schemas[0].fields[0].doc"),
        (column(1, "a", 5), "schemas[0].fields[0].type"),
        (column(1, "a", {"type": 5}), "schemas[0].fields[0].type.type"),
        (column(1, "a", {"type": "heap"}), "schemas[0].fields[0].type"),
        (column(1, "a", {"type": "struct", "fields": {}}), "schemas[0].fields[0].type.fields"),
        (column(1, "a", {"type": "struct"}), "schemas[0].fields[0].type.fields"),
        (column(1, "a", list_of(1, "int")), "schemas[0].fields"),
    ],
)
def test_fields_that_are_none(field: dict[str, Any], named: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parsed(field)
    assert (caught.value.field, caught.value.path) == (named, "m")


def test_ids_of_schemas_have_32_bits() -> None:
    assert parsed(**{"schema-id": 2**31 - 1}).id == 2**31 - 1
    with pytest.raises(CorruptMetadataError, match="does not fit into 32 bits"):
        parsed(**{"schema-id": 2**31})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("decimal(1,0)", DecimalType(1, 0)),
        ("decimal(38, 38)", DecimalType(38, 38)),
        ("decimal( 9 , 2 )", DecimalType(9, 2)),
        ("fixed[0]", FixedType(0)),
        ("fixed[ 16 ]", FixedType(16)),
    ],
)
def test_types_with_numbers(text: str, kind: Any) -> None:
    assert parsed(column(1, "a", text)).fields[0].type == kind


@pytest.mark.parametrize("text", ["decimal(0,0)", "decimal(39,0)", "decimal(38,39)", "decimal(1,2)"])
def test_decimals_that_are_none(text: str) -> None:
    with pytest.raises(CorruptMetadataError, match="is no decimal type") as caught:
        parsed(column(1, "a", text))
    assert caught.value.field == "schemas[0].fields[0].type"


@pytest.mark.parametrize("text", ["decimal(9)", "fixed", "fixed[]", "geometries", "INT", "x" * 200])
def test_types_that_are_unknown(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parsed(column(1, "a", text))
    assert f"the schema uses the type {text[:100]!r} " in f"{caught.value} "
    assert (caught.value.field, caught.value.path) == ("schemas[0].fields[0].type", "m")


# ---- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "depth"),
    [
        ([column(1, "a", struct_of(column(2, "b")))], 2),
        ([column(1, "a", list_of(2, "int"))], 2),
        ([column(1, "a", map_of(2, "int", "int"))], 2),
        ([column(1, "a", map_of(2, "int", list_of(4, "int")))], 3),
        ([column(1, "a", map_of(2, list_of(4, "int"), "int"))], 3),
        ([column(1, "a", list_of(2, struct_of(column(3, "b", list_of(4, "int")))))], 4),
    ],
)
def test_levels_of_types(fields: list[dict[str, Any]], depth: int) -> None:
    parsed(*fields, limits=Limits(nesting=depth))
    with pytest.raises(LimitExceededError, match=f"{depth} levels of types or more in a schema") as caught:
        parsed(*fields, limits=Limits(nesting=depth - 1))
    assert (caught.value.limit, caught.value.path) == ("nesting", "m")


def test_numbers_of_fields() -> None:
    fields = [column(1, "a", list_of(2, "int")), column(3, "b")]
    parsed(*fields, limits=Limits(fields=3))
    with pytest.raises(LimitExceededError, match="3 fields of a schema") as caught:
        parsed(*fields, limits=Limits(fields=2))
    assert (caught.value.limit, caught.value.field) == ("fields", "schemas[0]")
    with pytest.raises(LimitExceededError) as unnamed:
        parse_schema(Node(struct_of(*fields), "m", limits=Limits(fields=2)))
    assert unnamed.value.field is None


def expanded(*fields: dict[str, Any]) -> int:
    """The characters of dotted names, as a limit that lets none pass says."""
    limits = Limits(expansion=1)
    long = "x" * (1 << 18)
    with pytest.raises(LimitExceededError, match="characters of dotted names") as caught:
        parsed(*fields, column(99, long), limits=limits)
    assert caught.value.field == "schemas[0]"
    return int(str(caught.value).split(" characters")[0].rsplit(" ", 1)[-1]) - len(long)


@pytest.mark.parametrize(
    ("fields", "characters"),
    [
        ([column(1, "abc")], 3),
        ([column(1, "abc"), column(2, "de")], 5),
        ([column(1, "abc", struct_of(column(2, "de")))], 3 + 6),
        ([column(1, "abc", struct_of(column(2, "de", struct_of(column(3, "f")))))], 3 + 6 + 8),
        ([column(1, "abc", list_of(2, "int"))], 3 + 11),
        ([column(1, "abc", map_of(2, "int", "int"))], 3 + 7 + 9),
    ],
)
def test_characters_of_dotted_names(fields: list[dict[str, Any]], characters: int) -> None:
    """``abc.de`` has 6, ``abc.element`` 11, and ``abc.key`` and ``abc.value`` 7 and 9."""
    assert expanded(*fields) == characters


LONG = "x" * (2 << 20)


@pytest.mark.parametrize(
    ("fields", "is_refused"),
    [
        ([column(1, LONG)], False),
        ([column(1, LONG), column(2, "a", struct_of(*(column(3 + i, "b") for i in range(60))))], False),
        ([column(1, "a", struct_of(column(2, LONG)))], False),
        ([column(1, "a" * 94, struct_of(column(2, LONG)))], False),
        ([column(1, "a" * 96, struct_of(column(2, LONG)))], True),
    ],
    ids=["one name", "many members", "a long name inside", "95 characters more", "97 characters more"],
)
def test_dotted_names_of_long_names(fields: list[dict[str, Any]], is_refused: bool) -> None:
    """8 bytes for each of their characters, against 8 for each byte of the schema: its names, and 48 for a field."""
    if not is_refused:
        parsed(*fields, limits=Limits(expansion=8))
        return
    with pytest.raises(LimitExceededError, match="characters of dotted names"):
        parsed(*fields, limits=Limits(expansion=8))


# ---- default values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("decimal(4, 2)", "99.99", "99.99"),
        ("decimal(38, 0)", "9" * 38, "9" * 38),
        ("timestamp", "2017-11-16T22:31:08.1234567", dt.datetime(2017, 11, 16, 22, 31, 8, 123456)),
        ("timestamp_ns", "1970-01-01T00:00:00.5", 500_000_000),
        ("timestamp_ns", "1970-01-02T00:00:01", 86_401_000_000_000),
        ("timestamp_ns", "1969-12-31T00:00:00.000000001", -86_399_999_999_999),
        ("timestamptz_ns", "1970-01-01T01:00:00+01:00", 0),
        ("timestamptz_ns", "1970-01-01T00:00:00Z", 0),
    ],
)
def test_defaults(kind: str, stored: str, value: Any) -> None:
    found = parsed(column(1, "a", kind, **{"initial-default": stored})).fields[0].initial_default
    assert str(found) == value if isinstance(value, str) else found == value


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("decimal(4, 2)", "-100.00"),
        ("decimal(4, 2)", "99.995"),
        ("timestamp_ns", "1970-01-01T00:00:00+00:00"),
        ("timestamptz_ns", "1970-01-01T00:00:00"),
        ("timestamp", "1970-01-01"),
        ("timestamp", "1970-01-01T00:00:00."),
        ("variant", "x"),
        ("unknown", "x"),
        ("double", "1"),
        ("double", True),
    ],
)
def test_defaults_that_are_none(kind: str, stored: Any) -> None:
    with pytest.raises(CorruptMetadataError, match="the default value is no") as caught:
        parsed(column(1, "a", kind, **{"initial-default": stored}))
    assert caught.value.field == "schemas[0].fields[0].initial-default"


# ---- name mappings --------------------------------------------------------------------------------------------------


def mapped(mapping: Any, limits: Limits | None = None) -> dict[str, int]:
    text = mapping if isinstance(mapping, str) else json.dumps(mapping)
    return dict(parse_name_mapping({"schema.name-mapping.default": text}, "m", limits or Limits()).names)


def test_names_below_several_names() -> None:
    below = [{"field-id": 2, "names": ["x", "y"]}, {"names": ["z"], "fields": [{"field-id": 3, "names": ["w"]}]}]
    mapping = [{"field-id": 1, "names": ["a", "b"], "fields": below}, {"field-id": 4}, {"field-id": 5, "names": []}]
    paths = {"a.x": 2, "a.y": 2, "b.x": 2, "b.y": 2, "a.z.w": 3, "b.z.w": 3}
    assert mapped(mapping) == {"a": 1, "b": 1, **paths}
    assert mapped("") == mapped("[]") == {}
    assert parse_name_mapping({}, "m").names == {}


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ([{"names": "a"}], "fields[0]"),
        ([{"names": ["a", 5]}], "fields[0]"),
        ([{"names": ["a"], "field-id": 2**31}], "fields[0].field-id"),
        ([{"names": ["a"], "fields": 5}], "fields[0].fields"),
        ([{"names": ["a"], "fields": [{"names": [5]}]}], "fields[0].fields[0]"),
        ({"names": ["a"]}, "fields"),
    ],
)
def test_name_mappings_that_are_none(mapping: Any, field: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        mapped(mapping)
    assert caught.value.field == f"schema.name-mapping.default.{field}"
    assert mapped([{"names": ["a"], "field-id": 2**31 - 1}]) == {"a": 2**31 - 1}


def test_levels_of_name_mappings() -> None:
    mapping = [{"names": ["a"], "fields": [{"names": ["b"], "fields": [{"names": ["c"], "field-id": 1}]}]}]
    assert mapped(mapping, Limits(nesting=2)) == {"a.b.c": 1}
    with pytest.raises(LimitExceededError, match="2 levels or more of a name mapping") as caught:
        mapped(mapping, Limits(nesting=1))
    assert caught.value.limit == "nesting"


def test_numbers_of_names() -> None:
    """Names without ids count once, with those that have ids before them."""
    mapping = [{"names": ["a", "b"], "field-id": 1, "fields": [{"names": ["x", "y"], "field-id": 2}]}]
    assert len(mapped(mapping, Limits(fields=6))) == 6
    with pytest.raises(LimitExceededError, match="6 names or more of a name mapping") as caught:
        mapped(mapping, Limits(fields=5))
    assert (caught.value.limit, caught.value.field) == ("fields", "schema.name-mapping.default")


@pytest.mark.parametrize(("above", "below", "longest"), [(["x"], ["a", "bc"], 174_681), (["x", "y"], ["a"], 130_991)])
def test_memory_of_dotted_names(above: list[str], below: list[str], longest: int) -> None:
    """Each takes 160 bytes and 2 for each of its characters. 1 MiB may be made of a small text."""

    def names(length: int) -> dict[str, int]:
        long = [name * length for name in above]
        return mapped(
            [{"names": long, "field-id": 1, "fields": [{"names": below, "field-id": 2}]}], Limits(expansion=1)
        )

    found = names(longest)
    assert len(found) == len(above) + len(above) * len(below)
    assert 160 * len(found) + 2 * sum(map(len, found)) == 1 << 20
    with pytest.raises(LimitExceededError, match=r"names of .* characters of a name mapping") as caught:
        names(longest + 1)
    assert (caught.value.limit, caught.value.field) == ("expansion", "schema.name-mapping.default")


# ---- metadata columns -----------------------------------------------------------------------------------------------


def test_metadata_columns() -> None:
    long = primitive("long")
    assert metadata_columns(3, {}, Schema(())) == (
        MetadataColumn(Field(2147483646, "_file", STRING), "path"),
        MetadataColumn(Field(2147483645, "_pos", long), None, counts_rows=True),
        MetadataColumn(Field(2147483643, "_spec_id", INT), "spec_id"),
        MetadataColumn(Field(2147483642, "_partition", StructType(())), "partition"),
        MetadataColumn(
            Field(2147483540, "_row_id", long),
            "first_row_id",
            counts_rows=True,
            stored_id=2147483540,
            null_without="first_row_id",
        ),
        MetadataColumn(
            Field(2147483539, "_last_updated_sequence_number", long),
            "data_sequence_number",
            stored_id=2147483539,
            null_without="first_row_id",
        ),
    )
