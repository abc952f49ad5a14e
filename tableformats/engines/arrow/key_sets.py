"""Sets of keys, to find the rows that equality deletes remove.

A key is a tuple of values. NULL equals NULL, NaN equals NaN and -0.0 equals 0.0, as in Spark's GROUP BY. Keys are
turned into dense integers column by column. So any number of columns of any primitive type is matched exactly, without
a Python object per row. Source: Iceberg spec, "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

__all__ = ["KeySet"]


class KeySet:
    """Distinct keys.

    Parameters
    ----------
    columns : Sequence[pa.Array]
        The keys by column, all of the same length; at least one column.
    """

    def __init__(self, columns: Sequence[pa.Array]) -> None:
        self._values: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: pa.Array | None = None
        for column in columns:
            column = _canonical(column)
            values = pc.unique(column)
            self._values.append(values)
            column_numbers = _numbers_in(column, values)
            if numbers is None:
                numbers = column_numbers
                continue
            # Both numbers are below 2**31, because Arrow arrays of keys are shorter than that: the product fits int64.
            pairs = _pairs(numbers, column_numbers, len(values))
            distinct = pc.unique(pairs)
            self._pairs.append(distinct)
            numbers = _numbers_in(pairs, distinct)

    def contains(self, columns: Sequence[pa.Array]) -> np.ndarray:
        """Which rows are one of the keys.

        Parameters
        ----------
        columns : Sequence[pa.Array]
            The rows by column; as many columns as the keys have, of the same types.

        Returns
        -------
        np.ndarray
            bool[n]
        """
        numbers: pa.Array | None = None
        for i, column in enumerate(columns):
            column_numbers = _numbers_in(_canonical(column), self._values[i])
            if numbers is None:
                numbers = column_numbers
            else:
                numbers = _numbers_in(_pairs(numbers, column_numbers, len(self._values[i])), self._pairs[i - 1])
        assert numbers is not None
        return numbers.is_valid().to_numpy(zero_copy_only=False)


def _numbers_in(values: pa.Array, distinct: pa.Array) -> pa.Array:
    """int64[n]: the index of each value in ``distinct``, where NULL is a value too; NULL if it is not there."""
    return pc.index_in(values, value_set=distinct, skip_nulls=False).cast(pa.int64())


def _pairs(left: pa.Array, right: pa.Array, size: int) -> pa.Array:
    return pc.add(pc.multiply(left, pa.scalar(size, pa.int64())), right)


def _canonical(values: pa.Array) -> pa.Array:
    """Floats with a single NaN and a single zero; other values unchanged."""
    if not types.is_floating(values.type):
        return values
    nan, zero = pa.scalar(float("nan"), values.type), pa.scalar(0.0, values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, zero))
