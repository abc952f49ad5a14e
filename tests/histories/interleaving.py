"""Histories of writers that are stepped: made, judged, counted."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from .checker import check
from .failing import FIRST, PROPERTIES, without_waiting
from .history import History, Recorder
from .stepping import Stepper
from .tables import MemoryTable, Op, perform
from .workers import ALL, Worker, makers_of

__all__ = ["CASES", "Run", "interleaved"]

CASES = (
    ("delta", "serializable"),
    ("delta", "write-serializable"),
    ("delta", "snapshot"),
    ("iceberg", "serializable"),
    ("iceberg", "snapshot"),
)
"""The formats with their levels."""


@dataclass
class Run:
    """One interleaving: its history and what is wrong with it."""

    history: History
    violations: list[str]
    steps: int
    phases: Counter[str] = field(default_factory=Counter)


def interleaved(
    format: str,
    level: str,
    seed: int,
    writers: int = 3,
    each: int = 2,
    kinds: tuple[str, ...] = ALL,
    last_read: bool = False,
) -> Run:
    """Let writers do random operations in a random order of their steps.

    Long runs of steps of one writer and short ones are both drawn, because races of commits need both. ``last_read``: a
    read follows when all are done.
    """
    rng = random.Random(f"{format} {level} {seed}")
    recorder, stepper = Recorder(), Stepper()
    with MemoryTable.made(format, FIRST, wrap=stepper.wrap, **PROPERTIES[format]) as table, without_waiting():
        workers = [Worker(n, table.location, format, level, recorder, seed, kinds) for n in range(1, writers + 1)]
        for worker in workers:
            stepper.begin(lambda worker=worker: worker.run(each))  # type: ignore[misc]
        while unfinished := stepper.unfinished:
            number = rng.choice(unfinished)
            for _ in range(rng.choice((1, 1, 2, 5, 20))):
                stepper.step(number)
        if last_read:
            perform(table.location, format, Op("last", "read"), recorder, writers + 1, level=level)
        table.makers.update(makers_of(recorder.events))
        history = History.of(format, level, table.initial, recorder.events)
        found = check(history, table.ledger())
        found += [f"{op.id} ({op.kind}) has no answer" for op in history.operations if op.outcome == "unknown"]
    return Run(history, found, stepper.steps, stepper.phases)
