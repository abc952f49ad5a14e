"""Deleted positions as bits that Spark tests a row against, found by constants of each file; no join of rows.

A file's bits come in pages of 4096 rows, and only those pages that have a deleted row (:class:`Pages`). They take two
forms. Where the session's JVM is at hand the pages of many files make a piece of bytes, of which Spark sends executors
those that they come to (``DeletedRows.java``, ``LiveRows.java``); see :func:`in_pieces`. Otherwise they are two lists
for each file, ``words`` and ``pages``; see :func:`as_lists`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...._core.bitmap import words
from ....errors import LimitExceededError
from ....limits import DEFAULT_LIMITS, Limits
from ....plugin.deletes import EQUALITY
from ..columns.naming import HIDDEN, ROW_INDEX
from ..columns.spark_types import nullable_field

if TYPE_CHECKING:
    from pyroaring import BitMap64
    from pyspark.sql import Column

    from ....planning.plan import FilePlan

__all__ = [
    "PLACE",
    "PLACE_FIELD",
    "WORDS_FIELDS",
    "LiveTest",
    "Pages",
    "as_lists",
    "deleted_pages",
    "in_pieces",
    "is_live",
    "pages_of",
]

PLACE = f"{HIDDEN}place"
PLACE_FIELD = nullable_field(PLACE, "long")
_PAGES, _WORDS = f"{HIDDEN}pages", f"{HIDDEN}words"
WORDS_FIELDS = [
    nullable_field(name, {"type": "array", "elementType": kind, "containsNull": True})
    for name, kind in ((_PAGES, "integer"), (_WORDS, "long"))
]
"""Spark's JSON of the constants of either form."""
_PAGE = 12
_PAGE_WORDS = 64
"""Words of a page, each of 64 rows."""
_PAGE_BYTES = 8 * _PAGE_WORDS
_PIECE_BYTES = 4 << 20
"""At which no further file is added to a piece."""
_MOST_BYTES = (1 << 31) - (1 << 10)
"""Of a file's bits and of their places, so that a piece of it alone is below 2**31."""
_AT_ONCE = 1 << 26
"""Rows of a file that are looked at together: a bitmap of some bytes may delete billions."""


@dataclass(frozen=True)
class Pages:
    """The deleted rows of a file.

    Attributes
    ----------
    count : pages up to that of the last deleted row
    numbers : int64[k] < count, ascending: those pages that have one
    bits : uint64[k, 64]: row ``r`` of a page is bit ``r & 63`` of its word ``r >> 6``
    rows : how many rows are deleted of those that the file has by its record count, or in all where it has none
    """

    count: int
    numbers: np.ndarray
    bits: np.ndarray
    rows: int


@dataclass(frozen=True)
class LiveTest:
    """How Spark tells the rows of some files that are not deleted.

    Attributes
    ----------
    fields : Spark's JSON of the constants of each file that the test needs
    constants : their columns, a row for each file
    condition : true for live rows, never NULL; names ``fields`` and ROW_INDEX; for the same bridge's ``relation``
    """

    fields: list[dict[str, Any]]
    constants: pa.Table
    condition: Any


def deleted_pages(plan: FilePlan, rows: np.ndarray) -> Iterator[Pages]:
    """Of the plan's files ``rows`` (int64[n]), one by one.

    Raises
    ------
    CorruptMetadataError : damaged or contradictory deletion vectors and position delete files
    LimitExceededError : the limits ``deleted_rows``, ``file_rows`` and ``decoded_bytes``
    """
    survivors, deletes, snapshot = plan.survivors, plan.delete_files, plan.snapshot.format_snapshot
    files = deletes.files.combine_chunks()  # Arrow would join the chunks for every file
    by_position = pc.not_equal(files["kind"], EQUALITY).to_numpy().astype(bool)
    for row in rows.tolist():
        of_file = deletes.indices[deletes.offsets[row] : deletes.offsets[row + 1]]
        chosen = files.take(pa.array(of_file[by_position[of_file]]))
        path = survivors["path"][row].as_py()
        record_count = plan.record_counts[row].as_py()
        positions = snapshot.deleted_positions(path, record_count, chosen)
        yield pages_of(positions, path, plan.snapshot.storage.limits, record_count)


def pages_of(positions: BitMap64, path: str, limits: Limits = DEFAULT_LIMITS, record_count: int | None = None) -> Pages:
    """The pages of one file.

    Parameters
    ----------
    positions : deleted rows
    path : of the file, for errors
    record_count : its rows, None where that is unknown

    Raises
    ------
    LimitExceededError : the limits ``file_rows``, and ``decoded_bytes`` of what Spark will hold; 2 GiB of it

    Notes
    -----
    Cost: O(last deleted row / 64). Memory: 4 bytes for each page of 4096 rows up to that row, 512 for each that has a
    deleted one.
    """
    if not positions:
        return Pages(0, np.zeros(0, np.int64), np.zeros((0, _PAGE_WORDS), np.uint64), 0)
    last = int(positions.max())
    limits.check("file_rows", last + 1, "rows or more of a file with deleted ones", path=path)
    count = (last >> _PAGE) + 1
    size = 4 * count
    data = positions.serialize()
    numbers, found = [], []
    for start in range(0, count << _PAGE, _AT_ONCE):
        limits.check("decoded_bytes", size, "bytes or more of bits for deleted rows", path=path)
        stop = min(start + _AT_ONCE, count << _PAGE)
        if not positions.range_cardinality(start, stop):
            continue
        pages = words(data, start, stop).reshape(-1, _PAGE_WORDS)
        has_deleted = np.flatnonzero(pages.any(axis=1))
        numbers.append(has_deleted + (start >> _PAGE))
        found.append(pages[has_deleted])
        size += found[-1].nbytes
    if size > _MOST_BYTES:
        raise LimitExceededError(
            "deleted rows of a file take 2 GiB or more as bits, and Spark holds no value of that size",
            path=path,
            hint="Rewrite the file without its deleted rows, or read it with to_arrow()",
        )
    rows = len(positions) if record_count is None else positions.range_cardinality(0, max(record_count, 0))
    return Pages(count, np.concatenate(numbers), np.concatenate(found), rows)


def in_pieces(files: Iterable[Pages]) -> Iterator[tuple[np.ndarray, bytes]]:
    """The files' pages as pieces of some megabytes: where in its piece each file begins (int64[n]), and the piece.

    A piece begins with a page of zeros. A file has big-endian int32s: how many pages there are up to the last with a
    deleted row; for each of these and one more at which byte of the piece its bits begin, for those without a deleted
    row and all behind the last 0; then the bits, row ``r`` of a page as bit ``r & 7`` of byte ``r >> 3``.
    """
    places: list[int] = []
    parts, size = [bytes(_PAGE_BYTES)], _PAGE_BYTES
    for file in files:
        if places and size + 4 * (file.count + 2) + file.bits.nbytes > _PIECE_BYTES:
            yield np.array(places), b"".join(parts)
            places, parts, size = [], [bytes(_PAGE_BYTES)], _PAGE_BYTES
        head = np.zeros(file.count + 2, ">i4")
        head[0] = file.count
        head[1 + file.numbers] = size + head.nbytes + _PAGE_BYTES * np.arange(len(file.numbers))
        places.append(size)
        parts += [head.tobytes(), file.bits.astype("<u8", copy=False).tobytes()]
        size += head.nbytes + file.bits.nbytes
    if places:
        yield np.array(places), b"".join(parts)


def as_lists(files: Iterable[Pages]) -> pa.Table:
    """The columns of WORDS_FIELDS, a row for each file.

    ``words`` (list<int64>) are its pages, one after the other. ``pages`` (list<int32>) says for each page of the file
    where its words begin, NULL where it has none; the list ends with the last page that has some.
    """
    pages, words = [], []
    for file in files:
        starts, is_empty = np.zeros(file.count, np.int32), np.ones(file.count, bool)
        starts[file.numbers] = _PAGE_WORDS * np.arange(len(file.numbers))
        is_empty[file.numbers] = False
        pages.append(pa.array(starts, mask=is_empty))
        words.append(pa.array(file.bits.ravel().view(np.int64)))
    return pa.table({_PAGES: _lists(pages), _WORDS: _lists(words)})


def _lists(values: list[pa.Array]) -> pa.Array:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(one) for one in values], out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays(values))


def is_live() -> Column:
    """The condition over :func:`as_lists`. ``get`` gives NULL past the end, in ANSI sessions too."""
    from pyspark.sql import functions as F

    row = F.col(ROW_INDEX)
    start = F.get(F.col(_PAGES), F.shiftright(row, _PAGE).cast("int"))
    word = F.get(F.col(_WORDS), start + F.shiftright(row, 6).bitwiseAND(63).cast("int"))
    deleted = F.getbit(word, row.bitwiseAND(63).cast("int"))
    none = F.lit(0).cast("tinyint")
    return F.coalesce(deleted, none) == none
