"""Rows of pages: which pages hold a row of some runs, what of a window is read, and where batches end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.engines.arrow.files import page_rows, parquet

Runs = list[list[int]]


@pytest.mark.parametrize(
    ("runs", "holds"),
    [
        ([[0, 20]], [1, 1, 1, 1]),
        ([[4, 5]], [1, 0, 0, 0]),
        ([[5, 6]], [0, 1, 0, 0]),
        ([[9, 10]], [0, 1, 0, 0]),
        ([[4, 6]], [1, 1, 0, 0]),
        ([[0, 1], [19, 20]], [1, 0, 0, 1]),
        ([[6, 7], [8, 9]], [0, 1, 0, 0]),
        ([[3, 12]], [1, 1, 1, 0]),
    ],
)
def test_pages_that_hold_a_row(runs: Runs, holds: list[int]) -> None:
    """Every row against every run."""
    edges = np.array([0, 5, 10, 15, 20])
    found = page_rows.hold_rows(edges, np.array(runs))
    assert found.tolist() == [bool(one) for one in holds]
    rows = {row for start, stop in runs for row in range(start, stop)}
    assert found.tolist() == [bool(rows & set(range(a, b))) for a, b in zip(edges, edges[1:], strict=False)]


@pytest.mark.parametrize(
    ("runs", "windows"),
    [
        ([[0, 20]], [[[0, 10]], [[10, 20]]]),
        ([[2, 3], [5, 12]], [[[2, 3], [5, 10]], [[10, 12]]]),
        ([[2, 3]], [[[2, 3]]]),
        ([[10, 11]], [[[10, 11]]]),
        ([[9, 10]], [[[9, 10]]]),
        ([[9, 11]], [[[9, 10]], [[10, 11]]]),
        ([[20, 24]], []),
    ],
)
def test_runs_of_windows(runs: Runs, windows: list[Runs]) -> None:
    found = page_rows.cut_runs(np.array(runs), np.array([0, 10, 20]))
    assert [window.tolist() for window in found] == windows


@pytest.mark.parametrize(
    "places",
    [[[2, 5]], [[0, 10]], [[9, 10]], [[0, 1], [4, 6]], [[0, 4], [5, 10]], [[1, 3], [4, 7]], [[1, 3], [4, 8]]],
)
def test_values_at_places(places: Runs) -> None:
    wanted = [row for start, stop in places for row in range(start, stop)]
    for values in (pa.array(range(10)), pa.array([f"t{i}" if i != 4 else None for i in range(10)])):
        assert page_rows._at_places(values, np.array(places)).to_pylist() == [values[i].as_py() for i in wanted]


@pytest.mark.parametrize(
    ("count", "ends", "edges"),
    [
        (10, [], [0, 4, 8, 10]),
        (8, [], [0, 4, 8]),
        (3, [], [0, 3]),
        (3, [[0, 4, 8, 10]], [0, 3]),  # bytes of one batch
        (3, [[0, 9, 10, 11]], [0, 2, 3]),  # the third text begins in the second block of bytes
        (3, [[0, 25, 25, 40]], [0, 1, 3]),
        (5, [[0, 4, 12, 13, 24, 25]], [0, 2, 4, 5]),
        (5, [[0, 4, 12, 13, 24, 25], [0, 11, 11, 11, 11, 11]], [0, 1, 2, 4, 5]),
    ],
)
def test_ends_of_batches(count: int, ends: list[list[int]], edges: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """By their rows, and by the bytes of each column of texts."""
    monkeypatch.setattr(page_rows, "_BATCH_BYTES", 10)
    texts: Any = [SimpleNamespace(ends=np.array(one)) for one in ends]
    assert page_rows._edges(count, 4, texts) == edges


def coded(texts: list[str], codes: list[int | None], kind: pa.DataType | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts, kind or pa.string()))


@pytest.mark.parametrize(
    ("columns", "sizes"),
    [
        ([coded(["aaaa", "b"], [0, 0, 0, 1, 1])], [2, 3]),
        ([coded(["aaaa", "b"], [0, 0, 0, 1, 1], pa.binary())], [2, 3]),
        ([coded(["aa"], [0] * 5)], [5]),
        ([coded(["aa"], [0] * 6)], [4, 2]),
        ([coded(["aaaaa"], [0, None, None, None])], [4]),
        ([coded(["aaaaa"], [0, None, 0, None])], [2, 2]),
        ([coded(["aaaaa"], [0, *[None] * 9])], [10]),
        ([coded(["aaa"], [0, 0, 0]), coded(["bb"], [0, 0, 0])], [1, 2]),
        ([coded([], [None] * 20)], [20]),
        ([pa.array(["a" * 99] * 3)], [3]),  # no codes
        ([pa.array([1, 2, 3])], [3]),
        ([coded(["a" * 99], [0, 0])], [1, 1]),
    ],
)
def test_codes_become_texts_of_few_bytes(
    columns: list[pa.Array], sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 10 bytes at most, or of one row: by what the rows' own codes stand for."""
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 10)
    rows = pa.StructArray.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    pieces = list(parquet._of_short_texts(rows))
    assert [len(piece) for piece in pieces] == sizes
    assert [row for piece in pieces for row in piece.to_pylist()] == rows.to_pylist()
