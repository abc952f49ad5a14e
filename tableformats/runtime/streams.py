"""Make the items of many streams on several threads, within a budget of bytes, and return them in order.

A *source* (a data file) is opened and gives *parts* (row groups); a part is an iterator of items (batches). Threads
open sources and run parts ahead of the consumer. No thread waits for the consumer: where the budget is used up, a part
is put aside, and it goes on when the consumer has taken enough. So a reader that nobody finishes holds no thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from itertools import islice
from threading import Condition
from typing import Generic, TypeVar

from ..dataclass import dataclass
from .threads import PATIENCE

__all__ = ["OpenedSource", "StreamPart", "merged_streams"]

Item = TypeVar("Item")
_SOURCES_AHEAD = 2
"""Sources that wait to be opened, for each thread."""


@dataclass(frozen=True)
class StreamPart(Generic[Item]):
    """A part of an opened source.

    Attributes
    ----------
    run : callable
        Begins the part. Its argument says whether the part runs alone, so that it may use further threads.
    weight : int
        The bytes that the part holds while it runs, beside its items.
    """

    run: Callable[[bool], Iterator[Item]]
    weight: int = 0


@dataclass(frozen=True)
class OpenedSource(Generic[Item]):
    """The parts of a source, in order; ``close`` is called when all of them have ended."""

    parts: Sequence[StreamPart[Item]]
    close: Callable[[], None] = lambda: None


def merged_streams(
    sources: Iterable[Callable[[], OpenedSource[Item]]],
    size_of: Callable[[Item], int],
    *,
    threads: int,
    budget_bytes: int,
    ordered: bool = True,
) -> Generator[Item, None, None]:
    """The items of all sources.

    Parameters
    ----------
    sources : Iterable of callable
        Each opens one source, on a thread of the pool. The iterable itself is used on the consumer's thread.
    size_of : callable
        The bytes of an item.
    threads : int
        The most threads.
    budget_bytes : int
        The most bytes of items that wait for the consumer and of parts that run. The part that the consumer waits for
        runs in any case, so one item of each thread and one part may come on top.
    ordered : bool
        False: the items of different parts in the order in which they are made.

    Raises
    ------
    Exception
        What a source or a part raises, in the place of its next item if ``ordered``. It ends all that comes after it.

    Notes
    -----
    Closing the iterator ends everything: parts stop at their next item, and all sources are closed before it returns.
    """
    state = _Merge(size_of, threads, budget_bytes, ordered)
    rest = _with_error_in_place(iter(sources))
    try:
        while True:
            wanted = max(_SOURCES_AHEAD * threads - state.unopened(), 0)
            state.add([_Source(open_) for open_ in islice(rest, wanted)])
            taken = state.take()
            if taken is None:
                return
            yield from taken
    finally:
        state.close()


def _with_error_in_place(
    sources: Iterator[Callable[[], OpenedSource[Item]]],
) -> Iterator[Callable[[], OpenedSource[Item]]]:
    """The sources; an error of the iterable becomes a source that raises it when it is opened."""
    try:
        yield from sources
    except Exception as error:
        failure = error

        def fail() -> OpenedSource[Item]:
            raise failure

        yield fail


class _Source(Generic[Item]):
    """A source in the queue: closed once all of its parts have ended."""

    def __init__(self, open_: Callable[[], OpenedSource[Item]]) -> None:
        self.open = open_
        self.close: Callable[[], None] = lambda: None
        self.parts_left = 0


@dataclass(eq=False)
class _Node(Generic[Item]):
    """A source that is not open yet (``part`` is None), or one of its parts.

    ``is_running``: a thread works on it, or will; ``is_begun``: it does. ``has_ended``: it gives no more items than
    those in ``items``. ``is_left``: its part was finished or given up, and is counted no more.
    """

    source: _Source[Item]
    part: StreamPart[Item] | None = None
    items: deque[tuple[Item, int]] = field(default_factory=deque)
    iterator: Iterator[Item] | None = None
    error: BaseException | None = None
    is_running: bool = False
    is_begun: bool = False
    has_ended: bool = False
    is_left: bool = False


class _Merge(Generic[Item]):
    """The queue of nodes in order, and the threads that work on it. Everything but a node's work holds the lock."""

    def __init__(self, size_of: Callable[[Item], int], threads: int, budget_bytes: int, ordered: bool) -> None:
        self._size_of = size_of
        self._threads = threads
        self._budget = budget_bytes
        self._ordered = ordered
        self._nodes: deque[_Node[Item]] = deque()
        self._changed = Condition()
        self._in_flight = 0
        self._running = 0
        self._is_closed = False
        self._failure: BaseException | None = None
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tableformats-reader")

    # ---- the consumer -----------------------------------------------------------------------------------------------

    def unopened(self) -> int:
        with self._changed:
            return sum(node.part is None for node in self._nodes)

    def add(self, sources: Sequence[_Source[Item]]) -> None:
        with self._changed:
            self._nodes.extend(_Node(source) for source in sources)
            self._schedule()

    def take(self) -> list[Item] | None:
        """The next item; an empty list where a source ended without one, and None where nothing is left."""
        while True:
            with self._changed:
                if self._failure is not None:
                    raise self._failure
                if not self._nodes:
                    return None
                node = self._ready()
                if node is not None:
                    return self._taken(node)
                if self._changed.wait(PATIENCE):
                    continue
                first = self._nodes[0]
            if first.is_running and not first.is_begun:  # the thread that should work on it is no more
                self._work(first)
                with self._changed, suppress(RuntimeError):
                    self._schedule()

    def _taken(self, node: _Node[Item]) -> list[Item]:
        if node.items:
            item, size = node.items.popleft()
            self._in_flight -= size
            self._schedule()
            return [item]
        self._nodes.remove(node)
        if node.error is not None:
            raise node.error
        self._schedule()
        return []

    def _ready(self) -> _Node[Item] | None:
        """A node with an item, or one that has ended. None: the consumer waits."""
        candidates = islice(self._nodes, 1) if self._ordered else self._nodes
        return next((node for node in candidates if node.items or node.has_ended), None)

    def _wake(self) -> None:
        """Wake the consumer where it need not wait any more. Waking it for nothing would take time from the others."""
        if not self._nodes or self._ready() is not None:
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)
        for node in self._nodes:
            self._leave(node)
        self._nodes.clear()

    # ---- the schedule -----------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Start the first nodes in order that may run, as long as a thread is free."""
        while (node := self._next()) is not None:
            self._pool.submit(self._work_on, node)

    def _next(self) -> _Node[Item] | None:
        """The first node in order that may run, which the caller's thread or another one must work on now."""
        for i, node in enumerate(self._nodes):
            if self._running >= self._threads or self._is_closed:
                return None
            if node.is_running or node.has_ended:
                continue
            if i and not self._has_room(node):
                return None
            if i or not node.items:
                self._begin(node)
                return node
        return None

    def _has_room(self, node: _Node[Item]) -> bool:
        weight = node.part.weight if node.part is not None and node.iterator is None else 0
        return self._in_flight + weight < self._budget

    def _begin(self, node: _Node[Item]) -> None:
        if node.part is not None and node.iterator is None:
            self._in_flight += node.part.weight
            node.iterator = node.part.run(all(other.has_ended for other in self._nodes if other is not node))
        node.is_running, node.is_begun = True, False
        self._running += 1

    # ---- the threads ------------------------------------------------------------------------------------------------

    def _work_on(self, node: _Node[Item] | None) -> None:
        """Work on a node, and then on the next ones: another thread would have to be woken for each."""
        try:
            while node is not None:
                self._work(node)
                node = self._following()
        except BaseException as raised:
            self._failure = raised  # the consumer sees it after PATIENCE, whatever else there is no memory for
            with self._changed:
                self._changed.notify()

    def _work(self, node: _Node[Item]) -> None:
        with self._changed:
            if node.is_begun:  # the consumer does it
                return
            node.is_begun = True
        has_ended, error = True, None
        try:
            if node.part is None:
                self._open(node)
            else:
                has_ended = self._run(node)
        except BaseException as raised:
            error = raised
        self._finish(node, has_ended, error)

    def _finish(self, node: _Node[Item], has_ended: bool, error: BaseException | None) -> None:
        """Write down how the work on a node ended."""
        given_up = []
        with self._changed:
            node.is_running = False
            node.has_ended = node.has_ended or has_ended
            self._running -= 1
            if error is not None:
                node.error = error
                given_up = self._drop_after(node)
        for ended in [node, *given_up]:
            if ended.has_ended:
                self._leave(ended)

    def _following(self) -> _Node[Item] | None:
        """Begin what may begin now. Returns a node for this thread."""
        with self._changed:
            node = self._next()
            with suppress(RuntimeError):  # the system has no thread left: those that there are do it, or the consumer
                self._schedule()
            self._wake()
        return node

    def _open(self, node: _Node[Item]) -> None:
        """Open a source and put its parts in its place."""
        opened = node.source.open()
        parts = [_Node(node.source, part) for part in opened.parts]
        with self._changed:
            if parts and node in self._nodes and not self._is_closed:
                node.source.close, node.source.parts_left = opened.close, len(parts)
                at = self._nodes.index(node)
                self._nodes.remove(node)
                for i, part in enumerate(parts):
                    self._nodes.insert(at + i, part)
                return
        opened.close()

    def _run(self, node: _Node[Item]) -> bool:
        """Make items of a part until it has ended (True) or the budget is used up (False)."""
        assert node.iterator is not None
        for item in node.iterator:
            size = self._size_of(item)
            with self._changed:
                if self._is_closed or node.has_ended:
                    return True
                node.items.append((item, size))
                self._in_flight += size
                self._wake()
                if self._in_flight >= self._budget:
                    return False
        return True

    def _drop_after(self, failed: _Node[Item]) -> list[_Node[Item]]:
        """Drop what comes after an error; without an order, everything else. Returns nodes that no thread works on."""
        nodes = list(self._nodes)
        if failed not in nodes:  # itself dropped, after an error before it
            return []
        kept = nodes[: nodes.index(failed) + 1] if self._ordered else [failed]
        dropped = [node for node in nodes if node not in kept]
        self._nodes = deque(kept)
        for node in dropped:
            node.has_ended = True
        return [node for node in dropped if not node.is_running]

    def _leave(self, node: _Node[Item]) -> None:
        """End a part that no thread works on, and close its source after the last one."""
        with self._changed:
            if node.part is None or node.is_left:
                return
            node.is_left = True
            if node.iterator is not None:
                self._in_flight -= node.part.weight
            node.source.parts_left -= 1
            is_last = not node.source.parts_left
        if isinstance(node.iterator, Generator):
            node.iterator.close()
        node.iterator = None
        if is_last:
            node.source.close()
