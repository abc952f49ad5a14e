"""What a commit writes, part by part: texts of values, rules for rows, sizes, domains, new tables, and refusals."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.schema.schema_string import parse_schema
from tableformats_delta.schema.table_metadata import TableMetadata
from tableformats_delta.write import domains
from tableformats_delta.write.creation import (
    _check_expressions,
    _check_names,
    _computed,
    _is_mapped,
    _partition_columns,
)
from tableformats_delta.write.domains import clustering_columns, row_id_domain, row_id_high_water, with_row_ids
from tableformats_delta.write.requirements import check_change, check_table, check_writer_protocol
from tableformats_delta.write.rules import number_of, row_rules
from tableformats_delta.write.target import _bytes_of, _has_bounds
from tableformats_delta.write.texts import partition_text, statistics_text

import tableformats as tf
from tableformats.plugin import DecimalType, Field, ListType, Schema, StructType, primitive
from tests.support.delta_log import PROTOCOL, field, metadata, schema_string

Json = dict[str, Any]
UTC = dt.timezone.utc
LONG, STRING = primitive("long"), primitive("string")
COLUMN = Field(1, "c", STRING)


# ---- texts of values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        ("a b", "a b"),
        (dt.date(7, 1, 2), "0007-01-02"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02 03:04:05.000006"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6, UTC), "2020-01-02T03:04:05.000006Z"),
        (dt.datetime(7, 1, 2), "0007-01-02 00:00:00.000000"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-0.50"), "-0.50"),
        (1.5, "1.5"),
        (-0.0, "0.0"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_partition_values(value: Any, text: str) -> None:
    assert partition_text(COLUMN, value) == text


def test_an_empty_text_is_no_partition_value() -> None:
    with pytest.raises(tf.ConstraintViolationError) as caught:
        partition_text(COLUMN, "")
    assert caught.value.field == "c"


LONGEST = "x" * 32


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (5, 5, 5),
        (1.5, 1.5, 1.5),
        ("é", "é", "é"),
        (LONGEST, LONGEST, LONGEST),
        (LONGEST + "a", LONGEST, LONGEST + "\x7f"),
        (LONGEST + "\x7e", LONGEST, LONGEST + "\x7f"),
        (LONGEST + "\x7f", LONGEST, LONGEST + "\U0010ffff"),
        (LONGEST + "é", LONGEST, LONGEST + "\U0010ffff"),
        (dt.date(7, 1, 2), "0007-01-02", "0007-01-02"),
        (dt.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02T03:04:05.000", "2020-01-02T03:04:05.000"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 1999), "2020-01-02T03:04:05.001", "2020-01-02T03:04:05.002"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 1001, UTC), "2020-01-02T03:04:05.001Z", "2020-01-02T03:04:05.002Z"),
        (Decimal("1.50"), 1.5, 1.5),
    ],
)
def test_bounds(value: Any, low: Any, high: Any) -> None:
    """Instants are cut to milliseconds, and texts to 32 characters, outwards."""
    found = json.loads(statistics_text(3, {"c": value}, {"c": value}, {"c": 1}))
    assert found == {
        "numRecords": 3,
        "minValues": {"c": low},
        "maxValues": {"c": high},
        "nullCount": {"c": 1},
        "tightBounds": True,
    }


@pytest.mark.parametrize(
    "value",
    [None, True, math.nan, math.inf, b"x", LONGEST + "\U0010ffff", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)],
)
def test_values_without_bounds(value: Any) -> None:
    """Where one side has none, the other has none."""
    found = json.loads(statistics_text(3, {"c": value, "d": 1}, {"c": value, "d": 2}, {}))
    assert (found["minValues"], found["maxValues"]) == ({"d": 1}, {"d": 2})
    found = json.loads(statistics_text(3, {"s": {"c": 1, "d": 1}}, {"s": {"c": value, "d": 2}}, {"s": {"c": 0}}))
    assert (found["minValues"], found["maxValues"]) == ({"s": {"d": 1}}, {"s": {"d": 2}})
    assert found["nullCount"] == {"s": {"c": 0}}
    found = json.loads(statistics_text(3, {"s": {"c": value}}, {"s": {"c": value}}, {}))
    assert (found["minValues"], found["maxValues"]) == ({}, {})


# ---- domains ---------------------------------------------------------------------------------------------------------


def snapshot(configuration: Any = None, name: str = "delta.rowTracking", features: Any = ("clustering",)) -> Any:
    rows = [] if configuration is None else [{"domain": name, "configuration": configuration}]
    rows.append({"domain": "other", "configuration": "{"})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(features)}
    return SimpleNamespace(protocol=protocol, version=4, inspect=lambda _: SimpleNamespace(to_pylist=lambda: rows))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (None, set()),
        ("{}", set()),
        ('{"clusteringColumns": []}', set()),
        ('{"clusteringColumns": ["a", ["s", "b"]]}', {("a",), ("s", "b")}),
    ],
)
def test_clustering_columns(text: str | None, columns: set[Any]) -> None:
    assert clustering_columns(snapshot(text, "delta.clustering")) == columns
    assert clustering_columns(snapshot(text, "delta.clustering", ["appendOnly"])) == frozenset()


@pytest.mark.parametrize(
    "text", ['{"clusteringColumns": "a"}', '{"clusteringColumns": [1]}', '{"clusteringColumns": [[1]]}', "[]", "{", "1"]
)
def test_clustering_columns_that_are_none(text: str) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        clustering_columns(snapshot(text, "delta.clustering"))
    assert caught.value.field == "delta.clustering"


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        (None, -1),
        ("{}", -1),
        ('{"rowIdHighWaterMark": -1}', -1),
        ('{"rowIdHighWaterMark": 9223372036854775807}', 2**63 - 1),
    ],
)
def test_marks_of_row_ids(text: str | None, mark: int) -> None:
    assert row_id_high_water(snapshot(text)) == mark and row_id_high_water(None) == -1


@pytest.mark.parametrize("mark", ["-2", "9223372036854775808", "true", '"1"', "1.0", "null"])
def test_marks_that_are_none(mark: str) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        row_id_high_water(snapshot(f'{{"rowIdHighWaterMark": {mark}}}'))
    assert caught.value.field == "delta.rowTracking"


def adds(*rows: int) -> list[Json]:
    return [{"add": {"stats": json.dumps({"numRecords": n})}} for n in rows]


def test_new_row_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    given = adds(3, 0, 2)
    assert with_row_ids(given, snapshot('{"rowIdHighWaterMark": 9}')) == [row_id_domain(14)]
    assert [(one["add"]["baseRowId"], one["add"]["defaultRowCommitVersion"]) for one in given] == [
        (10, 5),
        (13, 5),
        (13, 5),
    ]
    given = adds(1)
    assert with_row_ids(given, None) == [row_id_domain(0)] and given[0]["add"]["defaultRowCommitVersion"] == 0
    assert with_row_ids(adds(0), None) == with_row_ids([], None) == []
    assert row_id_domain(5)["domainMetadata"] == {
        "domain": "delta.rowTracking",
        "configuration": '{"rowIdHighWaterMark":5}',
        "removed": False,
    }
    monkeypatch.setattr(domains, "row_id_high_water", lambda _: 2**63 - 3)
    assert with_row_ids(adds(2), snapshot()) == [row_id_domain(2**63 - 1)]
    with pytest.raises(tf.CorruptMetadataError, match="used up"):
        with_row_ids(adds(3), snapshot())


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "at"),
    [
        ({"minWriterVersion": 1}, None),
        ({"minWriterVersion": 6, "writerFeatures": ["x"]}, None),
        ({"minWriterVersion": 7, "writerFeatures": ["appendOnly"]}, None),
        ({"minWriterVersion": 7, "writerFeatures": ()}, None),
        ({"minWriterVersion": 7, "writerFeatures": ["appendOnly", "x"]}, "x"),
        ({"minWriterVersion": 7}, "protocol.writerFeatures"),
        ({"minWriterVersion": 7, "writerFeatures": "x"}, "protocol.writerFeatures"),
        ({"minWriterVersion": 7, "writerFeatures": [1]}, "protocol.writerFeatures"),
        ({"minWriterVersion": 8}, "minWriterVersion"),
        ({"minWriterVersion": 0}, "protocol.minWriterVersion"),
        ({"minWriterVersion": True}, "protocol.minWriterVersion"),
        ({}, "protocol.minWriterVersion"),
    ],
)
def test_protocols_of_writers(protocol: Json, at: str | None) -> None:
    if at is None:
        check_writer_protocol(protocol, "/t")
        return
    with pytest.raises((tf.UnsupportedFeatureError, tf.CorruptMetadataError)) as caught:
        check_writer_protocol(protocol, "/t")
    assert (caught.value.field, caught.value.path) == (at, "/t")


def definition(*fields: Json, partition: tuple[str, ...] = (), **properties: str) -> Any:
    configuration = {name.replace("_", "."): value for name, value in properties.items()}
    action = metadata(*fields, partition=partition, configuration=configuration)
    found = TableMetadata.of_actions(action, PROTOCOL, "/t", tf.Limits())
    return SimpleNamespace(table_metadata=found, metadata=action, properties=found.properties)


@pytest.mark.parametrize(
    ("fields", "partition", "properties", "at"),
    [
        ([field("a", "long"), field("p", "string")], ("p",), {}, None),
        ([field("p", "string")], ("p",), {}, "files without columns"),
        ([field("a", "variant")], (), {}, "variant"),
        (
            [field("a", "decimal(5,2)"), field("l", {"type": "array", "elementType": "long", "containsNull": True})],
            (),
            {},
            None,
        ),
        ([field("s", {"type": "struct", "fields": [field("a", "void")]})], (), {}, "unknown"),
        ([field("a", "string", {"__COLLATIONS": {"a": "x"}})], (), {}, "collations"),
        ([field("a", "varchar(3)")], (), {}, "varchar"),
        ([field("l", {"type": "array", "elementType": "varchar(3)", "containsNull": True})], (), {}, "varchar"),
        ([field("a", "long"), field("p", "binary")], ("p",), {}, "binary"),
        ([field("a", "binary")], (), {}, None),
        ([field("a", "long")], (), {"delta_rowTrackingSuspended": "true"}, "rowTracking"),
    ],
)
def test_tables_that_are_written(
    fields: list[Json], partition: tuple[str, ...], properties: Any, at: str | None
) -> None:
    if at is None:
        check_table(definition(*fields, partition=partition, **properties), "/t")
        return
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_table(definition(*fields, partition=partition, **properties), "/t")
    assert (caught.value.field, caught.value.path) == (at, "/t")


@pytest.mark.parametrize(
    ("operation", "data_change", "is_refused"),
    [
        ("append", True, False),
        ("create", True, False),
        ("alter", True, False),
        ("delete", True, True),
        ("delete", False, False),
    ],
)
def test_tables_of_new_rows_alone(operation: str, data_change: bool, is_refused: bool) -> None:
    change: Any = SimpleNamespace(operation=operation, data_change=data_change)
    check_change(change, definition(), "/t")
    if is_refused:
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            check_change(change, definition(delta_appendOnly="true"), "/t")
        assert (caught.value.field, caught.value.path) == ("appendOnly", "/t")
    else:
        check_change(change, definition(delta_appendOnly="true"), "/t")


# ---- rules and targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 7),
        ("128", 128),
        ("1b", 1),
        (" 2 KB ", 2048),
        ("3k", 3072),
        ("4mb", 4 << 20),
        ("1 m", 1 << 20),
        ("2gb", 2 << 30),
        ("1g", 1 << 30),
        ("0", 7),
        ("x", 7),
        ("5 parsecs", 7),
        ("-5", 7),
    ],
)
def test_sizes_of_files(text: str, size: int) -> None:
    assert _bytes_of(text, 7) == size


@pytest.mark.parametrize(
    ("kind", "has_bounds"),
    [
        (LONG, True),
        (STRING, True),
        (DecimalType(5, 2), True),
        (primitive("binary"), False),
        (primitive("boolean"), False),
    ],
)
def test_leaves_with_bounds(kind: Any, has_bounds: bool) -> None:
    assert _has_bounds(Field(1, "c", kind)) is has_bounds


@pytest.mark.parametrize(
    ("value", "number"), [(None, None), (5, 5), ("5", 5), (-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1), ("-1", -1)]
)
def test_numbers_of_metadata(value: Any, number: int | None) -> None:
    assert number_of({} if value is None else {"k": value}, "k", "c", "/t") == number


@pytest.mark.parametrize("value", [True, 1.0, "x", [1], 2**63, -(2**63) - 1])
def test_numbers_that_are_none(value: Any) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        number_of({"k": value}, "k", "c", "/t")
    assert (caught.value.field, caught.value.path) == ("c", "/t")


def identity(kind: str = "long", **more: Any) -> Json:
    return field("c", kind, {f"delta.identity.{name}": value for name, value in more.items()})


def rules(*fields: Json, **properties: str) -> Any:
    return row_rules(parse_schema(schema_string(*fields), "none", "/t"), properties, "/t")


@pytest.mark.parametrize(
    ("given", "explicit"),
    [
        ({}, False),
        ({"allowExplicitInsert": True}, True),
        ({"allowExplicitInsert": "TRUE"}, True),
        ({"allowExplicitInsert": "no"}, False),
    ],
)
def test_identity_columns(given: Json, explicit: bool) -> None:
    (one,) = rules(identity(start=5, step=-2, highWaterMark=1, **given)).identities
    assert (one.start, one.step, one.high_water, one.allow_explicit) == (5, -2, 1, explicit)
    (one,) = rules(identity(start=0, step=1)).identities
    assert one.high_water is None and one.start == 0


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (identity(start=1), tf.CorruptMetadataError),
        (identity(step=1), tf.CorruptMetadataError),
        (identity(start=1, step=0), tf.CorruptMetadataError),
        (identity("integer", start=1, step=1), tf.UnsupportedFeatureError),
    ],
)
def test_identity_columns_that_are_none(given: Json, error: type[tf.TableFormatsError]) -> None:
    with pytest.raises(error) as caught:
        rules(given)
    assert (caught.value.field, caught.value.path) == ("c", "/t")


def invariant(sql: Any) -> str:
    return json.dumps({"expression": {"expression": sql}})


def test_checks_of_rows() -> None:
    inner = {"type": "struct", "fields": [field("x", "long", {"delta.invariants": invariant("s.x > 0")})]}
    found = rules(field("a", "long", {"delta.invariants": invariant("a > 0")}), field("s", inner))
    assert len(found.checks) == 2 and not found.defaults and not found.generated
    for wrong in ("{", "[" * 100_000, "[]", "{}", invariant(5), '{"expression": 1}'):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            rules(field("a", "long", {"delta.invariants": wrong}))
        assert caught.value.field == "a"
    schema = parse_schema(schema_string(field("a", "long")), "none", "/t")
    (check,) = row_rules(schema, {"delta.constraints.positive": "a > 0", "delta.other": "x"}, "/t").checks
    assert check is not None


@pytest.mark.parametrize("key", ["delta.generationExpression", "delta.identity.start"])
def test_what_nested_columns_do_not_have(key: str) -> None:
    inner = {"type": "struct", "fields": [field("x", "long", {key: "1"})]}
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        rules(field("a", "long"), field("s", inner))
    assert (caught.value.field, caught.value.path) == ("s.x", "/t")


def test_longest_texts() -> None:
    inner = {"type": "struct", "fields": [field("x", "char(4)")]}
    described = {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}
    found = rules(field("a", "string", described), field("b", "char(3)"), field("s", inner))
    assert found.longest == {("a",): 5, ("b",): 3, ("s", "x"): 4}
    for wrong in (5, "array<char(1)>"):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            rules(field("a", "string", {"__CHAR_VARCHAR_TYPE_STRING": wrong}))
        assert caught.value.field == "a"


# ---- new tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "found"),
    [
        ({}, LONG, {}),
        ({"comment": 5}, LONG, {"comment": "5"}),
        ({"delta.generationExpression": "a"}, LONG, {"delta.generationExpression": "a"}),
        ({"CURRENT_DEFAULT": 5}, LONG, {"CURRENT_DEFAULT": "5"}),
        ({"delta.identity.start": "+3"}, LONG, {"start": 3, "step": 1, "allowExplicitInsert": False}),
        (
            {"delta.identity.step": "-9223372036854775808", "delta.identity.allowExplicitInsert": "TRUE"},
            LONG,
            {"start": 1, "step": -(2**63), "allowExplicitInsert": True},
        ),
        ({"delta.identity.step": "0"}, LONG, None),
        ({"delta.identity.step": "9223372036854775808"}, LONG, None),
        ({"delta.identity.start": "x"}, LONG, None),
        ({"delta.identity.start": "1", "delta.identity.allowExplicitInsert": "yes"}, LONG, None),
        ({"delta.identity.start": "1"}, primitive("int"), None),
        ({"delta.identity.start": "1", "CURRENT_DEFAULT": "5"}, LONG, None),
        ({"delta.generationExpression": "a", "CURRENT_DEFAULT": "5"}, LONG, None),
    ],
)
def test_how_new_columns_are_computed(given: Json, kind: Any, found: Json | None) -> None:
    f = Field(1, "c", kind, metadata=given)
    if found is None:
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            _computed(f, "/t")
        assert (caught.value.field, caught.value.path) == ("c", "/t")
    else:
        names = ("start", "step", "allowExplicitInsert")
        assert _computed(f, "/t") == {
            (f"delta.identity.{key}" if key in names else key): value for key, value in found.items()
        }


def test_names_of_new_columns() -> None:
    _check_names([Field(1, "a-é.b", LONG)], "/t")
    nested = Field(1, "s", StructType((Field(2, "x y", LONG),)))
    for wrong, name in (
        (nested, "x y"),
        (Field(1, "", LONG), ""),
        *((Field(1, f"a{c}", LONG), f"a{c}") for c in " ,;{}()\n\t="),
    ):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            _check_names([Field(9, "ok", LONG), wrong], "/t")
        assert caught.value.field == name
    assert _is_mapped({"delta.columnMapping.mode": "name"}) and not _is_mapped({"delta.columnMapping.mode": "none"})
    assert not _is_mapped({})


def test_partition_columns_of_new_tables() -> None:
    schema = Schema((Field(1, "a", LONG), Field(2, "B", STRING), Field(3, "l", ListType(Field(4, "element", LONG)))))
    assert _partition_columns(["b", "a"], schema, "/t") == ["B", "a"] and _partition_columns([], schema, "/t") == []
    for wrong, name in ((["x"], "x"), (["l"], "l"), (["a", "A"], "A")):
        with pytest.raises(tf.ConstraintViolationError) as caught:
            _partition_columns(wrong, schema, "/t")
        assert caught.value.field == name
    with pytest.raises(tf.ConstraintViolationError, match="beside its partition columns"):
        _partition_columns(["a"], Schema((Field(1, "a", LONG),)), "/t")


@pytest.mark.parametrize(
    ("expression", "at"),
    [("a + 1", None), ("b + 1", "g"), ("I + 1", "g"), ("length('b')", None), ("b(a)", None)],
)
def test_expressions_that_need_computed_columns(expression: str, at: str | None) -> None:
    fields = [
        Field(1, "a", LONG),
        Field(2, "b", LONG, metadata={"delta.generationExpression": "a"}),
        Field(3, "i", LONG, metadata={"delta.identity.start": 1}),
        Field(4, "g", LONG, metadata={"delta.generationExpression": expression}),
    ]
    if at is None:
        _check_expressions(Schema(tuple(fields)), "/t")
        return
    with pytest.raises(tf.UnsupportedFeatureError, match="which is computed too") as caught:
        _check_expressions(Schema(tuple(fields)), "/t")
    assert (caught.value.field, caught.value.path) == (at, "/t")


def test_defaults_that_cannot_be_computed() -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        _check_expressions(Schema((Field(1, "c", LONG, metadata={"CURRENT_DEFAULT": "uuid()"}),)), "/t")
    assert caught.value.field == "c"
    _check_expressions(Schema((Field(1, "c", LONG, metadata={"CURRENT_DEFAULT": "5"}),)), "/t")
