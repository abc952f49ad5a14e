"""The generated Delta tables through Spark: the rows that Arrow gives, whole and filtered, and none more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tableformats import open_table
from tests.plugin.delta_generated import CASES
from tests.plugin.test_delta_generated import chosen

from .rows import rows, spark_rows

# Plain ``spark.read.parquet`` loses rows of these files as well, unless its filters stay out of the Parquet reader.
GREGORIAN = "Spark pushes days as java.sql.Date, whose calendar has none from 1582-10-05 to 1582-10-14"
LOST_BY_PUSHDOWN = {
    "values: dates at the ends of the calendar": GREGORIAN,
    "values: timestamps at the ends of the calendar": GREGORIAN,
}


@pytest.mark.parametrize("name", CASES)
def test_rows(spark: Any, settings: Any, tmp_path: Path, name: str) -> None:
    if name in LOST_BY_PUSHDOWN:
        settings({"spark.sql.parquet.filterPushdown": "false"})
    case = CASES[name](tmp_path / "t")
    table = open_table(case.root)
    schema = table.scan(columns=case.columns).schema.to_arrow()
    frame = table.scan(columns=case.columns).to_spark(spark)
    assert frame.columns == case.rows.column_names
    assert spark_rows(frame) == rows(case.rows.cast(schema))
    for where in case.answers:
        filtered = table.scan(where, columns=case.columns).to_spark(spark)
        assert spark_rows(filtered) == chosen(case, where, schema), where
    # The last filter once more, as a count, which reads no column.
    assert filtered.count() == len(case.answers[where])
