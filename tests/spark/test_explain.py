"""What Spark says of our scans: the files that a query's conditions leave, and those that it read."""

from __future__ import annotations

import contextlib
import io
import re
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import tableformats as tf
from tests.spark.support.plans import files_read
from tests.support.delta_changes import id_file
from tests.support.delta_log import DeltaLog, field


@pytest.fixture(scope="module")
def events(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Twelve days of ten ids each, as a DataFrame."""
    log = DeltaLog(tmp_path_factory.mktemp("explain") / "events")
    log.start(field("id", "long"), field("day", "long"), partition=("day",))
    days = {str(day): range(10 * day, 10 * day + 10) for day in range(12)}
    log.commit(1, *(id_file(log, day, ids, partitionValues={"day": day}) for day, ids in days.items()))
    return tf.spark.read(spark, log.root)


def said(frame: Any, mode: str = "formatted") -> list[str]:
    """What EXPLAIN says of our scans, in the order of its text."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        frame.explain(mode)
    return re.findall(r"PlannedFiles[^\[]*\[delta events@v1, (.*?) files\]", text.getvalue())


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("id < 0", 0),
        ("day IN (3, 4) AND id > 39", 1),
        ("day = 3 OR id = 55", 2),
        ("hash(day) = hash(5L)", 1),
        ("day % 4 = 1", 3),
        ("id % 7 = 3", 12),
        ("rand(1) < 2", 12),
    ],
)
def test_what_a_filter_leaves_is_what_is_read(events: Any, condition: str, kept: int) -> None:
    frame = events.where(condition)
    assert said(frame) == [f"{kept} of 12"]
    assert len(frame.collect()) <= 10 * kept
    assert said(frame) == [f"scanned {kept} of 12"]
    assert files_read(events.where(condition)) == kept
    assert f"Scan parquet (delta events@v1, {kept} of 12 files)" in frame._jdf.queryExecution().toString()


def test_the_rows_of_queries_whose_files_are_dropped(spark: Any, tmp_path: Path) -> None:
    """Spark counts the same rows in memory, where nobody prunes. Ids overlap between files; a day may be NULL."""
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field("day", "long"), field("kind", "string"), partition=("day", "kind"))
    rows, files = [], []
    for i, (day, kind) in enumerate(product((None, 0, 5, 7), (None, "a", "B"))):
        values = {"day": None if day is None else str(day), "kind": kind}
        ids = [*range(3 * i, 3 * i + 6), 20]
        files.append(id_file(log, str(i), ids, partitionValues=values))
        rows += [(id, day, kind) for id in ids]
    log.commit(1, *files)
    table, memory = tf.spark.read(spark, log.root), spark.createDataFrame(rows, "id long, day long, kind string")
    conditions = [
        "day = 5",
        "day = 5 OR id = 20",
        "NOT (day = 5 AND kind = 'a')",
        "NOT (day = 5 OR id < 12) AND kind > 'A'",
        "day <=> NULL AND (kind IS NULL OR id = 3)",
        "(day = 0 AND id > 9) OR (day = 7 AND kind <=> NULL) OR id = 1",
        "coalesce(day, 7) = 7 AND lower(kind) = 'b'",
        "if(id > 12, day, 5) = 5 AND day + length(kind) > 5",
        "CASE WHEN day = 5 THEN id > 20 WHEN kind = 'a' THEN true ELSE day > id END",
        "day IN (5, id) AND kind NOT IN ('a', 'c')",
        "kind LIKE '_' AND hash(day, kind) % 2 = 0 AND rand(3) < 2",
        "day = (SELECT max(d) FROM VALUES 5, 0 AS t(d)) AND id % 2 = 0",
        "kind IN (SELECT upper(k) FROM VALUES 'b', 'x' AS t(k)) OR day > 5",
    ]

    def answers(frame: Any) -> list[str]:
        found = [frame.where(c).select("*", F.lit(c)) for c in conditions]
        return sorted(map(str, reduce(type(frame).unionAll, found).coalesce(1).collect()))

    assert answers(table) == answers(memory)
    wanted = "id % 5 = 0 AND day < 7"
    ours, theirs = (frame.join(frame.where(wanted).select("day").hint("broadcast"), "day") for frame in (table, memory))
    assert ours.count() == theirs.count() > 0


def test_a_condition_that_fails_for_the_values_of_a_file_is_not_false(events: Any, settings: Any) -> None:
    settings({"spark.sql.ansi.enabled": "true"})
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        events.where("10 / (day - 5) > 20").collect()


def test_dynamic_pruning(spark: Any, events: Any) -> None:
    days = spark.createDataFrame([(2, 7), (7, 7), (3, 1)], "day long, k int").where("k = 7").hint("broadcast")
    first, second = events.join(days, "day"), events.join(days.where("day > 2"), "day")
    assert said(first)[0] == "12 of 12"
    assert (len(first.collect()), len(second.collect())) == (20, 10)
    # Each query has its own numbers, though both read one DataFrame.
    assert set(said(first)) == {"scanned 2 of 12"} and set(said(second)) == {"scanned 1 of 12"}


def test_dynamic_pruning_by_a_table_of_ours(events: Any) -> None:
    """The other side is pruned too, and Spark has to find its plan in both places."""
    wanted = events.where("id IN (21, 75)").select("day").hint("broadcast")
    joined = events.join(wanted, "day")
    assert len(joined.collect()) == 20
    assert said(joined)[:2] == ["scanned 2 of 12", "scanned 2 of 12"]


def test_other_queries_over_the_same_dataframe_say_nothing_of_this_one(events: Any, spark: Any) -> None:
    read, unread = events.where("day = 1"), events.where("day < 3")
    assert len(read.collect()) == 10
    assert (said(read), said(unread), said(events)) == (["scanned 1 of 12"], ["3 of 12"], ["12 of 12"])
    with_cache = events.where("day < 6").cache()
    assert len(with_cache.where("id < 3").collect()) == 3
    assert said(with_cache)[-1] == "scanned 6 of 12"
    with_cache.unpersist()


def test_the_ui_has_both_numbers(spark: Any, events: Any) -> None:
    """Names and metrics of the nodes that the UI shows; it takes them from the plan as here."""
    days = spark.createDataFrame([(4, 1), (5, 2)], "day long, k int").where("k = 1").hint("broadcast")
    frame = events.join(days, "day").where("id > 10")
    assert len(frame.collect()) == 10
    info = spark._jvm.org.apache.spark.sql.execution.SparkPlanInfo
    texts: list[str] = []

    def walk(node: Any) -> None:
        if node.nodeName().startswith("Scan parquet"):
            names = [node.metrics().apply(i).name() for i in range(node.metrics().size())]
            texts.append(node.nodeName())
            assert {"number of files read", "static number of files read"} <= set(names)
        for i in range(node.children().size()):
            walk(node.children().apply(i))

    walk(info.fromSparkPlan(frame._jdf.queryExecution().executedPlan()))
    assert texts and set(texts) == {"Scan parquet (delta events@v1, 11 of 12 files) "}
