"""Columns without the rows at some positions.

Few rows go as a rule. Then the values between them are copied by a kernel; Arrow's filter looks at each row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from .._core.rows import drop_texts, drop_values
from . import compute as pc
from .arrays import to_arrow

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["rows_where", "without_rows"]

_MOST = 0.25
"""Above this share of dropped rows, Arrow's filter is the faster one."""
_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64, pa.large_binary(): np.int64}


def without_rows(rows: pa.StructArray, dropped: npt.NDArray[np.int64]) -> pa.StructArray:
    """``rows`` without those at the positions ``dropped``.

    Parameters
    ----------
    rows : pa.StructArray
        None that stays is NULL.
    dropped : int64[m]
        Strictly ascending positions in ``rows``.
    """
    if not len(dropped):
        return rows
    if dropped[-1] == len(dropped) - 1:  # the first rows
        return rows.slice(len(dropped))
    drop = _Drop(len(rows), dropped)
    if len(dropped) > _MOST * len(rows) or not rows.type.num_fields:
        return pc.filter(rows, drop.staying)
    return pa.StructArray.from_arrays([drop.column(column) for column in rows.flatten()], fields=list(rows.type))


def rows_where(rows: pa.StructArray, stays: npt.NDArray[np.bool_]) -> pa.StructArray:
    """The ``rows`` for which ``stays`` (bool[n]) is true; as :func:`without_rows`."""
    if len(rows) - np.count_nonzero(stays) > _MOST * len(rows):
        return pc.filter(rows, to_arrow(stays))
    return without_rows(rows, np.flatnonzero(~stays))


class _Drop:
    """Rows to drop from columns of ``num_rows``."""

    def __init__(self, num_rows: int, dropped: npt.NDArray[np.int64]) -> None:
        self._dropped = dropped
        self._num_rows = num_rows
        self._left = num_rows - len(dropped)

    @cached_property
    def staying(self) -> pa.BooleanArray:
        """True for the rows that stay."""
        mask = np.ones(self._num_rows, bool)
        mask[self._dropped] = False
        return to_arrow(mask)

    def column(self, column: pa.Array) -> pa.Array:
        """The column without the rows."""
        kind = column.type
        if types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(self.column(column.indices), column.dictionary, safe=False)
        if kind in _OFFSETS:
            buffers = self._texts(column, _OFFSETS[kind])
        elif (width := _width(kind)) > 0:
            buffers = [self._values(column, width)]
        else:
            return pc.filter(column, self.staying)
        return pa.Array.from_buffers(kind, self._left, [self._validity(column), *buffers])

    def _validity(self, column: pa.Array) -> pa.Buffer | None:
        if not column.null_count:
            return None
        valid = pa.Array.from_buffers(pa.bool_(), len(column), [None, column.buffers()[0]], offset=column.offset)
        return pc.filter(valid, self.staying).buffers()[1]

    def _values(self, column: pa.Array, width: int) -> pa.Buffer:
        stored = _bytes(column.buffers()[1])[column.offset * width :][: len(column) * width]
        found = pa.allocate_buffer(self._left * width)
        drop_values(stored, width, self._dropped, _bytes(found))
        return found

    def _texts(self, column: pa.Array, kind: type[np.int32] | type[np.int64]) -> list[pa.Buffer]:
        _, stored, data = column.buffers()
        offsets: npt.NDArray[Any] = np.frombuffer(stored, kind)[column.offset :][: len(column) + 1]
        gone = int((offsets[self._dropped + 1] - offsets[self._dropped]).sum())
        found_offsets = pa.allocate_buffer((self._left + 1) * offsets.itemsize)
        found = pa.allocate_buffer(int(offsets[-1]) - int(offsets[0]) - gone)
        out: npt.NDArray[Any] = np.frombuffer(found_offsets, kind)
        drop_texts(offsets, _bytes(data), self._dropped, out, _bytes(found))
        return [found_offsets, found]


def _width(kind: pa.DataType) -> int:
    """The bytes of a value; 0 where values are no whole bytes of one length."""
    if not (types.is_primitive(kind) or types.is_fixed_size_binary(kind)) or kind.bit_width % 8:
        return 0
    return int(kind.bit_width) // 8


def _bytes(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
