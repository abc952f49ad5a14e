"""Columns of type TIME in Spark, which has them from 4.1 on where a setting turns them on."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

import tableformats as tf
from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import Field, primitive
from tests.spark.support.plans import files_read
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

SETTING = "spark.sql.timeType.enabled"
NOON, LAST = dt.time(12), dt.time(23, 59, 59, 999_999)
TIMES = [[dt.time(0), dt.time(1, 2, 3, 4), None], [NOON, LAST]]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    catalog = InMemoryCatalog("c", warehouse=str(tmp_path_factory.mktemp("times")))
    catalog.create_namespace("d")
    kind = pa.time64("us")
    members = [("t", kind), ("s", pa.struct([("t", kind)])), ("l", pa.list_(kind))]
    made = catalog.create_table("d.t", pa.schema(members))
    for times in TIMES:
        rows = [{"t": t, "s": {"t": t}, "l": [t]} for t in times]
        made.append(pa.Table.from_pylist(rows, schema=made.schema().as_arrow()))
    return tf.open_table(made.metadata_location)


@pytest.fixture
def with_times(spark: Any, settings: Any) -> None:
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        pytest.skip("Spark has the type TIME from 4.1 on")
    settings({SETTING: "true"})


def found(frame: Any) -> list[Any]:
    rows = frame.collect()
    assert all((row.s.t, row.l) == (row.t, [row.t]) for row in rows)
    return sorted((row.t for row in rows), key=str)


def stored(*texts: str) -> list[dt.time]:
    return [dt.time.fromisoformat(text) for text in texts]


@pytest.mark.usefixtures("with_times")
@pytest.mark.parametrize("mode", ["native", "portable", "data source"])
def test_rows_and_filters(spark: Any, settings: Any, table: tf.Table, mode: str) -> None:
    """``data source``: the portable path where the session's reader does not find columns by field id."""
    settings({"spark.sql.parquet.fieldId.read.enabled": str(mode == "portable").lower()})
    mode = "native" if mode == "native" else "portable"
    everything = [*stored("00:00:00", "01:02:03.000004", "12:00:00", "23:59:59.999999"), None]
    frame = table.scan().to_spark(spark, mode=mode)
    assert frame.dtypes == [("t", "time(6)"), ("s", "struct<t:time(6)>"), ("l", "array<time(6)>")]
    assert found(frame) == everything
    for filter_, expected in (
        (tf.col("t") == dt.time(1, 2, 3, 4), stored("01:02:03.000004")),
        (tf.col("t").isin(NOON, dt.time(0)), stored("00:00:00", "12:00:00")),
        (tf.col("t") > NOON, [LAST]),
        (tf.col("s.t") < dt.time(0, 0, 0, 1), [dt.time(0)]),
        (tf.col("t").is_null(), [None]),
    ):
        scan = table.scan(filter_)
        assert sorted(scan.to_arrow()["t"].to_pylist(), key=str) == expected
        assert found(scan.to_spark(spark, mode=mode)) == expected, filter_


@pytest.mark.usefixtures("with_times")
def test_filters_on_the_frame_prune(spark: Any, table: tf.Table) -> None:
    frame = table.scan().to_spark(spark)
    for condition, count, files in (
        ("t = TIME'12:00:00'", 1, 1),
        ("t IN (TIME'01:02:03.000004', TIME'02:00:00')", 1, 1),
        ("t > TIME'23:59:59.999998'", 1, 1),
        ("t <= TIME'12:00:00'", 3, 2),
    ):
        assert (frame.where(condition).count(), files_read(frame.where(condition))) == (count, files), condition


@pytest.mark.usefixtures("with_times")
def test_a_default_of_older_files(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"a": pa.array([1, 2], pa.int64())}))
    fields = [Field(1, "a", primitive("long")), Field(2, "t", primitive("time"), initial_default=LAST)]
    scan = snapshot_of(tmp_path, fields, [FakeFile(path, 2)]).scan()
    assert scan.to_arrow()["t"].to_pylist() == [LAST, LAST]
    assert [row.t for row in scan.to_spark(spark).collect()] == [LAST, LAST]


@pytest.mark.parametrize("mode", ["native", "portable"])
def test_sessions_without_the_type(spark: Any, table: tf.Table, mode: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        table.scan().to_spark(spark, mode=mode)
    assert caught.value.field == "t" and "to_arrow()" in str(caught.value.hint)
    if tuple(map(int, spark.version.split(".")[:2])) >= (4, 1):
        assert SETTING in str(caught.value.hint)
