"""Rows of a file by their positions: runs of consecutive rows, and rows that match a filter.

Runs are int64[n, 2]: the position of the first row, and that after the last one; ascending, apart, none empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...columnar.arrays import to_numpy
from ...dataclass import dataclass
from ...runtime.concurrency import cached_property

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["MatchingRows", "RowCursor", "at_positions", "in_blocks", "joined_runs", "runs_of_rows"]


@dataclass(frozen=True, eq=False)
class MatchingRows:
    """The matching rows of a batch.

    Attributes
    ----------
    first : int
        The position of the batch's first row.
    matches : pa.BooleanArray
        Which rows of the batch match.
    rows : pa.StructArray
        These rows.
    """

    first: int
    matches: pa.BooleanArray
    rows: pa.StructArray

    @property
    def stop(self) -> int:
        """The position after the batch's last row."""
        return self.first + len(self.matches)

    @cached_property
    def positions(self) -> npt.NDArray[np.int64]:
        """int64[m]: the positions of the matching rows."""
        return np.flatnonzero(to_numpy(self.matches.fill_null(False))) + self.first

    def matches_of(self, start: int, count: int) -> pa.BooleanArray:
        """Which of ``count`` rows from the position ``start`` on match."""
        return self.matches.slice(start - self.first, count)


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


def runs_of_rows(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The runs of the rows at ``positions``, which ascend; at least one."""
    after = np.flatnonzero(np.diff(positions) != 1)
    starts = positions[np.concatenate([[0], after + 1])]
    return np.stack([starts, positions[np.append(after, len(positions) - 1)] + 1], axis=1)


def joined_runs(starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The runs that are wanted of those that begin at ``starts[:-1]``, joined where they follow each other."""
    edges = np.flatnonzero(np.diff(wanted.astype(np.int8), prepend=0, append=0))
    return starts[edges].reshape(-1, 2)


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
