"""Several processes that append to one Iceberg table of a SQLite catalog at the same time, beside PyIceberg's.

Each commit appends one row. PyIceberg's commits that fail for good are made again upon the newest table, as users do
it. The time ends with the last commit, before the processes end. Then the table must have the rows of all commits that
were reported.
``python -m benchmarks.racing_iceberg`` prints the figures of docs/writing-iceberg.md.
"""

from __future__ import annotations

import multiprocessing
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import QUICK, sizes

NAME = "n.t"
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def catalog_at(folder: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("race", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")


def row(number: int) -> pa.Table:
    return pa.table({"id": [number], "name": ["x"]}, schema=SCHEMA)


def ours(folder: Path, start: Any, number: int, commits: int) -> None:
    import tableformats as tf

    catalog = catalog_at(folder)
    tf.open_table(f"{NAME}{number}", catalog=catalog).append(row(0))  # what a process does once
    table = tf.open_table(NAME, catalog=catalog)
    start.wait()
    for n in range(commits):
        table.append(row(number * commits + n))
    start.wait()


def theirs(folder: Path, start: Any, number: int, commits: int) -> None:
    from pyiceberg.exceptions import CommitFailedException

    catalog = catalog_at(folder)
    catalog.load_table(f"{NAME}{number}").append(row(0))  # what a process does once
    table = catalog.load_table(NAME)
    start.wait()
    for n in range(commits):
        while True:
            try:
                table.append(row(number * commits + n))
                break
            except CommitFailedException:
                table = catalog.load_table(NAME)
    start.wait()


def race(who: str, processes: int, commits: int) -> tuple[float, int]:
    """Commits a second, and how many of their rows are missing or doubled."""
    folder = Path(tempfile.mkdtemp())
    try:
        catalog = catalog_at(folder)
        catalog.create_namespace("n")
        for name in (NAME, *(f"{NAME}{number}" for number in range(processes))):
            catalog.create_table(name, SCHEMA)
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(processes + 1)
        calls = [
            context.Process(target={"ours": ours, "theirs": theirs}[who], args=(folder, start, number, commits))
            for number in range(processes)
        ]
        for call in calls:
            call.start()
        start.wait(timeout=120)  # a process that failed never comes
        began = time.perf_counter()
        start.wait(timeout=400)
        took = time.perf_counter() - began
        for call in calls:
            call.join()
        found = catalog.load_table(NAME).scan().to_arrow()["id"].to_pylist()
        failed = sum(call.exitcode != 0 for call in calls)
        wrong = len(set(range(processes * commits)) - set(found)) + len(found) - len(set(found)) + failed
        return processes * commits / took, wrong
    finally:
        shutil.rmtree(folder)


def rates(processes: int) -> tuple[float, float]:
    """Our commits a second and PyIceberg's, measured by a process of its own: asv's cannot spawn others."""
    command = [sys.executable, "-m", "benchmarks.racing_iceberg", str(processes), "5" if QUICK else "25"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=500)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = dict(re.findall(r"(ours|theirs) ([\d.]+) commits/s", done.stdout))
    return float(found["ours"]), float(found["theirs"])


class Races:
    """Commits a second of all processes together, and how many times as many PyIceberg makes."""

    params = [sizes(4)]
    param_names = ["processes"]
    timeout = 600

    def setup_cache(self) -> dict[int, tuple[float, float]]:
        return {n: rates(n) for n in self.params[0]}

    def track_commits_a_second(self, cache: dict[int, tuple[float, float]], processes: int) -> float:
        return cache[processes][0]

    def track_ratio_vs_pyiceberg(self, cache: dict[int, tuple[float, float]], processes: int) -> float:
        return cache[processes][0] / cache[processes][1]


def main(arguments: list[str]) -> None:
    processes, commits = map(int, arguments or ["4", "25"])
    for who in ("ours", "theirs"):
        rate, wrong = race(who, processes, commits)
        print(f"{processes} processes, {commits} commits each: {who} {rate:.1f} commits/s, {wrong} wrong")


if __name__ == "__main__":
    main(sys.argv[1:])
