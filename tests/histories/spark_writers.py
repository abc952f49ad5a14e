"""Histories in which Spark writes: DataFrames, the data source and a stream, beside processes without Spark.

What the data source and the stream write says nothing of the operation. Rows have ids that nobody else has, so the
version that has the rows of an operation first is the one that it made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import tableformats as tf

from .checker import check
from .company_peers import ELSEWHERE
from .history import History, Recorder, merged
from .ledger import Ledger, local_files
from .tables import SCHEMA, Op, arrow_of, ledger_of
from .workers import NUMBERS_EACH, in_processes, makers_of

__all__ = ["spark_history"]

FIRST = [{"id": number, "p": number % 3, "k": number} for number in range(6)]
_FRAMES, _SOURCE, _STREAM = 11, 12, 13
"""The numbers of the writers that are Spark's."""


def spark_history(
    spark: Any, format: str, folder: Path, steps: int = 2, processes: int = 2, level: str = "serializable"
) -> tuple[History, list[str]]:
    """The history of a new table in ``folder``, and what is wrong with it. ``steps``: of each writer of Spark."""
    tf.spark.register(spark)
    root, recorder = folder / "t", Recorder()
    tf.create_table(root, SCHEMA, format=format, partition_by="p").append(arrow_of(FIRST))
    others: list[History] = []
    works: list[Callable[[], None]] = [
        lambda: others.append(in_processes(root, format, level, 2, folder, processes, 4 * steps, 600)),
        lambda: _repeated(recorder, _FRAMES, steps, lambda op: _frame(spark, root, op)),
        lambda: _repeated(recorder, _SOURCE, steps, lambda op: _source(spark, root, op)),
        lambda: _stream(spark, recorder, root, folder, steps),
    ]
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    events = merged([others[0].events, recorder.events])
    ledger = _attributed(ledger_of(format, local_files(root), None, makers_of(events)), events)
    made = {entry.maker: entry.version for entry in ledger.entries}
    told = [{**e, "made": made.get(e["op"], -2)} if e.get("made") == ELSEWHERE else e for e in events]
    history = History.of(format, level, 2, told)
    return history, [*check(history, ledger), *(str(what) for what in tf.open_table(root).verify())]


def _attributed(ledger: Ledger, events: list[Any]) -> Ledger:
    """The ledger with makers of the versions that say nothing: by the rows that the version before has not."""
    begun = [event for event in events if event["type"] == "invoke"]
    owners = {row["id"]: event["op"] for event in begun for row in event["arguments"].get("rows", ())}
    before, entries = ledger.entries[0], [ledger.entries[0]]
    for entry in ledger.entries[1:]:
        new = {owners.get(dict(row)["id"]) for row in entry.rows - before.rows}
        maker = entry.maker or (next(iter(new)) if len(new) == 1 else None)
        entries.append(replace(entry, maker=maker))
        before = entry
    return replace(ledger, entries=entries)


def _rows(writer: int, number: int) -> list[dict[str, Any]]:
    first = writer * NUMBERS_EACH + 2 * number
    return [{"id": first + i, "p": (number + i) % 3, "k": i} for i in range(2)]


def _repeated(recorder: Recorder, writer: int, steps: int, write: Callable[[Op], None]) -> None:
    for number in range(steps):
        op = Op(f"w{writer}_{number}", "append", {"rows": _rows(writer, number)})
        if writer == _FRAMES and number % 2:
            op = Op(op.id, "overwrite", {"rows": [{**op.arguments["rows"][0], "p": 1}], "where": [["p", "=", 1]]})
        recorder.invoke(writer, op.id, op.kind, **op.arguments)
        try:
            write(op)
        except tf.CommitConflictError as error:
            recorder.fail(writer, op.id, error)
        else:
            recorder.ok(writer, op.id, made=ELSEWHERE)


def _frame(spark: Any, root: Path, op: Op) -> None:
    frame = spark.createDataFrame([tuple(row.values()) for row in op.arguments["rows"]], "id long, p long, k long")
    told = {"properties": {"op": op.id}, "isolation": None}
    table = tf.open_table(root)
    if op.kind == "append":
        table.append(frame, **told)
    else:
        table.overwrite(frame, "p = 1", **told)


def _source(spark: Any, root: Path, op: Op) -> None:
    frame = spark.createDataFrame([tuple(row.values()) for row in op.arguments["rows"]], "id long, p long, k long")
    frame.write.format("tableformats").mode("append").save(str(root))


def _stream(spark: Any, recorder: Recorder, root: Path, folder: Path, steps: int) -> None:
    """A stream that is begun anew for each batch, and once without one."""
    spark.createDataFrame([], "id long")  # makes the session the active one of this thread, where Spark looks for sinks
    origin = tf.create_table(folder / "origin", SCHEMA, format="delta")

    def run() -> None:
        stream = spark.readStream.format("tableformats").load(str(folder / "origin"))
        to = stream.writeStream.format("tableformats").option("checkpointLocation", str(folder / "checkpoint"))
        to.trigger(availableNow=True).start(str(root)).awaitTermination()

    for number in range(steps):
        rows = _rows(_STREAM, number)
        origin.append(arrow_of(rows))
        op = f"w{_STREAM}_{number}"
        recorder.invoke(_STREAM, op, "append", rows=rows)
        run()
        recorder.ok(_STREAM, op, made=ELSEWHERE)
    run()
