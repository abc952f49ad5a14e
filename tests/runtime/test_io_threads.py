"""Requests that are sent before their answers are taken: in order, within bounds, and of this process alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Hashable
from functools import partial

import pytest

from tableformats.runtime import io_threads
from tableformats.runtime.io_threads import (
    SMALL_BYTES,
    Finish,
    ReadAhead,
    Request,
    Unfinished,
    WriteBehind,
    at_once,
    on_thread,
)

THREADS = 16


def requests(count: int, work: Callable[[int], int], size: int = 1) -> dict[Hashable, Request[int]]:
    return {i: (size, partial(on_thread, partial(work, i), THREADS)) for i in range(count)}


def test_answers_are_taken_once() -> None:
    ahead = ReadAhead(requests(3, lambda i: i * i), 2)
    first = ahead.take(0)
    assert first is not None and first.result(5) == 0 and ahead.take(0) is None and ahead.take("other") is None
    ahead.close()


def test_no_more_requests_at_once_than_allowed() -> None:
    lock, now, most, done = threading.Lock(), 0, 0, 0

    def work(i: int) -> int:
        nonlocal now, most, done
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
            done += 1
        return i

    ahead = ReadAhead(requests(30, work), 5)
    futures = [future for future in (ahead.take(i) for i in range(5)) if future is not None]
    assert [future.result(5) for future in futures] == list(range(5))
    deadline = time.monotonic() + 20
    while done < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done == 30 and 1 < most <= 5


@pytest.mark.parametrize("sizes", [[1] * 30, [SMALL_BYTES] * 30, [SMALL_BYTES + 1] * 30, [1, 1 << 20] * 15])
def test_more_small_requests_than_large_ones_run_at_once(sizes: list[int]) -> None:
    lock, running, most, done = threading.Lock(), 0.0, 0.0, 0

    def work(share: float) -> None:
        nonlocal running, most, done
        with lock:
            running += share
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= share
            done += 1

    wanted: dict[Hashable, Request[None]] = {}
    for i, size in enumerate(sizes):
        wanted[i] = size, partial(on_thread, partial(work, 1 / 8 if size <= SMALL_BYTES else 1 / 2), THREADS)
    ReadAhead(wanted, 2, 8)
    deadline = time.monotonic() + 20
    while done < len(sizes) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done == len(sizes) and 0.5 < most <= 1 + 1e-9


def test_answers_that_nobody_takes_hold_the_next_requests_back() -> None:
    sent: list[int] = []
    ahead = ReadAhead(requests(10, lambda i: sent.append(i) or i, size=10), 8, most_bytes=30)  # type: ignore[func-returns-value]
    time.sleep(0.2)
    assert sorted(sent) == [0, 1, 2]
    taken = ahead.take(0)
    assert taken is not None and taken.result(5) == 0
    time.sleep(0.2)
    assert sorted(sent) == [0, 1, 2, 3]
    assert ahead.take(9) is None, "whoever is ahead of the requests reads by itself"
    ahead.close()
    time.sleep(0.1)
    assert sorted(sent) == [0, 1, 2, 3]


def test_one_answer_may_be_larger_than_the_bound() -> None:
    ahead = ReadAhead(requests(1, lambda i: i, size=100), 1, most_bytes=10)
    taken = ahead.take(0)
    assert taken is not None and taken.result(5) == 0


def test_errors_are_raised_where_the_answer_is_taken() -> None:
    def fail(i: int) -> int:
        raise OSError("gone")

    taken = ReadAhead(requests(1, fail), 1).take(0)
    with pytest.raises(OSError, match="gone"):
        assert taken is not None
        taken.result(5)


def test_answers_that_come_at_once() -> None:
    """A library may have the answer before it has returned: thousands of them are sent one after the other."""

    def begin(i: int, finish: Finish[int]) -> None:
        if i % 3 == 0:
            raise OSError(str(i))
        finish(lambda: i)

    ahead = ReadAhead({i: (1, partial(begin, i)) for i in range(3000)}, 2)
    for i in range(3000):
        taken = ahead.take(i)
        assert taken is not None
        if i % 3:
            assert taken.result(0) == i
        else:
            with pytest.raises(OSError, match=str(i)):
                taken.result(0)


def test_answers_are_waited_for_and_taken_later() -> None:
    release = threading.Event()
    ahead = ReadAhead(requests(3, lambda i: i if release.wait(10) else -1), 2)
    threading.Timer(0.1, release.set).start()
    ahead.wait(1)
    assert release.is_set()
    ahead.wait("unknown")
    assert [future.result(5) for future in map(ahead.take, range(3)) if future is not None] == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.thread_unsafe
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_waits_for_nobody() -> None:
    release = threading.Event()
    ahead = ReadAhead(requests(4, lambda i: i if release.wait(10) else -1), 2)
    child = os.fork()
    if child == 0:
        taken = ReadAhead(requests(1, lambda i: 7), 2).take(0)
        is_right = ahead.take(0) is None and taken is not None and taken.result(5) == 7
        os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    release.set()
    taken = ahead.take(0)
    assert taken is not None and taken.result(5) == 0


def test_calls_at_once() -> None:
    barrier = threading.Barrier(2)
    assert len(at_once([lambda: barrier.wait(5), lambda: barrier.wait(5)])) == 2
    here = threading.get_ident()
    assert at_once([threading.get_ident] * 2, on_threads=False) == [here] * 2
    assert at_once([threading.get_ident]) == [here] and at_once([]) == []
    assert here not in at_once([threading.get_ident] * 2)


def test_what_is_sent_or_waits_to_be() -> None:
    release = threading.Event()
    ahead = ReadAhead(requests(3, lambda i: i if release.wait(10) else -1), 1)
    assert 0 in ahead and 2 in ahead and 3 not in ahead
    release.set()
    taken = ahead.take(0)
    assert taken is not None and taken.result(5) == 0 and 0 not in ahead
    ahead.close()
    assert 2 not in ahead


def test_requests_of_others_are_waited_for() -> None:
    unfinished, go, ended = Unfinished(), threading.Event(), []

    def answer() -> None:
        for _ in range(2):
            assert go.wait(10)
            ended.append(1)
            unfinished.add(-1)

    unfinished.add(2)
    thread = threading.Thread(target=answer)
    thread.start()
    threading.Timer(0.01, go.set).start()
    unfinished.join()
    assert ended == [1, 1]
    unfinished.after_fork()
    unfinished.add(1)
    assert not unfinished._finished.is_set()
    unfinished.add(-1)
    assert unfinished._finished.is_set(), "who waits is woken"
    unfinished.add(1)
    unfinished.after_fork()
    unfinished.join()  # those are the parent's
    thread.join()


def test_a_write_does_not_begin_after_one_that_failed() -> None:
    failed, begun = threading.Event(), []

    def fail() -> None:
        try:
            raise OSError("no space")
        finally:
            failed.set()

    with pytest.raises(OSError, match="no space"), WriteBehind(1) as writes:
        writes.start(1, fail)
        assert failed.wait(10)
        while not writes._unfinished[0][1].done():
            time.sleep(0.001)
        writes.start(1, lambda: begun.append(1))
    assert begun == []


def test_a_process_does_not_end_before_its_requests_do() -> None:
    """A thread that comes back from a store while the interpreter ends would be killed within it."""
    program = """
        import os, time
        from functools import partial
        from tableformats.runtime.io_threads import ReadAhead, on_thread

        def work():
            time.sleep(0.3)
            os.write(1, b"done\\n")

        ReadAhead({i: (1, partial(on_thread, work, 2)) for i in range(3)}, 2)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.split() == ["done"] * 3, done.stderr


def test_threads_that_wait_take_the_next_work() -> None:
    pool, done = io_threads._Pool(8), threading.Semaphore(0)
    for _ in range(20):
        pool.submit(done.release)  # type: ignore[arg-type]
        assert done.acquire(timeout=10)
        pool.join()
    assert pool._threads == 1


def test_a_system_without_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = io_threads.start_new_thread, []

    def limited(*arguments: object) -> int:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(1)
        return start(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(io_threads, "start_new_thread", limited)
    pool, done = io_threads._Pool(8), threading.Semaphore(0)
    for _ in range(20):
        pool.submit(done.release)  # type: ignore[arg-type]
    assert all(done.acquire(timeout=10) for _ in range(20))
    pool.join()
    with pytest.raises(RuntimeError):
        io_threads._Pool(8).submit(done.release)  # type: ignore[arg-type]


def test_writes_run_beside_the_block_and_end_with_it() -> None:
    barrier, done = threading.Barrier(3), []

    def work(i: int) -> None:
        if i < 2:
            barrier.wait(10)  # both writes and the block are there at once
        done.append((i, threading.current_thread() is threading.main_thread()))

    with WriteBehind(4) as writes:
        for i in range(3):
            writes.submit(1, partial(work, i))
        barrier.wait(10)
    assert sorted(done) == [(0, False), (1, False), (2, True)]


@pytest.mark.parametrize("fails", [0, 3, 7])
def test_errors_of_writes_are_raised_when_all_have_ended(fails: int) -> None:
    begun, ended = [], []

    def work(i: int) -> None:
        begun.append(i)
        time.sleep(0.01)
        ended.append(i)
        if i == fails:
            raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"), WriteBehind(2) as writes:
        for i in range(8):
            writes.submit(1, partial(work, i))
    assert fails in begun and sorted(begun) == sorted(ended)


def test_the_error_of_the_block_comes_first() -> None:
    done = []

    def work() -> None:
        time.sleep(0.05)
        done.append(1)
        raise OSError("of the write")

    with pytest.raises(ValueError, match="of the block"), WriteBehind(2) as writes:
        writes.submit(1, work)
        writes.submit(1, work)
        raise ValueError("of the block")
    assert done == [1], "the last one did not begin"


def test_writes_that_hold_as_many_bytes_as_they_may_are_not_waited_for() -> None:
    goes_on, ended = threading.Event(), []

    def work() -> None:
        goes_on.wait(5)
        ended.append(1)

    with WriteBehind(2, 10) as writes:
        writes.start(10, work)
        writes.wait(10)
        assert not ended
        goes_on.set()
        writes.wait(9)
        assert ended


def test_writes_that_hold_too_many_bytes_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io_threads, "MAX_BYTES_BEHIND", 10)
    lock, now, most = threading.Lock(), 0, 0

    def work(size: int) -> None:
        nonlocal now, most
        with lock:
            now += size
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= size

    with WriteBehind(8) as writes:
        for size in [4, 4, 4, 4, 30, 4, 4]:
            writes.submit(size, partial(work, size))
    assert now == 0 and most == 30
