"""The bytes of an open Parquet file, and what its footer says beyond what pyarrow tells: pages and Bloom filters."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from ....io.parquet.pages import PageColumn, PageFooter, Read
from ....io.stores.remote_source import RemoteSource
from ....runtime.concurrency import cached_property

__all__ = ["FEWEST_REMOTE_BYTES", "PAGE_ERRORS", "StoredChunks"]

FEWEST_REMOTE_BYTES = 4 << 20
"""In a store an index takes one more request, in whose time so many bytes could be read."""
PAGE_ERRORS = (ValueError, KeyError, IndexError, TypeError, OverflowError, struct.error)
"""What a damaged description of pages or values raises. The rows can be read without it."""
_END_BYTES = 8
"""The size of the footer and the magic number, which follow it."""


class StoredChunks:
    """The column chunks of one open file, as stored.

    Parameters
    ----------
    source : pyarrow.NativeFile
    metadata : pyarrow.parquet.FileMetaData
        Of a footer whose column chunks are sound.
    """

    def __init__(self, source: pa.NativeFile, metadata: Any) -> None:
        self._source = source
        self.metadata = metadata
        self.is_remote = isinstance(source, RemoteSource)

    @cached_property
    def footer(self) -> PageFooter | None:
        """None: it is not read here, because it is long or malformed."""
        size, length = self._source.size(), self.metadata.serialized_size
        try:
            return PageFooter(bytes(self._source.read_at(length, size - length - _END_BYTES)), size)
        except PAGE_ERRORS:
            return None

    def column(self, group: int, leaf: int) -> PageColumn | None:
        """The chunk of a leaf column in a row group; None: it is not read here. Raises :data:`PAGE_ERRORS`."""
        return None if self.footer is None else self.footer.column(group, leaf)

    @contextmanager
    def reading(self, places: Sequence[tuple[int, int]]) -> Iterator[Read]:
        """What reads bytes at an offset, of these places (offset, length) at least."""
        with ExitStack() as stack:
            source = self._source
            if isinstance(source, RemoteSource):
                source = stack.enter_context(source.with_ranges(places))
            if isinstance(source, pa.OSFile) and hasattr(os, "preadv"):
                yield partial(_read_local, source.fileno())
            else:
                yield lambda offset, size: bytes(source.read_at(size, offset))


def _read_local(number: int, offset: int, size: int) -> memoryview:
    """The bytes of a file by its descriptor, in Arrow's memory.

    It is given out again at once when a block is dropped. That of Python's bytes goes back to the system, and each page
    of memory that comes from there takes a fault.
    """
    room = memoryview(pa.allocate_buffer(size)).cast("B")
    done = 0
    while done < size and (count := os.preadv(number, [room[done:]], offset + done)):
        done += count
    return room[:done]
