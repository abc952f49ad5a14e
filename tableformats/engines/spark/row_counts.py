"""Row counts of a plan's files from metadata, to answer ``count(*)`` without a scan where they are exact."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from ...columnar.arrays import to_numpy

if TYPE_CHECKING:
    from ...planning.plan import FilePlan
    from .relations import Pages

__all__ = ["UNKNOWN", "RowCounter"]

_LOG = logging.getLogger(__name__)
_MOST = 2**63 - 1
UNKNOWN = -1


class RowCounter:
    """Counts the rows of some files of a plan. Record counts are loaded at the first call of :meth:`count`.

    Parameters
    ----------
    plan : FilePlan
        The planned files.
    rows : np.ndarray
        int64[n], the files among those of the plan.
    """

    def __init__(self, plan: FilePlan, rows: np.ndarray) -> None:
        self._plan = plan
        self._rows = rows
        self._deleted = np.zeros(len(rows), np.int64)

    def recording(self, deleted: Iterable[Pages]) -> Iterator[Pages]:
        """The same pages, one for each of the files; records the number of their deleted rows for :meth:`count`."""
        for number, file in enumerate(deleted):
            self._deleted[number] = file.rows
            yield file

    def count(self, files: bytes | None, is_live: bool) -> int:
        """Count the rows of files.

        Parameters
        ----------
        files : bytes, optional
            A byte for each file, zero to leave it out. None: all files.
        is_live : bool
            Leave out rows that are deleted by position.

        Returns
        -------
        int
            UNKNOWN if a record count is missing, or negative as some writers have it. Also if the metadata cannot be
            read: then Spark counts by a scan, where an error would end the query during planning.
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
        # Added as Python integers, because counts of damaged metadata may sum up to more than 64 bits hold.
        total = sum(counts.tolist()) - (int(self._deleted[chosen].sum()) if is_live else 0)
        return total if total <= _MOST else UNKNOWN
