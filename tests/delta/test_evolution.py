"""New metaData and protocol actions from old ones: columns, properties, constraints, and the protocol for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_delta.evolution.metadata_change import changed_table, with_commit
from tableformats_delta.evolution.protocol_upgrade import with_features, writer_features
from tableformats_delta.evolution.schema_json import ColumnIds, struct_json
from tableformats_delta.schema.schema_string import parse_schema

import tableformats as tf
from tableformats.plugin import (
    DecimalType,
    Field,
    ListType,
    MapType,
    MetadataChange,
    Schema,
    StructType,
    number_fields,
    primitive,
)

from ..support.delta_log import PROTOCOL, field, metadata

INT, LONG, TEXT, DATE = (primitive(name) for name in ("int", "long", "string", "date"))
STRUCT = {"type": "struct", "fields": [field("x", "integer"), field("y", "string")]}
LISTS = {"type": "array", "elementType": "integer", "containsNull": True}
MAPS = {"type": "map", "keyType": "integer", "valueType": STRUCT, "valueContainsNull": True}
COLUMNS = [
    {**field("id", "integer", {"comment": "key", "of others": [1]}), "more": 1},
    field("s", STRUCT),
    field("l", LISTS),
    field("m", MAPS),
    field("p", "string"),
]
LEGACY = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (1, 4), 5: (2, 5), 6: (2, 6)}


class Table:
    """The actions of a table, and what an alteration makes of them."""

    def __init__(self, *columns: dict[str, Any], protocol: dict[str, Any] | None = None, **configuration: str) -> None:
        self.metadata = metadata(
            *(columns or COLUMNS), partition=("p",) if not columns else (), configuration=configuration
        )
        self.protocol = protocol or PROTOCOL

    @property
    def schema(self) -> Schema:
        mode = (self.metadata["configuration"] or {}).get("delta.columnMapping.mode", "none")
        return parse_schema(self.metadata["schemaString"], mode, "t")

    @property
    def fields(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.metadata["schemaString"])["fields"]
        return found

    def alter(self, **change: Any) -> Table:
        before = json.dumps([self.metadata, self.protocol])
        altered = changed_table(self.metadata, self.protocol, MetadataChange(**change), path="t")
        assert json.dumps([self.metadata, self.protocol]) == before, "the old actions stay"
        found = Table()
        found.metadata, found.protocol = altered.metadata, altered.protocol
        assert found.schema is not None
        return found

    def with_columns(self, *fields: Field) -> Table:
        return self.alter(schema=Schema(fields))


def mapped(*columns: dict[str, Any]) -> Table:
    return Table(*columns).alter(properties={"delta.columnMapping.mode": "name"})


def refused(table: Table, name: str, *fields: Field, **change: Any) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        table.alter(**change) if change else table.with_columns(*fields)
    assert caught.value.field == name


# ---- protocol ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "names", "versions", "writers", "readers"),
    [
        ((1, 2), ["appendOnly"], (1, 2), None, None),
        ((1, 1), ["appendOnly", "invariants"], (1, 2), None, None),
        ((1, 1), ["appendOnly"], (1, 7), ["appendOnly"], None),
        ((1, 2), ["checkConstraints"], (1, 3), None, None),
        ((1, 2), ["changeDataFeed"], (1, 7), ["appendOnly", "changeDataFeed", "invariants"], None),
        ((1, 3), ["changeDataFeed", "generatedColumns"], (1, 4), None, None),
        ((1, 4), ["columnMapping"], (2, 5), None, None),
        ((1, 2), ["columnMapping"], (3, 7), ["appendOnly", "columnMapping", "invariants"], ["columnMapping"]),
        ((2, 5), ["identityColumns"], (2, 6), None, None),
        ((1, 2), ["rowTracking"], (1, 7), ["appendOnly", "domainMetadata", "invariants", "rowTracking"], None),
        ((1, 2), ["timestampNtz"], (3, 7), ["appendOnly", "invariants", "timestampNtz"], ["timestampNtz"]),
    ],
)
def test_the_least_protocol(
    old: tuple[int, int], names: list[str], versions: tuple[int, int], writers: Any, readers: Any
) -> None:
    found = with_features(dict(zip(("minReaderVersion", "minWriterVersion"), old, strict=True)), names)
    assert (found["minReaderVersion"], found["minWriterVersion"]) == versions
    assert (found.get("writerFeatures"), found.get("readerFeatures")) == (writers, readers)


def test_listed_features_stay_listed() -> None:
    """Also where an older version has the same ones."""
    listed = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly"]}
    assert with_features(listed, ["invariants"]) == {**listed, "writerFeatures": ["appendOnly", "invariants"]}


NAMES = ["appendOnly", "checkConstraints", "columnMapping", "deletionVectors", "rowTracking", "unknown", "v2Checkpoint"]


@given(start=st.sampled_from(sorted(LEGACY)), steps=st.lists(st.sets(st.sampled_from(NAMES)), max_size=4))
@settings(deadline=None)
def test_features_are_added_and_never_lost(start: int, steps: list[set[str]]) -> None:
    protocol: dict[str, Any] = dict(zip(("minReaderVersion", "minWriterVersion"), LEGACY[start], strict=True))
    for names in steps:
        new = with_features(protocol, names)
        assert writer_features(new) >= writer_features(protocol) | names
        assert all(new[key] >= protocol[key] for key in ("minReaderVersion", "minWriterVersion"))
        assert ("writerFeatures" in new) == (new["minWriterVersion"] == 7)
        assert ("readerFeatures" in new) == (new["minReaderVersion"] == 3)
        assert set(new.get("readerFeatures", ())) <= set(new.get("writerFeatures", ()))
        if new["minReaderVersion"] == 3 and protocol["minReaderVersion"] >= 2:
            assert "columnMapping" in new["readerFeatures"] or "columnMapping" not in writer_features(protocol)
        assert with_features(new, names) == new
        protocol = new


# ---- columns -------------------------------------------------------------------------------------------------------


def test_what_does_not_change_stays_as_it_was_spelled() -> None:
    table = Table()
    table.metadata["description"], table.metadata["ours"] = "of the table", [None]
    same = table.with_columns(*table.schema.fields)
    assert (
        same.metadata == table.metadata | {"schemaString": same.metadata["schemaString"]}
        and same.fields == table.fields
    )
    assert same.protocol == table.protocol


def test_columns_are_added_anywhere() -> None:
    table = Table()
    first, struct, *rest = table.schema.fields
    inside = replace(
        struct, type=StructType((*struct.type.members, Field(0, "z", ListType(Field(0, "element", LONG)))))
    )
    found = table.with_columns(Field(0, "new", DecimalType(10, 2), doc="ours"), first, inside, *rest)
    assert [f["name"] for f in found.fields] == ["new", "id", "s", "l", "m", "p"]
    assert found.fields[0] == {
        "name": "new",
        "type": "decimal(10,2)",
        "nullable": True,
        "metadata": {"comment": "ours"},
    }
    assert found.fields[1] == table.fields[0] and found.protocol == table.protocol
    assert found.fields[2]["type"]["fields"][2]["type"]["elementType"] == "long"


def test_new_columns_need_the_features_of_their_types() -> None:
    table = Table()
    found = table.with_columns(
        *table.schema.fields, Field(0, "t", ListType(Field(0, "element", primitive("timestamp_ntz"))))
    )
    assert found.protocol["readerFeatures"] == ["timestampNtz"] and found.protocol["minWriterVersion"] == 7


def test_columns_are_reordered() -> None:
    table = Table()
    assert table.with_columns(*reversed(table.schema.fields)).fields == table.fields[::-1]


@pytest.mark.parametrize(
    ("new", "name"),
    [
        (Field(0, "ID", INT), "id"),
        (Field(0, "n", INT, required=True), "n"),
        (Field(0, "a b", INT), "a b"),
        (Field(0, "n", StructType((Field(0, "a;b", INT),))), "n.a;b"),
        (Field(0, "n", StructType(())), "n"),
        (Field(0, "n", primitive("uuid")), "n"),
        (Field(0, "n", INT, initial_default=1), "n"),
        (Field(99, "n", INT), "n"),
    ],
)
def test_columns_that_are_not_added(new: Field, name: str) -> None:
    refused(Table(), name, *Table().schema.fields, new)


def test_renames_and_drops_need_column_mapping() -> None:
    table = Table()
    first, *rest = table.schema.fields
    refused(table, "id", replace(first, name="key"), *rest)
    refused(table, "id", *rest)


def test_column_mapping_keeps_the_names_of_files() -> None:
    found = mapped()
    assert found.protocol["readerFeatures"] == ["columnMapping"]
    assert found.metadata["configuration"] == {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "9",
    }
    assert [f.stored_name for f in found.schema.fields] == ["id", "s", "l", "m", "p"]
    assert found.fields[0]["metadata"]["of others"] == [1] and found.fields[0]["more"] == 1


def test_mapped_columns_are_renamed_dropped_and_added() -> None:
    table = mapped()
    first, _, *rest, last = table.schema.fields
    found = table.with_columns(replace(first, name="a key"), *rest, replace(last, name="q"), Field(0, "id", TEXT))
    assert found.metadata["partitionColumns"] == ["q"]
    assert found.metadata["configuration"]["delta.columnMapping.maxColumnId"] == "10"
    assert [f.stored_name for f in found.schema.fields][:4] == ["id", "l", "m", "p"]
    assert found.schema.fields[4].stored_name.startswith("col-") and found.schema.fields[4].id == 10
    again = found.with_columns(*found.schema.fields, Field(0, "s", StructType((Field(0, "x", INT),))))
    assert again.metadata["configuration"]["delta.columnMapping.maxColumnId"] == "12"
    assert len({f.id for f in again.schema.fields}) == 6, "an id is never given out again"


def test_columns_that_are_not_dropped_or_renamed() -> None:
    table = mapped().alter(constraints={"c": "id > 0"})
    first, *rest = table.schema.fields
    refused(table, "id", *rest)
    refused(table, "id", replace(first, name="key"), *rest)
    refused(table, "p", *table.schema.fields[:4])
    only = mapped(field("a", "integer"))
    refused(only, "", *())
    with pytest.raises(tf.UnsupportedFeatureError, match="clustered"):
        changed_table(table.metadata, table.protocol, MetadataChange(schema=Schema(table.schema.fields[::2])), ["s"])


def test_types_are_widened_where_the_table_allows_it() -> None:
    table = Table()
    first, struct, array, maps, last = table.schema.fields
    refused(table, "id", replace(first, type=LONG), struct, array, maps, last)
    table = table.alter(properties={"delta.enableTypeWidening": "true"})
    assert table.protocol["readerFeatures"] == ["typeWidening"]
    x, y = struct.type.members
    key, value = maps.type.members
    found = table.with_columns(
        replace(first, type=LONG),
        replace(struct, type=StructType((replace(x, type=primitive("double")), y))),
        replace(array, type=ListType(replace(array.type.members[0], type=LONG))),
        replace(maps, type=MapType(replace(key, type=LONG), value)),
        last,
    )
    changes = [f["metadata"].get("delta.typeChanges") for f in found.fields]
    long = {"toType": "long", "fromType": "integer"}
    assert changes == [[long], None, [{**long, "fieldPath": "element"}], [{**long, "fieldPath": "key"}], None]
    inside = found.fields[1]["type"]["fields"][0]
    assert inside["metadata"]["delta.typeChanges"] == [{"toType": "double", "fromType": "integer"}]
    for kind in (TEXT, primitive("short"), StructType((Field(0, "a", INT),))):
        refused(table, "id", replace(first, type=kind), struct, array, maps, last)


def test_widened_twice() -> None:
    table = Table(field("id", "byte")).alter(properties={"delta.enableTypeWidening": "true"})
    for kind in (INT, LONG):
        table = table.with_columns(replace(table.schema.fields[0], type=kind))
    changes = [(c["fromType"], c["toType"]) for c in table.fields[0]["metadata"]["delta.typeChanges"]]
    assert changes == [("byte", "integer"), ("integer", "long")]
    refused(table.alter(constraints={"c": "id > 0"}), "id", replace(table.schema.fields[0], type=DecimalType(20, 0)))


def test_nullability_and_comments() -> None:
    table = Table(field("id", "integer", {"comment": "old"}), protocol={"minReaderVersion": 1, "minWriterVersion": 1})
    [column] = table.schema.fields
    found = table.with_columns(replace(column, required=True, doc="new"))
    assert found.fields == [{**field("id", "integer", {"comment": "new"}), "nullable": False}]
    assert writer_features(found.protocol) == {"invariants"}
    [column] = found.schema.fields
    assert found.with_columns(replace(column, required=False, doc=None)).fields == [field("id", "integer")]


def test_nullability_within_lists_and_maps() -> None:
    listed = {"type": "array", "elementType": "integer", "containsNull": False}
    mapped = {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": False}
    table = Table(field("l", listed), field("m", mapped), field("x", "integer"))
    a, m, x = table.schema.fields
    assert isinstance(a.type, ListType) and isinstance(m.type, MapType)
    looser = replace(a, type=replace(a.type, element=replace(a.type.element, required=False)))
    found = table.with_columns(looser, m, x)
    assert found.fields == [field("l", {**listed, "containsNull": True}), field("m", mapped), field("x", "integer")]
    looser = replace(m, type=replace(m.type, value=replace(m.type.value, required=False)))
    found = table.with_columns(a, looser, x)
    looser_map = field("m", {**mapped, "valueContainsNull": True})
    assert found.fields == [field("l", listed), looser_map, field("x", "integer")]


# ---- properties and constraints ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "feature"),
    [
        ("delta.appendOnly", "true", "appendOnly"),
        ("delta.enableChangeDataFeed", "true", "changeDataFeed"),
        ("delta.enableDeletionVectors", "true", "deletionVectors"),
        ("delta.enableInCommitTimestamps", "true", "inCommitTimestamp"),
        ("delta.enableRowTracking", "true", "rowTracking"),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint"),
        ("delta.feature.vacuumProtocolCheck", "supported", "vacuumProtocolCheck"),
    ],
)
def test_a_property_enables_its_feature(name: str, value: str, feature: str) -> None:
    found = Table(protocol={"minReaderVersion": 1, "minWriterVersion": 1}).alter(properties={name: value})
    assert feature in writer_features(found.protocol)
    assert (name in found.metadata["configuration"]) is not name.startswith("delta.feature.")
    assert Table().alter(properties={name: "false"}).protocol == PROTOCOL if value == "true" else True


def test_properties_are_set_and_removed() -> None:
    table = Table(**{"delta.appendOnly": "true", "mine": "1"})
    found = table.alter(
        properties={
            "delta.appendOnly": None,
            "mine": None,
            "other": "x",
            "delta.logRetentionDuration": "interval 7 days",
        }
    )
    assert found.metadata["configuration"] == {"other": "x", "delta.logRetentionDuration": "interval 7 days"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("delta.appendOnly", "yes", ValueError),
        ("delta.checkpointInterval", "0", ValueError),
        ("delta.columnMapping.mode", "both", ValueError),
        ("delta.logRetentionDuration", "a week", ValueError),
        ("delta.columnMapping.mode", "id", tf.UnsupportedFeatureError),
        ("delta.columnMapping.maxColumnId", "5", tf.UnsupportedFeatureError),
        ("delta.constraints.c", "id > 0", tf.UnsupportedFeatureError),
        ("delta.enableIcebergCompatV2", "true", tf.UnsupportedFeatureError),
        ("delta.feature.icebergCompatV2", "supported", tf.UnsupportedFeatureError),
        ("delta.feature.catalogManaged", "supported", tf.UnsupportedFeatureError),
        ("delta.somethingNew", "1", tf.UnsupportedFeatureError),
        ("delta.feature.v2Checkpoint", "no", ValueError),
    ],
)
def test_properties_that_are_not_set(name: str, value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Table().alter(properties={name: value})


def test_the_feature_that_a_property_needs_and_nobody_writes_is_named() -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="'icebergCompatV2', which is not written"):
        Table().alter(properties={"delta.universalFormat.enabledFormats": "iceberg"})
    with pytest.raises(tf.UnsupportedFeatureError, match="the property is not known"):
        Table().alter(properties={"delta.somethingNew": "1"})


def test_mapping_is_not_switched_off() -> None:
    refused(mapped(), "delta.columnMapping.mode", properties={"delta.columnMapping.mode": None})
    refused(mapped(), "delta.columnMapping.mode", properties={"delta.columnMapping.mode": "none"})


def test_names_of_the_change_data_feed_are_taken() -> None:
    on = {"delta.enableChangeDataFeed": "true"}
    refused(Table(field("_change_type", "string")), "_change_type", properties=on)
    table = Table().alter(properties=on)
    refused(table, "_Commit_Version", *table.schema.fields, Field(0, "_Commit_Version", LONG))


def test_constraints() -> None:
    found = Table().alter(constraints={"Positive": "id > 0"})
    assert found.metadata["configuration"] == {"delta.constraints.positive": "id > 0"}
    assert found.protocol == {"minReaderVersion": 1, "minWriterVersion": 3}
    refused(found, "delta.constraints.positive", constraints={"POSITIVE": "id > 1"})
    refused(found, "delta.constraints.other", constraints={"other": None})
    assert found.alter(constraints={"positive": None}).metadata["configuration"] == {}


def test_partitioning_is_not_changed() -> None:
    refused(Table(), "partitioning", partition_by=["id"])


def test_in_commit_timestamps_record_since_when() -> None:
    change = MetadataChange(properties={"delta.enableInCommitTimestamps": "true"})
    altered = changed_table(Table().metadata, PROTOCOL, change)
    found = with_commit(altered.metadata, 7, 1000)["configuration"]
    assert found["delta.inCommitTimestampEnablementVersion"] == "7"
    assert found["delta.inCommitTimestampEnablementTimestamp"] == "1000"
    assert "delta.inCommitTimestampEnablementVersion" not in with_commit(altered.metadata, 0, 1000)["configuration"]
    again = changed_table(altered.metadata, altered.protocol, MetadataChange(properties={"mine": "1"}))
    assert not again.starts_commit_times


def test_row_tracking_names_its_columns() -> None:
    found = Table().alter(properties={"delta.enableRowTracking": "true"}).metadata["configuration"]
    names = {found[f"delta.rowTracking.materialized{kind}ColumnName"] for kind in ("RowId", "RowCommitVersion")}
    assert len(names) == 2


def test_actions_of_a_checkpoint_have_nulls() -> None:
    table = Table()
    table.metadata |= {"description": None, "name": None, "format": {"provider": "parquet", "options": []}}
    table.protocol = {**PROTOCOL, "readerFeatures": None, "writerFeatures": None}
    found = table.alter(properties={"mine": "1"})
    assert "name" not in found.metadata and found.protocol == PROTOCOL
    assert found.metadata["format"] == {"provider": "parquet", "options": {}}


# ---- new tables ----------------------------------------------------------------------------------------------------

TYPES = st.sampled_from([INT, LONG, TEXT, DATE, DecimalType(5, 2), primitive("binary"), primitive("timestamp")])


def fields_of(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Field, ...]]:
    def numbered(found: list[Any]) -> tuple[Field, ...]:
        return tuple(Field(0, f"c{n}", kind, required) for n, (kind, required) in enumerate(found))

    return st.lists(st.tuples(kinds, st.booleans()), min_size=1, max_size=3).map(numbered)


NESTED = st.recursive(
    TYPES,
    lambda inner: st.one_of(
        fields_of(inner).map(StructType),
        inner.map(lambda kind: ListType(Field(0, "element", kind))),
        inner.map(lambda kind: MapType(Field(0, "key", TEXT, required=True), Field(0, "value", kind))),
    ),
    max_leaves=4,
)


@given(fields=fields_of(NESTED), is_mapped=st.booleans())
@settings(max_examples=50, deadline=None)
def test_schemas_come_back_as_they_were(fields: tuple[Field, ...], is_mapped: bool) -> None:
    text = json.dumps(struct_json(fields, ColumnIds(0) if is_mapped else None))
    found = parse_schema(text, "name" if is_mapped else "none", "t")
    if not is_mapped:
        assert found.fields == number_fields(fields)
    assert [(f.name, str(f.type), f.required) for f in found] == [(f.name, str(f.type), f.required) for f in fields]


def test_the_id_of_a_dropped_column_is_not_given_out_again() -> None:
    table = mapped(field("a", "integer"), field("b", "integer"))
    found = table.with_columns(table.schema.fields[0])
    again = found.with_columns(*found.schema.fields, Field(0, "b", INT))
    assert [f.id for f in again.schema.fields] == [1, 3]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_new_table_has_random_names_in_its_files(mode: str) -> None:
    change = MetadataChange(properties={"delta.columnMapping.mode": mode})
    altered = changed_table(metadata(field("a b", "integer")), PROTOCOL, change, is_new=True)
    [column] = json.loads(altered.metadata["schemaString"])["fields"]
    assert column["metadata"]["delta.columnMapping.physicalName"].startswith("col-")


@pytest.mark.parametrize("verb", ["drop", "rename"])
def test_a_column_that_a_generated_one_needs_stays(tmp_path: Path, verb: str) -> None:
    computed = pa.field("g", pa.int64(), metadata={"delta.generationExpression": "a + 1"})
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), computed])
    properties = {"delta.columnMapping.mode": "name"}
    table = tf.create_table(tmp_path, schema, format="delta", properties=properties)

    def change(name: str) -> None:
        table.alter.drop_columns(name) if verb == "drop" else table.alter.rename_column(name, "z")

    with pytest.raises(tf.UnsupportedFeatureError, match="an expression of the column 'g'") as caught:
        change("a")
    assert caught.value.field == "a" and table.schema.names == ["a", "b", "g"]
    change("b")
    assert table.schema.names == (["a", "g"] if verb == "drop" else ["a", "z", "g"])
