"""DataFrames appended to tables: rows, partitions, types, errors before and in the job, what failures leave behind."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.engines.spark.writing.clustering import hash_seed_zero, partition_key
from tableformats.engines.spark.writing.spark_rows import table_rows
from tableformats.engines.spark.writing.tasks import WriteTask, unpack_files, write_partition
from tableformats.plugin import PartitionField
from tableformats.schema import Field, FixedType, Schema, StructType, number_fields, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.delta_log import DeltaLog, field

pytest.importorskip("pyspark", reason="needs the extra [spark]")
ROOT = Path(__file__).resolve().parents[2]


def files_below(path: Path) -> set[str]:
    return {str(found.relative_to(path)) for found in path.rglob("*.parquet")}


def named_files(table: tf.Table) -> set[str]:
    return {os.path.relpath(path, table.location) for path in table.scan().plan().files["path"].to_pylist()}


def delta_table(path: Path, *fields: dict[str, Any], partition: Iterable[str] = (), **more: Any) -> tf.Table:
    return tf.open_table(DeltaLog(path).start(*fields, partition=tuple(partition), **more).root)


def test_rows_and_partitions(spark: Any, tmp_path: Path) -> None:
    """One partition has most rows; names that Spark's own functions read otherwise."""
    deltalake = pytest.importorskip("deltalake")
    table = delta_table(tmp_path / "t", field("a b.c`d", "long"), field("p", "string"), partition=["p"])
    frame = spark.range(0, 20_000, numPartitions=4).selectExpr(
        "id AS `a b.c``d`",
        "CASE WHEN id % 10 > 0 THEN 'most' WHEN id % 20 = 0 THEN NULL ELSE 'v' || (id % 30) END AS P",
    )
    commit = table.append(frame)
    assert (commit.version, commit.metrics["added_rows"]) == (1, 20_000)
    plan = tf.open_table(table.location).scan().plan()
    partitions = [row["p"] for row in plan.files["partition"].to_pylist()]
    assert len(partitions) <= len(set(partitions)) + 2, "the rows of a partition are together"
    assert named_files(table) == files_below(tmp_path / "t")
    expected = sorted(map(repr, ((row[0], row[1]) for row in frame.collect())))
    theirs = deltalake.DeltaTable(table.location).to_pyarrow_table().to_pylist()
    assert sorted(repr((row["a b.c`d"], row["p"])) for row in theirs) == expected
    found = tf.spark.read(spark, table.location, filter="`a b.c``d` < 40 AND p = 'most'")
    assert sorted(row[0] for row in found.collect()) == [i for i in range(40) if i % 10]


EVERY_TYPE = """SELECT CAST(i AS BYTE) AS y, CAST(i AS SHORT) AS h, i, CAST(i AS BIGINT) * 3000000000 AS l,
    CAST(i AS FLOAT) / 3 AS f, CASE i WHEN 1 THEN double('NaN') WHEN 2 THEN -0D ELSE i / 7D END AS d,
    CAST(i AS DECIMAL(38, 9)) / 7 AS big, CAST(i AS DECIMAL(9, 2)) AS small, i % 2 = 0 AS b, 'é' || i AS s,
    CAST(i || 'x' AS BINARY) AS z, DATE '1969-12-30' + i AS day, TIMESTAMP '1969-12-31 23:59:59.999999Z' AS ts,
    TIMESTAMP_NTZ '2024-03-10 02:30:00' AS n, array(i, NULL) AS a, map('k', TIMESTAMP '2024-01-01 00:00:00') AS m,
    named_struct('x', array(named_struct('t', TIMESTAMP '2024-11-03 01:30:00', 'q', i))) AS c
    FROM VALUES (1), (2), (3), (NULL) AS t(i)"""


@pytest.mark.parametrize("partition", [(), ("day", "ts", "n", "big", "b", "s", "y")], ids=["whole", "partitioned"])
def test_values_of_all_types(spark: Any, tmp_path: Path, partition: tuple[str, ...]) -> None:
    deltalake = pytest.importorskip("deltalake")
    frame = spark.sql(EVERY_TYPE)
    log = DeltaLog(tmp_path / "t")
    fields = json.loads(frame.schema.json().replace(":false", ":true"))["fields"]  # all is nullable
    log.start(
        *fields,
        partition=partition,
        protocol={
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["timestampNtz"],
        },
    )
    table = tf.open_table(log.root)
    table.append(frame)
    found = tf.spark.read(spark, table.location)
    assert sorted(map(repr, found.select(frame.columns).collect())) == sorted(map(repr, frame.collect()))
    theirs = deltalake.DeltaTable(table.location).to_pyarrow_table()
    ours = table.to_arrow().select(theirs.column_names)
    assert sorted(map(repr, theirs.to_pylist())) == sorted(map(repr, ours.to_pylist()))


def test_overwrites_and_new_tables(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 9, numPartitions=2).selectExpr("id", "CAST(id % 3 AS STRING) AS p", "array(id) AS a")
    assert tf.write_table(frame, tmp_path / "t", format="delta", partition_by="p").metrics["added_rows"] == 9
    with pytest.raises(tf.TableExistsError):
        tf.write_table(frame, tmp_path / "t")
    table = tf.open_table(tmp_path / "t")
    table.overwrite(frame.where("p = '0'").selectExpr("id + 100 AS id", "p"), where="dynamic")
    table.overwrite(frame.where("p = '1'").selectExpr("id + 200 AS id", "p"), where="p = '1'")
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 5, 8, 100, 103, 106, 201, 204, 207]
    with pytest.raises(tf.ConstraintViolationError) as caught:
        table.overwrite(frame, where="p = '1'")
    assert caught.value.field == "where"
    with table.transaction() as transaction:
        transaction.delete("p = '2'")
        transaction.append(frame.where("id = 4"))
    assert tf.write_table(frame.limit(0), tmp_path / "t", mode="ignore").attempts == 0
    assert sorted(table.to_arrow()["id"].to_pylist()) == [4, 100, 103, 106, 201, 204, 207]
    table.append(frame.selectExpr("id + 300 AS id", "id * 2 AS more").where("more = 0"), schema="merge")
    assert tf.open_table(table.location).to_arrow(filter="id >= 300").to_pylist() == [
        {"id": 300, "p": None, "a": None, "more": 0}
    ]
    tf.write_table(frame.where("id = 1"), tmp_path / "t", mode="overwrite")
    assert tf.spark.read(spark, table.location).select("id", "p", "a").collect() == [(1, "1", [1])]


def test_columns_that_do_not_fit_start_no_job(spark: Any, tmp_path: Path) -> None:
    table = delta_table(
        tmp_path / "t", field("id", "long"), {**field("must", "long"), "nullable": False}, field("s", "string")
    )
    jobs = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("no job", "")
    for text, name in [
        ("id, id AS must, 1 AS more", "more"),
        ("id, id AS ID, 1 AS must", "ID"),
        ("'x' AS id, 1 AS must", "id"),
        ("id", "must"),
        ("id, 1 AS must, id AS s", "s"),
        ("INTERVAL '1' YEAR AS id, 1 AS must", "id"),
    ]:
        frame = spark.sql(f"SELECT {text} FROM range(3)")
        with pytest.raises(tf.ConstraintViolationError) as caught:
            table.append(frame)
        assert caught.value.field == name
    assert not jobs.getJobIdsForGroup("no job") and not files_below(tmp_path / "t")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_values_that_do_not_fit(spark: Any, tmp_path: Path) -> None:
    """An error of the data comes back with its type and field, and no file stays."""
    table = delta_table(tmp_path / "t", {**field("id", "integer"), "nullable": False}, field("p", "integer"))
    for expression in ("IF(id = 7, NULL, id)", "id + IF(id = 7, 3000000000, 0)"):
        frame = spark.range(0, 8, numPartitions=4).selectExpr(f"{expression} AS id", "1 AS p")
        with pytest.raises(tf.ConstraintViolationError) as caught:
            table.append(frame)
        assert caught.value.field == "id"
        assert not files_below(tmp_path / "t") and tf.open_table(table.location).snapshot().version == 0


def test_errors_of_the_query_are_its_own(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    table = delta_table(tmp_path / "t", field("id", "long"))
    with pytest.raises(PySparkException) as caught:
        table.append(spark.range(3).selectExpr("IF(id = 2, raise_error('of the user'), id) AS id"))
    assert "of the user" in str(caught.value)


def test_a_directory_that_cannot_be_written(spark: Any, tmp_path: Path) -> None:
    table = delta_table(tmp_path / "t", field("id", "long"), field("p", "string"), partition=["p"])
    (tmp_path / "t" / "p=x").write_text("a file, where a directory has to be")
    with pytest.raises(tf.CorruptMetadataError, match="stands above it") as caught:
        table.append(spark.range(3).selectExpr("id", "'x' AS p"))
    assert str(caught.value.path).startswith(table.location + "/p=x/")
    assert table.snapshot().version == 0


def test_spark_finds_nan_in_files_of_arrows_writer(spark: Any, tmp_path: Path) -> None:
    """Spark takes NaN for the greatest number, and Arrow leaves it out of the bounds of row groups."""
    numbers = pa.array([0.5, float("nan"), None])
    rows = pa.table({"id": [1, 2, 3], "f": numbers, "s": pa.StructArray.from_arrays([numbers], names=["g"])})
    for format in ("delta", "iceberg"):
        tf.write_table(rows, str(tmp_path / format), format=format)
        table = tf.open_table(tmp_path / format)
        [path] = table.scan().plan().file_uris()
        frame = spark.read.parquet(path)
        for condition in ("f > 1.0", "s.g > 1.0", "NOT (f = 0.5)"):
            assert [row.id for row in frame.where(condition).collect()] == [2], condition
        chunks = pq.read_metadata(unquote(path.removeprefix("file://"))).row_group(0)
        assert [chunks.column(i).is_stats_set for i in range(3)] == [True, False, False]
        assert table.scan("f IS NULL").count() == 1 and not len(table.verify(deep=True))


def test_no_rows(spark: Any, tmp_path: Path) -> None:
    table = delta_table(tmp_path / "t", field("id", "long"))
    assert table.append(spark.range(0)).attempts == 0
    assert table.append(spark.range(9).where("id < 0")).version == 0


# ---- tasks ----------------------------------------------------------------------------------------------------------


def task_of(table: tf.Table, *names: str) -> WriteTask:
    return pickle.loads(pickle.dumps(WriteTask.of(table.storage, table.transaction().write_target(), names)))


def test_attempts_of_a_task_do_not_meet(tmp_path: Path) -> None:
    """Speculation runs a task twice; whose rows Spark takes is the commit's, the other's files are orphans."""
    table = delta_table(tmp_path / "t", field("id", "long"))
    task = task_of(table, "id")
    batch = pa.RecordBatch.from_pydict({"c0": [1, 2]})
    answers = [list(write_partition(task, [batch])) for _ in range(2)]
    paths = [unpack_files(answer[0]["files"][0].as_py())["path"].to_pylist() for answer in answers]
    assert len({path for found in paths for path in found}) == 2 and len(files_below(tmp_path / "t")) == 2


def test_an_attempt_that_fails_deletes_its_files(tmp_path: Path) -> None:
    table = delta_table(tmp_path / "t", field("id", "long"), configuration={"delta.targetFileSize": "8"})
    task = task_of(table, "id")

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"c0": [1, 2]})
        yield pa.RecordBatch.from_pydict({"c0": [3]})
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:  # another thread writes the first file
            seen.extend(files_below(tmp_path / "t"))
        raise RuntimeError("the executor is lost")

    seen: list[str] = []
    with pytest.raises(RuntimeError, match="lost"):
        list(write_partition(task, batches()))
    assert len(seen) == 1 and not files_below(tmp_path / "t")


def test_another_version_on_the_executors(tmp_path: Path) -> None:
    table = delta_table(tmp_path / "t", field("id", "long"))
    task = WriteTask.of(table.storage, table.transaction().write_target(), ["id"])
    object.__setattr__(task, "version", "0.0")
    [row] = list(write_partition(task, []))
    assert "0.0" in row["error"][0].as_py() and "UnsupportedFeatureError" in row["error"][0].as_py()
    assert "secret" not in repr(WriteTask.of(table.storage, task.target, ["secret"]).access)


def test_types_that_spark_does_not_have() -> None:
    number = "12345678-1234-5678-1234-567812345678"
    schema = Schema(
        number_fields(
            [
                Field(0, "u", primitive("uuid")),
                Field(0, "f", FixedType(2)),
                Field(0, "t", primitive("time")),
                Field(0, "v", primitive("variant")),
                Field(0, "s", StructType((Field(0, "u", primitive("uuid")),))),
            ]
        )
    )
    variant = pa.StructArray.from_arrays([pa.array([b"v"]), pa.array([b"m"])], ["value", "metadata"])
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([number]),
            pa.array([b"ab"]),
            pa.array([1_000_000], pa.time64("ns")),
            variant,
            pa.array([{"u": number}]),
        ],
        names=["a", "b", "c", "d", "e"],
    )
    [found] = table_rows([batch], schema.names, schema)
    assert [column.type for column in found.columns[:4]] == [f.type for f in schema.to_arrow()][:4]
    [row] = found.to_pylist()
    assert row["u"].hex() == number.replace("-", "") == row["s"]["u"].hex() and row["f"] == b"ab"
    assert row["t"] == dt.time(0, 0, 0, 1000) and row["v"] == {"metadata": b"m", "value": b"v"}
    for name, value in [("u", "no uuid"), ("f", b"abc"), ("t", pa.scalar(1, pa.time64("ns")))]:
        wrong = pa.RecordBatch.from_arrays([pa.array([value])], names=[name])
        with pytest.raises(tf.ConstraintViolationError) as caught:
            list(table_rows([wrong], [name], schema))
        assert caught.value.field == name


# ---- clustering -----------------------------------------------------------------------------------------------------

_TRANSFORMS = [
    ("identity", "string", "'x' || (i % 3)"),
    ("bucket[16]", "int", "i"),
    ("bucket[16]", "long", "i * 3000000000L"),
    ("bucket[16]", "date", "DATE '1969-12-20' + i"),
    ("bucket[16]", "timestamp", "timestamp_micros(i * 86399999999L)"),
    ("bucket[16]", "uuid", "'00000000-0000-0000-0000-0000000000' || lpad(hex(i + 30), 2, '0')"),
    ("truncate[3]", "string", "'é' || i"),
    ("truncate[10]", "int", "i"),
    ("year", "date", "DATE '2019-12-20' + i"),
    ("month", "timestamp", "timestamp_micros(i * 864399999999L)"),
    ("day", "timestamp", "timestamp_micros(i * 43199999999L)"),
    ("hour", "timestamp", "timestamp_micros(i * 1799999999L)"),
    ("day", "timestamp_ntz", "TIMESTAMP_NTZ '2024-03-09 00:00:00' + make_interval(0, 0, 0, 0, 7 * i)"),
    ("hour", "timestamp_ntz", "TIMESTAMP_NTZ '2024-01-09 00:00:00' + make_interval(0, 0, 0, 0, 0, 17 * i)"),
]


def test_rows_of_a_partition_have_one_key(spark: Any) -> None:
    """By the transform of the table, applied one by one."""
    wanted = []
    for number, (transform, kind, sql) in enumerate(_TRANSFORMS):
        found = parse_transform(transform)
        part = PartitionField(1000, "p", 1, found, found.result_type(primitive(kind)))
        wanted.append((found, kind, sql, partition_key(part, primitive(kind), f"v{number}")))
    frame = spark.range(-30, 30).selectExpr("CAST(id AS INT) AS i")
    frame = frame.selectExpr(*(f"{sql} AS v{number}" for number, (_, _, sql, _) in enumerate(wanted)))
    rows = frame.selectExpr("*", *(f"{key} AS k{number}" for number, (*_, key) in enumerate(wanted))).collect()
    for number, (transform, kind, _, key) in enumerate(wanted):
        keys: dict[Any, set[Any]] = {}
        for row in rows:
            keys.setdefault(_partition(transform, kind, row[f"v{number}"]), set()).add(row[f"k{number}"])
        assert len(keys) > 1 and all(len(found) == 1 for found in keys.values()), key
        assert len({next(iter(found)) for found in keys.values()}) >= len(keys) / 2, key


def _partition(transform: Any, kind: str, value: Any) -> Any:
    if transform.name == "bucket":
        if isinstance(value, dt.datetime):
            value = round(value.timestamp() * 1_000_000)
        elif isinstance(value, dt.date):
            value = (value - dt.date(1970, 1, 1)).days
        value = UUID(value).bytes if kind == "uuid" else value
        return transform.bucket(value, primitive(kind))
    if transform.name == "truncate":
        return value[: transform.width] if isinstance(value, str) else value // transform.width
    if transform.name == "identity":
        return value
    if kind == "timestamp":
        value = value.astimezone(dt.timezone.utc)
    return str(value)[: {"year": 4, "month": 7, "day": 10, "hour": 13}[transform.name]]


def test_seed(spark: Any) -> None:
    assert spark.sql(f"SELECT hash({hash_seed_zero()})").collect()[0][0] == 0


# ---- processes that end ---------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_driver_that_is_killed_and_a_task_that_fails_once(tmp_path: Path) -> None:
    """In a process of its own, because the session of the tests tries a task once."""
    pytest.importorskip("pyspark")
    table = delta_table(tmp_path / "t", field("id", "long"))
    table.append(pa.table({"id": [-1]}))
    before = files_below(tmp_path / "t")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.writing_job", table.location, str(tmp_path / "failed")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == -9, done.stderr[-2000:]
    assert (tmp_path / "failed").exists(), "a task failed"
    again = tf.open_table(table.location)
    assert again.snapshot().version == 2, "the first commit is there, that of the killed driver is not"
    assert sorted(again.to_arrow()["id"].to_pylist()) == [-1, *range(40)]
    assert len(files_below(tmp_path / "t") - before - named_files(again)) >= 4, "files that nobody names"
