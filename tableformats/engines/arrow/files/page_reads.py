"""Rows of a row group without its other pages: which pages may hold a wanted row, and the rows of these pages alone.

Arrow decodes a column chunk from its first page on. So the pages that are wanted are put together as a file in memory,
which Arrow decodes (:mod:`tableformats.io.parquet.pages`). Only columns at the top without columns below them are read
so. A row group of others is read as a whole, and so is one whose pages nobody describes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ....dataclass import dataclass
from ....io.parquet.pages import ColumnPages, PageColumn, file_of_pages, pages_of
from ....plugin.statistics import Bounds
from ....schema import Field
from .footers import open_parquet
from .row_group_statistics import column_bounds
from .stored_chunks import FEWEST_REMOTE_BYTES, PAGE_ERRORS, StoredChunks

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["PageReader"]

_FEWEST_ROWS = 100_000
"""A smaller row group has so few pages that it is read as fast as they are found."""
_MOST_READ = 0.5
"""Where a larger share of the bytes is wanted, all are read."""
_WINDOW_BYTES = 64 << 20
_WINDOW_ROWS = 1 << 22
"""About how many bytes of pages, before compression, are decoded together, and of how many rows."""
_MOST_PAGES = 1 << 16
"""Of a file that are looked at. Chunks with further ones are read as a whole."""
_ARROW_SCHEMA = b"ARROW:schema"
_PHYSICAL = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}
_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A column chunk and its pages. ``runs`` are int64[n, 2]: first row in the row group, that after the last."""

    column: PageColumn
    pages: ColumnPages

    def page_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.searchsorted(self.pages.first_rows, rows, "right") - 1

    def wanted(self, runs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which pages hold a row of ``runs``."""
        begins = np.zeros(len(self.pages.sizes) + 1, np.int64)
        np.add.at(begins, self.page_of(runs[:, 0]), 1)
        np.add.at(begins, self.page_of(runs[:, 1] - 1) + 1, -1)
        return np.cumsum(begins[:-1]) > 0

    def bytes_of(self, runs: npt.NDArray[np.int64]) -> int:
        return int(self.pages.sizes[self.wanted(runs)].sum())

    def picked(self, values: pa.ChunkedArray, runs: npt.NDArray[np.int64]) -> pa.Array:
        """The rows of ``runs``, of the values of all wanted pages."""
        wanted, first_rows = self.wanted(runs), self.pages.first_rows
        before = np.cumsum(np.where(wanted, np.diff(first_rows), 0))
        page = self.page_of(runs[:, 0])
        starts = runs[:, 0] - first_rows[page + 1] + before[page]
        counts = runs[:, 1] - runs[:, 0]
        if len(runs) == 1:
            values = values.slice(int(starts[0]), int(counts[0]))
        else:
            shifts = starts - np.cumsum(counts) + counts
            values = values.take(pa.array(np.repeat(shifts, counts) + np.arange(counts.sum())))
        found = values.combine_chunks()
        return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


class PageReader:
    """Reads some rows of row groups of one open file; on several threads.

    Parameters
    ----------
    stored : StoredChunks
    """

    def __init__(self, stored: StoredChunks) -> None:
        self._stored = stored
        self._metadata = stored.metadata
        self._found: dict[tuple[int, int], _Chunk] = {}
        self._left = _MOST_PAGES

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
            number = pa.array(chunk.page_of(starts[:-1]))
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
        chunks = self._chunks(group, leaves)
        if chunks is None:
            return None
        read = sum(chunk.bytes_of(runs) for chunk in chunks)
        if read > _MOST_READ * sum(int(chunk.pages.sizes.sum()) for chunk in chunks):
            return None
        return self._windows(chunks, coded, _cut(runs, self._window_rows(group, leaves)))

    def _windows(
        self, chunks: Sequence[_Chunk], coded: Sequence[str], windows: Sequence[npt.NDArray[np.int64]]
    ) -> Iterator[pa.StructArray]:
        footer = self._stored.footer
        assert footer is not None
        for runs in windows:
            wanted = [(c.column, c.pages, c.wanted(runs)) for c in chunks]
            places = [place for _, pages, pages_wanted in wanted for place in pages.places(pages_wanted)]
            with self._stored.reading(places) as read:
                data, counts = file_of_pages(footer, wanted, read, self._arrow_schema(chunks))
            file = open_parquet(pa.BufferReader(pa.py_buffer(data)), read_dictionary=coded)
            columns = []
            for number, (chunk, count) in enumerate(zip(chunks, counts, strict=True)):
                values = file.reader.read_column(number)
                if len(values) != count:
                    raise pa.ArrowInvalid(f"{len(values)} values where the heads of pages count {count}")
                columns.append(chunk.picked(values, runs))
            yield pa.StructArray.from_arrays(columns, names=file.schema_arrow.names)

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

    def _window_rows(self, group: int, leaves: Sequence[int]) -> int:
        stored = self._metadata.row_group(group)
        size = sum(max(stored.column(leaf).total_uncompressed_size, 1) for leaf in leaves)
        return min(max(stored.num_rows * _WINDOW_BYTES // size, 1), _WINDOW_ROWS)

    def _arrow_schema(self, chunks: Sequence[_Chunk]) -> bytes | None:
        """The part of the stored Arrow schema for some columns."""
        if _ARROW_SCHEMA not in (self._metadata.metadata or {}):
            return None
        whole = self._metadata.schema.to_arrow_schema()
        return base64.b64encode(pa.schema([whole.field(chunk.column.number) for chunk in chunks]).serialize())


def _cut(runs: npt.NDArray[np.int64], rows: int) -> list[npt.NDArray[np.int64]]:
    """The runs of each window of so many rows of the row group."""
    windows = []
    for window in range(int(runs[0, 0]) // rows, (int(runs[-1, 1]) - 1) // rows + 1):
        found = np.clip(runs, window * rows, (window + 1) * rows)
        found = found[found[:, 0] < found[:, 1]]
        if len(found):
            windows.append(found)
    return windows


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
