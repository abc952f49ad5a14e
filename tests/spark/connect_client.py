"""A Spark Connect client, which is a process of its own: in one process PySpark is either classic or a client.

Reads calls from standard input, one JSON document a line (``function``, ``arguments``), and answers on standard output
with ``result`` or with ``error`` (type, text, field).
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import tableformats as tf

_messages: list[str] = []


class _Kept(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _messages.append(record.getMessage())


def rows(frame: Any) -> list[Any]:
    return sorted(tuple(row) for row in frame.collect())


def scan(spark: Any, path: str, scan: dict[str, Any], mode: str | None, then: str | None) -> Any:
    """The rows of ``tf.spark.read``, filtered with ``then``, its columns, and what the log said."""
    _messages.clear()
    frame = tf.spark.read(spark, path, mode=mode, **scan)
    frame = frame if then is None else frame.where(then)
    return {"rows": rows(frame), "columns": frame.columns, "log": list(_messages)}


def changes(spark: Any, path: str, first: int, filter: str) -> Any:
    return rows(tf.open_table(path).changes(first).where(filter).select("id", "_change_type").to_spark(spark))


def appends(spark: Any, path: str, after: int) -> Any:
    return rows(tf.open_table(path).incremental_append_scan(after).to_spark(spark))


def planned(spark: Any, path: str, filter: str | None) -> Any:
    """Whether executors make the plan of this process, and how many files it has."""
    found, expected = (tf.open_table(path).scan(filter).plan(engine) for engine in (spark, None))
    assert (found.report.engine, expected.report.engine) == ("spark", None)
    return found.files.equals(expected.files), len(found)


def append(spark: Any, path: str, query: str) -> Any:
    """The version of the commit, and the rows that it added."""
    commit = tf.open_table(path).append(spark.sql(query))
    return commit.version, commit.metrics["added_rows"]


def save(spark: Any, path: str, query: str, mode: str) -> None:
    spark.sql(query).write.format("tableformats").mode(mode).save(path)


def registered(spark: Any, path: str, view: str, query: str) -> Any:
    """The rows of ``query`` over a view of the table."""
    tf.spark.register(spark)
    tf.spark.view(spark, view, path)
    return rows(spark.sql(query))


def explained(spark: Any, path: str, filter: str) -> str:
    with redirect_stdout(StringIO()) as text:
        tf.spark.read(spark, path, filter=filter).explain("formatted")
    return text.getvalue()


def sql(spark: Any, *statements: str) -> Any:
    for statement in statements:
        found = spark.sql(statement)
    return rows(found)


def arrow(spark: Any, path: str, setting: str | None) -> Any:
    """Whether the rows are those of Arrow, in order of id, for every column, and what the log said; with ``setting``
    turned on."""
    _messages.clear()
    if setting is not None:
        spark.conf.set(setting, "true")
    try:
        return _as_arrow(spark, path)
    finally:
        if setting is not None:
            spark.conf.unset(setting)


def _as_arrow(spark: Any, path: str) -> Any:
    found = tf.open_table(path, relocate=True).scan()
    expected = found.to_arrow().sort_by("id").to_pylist()
    return found.to_spark(spark).orderBy("id").toArrow().to_pylist() == expected, list(_messages)


def main(url: str) -> None:
    from pyspark.sql import SparkSession

    logger = logging.getLogger("tableformats.spark")
    logger.setLevel(logging.INFO)
    logger.addHandler(_Kept())
    spark = SparkSession.builder.remote(url).getOrCreate()
    functions = {
        f.__name__: f for f in (scan, changes, appends, append, planned, save, registered, explained, sql, arrow)
    }
    for line in sys.stdin:
        call = json.loads(line)
        try:
            answer = {"result": functions[call["function"]](spark, *call["arguments"])}
        except Exception as error:
            answer = {"error": [type(error).__name__, str(error), getattr(error, "field", None)]}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
