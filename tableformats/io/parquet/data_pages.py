"""Pages of a column chunk as they are stored: what their heads say, and their bytes before compression.

Nothing is believed of a head but what its bytes bear out: what contradicts itself raises ValueError. Snappy is
decompressed by cramjam, which takes two thirds of the time that Arrow takes, and ZSTD by Arrow. Both tell where a page
has another size than its head says. For other codecs Arrow does not, and gives memory as it was: they are not read
here. Sources: parquet.thrift, PageHeader; Parquet format, Compression.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa

from .._thrift import read_struct_at
from .._thrift_write import write_struct
from ._page_heads import PageHead
from ._page_values import decompress_pages

__all__ = [
    "CODES",
    "DATA_PAGE",
    "DICTIONARY_PAGE",
    "PLAIN",
    "RLE",
    "UNCOMPRESSED",
    "StoredPage",
    "decompress",
    "decompress_into",
    "decompressed",
    "decompresses",
    "decompresses_quickly",
    "decompression_errors",
    "decompressor",
]

Fields = dict[int, tuple[int, Any]]
Into = Callable[[memoryview, memoryview], int]
"""Takes stored bytes and where these go before compression; returns how many bytes it made."""
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
PLAIN, RLE, CODES = 0, 3, (2, 8)
"""Encodings; CODES are those whose values are codes of the dictionary."""
UNCOMPRESSED, SNAPPY, ZSTD = 0, 1, 6
_FALSE, _I32 = 2, 5
_SIZE, _STORED_SIZE, _CHECKSUM = 2, 3, 4
_HEAD_V2, _IS_COMPRESSED = 8, 7
_MOST_SNAPPY = 24
"""How many bytes a byte of Snappy becomes at most: it makes 64 bytes of 3."""


class StoredPage(PageHead):
    """A page of a column without repeated values; see :class:`PageHead`."""

    __slots__ = ()

    @property
    def stored(self) -> memoryview:
        """All of its bytes."""
        return memoryview(self.block)[self.start : self.stop]

    @property
    def body(self) -> memoryview:
        """What follows the head."""
        return memoryview(self.block)[self.body_start : self.stop]

    @property
    def has_codes(self) -> bool:
        """Whether its values are codes of the dictionary."""
        return self.encoding in CODES

    def is_compressed(self, codec: int) -> bool:
        """Whether what follows the levels is."""
        return codec != UNCOMPRESSED and not self.is_stored_plain

    def values_size(self, codec: int) -> int:
        """The bytes before compression of what follows the levels. Raises ValueError: Snappy makes no such number."""
        stored = self.stop - self.body_start - self.level_bytes
        if not self.is_compressed(codec):
            return stored
        found = self.size - self.level_bytes
        if codec == SNAPPY and found > _MOST_SNAPPY * stored:
            raise ValueError(f"{stored} bytes of Snappy do not become {found}")
        return found

    def values(self, codec: int) -> memoryview:
        """uint8[n]: what follows the levels that are not compressed. Raises as :func:`decompressed` does.

        It is kept, as the last page of some rows is often the first one of the next.
        """
        if self.cached is None:
            decompress((self,), codec)
        return self.cached  # type: ignore[return-value]

    def head_without_compression(self, codec: int) -> bytes:
        """The head that the page has when its body is stored uncompressed. Raises as :meth:`values_size` does."""
        head, _ = read_struct_at(self.block, self.start)
        head.pop(_CHECKSUM, None)
        head[_SIZE] = head[_STORED_SIZE] = _I32, self.level_bytes + self.values_size(codec)
        if self.kind == DATA_PAGE_V2:
            kind, of_kind = head[_HEAD_V2]
            head[_HEAD_V2] = kind, dict(sorted({**of_kind, _IS_COMPRESSED: (_FALSE, False)}.items()))
        return write_struct(dict(sorted(head.items())))


def decompress(pages: Sequence[StoredPage], codec: int) -> None:
    """Make ``values`` of pages, if they are not kept. Raises as :func:`decompressed` does."""
    compressed = _without_compression(pages, codec)
    if decompresses_quickly(codec):
        room = memoryview(pa.allocate_buffer(sum(page.size - page.level_bytes for page in compressed))).cast("B")
        with decompression_errors():
            decompress_pages(compressed, _snappy().decompress_raw_into, room)
    else:
        for page in compressed:
            body = page.body[page.level_bytes :]
            page.cached = decompressed(codec, body, page.values_size(codec))


def decompressor(pages: Sequence[StoredPage], codec: int) -> Into | None:
    """What a kernel decompresses ``pages`` with, one after another, without keeping them. None: all are kept.

    The last page is kept, as it is often the first one of the next rows. Raises as :func:`decompressed` does, and what
    is returned raises what :func:`decompression_errors` expects.
    """
    if not decompresses_quickly(codec):
        decompress(pages, codec)
        return None
    _without_compression(pages, codec)
    decompress(pages[-1:], codec)
    return _snappy().decompress_raw_into  # type: ignore[no-any-return]


def _without_compression(pages: Sequence[StoredPage], codec: int) -> list[StoredPage]:
    """Make ``values`` of the pages that are stored as they are; returns the others for which they are not kept."""
    compressed = []
    for page in pages:
        if page.cached is None:
            size = page.values_size(codec)
            if page.is_compressed(codec) and size:
                compressed.append(page)
            else:
                start = page.body_start + page.level_bytes
                page.cached = memoryview(page.block)[start : start + size]
    return compressed


@contextmanager
def decompression_errors() -> Iterator[None]:
    """Raise what Snappy raises as ValueError."""
    try:
        yield
    except Exception as error:
        if _snappy() is None or not isinstance(error, _snappy_error()):
            raise
        raise ValueError(f"a page cannot be decompressed: {error}") from error


def decompresses(codec: int) -> bool:
    """Whether :func:`decompress` knows a codec."""
    return codec in (UNCOMPRESSED, ZSTD) or decompresses_quickly(codec)


def decompresses_quickly(codec: int) -> bool:
    """Whether :func:`decompress` and :func:`decompress_into` are faster than Arrow."""
    return codec == SNAPPY and _snappy() is not None


def decompress_into(stored: memoryview, out: memoryview) -> None:
    """Fill ``out`` (uint8[n]) with what ``stored`` is in Snappy; where :func:`decompresses_quickly`.

    Raises ValueError: it is none, or of another length.
    """
    try:
        count = _snappy().decompress_raw_into(stored, out)
    except _snappy_error() as error:
        raise ValueError(f"a page cannot be decompressed: {error}") from error
    if count != len(out):
        raise ValueError(f"a page has {count} bytes where its head says {len(out)}")


def decompressed(codec: int, stored: memoryview, size: int) -> memoryview:
    """uint8[size]: what ``stored`` is before compression in ZSTD, by Arrow.

    Raises
    ------
    ValueError
        It is something else, or the codec is another one.
    """
    if codec != ZSTD:
        raise ValueError(f"pages in the codec {codec} are not read")
    try:
        return memoryview(pa.Codec("zstd").decompress(stored, size)).cast("B")
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"a page cannot be decompressed: {error}") from error


@cache
def _snappy() -> Any:
    """cramjam's Snappy; None where it is not installed."""
    try:
        from cramjam import snappy
    except ImportError:
        return None
    return snappy


def _snappy_error() -> type[Exception]:
    from cramjam import DecompressionError

    return DecompressionError  # type: ignore[no-any-return]
