"""Appends by Spark beside ``df.write.parquet``: ``python -m benchmarks.spark_writing --write`` in ``asv_bench``.

The same rows, read from the same Parquet files, are written by all writers in turn, in the same codec, each into a
directory of its own that is new; a round's ratios are to the writes of ``df.write.parquet`` right before and after. CPU
is that of the driver, the JVM and all Python workers. A first round, which does not count, checks the rows.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf

from . import QUICK, table_text
from .report import machine
from .spark_session import session
from .spark_tables import COLUMNS, row_tables

PAGE = "spark_writing.md"
ROWS = 1_000_000 if QUICK else 20_000_000
ROUNDS = 1 if QUICK else 5
CODEC = "zstd"
GOAL = 1.05
PARTITION = "bucket"
"""A column with few values, of which one has most rows."""
_TICKS = os.sysconf("SC_CLK_TCK")

Writer = Callable[[Any, str], None]


def by_spark(frame: Any, path: str) -> None:
    frame.write.option("compression", CODEC).parquet(path)


def by_spark_partitioned(frame: Any, path: str) -> None:
    frame.write.option("compression", CODEC).partitionBy(PARTITION).parquet(path)


def by_append(frame: Any, path: str) -> None:
    tf.open_table(path).append(frame)


def by_data_source(frame: Any, path: str) -> None:
    frame.write.format("tableformats").mode("append").save(path)


WRITERS: dict[str, dict[str, tuple[Writer, str | None]]] = {
    "not partitioned": {
        "df.write.parquet": (by_spark, None),
        "table.append(df)": (by_append, "delta"),
        "table.append(df), Iceberg": (by_append, "iceberg"),
        'df.write.format("tableformats")': (by_data_source, "delta"),
    },
    "by a skewed column": {
        "df.write.partitionBy.parquet": (by_spark_partitioned, None),
        "table.append(df)": (by_append, "delta"),
        "table.append(df), Iceberg": (by_append, "iceberg"),
    },
}
"""By layout: the writer, and the format of the table that it writes to. The first is what others are compared with."""


def cpu_seconds() -> dict[int, float]:
    """Seconds of CPU, by process, of this one and of all below it that live."""
    below: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(stat.parent.name)
        below.setdefault(int(fields[1]), []).append(number)
        used[number] = sum(map(int, fields[11:13])) / _TICKS
    found, todo = {}, [os.getpid()]
    while todo:
        number = todo.pop()
        found[number] = used.get(number, 0.0)
        todo += below.get(number, [])
    return found


def cpu_since(before: dict[int, float]) -> float:
    """Seconds of CPU since then, without those of processes that ended: workers of Spark end when they idle."""
    return sum(used - before.get(number, 0.0) for number, used in cpu_seconds().items())


def empty_table(path: str, format: str, partitioned: bool) -> None:
    """A table with the columns of the rows."""
    columns = pa.schema({**COLUMNS, PARTITION: pa.string()})
    tf.create_table(path, columns, format=format, partition_by=[PARTITION] if partitioned else None)


def measure(rows: int, rounds: int, cores: int) -> dict[str, Any]:
    """``results``: one mapping a layout and writer, with lists of ``wall``, ``cpu`` and their ratios, and ``files``."""
    tables = row_tables(rows)
    spark = session(cores, with_peers=False)
    folder = Path(tempfile.mkdtemp(prefix="writes-", dir=tables.folder.parent))
    results: list[dict[str, Any]] = []
    before = os.getloadavg()[0]
    try:
        for layout, writers in WRITERS.items():
            results += _measure_layout(spark, tables.data, folder, layout, writers, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        version = spark.version
        spark.stop()
    return {
        "when": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "load": (before, os.getloadavg()[0]),
        "versions": f"Spark {version}, Python {platform.python_version()}, pyarrow {pa.__version__}",
        "rows": rows,
        "rounds": rounds,
        "cores": cores,
        "results": results,
    }


def _measure_layout(
    spark: Any, data: list[str], folder: Path, layout: str, writers: dict[str, tuple[Writer, str | None]], rounds: int
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        name: {"layout": layout, "writer": name, "wall": [], "cpu": [], "wall_ratio": [], "cpu_ratio": []}
        for name in writers
    }
    (plain, first), *others = writers.items()

    def write(name: str, how: tuple[Writer, str | None], counts: bool) -> tuple[float, float]:
        path, (writer, format) = str(folder / "table"), how
        if format is not None:
            empty_table(path, format, layout != "not partitioned")
        skewed = f"IF(id % 10 < 9, 'most', CAST(id % 50 AS STRING)) AS {PARTITION}"
        frame = spark.read.parquet(*data).selectExpr(*COLUMNS, skewed)
        cpu, start = cpu_seconds(), time.perf_counter()
        writer(frame, path)
        cost = time.perf_counter() - start, cpu_since(cpu)
        if not counts:
            found[name]["files"] = len(list(Path(path).rglob("*.parquet")))
            rows = spark.read.parquet(path) if name == plain else tf.spark.read(spark, path)
            found[name]["sum"] = rows.selectExpr("count(*)", "sum(id)", "max(name)").collect()
            assert found[name]["sum"] == found[plain]["sum"], name
        shutil.rmtree(path)
        return cost

    for number in range(-1, rounds):
        say(f"{layout}, round {number + 1} of {rounds}")
        before = write(plain, first, number >= 0)
        for name, writer in others:
            here, after = write(name, writer, number >= 0), write(plain, first, True)
            if number >= 0:
                for kind, own, around in zip(("wall", "cpu"), here, zip(before, after, strict=True), strict=True):
                    found[name][kind].append(own)
                    found[name][f"{kind}_ratio"].append(own / statistics.mean(around))
                found[plain]["wall"].append(before[0])
                found[plain]["cpu"].append(before[1])
            before = after
    return list(found.values())


def text(measured: dict[str, Any]) -> str:
    """The tables of the page."""
    rows = []
    for result in measured["results"]:
        ratios = [result["wall_ratio"], result["cpu_ratio"]]
        cells = [f"{statistics.median(result[kind]):.1f}" for kind in ("wall", "cpu")]
        cells += [f"{statistics.median(ratio):.2f}x" if ratio else "–" for ratio in ratios]
        best = min((statistics.median(ratio) for ratio in ratios if ratio), default=None)
        met = "–" if best is None else "yes" if best <= GOAL else "no"
        rows.append([result["layout"], f"`{result['writer']}`", f"{result['files']:,}", *cells, met])
    head = ("table", "writer", "files", "s", "CPU s", "time", "CPU", f"at most {GOAL}x")
    load = " and ".join(f"{load:.1f}" for load in measured["load"])
    return "\n\n".join(
        [
            f"Measured {measured['when']}, {measured['machine']}, load {load} before and after. "
            f"{measured['versions']}.",
            f"{measured['rows']:,} rows of {len(COLUMNS) + 1} columns, {measured['cores']} threads of Spark, medians "
            f"of {measured['rounds']} rounds, codec {CODEC}. The goal is met if the time or the CPU is within it.",
            table_text.markdown(head, rows),
        ]
    )


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="a multiple of a million")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cores", type=int, default=min(os.cpu_count() or 1, 8), help="threads of Spark")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
    arguments = parser.parse_args()
    found = text(measure(arguments.rows, arguments.rounds, arguments.cores))
    print(found)
    if arguments.write:
        table_text.write(PAGE, found)


if __name__ == "__main__":
    main()
