"""Row counts of a plan's files, where the metadata give them exactly: they answer ``count(*)`` without a scan."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from ...columnar.arrays import to_numpy

if TYPE_CHECKING:
    from ...planning.plan import FilePlan
    from .deletes.positions import Pages

__all__ = ["UNKNOWN", "RowCounter"]

_LOG = logging.getLogger(__name__)
_MOST = 2**63 - 1
UNKNOWN = -1


class RowCounter:
    """Counts the rows of the plan's files ``rows`` (int64[n]); asks for record counts only where it is asked itself."""

    def __init__(self, plan: FilePlan, rows: np.ndarray) -> None:
        self._plan = plan
        self._rows = rows
        self._deleted = np.zeros(len(rows), np.int64)

    def recording(self, deleted: Iterable[Pages]) -> Iterator[Pages]:
        """The same pages, one for each of the files; the number of their rows is kept."""
        for number, file in enumerate(deleted):
            self._deleted[number] = file.rows
            yield file

    def count(self, files: bytes | None, is_live: bool) -> int:
        """Rows of the files for which ``files`` (n bytes) is not zero, None: of all.

        ``is_live`` leaves out those that are deleted by position. UNKNOWN where a file's record count is none, or less
        than none, as some writers put it, and where the metadata cannot be read: a query that scans is right, one that
        fails in the middle of Spark's planning is not.
        """
        try:
            counts = to_numpy(pc.fill_null(self._plan.record_counts, UNKNOWN))[self._rows]
        except Exception:
            _LOG.debug("the rows of a plan's files were not counted", exc_info=True)
            return UNKNOWN
        chosen = slice(None) if files is None else np.frombuffer(files, np.uint8) != 0
        counts = counts[chosen]
        if (counts < 0).any():
            return UNKNOWN
        # Python's numbers, because those of damaged metadata may add up to more than 64 bits hold.
        total = sum(counts.tolist()) - (int(self._deleted[chosen].sum()) if is_live else 0)
        return total if total <= _MOST else UNKNOWN
