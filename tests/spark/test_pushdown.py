"""Filters that are put on a DataFrame reach the plan's pruning, wherever in a query they come from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io import pyarrow as pyarrow_io

import tableformats as tf
from tableformats.engines.spark import pushdown
from tableformats.engines.spark.columns.naming import Naming
from tableformats.engines.spark.pushdown import FilterReader, PlanPruner
from tableformats.expressions import tree as ex
from tableformats.schema import Field, Schema, StructType, primitive
from tests.spark.support.delta_log import DeltaFile, append, write_delta
from tests.spark.support.plans import files_read, paths_read
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, write
from tests.support.rows import rows, spark_rows

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


ALL = set(range(FILES))
CASES: list[tuple[str, set[int], int]] = [
    # Comparisons, either way round.
    ("id = 57", {5}, 1),
    ("57 = id", {5}, 1),
    ("id <=> 57", {5}, 1),
    ("id < 10", {0}, 10),
    ("id <= 10", {0, 1}, 11),
    ("id > 99", {10, 11}, 20),
    ("118 <= id", {11}, 2),
    ("id BETWEEN 25 AND 41", {2, 3, 4}, 17),
    ("id != 57", ALL, 119),
    ("name = 'n0070'", {7}, 1),
    ("name > 'n0110'", {11}, 9),
    # Sets: In, and InSet for the long ones.
    ("id IN (3, 33, 93)", {0, 3, 9}, 3),
    (f"id IN ({', '.join(map(str, [3, *range(90, 110)]))})", {0, 9, 10}, 21),
    (f"p IN ({', '.join(map(str, range(2, 40)))})", {2, 3, 6, 7, 10}, 50),
    ("id NOT IN (3, 33)", ALL, 118),
    # Boolean operators.
    ("NOT (id < 110)", {11}, 10),
    ("NOT (id <> 57)", {5}, 1),
    ("id = 5 OR id = 115", {0, 11}, 2),
    ("id = 5 AND id = 115", set(), 0),
    ("if(id > 104, id < 117, NULL)", {10, 11}, 12),
    ("if(id > 14, false, name < 'n0016')", {0, 1}, 15),
    ("if(id > 104, true, id < 3)", {0, 10, 11}, 18),
    # Text.
    ("name LIKE 'n011%'", {11}, 10),
    ("name LIKE 'n0057'", {5}, 1),
    ("name LIKE '%57'", ALL, 1),
    ("startswith(name, 'n000')", {0}, 10),
    # NULL.
    ("id IS NULL", set(), 0),
    ("p IS NULL", {11}, 10),
    ("p <=> NULL", {11}, 10),
    ("p IS NOT NULL", ALL - {11}, 110),
    # Partition columns: what Spark alone can evaluate is exact there.
    ("p = 2", {2, 6, 10}, 30),
    ("p <=> 3", {3, 7}, 20),
    ("NOT (p = 2)", ALL - {2, 6, 10, 11}, 80),
    ("p + 1 = 3", {2, 6, 10}, 30),
    ("coalesce(p, 9) = 9", {11}, 10),
    ("CASE WHEN p = 1 THEN true ELSE false END", {1, 5, 9}, 30),
    ("day = DATE '2024-01-05'", {4}, 10),
    ("day + INTERVAL 1 DAY = DATE '2024-01-05'", {3}, 10),
    ("date_add(day, 2) BETWEEN DATE '2024-01-05' AND DATE '2024-01-06'", {2, 3}, 20),
    ("datediff(day, DATE '2024-01-01') = 4", {4}, 10),
    ("month(day) = 1 AND dayofmonth(day) = 3", {2}, 10),
    ("date_trunc('week', day) = TIMESTAMP '2024-01-08 00:00:00'", {7, 8, 9, 10, 11}, 50),
    # Casts: Spark takes off those that lose nothing.
    ("id = 57.0", {5}, 1),
    ("id = '57'", {5}, 1),
    ("CAST(p AS BIGINT) = 2", {2, 6, 10}, 30),
    ("CAST(p AS STRING) = '2'", {2, 6, 10}, 30),
    ("CAST(id AS STRING) = '57'", ALL, 1),
    # Columns of both kinds.
    ("p = 2 AND id > 60", {6, 10}, 19),
    ("p = 2 OR id = 0", {0, 2, 6, 10}, 31),
    ("(p = 2 OR p = 3) AND (id = 25 OR id = 35)", {2, 3}, 2),
    # What is not known leaves out nothing but itself.
    ("substr(name, 5, 1) = '7' AND p = 1", {1, 5, 9}, 3),
    ("length(name) = 5 AND id < 10", {0}, 10),
    ("id % 10 = 7", ALL, 12),
    ("id = 57 AND rand() >= 0", {5}, 1),
    # Subqueries: over partition columns they are known when the scan begins.
    ("p = (SELECT CAST(max(id) AS INT) FROM range(3))", {2, 6, 10}, 30),
    ("p IN (SELECT CAST(id AS INT) FROM range(20) WHERE id = 2)", {2, 6, 10}, 30),
    ("id = (SELECT max(id) + 50 FROM range(8))", ALL, 1),
]


@pytest.mark.parametrize(("condition", "files", "count"), CASES, ids=[case[0] for case in CASES])
def test_where_reads_these_files(view: Any, condition: str, files: set[int], count: int) -> None:
    assert paths_read(view.where(condition)) == ({f"f{number}.parquet" for number in files}, count)


def test_the_counts_are_those_of_an_unpruned_query(spark: Any, table: tf.Table, view: Any) -> None:
    plain = spark.createDataFrame(table.scan().to_arrow().to_pylist(), view.schema)
    # An aggregate takes neither subqueries nor chance.
    cases = [case for case in CASES if "SELECT" not in case[0] and "rand" not in case[0]]
    counts = plain.selectExpr(*(f"count_if({condition}) AS c{i}" for i, (condition, _, _) in enumerate(cases)))
    assert list(counts.collect()[0]) == [count for _, _, count in cases]


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


def test_a_join_prunes_every_branch_of_a_union(spark: Any, tmp_path: Path) -> None:
    """Files with deleted rows are scanned beside those without."""
    k, p = Field(1, "k", primitive("long")), Field(2, "p", primitive("int"))
    files = []
    for i in range(8):
        path = write(tmp_path, pa.table({"k": pa.array([i, i + 100], pa.int64())}), f"f{i}.parquet")
        files.append(FakeFile(path, 2, {1000: i % 4}, positions=[0] if i % 2 else []))
    snapshot = snapshot_of(tmp_path, [k, p], files, specs=[identity_spec(0, (1000, p))])
    frame = snapshot.scan().to_spark(spark)
    wanted = spark.createDataFrame([(2, "two"), (3, "three"), (7, "")], "p int, label string").where("label != ''")
    joined = frame.join(wanted.hint("broadcast"), "p").select("k", "label")
    assert paths_read(joined) == ({f"f{i}.parquet" for i in (2, 3, 6, 7)}, 6)
    assert sorted(row.k for row in joined.collect()) == [2, 6, 102, 103, 106, 107]


def test_members_of_structs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters on floats in structs reach our pruning, and stay out of Parquet's bounds, which pass over NaN."""
    inner = StructType(
        (
            Field(3, "x", primitive("double")),
            Field(4, "n", primitive("long")),
            Field(5, "in", StructType((Field(6, "y", primitive("float")),))),
        )
    )
    stored = [[(1.0, 1), (float("nan"), 2)], [(-0.0, 3), (-3.0, 4)], [None, (5.0, None)]]
    paths = []
    for i, values in enumerate(stored):
        data = [{"s": v and {"x": v[0], "n": v[1], "in": {"y": v[0]}}} for v in values]
        table = pa.Table.from_pylist(data, schema=Schema((Field(2, "s", inner),)).to_arrow())
        paths.append(write(tmp_path, table, f"{i}.parquet"))
    frame = snapshot_of(tmp_path, [Field(2, "s", inner)], [FakeFile(path, 2) for path in paths]).scan().to_spark(spark)

    def found(condition: str) -> list[Any]:
        return sorted(str(row.n) for row in frame.where(condition).select("s.n").collect())

    assert found("s.x > 1") == ["2", "None"]
    assert found("s.x = 0") == ["3"]
    assert found("s.in.y > 1") == ["2", "None"]
    assert found("s.in.y >= 0 AND s.in.y < 2 AND s.n > 0") == ["1", "3"]
    plan = frame.where("s.n > 0 AND s.in.y > 1").select("s.n")._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThan(s.n,0)" in plan and "y,1" not in plan
    assert "ReadSchema: struct<s:struct<n:bigint,in:struct<y:float>>>" in plan, "only what is asked for is read"
    asked: list[Any] = []
    monkeypatch.setattr(pushdown, "keep_mask", lambda plan, f: asked.append(str(f)) or np.ones(len(plan), bool))
    frame.where("s.x > 1 AND s.in.y < 2").collect()
    assert asked == ["s.x > 1.0 AND s.`in`.y < 2.0"]


def test_members_of_iceberg_structs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members that were renamed, which Spark casts by their positions; as many files are read as a scan plans."""

    def bounded(collector: Any, kind: Any) -> list[pyarrow_io.StatisticsCollector]:
        """PyIceberg writes no bounds of members by itself."""
        mode = pyarrow_io.MetricsMode(pyarrow_io.MetricModeTypes.FULL)
        name = collector._schema.find_column_name(collector._field_id)
        return [pyarrow_io.StatisticsCollector(collector._field_id, kind, mode, name)]

    monkeypatch.setattr(pyarrow_io.PyArrowStatisticsCollector, "primitive", bounded)
    kind = pa.struct([("k", pa.int32()), ("in", pa.struct([("s", pa.string()), ("f", pa.float64())]))])
    catalog = InMemoryCatalog("c", warehouse=str(tmp_path))
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int32()), ("st", kind)]))
    for i in range(6):
        st = None if i == 5 else {"k": i, "in": {"s": f"v{i}", "f": float(i)}}
        table.append(pa.Table.from_pylist([{"id": i, "st": st}], schema=table.schema().as_arrow()))
    for renamed in (False, True):
        if renamed:
            with table.update_schema() as update:
                update.rename_column("st.k", "key").rename_column("st.in.s", "k")
        scan = tf.open_table(table.metadata_location).scan()
        k, s = ("st.key", "st.in.k") if renamed else ("st.k", "st.in.s")
        for condition, ids, count in (
            (f"{k} = 3", [3], 1),
            (f"{s} = 'v2'", [2], 1),
            (f"{s} IN ('v0', 'v4') OR {k} > 3", [0, 4], 2),
            ("st.in.f <= 0", [0], 1),
            (f"{k} IS NULL", [5], 1),
            (f"NOT ({k} <= 3)", [4], 1),
            ("st IS NULL", [5], 6),
            (f"{k} = id AND {s} < 'v1'", [0], 1),
        ):
            frame = scan.to_spark(spark).where(condition)
            assert sorted(row.id for row in frame.collect()) == ids, condition
            planned = len(scan.where(condition).plan())
            assert (files_read(frame), planned) == (count, count), condition


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
    keep_mask = pushdown.keep_mask
    monkeypatch.setattr(pushdown, "keep_mask", lambda plan, f: asked.append(f) or keep_mask(plan, f))
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

    monkeypatch.setattr(pushdown, "keep_mask", fail)
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
    monkeypatch.setattr(pushdown, "keep_mask", None)
    assert mask is not None and mask.sum() == 1
    assert pruner.mask(predicate) is mask
    assert pruner.callback(FilterReader(plan.schema.fields, Naming()), np.flatnonzero(mask))("[]") is None


def test_further_filters_read_no_metadata(tmp_path: Path) -> None:
    """What one filter decoded of a column serves the next ones."""
    root = write_delta(tmp_path / "t", SCHEMA, [_file(i) for i in range(FILES)], partitioned_by=["p", "day"])
    plan = tf.open_table(root).scan().plan()
    assert plan.keep_mask("id = 57").sum() == 1
    shutil.rmtree(root / "_delta_log")
    assert np.flatnonzero(plan.keep_mask("id > 99 OR p = 1")).tolist() == [1, 5, 9, 10, 11]


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
