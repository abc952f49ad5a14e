"""Requests to stores that are sent before their answers are taken, and the threads for those that need one.

Most of their time requests wait, so the threads are many more than cores. They are shared by the process. Work that is
given to them sends one request, or makes and writes one file, and waits for nothing else, so that no piece of work can
wait for another one in the queue behind it. A store that answers without a thread (:meth:`ObjectStore.begin_get`) needs
none of them.
"""

from __future__ import annotations

import atexit
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from .concurrency import free_after_fork

__all__ = ["Finish", "ReadAhead", "Unfinished", "WriteBehind", "at_once", "on_thread", "raising"]

Answer = TypeVar("Answer")
Finish = Callable[[Callable[[], Answer]], None]
"""Is called once, on any thread, with a function that gives the answer or raises what came instead."""
Request = tuple[int, Callable[[Finish[Answer]], None]]
"""About how many bytes an answer has, and what sends the request and does not wait for the answer."""
MAX_BYTES_AHEAD = 256 << 20
"""Answers that wait to be taken have about so many bytes at most; a single one may have more."""
MAX_BYTES_BEHIND = 64 << 20
"""The same for writes that are not done."""
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


def on_thread(work: Callable[[], Answer], size: int, finish: Finish[Answer]) -> None:
    """Let ``finish`` call ``work`` on one of the ``size`` threads that the process shares."""
    _POOLS.of(size).submit(partial(finish, work))


class Unfinished:
    """Counts requests whose answers come on threads of a library. The interpreter must not end before they came."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._finished = Event()
        free_after_fork(self)
        atexit.register(self.join)

    def after_fork(self) -> None:
        """Forget the parent's requests: they are answered there."""
        self._count, self._finished = 0, Event()

    def add(self, number: int) -> None:
        """So many requests have begun; below 0: have ended."""
        with self._lock:
            self._count += number
            is_last = not self._count
        if is_last:
            self._finished.set()

    def join(self) -> None:
        """Wait until all requests have ended."""
        while self._count:
            self._finished.wait(1)
            self._finished.clear()


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
        self._is_sending = False
        free_after_fork(self)
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

    def wait(self, key: Hashable) -> None:
        """Wait for the answer of ``key`` if the request was sent. It is still to be taken."""
        with self._lock:
            sent = self._sent.get(key)
        if sent is not None:
            wait([sent[1]])

    def close(self) -> None:
        """Send no further requests, and drop the answers."""
        with self._lock:
            self._waiting.clear()
            futures = [future for _, future in self._sent.values()]
            self._sent.clear()
        for future in futures:
            future.cancel()

    def _send(self) -> None:
        """Send what may be sent. One thread does it at a time: an answer may come at once, and let another one go."""
        while True:
            with self._lock:
                found = None if self._is_sending else self._next()
                if found is None:
                    return
                self._is_sending = True
            begin, finish = found
            try:
                begin(finish)
            except Exception as error:
                finish(partial(raising, error))
            finally:
                with self._lock:
                    self._is_sending = False

    def _next(self) -> tuple[Callable[[Finish[Answer]], None], Finish[Answer]] | None:
        """What sends the next request, and takes its answer; None: nothing may be sent. The lock is held."""
        if not self._waiting:
            return None
        key, (size, begin) = next(iter(self._waiting.items()))
        share = self._small if size <= SMALL_BYTES else self._large
        if share > self._free or (self._bytes and self._bytes + size > self._most_bytes):
            return None
        del self._waiting[key]
        self._free -= share
        self._bytes += size
        future: Future[Answer] = Future()
        self._sent[key] = size, future
        return begin, partial(self._finish, future, share)

    def _finish(self, future: Future[Answer], share: int, answer: Callable[[], Answer]) -> None:
        """Runs on whatever thread has the answer."""
        try:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(answer())
                except BaseException as error:
                    future.set_exception(error)
        finally:
            with self._lock:
                self._free += share
            self._send()


def raising(error: BaseException) -> Any:
    """Raise ``error``."""
    raise error


class WriteBehind:
    """Writes on other threads while a block goes on; at its end all of them are done, also after an error.

    The last write is done where the block ends: one that has no others beside it is worth no thread. The first error of
    a write is raised, at the end at the latest; but an error of the block comes before it.

    Parameters
    ----------
    concurrency : int
        The most writes at once.
    most_bytes : int, optional
        What writes that are not done hold at most; a single one may hold more. None: :data:`MAX_BYTES_BEHIND`.
    """

    def __init__(self, concurrency: int, most_bytes: int | None = None) -> None:
        self._pool = _POOLS.of(concurrency)
        self._most_bytes = MAX_BYTES_BEHIND if most_bytes is None else most_bytes
        self._last: tuple[int, Callable[[], None]] | None = None
        self._unfinished: deque[tuple[int, Future[None]]] = deque()
        self._bytes = 0

    def __enter__(self) -> WriteBehind:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None and self._last is not None:
                self._last[1]()
        finally:
            failed = [future.exception() for _, future in self._unfinished]
            self._last = None
            self._unfinished.clear()
        for first in filter(None, failed if error is None else ()):
            raise first

    def submit(self, size: int, work: Callable[[], None]) -> None:
        """Let a thread do ``work``, which holds about ``size`` bytes, when more work comes.

        Raises the error of an earlier write, and then does not begin ``work``.
        """
        before, self._last = self._last, None
        if before is not None:
            self._begin(*before)
        self.wait(self._most_bytes - size)
        self._last = size, work

    def start(self, size: int, work: Callable[[], None]) -> None:
        """Let a thread do ``work`` now. It is long, and its bytes are held already. Otherwise as :meth:`submit`."""
        self.wait(self._most_bytes)
        self._begin(size, work)

    def wait(self, most_bytes: int) -> None:
        """Wait until the writes that are not done hold at most so many bytes. Raises the error of one that is done."""
        while self._unfinished and (self._unfinished[0][1].done() or self._bytes > most_bytes):
            held, future = self._unfinished.popleft()
            self._bytes -= held
            future.result()

    def _begin(self, size: int, work: Callable[[], None]) -> None:
        future: Future[None] = Future()
        self._pool.submit(partial(_do, future, work))
        self._unfinished.append((size, future))
        self._bytes += size


def _do(future: Future[None], work: Callable[[], None]) -> None:
    try:
        work()
        future.set_result(None)
    except BaseException as error:
        future.set_exception(error)


def at_once(calls: Sequence[Callable[[], Answer]], on_threads: bool = True) -> list[Answer]:
    """The results of a few calls, each on a thread of its own; or one after the other. The first error is raised."""
    if not on_threads or len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(len(calls), thread_name_prefix="tableformats") as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]
