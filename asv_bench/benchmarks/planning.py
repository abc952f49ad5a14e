"""Opening a table and planning a scan from its files: nothing is kept from the plan before.

Every setup compares the plan with the table's truth, in files and in files with deletes. Questions are those of
:func:`benchmarks.generate.specs.questions`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import QUICK, sizes
from .generate import DeltaTable, IcebergTable, Spec, Table, build
from .generate.specs import DELETES, LAYOUTS, ORDERS, SHARES, STATISTICS
from .planners import sql

QUESTIONS = ["P0", "P5"] if QUICK else ["P0", "P1", "P2", "P3", "P4", "P5", "PZ"]
SPECS: dict[str, Callable[..., Spec]] = {"delta": DeltaTable, "iceberg": IcebergTable}
SOME = 1_000 if QUICK else 100_000
"""Files of the tables that differ in something else."""


def plan(table: Table, question: str) -> Any:
    """A plan from the table's files."""
    import tableformats as tf

    return tf.open_table(table.entry, cache=False).scan(sql(table.predicate(question))).plan()


def check(planned: Any, table: Table, question: str) -> None:
    """Raise AssertionError where a plan is not the truth."""
    found = len(planned), planned.report.files_with_deletes
    expected = table.survivors[question], table.with_deletes[question]
    if found != expected:
        raise AssertionError(f"{table.spec.name}, {question}: {found} (files, with deletes), not {expected}")


class _Plans:
    """The first parameters choose a table, the last one is the question."""

    timeout = 600
    number = 1
    repeat = (1, 1, 1.0) if QUICK else (3, 10, 5.0)
    warmup_time = 0.0

    def spec(self, *chosen: Any) -> Spec:
        raise NotImplementedError

    def setup(self, *chosen: Any) -> None:
        self.table, self.question = build(self.spec(*chosen[:-1])), chosen[-1]
        check(plan(self.table, self.question), self.table, self.question)

    def time_plan(self, *_: Any) -> None:
        plan(self.table, self.question)


class _Sizes(_Plans):
    """All questions to tables of all sizes."""

    params = [sizes(1_000, 10_000, 100_000, 1_000_000), QUESTIONS]
    param_names = ["files", "question"]

    def time_plan_files(self, *_: Any) -> None:
        plan(self.table, self.question).files  # noqa: B018

    def peakmem_plan(self, *_: Any) -> None:
        plan(self.table, self.question)


class DeltaCheckpoint(_Sizes):
    """A checkpoint and commits behind it: inflating and scanning statistics, for P0 and P1 reading paths."""

    def spec(self, *chosen: Any) -> Spec:
        return DeltaTable(*chosen)


class IcebergManifests(_Sizes):
    """Manifests in order of time: inflating and decoding those that partition summaries leave."""

    def spec(self, *chosen: Any) -> Spec:
        return IcebergTable(*chosen)


class DeltaLogLayout(_Plans):
    """The same files in every layout of the log and form of the statistics."""

    params = [LAYOUTS[:3], STATISTICS, ["P2"]]
    param_names = ["layout", "statistics", "question"]

    def spec(self, *chosen: Any) -> Spec:
        return DeltaTable(SOME, *chosen)


class DeltaCommits(_Plans):
    """No checkpoint: listing, opening and scanning commits."""

    params = [[10] if QUICK else [10, 100, 1000], ["P2"]]
    param_names = ["commits", "question"]

    def spec(self, *chosen: Any) -> Spec:
        return DeltaTable(SOME, "json", commits=chosen[0])


class IcebergDeletes(_Plans):
    """Position deletes matched by file or by partition, manifests pruned by summaries or not at all."""

    params = [ORDERS, DELETES, ["P2"]]
    param_names = ["order", "deletes", "question"]

    def spec(self, *chosen: Any) -> Spec:
        return IcebergTable(SOME, *chosen)


class IcebergCodec(_Plans):
    """What inflating costs: "null" is what is left without."""

    params = [["null", "deflate", "snappy", "zstandard"], ["P2"]]
    param_names = ["codec", "question"]

    def spec(self, *chosen: Any) -> Spec:
        return IcebergTable(SOME, codec=chosen[0])


class HitRate(_Plans):
    """From few files to all, by bounds: what survivors cost."""

    params = [list(SPECS), [f"hit {share}" for share in SHARES]]
    param_names = ["format", "question"]

    def spec(self, *chosen: Any) -> Spec:
        return SPECS[chosen[0]](SOME)


class Slope:
    """How cost grows: 1 is as fast as the table, less is slower, as fixed costs weigh."""

    params = [list(SPECS), ["P0", "P2"]]
    param_names = ["format", "question"]
    timeout = 600

    def track_exponent_of_files(self, format: str, question: str) -> float:
        """The slope of log(seconds) over log(files), fitted from 1e4 to 1e6."""
        files = [1_000, 5_000] if QUICK else [10_000, 100_000, 1_000_000]
        tables = [build(SPECS[format](n)) for n in files]
        for table in tables:
            check(plan(table, question), table, question)
        seconds = [best_of(lambda table=table: plan(table, question)) for table in tables]  # type: ignore[misc]
        return float(np.polyfit(np.log(files), np.log(seconds), 1)[0])

    track_exponent_of_files.unit = "log seconds / log files"  # type: ignore[attr-defined]


def best_of(call: Callable[[], Any], rounds: int = 1 if QUICK else 5) -> float:
    """Seconds of the fastest of some rounds; of the first where that takes long."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        if best > 5:
            break
    return best
