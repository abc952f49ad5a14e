"""What Spark's optimiser knows of a relation's size: the bytes of the files that a query's filters leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support.delta_log import DeltaFile, write_delta
from tests.spark.support.plans import files_read, scans

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """Ten files of a hundred rows, one partition each."""
    files = [
        DeltaFile(f"f{i}.parquet", pa.table({"id": pa.array(range(100 * i, 100 * i + 100), pa.int64())}), {"p": str(i)})
        for i in range(10)
    ]
    root = tmp_path_factory.mktemp("sizes") / "big"
    return tf.open_table(write_delta(root, SCHEMA, files, partitioned_by=["p"]))


def told(frame: Any) -> int:
    """Bytes that the optimiser takes the frame to have."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def sizes(table: tf.Table, *numbers: int) -> int:
    return sum((Path(table.location) / f"f{i}.parquet").stat().st_size for i in numbers)


def test_the_size_of_the_files_that_filters_leave(spark: Any, big: tf.Table) -> None:
    frame = big.scan().to_spark(spark)
    cases = {"id < 150": [0, 1], "p = 3": [3], "p > 7 OR id = 5": [0, 8, 9], "p % 2 = 0 AND id < 250": [0, 2]}
    for filter, left in {**cases, "id >= 0": list(range(10))}.items():
        assert told(frame.where(filter)) == sizes(big, *left), filter
    assert told(frame.where("id < 0")) <= 1
    assert told(frame) == sizes(big, *range(10)), "each query has its own"
    assert told(big.scan("id < 500").to_spark(spark).where("p > 1")) == sizes(big, 2, 3, 4)


def test_a_selective_filter_makes_a_broadcast_join(
    spark: Any, settings: Any, big: tf.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    settings({"spark.sql.autoBroadcastJoinThreshold": str(sizes(big, 0, 1, 2)), "spark.sql.adaptive.enabled": "false"})
    left, right = big.scan().to_spark(spark), big.scan().to_spark(spark)
    assert "SortMergeJoin" in planned(left.join(right, "id"))
    joined = left.join(right.where("p = 2"), "id")
    assert "BroadcastHashJoin" in planned(joined) and joined.count() == 100
    joined.explain(mode="cost")
    assert f"Statistics(sizeInBytes={sizes(big, 2):.1f} B)" in capsys.readouterr().out


def planned(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_files_are_read_as_before(spark: Any, big: tf.Table) -> None:
    frame = big.scan().to_spark(spark).where("id BETWEEN 150 AND 250")
    assert (frame.count(), files_read(frame)) == (101, 2)


def test_files_with_the_same_values_are_one_directory(spark: Any, tmp_path: Path) -> None:
    """Spark plans by directories: thousands of them cost it time for each, and it tells users their number."""
    files = [
        DeltaFile(f"f{i}.parquet", pa.table({"id": pa.array([10 * i, 10 * i + 1], pa.int64())}), {"p": str(i // 4)})
        for i in range(12)
    ]
    frame = tf.open_table(write_delta(tmp_path / "t", SCHEMA, files, partitioned_by=["p"])).scan().to_spark(spark)

    def directories(query: Any) -> int:
        execution = query._jdf.queryExecution()
        assert len(execution.executedPlan().executeCollect()) == query.count()
        return sum(int(scan.metrics().apply("numPartitions").value()) for scan in scans(execution.executedPlan()))

    assert directories(frame) == 3
    assert directories(frame.where("p > 0")) == 2
    assert directories(frame.where("id IN (0, 31, 110)")) == 2
    assert sorted(map(tuple, frame.where("id % 10 = 1 AND p < 2 AND id > 20").collect())) == [
        (10 * i + 1, i // 4) for i in range(2, 8)
    ]


def test_sessions_have_the_rules_once(spark: Any, big: tf.Table) -> None:
    def rules(session: Any) -> list[str]:
        known = session._jsparkSession.experimental().extraOptimizations()
        return [known.apply(i).getClass().getSimpleName() for i in range(known.size())]

    other = spark.newSession()
    ours = ["CountedRows", "PrunedFiles"]
    others: Callable[[], list[str]] = lambda: [name for name in rules(other) if name not in ours]  # noqa: E731
    before = others()
    for _ in range(3):
        assert big.scan().to_spark(other).where("id < 50").count() == 50
    assert [name for name in rules(other) if name in ours] == ours and others() == before


def test_other_relations_keep_their_size(spark: Any, big: tf.Table) -> None:
    big.scan().to_spark(spark)
    frame = spark.read.parquet(big.location + "/f3.parquet")
    assert told(frame.where("id < 0 OR id = 5")) == told(frame) == sizes(big, 3)
