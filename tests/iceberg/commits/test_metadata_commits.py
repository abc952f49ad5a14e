"""Commits that create a table, give it another definition, or change its metadata; what other writers do meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.format import IcebergFormat

import tableformats as tf
from tableformats.errors import CommitConflictError, UnsupportedFeatureError
from tableformats.io.storage import Storage
from tableformats.plugin import (
    CreateRequest,
    FormatTransaction,
    MetadataChange,
    OpenOptions,
    ReferenceChange,
    TableChange,
)
from tableformats.schema import Field, Schema, primitive
from tableformats.table.new_files import NewFiles
from tableformats.write.commit_loop import CommitOptions
from tableformats.write.transaction import commit

pytest.importorskip("pyiceberg")
from tests.support.iceberg_writing import metadata_of, pyiceberg_rows, pyiceberg_table

COLUMNS = Schema.from_arrow(pa.schema([("id", pa.int64()), ("name", pa.string())]))
ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


def request(version: int = 2, **given: Any) -> CreateRequest:
    return CreateRequest(COLUMNS, properties={"format-version": str(version)}, **given)


def begin(folder: Path, wanted: CreateRequest) -> FormatTransaction:
    return IcebergFormat().create(Storage(folder), OpenOptions(), wanted)


def made(transaction: FormatTransaction, metadata: MetadataChange | None, rows: pa.Table | None = None) -> Any:
    """Commit a change of metadata, with rows or without."""
    change = TableChange("alter", metadata=metadata)
    if metadata is not None and metadata.create is not None:
        change = replace(change, operation="create")
    elif metadata is not None:
        transaction.stage_metadata(metadata)
    transaction.check(change)
    if rows is not None:
        storage: Any = transaction._files.storage  # type: ignore[attr-defined]
        change = replace(change, added=NewFiles(rows).write(storage, transaction.target))
    return commit(transaction, change, CommitOptions(tries=3))


def alter(folder: Path, **changes: Any) -> Any:
    return made(tf.open_table(folder)._opened.begin(), MetadataChange(**changes))


# ---- creating -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_is_created_empty(tmp_path: Path, version: int) -> None:
    wanted = request(version, partition_by=["bucket(2, id)"], sort_by=["id desc"])
    done = made(begin(tmp_path / "t", wanted), MetadataChange(create=wanted))
    assert (done.version, done.operation) == (-1, "create")
    table = tf.open_table(tmp_path / "t")
    assert (table.format, table.scan().count()) == ("iceberg", 0)
    table.append(ROWS)
    assert sorted(r["id"] for r in pyiceberg_rows(tmp_path / "t")) == [1, 2, 3]
    assert pyiceberg_table(tmp_path / "t").format_version == version


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_is_created_with_its_rows_by_one_commit(tmp_path: Path, version: int) -> None:
    wanted = request(version, partition_by=["name"])
    done = made(begin(tmp_path / "t", wanted), MetadataChange(create=wanted), ROWS)
    assert (done.operation, done.metrics["added_rows"]) == ("append", 3)
    metadata = metadata_of(tmp_path / "t")
    assert [s["snapshot-id"] for s in metadata["snapshots"]] == [done.version]
    assert (tmp_path / "t/metadata/version-hint.text").read_text() == "1"
    assert sorted(r["id"] for r in pyiceberg_rows(tmp_path / "t")) == [1, 2, 3]
    assert tf.open_table(tmp_path / "t").scan("name = 'a'").to_arrow()["id"].to_pylist() == [1]


def test_of_two_that_create_one_table_one_loses(tmp_path: Path) -> None:
    one, two = (begin(tmp_path / "t", request()) for _ in range(2))
    made(one, MetadataChange(create=request()))
    with pytest.raises(CommitConflictError, match="created the table"):
        made(two, MetadataChange(create=request()))
    assert tf.open_table(tmp_path / "t").scan().count() == 0


def test_a_table_whose_first_versions_are_gone_is_not_created_again(tmp_path: Path) -> None:
    made(begin(tmp_path / "t", request()), MetadataChange(create=request()))
    transaction = begin(tmp_path / "t", request())
    tf.open_table(tmp_path / "t").append(ROWS)
    (tmp_path / "t/metadata/v1.metadata.json").unlink()
    with pytest.raises(CommitConflictError, match="created the table"):
        made(transaction, MetadataChange(create=request()))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_gets_another_definition(tmp_path: Path, version: int) -> None:
    wanted = request(version, partition_by=["name"])
    made(begin(tmp_path / "t", wanted), MetadataChange(create=wanted), ROWS)
    before = tf.open_table(tmp_path / "t").snapshot().version
    columns = Schema.from_arrow(pa.schema([("name", pa.int32()), ("x", pa.float64())]))
    other = CreateRequest(columns, ["bucket(2, name)"], properties={"a": "b"}, replace=True)
    rows = pa.table({"name": pa.array([7], pa.int32()), "x": [0.5]})
    done = made(begin(tmp_path / "t", other), MetadataChange(create=other), rows)
    table = tf.open_table(tmp_path / "t")
    assert table.scan().to_arrow().to_pylist() == [{"name": 7, "x": 0.5}]
    assert pyiceberg_rows(tmp_path / "t") == [{"name": 7, "x": 0.5}]
    assert sorted(table.scan(version=before).to_arrow()["id"].to_pylist()) == [1, 2, 3]
    metadata = metadata_of(tmp_path / "t")
    assert "parent-snapshot-id" not in metadata["snapshots"][-1]
    assert metadata["snapshots"][-1]["snapshot-id"] == done.version
    ids = [{f["id"] for f in schema["fields"]} for schema in metadata["schemas"]]
    assert ids == [{1, 2}, {3, 4}]
    assert metadata["properties"] == {"a": "b"}


# ---- changing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made(begin(tmp_path / "t", request()), MetadataChange(create=request()), ROWS)
    return tmp_path / "t"


def test_metadata_changes_without_a_snapshot(folder: Path) -> None:
    before = tf.open_table(folder).snapshot().version
    done = alter(folder, schema=Schema((*tf.open_table(folder).schema.fields, Field(0, "n", primitive("int")))))
    assert (done.version, done.operation) == (before, "alter")
    alter(folder, partition_by=["bucket(4, id)"], properties={"format-version": "3", "a": "b"})
    tf.open_table(folder).append(pa.table({"id": [4], "n": pa.array([7], pa.int32())}))
    assert sorted((r["id"], r["n"]) for r in pyiceberg_rows(folder)) == [(1, None), (2, None), (3, None), (4, 7)]
    assert pyiceberg_table(folder).format_version == 3
    assert len(metadata_of(folder)["snapshots"]) == 2


def test_metadata_and_rows_change_together(folder: Path) -> None:
    transaction = tf.open_table(folder)._opened.begin()
    schema = Schema((*tf.open_table(folder).schema.fields, Field(0, "n", primitive("int"))))
    rows = pa.table({"id": [4], "n": pa.array([7], pa.int32())})
    made(transaction, MetadataChange(schema=schema, partition_by=["n"]), rows)
    assert sorted((r["id"], r["n"]) for r in pyiceberg_rows(folder)) == [(1, None), (2, None), (3, None), (4, 7)]
    assert metadata_of(folder)["snapshots"][-1]["schema-id"] == 1
    assert len(list((folder / "metadata").glob("v*.metadata.json"))) == 2


def test_changes_of_different_things_meet(folder: Path) -> None:
    transaction = tf.open_table(folder)._opened.begin()
    tf.open_table(folder).append(ROWS)
    alter(folder, properties={"a": "b"})
    done = made(transaction, MetadataChange(partition_by=["id"]))
    assert done.attempts == 2
    metadata = metadata_of(folder)
    assert (metadata["default-spec-id"], metadata["properties"]) == (1, {"a": "b"})
    assert len(pyiceberg_rows(folder)) == 6


def test_changes_of_one_thing_are_in_conflict(folder: Path) -> None:
    transaction = tf.open_table(folder)._opened.begin()
    alter(folder, partition_by=["name"])
    with pytest.raises(CommitConflictError, match="default partition spec is 1, not 0"):
        made(transaction, MetadataChange(partition_by=["id"]))
    assert metadata_of(folder)["default-spec-id"] == 1


def test_rows_are_appended_beside_a_change_of_columns(folder: Path) -> None:
    transaction = tf.open_table(folder)._opened.begin()
    schema = tf.open_table(folder).schema
    alter(folder, schema=Schema((*schema.fields, Field(0, "n", primitive("int")))))
    made(transaction, None, ROWS)
    assert len(pyiceberg_rows(folder)) == 6


def test_branches_tags_and_rollback(folder: Path) -> None:
    first = tf.open_table(folder).snapshot().version
    alter(folder, references={"b": ReferenceChange("branch", must_exist=False), "t": ReferenceChange("tag")})
    made(tf.open_table(folder)._opened.begin("b"), None, pa.table({"id": [9]}))
    tf.open_table(folder).append(ROWS)
    table = tf.open_table(folder)
    assert [table.scan(**of).count() for of in ({}, {"branch": "b"}, {"tag": "t"})] == [6, 4, 3]
    theirs = pyiceberg_table(folder)
    assert theirs.scan(snapshot_id=theirs.metadata.refs["b"].snapshot_id).to_arrow().num_rows == 4
    done = alter(folder, references={"main": ReferenceChange("branch", first)})
    assert tf.open_table(folder).scan().count() == 3
    assert done.operation == "alter"


def test_one_commit_changes_metadata_once(folder: Path) -> None:
    transaction = tf.open_table(folder)._opened.begin()
    transaction.stage_metadata(MetadataChange(properties={"a": "b"}))
    with pytest.raises(UnsupportedFeatureError, match="once"):
        transaction.stage_metadata(MetadataChange(properties={"a": "c"}))
