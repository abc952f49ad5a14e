"""Rows of several columns that are equal, as numbers: what deletes and data files are matched by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tableformats.plugin import FALSE, scalar, to_numpy
from tableformats.plugin import compute as pc

__all__ = ["places", "row_codes"]

_TABLE = 1 << 22
"""Numbers up to this are looked up in a table, greater ones by binary search."""
_LARGEST = 1 << 40


def places(groups: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which ``values`` are among ``groups`` (int64, ascending, distinct, one at least), as their rows, and where."""
    if groups[0] >= 0 and groups[-1] < _TABLE:
        # The last slot is empty: what is no group finds that.
        table = np.full(int(groups[-1]) + 2, -1, np.int64)
        table[groups] = np.arange(len(groups))
        place = table[np.where(values < 0, len(table) - 1, np.minimum(values, len(table) - 1))]
        rows = np.flatnonzero(place >= 0)
        return rows, place[rows]
    place = np.minimum(np.searchsorted(groups, values), len(groups) - 1)
    rows = np.flatnonzero(groups[place] == values)
    return rows, place[rows]


def row_codes(columns: Sequence[Sequence[pa.Array]], count: int) -> tuple[np.ndarray, int]:
    """int64[count]: equal numbers from 0 on for rows that are equal in all columns, and a bound of them.

    ``columns`` come in parts, each in the type of the first. NULL equals NULL; floats are equal by their bits, NaN
    being one value.
    """
    codes, bound = np.zeros(count, np.int64), 1
    for parts in columns:
        kind = parts[0].type
        own, of_column = _column_codes(pa.concat_arrays([p if p.type == kind else pc.cast(p, kind) for p in parts]))
        if bound * of_column > _LARGEST:
            distinct, codes = np.unique(codes, return_inverse=True)
            bound = len(distinct)
        codes = codes * of_column + own
        bound *= of_column
    return codes, bound


def _column_codes(values: pa.Array) -> tuple[np.ndarray, int]:
    """int64[n]: equal numbers for equal values, and a bound of them. Integers of a short range stay integers."""
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
    """Floats as the integers of their bits, with one NaN; dates as days; other types as they are."""
    if pa.types.is_null(values.type):
        return pc.cast(values, pa.int32())
    if pa.types.is_date32(values.type):
        return values.view(pa.int32())
    if not pa.types.is_floating(values.type):
        return values
    nan = scalar(float("nan"), values.type)
    one = pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), nan, values)
    return one.view(pa.int32() if values.type == pa.float32() else pa.int64())
