"""Rows of the pages of a row group, window by window: texts are found in the pages, all other columns decoded by Arrow.

Arrow decodes a column chunk from its first page on. So the pages that are wanted are put together as a file in memory,
which Arrow decodes (:mod:`tableformats.io.parquet.page_files`).
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
from ....io.parquet.page_files import file_of_pages, write_pieces
from ....io.parquet.pages import PageColumn, PageFooter
from ....io.parquet.texts import StoredTexts, are_texts, texts_of
from .data_file import BATCH_ROWS
from .footers import open_parquet

if TYPE_CHECKING:
    import numpy.typing as npt

    Runs = npt.NDArray[np.int64]
    Rows = range | npt.NDArray[np.int64]

__all__ = ["PageRows", "ReadPages", "cut_runs"]

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

    def picked(self, values: pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Some rows of the values of all pages."""
        if isinstance(rows, range):
            values = values.slice(rows.start - int(self.starts[0]), len(rows))
        else:
            values = values.take(pa.array(self._places(rows)))
        found = values.combine_chunks()
        return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found

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
    texts : sequence of pa.DataType or None
        For each column string or binary, where its texts are found in the pages. None: Arrow decodes it.
    coded : sequence of str
        The names of columns that Arrow reads as dictionary arrays.
    arrow_schema : callable
        The part of the stored Arrow schema for some columns; see :func:`file_of_pages`.
    """

    def __init__(
        self,
        footer: PageFooter,
        columns: Sequence[PageColumn],
        texts: Sequence[pa.DataType | None],
        coded: Sequence[str],
        arrow_schema: Callable[[Sequence[PageColumn]], bytes | None],
    ) -> None:
        self._footer, self._columns, self._coded, self._arrow_schema = footer, columns, coded, arrow_schema
        self._texts = texts
        self._memory = np.empty(0, np.uint8)

    def of_runs(self, runs: Runs, read: Sequence[ReadPages]) -> Iterator[pa.StructArray]:
        """The rows of ``runs`` in pieces, of pages of each column that hold them.

        Raises ValueError and Arrow's errors: the pages are damaged.
        """
        texts: dict[int, StoredTexts] = {}
        rows = _rows_of(runs)
        for number, (column, kind, found) in enumerate(zip(self._columns, self._texts, read, strict=True)):
            if kind is not None and are_texts(column, found.pages):
                texts[number] = texts_of(kind, column, found.pages, found.dictionary, found.chosen(rows))
        arrays = self._decoded([n for n in range(len(self._columns)) if n not in texts], rows, read)
        names = [column.name for column in self._columns]
        for start, stop in pairwise(_edges(len(rows), list(texts.values()))):
            columns = [
                texts[n].array(start, stop) if n in texts else arrays[n].slice(start, stop - start)
                for n in range(len(self._columns))
            ]
            yield pa.StructArray.from_arrays(columns, names=names)

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
            found[number] = read[number].picked(values, rows)
        return found

    def _room(self, size: int) -> npt.NDArray[np.uint8]:
        """Memory for a file, used again: the system clears new memory, which takes as long as decompressing does.

        Arrow copies what it decodes. If it ever did not, its arrays would hold on to the memory, and it were not used.
        """
        if len(self._memory) < size or sys.getrefcount(self._memory) > _OWN_REFERENCES:
            self._memory = np.empty(size + size // 4, np.uint8)
        return self._memory


def cut_runs(runs: Runs, edges: npt.NDArray[np.int64]) -> list[Runs]:
    """The runs of each window between two of ``edges``, which ascend; windows without rows are left out."""
    windows = []
    for start, stop in pairwise(edges.tolist()):
        first, last = np.searchsorted(runs[:, 1], start, "right"), np.searchsorted(runs[:, 0], stop, "left")
        if first < last:
            windows.append(np.clip(runs[first:last], start, stop))
    return windows


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
