"""Texts of data pages, without Arrow's decoder: it takes thrice as long as decompressing them does.

Texts that are wanted are copied one behind another. Where they have very many bytes, it is first seen where each one
is, and an array of some of them is made when it is asked for. Only columns at the top without repeated values are read
so, with texts that are PLAIN or codes of a dictionary.
Source: Parquet format, Encodings.md, "Data Pages".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...runtime.concurrency import cached_property
from ._texts import coded_places, copy_texts, plain_places, plain_texts
from .data_pages import PLAIN, StoredPage, decompress
from .page_values import check_dictionary, codes_of, values_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Int64 = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.uint8]

__all__ = ["StoredTexts", "dictionary_texts", "texts_of"]

_LENGTH_BYTES = 4
_MOST_COPIED, _MOST_CODED = 1 << 30, 8 << 20
"""Texts of more bytes are not copied at once: Arrow's offsets have 32 bits; a few codes may stand for long texts."""
_MOST_ROWS = 0.75
"""The share of the rows from which on the memory for all texts of PLAIN pages is kept for those that are wanted."""


class StoredTexts:
    """Some texts of a column chunk, as they are stored.

    Parameters
    ----------
    kind : pa.DataType
        string or binary.
    pages : sequence of (memoryview, int)
        Of each page the bytes that hold its texts, and how many these are.
    starts : int64[n]
        Where each text begins in the bytes of its page.
    ends : int64[n + 1]
        The bytes of the texts up to the end of each one, from 0 on.
    defined : uint8[n] or None
        0 for NULL. None: none is.
    """

    def __init__(
        self,
        kind: pa.DataType,
        pages: Sequence[tuple[memoryview, int]],
        starts: Int64,
        ends: Int64,
        defined: Mask | None,
    ) -> None:
        self._kind, self._starts, self.ends, self._defined = kind, starts, ends, defined
        self._values = [values for values, _ in pages]
        self._firsts = np.cumsum([0, *(count for _, count in pages)])

    def array(self, start: int, stop: int) -> pa.Array:
        """The texts from ``start`` to below ``stop``, which have less than 2 GiB."""
        offsets = (self.ends[start : stop + 1] - self.ends[start]).astype(np.int32)
        data = pa.allocate_buffer(int(offsets[-1]))
        out = memoryview(data).cast("B")
        for values, first, after in zip(self._values, self._firsts, self._firsts[1:], strict=False):
            here, end = max(start, int(first)), min(stop, int(after))
            if here < end:
                room = slice(int(offsets[here - start]), int(offsets[end - start]))
                copy_texts(values, self._starts[here:end], self.ends[here : end + 1], out[room])
        buffers = [self._validity(start, stop), pa.py_buffer(offsets), data]
        return pa.Array.from_buffers(self._kind, stop - start, buffers)

    def _validity(self, start: int, stop: int) -> pa.Buffer | None:
        if self._defined is None or (part := self._defined[start:stop]).all():
            return None
        return pa.py_buffer(np.packbits(part, bitorder="little"))


class CopiedTexts(StoredTexts):
    """Some texts of a column chunk, copied.

    Parameters
    ----------
    texts : pa.Array
        Without an offset.
    """

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        self.ends = np.frombuffer(texts.buffers()[1], np.int32)

    def array(self, start: int, stop: int) -> pa.Array:
        """The texts from ``start`` to below ``stop``."""
        return self._texts.slice(start, stop - start)


def texts_of(
    kind: pa.DataType,
    column: Any,
    pages: Sequence[StoredPage],
    dictionary: StoredPage | None,
    chosen: Sequence[Mask | None],
) -> StoredTexts:
    """Some texts of pages that are decoded here (:func:`.page_values.is_decoded`).

    Parameters
    ----------
    kind : pa.DataType
        string or binary.
    column : PageColumn
    pages : sequence of StoredPage
        One at least.
    dictionary : StoredPage or None
        The chunk's dictionary page, if it has one.
    chosen : sequence of uint8[rows] or None
        Of each page, 1 for the rows that are wanted. None: all.

    Raises
    ------
    ValueError
        The pages are damaged.

    Notes
    -----
    Cost: O(rows of the pages); the texts, and 16 bytes for each chosen row of a page of codes, and the pages before
    compression.
    """
    entries = None
    if dictionary is not None and any(page.has_codes for page in pages):
        entries = _Dictionary(dictionary, column.codec)
    decompress(pages, column.codec)
    found = [_Page(page, column, entries, wanted) for page, wanted in zip(pages, chosen, strict=True)]
    coded = sum(page.num_bytes for page in found if page.has_places)
    if coded <= _MOST_CODED and sum(page.num_bytes for page in found) <= _MOST_COPIED:
        return _copied(kind, found, column.is_optional)
    return _stored(kind, found, column.is_optional)


class _Page:
    """A page and its texts that are wanted.

    Attributes
    ----------
    num_rows, count : int
        The rows of the page, and how many are wanted.
    values : memoryview
        The bytes that hold them.
    num_bytes : int
        How many bytes they have; of a PLAIN page, all of its texts.
    has_places : bool
        Whether it is known where each text is.
    defined : uint8[count] or None
        0 for NULL. None: none is.
    """

    def __init__(self, page: StoredPage, column: Any, entries: _Dictionary | None, wanted: Mask | None) -> None:
        levels = np.empty(page.rows, np.uint8)
        self.values, present = values_of(page, column, levels)
        self.num_rows, self._wanted = page.rows, wanted
        self._defined = None if present == page.rows else levels
        self.count = page.rows if wanted is None else int(np.count_nonzero(wanted))
        self.has_places = page.encoding != PLAIN
        if not self.has_places:
            self.num_bytes = max(len(self.values) - _LENGTH_BYTES * present, 0)
            return
        if entries is None:
            raise ValueError("a page has codes, and its column chunk no dictionary")
        self._codes, self._entries = codes_of(self.values, present), entries
        self.values = entries.values
        self.num_bytes = int(self.places[1][-1])

    @cached_property
    def places(self) -> tuple[Int64, Int64]:
        """int64[count], int64[count + 1]: where the texts begin in :attr:`values`, and their ends one after another."""
        starts, ends = np.empty(self.count, np.int64), np.zeros(self.count + 1, np.int64)
        if self.has_places:
            entries = self._entries
            coded_places(
                self._codes, entries.starts, entries.ends, self.num_rows, self._defined, self._wanted, starts, ends
            )
        else:
            plain_places(self.values, self.num_rows, self._defined, self._wanted, starts, ends)
        return starts, ends

    def copy(self, offsets: npt.NDArray[np.int32], out: memoryview) -> None:
        """Copy the texts to ``out``, from ``offsets[0]`` on; the others of ``offsets`` (int32[count + 1]) are set."""
        if not self.has_places:
            plain_texts(self.values, self.num_rows, self._defined, self._wanted, offsets, out)
            return
        starts, ends = self.places
        first = int(offsets[0])
        copy_texts(self.values, starts, ends, out[first : first + self.num_bytes])
        offsets[:] = ends + first

    @property
    def defined(self) -> Mask | None:
        if self._defined is None or self._wanted is None:
            return self._defined
        return self._defined[self._wanted.view(bool)]


def _copied(kind: pa.DataType, pages: Sequence[_Page], is_optional: bool) -> CopiedTexts:
    """The texts of ``pages``, copied."""
    edges = np.cumsum([0, *(page.count for page in pages)]).tolist()
    offsets, size = pa.allocate_buffer((edges[-1] + 1) * _LENGTH_BYTES), sum(page.num_bytes for page in pages)
    are_most = edges[-1] >= _MOST_ROWS * sum(page.num_rows for page in pages)
    # Memory that is not written takes no time.
    data: Any = pa.allocate_buffer(size) if are_most else np.empty(size, np.uint8)
    places, out = np.frombuffer(offsets, np.int32), memoryview(data).cast("B")
    places[0] = 0
    for page, (start, stop) in zip(pages, pairwise(edges), strict=True):
        page.copy(places[start : stop + 1], out)
    if not are_most:
        data = pa.py_buffer(data[: places[-1]].copy())
    defined = _defined(pages) if is_optional else None
    validity, nulls = None, 0
    if defined is not None and not defined.all():
        validity = pa.py_buffer(np.packbits(defined, bitorder="little"))
        nulls = len(defined) - int(np.count_nonzero(defined))
    return CopiedTexts(pa.Array.from_buffers(kind, edges[-1], [validity, offsets, data], nulls))


def _stored(kind: pa.DataType, pages: Sequence[_Page], is_optional: bool) -> StoredTexts:
    """The texts of ``pages``, not copied."""
    starts = np.concatenate([page.places[0] for page in pages])
    sizes = np.cumsum([0, *(page.places[1][-1] for page in pages)])
    ends = [page.places[1][1:] + before for page, before in zip(pages, sizes, strict=False)]
    defined = _defined(pages) if is_optional else None
    stored = [(page.values, page.count) for page in pages]
    return StoredTexts(kind, stored, starts, np.concatenate([np.zeros(1, np.int64), *ends]), defined)


def _defined(pages: Sequence[_Page]) -> Mask | None:
    """uint8[n]: 0 for each text of ``pages`` that is NULL. None: none is."""
    found = [page.defined for page in pages]
    if all(part is None for part in found):
        return None
    parts = zip(pages, found, strict=True)
    return np.concatenate([np.ones(page.count, np.uint8) if part is None else part for page, part in parts])


def dictionary_texts(kind: pa.DataType, page: StoredPage, codec: int) -> pa.Array:
    """The texts of a dictionary page, as string or binary. Raises ValueError: it is damaged."""
    entries = _Dictionary(page, codec)
    return StoredTexts(kind, [(entries.values, page.rows)], entries.starts, entries.ends, None).array(0, page.rows)


class _Dictionary:
    """Where the texts of a dictionary are."""

    def __init__(self, page: StoredPage, codec: int) -> None:
        check_dictionary(page)
        self.values = page.values(codec)
        if page.rows * _LENGTH_BYTES > len(self.values):
            raise ValueError("a dictionary has more texts than its bytes hold")
        self.starts, self.ends = np.empty(page.rows, np.int64), np.zeros(page.rows + 1, np.int64)
        plain_places(self.values, page.rows, None, None, self.starts, self.ends)
