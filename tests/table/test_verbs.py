"""What users of other libraries type first works on a table and on a snapshot, and takes their tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tests.iceberg.test_inspect import write_partitioned


@pytest.fixture
def location(tmp_path: Path) -> Path:
    deltalake = pytest.importorskip("deltalake", reason="the table is written with it: pip install '.[test]'")
    for day in (1, 2):
        rows = pa.table({"id": [10 * day, 10 * day + 1], "day": [day] * 2})
        deltalake.write_deltalake(tmp_path / "t", rows, mode="append", partition_by=["day"])
    return tmp_path / "t"


@pytest.mark.parametrize("of", [lambda table: table, lambda table: table.snapshot()], ids=["table", "snapshot"])
def test_verbs_are_scans(location, of):
    table = of(tf.open_table(location))
    assert table.schema == tf.open_table(location).snapshot().schema
    assert table.head(3).num_rows == 3 and table.head().num_rows == 4
    assert table.head(1, filter="id = 21", columns=["id"]).to_pydict() == {"id": [21]}
    assert len(table.plan("day = 1")) == 1 and len(table.plan()) == 2
    assert table.count("id > 10") == 3 and table.count() == 4
    assert sorted(table.to_arrow("day = 2", columns=["id"])["id"].to_pylist()) == [20, 21]
    assert sorted(table.to_pandas("day = 1")["id"]) == [10, 11]


def test_verbs_of_a_table_select_a_version(location):
    table = tf.open_table(location)
    assert table.count(version=0) == 2 and len(table.plan(version=0)) == 1
    assert table.head(9, version=0).num_rows == 2


def test_tables_of_other_libraries_are_opened(location, tmp_path):
    import deltalake

    assert tf.open_table(deltalake.DeltaTable(location)).count() == 4
    table = pytest.importorskip("pyiceberg.table", reason="pip install '.[test]'")
    (tmp_path / "iceberg").mkdir()
    metadata = write_partitioned(tmp_path / "iceberg")
    opened = tf.open_table(table.StaticTable.from_metadata(metadata))
    assert opened.format == "iceberg" and opened.count() == len(
        table.StaticTable.from_metadata(metadata).scan().to_arrow()
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tableformats.runtime.optional import required

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(tf.MissingExtraError, match=rf"^to_{library} needs {library}, which .*pip install 'x\[y\]'$"):
        required(library, f"to_{library}", "'x[y]'")
