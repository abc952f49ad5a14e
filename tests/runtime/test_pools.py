"""A pool whose system has no thread left keeps count of what is to be done."""

from __future__ import annotations

from threading import Event

import pytest

from tableformats.runtime import io_threads
from tableformats.runtime.io_threads import _Pool


def test_work_that_no_thread_can_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(io_threads, "start_new_thread", refuse)
    pool, done = _Pool(2), []
    for _ in range(2):
        with pytest.raises(RuntimeError):
            pool.submit(lambda: done.append(1))
        assert (pool._unfinished, pool._threads, pool._work.qsize()) == (0, 0, 0)
    pool.join()
    assert done == []


def test_work_waits_for_the_threads_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, begun, go, done = _Pool(3), Event(), Event(), []

    def first() -> None:
        begun.set()
        go.wait(20)
        done.append(1)

    pool.submit(first)
    assert begun.wait(20)
    started = io_threads.start_new_thread

    def refuse(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(io_threads, "start_new_thread", refuse)
    pool.submit(lambda: done.append(2))
    assert (pool._unfinished, pool._threads) == (2, 1)
    monkeypatch.setattr(io_threads, "start_new_thread", started)
    go.set()
    pool.join()
    assert done == [1, 2] and pool._unfinished == 0
