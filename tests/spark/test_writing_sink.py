"""``df.write.format("tableformats")`` and ``df.writeStream``: what Spark calls, without Spark and with it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, field

pytest.importorskip("pyspark.sql.datasource", reason="needs PySpark 4.0")

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from tableformats.spark import sink
from tableformats.spark.datasource import TableFormatsDataSource

SCHEMA = StructType().add("P", StringType()).add("id", LongType())


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Rows 1 to 3 in the partitions x, x, y; version 1."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "string"), partition=("p",))
    table = tf.open_table(log.root)
    table.append(pa.table({"id": [1, 2, 3], "p": ["x", "x", "y"]}))
    return table


def source(table: tf.Table, **options: Any) -> TableFormatsDataSource:
    return TableFormatsDataSource({"path": table.location, **options})


def sent(value: Any) -> Any:
    """As another process gets it."""
    return pickle.loads(pickle.dumps(value))


def batch(*rows: tuple[str | None, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([p for p, _ in rows]), pa.array([i for _, i in rows])], ["_0", "_1"])


def written(writer: Any, *tasks: list[pa.RecordBatch]) -> list[Any]:
    """The messages of tasks."""
    return [sent(sent(writer).write(iter(batches))) for batches in tasks]


def rows(table: tf.Table) -> list[tuple[int, str | None]]:
    found = tf.open_table(table.location).to_arrow().to_pylist()
    return sorted((row["id"], row["p"]) for row in found)


def data_files(table: tf.Table) -> set[Path]:
    return set(Path(table.location).rglob("*.parquet"))


def version(table: tf.Table) -> int:
    return int(tf.open_table(table.location).snapshot().version)


BEFORE = [(1, "x"), (2, "x"), (3, "y")]


@pytest.mark.parametrize(
    ("overwrite", "options", "kept"),
    [
        (False, {}, BEFORE),
        (True, {}, []),
        (True, {"partitionOverwriteMode": "static"}, []),
        (True, {"partitionOverwriteMode": "dynamic"}, [(3, "y")]),
        (True, {"replaceWhere": "p = 'x'"}, [(3, "y")]),
    ],
)
def test_modes(table: tf.Table, overwrite: bool, options: dict[str, str], kept: list[Any]) -> None:
    """Two tasks with rows, one without."""
    writer = source(table, **options).writer(SCHEMA, overwrite)
    messages = written(writer, [batch(("x", 7)), batch(("x", 8))], [batch(("x", 9))], [])
    assert rows(table) == BEFORE, "data files change nothing"
    sent(writer).commit(messages)
    assert rows(table) == sorted([*kept, (7, "x"), (8, "x"), (9, "x")])


def test_rows_outside_of_what_is_replaced(table: tf.Table) -> None:
    before = data_files(table)
    writer = source(table, replaceWhere="p = 'x'").writer(SCHEMA, True)
    messages = written(writer, [batch(("x", 7))], [batch(("z", 8))])
    with pytest.raises(tf.ConstraintViolationError) as caught:
        sent(writer).commit(messages)
    assert caught.value.field == "where" and rows(table) == BEFORE
    assert data_files(table) == before, "the files of the task that fitted are deleted too"


def test_nothing_is_deleted_once_a_commit_was_tried(table: tf.Table) -> None:
    """Spark aborts after an error of commit, also where the commit has landed."""
    writer = source(table).writer(SCHEMA, False)
    messages = written(writer, [batch(("x", 7))], [batch(("y", 8))])
    sent(writer).commit(messages)
    sent(writer).abort(messages)
    assert rows(table) == [*BEFORE, (7, "x"), (8, "y")]
    missing = written(writer, [batch(("x", 9))])
    before = data_files(table)
    sent(writer).abort([*missing, None])
    assert len(before - data_files(table)) == 1, "a task failed, so nothing was committed"
    assert rows(table) == [*BEFORE, (7, "x"), (8, "y")]


def test_a_table_that_changes_under_a_write(table: tf.Table) -> None:
    writer = source(table).writer(SCHEMA, False)
    messages = written(writer, [batch(("x", 7))])
    log = Path(table.location) / "_delta_log"
    action = json.loads((log / f"{0:020d}.json").read_text().splitlines()[-1])
    action["metaData"]["schemaString"] = action["metaData"]["schemaString"].replace('"long"', '"integer"')
    before = data_files(table)
    (log / f"{2:020d}.json").write_text(json.dumps(action) + "\n")
    with pytest.raises(tf.CommitConflictError):
        sent(writer).commit(messages)
    assert version(table) == 2 and len(before - data_files(table)) == 1


def test_refusals(table: tf.Table) -> None:
    before = data_files(table)
    wrong = StructType().add("id", StringType())
    for options, schema, overwrite, name in [
        ({}, wrong, False, "id"),
        ({}, StructType().add("more", IntegerType()), False, "more"),
        ({"replaceWhere": "p = 'x'"}, SCHEMA, False, "replaceWhere"),
        ({"partitionOverwriteMode": "never"}, SCHEMA, True, "partitionOverwriteMode"),
        ({"partitionOverwriteMode": "dynamic", "replaceWhere": "id = 1"}, SCHEMA, True, "replaceWhere"),
        ({"txnAppId": "a"}, SCHEMA, False, "txnVersion"),
        ({"txnVersion": "1"}, SCHEMA, False, "txnAppId"),
        ({"versionAsOf": "1"}, SCHEMA, False, "versionAsOf"),
    ]:
        with pytest.raises(tf.TableFormatsError) as caught:
            source(table, **options).writer(schema, overwrite)
        assert caught.value.field == name
    with pytest.raises(tf.TableFormatsError) as caught:
        source(table, replaceWhere="p = 'x'").streamWriter(SCHEMA, True)
    assert caught.value.field == "replaceWhere"
    assert data_files(table) == before and version(table) == 1


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    """It is created, by the first write that names a format; the second finds it."""
    path = str(tmp_path / "new")
    with pytest.raises(tf.TableFormatsError):
        TableFormatsDataSource({"path": path}).writer(SCHEMA, False)
    for number in (1, 2):
        writer = TableFormatsDataSource({"path": path, "format": "delta", "partitionBy": "P"}).writer(SCHEMA, False)
        sent(writer).commit(written(writer, [batch(("x", number))]))
    table = tf.open_table(path)
    assert [f.name for f in table.snapshot().partition_fields] == ["P"] and version(table) == 2
    assert table.to_arrow().sort_by("id").to_pylist() == [{"P": "x", "id": 1}, {"P": "x", "id": 2}]


def test_an_application_is_committed_once(table: tf.Table) -> None:
    for _ in range(2):
        writer = source(table, txnAppId="nightly", txnVersion="7").writer(SCHEMA, False)
        sent(writer).commit(written(writer, [batch(("x", 7))]))
    assert rows(table) == [*BEFORE, (7, "x")] and version(table) == 2


def test_a_batch_that_comes_twice(table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a failure between the commit of a batch and Spark's own log; a commit that answers too late."""
    for batch_id, number in [(0, 10), (1, 11), (1, 11), (2, 12)]:
        writer = source(table, checkpointLocation="/c", queryName="q").streamWriter(SCHEMA, False)
        messages = written(writer, [batch(("x", number))], [])
        for message in messages:
            message.query = "the query"
        sent(writer).commit(messages, batch_id)
        sent(writer).abort(messages, batch_id)
    assert [row for row in rows(table) if row[0] > 9] == [(10, "x"), (11, "x"), (12, "x")]
    writer = source(table).streamWriter(SCHEMA, False)
    messages = written(writer, [batch(("x", 13))])
    with pytest.raises(tf.UnsupportedFeatureError, match="twice"):
        writer.commit(messages, 3)
    writer.commit([], 3)
    assert version(table) == 4


def test_rows_of_streams_without_batches(table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark 4.0 gives rows."""
    from pyspark.sql import Row

    monkeypatch.setattr(sink, "_HAS_ARROW", False)
    monkeypatch.setattr(sink, "_ROWS", 2)
    writer = source(table).streamWriter(SCHEMA, True)
    messages = [writer.write(iter([Row(P="x", id=7), Row(P=None, id=8), Row(P="x", id=9)]))]
    messages[0].query = "the query"
    writer.commit(messages, 0)
    assert rows(table) == [(7, "x"), (8, None), (9, "x")]


# ---- with Spark -----------------------------------------------------------------------------------------------------


def test_dataframes(spark: Any, table: tf.Table) -> None:
    from pyspark.errors import AnalysisException, PySparkException

    frame = spark.range(10, 14, numPartitions=2).selectExpr("id AS ID", "IF(id % 2 = 0, 'x', NULL) AS p")

    def save(frame: Any, mode: str, **options: Any) -> None:
        frame.write.format("tableformats").mode(mode).options(**options).save(table.location)

    new = [(10, "x"), (11, None), (12, "x"), (13, None)]
    save(frame, "append")
    assert rows(table) == [*BEFORE, *new]
    save(frame, "overwrite", replaceWhere="p IS NULL OR p = 'x'")
    assert rows(table) == [(3, "y"), *new]
    for mode in ("error", "ignore"):
        with pytest.raises(AnalysisException):
            save(frame, mode)
    with pytest.raises(PySparkException, match=r"ConstraintViolationError.*'more'"):
        save(frame.selectExpr("id AS more"), "append")
    with pytest.raises(PySparkException, match=r"ConstraintViolationError.*'where'"):
        save(frame, "overwrite", replaceWhere="p = 'x'")
    save(frame, "overwrite")
    assert rows(table) == new


def test_a_stream_and_its_restart(spark: Any, table: tf.Table, tmp_path: Path) -> None:
    """A batch whose entry in Spark's own log is lost is not committed again."""
    log = DeltaLog(tmp_path / "from").start(field("id", "long"))
    origin = tf.open_table(log.root)
    checkpoint = tmp_path / "checkpoint"

    def run() -> None:
        stream = spark.readStream.format("tableformats").load(str(log.root)).selectExpr("id", "'s' AS p")
        to = stream.writeStream.format("tableformats").option("checkpointLocation", str(checkpoint))
        to.trigger(availableNow=True).start(table.location).awaitTermination()

    for number in (100, 101):
        origin.append(pa.table({"id": [number]}))
        run()
    assert rows(table) == [*BEFORE, (100, "s"), (101, "s")]
    commits = sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    for path in (commits[-1], commits[-1].with_name(f".{commits[-1].name}.crc")):
        path.unlink(missing_ok=True)
    before = version(table)
    run()
    assert rows(table) == [*BEFORE, (100, "s"), (101, "s")] and version(table) == before
