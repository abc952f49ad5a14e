"""Rows of the pages of a row group, window by window: most columns are read from the pages, all others by Arrow.

Arrow decodes a column chunk from its first page on. So the pages that it decodes are put together as a file in memory
(:mod:`tableformats.io.parquet.page_files`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ....dataclass import dataclass
from ....io.parquet.data_pages import StoredPage
from ....io.parquet.fixed_width import coded_values, fixed_width_values, is_fixed_width
from ....io.parquet.page_files import file_of_pages, write_pieces
from ....io.parquet.page_values import is_decoded
from ....io.parquet.pages import PageColumn, PageFooter
from ....io.parquet.texts import StoredTexts, dictionary_texts, texts_of
from .data_file import BATCH_ROWS
from .footers import open_parquet

if TYPE_CHECKING:
    import numpy.typing as npt

    Runs = npt.NDArray[np.int64]
    Rows = range | npt.NDArray[np.int64]

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

    def picked(self, values: pa.Array, rows: Rows) -> pa.Array:
        """Some rows of the values of all pages."""
        if isinstance(rows, range):
            return values.slice(rows.start - int(self.starts[0]), len(rows))
        return values.take(pa.array(self._places(rows)))

    def chosen(self, rows: Rows) -> list[npt.NDArray[np.uint8] | None]:
        """Of each page, 1 for the rows that are wanted; None: all of its rows are."""
        mask = np.zeros(self.counts.sum(), np.uint8)
        if isinstance(rows, range):
            first = int(self.starts[0])
            mask[rows.start - first : rows.stop - first] = 1
        else:
            mask[self._places(rows)] = 1
        pages = np.split(mask, np.cumsum(self.counts)[:-1])
        return [None if page.all() else page for page in pages]

    def _places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where rows are among those of all pages."""
        before = np.cumsum(self.counts) - self.counts
        if (self.starts == before + self.starts[0]).all():  # no page is left out
            return rows - self.starts[0]
        page = np.searchsorted(self.starts, rows, "right") - 1
        return rows - (self.starts - before)[page]


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
    """

    def __init__(
        self,
        footer: PageFooter,
        columns: Sequence[PageColumn],
        kinds: Sequence[pa.DataType | None],
        coded: Sequence[str],
        arrow_schema: Callable[[Sequence[PageColumn]], bytes | None],
    ) -> None:
        self._footer, self._columns, self._coded, self._arrow_schema = footer, columns, coded, arrow_schema
        self._kinds = kinds
        self._memory = np.empty(0, np.uint8)
        self._dictionaries: dict[int, tuple[StoredPage, pa.Array]] = {}

    def of_runs(self, runs: Runs, read: Sequence[ReadPages]) -> Iterator[pa.StructArray]:
        """The rows of ``runs`` in pieces, of pages of each column that hold them.

        Raises ValueError and Arrow's errors: the pages are damaged.
        """
        rows = _rows_of(runs)
        found = {n: values for n, pages in enumerate(read) if (values := self._found(n, pages, rows)) is not None}
        numbers = range(len(self._columns))
        found |= self._decoded([n for n in numbers if n not in found], rows, read)
        names = [column.name for column in self._columns]
        texts = [values for values in found.values() if isinstance(values, StoredTexts)]
        for start, stop in pairwise(_edges(len(rows), texts)):
            columns = [
                values.array(start, stop) if isinstance(values, StoredTexts) else values.slice(start, stop - start)
                for values in map(found.__getitem__, numbers)
            ]
            yield pa.StructArray.from_arrays(columns, names=names)

    def _found(self, number: int, read: ReadPages, rows: Rows) -> StoredTexts | pa.Array | None:
        """Rows of a column that are read from the pages; None: Arrow has to decode them."""
        column, kind, pages = self._columns[number], self._kinds[number], read.pages
        if kind is None or not all(map(is_decoded, pages)):
            return None
        if kind not in _TEXTS:
            return read.picked(fixed_width_values(kind, column, pages, read.dictionary), rows)
        if column.name not in self._coded:
            return texts_of(kind, column, pages, read.dictionary, read.chosen(rows))
        if read.dictionary is None or not all(page.has_codes for page in pages):
            return None
        return read.picked(coded_values(column, pages, self._texts(number, kind, read.dictionary)), rows)

    def _texts(self, number: int, kind: pa.DataType, dictionary: StoredPage) -> pa.Array:
        """The texts of the dictionary of a column."""
        page, texts = self._dictionaries.get(number, (None, None))
        if page is not dictionary:
            texts = dictionary_texts(kind, dictionary, self._columns[number].codec)
            self._dictionaries[number] = dictionary, texts
        return texts

    def _decoded(self, numbers: Sequence[int], rows: Rows, read: Sequence[ReadPages]) -> dict[int, pa.Array]:
        """Rows of some columns, decoded by Arrow."""
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
            found[number] = read[number].picked(_in_one(values), rows)
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
    return np.searchsorted(runs[:, 1], edges[:-1], "right") < np.searchsorted(runs[:, 0], edges[1:])


def cut_runs(runs: Runs, edges: npt.NDArray[np.int64]) -> list[Runs]:
    """The runs of each window between two of ``edges``, which ascend; windows without rows are left out."""
    windows = []
    for start, stop in pairwise(edges.tolist()):
        first, last = np.searchsorted(runs[:, 1], start, "right"), np.searchsorted(runs[:, 0], stop, "left")
        if first < last:
            windows.append(np.clip(runs[first:last], start, stop))
    return windows


def _in_one(values: pa.ChunkedArray) -> pa.Array:
    found = values.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _rows_of(runs: Runs) -> Rows:
    """The rows of ``runs``, one after another."""
    if len(runs) == 1:
        return range(*runs[0].tolist())
    counts = runs[:, 1] - runs[:, 0]
    shifts = runs[:, 0] - np.cumsum(counts) + counts
    return np.repeat(shifts, counts) + np.arange(counts.sum())


def _edges(count: int, texts: Sequence[StoredTexts]) -> list[int]:
    """Where batches of ``count`` rows begin and end, by their rows and by the bytes of their texts."""
    edges = np.arange(0, count + BATCH_ROWS, BATCH_ROWS)
    for one in texts:
        if one.ends[-1] > _BATCH_BYTES:
            blocks = one.ends[:-1] // _BATCH_BYTES
            edges = np.union1d(edges, np.flatnonzero(np.diff(blocks)) + 1)
    return [*edges[edges < count].tolist(), count]
