"""Files and row groups at the same time: the same rows in the same order, and nothing left when a reader stops."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.files import parquet
from tableformats.engines.arrow.reader import ReadOptions, read_batches
from tableformats.errors import CorruptMetadataError
from tableformats.schema import Field, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, snapshot_of

ID, NAME = Field(1, "id", primitive("long")), Field(2, "name", primitive("string"))


def table_of(start: int, rows: int) -> pa.Table:
    ids = list(range(start, start + rows))
    return pa.table({"id": ids, "name": [None if i % 7 == 0 else f"name {i % 5}" for i in ids]})


def snapshot(root: Path, counts: list[int], row_group: int = 100, positions: tuple[int, ...] = ()) -> Snapshot:
    files, start = [], 0
    for number, rows in enumerate(counts):
        path = root / f"{number:03d}.parquet"
        pq.write_table(table_of(start, rows), path, row_group_size=row_group)
        files.append(FakeFile(str(path), rows, positions=[p for p in positions if p < rows]))
        start += rows
    return snapshot_of(root, [ID, NAME], files)


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """Fails where a test leaves a thread or an open file behind."""
    gc.collect()
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert threading.active_count() <= threads  # those of other tests may end meanwhile
    assert len(os.listdir("/proc/self/fd")) == handles


linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
alone = pytest.mark.thread_unsafe(reason="counts the threads and files of the process")


@pytest.mark.parametrize("memory", [1, 10_000, 1 << 29])
@pytest.mark.parametrize("row_group", [100, 140_000])
def test_rows_come_in_the_order_of_files_and_row_groups(tmp_path: Path, row_group: int, memory: int) -> None:
    counts = [150_000, 0, 1, 300, 140_001] if row_group > 100 else [1, 0, 450, 99, 100, 101, 3]
    found = snapshot(tmp_path, counts, row_group, positions=(0, 50, 99)).scan("name = 'name 3' OR name IS NULL").plan()
    expected = []
    start = 0
    for rows in counts:
        deleted = {start + p for p in (0, 50, 99) if p < rows}
        expected += [i for i in range(start, start + rows) if i not in deleted and (i % 5 == 3 or i % 7 == 0)]
        start += rows
    assert read_batches(found, None, ReadOptions(memory)).read_all()["id"].to_pylist() == expected
    unordered = read_batches(found, None, ReadOptions(memory, ordered=False)).read_all()
    assert sorted(unordered["id"].to_pylist()) == expected
    assert found.to_arrow_batch_reader(memory_bytes=memory, ordered=False).read_all().num_rows == len(expected)


@linux
@alone
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_a_reader_that_is_given_up_leaves_nothing(tmp_path: Path, taken: int, nothing_is_left: None) -> None:
    reader = snapshot(tmp_path, [500] * 12).scan().to_arrow_batch_reader()
    for _ in range(taken):
        reader.read_next_batch()
    reader.close()
    del reader


@linux
@alone
def test_damage_ends_the_stream_after_the_whole_batches_before_it(tmp_path: Path, nothing_is_left: None) -> None:
    found = snapshot(tmp_path, [300] * 8)
    broken = tmp_path / "003.parquet"
    group = pq.ParquetFile(broken).metadata.row_group(1).column(0)
    data = bytearray(broken.read_bytes())
    begin = group.dictionary_page_offset or group.data_page_offset
    data[begin : begin + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    broken.write_bytes(data)
    read: list[int] = []
    with pytest.raises(CorruptMetadataError) as caught:
        for batch in found.scan().to_arrow_batch_reader():
            read += batch.column("id").to_pylist()
    assert caught.value.path == str(broken)
    assert read == list(range(len(read))) and len(read) in (900, 1000)


@linux
@alone
def test_a_file_that_is_shorter_than_its_footer_says(tmp_path: Path, nothing_is_left: None) -> None:
    found = snapshot(tmp_path, [300] * 3)
    cut = tmp_path / "001.parquet"
    data = cut.read_bytes()
    cut.write_bytes(data[:200] + data[-(int.from_bytes(data[-8:-4], "little") + 8) :])
    with pytest.raises(CorruptMetadataError) as caught:
        found.scan().to_arrow()
    assert caught.value.path == str(cut)


def test_other_columns_are_read_only_of_row_groups_with_a_matching_row(tmp_path: Path) -> None:
    found = snapshot(tmp_path, [300])
    broken = tmp_path / "000.parquet"
    group = pq.ParquetFile(broken).metadata.row_group(1).column(1)
    data = bytearray(broken.read_bytes())
    begin = group.dictionary_page_offset or group.data_page_offset
    data[begin : begin + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    broken.write_bytes(data)
    rows = found.scan("id < 50 OR id >= 250").to_arrow()
    assert rows["id"].to_pylist() == [*range(50), *range(250, 300)]
    assert rows.select(["name"]).equals(pa.concat_tables([table_of(0, 50), table_of(250, 50)]).select(["name"]))
    with pytest.raises(CorruptMetadataError):
        found.scan("id = 150").to_arrow()


@pytest.mark.parametrize("filter", ["id % 50000 = 49999", "id >= 130000 AND id < 132000", "id = 299999", "id < 0"])
def test_columns_that_are_read_later_stay_with_their_rows(tmp_path: Path, filter: str) -> None:
    found = snapshot(tmp_path, [300_000], 300_000)
    both = found.scan(filter).to_arrow()
    ids = both["id"].to_pylist()
    assert len(ids) == {"id % 50000 = 49999": 6, "id >= 130000 AND id < 132000": 2000, "id = 299999": 1}.get(filter, 0)
    assert both["name"].to_pylist() == [None if i % 7 == 0 else f"name {i % 5}" for i in ids]
    assert found.scan(filter, columns=["name"]).to_arrow()["name"].equals(both["name"])


@pytest.mark.parametrize("batch_bytes", [100_000, 1_000_000])
@pytest.mark.parametrize("filter", ["id % 1000 = 999", "name = 'name 3'"])
def test_columns_whose_batches_end_at_other_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filter: str, batch_bytes: int
) -> None:
    """Batches are cut by bytes, so those of the filter's columns and of the others begin at other rows."""
    found = snapshot(tmp_path, [300_000], 300_000)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", batch_bytes)
    rows = found.scan(filter).to_arrow()
    expected = table_of(0, 300_000)
    keep = [i % 1000 == 999 if "id" in filter else i % 5 == 3 and i % 7 != 0 for i in range(300_000)]
    assert rows.cast(expected.schema).equals(expected.filter(pa.array(keep)))


@pytest.mark.parametrize("memory", [0, -1, True, "1"])
def test_memory_is_a_positive_number_of_bytes(tmp_path: Path, memory: int) -> None:
    with pytest.raises(ValueError, match="memory_bytes"):
        snapshot(tmp_path, [1]).scan().to_arrow_batch_reader(memory_bytes=memory)


def test_count_reads_files_at_the_same_time_too(tmp_path: Path) -> None:
    found = snapshot(tmp_path, [400] * 5, positions=(3, 399))
    assert found.scan("name = 'name 1'").count() == found.scan("name = 'name 1'").to_arrow().num_rows
    assert found.scan("id >= 0 AND name IS NOT NULL", limit=7).count() == 7
