"""Physical rows of a plan's files, counted when somebody asks: where a format must read statistics for them, most plans
never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import ZERO, to_numpy
from ..runtime.concurrency import cached_property

if TYPE_CHECKING:
    import numpy as np

    from ..plugin.statistics import Statistics

__all__ = ["RecordCounts"]


class RecordCounts:
    """Counts of files in their order, in parts of which each is known (int64 array, null = unknown) or is asked of a
    batch's statistics (for its rows, int64 indices)."""

    def __init__(self, parts: Sequence[pa.Array | tuple[Statistics, np.ndarray]]) -> None:
        self._parts = list(parts)

    def __repr__(self) -> str:
        counted = sum(not isinstance(part, tuple) for part in self._parts)
        return f"RecordCounts({counted} of {len(self._parts)} parts counted)"

    @property
    def are_known(self) -> bool:
        """Whether no statistics have to be read for them."""
        return not any(isinstance(part, tuple) for part in self._parts)

    def _part(self, index: int) -> pa.Int64Array:
        """The counts of one part; its statistics are asked once and let go."""
        part = self._parts[index]
        if isinstance(part, tuple):
            statistics, rows = part
            self._parts[index] = part = statistics.record_counts(rows)
        return part

    def needed(self, limit: int, certain: np.ndarray) -> int:
        """How many of the first files fill ``limit`` rows, counting only those that are ``certain`` (bool[n]); n where
        all of them do not. Asks for no more counts than it needs. Raises CorruptMetadataError."""
        import numpy as np

        rows = start = 0
        for index in range(len(self._parts)) if limit and certain.any() else ():
            counts = to_numpy(pc.fill_null(self._part(index), ZERO))
            filled = rows + np.cumsum(np.where(certain[start : start + len(counts)], counts, 0))
            if len(counts) and filled[-1] >= limit:
                return start + int(np.searchsorted(filled, limit)) + 1
            rows, start = int(filled[-1]) if len(counts) else rows, start + len(counts)
        return len(certain) if limit else 0

    def first(self, n: int) -> RecordCounts:
        """The counts of the first ``n`` files."""
        parts: list[pa.Array | tuple[Statistics, np.ndarray]] = []
        for part in self._parts:
            if n <= 0:
                break
            parts.append((part[0], part[1][:n]) if isinstance(part, tuple) else part.slice(0, n))
            n -= len(part[1]) if isinstance(part, tuple) else len(part)
        return RecordCounts(parts)

    def total(self) -> int | None:
        """The sum, or None where a file does not say. Raises CorruptMetadataError."""
        return None if self.array.null_count else pc.sum(self.array).as_py() or 0

    def __getstate__(self) -> dict[str, Any]:
        """Other processes get the counts: what statistics are read from stays here."""
        return {"_parts": [self.array]}

    @cached_property
    def array(self) -> pa.Int64Array:
        """int64[n]: all counts. Raises CorruptMetadataError."""
        parts = [self._part(i) for i in range(len(self._parts))]
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts) if parts else pa.nulls(0, pa.int64())
