"""Sets of keys, to find the rows that equality deletes remove.

A key is a tuple of values. NULL equals NULL, NaN equals NaN and -0.0 equals 0.0, as in Spark's GROUP BY. Keys are
turned into dense integers column by column. So any number of columns of any primitive type is matched exactly, without
a Python object per row. A key of one integer, date or time is looked up by a kernel, because Arrow makes its hash table
anew for each batch. Source: Iceberg spec, "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..._core.key_filter import add_keys, find_keys
from ...columnar.arrays import to_numpy

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["IntegerSet", "KeySet"]

_MULTIPLIER = 0x9E3779B97F4A7C15
"""The golden ratio of 64 bits: the highest bits of a product tell neighbours apart."""
_SLOTS_A_KEY = 128
_LEAST_SIZE, _MOST_SIZE = 10, 26
"""Binary logarithms of the number of slots."""


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
        self._integers = IntegerSet(columns[0]) if len(columns) == 1 and _is_integer(columns[0].type) else None
        numbers: pa.Array | None = None
        for column in columns if self._integers is None else ():
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

    @property
    def integers(self) -> IntegerSet | None:
        """Keys of one integer, date or time; None: they are others."""
        return self._integers

    def positions(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
        """The rows that are one of the keys.

        Parameters
        ----------
        columns : Sequence[pa.Array]
            The rows by column; as many columns as the keys have, of the same types.

        Returns
        -------
        int64[m]
            Their positions, ascending.
        """
        if self._integers is not None:
            return self._integers.positions(columns[0])
        numbers: pa.Array | None = None
        for i, column in enumerate(columns):
            column_numbers = _numbers_in(_canonical(column), self._values[i])
            if numbers is None:
                numbers = column_numbers
            else:
                numbers = _numbers_in(_pairs(numbers, column_numbers, len(self._values[i])), self._pairs[i - 1])
        assert numbers is not None
        return np.flatnonzero(to_numpy(numbers.is_valid()))


class IntegerSet:
    """Distinct integers, or values that are stored as such, as bits of a table: exact where they lie close together.

    Attributes
    ----------
    kind : pa.DataType
        Of the values.
    has_null : bool
        Whether NULL is one of them.
    """

    def __init__(self, keys: pa.Array) -> None:
        self.kind = keys.type
        self.has_null = bool(keys.null_count)
        self._keys = np.sort(_integers(keys.drop_null()))
        least, greatest = (int(self._keys[0]), int(self._keys[-1])) if len(self._keys) else (0, 0)
        size = min(max((_SLOTS_A_KEY * len(self._keys)).bit_length(), _LEAST_SIZE), _MOST_SIZE)
        self._is_exact = greatest - least < 1 << size
        # In the order of the values, rows that lie together need a small part of the table, which stays in the cache.
        self._slots = (least, 1, 0) if self._is_exact else (least, _MULTIPLIER, 64 - size)
        self._bits = np.zeros((1 << size - 6) + 1, np.uint64)
        add_keys(self._keys, self._bits, *self._slots)

    @property
    def table(self) -> tuple[npt.NDArray[np.uint64], int, int, int, npt.NDArray[np.int64]]:
        """The table, and the keys themselves, as kernels take them."""
        return self._bits, *self._slots, self._keys

    def positions(self, values: pa.Array) -> npt.NDArray[np.int64]:
        """See :meth:`KeySet.positions`."""
        integers = _integers(values.fill_null(0) if values.null_count else values)
        room = np.empty(len(integers), np.int64)
        found = room[: find_keys(integers, self._bits, *self._slots, room)].copy()
        if not self._is_exact:
            at = np.searchsorted(self._keys, integers[found])
            found = found[self._keys[np.minimum(at, len(self._keys) - 1)] == integers[found]]
        if values.null_count:
            is_null = to_numpy(values.is_null())
            found = found[~is_null[found]]
            if self.has_null:
                found = np.sort(np.concatenate([found, np.flatnonzero(is_null)]))
        return found


def _is_integer(kind: pa.DataType) -> bool:
    """Whether a type's values are integers of 32 or 64 bits in Arrow's memory."""
    is_stored_so = types.is_signed_integer(kind) or types.is_temporal(kind)
    return bool(is_stored_so and kind.bit_width in (32, 64) and not types.is_interval(kind))


def _integers(values: pa.Array) -> npt.NDArray[np.int64]:
    stored = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return stored.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


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
