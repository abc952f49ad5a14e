"""Deleted positions as words that Spark tests a row against: constants of each file, no join.

A file has two lists. ``words`` (int64) are pages of 64 words, a bit a row, for those pages of 4096 rows that have a
deleted row. ``pages`` (int32) says for each page of the file where its words begin, NULL where it has none; the list
ends with the last page that has some. Row ``r`` is deleted if bit ``r & 63`` of
``words[pages[r >> 12] + (r >> 6 & 63)]`` is set; NULL, also for an index past the end, means that it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import LimitExceededError
from ..plugin.base import EQUALITY
from .columns import HIDDEN

if TYPE_CHECKING:
    from pyspark.sql import Column

    from ..scan import ScanPlan

__all__ = ["PAGES", "WORDS", "WORDS_FIELDS", "deleted_words", "is_live", "page_words"]

PAGES, WORDS = f"{HIDDEN}pages", f"{HIDDEN}words"
WORDS_FIELDS: list[dict[str, Any]] = [
    {
        "name": name,
        "type": {"type": "array", "elementType": kind, "containsNull": True},
        "nullable": True,
        "metadata": {},
    }
    for name, kind in ((PAGES, "integer"), (WORDS, "long"))
]
"""Spark's JSON of the two columns."""
MAX_ROWS = 1 << 32
MAX_DELETED = 1 << 27
"""Deleted rows of a file, at most: a bitmap of some bytes may hold billions, each of which is listed here."""
_PAGE = 12


def deleted_words(plan: ScanPlan, rows: np.ndarray) -> pa.Table:
    """``PAGES`` list<int32> and ``WORDS`` list<int64>, one row for each of the plan's files ``rows`` (int64[n]).

    Raises
    ------
    CorruptMetadataError : damaged or contradictory deletion vectors and position delete files
    LimitExceededError : more than :data:`MAX_DELETED` rows of a file, or a row at or after :data:`MAX_ROWS`
    """
    survivors, deletes, snapshot = plan.survivors, plan.delete_files, plan.snapshot.format_snapshot
    by_position = pc.not_equal(deletes.files["kind"], EQUALITY).to_numpy().astype(bool)
    pages, words = [], []
    for row in rows.tolist():
        of_file = deletes.indices[deletes.offsets[row] : deletes.offsets[row + 1]]
        chosen = deletes.files.take(pa.array(of_file[by_position[of_file]]))
        path = survivors["path"][row].as_py()
        positions = snapshot.deleted_positions(path, plan.record_counts[row].as_py(), chosen)
        if len(positions) > MAX_DELETED:
            raise LimitExceededError(
                f"{len(positions)} rows are deleted, and at most {MAX_DELETED} of a file are with Spark", path=path,
                hint="Rewrite the file without its deleted rows, or read it with Arrow",
            )  # fmt: skip
        one = page_words(np.frombuffer(positions.to_array(), np.uint64), path)
        pages.append(one[0])
        words.append(one[1])
    return pa.table({PAGES: _lists(pages), WORDS: _lists(words)})


def _lists(values: list[pa.Array]) -> pa.Array:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(one) for one in values], out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays(values))


def page_words(positions: np.ndarray, path: str) -> tuple[pa.Array, pa.Array]:
    """``pages`` int32[p] and ``words`` int64[64 * q] of one file.

    Parameters
    ----------
    positions : uint64[n]   deleted rows, ascending, no duplicates
    path : of the file, for errors

    Raises
    ------
    LimitExceededError : a position of 2**32 or more, where the list of pages alone would fill the memory
    """
    if not len(positions):
        return pa.array([], pa.int32()), pa.array([], pa.int64())
    last = int(positions[-1])
    if last >= MAX_ROWS:
        raise LimitExceededError(
            f"row {last} is deleted, and deletes are read of files of up to {MAX_ROWS} rows with Spark", path=path,
            hint="Rewrite the file in smaller ones, or read it with Arrow",
        )  # fmt: skip
    rows = positions.astype(np.int64)
    numbers, page_of = np.unique(rows >> _PAGE, return_inverse=True)
    starts = np.zeros((last >> _PAGE) + 1, np.int32)
    starts[numbers] = 64 * np.arange(len(numbers))
    is_empty = np.ones(len(starts), bool)
    is_empty[numbers] = False
    words = np.zeros(64 * len(numbers), np.uint64)
    np.bitwise_or.at(words, 64 * page_of + (rows >> 6 & 63), np.uint64(1) << (rows & 63).astype(np.uint64))
    return pa.array(starts, mask=is_empty), pa.array(words.view(np.int64))


def is_live(pages: Column, words: Column, row_index: Column) -> Column:
    """Whether the row is not deleted; never NULL. ``get`` gives NULL past the end, in ANSI sessions too."""
    from pyspark.sql import functions as F

    start = F.get(pages, F.shiftright(row_index, _PAGE).cast("int"))
    word = F.get(words, start + F.shiftright(row_index, 6).bitwiseAND(63).cast("int"))
    deleted = F.getbit(word, row_index.bitwiseAND(63).cast("int"))
    none = F.lit(0).cast("tinyint")
    return F.coalesce(deleted, none) == none
