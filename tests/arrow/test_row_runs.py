"""Rows by their positions: runs of them, batches that come with the position of their first row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow import file_rows
from tableformats.engines.arrow.files import page_reads
from tableformats.engines.arrow.row_runs import (
    MatchingRows,
    RowCursor,
    at_positions,
    both_dropped,
    in_blocks,
    in_step,
    joined_runs,
    runs_of,
    without_positions,
)
from tests.support.examples import examples


def numbers(*values: int) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(values, pa.int64())], ["n"])


def read(pieces: Iterator[tuple[int, pa.StructArray]]) -> list[tuple[int, list[int]]]:
    return [(first, piece.field(0).to_pylist()) for first, piece in pieces]


def matching(first: int, matches: list[int]) -> MatchingRows:
    rows = numbers(*(first + i for i, one in enumerate(matches) if one))
    return MatchingRows.of_mask(first, np.array(matches, bool), rows)


@pytest.mark.parametrize(
    ("batches", "runs"),
    [
        ({5: [1]}, [[5, 6]]),
        ({0: [1, 1, 1]}, [[0, 3]]),
        ({0: [1, 0, 1, 1], 4: [0, 0, 0, 1]}, [[0, 1], [2, 4], [7, 8]]),
        ({0: [0, 1, 1], 3: [1, 0], 5: [0, 1], 9: [1]}, [[1, 4], [6, 7], [9, 10]]),
        ({0: [1], 1: [1], 2: [1, 1]}, [[0, 4]]),
    ],
)
def test_runs_of_matching_rows(batches: dict[int, list[int]], runs: list[list[int]]) -> None:
    assert runs_of([matching(first, matches) for first, matches in batches.items()]).tolist() == runs


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.booleans(), max_size=12), st.lists(st.booleans(), max_size=12))
def test_positions_of_rows_that_are_dropped_twice(first: list[bool], then: list[bool]) -> None:
    left = [i for i, is_dropped in enumerate(first) if not is_dropped]
    then = (then + [False] * len(left))[: len(left)]
    rows = [i for i, is_dropped in zip(left, then, strict=True) if not is_dropped]
    found = both_dropped(np.flatnonzero(first), np.flatnonzero(then)).tolist()
    assert found == sorted(set(range(len(first))) - set(rows))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.booleans(), max_size=24), st.sets(st.integers(0, 30)))
def test_runs_without_positions(wanted: list[bool], positions: set[int]) -> None:
    """As sets of rows; the runs that are left are not empty, and ascend."""
    runs = joined_runs(np.arange(len(wanted) + 1) + 3, np.array(wanted, bool))
    found = without_positions(runs, np.array(sorted(positions), np.int64)).tolist()
    rows = {i + 3 for i, is_wanted in enumerate(wanted) if is_wanted}
    assert [row for start, stop in found for row in range(start, stop)] == sorted(rows - positions)
    assert all(start < stop for start, stop in found)


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        ([0, 0, 0], []),
        ([1, 1, 1], [[0, 60]]),
        ([1, 0, 1], [[0, 10], [30, 60]]),
        ([0, 1, 1], [[10, 60]]),
        ([0, 1, 0], [[10, 30]]),
    ],
)
def test_runs_that_follow_each_other_are_joined(wanted: list[int], runs: list[list[int]]) -> None:
    assert joined_runs(np.array([0, 10, 30, 60], np.int64), np.array(wanted, bool)).tolist() == runs


def test_rows_of_runs_lie_one_after_another() -> None:
    runs = np.array([[2, 4], [7, 8], [10, 13]], np.int64)
    for pieces, found in (
        ([numbers(2, 3, 7, 10, 11, 12)], [(2, [2, 3]), (7, [7]), (10, [10, 11, 12])]),
        (
            [numbers(2), numbers(3, 7), numbers(), numbers(10, 11), numbers(12)],
            [(2, [2]), (3, [3]), (7, [7]), (10, [10, 11]), (12, [12])],
        ),
        ([numbers(2, 3)], [(2, [2, 3])]),
        ([], []),
    ):
        assert read(at_positions(runs, pieces)) == found


def test_rows_are_found_in_batches() -> None:
    batches = [(0, numbers(0, 1, 2)), (3, numbers(3, 4)), (5, numbers()), (8, numbers(8, 9))]
    cursor = RowCursor(iter(batches))
    assert read(cursor.between(0, 0)) == [] and read(cursor.between(1, 2)) == [(1, [1])]
    assert read(cursor.between(2, 5)) == [(2, [2]), (3, [3, 4])]
    assert read(cursor.between(4, 5)) == [(4, [4])]
    assert read(cursor.between(8, 12)) == [(8, [8, 9])], "there are no more"


def test_matching_rows_of_a_batch() -> None:
    of_mask = matching(100, [1, 0, 0, 1, 1, 0])
    without = MatchingRows.without(100, 6, np.array([1, 2, 5], np.int64), numbers(100, 103, 104))
    for found in (of_mask, without):
        assert found.stop == 106 and found.runs.tolist() == [[100, 101], [103, 105]]
        assert found.matches_of(103, 2).tolist() == [True, True]
        assert found.matches_of(100, 3).tolist() == [True, False, False]


def test_rows_of_two_sides_in_step() -> None:
    left = [numbers(0, 1, 2), numbers(3), numbers(), numbers(4, 5)]
    right = [numbers(10, 11), numbers(), numbers(12, 13, 14, 15)]
    found = [(one.field(0).to_pylist(), other.field(0).to_pylist()) for one, other in in_step(left, right)]
    assert found == [([0, 1], [10, 11]), ([2], [12]), ([3], [13]), ([4, 5], [14, 15])]
    assert list(in_step([], [])) == []


def test_blocks_of_matching_rows() -> None:
    """A block ends with the batch in which it has so many matching rows; how far they are apart does not count."""
    matches = {0: [1, 1, 1], 10: [1], 500: [1, 0], 600: [1, 1, 1, 1], 700: [0, 1]}
    batches = [matching(first, found) for first, found in matches.items()]
    for rows, expected in {
        1: [[0], [10], [500], [600], [700]],
        4: [[0, 10], [500, 600], [700]],
        5: [[0, 10, 500], [600, 700]],
        11: [[0, 10, 500, 600, 700]],
    }.items():
        assert [[found.first for found in block] for block in in_blocks(iter(batches), rows)] == expected
    assert list(in_blocks(iter(()), 1)) == []


@pytest.mark.parametrize(
    ("sizes", "joined"),
    [
        ([3, 3], [3, 3]),
        ([2, 4], [2, 4]),
        ([2, 3], [5]),
        ([1, 1, 9], [1, 1, 9]),
        ([1, 1, 6], [8]),
        ([2], [2]),
    ],
)
def test_pieces_of_few_rows_are_put_together(
    sizes: list[int], joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_rows, "_FEWEST_ROWS", 3)
    pieces = [numbers(*range(10 * i, 10 * i + size)) for i, size in enumerate(sizes)]
    found = file_rows._of_many(pieces)
    assert [len(piece) for piece in found] == joined
    assert pa.concat_arrays(found) == pa.concat_arrays(pieces)


@pytest.mark.parametrize(
    ("pages", "rows", "edges"),
    [
        ([0, 4, 8, 12, 20], 8, [0, 8, 20]),
        ([0, 4, 8, 12, 16], 8, [0, 8, 16]),
        ([0, 4, 8, 12, 16], 4, [0, 4, 8, 12, 16]),
        ([0, 5, 10, 15, 20], 8, [0, 10, 20]),  # a page that begins in one window is of that window
        ([0, 20], 8, [0, 8, 16, 20]),
        ([0, 3, 20], 8, [0, 8, 16, 20]),
        ([0, 3, 20], 17, [0, 20]),
        ([0, 3, 20], 16, [0, 16, 20]),
        ([0, 2], 8, [0, 2]),
    ],
)
def test_windows_end_where_pages_do(pages: list[int], rows: int, edges: list[int]) -> None:
    """Unless these are longer than a window."""
    assert page_reads._window_edges(np.array(pages), rows).tolist() == edges
