"""Rows of the pages of a row group, window by window: most columns are read from the pages, all others by Arrow.

Arrow decodes a column chunk from its first page on. So the pages that it decodes are put together as a file in memory
(:mod:`tableformats.io.parquet.page_files`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ....columnar.arrays import scratch
from ....columnar.dropped_rows import rows_where, without_rows
from ....dataclass import dataclass
from ....io.parquet.data_pages import StoredPage
from ....io.parquet.fixed_width import coded_values, fixed_width_values, integers_without, is_fixed_width
from ....io.parquet.page_files import file_of_pages, write_pieces
from ....io.parquet.page_values import is_decoded, mark_runs
from ....io.parquet.pages import PageColumn, PageFooter
from ....io.parquet.texts import StoredTexts, dictionary_texts, texts_of
from .data_file import BATCH_ROWS
from .footers import open_parquet

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..key_sets import IntegerSet

    Runs = npt.NDArray[np.int64]

__all__ = ["PageRows", "ReadPages", "cut_runs", "hold_rows", "is_found"]

_TEXTS = (pa.string(), pa.binary())
_BYTE_ARRAY = 6

_BATCH_BYTES = 32 << 20
"""About how many bytes of texts a batch has at most."""
_OWN_REFERENCES = 2
"""The attribute, and the argument of getrefcount."""


@dataclass(frozen=True, eq=False)
class ReadPages:
    """Some data pages of a column, read.

    Attributes
    ----------
    starts, counts : int64[n]
        The first row of each page in its row group, and its rows.
    pages : sequence of StoredPage
    dictionary : StoredPage or None
        Where one of the pages needs it.
    """

    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    pages: Sequence[StoredPage]
    dictionary: StoredPage | None

    def places(self, runs: Runs) -> Runs:
        """Where runs of rows are among those of all pages."""
        before = np.cumsum(self.counts) - self.counts
        shift: Any = self.starts[0]
        if (self.starts != before + shift).any():  # a page is left out
            page = np.searchsorted(self.starts, runs[:, 0], "right") - 1
            shift = (self.starts - before)[page, np.newaxis]
        elif not shift:
            return runs
        return np.subtract(runs, shift, out=scratch(runs.size, np.int64).reshape(-1, 2))

    def chosen(self, places: Runs) -> npt.NDArray[np.uint8] | None:
        """uint8[rows of all pages]: 1 for the rows that are wanted, which are at ``places``. None: all are."""
        count = int(self.counts.sum())
        if len(places) == 1 and places[0, 1] - places[0, 0] == count:
            return None
        mask = scratch(count, np.uint8)
        mark_runs(places, mask)
        return mask


class PageRows:
    """Makes rows of pages of some columns of one row group.

    Parameters
    ----------
    footer : PageFooter
    columns : sequence of PageColumn
    kinds : sequence of pa.DataType or None
        For each column its type, if it is one that :func:`is_found`. None: Arrow decodes it.
    coded : sequence of str
        The names of columns that are read as dictionary arrays.
    arrow_schema : callable
        The part of the stored Arrow schema for some columns; see :func:`file_of_pages`.
    batch_rows : int, optional
        The most rows of a piece.
    """

    def __init__(
        self,
        footer: PageFooter,
        columns: Sequence[PageColumn],
        kinds: Sequence[pa.DataType | None],
        coded: Sequence[str],
        arrow_schema: Callable[[Sequence[PageColumn]], bytes | None],
        batch_rows: int | None = None,
    ) -> None:
        self._footer, self._columns, self._coded, self._arrow_schema = footer, columns, coded, arrow_schema
        self._kinds, self._batch_rows = kinds, batch_rows or BATCH_ROWS
        self._memory = np.empty(0, np.uint8)
        self._dictionaries: dict[int, tuple[StoredPage, pa.Array]] = {}

    def of_runs(self, runs: Runs, read: Sequence[ReadPages]) -> Iterator[pa.StructArray]:
        """The rows of ``runs`` in pieces, of pages of each column that hold them.

        Raises ValueError and Arrow's errors: the pages are damaged.
        """
        count = int((runs[:, 1] - runs[:, 0]).sum())
        places = [pages.places(runs) for pages in read]
        numbers = range(len(self._columns))
        found = {n: values for n in numbers if (values := self._found(n, read[n], places[n])) is not None}
        found |= self._decoded([n for n in numbers if n not in found], read, places)
        names = [column.name for column in self._columns]
        texts = [values for values in found.values() if isinstance(values, StoredTexts)]
        for start, stop in pairwise(_edges(count, self._batch_rows, texts)):
            columns = [
                values.array(start, stop) if isinstance(values, StoredTexts) else values.slice(start, stop - start)
                for values in map(found.__getitem__, numbers)
            ]
            yield pa.StructArray.from_arrays(columns, names=names)

    def without_keys(
        self, runs: Runs, read: ReadPages, keys: IntegerSet
    ) -> tuple[pa.StructArray, npt.NDArray[np.int64]]:
        """The rows of ``runs`` of the only column whose values are no keys; their type is that of the keys.

        Returns
        -------
        pa.StructArray, int64[m]
            The second are the places among the rows ``runs`` of those that are left out, ascending.
        """
        (column,), places = self._columns, read.places(runs)
        if all(map(is_decoded, read.pages)):
            values, dropped = integers_without(keys.kind, column, read.pages, read.dictionary, places, keys.table)
            return pa.StructArray.from_arrays([values], names=[column.name]), dropped
        values = self._decoded([0], [read], [places])[0]
        dropped = keys.positions(values)
        return without_rows(pa.StructArray.from_arrays([values], names=[column.name]), dropped), dropped

    def _found(self, number: int, read: ReadPages, places: Runs) -> StoredTexts | pa.Array | None:
        """The rows of a column at ``places`` of its pages; None: Arrow has to decode them."""
        column, kind, pages = self._columns[number], self._kinds[number], read.pages
        if kind is None or not all(map(is_decoded, pages)):
            return None
        if kind not in _TEXTS:
            return fixed_width_values(kind, column, pages, read.dictionary, places)
        if column.name not in self._coded:
            return texts_of(kind, column, pages, read.dictionary, read.chosen(places))
        if read.dictionary is None or not all(page.has_codes for page in pages):
            return None
        return coded_values(column, pages, self._texts(number, kind, read.dictionary), places)

    def _texts(self, number: int, kind: pa.DataType, dictionary: StoredPage) -> pa.Array:
        """The texts of the dictionary of a column."""
        page, texts = self._dictionaries.get(number, (None, None))
        if page is not dictionary:
            texts = dictionary_texts(kind, dictionary, self._columns[number].codec)
            self._dictionaries[number] = dictionary, texts
        return texts

    def _decoded(
        self, numbers: Sequence[int], read: Sequence[ReadPages], places: Sequence[Runs]
    ) -> dict[int, pa.Array]:
        """The rows of some columns at ``places``, decoded by Arrow."""
        if not numbers:
            return {}
        columns = [self._columns[n] for n in numbers]
        parts = [(column, read[n].dictionary, read[n].pages) for n, column in zip(numbers, columns, strict=True)]
        pieces, size, counts = file_of_pages(self._footer, parts, self._arrow_schema(columns))
        memory = self._room(size)
        write_pieces(pieces, memory.data)
        coded = [column.name for column in columns if column.name in self._coded]
        file = open_parquet(pa.BufferReader(pa.py_buffer(memory[:size])), read_dictionary=coded)
        found = {}
        for at, (number, count) in enumerate(zip(numbers, counts, strict=True)):
            values = file.reader.read_column(at)
            if len(values) != count:
                raise pa.ArrowInvalid(f"{len(values)} values where the heads of pages count {count}")
            found[number] = _at_places(_in_one(values), places[number])
        return found

    def _room(self, size: int) -> npt.NDArray[np.uint8]:
        """Memory for a file, used again: the system clears new memory, which takes as long as decompressing does.

        Arrow copies what it decodes. If it ever did not, its arrays would hold on to the memory, and it were not used.
        """
        if len(self._memory) < size or sys.getrefcount(self._memory) > _OWN_REFERENCES:
            self._memory = np.empty(size + size // 4, np.uint8)
        return self._memory


def is_found(kind: pa.DataType, column: PageColumn) -> bool:
    """Whether values of an Arrow type are read from the pages of a column without Arrow."""
    return (kind in _TEXTS and column.physical_type == _BYTE_ARRAY) or is_fixed_width(kind, column)


def hold_rows(edges: npt.NDArray[np.int64], runs: Runs) -> npt.NDArray[np.bool_]:
    """bool[n]: which of the ranges of rows between two of ``edges`` (int64[n + 1]) hold a row of ``runs``."""
    ends = runs.ravel()  # a row is in a run if the number of those that are not above it is odd
    before = np.searchsorted(ends, edges[:-1], "right")
    return (before % 2 == 1) | (np.searchsorted(ends, edges[1:]) > before)


def cut_runs(runs: Runs, edges: npt.NDArray[np.int64]) -> list[Runs]:
    """The runs of each window between two of ``edges``, which ascend; windows without rows are left out."""
    windows, ends = [], runs.ravel()
    for start, stop in pairwise(edges.tolist()):
        first, last = np.searchsorted(ends, start, "right") // 2, (np.searchsorted(ends, stop) + 1) // 2
        if first < last:
            windows.append(np.clip(runs[first:last], start, stop))
    return windows


def _in_one(values: pa.ChunkedArray) -> pa.Array:
    found = values.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _at_places(values: pa.Array, places: Runs) -> pa.Array:
    if len(places) == 1:
        return values.slice(places[0, 0], places[0, 1] - places[0, 0])
    counts = places[:, 1] - places[:, 0]
    if counts.sum() > len(values) // 2:  # to copy what lies together takes half of the time, of few rows more
        mask = np.empty(len(values), np.uint8)
        mark_runs(places, mask)
        return rows_where(pa.StructArray.from_arrays([values], ["values"]), mask.view(bool)).field(0)
    shifts = places[:, 0] - np.cumsum(counts) + counts
    return values.take(pa.array(np.repeat(shifts, counts) + np.arange(counts.sum())))


def _edges(count: int, batch_rows: int, texts: Sequence[StoredTexts]) -> list[int]:
    """Where batches of ``count`` rows begin and end, by their rows and by the bytes of their texts."""
    edges = np.arange(0, count + batch_rows, batch_rows)
    for one in texts:
        if one.ends[-1] > _BATCH_BYTES:
            blocks = one.ends[:-1] // _BATCH_BYTES
            edges = np.union1d(edges, np.flatnonzero(np.diff(blocks)) + 1)
    return [*edges[edges < count].tolist(), count]
