"""Histories for checkers from elsewhere: porcupine (Go), which judges linearizability, and elle (Clojure).

Porcupine gets calls and returns with their times, and a table as a set of rows. Elle gets transactions that append
ids to lists, one list for each partition; lists are read in the order in which the ledger has their rows. Both get
what has a meaning there: elle only histories whose rows are never removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .history import UPKEEP, History, Operation
from .ledger import Ledger
from .model import PARTITION

__all__ = ["to_elle", "to_porcupine"]


def to_porcupine(history: History, first: Sequence[Mapping[str, Any]] = ()) -> str:
    """JSON lines: process, kind, rows (ids with their partitions), where, and the times of call and return.

    ``first``: the rows that the table began with; they are an append before all others.

    Streams and checkpoints are left out, and failed operations, which did nothing. An operation of which nobody knows
    the end may happen at any time: it returns after everything else.
    """
    end = max([op.returned for op in history.operations], default=0) + 1
    lines = []
    if first:
        begun = min([op.invoked for op in history.operations], default=0)
        made = Operation("first", 0, "append", {"rows": first}, begun - 2, begun - 1, "ok")
        lines.append(_call(made, end))
    for op in history.operations:
        if op.kind in ("stream", "alter", *UPKEEP) or op.outcome == "fail":
            continue
        if op.is_write or op.outcome != "unknown":
            lines.append(_call(op, end))
    return "".join(line + "\n" for line in lines)


def _call(op: Operation, end: int) -> str:
    is_open = op.outcome == "unknown"
    told: dict[str, Any] = {
        "process": op.process,
        "kind": op.kind,
        "rows": _cells(op.arguments.get("rows", ())),
        "where": op.arguments.get("where"),
        "application": op.arguments.get("application", ""),
        "number": op.arguments.get("number", 0),
        "found": None if op.rows is None else _cells(op.rows),
        "unknown": is_open,
        "call": op.invoked,
        "return": end if is_open else op.returned,
    }
    return json.dumps(told, sort_keys=True)


def _cells(rows: Any) -> list[dict[str, int]]:
    return [{name: row[name] for name in ("id", PARTITION, "k") if row.get(name) is not None} for row in rows]


def to_elle(history: History, ledger: Ledger) -> str:
    """EDN of a list-append history. Raises ValueError where rows were removed."""
    if any(op.kind in ("overwrite", "delete") for op in history.operations):
        raise ValueError("elle's lists only grow")
    place = {
        dict(row)["id"]: i for i, entry in enumerate(ledger.entries) for row in reversed(sorted(entry.rows)) if i >= 0
    }
    for i in range(len(ledger.entries) - 1, -1, -1):
        for row in ledger.entries[i].rows:
            place[dict(row)["id"]] = i
    by_id = {op.id: op for op in history.operations}
    kinds = {"invoke": ":invoke", "ok": ":ok", "fail": ":fail", "unknown": ":info"}
    lines = []
    for index, event in enumerate(history.events):
        op = by_id[event["op"]]
        if op.kind in ("stream", "alter", *UPKEEP):
            continue
        done = event["type"] == "ok"
        value = _elle_value(op, done, place)
        lines.append(
            f"{{:index {index}, :time {event['time']}, :type {kinds[event['type']]}, :process {op.process}, "
            f":f :txn, :value [{value}]}}"
        )
    return "\n".join(lines) + "\n"


def _elle_value(op: Operation, done: bool, place: dict[int, int]) -> str:
    if op.kind != "read":
        return " ".join(f"[:append {row.get(PARTITION) or 0} {row['id']}]" for row in op.arguments["rows"])
    if not done:
        return " ".join(f"[:r {key} nil]" for key in range(3))
    lists: dict[int, list[int]] = {key: [] for key in range(3)}
    for row in sorted(op.rows or (), key=lambda row: (place.get(row["id"], 0), row["id"])):
        lists.setdefault(row.get(PARTITION) or 0, []).append(row["id"])
    return " ".join(f"[:r {key} [{' '.join(map(str, ids))}]]" for key, ids in lists.items())
