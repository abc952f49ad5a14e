"""Takes answers of obstore on obstore's own threads, without an event loop.

Of the event loop that awaits it obstore asks two things: a future, and to be told when to set its result. A loop of
asyncio does both on a thread more, which takes turns with all others, and threads that wait for one request each cost
as much again. Here the future hands its result on as soon as it is set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from ...runtime.io_threads import Finish, Unfinished, on_thread, raising

__all__ = ["begin_request", "prepare"]

_UNFINISHED = Unfinished()


class _Answer:
    """Stands for an event loop, and for the one future that is made by it."""

    def __init__(self, finish: Finish[Any]) -> None:
        self._finish = finish
        self._callback: object = None

    def create_future(self) -> _Answer:
        return self

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: object, context: object = None) -> None:
        callback(*arguments)

    def add_done_callback(self, callback: object) -> None:
        """obstore wants to know when nobody waits any more, which does not happen."""
        self._callback = callback

    def cancelled(self) -> bool:
        return False

    def set_result(self, result: object) -> None:
        self._end(lambda: result)

    def set_exception(self, error: BaseException) -> None:
        self._end(partial(raising, error))

    def _end(self, answer: Callable[[], Any]) -> None:
        try:
            self._finish(answer)
        finally:
            _UNFINISHED.add(-1)


def prepare(threads: int) -> None:
    """Import asyncio, which obstore needs and which takes as long as a request, while something is waited for."""
    if "asyncio" not in sys.modules:
        with suppress(RuntimeError):  # the system has no thread left: the first request imports it
            on_thread(partial(import_module, "asyncio"), threads, _call)


def _call(work: Callable[[], object]) -> None:
    work()


def begin_request(call: Callable[[], object], finish: Finish[Any]) -> None:
    """Let ``call`` begin an asynchronous request of obstore. ``finish`` must not wait: it may run on obstore's thread.

    Raises what ``call`` raises; then ``finish`` is not called.
    """
    from asyncio import _get_running_loop, _set_running_loop

    outer = _get_running_loop()  # of a user who calls from a coroutine
    _UNFINISHED.add(1)
    _set_running_loop(_Answer(finish))  # type: ignore[arg-type]
    try:
        call()
    except BaseException:
        _UNFINISHED.add(-1)
        raise
    finally:
        _set_running_loop(outer)
