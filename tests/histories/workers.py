"""Workers that do random operations on one table at once, in threads or processes, and write down what came of it."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tableformats as tf

from .history import History, Recorder, merged
from .tables import Op, perform, plain_rows, random_operation

__all__ = ["ALL", "NUMBERS_EACH", "WRITES", "Worker", "follow", "in_processes", "in_threads", "makers_of"]

WRITES = ("append", "append", "append_once", "overwrite", "delete", "alter")
ALL = (*WRITES, "read", "read", "checkpoint")
NUMBERS_EACH = 1_000_000
"""The ids of rows of worker n begin at n times this number: each row has one writer."""


class Worker:
    """One process of a history: does operations one after the other.

    Parameters
    ----------
    number : int
        From 1 on.
    seed : int
        Of its operations.
    """

    def __init__(
        self,
        number: int,
        location: Any,
        format: str,
        level: str,
        recorder: Recorder,
        seed: int = 0,
        kinds: tuple[str, ...] = ALL,
        **options: Any,
    ) -> None:
        self.number, self.location, self.format, self.level = number, location, format, level
        self._recorder, self._rng, self._kinds, self._options = (
            recorder,
            random.Random(f"{seed} {number}"),
            kinds,
            options,
        )
        self._ids, self._names = itertools.count(number * NUMBERS_EACH), itertools.count()
        self.errors: list[BaseException] = []

    def next_operation(self) -> Op:
        return random_operation(self._rng, f"w{self.number}_{next(self._names)}", self._ids, self._kinds)

    def step(self, table: tf.Table | Callable[[], tf.Table] | None = None) -> None:
        """Do one operation."""
        op = self.next_operation()
        error = perform(
            self.location,
            self.format,
            op,
            self._recorder,
            self.number,
            level=self.level,
            table=table,
            **self._options,
        )
        if error is not None:
            self.errors.append(error)

    def run(self, steps: int = 10**9, until: float = float("inf"), keeps_table: bool = False) -> None:
        """Do operations, until so many are done, or until a time of ``time.monotonic``."""
        table = tf.open_table(self.location) if keeps_table else None
        for _ in range(steps):
            if time.monotonic() >= until:
                return
            self.step(table)


def makers_of(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Which operation made a column, by the column's name, and set a branch to a snapshot, by its id."""
    found: dict[str, str] = {}
    restores: set[str] = set()
    for event in events:
        if event["type"] == "invoke" and event["kind"] in ("alter", "replace"):
            found[event["arguments"]["column"]] = event["op"]
        elif event["type"] == "invoke" and event["kind"] == "create":
            found[f"c_{event['op']}"] = event["op"]
        elif event["type"] == "invoke" and event["kind"] == "restore":
            restores.add(event["op"])
        elif event["type"] == "ok" and event["op"] in restores:
            found[f"snapshot {event['made']}"] = event["op"]
    return found


def follow(location: Any, format: str, recorder: Recorder, process: int, is_over: Callable[[], bool]) -> None:
    """Read the changes of a table as a stream does: remember the newest version that was read, go on from there."""
    name = f"s{process}"
    recorder.invoke(process, name, "stream")
    batches: list[dict[str, Any]] = []
    table, at = tf.open_table(location), None
    while True:
        last_time, looked = is_over(), recorder.now()
        versions = [int(v) for v in table.refresh().history()["version"].to_pylist()][::-1]
        new = versions if at is None else versions[versions.index(at) + 1 :]
        if new:
            rows = table.changes(new[0], new[-1]).to_arrow()
            types = rows["_change_type"].to_pylist()
            plain = plain_rows(rows.drop_columns([n for n in rows.column_names if n.startswith("_")]))
            batches.append(
                {
                    "first": new[0],
                    "last": new[-1],
                    "inserted": [row for row, kind in zip(plain, types, strict=True) if kind == "insert"],
                    "deleted": [row for row, kind in zip(plain, types, strict=True) if kind == "delete"],
                }
            )
            at = new[-1]
        if last_time:
            break
        time.sleep(0.01)
    recorder.ok(process, name, batches=batches, looked=looked)


def in_threads(workers: list[Worker], steps: int, recorder: Recorder, streams: int = 1) -> None:
    """Let workers run in threads, beside readers of streams, until all are done."""
    failures: list[BaseException] = []
    over = threading.Event()

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    first = workers[0]
    writers = [threading.Thread(target=guarded, args=(lambda w=w: w.run(steps),)) for w in workers]
    readers = [
        threading.Thread(
            target=guarded, args=(lambda n=n: follow(first.location, first.format, recorder, 100 + n, over.is_set),)
        )
        for n in range(streams)
    ]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    for thread in readers:
        thread.join()
    if failures:
        raise failures[0]


# ---- processes ------------------------------------------------------------------------------------------------------


def _process(
    number: int, location: str, format: str, level: str, log: str, seed: int, steps: int, until: float
) -> None:
    with open(log, "a", encoding="utf-8") as out:

        def tell(event: Mapping[str, Any]) -> None:
            out.write(json.dumps(event) + "\n")
            out.flush()

        Worker(number, location, format, level, Recorder(tell=tell), seed).run(steps, until)


def in_processes(
    root: Path,
    format: str,
    level: str,
    initial: int,
    folder: Path,
    count: int,
    steps: int,
    seconds: float,
    seed: int = 0,
) -> History:
    """Let processes do random operations on the table at ``root``; their events are kept in ``folder``."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.histories.workers", "tableformats_delta", "tableformats_iceberg"])
    until = time.monotonic() + seconds
    logs = [folder / f"events-{number}.jsonl" for number in range(1, count + 1)]
    processes = [
        context.Process(target=_process, args=(n, str(root), format, level, str(log), seed, steps, until))
        for n, log in enumerate(logs, 1)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise RuntimeError(f"a worker ended with {process.exitcode}")
    parts = [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]
    return History.of(format, level, initial, merged(parts, time.monotonic_ns()))
