"""Work on several items at once: answers in order, few items at a time, made by the caller, the first error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from tableformats.runtime import streams, threads
from tableformats.runtime.streams import OpenedSource, StreamPart, merged_streams
from tableformats.runtime.threads import all_at_once, in_order, thread_count

HERE = threading.current_thread


def test_answers_come_in_the_order_of_the_items() -> None:
    slow = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert slow.wait(10)
        elif item == 1:
            slow.set()
        return item

    if thread_count() < 2:
        slow.set()
    assert list(in_order(work, range(100))) == list(range(100))


def test_items_are_made_by_the_caller_while_others_are_worked_on() -> None:
    begun = threading.Event()
    makers = set()

    def items() -> Iterator[int]:
        for item in range(3):
            makers.add(HERE())
            if item == 2:
                assert begun.wait(10), "the first items are not worked on before the third is made"
            yield item

    def work(item: int) -> threading.Thread:
        begun.set()
        return HERE()

    workers = set(in_order(work, items()))
    assert makers == {HERE()}
    assert HERE() not in workers


def test_few_items_are_made_ahead_of_their_answers() -> None:
    made = 0

    def items() -> Iterator[int]:
        nonlocal made
        for item in range(1000):
            made += 1
            yield item

    ahead = [made - taken for taken, _ in enumerate(in_order(abs, items()))]
    assert max(ahead) <= 2 * thread_count() + 1


@pytest.mark.parametrize("number", [1, 2, 5])
def test_as_many_threads_as_asked(number: int) -> None:
    meeting = threading.Barrier(number, timeout=10)
    workers = set(in_order(lambda _: (meeting.wait(), HERE())[1], range(4 * number), number))
    assert len(workers) <= number and HERE() not in workers


def test_a_single_item_takes_no_thread() -> None:
    assert list(in_order(lambda _: HERE(), [0])) == [HERE()]
    assert list(in_order(abs, [])) == []


def test_the_first_error_is_raised_in_its_place() -> None:
    def work(item: int) -> int:
        if item in (3, 4):
            raise ValueError(str(item))
        return item

    found = []
    with pytest.raises(ValueError, match="3"):
        for answer in in_order(work, range(10)):
            found.append(answer)
    assert found == [0, 1, 2]


def test_an_error_of_the_items_ends_the_work() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(in_order(abs, items()))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tableformats")]


def test_who_closes_the_iterator_waits_for_what_has_begun_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    meeting, goes_on = threading.Barrier(3, timeout=10), threading.Event()

    def work(item: int) -> int:
        if item in (1, 2):
            meeting.wait()
            assert goes_on.wait(10)
        done.append(item)
        return item

    class Slow(threads.ThreadPoolExecutor):
        """What it has begun goes on when all else is cancelled."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            goes_on.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Slow)
    answers = in_order(work, range(10), 2)
    assert next(answers) == 0  # the fifth item waits for a thread, too
    meeting.wait()
    answers.close()  # type: ignore[attr-defined]
    assert sorted(done) == [0, 1, 2]


def test_calls_are_made_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=5)
    all_at_once(meeting.wait, meeting.wait, meeting.wait)
    ran: list[int] = []
    all_at_once(lambda: ran.append(threading.get_ident()))
    assert ran == [threading.get_ident()]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_all_calls_end_before_the_error_is_raised(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def call(number: int) -> None:
        done.append(number)
        if number == failing:
            raise OSError(number)

    calls = [lambda number=number: call(number) for number in range(3)]
    with pytest.raises(OSError, match=str(failing)):
        all_at_once(*calls)
    assert sorted(done) == [0, 1, 2]

    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    with pytest.raises(OSError, match=str(failing)):
        all_at_once(*calls)
    assert sorted(done) == [0, 0, 1, 1, 2, 2]


class Dead(threads.ThreadPoolExecutor):
    """A pool whose threads got no memory when they began: nothing that it is given is ever done."""

    def submit(self, call: Callable[..., object], *arguments: object) -> Future[object]:  # type: ignore[override]
        return Future()


class TestThreadsThatAreNoMore:
    @pytest.fixture(autouse=True)
    def no_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (threads, streams):
            monkeypatch.setattr(module, "PATIENCE", 0.01)
            monkeypatch.setattr(module, "ThreadPoolExecutor", Dead)

    def test_answers(self) -> None:
        assert list(in_order(abs, range(-3, 3))) == [3, 2, 1, 0, 1, 2]

    def test_errors(self) -> None:
        with pytest.raises(ZeroDivisionError):
            list(in_order(lambda item: 1 // item, range(3)))

    @pytest.mark.parametrize("ordered", [True, False])
    def test_streams(self, ordered: bool) -> None:
        sources = [lambda i=i: OpenedSource([StreamPart(lambda _: iter([i, i + 1]))]) for i in range(3)]
        found = merged_streams(sources, lambda _: 1, threads=2, budget_bytes=10, ordered=ordered)
        assert list(found) == [0, 1, 1, 2, 2, 3]

    def test_an_error_after_the_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def close() -> None:
            raise MemoryError

        sources = [lambda: OpenedSource([StreamPart(lambda _: iter([0]))], close)]
        with pytest.raises(MemoryError):
            list(merged_streams(sources, lambda _: 1, threads=2, budget_bytes=10))
