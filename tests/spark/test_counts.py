"""``count(*)`` from metadata: where it is answered without a scan, where it is not, and always what a scan gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.schema import Field, primitive
from tableformats.schema.transforms import parse_transform
from tests.spark.support.delta_log import DeltaFile, write_delta
from tests.spark.support.plans import files_read
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, write
from tests.support.examples import one_of

ID, P, D = Field(1, "id", primitive("long")), Field(2, "P", primitive("int")), Field(3, "d", primitive("date"))
YEAR = PartitionField(1003, "d_year", D.id, parse_transform("year"), primitive("int"))
SPECS = (identity_spec(0, (1002, P)), PartitionSpec(1, (YEAR,)))
RULE = "spark.sql.optimizer.excludedRules"
LIVE = 7 + 96 + 1000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[FakeFile]:
    root = tmp_path_factory.mktemp("counted")

    def file(name: str, count: int, p: int | None, **more: Any) -> FakeFile:
        rows = pa.table({"id": pa.array(range(count), pa.int64()), "d": pa.array([19_000] * count, pa.date32())})
        return FakeFile(write(root, rows, name), count, {1002: p}, **more)

    # Of the five positions of the second one, one is behind its end.
    deleted = file("b", 100, 2, positions=[0, 5, 98, 99, 5000], position_kind="position")
    return [file("a", 7, 1), deleted, file("c", 1000, None)]


@pytest.fixture(autouse=True)
def view(spark: Any, tmp_path: Path, files: list[FakeFile]) -> Iterator[Any]:
    frame = counted(spark, tmp_path, files)
    frame.createOrReplaceTempView("t")
    yield frame
    spark.catalog.dropTempView("t")


def counted(spark: Any, root: Path, files: list[FakeFile], **more: Any) -> Any:
    return snapshot_of(root, [ID, P, D], files, specs=SPECS[:1], **more).scan().to_spark(spark)


def is_scanned(frame: Any) -> bool:
    """Whether a file is looked at for the query, or for a subquery in it."""
    return "FileScan" in frame._jdf.queryExecution().executedPlan().toString()


ANSWERED = {
    "SELECT count(*) FROM t": [(LIVE,)],
    "SELECT count(1), 1 AS one, count(*) + 1, count('a', 2), concat('n: ', count(*)), count(*) FROM t": [
        (LIVE, 1, LIVE + 1, LIVE, f"n: {LIVE}", LIVE)
    ],
    "SELECT count(*) FROM (SELECT id + 1, rand() FROM t ORDER BY id)": [(LIVE,)],
    "SELECT count(*) FROM (SELECT * FROM t UNION ALL SELECT * FROM t WHERE p = 1)": [(LIVE + 7,)],
    # Filters that are exact, because they are over partition columns alone.
    "SELECT count(*) FROM t WHERE p = 2": [(96,)],
    "SELECT count(*) FROM t WHERE P <> 2": [(7,)],
    "SELECT count(*) FROM t WHERE p IS NULL OR p + 1 = 2": [(1007,)],
    "SELECT count(*) FROM t WHERE p IN (3, 4)": [(0,)],
    # Wherever the aggregate stands.
    "SELECT count(*) FROM t HAVING count(*) > 5": [(LIVE,)],
    "SELECT l.n + r.n FROM (SELECT count(*) AS n FROM t) l JOIN (SELECT count(*) AS n FROM t WHERE p = 1) r": [
        (LIVE + 7,)
    ],
    "SELECT id FROM range(2000) WHERE id = (SELECT count(*) FROM t)": [(LIVE,)],
    "WITH c AS (SELECT count(*) AS n FROM t) SELECT sum(n) FROM (SELECT n FROM c UNION ALL SELECT n FROM c)": [
        (2 * LIVE,)
    ],
    "SELECT DISTINCT count(*) AS n FROM t LIMIT 1": [(LIVE,)],
}


@pytest.mark.parametrize("query", one_of(2, ANSWERED))
def test_answered_from_metadata(spark: Any, settings: Any, query: str) -> None:
    frame = spark.sql(query)
    assert not is_scanned(frame)
    assert [tuple(row) for row in frame.collect()] == ANSWERED[query]
    settings({RULE: "tableformats.spark.CountedRows"})
    others = spark.sql(query)
    assert is_scanned(others) and (others.collect(), others.schema) == (frame.collect(), frame.schema)


SCANNED = {
    "SELECT count(id) FROM t": LIVE,
    "SELECT count(*) + max(id) FROM t": LIVE + 999,
    "SELECT count(DISTINCT 1) FROM t": 1,
    "SELECT count(*) FILTER (WHERE p = 1) FROM t": 7,
    "SELECT count(*) FROM t WHERE id > 3": LIVE - 4 - 3 - 4,
    "SELECT count(*) FROM t WHERE p = 1 AND id >= 0": 7,
    "SELECT count(*) FROM t WHERE p = 1 OR id = 6": 9,
    "SELECT count(*) FROM t WHERE p = 1 AND rand() + p >= 1": 7,
    "SELECT count(*) FROM t WHERE p = (SELECT CAST(max(id) AS INT) FROM range(2))": 7,
    "SELECT count(*) FROM (SELECT * FROM t LIMIT 5)": 5,
    "SELECT count(*) FROM (SELECT * FROM t LIMIT 5000 OFFSET 3)": LIVE - 3,
    "SELECT count(*) FROM t TABLESAMPLE (100 PERCENT)": LIVE,
    "SELECT count(*) FROM (SELECT DISTINCT p FROM t)": 3,
    "SELECT count(*) FROM t GROUP BY p ORDER BY 1 LIMIT 1": 7,
    "SELECT count(*) FROM t l JOIN t r ON l.id = r.id AND l.p = 1": 7 + 7 + 7 - 2,
    "SELECT count(*) FROM (SELECT id FROM t UNION ALL SELECT id FROM range(3))": LIVE + 3,
    "SELECT count(*) FROM (SELECT id FROM t UNION SELECT id FROM t)": 1000,
    "SELECT count(*) FROM (SELECT explode(array(1, 2)) FROM t)": 2 * LIVE,
}


@pytest.mark.parametrize("query", one_of(2, SCANNED))
def test_left_to_spark(spark: Any, query: str) -> None:
    frame = spark.sql(query)
    assert [row[0] for row in frame.collect()] == [SCANNED[query]]
    assert is_scanned(frame)


def test_counts_that_fail(spark: Any, settings: Any) -> None:
    settings({"spark.sql.ansi.enabled": "true"})
    with pytest.raises(Exception, match=r"(?i)divi[ds]"):
        spark.sql(f"SELECT 1 / (count(*) - {LIVE}) FROM t").collect()


def test_frames(spark: Any, view: Any) -> None:
    assert (view.count(), view.where("p = 2").count(), view.select("id").count()) == (LIVE, 96, LIVE)
    assert view.limit(5).count() == 5 and view.union(view).count() == 2 * LIVE
    cached = view.where("p = 1").cache()
    try:
        assert cached.count() == 7 and cached.where("id = 3").count() == 1
    finally:
        cached.unpersist()
    counts = view.groupBy().count().cache()
    try:
        assert counts.collect() == [(LIVE,)] and counts.where("count > 5").count() == 1
    finally:
        counts.unpersist()


def test_no_file_is_looked_at(spark: Any, tmp_path: Path, files: list[FakeFile]) -> None:
    absent = [replace(file, path=str(tmp_path / f"{i}.parquet")) for i, file in enumerate(files)]
    frame = counted(spark, tmp_path, [replace(file, size_bytes=1000) for file in absent])
    assert frame.count() == LIVE
    with pytest.raises(Exception, match=r"[012]\.parquet"):
        frame.selectExpr("count(id)").collect()


@pytest.mark.parametrize("count", [None, -1, 1 << 62])
def test_counts_that_nobody_knows(spark: Any, tmp_path: Path, files: list[FakeFile], count: int | None) -> None:
    """Those that are missing, those that writers put where they did not count, and those that no sum holds."""
    unknown = [replace(file, record_count=count) if file is not files[1] else file for file in files]
    frame = counted(spark, tmp_path, unknown)
    assert is_scanned(frame.groupBy().count()) and frame.count() == LIVE
    known = frame.where("p = 2").groupBy().count()
    assert not is_scanned(known) and known.collect()[0][0] == 96


def test_sums_that_are_no_bigint(spark: Any, tmp_path: Path, files: list[FakeFile]) -> None:
    frame = counted(spark, tmp_path, [replace(files[0], record_count=1 << 62)])
    assert frame.count() == 1 << 62, "as the metadata say"
    assert frame.unionAll(frame).count() == 14


def test_deleted_by_key(spark: Any, tmp_path: Path, files: list[FakeFile]) -> None:
    keys = {"e": pa.table({"1": pa.array([3, 4], pa.int64())})}
    deleted = replace(files[0], keys=["e"])
    frame = counted(spark, tmp_path, [deleted, *files[1:]], equality=keys)
    assert frame.count() == LIVE - 2 and is_scanned(frame.groupBy().count())


def test_of_a_scan_with_a_filter(spark: Any, tmp_path: Path, files: list[FakeFile]) -> None:
    snapshot = snapshot_of(tmp_path, [ID, P, D], files, specs=SPECS[:1])
    exact = snapshot.scan("p >= 1").to_spark(spark).groupBy().count()
    assert not is_scanned(exact) and exact.collect()[0][0] == 103
    other = snapshot.scan("p = 1 AND id > 2").to_spark(spark).groupBy().count()
    assert is_scanned(other) and other.collect()[0][0] == 4
    limited = snapshot.scan(limit=9).to_spark(spark).groupBy().count()
    assert is_scanned(limited) and limited.collect()[0][0] == 9
    assert snapshot.scan("p = 77").to_spark(spark).count() == 0


def test_partitions_of_a_transform_are_no_exact_answer(spark: Any, tmp_path: Path, files: list[FakeFile]) -> None:
    file = replace(files[0], spec_id=1, partition={1003: 52})
    frame = snapshot_of(tmp_path, [ID, P, D], [file], specs=SPECS).scan().to_spark(spark)
    asked = frame.where("year(d) = 2022").groupBy().count()
    assert is_scanned(asked) and asked.collect()[0][0] == 7
    assert not is_scanned(frame.groupBy().count())


def test_delta(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32())])
    files = [
        DeltaFile(f"f{i}.parquet", pa.table({"id": pa.array(range(100 * i, 100 * i + 100), pa.int64())}), {"p": str(i)})
        for i in range(3)
    ]
    root = write_delta(tmp_path / "t", schema, files, partitioned_by=["p"])
    frame = tf.spark.read(spark, root)
    assert not is_scanned(frame.groupBy().count()) and frame.count() == 300
    log = root / "_delta_log" / "00000000000000000000.json"
    log.write_text(log.read_text().replace("numRecords", "numRows", 1))
    frame = tf.spark.read(spark, root)
    assert files_read(frame.groupBy().count()) == 3 and frame.count() == 300
    assert not is_scanned(frame.where("p > 0").groupBy().count())
