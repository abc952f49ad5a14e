"""The values of a data page behind its definition levels, for columns at the top without repeated values.

Source: Parquet format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"; README.md, "Data Pages".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._page_values import mark_runs, read_codes, read_levels
from .data_pages import CODES, DATA_PAGE, DICTIONARY_PAGE, PLAIN, RLE, StoredPage

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.uint8]

__all__ = ["check_dictionary", "codes_of", "is_decoded", "mark_runs", "values_of"]

_LENGTH_BYTES = 4


def is_decoded(page: StoredPage) -> bool:
    """Whether a page is PLAIN or codes of a dictionary, with levels that :func:`values_of` reads."""
    return (page.encoding == PLAIN or page.has_codes) and page.level_encoding == RLE


def values_of(page: StoredPage, column: Any, levels: Mask) -> tuple[memoryview, int]:
    """The values of a page that :func:`is_decoded`.

    Parameters
    ----------
    page : StoredPage
    column : PageColumn
    levels : uint8[rows]
        Gets 0 for each row that is NULL, 1 for the others; only where the column is optional.

    Returns
    -------
    memoryview, int
        The bytes of the values, and how many there are: fewer than rows where one is NULL.

    Raises
    ------
    ValueError
        The page is damaged.
    """
    values = page.values(column.codec)
    if not column.is_optional:
        return values, page.rows
    if page.kind != DATA_PAGE:
        return values, read_levels(page.body[page.repetition_bytes : page.level_bytes], levels)
    start = _LENGTH_BYTES + int.from_bytes(values[:_LENGTH_BYTES], "little")
    if start > len(values):
        raise ValueError("the levels of a page are longer than the page")
    return values[start:], read_levels(values[_LENGTH_BYTES:start], levels)


def codes_of(values: memoryview, count: int) -> npt.NDArray[np.uint32]:
    """uint32[count]: codes of a dictionary. Raises ValueError: the bytes are damaged."""
    codes = np.empty(count, np.uint32)
    read_codes(values, codes)
    return codes


def check_dictionary(page: StoredPage) -> None:
    """Raise ValueError where a page is no dictionary that is read here."""
    if page.kind != DICTIONARY_PAGE or page.encoding not in (PLAIN, CODES[0]):
        raise ValueError("a column chunk begins with another page than its dictionary")
