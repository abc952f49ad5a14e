"""Rows by their positions: runs of them, batches that come with the position of their first row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from tableformats.engines.arrow.row_runs import (
    MatchingRows,
    RowCursor,
    at_positions,
    in_blocks,
    joined_runs,
    runs_of_rows,
)


def numbers(*values: int) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(values, pa.int64())], ["n"])


def read(pieces: Iterator[tuple[int, pa.StructArray]]) -> list[tuple[int, list[int]]]:
    return [(first, piece.field(0).to_pylist()) for first, piece in pieces]


@pytest.mark.parametrize(
    ("positions", "runs"),
    [
        ([5], [[5, 6]]),
        ([0, 1, 2], [[0, 3]]),
        ([0, 2, 3, 7], [[0, 1], [2, 4], [7, 8]]),
        ([1, 3], [[1, 2], [3, 4]]),
    ],
)
def test_runs_of_positions(positions: list[int], runs: list[list[int]]) -> None:
    assert runs_of_rows(np.array(positions, np.int64)).tolist() == runs


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
    found = MatchingRows(100, pa.array([True, None, False, True, True, False]), numbers(0, 3, 4))
    assert found.stop == 106 and found.positions.tolist() == [100, 103, 104]
    assert found.matches_of(103, 2).to_pylist() == [True, True]
    assert found.matches_of(100, 3).to_pylist() == [True, None, False]


def test_blocks_of_matching_rows() -> None:
    """A block ends with the batch in which it has so many matching rows; how far they are apart does not count."""
    matches = {0: [True] * 3, 10: [True], 500: [True, None], 600: [True] * 4, 700: [False, True]}
    batches = [
        MatchingRows(first, pa.array(found), numbers(*range(found.count(True)))) for first, found in matches.items()
    ]
    for rows, expected in {
        1: [[0], [10], [500], [600], [700]],
        4: [[0, 10], [500, 600], [700]],
        5: [[0, 10, 500], [600, 700]],
        11: [[0, 10, 500, 600, 700]],
    }.items():
        assert [[found.first for found in block] for block in in_blocks(iter(batches), rows)] == expected
    assert list(in_blocks(iter(()), 1)) == []
