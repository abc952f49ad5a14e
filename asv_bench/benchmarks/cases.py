"""What ``benchmarks.report`` measures, and what is asked of it: the rows of the table in docs/performance.md.

Goals are for a million files on two cores, and were set on one machine. How fast another one is, a yardstick says: a
prototype or a peer that was measured there too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .generate import DeltaTable, IcebergTable, Spec

MILLION = 1_000_000
HOWS = {
    "plan": "a fresh process opens the table and plans, with all modules loaded",
    "again": "the second plan of the same snapshot in one process",
    "commit": "`snapshot.update()` to one more version, and its plan",
    "next process": "a plan that has a directory of what another one decoded, and nothing else",
    "process": "a whole process: start, imports, plan, exit",
    "tuples": "a whole process whose filter is a list of tuples, so that no SQL is parsed",
}


@dataclass(frozen=True)
class Yardstick:
    """A planner that took ``seconds`` on the machine that a goal was set on, for ``question`` to the case's table."""

    planner: str
    question: str
    seconds: float


@dataclass(frozen=True)
class Goal:
    """What a case should reach.

    Attributes
    ----------
    seconds, memory_mib : at most; None: nothing is asked
    beside : what says how many seconds are as many on another machine
    factors : by peer, how many times as fast
    cpu_factors : the same in seconds of CPU
    """

    seconds: float | None = None
    memory_mib: int | None = None
    beside: Yardstick | None = None
    factors: dict[str, float] = field(default_factory=dict)
    cpu_factors: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One question to one table, asked in one of HOWS."""

    label: str
    spec: Spec
    question: str
    how: str = "plan"
    goal: Goal = Goal()
    alone: bool = False
    """Only ours is asked."""

    @property
    def key(self) -> str:
        return f"{self.spec.name}:{self.question}:{self.how}"

    @property
    def is_process(self) -> bool:
        """Whether a process is measured as a whole, from without."""
        return self.how in ("process", "tuples")

    @property
    def warm_up(self) -> Spec:
        """A small table of the same form, to load what is loaded late."""
        small: dict[str, Any] = {"commits": 10} if isinstance(self.spec, DeltaTable) else {}
        return replace(self.spec, files=1_000, **small)


_DELTA = {"deltalake": 5.0, "polars": 2.0, "duckdb": 2.0}
_ICEBERG = {"polars": 2.0, "pyiceberg": 80.0, "duckdb": 2.0}
_TEXTS = {
    "P0": "P0 all files",
    "P1": "P1 a day",
    "P2": "P2 range",
    "P3": "P3 text",
    "P4": "P4 IN (100)",
    "P5": "P5 OR",
}
# question: seconds, MiB
_DELTA_GOALS = {
    "P0": (0.5, 450),
    "P1": (0.4, None),
    "P2": (0.8, 350),
    "P3": (0.85, None),
    "P4": (0.85, None),
    "P5": (1.0, None),
}
_ICEBERG_GOALS = {
    "P0": (0.7, 350),
    "P1": (0.015, None),
    "P2": (0.55, 150),
    "P3": (0.6, None),
    "P4": (0.65, None),
    "P5": (0.75, None),
}
# What the prototypes took; other questions have none, and P2's stands in for them.
_DELTA_LIMITS = {"P0": 0.26, "P1": 0.21, "P2": 0.55}
_ICEBERG_LIMITS = {"P0": 0.40, "P1": 0.008, "P2": 0.39}


def cases(files: int) -> list[Case]:
    """The cases for tables of ``files`` files; goals go with a million."""
    found = list(_cases(files))
    return found if files == MILLION else [replace(case, goal=Goal()) for case in found]


def _limit(question: str, known: dict[str, float]) -> Yardstick:
    question = question if question in known else "P2"
    return Yardstick("limit", question, known[question])


def _cases(files: int) -> Iterator[Case]:
    delta, iceberg = DeltaTable(files), IcebergTable(files)
    tenth, hundredth = files // 10, files // 100
    for question, (seconds, memory) in _DELTA_GOALS.items():
        goal = Goal(seconds, memory, _limit(question, _DELTA_LIMITS), _DELTA)
        yield Case(f"Delta, {_TEXTS[question]}", delta, question, goal=goal)
    parsed = DeltaTable(files, statistics="both")
    yield Case("Delta, `stats_parsed`, P2", parsed, "P2", goal=Goal(0.4, None, Yardstick("limit", "P2", 0.24), _DELTA))
    sidecars = Goal(0.8, None, _limit("P2", _DELTA_LIMITS), _DELTA)
    yield Case("Delta, V2 sidecars, P2", DeltaTable(files, "v2"), "P2", goal=sidecars)
    commits = DeltaTable(tenth, "json", commits=max(tenth // 100, 1))
    scanned = Goal(0.2, None, Yardstick("limit", "P2", 0.13), _DELTA)
    yield Case(f"Delta, {tenth:,} in JSON commits, P2", commits, "P2", goal=scanned)
    for question, (seconds, memory) in _ICEBERG_GOALS.items():
        factors = _ICEBERG | ({"polars": 10.0 if question == "P1" else 2.0})
        goal = Goal(seconds, memory, _limit(question, _ICEBERG_LIMITS), factors, {"polars": 2})
        yield Case(f"Iceberg, {_TEXTS[question]}", iceberg, question, goal=goal)
    by_partition = IcebergTable(tenth, deletes="partition")
    yield Case(f"Iceberg, {tenth:,}, deletes by partition, P2", by_partition, "P2")
    small = {
        "delta": Goal(0.13, beside=Yardstick("duckdb", "P2", 0.185)),
        "iceberg": Goal(0.065, beside=Yardstick("polars", "P2", 0.129)),
    }
    for spec in (delta, iceberg):
        name = spec.format.capitalize()
        for question in ("P0", "P2"):
            at_tenth = small[spec.format] if question == "P2" else Goal()
            alone = at_tenth == Goal()
            yield Case(f"{name}, {hundredth:,}, {question}", replace(spec, files=hundredth), question, alone=True)
            yield Case(f"{name}, {tenth:,}, {question}", replace(spec, files=tenth), question, "plan", at_tenth, alone)
        for question in ("P1", "P2"):
            yield Case(f"{name}, {question}, second plan", spec, question, "again", Goal(0.03))
        yield Case(f"{name}, P2, one commit on top", spec, "P2", "commit", Goal(0.05))
        yield Case(f"{name}, P2, next process, disk cache", spec, "P2", "next process")
        few = replace(spec, files=hundredth)
        yield Case(f"{name}, {hundredth:,}, P2, whole process", few, "P2", "process", Goal(0.25))
        yield Case(f"{name}, {hundredth:,}, P2, whole process, tuples", few, "P2", "tuples", Goal(0.25), alone=True)
        yield Case(f"{name}, {hundredth:,}, P2, second plan", few, "P2", "again", Goal(0.015))
