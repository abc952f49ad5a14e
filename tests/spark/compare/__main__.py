"""Compares random predicates over every table with Spark's answers, and writes the figures."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .compare import Comparison, Outcome
from .oracle import Oracle
from .report import text
from .session import Unavailable, session
from .tables import write_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.compare", description=__doc__)
    parser.add_argument("--predicates", type=int, default=5000, help="over all tables together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="append", help="these tables alone")
    parser.add_argument("--write", type=Path, help="the file for the figures")
    chosen = parser.parse_args()
    try:
        outcomes = run(chosen.seed, chosen.predicates, chosen.table)
    except Unavailable as error:
        sys.exit(str(error))
    page = text(outcomes, chosen.seed)
    print(page)
    if chosen.write:
        chosen.write.write_text(page)
    return int(any(outcome.differences for outcome in outcomes))


def run(seed: int, predicates: int, tables: list[str] | None = None) -> list[Outcome]:
    cases = [case for case in write_all(session) if not tables or case.name in tables]
    outcomes, each = [], -(-predicates // len(cases))
    for case in cases:
        started, oracle = time.monotonic(), Oracle(session, case)
        outcome = Comparison(oracle, case).run(seed, each)
        oracle.close()
        outcomes.append(outcome)
        taken = time.monotonic() - started
        print(f"{case.name}: {outcome.compared} compared, {len(outcome.differences)} differ, {taken:.0f} s", flush=True)
        for difference in outcome.differences:
            print(f"  {difference.what}\n    {difference.smallest}", flush=True)
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
