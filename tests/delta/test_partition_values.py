"""Schemas and partition values: what the log's text becomes."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tableformats_delta.schema.schema_string import parse_schema

import tableformats as tf
from tableformats.errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from tests.support.delta_log import PROTOCOL, DeltaLog, add, field, live_files, metadata, remove, request, schema_string

UTC = dt.timezone.utc
MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}


def partition_of(tmp_path: Path, kind: Any, text: str | None) -> Any:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", kind), partition=("p",))
    log.commit(1, add("f", partitionValues={"p": text}))
    (row,) = live_files(log.snapshot())
    return row["partition"]["1000"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "-12", -12),
        ("long", str(2**63 - 1), 2**63 - 1),
        ("short", "-32768", -(2**15)),
        ("byte", "127", 127),
        ("float", "1.5", 1.5),
        ("double", "1E3", 1000.0),
        ("double", "Infinity", float("inf")),
        ("double", "-Infinity", float("-inf")),
        ("float", "-0.0", -0.0),
        ("boolean", "true", True),
        ("boolean", "FALSE", False),
        ("boolean", "True", True),
        ("decimal(10,5)", "0.00004", Decimal("0.00004")),
        ("decimal(10,5)", "4E-5", Decimal("0.00004")),
        ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
        ("decimal(12,5)", "-2342342.23423", Decimal("-2342342.23423")),
        ("string", "ünïcode", "ünïcode"),
        ("string", "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
        ("binary", "\u0001\u0002", b"\x01\x02"),
        ("binary", "é", "é".encode()),
        ("date", "2021-09-08", dt.date(2021, 9, 8)),
        ("date", "0001-01-01", dt.date(1, 1, 1)),
        ("date", "1582-10-10", dt.date(1582, 10, 10)),
        ("date", "9999-12-31", dt.date(9999, 12, 31)),
        ("timestamp", "2021-09-08 11:11:11", dt.datetime(2021, 9, 8, 11, 11, 11, tzinfo=UTC)),
        ("timestamp", "2021-09-08T11:11:11.123456Z", dt.datetime(2021, 9, 8, 11, 11, 11, 123456, tzinfo=UTC)),
        ("timestamp", "2021-09-08 11:11:11.5+05:00", dt.datetime(2021, 9, 8, 6, 11, 11, 500000, tzinfo=UTC)),
        ("timestamp", "2021-09-08T11:11:11-08:00", dt.datetime(2021, 9, 8, 19, 11, 11, tzinfo=UTC)),
        ("timestamp", "1883-11-10 00:00:00", dt.datetime(1883, 11, 10, tzinfo=UTC)),
        ("timestamp_ntz", "2013-07-05 17:01:00.123456", dt.datetime(2013, 7, 5, 17, 1, 0, 123456)),
        ("timestamp_ntz", "1001-01-01T00:00:00", dt.datetime(1001, 1, 1)),
    ],
)
def test_partition_values(tmp_path: Path, kind: str, text: str, value: Any) -> None:
    found = partition_of(tmp_path, kind, text)
    assert found == value
    assert type(found) is type(value)


def test_nan(tmp_path: Path) -> None:
    found = partition_of(tmp_path, "double", "NaN")
    assert found != found


KINDS = [
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "boolean",
    "decimal(5,2)",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", None])
def test_empty_is_null_for_every_type(tmp_path: Path, kind: str, text: str | None) -> None:
    assert partition_of(tmp_path, kind, text) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "1.5"),
        ("integer", "x"),
        ("integer", "2147483648"),
        ("byte", "128"),
        ("long", "9" * 5000),
        ("long", "1_000"),
        ("double", "1_0.0"),
        ("double", "0x10"),
        ("boolean", "1"),
        ("boolean", "yes"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "1234.5"),
        ("decimal(5,2)", "NaN"),
        ("decimal(5,2)", "1E99999"),
        ("date", "2021-02-30"),
        ("date", "today"),
        ("timestamp", "2021-09-08 25:00:00"),
        ("timestamp", "noon"),
        ("timestamp_ntz", "2021-09-08 11:11:11+05:00"),
        ("integer", "\u0661"),
    ],
)
def test_bad_values(tmp_path: Path, kind: str, text: str) -> None:
    with pytest.raises(CorruptMetadataError, match="no ") as caught:
        partition_of(tmp_path, kind, text)
    assert caught.value.field == "p"
    assert caught.value.path == str(tmp_path / "t" / "_delta_log" / f"{1:020d}.json")


def test_bad_value_of_a_file_that_is_gone(tmp_path: Path) -> None:
    """An overwrite may change the schema: what it removed is not judged by it."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "string"), partition=("p",))
    log.commit(1, add("old", partitionValues={"p": "text"}))
    new = {"metaData": metadata(field("id", "long"), field("p", "integer"), partition=("p",))}
    log.commit(2, new, remove("old"), add("new", partitionValues={"p": "7"}))
    assert [row["partition"] for row in live_files(log.snapshot())] == [{"1000": 7}]
    log.commit(3, add("old", partitionValues={"p": "8"}))
    assert sorted(row["partition"]["1000"] for row in live_files(log.snapshot())) == [7, 8]
    log.commit(4, remove("old")).commit(5, add("old", partitionValues={"p": "text"}))
    with pytest.raises(CorruptMetadataError, match="'text'"):
        live_files(log.snapshot())


@pytest.mark.parametrize("values", [None, {}])
def test_partition_values_that_are_absent(tmp_path: Path, values: dict[str, str] | None) -> None:
    """A key may be absent, which is NULL; the whole map may not."""
    log = DeltaLog(tmp_path / "t").start(field("p", "integer"), partition=("p",))
    log.commit(1, add("f", partitionValues=values))
    if values is None:
        with pytest.raises(CorruptMetadataError, match="no partition values"):
            live_files(log.snapshot())
        log.commit(2, remove("f"))
        assert live_files(log.snapshot()) == []
    else:
        assert live_files(log.snapshot())[0]["partition"] == {"1000": None}


def test_timestamps_without_zone_are_noted_once(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "timestamp"), partition=("p",))
    for version in (1, 2):
        log.commit(version, add(f"f{version}", partitionValues={"p": f"2021-01-0{version} 00:00:00"}))
    asked = request()
    live_files(log.snapshot(), asked)
    assert asked.report.notes == ["Timestamps of partition column 'p' have no zone and are read as UTC"]
    log.commit(3, remove("f1"), remove("f2"), add("f3", partitionValues={"p": "2021-01-01T00:00:00Z"}))


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-01-01 00:00:00", "2023-12-31T23:00:00"),
        ("2024-07-01 00:00:00.5", "2024-06-30T22:00:00.5"),
        ("2024-07-01", "2024-06-30T22:00:00"),
        ("2024-03-31 01:59:59", "2024-03-31T00:59:59"),
        ("2024-03-31 02:30:00", "2024-03-31T01:30:00"),  # skipped: as much later
        ("2024-03-31 03:00:00", "2024-03-31T01:00:00"),
        ("2024-10-27 02:30:00", "2024-10-27T00:30:00"),  # twice: the earlier one
        ("2024-10-27 03:00:00", "2024-10-27T02:00:00"),
        ("2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00"),
        ("2024-01-01 00:00:00-05:00", "2024-01-01T05:00:00"),
    ],
)
def test_the_zone_of_the_writer_is_an_option(tmp_path: Path, text: str, utc: str) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "timestamp"), partition=("p",))
    log.commit(1, add("f", partitionValues={"p": text}))
    options = {"partition_time_zone": "Europe/Berlin"}
    found, unnamed = tf.open_table(str(log.root), format_options=options), tf.open_table(str(log.root))
    plan = found.scan(tf.col("p") == dt.datetime.fromisoformat(utc + "0" * 5 * ("." in utc))).plan()
    assert plan.files.num_rows == 1 and plan.files["fully_matched"].to_pylist() == [True]
    assert not plan.report.notes
    expected = dt.datetime.fromisoformat(utc + "0" * 5 * ("." in utc)).replace(tzinfo=dt.timezone.utc)
    assert plan.files["partition"].to_pylist()[0] == {"p": expected}
    has_zone = text.endswith(("Z", "-05:00"))
    assert (unnamed.scan().plan().files["partition"].to_pylist()[0] == {"p": expected}) == has_zone
    pickled = pickle.loads(pickle.dumps(found.snapshot()))
    assert pickled.scan().plan().files["partition"].to_pylist()[0] == {"p": expected}


def test_one_cache_tells_the_zones_of_writers_apart(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "timestamp"), partition=("p",))
    log.commit(1, add("f", partitionValues={"p": "2024-01-01 00:00:00"}))
    cache = tf.MetadataCache(directory=tmp_path / "cache")
    hours = []
    for zone in (None, "+02:00", "-03:00", None):
        options = {} if zone is None else {"partition_time_zone": zone}
        table = tf.open_table(str(log.root), format_options=options, cache=cache)
        hours.append(table.scan().plan().files["partition"].to_pylist()[0]["p"].hour)
    assert hours == [0, 22, 3, 0]


def test_a_zone_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "timestamp"), partition=("p",))
    for zone in ("Europe/Berln", "", 5):
        with pytest.raises(ValueError, match="partition_time_zone must name a time zone"):
            tf.open_table(str(log.root), format_options={"partition_time_zone": zone})


def test_directories_are_not_parsed(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "integer"), partition=("p",))
    log.commit(1, add("p=1/f", partitionValues={"p": "2"}))
    assert live_files(log.snapshot())[0]["partition"] == {"1000": 2}


def test_keys_are_physical_names_and_exact(tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "col-1"}
    log = DeltaLog(tmp_path / "t").start(
        field("P", "integer", mapped),
        partition=("P",),
        protocol=MAPPED,
        configuration={"delta.columnMapping.mode": "name"},
    )
    log.commit(1, add("f", partitionValues={"col-1": "7", "P": "8", "p": "9", "COL-1": "10"}))
    snapshot = log.snapshot()
    assert live_files(snapshot)[0]["partition"] == {"1000": 7}
    (part,) = snapshot.specs[0].fields
    assert (part.name, part.source_id, part.id) == ("P", 4, 1000)
    assert snapshot.name_mapping.by == "name"
    assert snapshot.name_mapping.partition_values_first


def test_partition_columns_keep_their_order(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("a", "long"), field("b", "string"), partition=("b", "a"))
    log.commit(1, add("f", partitionValues={"a": "1", "b": "x"}))
    assert live_files(log.snapshot())[0]["partition"] == {"1000": "x", "1001": 1}


class TestSchema:
    def test_every_type(self) -> None:
        names = [
            "string",
            "long",
            "integer",
            "short",
            "byte",
            "float",
            "double",
            "decimal(12,3)",
            "boolean",
            "binary",
            "date",
            "timestamp",
            "timestamp_ntz",
            "variant",
            "decimal",
            "varchar(7)",
        ]
        fields = [field(f"c{i}", name) for i, name in enumerate(names)]
        fields += [
            field("list", {"type": "array", "elementType": "long", "containsNull": False}),
            field("map", {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True}),
            field("struct", {"type": "struct", "fields": [field("x", "long"), field("a.b", "string")]}),
        ]
        schema = parse_schema(schema_string(*fields), "none", "log")
        assert [str(f.type) for f in schema] == [
            "string",
            "bigint",
            "int",
            "smallint",
            "tinyint",
            "float",
            "double",
            "decimal(12,3)",
            "boolean",
            "binary",
            "date",
            "timestamp",
            "timestamp_ntz",
            "variant",
            "decimal(10,0)",
            "string",
            "array<bigint>",
            "map<string,date>",
            "struct<x:bigint,a.b:string>",
        ]
        ids = [path[-1].id for path in schema._paths_by_id.values()]
        assert ids == list(range(1, len(names) + 3 + 1 + 2 + 2 + 1))

    def test_column_mapping_brings_ids_and_names(self) -> None:
        def mapped(name: str, kind: Any, field_id: int, **more: Any) -> dict[str, Any]:
            names = {"delta.columnMapping.id": field_id, "delta.columnMapping.physicalName": f"p{field_id}"}
            return field(name, kind, {**names, **more})

        array = {"type": "array", "elementType": "long", "containsNull": True}
        text = schema_string(
            mapped("s", {"type": "struct", "fields": [mapped("x", "long", 7)]}, 3),
            mapped("l", array, 9),
            mapped("m", array, 12, **{"delta.columnMapping.nested.ids": {"p12.element": 40}}),
        )
        schema = parse_schema(text, "id", "log")
        assert {path[-1].id: path[-1].stored_name for path in schema.leaves()} == {7: "p7"}
        assert [(f.id, f.stored_name) for f in schema] == [(3, "p3"), (9, "p9"), (12, "p12")]
        assert schema.find_id(40) is not None
        assert len(schema._paths_by_id) == 6

    def test_ids_count_only_under_a_mode(self) -> None:
        text = schema_string(field("a", "long", {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "p"}))
        (column,) = parse_schema(text, "none", "log")
        assert (column.id, column.stored_name) == (1, "a")

    @pytest.mark.parametrize(
        "names",
        [
            {},
            {"delta.columnMapping.id": 1},
            {"delta.columnMapping.id": "1", "delta.columnMapping.physicalName": "p"},
            {"delta.columnMapping.id": 0, "delta.columnMapping.physicalName": "p"},
            {"delta.columnMapping.id": 2**40, "delta.columnMapping.physicalName": "p"},
        ],
    )
    def test_a_mapped_column_needs_id_and_name(self, names: dict[str, Any]) -> None:
        with pytest.raises(CorruptMetadataError) as caught:
            parse_schema(schema_string(field("a", "long", names)), "name", "log")
        assert caught.value.field == "a"

    def test_one_id_twice(self) -> None:
        names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p"}
        with pytest.raises(CorruptMetadataError, match="share one id"):
            parse_schema(schema_string(field("a", "long", names), field("b", "long", names)), "name", "log")

    @pytest.mark.parametrize(
        ("old", "new", "known"),
        [
            ("integer", "long", True),
            ("float", "double", True),
            ("date", "timestamp_ntz", True),
            ("byte", "decimal(10,0)", True),
            ("decimal(5,2)", "decimal(9,3)", True),
            ("long", "string", False),
            ("x", "long", False),
            (None, "long", False),
        ],
    )
    def test_type_changes(self, old: Any, new: str, known: bool) -> None:
        change = {"delta.typeChanges": [{"fromType": old, "toType": new}]}
        text = schema_string(field("a", new, change))
        if known:
            parse_schema(text, "none", "log")
            return
        with pytest.raises(UnsupportedFeatureError) as caught:
            parse_schema(text, "none", "log")
        assert caught.value.field == "a"

    @pytest.mark.parametrize("depth", [300, 5000, 100_000])
    def test_deep_nesting(self, depth: int) -> None:
        nested = '{"type":"array","containsNull":true,"elementType":' * depth + '"long"' + "}" * depth
        with pytest.raises(LimitExceededError, match="nesting"):
            parse_schema('{"type":"struct","fields":[{"name":"a","type":' + nested + "}]}", "none", "log")

    def test_partition_column_of_a_nested_type(self, tmp_path: Path) -> None:
        array = {"type": "array", "elementType": "long", "containsNull": True}
        with pytest.raises(CorruptMetadataError):
            DeltaLog(tmp_path / "t").start(field("a", array), partition=("a",)).snapshot()

    def test_partition_column_of_a_type_that_cannot_be_one(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(field("v", "variant"), partition=("v",), protocol=PROTOCOL)
        log.commit(1, add("f", partitionValues={"v": "1"}))
        with pytest.raises(UnsupportedFeatureError) as caught:
            live_files(log.snapshot())
        assert caught.value.field == "v"
