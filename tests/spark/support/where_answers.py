"""Spark's answers to the WHERE clauses of users, each evaluated as a column over rows that nothing prunes.

    python -m tests.spark.support.where_answers

writes them into ``tests/expressions/where_answers.json``, where ``tests/expressions/test_where_clauses.py`` reads them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.expressions import where_clauses

ANSWERS = Path(where_clauses.__file__).with_name("where_answers.json")


def answers(spark: Any, folder: Path) -> dict[str, str]:
    """For each clause the rows for which Spark finds it TRUE, as a hexadecimal number with a bit per row."""
    pq.write_table(where_clauses.rows(), folder / "rows.parquet")
    names = [f"`{name}`" for name in where_clauses.SCHEMA.names]
    spark.read.parquet(str(folder / "rows.parquet")).select(*names).localCheckpoint().createOrReplaceTempView("users")
    every = [clause for clauses in where_clauses.CLAUSES.values() for clause in clauses]
    found: dict[str, str] = {}
    for first in range(0, len(every), 40):
        some = every[first : first + 40]
        columns = ", ".join(f"({clause}\n) AS c{i}" for i, clause in enumerate(some))
        rows = spark.sql(f"SELECT id, {columns} FROM users").collect()
        for i, clause in enumerate(some):
            found[clause] = f"{sum(1 << row.id for row in rows if row[f'c{i}']):x}"
    return found


def main() -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        ANSWERS.write_text(json.dumps(answers(spark, Path(folder)), indent=0, ensure_ascii=False) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
