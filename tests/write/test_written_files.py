"""Data files: several are made at once. A commit takes those of before as long as the table asks for the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing import data_files
from tableformats.engines.arrow.writing.data_files import FileWriter
from tableformats.engines.arrow.writing.file_statistics import _footer_bounds
from tableformats.engines.arrow.writing.parquet_files import ParquetLayout
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
        assert puts and max(r.start for r in puts) + stub.delay <= min(r.start for r in deletes)
        assert len([key for key in stub.objects if key.endswith(".parquet")]) == 24
        assert len(table.plan()) == 24


def small_buffer(monkeypatch: pytest.MonkeyPatch, size: int, many: int) -> None:
    monkeypatch.setattr(data_files, "BUFFER_BYTES", size)
    monkeypatch.setattr(data_files, "_MANY_BYTES", many)


def partitioned(path: Path, partitions: int) -> tuple[tf.Table, pa.Table]:
    """A table by ``p``, and rows of which each partition has 100."""
    rows = pa.table({"id": range(100 * partitions), "p": [i // 100 for i in range(100 * partitions)]})
    return tf.create_table(path, rows.schema, format="delta", partition_by=["p"]), rows


def test_files_are_made_at_once_and_named_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_buffer(monkeypatch, 1 << 20, 0)
    table, rows = partitioned(tmp_path, 4)
    barrier, layout = Barrier(4), ParquetLayout.write

    def write(self: ParquetLayout, *given: Any) -> Any:
        barrier.wait(20)
        return layout(self, *given)

    monkeypatch.setattr(ParquetLayout, "write", write)
    target = table.transaction().write_target()
    files = FileWriter(table.storage, target).write(rows_of_table(reader_of(rows), target))
    assert files["record_count"].to_pylist() == [100] * 4
    assert [one["1"] // 100 for one in files["lower"].to_pylist()] == [0, 1, 2, 3]


def test_rows_of_files_that_are_made_take_a_share_of_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_buffer(monkeypatch, 1 << 14, 0)
    table, rows = partitioned(tmp_path, 40)
    lock, layout, held, most = Lock(), ParquetLayout.write, 0, 0

    def write(self: ParquetLayout, part: pa.Table, *given: Any) -> Any:
        nonlocal held
        time.sleep(0.01)
        with lock:
            held -= 100 * 8
        return layout(self, part, *given)

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal held, most
        for batch in rows.to_batches(max_chunksize=100):
            with lock:
                held += 100 * 8  # a file has no partition column
                most = max(most, held)
            yield batch

    monkeypatch.setattr(ParquetLayout, "write", write)
    table.append(pa.RecordBatchReader.from_batches(rows.schema, batches()))
    assert held == 0 and most <= 1 << 14
    assert table.to_arrow().sort_by("id").equals(rows)


def test_a_file_that_fails_on_another_thread_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_buffer(monkeypatch, 1 << 14, 0)
    table, rows = partitioned(tmp_path, 8)
    layout, calls = ParquetLayout.write, []

    def write(self: ParquetLayout, *given: Any) -> Any:
        calls.append(given)
        if len(calls) == 5:
            raise pa.ArrowInvalid("no such row")
        return layout(self, *given)

    monkeypatch.setattr(ParquetLayout, "write", write)
    with pytest.raises(pa.ArrowInvalid, match="no such row"):
        table.append(rows)
    assert not list(tmp_path.rglob("*.parquet")) and table.snapshot().version == 0


def test_the_greatest_partitions_are_written_before_the_buffer_is_full(tmp_path: Path) -> None:
    schema = pa.schema({"p": pa.int64(), "s": pa.string()})
    table = tf.create_table(tmp_path / "t", schema, partition_by=["p"], format="delta")
    target, room = table.transaction().write_target(), 40_000
    writer = FileWriter(table.storage, target, room)
    begun: list[str] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(15):
            partitions = [0] * 8 + [1] * 2 + [2, 3]
            yield pa.record_batch({"p": partitions, "s": [f"{number:0200}"] * len(partitions)})
            begun[:] = [path.partition("/")[0] for path in writer.written]
            assert writer._pending_bytes <= room

    files = writer.write(rows_of_table(pa.RecordBatchReader.from_batches(schema, batches()), target))
    assert begun == ["p=0"], "the others take less than half of the room"
    assert sorted(files["record_count"].to_pylist()) == [15, 15, 24, 30, 96]


@pytest.mark.parametrize(
    ("file_bytes", "buffer", "expansion", "wanted"),
    [(100, 1000, 0.5, 100), (100, 1000, 3.0, 300), (100, 1000, 50.0, 500), (100, 90, 50.0, 100)],
)
def test_rows_of_a_file_take_half_of_the_buffer_at_most(
    file_bytes: int, buffer: int, expansion: float, wanted: int, tmp_path: Path
) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    target = replace(table.transaction().write_target(), target_file_size=file_bytes)
    assert FileWriter(table.storage, target, buffer)._arrow_bytes(expansion) == wanted


@pytest.mark.parametrize(
    ("values", "kind", "bounds"),
    [
        ([3, 1, 2, 9], pa.int64(), (1, 9)),
        ([None, None, 2, 9], pa.int64(), (2, 9)),
        ([None, None, None, None], pa.int64(), None),
        (["b", "\U0001f600", "a", "\uffff"], pa.string(), ("a", "\U0001f600")),
        ([True, False, True, True], pa.bool_(), None),
        ([5, -7, None, 2], pa.date32(), (-7, 5)),
        ([5, -(2**60), None, 2], pa.timestamp("us", "UTC"), (-(2**60), 5)),
        ([Decimal("1.50"), None, Decimal("-2.25"), None], pa.decimal128(5, 2), (Decimal("-2.25"), Decimal("1.50"))),
        ([], pa.int64(), None),
    ],
)
def test_bounds_of_the_row_groups_of_a_footer(
    values: list[Any], kind: pa.DataType, bounds: tuple[Any, Any] | None
) -> None:
    column = pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)
    for statistics in (True, False):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"a": column}), sink, row_group_size=2, write_statistics=statistics)
        found = _footer_bounds(pq.read_metadata(pa.BufferReader(sink.getvalue())), 0, kind)
        if bounds is None or not statistics:
            assert found is None
            continue
        assert found is not None and [one.type for one in found] == [kind] * 2
        assert [one.value if pa.types.is_temporal(kind) else one.as_py() for one in found] == list(bounds)


def test_one_great_batch_makes_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_buffer(monkeypatch, 1 << 14, 0)
    rows = pa.table({"id": range(10_000)})
    assert rows["id"].num_chunks == 1
    table = tf.create_table(tmp_path, rows.schema, format="delta", properties={"delta.targetFileSize": "16kb"})
    assert table.append(rows).metrics["added_files"] == 6
    assert table.to_arrow().sort_by("id").equals(rows)
    counts = sorted(table.inspect.files()["record_count"].to_pylist())
    assert counts == [1040, *[1792] * 5], "seven pieces of the chunk each, which have 2 kB and 512 bytes"


def test_each_array_counts_for_the_buffer(tmp_path: Path) -> None:
    """A partition of a row takes more memory than its values."""
    schema = pa.schema([(f"c{i}", pa.int64()) for i in range(30)])
    table = tf.create_table(tmp_path / "t", schema, format="delta")
    writer = FileWriter(table.storage, table.transaction().write_target(), 1 << 20)
    row = pa.record_batch([pa.array([i]) for i in range(30)], schema=schema)
    for number in (1, 2):
        writer._hold((), (), row)
        assert writer._pending_bytes == number * (row.nbytes + 30 * 512)
