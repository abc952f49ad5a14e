"""What is paid again: the second plan of a snapshot, and a version on top of a table that is open."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import QUICK, sizes
from .generate import DeltaTable, Table, build
from .generate.delta import CHECKPOINT_VERSION, COMMITS_BEHIND, append_commit
from .generate.iceberg import append_snapshot, link
from .planners import sql
from .planning import SPECS, check

ADDED_FILES = 100


@contextmanager
def growing(table: Table) -> Iterator[tuple[str, Callable[[], None]]]:
    """A table of the same metadata files that can be appended to: what one opens, and what adds a version."""
    with tempfile.TemporaryDirectory(dir=table.folder.parent) as scratch:
        folder = Path(scratch, "table")
        if isinstance(table.spec, DeltaTable):
            if table.spec.layout == "json":
                raise ValueError("a table with a checkpoint is needed")
            shutil.copytree(table.folder, folder, copy_function=lambda a, b: Path(b).hardlink_to(a))
            last = CHECKPOINT_VERSION + COMMITS_BEHIND
            versions = iter(range(last + 1, last + 1000))
            yield str(folder), lambda: append_commit(folder / "_delta_log", next(versions))
        else:
            metadata = link(table.folder, folder)
            versions = iter(range(2, 1000))
            yield str(folder), lambda: append_snapshot(metadata.parent, next(versions))


def seconds_after_commit(table: Table, question: str, rounds: int) -> list[float]:
    """Seconds from a new version to its plan, each round on one more version; the first plan is not counted."""
    import tableformats as tf

    text = sql(table.predicate(question))
    # The new files' ids are above all that is asked for; nothing else tells them apart but their partition.
    seconds = []
    with growing(table) as (entry, append):
        snapshot = tf.open_table(entry).snapshot()
        known = len(snapshot.scan(text).plan())
        for _ in range(rounds):
            append()
            start = time.perf_counter()
            snapshot = snapshot.update()
            planned = snapshot.scan(text).plan()
            seconds.append(time.perf_counter() - start)
            if question == "P0":
                known += ADDED_FILES
            if len(planned) != known:
                raise AssertionError(f"{table.spec.name}, {question}: {len(planned)} files after a commit, not {known}")
    return seconds


class Cached:
    """The second plan of one snapshot: what was decoded is kept, so pruning and survivors are left."""

    params = [list(SPECS), sizes(1_000, 10_000, 100_000, 1_000_000), ["P1", "P2"]]
    param_names = ["format", "files", "question"]
    timeout = 600

    def setup(self, format: str, files: int, question: str) -> None:
        import tableformats as tf

        table = build(SPECS[format](files))
        self.text = sql(table.predicate(question))
        self.snapshot = tf.open_table(table.entry).snapshot()
        check(self.snapshot.scan(self.text).plan(), table, question)

    def time_plan_again(self, *_: Any) -> None:
        self.snapshot.scan(self.text).plan()


class OneCommit:
    """A hundred files in one more version: ``snapshot.update()`` and a plan."""

    params = [list(SPECS), sizes(1_000, 100_000, 1_000_000), ["P2"]]
    param_names = ["format", "files", "question"]
    timeout = 600

    def track_plan_after_commit(self, format: str, files: int, question: str) -> float:
        rounds = 1 if QUICK else 7
        return statistics.median(seconds_after_commit(build(SPECS[format](files)), question, rounds))

    track_plan_after_commit.unit = "seconds"  # type: ignore[attr-defined]
