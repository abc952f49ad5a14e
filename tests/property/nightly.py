"""``python -m tests.property.nightly``: the laboratory for as many cases as are asked for, in rounds with fixed seeds.

A case is a table at one of its versions and a predicate, judged by the row model. Every round is a run of its own, so
that what was found before a stop counts; a case that fails stays in the round's output.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.marks import write_between

ROOT = Path(__file__).resolve().parents[2]
TABLES = 100
"""Tables of each format in a round."""
_JUDGED = re.compile(r"^ *(\d+)  tables and predicates judged", re.MULTILINE)
_VERSIONS = re.compile(r"^ *(\d+)  versions read", re.MULTILINE)
_FAILED = re.compile(r"(\d+) failed")


@dataclass
class Totals:
    """What the rounds so far judged; ``seconds`` is their time, ``violations`` the tests in them that failed."""

    rounds: int = 0
    cases: int = 0
    versions: int = 0
    violations: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.cases:,} cases (a table and a predicate) over {self.versions:,} versions of "
            f"{2 * TABLES * self.rounds:,} tables in {self.seconds / 3600:.2f} hours: {self.violations} violations"
        )


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.property.nightly", description=__doc__)
    options.add_argument("--cases", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=1, help="of the first round")
    options.add_argument("--write", type=Path, help="put the summary between the marks of this file")
    given = options.parse_args()
    totals = Totals()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    while totals.cases < given.cases:
        output = one_round(given.seed + totals.rounds, totals)
        print(f"{totals}", flush=True)
        if totals.violations:
            raise SystemExit(output)
        if given.write is not None:
            write_between(given.write, "nightly", f"Measured at {commit.stdout.strip()}: {totals}.")


def one_round(seed: int, totals: Totals) -> str:
    """Add a round to ``totals``; its output."""
    environment = {**os.environ, "TABLEFORMATS_PROFILE": "nightly", "TABLEFORMATS_EXAMPLES": str(TABLES)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    start = time.monotonic()
    done = subprocess.run(
        [*command, "tests/property/test_lab.py"],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    judged, versions = _JUDGED.search(done.stdout), _VERSIONS.search(done.stdout)
    failed = _FAILED.search(done.stdout)
    if judged is None or versions is None or (done.returncode and failed is None):
        raise SystemExit(done.stdout)
    totals.rounds += 1
    totals.cases += int(judged.group(1))
    totals.versions += int(versions.group(1))
    totals.violations += int(failed.group(1)) if failed else 0
    totals.seconds += time.monotonic() - start
    return done.stdout


if __name__ == "__main__":
    main()
