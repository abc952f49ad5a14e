"""Equality deletes: which rows hold a key that a delete file names.

A key is a tuple of values. NULL equals NULL, NaN equals NaN and -0.0 equals 0.0, as Spark groups them. Keys become
dense numbers column by column, so that any number of columns of any primitive type is matched exactly, without a
Python object for a row. Source: Iceberg spec, "Equality Delete Files".
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
    columns : the keys by column, all of one length; at least one column
    """

    def __init__(self, columns: Sequence[pa.Array]) -> None:
        self._values: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: pa.Array | None = None
        for column in columns:
            column = _canonical(column)
            values = pc.unique(column)
            self._values.append(values)
            own = _numbers_in(column, values)
            if numbers is None:
                numbers = own
                continue
            # Both numbers are below 2**31, as Arrow arrays of keys are shorter than that: the product fits int64.
            pairs = _pairs(numbers, own, len(values))
            distinct = pc.unique(pairs)
            self._pairs.append(distinct)
            numbers = _numbers_in(pairs, distinct)

    def holds(self, columns: Sequence[pa.Array]) -> np.ndarray:
        """bool[n]: the rows of ``columns`` (as many as the keys have, of the same types) that are one of the keys."""
        numbers: pa.Array | None = None
        for i, column in enumerate(columns):
            own = _numbers_in(_canonical(column), self._values[i])
            if numbers is None:
                numbers = own
            else:
                numbers = _numbers_in(_pairs(numbers, own, len(self._values[i])), self._pairs[i - 1])
        assert numbers is not None
        return numbers.is_valid().to_numpy(zero_copy_only=False)


def _numbers_in(values: pa.Array, distinct: pa.Array) -> pa.Array:
    """int64[n]: the place of each value in ``distinct`` (NULL is a value like others), NULL where it has none."""
    return pc.index_in(values, value_set=distinct, skip_nulls=False).cast(pa.int64())


def _pairs(left: pa.Array, right: pa.Array, size: int) -> pa.Array:
    return pc.add(pc.multiply(left, pa.scalar(size, pa.int64())), right)


def _canonical(values: pa.Array) -> pa.Array:
    """Floats with one NaN and one zero; everything else as it is."""
    if not types.is_floating(values.type):
        return values
    nan, zero = pa.scalar(float("nan"), values.type), pa.scalar(0.0, values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, zero))
