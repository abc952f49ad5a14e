"""Decoded metadata that outlives the plan that asked for it, within a budget of bytes.

Files of a log never change, so what was decoded from one is right for as long as its path, size and modification
time stay; what was not used for longest goes first. A budget of 0 keeps nothing, and everything works the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Any, TypeVar

__all__ = ["BUDGET_BYTES", "MetadataCache"]

BUDGET_BYTES = 256 << 20

T = TypeVar("T")


class MetadataCache:
    """What was decoded, by key; threads may share it.

    Parameters
    ----------
    budget_bytes : the most that is kept, by the sizes that callers give
    """

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], T], size: Callable[[T], int]) -> T:
        """What ``key`` stands for, by ``load`` where it is not kept; ``size`` is its bytes. Raises what it raises."""
        found = self._find(key)
        if found is None:
            found = load()
            self._keep(key, found, size(found))
        return found  # type: ignore[no-any-return]

    def stream(self, key: Hashable, load: Callable[[], Iterator[T]], size: Callable[[T], int]) -> Iterator[T]:
        """The items of ``load``, kept once all of them were taken and if they fit; else they pass one by one."""
        found = self._find(key)
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
            self._keep(key, tuple(items), total)

    def _find(self, key: Hashable) -> Any:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        if value is None or size > self.budget_bytes or not self.budget_bytes:
            return
        with self._lock:
            if key in self._entries:
                self.used_bytes -= self._entries.pop(key)[1]
            self._entries[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.budget_bytes:
                self.used_bytes -= self._entries.popitem(last=False)[1][1]
