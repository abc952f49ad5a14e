"""What one process decoded serves the next through a directory: the same plans, nothing read twice, and nothing wrong
where an entry is damaged, old or gone.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.cache.directory import CacheDirectory
from tableformats.planning.cache import disk_cache as stored
from tableformats.plugin import Bounds, Statistics

sys.path.insert(0, str(Path(__file__).parents[2] / "asv_bench"))

from benchmarks.generate import DeltaTable, IcebergTable, Spec, Table, build
from benchmarks.generate.specs import questions
from benchmarks.planners import sql
from tableformats_delta.checkpoints.checkpoint_files import CheckpointFile
from tableformats_iceberg.manifests.batch_reader import ManifestBatchReader
from tableformats_iceberg.manifests.source import ManifestSource

SPECS: list[Spec] = [
    DeltaTable(300),
    DeltaTable(300, "v2", "both"),
    IcebergTable(300, deletes="none"),
    IcebergTable(300),
]
QUESTIONS = [sql(predicate) for predicate in questions(DeltaTable(300)).values()]


@pytest.fixture(scope="module", params=SPECS, ids=lambda spec: spec.name)
def table(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_BENCH_TABLES", str(tmp_path_factory.mktemp("tables")))
        yield build(request.param)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read of checkpoints beside their footers, and of manifests of data files."""
    found: list[str] = []
    group, entries, together = CheckpointFile.group, ManifestSource.read_entries, ManifestBatchReader._read

    def of_checkpoint(self: Any, *arguments: Any) -> Any:
        found.append(self.path)
        return group(self, *arguments)

    def of_manifest(self: Any, manifest: Any, *arguments: Any) -> Any:
        if not manifest.content:
            found.append(manifest.path)
        return entries(self, manifest, *arguments)

    def of_neighbour(self: Any, number: int, buffer: Any = None) -> Any:
        found.append(self._keys[number][0].path)
        return together(self, number, buffer)

    monkeypatch.setattr(CheckpointFile, "group", of_checkpoint)
    monkeypatch.setattr(ManifestBatchReader, "_read", of_neighbour)
    monkeypatch.setattr(ManifestSource, "read_entries", of_manifest)
    return found


def plans(table: Table, folder: Path | None, **options: Any) -> list[Any]:
    """All questions to a table that a process opens anew: files with their deletes, and what was counted."""
    cache = tf.MetadataCache(directory=folder, **options) if folder is not None else False
    opened = tf.open_table(table.entry, cache=cache)
    found = []
    for predicate in questions(table.spec).values():
        plan = opened.scan(sql(predicate)).plan()
        counted = plan.report.files_total, plan.report.metadata_files_read, plan.report.metadata_bytes_read
        found.append((sorted(plan.files.drop_columns(["record_count"]).to_pylist(), key=str), counted))
    return found


def one_plan(table: Table, folder: Path, name: str) -> list[str]:
    text = sql(questions(table.spec)[name])
    return sorted(tf.open_table(table.entry, cache=tf.MetadataCache(directory=folder)).scan(text).plan().file_uris())


def test_the_next_process_reads_no_manifest_and_no_checkpoint(table: Table, tmp_path: Path, read: list[str]) -> None:
    expected = plans(table, None)
    for name in ("P0", "P2", "P3"):
        first = one_plan(table, tmp_path, name)
        assert read
        read.clear()
        assert one_plan(table, tmp_path, name) == first
        assert not read
    assert [files for files, _ in plans(table, tmp_path)] == [files for files, _ in expected]
    assert [files for files, _ in plans(table, tmp_path)] == [files for files, _ in expected]


def test_entries_of_other_rules_are_not_found(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    before = one_plan(table, tmp_path, "P2")
    read.clear()
    assert one_plan(table, tmp_path, "P2") == before and not read
    monkeypatch.setattr(stored, "_FORMAT", stored._FORMAT - 1)
    assert one_plan(table, tmp_path, "P2") == before and read


def test_what_was_counted_is_counted_again(table: Table, tmp_path: Path) -> None:
    reports = []
    for _ in range(2):
        report = tf.open_table(table.entry, cache=tf.MetadataCache(directory=tmp_path)).scan().plan().report
        reports.append({k: v for k, v in report.as_dict().items() if k != "seconds"})
    assert reports[0] == reports[1]
    assert reports[0]["metadata_files_read"] > 1


def test_stored_numbers_are_aligned(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor may refuse others, and C says that there are none."""
    seen: list[pa.RecordBatch] = []
    read = stored._StoredBatch.batch

    def batch(self: Any, *arguments: Any) -> Any:
        columns = self.statistics.columns.values() if self.statistics is not None else ()
        seen.extend([self.files, *(stored._record_batch(column.sides) for column in columns)])
        return read(self, *arguments)

    one_plan(table, tmp_path, "P2")
    monkeypatch.setattr(stored._StoredBatch, "batch", batch)
    one_plan(table, tmp_path, "P2")
    buffers = [buffer for files in seen for column in files.columns for buffer in column.buffers() if buffer]
    assert buffers
    assert not [buffer for buffer in buffers if buffer.address % 8]


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "another's"])
def test_damaged_entries_are_made_again(table: Table, tmp_path: Path, damage: str, read: list[str]) -> None:
    first = one_plan(table, tmp_path, "P2")
    entries = sorted(tmp_path.iterdir())
    assert entries
    whole = {entry: entry.read_bytes() for entry in entries}
    for number, entry in enumerate(entries):
        data = bytearray(whole[entry])
        if damage == "changed":
            data[len(data) * 2 // 3] ^= 4
        elif damage == "another's":
            data = bytearray(whole[entries[number - 1]]) if len(entries) > 1 else bytearray(b"no entry")
        else:
            data = data[: len(data) // 2 if damage == "cut" else 0]
        entry.write_bytes(data)
    read.clear()
    assert one_plan(table, tmp_path, "P2") == first
    assert read
    read.clear()
    assert one_plan(table, tmp_path, "P2") == first
    assert not read


def test_a_changed_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    monkeypatch.setenv("TF_BENCH_TABLES", str(tmp_path / "tables"))
    made = build(DeltaTable(300))
    one_plan(made, tmp_path / "cache", "P2")
    (checkpoint,) = Path(made.entry).glob("_delta_log/*.checkpoint.parquet")
    os.utime(checkpoint, (1, 1))
    read.clear()
    one_plan(made, tmp_path / "cache", "P2")
    assert read


def test_the_budget_holds(table: Table, tmp_path: Path) -> None:
    plans(table, tmp_path / "much")
    whole = sum(entry.stat().st_size for entry in (tmp_path / "much").iterdir())
    for budget in (0, whole // 2):
        folder = tmp_path / str(budget)
        expected = plans(table, None)
        assert [files for files, _ in plans(table, folder, directory_bytes=budget)] == [files for files, _ in expected]
        assert sum(entry.stat().st_size for entry in folder.iterdir()) <= budget


def test_a_directory_that_goes_away(table: Table, tmp_path: Path) -> None:
    cache = tf.MetadataCache(directory=tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    text = sql(questions(table.spec)["P2"])
    assert len(tf.open_table(table.entry, cache=cache).scan(text).plan()) == table.survivors["P2"]


def test_entries_that_are_whole_and_no_parts(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of the library may have written them."""
    expected = one_plan(table, tmp_path, "P2")
    for junk in (b"", b"\0" * 100, b'{"batches": 1}'):
        monkeypatch.setattr(CacheDirectory, "read", lambda self, key, junk=junk: memoryview(junk))
        assert one_plan(table, tmp_path, "P2") == expected


def test_counts_are_those_of_what_is_read() -> None:
    class Counted(Statistics):
        def bounds(self, columns: Any, rows: Any) -> Bounds:
            return Bounds()

        def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
            return pa.array(rows * 10)

    rows = np.array([1, 3])
    assert stored.RecordingStatistics(Counted).record_counts(rows).to_pylist() == [10, 30]
    assert stored.RecordingStatistics(lambda: None).record_counts(rows).to_pylist() == [None, None]
