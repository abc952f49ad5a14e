"""Codes of partitions: equal integers for equal rows of several columns. They match deletes with data files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tableformats.plugin import FALSE, scalar, to_numpy
from tableformats.plugin import compute as pc

__all__ = ["find_in_sorted", "row_codes"]

_TABLE = 1 << 22
"""Numbers below this are looked up in a table, others by binary search."""
_LARGEST_CODE = 1 << 40


def find_in_sorted(known: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find ``values`` among ``known`` numbers.

    Parameters
    ----------
    known : int64[m]
        Ascending, distinct, at least one.
    values : int64[n]

    Returns
    -------
    rows : int64[k]
        Which of the values are known.
    indices : int64[k]
        The index of each of these in ``known``.
    """
    if known[0] >= 0 and known[-1] < _TABLE:
        # Values outside of the table's range look at its last slot, which stays empty.
        table = np.full(int(known[-1]) + 2, -1, np.int64)
        table[known] = np.arange(len(known))
        index = table[np.where(values < 0, len(table) - 1, np.minimum(values, len(table) - 1))]
        rows = np.flatnonzero(index >= 0)
        return rows, index[rows]
    index = np.minimum(np.searchsorted(known, values), len(known) - 1)
    rows = np.flatnonzero(known[index] == values)
    return rows, index[rows]


def row_codes(columns: Sequence[Sequence[pa.Array]], count: int) -> tuple[np.ndarray, int]:
    """Codes of rows: equal for rows that are equal in all columns.

    NULL equals NULL. Floats are equal by their bits; all NaNs are one value.

    Parameters
    ----------
    columns : sequence of sequence of array
        The chunks of each column. All are cast to the type of the first.
    count : int
        The number of rows.

    Returns
    -------
    codes : int64[count]
    bound : int
        All codes are at least 0 and less than this.
    """
    codes, bound = np.zeros(count, np.int64), 1
    for chunks in columns:
        kind = chunks[0].type
        values = pa.concat_arrays([c if c.type == kind else pc.cast(c, kind) for c in chunks])
        column_codes, column_bound = _column_codes(values)
        if bound * column_bound > _LARGEST_CODE:
            distinct, codes = np.unique(codes, return_inverse=True)
            bound = len(distinct)
        codes = codes * column_bound + column_codes
        bound *= column_bound
    return codes, bound


def _column_codes(values: pa.Array) -> tuple[np.ndarray, int]:
    """Codes of one column, and their bound. Integers of a short range need no dictionary."""
    values = _by_bits(values)
    if pa.types.is_integer(values.type) and values.null_count < len(values):
        least, most = pc.min_max(values).as_py().values()
        if most - least < _TABLE:
            numbers = to_numpy(values).astype(np.int64)
            codes = np.where(to_numpy(pc.is_null(values)), 0, numbers - least + 1)
            return codes, most - least + 2
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    return to_numpy(encoded.indices).astype(np.int64), len(encoded.dictionary) + 1


def _by_bits(values: pa.Array) -> pa.Array:
    """Floats as the integers of their bits, with a single NaN. Dates as days. Other types unchanged."""
    if pa.types.is_null(values.type):
        return pc.cast(values, pa.int32())
    if pa.types.is_date32(values.type):
        return values.view(pa.int32())
    if not pa.types.is_floating(values.type):
        return values
    nan = scalar(float("nan"), values.type)
    one = pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), nan, values)
    return one.view(pa.int32() if values.type == pa.float32() else pa.int64())
