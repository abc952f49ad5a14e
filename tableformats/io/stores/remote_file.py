"""A remote file with random access, for the readers of Arrow: small files are read whole, others by ranges.

The end of a file is read with the first request, because the footers of Parquet and ORC stand there. No request asks
for the size.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from .base import ObjectStore

__all__ = ["TAIL_BYTES", "RemoteFile"]

TAIL_BYTES = 1 << 16
BLOCK_BYTES = 1 << 18
"""What is read at least, in one request, when a reader goes forward in small steps."""


class RemoteFile(io.RawIOBase):
    """A file object over the ranges of one object.

    Parameters
    ----------
    store : ObjectStore
    path : str
        Absolute.
    tail : (memoryview, int)
        The last bytes of the file, and its size; see :meth:`ObjectStore.tail`.
    count : callable
        Called with the number of bytes of each request.
    """

    def __init__(
        self, store: ObjectStore, path: str, tail: tuple[memoryview, int], count: Callable[[int], None]
    ) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._count = count
        self._at = 0
        self._tail, self.size = tail
        self._tail_start = self.size - len(self._tail)
        self._block: memoryview = memoryview(b"")
        self._block_start = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        wanted = self.size - self._at if size is None or size < 0 else min(size, self.size - self._at)
        if wanted <= 0:
            return b""
        data = self._range(self._at, wanted)
        self._at += wanted
        return bytes(data)

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _range(self, start: int, length: int) -> memoryview:
        if start >= self._tail_start:
            return self._tail[start - self._tail_start :][:length]
        is_in_block = self._block_start <= start and start + length <= self._block_start + len(self._block)
        if not is_in_block:
            follows = start == self._block_start + len(self._block)  # two reads in a row: more will follow
            least = BLOCK_BYTES if follows else length
            data = self._store.get(self._path, start, min(max(length, least), self.size - start))
            self._count(len(data))
            if len(data) > BLOCK_BYTES:
                return data[:length]
            self._block, self._block_start = data, start
        return self._block[start - self._block_start :][:length]
