"""A driver of a cluster whose executors are processes of their own, which have Spark's classes and no others.

Called with names of committed tables. Prints as JSON: how many executors there are, which tables have other rows than
the references say by which way, and of which the executors make another plan than the driver.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.spark.support.session import has_data_sources
from tests.support.golden import EXPECTED, answers, in_order, opened
from tests.support.rows import collect

NOWHERE = "/proc/no directory can be made here"
WAYS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "whole stages": ({"mode": "native"}, {}),
    "by parts": ({"mode": "native"}, {"spark.sql.codegen.wholeStage": "false"}),
    "staged": ({"mode": "portable"}, {"spark.sql.parquet.fieldId.read.enabled": "true"}),
    "data source": ({"mode": "portable", "staging": NOWHERE}, {}),
}
"""How a table is read: what ``to_spark`` is told, and the session."""


def rows(spark: Any, name: str, way: str) -> list[dict[str, Any]]:
    told, settings = WAYS[way]
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        return in_order(answers(collect(opened(name).scan().to_spark(spark, **told))))
    finally:
        for key in settings:
            spark.conf.unset(key)


def same_plan(spark: Any, name: str) -> bool:
    """Whether executors, which have this package installed, plan what the driver does."""
    found, expected = (opened(name).scan().plan(engine) for engine in (spark, None))
    return found.report.engine == "spark" and found.files.equals(expected.files)


def main(names: list[str]) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("tableformats tests")
    for key, value in {
        "executor.memory": "512m",
        "driver.memory": "512m",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.session.timeZone": "UTC",
        "sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    ways = list(WAYS) if has_data_sources() else ["whole stages", "by parts"]
    wrong = [
        (name, way) for name in names for way in ways if rows(spark, name, way) != in_order(EXPECTED[name]["current"])
    ]
    other_plans = [name for name in names if not same_plan(spark, name)]
    executors = len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver is one of them
    print(json.dumps({"executors": executors, "wrong": wrong, "other plans": other_plans}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
