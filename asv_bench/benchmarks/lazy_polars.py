"""Lazy frames of our tables beside polars' own over the same data files: ``python -m benchmarks.lazy_polars --write``.

Readers and questions are those of :mod:`benchmarks.rows`, in turns in one process. A ratio is
our time over polars' own, the median of all rounds. ``--write`` puts the table into docs/measured/lazy_polars.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .rows import Measurement, Question, figures_of_machine, measure, questions
from .spark_tables import ROWS_A_FILE, row_tables
from .table_text import markdown, write

PAGE = "lazy_polars.md"
READERS = ("polars", "polars over ours, Delta", "polars over ours, Iceberg")
ASKED = ("all columns", "two columns", "10 % here and there", "1 % here and there", "1 % together", "one row")
"""The goal is 1.1 times polars' own time for these, by the clock and by processor time."""


def asked(rows: int) -> list[Question]:
    """What is asked of a table of so many rows."""
    return [question for question in questions(rows) if question.name in ASKED]


def text(results: dict[str, dict[str, Measurement]], files: int) -> str:
    """The page's table."""
    rows = []
    for question, found in results.items():
        base = found[READERS[0]]
        for name in READERS:
            m = found[name]
            ratios = [f"{ratio:.2f}x" for ratio in m.over(base)]
            rows.append([question, name, f"{m.rows:,}", f"{m.clock:.3f}", f"{m.processor:.3f}", *ratios])
    head = ["query", "reader", "rows", "clock s", "processor s", "clock / polars", "processor / polars"]
    return f"{figures_of_machine(files)}\n\n{markdown(head, rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--files", type=int, default=10)
    parsed = parser.parse_args(arguments)
    tables = row_tables(parsed.files * ROWS_A_FILE)
    results = {question.name: measure(tables, question, READERS) for question in asked(tables.rows)}
    page = text(results, parsed.files)
    print(page)
    if parsed.write:
        write(PAGE, page)


class LazyPolarsBesidePolars:
    """Both decode the same files with polars; our time over that of ``polars.scan_parquet``."""

    params = [list(ASKED), list(READERS[1:])]
    param_names = ["question", "reader"]
    timeout = 600

    def setup(self, question: str, reader: str) -> None:
        self.tables = row_tables(ROWS_A_FILE)
        self.question = next(q for q in asked(self.tables.rows) if q.name == question)

    def track_ratio_vs_polars(self, question: str, reader: str) -> float:
        found = measure(self.tables, self.question, [READERS[0], reader])
        return found[reader].over(found[READERS[0]])[0]

    def track_processor_ratio_vs_polars(self, question: str, reader: str) -> float:
        found = measure(self.tables, self.question, [READERS[0], reader])
        return found[reader].over(found[READERS[0]])[1]


if __name__ == "__main__":
    main()
