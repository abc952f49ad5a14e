"""Columns in fewer bytes, for what is kept between plans: whole numbers as how far each is above the least.

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

__all__ = ["Column", "Packed", "packed", "plain"]

_WIDTHS = [np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32)]


@dataclass(frozen=True)
class Packed:
    """``n`` numbers of type ``kind``: ``least`` and what stands in ``above`` (unsigned[n]; None: nothing).

    ``bitmap`` is Arrow's of the numbers that are not null, None where all are not.
    """

    kind: pa.DataType
    n: int
    least: Any
    above: np.ndarray | None
    bitmap: pa.Buffer | None

    def __len__(self) -> int:
        return self.n

    @property
    def nbytes(self) -> int:
        """Memory that the numbers hold."""
        return (0 if self.above is None else self.above.nbytes) + (0 if self.bitmap is None else self.bitmap.size)

    def plain(self) -> pa.Array:
        """The array; what stands in the places of nulls is the least number."""
        dtype = self.least.dtype
        if self.above is None:
            values = np.full(self.n, self.least)
        else:
            values = self.above.astype(dtype)
            values += self.least
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

    def plain(self) -> pa.StructArray:
        """The array."""
        return pa.StructArray.from_arrays([plain(member) for member in self.members], fields=list(self.kind))


Column: TypeAlias = pa.Array | Packed | PackedStruct


def packed(values: pa.Array) -> Column:
    """``values`` ([n]) in as few bytes as this module knows of; ``values`` themselves where that are as many.

    Cost: O(n), three passes over the numbers.
    """
    kind = values.type
    if pa.types.is_struct(kind) and kind.num_fields and not values.null_count:
        return PackedStruct(kind, [packed(values.field(i)) for i in range(kind.num_fields)])
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or values.null_count == len(values):
        return values
    numbers, bitmap = to_numpy(values), None
    if values.null_count:
        valid = to_numpy(pc.is_valid(values))
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
        numbers = np.where(valid, numbers, numbers[valid].min())
    least = numbers.min()
    spread = int(numbers.max()) - int(least)
    if not spread:
        return Packed(kind, len(values), least, None, bitmap)
    width = next((width for width in _WIDTHS if spread < 1 << 8 * width.itemsize), numbers.dtype)
    if width.itemsize == numbers.itemsize:
        return values
    # Low bits alone, of which differences are right.
    above = numbers.astype(width)
    above -= np.array(least).astype(width)
    return Packed(kind, len(values), least, above, bitmap)


def plain(column: Column) -> pa.Array:
    """The array that was packed; an array as it is."""
    return column if isinstance(column, pa.Array) else column.plain()
