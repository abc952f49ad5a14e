"""Columns in fewer bytes, for what is kept between plans: whole numbers as how far each is above the least of its run,
for what writers cluster, the numbers of neighbouring files are near each other.

Dates and times are whole numbers here, and structs are their members. What would take no fewer bytes stays an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from . import compute as pc
from .arrays import to_numpy

__all__ = ["Column", "Packed", "pack", "unpack"]

_RUN = 1_024
_WIDTHS = [np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32)]


@dataclass(frozen=True)
class Packed:
    """``n`` numbers of type ``kind``: ``least``, one for all or one for each run of 1,024 of them, and what stands in
    ``above`` (unsigned[n]; None: nothing).

    ``bitmap`` is Arrow's of the numbers that are not null, None where all are not.
    """

    kind: pa.DataType
    n: int
    least: np.ndarray
    above: np.ndarray | None
    bitmap: pa.Buffer | None

    def __len__(self) -> int:
        return self.n

    @property
    def nbytes(self) -> int:
        """Memory that the numbers hold."""
        arrays = (self.least, self.above)
        return sum(a.nbytes for a in arrays if a is not None) + (0 if self.bitmap is None else self.bitmap.size)

    def unpack(self) -> pa.Array:
        """The array; what stands in the places of nulls is no value."""
        if self.above is None:
            values = np.full(self.n, self.least[0])
        else:
            values = self.above.astype(self.least.dtype)
            _add(values, self.least)
        return pa.Array.from_buffers(self.kind, self.n, [self.bitmap, pa.py_buffer(values)])


@dataclass(frozen=True)
class PackedStruct:
    """Structs of type ``kind``, none of them null, by their ``members``."""

    kind: pa.StructType
    members: Sequence[Column]

    def __len__(self) -> int:
        return len(self.members[0])

    @property
    def nbytes(self) -> int:
        """Memory that the members hold."""
        return sum(int(member.nbytes) for member in self.members)

    def unpack(self) -> pa.StructArray:
        """The array."""
        return pa.StructArray.from_arrays([unpack(member) for member in self.members], fields=list(self.kind))


Column: TypeAlias = pa.Array | Packed | PackedStruct


def pack(values: pa.Array) -> Column:
    """``values`` ([n]) in as few bytes as this module knows of; ``values`` themselves where that are as many.

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
    least, most = _ends(numbers, valid)
    whole = _width(int(most.max()) - int(least.min()), numbers.dtype)
    width = _width(int((most - least).view(f"u{numbers.itemsize}").max()), numbers.dtype)
    if width.itemsize == whole.itemsize:
        least = least.min(keepdims=True)
    if least.min() == most.max():
        return Packed(kind, len(values), least, None, bitmap)
    if width.itemsize == numbers.itemsize:
        return values
    # Low bits alone, of which differences are right.
    above = numbers.astype(width)
    _add(above, -least.astype(width))
    return Packed(kind, len(values), least, above, bitmap)


def _ends(numbers: np.ndarray, valid: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest number of each run, of those that are ``valid`` (bool[n]; None: all). A run of others
    has the greatest of the type as its least, and the least as its greatest."""
    starts, limits = np.arange(0, len(numbers), _RUN), np.iinfo(numbers.dtype)
    low, high = (numbers if valid is None else np.where(valid, numbers, end) for end in (limits.max, limits.min))
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def _width(spread: int, widest: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest type of numbers from 0 to ``spread``."""
    return next((width for width in _WIDTHS if spread < 1 << 8 * width.itemsize), widest)


def _add(numbers: np.ndarray, to_runs: np.ndarray) -> None:
    """Add to each number (n) what its run has, or all have; sums begin anew behind the greatest number."""
    if len(to_runs) == 1:
        numbers += to_runs
        return
    whole = len(numbers) // _RUN
    numbers[: whole * _RUN].reshape(-1, _RUN)[:] += to_runs[:whole, None]
    numbers[whole * _RUN :] += to_runs[whole:]


def unpack(column: Column) -> pa.Array:
    """The array that was packed; an array as it is."""
    return column if isinstance(column, pa.Array) else column.unpack()
