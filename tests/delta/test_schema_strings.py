"""Schemas, partition columns and partition values of ``metaData`` actions, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.schema import partition_values
from tableformats_delta.schema.char_types import char_length, char_lengths, longest_texts, with_char_lengths
from tableformats_delta.schema.column_mapping import mapping_mode, name_mapping
from tableformats_delta.schema.features import check_protocol, feature_texts
from tableformats_delta.schema.partition_spec import partition_spec
from tableformats_delta.schema.partition_values import (
    BadRows,
    PartitionValueErrors,
    _texts_of,
    parse_partition_values,
    partition_struct,
)
from tableformats_delta.schema.row_tracking import row_tracking_columns, row_tracking_fields
from tableformats_delta.schema.schema_string import parse_schema
from tableformats_delta.schema.table_metadata import TableMetadata

import tableformats as tf
from tableformats.plugin import Field, ListType, MapType, ScanReport, Schema, StructType, primitive
from tests.support.delta_log import field, metadata, schema_string

Json = dict[str, Any]
STRING, LONG = primitive("string"), primitive("long")


def mapped(number: Any, physical: Any, **more: Any) -> Json:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical, **more}


def array(element: Any, **more: Any) -> Json:
    return {"type": "array", "elementType": element, "containsNull": True, **more}


def mapping(key: Any, value: Any, **more: Any) -> Json:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True, **more}


def parsed(*fields: Json, mode: str = "none") -> Schema:
    return parse_schema(schema_string(*fields), mode, "/log")


# ---- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("integer", "int"),
        ("long", "bigint"),
        ("decimal", "decimal(10,0)"),
        ("decimal(38,38)", "decimal(38,38)"),
        ("decimal( 1 , 0 )", "decimal(1,0)"),
        ("varchar(5)", "string"),
        ("void", "void"),
        (array("long"), "array<bigint>"),
        ({"type": "udt", "sqlType": array("date")}, "array<date>"),
    ],
)
def test_types(kind: Any, shown: str) -> None:
    assert str(parsed(field("c", kind)).fields[0].type) == shown


@pytest.mark.parametrize(
    ("kind", "error", "at"),
    [
        ("decimal(39,0)", tf.CorruptMetadataError, "c"),
        ("decimal(0,0)", tf.CorruptMetadataError, "c"),
        ("decimal(5,6)", tf.CorruptMetadataError, "c"),
        ("decimal(5)", tf.UnsupportedFeatureError, "c"),
        ("int", tf.UnsupportedFeatureError, "c"),
        (array("x"), tf.UnsupportedFeatureError, "c.element"),
        (mapping("string", "x"), tf.UnsupportedFeatureError, "c.value"),
        (mapping("x", "string"), tf.UnsupportedFeatureError, "c.key"),
        ({"type": "udt", "sqlType": "x"}, tf.UnsupportedFeatureError, "c.sqlType"),
        (None, tf.CorruptMetadataError, "c"),
        ({"type": "x"}, tf.CorruptMetadataError, "c"),
        ({"type": "struct"}, tf.CorruptMetadataError, "c"),
        ({"type": "struct", "fields": [5]}, tf.CorruptMetadataError, "c"),
    ],
)
def test_what_is_no_type(kind: Any, error: type[tf.TableFormatsError], at: str) -> None:
    with pytest.raises(error) as caught:
        parsed(field("c", kind))
    assert (caught.value.field, caught.value.path) == (at, "/log")


@pytest.mark.parametrize(
    "text", [5, "{", "[]", '{"type": "struct"}', '{"type": "x", "fields": []}', "5", '{"fields": []}']
)
def test_what_is_no_schema(text: Any) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        parse_schema(text, "none", "/log")
    assert caught.value.field == "metaData.schemaString"
    assert parse_schema(None, "none", "/log") == Schema(())


def test_names_that_stand_twice() -> None:
    with pytest.raises(tf.CorruptMetadataError, match="two columns of one name"):
        parsed(field("a", "long"), field("a", "long"))
    inner = {"type": "struct", "fields": [field("a", "long"), field("a", "long")]}
    with pytest.raises(tf.CorruptMetadataError) as caught:
        parsed(field("s", inner))
    assert caught.value.field == "s"


def test_what_may_be_null() -> None:
    strict = {**field("a", "long"), "nullable": False}
    schema = parsed(strict, field("b", "long"), {**field("c", "long"), "nullable": None})
    assert [f.required for f in schema.fields] == [True, False, False]
    kinds = [
        array("long", containsNull=False),
        array("long"),
        mapping("long", "long", valueContainsNull=False),
        mapping("long", "long"),
    ]
    listed, loose, mapped_, other = (parsed(field("c", kind)).fields[0].type for kind in kinds)
    assert isinstance(listed, ListType) and listed.element.required
    assert isinstance(loose, ListType) and not loose.element.required
    assert isinstance(mapped_, MapType) and mapped_.key.required and mapped_.value.required
    assert isinstance(other, MapType) and other.key.required and not other.value.required


def test_comments_and_metadata() -> None:
    first, second, third = parsed(
        field("a", "long", {"comment": "x", "more": 1}),
        field("b", "long", {"comment": 5}),
        {**field("c", "long"), "metadata": None},
    ).fields
    assert (
        (first.doc, first.metadata) == ("x", {"comment": "x", "more": 1})
        and second.doc is None
        and third.metadata == {}
    )
    with pytest.raises(tf.CorruptMetadataError) as caught:
        parsed({**field("a", "long"), "metadata": [1]})
    assert caught.value.field == "a"


def test_ids_of_fields() -> None:
    """Those of a mapped table are in its metadata, and what has none is numbered above them."""
    nested = {"delta.columnMapping.nested.ids": {"col-m.key": 7}}
    inner = {"type": "struct", "fields": [field("x", "long", mapped(3, "col-x"))]}
    fields = [
        field("s", inner, mapped(5, "col-s")),
        field("l", array("long"), mapped(2, "col-l")),
        field("m", mapping("long", "long"), mapped(4, "col-m", **nested)),
    ]
    schema = parsed(*fields, mode="name")
    assert [f.id for f in schema.fields] == [5, 2, 4] and [f.stored_name for f in schema.fields] == [
        "col-s",
        "col-l",
        "col-m",
    ]
    struct, listed, mapped_ = (f.type for f in schema.fields)
    assert isinstance(struct, StructType) and struct.fields[0].id == 3
    assert isinstance(listed, ListType) and listed.element.id == 8
    assert isinstance(mapped_, MapType) and (mapped_.key.id, mapped_.value.id) == (7, 9)
    plain = parsed(*fields)
    assert [f.id for f in plain.fields] == [1, 3, 5] and [f.stored_name for f in plain.fields] == ["s", "l", "m"]


@pytest.mark.parametrize("number", [1, 2**31 - 1])
def test_ids_that_are_allowed(number: int) -> None:
    assert parsed(field("a", "long", mapped(number, "x")), mode="id").fields[0].id == number


@pytest.mark.parametrize(
    "given",
    [mapped(0, "x"), mapped(-1, "x"), mapped(2**31, "x"), mapped(True, "x"), mapped("1", "x"), mapped(1, None), {}],
)
def test_ids_that_are_not(given: Json) -> None:
    with pytest.raises(tf.CorruptMetadataError, match="no id or no physical name") as caught:
        parsed(field("a", "long", given), mode="id")
    assert caught.value.field == "a"
    assert parsed(field("a", "long", given)).fields[0].id == 1


def test_one_id_of_two_columns() -> None:
    with pytest.raises(tf.CorruptMetadataError, match="share one id"):
        parsed(field("a", "long", mapped(1, "x")), field("b", "long", mapped(1, "y")), mode="id")


COLLATED = {"c": "A", "c.element": "B", "c.key": "C", "c.value": "D", "c.value.element": "E"}


@pytest.mark.parametrize(
    ("kind", "given", "found"),
    [
        ("string", {"c": "A"}, ["A"]),
        ("string", {"x": "A"}, ["A"]),
        ("string", {}, ["unknown"]),
        ("string", {"other": "A"}, ["unknown"]),
        ("string", 5, ["unknown"]),
        ("long", {"c": "A"}, [None]),
        (array("string"), COLLATED, ["B"]),
        (array("string"), {"x.element": "B"}, ["B"]),
        (array("string"), {"other": "B"}, [None]),
        (array("string"), {}, ["unknown"]),
        (mapping("string", "string"), COLLATED, ["C", "D"]),
        (mapping("string", "string"), {"c.key": "C"}, ["C", None]),
        (mapping("string", array("string")), COLLATED, ["C", "E"]),
    ],
)
def test_collations(kind: Any, given: Any, found: list[str | None]) -> None:
    """By the name of the column or the physical one; a string without one has one that is not known."""
    (f,) = parsed(field("c", kind, mapped(1, "x", __COLLATIONS=given)), mode="name").fields

    def leaves(one: Field) -> list[str | None]:
        if isinstance(one.type, ListType):
            return leaves(one.type.element)
        if isinstance(one.type, MapType):
            return [*leaves(one.type.key), *leaves(one.type.value)]
        return [one.collation]

    assert leaves(f) == found
    assert parsed(field("c", "string")).fields[0].collation is None


# ---- CHAR ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        ("char(5)", 5),
        ("CHAR( 4096 )", 4096),
        ("char(000000005)", 5),
        ("char(0)", None),
        ("varchar(5)", None),
        ("string", None),
        (5, None),
    ],
)
def test_lengths(kind: Any, length: int | None) -> None:
    assert char_length(kind, "c", "/log") == length


@pytest.mark.parametrize("length", ["4097", "0" * 10, "9" * 30])
def test_lengths_that_are_too_great(length: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        char_length(f"char({length})", "c", "/log")
    assert (caught.value.field, caught.value.path) == ("c", "/log")


def described(kind: Any, text: Any) -> Field:
    (f,) = parsed(field("c", kind)).fields
    return Field(f.id, f.name, f.type, metadata={"__CHAR_VARCHAR_TYPE_STRING": text})


NESTED = {"type": "struct", "fields": [field("a", "string"), field("b", array("string")), field("d", "long")]}


@pytest.mark.parametrize(
    ("kind", "text", "lengths", "longest"),
    [
        ("string", "char(3)", [3], {(): 3}),
        ("string", "varchar(4)", [], {(): 4}),
        ("string", "string", [], {}),
        ("long", "bigint", [], {}),
        (NESTED, "struct<a:char(2),b:array<varchar(5)>,d:bigint>", [2], {("a",): 2, ("b", "element"): 5}),
        (NESTED, "struct<x:char(2),`y z`:array<char(5)>,d:bigint>", [2, 5], {("a",): 2, ("b", "element"): 5}),
        (NESTED, "struct<a:char(2),b:array<varchar(5)>>", [], None),
        (NESTED, "struct<a:char(2),b:array<varchar(5)>,d:bigint> ", [], None),
        (NESTED, "struct<a:char(2);b:array<varchar(5)>,d:bigint>", [], None),
        (NESTED, "array<char(2)>", [], None),
        (mapping("string", "string"), "map<char(2),char(3)>", [2, 3], {("key",): 2, ("value",): 3}),
        ("string", "", [], None),
    ],
)
def test_texts_of_types(kind: Any, text: str, lengths: list[int], longest: Any) -> None:
    f = described(kind, text)
    found = with_char_lengths(f, "c", "/log")
    assert [length for _, length in char_lengths([found])] == lengths
    assert longest_texts(f, "c", "/log") == longest


def test_a_text_that_is_none() -> None:
    f = described("string", 5)
    assert with_char_lengths(f, "c", "/log") is f


# ---- mapping, protocols, metadata ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "given", "mode"),
    [
        ({"minReaderVersion": 2}, "name", "name"),
        ({"minReaderVersion": 2}, None, "none"),
        ({"minReaderVersion": 1}, "name", "none"),
        ({"minReaderVersion": 3, "readerFeatures": ["columnMapping"]}, "id", "id"),
        ({"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]}, "id", "none"),
        ({"minReaderVersion": 3, "readerFeatures": None}, "x", "none"),
    ],
)
def test_modes(protocol: Json, given: str | None, mode: str) -> None:
    properties = {} if given is None else {"delta.columnMapping.mode": given}
    assert mapping_mode(properties, protocol, "/log") == mode
    assert name_mapping(mode).by == ("id" if mode == "id" else "name") and name_mapping(mode).partition_values_first


def test_a_mode_that_is_none() -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        mapping_mode({"delta.columnMapping.mode": "x"}, {"minReaderVersion": 2}, "/log")
    assert (caught.value.field, caught.value.path) == ("delta.columnMapping.mode", "/log")


@pytest.mark.parametrize(
    ("protocol", "at"),
    [
        ({"minReaderVersion": 1}, None),
        ({"minReaderVersion": 3, "readerFeatures": []}, None),
        ({"minReaderVersion": 3, "readerFeatures": ("timestampNtz",), "writerFeatures": ["x"]}, None),
        ({"minReaderVersion": 2, "readerFeatures": ["x"]}, None),
        ({"minReaderVersion": 0}, "protocol.minReaderVersion"),
        ({"minReaderVersion": True}, "protocol.minReaderVersion"),
        ({"minReaderVersion": 4}, "minReaderVersion"),
        ({"minReaderVersion": 3}, "protocol.readerFeatures"),
        ({"minReaderVersion": 1, "writerFeatures": "x"}, "protocol.writerFeatures"),
        ({"minReaderVersion": 1, "readerFeatures": [1]}, "protocol.readerFeatures"),
        ({"minReaderVersion": 3, "readerFeatures": ["timestampNtz", "x"]}, "x"),
        ({"minReaderVersion": 3, "readerFeatures": ["geospatial"]}, "geospatial"),
        ({"minReaderVersion": 3, "readerFeatures": ["catalogManaged"]}, "catalogManaged"),
    ],
)
def test_protocols(protocol: Json, at: str | None) -> None:
    if at is None:
        check_protocol(protocol, "/log")
        return
    with pytest.raises((tf.UnsupportedFeatureError, tf.CorruptMetadataError)) as caught:
        check_protocol(protocol, "/log")
    assert (caught.value.field, caught.value.path) == (at, "/log")
    if at == "catalogManaged":
        assert "only its catalog knows" in str(caught.value)
        check_protocol(protocol, "/log", is_of_catalog=True)


def test_protocols_as_texts() -> None:
    assert feature_texts(
        {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["b"], "writerFeatures": ("a", "b")}
    ) == (
        "reader version 3",
        "writer version 7",
        "a",
        "b",
    )
    assert feature_texts({"minWriterVersion": 2, "readerFeatures": 5}) == ("writer version 2",)


@pytest.mark.parametrize(
    ("given", "properties"), [(None, {}), ({}, {}), ({"a": "b", "c": None, "d": 5}, {"a": "b", "d": "5"})]
)
def test_properties(given: Any, properties: dict[str, str]) -> None:
    action = {**metadata(), "configuration": given, "partitionColumns": None}
    found = TableMetadata.of_actions(action, {"minReaderVersion": 1}, "/log", tf.Limits())
    assert (found.properties, found.partition_columns, found.mapping_mode) == (properties, (), "none")
    with pytest.raises(tf.CorruptMetadataError) as caught:
        TableMetadata.of_actions({**action, "configuration": [1]}, {"minReaderVersion": 1}, "/log", tf.Limits())
    assert (caught.value.field, caught.value.path) == ("metaData.configuration", "/log")


def test_columns_of_row_tracking() -> None:
    names = {"delta.rowTracking.materializedRowIdColumnName": "x"}
    ids, versions = row_tracking_columns({"delta.enableRowTracking": "TRUE", **names})
    assert (ids.field.id, ids.field.name, ids.per_file, ids.stored_name) == (-1, "_metadata.row_id", "base_row_id", "x")
    assert (versions.field.id, versions.field.name) == (-2, "_metadata.row_commit_version")
    assert (versions.per_file, versions.stored_name) == ("row_commit_version", None)
    assert ids.counts_rows and not versions.counts_rows
    assert row_tracking_columns({"delta.enableRowTracking": "false"}) == row_tracking_columns({}) == ()


@pytest.mark.parametrize(
    ("configuration", "features", "is_tracked"),
    [
        ({"delta.enableRowTracking": "true"}, None, True),
        ({}, ["appendOnly", "rowTracking"], True),
        ({"delta.enableRowTracking": "false"}, ["rowTracking"], True),
        ({"delta.enableRowTracking": "false"}, ["appendOnly"], False),
        ({}, [], False),
        ({}, None, False),
    ],
)
def test_fields_of_row_tracking(configuration: dict[str, str], features: list[str] | None, is_tracked: bool) -> None:
    """Files of a table that once tracked rows keep theirs."""
    found = row_tracking_fields(configuration, {"minWriterVersion": 7, "writerFeatures": features})
    assert found == (("base_row_id", "row_commit_version") if is_tracked else ())


# ---- partitions ------------------------------------------------------------------------------------------------------


def test_partition_columns() -> None:
    schema = parsed(field("a", "long"), field("b", "string"), field("l", array("long")))
    spec, fields = partition_spec(["b", "a"], schema, "/log")
    assert [(f.id, f.name, f.source_id) for f in spec.fields] == [(1000, "b", 2), (1001, "a", 1)]
    assert [f.name for f in fields] == ["b", "a"] and spec.implied == ()
    assert partition_spec((), schema, "/log")[0].fields == ()
    for wrong, at in (
        (["x"], "x"),
        (["l"], "l"),
        ("ab", "metaData.partitionColumns"),
        ([1], "metaData.partitionColumns"),
    ):
        with pytest.raises(tf.CorruptMetadataError) as caught:
            partition_spec(wrong, schema, "/log")
        assert (caught.value.field, caught.value.path) == (at, "/log")


MAP = pa.map_(pa.string(), pa.string())
CODED = pa.map_(pa.dictionary(pa.int32(), pa.string()), pa.string())


def maps(*values: Any, coded: bool = False) -> pa.MapArray:
    plain = pa.array(values, MAP)
    if not coded:
        return plain
    keys = plain.keys.dictionary_encode()
    return pa.MapArray.from_arrays(plain.offsets, keys, plain.items)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([[("p", "1")], [("p", "2")]], ["1", "2"]),
        ([[("p", "1"), ("q", "x")], [("q", "y"), ("p", "2")]], ["1", "2"]),
        ([[("q", "x")], [("p", "2")], []], [None, "2", None]),
        ([[("p", "1"), ("p", "2")]], ["1"]),
        ([[("p", None)], [("p", "")]], [None, ""]),
        ([[("q", "x")]], [None]),
        ([[]], [None]),
        ([], []),
    ],
)
def test_texts_of_one_column(values: list[Any], texts: list[Any], coded: bool) -> None:
    assert _texts_of(maps(*values, coded=coded), "p").to_pylist() == texts


def test_texts_of_rows_without_partition_values() -> None:
    assert _texts_of(maps([("p", "1")], None, [("p", "3")]), "p").to_pylist() == ["1", None, "3"]
    assert _texts_of(maps([("p", "1")], [("p", "2")], [("p", "3")]).slice(1, 1), "p").to_pylist() == ["2"]


def test_rows_without_partition_values_that_hold_some() -> None:
    """What stands behind a NULL is no value."""
    offsets, keys, items = pa.array([0, 1, 2], pa.int32()), pa.array(["p", "p"]), pa.array(["1", "2"])
    hidden = pa.MapArray.from_arrays(offsets, keys, items, mask=pa.array([False, True]))
    assert _texts_of(hidden, "p").to_pylist() == ["1", None]


def test_partition_values_of_a_batch() -> None:
    values = maps([("p", "1"), ("q", "a")], None, [("p", "x"), ("q", "")], [("q", "b")])
    fields = {1000: Field(1, "p", LONG), 1001: Field(2, "q", STRING, char_length=3)}
    found, bad = partition_struct(values, fields, ScanReport())
    assert found.to_pylist() == [
        {"1000": 1, "1001": "a  "},
        {"1000": None, "1001": None},
        {"1000": None, "1001": None},
        {"1000": None, "1001": "b  "},
    ]
    assert [(some.rows.tolist(), some.texts is None, some.field.name) for some in bad] == [
        ([1], True, "p"),
        ([2], False, "p"),
    ]
    errors = PartitionValueErrors(bad, "/log")
    assert errors.rows.tolist() == [1, 2]
    told = [str(errors.error_of(row)).split("\n")[0] for row in (1, 2)]
    assert "a file has no partition values" in told[0] and "'x' is no bigint" in told[1]
    none, nothing = partition_struct(values, {}, ScanReport())
    assert len(none) == 4 and none.null_count == 0 and nothing == []


def test_times_without_a_zone_are_noted() -> None:
    field_ = Field(1, "t", primitive("timestamp"))
    for text, zone, notes in (
        ("2024-01-01 00:00:00", None, 1),
        ("2024-01-01 00:00:00", "+01:00", 0),
        ("2024-01-01T00:00:00Z", None, 0),
        ("", None, 0),
    ):
        report = ScanReport()
        partition_struct(maps([("t", text)]), {1000: field_}, report, zone)
        assert len(report.notes) == notes, text
    found = parse_partition_values(
        pa.array(["2024-01-01 00:00:00", "x", None, "2024-01-01T00:00:00Z"]), field_, "+01:00"
    )
    hour = 3_600_000_000
    start = 1_704_067_200_000_000
    assert found.values.cast(pa.int64()).to_pylist() == [start - hour, None, None, start]
    assert found.bad.tolist() == [1] and found.without_zone


@pytest.mark.parametrize("most", [0, 4096])
def test_many_distinct_texts(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not kept."""
    monkeypatch.setattr(partition_values, "_MAX_CACHED_TEXTS", most)
    before = partition_values._parsed.cache_info().misses
    found = parse_partition_values(pa.array(["7", f"no number {most}", "7", None, "true"]), Field(1, "p", LONG))
    assert found.values.to_pylist() == [7, None, 7, None, None] and found.bad.tolist() == [1, 4]
    assert partition_values._parsed.cache_info().misses - before == (1 if most else 0)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "TRUE", True),
        ("boolean", "false", False),
        ("boolean", "1", None),
        ("binary", "é", "é".encode()),
        ("unknown", "x", None),
        ("double", "NaN", "nan"),
        ("timestamp_ntz", "x", None),
    ],
)
def test_values_of_types(kind: str, text: str, value: Any) -> None:
    found = parse_partition_values(pa.array([text]), Field(1, "p", primitive(kind)))
    (one,) = found.values.to_pylist()
    assert (str(one) if value == "nan" else one) == value
    assert found.bad.tolist() == ([0] if value is None and kind != "unknown" else []) and not found.without_zone


def test_types_that_cannot_partition() -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        parse_partition_values(pa.array(["x"]), Field(1, "p", ListType(Field(2, "element", LONG))))
    assert caught.value.field == "p"


def test_rows_of_several_columns_are_in_order() -> None:
    some = [BadRows(np.array(rows), None, Field(1, name, LONG)) for name, rows in (("p", [3, 5]), ("q", [1, 3]))]
    errors = PartitionValueErrors(some, "/log")
    assert errors.rows.tolist() == [1, 3, 3, 5] and errors.error_of(1).field == "q" and errors.error_of(3).field == "p"
    assert errors.error_of(5).field == "p"
