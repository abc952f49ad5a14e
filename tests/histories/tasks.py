"""What the processes of the commands do: one interleaving, one fault. Gives what is counted, and violations."""

from __future__ import annotations

from collections import Counter

from . import failing_catalog
from .failing import FaultFoundError, judge
from .failing_catalog import SQL
from .interleaving import interleaved
from .pairs import outcome

__all__ = ["fail", "interleave", "race"]

Found = tuple[Counter[str], list[str]]


def interleave(task: tuple[str, str, int]) -> Found:
    format, level, seed = task
    run = interleaved(format, level, seed, writers=2 + seed % 2, each=2 + seed % 3)
    name = f"{format}, {level}"
    counts = Counter({f"{name}: histories": 1, f"{name}: steps": run.steps, "histories": 1, "steps": run.steps})
    for op in run.history.operations:
        counts[f"{name}: {op.outcome}"] += 1
    return counts, [f"{name}, seed {seed}: {what}" for what in run.violations]


def fail(case: tuple[str, str, int, str]) -> Found:
    """``case``: see :func:`tests.histories.failing.all_cases`, or those of a SQL catalog."""
    format, name, number, fault = case
    try:
        outcome = failing_catalog.judge(name, number, fault) if format == SQL else judge(*case)
    except FaultFoundError as error:
        return Counter({format: 1}), [str(error)]
    return Counter({format: 1, f"{format}: {outcome}": 1, f"{format}, {fault}": 1, f"{format}: {name}": 1}), []


def race(cell: tuple[str, str, str, str, str]) -> list[str]:
    """What is wrong with a pair of operations: format, level, the two, and how the first has to end."""
    format, level, first, second, wanted = cell
    found, violations = outcome(format, level, first, second)
    if found == [wanted, "."] and not violations:
        return []
    return [f"{format}, {level}: {first} {second} ends with {found[0]}, not {wanted}: {violations}"]
