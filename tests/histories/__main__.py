"""What takes too long for each change; docs/measured/histories.md has the figures.

    python -m tests.histories run --histories 2000 --steps 200000   # interleaved writers of both formats
    python -m tests.histories faults                                # each request of each operation, in every way

``--write docs/measured/histories.md`` writes the figures there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..support.marks import write_between
from .failing import all_cases
from .interleaving import CASES
from .tasks import fail, interleave


def runs(histories: int, steps: int, jobs: int, first: int) -> tuple[str, list[str]]:
    """The table of interleaved histories, at least so many with so many steps in all, and the violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        while counts["histories"] < histories or counts["steps"] < steps:
            tasks = [(*case, first + seed) for seed in range(20) for case in CASES]
            first += 20
            for found, wrong in pool.imap_unordered(interleave, tasks, 4):
                counts.update(found)
                violations += wrong
            print(f"{counts['histories']} histories, {counts['steps']} steps, {len(violations)} violations", flush=True)
    lines = ["| format, isolation | histories | steps | committed or read | conflicts |", "|-|-|-|-|-|"]
    for format, level in CASES:
        name = f"{format}, {level}"
        found = [counts[f"{name}: {what}"] for what in ("histories", "steps", "ok", "fail")]
        lines.append(f"| {name} | " + " | ".join(f"{n:,}" for n in found) + " |")
    told = f"{counts['histories']:,} histories, {counts['steps']:,} steps, {len(violations)} violations."
    return "\n".join([told, "", *lines]), violations


def faults(jobs: int) -> tuple[str, list[str]]:
    """The table of faults, and the violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        for found, wrong in pool.imap_unordered(fail, all_cases(), 16):
            counts.update(found)
            violations += wrong
    lines = [
        "| format | faults | the operation succeeded | failed, outcome unknown to the caller | refused |",
        "|-|-|-|-|-|",
    ]
    for format in ("delta", "iceberg"):
        found = [counts[format], *(counts[f"{format}: {outcome}"] for outcome in ("ok", "unknown", "fail"))]
        lines.append(f"| {format} | " + " | ".join(f"{n:,}" for n in found) + " |")
    total = counts["delta"] + counts["iceberg"]
    return "\n".join([f"{total:,} faults, {len(violations)} did harm.", "", *lines]), violations


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "faults"))
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args(arguments)
    if given.what == "run":
        text, violations = runs(given.histories, given.steps, given.jobs, given.first)
    else:
        text, violations = faults(given.jobs)
    print(text)
    print(*violations[:50], sep="\n")
    if given.write is not None and not violations:
        write_between(given.write, given.what, text)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
