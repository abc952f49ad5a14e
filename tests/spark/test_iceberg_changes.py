"""Changes and incremental append scans of Iceberg tables through Spark: the rows that Arrow gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.support.iceberg_history import History
from tests.support.rows import rows, spark_rows


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Appends, deletes by position and by vector, a rewritten file with deletes in it, keys of an older delete."""
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3], [4, 5, 6]])
    history.commit("delete", positions=[("f1-0.parquet", 1)], vectors=[("f1-1.parquet", 0)])
    history.commit("append", add=[[7, 8]])
    history.commit("overwrite", keys=[3], add=[[30]])
    history.commit("delete", vectors=[("f1-1.parquet", 2)])
    history.commit("overwrite", remove=["f1-0.parquet"], add=[[1, 10]])
    return tf.open_table(history.root)


@pytest.mark.parametrize("filter", [None, "id > 4", "_change_type = 'delete'"])
@pytest.mark.parametrize(("first", "last"), [(101, 106), (104, 104)])
def test_changes(spark: Any, table: tf.Table, first: int, last: int, filter: str | None) -> None:
    scan = table.changes(first, last)
    scan = scan if filter is None else scan.where(filter)
    expected = scan.to_arrow()
    assert expected.num_rows
    frame = scan.to_spark(spark)
    assert spark_rows(frame, expected.schema) == rows(expected)
    assert frame.count() == expected.num_rows, "count(*), from metadata where they know it"


def test_appends(spark: Any, table: tf.Table) -> None:
    scan = table.incremental_append_scan(None, 106, "id <> 5")
    expected = scan.to_arrow()
    assert sorted(expected["id"].to_pylist()) == [1, 2, 3, 4, 6, 7, 8]
    frame = scan.to_spark(spark)
    assert spark_rows(frame, expected.schema) == rows(expected)
    assert sorted(r.id for r in frame.where("id > 6").collect()) == [7, 8]
