"""What a format knows of the values in files, for pruning: bounds and counts by column, decoded when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..schema import Field

__all__ = ["Bounds", "Statistics", "StatisticsOfRows"]


class Statistics(ABC):
    """Bounds and counts of one batch, decoded on demand; a plan keeps the statistics of batches with survivors."""

    @abstractmethod
    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """Bounds of ``columns`` for the batch rows ``rows`` (int64 indices, ascending; None means all).

        Raises
        ------
        CorruptMetadataError : the container is damaged (a malformed value alone is an unknown bound)
        """

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        """As :meth:`bounds`, but of the columns ``counted`` (field ids) only the counts matter: ``lower`` and ``upper``
        may be left out. By default they are not."""
        return self.bounds(columns, rows)

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """Physical rows of the files ``rows`` (int64 indices, ascending), null where unknown.

        Asked for where ``FileBatch.files`` has no ``record_count``, once somebody wants to know, and for surviving
        files only. By default nothing is known. Raises as :meth:`bounds` does.
        """
        import pyarrow as pa

        return pa.nulls(len(rows), pa.int64())


@dataclass(frozen=True)
class StatisticsOfRows(Statistics):
    """Statistics of a batch whose files are the rows ``start`` to ``stop`` of ``whole``: what is asked of neighbours is
    asked of ``whole`` at once."""

    whole: Statistics
    start: int
    stop: int

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`Statistics.bounds`."""
        return self.whole.bounds(columns, self.places(rows))

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """See :meth:`Statistics.record_counts`."""
        return self.whole.record_counts(self.places(rows))

    def places(self, rows: np.ndarray | None) -> np.ndarray:
        """int64, ascending: where these rows (None: all) stand in ``whole``."""
        import numpy as np

        return np.arange(self.start, self.stop) if rows is None else rows + self.start


@dataclass
class Bounds:
    """Five Arrow arrays a column, each of one length; a column that is missing in a dict is unknown everywhere.

    Keys are field ids. ``lower`` and ``upper`` have the Arrow type of the field *now* (the plugin casts older
    types), inclusive, over the values that are neither NULL nor NaN; null means unknown. They need not be tight: a
    truncated lower bound is smaller, a truncated upper bound is greater than every value. A NaN bound counts as
    unknown. The counts are int64 over physical rows; null means unknown. ``value_count`` includes NULL and NaN.
    A format that keeps NaN out of its statistics leaves ``nan_count`` unknown.

    ``record_count`` (int64, physical rows) is what decoding the bounds gave for nothing, where ``FileBatch.files`` has
    no such column; None: ask :meth:`Statistics.record_counts`.
    """

    lower: dict[int, pa.Array] = field(default_factory=dict)
    upper: dict[int, pa.Array] = field(default_factory=dict)
    null_count: dict[int, pa.Array] = field(default_factory=dict)
    nan_count: dict[int, pa.Array] = field(default_factory=dict)
    value_count: dict[int, pa.Array] = field(default_factory=dict)
    record_count: pa.Array | None = None
