"""Rows of a plan's files: how many files fill a limit, and that no statistics are read that nobody asks for."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from tableformats.planning.record_counts import RecordCounts


class Statistics:
    """Statistics of a batch that remember whether they were asked."""

    def __init__(self, counts: list[int | None]) -> None:
        self.counts = counts
        self.asked = 0

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        self.asked += 1
        return pa.array([self.counts[row] for row in rows.tolist()], pa.int64())


def parts_of(*counts: list[int | None], known: str) -> tuple[RecordCounts, list[Statistics]]:
    """Parts of which those with ``k`` are known, and others have to be asked for."""
    asked = [Statistics(some) for some in counts]
    parts = [
        pa.array(some, pa.int64()) if kind == "k" else (statistics, np.arange(len(some)))
        for some, statistics, kind in zip(counts, asked, known, strict=True)
    ]
    return RecordCounts(parts), asked  # type: ignore[arg-type]


def test_each_part_is_asked_once() -> None:
    counts, asked = parts_of([1, 2], [3, None], [4], known="kak")
    assert repr(counts) == "RecordCounts(2 of 3 parts counted)" and not counts.are_known
    assert counts.array.to_pylist() == [1, 2, 3, None, 4] and counts.total() is None
    assert counts.are_known and asked[1].asked == 1 and asked[0].asked == 0
    assert repr(counts) == "RecordCounts(3 of 3 parts counted)"
    again = pickle.loads(pickle.dumps(counts))
    assert again.array.to_pylist() == [1, 2, 3, None, 4] and again.are_known


@pytest.mark.parametrize(
    ("counts", "total"), [([], 0), ([[5]], 5), ([[1, 2], [3]], 6), ([[], []], 0), ([[1, None]], None)]
)
def test_totals(counts: list[list[int | None]], total: int | None) -> None:
    assert parts_of(*counts, known="a" * len(counts))[0].total() == total


@pytest.mark.parametrize("n", range(7))
def test_the_first_files(n: int) -> None:
    every = [1, 2, 3, None, 4]
    counts, asked = parts_of([1, 2], [3, None], [4], known="aka")
    first = counts.first(n)
    assert asked[0].asked == asked[2].asked == 0
    assert first.array.to_pylist() == every[:n]
    assert (asked[0].asked, asked[2].asked) == (int(n > 0), int(n > 4))


def test_how_many_files_fill_a_limit() -> None:
    chance = random.Random(5)
    for _ in range(200):
        parts = [[chance.choice([None, 0, 1, 2, 5]) for _ in range(chance.randrange(4))] for _ in range(3)]
        every = [count for part in parts for count in part]
        certain = [chance.random() < 0.7 for _ in every]
        for limit in range(8):
            counts, asked = parts_of(*parts, known="aaa")
            rows, wanted, reached = 0, len(every), False
            for i, (count, is_certain) in enumerate(zip(every, certain, strict=True)):
                rows += (count or 0) if is_certain else 0
                if limit and rows >= limit:
                    wanted, reached = i + 1, True
                    break
            wanted = wanted if limit else 0
            assert counts.needed(limit, np.array(certain, bool)) == wanted
            if not limit or not any(certain):
                assert not any(one.asked for one in asked)
            elif reached:
                ends = np.cumsum([len(part) for part in parts])
                needed = int(np.searchsorted(ends, wanted)) + 1
                assert [one.asked for one in asked] == [1] * needed + [0] * (3 - needed)
