"""Rows of a file by their positions: runs of consecutive rows, and rows that match a filter.

Runs are int64[n, 2]: the position of the first row, and that after the last one; ascending, apart, none empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..._core.rows import drop_from_runs, find_runs
from ...columnar.arrays import scratch
from ...dataclass import dataclass
from ...io.parquet.page_values import mark_runs
from ...runtime.concurrency import cached_property

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "MatchingRows",
    "RowCursor",
    "at_positions",
    "both_dropped",
    "in_blocks",
    "in_step",
    "joined_runs",
    "runs_of",
    "runs_where",
    "without_positions",
]


@dataclass(frozen=True, eq=False)
class MatchingRows:
    """The matching rows of a batch.

    Attributes
    ----------
    first : int
        The position of the batch's first row.
    count : int
        How many rows the batch had.
    runs : int64[m, 2]
        The runs of these rows.
    rows : pa.StructArray
        These rows.
    """

    first: int
    count: int
    runs: npt.NDArray[np.int64]
    rows: pa.StructArray

    @classmethod
    def of_mask(cls, first: int, matches: npt.NDArray[np.bool_], rows: pa.StructArray) -> MatchingRows:
        """The rows that match."""
        return cls(first, len(matches), runs_where(matches, first), rows)

    @classmethod
    def without(cls, first: int, count: int, dropped: npt.NDArray[np.int64], rows: pa.StructArray) -> MatchingRows:
        """All of ``count`` rows but those ``dropped``: positions in the batch, ascending."""
        return cls(first, count, without_positions(np.array([[0, count]], np.int64), dropped) + first, rows)

    @property
    def stop(self) -> int:
        """The position after the batch's last row."""
        return self.first + self.count

    @cached_property
    def _matches(self) -> npt.NDArray[np.bool_]:
        found = np.empty(self.count, np.uint8)
        mark_runs(self.runs - self.first, found)
        return found.view(bool)

    def matches_of(self, start: int, count: int) -> npt.NDArray[np.bool_]:
        """Which of ``count`` rows from the position ``start`` on match."""
        return self._matches[start - self.first :][:count]


class RowCursor:
    """Finds rows by their positions, ascending, in batches that come with the position of their first row."""

    def __init__(self, batches: Iterator[tuple[int, pa.StructArray]]) -> None:
        self._batches = batches
        self._first, self._stop = 0, 0
        self._rows: pa.StructArray | None = None

    def between(self, start: int, stop: int) -> Iterator[tuple[int, pa.StructArray]]:
        """The rows from ``start`` to below ``stop``, in one piece or several, each with its first position."""
        while start < stop:
            while self._rows is None or self._stop <= start:
                found = next(self._batches, None)
                if found is None:  # the filter's columns have more rows than the footer counts; refused at their end
                    return
                self._first, self._rows = found
                self._stop = self._first + len(self._rows)
            count = min(stop, self._stop) - start
            yield start, self._rows.slice(start - self._first, count)
            start += count


def in_blocks(matching: Iterable[MatchingRows], rows: int) -> Iterator[list[MatchingRows]]:
    """Lists of batches that have about so many matching rows each, or more; the last one may have fewer."""
    block: list[MatchingRows] = []
    count = 0
    for found in matching:
        block.append(found)
        count += len(found.rows)
        if count >= rows:
            yield block
            block, count = [], 0
    if block:
        yield block


def runs_of(matching: Sequence[MatchingRows]) -> npt.NDArray[np.int64]:
    """The runs of the matching rows of batches; at least one."""
    runs = [matching[0].runs]
    for found in matching[1:]:
        last, more = runs[-1], found.runs
        if last[-1, 1] == more[0, 0]:
            more = more.copy()
            more[0, 0], runs[-1] = last[-1, 0], last[:-1]
        runs.append(more)
    return np.concatenate(runs)


def runs_where(wanted: npt.NDArray[np.bool_], first: int = 0) -> npt.NDArray[np.int64]:
    """The runs of the rows from ``first`` on that are wanted."""
    out = scratch((len(wanted) + 1) // 2 * 2, np.int64).reshape(-1, 2)
    return out[: find_runs(wanted.view(np.uint8), first, out)].copy()


def joined_runs(starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The runs that are wanted of those that begin at ``starts[:-1]``, joined where they follow each other."""
    return starts[runs_where(wanted)]


def both_dropped(first: npt.NDArray[np.int64], then: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The positions of dropped rows, ascending: those at ``first``, and those at ``then`` of the rows left by them."""
    if not len(first):
        return then
    shifts = np.searchsorted(first - np.arange(len(first)), then, "right")
    return np.sort(np.concatenate([first, then + shifts]))


def without_positions(runs: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """``runs`` without the rows at ``positions``, which ascend."""
    out = np.empty((len(runs) + len(positions), 2), np.int64)
    return out[: drop_from_runs(runs, positions, out)]


def in_step(
    left: Iterable[pa.StructArray], right: Iterable[pa.StructArray]
) -> Iterator[tuple[pa.StructArray, pa.StructArray]]:
    """The same rows of both, in pieces: one ends where a piece of either does."""
    lefts = iter(left)
    found, at = None, 0
    for piece in right:
        start = 0
        while start < len(piece):
            while found is None or at == len(found):
                found, at = next(lefts), 0
            count = min(len(piece) - start, len(found) - at)
            yield found.slice(at, count), piece.slice(start, count)
            start, at = start + count, at + count


def at_positions(runs: npt.NDArray[np.int64], pieces: Iterable[pa.StructArray]) -> Iterator[tuple[int, pa.StructArray]]:
    """The rows of ``runs``, which ``pieces`` hold one after another, in batches with their first positions."""
    left = iter(runs.tolist())
    start = stop = 0
    for piece in pieces:
        at = 0
        while at < len(piece):
            if start == stop:
                start, stop = next(left)
            count = min(stop - start, len(piece) - at)
            yield start, piece.slice(at, count)
            start += count
            at += count
