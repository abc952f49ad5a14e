"""Threads that share tables and a cache, forks of a process with threads, and imports without any.

Each test compares with answers that one thread gave alone.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.runtime.concurrency import cached_property
from tests.support.examples import one_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TABLES = [
    "tables/delta-evolved",
    "tables/iceberg-evolved",
    "tables_jvm/delta-deletion-vectors",
    "tables_jvm/delta-v2-checkpoint",
    "tables_jvm/iceberg-deletion-vectors",
    "tables_jvm/iceberg-equality-deletes",
]
FILTERS = [None, "id > 3"]
Job = tuple[str, int, "str | None"]


def opened(name: str, cache: Any) -> tf.Table:
    return tf.open_table(GOLDEN / name / "table", relocate="iceberg" in name, cache=cache)


def jobs() -> list[Job]:
    """The newest version of each table and one before it, under each filter."""
    versions = {name: opened(name, True).history()["version"].to_pylist()[:4:3] for name in TABLES}
    return [(name, version, filter) for name in TABLES for version in versions[name] for filter in FILTERS]


def answer(table: tf.Table, job: Job) -> tuple[list[str], list[str], int]:
    scan = table.scan(job[2], version=job[1])
    plan = scan.plan()
    return sorted(plan.file_uris()), sorted(map(str, scan.to_arrow().to_pylist())), scan.count()


@pytest.fixture(scope="module")
def expected() -> dict[Job, Any]:
    return {job: answer(opened(job[0], False), job) for job in jobs()}


@contextmanager
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("budget", one_of(2, [20_000, 1 << 20]))
def test_threads_share_tables_and_a_cache(expected: dict[Job, Any], budget: int) -> None:
    """The same and other snapshots, opened anew or shared, while another thread makes the cache forget."""
    cache = tf.MetadataCache(budget)
    shared = {name: opened(name, cache) for name in TABLES}
    over = threading.Event()

    def evict() -> None:
        size = 0
        while not over.wait(0.001):
            size = (size + 7919) % budget
            cache.keep(("filler", size % 3), b"", size)
        assert cache.used_bytes <= budget

    def work(number: int) -> list[Job]:
        order = list(expected)
        start = number * 7 % len(order)
        wrong = []
        for i, job in enumerate(order[start:] + order[:start]):
            table = shared[job[0]] if (i + number) % 3 else opened(job[0], cache)
            if answer(table, job) != expected[job]:
                wrong.append(job)
        return wrong

    evicting = threading.Thread(target=evict)
    with switching_often(), ThreadPoolExecutor(4) as pool:
        evicting.start()
        try:
            found = list(pool.map(work, range(4)))
        finally:
            over.set()
            evicting.join()
    assert found == [[]] * 4


def test_threads_share_one_plan(expected: dict[Job, Any]) -> None:
    """Properties that are made when they are asked for, and bounds that are read then."""
    for name in TABLES:
        plan = opened(name, True).scan("id > 3").plan()
        barrier = threading.Barrier(6)

        def look(_: int, plan: Any = plan, barrier: threading.Barrier = barrier) -> Any:
            barrier.wait()
            shown = plan.files.to_pylist(), plan.record_counts.to_pylist(), plan.report.as_dict(), plan.residual
            return *shown, plan.keep_mask("id > 5").tolist(), [t.path for t in plan.tasks()], plan.to_arrow().num_rows

        with switching_often(), ThreadPoolExecutor(6) as pool:
            found = list(pool.map(look, range(6)))
        assert all(str(one) == str(found[0]) for one in found), name


# ---- processes ------------------------------------------------------------------------------------------------------


def forked(work: Callable[[], None], seconds: float = 30) -> int:
    """The exit code of a child that does ``work``; one that hangs is killed and fails."""
    child = os.fork()
    if not child:
        # Says where it hangs.
        faulthandler.dump_traceback_later(seconds / 2)
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_of_a_process_with_threads(expected: dict[Job, Any]) -> None:
    """A child has the cache and no thread of its parent, and locks must be free in it: forks come while others plan."""
    cache = tf.MetadataCache(1 << 20)
    shared = {name: opened(name, cache) for name in TABLES}
    order = [job for job in expected if job[2] is not None]
    plans = {job: shared[job[0]].scan(job[2], version=job[1]).plan() for job in order[:6]}
    over = threading.Event()

    def keep_planning(number: int) -> None:
        i = number
        while not over.is_set():
            answer(shared[order[i % len(order)][0]], order[i % len(order)])
            i += 1

    def child() -> None:
        for job, plan in plans.items():
            assert sorted(map(str, plan.to_arrow().to_pylist())) == expected[job][1]
        for job in order[::3]:
            assert answer(shared[job[0]], job) == expected[job]
            assert answer(opened(job[0], cache), job) == expected[job]

    threads = [threading.Thread(target=keep_planning, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    try:
        codes = [forked(child) for _ in range(2)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert codes == [0, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_locks_that_other_threads_hold_are_free_in_a_child() -> None:
    """What happens by chance above, made certain: a fork while a thread holds the cache, and one makes a property."""
    cache = tf.MetadataCache(100)
    cache.keep("a", b"", 60)
    snapshot = opened(TABLES[0], cache).snapshot()
    asked, over = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self) -> int:
            asked.set()
            return 1 if threading.current_thread() is threading.main_thread() else int(over.wait())

    def hold() -> None:
        with cache._store._lock:
            cache._store.used_bytes = 10**6
            Slow().value  # noqa: B018

    def child() -> None:
        assert cache.find("a") == b"" and cache.used_bytes == 60
        cache.keep("b", b"", 50)
        assert cache.find("a") is None and Slow().value == 1
        assert len(snapshot.scan().plan())

    thread = threading.Thread(target=hold)
    thread.start()
    asked.wait()
    try:
        assert forked(child, 20) == 0
    finally:
        over.set()
        thread.join()


def test_no_thread_at_import() -> None:
    """Spark's Python daemon imports, then forks its workers."""
    code = """
import os, threading
import numpy, pyarrow, pyarrow.parquet, pyroaring
def threads():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
before = threads()
import tableformats.engines.arrow, tableformats.planning.planner, tableformats.plugin.registry, tableformats.table.table
import tableformats_delta.table, tableformats_delta.snapshot, tableformats_iceberg.table, tableformats_iceberg.snapshot
assert threads() == before and threading.active_count() == 1, threading.enumerate()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.thread_unsafe(reason="counts the threads of the process")
def test_no_thread_outlives_a_plan() -> None:
    before = set(threading.enumerate())  # of which some may end meanwhile
    for name in TABLES:
        opened(name, True).scan("id > 3").plan()
    assert set(threading.enumerate()) <= before
