"""Columns of survivors: what of a batch is cached, and what is read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.cache.metadata_cache import MetadataCache
from tableformats.columnar.sparse_rows import SparseRows
from tableformats.planning.blocks import BatchRows
from tableformats.planning.cache.file_columns import CachedFiles, FileColumns
from tableformats.plugin import FileBatch


def batch_of(count: int) -> FileBatch:
    columns = {
        "path": [f"f{i:02}" for i in range(count)],
        "size_bytes": list(range(count)),
        "partition": pa.array([{}] * count, pa.struct([])),
        "record_count": list(range(count)),
    }
    return FileBatch(pa.record_batch(columns), 0)


class Reader:
    """Gives batches, and counts how often it is asked."""

    def __init__(self, *batches: FileBatch) -> None:
        self.batches, self.asked = batches, 0

    def __call__(self, rows: BatchRows) -> FileBatch:
        self.asked += 1
        return self.batches[rows.number]


def taken(columns: FileColumns, reader: Reader, *wanted: tuple[BatchRows, list[int]], **more: Any) -> list[list[str]]:
    pairs = [(batch, np.array(rows, np.int64)) for batch, rows in wanted]
    found = columns.take(pairs, reader, **more)
    assert all(files.schema.names == ["path", "size_bytes"] for files in found)
    return [files["path"].to_pylist() for files in found]


def cached(cache: MetadataCache, number: int = 0) -> list[str] | None:
    found = cache.find(("files", "k", number))
    return None if found is None else found.files["path"].to_pylist()


EVERY = [f"f{i:02}" for i in range(40)]


@pytest.mark.parametrize(
    ("rows", "kept"), [([0, 1, 2, 3], [0, 1, 2, 3]), ([0, 1, 2, 3, 4], None), ([39], [39]), (list(range(40)), None)]
)
def test_few_survivors_are_cached_alone(rows: list[int], kept: list[int] | None) -> None:
    """Few are less than one in eight."""
    cache, reader = MetadataCache(), Reader(batch_of(40))
    columns, batch = FileColumns(cache), BatchRows("k", 0, 0, 40, None)
    assert taken(columns, reader, (batch, rows)) == [[EVERY[i] for i in rows]]
    assert cached(cache) == (EVERY if kept is None else [EVERY[i] for i in kept])
    assert taken(columns, reader, (batch, rows)) == [[EVERY[i] for i in rows]] and reader.asked == 1
    assert taken(columns, reader, (batch, rows[:1])) == [[EVERY[rows[0]]]] and reader.asked == 1
    other = [5, 20]
    assert taken(columns, reader, (batch, other)) == [[EVERY[i] for i in other]]
    assert reader.asked == (1 if kept is None else 2) and cached(cache) == EVERY, "the whole batch from now on"


def test_files_that_the_snapshot_lacks_are_not_cached() -> None:
    cache, reader = MetadataCache(), Reader(batch_of(40))
    batch = BatchRows("k", 0, 100, 104, np.array([3, 5, 30, 31]))
    assert taken(FileColumns(cache), reader, (batch, [101, 103])) == [["f05", "f31"]]
    assert cached(cache) == ["f03", "f05", "f30", "f31"]
    older = BatchRows("k", 0, 0, 40, None)
    assert taken(FileColumns(cache), reader, (older, [3, 7])) == [["f03", "f07"]]
    assert cached(cache) == EVERY and reader.asked == 2


def test_parts_without_a_key_are_read_each_time() -> None:
    cache, reader = MetadataCache(), Reader(batch_of(40))
    batch = BatchRows(None, 0, 0, 40, None)
    for number in (1, 2):
        assert taken(FileColumns(cache), reader, (batch, [1])) == [["f01"]] and reader.asked == number
    assert taken(FileColumns(cache), reader, (batch, list(range(10)))) == [EVERY[:10]] and cache.used_bytes == 0


def test_few_files_of_several_batches() -> None:
    """They are cached each for itself, and counted for the memory that they take."""
    cache, reader = MetadataCache(), Reader(batch_of(40), batch_of(20), batch_of(40))
    batches = [BatchRows("k", number, 0, size, None) for number, size in enumerate((40, 20, 40))]
    wanted = ((batches[0], [1, 2]), (batches[1], [3]), (batches[2], list(range(8))))
    assert taken(FileColumns(cache), reader, *wanted) == [["f01", "f02"], ["f03"], EVERY[:8]]
    assert [cached(cache, number) for number in range(3)] == [["f01", "f02"], ["f03"], EVERY]
    few = cache.find(("files", "k", 0))
    assert few.present.rows.tolist() == [1, 2] and few.nbytes == few.files.nbytes + 16
    whole = cache.find(("files", "k", 2))
    assert cache.used_bytes == few.nbytes + cache.find(("files", "k", 1)).nbytes + whole.nbytes


def test_memory_of_files_that_are_cached_alone() -> None:
    files = pa.record_batch({"path": EVERY * 100})
    part = CachedFiles(files.slice(0, 10), SparseRows())
    copied = part.copied()
    assert copied.files.equals(part.files) and copied.files.get_total_buffer_size() < files.nbytes // 100
    whole = CachedFiles(files, SparseRows())
    assert whole.copied() is whole and whole.only(np.array([1, 3])).files["path"].to_pylist() == ["f01", "f03"]
    some = CachedFiles(files.slice(0, 3), SparseRows(np.array([2, 5, 9])))
    assert some.take(np.array([2, 5, 9])) is some.files and some.take(np.array([3])) is None
    found = some.take(np.array([5]))
    assert found is not None and found["path"].to_pylist() == ["f01"]
