"""Batches that are read again, and what a plan keeps of what it was decided by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions import TRUE
from tableformats.planning import jobs
from tableformats.planning.batch_reloader import BatchReloader
from tableformats.planning.jobs import Evidence, FileEvidence, PartClassification
from tableformats.plugin import Bounds, FileBatch, MetadataPart
from tableformats.plugin.report import ScanReport
from tableformats.pruning.column_ranges import Range
from tableformats.pruning.compiled_predicate import CompiledPredicate
from tableformats.schema import Field, primitive

COLUMN = Field(1, "a", primitive("long"))


class Statistics:
    """Statistics that say which method was asked for them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def bounds(self, columns: Any, rows: Any) -> Bounds:
        return Bounds(lower={1: pa.array([f"{self.name} bounds {len(columns)} {rows.tolist()}"])})

    def bounds_or_counts(self, columns: Any, rows: Any, counted: Any) -> Bounds:
        return Bounds(lower={1: pa.array([f"{self.name} counts {rows.tolist()} {sorted(counted)}"])})

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        return pa.array([10 * row for row in rows.tolist()])


def part_of(key: str, *names: str | None, adds: tuple[Any, ...] = ()) -> tuple[MetadataPart, list[str]]:
    """A part with a batch for each name of statistics (None: it has none), and the times that it is read."""
    read: list[str] = []

    def batches(report: ScanReport) -> Iterator[FileBatch]:
        read.append(key)
        for name in names:
            files = pa.record_batch({"path": pa.array([f"{key} {name}"])})
            yield FileBatch(files, 0, None if name is None else Statistics(name))  # type: ignore[arg-type]

    return MetadataPart(key, batches, adds=adds), read


def test_a_part_is_read_once_again() -> None:
    (first, read_first), (second, read_second) = part_of("p", "x", "y", None), part_of("q", "z")
    reloader = BatchReloader({"p": first, "q": second})
    statistics = [reloader.statistics("p", number) for number in range(3)]
    assert read_first == read_second == []
    rows = np.array([0, 2])
    assert statistics[1].bounds([COLUMN], rows).lower[1].to_pylist() == ["y bounds 1 [0, 2]"]
    assert statistics[0].bounds_or_counts([COLUMN], rows, {1}).lower[1].to_pylist() == ["x counts [0, 2] [1]"]
    assert statistics[0].record_counts(rows).to_pylist() == [0, 20]
    assert statistics[2].bounds([COLUMN], rows) == statistics[2].bounds_or_counts([COLUMN], rows, ()) == Bounds()
    assert statistics[2].record_counts(rows).to_pylist() == [None, None]
    assert reloader.batch("p", 2).files["path"].to_pylist() == ["p None"]
    assert (read_first, read_second) == (["p"], [])
    assert reloader.batch("q", 0).files["path"].to_pylist() == ["q z"] and read_second == ["q"]


class Cache:
    """A cache of blocks that knows some parts, and with how many newer parts it was asked for each."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.asked: list[tuple[object, int]] = []

    def find(self, part: MetadataPart, newer: list[MetadataPart]) -> str | None:
        self.asked.append((part.key, len(newer)))
        return f"cached {part.key}" if part.key in self.known else None


def test_parts_by_what_has_to_be_done_with_them() -> None:
    parts = [
        part_of(key, adds=(key,) if is_commit else ())[0]
        for key, is_commit in (("c3", True), ("c2", True), ("m1", False), ("c1", True), ("m2", False), ("m3", False))
    ]
    cache = Cache("c2", "m2")
    found = PartClassification.of(parts, cache)  # type: ignore[arg-type]
    assert [part.key for part in found.adding] == ["c3", "c2", "c1"]
    assert found.cached == [(1, "cached c2"), (4, "cached m2")]
    assert [(order, part.key, newer) for order, part, newer in found.fresh] == [(0, "c3", 0), (3, "c1", 2)]
    assert [(order, part.key) for order, part in found.below] == [(2, "m1"), (5, "m3")]
    assert cache.asked == [("c3", 0), ("c2", 1), ("m1", 2), ("c1", 2), ("m2", 3), ("m3", 3)]


def evidence_of(n: int, columns: int = 0, masks: int = 0) -> FileEvidence:
    """What decided ``n`` files, whose bounds have 8 bytes each."""
    flags = [np.ones(n, np.uint8) for _ in range(3)]
    sides = [pa.array([1] * n, pa.int64()), pa.array([2] * n, pa.int64())]
    ranges = {i: Range(*sides, *flags) for i in range(columns)}
    return FileEvidence([], ranges, None, np.zeros(n, bool), True, {i: flags[0] for i in range(masks)})


@pytest.mark.parametrize(
    ("n", "columns", "masks", "nbytes"),
    [(10, 0, 0, 80), (10, 1, 0, 160 + 80 + 30), (10, 2, 0, 320 + 80 + 60), (10, 0, 3, 80 + 30), (0, 1, 1, 0)],
)
def test_memory_of_what_decided_files(n: int, columns: int, masks: int, nbytes: int) -> None:
    assert evidence_of(n, columns, masks).nbytes == nbytes


@pytest.mark.parametrize(("limit", "is_whole"), [(159, False), (160, True), (161, True)])
def test_too_much_of_it_is_not_kept(limit: int, is_whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MOST_BYTES", limit)
    evidence = Evidence(CompiledPredicate(TRUE))
    decision: Any = object()
    first, second = evidence_of(10), evidence_of(10)
    for found in (first, second):
        evidence.add_groups([], decision)
        evidence.add_files(found)
    assert evidence.is_whole is is_whole
    told: list[Any] = []

    class Witness:
        def add_groups(self, *given: Any) -> None:
            told.append(given)

        def add_files(self, found: FileEvidence) -> None:
            told.append(found)

    evidence.tell(Witness())
    assert told == ([([], decision), ([], decision), first, second] if is_whole else [])
    evidence.add_groups([], decision)
    evidence.add_files(evidence_of(0))
    assert bool(evidence.groups and evidence.files) is is_whole, "what is too much once stays so"
