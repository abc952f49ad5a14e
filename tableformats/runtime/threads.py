"""Work on several items at once and return the results in order.

The work is reading and decoding metadata files, which releases the GIL.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from itertools import islice
from threading import Thread
from typing import Any, Generic, TypeVar

__all__ = ["PATIENCE", "ahead", "all_at_once", "bundles", "in_order", "runs", "thread_count"]

_END = object()
_MIN_FILES_PER_ITEM = 4_096
"""Reading and pruning so many files takes about as long as starting a thread and waiting for the GIL."""
Item = TypeVar("Item")
Answer = TypeVar("Answer")
PATIENCE = 5.0
"""Seconds after which who waits for an answer looks whether a thread has begun to work on it, and does it else. A
thread that gets no memory when it starts ends without a word, and what it should have done would never be done."""
MAX_THREADS = 8
"""Most of the time threads wait for the store. With more of them memory grows faster than speed."""


def thread_count() -> int:
    """The most threads that :func:`in_order` uses."""
    return min(MAX_THREADS, os.cpu_count() or 1)


class _Job(Generic[Item, Answer]):
    """Work on one item, on a thread of a pool or at last on the caller's own."""

    def __init__(self, work: Callable[[Item], Answer], item: Item, pool: ThreadPoolExecutor) -> None:
        self._work, self._item = work, item
        self._turns = iter((True,))
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._future: Future[None] = pool.submit(self._run)

    def _run(self) -> None:
        if not next(self._turns, False):  # somebody else does it
            return
        # What surrounds the work needs no memory: a future that gets none for its result is never done.
        answer = self._answer
        try:
            answer.append(self._work(self._item))
        except BaseException as error:
            self._error = error
        self._is_done = True

    def result(self) -> Answer:
        """The answer of the work, or its error. To be called once."""
        while not self._is_done:
            try:
                self._future.result(PATIENCE)
            except NotYet:
                self._run()
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # it holds this frame
        return self._answer.pop()


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Prefetch: the items in order, with up to ``count`` of them computed in advance on one background thread.

    An error is raised in place of its item and ends the iteration. Closing the iterator ends the thread.
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


def in_order(work: Callable[[Item], Answer], items: Iterable[Item], threads: int | None = None) -> Iterator[Answer]:
    """The results of ``work`` for every item, computed on several threads, in the order of the items.

    ``threads`` is their number; None: :func:`thread_count`.

    The items themselves are taken from the iterable on the caller's thread. At most two items per thread are being
    worked on or waiting to be consumed, which bounds the memory. The first error is raised in place of its result and
    cancels the rest, as does closing the iterator. A single item is worked on by the caller's thread.
    """
    rest = iter(items)
    threads = thread_count() if threads is None else threads
    first = list(islice(rest, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="tableformats")
    try:
        waiting = deque(_Job(work, item, pool) for item in first)
        waiting.extend(_Job(work, item, pool) for item in islice(rest, 2 * threads - 2))
        while waiting:
            answer = waiting.popleft().result()
            waiting.extend(_Job(work, item, pool) for item in islice(rest, 1))
            yield answer
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def all_at_once(*calls: Callable[[], object]) -> None:
    """Make all calls at the same time: the last one on the caller's thread, each other one on a thread of its own.

    Returns when all have ended. Then the error of the first one that failed is raised.
    """
    *others, own = calls
    errors: list[BaseException | None] = [None] * len(others)

    def run(number: int, call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors[number] = error

    threads = []
    for number, call in enumerate(others):
        thread = Thread(target=run, args=(number, call), name="tableformats")
        try:
            thread.start()
            threads.append(thread)
        except RuntimeError:  # there are too many
            run(number, call)
    try:
        own()
    except BaseException as error:
        errors.append(error)
    for thread in threads:
        thread.join()
    failed = next((error for error in errors if error is not None), None)
    if failed is not None:
        raise failed


def runs(items: Iterable[Item], weight: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Lists of neighbouring items whose weights sum to ``most`` at most. A heavier item is a list of its own."""
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
    """Lists of neighbouring items with ``most`` files at most, sized for :func:`in_order`.

    They are small enough that every thread gets some, and large enough to be worth a thread's time. An item whose
    number of files is unknown (None) is a list of its own.
    """
    total = sum(filter(None, map(n_files, items)))
    most = min(most, max(total // (4 * thread_count()), _MIN_FILES_PER_ITEM))

    def weight(item: Item) -> int:
        count = n_files(item)
        return most if count is None else count

    return runs(items, weight, most)
