"""Parts that are kept in a directory: what is stored, when it is used, and when the table is read instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.planning.cache.disk_cache import DiskPartCache
from tableformats.plugin import Bounds, FileBatch, MetadataPart, PartitionSpec, Statistics
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, primitive
from tests.planning.test_blocks import BY_P, SPECS, batch_of

A, B = Field(2, "a", primitive("long")), Field(3, "b", primitive("long"))


class Directory:
    """A directory in memory, which knows how often it was written."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.writes = 0

    def read(self, key: str) -> memoryview | None:
        return memoryview(self.entries[key]) if key in self.entries else None

    def write(self, key: str, chunks: Sequence[bytes | memoryview]) -> None:
        self.entries[key] = b"".join(chunks)
        self.writes += 1


class Asked(Statistics):
    """The bounds of the field ``f`` in the row ``i`` are ``100 * f + i``; it remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        self.asked.append(([f.id for f in columns], None if rows is None else rows.tolist()))
        numbers = np.arange(3) if rows is None else rows
        values = {f.id: pa.array(100 * f.id + numbers) for f in columns}
        return Bounds(values, {}, values, record_count=pa.array(numbers))

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        return pa.array(10 * rows)


class Table:
    """Parts of a table that remembers how often they were read."""

    def __init__(self, *batches: FileBatch, **more: Any) -> None:
        self.reads = 0

        def read(report: ScanReport) -> list[FileBatch]:
            self.reads += 1
            report.note("a note")
            report.count_metadata(7)
            return list(batches)

        self.part = MetadataPart(**{"key": "m1", "read": read, **more})


def plan(directory: Any, table: Table, specs: Any = SPECS, ask: Any = (), with_keys: bool = False) -> Any:
    """What a process reads of the part, after it asked the statistics of the first batch; then it writes."""
    cache = DiskPartCache(directory, "t", specs)
    part, report = cache.cached(table.part, with_keys), ScanReport()
    batches = list(part.read(report))
    found = [batches[0].statistics.bounds(*one) for one in ask]  # type: ignore[union-attr]
    cache.write([part])
    return batches, report, found


def test_a_part_is_read_once() -> None:
    directory, table = Directory(), Table(batch_of([1, None, 3], [5, 6, 7]), batch_of([4], spec=1))
    for _ in range(3):
        batches, report, _ = plan(directory, table)
        assert [batch.files["path"].to_pylist() for batch in batches] == [["f0", "f1", "f2"], ["f0"]]
        assert batches[0].files["size_bytes"].to_pylist() == [1, None, 3]
        assert [batch.spec_id for batch in batches] == [0, 1] and batches[0].statistics is None
        assert report.notes == ["a note"] and (report.metadata_files_read, report.metadata_bytes_read) == (1, 7)
        assert table.reads == directory.writes == 1


def test_bounds_are_stored_when_they_are_asked() -> None:
    statistics = Asked()
    directory, table = Directory(), Table(batch_of([1, 2, 3], statistics=statistics))
    some = np.array([0, 2])

    def asked(*ask: Any) -> Any:
        statistics.asked.clear()
        return plan(directory, table, ask=ask)[2], [*statistics.asked], table.reads, directory.writes

    ((first,), *known) = asked(([A], some))
    assert (first.lower[2].to_pylist(), first.record_count.to_pylist()) == ([200, 202], [0, 2])
    assert known == [[([2], [0, 2])], 1, 1]
    ((first, second), *known) = asked(([A], some), ([A], np.array([2])))
    assert first.lower[2].to_pylist() == first.null_count[2].to_pylist() == [200, 202] and not first.upper
    assert (second.lower[2].to_pylist(), second.record_count.to_pylist()) == ([202], [2])
    assert known == [[], 1, 1], "nothing is read, and nothing is new"
    ((first, second), *known) = asked(([A, B], some), ([A], None))
    assert (first.lower[2].to_pylist(), first.lower[3].to_pylist()) == ([200, 202], [300, 302])
    assert second.lower[2].to_pylist() == [200, 201, 202]
    assert known == [[([3], [0, 2]), ([2], None)], 2, 2], "the table is read for what is not stored, and that is stored"
    ((first,), *known) = asked(([A], np.array([1])))
    assert first.lower[2].to_pylist() == [201] and known == [[], 2, 2]
    batches, *_ = plan(directory, table)
    assert batches[0].statistics.record_counts(np.array([2])).to_pylist() == [20], "counts are not stored"
    assert table.reads == 3


def keys(*names: bytes) -> pa.Array:
    return pa.array(names, pa.binary())


@pytest.mark.parametrize(
    ("batch", "part", "is_stored"),
    [
        ({}, {}, True),
        ({"live": np.array([True])}, {}, False),
        ({"row_errors": object()}, {}, False),
        ({"keys": keys(b"k")}, {}, False),
        ({"keys": keys(b"k"), "insert_keys": False}, {}, False),
        ({"keys": keys(b"k"), "insert_keys": False}, {"keys_of": lambda files: keys(b"k")}, True),
        ({"keys": keys(b"k"), "insert_keys": True}, {"keys_of": lambda files: keys(b"k")}, False),
        ({}, {"key": None}, False),
        ({}, {"adds": ("c",)}, False),
        ({}, {"key": ("m", object())}, False),
        ({}, {"key": ("m", 1)}, True),
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_parts_that_other_processes_can_use(batch: Any, part: Any, is_stored: bool, position: int) -> None:
    """All batches of a part are stored, or none."""
    batches = [batch_of([1])]
    batches.insert(position, batch_of([1], **batch))
    directory, table = Directory(), Table(*batches, **part)
    for reads in (1, 2):
        assert len(plan(directory, table)[0]) == 2
        assert table.reads == (1 if is_stored else reads)
    assert bool(directory.entries) is is_stored


def test_keys_that_are_made_again() -> None:
    table = Table(
        batch_of([1, 2], keys=keys(b"x0", b"x1"), insert_keys=False),
        keys_of=lambda files: keys(*(f"x{name[1:]}".encode() for name in files["path"].to_pylist())),
    )
    directory = Directory()
    plan(directory, table, with_keys=True)
    for with_keys in (True, False):
        ((batch,), *_) = plan(directory, table, with_keys=with_keys)
        assert not batch.insert_keys
        assert (None if batch.keys is None else batch.keys.to_pylist()) == ([b"x0", b"x1"] if with_keys else None)
    assert table.reads == 1


@pytest.mark.parametrize(
    ("specs", "reads"),
    [(SPECS, 1), ({0: PartitionSpec(7, BY_P.fields)}, 1), ({}, 2), ({0: PartitionSpec(0, ())}, 2), ({0: SPECS[1]}, 2)],
)
def test_entries_of_other_partition_fields(specs: Any, reads: int) -> None:
    directory, table = Directory(), Table(batch_of([1]))
    plan(directory, table)
    assert len(plan(directory, table, specs)[0]) == 1 and table.reads == reads


@pytest.mark.parametrize("junk", [b"", b"\n", b"{}\n", b'{"report": {}, "batches": [{}]}\n', b"no line", b"[]\n"])
def test_entries_that_are_none(junk: bytes) -> None:
    directory, table = Directory(), Table(batch_of([1]))
    plan(directory, table)
    (key,) = directory.entries
    directory.entries[key] = junk
    assert len(plan(directory, table)[0]) == 1 and table.reads == 2
    assert len(plan(directory, table)[0]) == 1 and table.reads == 2, "it was written again"


def test_without_a_directory() -> None:
    table, cache = Table(batch_of([1])), DiskPartCache(None, "t", SPECS)
    assert cache.cached(table.part, False) is table.part and not cache.is_enabled
    cache.write([table.part])


def test_a_long_head() -> None:
    """Of many batches, whose line is longer than what is looked at first."""
    table, directory = Table(*(batch_of([1]) for _ in range(3))), Directory()
    plan(directory, table)
    (key,) = directory.entries
    head, _, streams = directory.entries[key].partition(b"\n")
    directory.entries[key] = head + b" " * (1 << 21) + b"\n" + streams
    assert len(plan(directory, table)[0]) == 3 and table.reads == 1
