"""Writers that go on one request at a time, in an order that a test chooses.

Each request to the store ends a phase of a writer: it reads the table, writes data files, puts the commit, looks at
winners, writes checksum files, checkpoints and hints, cleans. Writers are threads of which one runs at a time; they
stop before each request. So an order of steps is an interleaving, and the same order gives the same one again.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..support.memory_store import MemoryStore
from .watched import Request, WatchedStore

__all__ = ["Stepper", "phase_of"]

_LONGEST_S = 120.0
"""A writer that takes longer for one step waits for another one, which stands still."""


class _AbandonedError(BaseException):
    """Ends a writer that nobody steps any more."""


class _Writer(threading.Thread):
    def __init__(self, stepper: Stepper, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.turn = threading.Semaphore(0)
        self.is_done = False
        self.error: BaseException | None = None
        self.waits_for: Request | None = None
        self._stepper, self._work = stepper, work

    def run(self) -> None:
        self.turn.acquire()
        try:
            self._stepper.local.writer = self
            if not self._stepper.is_closed:
                self._work()
        except BaseException as error:
            self.error = error
        self.is_done, self.waits_for = True, None
        self._stepper.back.release()

    def stop_before(self, request: Request) -> None:
        if not self._stepper.is_closed:
            self.waits_for = request
            self._stepper.back.release()
            self.turn.acquire()
        if self._stepper.is_closed:
            raise _AbandonedError
        self._stepper.phases[phase_of(request)] += 1


class Stepper:
    """Steps several writers. ``wrap`` makes the store that they use.

    Writers that were left in the middle end with the interpreter at the latest: a thread that stands below native code
    while Python goes away would end the process with an error.
    """

    def __init__(self) -> None:
        _STEPPERS.add(self)
        self.is_closed = False
        self.back = threading.Semaphore(0)
        self.local = threading.local()
        self.steps = 0
        self.phases: Counter[str] = Counter()
        self._writers: list[_Writer] = []

    def wrap(self, store: MemoryStore) -> WatchedStore:
        return WatchedStore(store, self._hook)

    def _hook(self, request: Request, do: Callable[[], Any]) -> Any:
        # Reads in other threads, all at once or ahead, are of the step whose writer waits for them.
        writer = getattr(self.local, "writer", None)
        if writer is not None:
            writer.stop_before(request)
        return do()

    def begin(self, work: Callable[[], None]) -> int:
        """A writer that does ``work`` from its first step on; gives its number."""
        self._writers.append(_Writer(self, work))
        self._writers[-1].start()
        return len(self._writers) - 1

    @property
    def unfinished(self) -> list[int]:
        return [number for number, writer in enumerate(self._writers) if not writer.is_done]

    def waits_for(self, number: int) -> Request | None:
        """The request before which a writer stands."""
        return self._writers[number].waits_for

    def step(self, number: int) -> None:
        """Let a writer do the request before which it stands, and go on to the next one. Raises what it raised."""
        writer = self._writers[number]
        if writer.is_done:
            return
        self.steps += 1
        writer.turn.release()
        if not self.back.acquire(timeout=_LONGEST_S):
            raise TimeoutError(f"writer {number} waits for another one, before {writer.waits_for}")
        if writer.is_done:
            writer.join()
        if writer.error is not None:
            raise writer.error

    def step_until(self, number: int, wanted: Callable[[Request], bool]) -> bool:
        """Step a writer until it stands before a wanted request; False: it came to its end before."""
        while not self._writers[number].is_done:
            request = self._writers[number].waits_for
            if request is not None and wanted(request):
                return True
            self.step(number)
        return False

    def finish(self) -> None:
        """Let all writers go on to their ends, one after the other."""
        for number in self.unfinished:
            self.step_until(number, lambda request: False)

    def close(self) -> None:
        """End the writers where they stand."""
        self.is_closed = True
        for writer in self._writers:
            writer.turn.release()
            writer.join(_LONGEST_S)


_STEPPERS: weakref.WeakSet[Stepper] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for stepper in list(_STEPPERS):
        stepper.close()


def phase_of(request: Request) -> str:
    """The phase of a commit that a request is of."""
    name = request.path.rpartition("/")[2]
    if name.endswith(".probe"):
        return "probe"
    if request.method in ("put", "put_if_absent"):
        if "/part-" in request.path:
            return "write files"
        if name.endswith((".avro",)):
            return "prepare"
        if "checkpoint" in name or name.endswith(".crc"):
            return "checkpoint"
        return "put" if request.method == "put_if_absent" else "publish"
    return "clean" if request.method == "delete" else "analyse"
