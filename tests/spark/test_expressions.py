"""Each kind of Catalyst's expressions, over columns of each type: which files Spark reads, and that the rows are right.

Spark rewrites filters before anyone sees them, and takes off casts that lose nothing; what it does differs by version
and setting. So a case names the files that a filter leaves, and where that takes a newer Spark, from which one on.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support.delta_log import DeltaFile, write_delta
from tests.spark.support.plans import paths_read

FILES = 6
ALL = set(range(FILES))
SCHEMA = pa.schema(
    [
        ("n", pa.int32()),
        ("big", pa.int64()),
        ("x", pa.float64()),
        ("amount", pa.decimal128(9, 2)),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("b", pa.bool_()),
        ("p", pa.int32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("word", pa.string()),
    ]
)
PARTITIONS = ["p", "day", "at", "word"]


def _file(i: int) -> DeltaFile:
    """File ``i`` has ten rows of day i of March 2024 (one of each month as partition), numbers from 10 * i on.

    ``x`` has NaN in file 5 and no number in file 4; ``s`` is NULL in half of file 3; ``word`` is NULL for file 0.
    """
    numbers = [10 * i + k for k in range(10)]
    day, noon = dt.date(2024, 3, 1 + i), dt.datetime(2024, 3, 1 + i, 12, tzinfo=dt.timezone.utc)
    columns = {
        "n": numbers,
        "big": [n + 2**33 for n in numbers],
        "x": {4: [None] * 10, 5: [float("nan"), *map(float, numbers[1:])]}.get(i, [float(n) for n in numbers]),
        "amount": [Decimal(n) + Decimal("0.25") for n in numbers],
        "s": [None if i == 3 and k % 2 else f"{n:03}" for k, n in enumerate(numbers)],
        "d": [day] * 10,
        "t": [noon + dt.timedelta(minutes=k) for k in range(10)],
        "b": [i >= 3] * 10,
    }
    rows = pa.table({name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()})
    partition = {
        "p": str(i % 3),
        "day": f"2024-0{1 + i}-15",
        "at": f"2024-0{1 + i}-15 23:30:00",
        "word": None if i == 0 else f"w{i % 2}%",
    }
    return DeltaFile(f"f{i}.parquet", rows, partition)


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    before = spark.conf.get("spark.sql.session.timeZone")
    # Partition values without a zone are instants of the session's.
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    root = tmp_path_factory.mktemp("expressions") / "t"
    write_delta(root, SCHEMA, [_file(i) for i in range(FILES)], partitioned_by=PARTITIONS)
    yield tf.open_table(root).scan().to_spark(spark)
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def plain(spark: Any, frame: Any) -> Any:
    """The same rows as literals, where nothing is pruned."""
    return spark.createDataFrame(frame.collect(), frame.schema)


CASES: dict[str, set[int]] = {
    # Comparisons.
    "n = 25": {2},
    "25 = n": {2},
    "n <=> 25": {2},
    "n < 10": {0},
    "n <= 10": {0, 1},
    "n > 49": {5},
    "n >= 49": {4, 5},
    "n != 25": ALL,
    "d != DATE '2024-03-01'": ALL - {0},
    "n BETWEEN 18 AND 21": {1, 2},
    "n NOT BETWEEN 5 AND 55": {0, 5},
    "amount > 49.30": {5},
    "amount = 25.25": {2},
    # Delta's bounds say nothing of NaN, which is greater than every number.
    "x < 5": {0, 5},
    "x > 45": ALL - {4},
    "x = 25": {2, 5},
    # Delta has no bounds of booleans.
    "b": ALL,
    "NOT b": ALL,
    "b = false": ALL,
    "d = DATE '2024-03-02'": {1},
    "t < TIMESTAMP '2024-03-01 12:05:00'": {0},
    "t >= TIMESTAMP '2024-03-06 00:00:00'": {5},
    # Sets.
    "n IN (3, 33)": {0, 3},
    "n IN (3, 33, NULL)": {0, 3},
    "n NOT IN (3, 33)": ALL,
    "d NOT IN (DATE '2024-03-01', DATE '2024-03-02')": ALL - {0, 1},
    "n NOT IN (3, NULL)": set(),
    "s IN ('003', '033')": {0, 3},
    f"n IN ({', '.join(map(str, range(100, 130)))}, 14)": {1},
    f"n NOT IN ({', '.join(map(str, range(9, 40)))})": ALL,
    f"p IN ({', '.join(map(str, range(2, 30)))})": {2, 5},
    "p NOT IN (0, 1)": {2, 5},
    # NULL and NaN.
    "s IS NULL": {3},
    "x IS NULL": {4},
    "x IS NOT NULL": ALL - {4},
    "word IS NULL": {0},
    "word IS NOT NULL": ALL - {0},
    "n IS NULL": set(),
    "NOT (x <=> NULL)": ALL - {4},
    # AND, OR, NOT.
    "n > 10 AND n < 18": {1},
    "n < 3 OR n > 57": {0, 5},
    "NOT (n < 50)": {5},
    "NOT (n < 50 OR p = 1)": {5},
    "NOT (n >= 10 AND n < 50)": {0, 5},
    "(n < 3 OR s IS NULL) AND NOT b": {0, 3},
    # Text.
    "s LIKE '01%'": {1},
    "s LIKE '011'": {1},
    "s LIKE '%1'": ALL,
    "s LIKE '0_1'": ALL,
    "startswith(s, '05')": {5},
    "word LIKE 'w1%'": {1, 3, 5},
    "word LIKE 'w1#%' ESCAPE '#'": {1, 3, 5},
    "upper(word) = 'W1%'": {1, 3, 5},
    # Casts that Spark takes off a column, or does to a literal.
    "CAST(n AS BIGINT) = 25L": {2},
    "n = 25L": {2},
    "n < 2147483648000": ALL,
    "big = 8589934592 + 25": {2},
    "CAST(p AS BIGINT) = 2": {2, 5},
    "CAST(p AS STRING) = '2'": {2, 5},
    "n = '25'": {2},
    "CAST(n AS STRING) = '25'": ALL,
    "CAST(s AS INT) = 25": ALL,
    "d = '2024-03-02'": {1},
    "t >= '2024-03-06'": {5},
    "n = 25.0": {2},
    "n < 9.5": {0},
    "day >= TIMESTAMP '2024-05-15 00:00:00'": {4, 5},
    "CAST(at AS DATE) = DATE '2024-02-15'": {1},
    "CAST(t AS DATE) > DATE '2024-03-05'": {5},
    "CAST(n AS DECIMAL(12, 2)) = 25.00": {2},
    "amount = 25": {2},
    # Dates of partitions.
    "date_add(day, 1) = DATE '2024-02-16'": {1},
    "day + INTERVAL 1 MONTH = DATE '2024-04-15'": {2},
    "date_trunc('quarter', day) = TIMESTAMP '2024-04-01 00:00:00'": {3, 4, 5},
    "trunc(day, 'MM') = DATE '2024-02-01'": {1},
    "year(day) = 2024 AND month(day) < 3": {0, 1},
    "date_format(day, 'yyyy-MM') = '2024-03'": {2},
    "datediff(day, DATE '2024-01-15') = 31": {1},
    "hour(at) = 23 AND minute(at) = 30 AND month(at) = 6": {5},
    "last_day(day) = DATE '2024-02-29'": {1},
    "unix_date(day) % 2 = 0": {1, 3, 4},
    # Choices.
    "CASE WHEN p = 1 THEN n > 40 WHEN p = 2 THEN false ELSE n < 10 END": {0, 4},
    "CASE WHEN p = 1 THEN true ELSE false END": {1, 4},
    "CASE WHEN n > 45 THEN true ELSE false END": {4, 5},
    "CASE WHEN n > 55 THEN true WHEN n < 5 THEN d < DATE '2024-03-02' ELSE false END": {0, 5},
    "CASE WHEN n > 55 THEN d IS NULL ELSE n < 5 END": {0},
    "CASE WHEN n > 55 THEN true WHEN n > 25 THEN NULL WHEN n % 2 = 0 THEN n < 12 END": {0, 1, 5},
    "if(p = 1, 'a', 'b') = 'a'": {1, 4},
    "coalesce(word, 'none') = 'none'": {0},
    "coalesce(n, 0) = 25": ALL,
    "coalesce(n > 45, false)": {4, 5},
    "coalesce(n > 55, n < 5)": {0, 5},
    "coalesce(n > 55, n % 2 = 0)": ALL,
    "nullif(p, 1) IS NULL": {1, 4},
    # Partition columns and others together.
    "p = 1 AND n > 30": {4},
    "p = 1 AND (n < 3 OR n > 42)": {4},
    "(p = 1 AND n < 15) OR (p = 2 AND n > 45)": {1, 5},
    "p = 1 OR n = 25": {1, 2, 4},
    "p = 1 OR (p = 2 AND n < 15) OR n BETWEEN 22 AND 24": {1, 2, 4},
    "p + n = 26": ALL,
    # What nobody can prune by.
    "n % 7 = 3": ALL,
    "n + 1 = 26": ALL,
    "length(s) = 3": ALL,
    "abs(n) = 25": ALL,
    "rand(1) >= 0": ALL,
    "true": ALL,
    "false": set(),
    "CAST(NULL AS BOOLEAN)": set(),
}
"""Condition -> the files that Spark reads."""

COUNTED: dict[str, int] = {}
"""Condition -> rows, as they were found."""
BETTER: dict[str, tuple[tuple[int, int], set[int]]] = {}
"""Condition -> (version of Spark, the files that it reads from then on)."""


@pytest.mark.parametrize("condition", CASES)
def test_files_that_spark_reads(spark: Any, frame: Any, condition: str) -> None:
    files, COUNTED[condition] = paths_read(frame.where(condition))
    assert files == {f"f{i}.parquet" for i in _expected(spark, condition)}


def _expected(spark: Any, condition: str) -> set[int]:
    since, files = BETTER.get(condition, ((99, 0), set()))
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    return files if version >= since else CASES[condition]


def test_the_rows_are_those_of_a_query_over_rows(plain: Any) -> None:
    """The same conditions over the same rows as literals, where nothing is pruned."""
    if set(CASES) - set(COUNTED):
        pytest.skip("needs what the tests above counted")
    conditions = [condition for condition in CASES if "rand" not in condition]
    counts = plain.selectExpr(*(f"count_if({condition}) AS c{i}" for i, condition in enumerate(conditions)))
    assert {c: COUNTED[c] for c in conditions} == dict(zip(conditions, counts.collect()[0], strict=True))


def test_a_udf_keeps_every_file(spark: Any, frame: Any) -> None:
    from pyspark.sql import functions as F

    is_25 = F.udf(lambda n: n == 25, "boolean")
    assert paths_read(frame.where(is_25("n"))) == ({f"f{i}.parquet" for i in ALL}, 1)
    assert paths_read(frame.where(is_25("n") & (F.col("n") < 30) & F.col("p").isin(1, 2))) == (
        {"f1.parquet", "f2.parquet"},
        1,
    )
    assert paths_read(frame.where(is_25("p"))) == ({f"f{i}.parquet" for i in ALL}, 0)


@pytest.mark.parametrize("threshold", [0, 100])
def test_the_form_of_a_set_makes_no_difference(frame: Any, settings: Any, threshold: int) -> None:
    """In, and InSet, which Spark makes of sets that are longer than this."""
    settings({"spark.sql.optimizer.inSetConversionThreshold": str(threshold)})
    assert paths_read(frame.where("n IN (3, 14, 33)")) == ({"f0.parquet", "f1.parquet", "f3.parquet"}, 3)
    assert paths_read(frame.where("d IN (DATE '2024-03-02', DATE '2025-01-01')")) == ({"f1.parquet"}, 10)
    assert paths_read(frame.where("s NOT IN ('003') AND day IN (DATE '2024-01-15')")) == ({"f0.parquet"}, 9)


IN_ZONES = {
    # (zone, condition) -> files; at 23:30 UTC of the 15th it is the 16th in Kolkata, and the afternoon in Los Angeles.
    ("UTC", "CAST(at AS DATE) = DATE '2024-02-15'"): {1},
    ("Asia/Kolkata", "CAST(at AS DATE) = DATE '2024-02-15'"): set(),
    ("Asia/Kolkata", "CAST(at AS DATE) = DATE '2024-02-16'"): {1},
    ("America/Los_Angeles", "hour(at) = 15"): {0, 1},
    ("Asia/Kolkata", "t < TIMESTAMP '2024-03-01 17:35:00'"): {0},
    ("America/Los_Angeles", "t >= '2024-03-05 16:00:00'"): {5},
    ("America/Los_Angeles", "d = DATE '2024-03-02'"): {1},
    ("Pacific/Apia", "day = DATE '2024-02-15'"): {1},
}


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(("zone", "condition"), IN_ZONES)
def test_zones_and_ansi(frame: Any, plain: Any, settings: Any, zone: str, condition: str, ansi: str) -> None:
    settings({"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi})
    files, count = paths_read(frame.where(condition))
    assert files == {f"f{i}.parquet" for i in IN_ZONES[zone, condition]}
    assert count == plain.where(condition).count()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_ansi_makes_an_error(frame: Any, settings: Any, ansi: str) -> None:
    """Where Spark evaluates a filter over partition columns, it fails as it would for a row."""
    settings({"spark.sql.ansi.enabled": ansi})
    query = frame.where("CAST(word AS INT) = 1")
    if ansi == "false":
        assert paths_read(query) == (set(), 0)
    else:
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            query.collect()


def test_case_of_names(frame: Any, settings: Any) -> None:
    settings({"spark.sql.caseSensitive": "false"})
    assert paths_read(frame.where("N = 25 AND P = 2")) == ({"f2.parquet"}, 1)
    # Only the session's rule sees such a condition, before Spark gives columns the names that the relation has.
    assert paths_read(frame.where("N = 25 OR P = 1")) == ({"f1.parquet", "f2.parquet", "f4.parquet"}, 21)
    settings({"spark.sql.caseSensitive": "true"})
    assert paths_read(frame.where("n = 25 AND p = 2")) == ({"f2.parquet"}, 1)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        frame.where("N = 25")


# ---- joins and subqueries ------------------------------------------------------------------------------------------


@pytest.fixture
def view(spark: Any, frame: Any) -> Any:
    frame.createOrReplaceTempView("expressions")
    yield frame
    spark.catalog.dropTempView("expressions")


SUBQUERIES = {
    "p IN (SELECT CAST(id AS INT) FROM range(20) WHERE id = 1)": ({1, 4}, 20),
    "day = (SELECT max(DATE '2024-02-15') FROM range(3))": ({1}, 10),
    "p NOT IN (SELECT CAST(id AS INT) FROM range(2))": (ALL, 20),
    "n IN (SELECT CAST(id AS INT) FROM range(24, 26))": (ALL, 2),
    "EXISTS (SELECT 1 FROM range(5) WHERE id = 7)": (set(), 0),
}


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("condition", SUBQUERIES)
def test_subqueries(spark: Any, view: Any, settings: Any, condition: str, adaptive: str) -> None:
    settings({"spark.sql.adaptive.enabled": adaptive})
    files, count = paths_read(spark.sql(f"SELECT n FROM expressions WHERE {condition}"))
    expected, rows = SUBQUERIES[condition]
    assert count == rows
    assert files == {f"f{i}.parquet" for i in expected}


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_dynamic_partition_pruning(spark: Any, view: Any, settings: Any, adaptive: str) -> None:
    settings({"spark.sql.adaptive.enabled": adaptive})
    sql = """SELECT /*+ BROADCAST(k) */ e.n FROM expressions e JOIN
             (SELECT DATE '2024-01-15' + make_interval(0, CAST(id AS INT)) AS day, id FROM range(12)) k
             ON e.day = CAST(k.day AS DATE) WHERE k.id IN (1, 4) AND e.n < 45"""
    assert paths_read(spark.sql(sql)) == ({"f1.parquet", "f4.parquet"}, 15)
    settings({"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"})
    files, count = paths_read(spark.sql(sql))
    assert files == {f"f{i}.parquet" for i in range(5)} and count == 15


def test_runtime_filters(spark: Any, view: Any, settings: Any) -> None:
    """Bloom filters come from the other side of a join while the query runs: too late for files, right for rows."""
    settings(
        {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
            "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
        }
    )
    other = spark.range(100).selectExpr("CAST(id AS INT) AS n", "id % 50 AS m").where("m = 25")
    other.createOrReplaceTempView("others")
    joined = spark.sql("SELECT e.n FROM expressions e JOIN others o ON e.n = o.n WHERE e.n > 10")
    files, count = paths_read(joined)
    assert count == 1 and files == {f"f{i}.parquet" for i in range(1, 6)}
    spark.catalog.dropTempView("others")


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_limits_aggregates_and_unions(spark: Any, view: Any, settings: Any, adaptive: str) -> None:
    settings({"spark.sql.adaptive.enabled": adaptive})
    assert paths_read(view.where("n > 45").limit(3)) == ({"f4.parquet", "f5.parquet"}, 3)
    assert paths_read(view.where("p = 1").groupBy("day").count()) == ({"f1.parquet", "f4.parquet"}, 2)
    both = view.where("n < 5").select("n").union(view.where("n > 55").select("n"))
    assert paths_read(both.where("n != 7")) == ({"f0.parquet", "f5.parquet"}, 9)
    over = view.selectExpr("n", "p", "row_number() OVER (PARTITION BY p ORDER BY n) AS k").where("p = 2 AND k = 1")
    assert paths_read(over) == ({"f2.parquet", "f5.parquet"}, 1)
    renamed = view.withColumnRenamed("n", "m").selectExpr("m AS k", "p").where("k = 25")
    assert paths_read(renamed) == ({"f2.parquet"}, 1)


def test_a_cached_frame_reads_its_own_files_once(view: Any) -> None:
    cached = view.where("n >= 40").cache()
    try:
        assert paths_read(cached.where("n = 55")) == ({"f4.parquet", "f5.parquet"}, 1)
        assert paths_read(view.where("n = 55")) == ({"f5.parquet"}, 1), "the frame itself is planned for each query"
    finally:
        cached.unpersist()
