"""Rows with Arrow beside the peers, over the same data files: ``python -m benchmarks.rows --write`` in ``asv_bench``.

A ratio is our time over theirs: below 1 we are faster. All are run in turns in one process, warm, and the median of
the rounds' ratios counts. The rows that each returns are counted, and another number fails the run. Tables with deleted
rows are compared with the clean table, in rounds of their own. Times are seconds of the clock, with seconds of the
processor behind them, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from . import QUICK
from .spark_tables import ROWS_A_FILE, RowTables, equality_deletes, row_tables
from .table_text import markdown, write

PAGE = "rows.md"
FILES = 1 if QUICK else 10
ROUNDS = 2 if QUICK else 15
"""One round differs from the next by more than some readers do."""


@dataclass(frozen=True)
class Question:
    """A query in SQL, and for readers of Arrow's datasets."""

    name: str
    columns: tuple[str, ...] | None = None
    sql: str | None = None
    arrow: ds.Expression | None = None


def _spread(share: float) -> Question:
    """A share of the rows, in no order."""
    least = 10_000 - share * 100
    return Question(f"{share:g} % here and there", None, f"amount > {least:g}", ds.field("amount") > least)


def _together(share: float, rows: int) -> Question:
    """A share of the rows that follow each other, from the middle of the first file on."""
    first, count = ROWS_A_FILE // 2, int(rows * share / 100)
    arrow = (ds.field("id") >= first) & (ds.field("id") < first + count)
    return Question(f"{share:g} % together", None, f"id >= {first} AND id < {first + count}", arrow)


def questions(rows: int) -> list[Question]:
    """What is asked of a table of so many rows."""
    shares = (50.0, 10.0, 1.0, 0.1)
    return [
        Question("all columns"),
        Question("two columns", ("id", "amount")),
        *map(_spread, shares),
        *(_together(share, rows) for share in shares),
        Question("one row", None, "id = 500000", ds.field("id") == 500_000),
    ]


class CleanTables(Protocol):
    """Tables of the same rows by their format, and their data files."""

    @property
    def clean(self) -> dict[str, str]: ...

    @property
    def data(self) -> list[str]: ...


NAMES = [question.name for question in questions(ROWS_A_FILE)]
READERS = (
    *("ours, Delta", "ours, Iceberg", "pyarrow.dataset", "deltalake", "pyiceberg", "duckdb"),
    *("polars", "polars over ours, Delta", "polars over ours, Iceberg"),
)
DELETED = ("ours, Delta, 1 % by vectors", "ours, Iceberg, 1 % by positions", "ours, Iceberg, 1 % by keys")


def clean_of(name: str) -> str:
    """The reader of the clean table for one of :data:`DELETED`."""
    return name.rpartition(", ")[0]


def reader(name: str, tables: CleanTables) -> Callable[[Question], int] | None:
    """A function that runs a question and returns the number of rows; None where the reader is not installed."""
    if name.startswith("ours"):
        import tableformats as tf

        kind = "delta" if "Delta" in name else "iceberg"
        path = _with_deletes(name, kind, tables) if "%" in name else tables.clean[kind]
        table = tf.open_table(path)
        return lambda q: table.scan(q.sql, columns=q.columns).to_arrow().num_rows
    if name == "pyarrow.dataset":
        return lambda q: _of_dataset(ds.dataset(tables.data), q)
    if importlib.util.find_spec(name.partition(" ")[0]) is None:
        return None
    if "over ours" in name:
        return _polars_over_ours(tables.clean["delta" if "Delta" in name else "iceberg"])
    return {"duckdb": _duckdb, "polars": _polars, "deltalake": _deltalake, "pyiceberg": _pyiceberg}[name](tables)


def _with_deletes(name: str, kind: str, tables: CleanTables) -> str:
    assert isinstance(tables, RowTables)
    return equality_deletes(tables) if "keys" in name else tables.deleted[kind]


def _deltalake(tables: CleanTables) -> Callable[[Question], int]:
    import deltalake

    engine = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(tables.clean["delta"]))

    def run(question: Question) -> int:
        where = "" if question.sql is None else f" WHERE {question.sql}"
        return int(engine.execute(f"SELECT {', '.join(question.columns or ('*',))} FROM t{where}").read_all().num_rows)

    return run


def _pyiceberg(tables: CleanTables) -> Callable[[Question], int]:
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(f"{tables.clean['iceberg']}/metadata/v1.metadata.json")

    def run(question: Question) -> int:
        columns = question.columns or ("*",)
        asked = {} if question.sql is None else {"row_filter": question.sql}
        return int(table.scan(selected_fields=columns, **asked).to_arrow().num_rows)

    return run


def _of_dataset(dataset: ds.Dataset, question: Question) -> int:
    columns = None if question.columns is None else list(question.columns)
    return int(dataset.to_table(columns=columns, filter=question.arrow).num_rows)


def _duckdb(tables: CleanTables) -> Callable[[Question], int]:
    import duckdb

    def run(question: Question) -> int:
        found = duckdb.read_parquet(tables.data)
        if question.sql is not None:
            found = found.filter(question.sql)
        if question.columns is not None:
            found = found.project(", ".join(question.columns))
        return int(found.to_arrow_table().num_rows)

    return run


def _polars(tables: CleanTables) -> Callable[[Question], int]:
    import polars as pl

    return lambda question: _of_frame(pl.scan_parquet(tables.data), question)


def _polars_over_ours(path: str) -> Callable[[Question], int]:
    import tableformats as tf

    table = tf.open_table(path)
    return lambda question: _of_frame(table.scan().to_polars(lazy=True), question)


def _of_frame(frame: Any, question: Question) -> int:
    import polars as pl

    if question.sql is not None:
        frame = frame.filter(pl.sql_expr(question.sql))
    if question.columns is not None:
        frame = frame.select(question.columns)
    return int(frame.collect().height)


@dataclass
class Measurement:
    """Seconds of the clock and of the processor, of each round."""

    clocks: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)
    rows: int = -1

    @property
    def clock(self) -> float:
        """Of the fastest round."""
        return min(self.clocks)

    @property
    def processor(self) -> float:
        """Of the fastest round."""
        return min(self.processors)

    def over(self, base: Measurement) -> tuple[float, float]:
        """Both over those of another reader: medians of all rounds, as the machine is not as fast in each round."""
        pairs = zip(self.clocks, base.clocks, strict=True), zip(self.processors, base.processors, strict=True)
        clock, processor = (median(own / other for own, other in pair) for pair in pairs)
        return clock, processor

    def add(self, run: Callable[[Question], int], question: Question) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        self.rows = run(question)
        self.clocks.append(time.perf_counter() - clock)
        self.processors.append(time.process_time() - processor)


def measure(
    tables: CleanTables, question: Question, names: Sequence[str], rounds: int = ROUNDS
) -> dict[str, Measurement]:
    """All readers in turns, in another order in each round: what one leaves behind changes the time of the next.

    Raises ValueError where readers of the same rows return different numbers of them.
    """
    runs = {name: run for name in names if (run := reader(name, tables)) is not None}
    found = {name: Measurement() for name in runs}
    for number in range(rounds):
        for name in random.Random(number).sample(list(runs), len(runs)):
            found[name].add(runs[name], question)
    for group in (DELETED, READERS):
        counted = {name: m.rows for name, m in found.items() if name in group}
        if len(set(counted.values())) > 1:
            raise ValueError(f"{question.name}: readers return different numbers of rows: {counted}")
    return found


class _OfRows:
    """A question to the tables of rows, and one of their readers."""

    param_names = ["question", "reader"]
    timeout = 600

    def setup(self, question: str, reader: str) -> None:
        self.tables = row_tables(FILES * ROWS_A_FILE)
        self.question = questions(self.tables.rows)[NAMES.index(question)]


class RowsBesideDataset(_OfRows):
    """Decoding Parquet dominates; our time over that of ``pyarrow.dataset`` over the same files."""

    params = [NAMES[::5] if QUICK else NAMES, [*READERS[:2], *DELETED]]

    def track_ratio_vs_dataset(self, question: str, reader: str) -> float:
        found = measure(self.tables, self.question, [reader, "pyarrow.dataset"])
        return found[reader].over(found["pyarrow.dataset"])[0]

    def track_processor_ratio_vs_dataset(self, question: str, reader: str) -> float:
        found = measure(self.tables, self.question, [reader, "pyarrow.dataset"])
        return found[reader].over(found["pyarrow.dataset"])[1]


class DeletedBesideClean(_OfRows):
    """1 % of the rows are deleted; our time over that of the clean table."""

    params = [NAMES[:2], list(DELETED)]  # what a filter costs hides what deletes cost

    def track_processor_ratio_vs_clean(self, question: str, reader: str) -> float:
        found = measure(self.tables, self.question, [reader, clean_of(reader)])
        return found[reader].over(found[clean_of(reader)])[1]


class RowsInMemory:
    """The peak of a stream whose batches are dropped, over the size of the table: it must not grow with it."""

    params = [[1] if QUICK else [1, 10, 20]]
    param_names = ["files"]
    timeout = 600

    def setup(self, files: int) -> None:
        self.path = row_tables(files * ROWS_A_FILE).clean["delta"]

    def peakmem_stream(self, files: int) -> None:
        import tableformats as tf

        for batch in tf.open_table(self.path).scan().to_arrow_batch_reader(memory_bytes=64 << 20):
            assert batch.num_rows


def figures(question: str, found: dict[str, Measurement], names: Sequence[str]) -> list[list[str]]:
    """A row for each reader: seconds of the clock and of the processor, and both as ratios."""
    base, rows = found["pyarrow.dataset"], []
    for name in (name for name in names if name in found):
        m = found[name]
        ratios = [f"{ratio:.2f}x" for ratio in m.over(base)]
        rows.append([question, name, f"{m.rows:,}", f"{m.clock:.3f}", f"{m.processor:.3f}", *ratios])
    return rows


def beside_clean(question: str, found: dict[str, Measurement]) -> list[list[str]]:
    """A row for each kind of deletes: both times over those of the clean table."""
    rows = []
    for name in DELETED:
        m, ratios = found[name], found[name].over(found[clean_of(name)])
        rows.append([question, name, f"{m.clock:.3f}", f"{m.processor:.3f}", *(f"{ratio:.2f}x" for ratio in ratios)])
    return rows


def figures_of_machine(files: int) -> str:
    """When and where was measured."""
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    return (
        f"Measured {time.strftime('%Y-%m-%d')}: {files * ROWS_A_FILE:,} rows of five columns in {files} files, "
        f"{os.cpu_count()} processors, load {load}, pyarrow {pa.__version__}, {ROUNDS} rounds."
    )


Results = dict[str, dict[str, Measurement]]
"""By question and reader."""


def text(results: Results, deleted: Results, machine: str) -> str:
    """The page's tables."""
    names = [name for name in READERS if all(name in found for found in results.values())]
    rows = [row for question, found in results.items() for row in figures(question, found, names)]
    head = ["query", "reader", "rows", "clock s", "processor s", "clock / dataset", "processor / dataset"]
    rows_of_deleted = [row for question, found in deleted.items() for row in beside_clean(question, found)]
    head_of_deleted = [
        "query",
        "1 % deleted",
        "clock s",
        "processor s",
        "clock / clean table",
        "processor / clean table",
    ]
    return f"{machine}\n\n{markdown(head, rows)}\n\n{markdown(head_of_deleted, rows_of_deleted)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--files", type=int, default=FILES)
    parsed = parser.parse_args(arguments)
    tables, ours = row_tables(parsed.files * ROWS_A_FILE), (*READERS[:2], *DELETED)
    asked = questions(tables.rows)
    results = {question.name: measure(tables, question, READERS) for question in asked}
    deleted = {question.name: measure(tables, question, ours) for question in asked[:2]}
    page = text(results, deleted, figures_of_machine(parsed.files))
    print(page)
    if parsed.write:
        write(PAGE, page)


if __name__ == "__main__":
    main()
