"""Deleted positions as words that Spark tests a row against: constants of each file, no join.

A file has two lists. ``words`` (int64) are pages of 64 words, a bit a row, for those pages of 4096 rows that have a
deleted row. ``pages`` (int32) says for each page of the file where its words begin, NULL where it has none; the list
ends with the last page that has some. Row ``r`` is deleted if bit ``r & 63`` of
``words[pages[r >> 12] + (r >> 6 & 63)]`` is set; NULL, also for an index past the end, means that it is not.

Where the session's JVM is at hand the same goes as bytes, which ``LiveRows.java`` tests: Spark 3.5 to 4.1 read no
arrays as constants of a file. There ``words`` begins with a page of zeros, ``pages`` says for each page at which byte
its words begin, and has one entry more; pages without a deleted row, and all behind the last, begin at 0. Both are
big-endian int32, and bit ``r & 31`` of a page's ``r >> 5 & 127`` th is the row's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import LimitExceededError
from ..limits import DEFAULT_LIMITS, Limits
from ..plugin.base import EQUALITY
from .columns import HIDDEN

if TYPE_CHECKING:
    from pyroaring import BitMap64
    from pyspark.sql import Column

    from ..scan import ScanPlan

__all__ = ["BYTES_FIELDS", "PAGES", "WORDS", "WORDS_FIELDS", "as_bytes", "deleted_words", "is_live", "page_words"]

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
"""Spark's JSON of the two columns, and of the same as bytes."""
BYTES_FIELDS: list[dict[str, Any]] = [{**f, "type": "binary"} for f in WORDS_FIELDS]
_PAGE = 12
_WORDS = 64
"""Words of a page, each of 64 rows."""
_MOST_PAGES = (1 << 31) // (8 * _WORDS) - 2
"""Pages with deleted rows whose bytes, and those of the page of zeros, have places below 2**31."""
_AT_ONCE = 1 << 26
"""Rows of a file that are looked at together: a bitmap of some bytes may delete billions."""


def deleted_words(plan: ScanPlan, rows: np.ndarray) -> pa.Table:
    """``PAGES`` list<int32> and ``WORDS`` list<int64>, one row for each of the plan's files ``rows`` (int64[n]).

    Raises
    ------
    CorruptMetadataError : damaged or contradictory deletion vectors and position delete files
    LimitExceededError : the limits ``deleted_rows``, ``file_rows`` and ``decoded_bytes``
    """
    survivors, deletes, snapshot = plan.survivors, plan.delete_files, plan.snapshot.format_snapshot
    by_position = pc.not_equal(deletes.files["kind"], EQUALITY).to_numpy().astype(bool)
    pages, words = [], []
    for row in rows.tolist():
        of_file = deletes.indices[deletes.offsets[row] : deletes.offsets[row + 1]]
        chosen = deletes.files.take(pa.array(of_file[by_position[of_file]]))
        path = survivors["path"][row].as_py()
        positions = snapshot.deleted_positions(path, plan.record_counts[row].as_py(), chosen)
        one = page_words(positions, path, plan.snapshot.storage.limits)
        pages.append(one[0])
        words.append(one[1])
    return pa.table({PAGES: _lists(pages), WORDS: _lists(words)})


def _lists(values: list[pa.Array]) -> pa.Array:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(one) for one in values], out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays(values))


def page_words(positions: BitMap64, path: str, limits: Limits = DEFAULT_LIMITS) -> tuple[pa.Array, pa.Array]:
    """``pages`` int32[p] and ``words`` int64[64 * q] of one file.

    Parameters
    ----------
    positions : deleted rows
    path : of the file, for errors

    Raises
    ------
    LimitExceededError : the limits ``file_rows``, and ``decoded_bytes`` of both lists; 2 GiB of words

    Notes
    -----
    Cost: O(last deleted row / 64). Memory: 4 bytes for each page of 4096 rows up to that row, 512 for each that has a
    deleted one.
    """
    from .._core.bitmap import words

    if not positions:
        return pa.array([], pa.int32()), pa.array([], pa.int64())
    last = int(positions.max())
    limits.check("file_rows", last + 1, "rows or more of a file with deleted ones", path=path)
    count = (last >> _PAGE) + 1
    size = 4 * count
    data = positions.serialize()
    numbers, found = [], []
    for start in range(0, count << _PAGE, _AT_ONCE):
        limits.check("decoded_bytes", size, "bytes or more of words for deleted rows", path=path)
        stop = min(start + _AT_ONCE, count << _PAGE)
        if not positions.range_cardinality(start, stop):
            continue
        pages = words(data, start, stop).reshape(-1, _WORDS)
        has_deleted = np.flatnonzero(pages.any(axis=1))
        numbers.append(has_deleted + (start >> _PAGE))
        found.append(pages[has_deleted])
        size += found[-1].nbytes
    starts, is_empty = np.zeros(count, np.int32), np.ones(count, bool)
    chosen = np.concatenate(numbers)
    if len(chosen) > _MOST_PAGES:
        raise LimitExceededError(
            "deleted rows of a file take 2 GiB or more as words, and Spark holds no value of that size", path=path,
            hint="Rewrite the file without its deleted rows, or read it with to_arrow()",
        )  # fmt: skip
    starts[chosen] = _WORDS * np.arange(len(chosen))
    is_empty[chosen] = False
    return pa.array(starts, mask=is_empty), pa.array(np.concatenate(found).ravel().view(np.int64))


def as_bytes(deleted: pa.Table) -> pa.Table:
    """What :func:`deleted_words` gives, as two columns of bytes."""
    pages, words = [], []
    for starts, bits in zip(deleted[PAGES], deleted[WORDS], strict=True):
        at = 8 * (starts.values.fill_null(-_WORDS).to_numpy().astype(np.int64) + _WORDS)
        pages.append(np.append(at, 0).astype(">i4").tobytes())
        halves = bits.values.to_numpy().astype("<i8").view("<u4")
        words.append(bytes(8 * _WORDS) + halves.astype(">u4").tobytes())
    return pa.table({PAGES: pa.array(pages, pa.binary()), WORDS: pa.array(words, pa.binary())})


def is_live(pages: Column, words: Column, row_index: Column) -> Column:
    """Whether the row is not deleted; never NULL. ``get`` gives NULL past the end, in ANSI sessions too."""
    from pyspark.sql import functions as F

    start = F.get(pages, F.shiftright(row_index, _PAGE).cast("int"))
    word = F.get(words, start + F.shiftright(row_index, 6).bitwiseAND(63).cast("int"))
    deleted = F.getbit(word, row_index.bitwiseAND(63).cast("int"))
    none = F.lit(0).cast("tinyint")
    return F.coalesce(deleted, none) == none
