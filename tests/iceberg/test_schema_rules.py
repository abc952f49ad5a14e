"""Schemas, partition specs and sort orders that cannot be written, and those next to them that can."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.schema_rules import check_schema, check_sources, highest_id

from tableformats.plugin import ConstraintViolationError, UnsupportedFeatureError

Json = dict[str, Any]


def field(number: int, kind: Any = "long", name: str = "", required: bool = False, **more: Any) -> Json:
    return {"id": number, "name": name or f"c{number}", "required": required, "type": kind, **more}


def struct(*fields: Json) -> Json:
    return {"type": "struct", "fields": [*fields]}


def listed(kind: Any, number: int = 50, required: bool = False) -> Json:
    return {"type": "list", "element-id": number, "element": kind, "element-required": required}


def mapped(key: Any, value: Any, required: bool = False) -> Json:
    return {"type": "map", "key-id": 60, "key": key, "value-id": 61, "value": value, "value-required": required}


def nested(levels: int) -> Json:
    kind: Any = "long"
    for number in range(levels):
        kind = listed(kind, 100 + number)
    return struct(field(1, kind))


@pytest.mark.parametrize(
    ("schema", "version"),
    [
        (struct(), 1),
        (nested(63), 2),
        (struct(field(1, "decimal(9, 2)"), field(2, "fixed[3]"), field(3, mapped("string", listed("uuid")))), 1),
        (struct(field(1, "unknown"), field(2, "variant", required=True), field(3, "geometry")), 3),
        (struct(field(1, listed("unknown")), field(2, mapped("long", "unknown"))), 3),
        (struct(field(1, "timestamp_ns", **{"initial-default": "2020-01-01T00:00:00.000000000"})), 3),
        (struct(field(1, struct(field(2, name="a"))), field(3, name="a")), 2),
        ({**struct(field(1, required=True)), "identifier-field-ids": [1]}, 2),
        ({**struct(field(1)), "identifier-field-ids": None}, 2),
    ],
)
def test_schemas_that_can_be_written(schema: Json, version: int) -> None:
    check_schema(schema, version)


@pytest.mark.parametrize(
    ("schema", "where", "message"),
    [
        (struct(field(1), field(2, listed("long", 1))), "element", "id 1 is used twice"),
        (struct(field(1, name="b"), field(2, name="a"), field(3, name="a")), "a", "two columns are called 'a'"),
        (struct(field(1, listed(struct(field(2, name="x"), field(3, name="x"))))), "x", "two columns"),
        (struct(field(1, mapped(struct(field(2, name="k"), field(3, name="k")), "long"))), "k", "two columns"),
        (struct(field(1, mapped("long", struct(field(3, name="v"), field(4, name="v"))))), "v", "two columns"),
        ({**struct(field(1)), "identifier-field-ids": [1, 9, 8]}, "identifier-field-ids", "no field with the id 8"),
        (struct(field(1, "unknown", required=True)), "c1", "cannot be required"),
        (struct(field(1, mapped("unknown", "long"))), "key", "cannot be required"),
        (struct(field(1, mapped("long", "unknown", required=True))), "value", "cannot be required"),
        (struct(field(1, listed("unknown", required=True))), "element", "cannot be required"),
        (struct(field(1, "variant", **{"initial-default": "x"})), "c1", "no default value but NULL"),
        (struct(field(1, "geometry(srid:1)", **{"write-default": "x"})), "c1", "no default value but NULL"),
    ],
)
def test_schemas_that_break_a_rule(schema: Json, where: str, message: str) -> None:
    with pytest.raises(ConstraintViolationError, match=message) as caught:
        check_schema(schema, 3)
    assert caught.value.field == where


@pytest.mark.parametrize(
    ("schema", "where", "message"),
    [
        (nested(64), "schema", "nested more than 64 levels"),
        (struct(field(1, listed("decimal(9)"))), "element", r"the type 'decimal\(9\)' is not known"),
        (struct(field(1, mapped("long", "timestamptz_ns"))), "value", "columns of type timestamptz_ns need"),
        (struct(field(1, **{"initial-default": 0})), "c1", "default values need format version 3"),
    ],
)
def test_schemas_that_version_2_has_not(schema: Json, where: str, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message) as caught:
        check_schema(schema, 2)
    assert caught.value.field == where


def test_the_highest_id_is_that_of_any_depth() -> None:
    assert highest_id(struct()) == 0
    assert highest_id(struct(field(7), field(3, listed(struct(field(4, mapped("long", "long"))), 9)))) == 61


SCHEMA = struct(
    field(1, "long", "a"),
    field(2, "string", "s"),
    field(3, struct(field(4, "date", "d")), "r"),
    field(5, listed("date", 6), "l"),
    field(7, "variant", "v"),
    field(8, mapped("date", "date"), "m"),
)


def spec(source: int | list[int], transform: str, name: str = "p") -> Json:
    sources = {"source-ids": source} if isinstance(source, list) else {"source-id": source}
    return {"spec-id": 1, "fields": [{**sources, "transform": transform, "name": name}]}


@pytest.mark.parametrize(
    "wanted",
    [
        spec(1, "identity", "a"),
        spec(4, "day"),
        spec(2, "void", "a"),
        spec(99, "void"),
        spec([1, 2], "bucket[3]"),
        {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", "name": "s"}]},
    ],
)
def test_sources_that_fit(wanted: Json) -> None:
    check_sources(SCHEMA, wanted, are_new=True)


@pytest.mark.parametrize(
    ("wanted", "where", "message"),
    [
        (spec(99, "identity"), "p", "source column 99 is not in the schema"),
        (spec([1, 98], "bucket[3]"), "p", "source column 98 is not in the schema"),
        (spec(3, "identity"), "p", "'r' is no single value"),
        (spec(6, "day"), "p", "'element' is no single value"),
        (spec(60, "day"), "p", "'key' is no single value"),
        (spec(1, "day"), "p", "'day' does not take values of type long"),
        (spec(7, "identity"), "p", "'identity' does not take values of type variant"),
        (spec(4, "hour", ""), "hour", "does not take values of type date"),
        (spec(1, "bucket[4]", "a"), "a", "a column has this name"),
        (spec(2, "identity", "a"), "a", "a column has this name"),
    ],
)
def test_sources_that_do_not_fit(wanted: Json, where: str, message: str) -> None:
    with pytest.raises(ConstraintViolationError, match=message) as caught:
        check_sources(SCHEMA, wanted, are_new=True)
    assert caught.value.field == where


def test_only_new_fields_have_to_take_the_type_of_their_source() -> None:
    check_sources(SCHEMA, spec(1, "day"), are_new=False)
    check_sources(SCHEMA, spec(1, "zorder", "s"), are_new=False)
    with pytest.raises(UnsupportedFeatureError, match="'zorder' is not written"):
        check_sources(SCHEMA, spec(1, "zorder"), are_new=True)
    with pytest.raises(ConstraintViolationError, match="no single value"):
        check_sources(SCHEMA, spec(3, "identity"), are_new=False)
