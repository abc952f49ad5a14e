"""One operation upon a store that fails once: what may be left of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from unittest import mock

import tableformats as tf
from tableformats.write import commit_loop

from ..support.memory_store import MemoryStore
from .checker import check
from .faults import TYPED, FaultPlan, faults_of
from .history import History, Recorder
from .orphans import wrong_orphans
from .tables import MemoryTable, Op, perform
from .watched import Request, WatchedStore
from .workers import makers_of

__all__ = ["OF_STORES", "OPERATIONS", "FaultFoundError", "judge", "operations_of", "requests_of", "without_waiting"]

FIRST = [{"id": number, "p": number % 3, "k": number} for number in range(6)]
NEW = [{"id": 100, "p": 0, "k": 1}, {"id": 101, "p": 1, "k": 2}]
OPERATIONS = {
    "create": Op("o", "create", {"rows": []}),
    "append": Op("o", "append", {"rows": NEW}),
    "append once": Op("o", "append_once", {"rows": NEW, "application": "a", "number": 1}),
    "overwrite": Op("o", "overwrite", {"rows": NEW, "where": []}),
    "overwrite where": Op("o", "overwrite", {"rows": NEW[:1], "where": [["p", "=", 0]]}),
    "overwrite dynamic": Op("o", "overwrite", {"rows": NEW, "where": "dynamic"}),
    "delete": Op("o", "delete", {"where": [["k", "<", 4]]}),
    "delete files": Op("o", "delete", {"where": [["p", "=", 1]]}),
    "alter": Op("o", "alter", {"column": "c_o"}),
    "checkpoint": Op("o", "checkpoint"),
    "read": Op("o", "read"),
}
OF_STORES = {
    **OPERATIONS,
    "replace": Op("o", "replace", {"rows": NEW, "column": "c_o"}),
    "restore": Op("o", "restore", {"version": 0}),
    "compact": Op("o", "compact"),
}
"""With those that are tried on tables in a store, and not in a catalog."""
_OF_DELTA = ("compact",)
_AFTER = Op("after", "append", {"rows": [{"id": 999, "p": 2, "k": 9}]})
_READ = Op("reader", "read")
PROPERTIES = {"delta": {"delta.checkpointInterval": "2"}, "iceberg": {"commit.manifest.min-count-to-merge": "2"}}
"""So that checkpoints, and merges of manifests, follow each commit."""


class FaultFoundError(AssertionError):
    """A fault that did harm."""


@contextmanager
def without_waiting() -> Iterator[None]:
    """Commits are tried again at once."""
    clock = SimpleNamespace(sleep=lambda seconds: None, monotonic=commit_loop.time.monotonic)
    with mock.patch.object(commit_loop, "time", clock):
        yield


def operations_of(format: str) -> list[str]:
    """The names in :data:`OF_STORES` of what tables of a format have."""
    return [name for name in sorted(OF_STORES) if format == "delta" or name not in _OF_DELTA]


@cache
def requests_of(format: str, name: str) -> tuple[Request, ...]:
    """The requests of an operation when nothing fails."""
    return tuple(_run(format, name, -1, "")[0].requests)


def judge(format: str, name: str, number: int, fault: str) -> str:
    """Let one request of an operation fail. Gives the outcome. Raises FaultFoundError where harm was done."""
    plan, found, outcome = _run(format, name, number, fault)
    if found:
        request = plan.done[0][0] if plan.done else None
        raise FaultFoundError(f"{format} {name}, request {number} {request}, {fault}: {found}")
    return outcome


def _run(format: str, name: str, number: int, fault: str) -> tuple[FaultPlan, list[str], str]:
    op, plans = OF_STORES[name], []
    is_emptied = name == "restore" and format == "iceberg"  # what it is set back to

    def wrap(store: MemoryStore) -> WatchedStore:
        # Requests are counted over all stores that the operation opens.
        if not plans:
            plans.append(FaultPlan(store, lambda n, request: fault if n == number else None))
        return WatchedStore(store, plans[0])

    creates = name == "create"
    recorder = Recorder()
    with MemoryTable.made(
        format, [] if creates else FIRST, wrap=wrap, create=not creates, is_emptied=is_emptied, **PROPERTIES[format]
    ) as table:
        if is_emptied:  # nothing else tells who set the branch to it, where the answer is lost
            table.makers[f"snapshot {table.ledger().entries[2].version}"] = op.id
        with warnings.catch_warnings(record=True) as warned, without_waiting():
            warnings.simplefilter("always")
            error = perform(table.location, format, op, recorder, 1, level="serializable")
        found = [f"another error: {error!r}"] if error is not None and not isinstance(error, TYPED) else []
        found += [f"a warning: {w.message}" for w in warned if not issubclass(w.category, RuntimeWarning)]
        plans[0]._fails = lambda n, request: None
        outcome = recorder.events[-1]["type"]
        kept = dict(table.files)
        if not creates or outcome == "ok":
            found += _goes_on(table, format, recorder)
        table.makers.update(makers_of(recorder.events))
        history = History.of(format, "serializable", table.initial, recorder.events)
        ledger = table.ledger()
        found += check(history, ledger)
        if ledger.entries:
            table.store.mtime_ms = 1
            found += wrong_orphans(tf.open_table(table.location), table.files, ledger)
        if outcome == "fail" and fault not in ("torn",):
            found += _left_over(format, kept, ledger.referenced, table, plans[0], fault)
    return plans[0], found, outcome


def _goes_on(table: MemoryTable, format: str, recorder: Recorder) -> list[str]:
    """The next writer and the next reader are not disturbed."""
    for process, op in ((2, _AFTER), (3, _READ)):
        error = perform(table.location, format, op, recorder, process, level="serializable")
        if error is not None:
            return [f"the next {op.kind} fails: {error!r}"]
    found = tf.open_table(table.location)
    if format == "delta" and (wrong := list(found.verify())):
        return [f"the verifier says {wrong[:3]}"]
    return []


def _left_over(
    format: str, kept: dict[str, bytes], referenced: set[str], table: MemoryTable, plan: FaultPlan, fault: str
) -> list[str]:
    """What certainly failed leaves no data files, unless deleting them failed."""
    if any(request.method == "delete" for request, _ in plan.done):
        return []
    orphans = [path for path in kept if path.endswith(".parquet") and "_delta_log" not in path]
    orphans = [path for path in orphans if path not in referenced]
    return [f"data files are left over: {orphans}"] if orphans else []


def all_cases() -> Iterator[tuple[str, str, int, str]]:
    """(format, operation, number of the request, fault) of all faults."""
    for format in ("delta", "iceberg"):
        for name in operations_of(format):
            for number, request in enumerate(requests_of(format, name)):
                for fault in faults_of(request):
                    yield format, name, number, fault
