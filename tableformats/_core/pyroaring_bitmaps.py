"""Make a pyroaring bitmap of a serialised one, in any form that the format allows.

pyroaring refuses forms that no current writer makes, such as runs that touch. The format allows them, and our kernel
reads them, so such a bitmap is put together from its ranges.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from .bitmap import ranges, validate

if TYPE_CHECKING:
    from pyroaring import BitMap64

__all__ = ["bitmap_of"]

_LONG = 32
"""Ranges of at least so many rows are added one by one, the rows of shorter ones together."""


def bitmap_of(data: bytes) -> BitMap64:
    """The bitmap that ``data``, a portable 64-bit roaring serialisation, holds.

    Raises
    ------
    CorruptMetadataError
        The bytes violate the format; with ``offset``.
    """
    from pyroaring import BitMap64

    last = validate(data)[1]
    try:
        return BitMap64.deserialize(data)
    except ValueError:
        starts, lengths = ranges(data, 0, last + 1)
    is_long = lengths >= _LONG
    firsts, counts = starts[~is_long], lengths[~is_long]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = BitMap64(array("Q", (np.repeat(firsts, counts) + within).astype(np.uint64).tobytes()))
    for first, length in zip(starts[is_long].tolist(), lengths[is_long].tolist(), strict=True):
        found.add_range(first, first + length)
    return found
