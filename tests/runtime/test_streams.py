"""Streams of several sources: items in order, bytes within the budget, the first error, and nothing left running."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tableformats.runtime import streams
from tableformats.runtime.streams import OpenedSource, StreamPart, _Merge, _Source, merged_streams

Opener = Callable[[], OpenedSource[int]]


class Sources:
    """Sources of parts of items, each item a number; counts what is open, running and made."""

    def __init__(self, parts: list[list[int]], weight: int = 0, fails: int | None = None, delay: float = 0) -> None:
        self._parts, self._weight, self._fails, self._delay = parts, weight, fails, delay
        self._lock = threading.Lock()
        self.opened: list[int] = []
        self.closed: list[int] = []
        self.made: list[int] = []
        self.running = self.most_running = 0
        self.alone: list[bool] = []
        self.ended = 0

    def __iter__(self) -> Iterator[Opener]:
        for number in range(len(self._parts)):
            yield lambda number=number: self._open(number)

    def _open(self, number: int) -> OpenedSource[int]:
        self.opened.append(number)
        time.sleep(self._delay * random.random())
        first, parts = 1000 * number, []
        for count in self._parts[number]:
            parts.append(StreamPart(lambda alone, a=first, n=count: self._run(alone, a, n), self._weight))
            first += count
        return OpenedSource(parts, lambda: self.closed.append(number))

    def _run(self, alone: bool, first: int, count: int) -> Iterator[int]:
        self.alone.append(alone)
        return self._items(first, count)

    def _items(self, first: int, count: int) -> Iterator[int]:
        try:
            for item in range(first, first + count):
                with self._lock:
                    self.running += 1
                    self.most_running = max(self.most_running, self.running)
                time.sleep(self._delay * random.random())
                with self._lock:
                    self.running -= 1
                if item == self._fails:
                    raise ValueError(str(item))
                self.made.append(item)
                yield item
        finally:
            self.ended += 1

    @property
    def expected(self) -> list[int]:
        return [1000 * i + n for i, parts in enumerate(self._parts) for n in range(sum(parts))]


SHAPES = [[], [[]], [[1]], [[0], [3]], [[3, 2], [], [1, 0, 4]], [[2]] * 30, [[1] * 50, [5]]]


@pytest.mark.parametrize("budget", [1, 3, 10_000])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_items_come_in_order_and_everything_is_closed(shape: list[list[int]], threads: int, budget: int) -> None:
    sources = Sources(shape, weight=2, delay=0.0005)
    found = list(merged_streams(sources, lambda _: 1, threads=threads, budget_bytes=budget))
    assert found == sources.expected
    assert sorted(sources.opened) == sorted(sources.closed) == list(range(len(shape)))
    assert sources.most_running <= threads


@pytest.mark.parametrize("budget", [1, 5, 10_000])
def test_without_an_order_all_items_come_and_each_part_keeps_its_own(budget: int) -> None:
    sources = Sources([[4, 4]] * 8, weight=1, delay=0.001)
    found = list(merged_streams(sources, lambda _: 1, threads=3, budget_bytes=budget, ordered=False))
    assert sorted(found) == sources.expected
    for part in range(16):
        first = 1000 * (part // 2) + 4 * (part % 2)
        own = [item for item in found if first <= item < first + 4]
        assert own == sorted(own)


def test_without_an_order_a_slow_part_holds_nobody_up() -> None:
    waits = threading.Event()

    def slow(_: bool) -> Iterator[int]:
        assert waits.wait(10)
        yield 0

    opened = [OpenedSource([StreamPart(slow)]), OpenedSource([StreamPart(lambda _: iter([1, 2]))])]
    sources = [lambda one=one: one for one in opened]
    found = merged_streams(sources, lambda _: 1, threads=2, budget_bytes=100, ordered=False)
    assert [next(found), next(found)] == [1, 2]
    waits.set()
    assert list(found) == [0]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_bytes_wait_than_the_budget_and_one_item_of_each_thread(threads: int) -> None:
    sources = Sources([[20, 20]] * 10)
    found = merged_streams(sources, lambda _: 10, threads=threads, budget_bytes=100)
    for taken in range(1, 400):
        next(found)
        time.sleep(0.0005)
        # An item that a thread holds when another uses up the budget is still kept, and so is one of the first part.
        assert 10 * (len(sources.made) - taken) <= 100 + 10 * threads + 10
    found.close()


def test_parts_weigh_too() -> None:
    sources = Sources([[5]] * 20, weight=1000)
    found = merged_streams(sources, lambda _: 1, threads=4, budget_bytes=1500)
    for _ in range(20):
        next(found)
        time.sleep(0.001)
        assert len(sources.alone) - sources.ended <= 2  # one in the budget, and the one that the consumer waits for
    found.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_in_its_place_and_ends_the_rest(threads: int) -> None:
    sources = Sources([[3, 3]] * 200, fails=4004, delay=0.0005)
    found = []
    with pytest.raises(ValueError, match="4004"):
        for item in merged_streams(sources, lambda _: 1, threads=threads, budget_bytes=1000):
            found.append(item)
    assert found == [i for i in sources.expected if i < 4004]
    assert len(sources.opened) < 100
    assert sorted(sources.opened) == sorted(sources.closed)


def test_few_sources_are_taken_before_they_can_be_opened() -> None:
    """Two for each thread wait, however long the first source goes on."""
    goes_on, taken = threading.Event(), 0

    def opened(number: int) -> OpenedSource[int]:
        if number:
            assert goes_on.wait(10)
        return OpenedSource([StreamPart(lambda _: iter([number] * (1 if number else 40)))])

    def sources() -> Iterator[Opener]:
        nonlocal taken
        for number in range(500):
            taken += 1
            yield partial(opened, number)

    found = merged_streams(sources(), lambda _: 1, threads=2, budget_bytes=1)
    for _ in range(39):
        assert next(found) == 0
    assert 1 < taken <= 8
    goes_on.set()
    assert list(found) == [0, *range(1, 500)]


def test_of_two_errors_the_first_in_order_is_raised() -> None:
    second_failed = threading.Event()

    def first() -> OpenedSource[int]:
        assert second_failed.wait(10)
        raise ValueError("first")

    def second() -> OpenedSource[int]:
        second_failed.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        list(merged_streams([first, second], lambda _: 1, threads=2, budget_bytes=10))


def test_an_error_of_the_iterable_comes_after_the_items_before_it() -> None:
    def sources() -> Iterator[Opener]:
        yield from Sources([[2]])
        raise LookupError("no more tasks")

    found = merged_streams(sources(), lambda _: 1, threads=2, budget_bytes=10)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(LookupError, match="no more tasks"):
        next(found)


@pytest.mark.thread_unsafe(reason="counts the threads of the process")
@pytest.mark.parametrize("taken", [0, 1, 7])
def test_a_reader_that_is_given_up_leaves_nothing_behind(taken: int) -> None:
    before = threading.active_count()
    sources = Sources([[5, 5]] * 50, weight=3, delay=0.001)
    found = merged_streams(sources, lambda _: 1, threads=3, budget_bytes=20)
    for _ in range(taken):
        next(found)
    del found
    assert threading.active_count() == before
    assert sorted(sources.opened) == sorted(sources.closed)
    made = len(sources.made)
    time.sleep(0.02)
    assert len(sources.made) == made


def test_only_a_part_that_runs_alone_is_told_so() -> None:
    one = Sources([[3]])
    list(merged_streams(one, lambda _: 1, threads=2, budget_bytes=100))
    assert one.alone == [True]
    many = Sources([[3, 3, 3]])
    list(merged_streams(many, lambda _: 1, threads=2, budget_bytes=100))
    assert many.alone[0] is False


def test_the_consumer_may_be_another_thread_each_time() -> None:
    sources = Sources([[3, 3]] * 5)
    found = merged_streams(sources, lambda _: 1, threads=2, budget_bytes=4)
    taken: list[int] = []
    for _ in range(30):
        thread = threading.Thread(target=lambda: taken.append(next(found)))
        thread.start()
        thread.join(10)
    assert taken == sources.expected
    assert list(found) == []


def test_nothing_begins_after_an_error() -> None:
    """The error waits for the items before it, and nobody works on what comes after it."""
    begun, failed = [], threading.Event()

    def items(number: int) -> Iterator[int]:
        begun.append(number)
        if number == 1:
            failed.set()
            raise ValueError("1")
        assert failed.wait(10)
        time.sleep(0.05)
        yield number

    parts = [StreamPart(lambda alone, number=number: items(number), 0) for number in range(6)]
    found = []
    with pytest.raises(ValueError, match="1"):
        for item in merged_streams([lambda: OpenedSource(parts, lambda: None)], lambda _: 1, threads=2, budget_bytes=9):
            found.append(item)
    assert found == [0] and sorted(begun) == [0, 1]


def test_a_part_that_is_read_at_the_end_makes_no_more_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives up waits for the item that a thread is at, however long it takes, and for no others of its part."""
    begun, goes_on = threading.Event(), threading.Event()
    made: list[int] = []

    def items(_: bool) -> Iterator[int]:
        for number in range(3):
            begun.set()
            assert goes_on.wait(10)
            time.sleep(0.02)
            made.append(number)
            yield number

    merge = _Merge[int](lambda _: 1, threads=1, budget_bytes=100, ordered=True)
    shutdown = merge._pool.shutdown
    monkeypatch.setattr(merge._pool, "shutdown", lambda **given: (goes_on.set(), shutdown(**given)))
    closed: list[int] = []
    sources = [_Source[int](lambda: OpenedSource([StreamPart(items)], lambda: closed.append(0))) for _ in range(2)]
    merge.add(sources)
    assert begun.wait(10)
    merge.close()
    assert (made, closed) == ([0], [0])


def test_what_waits_for_a_thread_at_the_end_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has fewer threads than were asked for, sources wait for one."""
    opened: list[int] = []
    begun, goes_on = threading.Event(), threading.Event()

    def opener(number: int) -> OpenedSource[int]:
        opened.append(number)
        begun.set()
        assert goes_on.wait(10)
        return OpenedSource([])

    merge = _Merge[int](lambda _: 1, threads=3, budget_bytes=100, ordered=True)
    merge._pool = ThreadPoolExecutor(1)
    shutdown = merge._pool.shutdown

    def slow_shutdown(wait: bool, cancel_futures: bool) -> None:
        shutdown(wait=False, cancel_futures=cancel_futures)
        goes_on.set()
        shutdown(wait=wait)

    monkeypatch.setattr(merge._pool, "shutdown", slow_shutdown)
    merge.add([_Source[int](partial(opener, number)) for number in range(3)])
    assert begun.wait(10)
    merge.close()
    assert opened == [0]


def test_who_waits_leaves_work_that_has_begun_to_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long an item takes."""
    monkeypatch.setattr(streams, "PATIENCE", 0.001)
    opened: list[int] = []
    goes_on = threading.Event()

    def items(_: bool) -> Iterator[int]:
        yield threading.get_ident()

    def opener() -> OpenedSource[int]:
        opened.append(threading.get_ident())
        goes_on.wait(0.02)
        return OpenedSource([StreamPart(items)])

    found = list(merged_streams([opener], lambda _: 1, threads=1, budget_bytes=10))
    assert opened == found and found != [threading.get_ident()]


def test_who_does_what_a_lost_thread_should_do_leaves_the_rest_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PATIENCE", 0.05)
    opened: list[int] = []

    def opener(number: int) -> OpenedSource[int]:
        opened.append(threading.get_ident())
        return OpenedSource([StreamPart(lambda _: iter([number]))])

    merge = _Merge[int](lambda _: 1, threads=1, budget_bytes=100, ordered=True)
    submit, lost = merge._pool.submit, iter([True])
    monkeypatch.setattr(merge._pool, "submit", lambda *work: None if next(lost, False) else submit(*work))
    merge.add([_Source[int](partial(opener, number)) for number in range(5)])
    found: list[int] = []
    while (taken := merge.take()) is not None:
        found += taken
    merge.close()
    assert found == [0, 1, 2, 3, 4]
    assert [one == threading.get_ident() for one in opened] == [True, False, False, False, False]


@pytest.mark.parametrize("budget", [1, 3, 7])
def test_a_part_is_put_aside_where_the_budget_is_used_up(budget: int) -> None:
    made: list[int] = []

    def items(_: bool) -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    merge = _Merge[int](lambda _: 1, threads=1, budget_bytes=budget, ordered=True)
    merge.add([_Source[int](lambda: OpenedSource([StreamPart(items)]))])
    for turn in range(1, 3):
        deadline = time.monotonic() + 10
        while merge._running or len(made) < turn * budget:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert len(made) == turn * budget and merge._in_flight == budget
        assert [merge.take() for _ in range(budget)] == [[n] for n in range((turn - 1) * budget, turn * budget)]
    merge.close()


@pytest.mark.parametrize(("budget", "count"), [(1, 1), (10, 1), (11, 2), (15, 2), (16, 3), (100, 4)])
def test_parts_begin_while_there_is_room_for_what_they_hold(budget: int, count: int) -> None:
    """The first one in any case; then each whose weight, with that of those before it, is below the budget."""
    started: list[int] = []
    begun, goes_on = threading.Event(), threading.Event()

    def part(number: int) -> StreamPart[int]:
        def run(_: bool) -> Iterator[int]:
            started.append(number)
            return items()

        def items() -> Iterator[int]:
            begun.set()
            assert goes_on.wait(10)
            yield number

        return StreamPart(run, 5)

    merge = _Merge[int](lambda _: 1, threads=4, budget_bytes=budget, ordered=True)
    merge.add([_Source[int](lambda: OpenedSource([part(number) for number in range(6)]))])
    assert begun.wait(10)
    assert started == list(range(count))
    goes_on.set()
    assert [merge.take() for _ in range(3)] == [[0], [], [1]]
    merge.close()


def test_what_parts_hold_is_free_when_they_have_ended() -> None:
    merge = _Merge[int](lambda _: 1, threads=2, budget_bytes=1000, ordered=True)
    parts = [StreamPart(lambda _, n=n: iter([n]), 5) for n in range(3)]
    merge.add([_Source[int](lambda: OpenedSource(parts))])
    assert [merge.take() for _ in range(7)] == [[0], [], [1], [], [2], [], None]
    merge._pool.shutdown(wait=True)
    assert (merge._in_flight, merge._running) == (0, 0)
    merge.close()


def test_a_source_is_closed_after_all_of_its_parts() -> None:
    """Also where the first part has ended long ago, and the second one waits for the consumer."""
    done: list[str] = []

    def second(_: bool) -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            done.append("the second part ended")

    merge = _Merge[int](lambda _: 1, threads=1, budget_bytes=5, ordered=True)
    parts = [StreamPart(lambda _: iter([7])), StreamPart(second)]
    merge.add([_Source[int](lambda: OpenedSource(parts, lambda: done.append("the source was closed")))])
    deadline = time.monotonic() + 10
    while merge._running or merge._in_flight < 5:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert done == []
    merge.close()
    assert done == ["the second part ended", "the source was closed"]
