"""A store that lets a test see each request before it is done, and decide what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tableformats.io.stores.base import FileInfo, ObjectStore, PutOutcome, Tail

from ..support.memory_store import MemoryStore

__all__ = ["MUTATIONS", "Request", "WatchedStore"]

MUTATIONS = ("put", "put_if_absent", "delete")


@dataclass(frozen=True)
class Request:
    """One request: ``path`` is absolute, ``data`` what is put."""

    method: str
    path: str
    data: bytes = b""

    @property
    def is_mutation(self) -> bool:
        return self.method in MUTATIONS


Hook = Callable[[Request, Callable[[], Any]], Any]
"""Is given each request, and what does it; gives the answer."""


class WatchedStore(ObjectStore):
    """A store before another one. ``hook`` sees each request."""

    def __init__(self, inner: MemoryStore, hook: Hook) -> None:
        self.inner, self._hook = inner, hook

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        found = self._hook(Request("pages", directory), lambda: list(self.inner.pages(directory, start_after)))
        yield from found

    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        yield from self._hook(Request("pages", directory), lambda: list(self.inner.below(directory)))

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        return self._hook(Request("get", path), lambda: self.inner.get(path, offset, length, limit))  # type: ignore[no-any-return]

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        return self._hook(Request("get_ranges", path), lambda: self.inner.get_ranges(path, ranges))  # type: ignore[no-any-return]

    def tail(self, path: str, length: int) -> Tail:
        return self._hook(Request("tail", path), lambda: self.inner.tail(path, length))  # type: ignore[no-any-return]

    def head(self, path: str) -> FileInfo:
        return self._hook(Request("head", path), lambda: self.inner.head(path))  # type: ignore[no-any-return]

    def has_files_below(self, directory: str) -> bool:
        return self._hook(Request("has_files_below", directory), lambda: self.inner.has_files_below(directory))  # type: ignore[no-any-return]

    def put(self, path: str, data: bytes | memoryview) -> None:
        self._hook(Request("put", path, bytes(data)), lambda: self.inner.put(path, bytes(data)))

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        return self._hook(Request("put_if_absent", path, data), lambda: self.inner.put_if_absent(path, data))  # type: ignore[no-any-return]

    def delete(self, path: str) -> None:
        self._hook(Request("delete", path), lambda: self.inner.delete(path))
