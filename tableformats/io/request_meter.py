"""Counts the requests that are sent to a store, their bytes, and the longest chain of those that wait.

A request waits for those whose answers came before it could be asked for. Requests that are asked for together have the
same place in the chain, also where some of them wait in a queue because only so many are sent at once. Retries of the
store's client are not seen.
"""

from __future__ import annotations

from threading import Lock

from ..runtime.concurrency import free_after_fork

__all__ = ["RequestMeter"]


class RequestMeter:
    """The counters of one storage since it was made."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.requests = 0
        self.bytes = 0
        self.chain = 0
        free_after_fork(self)

    def __repr__(self) -> str:
        return f"RequestMeter(requests={self.requests}, bytes={self.bytes}, chain={self.chain})"

    def after_fork(self) -> None:
        """The counters go on."""

    def count(self, waited_for: int, size: int) -> None:
        """A request was answered with ``size`` bytes; ``waited_for`` was :attr:`chain` when it could be asked for."""
        with self._lock:
            self.requests += 1
            self.bytes += size
            self.chain = max(self.chain, waited_for + 1)

    def now(self) -> tuple[int, int, int]:
        """Requests, bytes and chain until now."""
        return self.requests, self.bytes, self.chain

    def since(self, before: tuple[int, int, int], more: tuple[int, int, int]) -> tuple[int, int]:
        """Requests and bytes since :meth:`now` said ``before``, and those of which it said ``more``."""
        return self.requests - before[0] + more[0], self.bytes - before[1] + more[1]
