"""Reads leave nothing behind: no setting, no memory, no callback that is gone while its DataFrame lives.

``TABLEFORMATS_READS=1000`` reads as often in each way; by default it is a few times.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support.delta_log import DeltaFile, append, write_delta
from tests.spark.support.plans import files_read, paths_read
from tests.spark.support.session import NOWHERE, has_data_sources
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

READS = int(os.environ.get("TABLEFORMATS_READS", 8))
SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.float64())])
FILES = 8
WAYS: dict[str, dict[str, Any]] = {
    "native": {"mode": "native"},
    "staged": {"mode": "portable"},
    "data source": {"mode": "portable", "staging": NOWHERE},
}


def _file(i: int) -> DeltaFile:
    rows = pa.table({"id": pa.array(range(10 * i, 10 * i + 10), pa.int64()), "x": pa.array([0.5] * 10)})
    return DeltaFile(f"f{i}.parquet", rows)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_delta(tmp_path_factory.mktemp("leaks") / "t", SCHEMA, [_file(i) for i in range(FILES)])


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param != "native" and not has_data_sources():
        pytest.skip("the portable path needs PySpark 4")
    return WAYS[request.param]


def _settings(spark: Any) -> dict[str, Any]:
    """All that a session is told, set or not, and what its Hadoop file systems are told."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration().getPropsWithPrefix("")
    return {
        "registered": {row.key: row.value for row in spark.sql("SET -v").collect()},
        "set": {row.key: row.value for row in spark.sql("SET").collect()},
        "context": dict(spark.sparkContext.getConf().getAll()),
        "hadoop": {key: hadoop[key] for key in hadoop},
        "strategies": spark._jsparkSession.experimental().extraStrategies().size(),
        "views": [table.name for table in spark.catalog.listTables()],
    }


def test_a_read_changes_no_setting(spark: Any, root: Path, way: dict[str, Any]) -> None:
    session = spark.newSession()
    before = _settings(session)
    frame = tf.spark.read(session, root, filter="id < 30", **way)
    assert frame.where("x = 0.5 AND id > 15").count() == 14
    assert frame.join(frame.selectExpr("id + 1 AS id"), "id").count() == 29
    assert _settings(session) == before
    rules = [session._jsparkSession.experimental().extraOptimizations().size()]
    tf.spark.read(session, root, **way)
    rules.append(session._jsparkSession.experimental().extraOptimizations().size())
    assert rules in ([0, 0], [2, 2]), "the rules are there once"


def test_reads_of_deleted_rows_change_no_setting(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"id": pa.array(range(10), pa.int64())}), "f.parquet")
    from tableformats.schema import Field, primitive

    snapshot = snapshot_of(tmp_path, [Field(1, "id", primitive("long"))], [FakeFile(path, 10, positions=[3, 4])])
    session = spark.newSession()
    before = _settings(session)
    assert snapshot.scan().to_spark(session).where("id > 2").count() == 5
    assert _settings(session) == before


# ---- memory --------------------------------------------------------------------------------------------------------


def _heap(spark: Any) -> int:
    """Bytes of the JVM that are in use once all that is gone is collected."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    least = None
    for _ in range(4):
        gc.collect()
        runtime.gc()
        time.sleep(0.1)
        used = runtime.totalMemory() - runtime.freeMemory()
        least = used if least is None else min(least, used)
    assert least is not None
    return int(least)


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def _growth(spark: Any, read: Callable[[], Any]) -> tuple[float, float]:
    """Bytes that each of READS reads left in the JVM's heap, and in this process, once both are warm."""
    for _ in range(max(3, min(READS // 4, 50))):
        read()
    heap, resident = _heap(spark), _resident()
    for _ in range(READS):
        read()
    return (_heap(spark) - heap) / READS, (_resident() - resident) / READS


@pytest.fixture(scope="module")
def plain_growth(spark: Any, root: Path) -> tuple[float, float]:
    """What reads of Spark's own leave behind: its status store remembers the last queries."""
    paths = [str(path) for path in root.glob("*.parquet")]
    return _growth(spark, lambda: spark.read.parquet(*paths).where("id >= 70").select("id").collect())


@pytest.mark.nightly
def test_reads_leave_no_memory_behind(
    spark: Any, root: Path, way: dict[str, Any], plain_growth: tuple[float, float]
) -> None:
    table = tf.open_table(root)

    def ours() -> None:
        assert len(table.scan().to_spark(spark, **way).where("id >= 70").select("id").collect()) == 10

    plain_heap, plain_resident = plain_growth
    heap, resident = _growth(spark, ours)
    print(
        f"{READS} reads, bytes each: heap {heap:.0f} (Spark's own {plain_heap:.0f}), "
        f"resident {resident:.0f} ({plain_resident:.0f})"
    )
    # Few reads measure the collectors' noise; a leaked DataFrame is more than a hundred kilobytes.
    noise = 4e6 / READS
    assert heap < max(plain_heap, 0) + 50e3 + noise
    assert resident < max(plain_resident, 0) + 20e3 + 4 * noise


# ---- callbacks -----------------------------------------------------------------------------------------------------


def _tidy(spark: Any) -> None:
    for _ in range(3):
        gc.collect()
        spark._jvm.java.lang.System.gc()
        time.sleep(0.1)


def test_a_view_prunes_when_all_of_python_is_gone(spark: Any, root: Path) -> None:
    table = tf.open_table(root)
    scan = table.scan()
    frame = scan.to_spark(spark)
    frame.createOrReplaceTempView("leaks")
    del table, scan, frame
    _tidy(spark)
    try:
        assert paths_read(spark.sql("SELECT id FROM leaks WHERE id = 57")) == ({"f5.parquet"}, 1)
        _tidy(spark)
        assert paths_read(spark.table("leaks").where("id < 5 OR id = 77")) == ({"f0.parquet", "f7.parquet"}, 6)
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW above AS SELECT id FROM leaks WHERE id > 35")
        spark.sql("SELECT 1").collect()
        _tidy(spark)
        assert paths_read(spark.table("above").where("id < 45")) == ({"f3.parquet", "f4.parquet"}, 9)
    finally:
        spark.catalog.dropTempView("above")
        spark.catalog.dropTempView("leaks")


def test_what_was_made_of_a_frame_prunes_when_the_frame_is_gone(spark: Any, root: Path) -> None:
    def derived() -> Any:
        return tf.spark.read(spark, root).withColumnRenamed("id", "key").groupBy("key").count()

    kept = derived()
    _tidy(spark)
    assert paths_read(kept.where("key = 57")) == ({"f5.parquet"}, 1)
    cached = derived().cache()
    _tidy(spark)
    assert cached.count() == 80
    cached.unpersist()


def test_callbacks_go_with_their_frames(spark: Any, root: Path) -> None:
    pool = spark.sparkContext._gateway.gateway_property.pool
    _tidy(spark)
    before = len(pool)
    frames = [tf.spark.read(spark, root) for _ in range(10)]
    assert len(pool) >= before + 10
    frames.clear()
    for _ in range(20):
        _tidy(spark)
        if len(pool) <= before + 1:
            break
    assert len(pool) <= before + 1


# ---- at once -------------------------------------------------------------------------------------------------------


def test_sessions_threads_versions_and_ways_at_once(spark: Any, tmp_path: Path) -> None:
    root = write_delta(tmp_path / "t", SCHEMA, [_file(0)])
    for version in range(1, 4):
        append(root, _file(version), version)
    sessions = [spark, spark.newSession(), spark.newSession()]
    sessions[1].conf.set("spark.sql.ansi.enabled", "false")
    sessions[2].conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    ways = list(WAYS.values()) if has_data_sources() else [WAYS["native"]]
    wrong: list[Any] = []

    def work(number: int) -> None:
        for turn in range(max(1, READS // 20)):
            version, session = (number + turn) % 4, sessions[number % 3]
            found = tf.spark.read(session, root, version=version, **ways[(number + turn) % len(ways)])
            name = f"at_once_{number}"
            found.createOrReplaceTempView(name)
            count, highest = session.sql(f"SELECT count(*), max(id) FROM {name} WHERE id > 3").collect()[0]
            if (count, highest) != (10 * version + 6, 10 * version + 9):
                wrong.append((number, turn, count, highest))
            session.catalog.dropTempView(name)
        if files_read(tf.spark.read(session, root, mode="native").where("id >= 30")) != 1:
            wrong.append((number, "not pruned"))

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            wrong.append((number, error))

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
