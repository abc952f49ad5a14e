"""The generated Delta tables through Spark: the rows that Arrow gives, whole and filtered, and none more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tableformats import open_table
from tests.support.delta_cases import CASES, chosen
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows


@pytest.mark.parametrize("name", one_of(2, CASES))
def test_rows(spark: Any, tmp_path: Path, name: str) -> None:
    if name.startswith("type widening") and spark.version.startswith("3."):
        pytest.skip("Spark 3.5 reads no widened columns")
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
