"""What ``plan.explain()`` costs beside its plan: the parts of the filter are judged over the bounds that planning kept.

CPU time, in rounds that alternate. Each round opens the table anew, so that every plan is a first one. The goal is a
tenth. ``python -m benchmarks.explaining`` prints all shares, and with ``--write`` puts them into
docs/measured/explaining.md.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

from . import QUICK, sizes
from .generate import Table, build
from .planners import sql
from .planning import SPECS, check
from .report import machine, versions
from .table_text import markdown, write

QUESTIONS = ["P5"] if QUICK else ["P1", "P2", "P3", "P5"]
ROUNDS = 1 if QUICK else 7


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU time of a call, of all threads, and what it returns."""
    gc.collect()
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer


def seconds_of(table: Table, question: str, rounds: int = ROUNDS) -> tuple[float, float]:
    """The least CPU seconds of a first plan, and of its explanation."""
    import tableformats as tf

    text = sql(table.predicate(question))
    planned, explained = [], []
    for _ in range(rounds + 1):
        scan = tf.open_table(table.entry).scan(text)
        seconds, plan = cpu_seconds(scan.plan)
        check(plan, table, question)
        planned.append(seconds)
        seconds, answer = cpu_seconds(plan.explain)
        if "Parts of the filter" not in answer:
            raise AssertionError(answer)
        explained.append(seconds)
    return min(planned[1:]), min(explained[1:])  # the first round imports


class Explain:
    """All questions to tables of all sizes: one evaluation of each part of the filter; in small tables, fixed costs."""

    params: list[Any] = [list(SPECS), sizes(10_000, 100_000), QUESTIONS]
    param_names = ["format", "files", "question"]
    timeout = 600

    def track_share_of_planning(self, format: str, files: int, question: str) -> float:
        """CPU seconds of an explanation, of each second of its plan."""
        planned, explained = seconds_of(build(SPECS[format](files)), question)
        return explained / planned

    track_share_of_planning.unit = "of planning"  # type: ignore[attr-defined]


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/measured/explaining.md")
    chosen = parser.parse_args()
    rows = []
    for format in SPECS:
        for files in Explain.params[1]:
            table = build(SPECS[format](files))
            for question in QUESTIONS:
                planned, explained = seconds_of(table, question)
                times = f"{planned * 1000:.1f}", f"{explained * 1000:.1f}", f"{explained / planned:.1%}"
                rows.append([format, f"{files:,}", question, *times])
                print(*rows[-1], flush=True)
    if chosen.write:
        heads = ["table", "files", "question", "plan, ms", "explain, ms", "share"]
        measured = f"Measured {time.strftime('%Y-%m-%d')}, {machine()}. {versions()}"
        write("explaining.md", f"{measured}\n\n{markdown(heads, rows)}")


if __name__ == "__main__":
    main()
