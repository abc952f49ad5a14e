"""Deleted positions as words that Spark tests a row against: a constant of each file, no join.

A file's words are one list of int64: first an offset for each page of 4096 rows, up to the last page that has a
deleted row, then pages of 64 words. Pages without deleted rows share one of zeros. Row ``r`` is deleted if bit
``r & 63`` of ``words[words[r >> 12] + (r >> 6 & 63)]`` is set; past the end the list has no page, hence no deletes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import LimitExceededError

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["is_live", "page_words"]

MAX_ROWS = 1 << 32
_PAGE = 12


def page_words(positions: np.ndarray, path: str) -> np.ndarray:
    """The words of one file.

    Parameters
    ----------
    positions : uint64[n]   deleted rows, ascending, no duplicates
    path : of the file, for errors

    Returns
    -------
    words : int64[m]   empty without positions

    Raises
    ------
    LimitExceededError : a position of 2**32 or more, where the offsets alone would fill the memory
    """
    if not len(positions):
        return np.zeros(0, np.int64)
    if int(positions[-1]) >= MAX_ROWS:
        raise LimitExceededError(
            f"row {int(positions[-1])} is deleted, and files of more than {MAX_ROWS} rows are not read", path=path
        )
    rows = positions.astype(np.int64)
    pages, of_row = np.unique(rows >> _PAGE, return_inverse=True)
    offsets = np.full(int(pages[-1]) + 1, int(pages[-1]) + 1, np.int64)
    # Page 0 behind the offsets is the one of zeros.
    offsets[pages] += 64 * (1 + np.arange(len(pages)))
    words = np.zeros(64 * (1 + len(pages)), np.uint64)
    places = 64 * (1 + of_row) + (rows >> 6 & 63)
    np.bitwise_or.at(words, places, np.uint64(1) << (rows & 63).astype(np.uint64))
    return np.concatenate([offsets, words.view(np.int64)])


def is_live(words: Column, row_index: Column) -> Column:
    """Whether the row is not deleted; never NULL. ``get`` gives NULL past the end, in ANSI sessions too."""
    from pyspark.sql import functions as F

    page = F.get(words, F.shiftright(row_index, _PAGE).cast("int"))
    word = F.get(words, (page + F.shiftright(row_index, 6).bitwiseAND(63)).cast("int"))
    deleted = F.getbit(word, row_index.bitwiseAND(63).cast("int"))
    return F.coalesce(deleted, F.lit(0).cast("tinyint")) == F.lit(0).cast("tinyint")
