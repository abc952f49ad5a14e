"""``create_table`` and ``write_table``: tables where none is, whole or absent, read by others."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.format import DeltaFormat

import tableformats as tf
from tableformats.plugin import CreateRequest, OpenOptions, PutOutcome, Schema
from tableformats.plugin.writing.table_change import MetadataChange, TableChange
from tableformats.table.create import check_creation
from tableformats.write.commit_loop import CommitOptions
from tableformats.write.transaction import commit

from ..support.memory_store import MemoryStore, memory_storage
from .test_append import EVERY_TYPE, LOG, files_below

ROWS = pa.table({"id": [3, 1, 2], "p": ["b", "a", None]})
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())])


def actions(path: Path, version: int = 0) -> dict[str, dict[str, Any]]:
    lines = (path / LOG / f"{version:020d}.json").read_text().splitlines()
    return {name: content for line in lines for name, content in json.loads(line).items()}


@pytest.mark.parametrize("partition", [None, "p", ["p", "id"]])
def test_a_table_that_is_created_is_read_by_deltalake(tmp_path: Path, partition: Any) -> None:
    deltalake = pytest.importorskip("deltalake")
    schema = SCHEMA.append(pa.field("f", pa.float64()))
    table = tf.create_table(tmp_path / "a" / "t", schema, format="delta", partition_by=partition)
    assert (table.schema.names, table.snapshot().version, table.count()) == (["id", "p", "f"], 0, 0)
    theirs = deltalake.DeltaTable(str(tmp_path / "a" / "t"))
    names = [partition] if isinstance(partition, str) else partition or []
    assert theirs.metadata().partition_columns == names == [f.name for f in table.snapshot().partition_fields]
    assert pa.schema(theirs.schema()).field("id").nullable is False
    table.append(ROWS)
    deltalake.write_deltalake(str(tmp_path / "a" / "t"), pa.table({"id": [4], "p": ["c"], "f": [0.5]}), mode="append")
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 2, 3, 4], "others write to it too"


def test_every_type_that_rows_have(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    commit = tf.write_table(EVERY_TYPE, tmp_path, format="delta")
    assert (commit.version, commit.operation, commit.metrics["added_rows"]) == (0, "CREATE TABLE AS SELECT", 3)
    assert not list(tf.open_table(tmp_path).verify(deep=True))
    theirs = deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table().select(EVERY_TYPE.column_names)
    ours = tf.open_table(tmp_path).to_arrow()
    assert (
        list(map(repr, theirs.to_pylist()))
        == list(map(repr, ours.to_pylist()))
        == list(map(repr, EVERY_TYPE.to_pylist()))
    )


def test_types_that_tables_lack_become_wider_ones(tmp_path: Path) -> None:
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    rows = pa.table(
        {
            "u": pa.array([255], pa.uint8()),
            "w": pa.array([2**64 - 1], pa.uint64()),
            "d": pa.array(["x"]).dictionary_encode(),
            "v": pa.array(["x"], pa.string_view()),
            "n": pa.array([moment], pa.timestamp("ns", "Europe/Berlin")),
            "h": pa.array([np.float16(1.5)], pa.float16()),
            "l": pa.array([[1]], pa.large_list(pa.uint16())),
        }
    )
    table_of_rows = rows.select([name for name in rows.column_names if name not in ("h", "l")])
    tf.write_table(table_of_rows, tmp_path, format="delta")
    found = tf.open_table(tmp_path).to_arrow().to_pylist()
    assert found == [{"u": 255, "w": decimal.Decimal(2**64 - 1), "d": "x", "v": "x", "n": moment}]


@pytest.mark.parametrize("what", ["frame", "schema"])
def test_columns_of_polars(tmp_path: Path, what: str) -> None:
    """Texts and bytes are views there, also within lists and structs, and categories have them."""
    polars = pytest.importorskip("polars")
    inner = polars.Struct({"x": polars.String, "y": polars.List(polars.Binary)})
    frame = polars.DataFrame(schema={"s": polars.String, "b": polars.Binary, "n": inner, "c": polars.Categorical})
    table = tf.create_table(tmp_path / "t", frame if what == "frame" else frame.schema, format="delta")
    assert [str(f.type) for f in table.schema] == ["string", "binary", "struct<x:string,y:array<binary>>", "string"]


@pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
def test_what_is_done_where_a_table_is(tmp_path: Path, mode: str) -> None:
    assert tf.write_table(ROWS, tmp_path, mode=mode, format="delta", partition_by="p").version == 0
    before = files_below(tmp_path)
    new = pa.table({"id": [7], "p": ["z"]})
    if mode == "error":
        with pytest.raises(tf.TableExistsError) as caught:
            tf.write_table(new, tmp_path, mode=mode, format="delta")
        assert isinstance(caught.value, FileExistsError)
    else:
        commit = tf.write_table(new, tmp_path, mode=mode)
        assert (commit.version, commit.attempts) == ((0, 0) if mode == "ignore" else (1, 1))
    wanted = {"append": [1, 2, 3, 7], "overwrite": [7]}.get(mode, [1, 2, 3])
    assert sorted(tf.open_table(tmp_path).to_arrow()["id"].to_pylist()) == wanted
    assert (files_below(tmp_path) == before) is (mode in ("error", "ignore"))


def test_a_table_that_is_there_must_be_the_one_that_is_asked_for(tmp_path: Path) -> None:
    tf.write_table(ROWS, tmp_path, format="delta", partition_by="p", properties={"delta.checkpointInterval": "7"})
    for asked in ({"partition_by": "id"}, {"partition_by": []}, {"properties": {"delta.checkpointInterval": "8"}}):
        with pytest.raises(tf.TableExistsError):
            tf.write_table(ROWS, tmp_path, mode="append", **asked)
    tf.write_table(ROWS, tmp_path, mode="append", partition_by="P", properties={"delta.checkpointInterval": "7"})
    with pytest.raises(tf.TableExistsError):
        tf.create_table(tmp_path, SCHEMA, format="delta")
    assert tf.create_table(tmp_path, SCHEMA, format="delta", if_exists="ignore").count() == 6


def test_rows_are_sorted_in_their_files(tmp_path: Path) -> None:
    tf.write_table(ROWS, tmp_path, format="delta", sort_by="id desc")
    table = tf.open_table(tmp_path)
    assert table.to_arrow()["id"].to_pylist() == [3, 2, 1]
    table.append(ROWS, sort_by=["id asc"])
    assert table.to_arrow()["id"].to_pylist() in ([3, 2, 1, 1, 2, 3], [1, 2, 3, 3, 2, 1])
    with pytest.raises(tf.ConstraintViolationError) as caught:
        table.append(ROWS, sort_by="x")
    assert caught.value.field == "x"


@pytest.mark.parametrize(
    ("properties", "features"),
    [
        ({}, {"minReaderVersion": 1, "minWriterVersion": 2}),
        ({"delta.enableDeletionVectors": "true"}, {"deletionVectors"}),
        ({"delta.enableRowTracking": "true"}, {"rowTracking", "domainMetadata"}),
        ({"delta.columnMapping.mode": "name"}, {"columnMapping"}),
        ({"delta.checkpointPolicy": "v2"}, {"v2Checkpoint"}),
        ({"delta.enableInCommitTimestamps": "true"}, {"inCommitTimestamp"}),
        ({"delta.feature.vacuumProtocolCheck": "supported"}, {"vacuumProtocolCheck"}),
    ],
)
def test_properties_bring_the_features_that_they_need(
    tmp_path: Path, properties: dict[str, str], features: Any
) -> None:
    schema = SCHEMA.set(0, pa.field("id", pa.int64()))
    table = tf.create_table(tmp_path, schema, format="delta", properties=properties)
    protocol = actions(tmp_path)["protocol"]
    if isinstance(features, dict):
        assert protocol == features
    elif protocol["minWriterVersion"] == 7:
        assert features <= set(protocol["writerFeatures"])
    table.append(ROWS)
    assert table.count("id > 1") == 2
    kept = {k: v for k, v in properties.items() if not k.startswith("delta.feature.")}
    assert kept.items() <= table.snapshot().properties.items()


@pytest.mark.parametrize(
    ("more", "error", "field"),
    [
        ({"partition_by": "x"}, tf.ConstraintViolationError, "x"),
        ({"partition_by": ["p", "P"]}, tf.ConstraintViolationError, "P"),
        ({"partition_by": ["p", "id"]}, tf.ConstraintViolationError, None),
        ({"sort_by": "id"}, tf.UnsupportedFeatureError, "sort_by"),
        ({"properties": {"delta.somethingNew": "1"}}, tf.UnsupportedFeatureError, "delta.somethingNew"),
        ({"properties": {"delta.checkpointInterval": "0"}}, ValueError, None),
        ({"schema": pa.schema([("a b", pa.int64())])}, tf.UnsupportedFeatureError, "a b"),
        ({"schema": pa.schema([("a", pa.int64()), ("A", pa.int64())])}, tf.UnsupportedFeatureError, "a"),
        ({"schema": pa.schema([("t", pa.time64("us"))])}, tf.UnsupportedFeatureError, "t"),
        ({"schema": pa.schema([])}, tf.UnsupportedFeatureError, None),
        ({"catalog": 7}, TypeError, None),
        ({"if_exists": "no"}, ValueError, None),
        ({"format": "no"}, tf.UnknownFormatError, "no"),
    ],
)
def test_what_is_not_created_is_refused_and_leaves_nothing(
    tmp_path: Path, more: dict[str, Any], error: type[Exception], field: str | None
) -> None:
    arguments = {"schema": SCHEMA, "format": "delta", **more}
    with pytest.raises(error) as caught:
        tf.create_table(tmp_path / "t", **arguments)
    assert not (tmp_path / "t").exists()
    if field is not None:
        assert caught.value.field == field  # type: ignore[attr-defined]


def test_a_format_or_mode_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="format"):
        tf.write_table(ROWS, tmp_path)
    with pytest.raises(ValueError, match="mode"):
        tf.write_table(ROWS, tmp_path, mode="no", format="delta")
    with pytest.raises(TypeError, match="Arrow"):
        tf.write_table([1], tmp_path, format="delta")
    with pytest.raises(TypeError, match="schema"):
        tf.create_table(tmp_path / "t", {"x": "int"}, format="delta")


# ---- races and lost answers -----------------------------------------------------------------------------------------


def creation(store: MemoryStore) -> Callable[[], Any]:
    request = CreateRequest(Schema.from_arrow(SCHEMA))
    begun = DeltaFormat().create(memory_storage(store), OpenOptions(), request)
    change = TableChange("create", metadata=MetadataChange(create=request))
    begun.check(change)
    return lambda: commit(begun, change, CommitOptions())


def test_one_of_two_that_create_a_table_wins() -> None:
    store = MemoryStore()
    first, second = creation(store), creation(store)
    assert first().version == 0
    with pytest.raises(tf.CommitConflictError, match="created a table"):
        second()


@pytest.mark.parametrize("fault", ["lost", "taken", "dropped", "refused"])
def test_a_lost_answer_neither_loses_nor_repeats_a_creation(fault: str) -> None:
    store = MemoryStore()
    create = creation(store)
    store.faults = [fault]
    assert (create().version, store.faults) == (0, [])
    storage = memory_storage(store)
    assert tf.Table(DeltaFormat().open(storage, OpenOptions()), storage).snapshot().version == 0


def test_an_unknown_outcome_says_so() -> None:
    store = MemoryStore()
    create = creation(store)

    def away(path: str) -> None:
        store.unreadable = True

    store.faults, store.before_put = ["lost"], away
    with pytest.raises(tf.CommitUnknownError):
        create()
    assert PutOutcome.UNKNOWN is not PutOutcome.LOST


def test_a_rival_that_creates_the_table_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tableformats.table import create

    found = create._Place.existing
    asked: list[Any] = []

    def late(place: Any) -> tf.Table | None:
        asked.append(place)
        return None if len(asked) == 1 else found(place)

    tf.write_table(ROWS, tmp_path, format="delta")
    monkeypatch.setattr(create._Place, "existing", late)
    before = files_below(tmp_path)
    with pytest.raises(tf.TableExistsError):
        tf.create_table(tmp_path, SCHEMA, format="delta")
    asked.clear()
    assert tf.create_table(tmp_path, SCHEMA, format="delta", if_exists="ignore").count() == 3
    asked.clear()
    for mode in ("append", "overwrite"):
        for rows in (ROWS, ROWS.to_reader()):  # of which the stream has been read
            asked.clear()
            with pytest.raises(tf.CommitConflictError):
                tf.write_table(rows, tmp_path, format="delta", mode=mode)
    asked.clear()
    assert tf.write_table(ROWS.to_reader(), tmp_path, format="delta", mode="ignore").attempts == 0
    asked.clear()
    with pytest.raises(tf.TableExistsError):
        tf.write_table(ROWS, tmp_path, format="delta")
    assert files_below(tmp_path) == before


class Raced:
    """A table that another writer creates before us, and what is done then."""

    format, location = "delta", "/t"

    def __init__(self, monkeypatch: pytest.MonkeyPatch, was_there: bool = False) -> None:
        from tableformats.table import create

        self.done: list[Any] = []
        self._opened = SimpleNamespace(definition_differs=lambda names, properties: None)
        existing = iter([self if was_there else None, self])
        monkeypatch.setattr(create._Place, "existing", lambda place: next(existing))
        monkeypatch.setattr(create, "_rows_and_schema", lambda data: (data, Schema.from_arrow(SCHEMA)))
        monkeypatch.setattr(create, "_create", self._create)

    def _create(self, place: Any, request: Any, rows: Any, found: Any, sort_by: Any) -> str:
        self.done.append(("create", rows, found))
        if len(self.done) == 1:
            raise tf.CommitConflictError("another writer created a table")
        return "created"

    def append(self, data: Any, sort_by: Any) -> str:
        self.done.append(("append", data))
        return "appended"

    def overwrite(self, data: Any, sort_by: Any) -> str:
        self.done.append(("overwrite", data))
        return "overwritten"


FRAME = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()


@pytest.mark.parametrize(
    ("mode", "answer"), [("append", "appended"), ("overwrite", "overwritten"), ("replace", "created")]
)
def test_a_frame_of_spark_is_read_again_where_a_rival_created_the_table(
    monkeypatch: pytest.MonkeyPatch, mode: str, answer: str
) -> None:
    raced = Raced(monkeypatch)
    assert tf.write_table(FRAME, "/t", format="delta", mode=mode) == answer  # type: ignore[comparison-overlap]
    last = ("create", FRAME, raced) if mode == "replace" else (mode, FRAME)
    assert raced.done == [("create", FRAME, None), last]


def test_a_table_that_was_there_is_not_replaced_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    raced = Raced(monkeypatch, was_there=True)
    with pytest.raises(tf.CommitConflictError):
        tf.write_table(FRAME, "/t", mode="replace")
    assert raced.done == [("create", FRAME, raced)]


@pytest.mark.parametrize("is_written", [False, True])
def test_a_directory_that_a_killed_writer_made_is_no_table(tmp_path: Path, is_written: bool) -> None:
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / f".{0:020d}.json.4711.tmp").write_bytes(b'{"commitInfo"')
    rows = pa.table({"id": [1]})
    if is_written:
        tf.write_table(rows, tmp_path / "t", format="delta")
    else:
        tf.create_table(tmp_path / "t", rows.schema, format="delta").append(rows)
    assert tf.open_table(tmp_path / "t").to_arrow() == rows
    with pytest.raises(tf.TableExistsError):
        tf.create_table(tmp_path / "t", rows.schema, format="delta")


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_what_a_creation_would_do_is_told_without_writing(tmp_path: Path, format: str) -> None:
    schema = pa.schema({"id": pa.int64()})
    for if_exists in ("error", "ignore", "replace"):
        assert check_creation(tmp_path / "t", schema, format=format, if_exists=if_exists)
    assert not (tmp_path / "t").exists()
    version = tf.create_table(tmp_path / "t", schema, format=format).snapshot().version
    assert not check_creation(tmp_path / "t", schema, format=format, if_exists="ignore")
    assert check_creation(tmp_path / "t", schema, format=format, if_exists="replace")
    with pytest.raises(tf.TableFormatsError, match="is there"):
        check_creation(tmp_path / "t", schema, format=format)
    with pytest.raises(tf.TableFormatsError, match="nowhere"):
        check_creation(tmp_path / "t", schema, format=format, if_exists="replace", partition_by="nowhere")
    assert tf.open_table(tmp_path / "t").snapshot().version == version


def test_a_schema_may_be_newer_than_the_newest_rows(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema({"id": pa.int64()}), format="iceberg")
    table.append(pa.table({"id": [1]}))
    assert table.snapshot().has_schema_of_version()
    table.alter.add_columns({"x": pa.int64()})
    assert not table.snapshot().has_schema_of_version()
    table.append(pa.table({"id": [2], "x": [3]}))
    assert table.snapshot().has_schema_of_version()
