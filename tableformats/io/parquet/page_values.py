"""The values of data pages behind their definition levels, for columns at the top without repeated values.

Source: Parquet format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"; README.md, "Data Pages".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dataclass import dataclass
from ._page_values import find_values, mark_runs
from .data_pages import CODES, DICTIONARY_PAGE, PLAIN, RLE, StoredPage

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["PlacedValues", "check_dictionary", "is_decoded", "mark_runs", "placed_values"]


@dataclass(frozen=True, eq=False)
class PlacedValues:
    """Where the values of pages are.

    Attributes
    ----------
    bodies : list of memoryview
        What follows the levels that are not compressed, of each page.
    starts : int64[n]
        Where the values begin in it.
    counts : int64[n]
        How many a page has: fewer than rows where one is NULL.
    levels : uint8[rows]
        0 for each row of the pages that is NULL, 1 for the others; empty where the column is not optional.
    """

    bodies: list[memoryview]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    levels: npt.NDArray[np.uint8]


def is_decoded(page: StoredPage) -> bool:
    """Whether a page is PLAIN or codes of a dictionary, with levels that :func:`placed_values` reads."""
    return (page.encoding == PLAIN or page.has_codes) and page.level_encoding == RLE


def placed_values(pages: Sequence[StoredPage], column: Any) -> PlacedValues:
    """Where the values of pages of a column (a :class:`.pages.PageColumn`) are, which :func:`is_decoded`.

    Raises ValueError: one is damaged.
    """
    bodies, is_optional = [page.values(column.codec) for page in pages], column.is_optional
    starts, counts = np.empty((2, len(pages)), np.int64)
    levels = np.empty(sum(page.rows for page in pages) if is_optional else 0, np.uint8)
    find_values(list(pages), is_optional, starts, counts, levels)
    return PlacedValues(bodies, starts, counts, levels)


def check_dictionary(page: StoredPage) -> None:
    """Raise ValueError where a page is no dictionary that is read here."""
    if page.kind != DICTIONARY_PAGE or page.encoding not in (PLAIN, CODES[0]):
        raise ValueError("a column chunk begins with another page than its dictionary")
