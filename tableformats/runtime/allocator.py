"""Which of Arrow's allocators planning takes: jemalloc, where nobody chose one.

A plan makes many columns and drops them soon. mimalloc, what Arrow takes by itself, asks the system for huge pages and
gives them back at once, and the next column waits for another one to be cleared: with jemalloc plans took a tenth to a
half less time on Linux, and less memory (docs/performance.md). Arrow has one default for the whole process; what the
process had is put back when the last plan ends, and what was allocated meanwhile remembers where it came from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from .concurrency import free_after_fork

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["quick_allocator"]


class _Chosen:
    """How many threads plan, and the allocator that the process had before the first of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plans = 0
        self._before: pa.MemoryPool | None = None
        free_after_fork(self)

    def after_fork(self) -> None:
        """Plans of the parent do not end here."""
        self._plans = 1
        self.leave()

    def enter(self) -> None:
        import pyarrow as pa

        with self._lock:
            self._plans += 1
            if self._plans == 1 and _is_arrows_choice():
                self._before = pa.default_memory_pool()
                pa.set_memory_pool(pa.jemalloc_memory_pool())

    def leave(self) -> None:
        import pyarrow as pa

        with self._lock:
            self._plans -= 1
            if self._plans == 0 and self._before is not None:
                if pa.default_memory_pool().backend_name == "jemalloc":  # nobody chose another one meanwhile
                    pa.set_memory_pool(self._before)
                self._before = None


def _is_arrows_choice() -> bool:
    """Whether Arrow's default is mimalloc, as nobody asked for it, and there is jemalloc; on Linux, for where else it
    pays was not measured."""
    import pyarrow as pa

    return (
        sys.platform == "linux"
        and "ARROW_DEFAULT_MEMORY_POOL" not in os.environ
        and pa.default_memory_pool().backend_name == "mimalloc"
        and "jemalloc" in pa.supported_memory_backends()
    )


_CHOSEN = _Chosen()


@contextmanager
def quick_allocator() -> Iterator[None]:
    """What Arrow allocates meanwhile, on any thread, comes from jemalloc, unless the process chose an allocator: by the
    environment, or one that is not mimalloc's. A proxy of mimalloc's counts nothing meanwhile."""
    _CHOSEN.enter()
    try:
        yield
    finally:
        _CHOSEN.leave()
