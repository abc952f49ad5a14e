"""Random programs of verbs on Iceberg tables: the rows of the model at every snapshot, and other readers.

The program for Delta tables, and the model of both, are in ``test_changes.py``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf

from ..support.duckdb_iceberg import duckdb_reads, duckdb_rows
from .test_changes import CONDITIONS, STEPS, Row, applied, as_texts, rows_of, run


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=4), st.booleans())
def test_every_snapshot_has_the_rows_of_the_model(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]], partitioned: bool
) -> None:
    pytest.importorskip("pyiceberg")
    from pyiceberg.table import StaticTable

    root = tmp_path_factory.mktemp("program") / "t"
    partition = "p" if partitioned else None
    table = tf.create_table(root, rows_of().schema, format="iceberg", partition_by=partition)
    rows: list[Row] = []
    expected: dict[int, list[Row]] = {}
    for step in steps:
        if step[0] == "dynamic" and not partitioned:
            step = ("overwrite", step[1])
        rows = applied(rows, step)
        expected[run(table, step)] = rows
    expected.pop(-1, None)  # a table without snapshots
    newest = max(Path(root, "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    theirs = StaticTable.from_metadata(str(newest))
    for version, wanted in expected.items():
        readers = [table.to_arrow(version=version), theirs.scan(snapshot_id=version).to_arrow()]
        readers += [duckdb_rows(newest, version)] if duckdb_reads() else []
        for found in readers:
            assert as_texts([tuple(r.values()) for r in found.select(["id", "p", "f"]).to_pylist()]) == as_texts(wanted)
        for condition, matches in CONDITIONS.items():
            assert table.count(condition, version=version) == sum(map(matches, wanted)), "no bound excludes a row"
    shutil.rmtree(root)
