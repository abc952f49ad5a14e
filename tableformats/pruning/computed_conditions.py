"""Leaves that test a value that is computed from columns, such as ``a + b > 5`` or ``upper(p) = 'X'``.

A file has the outcomes that the ranges of its columns allow (``computed_ranges.py``). Where each column has one value
in all rows of a file, as columns have by which a table is partitioned, the condition is evaluated as for a row: once
for each distinct tuple of values. Then every function decides, and nothing is left to check on rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from .._core.masks import MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import FALSE, to_arrow, to_numpy
from ..dataclass import dataclass
from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..expressions import BoundColumn, Holds
from ..expressions.evaluation import failures_of
from ..expressions.tree import columns_of
from ..schema import is_floating
from .column_ranges import RangeSource
from .computed_ranges import RangeEvaluator, has_range
from .value_ranges import ValueRange, has_order

__all__ = ["ComputedCondition"]

_MOST_TUPLES = 65_536
"""So many distinct tuples of values are evaluated at most: some functions are computed value by value."""


@dataclass(frozen=True)
class ComputedCondition:
    """A condition on a computed value."""

    node: Holds

    @property
    def columns(self) -> tuple[BoundColumn, ...]:
        """The columns whose ranges decide the leaf."""
        return tuple(column for column in columns_of(self.node) if isinstance(column, BoundColumn))

    @property
    def note(self) -> str | None:
        """What pruning cannot use, in words."""
        if has_range(self.node.value):
            return None
        return f"{self.node} is evaluated on rows: only files whose columns have one value each are pruned by it"

    def mask(self, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        """uint8[n]: the outcomes that all sources allow."""
        ranges = RangeEvaluator(sources, n)
        mask = ranges.condition(self.node.value)
        columns = self.columns
        rows = np.flatnonzero(np.logical_and.reduce([_is_constant(ranges.column(c)) for c in columns] or [np.ones(n)]))
        if len(rows):
            mask[rows] = self._of_constants({c.id: ranges.column(c).range.lower for c in columns}, rows)
        return mask

    def _of_constants(self, columns: dict[int, pa.Array], rows: np.ndarray) -> np.ndarray:
        """uint8[k]: the outcomes for ``rows`` (int64[k]), files whose columns have just these values."""
        at = to_arrow(rows)
        values = {i: pc.take(column, at) for i, column in columns.items()}
        first, of_row = _distinct_tuples(list(values.values()), len(rows))
        if len(first) > _MOST_TUPLES:
            return np.full(len(rows), MAY_ANY, np.uint8)
        tuples = {i: pc.take(column, to_arrow(first)) for i, column in values.items()}
        try:
            truth, failed = failures_of(self.node, lambda column: tuples[column.id], len(first))
        except (InvalidPredicateError, UnsupportedFeatureError, pa.ArrowException):
            return np.full(len(rows), MAY_ANY, np.uint8)
        is_true = to_numpy(pc.fill_null(truth, FALSE))
        masks = np.where(is_true, np.uint8(MAY_TRUE), np.uint8(MAY_FALSE))
        masks = np.where(to_numpy(pc.is_null(truth)), np.uint8(MAY_NULL), masks)
        found: np.ndarray = np.where(failed, np.uint8(MAY_ANY), masks)[of_row]
        return found


def _is_constant(value: ValueRange) -> np.ndarray:
    """bool[n]: where all rows of a file have the same value, which then is the lower bound, or are NULL."""
    range_ = value.range
    if not has_order(value.kind):
        return np.zeros(value.n, bool)
    only_null = (range_.may_value == 0) & (range_.may_null != 0) & to_numpy(pc.is_null(range_.lower))
    equal = to_numpy(pc.fill_null(pc.equal(range_.lower, range_.upper), FALSE))
    if is_floating(value.kind):  # both zeros are one bound, and two values
        equal = equal & (to_numpy(range_.lower) != 0) & ~value.may_nan()
    found: np.ndarray = only_null | (equal & (range_.may_value != 0) & (range_.may_null == 0))
    return found


def _distinct_tuples(columns: Sequence[pa.Array], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a table of ``n`` rows with these columns: a row of each distinct tuple, and which tuple each row is."""
    number = np.zeros(n, np.int64)
    first = np.zeros(min(n, 1), np.int64)
    for column in columns:
        encoded = pc.dictionary_encode(column, "encode")
        number = number * max(len(encoded.dictionary), 1) + to_numpy(pc.cast(encoded.indices, pa.int64()))
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return first, number
