"""What ``test_object_stores.py`` runs in a process of its own: a session with Hadoop's S3 connector, and no settings.

Arguments: the class path, the location, the ``storage_options`` as JSON, a directory. Prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def main() -> None:
    from pyspark.sql import SparkSession

    class_path, location, given, folder = sys.argv[1:]
    options = json.loads(given)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraClassPath", class_path)
        .config("spark.driver.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", f"file:{folder}")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("INFO")
    found: dict[str, Any] = {}
    try:
        found = facts(spark, location, options)
    finally:
        spark.stop()
    print("\nFACTS", json.dumps(found))


def facts(spark: Any, location: str, options: dict[str, str]) -> dict[str, Any]:
    import tableformats as tf

    table = tf.open_table(location, storage_options=options)
    frame = table.scan("x > 1").to_spark(spark)
    plan = table.scan().plan(engine=spark)
    portable = table.scan("x > 1").to_spark(spark, mode="portable")
    found = {
        "native": sorted(row.x for row in frame.collect()),
        "native with deletes": sorted(row.x for row in table.scan().to_spark(spark).collect()),
        "files": frame.inputFiles(),
        "own column": table.scan(columns=["_file"]).to_spark(spark).first()[0],
        "executors": sorted(plan.paths.to_pylist()) == sorted(table.scan().plan().paths.to_pylist()),
        "portable": sorted(row.x for row in portable.collect()),
        "plans": [text_of(frame), text_of(portable), plan.explain(), repr(frame), repr(plan)],
        "hadoop": str(dict(spark.sparkContext._jsc.hadoopConfiguration().getPropsWithPrefix("fs.s3a.bucket"))),
    }
    try:
        rows = spark.read.parquet(frame.inputFiles()[0]).count()
        found["others"] = f"{rows} rows"
    except Exception as error:
        found["others"] = str(error)[:300]
    # From here on this process has credentials that Spark, started before, does not have.
    os.environ.update({name: value for name, value in options.items() if name.startswith("AWS_")})
    found["without options"] = refusal(lambda: tf.open_table(location).scan().to_spark(spark))
    staged = tf.open_table(location, storage_options=options)
    lines: list[str] = []
    found["staged"] = sorted(row.x for row in captured(lines, lambda: staged_rows(staged, spark, location)))
    found["staged why"] = lines
    return found


def staged_rows(table: Any, spark: Any, location: str) -> Any:
    return table.scan("x > 1").to_spark(spark, mode="portable", staging=f"{location}-staging").collect()


def captured(lines: list[str], call: Any) -> Any:
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("tableformats.spark"), Lines()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        return call()
    finally:
        logger.removeHandler(handler)


def refusal(call: Any) -> list[Any]:
    from tableformats.errors import TableFormatsError

    start = time.monotonic()
    try:
        call()
    except TableFormatsError as error:
        return [type(error).__name__, str(error), time.monotonic() - start]
    return []


def text_of(frame: Any) -> str:
    execution = frame._jdf.queryExecution()
    return f"{execution.toString()}\n{execution.logical().toJSON()}\n{execution.optimizedPlan().treeString()}"


if __name__ == "__main__":
    main()
