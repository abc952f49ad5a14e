"""Progress of commands that take longer than a second, on standard error and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from ..inspect.text import count_text

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressBar"]

_PATIENCE = 1.0
"""Seconds after which somebody wants to know."""


class ProgressBar:
    """A bar for a number of files. Call it with the number that are done and of all.

    >>> with ProgressBar("Comparing files") as progress:
    ...     progress(1, 2)
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._is_shown = sys.stderr.isatty()
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None and self._is_shown and time.monotonic() - self._since > _PATIENCE:
            self._start(total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, count=f"{count_text(done)} of {count_text(total)}")

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._bar.add_task(self._what, total=total, count="")
        self._bar.start()
