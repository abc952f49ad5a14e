"""Credentials that expire: they are renewed before they do, while a table is open and in the middle of a scan.

:class:`RenewedOptions` knows the options of now and asks for others in time. :class:`RenewingStore` is a store that is
opened again with them. Requests that are on their way end with the credentials that they began with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...errors import StorePermissionError, TableFormatsError
from .base import Concurrency, FileInfo, ObjectStore, PutOutcome, Tail

__all__ = ["RenewedOptions", "RenewingStore"]

Found = TypeVar("Found")
Renewed = tuple[Mapping[str, Any], "int | None"]
"""Options, and when they expire: milliseconds since the epoch, None where nobody knows."""

_MARGIN_MS = 300_000
"""Credentials are renewed so long before they expire; of a short life, when a fifth of it is left."""
_PAUSE_MS = 10_000
"""After a renewal that failed, the next one is tried so much later, while the old credentials still hold."""


class RenewedOptions:
    """Options of a store with credentials that expire.

    Parameters
    ----------
    options : mapping
        ``storage_options``.
    expires_at_ms : int or None
        Milliseconds since the epoch. None: nobody knows; they are renewed when the store says that they expired.
    renew : callable
        Gives new options and when these expire. What it raises is raised once the old ones have expired.
    clock : callable
        Seconds since the epoch.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        expires_at_ms: int | None,
        renew: Callable[[], Renewed],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._renew = renew
        self._clock = clock
        self._lock = threading.Lock()
        self._generation = 0
        self._take((options, expires_at_ms))

    def __repr__(self) -> str:
        return f"RenewedOptions(generation={self._generation})"

    def _take(self, found: Renewed) -> None:
        self._options, self._expires_at_ms = dict(found[0]), found[1]
        self._renew_at_ms: float | None = None
        if self._expires_at_ms is not None:
            life = max(self._expires_at_ms - self._now(), 0)
            self._renew_at_ms = self._expires_at_ms - min(_MARGIN_MS, life / 5)

    def _now(self) -> float:
        return self._clock() * 1000

    def current(self) -> tuple[int, dict[str, Any]]:
        """The options that hold now, and which renewal gave them. Raises what ``renew`` raises."""
        if self._renew_at_ms is None or self._now() < self._renew_at_ms:
            return self._generation, self._options
        has_expired = self._now() >= (self._expires_at_ms or 0)
        if self._lock.acquire(blocking=has_expired):  # others go on with the old ones while they hold
            try:
                if self._renew_at_ms is not None and self._now() >= self._renew_at_ms:
                    self._ask(has_expired)
            finally:
                self._lock.release()
        return self._generation, self._options

    def _ask(self, has_expired: bool) -> None:
        try:
            found = self._renew()
        except TableFormatsError:
            if has_expired:
                raise
            self._renew_at_ms = self._now() + _PAUSE_MS
            return
        self._take(found)
        self._generation += 1

    def replaced(self, generation: int) -> bool:
        """Renew the options of ``generation``, which the store refused; whether there are others now."""
        with self._lock:
            if self._generation == generation:
                before = self._options
                self._ask(True)
                return self._options != before
        return True


class RenewingStore(ObjectStore):
    """A store whose credentials are renewed.

    Parameters
    ----------
    options : RenewedOptions
    open : callable
        Opens the store with options; it sends no request.
    """

    def __init__(self, options: RenewedOptions, open: Callable[[Mapping[str, Any]], ObjectStore]) -> None:
        self._renewed = options
        self._open = open
        self._opened: tuple[int, ObjectStore] = (-1, self)

    def __reduce__(self) -> Any:
        raise TypeError("a store may hold credentials and is not pickled")

    def _store(self) -> tuple[int, ObjectStore]:
        generation, options = self._renewed.current()
        opened = self._opened
        if opened[0] != generation:
            opened = self._opened = generation, self._open(options)
        return opened

    def _call(self, ask: Callable[[ObjectStore], Found]) -> Found:
        generation, store = self._store()
        try:
            return ask(store)
        except StorePermissionError as error:
            if not _has_expired(error) or not self._renewed.replaced(generation):
                raise
        return ask(self._store()[1])

    @property
    def concurrency(self) -> Concurrency:  # type: ignore[override]
        """See :attr:`ObjectStore.concurrency`."""
        return self._store()[1].concurrency

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.pages`. A listing ends with the credentials that it began with."""
        return self._pages(lambda store: store.pages(directory, start_after))

    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.below`. A listing ends with the credentials that it began with."""
        return self._pages(lambda store: store.below(directory))

    def _pages(self, ask: Callable[[ObjectStore], Iterator[list[FileInfo]]]) -> Iterator[list[FileInfo]]:
        def begun(store: ObjectStore) -> tuple[list[FileInfo] | None, Iterator[list[FileInfo]]]:
            pages = ask(store)
            return next(pages, None), pages

        first, rest = self._call(begun)
        if first is not None:
            yield first
            yield from rest

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        """See :meth:`ObjectStore.get`."""
        return self._call(lambda store: store.get(path, offset, length, limit, etag))

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """See :meth:`ObjectStore.get_ranges`."""
        return self._call(lambda store: store.get_ranges(path, ranges))

    def tail(self, path: str, length: int) -> Tail:
        """See :meth:`ObjectStore.tail`."""
        return self._call(lambda store: store.tail(path, length))

    def head(self, path: str) -> FileInfo:
        """See :meth:`ObjectStore.head`."""
        return self._call(lambda store: store.head(path))

    def has_files_below(self, directory: str) -> bool:
        """See :meth:`ObjectStore.has_files_below`."""
        return self._call(lambda store: store.has_files_below(directory))

    def put(self, path: str, data: bytes | memoryview) -> None:
        """See :meth:`ObjectStore.put`."""
        self._call(lambda store: store.put(path, data))

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        """See :meth:`ObjectStore.put_if_absent`."""
        return self._call(lambda store: store.put_if_absent(path, data))

    def delete(self, path: str) -> None:
        """See :meth:`ObjectStore.delete`."""
        self._call(lambda store: store.delete(path))

    def list(self, directory: str) -> Sequence[FileInfo]:
        """See :meth:`ObjectStore.list`."""
        return self._call(lambda store: store.list(directory))


def _has_expired(error: StorePermissionError) -> bool:
    return "expired" in (error.code or "").lower() or "expired" in error.message.lower()
