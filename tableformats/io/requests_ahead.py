"""The requests of one storage that are sent before somebody asks for their answers, in contexts within each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..runtime.io_threads import ReadAhead, Request
from .stores.base import Concurrency

__all__ = ["RequestsAhead"]


class RequestsAhead:
    """What is on its way now, by key."""

    def __init__(self) -> None:
        self._contexts: tuple[ReadAhead[Any], ...] = ()

    @contextmanager
    def sending(self, wanted: Mapping[Hashable, Request[Any]], most: Concurrency) -> Iterator[None]:
        """Within this context requests are being sent, in order, but for those that a context around it sends."""
        new = {key: request for key, request in wanted.items() if not any(key in ahead for ahead in self._contexts)}
        ahead = ReadAhead(new, most.large, most.small)
        self._contexts = (*self._contexts, ahead)
        try:
            yield
        finally:
            self._contexts = tuple(one for one in self._contexts if one is not ahead)
            ahead.close()

    def take(self, key: Hashable) -> Any:
        """The answer for ``key``, once; None: it was not asked for. Raises as the request does."""
        for ahead in self._contexts:
            if (future := ahead.take(key)) is not None:
                return future.result()
        return None

    def wait(self, key: Hashable) -> None:
        """Wait until the answer for ``key`` can be taken, if its request was sent."""
        for ahead in self._contexts:
            ahead.wait(key)
