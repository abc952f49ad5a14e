"""The bar of a command that reads many files: shown to terminals, after a second, and drawn now and then."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tableformats.cli import progress
from tableformats.cli.progress import ProgressBar


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets."""
    clock = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "is_terminal", lambda stream: True)
    return clock


class Bar:
    task_ids = (7,)

    def __init__(self) -> None:
        self.drawn: list[tuple[int, int, str]] = []
        self.is_stopped = False

    def update(self, task: int, *, completed: int, count: str) -> None:
        self.drawn.append((task, completed, count))

    def stop(self) -> None:
        self.is_stopped = True


def test_a_bar_is_shown_after_a_second_and_drawn_twenty_times_a_second(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    bar, started = Bar(), []

    def start(self: Any, total: int) -> None:
        started.append(total)
        self._bar = bar

    monkeypatch.setattr(ProgressBar, "_start", start)
    with ProgressBar("Comparing files") as shown:
        for at, done in ((50.5, 1), (51.0, 2), (51.01, 3), (51.02, 4), (51.05, 5), (51.07, 1200), (51.08, 1300)):
            now[0] = at
            shown(done, 5000)
        now[0] = 51.09
        shown(5000, 5000)
        assert not bar.is_stopped
    assert started == [5000] and bar.is_stopped
    assert bar.drawn == [(7, 3, "3 of 5,000"), (7, 1200, "1,200 of 5,000"), (7, 5000, "5,000 of 5,000")]


def test_no_bar_is_shown_to_what_is_no_terminal(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_terminal", lambda stream: False)
    monkeypatch.setattr(ProgressBar, "_start", lambda self, total: pytest.fail("it is shown"))
    with ProgressBar("Comparing files") as shown:
        now[0] += 99
        shown(1, 2)


def test_a_command_that_is_quick_shows_none(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgressBar, "_start", lambda self, total: pytest.fail("it is shown"))
    with ProgressBar("Comparing files") as shown:
        now[0] += 1.0
        shown(2, 2)


def test_who_waits_keeps_no_process_from_ending(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = progress._Waiting()
    monkeypatch.setattr(progress._Waiting, "_show", lambda self, what: self._is_over.wait())
    try:
        waiting.start("Reading")
        assert waiting._thread is not None and waiting._thread.daemon and waiting._thread.is_alive()
    finally:
        waiting.stop()
    assert waiting._thread is None
    monkeypatch.setattr(progress, "is_terminal", lambda stream: False)
    waiting.start("Reading")
    assert waiting._thread is None
