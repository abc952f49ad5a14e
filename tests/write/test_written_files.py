"""Files that were written before the commit: taken as long as the table asks for the same files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing.data_files import FileWriter
from tableformats.engines.arrow.writing.rows import reader_of, rows_of_table
from tableformats.plugin import WriteTarget
from tableformats.table.new_files import WrittenFiles
from tests.support.delta_log import DeltaLog, field
from tests.support.s3_stub import S3Stub


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


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_nan_of_a_column_that_is_named_like_a_member(format: str, tmp_path: Path) -> None:
    """Parquet's writer is told of columns by dotted names: `a.b` is a column, and the member b of `a`."""
    rows = pa.table({"a": [{"b": 1.0}, {"b": 2.0}], "a.b": [float("nan"), 1.0]})
    tf.write_table(rows, tmp_path / "t", format=format)
    table = tf.open_table(tmp_path / "t")
    assert table.count("isnan(`a.b`)") == table.count("`a.b` > 5") == table.scan("`a.b` > 5").to_arrow().num_rows == 1
    group = pq.read_metadata(table.plan().file_uris()[0].removeprefix("file://")).row_group(0)
    assert not group.column(1).is_stats_set, "another reader may leave NaN out"


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


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_files_are_sent_to_a_store_at_once(format: str) -> None:
    rows = pa.table({"p": list(range(24)), "v": list(range(24))})
    with S3Stub() as stub:
        stub.delay = 0.02
        location, options = "s3://bucket/t", stub.options
        tf.write_table(rows, location, format=format, partition_by=["p"], storage_options=options)
        assert stub.longest_chain < 24
        table = tf.open_table(location, storage_options=options)
        stub.requests.clear()
        # After an error no file is left, and none arrives later.
        stub.fault, stub.fault_count = "403", 1
        stub.faulty = lambda request: request.method == "PUT" and request.path.endswith(".parquet")
        with pytest.raises(tf.StorePermissionError) as raised:
            table.append(rows)
        assert raised.value.committed is False
        stub.fault = ""
        of_files = [request for request in stub.requests if request.path.endswith(".parquet")]
        puts, deletes = ([r for r in of_files if r.method == method] for method in ("PUT", "DELETE"))
        assert {r.path for r in puts} <= {r.path for r in deletes}
        assert puts and max(r.end for r in puts) < min(r.start for r in deletes)
        assert len([key for key in stub.objects if key.endswith(".parquet")]) == 24
        assert len(table.plan()) == 24
