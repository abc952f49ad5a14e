"""A job for ``test_writing.py``, in a process of its own: appends, a task fails; then dies before a commit."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


def main(location: str, marker: str) -> None:
    from pyspark.sql import SparkSession

    import tableformats as tf
    from tableformats.table import transactions

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if 39 in batch.column(0).to_pylist() and not Path(marker).exists():
                Path(marker).touch()
                raise RuntimeError("at the first attempt")

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "512m").getOrCreate()
    table = tf.open_table(location)
    assert table.append(spark.range(0, 40, numPartitions=4).mapInArrow(fail_once, "id bigint")).version == 2

    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    transactions.commit = killed  # type: ignore[assignment]
    table.append(spark.range(0, 40, numPartitions=4))


if __name__ == "__main__":
    main(*sys.argv[1:])
