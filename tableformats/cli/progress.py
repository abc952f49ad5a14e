"""Progress of commands that take longer than a second, on standard error and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from ..inspect.text import count_text

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressBar", "confirm", "is_terminal", "stop_waiting", "tell_done", "waiting"]

_PATIENCE = 1.0
"""Seconds after which somebody wants to know."""

_FRAME = 0.05
"""Seconds between two states of a bar."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody reads along. None: the stream is closed."""
    return stream is not None and stream.isatty()


class _Waiting:
    """Shows on standard error how long a command has been working, once that is more than :data:`_PATIENCE`."""

    def __init__(self) -> None:
        self._is_over = Event()
        self._thread: Thread | None = None
        self._what = ""
        self.done = ""
        """How much is done, in words, where that is known."""

    def start(self, what: str) -> None:
        """Begin, where standard error is a terminal."""
        self._what, self.done = what, ""
        if not is_terminal(sys.stderr):
            return
        self._is_over.clear()
        self._thread = Thread(target=self._show, args=(what,), daemon=True, name="tableformats-waiting")
        self._thread.start()

    def stop(self) -> None:
        """End, and remove what is shown."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def again(self) -> None:
        """Begin again with the same words, after something else was written."""
        self.start(self._what)

    def _show(self, what: str) -> None:
        since = time.monotonic()
        if self._is_over.wait(_PATIENCE):
            return
        while True:
            done = f", {self.done}" if self.done else ""
            sys.stderr.write(f"\r\x1b[2K{what}: {time.monotonic() - since:.0f} s{done}")
            sys.stderr.flush()
            if self._is_over.wait(_PATIENCE / 2):
                break
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


_WAITING = _Waiting()


@contextmanager
def waiting(what: str, is_shown: bool = True) -> Iterator[None]:
    """Say that ``what`` is at work, until :func:`stop_waiting` is called or the block ends."""
    if is_shown:
        _WAITING.start(what)
    try:
        yield
    finally:
        _WAITING.stop()


def stop_waiting() -> None:
    """Remove what :func:`waiting` shows, as something else is written."""
    _WAITING.stop()


def tell_done(what: str) -> None:
    """Add to what :func:`waiting` shows how much is done: ``"1,200 rows"``."""
    _WAITING.done = what


def confirm(question: str) -> None:
    """Ask, and go on showing that the command works. Raises click.Abort for a no."""
    import click

    stop_waiting()
    click.confirm(question, abort=True, err=True)
    if _WAITING._what:
        _WAITING.again()


class ProgressBar:
    """A bar for a number of files. Call it with the number that are done and of all.

    >>> with ProgressBar("Comparing files") as progress:
    ...     progress(1, 2)
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._is_shown = is_terminal(sys.stderr)
        self._bar: Progress | None = None
        self._drawn = 0.0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if not self._is_shown:
            return
        now = time.monotonic()
        if self._bar is None and now - self._since > _PATIENCE:
            self._start(total)
        if self._bar is not None and (now - self._drawn > _FRAME or done == total):
            self._drawn = now
            self._bar.update(self._bar.task_ids[0], completed=done, count=f"{count_text(done)} of {count_text(total)}")

    def _start(self, total: int) -> None:
        stop_waiting()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._bar.add_task(self._what, total=total, count="")
        self._bar.start()
