"""What each feature of a Delta table asks of writers, in what an append writes; read by others value by value."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf

from ..support.delta_log import field, metadata
from .test_append import LOG, ROWS, adds_of, files_below, local_table, memory_table, rival, with_features


def actions_of(table: tf.Table, version: int, kind: str) -> list[dict[str, Any]]:
    lines = table.storage.read_bytes(table.storage.join(LOG, f"{version:020d}.json")).decode().splitlines()
    return [action[kind] for line in lines if kind in (action := json.loads(line))]


def rows_of(table: tf.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_arrow().to_pylist()
    return sorted(found, key=repr)


def theirs(path: Path, by_query: bool = False) -> list[dict[str, Any]]:
    """The rows as deltalake reads them: by pyarrow, or by its queries, which know more features."""
    deltalake = pytest.importorskip("deltalake")
    table = deltalake.DeltaTable(str(path))
    if by_query or table.metadata().configuration.get("delta.columnMapping.mode"):
        reader = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t")
        found: list[dict[str, Any]] = pa.table(reader.read_all()).to_pylist()
    else:
        found = table.to_pyarrow_table().to_pylist()
    return sorted(found, key=repr)


def refused(table: tf.Table, rows: pa.Table, name: str) -> None:
    root = Path(table.location)
    before = files_below(root)
    with pytest.raises(tf.ConstraintViolationError) as caught:
        table.append(rows)
    assert caught.value.field == name and files_below(root) == before


# ---- rules of rows -------------------------------------------------------------------------------------------------


def test_constraints_and_invariants(tmp_path: Path) -> None:
    invariant = json.dumps({"expression": {"expression": "n <> 3"}})
    table = local_table(
        tmp_path,
        field("id", "long"),
        field("n", "integer", {"delta.invariants": invariant}),
        protocol=with_features("invariants", "checkConstraints"),
        configuration={"delta.constraints.positive": "id > 0"},
    )
    table.append(pa.table({"id": [1], "n": [2]}))
    refused(table, pa.table({"id": [1, 0], "n": [1, 1]}), "delta.constraints.positive")
    refused(table, pa.table({"id": [None], "n": pa.array([1], pa.int32())}), "delta.constraints.positive")
    refused(table, pa.table({"id": [1], "n": [3]}), "n")
    refused(table, pa.table({"id": [1]}), "n")
    assert rows_of(table) == theirs(tmp_path) == [{"id": 1, "n": 2}]


def test_not_null_inside_of_nested_columns(tmp_path: Path) -> None:
    kind = {"type": "struct", "fields": [{**field("x", "integer"), "nullable": False}]}
    array = {"type": "array", "elementType": kind, "containsNull": False}
    table = local_table(tmp_path, field("s", kind), field("l", array))
    rows = pa.table({"s": pa.array([None, {"x": 1}], pa.struct([("x", pa.int32())]))})
    table.append(rows.append_column("l", pa.array([[{"x": 1}], None], pa.list_(rows.schema.field("s").type))))
    refused(table, pa.table({"s": pa.array([{"x": None}], rows.schema.field("s").type)}), "s.x")
    refused(table, pa.table({"l": pa.array([[None]], pa.list_(rows.schema.field("s").type))}), "l.element")
    assert rows_of(table) == theirs(tmp_path)


def test_generated_columns_and_defaults(tmp_path: Path) -> None:
    table = local_table(
        tmp_path,
        field("t", "timestamp"),
        field("day", "date", {"delta.generationExpression": "CAST(t AS DATE)"}),
        {**field("kind", "string", {"CURRENT_DEFAULT": "'new'"}), "nullable": False},
        protocol=with_features("generatedColumns", "allowColumnDefaults", "invariants"),
        partition=("day",),
    )
    moment = dt.datetime(2024, 5, 1, 23, tzinfo=dt.timezone.utc)
    table.append(pa.table({"t": [moment, None]}))
    table.append(pa.table({"t": [moment], "day": [dt.date(2024, 5, 1)], "kind": ["old"]}))
    refused(table, pa.table({"t": [moment], "day": [dt.date(2024, 5, 2)]}), "day")
    refused(table, pa.table({"t": [moment], "kind": pa.array([None], pa.string())}), "kind")
    first = {"t": moment, "day": dt.date(2024, 5, 1), "kind": "new"}
    expected = [first, {"t": None, "day": None, "kind": "new"}, {**first, "kind": "old"}]
    assert rows_of(table) == sorted(expected, key=repr)
    assert {repr(add["partitionValues"]) for add in adds_of(table, 1)} == {"{'day': '2024-05-01'}", "{'day': None}"}


@pytest.mark.parametrize(("step", "numbers", "mark"), [(10, [5, 15, 25], 25), (-2, [5, 3, 1], 1)])
def test_identity_columns(tmp_path: Path, step: int, numbers: list[int], mark: int) -> None:
    given = {"delta.identity.start": 5, "delta.identity.step": step, "delta.identity.allowExplicitInsert": False}
    table = local_table(
        tmp_path, field("i", "long", given), field("id", "long"), protocol=with_features("identityColumns")
    )
    table.append(ROWS)
    assert [row["i"] for row in sorted(rows_of(table), key=lambda row: row["id"])] == numbers
    [action] = actions_of(table, 1, "metaData")
    assert json.loads(action["schemaString"])["fields"][0]["metadata"]["delta.identity.highWaterMark"] == mark
    assert action["format"] == {"provider": "parquet", "options": {}}, "the rest of the action is as it was"
    table.append(ROWS)
    assert len({row["i"] for row in rows_of(table)}) == 6
    refused(table, pa.table({"i": [7], "id": [1]}), "i")


def test_explicit_numbers_of_an_identity_column_are_not_given_out_again(tmp_path: Path) -> None:
    given = {"delta.identity.start": 1, "delta.identity.step": 10, "delta.identity.allowExplicitInsert": True}
    table = local_table(
        tmp_path, field("i", "long", given), field("id", "long"), protocol=with_features("identityColumns")
    )
    table.append(pa.table({"i": [17, -5], "id": [1, 2]}))
    table.append(ROWS.slice(0, 1))
    assert sorted(row["i"] for row in rows_of(table)) == [-5, 17, 31]
    table.append(pa.table({"i": [2], "id": [1]}))
    assert not actions_of(table, 3, "metaData"), "a number before the mark changes nothing"


def test_lengths_of_char_and_varchar(tmp_path: Path) -> None:
    key = "__CHAR_VARCHAR_TYPE_STRING"
    member = {"type": "struct", "fields": [field("a", "string")]}
    table = local_table(
        tmp_path,
        field("c", "string", {key: "char(3)"}),
        field("v", "string", {key: "varchar(2)"}),
        field("s", member, {key: "struct<a:varchar(1)>"}),
    )
    table.append(pa.table({"c": ["a"], "v": ["äö"], "s": [{"a": "x"}]}))
    refused(table, pa.table({"c": ["abcd"]}), "c")
    refused(table, pa.table({"v": ["äöü"]}), "v")
    refused(table, pa.table({"s": [{"a": "xy"}]}), "s.a")
    assert rows_of(table)[0]["v"] == theirs(tmp_path)[0]["v"] == "äö"


# ---- column mapping ------------------------------------------------------------------------------------------------


def mapped(name: str, number: int, kind: Any) -> dict[str, Any]:
    return field(name, kind, {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"})


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_files_have_physical_names_and_field_ids(tmp_path: Path, mode: str) -> None:
    struct = {"type": "struct", "fields": [mapped("x", 4, "string")]}
    inner = {"type": "struct", "fields": [mapped("y", 6, "long")]}
    array = {"type": "array", "elementType": inner, "containsNull": True}
    table = local_table(
        tmp_path,
        mapped("id", 1, "long"),
        mapped("p q", 2, "string"),
        mapped("s", 3, struct),
        mapped("l", 5, array),
        protocol=with_features("columnMapping"),
        configuration={"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "6"},
        partition=("p q",),
    )
    rows = [{"id": 1, "p q": "a", "s": {"x": "u"}, "l": [{"y": 1}]}, {"id": 2, "p q": None, "s": None, "l": None}]
    table.append(pa.Table.from_pylist(rows))
    assert rows_of(table) == rows == theirs(tmp_path)
    assert table.count("s.x = 'u'") == 1 and table.count("`p q` IS NULL") == 1
    add = next(add for add in adds_of(table, 1) if add["partitionValues"] == {"col-2": "a"})
    assert json.loads(add["stats"])["minValues"] == {"col-1": 1, "col-3": {"col-4": "u"}}
    stored = pq.read_schema(tmp_path / unquote(add["path"]))
    ids = {f.name: (f.metadata or {}).get(b"PARQUET:field_id") for f in stored}
    assert ids == {"col-1": b"1", "col-3": b"3", "col-5": b"5"}
    element = stored.field("col-5").type.value_field
    assert element.metadata is None and element.type.field(0).metadata == {b"PARQUET:field_id": b"6"}


# ---- features of files and of the log ------------------------------------------------------------------------------


def tracked_table(path: Path) -> tf.Table:
    names = {"RowId": "_row-id", "RowCommitVersion": "_row-version"}
    configuration = {f"delta.rowTracking.materialized{k}ColumnName": v for k, v in names.items()}
    return local_table(
        path,
        protocol=with_features("rowTracking", "domainMetadata"),
        configuration={"delta.enableRowTracking": "true", **configuration},
    )


def test_row_tracking(tmp_path: Path) -> None:
    table = tracked_table(tmp_path)
    for _ in range(2):
        table.append(ROWS)
    assert [(a["baseRowId"], a["defaultRowCommitVersion"]) for a in adds_of(table, 2)] == [(3, 2)]
    [domain] = actions_of(table, 2, "domainMetadata")
    assert domain == {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":5}', "removed": False}
    [info] = actions_of(table, 2, "commitInfo")
    assert info["tags"] == {"delta.rowTracking.preserved": "true"}
    columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    found = sorted(table.scan(columns=columns).to_arrow().to_pylist(), key=lambda row: row["_metadata.row_id"])
    assert [row["_metadata.row_id"] for row in found] == [0, 1, 2, 3, 4, 5]
    assert [row["_metadata.row_commit_version"] for row in found] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("mark", [2**63, -2, "1", True, None, 1.0])
def test_a_mark_of_row_ids_that_is_none(tmp_path: Path, mark: Any) -> None:
    table = tracked_table(tmp_path)
    domain = {"domain": "delta.rowTracking", "configuration": json.dumps({"rowIdHighWaterMark": mark})}
    line = json.dumps({"domainMetadata": {**domain, "removed": False}})
    (tmp_path / "_delta_log" / f"{1:020d}.json").write_text(f"{line}\n")
    with pytest.raises(tf.CorruptMetadataError, match="high-water mark") as caught:
        table.append(ROWS)
    assert caught.value.field == "delta.rowTracking"


@pytest.mark.parametrize(("mark", "fits"), [(2**63 - 4, True), (2**63 - 3, False)])
def test_the_last_row_ids(tmp_path: Path, mark: int, fits: bool) -> None:
    table = tracked_table(tmp_path)
    domain = {"domain": "delta.rowTracking", "configuration": json.dumps({"rowIdHighWaterMark": mark})}
    line = json.dumps({"domainMetadata": {**domain, "removed": False}})
    (tmp_path / "_delta_log" / f"{1:020d}.json").write_text(f"{line}\n")
    if fits:
        assert ROWS.num_rows == 3 and table.append(ROWS).version == 2
    else:
        with pytest.raises(tf.CorruptMetadataError, match="used up"):
            table.append(ROWS)


@pytest.mark.parametrize("is_supported", [True, False])
def test_removed_files_keep_their_row_ids_where_these_may_be_relied_upon_again(
    tmp_path: Path, is_supported: bool
) -> None:
    """Row tracking is a feature of the table that is not enabled."""
    features = ("rowTracking", "domainMetadata") if is_supported else ("domainMetadata",)
    table = local_table(tmp_path, protocol=with_features(*features))
    table.append(ROWS)
    path = tmp_path / "_delta_log" / f"{1:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in lines:
        if "add" in one:
            one["add"].update(baseRowId=0, defaultRowCommitVersion=1)
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    version = tf.open_table(tmp_path).delete("true").version
    assert [("baseRowId" in one) for one in actions_of(table, version, "remove")] == [is_supported]


def test_clustering_columns_always_have_statistics_and_domains_are_kept(tmp_path: Path) -> None:
    columns = [field("id", "long"), field("s", {"type": "struct", "fields": [field("x", "long")]}), field("z", "long")]
    table = local_table(
        tmp_path,
        *columns,
        protocol=with_features("clustering", "domainMetadata"),
        configuration={"delta.dataSkippingNumIndexedCols": "1"},
    )
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["s","x"]]}', "removed": False}
    lines = "\n".join(json.dumps(action) for action in ({"commitInfo": {}}, {"domainMetadata": domain}))
    (tmp_path / LOG / f"{1:020d}.json").write_text(lines)
    table.append(pa.table({"id": [1], "s": [{"x": 2}], "z": [3]}))
    [add] = adds_of(table, 2)
    assert json.loads(add["stats"])["minValues"] == {"id": 1, "s": {"x": 2}}
    assert table.inspect.domains().num_rows == 1
    assert rows_of(table) == theirs(tmp_path)


def test_materialized_partition_columns(tmp_path: Path) -> None:
    table = local_table(
        tmp_path,
        field("id", "long"),
        field("p", "string"),
        protocol=with_features("materializePartitionColumns"),
        partition=("p",),
    )
    table.append(pa.table({"id": [1], "p": ["a"]}))
    [add] = adds_of(table, 1)
    assert pq.ParquetFile(tmp_path / add["path"]).read().to_pylist() == [{"id": 1, "p": "a"}]
    assert "p" not in json.loads(add["stats"])["nullCount"]
    assert rows_of(table) == [{"id": 1, "p": "a"}]


# ---- races ---------------------------------------------------------------------------------------------------------


def enabled(*names: str, **more: str) -> bytes:
    actions = [{"protocol": with_features(*names)}, {"metaData": metadata(configuration=more)}]
    return "\n".join(json.dumps(action) for action in (actions if more else actions[:1])).encode()


def test_a_rival_that_enables_row_tracking_is_followed() -> None:
    table, store = memory_table()
    store.before_put = rival(store, enabled("rowTracking", "domainMetadata"))
    assert table.append(ROWS).version == 3
    assert [(a["baseRowId"], a["defaultRowCommitVersion"]) for a in adds_of(table, 3)] == [(0, 3)]


def test_a_rival_that_takes_row_ids_is_followed(tmp_path: Path) -> None:
    table = tracked_table(tmp_path)
    other = tf.open_table(tmp_path)
    for one in (table, other, table):
        one.append(ROWS)
    bases = [add["baseRowId"] for version in (1, 2, 3) for add in adds_of(table, version)]
    assert bases == [0, 3, 6]


@pytest.mark.parametrize(
    "data",
    [
        enabled("materializePartitionColumns"),
        enabled("checkConstraints", **{"delta.constraints.c": "id < 3"}),
        enabled("columnMapping", **{"delta.columnMapping.mode": "name"}),
    ],
    ids=["partition columns in files", "constraint", "column mapping"],
)
def test_a_rival_that_changes_what_files_must_be_is_a_conflict(data: bytes) -> None:
    table, store = memory_table()
    if b"columnMapping" in data:
        text = json.dumps(mapped("id", 1, "long")).replace('"', '\\"')
        data = data.replace(json.dumps(json.dumps(field("id", "long")))[1:-1].encode(), text.encode())
    before = set(store.files)
    store.before_put = rival(store, data)
    with pytest.raises(tf.CommitConflictError):
        table.append(ROWS)
    assert {path for path in set(store.files) - before if path.endswith(".parquet")} == set()


# ---- rows that are written again -----------------------------------------------------------------------------------


def fed_table(path: Path) -> tf.Table:
    configuration = {"delta.enableChangeDataFeed": "true"}
    columns = field("id", "long"), field("p", "string")
    return local_table(
        path, *columns, protocol=with_features("changeDataFeed"), configuration=configuration, partition=("p",)
    )


def test_deleted_rows_are_in_the_change_data_feed(tmp_path: Path) -> None:
    table = fed_table(tmp_path)
    table.append(pa.table({"id": [1, 2, 3, 4], "p": ["a", "a", "b", "c"]}))
    table.delete("id in (2, 3)")
    found = {(add["partitionValues"]["p"], add["dataChange"]) for add in actions_of(table, 2, "cdc")}
    assert found == {("a", False), ("b", False)}, "all deleted rows, those of whole files too"
    changes = sorted(table.changes(2).to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [(row["id"], row["p"], row["_change_type"]) for row in changes] == [(2, "a", "delete"), (3, "b", "delete")]
    deltalake = pytest.importorskip("deltalake")
    feed = pa.table(deltalake.DeltaTable(str(tmp_path)).load_cdf(starting_version=2).read_all()).to_pylist()
    assert sorted((row["id"], row["p"], row["_change_type"]) for row in feed) == [
        (2, "a", "delete"),
        (3, "b", "delete"),
    ]
    assert rows_of(table) == theirs(tmp_path) and [row["id"] for row in rows_of(table)] == [1, 4]
    table.delete("p = 'c'")
    assert not actions_of(table, 3, "cdc"), "whole files say it themselves"
    assert [row["id"] for row in table.changes(3).to_arrow().to_pylist()] == [4]


def test_change_files_are_deleted_with_what_lost(tmp_path: Path) -> None:
    table = fed_table(tmp_path)
    table.append(pa.table({"id": [1, 2], "p": ["a", "a"]}))
    before = files_below(tmp_path)
    with pytest.raises(RuntimeError), table.transaction() as transaction:
        transaction.delete("id = 1")
        raise RuntimeError
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("mode", ["none", "name"])
def test_overwritten_rows_are_in_the_change_data_feed(tmp_path: Path, mode: str) -> None:
    inside = {"type": "struct", "fields": [mapped("x", 4, "string")]}
    table = local_table(
        tmp_path,
        mapped("id", 1, "long"),
        mapped("p", 2, "string"),
        mapped("s", 3, inside),
        protocol=with_features("changeDataFeed", "columnMapping"),
        configuration={"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": mode},
        partition=("p",),
    )
    table.append(pa.table({"id": [1, 2, 3], "p": ["a", "a", "b"], "s": [{"x": "u"}, {"x": "v"}, {"x": "w"}]}))
    table.overwrite(pa.table({"id": [2, 2], "p": ["c", None], "s": [{"x": "y"}, None]}), where="id = 2")
    assert len(actions_of(table, 2, "cdc")) == 3
    changes = sorted(table.changes(2).to_arrow().to_pylist(), key=repr)
    assert sorted((row["p"], row["s"], row["_change_type"]) for row in changes if row["p"]) == [
        ("a", {"x": "v"}, "delete"),
        ("c", {"x": "y"}, "insert"),
    ]
    assert [(row["id"], row["s"], row["_change_type"]) for row in changes if row["p"] is None] == [(2, None, "insert")]
    assert [row["id"] for row in rows_of(table)] == [1, 2, 2, 3]
    assert not table.verify(deep=True)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_rows_that_are_written_again_keep_their_ids(tmp_path: Path, mode: str) -> None:
    names = {"RowId": "_row-id", "RowCommitVersion": "_row-version"}
    configuration = {f"delta.rowTracking.materialized{k}ColumnName": v for k, v in names.items()}
    columns = (
        [field("id", "long"), field("x", "string")]
        if mode == "none"
        else [mapped("id", 1, "long"), mapped("x", 2, "string")]
    )
    table = local_table(
        tmp_path,
        *columns,
        protocol=with_features("rowTracking", "domainMetadata", "columnMapping"),
        configuration={"delta.enableRowTracking": "true", "delta.columnMapping.mode": mode, **configuration},
    )
    for start in (0, 3):
        table.append(pa.table({"id": [start, start + 1, start + 2], "x": ["a", None, "b"]}))
    table.delete("id = 1")
    table.append(pa.table({"id": [9]}))
    table.delete("id in (2, 3)")
    columns_ = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    found = sorted(tuple(row.values()) for row in table.scan(columns=columns_).to_arrow().to_pylist())
    assert found == [(0, 0, 1), (4, 4, 2), (5, 5, 2), (9, found[3][1], 4)]
    assert found[3][1] >= 8, "fresh ids are above the mark"
    [removed] = actions_of(table, 3, "remove")
    assert (removed["baseRowId"], removed["defaultRowCommitVersion"]) == (0, 1)
    [add] = adds_of(table, 3)
    assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (6, 3)
    assert json.loads(add["stats"])["nullCount"].keys() == ({"id", "x"} if mode == "none" else {"col-1", "col-2"})
    assert pq.read_schema(tmp_path / add["path"]).names[2:] == ["_row-id", "_row-version"]
    assert rows_of(table) == theirs(tmp_path, by_query=True)


def test_a_table_that_is_read_from_a_checkpoint_is_altered_and_written(tmp_path: Path) -> None:
    table = tracked_table(tmp_path)
    table.append(ROWS)
    table.delete("id = 2")
    table.checkpoint()
    for version in range(3):
        (tmp_path / LOG / f"{version:020d}.json").unlink()
    table = tf.open_table(tmp_path)
    table.append(ROWS)
    table.alter.set_properties({"mine": "1"})
    [action] = actions_of(table, 4, "metaData")
    assert action["format"] == {"provider": "parquet", "options": {}} and action["configuration"]["mine"] == "1"
    found = sorted(tuple(row.values()) for row in table.scan(columns=["id", "_metadata.row_id"]).to_arrow().to_pylist())
    assert found == [(1, 0), (1, 5), (2, 6), (3, 2), (3, 7)]
    assert rows_of(table) == theirs(tmp_path)


def test_a_table_is_created_with_many_features(tmp_path: Path) -> None:
    names = ("enableRowTracking", "enableChangeDataFeed", "enableInCommitTimestamps", "enableDeletionVectors")
    properties = {"delta.columnMapping.mode": "id", **{f"delta.{name}": "true" for name in names}}
    schema = pa.schema({"a b": pa.int64(), "p": pa.string()})
    table = tf.create_table(tmp_path / "new", schema, format="delta", partition_by="p", properties=properties)
    table.append(pa.table({"a b": [1, 2], "p": ["a", "a"]}))
    table.delete("`a b` = 1")
    assert table.scan(columns=["a b", "_metadata.row_id"]).to_arrow().to_pylist() == [{"a b": 2, "_metadata.row_id": 1}]
    assert [row["_change_type"] for row in table.changes(2).to_arrow().to_pylist()] == ["delete"]
    assert rows_of(table) == theirs(tmp_path / "new") and not table.verify(deep=True)
