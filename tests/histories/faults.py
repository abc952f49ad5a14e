"""Faults by plan: which request of an operation fails, and how.

Faults are those of a store's client, after its own tries: what :class:`tableformats.io.stores.object_store` makes of
lost answers, of 409, 412, 429 and 5xx. What a server does to a client stands in :mod:`tests.histories.proxy`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import tableformats as tf
from tableformats.errors import StoreConnectionError, StoreThrottledError, StoreTimeoutError
from tableformats.io.stores.base import PutOutcome

from ..support.memory_store import MemoryStore
from .watched import Request

__all__ = ["OF_LISTINGS", "OF_PUTS", "OF_READS", "OF_WRITES", "FaultPlan", "faults_of"]

OF_READS = ("refused", "throttled", "timed out", "half a body", "not yet there")
OF_LISTINGS = ("refused", "stale", "repeated")
OF_WRITES = ("refused", "throttled", "answer lost", "torn")
OF_PUTS = (
    "never sent, answer unknown",
    "answer lost",
    "answer lost, and 412 to the second try",
    "409 without a rival",
    "throttled",
    "throttled after it landed",
)
"""Of conditional puts."""


def faults_of(request: Request) -> tuple[str, ...]:
    """The ways in which a request can fail."""
    if request.method == "pages":
        return OF_LISTINGS
    if request.method == "put_if_absent":
        return OF_PUTS
    if request.method == "put":
        # A file under a name that is known, such as a hint or a checkpoint, is written whole or not at all.
        return OF_WRITES if request.path.endswith(".avro") or "/part-" in request.path else OF_WRITES[:-1]
    return ("refused", "answer lost") if request.method == "delete" else OF_READS


class FaultPlan:
    """A hook of a watched store that lets requests fail.

    Parameters
    ----------
    store : MemoryStore
    fails : callable
        Takes the number of a request, from 0 on, and the request; gives the fault, or None.
    """

    def __init__(self, store: MemoryStore, fails: Callable[[int, Request], str | None]) -> None:
        self._store, self._fails = store, fails
        self._listings: dict[str, list[Any]] = {}
        self.requests: list[Request] = []
        self.done: list[tuple[Request, str]] = []

    def __call__(self, request: Request, do: Callable[[], Any]) -> Any:
        number = len(self.requests)
        self.requests.append(request)
        fault = self._fails(number, request)
        if fault is None:
            answer = do()
            if request.method == "pages":
                self._listings.setdefault(request.path, answer)
            return answer
        self.done.append((request, fault))
        return self._failed(request, fault, do)

    def _failed(self, request: Request, fault: str, do: Callable[[], Any]) -> Any:
        path = request.path
        if fault == "refused":
            raise StoreConnectionError("the store was not reached", path=path)
        if fault == "throttled":
            raise StoreThrottledError("the store asked for fewer requests", path=path, status=429)
        if fault == "timed out":
            raise StoreTimeoutError("the store did not answer in time", path=path)
        if fault == "half a body":
            raise StoreConnectionError("the connection ended within the answer", path=path)
        if fault == "not yet there":
            raise FileNotFoundError(errno.ENOENT, "There is no such file", path)
        if fault == "stale":
            return self._listings.get(path, [[]])
        if fault == "repeated":
            pages = do()
            return [page for page in pages for _ in range(2)]
        if fault == "torn":
            self._store.files[path] = request.data[: len(request.data) // 2]
            raise StoreConnectionError("the connection ended within the request", path=path)
        return self._lost(request, fault, do)

    def _lost(self, request: Request, fault: str, do: Callable[[], Any]) -> Any:
        is_put = request.method == "put_if_absent"
        if fault == "never sent, answer unknown":
            return PutOutcome.UNKNOWN
        if fault == "409 without a rival":
            return PutOutcome.LOST
        do()
        if fault == "throttled after it landed":
            raise StoreThrottledError("the store asked for fewer requests", path=request.path, status=429)
        if fault == "answer lost, and 412 to the second try":
            return PutOutcome.LOST
        if is_put:
            return PutOutcome.UNKNOWN
        raise StoreTimeoutError("the store did not answer in time", path=request.path)


TYPED = (tf.TableFormatsError, OSError)
"""What a fault may end in."""
