"""Pages of a column chunk as they are stored: what their heads say, and their bytes before compression.

Nothing is believed of a head but what its bytes bear out: what contradicts itself raises ValueError. Snappy is
decompressed by cramjam, which takes two thirds of the time that Arrow takes; all other codecs by Arrow.
Sources: parquet.thrift, PageHeader; Parquet format, Compression.md.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from .._thrift import read_struct_at
from .._thrift_write import write_struct

__all__ = [
    "CODES",
    "DATA_PAGE",
    "DICTIONARY_PAGE",
    "PLAIN",
    "RLE",
    "UNCOMPRESSED",
    "StoredPage",
    "decompress_into",
    "decompressed",
    "decompresses_quickly",
]

Fields = dict[int, tuple[int, Any]]
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
PLAIN, RLE, CODES = 0, 3, (2, 8)
"""Encodings; CODES are those whose values are codes of the dictionary."""
UNCOMPRESSED, SNAPPY = 0, 1
_CODECS = {SNAPPY: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_FALSE, _I32 = 2, 5
_SIZE, _STORED_SIZE, _CHECKSUM = 2, 3, 4
_HEADS = {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}
_IS_COMPRESSED = 7
_MOST_SNAPPY = 24
"""How many bytes a byte of Snappy becomes at most: it makes 64 bytes of 3."""


class StoredPage:
    """A page of a column without repeated values.

    Parameters
    ----------
    head : dict
        Its PageHeader.
    stored : memoryview
        All of its bytes.
    start : int
        Where the bytes after the head begin.

    Raises
    ------
    ValueError
        The head lacks something.

    Attributes
    ----------
    kind : int
        DATA_PAGE, DATA_PAGE_V2 or DICTIONARY_PAGE.
    body : memoryview
        What follows the head.
    size : int
        The bytes of the body before compression.
    rows : int
        The values of the page, NULLs included.
    encoding, level_encoding : int
        Of the values, and of the definition levels.
    level_bytes, repetition_bytes : int
        How many bytes the levels of version 2 take, which are not compressed, and the first of them; else 0.
    """

    __slots__ = (
        *("_head", "_of_kind", "body", "encoding", "kind", "level_bytes", "level_encoding", "repetition_bytes", "rows"),
        *("_values", "size", "stored"),
    )

    def __init__(self, head: Fields, stored: memoryview, start: int) -> None:
        self.kind = _number(head, 1)
        key = _HEADS.get(self.kind)
        of_kind = head[key][1] if key in head else None
        if not isinstance(of_kind, dict):
            raise ValueError("a page is of another kind")
        self._head, self._of_kind, self.stored, self.body = head, of_kind, stored, stored[start:]
        self.size, self.rows = _number(head, _SIZE), _number(of_kind, 1)
        self.level_encoding, self.level_bytes, self.repetition_bytes = RLE, 0, 0
        self._values: memoryview | None = None
        if self.kind == DATA_PAGE_V2:
            self.encoding, self.repetition_bytes = _number(of_kind, 4), _number(of_kind, 6)
            self.level_bytes = _number(of_kind, 5) + self.repetition_bytes
            if self.level_bytes > min(len(self.body), self.size):
                raise ValueError("the levels of a page are longer than the page")
        else:
            self.encoding = _number(of_kind, 2)
            if self.kind == DATA_PAGE:
                self.level_encoding = _number(of_kind, 3)

    @classmethod
    def at(cls, stored: bytes, at: int) -> tuple[StoredPage, int]:
        """The page at an offset of ``stored``, and the offset after it. Raises ValueError."""
        head, start = read_struct_at(stored, at)
        stop = start + _number(head, _STORED_SIZE)
        if stop > len(stored):
            raise ValueError("a page ends after its column chunk")
        return cls(head, memoryview(stored)[at:stop], start - at), stop

    @property
    def has_codes(self) -> bool:
        """Whether its values are codes of the dictionary."""
        return self.encoding in CODES

    def is_compressed(self, codec: int) -> bool:
        """Whether what follows the levels is."""
        is_kept = self.kind == DATA_PAGE_V2 and self._of_kind.get(_IS_COMPRESSED, (0, True))[1] is False
        return codec != UNCOMPRESSED and not is_kept

    def values_size(self, codec: int) -> int:
        """The bytes before compression of what follows the levels. Raises ValueError: Snappy makes no such number."""
        stored = len(self.body) - self.level_bytes
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
        if self._values is None:
            stored, size = self.body[self.level_bytes :], self.values_size(codec)
            is_plain = not size or not self.is_compressed(codec)
            self._values = stored[:size] if is_plain else decompressed(codec, stored, size)
        return self._values

    def head_without_compression(self, codec: int) -> bytes:
        """The head that the page has when its body is stored uncompressed. Raises as :meth:`values_size` does."""
        head = {key: value for key, value in self._head.items() if key != _CHECKSUM}
        head[_SIZE] = head[_STORED_SIZE] = _I32, self.level_bytes + self.values_size(codec)
        if self.kind == DATA_PAGE_V2:
            of_kind = {**self._of_kind, _IS_COMPRESSED: (_FALSE, False)}
            head[_HEADS[DATA_PAGE_V2]] = head[_HEADS[DATA_PAGE_V2]][0], dict(sorted(of_kind.items()))
        return write_struct(dict(sorted(head.items())))


def decompresses_quickly(codec: int) -> bool:
    """Whether :func:`decompress_into` is faster than Arrow."""
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
    """uint8[size]: the bytes before compression.

    Raises
    ------
    ValueError
        They are others, or the codec is none that Arrow reads.
    """
    if decompresses_quickly(codec):
        found = memoryview(pa.allocate_buffer(size)).cast("B")
        decompress_into(stored, found)
        return found
    if codec not in _CODECS:
        raise ValueError(f"a column chunk has the unknown codec {codec}")
    try:
        return memoryview(pa.Codec(_CODECS[codec]).decompress(stored, size)).cast("B")
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


def _number(fields: Fields, key: int) -> int:
    """An integer that is not negative."""
    value = fields[key][1] if key in fields else None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a number is missing or negative")
    return value
