"""What must be a conflict and what must not, for each pair of operations: tables that are written by hand.

A row is an operation that has read the table and written its files when another one, the column, commits. ``X``: the
first is in conflict. ``.``: it is committed upon the other. ``=``: there is nothing left to do.

Sources. Delta documentation, "Isolation levels and write conflicts": under WriteSerializable an INSERT is in conflict
with nothing but changes of metadata, and DELETE, UPDATE and overwrites with what changes the same files; under
Serializable also with an INSERT of rows that they read. Delta PROTOCOL.md, "Transaction Identifiers". Iceberg
documentation, "Configuration", ``write.delete.isolation-level``; Iceberg specification, "Commit Conflict Resolution and
Retry": an append has no requirements, a delete or an overwrite needs its files to be there, and under serializable no
new files with rows that it read. Iceberg REST catalog, ``assert-current-schema-id``.

The table has the partitions p = 0, 1, 2 with one file each.
"""

from __future__ import annotations

import re

from .checker import check
from .failing import FIRST, PROPERTIES, without_waiting
from .history import History, Recorder
from .stepping import Stepper
from .tables import MemoryTable, Op, perform
from .watched import Request
from .workers import makers_of

__all__ = ["TABLES", "cells", "outcome"]

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
}
"""Appends, deletes of whole files and of some rows (R0), overwrites of all, of a condition and of partitions, a new
column, a transaction of an application, a checkpoint."""

TABLES = {
    (
        "delta",
        "write-serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  C
      A0 .  .  .  .  .  .  .  .  X  .  .
      A1 .  .  .  .  .  .  .  .  X  .  .
      D0 .  .  X  X  .  X  X  X  X  .  .
      R0 .  .  X  X  .  X  X  X  X  .  .
      D1 .  .  .  .  X  X  .  .  X  .  .
      O  .  .  X  X  X  X  X  X  X  .  .
      W0 .  .  X  X  .  X  X  X  X  .  .
      Y0 .  .  X  X  .  X  X  X  X  .  .
      M  .  .  .  .  .  .  .  .  X  .  .
      T  .  .  .  .  .  .  .  .  X  =  .
      C  .  .  .  .  .  .  .  .  .  .  .
    """,
    (
        "delta",
        "serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T  C
      A0 .  .  .  .  .  .  .  .  X  .  .
      A1 .  .  .  .  .  .  .  .  X  .  .
      D0 X  .  X  X  .  X  X  X  X  X  .
      R0 X  .  X  X  .  X  X  X  X  X  .
      D1 .  X  .  .  X  X  .  .  X  .  .
      O  X  X  X  X  X  X  X  X  X  X  .
      W0 X  .  X  X  .  X  X  X  X  X  .
      Y0 X  .  X  X  .  X  X  X  X  X  .
      M  .  .  .  .  .  .  .  .  X  .  .
      T  .  .  .  .  .  .  .  .  X  =  .
      C  .  .  .  .  .  .  .  .  .  .  .
    """,
    (
        "iceberg",
        "serializable",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T
      A0 .  .  .  .  .  .  .  .  .  .
      A1 .  .  .  .  .  .  .  .  .  .
      D0 X  .  X  X  .  X  X  X  .  X
      R0 X  .  X  X  .  X  X  X  .  X
      D1 .  X  .  .  X  X  .  .  .  .
      O  X  X  X  X  X  X  X  X  .  X
      W0 X  .  X  X  .  X  X  X  .  X
      Y0 X  .  X  X  .  X  X  X  .  X
      M  .  .  .  .  .  .  .  .  X  .
      T  .  .  .  .  .  .  .  .  .  =
    """,
    (
        "iceberg",
        "snapshot",
    ): """
         A0 A1 D0 R0 D1 O  W0 Y0 M  T
      A0 .  .  .  .  .  .  .  .  .  .
      A1 .  .  .  .  .  .  .  .  .  .
      D0 .  .  X  X  .  X  X  X  .  .
      R0 .  .  X  X  .  X  X  X  .  .
      D1 .  .  .  .  X  X  .  .  .  .
      O  .  .  X  X  X  X  X  X  .  .
      W0 .  .  X  X  .  X  X  X  .  .
      Y0 .  .  X  X  .  X  X  X  .  .
      M  .  .  .  .  .  .  .  .  X  .
      T  .  .  .  .  .  .  .  .  .  =
    """,
}
_COMMIT = re.compile(r"(_delta_log/\d{20}\.json|metadata/v\d+\.metadata\.json)$")


def cells(format: str, level: str) -> list[tuple[str, str, str]]:
    """(first, second, what is expected) of a table."""
    head, *rows = [line.split() for line in TABLES[format, level].strip().splitlines()]
    return [(first, second, wanted) for first, *told in rows for second, wanted in zip(head, told, strict=True)]


def _is_commit(request: Request) -> bool:
    return request.method == "put_if_absent" and _COMMIT.search(request.path) is not None


def outcome(format: str, level: str, first: str, second: str) -> tuple[str, list[str]]:
    """What comes of a pair, as the tables spell it, and what the checker says of the history."""
    recorder, stepper = Recorder(), Stepper()
    ops = []
    for name in ("first", "second"):
        kind, arguments = OPERATIONS[first if name == "first" else second]
        ops.append(
            Op(name, kind, {k: f"c_{name}" if k == "column" else _renamed(v, name) for k, v in arguments.items()})
        )
    with MemoryTable.made(format, FIRST, wrap=stepper.wrap, **PROPERTIES[format]) as table, without_waiting():

        def begin(number: int) -> int:
            work = lambda: perform(table.location, format, ops[number], recorder, number, level=level)  # noqa: E731
            return stepper.begin(work)

        ours = begin(0)
        stepper.step_until(ours, _is_commit)
        stepper.step_until(begin(1), lambda request: False)
        stepper.finish()
        table.makers.update(makers_of(recorder.events))
        history = History.of(format, level, table.initial, recorder.events)
        found = check(history, table.ledger())
    done, other = history.operations
    found += [f"the second one ended with {other.outcome}"] if other.outcome != "ok" else []
    if done.outcome == "ok":
        return ("=" if done.kind == "append_once" and done.made is None else "."), found
    return "X" if done.outcome == "fail" else "?", found


def _renamed(value: object, name: str) -> object:
    """Rows with ids of their own: two operations of a pair may be the same."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{**row, "id": row["id"] + (1000 if name == "second" else 0)} for row in value]
    return value
