"""Let Arrow use jemalloc while plans are made and tables are read, unless the process chose an allocator.

A plan allocates many columns and frees them soon, and so does who reads rows. Arrow's default, mimalloc, gets huge
pages from the system and returns them at once, so that the next column waits for another page to be cleared. With
jemalloc plans took 10 to 50 % less time on Linux, and less memory (docs/performance.md); reading large columns takes
half of the processor (docs/measured/stores.md). Arrow has one default allocator for the whole process. The previous one
is restored when the last plan or table is made; memory that was allocated meanwhile is freed by its own allocator, and
goes back to the system some ten seconds later.
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


_DECAY_MS = 5_000
"""How long jemalloc keeps memory that was freed, and then as long again until the system may have it. With Arrow's one
second most of it is gone before the next query, which takes a fault for each page of it. That is set once, before
threads of ours allocate: it holds for those that allocate for the first time later."""


class _Switch:
    """Counts the plans that are being made, and has the allocator that the process had before the first of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plans = 0
        self._before: pa.MemoryPool | None = None
        self._has_decay = False
        free_after_fork(self)

    def after_fork(self) -> None:
        """Forget the parent's plans, which do not end in this process."""
        self._plans = 1
        self.leave()

    def enter(self) -> None:
        import pyarrow as pa

        with self._lock:
            if not self._plans and _is_arrows_default():
                if not self._has_decay:
                    pa.jemalloc_set_decay_ms(_DECAY_MS)
                    self._has_decay = True
                self._before = pa.default_memory_pool()
                pa.set_memory_pool(pa.jemalloc_memory_pool())
            self._plans += 1

    def leave(self) -> None:
        import pyarrow as pa

        with self._lock:
            self._plans -= 1
            if self._plans == 0 and self._before is not None:
                if pa.default_memory_pool().backend_name == "jemalloc":  # nobody chose another one since
                    pa.set_memory_pool(self._before)
                self._before = None


def _is_arrows_default() -> bool:
    """Whether the allocator is mimalloc because nobody chose one, and jemalloc exists.

    Only on Linux: whether jemalloc is faster elsewhere was not measured.
    """
    import pyarrow as pa

    return (
        sys.platform == "linux"
        and "ARROW_DEFAULT_MEMORY_POOL" not in os.environ
        and pa.default_memory_pool().backend_name == "mimalloc"
        and "jemalloc" in pa.supported_memory_backends()
    )


_SWITCH = _Switch()


@contextmanager
def quick_allocator() -> Iterator[None]:
    """Within this context Arrow allocates from jemalloc, on all threads.

    Nothing changes if the process chose an allocator: by the environment variable, or by setting one that is not
    mimalloc. A proxy pool over mimalloc sees no allocations within the context.
    """
    _SWITCH.enter()
    try:
        yield
    finally:
        _SWITCH.leave()
