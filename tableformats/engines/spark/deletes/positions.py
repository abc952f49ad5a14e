"""Positional deletes as bits that Spark tests each row against. Constants of a file say where its bits are; no join.

A file's bits are stored in pages of 4096 rows, and only pages with a deleted row are stored (:class:`Pages`). There are
two forms. On the native path the pages of many files are packed into byte arrays, which Spark broadcasts to executors
when they need them (``DeletedRows.java``, ``LiveRows.java``); see :func:`in_pieces`. On the portable path each file has
two lists, ``words`` and ``pages``; see :func:`as_lists`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...._core.bitmap import words
from ....errors import LimitExceededError
from ....limits import DEFAULT_LIMITS, Limits
from ....plugin.deletes import EQUALITY
from ..columns.naming import HIDDEN, ROW_INDEX
from ..columns.spark_types import nullable_field
from ..relations import Pages

if TYPE_CHECKING:
    from pyroaring import BitMap64
    from pyspark.sql import Column

    from ....planning.plan import FilePlan

__all__ = [
    "ADDRESS",
    "ADDRESS_FIELD",
    "WORDS_FIELDS",
    "as_lists",
    "deleted_pages",
    "in_pieces",
    "is_live",
    "pages_of",
]

ADDRESS = f"{HIDDEN}deletes_address"
ADDRESS_FIELD = nullable_field(ADDRESS, "long")
_PAGES, _WORDS = f"{HIDDEN}pages", f"{HIDDEN}words"
WORDS_FIELDS = [
    nullable_field(name, {"type": "array", "elementType": kind, "containsNull": True})
    for name, kind in ((_PAGES, "integer"), (_WORDS, "long"))
]
"""Spark's JSON of the constants, in each of the two forms."""
_PAGE = 12
"""A page has 2**12 rows."""
_PAGE_WORDS = 64
"""64-bit words of a page, a bit for each row."""
_PAGE_BYTES = 8 * _PAGE_WORDS
_PIECE_BYTES = 4 << 20
"""Once it has so many bytes, no further file is added to a piece."""
_MOST_BYTES = (1 << 31) - (1 << 10)
"""The most bytes of one file, so that a piece with this file alone has less than 2**31 bytes."""
_AT_ONCE = 1 << 26
"""Rows of a file that are decoded at once, because a bitmap of a few bytes may delete billions of rows."""


def deleted_pages(plan: FilePlan, rows: np.ndarray) -> Iterator[Pages]:
    """The deleted rows of each of the plan's files ``rows`` (int64[n]), loaded one file at a time.

    Raises
    ------
    CorruptMetadataError
        Damaged or contradictory deletion vectors and position delete files.
    LimitExceededError
        The limits ``deleted_rows``, ``file_rows`` and ``decoded_bytes``.
    """
    survivors, deletes, snapshot = plan.survivors, plan.delete_files, plan.snapshot.format_snapshot
    files = deletes.files.combine_chunks()  # otherwise take() would join the chunks for every file
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
    positions : BitMap64
        The deleted rows.
    path : str
        Path of the file, for errors.
    limits : Limits
        What the deletes may cost.
    record_count : int, optional
        The file's physical rows; None: unknown.

    Raises
    ------
    LimitExceededError
        The limits ``file_rows`` and ``decoded_bytes``, the latter for what Spark will hold; 2 GiB in any case.

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
    """Pack the files' pages into pieces of some megabytes.

    A piece starts with a page of zeros, which all pages without deleted rows share. Each file in it has

    - the number of its pages, ``count`` (int32, big-endian);
    - for each page, and one more, the offset in the piece where its bits start (int32, big-endian). It is 0 for pages
      without a deleted row, and for the additional one, which stands for all later pages;
    - the bits of the other pages: row ``r`` of a page is bit ``r & 7`` of byte ``r >> 3``.

    Yields
    ------
    tuple[np.ndarray, bytes]
        The offset in the piece where each file starts (int64[n]); the piece.
    """
    offsets: list[int] = []
    parts, size = [bytes(_PAGE_BYTES)], _PAGE_BYTES
    for file in files:
        if offsets and size + 4 * (file.count + 2) + file.bits.nbytes > _PIECE_BYTES:
            yield np.array(offsets), b"".join(parts)
            offsets, parts, size = [], [bytes(_PAGE_BYTES)], _PAGE_BYTES
        head = np.zeros(file.count + 2, ">i4")
        head[0] = file.count
        head[1 + file.numbers] = size + head.nbytes + _PAGE_BYTES * np.arange(len(file.numbers))
        offsets.append(size)
        parts += [head.tobytes(), file.bits.astype("<u8", copy=False).tobytes()]
        size += head.nbytes + file.bits.nbytes
    if offsets:
        yield np.array(offsets), b"".join(parts)


def as_lists(files: Iterable[Pages]) -> pa.Table:
    """The columns of WORDS_FIELDS, a row for each file.

    ``words`` (list<int64>) are the bits of the stored pages, one after the other. ``pages`` (list<int32>) has for each
    page of the file the index of its first word, NULL for a page without deleted rows; it ends with the last page that
    is stored.
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
    """The condition for :func:`as_lists`. Spark's ``get`` returns NULL past the end, also in ANSI sessions."""
    from pyspark.sql import functions as F

    row = F.col(ROW_INDEX)
    start = F.get(F.col(_PAGES), F.shiftright(row, _PAGE).cast("int"))
    word = F.get(F.col(_WORDS), start + F.shiftright(row, 6).bitwiseAND(63).cast("int"))
    deleted = F.getbit(word, row.bitwiseAND(63).cast("int"))
    none = F.lit(0).cast("tinyint")
    return F.coalesce(deleted, none) == none
