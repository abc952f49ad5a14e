"""Making Iceberg tables: schemas, partition specs and sort orders from what users write, read by PyIceberg."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.schema import parse_name_mapping, parse_schema
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.write.create import create_updates
from tableformats_iceberg.write.metadata_updates import apply_updates
from tableformats_iceberg.write.schema_json import default_json, fresh_schema, name_mapping, schema_json

from tableformats.errors import ConstraintViolationError, UnsupportedFeatureError
from tableformats.schema import Field, ListType, MapType, Schema, StructType, number_fields, primitive

pytest.importorskip("pyiceberg")
from pyiceberg import schema as their_schema
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.name_mapping import parse_mapping_from_json

from tests.support.examples import examples

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("ts", pa.timestamp("us", "UTC")),
        ("name", pa.string()),
        ("d", pa.date32()),
        ("price", pa.decimal128(9, 2)),
        ("point", pa.struct([("x", pa.float64()), ("kind", pa.string())])),
        ("tags", pa.list_(pa.string())),
        ("a b", pa.int32()),
        ("as", pa.int32()),
        ("day(ts)", pa.int32()),
    ]
)


def made(*partition_by: str, sort_by: tuple[str, ...] = (), version: int = 2, columns: pa.Schema = COLUMNS) -> Any:
    properties = {"format-version": str(version), "owner": "me"}
    updates = create_updates("file:///t", Schema.from_arrow(columns), partition_by, sort_by, properties)
    metadata = apply_updates(None, updates, now_ms=1_700_000_000_000)
    assert parse_metadata(json.dumps(metadata).encode(), "m").schema.names == columns.names
    return TableMetadataUtil.parse_obj(metadata)


# ---- schemas --------------------------------------------------------------------------------------------------------

PRIMITIVES = ["boolean", "int", "long", "double", "string", "date", "timestamp", "timestamp_ntz", "uuid", "binary"]


def kinds() -> st.SearchStrategy[Any]:
    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        part = st.builds(lambda kind, required: Field(0, "x", kind, required), inner, st.booleans())
        members = st.lists(part, min_size=1, max_size=3).map(named)
        return st.one_of(
            members.map(StructType),
            part.map(ListType),
            st.builds(lambda k, v: MapType(Field(0, "key", k, True), v), inner, part),
        )

    return st.recursive(st.sampled_from(PRIMITIVES).map(primitive), nested, max_leaves=6)


def named(fields: list[Field]) -> tuple[Field, ...]:
    return tuple(Field(0, f"f{i}", f.type, f.required) for i, f in enumerate(fields))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(kinds(), min_size=1, max_size=4))
def test_fresh_ids_are_those_of_pyiceberg(types: list[Any]) -> None:
    fields = number_fields(named([Field(0, "x", kind) for kind in types]))
    ours = fresh_schema(Schema(fields))
    numbered = their_schema.Schema.model_validate(schema_json(Schema(fields)))
    expected = their_schema.assign_fresh_schema_ids(numbered)
    assert their_schema.Schema.model_validate(ours).as_struct() == expected.as_struct()
    assert parse_schema(Node(ours, "s")).to_arrow().equals(Schema(fields).to_arrow(), check_metadata=False)
    mapping = json.dumps(name_mapping(ours))
    assert parse_mapping_from_json(mapping) == expected.name_mapping
    assert parse_name_mapping({"schema.name-mapping.default": mapping}, "m").names["f0"] == 1


def test_types_of_version_3_need_version_3() -> None:
    columns = pa.schema([("t", pa.timestamp("ns", "UTC"))])
    assert str(made(version=3, columns=columns).schema().fields[0].field_type) == "timestamptz_ns"
    with pytest.raises(UnsupportedFeatureError, match="need format version 3"):
        made(columns=columns)


@pytest.mark.parametrize(
    ("of_column", "field"),
    [
        ({"collation": "UNICODE_CI"}, "c.collation"),
        ({"char_length": 3}, "c.char"),
        ({"collation": "UNICODE_CI", "char_length": 3}, "c.collation"),
    ],
)
def test_what_iceberg_has_not_is_refused(of_column: dict[str, Any], field: str) -> None:
    column = Field(1, "c", primitive("string"), **of_column)
    with pytest.raises(UnsupportedFeatureError, match="collations") as caught:
        create_updates("/t", Schema((column,)))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (True, "boolean", True),
        (7, "int", 7),
        (-(2**31), "int", -(2**31)),
        (2**31 - 1, "int", 2**31 - 1),
        (-(2**63), "long", -(2**63)),
        (2**63 - 1, "long", 2**63 - 1),
        (2.5, "double", 2.5),
        (Decimal("14.2"), "decimal(9, 2)", "14.20"),
        (dt.date(24, 2, 3), "date", "0024-02-03"),
        (dt.time(22, 31, 8, 1), "time", "22:31:08.000001"),
        (dt.datetime(2017, 11, 16, 22, 31, 8), "timestamp", "2017-11-16T22:31:08.000000"),
        (dt.datetime(24, 1, 1, tzinfo=dt.timezone.utc), "timestamptz", "0024-01-01T00:00:00.000000+00:00"),
        (dt.datetime(2017, 11, 16, 22, 31, 8, 123_456), "timestamp", "2017-11-16T22:31:08.123456"),
        (
            dt.datetime(2020, 1, 1, 1, 30, 0, 7, dt.timezone(dt.timedelta(hours=5, minutes=30))),
            "timestamptz",
            "2019-12-31T20:00:00.000007+00:00",
        ),
        (1_000_000_001, "timestamp_ns", "1970-01-01T00:00:01.000000001"),
        (1_700_000_000_123_456_789, "timestamp_ns", "2023-11-14T22:13:20.123456789"),
        (-(2**63), "timestamptz_ns", "1677-09-21T00:12:43.145224192+00:00"),
        (-1, "timestamptz_ns", "1969-12-31T23:59:59.999999999+00:00"),
        (b"\1\xff", "binary", "01ff"),
        (b"\1\xff", "fixed[2]", "01ff"),
        (b"\0" * 16, "uuid", "00000000-0000-0000-0000-000000000000"),
        ({}, {"type": "struct", "fields": []}, {}),
    ],
)
def test_default_values_are_read_back(value: Any, kind: Any, found: Any) -> None:
    stored = default_json(value, kind)
    assert stored == found
    field = {"id": 1, "name": "c", "required": False, "type": kind, "initial-default": stored}
    assert parse_schema(Node({"fields": [field]}, "s")).fields[0].initial_default == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**31, "int"),
        (-(2**31) - 1, "int"),
        (2**63, "long"),
        (-(2**63) - 1, "long"),
        (True, "long"),
        (float("nan"), "double"),
        (Decimal("1.234"), "decimal(9, 2)"),
        (dt.datetime(2020, 1, 1), "timestamptz"),
        (dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), "timestamp"),
        (1, "timestamp"),
        ("x", "timestamp_ns"),
        (b"1", "fixed[2]"),
        ("x", "date"),
    ],
)
def test_default_values_of_another_type_are_refused(value: Any, kind: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        default_json(value, kind)


def test_default_values_in_nanoseconds_of_times_in_microseconds() -> None:
    value = dt.datetime(2017, 11, 16, 22, 31, 8, 123_456)
    assert default_json(value, "timestamp_ns") == "2017-11-16T22:31:08.123456000"


# ---- partition specs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source", "transform", "name"),
    [
        ("id", "id", "identity", "id"),
        ("ID", "id", "identity", "id"),
        ("`id`", "id", "identity", "id"),
        ("a b", "a b", "identity", "a b"),
        ("day(ts)", "day(ts)", "identity", "day(ts)"),
        ("as", "as", "identity", "as"),
        ("days(ts)", "ts", "day", "ts_day"),
        ("date(ts)", "ts", "day", "ts_day"),
        ("Month( ts )", "ts", "month", "ts_month"),
        ("years(d)", "d", "year", "d_year"),
        ("date_hour(ts)", "ts", "hour", "ts_hour"),
        ("bucket(16, id)", "id", "bucket[16]", "id_bucket"),
        ("bucket(id, 16)", "id", "bucket[16]", "id_bucket"),
        ("bucket[16](id)", "id", "bucket[16]", "id_bucket"),
        ("bucket(8, `a b`) as shard", "a b", "bucket[8]", "shard"),
        ("truncate(4, name)", "name", "truncate[4]", "name_trunc"),
        ("truncate(50, price)", "price", "truncate[50]", "price_trunc"),
        ("point.kind", "point.kind", "identity", "point.kind"),
        ("bucket(3, `point`.`kind`)", "point.kind", "bucket[3]", "point.kind_bucket"),
        ("void(id)", "id", "void", "id_null"),
        ("identity(id) AS `my id`", "id", "identity", "my id"),
    ],
)
def test_partition_fields_as_users_write_them(text: str, source: str, transform: str, name: str) -> None:
    for version in (1, 2, 3):
        metadata = made(text, version=version)
        (found,) = metadata.spec().fields
        assert metadata.schema().find_column_name(found.source_id) == source
        assert (str(found.transform), found.name, found.field_id) == (transform, name, 1000)
        assert metadata.properties == {"owner": "me"}
        assert metadata.last_partition_id == 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nam", "no column 'nam'"),
        ("bucket(id)", "takes a number"),
        ("bucket(0, id)", "from 1 to"),
        ("bucket(4, id, name)", "takes one column"),
        ("days(3, ts)", "one column alone"),
        ("week(ts)", "there is no transform 'week'"),
        ("hour(d)", "does not take values of type date"),
        ("year(name)", "does not take"),
        ("truncate(3, d)", "does not take"),
        ("point", "no single value"),
        ("tags", "no single value"),
        ("tags.element", "no column"),
        ("", "a partition field is a column"),
        ("bucket(2, id) as name", "a column has this name"),
    ],
)
def test_partition_fields_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConstraintViolationError, match=message):
        made(text)


@pytest.mark.parametrize("texts", [("id", "id"), ("years(ts)", "days(ts)"), ("bucket(4, id)", "bucket(4, id) as b")])
def test_redundant_partition_fields_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(ConstraintViolationError, match="redundant"):
        made(*texts)


def test_several_partition_fields_are_numbered_from_1000_on() -> None:
    found = made("days(ts)", "bucket(4, id)", "bucket(8, id) as b8", "id").spec().fields
    assert [f.field_id for f in found] == [1000, 1001, 1002, 1003]


# ---- sort orders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", "1 identity asc nulls-first"),
        ("id desc", "1 identity desc nulls-last"),
        ("id DESC NULLS FIRST", "1 identity desc nulls-first"),
        ("bucket(4, id) nulls last", "1 bucket[4] asc nulls-last"),
        ("`a b` asc", "8 identity asc nulls-first"),
    ],
)
def test_sort_fields_as_users_write_them(text: str, expected: str) -> None:
    metadata = made(sort_by=(text,))
    (found,) = metadata.sort_order().fields
    parts = (found.source_id, found.transform, found.direction.value, found.null_order.value)
    assert " ".join(map(str, parts)) == expected
    assert (metadata.default_sort_order_id, made().default_sort_order_id) == (1, 0)


@pytest.mark.parametrize("text", ["", "id up", "tags", "nowhere desc"])
def test_sort_fields_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(ConstraintViolationError):
        made(sort_by=(text,))


@pytest.mark.parametrize(("version", "error"), [("4", UnsupportedFeatureError), ("two", ConstraintViolationError)])
def test_versions_that_are_not_written_are_refused(version: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        create_updates("/t", Schema.from_arrow(COLUMNS), properties={"format-version": version})
