"""Work on several items at once, answers in order: for metadata files that are read and decoded without the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

__all__ = ["ahead", "bundles", "in_order", "runs", "thread_count"]

_END = object()
_FEWEST_FILES = 4_096
"""So many are read and pruned in about the time that a thread takes to begin and to wait for its turns."""
Item = TypeVar("Item")
Answer = TypeVar("Answer")
MAX_THREADS = 8
"""More wait on a store at once than there are cores to decode; beyond this memory grows faster than speed."""


def thread_count() -> int:
    """How many threads :func:`in_order` has at most."""
    return min(MAX_THREADS, os.cpu_count() or 1)


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """The items in their order, ``count`` of them made before they are asked for, by a thread of its own.

    An error is raised in its place and is the end; so is closing the iterator.
    """
    rest = iter(items)
    pool = ThreadPoolExecutor(1, thread_name_prefix="tableformats")
    try:
        waiting: deque[Future[Any]] = deque(pool.submit(next, rest, _END) for _ in range(count))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, rest, _END))
            yield item
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
    """``work`` of every item, in the order of the items.

    Items are made one after the other on the caller's thread, while those before them are worked on. At most two a
    thread are worked on or waiting to be taken, so memory is bounded by those. The first error is raised in its place
    and ends the rest; so does closing the iterator. A single item takes no thread.
    """
    rest = iter(items)
    threads = thread_count()
    first = list(islice(rest, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="tableformats")
    try:
        waiting: deque[Future[Answer]] = deque(pool.submit(work, item) for item in first)
        waiting.extend(pool.submit(work, item) for item in islice(rest, 2 * threads - 2))
        while waiting:
            answer = waiting.popleft().result()
            waiting.extend(pool.submit(work, item) for item in islice(rest, 1))
            yield answer
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def runs(items: Iterable[Item], weight: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Neighbours whose weights are ``most`` together, at most, or one item alone."""
    found: list[Item] = []
    total = 0
    for item in items:
        own = weight(item)
        if found and total + own > most:
            yield found
            found, total = [], 0
        found.append(item)
        total += own
    if found:
        yield found


def bundles(items: Sequence[Item], n_files: Callable[[Item], int | None], most: int) -> Iterator[list[Item]]:
    """Runs of ``most`` files or fewer: small enough that every thread has some, but worth a turn. An item of which the
    number of files is not known (None) is alone."""
    total = sum(n_files(item) or 0 for item in items)
    most = min(most, max(total // (4 * thread_count()), _FEWEST_FILES))

    def weight(item: Item) -> int:
        known = n_files(item)
        return most if known is None else known

    return runs(items, weight, most)
