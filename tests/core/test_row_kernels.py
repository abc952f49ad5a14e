"""Kernels that copy columns without deleted rows, against lists of Python."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples


def _dropped(mask: list[bool]) -> np.ndarray:
    return np.flatnonzero(mask).astype(np.int64)


@given(width=st.integers(1, 16), gone=st.lists(st.booleans(), max_size=40))
@settings(max_examples=examples(60), deadline=None)
def test_values(rows: ModuleType, width: int, gone: list[bool]) -> None:
    values = np.random.default_rng(len(gone)).integers(0, 256, (len(gone), width), np.uint8)
    out = np.empty(gone.count(False) * width, np.uint8)
    rows.drop_values(values.ravel(), width, _dropped(gone), out)
    assert out.tobytes() == b"".join(row.tobytes() for row, goes in zip(values, gone, strict=True) if not goes)


@given(texts=st.lists(st.tuples(st.binary(max_size=5), st.booleans()), max_size=40), skipped=st.binary(max_size=3))
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@settings(max_examples=examples(60), deadline=None)
def test_texts(rows: ModuleType, kind: type, texts: list[tuple[bytes, bool]], skipped: bytes) -> None:
    lengths = [len(text) for text, _ in texts]
    offsets = (np.cumsum([0, *lengths]) + len(skipped)).astype(kind)
    data = np.frombuffer(skipped + b"".join(text for text, _ in texts) + b"rest", np.uint8)
    left = [text for text, goes in texts if not goes]
    out_offsets, out = np.empty(len(left) + 1, kind), np.empty(sum(map(len, left)), np.uint8)
    rows.drop_texts(offsets, data, _dropped([goes for _, goes in texts]), out_offsets, out)
    assert out.tobytes() == b"".join(left)
    assert out_offsets.tolist() == np.cumsum([0, *map(len, left)]).tolist()


@pytest.mark.parametrize("dropped", [[3], [-1], [1, 1], [2, 0], [0, 5]])
def test_positions_that_are_none(rows: ModuleType, dropped: list[int]) -> None:
    gone = np.array(dropped, np.int64)
    out = np.empty(max(3 - len(dropped), 0) * 8, np.uint8)
    with pytest.raises(ValueError, match="dropped"):
        rows.drop_values(np.zeros(24, np.uint8), 8, gone, out)
    with pytest.raises(ValueError, match="dropped"):
        rows.drop_texts(
            np.zeros(4, np.int32),
            np.empty(0, np.uint8),
            gone,
            np.empty(max(4 - len(dropped), 0), np.int32),
            np.empty(0, np.uint8),
        )


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [0, 1, 2, 9], [-1, 0, 1, 2], []])
def test_offsets_that_leave_the_data(rows: ModuleType, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        rows.drop_texts(
            np.array(offsets, np.int32),
            np.zeros(4, np.uint8),
            np.array([0], np.int64),
            np.empty(3, np.int32),
            np.empty(8, np.uint8),
        )


def test_lengths_that_do_not_fit(rows: ModuleType) -> None:
    none = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="no values of 8 bytes"):
        rows.drop_values(np.zeros(12, np.uint8), 8, none, np.empty(12, np.uint8))
    with pytest.raises(ValueError, match="no values of 0 bytes"):
        rows.drop_values(np.zeros(12, np.uint8), 0, none, np.empty(12, np.uint8))
    with pytest.raises(ValueError, match="out has 7 entries"):
        rows.drop_values(np.zeros(8, np.uint8), 8, none, np.empty(7, np.uint8))
    offsets, data = np.array([0, 1, 2], np.int32), np.zeros(2, np.uint8)
    with pytest.raises(ValueError, match="out_offsets has 2 entries"):
        rows.drop_texts(offsets, data, none, np.empty(2, np.int32), np.empty(2, np.uint8))
    with pytest.raises(ValueError, match="out has 1 entries"):
        rows.drop_texts(offsets, data, none, np.empty(3, np.int32), np.empty(1, np.uint8))


@given(
    wanted=st.lists(st.booleans(), max_size=40), gone=st.sets(st.integers(0, 45)), first=st.sampled_from([0, 3, 2**40])
)
@settings(max_examples=examples(100), deadline=None)
def test_runs(rows: ModuleType, wanted: list[bool], gone: set[int], first: int) -> None:
    """As sets of rows; the runs that are left are not empty, and ascend."""
    runs = np.flatnonzero(np.diff(wanted, prepend=False, append=False)).reshape(-1, 2) + first
    dropped = np.array(sorted(first + row for row in gone), np.int64)
    out = np.empty((len(runs) + len(dropped), 2), np.int64)
    found = out[: rows.drop_from_runs(runs, dropped, out)].tolist()
    left = [first + row for row, is_wanted in enumerate(wanted) if is_wanted and row not in gone]
    assert [row for start, stop in found for row in range(start, stop)] == left
    assert all(start < stop for start, stop in found)


@given(marked=st.lists(st.booleans(), max_size=40), first=st.sampled_from([0, 3, 2**40]))
@settings(max_examples=examples(200), deadline=None)
def test_runs_of_marked_rows(rows: ModuleType, marked: list[bool], first: int) -> None:
    out = np.empty(((len(marked) + 1) // 2, 2), np.int64)
    found = out[: rows.find_runs(np.array(marked, np.uint8), first, out)].tolist()
    assert [row for start, stop in found for row in range(start, stop)] == [
        first + i for i, is_in in enumerate(marked) if is_in
    ]
    assert all(start < stop for start, stop in found)
    assert all(stop < start for (_, stop), (start, _) in pairwise(found))


def test_what_is_refused_of_marks(rows: ModuleType) -> None:
    """Only the lowest bit of a mark counts, so that there is always room for all runs."""
    out = np.empty((4, 2), np.int64)
    assert rows.find_runs(np.array([255, 2, 3, 4, 5, 6, 7, 0], np.uint8), 0, out) == 4
    assert out.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    for wrong in (out[:3], np.empty((4, 3), np.int64)):
        with pytest.raises(ValueError, match=r"\bout\b|a run of out"):
            rows.find_runs(np.zeros(8, np.uint8), 0, wrong)


def test_what_is_refused_of_runs(rows: ModuleType) -> None:
    runs, dropped, out = np.array([[0, 3]]), np.array([1]), np.empty((2, 2), np.int64)
    assert rows.drop_from_runs(runs, dropped, out) == 2
    for wrong in ((runs, dropped, out[:1]), (np.array([[0, 3, 5]]), dropped, out), (runs, dropped, out[:, :1].copy())):
        with pytest.raises(ValueError, match=r"\bout\b|a run"):
            rows.drop_from_runs(*wrong)
    for gone in ([-1], [1, 1]):
        with pytest.raises(ValueError, match="dropped"):
            rows.drop_from_runs(runs, np.array(gone), np.empty((1 + len(gone), 2), np.int64))
