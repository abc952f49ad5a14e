"""What was decoded from metadata outlives the plan that asked for it, within a budget of bytes.

Files of metadata never change, so what was decoded from one is right for as long as its path, size and modification
time stay: these make the keys. What was not used for longest goes first. A budget of 0 keeps nothing, and everything
works the same.
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
    """What was decoded, by key; tables and threads may share it.

    Parameters
    ----------
    budget_bytes : the most that is kept, by the sizes that callers give
    directory : where decoded manifests and checkpoints are put for later processes too; None: nowhere. Files' paths and
        bounds stand there, readable for its owner alone; credentials do not
    directory_bytes : the most that the directory takes

    Raises
    ------
    ValueError : others may write into the directory; a budget is no number of bytes
    OSError : the directory cannot be made
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
        self.place = ""
        """What tells a table from others in the directory."""

    def __repr__(self) -> str:
        return f"MetadataCache({self.used_bytes} of {self.budget_bytes} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process starts with an empty one, in memory alone."""
        return MetadataCache, (self.budget_bytes,)

    @property
    def budget_bytes(self) -> int:
        return self._store.budget_bytes

    @property
    def used_bytes(self) -> int:
        return self._store.used_bytes

    @property
    def seed(self) -> bytes:
        """32 secret bytes, for hashes that are kept: nobody can craft keys that collide under them."""
        return self._store.seed

    def digest(self, options: Mapping[str, Any] | None) -> bytes:
        """32 bytes that tell ``options`` from others in this process, and nothing of what they are: for scopes."""
        if not options:
            return bytes(_DIGEST_BYTES)
        import hashlib  # which loads more of OpenSSL: some 2 ms

        text = repr(sorted((str(name), repr(value)) for name, value in options.items()))
        return hashlib.blake2b(text.encode(errors="surrogatepass"), key=self.seed, digest_size=_DIGEST_BYTES).digest()

    def scoped(self, *scope: Hashable, place: str = "") -> MetadataCache:
        """The same store, directory and budgets for another set of keys: those of one table; ``place`` is its
        :attr:`place`."""
        view = MetadataCache.__new__(MetadataCache)
        view._store, view._scope = self._store, (*self._scope, *scope)
        view.directory, view.place = self.directory, place
        return view

    def find(self, key: Hashable) -> Any:
        """What is kept by ``key``, or None."""
        return self._store.find((self._scope, key))

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        """Keep ``value``, of ``size`` bytes, in place of what ``key`` had; others make room."""
        self._store.keep((self._scope, key), value, size)

    def get(self, key: Hashable, load: Callable[[], T], size: Callable[[T], int]) -> T:
        """What ``key`` stands for, by ``load`` where it is not kept; ``size`` is its bytes. Raises what it raises."""
        found = self.find(key)
        if found is None:
            found = load()
            self.keep(key, found, size(found))
        return found  # type: ignore[no-any-return]

    def stream(self, key: Hashable, load: Callable[[], Iterator[T]], size: Callable[[T], int]) -> Iterator[T]:
        """The items of ``load``, kept once all of them were taken and if they fit; else they pass one by one."""
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
    """The entries of one budget, the one that was used last at the end."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = 0
        self.seed = os.urandom(32)
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Another thread may have been in the middle of keeping something."""
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
