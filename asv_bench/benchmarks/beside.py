"""The same question to the peers and to the prototypes, on the same table in the same process.

A ratio is their time over ours: 2 is twice as fast. Both must give as many files as the truth, or, where a peer makes
nothing of bucket partitions, as many as bounds leave; a peer that keeps more is measured all the same and said so on
standard error. What is not installed gives NaN, and why on standard error. A million files take minutes of the slower
peers: ``python -m benchmarks.report`` asks them.
"""

from __future__ import annotations

import math
import sys

from . import QUICK, limits, sizes
from .generate import Table, build
from .planners import PEERS, Planner
from .planning import QUESTIONS, SPECS, best_of, check, plan


def ratio(planner: Planner, table: Table, question: str, reason: str | None) -> float:
    """Times as fast as ``planner``; NaN for a reason."""
    if reason is not None:
        print(f"skipped: {reason}", file=sys.stderr)
        return math.nan
    call = planner.prepare(table, question)
    try:
        found = call()
    except Exception as error:
        print(f"skipped: {planner.name} refuses: {error}", file=sys.stderr)
        return math.nan
    if found not in (None, table.survivors[question], table.by_bounds[question]):
        print(f"{planner.name} keeps {found} files, not {table.survivors[question]}", file=sys.stderr)
    return best_of(call) / best_of(lambda: plan(table, question))


class _Beside:
    format = ""
    params = [sizes(1_000, 100_000), ["P2"] if QUICK else QUESTIONS]
    param_names = ["files", "question"]
    timeout = 600

    def setup(self, files: int, question: str) -> None:
        self.table = build(SPECS[self.format](files))
        check(plan(self.table, question), self.table, question)

    def beside(self, name: str, question: str) -> float:
        planner = next(p for p in PEERS if p.name == name)
        return ratio(planner, self.table, question, planner.missing(self.format))

    def track_ratio_vs_polars(self, files: int, question: str) -> float:
        return self.beside("polars", question)

    def track_ratio_vs_duckdb(self, files: int, question: str) -> float:
        return self.beside("duckdb", question)

    def track_ratio_vs_limit(self, files: int, question: str) -> float:
        found = limits.missing(question)
        return ratio(limits.LIMIT, self.table, question, found)


class DeltaBeside(_Beside):
    """The classic checkpoint."""

    format = "delta"

    def track_ratio_vs_deltalake(self, files: int, question: str) -> float:
        return self.beside("deltalake", question)


class IcebergBeside(_Beside):
    """Manifests in order of time."""

    format = "iceberg"

    def track_ratio_vs_pyiceberg(self, files: int, question: str) -> float:
        return self.beside("pyiceberg", question)


for _class in (_Beside, DeltaBeside, IcebergBeside):
    for _name, _function in list(vars(_class).items()):
        if _name.startswith("track_"):
            _function.unit = "times as fast"
