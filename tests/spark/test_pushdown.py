"""Filters that are put on a DataFrame reach the plan's pruning, wherever in a query they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats import expressions as ex
from tableformats.scan import ScanPlan
from tableformats.schema import Field, StructType, primitive
from tableformats.spark.columns import Naming
from tableformats.spark.pushdown import FilterReader, PlanPruner
from tests.spark.delta_log import DeltaFile, append, write_delta
from tests.spark.plans import files_read
from tests.spark.rows import rows, spark_rows

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.int32()), ("day", pa.date32())])
FILES = 12


def _file(number: int) -> DeltaFile:
    """Ten rows, ids from 10 * number on; partition p = number % 4, NULL for number 11."""
    ids = list(range(number * 10, number * 10 + 10))
    data = pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i:04}" for i in ids]})
    p = None if number == 11 else str(number % 4)
    return DeltaFile(f"f{number}.parquet", data, {"p": p, "day": f"2024-01-{number + 1:02}"})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    root = tmp_path_factory.mktemp("pushed") / "events"
    write_delta(root, SCHEMA, [_file(i) for i in range(FILES)], partitioned_by=["p", "day"])
    return tf.open_table(root)


@pytest.fixture
def view(spark: Any, table: tf.Table) -> Iterator[Any]:
    frame = table.scan().to_spark(spark)
    frame.createOrReplaceTempView("events")
    yield frame
    spark.catalog.dropTempView("events")


CASES = [
    ("id = 57", 1, 1),
    ("id BETWEEN 25 AND 41", 3, 17),
    ("id IN (3, 33, 93)", 3, 3),
    ("name = 'n0070'", 1, 1),
    ("name LIKE 'n011%'", 1, 10),
    ("p = 2", 3, 30),
    ("p IS NULL", 1, 10),
    ("p <=> 3", 2, 20),
    ("p = 2 AND id > 60", 2, 19),
    # Spark shows a reader no filter that mixes partition columns and others.
    ("p = 2 OR id = 0", 12, 31),
    ("NOT (id < 110)", 1, 10),
    ("day = DATE '2024-01-05'", 1, 10),
    # Spark alone can evaluate these; over partition columns it must be exact.
    ("month(day) = 1 AND dayofmonth(day) = 3", 1, 10),
    ("p + 1 = 3", 3, 30),
    ("substr(name, 5, 1) = '7' AND p = 1", 3, 3),
    ("length(name) = 5 AND id < 10", 1, 10),
    ("id % 10 = 7", 12, 12),
    ("id = 57 AND rand() >= 0", 1, 1),
]


@pytest.mark.parametrize(("condition", "files", "count"), CASES, ids=[case[0] for case in CASES])
def test_where_prunes_and_stays_right(view: Any, condition: str, files: int, count: int) -> None:
    frame = view.where(condition)
    assert files_read(frame) == files
    assert frame.count() == count


def test_every_case_has_the_rows_of_an_unpruned_query(spark: Any, table: tf.Table, view: Any) -> None:
    plain = spark.createDataFrame(table.scan().to_arrow().to_pylist(), view.schema)
    for condition, _, _ in CASES:
        assert spark_rows(view.where(condition)) == spark_rows(plain.where(condition)), condition


def test_sql_over_a_view_prunes(spark: Any, view: Any) -> None:
    frame = spark.sql("SELECT count(*) AS n FROM events WHERE id >= 100 AND p IS NOT NULL")
    assert frame.collect()[0].n == 10
    assert files_read(spark.sql("SELECT count(*) FROM events WHERE id >= 100 AND p IS NOT NULL")) == 1


def test_a_parameter_and_a_subquery_stay_right(spark: Any, view: Any) -> None:
    frame = spark.sql("SELECT id FROM events WHERE id = (SELECT max(id) FROM events WHERE p = 1)")
    assert [row.id for row in frame.collect()] == [99]


def test_a_join_prunes_dynamically(spark: Any, view: Any) -> None:
    wanted = (
        spark.createDataFrame([(2, "two"), (7, "seven")], "p int, label string")
        .where("label = 'two'")
        .hint("broadcast")
    )
    frame = view.join(wanted, "p").select("id", "label")
    assert "dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()
    assert files_read(view.join(wanted, "p").select("id", "label")) == 3
    assert sorted(row.id for row in frame.collect()) == [*range(20, 30), *range(60, 70), *range(100, 110)]


def test_a_self_join_prunes_each_side(view: Any) -> None:
    left, right = view.where("id = 5").alias("l"), view.where("id >= 110").alias("r")
    joined = left.crossJoin(right).selectExpr("l.id AS a", "r.id AS b")
    assert files_read(joined) == 2
    assert sorted(map(tuple, joined.collect())) == [(5, i) for i in range(110, 120)]


def test_cached_frames_serve_every_filter(view: Any) -> None:
    cached = view.cache()
    try:
        assert cached.count() == 120
        assert cached.where("id = 57").count() == 1
        assert cached.where("p = 2").count() == 30
    finally:
        cached.unpersist()


def test_limit_and_filter(spark: Any, table: tf.Table) -> None:
    assert table.scan(limit=7).to_spark(spark).count() == 7
    assert table.scan(limit=0).to_spark(spark).count() == 0
    limited = table.scan("p = 2", limit=1000).to_spark(spark)
    assert limited.where("id < 25").count() == 5


def test_the_scans_own_filter_is_applied_and_not_planned_again(
    spark: Any, table: tf.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    keep_mask = ScanPlan.keep_mask
    monkeypatch.setattr(ScanPlan, "keep_mask", lambda plan, f: asked.append(f) or keep_mask(plan, f))
    frame = table.scan("id = 57 AND name > 'a'", columns=["p"]).to_spark(spark)
    assert [row.p for row in frame.collect()] == [1]
    assert asked == []
    assert [row.p for row in frame.where("p = 1").collect()] == [1]
    assert len(asked) == 1


def test_two_versions_of_a_table_join(spark: Any, tmp_path: Path) -> None:
    root = write_delta(tmp_path / "t", SCHEMA, [_file(0)], partitioned_by=["p", "day"])
    append(root, _file(1), 1)
    old, new = (tf.spark.read(spark, root, version=v).where("id >= 8") for v in (0, 1))
    assert [row.id for row in old.orderBy("id").collect()] == [8, 9]
    assert new.join(old, "id", "left_anti").count() == 10
    assert new.union(old).count() == 14


def test_a_failing_planner_keeps_every_file(spark: Any, table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no planning today")

    monkeypatch.setattr(ScanPlan, "keep_mask", fail)
    frame = table.scan().to_spark(spark)
    assert files_read(frame.where("id = 57")) == FILES
    assert frame.where("id = 57").count() == 1
    # Filters over partition columns alone do not need the planner.
    assert files_read(frame.where("p = 2")) == 3


def test_filters_survive_the_python_object(spark: Any, table: tf.Table) -> None:
    import gc

    frame = table.scan().to_spark(spark)
    gc.collect()
    assert files_read(frame.where("id = 57")) == 1


A = Field(1, "a", primitive("int"))
S = Field(2, "s", StructType((Field(3, "x", primitive("string"), physical_name="phys"),)))
FIELDS = [A, S, Field(4, "d", primitive("double")), Field(5, "b", primitive("binary"))]


def _read(*nodes: Any) -> ex.Expression:
    return FilterReader(FIELDS, Naming()).read(json.dumps(nodes))


def test_filters_are_read() -> None:
    a = ex.BoundColumn((A,))
    x = ex.BoundColumn((S, S.type.fields[0]))  # type: ignore[attr-defined]
    five = ex.Literal(5, A.type)
    assert _read([">=", ["column", "a"], ["literal", "integer", "5"]]) == ex.Comparison(">=", a, five)
    assert _read(["not", ["isnull", ["column", "a"]]]) == ex.Not(ex.IsNull(a))
    assert _read(["startswith", ["column", "s", "phys"], ["literal", "string", "x"]]) == ex.StartsWith(x, "x")
    both = ["or", ["isnan", ["column", "d"]], ["in", ["column", "a"], ["literal", "integer", "5"]]]
    d = ex.BoundColumn((FIELDS[2],))
    assert _read(both) == ex.Or((ex.IsNaN(d), ex.In(a, (five,))))
    b = ex.BoundColumn((FIELDS[3],))
    assert _read(["=", ["column", "b"], ["literal", "binary", "00ff"]]) == ex.Comparison(
        "=", b, ex.Literal(b"\x00\xff", b.type)
    )


@pytest.mark.parametrize(
    "unknown",
    [
        ["=", ["column", "hidden"], ["literal", "integer", "5"]],
        ["=", ["column", "s", "other"], ["literal", "string", "5"]],
        ["=", ["column", "a"], ["literal", "interval", "5"]],
        ["=", ["column", "a"], ["literal", "integer", "x"]],
        ["like", ["column", "a"], ["literal", "string", "5"]],
    ],
)
def test_what_is_not_known_is_left_out(unknown: Any) -> None:
    known = ["isnull", ["column", "a"]]
    assert _read(unknown) == ex.TRUE
    assert _read(unknown, known) == ex.IsNull(ex.BoundColumn((A,)))


def test_masks_are_kept(table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = table.scan().plan()
    pruner = PlanPruner(plan)
    predicate = table.snapshot().bind("id = 57")
    mask = pruner.mask(predicate)
    monkeypatch.setattr(ScanPlan, "keep_mask", None)
    assert mask is not None and mask.sum() == 1
    assert pruner.mask(predicate) is mask
    assert pruner.callback(FilterReader(plan.schema.fields, Naming()), np.flatnonzero(mask))("[]") is None


def test_arrow_reads_the_same(spark: Any, table: tf.Table) -> None:
    scan = table.scan("p = 2 OR id > 95")
    assert spark_rows(scan.to_spark(spark)) == rows(scan.to_arrow())


def test_filters_on_floats_prune_here_and_lose_no_nan(spark: Any, tmp_path: Path) -> None:
    """Parquet's row-group bounds pass over NaN and take -0.0 for less than 0.0: no filter of Spark's may reach them."""
    columns = {"a.parquet": [1.0, float("nan")], "b.parquet": [10.0, 20.0], "c.parquet": [-0.0, -3.0]}
    files = [DeltaFile(name, pa.table({"x": pa.array(values, pa.float64())})) for name, values in columns.items()]
    write_delta(tmp_path / "t", pa.schema([("x", pa.float64())]), files)
    frame = tf.open_table(tmp_path / "t").scan().to_spark(spark)

    def found(condition: str) -> list[str]:
        return sorted(str(row.x) for row in frame.where(condition).collect())

    assert found("x > 15") == ["20.0", "nan"]
    assert found("x = 0") == ["-0.0"]
    assert found("x >= 0 AND x < 2") == ["-0.0", "1.0"]
    assert found("isnan(x)") == ["nan"]
    assert files_read(frame.where("x < 5")) == 2, "file b starts at 10"
