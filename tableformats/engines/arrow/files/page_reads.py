"""Which pages of a row group may hold a wanted row, and the rows of these pages alone (:mod:`.page_rows`); or all rows.

Only columns at the top without columns below them are read so. A row group of others is read as a whole by Arrow, and
so is one whose pages nobody describes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ....dataclass import dataclass
from ....io.parquet.data_pages import StoredPage, decompresses, decompresses_quickly
from ....io.parquet.fixed_width import is_fixed_width
from ....io.parquet.pages import ColumnPages, PageColumn, PageStream, Read, pages_of, stored_pages
from ....plugin.statistics import Bounds
from ....schema import Field
from .page_rows import PageRows, ReadPages, cut_runs, hold_rows, is_found
from .row_group_statistics import column_bounds
from .stored_chunks import FEWEST_REMOTE_BYTES, PAGE_ERRORS, StoredChunks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..key_sets import IntegerSet

    Runs = npt.NDArray[np.int64]

__all__ = ["PageReader"]

_FEWEST_ROWS = 100_000
"""Of a row group that is read by pages: in a smaller one, finding them takes as long as what is gained."""
_MOST_READ = 0.5
"""Where a larger share of the bytes is wanted and nothing is gained otherwise, all are read."""
_WINDOW_BYTES, _LOCAL_WINDOW_BYTES = 64 << 20, 16 << 20
_WINDOW_ROWS = 1 << 22
"""About how many bytes of pages, before compression, are decoded together, and of how many rows.

In a store each window takes requests of its own; a local file needs fewer of these bytes in memory.
"""
_MOST_PAGES = 1 << 16
"""Of a file that are looked at. Chunks with further ones are read as a whole."""
_PARTS = 64
"""Of a row group, to see how far its wanted rows are apart."""
_ARROW_SCHEMA = b"ARROW:schema"
_PHYSICAL = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}
_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A column chunk and its pages. ``runs`` are int64[n, 2]: first row in the row group, that after the last."""

    column: PageColumn
    pages: ColumnPages

    def wanted(self, runs: Runs) -> npt.NDArray[np.bool_]:
        """Which pages hold a row of ``runs``."""
        return hold_rows(self.pages.first_rows, runs)

    def bytes_of(self, runs: Runs) -> int:
        return int(self.pages.sizes[self.wanted(runs)].sum())

    def read(self, runs: Runs, read: Read) -> ReadPages:
        """The pages with a row of ``runs``."""
        wanted, first_rows = self.wanted(runs), self.pages.first_rows
        pages = stored_pages(self.pages, wanted, read)
        dictionary = None
        if any(page.has_codes for page in pages):
            dictionary = StoredPage(read(*self.pages.dictionary), 0)
        return ReadPages(first_rows[:-1][wanted], np.diff(first_rows)[wanted], pages, dictionary)


class PageReader:
    """Reads some rows of row groups of one open file; on several threads.

    Parameters
    ----------
    stored : StoredChunks
    kinds : mapping of int to pa.DataType
        By leaf, the types of the columns at the top.
    """

    def __init__(self, stored: StoredChunks, kinds: Mapping[int, pa.DataType]) -> None:
        self._stored = stored
        self._kinds = kinds
        self._metadata = stored.metadata
        self._found: dict[tuple[int, int], _Chunk] = {}
        self._left = _MOST_PAGES
        self._schemas: dict[tuple[int, ...], bytes] = {}

    def bounds(
        self, group: int, leaves: Mapping[int, tuple[Field, int]]
    ) -> tuple[Bounds, npt.NDArray[np.int64]] | None:
        """Bounds and counts of some columns, for runs of rows whose values of each column are in one page.

        Parameters
        ----------
        leaves : mapping of field id to (Field, int)
            As of :meth:`DataFile.row_group_bounds`.

        Returns
        -------
        Bounds, int64[n + 1]
            The second are the first rows of the runs in the row group; then its rows. None: nothing is known.
        """
        chunks = self._chunks(group, [leaf for _, leaf in leaves.values()])
        if chunks is None or self._stored.footer is None or not self._stored.footer.has_orders:
            return None
        starts = np.unique(np.concatenate([chunk.pages.first_rows for chunk in chunks]))
        bounds = Bounds()
        for chunk, (field_id, (field, leaf)) in zip(chunks, leaves.items(), strict=True):
            number = pa.array(np.searchsorted(chunk.pages.first_rows, starts[:-1], "right") - 1)
            bounds.value_count[field_id] = pa.array(np.diff(starts))
            bounds.null_count[field_id] = _null_counts(chunk.pages, number.to_pylist(), np.diff(starts).tolist())
            sides = self._bounds_of(group, leaf, chunk.pages, field)
            if sides is not None:
                bounds.lower[field_id], bounds.upper[field_id] = (side.take(number) for side in sides)
        return bounds, starts

    def _bounds_of(self, group: int, leaf: int, pages: ColumnPages, field: Field) -> tuple[pa.Array, pa.Array] | None:
        """The bounds of the pages as values of the table's column. None: not known.

        They are believed where parquet-cpp believes the bounds of the whole chunk.
        """
        chunk = self._metadata.row_group(group).column(leaf)
        is_believed = chunk.is_stats_set and chunk.statistics is not None and chunk.statistics.has_min_max
        column = self._metadata.schema.column(leaf)
        read = _value_reader(column.physical_type)
        if not is_believed or read is None:
            return None
        try:
            lower, upper = (
                [None if v is None else read(v) for v in s] for s in (pages.values.lower, pages.values.upper)
            )
        except PAGE_ERRORS:
            return None
        return column_bounds(lower, upper, column, field)

    def rows(
        self, group: int, leaves: Sequence[int], coded: Sequence[str], runs: npt.NDArray[np.int64]
    ) -> Iterator[pa.StructArray] | None:
        """The rows of ``runs``, one after another, in pieces. None: the row group has to be read as a whole.

        Parameters
        ----------
        leaves : sequence of int
            The columns.
        coded : sequence of str
            The paths of those that are read as dictionary arrays.
        runs : int64[n, 2]
            First row in the row group, and the row after the last one; ascending, apart, none empty.
        """
        num_rows = self._metadata.row_group(group).num_rows
        if len(runs) == 1 and runs[0, 1] - runs[0, 0] == num_rows:
            return None
        if self._stored.is_remote:
            if (runs[:, 1] - runs[:, 0]).sum() > _MOST_READ * num_rows:
                return None
        elif _are_everywhere(runs, num_rows):
            return self._by_streams(group, leaves, coded, runs)
        chunks = self._chunks(group, leaves)
        if chunks is None:
            return None
        read = sum(chunk.bytes_of(runs) for chunk in chunks)
        if read > _MOST_READ * sum(int(chunk.pages.sizes.sum()) for chunk in chunks):
            if self._stored.is_remote or not self._is_gain([chunk.column for chunk in chunks], leaves):
                return None
        return self._pieces(group, leaves, chunks, coded, runs)

    def all_rows(
        self, group: int, leaves: Sequence[int], coded: Sequence[str], batch_rows: int | None = None
    ) -> Iterator[pa.StructArray] | None:
        """All rows of a row group of a local file. None: Arrow reads it as fast, or its pages are not understood.

        Parameters
        ----------
        leaves, coded
            As of :meth:`rows`.
        batch_rows : int, optional
            The most rows of a piece.
        """
        num_rows = self._metadata.row_group(group).num_rows
        return self._by_streams(group, leaves, coded, np.array([[0, num_rows]]), batch_rows)

    def finds_rows(self, group: int, leaves: Sequence[int]) -> bool:
        """Whether :meth:`rows` leaves out rows here and there in no more time than it takes to read all."""
        return self._streamed_columns(group, leaves) is not None

    def _by_streams(
        self, group: int, leaves: Sequence[int], coded: Sequence[str], runs: Runs, batch_rows: int | None = None
    ) -> Iterator[pa.StructArray] | None:
        """The rows of ``runs``; the bytes of all pages are read. None: Arrow reads the row group as fast."""
        columns = self._streamed_columns(group, leaves)
        if columns is None:
            return None
        return self._streamed(group, leaves, columns, self._page_rows(columns, leaves, coded, batch_rows), runs)

    def _streamed_columns(self, group: int, leaves: Sequence[int]) -> list[PageColumn] | None:
        """The columns of a local file; None: Arrow reads them as fast, or they are not understood."""
        if self._stored.is_remote or self._metadata.row_group(group).num_rows < _FEWEST_ROWS or not leaves:
            return None
        try:
            columns = [column for leaf in leaves if (column := self._stored.column(group, leaf)) is not None]
        except PAGE_ERRORS:
            return None
        return columns if len(columns) == len(leaves) and self._is_gain(columns, leaves) else None

    def rows_without_keys(
        self, group: int, leaf: int, keys: IntegerSet
    ) -> Iterator[tuple[int, int, npt.NDArray[np.int64], pa.StructArray]] | None:
        """As of :meth:`DataFile.rows_without_keys`, of one row group; the first position is that in the row group."""
        columns = self._streamed_columns(group, [leaf])
        if columns is None or keys.has_null or self._kinds.get(leaf) != keys.kind:
            return None
        return self._without_keys(group, columns, leaf, keys) if is_fixed_width(keys.kind, columns[0]) else None

    def _without_keys(
        self, group: int, columns: Sequence[PageColumn], leaf: int, keys: IntegerSet
    ) -> Iterator[tuple[int, int, npt.NDArray[np.int64], pa.StructArray]]:
        rows = self._page_rows(columns, [leaf], [])
        for start, stop, (stream,) in self._windows(group, [leaf], columns):
            runs = np.array([[start, stop]], np.int64)
            left, dropped = rows.without_keys(runs, _read_pages(stream, start, stop, runs), keys)
            yield start, stop - start, dropped, left

    def _streamed(
        self, group: int, leaves: Sequence[int], columns: Sequence[PageColumn], rows: PageRows, runs: Runs
    ) -> Iterator[pa.StructArray]:
        for start, stop, streams in self._windows(group, leaves, columns):
            for wanted in cut_runs(runs, np.array([start, stop])):
                yield from rows.of_runs(wanted, [_read_pages(stream, start, stop, wanted) for stream in streams])

    def _windows(
        self, group: int, leaves: Sequence[int], columns: Sequence[PageColumn]
    ) -> Iterator[tuple[int, int, list[PageStream]]]:
        """Rows that are read together: the first one, that after the last one, and the pages of each column."""
        num_rows = self._metadata.row_group(group).num_rows
        window = self._window_rows(group, leaves, _LOCAL_WINDOW_BYTES)
        with self._stored.reading([]) as read:
            streams = [PageStream(column, num_rows, read) for column in columns]
            widest = max(streams, key=lambda stream: stream.size)
            start = 0
            while start < num_rows:
                # A window ends with a page of the widest column, so that no page of it is decompressed twice.
                last, page = widest.until(start, min(start + window, num_rows))[-1]
                stop = last + page.rows if last + page.rows - start < 2 * window else start + window
                yield start, stop, streams
                start = stop

    def _is_gain(self, columns: Sequence[PageColumn], leaves: Sequence[int]) -> bool:
        """Whether a column is decompressed or decoded faster than by Arrow."""
        is_found = any(kind is not None for kind in self._found_kinds(columns, leaves))
        return is_found or any(decompresses_quickly(column.codec) for column in columns)

    def _found_kinds(self, columns: Sequence[PageColumn], leaves: Sequence[int]) -> list[pa.DataType | None]:
        """Of each column its type, if its values are found in the pages."""
        kinds: list[pa.DataType | None] = []
        for column, leaf in zip(columns, leaves, strict=True):
            kind = self._kinds.get(leaf)
            kinds.append(kind if kind is not None and decompresses(column.codec) and is_found(kind, column) else None)
        return kinds

    def _page_rows(
        self, columns: Sequence[PageColumn], leaves: Sequence[int], coded: Sequence[str], batch_rows: int | None = None
    ) -> PageRows:
        assert self._stored.footer is not None
        kinds = self._found_kinds(columns, leaves)
        return PageRows(self._stored.footer, columns, kinds, coded, self._arrow_schema, batch_rows)

    def _pieces(
        self, group: int, leaves: Sequence[int], chunks: Sequence[_Chunk], coded: Sequence[str], runs: Runs
    ) -> Iterator[pa.StructArray]:
        """The rows of ``runs``, window by window."""
        rows = self._page_rows([chunk.column for chunk in chunks], leaves, coded)
        size = _WINDOW_BYTES if self._stored.is_remote else _LOCAL_WINDOW_BYTES
        widest = max(chunks, key=lambda chunk: chunk.pages.sizes.sum())
        edges = _window_edges(widest.pages.first_rows, self._window_rows(group, leaves, size))
        for window in cut_runs(runs, edges):
            with self._stored.reading([place for c in chunks for place in c.pages.places(c.wanted(window))]) as read:
                found = [chunk.read(window, read) for chunk in chunks]
            yield from rows.of_runs(window, found)

    def _chunks(self, group: int, leaves: Sequence[int]) -> list[_Chunk] | None:
        """The chunks of some columns and their pages. None: those of one are not known, or not worth a request."""
        num_rows = self._metadata.row_group(group).num_rows
        new_leaves = [leaf for leaf in leaves if (group, leaf) not in self._found]
        if not leaves or num_rows < _FEWEST_ROWS or not self._is_worth_request(group, new_leaves):
            return None
        try:
            columns = {leaf: self._stored.column(group, leaf) for leaf in new_leaves}
            new = {leaf: column for leaf, column in columns.items() if column is not None}
            if len(new) < len(columns):
                return None
            with self._stored.reading([place for column in new.values() for place in column.indexes]) as read:
                for leaf, column in new.items():
                    pages = pages_of(column, num_rows, read, self._left)
                    self._left -= len(pages.sizes)
                    self._found[group, leaf] = _Chunk(column, pages)
        except PAGE_ERRORS:
            self._left = 0  # who describes pages wrongly once is not asked again: each attempt takes time
            return None
        return [self._found[group, leaf] for leaf in leaves]

    def _is_worth_request(self, group: int, leaves: Sequence[int]) -> bool:
        """Whether columns have indexes, and so many bytes that a request for these pays. In a local file it does."""
        if not self._stored.is_remote or not leaves:
            return True
        chunks = [self._metadata.row_group(group).column(leaf) for leaf in leaves]
        size = sum(chunk.total_compressed_size for chunk in chunks)
        return size >= FEWEST_REMOTE_BYTES and all(chunk.has_offset_index for chunk in chunks)

    def _window_rows(self, group: int, leaves: Sequence[int], window_bytes: int) -> int:
        stored = self._metadata.row_group(group)
        chunks = map(stored.column, leaves)
        size = sum(max(c.total_uncompressed_size, c.total_compressed_size, 1) for c in chunks)
        return min(max(stored.num_rows * window_bytes // size, 1), _WINDOW_ROWS)

    def _arrow_schema(self, columns: Sequence[PageColumn]) -> bytes | None:
        """The part of the stored Arrow schema for some columns."""
        if _ARROW_SCHEMA not in (self._metadata.metadata or {}):
            return None
        numbers = tuple(column.number for column in columns)
        if numbers not in self._schemas:
            whole = self._metadata.schema.to_arrow_schema()
            self._schemas[numbers] = base64.b64encode(pa.schema([whole.field(n) for n in numbers]).serialize())
        return self._schemas[numbers]


def _window_edges(first_rows: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64]:
    """Where windows of about so many rows begin and end: at pages of a column, if these are not longer.

    Then no page of the column is decompressed for two windows.
    """
    is_long = np.diff(first_rows).max() > rows
    cuts = np.union1d(first_rows, np.arange(0, first_rows[-1], rows)) if is_long else first_rows
    return np.append(cuts[:-1][np.diff(cuts[:-1] // rows, prepend=-1) > 0], cuts[-1])


def _read_pages(stream: PageStream, start: int, stop: int, runs: Runs) -> ReadPages:
    """The pages with a row of ``runs``, which are from ``start`` to below ``stop``."""
    pages = stream.until(start, stop)
    edges = np.array([*(first for first, _ in pages), pages[-1][0] + pages[-1][1].rows], np.int64)
    wanted = hold_rows(edges, runs)
    found = [page for (_, page), is_wanted in zip(pages, wanted.tolist(), strict=True) if is_wanted]
    needs_dictionary = any(page.has_codes for page in found)
    return ReadPages(edges[:-1][wanted], np.diff(edges)[wanted], found, stream.dictionary if needs_dictionary else None)


def _are_everywhere(runs: Runs, num_rows: int) -> bool:
    """Whether most parts of a row group hold a row of ``runs``, so that most pages are read."""
    edges = np.linspace(0, num_rows, _PARTS + 1).astype(np.int64)
    return bool(hold_rows(edges, runs).mean() > _MOST_READ)


def _null_counts(pages: ColumnPages, numbers: Sequence[int], rows: Sequence[int]) -> pa.Array:
    """The NULLs of runs of so many rows, each within one of the pages ``numbers``.

    A part of a page has a known number of them only where all of its rows are NULL, or none.
    """
    of_page, rows_of_page = pages.values.nulls, np.diff(pages.first_rows).tolist()
    all_or_none = [
        {0: 0, rows_of_page[page]: count}.get(of_page[page]) for page, count in zip(numbers, rows, strict=True)
    ]
    return pa.array(all_or_none, pa.int64())


def _value_reader(physical_type: str) -> Callable[[bytes], Any] | None:
    """What makes a value of a physical type from its bytes; None: no bounds of the type are read."""
    if physical_type in _BYTES:
        return bytes
    form = _PHYSICAL.get(physical_type)
    return None if form is None else lambda value: struct.unpack(form, value)[0]
