"""Requests to stores, on threads of their own: most of their time they wait, so they are many more than cores.

The threads are shared by the process. Work that is given to them sends one request and waits for nothing else, so that
no piece of work can wait for another one in the queue behind it.
"""

from __future__ import annotations

import atexit
from _thread import start_new_thread
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock
from typing import Generic, TypeVar

from .concurrency import free_after_fork

__all__ = ["ReadAhead", "at_once"]

Answer = TypeVar("Answer")
Request = tuple[int, Callable[[], Answer]]
"""About how many bytes an answer has, and what asks for it."""
MAX_BYTES_AHEAD = 256 << 20
"""Answers that wait to be taken have about so many bytes at most; a single one may have more."""
SMALL_BYTES = 128 << 10
"""Requests for at most so many bytes take the time of a round trip, not of the bytes: more of them run at once."""


class _Pool:
    """At most ``size`` threads, as many as there ever was work at once. They wait for more for ever.

    A ``ThreadPoolExecutor`` waits until each new thread runs, which takes longer than a request where hundreds start at
    once. No piece of work raises.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = Lock()
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._threads = self._unfinished = 0
        self._finished = Event()

    def submit(self, work: Callable[[], None]) -> None:
        """Let a thread do ``work``."""
        with self._lock:
            self._unfinished += 1
            self._work.put(work)
            if self._unfinished <= self._threads or self._threads == self._size:
                return
            self._threads += 1
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # the system has no thread left
            with self._lock:
                self._threads -= 1
                if self._threads:  # which will do it
                    return
                self._work.get_nowait()
                self._unfinished -= 1
            raise

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            finally:
                del work  # it holds an answer
                with self._lock:
                    self._unfinished -= 1
                    is_last = not self._unfinished
                if is_last:
                    self._finished.set()

    def join(self) -> None:
        """Wait until all work is done. An interpreter must not end while a request is being answered."""
        while self._unfinished:
            self._finished.wait(1)
            self._finished.clear()


class _Pools:
    """One pool of threads for each number of requests at once that a caller wants: usually one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pools: dict[int, _Pool] = {}
        free_after_fork(self)
        atexit.register(self.join)

    def after_fork(self) -> None:
        """Forget the parent's threads, which a child has not."""
        self._pools = {}

    def join(self) -> None:
        """Wait until all work is done."""
        for pool in list(self._pools.values()):
            pool.join()

    def of(self, size: int) -> _Pool:
        with self._lock:
            if size not in self._pools:
                self._pools[size] = _Pool(size)
            return self._pools[size]


_POOLS = _Pools()


class ReadAhead(Generic[Answer]):
    """Sends requests, in order, before their answers are taken.

    Parameters
    ----------
    requests : mapping
        What is asked for, by key.
    concurrency : int
        The most requests at once.
    small_concurrency : int
        The most at once where all are of at most :data:`SMALL_BYTES`. In a mixture each request takes its share.
    most_bytes : int
        No request is sent while the answers that were not taken have so many bytes.
    """

    def __init__(
        self,
        requests: Mapping[Hashable, Request[Answer]],
        concurrency: int,
        small_concurrency: int = 0,
        most_bytes: int = MAX_BYTES_AHEAD,
    ) -> None:
        self._lock = Lock()
        self._waiting = dict(requests)
        self._sent: dict[Hashable, tuple[int, Future[Answer]]] = {}
        self._bytes = 0
        # Shares are whole numbers: a small request takes one for each large request that may run.
        self._small, self._large = concurrency, max(concurrency, small_concurrency)
        self._free = self._small * self._large
        self._most_bytes = most_bytes
        free_after_fork(self)
        with self._lock:
            self._send()

    def after_fork(self) -> None:
        """Forget everything: the threads that were to answer are the parent's."""
        self._waiting, self._sent = {}, {}

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._waiting or key in self._sent

    def take(self, key: Hashable) -> Future[Answer] | None:
        """The answer of ``key``, once. None: it was not asked for, or not yet; then nobody will."""
        with self._lock:
            self._waiting.pop(key, None)
            size, future = self._sent.pop(key, (0, None))
            self._bytes -= size
            self._send()
        return future

    def close(self) -> None:
        """Send no further requests, and drop the answers."""
        with self._lock:
            self._waiting.clear()
            futures = [future for _, future in self._sent.values()]
            self._sent.clear()
        for future in futures:
            future.cancel()

    def _send(self) -> None:
        """Send what may be sent; the lock is held."""
        while self._waiting:
            key, (size, work) = next(iter(self._waiting.items()))
            share = self._small if size <= SMALL_BYTES else self._large
            if share > self._free or (self._bytes and self._bytes + size > self._most_bytes):
                return
            del self._waiting[key]
            self._free -= share
            self._bytes += size
            future: Future[Answer] = Future()
            self._sent[key] = size, future
            _POOLS.of(self._large).submit(partial(self._answer, future, work, share))

    def _answer(self, future: Future[Answer], work: Callable[[], Answer], share: int) -> None:
        """Runs on a thread of the pool."""
        try:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)
        finally:
            with self._lock:
                self._free += share
                self._send()


def at_once(calls: Sequence[Callable[[], Answer]], on_threads: bool = True) -> list[Answer]:
    """The results of a few calls, each on a thread of its own; or one after the other. The first error is raised."""
    if not on_threads or len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(len(calls), thread_name_prefix="tableformats") as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]
