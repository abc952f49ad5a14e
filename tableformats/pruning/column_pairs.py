"""Leaves that compare two columns: ``a < b`` is decided by the bounds of both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..columnar.arrays import repeated, scalar
from ..dataclass import dataclass
from ..expressions import BoundColumn
from ..schema import arrow_type, is_floating
from .column_ranges import NAN_UNCOUNTED, Range, RangeSource
from .relations import ANY_RELATION, are_comparable, intersected, outcomes, relations, same_value

__all__ = ["ColumnPair", "unknown_range"]


@dataclass(frozen=True)
class ColumnPair:
    """``left op right``.

    Attributes
    ----------
    has_order : bool
        Whether bounds compare as the rows do. Values of CHAR columns of several lengths are padded before they are
        compared, so their bounds do not.
    """

    op: str
    left: BoundColumn
    right: BoundColumn

    @property
    def has_order(self) -> bool:
        lengths = self.left.padded_length, self.right.padded_length
        same_length = None in lengths or lengths[0] == lengths[1]
        return same_length and are_comparable(self.left.type, self.right.type)

    @property
    def columns(self) -> tuple[BoundColumn, ...]:
        """The columns whose ranges decide the leaf."""
        return self.left, self.right

    def mask(self, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        """uint8[n]: the outcomes that all sources allow."""
        lefts, rights = (_ranges(column, sources, n) for column in self.columns)
        kinds, has_order = (self.left.type, self.right.type), self.has_order
        known = np.full(n, ANY_RELATION, np.uint8)
        for left, right in product(lefts, rights):
            known = intersected(known, relations((left, kinds[0]), (right, kinds[1]), has_order))
        if self.left.id == self.right.id:
            known = same_value(known)
        return outcomes(self.op, known)


def _ranges(column: BoundColumn, sources: Sequence[RangeSource], n: int) -> list[Range]:
    found = [range_.of_files() for source in sources for range_ in source.ranges(column)]
    return found or [unknown_range(column, n)]


def unknown_range(column: BoundColumn, n: int) -> Range:
    """The range of a column of which nothing is known."""
    bound = repeated(scalar(None, arrow_type(column.type)), n)
    ones = np.ones(n, np.uint8)
    return Range(bound, bound, ones, ones, ones * np.uint8(NAN_UNCOUNTED * is_floating(column.type)))
