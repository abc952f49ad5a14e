"""Rows of tables of other shapes, and the memory of streams: ``python -m benchmarks.row_shapes --write``.

Many small files, one large file, nested columns, long texts, partitions: each as a Delta table that we write, beside
the peers over its data files, as :mod:`benchmarks.rows` measures. The memory of a stream whose batches are dropped is
measured in a process of its own, for tables of several sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import tableformats as tf

from . import QUICK
from .memory import peak_mib
from .processes import run_module
from .rows import Question, figures, measure
from .spark_tables import ROWS_A_FILE, kept_table, row_tables, some_events
from .table_text import markdown, write

PAGE = "row_shapes.md"
READERS = ("ours, Delta", "pyarrow.dataset", "duckdb", "polars")
ROUNDS, MORE_ROUNDS = (1, 1) if QUICK else (3, 9)
"""More for tables of a few million rows."""


@dataclass(frozen=True)
class Shape:
    """A table.

    Attributes
    ----------
    name : str
    files : int
    rows : int
        Of each file.
    of : callable
        The rows of a file; takes their number, and the number of the file.
    partitioned_by : tuple of str
    """

    name: str
    files: int
    rows: int
    of: Callable[[int, int], pa.Table]
    partitioned_by: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """How often each question is asked."""
        return MORE_ROUNDS if self.files * self.rows < 10_000_000 else ROUNDS

    def questions(self) -> list[Question]:
        """All rows, of all columns and of two, and a hundredth of them: here and there, and together."""
        count = self.files * self.rows // 100
        here = ds.field("amount") > 9_900
        return [
            Question("all columns"),
            Question("two columns", ("id", "amount")),
            Question("1 % here and there", None, "amount > 9900", here),
            Question("1 % together", None, f"id < {count}", ds.field("id") < count),
        ]


@dataclass(frozen=True)
class ShapeTable:
    """A table of a shape, as :func:`benchmarks.rows.measure` takes it."""

    path: str

    @property
    def clean(self) -> dict[str, str]:
        return {"delta": self.path}

    @property
    def data(self) -> list[str]:
        return sorted(str(path) for path in Path(self.path).rglob("*.parquet") if "_delta_log" not in path.parts)


def _nested(count: int, number: int) -> pa.Table:
    events = some_events(count, number)
    amount = events["amount"].combine_chunks()
    ends = pa.array(np.arange(count + 1, dtype=np.int32) * 2)
    struct = pa.StructArray.from_arrays([amount, events["name"].combine_chunks()], names=["x", "name"])
    values = pa.array(np.repeat(amount.to_numpy(), 2))
    columns = {"id": events["id"], "amount": amount, "struct": struct, "list": pa.ListArray.from_arrays(ends, values)}
    return pa.table(columns)


def _texts(count: int, number: int) -> pa.Table:
    events = some_events(count, number)
    names = events["name"].to_numpy(zero_copy_only=False).astype("U10")
    long = [np.char.add(np.char.multiply(names, 8), f" {suffix}") for suffix in ("a", "b")]
    return pa.table({"id": events["id"], "amount": events["amount"], "text": long[0], "more": long[1]})


def _days(count: int, number: int) -> pa.Table:
    return some_events(count, number).append_column("day", pa.repeat(pa.scalar(f"day {number:03}"), count))


SHAPES = (
    Shape("1,000 files of 1 MB", 20 if QUICK else 1_000, 45_000, some_events),
    Shape("one file of 2 GB", 1, 1_000_000 if QUICK else 120_000_000, some_events),
    Shape("nested columns", 1 if QUICK else 4, 1_000_000, _nested),
    Shape("long texts", 1 if QUICK else 4, 500_000, _texts),
    Shape("100 partitions", 10 if QUICK else 100, 50_000, _days, ("day",)),
)


def shape_table(shape: Shape) -> ShapeTable:
    """The table, from the cache or written now."""
    key = f"shape-{shape.files}-{shape.rows}-{''.join(c for c in shape.name if c.isalnum())}"
    return ShapeTable(str(kept_table(key, lambda making, _: _write(shape, making))))


def _write(shape: Shape, making: Path) -> None:
    schema = shape.of(1, 0).schema
    properties = {"delta.targetFileSize": "8gb", "delta.checkpointInterval": "100"}
    table = tf.create_table(
        making, schema, format="delta", partition_by=list(shape.partitioned_by), properties=properties
    )
    for number in range(shape.files):
        table.append(pa.RecordBatchReader.from_batches(schema, _batches(shape, number)))


def _batches(shape: Shape, number: int) -> Iterator[pa.RecordBatch]:
    """The rows of a file in pieces, because those of a large one take much memory."""
    pieces = max(shape.rows // ROWS_A_FILE, 1)
    for piece in range(pieces):
        yield from shape.of(shape.rows // pieces, number * pieces + piece).to_batches()


def memory_rows() -> list[list[str]]:
    """The peak of streams, in MiB above what a process has before it reads."""
    sizes = [1] if QUICK else [1, 5, 10, 20]
    paths = {f"{files} files of 22 MB": row_tables(files * ROWS_A_FILE).clean["delta"] for files in sizes}
    paths["one file of 2 GB"] = shape_table(SHAPES[1]).path
    rows = []
    for name, path in paths.items():
        for limit in (64, 512):
            found = json.loads(run_module("benchmarks.row_shapes", "--stream", path, "--memory", str(limit)))
            rows.append([name, f"{limit} MiB", f"{found['rows']:,}", f"{found['peak']:.0f} MiB"])
    return rows


def stream(path: str, memory: int) -> dict[str, float]:
    """Read a table, and drop its batches."""
    scan = tf.open_table(path).scan()
    before, rows = peak_mib(), 0
    for batch in scan.to_arrow_batch_reader(memory_bytes=memory << 20):
        rows += batch.num_rows
    return {"rows": rows, "peak": peak_mib() - before}


def text(results: dict[str, dict[str, list[list[str]]]], memory: list[list[str]]) -> str:
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    when = f"Measured {time.strftime('%Y-%m-%d')}: {os.cpu_count()} processors, load {load}, pyarrow {pa.__version__}."
    head = ["query", "reader", "rows", "clock s", "processor s", "clock / dataset", "processor / dataset"]
    parts = [when]
    for name, found in results.items():
        parts += [f"### {name}", markdown(head, [row for rows in found.values() for row in rows])]
    parts += ["### Memory of a stream", "The peak of a process above what it had before the first batch."]
    parts.append(markdown(["table", "memory_bytes", "rows", "peak"], memory))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
    parser.add_argument("--stream", metavar="PATH", help="print the memory of a stream of the table")
    parser.add_argument("--memory", type=int, metavar="MIB", default=512)
    parsed = parser.parse_args(arguments)
    if parsed.stream:
        json.dump(stream(parsed.stream, parsed.memory), sys.stdout)
        return
    results = {}
    for shape in SHAPES:
        table = shape_table(shape)
        found = {q.name: measure(table, q, READERS, shape.rounds) for q in shape.questions()}
        results[shape.name] = {name: figures(name, measured, READERS) for name, measured in found.items()}
        print(shape.name, flush=True)
    page = text(results, memory_rows())
    print(page)
    if parsed.write:
        write(PAGE, page)


if __name__ == "__main__":
    main()
