"""How wide the bounds are of files that a part of a filter kept, beside the range of all files that were compared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import to_numpy
from ...pruning.column_ranges import Range, is_null

__all__ = ["Widths"]

_FEWEST = 10
"""Of fewer files a sorted table has wide bounds as well."""
_SHARE = 0.5


class Widths:
    """The spans of one column in many files. Text has none: nobody says how far two texts are apart."""

    def __init__(self) -> None:
        self._files = 0
        self._least, self._greatest = np.inf, -np.inf
        self._spans: list[np.ndarray] = []

    def add(self, range_: Range, files: np.ndarray | None, is_kept: np.ndarray) -> None:
        """Count the files of one block.

        Parameters
        ----------
        range_ : Range
        files : bool[n], optional
            Those of the range's files that were compared; None: all.
        is_kept : bool[n_compared]
            Of them, those that were kept because their bounds allow matching rows.
        """
        if not _is_measured(range_.lower.type):
            return
        lower, upper = _numbers(range_.lower), _numbers(range_.upper)
        with np.errstate(invalid="ignore"):  # both bounds may be infinite
            spans = range_.expand(upper - lower)
        if files is not None:
            lower, upper, spans = range_.expand(lower)[files], range_.expand(upper)[files], spans[files]
        self._files += len(spans)
        self._least = np.fmin.reduce(lower, initial=self._least)
        self._greatest = np.fmax.reduce(upper, initial=self._greatest)
        if is_kept.any():
            self._spans.append(spans[is_kept])

    def wide(self) -> int:
        """How many of the kept files span half of the range or more; an unknown bound is not wide."""
        range_ = self._greatest - self._least
        if self._files < _FEWEST or not 0 < range_ < np.inf:
            return 0
        return sum(int(np.count_nonzero(spans >= _SHARE * range_)) for spans in self._spans)


def _is_measured(kind: pa.DataType) -> bool:
    """Whether it is numbers, dates or times."""
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)
    )


def _numbers(values: pa.Array) -> np.ndarray:
    """float64[n], NaN where unknown, of numbers, dates and times."""
    if pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.float64(), safe=False)
    numbers = to_numpy(values).astype(np.float64)
    if values.null_count:
        numbers[is_null(values)] = np.nan
    return numbers
