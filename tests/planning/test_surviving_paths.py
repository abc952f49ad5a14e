"""Which files a filter leaves, without their columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.planning.planner import surviving_paths


@pytest.mark.parametrize(("where", "days"), [("day = 2", {"2"}), ("day > 1", {"2", "3"}), (None, {"1", "2", "3"})])
def test_files_of_a_partition(where: str | None, days: set[str], tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3], "day": [1, 2, 3]})
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta", partition_by=["day"])
    table.append(rows)
    plan = tf.open_table(tmp_path / "t").scan(where).plan()
    found = surviving_paths(plan.scan).to_pylist()
    assert {path.partition("day=")[2][0] for path in found} == days
    assert len(found) == len(days)
