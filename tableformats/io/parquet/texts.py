"""Texts of data pages, without Arrow's decoder: it takes thrice as long as decompressing them does.

Texts that are wanted are copied one behind another. Where they have very many bytes, it is first seen where each one
is, and an array of some of them is made when it is asked for. Only columns at the top without repeated values are read
so, with texts that are PLAIN or codes of a dictionary.
Source: Parquet format, Encodings.md, "Data Pages".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...columnar.arrays import scratch
from ._rle import read_codes
from ._texts import coded_places, copy_texts, plain_places, plain_texts
from .data_pages import PLAIN, StoredPage, decompress
from .page_values import PlacedValues, check_dictionary, placed_values

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
        Bytes that hold texts, of a page or of a dictionary, and how many of the texts are in them.
    starts : int64[n]
        Where each text begins in the bytes that hold it.
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
    chosen: Mask | None,
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
    chosen : uint8[rows of the pages] or None
        1 for the rows that are wanted. None: all.

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
    parts = list(_parts(pages, column, entries, chosen))
    coded = sum(part.num_bytes for part in parts if isinstance(part, _CodedPart))
    if coded <= _MOST_CODED and sum(part.num_bytes for part in parts) <= _MOST_COPIED:
        return _copied(kind, parts)
    return _stored(kind, parts)


class _Part:
    """Neighbouring pages of the same encoding, and their texts that are wanted.

    Attributes
    ----------
    num_rows, count : int
        The rows of the pages, and how many are wanted.
    num_bytes : int
        How many bytes the texts have; of PLAIN pages, all of them.
    """

    num_bytes: int

    def __init__(self, pages: list[StoredPage], placed: PlacedValues, chosen: Mask | None) -> None:
        self._pages, self._placed, self._chosen = pages, placed, chosen
        self.num_rows = sum(page.rows for page in pages)
        self.count = self.num_rows if chosen is None else int(np.count_nonzero(chosen))
        has_nulls = int(placed.counts.sum()) < self.num_rows
        self._defined = placed.levels if has_nulls else None

    @property
    def defined(self) -> Mask | None:
        """uint8[count]: 0 for NULL. None: none is."""
        if self._defined is None or self._chosen is None:
            return self._defined
        return self._defined[self._chosen.view(bool)]

    def copy(self, offsets: npt.NDArray[np.int32], out: memoryview) -> None:
        """Copy the texts to ``out``, from ``offsets[0]`` on; the others of ``offsets`` (int32[count + 1]) are set."""
        raise NotImplementedError

    def places(self) -> Iterator[tuple[memoryview, Int64, Int64]]:
        """Bytes that hold some texts, where each of these begins (int64[n]), and their ends (int64[n + 1]), from 0."""
        raise NotImplementedError


class _PlainPart(_Part):
    """PLAIN pages."""

    def __init__(self, pages: list[StoredPage], placed: PlacedValues, chosen: Mask | None) -> None:
        super().__init__(pages, placed, chosen)
        stored = sum(map(len, placed.bodies)) - int(placed.starts.sum())
        self.num_bytes = max(stored - _LENGTH_BYTES * int(placed.counts.sum()), 0)

    def copy(self, offsets: npt.NDArray[np.int32], out: memoryview) -> None:
        plain_texts(self._pages, self._placed.starts, self._defined, self._chosen, offsets, out)

    def places(self) -> Iterator[tuple[memoryview, Int64, Int64]]:
        at = 0
        for page, body, first in zip(self._pages, self._placed.bodies, self._placed.starts.tolist(), strict=True):
            defined, chosen = (
                mask if mask is None else mask[at : at + page.rows] for mask in (self._defined, self._chosen)
            )
            count = page.rows if chosen is None else int(np.count_nonzero(chosen))
            starts, ends = np.empty(count, np.int64), np.zeros(count + 1, np.int64)
            plain_places(body[first:], page.rows, defined, chosen, starts, ends)
            yield body, starts + first, ends
            at += page.rows


class _CodedPart(_Part):
    """Pages of codes of a dictionary."""

    def __init__(
        self, pages: list[StoredPage], placed: PlacedValues, chosen: Mask | None, entries: _Dictionary | None
    ) -> None:
        super().__init__(pages, placed, chosen)
        if entries is None:
            raise ValueError("a page has codes, and its column chunk no dictionary")
        self._values = entries.values
        codes = scratch(int(placed.counts.sum()), np.uint32)
        edges = np.cumsum([0, *placed.counts]).tolist()
        for body, first, (start, stop) in zip(placed.bodies, placed.starts.tolist(), pairwise(edges), strict=True):
            read_codes(body[first:], codes[start:stop])
        self._starts, self._ends = scratch(self.count, np.int64), scratch(self.count + 1, np.int64)
        self._ends[0] = 0
        coded_places(
            codes, entries.starts, entries.ends, self.num_rows, self._defined, chosen, self._starts, self._ends
        )
        self.num_bytes = int(self._ends[-1])

    def copy(self, offsets: npt.NDArray[np.int32], out: memoryview) -> None:
        first = int(offsets[0])
        copy_texts(self._values, self._starts, self._ends, out[first : first + self.num_bytes])
        offsets[:] = self._ends + first

    def places(self) -> Iterator[tuple[memoryview, Int64, Int64]]:
        yield self._values, self._starts, self._ends


def _parts(
    pages: Sequence[StoredPage], column: Any, entries: _Dictionary | None, chosen: Mask | None
) -> Iterator[_Part]:
    at = 0
    for is_plain, group in groupby(pages, lambda page: page.encoding == PLAIN):
        some = list(group)
        stop = at + sum(page.rows for page in some)
        placed, wanted = placed_values(some, column), None if chosen is None else chosen[at:stop]
        yield _PlainPart(some, placed, wanted) if is_plain else _CodedPart(some, placed, wanted, entries)
        at = stop


def _copied(kind: pa.DataType, parts: Sequence[_Part]) -> CopiedTexts:
    """The texts of ``parts``, copied."""
    edges = np.cumsum([0, *(part.count for part in parts)]).tolist()
    offsets, size = pa.allocate_buffer((edges[-1] + 1) * _LENGTH_BYTES), sum(part.num_bytes for part in parts)
    are_most = edges[-1] >= _MOST_ROWS * sum(part.num_rows for part in parts)
    # Memory that is not written takes no time.
    data: Any = pa.allocate_buffer(size) if are_most else scratch(size, np.uint8)
    places, out = np.frombuffer(offsets, np.int32), memoryview(data).cast("B")
    places[0] = 0
    for part, (start, stop) in zip(parts, pairwise(edges), strict=True):
        part.copy(places[start : stop + 1], out)
    if not are_most:
        data = pa.py_buffer(data[: places[-1]].copy())
    validity, nulls, defined = None, 0, _defined(parts)
    if defined is not None and not defined.all():
        validity = pa.py_buffer(np.packbits(defined, bitorder="little"))
        nulls = len(defined) - int(np.count_nonzero(defined))
    return CopiedTexts(pa.Array.from_buffers(kind, edges[-1], [validity, offsets, data], nulls))


def _stored(kind: pa.DataType, parts: Sequence[_Part]) -> StoredTexts:
    """The texts of ``parts``, not copied."""
    values, starts, ends = zip(*(place for part in parts for place in part.places()), strict=True)
    before = np.cumsum([0, *(end[-1] for end in ends)])
    every_end = [end[1:] + shift for end, shift in zip(ends, before, strict=False)]
    stored = list(zip(values, map(len, starts), strict=True))
    return StoredTexts(
        kind, stored, np.concatenate(starts), np.concatenate([np.zeros(1, np.int64), *every_end]), _defined(parts)
    )


def _defined(parts: Sequence[_Part]) -> Mask | None:
    """uint8[n]: 0 for each text of ``parts`` that is NULL. None: none is."""
    found = [part.defined for part in parts]
    if all(mask is None for mask in found):
        return None
    masks = zip(parts, found, strict=True)
    return np.concatenate([np.ones(part.count, np.uint8) if mask is None else mask for part, mask in masks])


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
