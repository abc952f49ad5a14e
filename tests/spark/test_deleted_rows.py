"""Deleted rows on their way to executors: bits that go there in pieces, with no class of ours, and go when plans go."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap64

from tableformats.engines.spark.columns.naming import ROW_INDEX
from tableformats.engines.spark.deletes import positions
from tableformats.engines.spark.native.hadoop_access import java_class
from tableformats.engines.spark.native.jvm import Bridge
from tableformats.schema import Field, primitive
from tests.support.arrow_fakes import FakeFile, snapshot_of, write
from tests.support.rows import rows, spark_rows

ID = Field(1, "id", primitive("long"))
COUNT, FILES = 10_000, 6
NOT_GENERATED: list[dict[str, str]] = [
    {"spark.sql.codegen.wholeStage": "false"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    {"spark.sql.codegen.hugeMethodLimit": "1"},
]


def _deleted(file: int) -> list[int]:
    return list(range(file, COUNT, file + 2))


LIVE = sum(COUNT - len(_deleted(file)) for file in range(FILES))


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Files with deleted rows in several pieces."""
    monkeypatch.setattr(positions, "_PIECE_BYTES", 5000)
    data = [pa.table({"id": pa.array(np.arange(COUNT) + COUNT * i)}) for i in range(FILES)]
    paths = [write(tmp_path, table, f"{i}.parquet") for i, table in enumerate(data)]
    return snapshot_of(tmp_path, [ID], [FakeFile(p, COUNT, positions=_deleted(i)) for i, p in enumerate(paths)])


def _tidy(spark: Any) -> None:
    for _ in range(3):
        gc.collect()
        spark._jvm.java.lang.System.gc()
        time.sleep(0.1)


def _settled(spark: Any) -> int:
    """:func:`_stored` when Spark has freed what other tests left, which it does some time after they end."""
    stored = _stored(spark)
    for _ in range(20):
        _tidy(spark)
        before, stored = stored, _stored(spark)
        if stored == before:
            break
    return stored


def _stored(spark: Any) -> int:
    """Bytes of blocks in the driver's memory, broadcasts among them."""
    most, left = (_long(spark, pair) for pair in ("_1", "_2"))
    return most - left


def _long(spark: Any, which: str) -> int:
    status = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().values().head()
    return int(getattr(status, which)())


@pytest.fixture(params=[{}, *NOT_GENERATED], ids=["default", *(list(s)[-1] for s in NOT_GENERATED)])
def way(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    settings(request.param)
    yield


@pytest.mark.usefixtures("way")
def test_rows_from_several_pieces(spark: Any, snapshot: Any) -> None:
    scan = snapshot.scan()
    frame = scan.to_spark(spark)
    assert spark_rows(frame) == rows(scan.to_arrow())
    # Twice in a plan, in both places of a join, and of some files alone.
    assert frame.unionAll(frame).where("id >= 0").count() == 2 * LIVE
    assert frame.join(scan.to_spark(spark), "id").count() == LIVE
    assert frame.where("id >= 55000").count() == sum(row not in _deleted(5) for row in range(5000, COUNT))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1 << 21, 1 << 26], ids=["several pieces", "one piece"])
def test_bits_are_found_wherever_they_stand(spark: Any, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The one piece has 20 MB: where bits begin is said by numbers whose three lower bytes are above 127 too."""
    monkeypatch.setattr(positions, "_PIECE_BYTES", size)
    random, count = np.random.default_rng(7), 1 << 20
    deleted = [random.integers(0, count, 2000) for _ in range(160)]
    bridge = Bridge(spark)
    test = bridge.live_test(positions.pages_of(BitMap64(gone), "f") for gone in deleted)
    asked, live = [], []
    for address, gone in zip(
        test.constants[positions.ADDRESS].to_pylist(), map(np.ndarray.tolist, deleted), strict=True
    ):
        for row in [*gone[:30], *random.integers(0, count + 5000, 30).tolist()]:
            asked.append((address, row))
            live += [] if row in gone else [(address, row)]
    asked += [asked[i] for i in random.permutation(len(asked))]
    columns = f"{positions.ADDRESS} long, {ROW_INDEX} long"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(asked, 2), columns)
    where = java_class(bridge._gateway, "org.apache.spark.sql.catalyst.plans.logical.Filter")
    plan = where(test.condition, frame._jdf.queryExecution().logical())
    found = bridge._frame(java_class(bridge._gateway, bridge._dataset).ofRows(spark._jsparkSession, plan))
    assert sorted(map(tuple, found.collect())) == sorted(2 * live)


@pytest.mark.usefixtures("way")
def test_no_class_of_ours_is_in_a_task(spark: Any, snapshot: Any) -> None:
    frame = snapshot.scan().to_spark(spark).where("id > 7")
    rdd = frame._jdf.queryExecution().toRdd()
    serialize = spark._jvm.org.apache.commons.lang3.SerializationUtils.serialize
    task = bytes(serialize(rdd))
    assert b"org.apache.spark.broadcast" in task and b"tableformats.spark." not in task
    partition = bytes(serialize(rdd.partitions()[0]))
    assert b"tableformats.spark." not in partition and len(partition) < 5000


WIDE = 11


@pytest.mark.parametrize(
    "chosen", [{"spark.sql.codegen.maxFields": str(WIDE - 1)}, {"spark.sql.codegen.wholeStage": "false"}]
)
def test_wide_tables_pay_for_no_bits(spark: Any, tmp_path: Path, settings: Any, chosen: dict[str, str]) -> None:
    """Spark makes a row of all of a file's constants for each of its rows where it generates no whole-stage code."""
    settings(chosen)
    count = 50_000
    path = write(tmp_path, pa.table({"id": pa.array(np.arange(count))}))
    deleted = list(range(5, count, 100))
    fields = [ID, *(Field(2 + i, f"c{i}", primitive("long")) for i in range(WIDE - 1))]
    clean = snapshot_of(tmp_path, fields, [FakeFile(path, count)])
    # The file's length is not known, so that a megabyte of bits is believed.
    less = snapshot_of(tmp_path, fields, [FakeFile(path, None, positions=[*deleted, *range(count, 1 << 23, 100)])])
    first = ", ".join(f.name for f in reversed(fields))

    def seconds(snapshot: Any, counted: int) -> float:
        query = snapshot.scan().to_spark(spark).selectExpr(f"count(coalesce({first}))", "count(*)", "sum(id)")
        start = time.perf_counter()
        found = tuple(query.collect()[0])
        taken = time.perf_counter() - start
        assert found == (counted, counted, sum(range(count)) - (sum(deleted) if counted < count else 0))
        return taken

    plain = min(seconds(clean, count) for _ in range(2))
    assert min(seconds(less, count - len(deleted)) for _ in range(2)) < 4 * plain + 0.2


# ---- how long they live ---------------------------------------------------------------------------------------------


def test_broadcasts_go_with_their_plans(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"id": pa.array(range(10), pa.int64())}))
    deleted = np.unique(np.random.default_rng(5).integers(10, 1 << 23, 1 << 18)).tolist()
    scan = snapshot_of(tmp_path, [ID], [FakeFile(path, None, positions=[0, *deleted])]).scan()
    compressed = 1 << 18
    before = _settled(spark)
    frames = [scan.to_spark(spark) for _ in range(8)]
    assert frames[0].count() == 9
    _tidy(spark)
    assert _stored(spark) > before + 8 * compressed, "frames that live keep theirs"
    frames.clear()
    for _ in range(20):
        _tidy(spark)
        # The session remembers its last query.
        if _stored(spark) < before + 2 * compressed:
            return
    raise AssertionError(f"{_stored(spark) - before} bytes are left")


def test_queries_find_their_deleted_rows_when_python_let_go(spark: Any, snapshot: Any) -> None:
    frame = snapshot.scan().to_spark(spark)
    frame.createOrReplaceTempView("without_deleted")
    cached = frame.where("id % 2 = 0").cache()
    del frame
    _tidy(spark)
    try:
        assert spark.table("without_deleted").where("id >= 0").count() == LIVE
        even = cached.count()
        assert 0 < even < LIVE
        # The cached rows are lost, and made again.
        cached._jdf.queryExecution().withCachedData().collectLeaves().head().cacheBuilder().clearCache(True)
        _tidy(spark)
        assert cached.count() == even
        counted: list[int] = []
        other = threading.Thread(target=lambda: counted.append(spark.table("without_deleted").where("id >= 0").count()))
        other.start()
        other.join()
        assert counted == [LIVE]
    finally:
        cached.unpersist()
        spark.catalog.dropTempView("without_deleted")


def test_plans_with_the_same_deleted_rows_are_the_same(spark: Any, snapshot: Any) -> None:
    frame = snapshot.scan().to_spark(spark)
    same, other = frame.select("id"), snapshot.scan().to_spark(spark).select("id")
    assert frame.select("id").sameSemantics(same) and not frame.select("id").sameSemantics(other)
