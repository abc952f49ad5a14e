"""Commits, data files and checkpoints of Delta tables: ``python -m benchmarks.delta_writing --write`` in ``asv_bench``.

What :mod:`.writing`, :mod:`.racing_delta` and :mod:`.checkpoints` measure, in one run, beside deltalake and beside what
pyarrow alone takes for the same bytes. Writers take turns. ``--quick`` takes small sizes.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf

from . import table_text
from .checkpoints import DeltaCheckpoint, UponOwnCheckpoint
from .generate import DeltaTable, build
from .planners import version
from .report import machine
from .writing import ManyRows, OneRow, OneRowFloor, OntoManyFiles

PAGE = "delta_writing.md"
Rows = Iterator[list[str]]
HEAD = ("what", "ours", "beside it", "goal", "")


def spent(call: Callable[[], object]) -> tuple[float, float]:
    """(seconds, seconds of the processor)"""
    start, used = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start, time.process_time() - used


def one_row(commits: int) -> Rows:
    for place in (None, "/dev/shm"):
        if place is not None and not os.path.isdir(place):
            continue
        name = "in memory" if place else "on disk"
        os.environ["TF_BENCH_DIRECTORY"] = place or tempfile.gettempdir()
        floor = OneRowFloor()
        floor.setup()
        rate, cpu = floor._measure()
        floor.teardown()
        least = f"; the file and the put alone: {rate:,.0f}/s, {1e3 * cpu:.2f} ms"
        yield _one_row(commits, f"{commits} appends of one row by one writer, {name}", least)
        every = {"delta.checkpointInterval": "10"}
        yield _one_row(commits, "the same, both with a checkpoint every 10 commits", "", every)


def _one_row(commits: int, what: str, least: str, properties: dict[str, str] | None = None) -> list[str]:
    bench = OneRow()
    bench.setup(commits)
    found = bench._measure(commits, properties)
    bench.teardown(commits)
    (ours, ours_cpu), (theirs, theirs_cpu) = found["ours"], found["deltalake"]
    return [
        what,
        f"{ours:,.0f} commits/s, {1e3 * ours_cpu:.2f} ms CPU each",
        f"deltalake {theirs:,.0f}/s, {1e3 * theirs_cpu:.2f} ms{least}",
        "3x commits/s",
        f"{ours / theirs:.2f}x, CPU {theirs_cpu / ours_cpu:.2f}x",
    ]


def four_writers(commits: int) -> Rows:
    command = [sys.executable, "-m", "benchmarks.racing_delta", "4", str(commits)]
    for place in (tempfile.gettempdir(), "/dev/shm"):
        if not os.path.isdir(place):
            continue
        told = subprocess.run(
            command,
            cwd=Path(__file__).parents[1],
            env={**os.environ, "TF_BENCH_DIRECTORY": place},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = {line.split(": ")[1].split()[0]: line for line in told.splitlines()}
        numbers = {who: re.findall(r"[\d.]+", line.split(": ")[1]) for who, line in found.items()}
        (rate, cpu, tries, *_, wrong), theirs = numbers["ours"], numbers["theirs"]
        yield [
            f"{4 * commits} appends of one row by four processes, {'in memory' if place == '/dev/shm' else 'on disk'}",
            f"{rate} commits/s, {cpu} ms CPU each, {tries} tries, {wrong} lost",
            f"deltalake {theirs[0]}/s, {theirs[1]} ms, {theirs[-1]} lost",
            "100 commits/s, none lost",
            "",
        ]


def onto_many(files: int) -> Rows:
    bench = OntoManyFiles()
    bench.setup(files)
    took = []
    for _ in range(5):
        table = tf.open_table(bench.table.location)
        table.snapshot()
        took.append(spent(lambda table=table: table.append(bench.row)))  # type: ignore[misc]
    bench.teardown(files)
    wall, cpu = min(t[0] for t in took), min(t[1] for t in took)
    what = f"an append of one row to an open table of {files:,} files, 100 commits behind the checkpoint"
    yield [what, f"{1e3 * wall:.0f} ms, {1e3 * cpu:.0f} ms CPU", "–", "50 ms", ""]


def many_rows(rows: int) -> Rows:
    for place in (None, "/dev/shm"):
        if place is not None and not os.path.isdir(place):
            continue
        os.environ["TF_BENCH_DIRECTORY"] = place or tempfile.gettempdir()
        bench = ManyRows()
        bench.setup(rows)
        table = tf.create_table(bench.root / "t", bench.rows.schema, format="delta")
        alone = bench.root / "alone.parquet"
        both: dict[str, list[tuple[float, float]]] = {"parquet": [], "ours": []}
        for _ in range(3):
            both["parquet"].append(spent(lambda: pq.write_table(bench.rows, alone, compression="zstd")))  # noqa: B023
            both["ours"].append(spent(lambda: table.append(bench.rows)))  # noqa: B023
        bench.teardown(rows)
        (ours, ours_cpu), (theirs, theirs_cpu) = (
            tuple(min(one[i] for one in both[who]) for i in (0, 1)) for who in ("ours", "parquet")
        )
        yield [
            f"an append of {rows:,} rows of five columns, {'in memory' if place else 'on disk'}",
            f"{ours:.2f} s, {ours_cpu:.2f} s CPU",
            f"pyarrow {theirs:.2f} s, {theirs_cpu:.2f} s CPU, without a sync",
            "1.1x",
            f"{ours / theirs:.2f}x, CPU {ours_cpu / theirs_cpu:.2f}x",
        ]


def checkpoint(files: int) -> Rows:
    os.environ["TF_BENCH_DIRECTORY"] = tempfile.gettempdir()
    [old] = (build(DeltaTable(files)).folder / "_delta_log").glob("*.checkpoint.parquet")
    floor = min(_read_and_written(old) for _ in range(3))
    for kind, what in (
        (
            UponOwnCheckpoint,
            "a checkpoint of {:,} files upon one of ours, by 20 commits that add files and remove late ones",
        ),
        (DeltaCheckpoint, "the same upon one of another writer, by 20 commits that remove files here and there"),
    ):
        bench = kind()
        bench.setup(files)
        cpu = min(bench.write() for _ in range(3))
        size = bench.forget()
        deltalake = _by_deltalake(bench)
        bench.teardown(files)
        yield [
            what.format(files),
            f"{cpu:.1f} s CPU, {size / 1e6:.0f} MB, {_peak_mb(kind, files):,.0f} MB of memory",
            f"{deltalake}; pyarrow, which reads and writes the same columns: {floor:.1f} s CPU",
            "2 s CPU, 150 MB, 1 GB",
            "",
        ]


def _by_deltalake(bench: DeltaCheckpoint) -> str:
    """What deltalake takes for the same checkpoint, in a process of its own."""
    code = (
        "import sys, time; from deltalake import DeltaTable; from benchmarks.memory import peak_mib; "
        "began = time.process_time(); DeltaTable(sys.argv[1]).create_checkpoint(); "
        "print(time.process_time() - began, peak_mib() * 1.048576)"
    )
    cpu, memory = map(float, _told(code, str(bench.folder)).split())
    return f"deltalake {cpu:.1f} s CPU, {bench.forget() / 1e6:.0f} MB, {memory:,.0f} MB of memory"


def _read_and_written(path: Path) -> float:
    """Seconds of the processor that pyarrow takes to read a checkpoint, and to write it as ours does."""

    def copy() -> None:
        source, sink = pq.ParquetFile(path), pa.BufferOutputStream()
        names = ["add", "remove"]
        schema = pa.schema([source.schema_arrow.field(name) for name in names])
        pages: dict[str, Any] = {"data_page_size": 1 << 17, "write_batch_size": 1 << 8, "write_statistics": False}
        with pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=False, **pages) as writer:
            for batch in source.iter_batches(1 << 14, columns=names, use_threads=False):
                writer.write_batch(batch)

    return spent(copy)[1]


def _peak_mb(kind: type[DeltaCheckpoint], files: int) -> float:
    """The most memory of a process that writes the checkpoint."""
    code = (
        f"from benchmarks.checkpoints import {kind.__name__} as kind; from benchmarks.memory import peak_mib; "
        f"b = kind(); b.setup({files}); b.write(); b.teardown({files}); print(peak_mib() * 1.048576)"
    )
    return float(_told(code))


def _told(code: str, *arguments: str) -> str:
    """What a process prints."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def text(quick: bool) -> str:
    """The table of the page."""
    begun = os.getloadavg()[0]
    many = 10_000 if quick else 1_000_000
    parts = (one_row(40 if quick else 200), four_writers(10 if quick else 100), onto_many(many))
    parts += (many_rows(200_000 if quick else 20_000_000), checkpoint(many))  # type: ignore[assignment]
    rows = []
    for part in parts:
        for row in part:
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            rows.append(row)
    when = time.strftime("%Y-%m-%d")
    names = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "deltalake"))
    load = f"load {begun:.1f} and {os.getloadavg()[0]:.1f} before and after"
    told = f"Measured {when}, {machine()}, {load}. Python {platform.python_version()}, {names}."
    return "\n\n".join([told, table_text.markdown(HEAD, rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    arguments = parser.parse_args()
    found = text(arguments.quick)
    print(found)
    if arguments.write:
        table_text.write(PAGE, found)


if __name__ == "__main__":
    main()
