"""Several processes that append to one Delta table at the same time, beside deltalake's.

Each commit appends one row. deltalake's commits that fail for good are made again upon the newest table, as users do
it. The time ends with the last commit, before the processes end. Then the table must have the rows of all commits that
were reported. ``TF_BENCH_DIRECTORY`` names a directory for the tables. Ours syncs each commit to the disk; deltalake
does not.

``python -m benchmarks.racing_delta [PROCESSES COMMITS]`` prints the figures of docs/performance.md.
"""

from __future__ import annotations

import multiprocessing
import os
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

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def row(number: int) -> pa.Table:
    return pa.table({"id": [number], "name": ["x"]}, schema=SCHEMA)


def ours(folder: Path, start: Any, spent: Any, number: int, commits: int) -> None:
    import tableformats as tf

    tf.write_table(row(0), folder / f"own-{number}", format="delta")  # what a process does once
    table = tf.open_table(folder / "t")
    start.wait()
    used, tries = time.process_time(), 0
    for n in range(commits):
        tries += table.append(row(number * commits + n)).attempts
    spent.put((time.process_time() - used, tries))
    start.wait()


def theirs(folder: Path, start: Any, spent: Any, number: int, commits: int) -> None:
    import deltalake

    deltalake.write_deltalake(str(folder / f"own-{number}"), row(0))  # what a process does once
    table = deltalake.DeltaTable(str(folder / "t"))
    start.wait()
    used, tries = time.process_time(), 0
    for n in range(commits):
        while True:
            tries += 1
            try:
                deltalake.write_deltalake(table, row(number * commits + n), mode="append")
                break
            except deltalake.exceptions.CommitFailedError:
                table = deltalake.DeltaTable(str(folder / "t"))
    spent.put((time.process_time() - used, tries))
    start.wait()


def race(who: str, processes: int, commits: int) -> tuple[float, float, int, int]:
    """Commits a second, milliseconds of the processor a commit, tries, and how many rows are missing or doubled."""
    import tableformats as tf

    folder = Path(tempfile.mkdtemp(dir=os.environ.get("TF_BENCH_DIRECTORY")))
    try:
        table = tf.create_table(folder / "t", SCHEMA, format="delta")
        context = multiprocessing.get_context("spawn")
        start, spent = context.Barrier(processes + 1), context.Queue()
        target = {"ours": ours, "theirs": theirs}[who]
        calls = [context.Process(target=target, args=(folder, start, spent, n, commits)) for n in range(processes)]
        for call in calls:
            call.start()
        start.wait(timeout=120)  # a process that failed never comes
        began = time.perf_counter()
        start.wait(timeout=400)
        took = time.perf_counter() - began
        found = [spent.get() for _ in calls]
        for call in calls:
            call.join()
        ids = table.to_arrow()["id"].to_pylist()
        failed = sum(call.exitcode != 0 for call in calls)
        wrong = len(set(range(processes * commits)) - set(ids)) + len(ids) - len(set(ids)) + failed
        done = processes * commits
        return done / took, 1e3 * sum(cpu for cpu, _ in found) / done, sum(tries for _, tries in found), wrong
    finally:
        shutil.rmtree(folder)


def rates(processes: int) -> dict[str, tuple[float, float]]:
    """(commits a second, milliseconds of the processor a commit) of both, measured by a process of its own: asv's
    cannot spawn others."""
    command = [sys.executable, "-m", "benchmarks.racing_delta", str(processes), "10" if QUICK else "100"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=500)
    if done.returncode:
        raise RuntimeError(done.stderr)
    lines = re.findall(r"(ours|theirs) ([\d.]+) commits/s, ([\d.]+) ms of CPU", done.stdout)
    return {who: (float(rate), float(cpu)) for who, rate, cpu in lines}


class DeltaRaces:
    """Commits of all processes together, and how many times as many deltalake makes."""

    params = [sizes(4)]
    param_names = ["processes"]
    timeout = 600

    def setup_cache(self) -> dict[int, dict[str, tuple[float, float]]]:
        return {n: rates(n) for n in self.params[0]}

    def track_commits_a_second(self, cache: dict[int, Any], processes: int) -> float:
        return float(cache[processes]["ours"][0])

    def track_processor_milliseconds(self, cache: dict[int, Any], processes: int) -> float:
        return float(cache[processes]["ours"][1])

    def track_ratio_vs_deltalake(self, cache: dict[int, Any], processes: int) -> float:
        return float(cache[processes]["ours"][0] / cache[processes]["theirs"][0])


def main(arguments: list[str]) -> None:
    processes, commits = map(int, arguments or ["4", "100"])
    for who in ("ours", "theirs"):
        rate, cpu, tries, wrong = race(who, processes, commits)
        done = processes * commits
        print(
            f"{processes} processes, {commits} commits each: {who} {rate:.1f} commits/s, {cpu:.2f} ms of CPU a commit, "
            f"{tries} tries for {done} commits, {wrong} wrong",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
