"""Data pages of Parquet files: where they are, and what is known of their values.

A page is found by the offset index of its column chunk, or by the heads of the pages before it. Nothing is decoded.
Only chunks without repeated values are read here: each of their values is a row. What contradicts itself raises
ValueError; the chunk can still be read as a whole. Source: parquet.thrift, PageHeader, OffsetIndex and ColumnIndex.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dataclass import dataclass
from ...runtime.concurrency import cached_property
from .._thrift import read_struct
from ._page_heads import PageHead
from .data_pages import StoredPage

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["ColumnPages", "PageColumn", "PageFooter", "PageStream", "PageValues", "Read", "pages_of", "stored_pages"]

Fields = dict[int, tuple[int, Any]]
Read = Callable[[int, int], bytes | memoryview]
"""Reads so many bytes (the second) at an offset (the first)."""
_TRUE, _FALSE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 5, 6, 8, 9, 12
_SCHEMA, _ROWS, _GROUPS, _PAIRS, _CREATED_BY, _ORDERS = 2, 3, 4, 5, 6, 7
_DICTIONARY_PAGE = 2
_REQUIRED, _OPTIONAL = 0, 1
_HEAD_BYTES = 256
"""The head of a page mostly has fewer."""
_MOST_HEAD_BYTES = 1 << 16
_SHORT_DICTIONARY = 1 << 18
_MOST_BYTES = 1 << 19
"""Chunks with longer footers and indexes are read as a whole."""
_MOST_ROWS = 1 << 22
"""Chunks with more rows in a page are read as a whole: Arrow makes room for as many rows as a page claims to have."""
_MOST_BOUND_BYTES = 1 << 10
"""Longer bounds are not kept."""
_BLOCK_BYTES = 1 << 21
"""Pages that follow each other are read in blocks of so many bytes."""
_PLACE_BYTES = 4
"""A page takes as many bytes of an offset index at least."""


@dataclass(frozen=True, eq=False)
class PageValues:
    """What is known of the values of each page; None: not known.

    Attributes
    ----------
    lower, upper : list of bytes or None
        Bounds, as PLAIN encodes a value, without the length of bytes.
    nulls : list of int or None
        How many are NULL.
    """

    lower: list[bytes | None]
    upper: list[bytes | None]
    nulls: list[int | None]


@dataclass(frozen=True, eq=False)
class ColumnPages:
    """The data pages of one column chunk.

    Attributes
    ----------
    start : int
        Where the chunk begins in the file: its dictionary page, if it has one, goes to the first data page.
    offsets, sizes : int64[n]
        The bytes of each page, its head included.
    first_rows : int64[n + 1]
        The first row of each page in its row group; then the rows of the row group.
    values : PageValues
    """

    start: int
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    first_rows: npt.NDArray[np.int64]
    values: PageValues

    @property
    def dictionary(self) -> tuple[int, int]:
        """Offset and length of what is before the first data page."""
        return self.start, int(self.offsets[0]) - self.start

    def runs_of(self, wanted: npt.NDArray[np.bool_]) -> list[list[int]]:
        """The numbers of the wanted pages, in lists of those that follow each other at once."""
        numbers = np.flatnonzero(wanted)
        ends = self.offsets[numbers] + self.sizes[numbers]
        return [run.tolist() for run in np.split(numbers, np.flatnonzero(ends[:-1] != self.offsets[numbers[1:]]) + 1)]

    def place_of(self, run: Sequence[int]) -> tuple[int, int]:
        """Offset and length of pages that follow each other."""
        start = int(self.offsets[run[0]])
        return start, int(self.offsets[run[-1]] + self.sizes[run[-1]]) - start

    def places(self, wanted: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Offset and length of what is surely read for the wanted pages.

        A long dictionary belongs to the first pages alone, as a rule: its writer gave up.
        """
        places = [self.place_of(run) for run in self.runs_of(wanted)]
        return [self.dictionary, *places] if self.dictionary[1] <= _SHORT_DICTIONARY else places


@dataclass(frozen=True, eq=False)
class PageColumn:
    """A column chunk as the footer describes it.

    Attributes
    ----------
    number : int
        Of the column among those at the top.
    element : dict
        Its SchemaElement.
    data : dict
        Its ColumnMetaData.
    start, stop : int
        Its bytes in the file.
    offset_index, column_index : tuple of (int, int) or None
        Offset and length in the file.
    bloom_filter : tuple of (int, int) or None
        Offset and length; 0: the length is not known.
    """

    number: int
    element: Fields
    data: Fields
    start: int
    stop: int
    offset_index: tuple[int, int] | None
    column_index: tuple[int, int] | None
    bloom_filter: tuple[int, int] | None

    @cached_property
    def physical_type(self) -> int | None:
        """The number of its Type."""
        return _known(self.element, 1, _I32)  # type: ignore[no-any-return]

    @cached_property
    def is_optional(self) -> bool:
        return _known(self.element, 3, _I32) == _OPTIONAL

    @cached_property
    def codec(self) -> int:
        """The number of its compression codec."""
        return _number(self.data, 4)

    @cached_property
    def name(self) -> str:
        return _known(self.element, 4, _BINARY).decode(errors="replace")  # type: ignore[no-any-return]

    @property
    def indexes(self) -> list[tuple[int, int]]:
        """The places of those that there are."""
        return [place for place in (self.offset_index, self.column_index) if place is not None]


class PageFooter:
    """What the footer of a file says of its columns at the top that have no columns below them, and are not repeated.

    Parameters
    ----------
    footer : bytes
        FileMetaData; more bytes may follow.
    size : int
        The bytes of the file.

    Raises
    ------
    ValueError
        It is malformed, or long.

    Notes
    -----
    Cost: O(bytes), and some objects for each column chunk.
    """

    def __init__(self, footer: bytes, size: int) -> None:
        if len(footer) > _MOST_BYTES:
            raise ValueError("the footer is long")
        self._size = size
        elements = _structs(read_struct(footer, only=_SCHEMA), _SCHEMA)
        self._elements = _flat_columns(elements)
        self._root = elements[0]
        self._groups = _structs(read_struct(footer, only=_GROUPS), _GROUPS)
        self.has_orders = _ORDERS in read_struct(footer, only=_ORDERS)
        """Whether the footer says how bounds compare; otherwise nothing is made of them."""
        found = read_struct(footer, only=_CREATED_BY)
        self._created_by = {_CREATED_BY: found[_CREATED_BY]} if _CREATED_BY in found else {}

    def column(self, group: int, leaf: int) -> PageColumn | None:
        """The chunk of a leaf column in a row group.

        None: the column is not one that is read here. Raises ValueError where it is not in the file.
        """
        if leaf not in self._elements:
            return None
        number, element = self._elements[leaf]
        chunk = _structs(self._groups[group], 1)[leaf]
        data = _struct(chunk, 3)
        start = min(offset for key in (9, 11) if key in data and (offset := data[key][1]) > 0)
        stop = start + _number(data, 7)
        if stop > self._size:
            raise ValueError("a column chunk is outside of the file")
        places = [self._place(chunk, key) for key in (4, 6)]
        bloom = _known(data, 14, _I64) or 0
        places.append((bloom, _known(data, 15, _I32) or 0) if 0 < bloom < self._size else None)
        return PageColumn(number, element, data, start, stop, *places)

    def _place(self, chunk: Fields, key: int) -> tuple[int, int] | None:
        """The offset and the length of an index, in the fields ``key`` and the next one; None: there is none."""
        offset, size = _known(chunk, key, _I64), _known(chunk, key + 1, _I32)
        is_there = offset is not None and size is not None and 0 < offset < self._size and 0 < size <= _MOST_BYTES
        return (offset, size) if is_there else None

    def frame(self, columns: Sequence[PageColumn], arrow_schema: bytes | None) -> Fields:
        """The fields of a footer for these columns, but for the row groups."""
        root = {**self._root, 5: (_I32, len(columns))}
        found: Fields = {1: (_I32, 2), _SCHEMA: (_LIST, (_STRUCT, [root, *(column.element for column in columns)]))}
        if arrow_schema is not None:
            pair = {1: (_BINARY, b"ARROW:schema"), 2: (_BINARY, arrow_schema)}
            found[_PAIRS] = _LIST, (_STRUCT, [pair])
        return {**found, **self._created_by}


def pages_of(column: PageColumn, num_rows: int, read: Read, most: int) -> ColumnPages:
    """The pages of a chunk and what is known of their values: by its indexes, or without them by the heads of pages.

    Parameters
    ----------
    num_rows : int
        Of the row group.
    most : int
        The most pages that are looked at.

    Raises
    ------
    ValueError
        A head or an index is damaged or contradicts the footer; there are more pages.
    """
    if column.offset_index is None:
        return _scanned_pages(column, num_rows, read, most)
    return _indexed_pages(column, column.offset_index, num_rows, read, most)


def _indexed_pages(
    column: PageColumn, offset_index: tuple[int, int], num_rows: int, read: Read, most: int
) -> ColumnPages:
    offset, size = offset_index
    if size > most * _PLACE_BYTES:
        raise ValueError("an offset index is long")
    places = _structs(read_struct(read(offset, size)), 1)
    offsets, sizes, rows = (np.array([_number(place, key) for place in places], np.int64) for key in (1, 2, 3))
    values = _unknown(len(places))
    if column.column_index is not None:
        offset, size = column.column_index
        values = _indexed_values(read_struct(read(offset, size)), np.diff(rows, append=num_rows).tolist())
    return _checked(ColumnPages(column.start, offsets, sizes, np.append(rows, num_rows), values), column.stop)


def _scanned_pages(column: PageColumn, num_rows: int, read: Read, most: int) -> ColumnPages:
    at, rows = column.start, 0
    heads, offsets, first_rows = [], [], []
    for _ in range(most):
        if at >= column.stop:
            break
        head = _head(read, at, column.stop)
        if head.kind != _DICTIONARY_PAGE:
            heads.append(head)
            offsets.append(at)
            first_rows.append(rows)
            rows += head.rows
        at += head.stop
    if at < column.stop or rows != num_rows:
        raise ValueError("the pages of a column chunk are more, or have another number of rows than its row group")
    values = PageValues(
        [_short(head.lower) for head in heads], [_short(head.upper) for head in heads], [head.nulls for head in heads]
    )
    sizes, starts = np.array([head.stop for head in heads], np.int64), np.array([*first_rows, rows], np.int64)
    return _checked(ColumnPages(column.start, np.array(offsets, np.int64), sizes, starts, values), column.stop)


class PageStream:
    """Reads the pages of a column chunk one after another, without an index.

    Parameters
    ----------
    column : PageColumn
    num_rows : int
        Of the row group.
    read : Read

    Attributes
    ----------
    size : int
        The bytes of the chunk.
    dictionary : StoredPage or None
        Where there is one, from the first page on.
    """

    def __init__(self, column: PageColumn, num_rows: int, read: Read) -> None:
        self._stop, self._num_rows, self._read = column.stop, num_rows, read
        self.size = column.stop - column.start
        self._first, self._at = column.start, 0
        self._block: bytes | memoryview = b""
        self._rows = 0
        self._pages: list[tuple[int, StoredPage]] = []
        self.dictionary: StoredPage | None = None

    def until(self, start: int, stop: int) -> list[tuple[int, StoredPage]]:
        """The pages with rows from ``start`` to below ``stop``, each with its first row. Calls ascend.

        Raises ValueError: a head is damaged, or the pages have another number of rows than the row group.
        """
        self._pages = [(first, page) for first, page in self._pages if first + page.rows > start]
        while self._rows < stop:
            page = self._next()
            if page.kind == _DICTIONARY_PAGE:
                if self._rows or self.dictionary is not None:
                    raise ValueError("a column chunk has a dictionary after its first page")
                self.dictionary = page
            elif not 0 < page.rows <= min(_MOST_ROWS, self._num_rows - self._rows):
                raise ValueError("the pages of a column chunk do not hold the rows of its row group")
            else:
                self._pages.append((self._rows, page))
                self._rows += page.rows
        return self._pages

    def _next(self) -> StoredPage:
        asked = 0
        while True:
            try:
                page = StoredPage(self._block, self._at)
                self._at = page.stop
                return page
            except ValueError:  # the block may end within the page
                here, had = self._first + self._at, len(self._block) - self._at
                size = min(max(_BLOCK_BYTES, 4 * had), self._stop - here)
                if size <= max(had, asked):
                    raise
            self._block, self._first, self._at = self._read(here, size), here, 0
            asked = size


def stored_pages(pages: ColumnPages, wanted: npt.NDArray[np.bool_], read: Read) -> list[StoredPage]:
    """The wanted pages. Raises ValueError: one is not what the index says of it."""
    found, rows = [], np.diff(pages.first_rows)
    for run in pages.runs_of(wanted):
        start, size = pages.place_of(run)
        stored = read(start, size)
        for number in run:
            page = StoredPage(stored, int(pages.offsets[number]) - start)
            if page.rows != rows[number] or page.stop - page.start != pages.sizes[number]:
                raise ValueError("a page is not what the index says of it")
            found.append(page)
    return found


def _head(read: Read, at: int, stop: int) -> PageHead:
    """The head of the page at ``at``, which ends at ``stop`` at the latest."""
    size = _HEAD_BYTES
    while True:
        stored = read(at, min(size, stop - at))
        try:
            return PageHead(stored, 0, stop - at)
        except ValueError:
            if size >= min(_MOST_HEAD_BYTES, stop - at):
                raise
        size *= 16


def _known(fields: Fields, key: int, kind: int) -> Any:
    """The value of a field of this type; None: it is not there."""
    found, value = fields.get(key, (kind, None))
    return value if found == kind else None


def _short(bound: bytes | None) -> bytes | None:
    return bound if bound is not None and len(bound) <= _MOST_BOUND_BYTES else None


def _indexed_values(fields: Fields, rows: Sequence[int]) -> PageValues:
    """What a ColumnIndex says of pages of so many rows."""
    n = len(rows)
    (kind, empty), lower, upper = _items(fields, 1), _items(fields, 2)[1], _items(fields, 3)[1]
    if kind not in (_TRUE, _FALSE) or not len(empty) == len(lower) == len(upper) == n:
        raise ValueError("a column index has another number of pages than the offset index")
    if not all(isinstance(value, bytes) for value in (*lower, *upper)):
        raise ValueError("a bound is no bytes")
    is_empty = [value == _TRUE for value in empty]
    nulls: list[int | None] = [None] * n
    if 5 in fields:
        kind, nulls = _items(fields, 5)
        if kind != _I64 or len(nulls) != n:
            raise ValueError("a column index counts the NULLs of another number of pages")
    return PageValues(
        [None if gone else _short(value) for gone, value in zip(is_empty, lower, strict=True)],
        [None if gone else _short(value) for gone, value in zip(is_empty, upper, strict=True)],
        [count if gone else known for gone, count, known in zip(is_empty, rows, nulls, strict=True)],
    )


def _unknown(n: int) -> PageValues:
    return PageValues([None] * n, [None] * n, [None] * n)


def _checked(pages: ColumnPages, stop: int) -> ColumnPages:
    """``pages``, if they follow each other within their chunk, and none is empty."""
    offsets, sizes, rows = pages.offsets, pages.sizes, pages.first_rows
    counts = np.diff(rows)
    if not len(offsets) or rows[0] != 0 or (counts <= 0).any() or (counts > _MOST_ROWS).any():
        raise ValueError("the pages of a column chunk do not hold its rows")
    if offsets[0] < pages.start or (sizes <= 0).any() or max(offsets.max(), sizes.max()) > stop:
        raise ValueError("a page is outside of its column chunk")
    ends = offsets + sizes
    if ends[-1] > stop or (ends[:-1] > offsets[1:]).any():
        raise ValueError("the pages of a column chunk overlap")
    return pages


def _flat_columns(elements: Sequence[Fields]) -> dict[int, tuple[int, Fields]]:
    """The columns at the top that are leaves and not repeated, by leaf: number at the top, SchemaElement."""
    found: dict[int, tuple[int, Fields]] = {}
    leaf, at = 0, 1
    for number in itertools.count():
        if at >= len(elements):
            return found
        end, leaves = _end_of(elements, at)
        if end == at + 1 and 1 in elements[at] and _known(elements[at], 3, _I32) in (_REQUIRED, _OPTIONAL):
            found[leaf] = number, elements[at]
        leaf += leaves
        at = end
    return found


def _end_of(elements: Sequence[Fields], at: int) -> tuple[int, int]:
    """Where the element after the tree at ``at`` is, and how many leaves the tree has."""
    left, leaves = 1, 0
    while left:
        if at >= len(elements):
            raise ValueError("the schema has fewer elements than it says")
        children = _known(elements[at], 5, _I32) or 0
        left += children - 1
        leaves += not children
        at += 1
    return at, leaves


def _number(fields: Mapping[int, tuple[int, Any]], key: int) -> int:
    """An integer that is not negative."""
    value = fields[key][1] if key in fields else None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a number is missing or negative")
    return value


def _struct(fields: Fields, key: int) -> Fields:
    value = fields[key][1] if key in fields else None
    if not isinstance(value, dict):
        raise ValueError("a struct is missing")
    return value


def _items(fields: Fields, key: int) -> tuple[int, list[Any]]:
    kind, value = fields.get(key, (0, None))
    if kind != _LIST or value is None:
        raise ValueError("a list is missing")
    return value  # type: ignore[no-any-return]


def _structs(fields: Fields, key: int) -> list[Fields]:
    kind, values = _items(fields, key)
    if kind != _STRUCT and values:
        raise ValueError("a list is of another type")
    return values
