"""A remote file as a file of Arrow: each thread that reads ranges of it has one of its own, so that none waits.

Arrow reads a Python file under a lock.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from .base import Tail
from .remote_file import RemoteFile

__all__ = ["RemoteSource"]


class RemoteSource(pa.PythonFile):
    """A :class:`RemoteFile` for Arrow."""

    def __init__(self, file: RemoteFile) -> None:  # Arrow's part is made by __new__, with the same arguments
        self._file = file

    @property
    def identity(self) -> Tail | None:
        """What a later opening needs to read the same content: its size and ETag. None: it has no ETag."""
        return None if self._file.etag is None else Tail(memoryview(b""), self._file.size, self._file.etag)

    def with_ranges(self, ranges: Iterable[tuple[int, int]]) -> RemoteSource:
        """The same file for one more thread, with ranges that are being read until it is closed."""
        return RemoteSource(self._file.with_ranges(ranges))
