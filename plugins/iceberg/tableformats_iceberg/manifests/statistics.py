"""Statistics of the files of a manifest: bounds and counts by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tableformats.plugin import Bounds, Field, Statistics, to_arrow

from .values import decode_bounds

if TYPE_CHECKING:
    import numpy as np

    from ..avro.container import AvroColumns

__all__ = ["DATA_FILE_ID", "ManifestStatistics"]

DATA_FILE_ID = 2
"""Field id of ``data_file``. All of an entry but its status and sequence numbers is below it."""


class ManifestStatistics(Statistics):
    """Bounds and counts of the live files of a manifest. They are decoded to their types when they are requested.

    ``rows`` are the rows of ``columns`` that are these files (int64[n]; None: all).
    """

    def __init__(self, columns: AvroColumns, rows: np.ndarray | None) -> None:
        self._columns = columns
        self._rows = rows

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`. Cost: O(files x columns), no Python object a file."""
        at = self._rows if rows is None else rows if self._rows is None else self._rows[rows]
        if at is not None and len(at) == self._columns.rows:
            at = None
        found = Bounds()
        for side, field_id in ((found.value_count, 109), (found.null_count, 110), (found.nan_count, 137)):
            raw = self._columns.map_columns((DATA_FILE_ID, field_id))
            for column in columns:
                counts = raw[column.id].take(at) if column.id in raw else None
                if counts is not None and counts.null_count < len(counts):
                    unknown = counts.values < 0 if counts.mask is None else counts.mask | (counts.values < 0)
                    side[column.id] = to_arrow(counts.values, valid=~unknown)
        for side, field_id in ((found.lower, 125), (found.upper, 128)):
            raw = self._columns.map_columns((DATA_FILE_ID, field_id))
            for column in columns:
                if column.id in raw:
                    values = decode_bounds(raw[column.id].take(at), column, field_id == 125)
                    if values is not None:
                        side[column.id] = values
        return found
