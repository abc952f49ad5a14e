"""What a format knows of the values in files, for pruning: bounds and counts by column, decoded when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..runtime.boundary import guarded_methods
from ..schema import Field

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Bounds", "Statistics", "StatisticsSlice"]


@dataclass
class Bounds:
    """Bounds and counts of columns, by field id: Arrow arrays of one length. A column that is missing is unknown.

    Attributes
    ----------
    lower, upper : dict of field id to array[n]
        In the Arrow type that the field has *now* (the plugin casts older types), inclusive, over the values that are
        neither NULL nor NaN; null means unknown. They need not be tight: a truncated lower bound is smaller, a
        truncated upper bound is greater than every value. A NaN bound counts as unknown.
    null_count, nan_count, value_count : dict of field id to int64[n]
        Over physical rows; null means unknown. ``value_count`` includes NULL and NaN. A format that keeps NaN out of
        its statistics leaves ``nan_count`` unknown.
    record_count : int64[n], optional
        Physical rows, where decoding the bounds gave them for nothing and ``FileBatch.files`` has no such column.
        None: ask :meth:`Statistics.record_counts`.
    """

    lower: dict[int, pa.Array] = field(default_factory=dict)
    upper: dict[int, pa.Array] = field(default_factory=dict)
    null_count: dict[int, pa.Array] = field(default_factory=dict)
    nan_count: dict[int, pa.Array] = field(default_factory=dict)
    value_count: dict[int, pa.Array] = field(default_factory=dict)
    record_count: pa.Array | None = None


class Statistics(ABC):
    """Bounds and counts of one batch, decoded on demand; a plan keeps the statistics of batches with survivors."""

    def __init_subclass__(cls, **options: object) -> None:
        """What a format raises over damaged bytes becomes CorruptMetadataError."""
        super().__init_subclass__(**options)
        guarded_methods(cls, ("bounds", "bounds_or_counts", "record_counts"), "the statistics of files")

    @abstractmethod
    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """Bounds and counts of some columns.

        Parameters
        ----------
        columns : sequence of Field
        rows : int64[n], optional
            Rows of the batch, ascending. None means all.

        Raises
        ------
        CorruptMetadataError
            The container is damaged. A malformed value alone is an unknown bound.
        """

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        """As :meth:`bounds`, but of the columns ``counted`` (field ids) only the counts are needed.

        ``lower`` and ``upper`` of these may be left out. By default they are not.
        """
        return self.bounds(columns, rows)

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """Physical rows of the files ``rows`` (int64[n], ascending) as int64[n]; null where unknown.

        Called for surviving files, when somebody asks, where ``FileBatch.files`` has no ``record_count``. By default
        nothing is known. Raises as :meth:`bounds` does.
        """
        import pyarrow as pa

        return pa.nulls(len(rows), pa.int64())


@dataclass(frozen=True)
class StatisticsSlice(Statistics):
    """The statistics of the rows from ``start`` to before ``stop`` of ``parent``.

    The core asks ``parent`` once for the rows of neighbouring slices.
    """

    parent: Statistics
    start: int
    stop: int

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`Statistics.bounds`."""
        return self.parent.bounds(columns, self.rows_in_parent(rows))

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        """See :meth:`Statistics.bounds_or_counts`."""
        return self.parent.bounds_or_counts(columns, self.rows_in_parent(rows), counted)

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """See :meth:`Statistics.record_counts`."""
        return self.parent.record_counts(self.rows_in_parent(rows))

    def rows_in_parent(self, rows: np.ndarray | None) -> np.ndarray:
        """int64[n], ascending: the rows of ``parent`` for these rows (None: all)."""
        import numpy as np

        return np.arange(self.start, self.stop) if rows is None else rows + self.start
