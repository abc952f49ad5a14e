"""Measures planning: ``python -m benchmarks.report --write`` in ``asv_bench`` writes docs/measured/planning.md and
docs/measured/limits.md.

Every measurement is a process of its own; rounds go through all cases and planners in turn, so that what disturbs one
disturbs all, and medians are given. What takes very long is measured once. When ``--minutes`` are over, no further
round begins; results are kept, so the next call goes on, and measures again what has another version by now
(``--fresh`` forgets all). A measurement that leaves the machine no memory is stopped, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import limits, table_text, worker
from .cases import MILLION, Case, cases
from .generate import tables_folder
from .planners import OURS, PEERS, Planner, version
from .processes import run_module, run_worker
from .results import Results

PLANNING, LIMITS = "planning.md", "limits.md"
"""The pages in docs/measured that are written here."""
RUNS = 5

VERY_LONG = (
    ("duckdb", "delta", "P4"),
    ("duckdb", "delta", "P5"),
    ("pyiceberg", "iceberg", "P2"),
    ("duckdb", "iceberg", "P2"),
    ("duckdb", "delta", "P0"),
    ("pyiceberg", "iceberg", "P0"),
    ("pyiceberg", "iceberg", "P5"),
    ("pyiceberg", "iceberg", "P4"),
    ("pyiceberg", "iceberg", "P3"),
    ("duckdb", "iceberg", "P0"),
    ("duckdb", "iceberg", "P1"),
    ("duckdb", "iceberg", "P3"),
    ("duckdb", "iceberg", "P4"),
    ("duckdb", "iceberg", "P5"),
)
"""Who takes half a minute or more for a million files; in the order of measuring."""
FIRST_OF_THEM = 4
"""So many are measured before second rounds begin."""

Task = tuple[Case, Planner]


def measure(
    chosen: Sequence[Case], planners: Sequence[Planner], results: Results, files: int, runs: int, minutes: float
) -> None:
    """Fill ``results``: a first round of everything, then what there is time for."""
    for spec in dict.fromkeys(spec for case in chosen for spec in (case.spec, case.warm_up)):
        say(f"table {spec.name}")
        run_module("benchmarks.generate", repr(spec))
    end = time.monotonic() + 60 * minutes
    tasks = [(case, planner) for case in chosen for planner in planners if reason(case, planner) is None]
    long = {name: task for task in tasks if (name := very_long(*task, files)) is not None}
    quick = [task for task in tasks if very_long(*task, files) is None]
    in_order = [long[name] for name in VERY_LONG if name in long]
    run_round(1, quick, results, files)
    look_closer(chosen, results, files)
    run_round(1, in_order[:FIRST_OF_THEM], results, files, end)
    for number in range(2, runs + 1):
        run_round(number, quick, results, files, end)
    run_round(1, in_order[FIRST_OF_THEM:], results, files, end)
    left = sum(results.wants(*task, runs) for task in tasks)
    say(f"{left} of {len(tasks)} wait for another call" if left else "everything is measured", keep=True)


def run_round(number: int, tasks: Sequence[Task], results: Results, files: int, end: float = float("inf")) -> None:
    """Measure once what has not been measured ``number`` times, until the time is over."""
    due = [task for task in tasks if results.wants(*task, number)]
    for k, (case, planner) in enumerate(due, 1):
        if time.monotonic() > end:
            return
        say(f"round {number}, {k} of {len(due)}: {case.label}, {planner.name}")
        results.add(case, planner, run_worker(case, planner, files))


def look_closer(chosen: Sequence[Case], results: Results, files: int) -> None:
    """Profiles of ours, and what the bytes cost."""
    for case in chosen:
        if case.how == "plan" and not case.alone and case.key not in results.profiles:
            say(f"profile of {case.label}")
            results.add_profile(case, run_worker(case, OURS, files, "--profile").get("profile", {}))
    if not results.steps and limits.missing(limits.QUESTIONS[0]) is None:
        say("what the bytes cost")
        results.add_steps(json.loads(run_module("benchmarks.steps", str(files)))["steps"])


def reason(case: Case, planner: Planner) -> str | None:
    """Why this planner is not asked."""
    if case.alone and planner is not OURS:
        return "not asked"
    if case.how in ("again", "commit", "next process") and planner is not OURS:
        return "only ours keeps metadata between plans"
    if case.is_process and planner.name not in worker.SCRIPTS:
        return "not asked"
    if planner is limits.LIMIT:
        return limits.missing(case.question)
    return planner.missing(case.spec.format)


def very_long(case: Case, planner: Planner, files: int) -> tuple[str, str, str] | None:
    """Its name in VERY_LONG, for the tables of full size that have no special form."""
    name = (planner.name, case.spec.format, case.question)
    return name if case.spec == type(case.spec)(files) and name in VERY_LONG else None


def say(text: str, keep: bool = False) -> None:
    """Progress on standard error: one line that changes, at a terminal."""
    if sys.stderr.isatty() and not keep:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
    else:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """What it was measured on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, {platform.system()} {platform.release()}"


def versions() -> str:
    """Of Python and of all that plans."""
    names = dict.fromkeys(["tableformats", "pyarrow", "numpy", "deflate", *(n for p in PEERS for n in p.needs)])
    found = [f"{name} {version(name) or '(not installed)'}" for name in names]
    return ", ".join([f"Python {platform.python_version()}", *found])


def some(all_of_them: Sequence[Any], wanted: Sequence[str], name: Callable[[Any], str]) -> Iterator[Any]:
    """Those whose name contains one of the words."""
    return (one for one in all_of_them if any(word.lower() in name(one).lower() for word in wanted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=MILLION, help="of the large tables; goals go with a million")
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of their labels, for example 'Iceberg, P1'")
    parser.add_argument("--peers", nargs="+", default=[""], help="names; 'none' asks ours and the limits alone")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--minutes", type=float, default=11.0, help="after which nothing begins but the first round")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--no-measure", action="store_true", help="print what is there")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PLANNING} and {LIMITS}")
    arguments = parser.parse_args()

    path = tables_folder() / f"results-{arguments.files}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if arguments.fresh:
        path.unlink(missing_ok=True)
    results = Results(path)
    everything = cases(arguments.files)
    if not arguments.no_measure:
        peers = some(PEERS, arguments.peers, lambda p: p.name)
        chosen = list(some(everything, arguments.cases, lambda c: c.label))
        measure(chosen, [OURS, limits.LIMIT, *peers], results, arguments.files, arguments.runs, arguments.minutes)
    if not any(results.median(case, OURS.name) for case in everything):
        raise SystemExit(f"nothing is measured yet in {path}")
    text = table_text.text(everything, results, machine(), versions())
    costs = table_text.limits_text(results) if results.steps else ""
    print(text, costs, sep="\n\n")
    if arguments.write:
        table_text.write(PLANNING, text)
        if costs:
            table_text.write(LIMITS, costs)
    wrong = table_text.wrong(everything, results)
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
