"""Batches of metadata parts that were read before, read again when more of them is asked for."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ..plugin.files import FileBatch, MetadataPart
from ..plugin.report import ScanReport
from ..plugin.statistics import Bounds, Statistics
from ..schema import Field

__all__ = ["BatchReloader", "ReloadedStatistics"]


class BatchReloader:
    """Reads the batches of ``parts`` again, each part at most once. For one thread."""

    def __init__(self, parts: Mapping[Hashable, MetadataPart]) -> None:
        self._parts = parts
        self._batches: dict[Hashable, list[FileBatch]] = {}

    def batch(self, key: Hashable, number: int) -> FileBatch:
        """The ``number``-th batch of the part ``key``. Raises as reading the part does."""
        if key not in self._batches:
            self._batches[key] = list(self._parts[key].read(ScanReport()))
        return self._batches[key][number]

    def statistics(self, key: Hashable, number: int) -> ReloadedStatistics:
        """The statistics of a batch, which is read when they are asked."""
        return ReloadedStatistics(self, key, number)


class ReloadedStatistics(Statistics):
    """The statistics of a batch that has to be read again for them."""

    def __init__(self, reloader: BatchReloader, key: Hashable, number: int) -> None:
        self._reloader = reloader
        self._key = key
        self._number = number

    def _statistics(self) -> Statistics | None:
        return self._reloader.batch(self._key, self._number).statistics

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        statistics = self._statistics()
        return Bounds() if statistics is None else statistics.bounds(columns, rows)

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds_or_counts`."""
        statistics = self._statistics()
        return Bounds() if statistics is None else statistics.bounds_or_counts(columns, rows, counted)

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """See :meth:`tableformats.plugin.Statistics.record_counts`."""
        statistics = self._statistics()
        return super().record_counts(rows) if statistics is None else statistics.record_counts(rows)
