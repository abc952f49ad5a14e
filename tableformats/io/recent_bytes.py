"""Bytes of immutable remote files that are opened several times within one plan: the last few, within a budget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar

from ..runtime.concurrency import free_after_fork

__all__ = ["RecentBytes"]

Found = TypeVar("Found")


class RecentBytes:
    """What was read last, by keys that name a file's content (path, size and time).

    Parameters
    ----------
    budget : int
        Bytes.
    """

    def __init__(self, budget: int) -> None:
        self._lock = Lock()
        self._budget = budget
        self._bytes = 0
        self._found: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Nothing is shared with the parent that threads change."""

    def __contains__(self, key: Hashable) -> bool:
        return key in self._found

    def get(self, key: Hashable, read: Callable[[], Found], size_of: Callable[[Found], int]) -> Found:
        """The value of ``key``, read if it is not there."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key][0]  # type: ignore[return-value]
        value = read()
        with self._lock:
            if key not in self._found:
                self._found[key] = value, size_of(value)
                self._bytes += self._found[key][1]
            while self._bytes > self._budget and self._found:
                self._bytes -= self._found.popitem(last=False)[1][1]
        return value
