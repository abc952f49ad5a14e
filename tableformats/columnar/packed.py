"""Store columns of integers in fewer bytes, for caches: frame-of-reference encoding.

A frame is 1,024 neighbouring values. Each value is stored as its difference from the least value of its frame, in 1, 2
or 4 bytes. Writers cluster data, so the bounds of neighbouring files are mostly near each other. Dates and times are
packed as integers, and structs by their members. A column that would not become smaller stays an Arrow array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ..dataclass import dataclass
from . import compute as pc
from .arrays import to_numpy

__all__ = ["Column", "Packed", "pack", "unpack"]

_FRAME = 1_024
_WIDTHS = [np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32)]


@dataclass(frozen=True)
class Packed:
    """A packed column of numbers, dates or times.

    Attributes
    ----------
    kind : pyarrow.DataType
        The type of the column.
    n : int
        Its length.
    bases : numpy.ndarray
        The least value of each frame, or of all frames together ([1]); in the integer type of ``kind``.
    deltas : numpy.ndarray, optional
        unsigned[n]: what each value has more than its base. None: nothing, all values are equal.
    bitmap : pyarrow.Buffer, optional
        Arrow's validity bitmap. None: no nulls.
    """

    kind: pa.DataType
    n: int
    bases: np.ndarray
    deltas: np.ndarray | None
    bitmap: pa.Buffer | None

    def __len__(self) -> int:
        return self.n

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        arrays = (self.bases, self.deltas)
        return sum(a.nbytes for a in arrays if a is not None) + (0 if self.bitmap is None else self.bitmap.size)

    def unpack(self) -> pa.Array:
        """The array. The values of nulls are arbitrary."""
        if self.deltas is None:
            values = np.full(self.n, self.bases[0])
        else:
            values = self.deltas.astype(self.bases.dtype)
            _add_to_frames(values, self.bases)
        return pa.Array.from_buffers(self.kind, self.n, [self.bitmap, pa.py_buffer(values)])


@dataclass(frozen=True)
class PackedStruct:
    """A packed column of structs, none of them null: its members, packed."""

    kind: pa.StructType
    members: Sequence[Column]

    def __len__(self) -> int:
        return len(self.members[0])

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(int(member.nbytes) for member in self.members)

    def unpack(self) -> pa.StructArray:
        """The array of structs."""
        return pa.StructArray.from_arrays([unpack(member) for member in self.members], fields=list(self.kind))


Column: TypeAlias = pa.Array | Packed | PackedStruct


def pack(values: pa.Array) -> Column:
    """``values`` ([n]) packed, or ``values`` themselves where that takes no fewer bytes.

    Cost: O(n), four passes over the numbers.
    """
    kind = values.type
    if pa.types.is_struct(kind) and kind.num_fields and not values.null_count:
        return PackedStruct(kind, [pack(values.field(i)) for i in range(kind.num_fields)])
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or values.null_count == len(values):
        return values
    numbers, bitmap, valid = to_numpy(values), None, None
    if values.null_count:
        valid = to_numpy(pc.is_valid(values))
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    least, greatest = _frame_extrema(numbers, valid)
    width_of_one = _width_for(int(greatest.max()) - int(least.min()), numbers.dtype)
    width = _width_for(int((greatest - least).view(f"u{numbers.itemsize}").max()), numbers.dtype)
    if width.itemsize == width_of_one.itemsize:
        # One base for all frames gives deltas of the same width.
        least = least.min(keepdims=True)
    if least.min() == greatest.max():
        return Packed(kind, len(values), least, None, bitmap)
    if width.itemsize == numbers.itemsize:
        return values
    # The difference of the low bits is the low bits of the difference.
    deltas = numbers.astype(width)
    _add_to_frames(deltas, -least.astype(width))
    return Packed(kind, len(values), least, deltas, bitmap)


def _frame_extrema(numbers: np.ndarray, valid: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest number of each frame, of those that are ``valid`` (bool[n]; None: all).

    A frame without valid numbers gets the type's greatest number as its least one, and the reverse.
    """
    starts, limits = np.arange(0, len(numbers), _FRAME), np.iinfo(numbers.dtype)
    low, high = (numbers if valid is None else np.where(valid, numbers, end) for end in (limits.max, limits.min))
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def _width_for(greatest: int, widest: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest type that holds the numbers from 0 to ``greatest``."""
    return next((width for width in _WIDTHS if greatest < 1 << 8 * width.itemsize), widest)


def _add_to_frames(numbers: np.ndarray, addends: np.ndarray) -> None:
    """Add to each number (n), in place, the addend of its frame, or the only one there is. Sums wrap around."""
    if len(addends) == 1:
        numbers += addends
        return
    n_full = len(numbers) // _FRAME
    numbers[: n_full * _FRAME].reshape(n_full, _FRAME)[:] += addends[:n_full, None]
    numbers[n_full * _FRAME :] += addends[n_full:]


def unpack(column: Column) -> pa.Array:
    """The Arrow array of a column that may be packed."""
    return column if isinstance(column, pa.Array) else column.unpack()
