"""Footers of Parquet files are read once: a second query takes them from the cache, unless the file is another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.engines.arrow.files.footers import ParquetFooter
from tests.support.delta_log import DeltaLog, add, field


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose footers are read."""
    read, found = ParquetFooter.read, []

    def noted(source: Any, path: str, limits: Any) -> ParquetFooter:
        found.append(Path(path).name)
        return read(source, path, limits)

    monkeypatch.setattr(ParquetFooter, "read", noted)
    return found


def a_table(root: Path, files: int = 3) -> DeltaLog:
    log = DeltaLog(root).start(field("x", "long"), field("s", "string"))
    for i in range(files):
        write(root / f"f{i}", range(10 * i, 10 * i + 10))
    log.commit(1, *(add(f"f{i}", size=(root / f"f{i}").stat().st_size) for i in range(files)))
    return log


def write(path: Path, values: Any) -> None:
    pq.write_table(pa.table({"x": pa.array(values, pa.int64()), "s": [f"v{v:05}" for v in values]}), path)


def test_a_second_query_reads_none(tmp_path: Path, reads: list[str]) -> None:
    a_table(tmp_path)
    table = tf.open_table(tmp_path)
    assert table.scan("x < 25").to_arrow().num_rows == 25
    assert sorted(reads) == ["f0", "f1", "f2"] and table.cache.used_bytes > 0
    assert table.scan("s >= 'v00005'", columns=["x"]).to_arrow()["x"].to_pylist() == list(range(5, 30))
    assert table.count("x > 27") == 2
    assert len(reads) == 3
    tf.open_table(tmp_path, cache=tf.MetadataCache(0)).to_arrow()
    assert len(reads) == 6, "another table has another cache"


def test_a_file_that_was_replaced(tmp_path: Path, reads: list[str]) -> None:
    """Before a query, and while the file is opened."""
    a_table(tmp_path, 1)
    table = tf.open_table(tmp_path)
    assert table.to_arrow()["x"].to_pylist() == list(range(10))
    write(tmp_path / "new", range(50, 60))
    os.replace(tmp_path / "new", tmp_path / "f0")
    assert table.to_arrow()["x"].to_pylist() == list(range(50, 60))
    assert reads == ["f0", "f0"]

    storage, opened = table.snapshot().storage, tf.io.storage.Storage.open_file

    def replaced(path: str, *rest: Any) -> Any:
        source = opened(storage, path, *rest)
        write(tmp_path / "newer", range(70, 90))
        os.replace(tmp_path / "newer", tmp_path / "f0")
        return source

    storage.open_file = replaced
    assert table.to_arrow()["x"].to_pylist() == list(range(50, 60)), "of the file that was opened"
    del storage.open_file
    assert table.to_arrow()["x"].to_pylist() == list(range(70, 90))
    assert len(reads) == 4


def test_the_budget_holds(tmp_path: Path, reads: list[str]) -> None:
    a_table(tmp_path, 3)
    table = tf.open_table(tmp_path, cache=tf.MetadataCache(6_000))
    for _ in range(2):
        assert table.to_arrow().num_rows == 30
        assert table.cache.used_bytes <= 6_000
    assert 3 < len(reads) <= 6
