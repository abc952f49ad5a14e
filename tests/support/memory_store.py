"""A store in memory that fails as real stores do: a test says which puts lose their answer, and which never land."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence

from tableformats.errors import StoreTimeoutError
from tableformats.io.storage import Storage
from tableformats.io.stores.base import FileInfo, ObjectStore, PutOutcome, Tail, TooLongError, past_the_end

ROOT = "s3://bucket/table"


class MemoryStore(ObjectStore):
    """``faults``: what happens to the next conditional puts, in turn; none left: they are answered.

    ``lost``: it lands, and nobody hears of it. ``taken``: it lands, and the client's second try is told that the file
    exists. ``dropped``: it never lands. ``refused``: it never lands, and the answer is that of a file that exists.
    """

    def __init__(self, faults: Sequence[str] = (), ignores_conditions: bool = False) -> None:
        self.files: dict[str, bytes] = {}
        self.faults = list(faults)
        self.ignores_conditions = ignores_conditions
        self.before_put: Callable[[str], None] = lambda path: None
        self.unreadable = False
        self.mtime_ms = 0

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        infos = [self.head(path) for path in sorted(self.files) if posixpath.dirname(path) == directory]
        yield [info for info in infos if start_after is None or info.name > start_after]

    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        yield [self.head(path) for path in sorted(self.files) if path.startswith(f"{directory}/")]

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        if self.unreadable:
            raise StoreTimeoutError("the store did not answer in time", path=path)
        data = self._data(path)
        stop = len(data) if length is None else offset + length
        if limit is not None and stop - offset > limit:
            raise TooLongError(stop - offset)
        if stop > len(data):
            raise past_the_end(path, offset, stop - offset, len(data))
        return memoryview(data)[offset:stop]

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        return [self.get(path, offset, length) for offset, length in ranges]

    def tail(self, path: str, length: int) -> Tail:
        data = self._data(path)
        return Tail(memoryview(data)[-length:], len(data))

    def head(self, path: str) -> FileInfo:
        return FileInfo(posixpath.basename(path), path, len(self._data(path)), self.mtime_ms)

    def has_files_below(self, directory: str) -> bool:
        return any(path.startswith(f"{directory}/") for path in self.files)

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = bytes(data)

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        self.before_put(path)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "dropped":
            return PutOutcome.UNKNOWN
        if fault == "refused":
            return PutOutcome.LOST
        if path in self.files and not self.ignores_conditions:
            return PutOutcome.UNKNOWN if fault == "lost" else PutOutcome.LOST
        self.files[path] = bytes(data)
        return {"lost": PutOutcome.UNKNOWN, "taken": PutOutcome.LOST}.get(fault, PutOutcome.WON)

    def delete(self, path: str) -> None:
        self.files.pop(path, None)

    def _data(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "There is no such file", path)
        return self.files[path]


def memory_storage(store: MemoryStore) -> Storage:
    """A storage of a table in ``store``, at :data:`ROOT`."""
    storage = Storage(ROOT)
    storage._stores["s3://bucket"] = store
    return storage
