"""Neighbouring items are bundled by what they weigh."""

from __future__ import annotations

import os

import pytest

from tableformats.runtime import threads
from tableformats.runtime.threads import bundles, runs, thread_count


@pytest.mark.parametrize(
    ("weights", "most", "found"),
    [
        ([], 10, []),
        ([4, 6, 1], 10, [[4, 6], [1]]),
        ([4, 7, 1], 10, [[4], [7, 1]]),
        ([11, 1, 12], 10, [[11], [1], [12]]),
        ([0, 0, 10, 0, 1], 10, [[0, 0, 10, 0], [1]]),
        ([5, 5, 5, 5], 10, [[5, 5], [5, 5]]),
        ([10, 10], 10, [[10], [10]]),
    ],
)
def test_runs_of_so_much_weight(weights: list[int], most: int, found: list[list[int]]) -> None:
    assert list(runs(weights, int, most)) == found


@pytest.mark.parametrize(
    ("files", "most", "found"),
    [
        ([4096, 4096], 1 << 30, [[4096], [4096]]),
        ([2048, 2048, 1], 1 << 30, [[2048, 2048], [1]]),
        ([100_000] * 8, 1 << 30, [[100_000]] * 8),
        ([25_000] * 8, 1 << 30, [[25_000]] * 8),
        ([12_500] * 16, 1 << 30, [[12_500]] * 16),
        ([12_500, 12_500] * 8, 25_000, [[12_500]] * 16),
        ([10_000, 15_000] * 8, 25_000, [[10_000], [15_000]] * 8),
        ([5_000] * 32, 1 << 30, [[5_000]] * 32),
        ([2_500] * 64, 1 << 30, [[2_500, 2_500]] * 32),
        ([1, None, 1, 1, None], 1 << 30, [[1], [None], [1, 1], [None]]),
        ([10, 10, 10], 20, [[10, 10], [10]]),
        ([], 20, []),
    ],
)
def test_every_thread_gets_some_bundles_that_are_worth_its_time(
    files: list[int | None], most: int, found: list[list[int | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight threads: a bundle has a 32nd of the files, but 4096 at least and ``most`` at most."""
    monkeypatch.setattr(threads, "thread_count", lambda: 8)
    assert list(bundles(files, lambda count: count, most)) == found


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 2), (8, 8), (9, 8), (64, 8), (None, 1)])
def test_as_many_threads_as_cores_up_to_eight(cores: int | None, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert thread_count() == count
