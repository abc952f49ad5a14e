"""Histories: what several writers and readers of one table asked for, what they were told, and when.

A history is a list of events in the order of their times, as Jepsen has them. ``invoke`` begins an operation. ``ok``,
``fail`` (certainly nothing happened) or ``unknown`` (it happened once or never) ends it. A process does one operation
at a time. As text it has a header, one line an event, and a last line with the number and the digest of what stands
before it, so that a history that was cut off or changed is refused, and never judged.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "LEVELS", "SIGNS", "UPKEEP", "DamagedHistoryError", "History", "Operation", "Recorder", "merged"]

KINDS: Mapping[str, tuple[str, ...]] = {
    "create": ("rows",),
    "append": ("rows",),
    "append_once": ("rows", "application", "number"),
    "overwrite": ("rows", "where"),
    "delete": ("where",),
    "alter": ("column",),
    "replace": ("rows", "column"),
    "restore": ("version",),
    "checkpoint": (),
    "compact": (),
    "read": (),
    "stream": (),
}
"""The operations, and the arguments that each must have."""
UPKEEP = ("checkpoint", "compact")
"""Operations that make no version."""
LEVELS = ("serializable", "write-serializable", "snapshot")
_LEVELS_OF = {"delta": LEVELS, "iceberg": ("serializable", "snapshot")}
SIGNS = ("=", "<>", "<", "<=", ">", ">=")
"""The operators of conditions."""
_TYPES = ("invoke", "ok", "fail", "unknown")
_KEYS = {
    "invoke": {"kind", "arguments"},
    "ok": {"read", "made", "rows", "batches", "looked"},
    "fail": {"error"},
    "unknown": {"error"},
}
"""What events may have beside their type, process, operation and time."""


class DamagedHistoryError(ValueError):
    """A history that is damaged or incomplete. Nothing can be said of what it tells."""


@dataclass(frozen=True)
class Operation:
    """One operation, from its invocation to its answer.

    Attributes
    ----------
    invoked, returned : int
        Nanoseconds of one clock.
    outcome : str
        "ok", "fail" or "unknown".
    read : int or str, optional
        The version that it read.
    made : int or str, optional
        The version that it made; None: it changed nothing.
    rows : list of mapping, optional
        What a read found.
    batches : list of mapping, optional
        What a stream got, in order: ``first``, ``last`` (versions), ``inserted`` and ``deleted`` (rows).
    looked : int
        When a stream looked for new versions for the last time.
    """

    id: str
    process: int
    kind: str
    arguments: Mapping[str, Any]
    invoked: int
    returned: int
    outcome: str
    read: Any = None
    made: Any = None
    rows: Sequence[Mapping[str, Any]] | None = None
    batches: Sequence[Mapping[str, Any]] = ()
    looked: int = 0

    @property
    def is_write(self) -> bool:
        return self.kind not in ("read", "stream", *UPKEEP)


@dataclass(frozen=True)
class History:
    """What was done to a table.

    ``level`` is the isolation that its writers asked for, ``initial`` how many versions it had before.
    """

    format: str
    level: str
    initial: int
    events: tuple[Mapping[str, Any], ...]
    operations: tuple[Operation, ...] = field(default=())

    @classmethod
    def of(cls, format: Any, level: Any, initial: Any, events: Iterable[Mapping[str, Any]]) -> History:
        """A history of events. Raises DamagedHistoryError for what is no whole history."""
        told = tuple(events)
        levels = _LEVELS_OF.get(format, ()) if isinstance(format, str) else ()
        if level not in levels or type(initial) is not int or initial < 0:
            raise DamagedHistoryError(f"{format!r}, {level!r} and {initial!r} do not say what a history is of")
        return cls(format, level, initial, told, tuple(_operations(told)))

    def to_text(self) -> str:
        """The history as text; :meth:`from_text` reads it."""
        lines = [json.dumps({"history": 1, "format": self.format, "level": self.level, "initial": self.initial})]
        lines += [json.dumps(event, sort_keys=True) for event in self.events]
        body = "".join(line + "\n" for line in lines)
        return body + json.dumps({"events": len(self.events), "sha256": _digest(body)}) + "\n"

    @classmethod
    def from_text(cls, text: str) -> History:
        """Raises DamagedHistoryError for a text that is cut off, changed, or no history."""
        lines = text.splitlines(keepends=True)
        if len(lines) < 2 or not lines[-1].endswith("\n"):
            raise DamagedHistoryError("the history is cut off")
        try:
            header, *events, end = [json.loads(line) for line in lines]
        except ValueError as error:
            raise DamagedHistoryError(f"the history has a line that is no JSON: {error}") from None
        if not all(isinstance(value, dict) for value in (header, *events, end)) or header.get("history") != 1:
            raise DamagedHistoryError("the text is no history")
        if end.get("events") != len(events) or end.get("sha256") != _digest("".join(lines[:-1])):
            raise DamagedHistoryError("the history is cut off, or was changed")
        return cls.of(header.get("format"), header.get("level"), header.get("initial"), events)


class Recorder:
    """Writes down what workers do; threads may share one.

    Parameters
    ----------
    clock : callable
        Gives nanoseconds; that of all workers of one history. The default is one for all processes of a machine.
    tell : callable, optional
        Is given each event when it happens, for processes that may be killed.
    """

    def __init__(
        self, clock: Callable[[], int] = time.monotonic_ns, tell: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.now, self._tell, self._lock = clock, tell, threading.Lock()

    def invoke(self, process: int, op: str, kind: str, **arguments: Any) -> None:
        self._add({"type": "invoke", "process": process, "op": op, "kind": kind, "arguments": arguments})

    def ok(self, process: int, op: str, **answer: Any) -> None:
        self._add({"type": "ok", "process": process, "op": op, **answer})

    def fail(self, process: int, op: str, error: BaseException | str) -> None:
        self._add({"type": "fail", "process": process, "op": op, "error": str(error)})

    def unknown(self, process: int, op: str, error: BaseException | str) -> None:
        self._add({"type": "unknown", "process": process, "op": op, "error": str(error)})

    def _add(self, event: dict[str, Any]) -> None:
        with self._lock:
            event["time"] = self.now()
            self.events.append(event)
            if self._tell is not None:
                self._tell(event)


def merged(parts: Iterable[Iterable[Mapping[str, Any]]], ended: int | None = None) -> list[Mapping[str, Any]]:
    """The events of several recorders by time.

    ``ended``: when all workers were gone. What a worker that was killed had begun is unknown from then on. Without it
    an operation that did not end stays one, and the history is refused.
    """
    events = sorted((event for part in parts for event in part), key=lambda event: int(event["time"]))
    if ended is None:
        return events
    open_ones: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event["type"] == "invoke":
            open_ones[event["op"]] = event
        else:
            open_ones.pop(event["op"], None)
    last = max([ended, *(event["time"] for event in events)])
    killed = [
        {"type": "unknown", "process": event["process"], "op": op, "error": "killed", "time": last}
        for op, event in open_ones.items()
    ]
    return [*events, *killed]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _operations(events: Sequence[Mapping[str, Any]]) -> list[Operation]:
    """The operations of events. Raises DamagedHistoryError."""
    begun: dict[str, Mapping[str, Any]] = {}
    busy: dict[int, str] = {}
    done: dict[str, Operation] = {}
    now = None
    for number, event in enumerate(events):
        where = f"event {number}"
        if not isinstance(event, Mapping):
            raise DamagedHistoryError(f"{where} is none: {event!r:.200}")
        kind, op, process, at = (event.get(name) for name in ("type", "op", "process", "time"))
        if kind not in _TYPES or type(op) is not str or type(process) is not int or type(at) is not int:
            raise DamagedHistoryError(f"{where} is none: {event!r:.200}")
        if more := set(event) - {"type", "process", "op", "time"} - _KEYS[kind]:
            raise DamagedHistoryError(f"{where} says more than such an event does: {sorted(more)}")
        if now is not None and at < now:
            raise DamagedHistoryError(f"{where} is before the one that it follows")
        now = at
        if kind == "invoke":
            if op in begun or process in busy:
                raise DamagedHistoryError(f"{where}: {op} was begun twice, or process {process} does something else")
            _check_arguments(event, where)
            begun[op], busy[process] = event, op
        elif busy.get(process) != op:
            raise DamagedHistoryError(f"{where} ends {op}, which process {process} is not doing")
        else:
            del busy[process]
            done[op] = _operation(begun[op], event, where)
    if busy:
        raise DamagedHistoryError(f"the history does not say how {', '.join(sorted(busy.values()))} ended")
    return [done[op] for op in begun]


def _check_arguments(event: Mapping[str, Any], where: str) -> None:
    kind, given = event.get("kind"), event.get("arguments")
    wanted = KINDS.get(kind) if isinstance(kind, str) else None
    if wanted is None or not isinstance(given, dict) or set(given) != set(wanted):
        raise DamagedHistoryError(f"{where} has an unknown kind, or other arguments than {wanted}")
    for name, value in given.items():
        if not _VALID[name](value) and not (kind == "overwrite" and name == "where" and value == "dynamic"):
            raise DamagedHistoryError(f"{where}: {value!r:.100} cannot be the {name} of {kind}")


def _operation(begun: Mapping[str, Any], ended: Mapping[str, Any], where: str) -> Operation:
    kind, outcome = str(begun["kind"]), str(ended["type"])
    if outcome == "ok":
        _check_answer(kind, ended, where)
        if kind == "stream" and not begun["time"] <= ended["looked"] <= ended["time"]:
            raise DamagedHistoryError(f"{where}: {begun['op']} looked for versions outside of its time")
    elif type(ended.get("error")) is not str:
        raise DamagedHistoryError(f"{where} does not say why {begun['op']} failed")
    return Operation(
        str(begun["op"]),
        int(begun["process"]),
        kind,
        begun["arguments"],
        int(begun["time"]),
        int(ended["time"]),
        outcome,
        ended.get("read"),
        ended.get("made"),
        ended.get("rows"),
        ended.get("batches", ()),
        ended.get("looked", 0),
    )


def _check_answer(kind: str, answer: Mapping[str, Any], where: str) -> None:
    """Refuse the answer to an operation that does not say all that such an answer says, and nothing else."""
    told = set(answer) - {"type", "process", "op", "time"}
    if kind == "read":
        is_whole = told == {"read", "rows"} and type(answer["read"]) is int and _are_rows(answer["rows"])
    elif kind == "stream":
        is_whole = told == {"batches", "looked"} and type(answer["looked"]) is int and _are_batches(answer["batches"])
    elif kind in UPKEEP:
        is_whole = not told
    else:
        is_whole = "made" in told <= {"read", "made"}
        is_whole = is_whole and all(answer[name] is None or type(answer[name]) is int for name in told)
    if not is_whole:
        raise DamagedHistoryError(f"{where}: the answer of a {kind} does not say what was read or made")


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, dict) and all(type(cell) in (int, type(None)) for cell in row.values()) for row in value
    )


def _is_condition(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(leaf, list)
        and len(leaf) == 3
        and type(leaf[0]) is str
        and type(leaf[1]) is str
        and leaf[1] in SIGNS
        and type(leaf[2]) is int
        for leaf in value
    )


def _are_batches(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(batch, dict)
        and set(batch) == {"first", "last", "inserted", "deleted"}
        and type(batch["first"]) is type(batch["last"]) is int
        and _are_rows(batch["inserted"])
        and _are_rows(batch["deleted"])
        for batch in value
    )


_VALID: Mapping[str, Callable[[Any], bool]] = {
    "rows": _are_rows,
    "where": _is_condition,
    "application": lambda value: type(value) is str,
    "number": lambda value: type(value) is int,
    "column": lambda value: type(value) is str,
    "version": lambda value: type(value) is int,
}
"""What the arguments of operations can be."""
