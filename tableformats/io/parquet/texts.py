"""Texts of data pages, without Arrow's decoder: it takes thrice as long as decompressing them does.

Most texts of PLAIN pages are copied as they are found. Of others it is first seen where each text is, and an array of
some of them is made when it is asked for: what is not wanted is never copied. Only columns at the top without repeated
values are read so, with texts that are PLAIN or codes of a dictionary.
Source: Parquet format, Encodings.md, "Data Pages".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ._texts import coded_places, copy_texts, plain_places, plain_texts
from .data_pages import PLAIN, StoredPage, decompress
from .page_values import check_dictionary, codes_of, values_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Int64 = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.uint8]

__all__ = ["StoredTexts", "dictionary_texts", "texts_of"]

_LENGTH_BYTES = 4
_MOST_COPIED = 1 << 30
"""Texts of pages of more bytes are not copied at once: Arrow's offsets have 32 bits."""
_FEWEST_COPIED = 0.75
"""The share of the rows from which on PLAIN texts are copied at once: the memory has room for all of them."""


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
    """Some texts of PLAIN pages, copied.

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
    Cost: O(rows of the pages); 16 bytes for each chosen row, and the pages before compression.
    """
    entries = None
    if dictionary is not None and any(page.has_codes for page in pages):
        entries = _Dictionary(dictionary, column.codec)
    decompress(pages, column.codec)
    counts = [p.rows if one is None else int(np.count_nonzero(one)) for p, one in zip(pages, chosen, strict=True)]
    is_plain = all(page.encoding == PLAIN for page in pages)
    if is_plain and sum(counts) >= _FEWEST_COPIED * sum(page.rows for page in pages):
        if sum(len(page.values(column.codec)) for page in pages) <= _MOST_COPIED:
            return _copied(kind, column, pages, counts, chosen)
    starts, ends = np.empty(sum(counts), np.int64), np.zeros(sum(counts) + 1, np.int64)
    at, values, defined = 0, [], []
    for page, count, wanted in zip(pages, counts, chosen, strict=True):
        stop = at + count
        place = starts[at:stop], ends[at : stop + 1]
        found, levels = _read_page(page, column, entries, wanted, place)
        values.append((found, count))
        defined.append(np.ones(count, np.uint8) if levels is None else levels)
        at = stop
    return StoredTexts(kind, values, starts, ends, np.concatenate(defined) if column.is_optional else None)


def _copied(
    kind: pa.DataType, column: Any, pages: Sequence[StoredPage], counts: Sequence[int], chosen: Sequence[Mask | None]
) -> CopiedTexts:
    """Some texts of PLAIN pages: of each page so many."""
    edges = np.cumsum([0, *counts]).tolist()
    levels = [np.ones(page.rows, np.uint8) for page in pages]
    found = [values_of(page, column, part) for page, part in zip(pages, levels, strict=True)]
    offsets = pa.allocate_buffer((edges[-1] + 1) * _LENGTH_BYTES)
    data = pa.allocate_buffer(sum(max(len(values) - _LENGTH_BYTES * count, 0) for values, count in found))
    places, out = np.frombuffer(offsets, np.int32), memoryview(data).cast("B")
    places[0] = 0
    parts = zip(pages, levels, found, chosen, pairwise(edges), strict=True)
    for page, part, (values, count), wanted, (start, stop) in parts:
        plain_texts(values, page.rows, None if count == page.rows else part, wanted, places[start : stop + 1], out)
    defined = np.concatenate(
        [part if w is None else part[w.view(bool)] for part, w in zip(levels, chosen, strict=True)]
    )
    nulls = len(defined) - int(np.count_nonzero(defined))
    validity = pa.py_buffer(np.packbits(defined, bitorder="little")) if nulls else None
    return CopiedTexts(pa.Array.from_buffers(kind, edges[-1], [validity, offsets, data], nulls))


def _read_page(
    page: StoredPage, column: Any, entries: _Dictionary | None, wanted: Mask | None, place: tuple[Int64, Int64]
) -> tuple[memoryview, Mask | None]:
    """See where the wanted texts of a page are. The bytes that hold them, and which of them are no NULL; None: all."""
    levels = np.empty(page.rows, np.uint8)
    values, count = values_of(page, column, levels)
    defined = None if count == page.rows else levels
    if page.encoding == PLAIN:
        plain_places(values, page.rows, defined, wanted, *place)
    elif entries is None:
        raise ValueError("a page has codes, and its column chunk no dictionary")
    else:
        codes = codes_of(values, count)
        coded_places(codes, entries.starts, entries.ends, page.rows, defined, wanted, *place)
        values = entries.values
    return values, defined if defined is None or wanted is None else defined[wanted.view(bool)]


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
