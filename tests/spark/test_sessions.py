"""What sessions may do to a frame: Spark's metadata columns, zones, many reads, threads; and what they cannot serve."""

from __future__ import annotations

import datetime as dt
import gc
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.spark.native import jvm
from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import Field, primitive
from tests.spark.support.delta_log import DeltaFile, write_delta
from tests.spark.support.plans import files_read
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

ID = pa.schema([("id", pa.int64())])


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    root = tmp_path_factory.mktemp("sessions") / "t"
    return tf.open_table(write_delta(root, ID, [DeltaFile("a b.parquet", ids(1, 2)), DeltaFile("ü.parquet", ids(3))]))


def test_metadata_columns_of_spark(spark: Any, table: tf.Table) -> None:
    frame = table.scan().to_spark(spark).select("id", "_metadata.*").where("id > 1").orderBy("id")
    found = [(row.id, row.file_name, row.row_index) for row in frame.collect()]
    assert found == [(2, "a%20b.parquet", 1), (3, "ü.parquet", 0)], "Spark spells names as URIs"
    sizes = [(Path(table.location) / name).stat().st_size for name in ("a b.parquet", "ü.parquet")]
    assert [row.file_size for row in frame.collect()] == sizes
    assert "file_path" in frame.columns and "file_block_start" in frame.columns


def test_files_cross_in_pieces(spark: Any, table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_PIECE_FILES", 1)
    frame = table.scan().to_spark(spark)
    names = [Path(urllib.parse.unquote(path)).name for path in frame.inputFiles()]
    assert sorted(names) == ["a b.parquet", "ü.parquet"]
    assert sorted(row.id for row in frame.collect()) == [1, 2, 3]


PATHS = [
    "file:/a/b.parquet",
    "file:///a/b",
    "file://host/a",
    "file:/a b",
    "file:/a//b",
    "file:/a/./b/../c",
    "file:/ü",
    "file:/a:b",
    "file:/a%41#?",
    "file:/p=1/x-y_z.0+1,2~@",
    "s3a://bucket_x/k/f",
    "s3a://bucket/k//f",
    "s3a://bucket/",
    "hdfs://h:8020/a",
    "abfss://c@account.dfs/a/b",
    "abfss://c@d@e/a",
    "S3A://B/K",
    "x1:/a",
    "/a/b",
    "c:/a/b",
    "file:/a/b/",
    "file:/",
    "s3a://b/=/@",
]
"""Of these some are their own URIs."""


def test_paths_are_those_that_hadoop_makes(spark: Any) -> None:
    files = jvm.Bridge(spark)._instance("FileList")
    for text in PATHS:
        expected, found = spark._jvm.org.apache.hadoop.fs.Path(text), files.path(text)
        assert found.equals(expected) and found.hashCode() == expected.hashCode(), text
        assert found.toUri().toString() == expected.toUri().toString(), text
        for part in ("getScheme", "getAuthority", "getHost", "getPath", "getRawPath"):
            assert getattr(found.toUri(), part)() == getattr(expected.toUri(), part)(), (text, part)


@pytest.mark.parametrize(("each", "frame"), [(1, 1), (3, 16), (4, 1 << 17), (1 << 16, 100)])
def test_paths_and_sizes_arrive_whole(spark: Any, each: int, frame: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_PIECE_FILES", each)
    monkeypatch.setattr(jvm, "_FRAME_BYTES", frame)
    paths = ["before", "/a/b", "/ü/😀 x", *(f"s3a://b/{i}" for i in range(10)), "/a:b", "/", "/after"]
    column = pa.chunked_array([paths[:6], paths[6:]]).slice(1, len(paths) - 2)
    files = pa.table({"path": column, "size": [i << 33 for i in range(len(column))]})
    bridge = jvm.Bridge(spark)
    found = bridge._files(bridge._instance("Relations"), files)
    assert found.size() == len(column)
    for i, path in enumerate(column.to_pylist()):
        status = found.get(i)
        expected = spark._jvm.org.apache.hadoop.fs.Path(path if path[0] == "s" else f"file:{path}")
        assert status.getPath().equals(expected) and status.getLen() == found.length(i) == i << 33


def test_classes_are_compiled_while_files_are_planned(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_loaders", WeakKeyDictionary())
    bridge, compiled, compile_ = jvm.Bridge(spark), [], jvm.Bridge._compile

    def counted(self: jvm.Bridge, names: Sequence[str]) -> Any:
        compiled.append(1)
        return compile_(self, names)

    monkeypatch.setattr(jvm.Bridge, "_compile", counted)
    for _ in range(2):
        with bridge.preparing():
            pass
        assert compiled == [1], "there when the block ends, and no second time"
    assert bridge._loader().loadClass("tableformats.spark.PlannedFiles").getSimpleName() == "PlannedFiles"
    assert compiled == [1]


def test_threads_that_compile_at_once_share_classes(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Py4J keeps methods by the names of classes: it takes no method of another class of the same name."""
    monkeypatch.setattr(jvm, "_loaders", WeakKeyDictionary())
    both = threading.Barrier(2, timeout=60)

    def compile_(*_: Any) -> object:
        both.wait()
        return object()

    monkeypatch.setattr(jvm.Bridge, "_compile", compile_)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(jvm.Bridge(spark)._loader())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]


def test_what_cannot_be_compiled_is_said_by_whoever_needs_it(
    spark: Any, table: tf.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(jvm, "_loaders", WeakKeyDictionary())
    monkeypatch.setattr(jvm.Bridge, "_compile", fail)
    with jvm.Bridge(spark).preparing():
        pass
    with pytest.raises(RuntimeError, match="no compiler here"):
        table.scan().to_spark(spark)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia"])
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_zones_and_ansi_move_no_value(spark: Any, settings: Any, tmp_path: Path, zone: str, ansi: str) -> None:
    settings({"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi})
    moments = [dt.datetime(2011, 12, 30, 10), dt.datetime(2024, 3, 10, 10, 30, 0, 1), dt.datetime(1960, 1, 1)]
    path = write(
        tmp_path,
        pa.table({"t": pa.array(moments, pa.timestamp("us", "UTC")), "n": pa.array(moments, pa.timestamp("us"))}),
    )
    fields = [Field(1, "t", primitive("timestamp")), Field(2, "n", primitive("timestamp_ntz"))]
    scan = snapshot_of(tmp_path, fields, [FakeFile(path, 3)]).scan("t >= '1960-01-01 00:00:00' AND n < '2024-03-11'")
    found = scan.to_spark(spark).selectExpr("unix_micros(t)", "cast(n AS string)").collect()
    wanted = [(round(m.replace(tzinfo=dt.timezone.utc).timestamp() * 10**6), str(m)) for m in moments]
    assert sorted(map(tuple, found)) == sorted(wanted)
    assert scan.where("t = '2011-12-30 10:00:00'").to_spark(spark).count() == 1


# ---- many reads ----------------------------------------------------------------------------------------------------


def _held(spark: Any) -> tuple[int, int]:
    """Callbacks that Python keeps for the JVM, and objects that the JVM keeps for Python, when both are tidy."""
    from py4j.finalizer import ThreadSafeFinalizer

    for _ in range(10):
        gc.collect()
        spark._jvm.java.lang.System.gc()
        time.sleep(0.1)
    return len(spark.sparkContext._gateway.gateway_property.pool), len(ThreadSafeFinalizer.finalizers)


@pytest.mark.nightly
def test_nothing_grows_over_many_reads(spark: Any, table: tf.Table) -> None:
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    scan = table.scan()
    assert scan.to_spark(spark).where("id = 1").count() == 1
    start = _held(spark)
    for _ in range(30):
        frame = scan.to_spark(spark).where("id = 1")
    assert frame.count() == 1
    del frame
    end = _held(spark)
    assert end[0] - start[0] < 10, "callbacks pile up in Python"
    assert end[1] - start[1] < 30, "objects pile up in the JVM"
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


def test_sessions_and_threads_at_once(spark: Any, table: tf.Table) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.enabled", "false")
    found: dict[int, tuple[int, int]] = {}

    def read(number: int) -> None:
        frame = table.scan().to_spark(other if number % 2 else spark).where(f"id = {number + 1}")
        found[number] = (frame.count(), files_read(frame))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == {0: (1, 1), 1: (1, 1), 2: (1, 1), 3: (0, 0)}
    table.scan().to_spark(other).createOrReplaceTempView("of_the_other_session")
    assert other.sql("SELECT count(*) FROM of_the_other_session WHERE id > 1").collect()[0][0] == 2


# ---- what a session cannot serve -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["s3", "nowhere"])
def test_a_missing_connector_is_named(spark: Any, tmp_path: Path, scheme: str) -> None:
    snapshot = snapshot_of(tmp_path, [Field(1, "id", primitive("long"))], [FakeFile(f"{scheme}://b/f.parquet", 1)])
    snapshot.format_snapshot.files[0].size_bytes = 1000  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedFeatureError, match=r"connector") as caught:
        snapshot.scan().to_spark(spark)
    assert caught.value.field == {"s3": "s3a://"}.get(scheme, f"{scheme}://")


def test_a_session_without_py4j(table: tf.Table) -> None:
    class Context:
        @property
        def _gateway(self) -> Any:
            raise RuntimeError("access to the JVM is not allowed here")

    session: Callable[[], Any] = type(
        "SparkSession", (), {"version": "4.0.0", "sparkContext": Context(), "range": None, "_jsparkSession": None}
    )
    with pytest.raises(UnsupportedFeatureError, match="portable") as caught:
        table.scan().to_spark(session(), mode="native")
    assert caught.value.field == "Py4J" and "not allowed here" in str(caught.value)


def test_plans_hold_no_bitmaps_and_no_paths(spark: Any, tmp_path: Path) -> None:
    paths = [write(tmp_path, ids(*range(5000)), f"file-{i}.parquet") for i in range(20)]
    files = [FakeFile(path, 5000, positions=range(0, 5000, 7)) for path in paths]
    snapshot = snapshot_of(tmp_path, [Field(1, "id", primitive("long"))], files)
    text = snapshot.scan().to_spark(spark).where("id > 5")._jdf.queryExecution().toString()
    assert len(text) < 6000 and "file-1" not in text, text
    assert "1, 20 of 20 files]" in text
