"""Files that were written before the commit: taken as long as the table asks for the same files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing.data_files import FileWriter
from tableformats.engines.arrow.writing.rows import reader_of, rows_of_table
from tableformats.plugin import WriteTarget
from tableformats.table.new_files import WrittenFiles
from tests.support.delta_log import DeltaLog, field


def written(table: tf.Table, target: WriteTarget, *ids: int) -> WrittenFiles:
    rows = rows_of_table(reader_of(pa.table({"id": list(ids)})), target)
    return WrittenFiles(target, FileWriter(table.storage, target).write(rows))


def test_files_are_taken_once_they_fit(tmp_path: Path) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    target = table.transaction().write_target()
    assert table.append(written(table, target, 1, 2)).metrics["added_rows"] == 2
    within = table.transaction().write_target("id > 1")
    table.overwrite(written(table, within, 7), where="id > 1")
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 7]
    with pytest.raises(tf.ConstraintViolationError):
        written(table, within, 0)


def test_files_for_another_table_are_refused_and_deleted(tmp_path: Path) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    target = table.transaction().write_target()
    for files, where in [
        (written(table, replace(target, spec_id=7), 1), None),
        (written(table, target, 0), "id > 1"),  # nobody looked whether the rows fulfil the condition
    ]:
        with pytest.raises(tf.CommitConflictError):
            table.append(files) if where is None else table.overwrite(files, where=where)
    files = written(table, target, 1)
    table.alter.add_columns(pa.schema([("more", pa.int64())]))
    with pytest.raises(tf.CommitConflictError):
        table.append(files)
    assert not list((tmp_path / "t").rglob("*.parquet")) and tf.open_table(table.location).snapshot().version == 1
