"""Cache decoded metadata in memory, for later plans, within a budget of bytes.

Metadata files never change. What was decoded from a file stays valid as long as its path, size and modification time
are the same, so these make the keys. The least recently used entries are removed first. With a budget of 0 nothing is
cached, and everything works the same.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from threading import Lock
from typing import Any, TypeVar

from ..runtime.concurrency import free_after_fork
from .directory import DIRECTORY_BYTES, CacheDirectory

__all__ = ["BUDGET_BYTES", "MetadataCache"]

BUDGET_BYTES = 512 << 20
_DIGEST_BYTES = 32

T = TypeVar("T")


class MetadataCache:
    """Decoded metadata by key. Tables and threads may share a cache.

    Parameters
    ----------
    budget_bytes : int
        The most bytes in memory, by the sizes that callers give.
    directory : path, optional
        A directory for decoded manifests and checkpoints, for later processes. None: no cache on disk. Its files hold
        paths and bounds of data files, readable by their owner alone, and no credentials.
    directory_bytes : int
        The most bytes in the directory.

    Raises
    ------
    ValueError
        Other users may write into the directory, or a budget is no number of bytes.
    OSError
        The directory cannot be created.

    Examples
    --------
    >>> cache = tf.MetadataCache(64 << 20)
    >>> tf.open_table("events", cache=cache).count(), tf.open_table("orders", cache=cache).count()
    (6, 6)
    """

    def __init__(
        self,
        budget_bytes: int = BUDGET_BYTES,
        *,
        directory: str | os.PathLike[str] | None = None,
        directory_bytes: int = DIRECTORY_BYTES,
    ) -> None:
        for name, budget in (("budget_bytes", budget_bytes), ("directory_bytes", directory_bytes)):
            if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
                raise ValueError(f"{name} must be a number of bytes, not {budget!r}")
        self._store = _Store(budget_bytes)
        self._scope: tuple[Hashable, ...] = ()
        self.directory = None if directory is None else CacheDirectory(directory, directory_bytes)
        self.table_key = ""
        """Identifies the table in the directory."""

    def __repr__(self) -> str:
        return f"MetadataCache({self.used_bytes} of {self.budget_bytes} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process starts with an empty cache, in memory only."""
        return MetadataCache, (self.budget_bytes,)

    @property
    def budget_bytes(self) -> int:
        return self._store.budget_bytes

    @property
    def used_bytes(self) -> int:
        return self._store.used_bytes

    @property
    def seed(self) -> bytes:
        """32 secret random bytes for hashes in cached entries, so that nobody can craft keys that collide."""
        return self._store.seed

    def digest(self, options: Mapping[str, Any] | None) -> bytes:
        """32 bytes that identify ``options`` within this process and reveal nothing about them. Used in scopes."""
        if not options:
            return bytes(_DIGEST_BYTES)
        import hashlib  # takes 2 ms, for it loads OpenSSL

        text = repr(sorted((str(name), repr(value)) for name, value in options.items()))
        return hashlib.blake2b(text.encode(errors="surrogatepass"), key=self.seed, digest_size=_DIGEST_BYTES).digest()

    def scoped(self, *scope: Hashable, table_key: str = "") -> MetadataCache:
        """The same cache, restricted to the keys of one table. Its :attr:`table_key` is the one given."""
        view = MetadataCache.__new__(MetadataCache)
        view._store, view._scope = self._store, (*self._scope, *scope)
        view.directory, view.table_key = self.directory, table_key
        return view

    def find(self, key: Hashable) -> Any:
        """The value that is cached for ``key``, or None."""
        return self._store.find((self._scope, key))

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        """Cache ``value``, of ``size`` bytes, for ``key``. Other entries are removed to make room."""
        self._store.keep((self._scope, key), value, size)

    def get(self, key: Hashable, load: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value of ``key``, from ``load`` if it is not cached; ``size`` gives its bytes.

        Raises what ``load`` raises.
        """
        found = self.find(key)
        if found is None:
            found = load()
            self.keep(key, found, size(found))
        return found  # type: ignore[no-any-return]

    def stream(self, key: Hashable, load: Callable[[], Iterator[T]], size: Callable[[T], int]) -> Iterator[T]:
        """The items of ``load``. They are cached once all were consumed, if they fit into the budget."""
        found = self.find(key)
        if found is not None:
            yield from found
            return
        items: list[T] | None = []
        total = 0
        for item in load():
            total += size(item)
            if items is not None:
                items.append(item)
            if total > self.budget_bytes:
                items = None
            yield item
        if items is not None:
            self.keep(key, tuple(items), total)


class _Store:
    """The entries of one budget, in order of their last use."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = 0
        self.seed = os.urandom(32)
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Add up the sizes again: another thread may have been changing them."""
        self.used_bytes = sum(size for _, size in self._entries.values())

    def find(self, key: Hashable) -> Any:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        if value is None or not self.budget_bytes:
            return
        with self._lock:
            if key in self._entries:
                self.used_bytes -= self._entries.pop(key)[1]
            if size > self.budget_bytes:
                return
            self._entries[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.budget_bytes:
                self.used_bytes -= self._entries.popitem(last=False)[1][1]
