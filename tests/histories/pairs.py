"""What must be a conflict and what must not, for each pair of operations: tables that are written by hand.

A row is an operation that has read the table and written its files when another one, the column, commits. ``X``: the
first is in conflict. ``.``: it is committed upon the other. ``=``: there is nothing left to do.

Sources. Delta documentation, "Isolation levels and write conflicts": under WriteSerializable an INSERT is in conflict
with nothing but changes of metadata, and DELETE, UPDATE and overwrites with what changes the same files; under
Serializable also with an INSERT of rows that they read. Delta PROTOCOL.md, "Transaction Identifiers". Iceberg
documentation, "Configuration", ``write.delete.isolation-level``; Iceberg specification, "Commit Conflict Resolution and
Retry": an append has no requirements, a delete or an overwrite needs its files to be there, and under serializable no
new files with rows that it read. Iceberg REST catalog, ``assert-current-schema-id``; ``assert-ref-snapshot-id``: who
sets a branch to another snapshot names the one that it has, so that whatever moved the branch is a conflict.
``MergingSnapshotProducer.validationHistory`` in Java: who must know what was committed since its snapshot fails where
that one is no ancestor of the current snapshot.

The table has the partitions p = 0, 1, 2 with one file each.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .checker import check
from .failing import FIRST, PROPERTIES, without_waiting
from .history import History, Operation, Recorder
from .ledger_iceberg import MAIN
from .stepping import Stepper
from .tables import MemoryTable, Op, perform
from .watched import Request
from .workers import makers_of

__all__ = ["TABLES", "cells", "outcome", "triples"]

OPERATIONS = {
    "A0": ("append", {"rows": [{"id": 100, "p": 0, "k": 1}]}),
    "A1": ("append", {"rows": [{"id": 101, "p": 1, "k": 1}]}),
    "D0": ("delete", {"where": [["p", "=", 0]]}),
    "R0": ("delete", {"where": [["p", "=", 0], ["k", "<", 2]]}),
    "D1": ("delete", {"where": [["p", "=", 1]]}),
    "O": ("overwrite", {"rows": [{"id": 102, "p": 2, "k": 1}], "where": []}),
    "W0": ("overwrite", {"rows": [{"id": 103, "p": 0, "k": 1}], "where": [["p", "=", 0]]}),
    "Y0": ("overwrite", {"rows": [{"id": 104, "p": 0, "k": 1}], "where": "dynamic"}),
    "M": ("alter", {"column": "c"}),
    "T": ("append_once", {"rows": [{"id": 105, "p": 0, "k": 1}], "application": "a", "number": 1}),
    "C": ("checkpoint", {}),
    "K": ("compact", {}),
    "P": ("replace", {"rows": [{"id": 106, "p": 0, "k": 1}], "column": "c"}),
    "V": ("restore", {"version": 0}),
    "bA": ("append", {"rows": [{"id": 107, "p": 0, "k": 1}]}),
    "bR": ("delete", {"where": [["p", "=", 0], ["k", "<", 2]]}),
    "bO": ("overwrite", {"rows": [{"id": 108, "p": 2, "k": 1}], "where": []}),
}
"""Appends, deletes of whole files and of some rows (R0), overwrites of all, of a condition and of partitions, a new
column, a transaction of an application, a checkpoint, a compaction of the log, a new definition with new rows, and
an older version, which has no rows, again. With a b in front: of the branch b, which has the rows of the main one."""
BRANCH = "b"

TABLES = {
    (
        "delta",
        "write-serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  C  K  P  V
      A0 .  .  .  .  .  .  .  .  X  .  .  .  X  .
      A1 .  .  .  .  .  .  .  .  X  .  .  .  X  .
      D0 .  .  X  X  .  X  X  X  X  .  .  .  X  X
      R0 .  .  X  X  .  X  X  X  X  .  .  .  X  X
      D1 .  .  .  .  X  X  .  .  X  .  .  .  X  X
      O  .  .  X  X  X  X  X  X  X  .  .  .  X  X
      W0 .  .  X  X  .  X  X  X  X  .  .  .  X  X
      Y0 .  .  X  X  .  X  X  X  X  .  .  .  X  X
      M  .  .  .  .  .  .  .  .  X  .  .  .  X  .
      T  .  .  .  .  .  .  .  .  X  =  .  .  X  .
      C  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      K  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      P  .  .  .  .  .  .  .  .  X  .  .  .  X  .
      V  X  X  X  X  X  X  X  X  X  X  .  .  X  X
    """,
    (
        "delta",
        "serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  C  K  P  V
      A0 .  .  .  .  .  .  .  .  X  .  .  .  X  .
      A1 .  .  .  .  .  .  .  .  X  .  .  .  X  .
      D0 X  .  X  X  .  X  X  X  X  X  .  .  X  X
      R0 X  .  X  X  .  X  X  X  X  X  .  .  X  X
      D1 .  X  .  .  X  X  .  .  X  .  .  .  X  X
      O  X  X  X  X  X  X  X  X  X  X  .  .  X  X
      W0 X  .  X  X  .  X  X  X  X  X  .  .  X  X
      Y0 X  .  X  X  .  X  X  X  X  X  .  .  X  X
      M  .  .  .  .  .  .  .  .  X  .  .  .  X  .
      T  .  .  .  .  .  .  .  .  X  =  .  .  X  .
      C  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      K  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      P  .  .  .  .  .  .  .  .  X  .  .  .  X  .
      V  X  X  X  X  X  X  X  X  X  X  .  .  X  X
    """,
    (
        "iceberg",
        "serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  P  V  bA bR bO
      A0 .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      A1 .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      D0 X  .  X  X  .  X  X  X  .  X  X  X  .  .  .
      R0 X  .  X  X  .  X  X  X  .  X  X  X  .  .  .
      D1 .  X  .  .  X  X  .  .  .  .  X  X  .  .  .
      O  X  X  X  X  X  X  X  X  .  X  X  X  .  .  .
      W0 X  .  X  X  .  X  X  X  .  X  X  X  .  .  .
      Y0 X  .  X  X  .  X  X  X  .  X  X  X  .  .  .
      M  .  .  .  .  .  .  .  .  X  .  X  .  .  .  .
      T  .  .  .  .  .  .  .  .  .  =  X  X  .  .  .
      P  X  X  X  X  X  X  X  X  X  X  X  X  .  .  .
      V  X  X  X  X  X  X  X  X  .  X  X  X  .  .  .
      bA .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      bR .  .  .  .  .  .  .  .  .  .  .  .  X  X  X
      bO .  .  .  .  .  .  .  .  .  .  .  .  X  X  X
    """,
    (
        "iceberg",
        "snapshot",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  P  V  bA bR bO
      A0 .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      A1 .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      D0 .  .  X  X  .  X  X  X  .  .  X  X  .  .  .
      R0 .  .  X  X  .  X  X  X  .  .  X  X  .  .  .
      D1 .  .  .  .  X  X  .  .  .  .  X  X  .  .  .
      O  .  .  X  X  X  X  X  X  .  .  X  X  .  .  .
      W0 .  .  X  X  .  X  X  X  .  .  X  X  .  .  .
      Y0 .  .  X  X  .  X  X  X  .  .  X  X  .  .  .
      M  .  .  .  .  .  .  .  .  X  .  X  .  .  .  .
      T  .  .  .  .  .  .  .  .  .  =  X  X  .  .  .
      P  X  X  X  X  X  X  X  X  X  X  X  X  .  .  .
      V  X  X  X  X  X  X  X  X  .  X  X  X  .  .  .
      bA .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
      bR .  .  .  .  .  .  .  .  .  .  .  .  .  X  X
      bO .  .  .  .  .  .  .  .  .  .  .  .  .  X  X
    """,
}
_COMMIT = re.compile(r"(_delta_log/\d{20}\.json|metadata/v\d+\.metadata\.json)$")


def cells(format: str, level: str) -> list[tuple[str, str, str]]:
    """(first, second, what is expected) of a table."""
    head, *rows = [line.split() for line in TABLES[format, level].strip().splitlines()]
    return [(first, second, wanted) for first, *told in rows for second, wanted in zip(head, told, strict=True)]


def _is_commit(request: Request) -> bool:
    return request.method == "put_if_absent" and _COMMIT.search(request.path) is not None


def outcome(format: str, level: str, *names: str) -> tuple[list[str], list[str]]:
    """What comes of operations that are all ready to commit and do so from the last one to the first.

    Gives the ends of the operations, as the tables spell them, and what the checker says of the history.
    """
    recorder, stepper = Recorder(), Stepper()
    ops = []
    for number, name in enumerate(names):
        kind, arguments = OPERATIONS[name]
        told = {k: f"c_{number}" if k == "column" else _renamed(v, number) for k, v in arguments.items()}
        ops.append(Op(f"o{number}", kind, told, BRANCH if name.startswith(BRANCH) else MAIN))
    branch = BRANCH if format == "iceberg" else MAIN
    is_emptied = format == "iceberg" and "V" in names  # its tables have no snapshot before the first rows
    made = MemoryTable.made(
        format, FIRST, wrap=stepper.wrap, branch=branch, is_emptied=is_emptied, **PROPERTIES[format]
    )
    with made as table, without_waiting():
        writers = []
        for number, op in enumerate(ops):
            writers.append(
                stepper.begin(
                    lambda op=op, n=number: perform(table.location, format, op, recorder, n, level=level)  # type: ignore[misc]
                )
            )
            stepper.step_until(writers[-1], _is_commit)
        for writer in reversed(writers):
            stepper.step_until(writer, lambda request: False)
        table.makers.update(makers_of(recorder.events))
        done, found = [], []
        for name, initial in {MAIN: table.initial, branch: 1 if branch != MAIN else table.initial}.items():
            own = {op.id for op in ops if op.branch == name}
            history = History.of(format, level, initial, [event for event in recorder.events if event["op"] in own])
            found += check(history, table.ledger(name))
            done += history.operations
    return [_end(op) for op in sorted(done, key=lambda op: op.id)], found


def triples(format: str, level: str) -> Iterator[tuple[tuple[str, str, str], tuple[set[str], set[str], set[str]]]]:
    """All triples of operations, and how each may end, by the tables of pairs: the third one commits, then the second
    one, if it is not in conflict with the third, then the first one, if it is in conflict with none that committed."""
    told = {(first, second): wanted for first, second, wanted in cells(format, level)}
    names = sorted({first for first, _ in told})
    for first, second, third in itertools.product(names, repeat=3):
        one = {told[second, third]}
        two = {told[first, third]} | ({told[first, second]} if "." in one else set())
        yield (first, second, third), (two - {"."} or {"."}, one, {"."})


def _end(op: Operation) -> str:
    if op.outcome == "ok":
        return "=" if op.kind == "append_once" and op.made is None else "."
    return "X" if op.outcome == "fail" else "?"


def _renamed(value: object, number: int) -> object:
    """Rows with ids of their own: operations that race may be the same."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{**row, "id": row["id"] + 1000 * number} for row in value]
    return value
