"""Rows of a larger column of which only some are present: :class:`SparseRows` finds where wanted rows stand."""

from __future__ import annotations

import numpy as np

from ..dataclass import dataclass

__all__ = ["SparseRows"]


@dataclass(frozen=True)
class SparseRows:
    """The rows of a larger column that are present.

    Attributes
    ----------
    rows : int64[k], optional
        Ascending. None: all rows of the larger column are present.
    """

    rows: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the row numbers."""
        return 0 if self.rows is None else self.rows.nbytes

    def find(self, wanted: np.ndarray | None) -> np.ndarray | None:
        """Where the rows ``wanted`` (int64[n], ascending; None: all rows of the larger column) stand.

        Returns
        -------
        int64[n], or None
            Positions among the present rows. None: the wanted rows are all that is present, in order.

        Raises
        ------
        LookupError
            A wanted row is not present.
        """
        if self.rows is None:
            return wanted
        if wanted is self.rows:
            return None
        if wanted is None or (len(wanted) and not len(self.rows)):
            raise LookupError("rows that are not present")
        if not len(self.rows):
            return None
        positions = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        if not np.array_equal(self.rows[positions], wanted):
            raise LookupError("rows that are not present")
        return None if len(positions) == len(self.rows) else positions

    def contains(self, wanted: np.ndarray | None) -> bool:
        """Whether all of the rows ``wanted`` are present; see :meth:`find`."""
        try:
            self.find(wanted)
        except LookupError:
            return False
        return True
