"""Generated partition columns through Spark: Spark computes them in its session's zone, and a filter on the source
column prunes their partitions, in the scan and on the DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats import open_table
from tests.spark.support.plans import files_read
from tests.support.delta_log import DeltaLog, add, field, stats
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows

EXPRESSIONS = [
    ("CAST(ts AS DATE)", "date"),
    ("date_format(ts, 'yyyy-MM-dd')", "string"),
    ("date_format(ts, 'yyyy-MM-dd-HH')", "string"),
    ("date_trunc('DAY', ts)", "timestamp"),
    ("year(ts)", "integer"),
    ("trunc(ts, 'MM')", "date"),
    ("substring(name, 0, 2)", "string"),
]


def table(spark: Any, root: Path, expression: str, kind: str) -> DeltaLog:
    """Rows every 5 hours over 40 days, a NULL and an empty string, in a file for each value of ``expression``."""
    source = spark.sql(
        "SELECT id, timestamp_micros(1703980800123456 + id * 18000000000) AS ts, "
        "CASE WHEN id = 7 THEN '' ELSE concat(chr(97 + id % 26), id) END AS name FROM range(192) "
        "UNION ALL SELECT 1000, NULL, NULL"
    )
    placed = source.selectExpr("id", "unix_micros(ts) AS ts", "name", f"CAST({expression} AS STRING) AS p").collect()
    log = DeltaLog(root).start(
        field("id", "long"),
        field("ts", "timestamp"),
        field("name", "string"),
        field("p", kind, {"delta.generationExpression": expression}),
        partition=("p",),
    )
    files: dict[str | None, list[Any]] = {}
    for row in placed:
        # An empty string is no partition value: it becomes NULL.
        files.setdefault(row.p or None, []).append(row)
    actions = []
    for i, (value, found) in enumerate(files.items()):
        data = pa.table(
            {
                "id": pa.array([r.id for r in found], pa.int64()),
                "ts": pa.array([r.ts for r in found], pa.int64()).cast(pa.timestamp("us", "UTC")),
                "name": pa.array([r.name for r in found], pa.string()),
            }
        )
        pq.write_table(data, log.root / f"f{i}")
        size = (log.root / f"f{i}").stat().st_size
        actions.append(add(f"f{i}", partitionValues={"p": value}, size=size, stats=stats(len(found))))
    return log.commit(1, *actions)


ON_TS = [
    "ts >= TIMESTAMP '2024-01-20 00:00:00Z'",
    "ts < TIMESTAMP '2024-01-03 05:30:00Z'",
    "ts = TIMESTAMP '2024-01-05 01:20:00.123456Z'",
    "ts IS NULL",
]
ON_NAME = ["name = 'b27'", "name LIKE 'c2%'"]
UNSURE = ["name = ''", "name IS NULL"]
"""A NULL partition may hold empty strings, so that it is read for both."""


@pytest.mark.parametrize(("expression", "kind"), one_of(3, EXPRESSIONS))
def test_rows_that_spark_placed(spark: Any, tmp_path: Path, expression: str, kind: str) -> None:
    log = table(spark, tmp_path / "t", expression, kind)
    snapshot = open_table(log.root).snapshot()
    frame = snapshot.scan().to_spark(spark)
    plain = spark.createDataFrame(snapshot.scan().to_arrow().to_pylist(), frame.schema)
    prunable = ON_NAME + UNSURE if "name" in expression else ON_TS
    for condition in ON_TS + ON_NAME + UNSURE:
        expected = spark_rows(plain.where(condition))
        scan = snapshot.scan(condition)
        assert rows(scan.to_arrow()) == expected
        assert spark_rows(frame.where(condition)) == expected
        if condition in prunable and expression != "year(ts)":  # all rows but few are of one year
            assert len(scan.plan()) < len(snapshot.scan().plan()), condition
            assert files_read(frame.where(condition)) == len(scan.plan())
    assert plain.count() == 193
