"""Delta tables that are set back to an older version, and tables that get row tracking when they have files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.write.restoring import _with_marks

import tableformats as tf
from tests.support import conformance
from tests.support.conformance import needs_tables

IDS = pa.schema({"id": pa.int64(), "day": pa.int32()})


def rows(*ids: int, day: int = 1) -> pa.Table:
    return pa.table({"id": list(ids), "day": [day] * len(ids)}, IDS)


def ids(table: tf.Table) -> list[int]:
    return sorted(table.to_arrow()["id"].to_pylist())


def read_by_deltalake(path: Path) -> list[int]:
    import deltalake

    return sorted(deltalake.DeltaTable(path).to_pyarrow_table()["id"].to_pylist())


def actions(path: Path, version: int) -> list[tuple[str, dict[str, Any]]]:
    lines = (path / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return [item for line in lines for item in json.loads(line).items()]


def check(table: tf.Table) -> None:
    assert not list(table.verify(deep=True))


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Versions: 0 created, 1 and 2 appended, 3 a row deleted, 4 a partition overwritten."""
    table = tf.create_table(tmp_path / "t", IDS, format="delta", partition_by="day")
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5, day=2))
    table.delete("id = 2")
    table.overwrite(rows(9, day=2), where="day = 2")
    return table


@pytest.mark.parametrize("version", range(5))
def test_every_version(table: tf.Table, tmp_path: Path, version: int) -> None:
    before = {number: ids(table.snapshot(number)) for number in range(5)}
    if version == 3:
        table.checkpoint()
    commit = table.restore(version)
    assert (commit.version, commit.operation) == (5, "RESTORE")
    assert ids(tf.open_table(tmp_path / "t")) == before[version] == read_by_deltalake(tmp_path / "t")
    assert {number: ids(table.snapshot(number)) for number in range(5)} == before
    check(table)
    table.append(rows(7))
    table.checkpoint()
    assert ids(tf.open_table(tmp_path / "t")) == sorted([*before[version], 7])


def test_what_the_commit_has(table: tf.Table, tmp_path: Path) -> None:
    """Files that both versions have are not named; those of the older one have the statistics that they had."""
    table.restore(3)
    found = actions(tmp_path / "t", 5)
    added, removed = ([a for kind, a in found if kind == wanted] for wanted in ("add", "remove"))
    assert len(added) == len(removed) == 1
    old = next(a for kind, a in actions(tmp_path / "t", 2) if kind == "add")
    assert added == [{**old, "dataChange": True}]
    assert [kind for kind, _ in found] == ["commitInfo", "remove", "add"]
    assert dict(found)["commitInfo"]["operationMetrics"]["numRestoredFiles"] == "1"


def test_columns_and_properties_go_back(table: tf.Table, tmp_path: Path) -> None:
    table.alter.add_columns({"note": "string"})
    table.alter.set_properties({"team": "a", "delta.enableChangeDataFeed": "true"})
    table.append(pa.table({"id": [8], "day": pa.array([3], pa.int32()), "note": ["x"]}))
    table.restore(2)
    again = tf.open_table(tmp_path / "t")
    assert (again.schema.names, ids(again)) == (["id", "day"], [1, 2, 3, 4, 5])
    assert "team" not in again.snapshot().properties
    check(again)
    assert read_by_deltalake(tmp_path / "t") == [1, 2, 3, 4, 5]


def test_a_file_that_was_vacuumed(table: tf.Table, tmp_path: Path) -> None:
    for path in (tmp_path / "t").rglob("day=2/*.parquet"):
        path.unlink()
    before = sorted((tmp_path / "t" / "_delta_log").iterdir())
    with pytest.raises(tf.UnsupportedFeatureError, match="not there any more"):
        table.restore(2)
    assert sorted((tmp_path / "t" / "_delta_log").iterdir()) == before


def test_append_only(table: tf.Table) -> None:
    table.alter.set_properties({"delta.appendOnly": "true"})
    with pytest.raises(tf.UnsupportedFeatureError, match="new rows only"):
        table.restore(1)


def test_another_mapping_of_columns(table: tf.Table) -> None:
    table.alter.set_properties({"delta.columnMapping.mode": "name"})
    with pytest.raises(tf.UnsupportedFeatureError, match="column mapping"):
        table.restore(1)


def test_ids_of_columns_are_not_given_out_twice(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", IDS, format="delta", properties={"delta.columnMapping.mode": "name"})
    table.append(rows(1))
    table.alter.add_columns({"a": "int"})
    table.restore(1)
    table.alter.add_columns({"b": "int"})
    assert [f.id for f in tf.open_table(tmp_path / "t").schema.fields] == [1, 2, 4]


@pytest.mark.parametrize("verb", ["restore", "track"])
def test_a_winner_is_a_conflict(table: tf.Table, tmp_path: Path, verb: str) -> None:
    with pytest.raises(tf.CommitConflictError, match="all files"), table.transaction() as txn:
        if verb == "restore":
            txn.alter(table._opened.restoring(2), {"verb": "restore", "version": 2})
        else:
            from tableformats.plugin import MetadataChange

            txn.alter(MetadataChange(properties={"delta.enableRowTracking": "true"}), {"verb": "set_properties"})
        tf.open_table(tmp_path / "t").append(rows(6))
    assert ids(table) == [1, 3, 6, 9]


def test_alone_in_its_transaction(table: tf.Table) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="alone"), table.transaction() as txn:
        txn.alter(table._opened.restoring(2), {"verb": "restore", "version": 2})
        txn.append(rows(6))
    assert ids(table) == [1, 3, 9]


def tracked(table: tf.Table) -> dict[int, tuple[int, int]]:
    found = table.scan(columns=["id", "_metadata.row_id", "_metadata.row_commit_version"]).to_arrow()
    first, second, third = (column.to_pylist() for column in found.columns)
    return {key: (row, version) for key, row, version in zip(first, second, third, strict=True)}


def test_row_tracking_is_enabled(table: tf.Table, tmp_path: Path) -> None:
    """All files get ids in the commit that enables it; rows that are rewritten or restored then keep them."""
    table.checkpoint()
    table.alter.set_properties({"delta.enableRowTracking": "true"})
    known = tracked(table)
    assert sorted(row for row, _ in known.values()) == [0, 1, 2]
    assert {version for _, version in known.values()} == {5}
    assert read_by_deltalake(tmp_path / "t") == [1, 3, 9]
    table.append(rows(7, 8))
    table.delete("id = 3")
    later = tracked(table)
    assert {key: later[key] for key in (1, 9)} == {key: known[key] for key in (1, 9)}
    assert sorted(row for row, _ in later.values())[-2:] == [3, 4]
    table.restore(5)
    assert tracked(table) == known
    check(table)
    table.append(rows(10))
    assert tracked(table)[10][0] > 4


def test_ids_for_files_that_are_older_than_row_tracking(table: tf.Table, tmp_path: Path) -> None:
    table.alter.set_properties({"delta.enableRowTracking": "true"})
    table.restore(2)
    assert not tf.open_table(tmp_path / "t").snapshot().properties.get("delta.enableRowTracking")
    table.alter.set_properties({"delta.enableRowTracking": "true"})
    found = tracked(table)
    assert len({row for row, _ in found.values()}) == 5
    check(table)


def test_row_tracking_needs_counts(tmp_path: Path) -> None:
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "t"), rows(1))
    path = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    for checksum in path.parent.glob("*.crc"):
        checksum.unlink()
    with pytest.raises(tf.UnsupportedFeatureError, match="number of rows"):
        tf.open_table(tmp_path / "t").alter.set_properties({"delta.enableRowTracking": "true"})


@needs_tables
def test_a_checkpoint_that_calls_the_entries_of_maps_otherwise(tmp_path: Path) -> None:
    """As some writers do; Arrow's types of such maps differ."""
    path = conformance.ROOT / "delta" / "duckdb-delta" / "issue_303_partitioned" / "delta_lake"
    table = tf.open_table(shutil.copytree(path, tmp_path / "t"))
    expected = table.snapshot(9).to_arrow()
    table.restore(9)
    assert sorted(table.to_arrow().to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)


@pytest.mark.parametrize(
    ("step", "older", "newer", "mark"),
    [(1, 5, 9, 9), (1, 9, 5, 9), (1, None, 5, 5), (1, 5, None, 5), (-1, 5, 9, 5), (-1, -5, -9, -9), (1, 5, 5, 5)],
)
def test_marks_of_identity_columns_go_on_from_where_they_are(
    step: int, older: int | None, newer: int | None, mark: int
) -> None:
    def struct(name: str, number: int | None) -> dict[str, Any]:
        told = {"delta.identity.step": step, "delta.identity.highWaterMark": number}
        return {"fields": [{"name": name, "metadata": {k: v for k, v in told.items() if v is not None}}, {"name": "x"}]}

    found = struct("ID", older)
    assert _with_marks(found, struct("id", newer), "/log") is (mark != older)
    assert found["fields"][0]["metadata"]["delta.identity.highWaterMark"] == mark
    spelled = struct("ID", older)
    spelled["fields"][0]["metadata"]["delta.identity.step"] = str(step)
    assert _with_marks(spelled, struct("id", newer), "/log") is (mark != older), "a step that is a text"
    assert not _with_marks({"fields": [{"name": "id"}]}, struct("id", newer), "/log"), "it was no identity column then"
