"""A remote file with random access, for the readers of Arrow: small files are read whole, others by ranges.

The end of a file is read with the first request, because the footers of Parquet and ORC stand there. No request asks
for the size. A reader that knows which ranges it needs has them read together (:meth:`RemoteFile.with_ranges`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable
from functools import partial

from ...runtime.io_threads import ReadAhead, Request, on_thread
from .base import ObjectStore, Tail

__all__ = ["TAIL_BYTES", "RemoteFile", "tail_bytes"]

TAIL_BYTES = 1 << 16
SMALL_FILE_BYTES = 1 << 20
"""A file of at most so many bytes is read whole: that takes less time than to ask for a part of it afterwards."""
BLOCK_BYTES = 1 << 18
"""What is read at least, in one request, when a reader goes forward in small steps."""
HOLE_BYTES = 1 << 18
"""Two ranges with fewer bytes between them are read by one request."""
PIECE_BYTES = 8 << 20
"""A longer range is read by several requests at once."""


def tail_bytes(size: int) -> int:
    """How many bytes of a file's end to read first, where the metadata say that it has ``size`` (0: they do not)."""
    return size if 0 < size <= SMALL_FILE_BYTES else TAIL_BYTES


class RemoteFile(io.RawIOBase):
    """A file object over the ranges of one object.

    Parameters
    ----------
    store : ObjectStore
    path : str
        Absolute.
    tail : Tail
        The last bytes of the file, and its size; see :meth:`ObjectStore.tail`. Where it has an ETag, all that is read
        is of the file that had it.
    count : callable
        Called with the number of bytes of each request.
    ranges : iterable of (int, int)
        Offset and length of what will be read, in that order. It is being read from now on, until the file is closed.
    """

    def __init__(
        self,
        store: ObjectStore,
        path: str,
        tail: Tail,
        count: Callable[[int], None],
        ranges: Iterable[tuple[int, int]] = (),
    ) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._count = count
        self._at = 0
        self._tail, self.size, self.etag = tail
        self._tail_start = self.size - len(self._tail)
        self._block: memoryview = memoryview(b"")
        self._block_start = 0
        self._pieces = _pieces(ranges, self._tail_start)
        self._read: dict[int, memoryview] = {}
        most = store.concurrency
        wanted: dict[Hashable, Request[memoryview]] = {
            start: (stop - start, partial(on_thread, partial(self._get, start, stop - start), most.threads))
            for start, stop in self._pieces
        }
        self._ahead = ReadAhead(wanted, most.large, most.small)

    def with_ranges(self, ranges: Iterable[tuple[int, int]]) -> RemoteFile:
        """The same file, with other ranges that are being read."""
        return RemoteFile(self._store, self._path, Tail(self._tail, self.size, self.etag), self._count, ranges)

    def close(self) -> None:
        if not self.closed:
            self._ahead.close()
            self._read.clear()
        super().close()

    def _get(self, start: int, length: int) -> memoryview:
        data = self._store.get(self._path, start, length, etag=self.etag)
        self._count(len(data))
        return data

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
        return bytes(self.read_buffer(size))

    def read_buffer(self, size: int | None = -1) -> memoryview:
        """:meth:`read` without a copy; Arrow calls it where there is one."""
        wanted = self.size - self._at if size is None or size < 0 else min(size, self.size - self._at)
        if wanted <= 0:
            return memoryview(b"")
        data = self._range(self._at, wanted)
        self._at += wanted
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read_buffer(len(view))
        view[: len(data)] = data
        return len(data)

    def _range(self, start: int, length: int) -> memoryview:
        if start >= self._tail_start:
            return self._tail[start - self._tail_start :][:length]
        if (found := self._piece_with(start, length)) is not None:
            return found
        is_in_block = self._block_start <= start and start + length <= self._block_start + len(self._block)
        if not is_in_block:
            follows = start == self._block_start + len(self._block)  # two reads in a row: more will follow
            least = BLOCK_BYTES if follows else length
            data = self._get(start, min(max(length, least), self.size - start))
            if len(data) > BLOCK_BYTES:
                return data[:length]
            self._block, self._block_start = data, start
        return self._block[start - self._block_start :][:length]

    def _piece_with(self, start: int, length: int) -> memoryview | None:
        """The bytes of a range that is being read; None: it is not, or only a part of it is."""
        stop, parts = start + length, []
        for first, last in self._pieces:
            if first < stop and start < last:
                if first not in self._read:
                    future = self._ahead.take(first)
                    self._read[first] = self._get(first, last - first) if future is None else future.result()
                parts.append(self._read[first][max(start - first, 0) : stop - first])
        parts.append(self._tail[: max(stop - self._tail_start, 0)])
        if sum(map(len, parts)) != length:
            return None
        return parts[0] if len(parts[0]) == length else memoryview(b"".join(parts))


def _pieces(ranges: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """(first, last) of the requests for ``ranges`` (offset, length) before ``end``: joined over holes, and cut.

    A range of up to twice :data:`PIECE_BYTES` is in one piece, so that nobody has to put it together from several.
    """
    pieces: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        stop = min(start + length, end)
        if start < 0 or stop <= start:
            continue
        if pieces and start - pieces[-1][1] <= HOLE_BYTES:
            first, last = pieces[-1]
            if stop <= last:
                continue
            if stop - first <= PIECE_BYTES:
                pieces[-1] = first, stop
                continue
            start = max(start, last)
        step = stop - start if stop - start <= 2 * PIECE_BYTES else PIECE_BYTES
        pieces += [(at, min(at + step, stop)) for at in range(start, stop, step)]
    return pieces
