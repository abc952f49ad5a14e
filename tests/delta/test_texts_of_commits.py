"""What a Delta commit writes, text by text: values, statistics, operations, domains, properties, protocols."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.evolution.properties import (
    check_property,
    check_unset,
    features_of_properties,
    greatest_id,
    is_true,
)
from tableformats_delta.evolution.protocol_upgrade import supports, with_features, writer_features
from tableformats_delta.write.actions import CommitContext, commit_lines, operation_of
from tableformats_delta.write.domains import clustering_columns, row_id_domain, row_id_high_water, with_row_ids
from tableformats_delta.write.isolation import checks_of, level_of
from tableformats_delta.write.texts import partition_text, statistics_text

import tableformats as tf
from tableformats.plugin import ConflictCheck, CreateRequest, Field, MetadataChange, Schema, TableChange, primitive

UTC = dt.timezone.utc
SOME = pa.table({"path": ["a"]})

# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        (decimal.Decimal("1E+3"), "1000"),
        (decimal.Decimal("0.10"), "0.10"),
        (1.5, "1.5"),
        (-0.0, "0.0"),
        (0.0, "0.0"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (dt.date(7, 1, 2), "0007-01-02"),
        (dt.datetime(7, 1, 2, 3, 4, 5, 6), "0007-01-02 03:04:05.000006"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05.000000Z"),
        ("a b", "a b"),
    ],
)
def test_partition_values(value: object, text: str) -> None:
    assert partition_text(Field(1, "p", primitive("string")), value) == text


def test_an_empty_text_is_no_partition_value() -> None:
    with pytest.raises(tf.ConstraintViolationError) as caught:
        partition_text(Field(1, "p", primitive("string")), "")
    assert caught.value.field == "p"


LONG = "x" * 32


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        (5, "5", "5"),
        (1.5, "1.5", "1.5"),
        (decimal.Decimal("1E+2"), "100", "100"),
        ("é", '"é"', '"é"'),
        (LONG, f'"{LONG}"', f'"{LONG}"'),
        (LONG + "a", f'"{LONG}"', f'"{LONG}\\u007f"'),
        (LONG + "\x7e", f'"{LONG}"', f'"{LONG}\\u007f"'),
        (LONG + "\x7f", f'"{LONG}"', f'"{LONG}\U0010ffff"'),
        (dt.date(7, 1, 2), '"0007-01-02"', '"0007-01-02"'),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 6000), '"2024-01-02T03:04:05.006"', '"2024-01-02T03:04:05.006"'),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 6001), '"2024-01-02T03:04:05.006"', '"2024-01-02T03:04:05.007"'),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 6999), '"2024-01-02T03:04:05.006"', '"2024-01-02T03:04:05.007"'),
        (dt.datetime(2024, 1, 2, tzinfo=UTC), '"2024-01-02T00:00:00.000Z"', '"2024-01-02T00:00:00.000Z"'),
    ],
)
def test_bounds(value: Any, lower: str, upper: str) -> None:
    """They are never narrower than the values."""
    found = statistics_text(3, {"c": value}, {"c": value}, {})
    lower, upper = (text.replace("\\u007f", "\x7f") for text in (lower, upper))
    bounds = f'"minValues":{{"c":{lower}}},"maxValues":{{"c":{upper}}}'
    assert found == f'{{"numRecords":3,{bounds},"nullCount":{{}},"tightBounds":true}}'


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        float("nan"),
        float("inf"),
        float("-inf"),
        b"x",
        LONG + "\U0010ffff",
        dt.datetime(9999, 12, 31, 23, 59, 59, 999001),
    ],
)
def test_what_has_no_bounds(value: Any) -> None:
    """Where one side has none, the other is left out too."""
    for lower, upper in ((value, value), (value, 1), (1, value)):
        if lower == 1 or not isinstance(value, (str, dt.datetime)):
            found = json.loads(statistics_text(3, {"c": lower}, {"c": upper}, {"c": 2}))
            assert found == {
                "numRecords": 3,
                "minValues": {},
                "maxValues": {},
                "nullCount": {"c": 2},
                "tightBounds": True,
            }


def test_bounds_of_members() -> None:
    lower = {"s": {"x": 1, "y": None}, "t": {"z": None}, "a": 2}
    upper = {"s": {"x": 3, "y": 5}, "t": {"z": 1}, "a": None}
    found = json.loads(statistics_text(1, lower, upper, {"s": {"x": 0}, 'q"': 1}))
    assert found["minValues"] == {"s": {"x": 1}} and found["maxValues"] == {"s": {"x": 3}}
    assert found["nullCount"] == {"s": {"x": 0}, 'q"': 1}


# ---- operations -----------------------------------------------------------------------------------------------------

REPLACING, CREATING = (
    MetadataChange(create=CreateRequest(Schema(()), (), (), {}, replace=flag)) for flag in (True, False)
)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (TableChange("append"), "WRITE"),
        (TableChange("overwrite"), "WRITE"),
        (TableChange("delete"), "DELETE"),
        (TableChange("update"), "UPDATE"),
        (TableChange("rewrite"), "OPTIMIZE"),
        (TableChange("create", metadata=CREATING), "CREATE TABLE"),
        (TableChange("create", SOME, metadata=CREATING), "CREATE TABLE AS SELECT"),
        (TableChange("create", metadata=REPLACING), "CREATE OR REPLACE TABLE"),
        (TableChange("create", SOME, metadata=REPLACING), "CREATE OR REPLACE TABLE AS SELECT"),
        (TableChange("alter", parameters={"verb": "add_columns"}), "ADD COLUMNS"),
        (TableChange("alter", parameters={"verb": "restore"}), "RESTORE"),
        (TableChange("alter", parameters={"verb": "move_column"}), "CHANGE COLUMN"),
        (TableChange("alter", parameters={"verb": "other"}), "SET TBLPROPERTIES"),
        (TableChange("alter"), "SET TBLPROPERTIES"),
    ],
)
def test_names_of_operations(change: TableChange, name: str) -> None:
    assert operation_of(change) == name


@pytest.mark.parametrize(
    ("enabled", "snapshot", "time", "version"),
    [
        ("false", None, 100, 0),
        ("true", None, 100, 0),
        ("false", (4, 200), 100, 5),
        ("true", (4, 200), 201, 5),
        ("true", (4, 99), 100, 5),
        ("true", (4, 100), 101, 5),
        ("true", (0, None), 100, 1),
    ],
)
def test_times_and_versions(enabled: str, snapshot: Any, time: int, version: int) -> None:
    """With timestamps in commits each is later than the one before."""
    older: Any = None if snapshot is None else SimpleNamespace(version=snapshot[0], timestamp_ms=snapshot[1])
    definition: Any = SimpleNamespace(properties={"delta.enableInCommitTimestamps": enabled})
    nothing: Any = None
    context = CommitContext(older, definition, nothing, nothing, "", 100)
    assert (context.timestamp, context.version) == (time, version)


def test_lines() -> None:
    assert commit_lines([{"a": {"é": 1}}, {"b": [None, True]}]) == '{"a":{"é":1}}\n{"b":[null,true]}\n'.encode()
    with pytest.raises(tf.ConstraintViolationError) as caught:
        commit_lines([{"a": 1}, {"b": "\ud800"}])
    assert caught.value.field == "b"


@pytest.mark.parametrize(
    ("asked", "stored", "data_change", "level"),
    [
        (None, None, True, "WriteSerializable"),
        (None, "Serializable", True, "Serializable"),
        ("serializable", "WriteSerializable", True, "Serializable"),
        ("writeserializable", "Serializable", True, "WriteSerializable"),
        ("snapshot", None, True, "SnapshotIsolation"),
        (None, "Serializable", False, "SnapshotIsolation"),
    ],
)
def test_isolation(asked: str | None, stored: str | None, data_change: bool, level: str) -> None:
    change = TableChange("delete", isolation=asked, data_change=data_change)
    properties = {} if stored is None else {"delta.isolationLevel": stored}
    assert level_of(change, properties) == level
    with_metadata = TableChange("delete", isolation=asked, data_change=data_change, metadata=MetadataChange())
    assert checks_of(with_metadata, properties) == checks_of(change, properties) | {ConflictCheck.PROTOCOL}


def test_levels_that_are_none() -> None:
    with pytest.raises(ValueError, match="not 'chaos'"):
        level_of(TableChange("delete", isolation="chaos"), {})
    wrong = {"delta.isolationLevel": "chaos"}
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        level_of(TableChange("delete"), wrong)
    assert caught.value.field == "delta.isolationLevel"
    assert level_of(TableChange("delete", metadata=MetadataChange()), wrong) == "Serializable"


# ---- domains --------------------------------------------------------------------------------------------------------


def snapshot(protocol: dict[str, Any] | None = None, **domains: str | None) -> Any:
    rows = [{"domain": name.replace("_", "."), "configuration": text} for name, text in domains.items()]
    table = pa.Table.from_pylist(rows, pa.schema([("domain", pa.string()), ("configuration", pa.string())]))
    clustered = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clustering"]}
    return SimpleNamespace(inspect=lambda name: table, protocol=protocol or clustered, version=6)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('{"clusteringColumns":[["a"],["s","x"]]}', {("a",), ("s", "x")}),
        ('{"clusteringColumns":["a","b"]}', {("a",), ("b",)}),
        ('{"clusteringColumns":[]}', set()),
        ("{}", set()),
        ('{"clusteringColumns":[7]}', None),
        ('{"clusteringColumns":[["a",7]]}', None),
        ('{"clusteringColumns":[["a"],[]]}', None),
        ('{"clusteringColumns":"a"}', None),
        ('{"clusteringColumns":null}', None),
        ("[]", None),
        ("{", None),
        (None, None),
        pytest.param("[" * 100_000, None, id="deep"),
    ],
)
def test_clustering_columns(text: str | None, columns: set[tuple[str, ...]] | None) -> None:
    if columns is not None:
        assert clustering_columns(snapshot(delta_clustering=text)) == columns
    else:
        with pytest.raises(tf.CorruptMetadataError) as caught:
            clustering_columns(snapshot(delta_clustering=text))
        assert caught.value.field == "delta.clustering"
    plain = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}
    assert clustering_columns(snapshot(plain, delta_clustering=text)) == set()
    assert clustering_columns(snapshot()) == set()


@pytest.mark.parametrize(
    ("mark", "value"),
    [
        ("5", 5),
        ("-1", -1),
        ("0", 0),
        (str(2**63 - 1), 2**63 - 1),
        ("-2", None),
        (str(2**63), None),
        ("true", None),
        ('"5"', None),
        ("5.0", None),
    ],
)
def test_marks_of_row_ids(mark: str, value: int | None) -> None:
    given = snapshot(delta_rowTracking=f'{{"rowIdHighWaterMark":{mark}}}')
    if value is not None:
        assert row_id_high_water(given) == value
        return
    with pytest.raises(tf.CorruptMetadataError) as caught:
        row_id_high_water(given)
    assert caught.value.field == "delta.rowTracking"


def test_no_row_ids_were_given_out() -> None:
    assert row_id_high_water(None) == row_id_high_water(snapshot()) == -1
    assert row_id_high_water(snapshot(delta_rowTracking="{}")) == -1


def adds(*counts: int) -> list[dict[str, Any]]:
    return [{"add": {"stats": json.dumps({"numRecords": count})}} for count in counts]


@pytest.mark.parametrize(("mark", "version", "first"), [(None, 0, 0), (-1, 7, 0), (9, 7, 10)])
def test_row_ids_of_new_files(mark: int | None, version: int, first: int) -> None:
    older = None if mark is None else snapshot(delta_rowTracking=f'{{"rowIdHighWaterMark":{mark}}}')
    files = adds(3, 0, 2)
    assert with_row_ids(files, older) == [row_id_domain(first + 4)]
    assert [one["add"]["baseRowId"] for one in files] == [first, first + 3, first + 3]
    assert {one["add"]["defaultRowCommitVersion"] for one in files} == {version}
    assert with_row_ids([], older) == with_row_ids(adds(0), older) == []


def test_row_ids_that_are_used_up() -> None:
    older = snapshot(delta_rowTracking=f'{{"rowIdHighWaterMark":{2**63 - 3}}}')
    assert with_row_ids(adds(2), older) == [row_id_domain(2**63 - 1)]
    with pytest.raises(tf.CorruptMetadataError, match="used up"):
        with_row_ids(adds(3), older)
    assert row_id_domain(5) == {
        "domainMetadata": {
            "domain": "delta.rowTracking",
            "configuration": '{"rowIdHighWaterMark":5}',
            "removed": False,
        }
    }


# ---- properties and protocols ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("own", "anything", True),
        ("delta.appendOnly", "TRUE", True),
        ("delta.appendOnly", "yes", False),
        ("delta.checkpoint.writeStatsAsJson", " false ", True),
        ("delta.logRetentionDuration", "interval 30 days", True),
        ("delta.logRetentionDuration", "1 WEEK", True),
        ("delta.logRetentionDuration", "1 month", False),
        ("delta.logRetentionDuration", "1234567890 days", False),
        ("delta.columnMapping.mode", "id", True),
        ("delta.columnMapping.mode", "ID", False),
        ("delta.checkpointPolicy", "v2", True),
        ("delta.checkpointPolicy", "v3", False),
        ("delta.checkpointInterval", "1", True),
        ("delta.checkpointInterval", "0", False),
        ("delta.checkpointInterval", "12345678901", False),
        ("delta.dataSkippingNumIndexedCols", "-1", True),
        ("delta.dataSkippingNumIndexedCols", "-2", False),
        ("delta.dataSkippingStatsColumns", "", True),
        ("delta.isolationLevel", "Serializable", True),
        ("delta.isolationLevel", "serializable", False),
        ("delta.targetFileSize", "128 mb", True),
        ("delta.targetFileSize", "many", False),
        ("delta.feature.appendOnly", "supported", True),
        ("delta.feature.appendOnly", "enabled", True),
        ("delta.feature.appendOnly", "true", False),
    ],
)
def test_values_of_properties(name: str, value: str, fits: bool) -> None:
    if fits:
        check_property(name, value)
        return
    with pytest.raises(ValueError, match=name):
        check_property(name, value)


@pytest.mark.parametrize(
    "name",
    [
        "delta.unknown",
        "DELTA.appendOnly",
        "delta.columnMapping.maxColumnId",
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.constraints.c",
        "delta.enableIcebergCompatV2",
        "delta.feature.icebergCompatV2",
        "delta.feature.",
    ],
)
def test_properties_that_are_not_set(name: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_property(name, "true")
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("name", "properties", "is_refused"),
    [
        ("own", {}, False),
        ("delta.appendOnly", {}, False),
        ("delta.constraints.c", {}, True),
        ("delta.columnMapping.mode", {}, False),
        ("delta.columnMapping.mode", {"delta.columnMapping.mode": "none"}, False),
        ("delta.columnMapping.mode", {"delta.columnMapping.mode": "name"}, True),
        ("delta.appendOnly", {"delta.columnMapping.mode": "name"}, False),
    ],
)
def test_properties_that_are_removed(name: str, properties: dict[str, str], is_refused: bool) -> None:
    if not is_refused:
        check_unset(name, properties)
        return
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_unset(name, properties)
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("properties", "features"),
    [
        ({}, set()),
        ({"delta.appendOnly": "True"}, {"appendOnly"}),
        ({"delta.appendOnly": "false"}, set()),
        ({"delta.columnMapping.mode": "none"}, set()),
        ({"delta.columnMapping.mode": "name"}, {"columnMapping"}),
        ({"delta.checkpointPolicy": "v2"}, {"v2Checkpoint"}),
        ({"delta.checkpointPolicy": "classic"}, set()),
        ({"delta.constraints.c": "a > 1"}, {"checkConstraints"}),
        ({"delta.feature.x": "supported", "delta.enableRowTracking": "true"}, {"x", "rowTracking"}),
    ],
)
def test_features_of_properties(properties: dict[str, str], features: set[str]) -> None:
    assert features_of_properties(properties) == features


def test_greatest_ids_and_switches() -> None:
    name = "delta.columnMapping.maxColumnId"
    assert greatest_id({}) == 0 and greatest_id({name: "7"}) == 7
    with pytest.raises(tf.CorruptMetadataError) as caught:
        greatest_id({name: "many"})
    assert caught.value.field == name
    assert is_true({"a": "TRUE"}, "a") and not is_true({"a": "1"}, "a") and not is_true({}, "a")


def protocol(
    reader: int, writer: int, readers: list[str] | None = None, writers: list[str] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if readers is not None:
        found["readerFeatures"] = readers
    return found if writers is None else {**found, "writerFeatures": writers}


OLD = ["appendOnly", "invariants"]


@pytest.mark.parametrize(
    ("given", "features"),
    [
        (protocol(1, 1), []),
        (protocol(1, 2), OLD),
        (protocol(1, 3), [*OLD, "checkConstraints"]),
        (protocol(1, 5), [*OLD, "checkConstraints", "changeDataFeed", "generatedColumns"]),
        (protocol(2, 5), [*OLD, "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping"]),
        (
            protocol(2, 6),
            [*OLD, "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "identityColumns"],
        ),
        (protocol(3, 7, [], ["x"]), ["x"]),
        (protocol(3, 7), []),
    ],
)
def test_features_of_protocols(given: dict[str, Any], features: list[str]) -> None:
    assert writer_features(given) == set(features)
    assert all(supports(given, name) for name in features) and not supports(given, "rowTracking")


@pytest.mark.parametrize(
    ("given", "names", "found"),
    [
        (protocol(1, 2), [], protocol(1, 2)),
        (protocol(1, 2), ["appendOnly"], protocol(1, 2)),
        (protocol(1, 2), ["checkConstraints"], protocol(1, 3)),
        (protocol(1, 2), ["changeDataFeed"], protocol(1, 7, None, ["appendOnly", "changeDataFeed", "invariants"])),
        (protocol(1, 3), ["changeDataFeed", "generatedColumns"], protocol(1, 4)),
        (protocol(1, 4), ["columnMapping"], protocol(2, 5)),
        (protocol(2, 5), ["identityColumns"], protocol(2, 6)),
        (
            protocol(1, 2),
            ["deletionVectors"],
            protocol(3, 7, ["deletionVectors"], ["appendOnly", "deletionVectors", "invariants"]),
        ),
        (
            protocol(1, 2),
            ["rowTracking"],
            protocol(1, 7, None, ["appendOnly", "domainMetadata", "invariants", "rowTracking"]),
        ),
        (
            protocol(1, 7, None, ["b"]),
            ["rowTracking", "a"],
            protocol(1, 7, None, ["b", "a", "domainMetadata", "rowTracking"]),
        ),
        (protocol(3, 7, ["x"], ["x"]), ["appendOnly"], protocol(3, 7, ["x"], ["x", "appendOnly"])),
        (protocol(3, 7, ["x"], ["x"]), ["timestampNtz"], protocol(3, 7, ["x", "timestampNtz"], ["x", "timestampNtz"])),
        (protocol(2, 2), ["checkConstraints"], protocol(3, 7, [], ["appendOnly", "checkConstraints", "invariants"])),
    ],
)
def test_features_that_are_added(given: dict[str, Any], names: list[str], found: dict[str, Any]) -> None:
    before = dict(given)
    assert with_features(given, names) == found and given == before
