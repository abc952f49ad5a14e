"""Whoever plans: this library and its peers, each asked the same question its own way.

A planner is opened on nothing: each call opens the table and plans from the files, as a new user would. It returns how
many files it keeps, or None where the peer does not say.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import importlib
import importlib.metadata
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .generate import Table
from .generate.specs import Predicate, Term

DUCKDB_EXTENSIONS = ("avro", "delta", "iceberg")

Call = Callable[[], "int | None"]


@dataclass(frozen=True)
class Planner:
    """``prepare(table, predicate)`` imports what is needed and returns the call that is measured."""

    name: str
    prepare: Callable[[Table, str], Call]
    needs: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("delta", "iceberg")

    def missing(self, format: str) -> str | None:
        """Why it cannot plan tables of this format here; None if it can."""
        if format not in self.formats:
            return f"{self.name} reads no {format}"
        for distribution in self.needs:
            if version(distribution) is None:
                return f"{distribution} is not installed"
        return None


def version(distribution: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(distribution)
    return None


OPERATORS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

# -- predicates, as each planner wants them


def sql(predicate: Predicate) -> str | None:
    """Text that this library, deltalake and DuckDB understand; None for no predicate."""
    if not predicate:
        return None
    groups = [" AND ".join(_sql_term(term) for term in terms) for terms in predicate]
    return groups[0] if len(groups) == 1 else " OR ".join(f"({group})" for group in groups)


def _sql_term(term: Term) -> str:
    if term.op == "is null":
        return f"{term.column} IS NULL"
    if term.op == "in":
        return f"{term.column} IN ({', '.join(map(_sql_literal, term.value))})"
    return f"{term.column} {term.op} {_sql_literal(term.value)}"


def _sql_literal(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}+00:00'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def polars_expression(predicate: Predicate) -> Any:
    import polars as pl

    def of(term: Term) -> Any:
        column = pl.col(term.column)
        if term.op == "is null":
            return column.is_null()
        return column.is_in(list(term.value)) if term.op == "in" else OPERATORS[term.op](column, term.value)

    conjunctions = [functools.reduce(operator.and_, map(of, terms)) for terms in predicate]
    return functools.reduce(operator.or_, conjunctions)


def pyiceberg_expression(predicate: Predicate) -> Any:
    from pyiceberg import expressions as e

    operators = {
        "=": e.EqualTo,
        "<": e.LessThan,
        "<=": e.LessThanOrEqual,
        ">": e.GreaterThan,
        ">=": e.GreaterThanOrEqual,
    }

    def of(term: Term) -> Any:
        if term.op == "is null":
            return e.IsNull(term.column)
        if term.op == "in":
            return e.In(term.column, set(term.value))
        value = term.value.isoformat() if isinstance(term.value, dt.date) else term.value
        return operators[term.op](term.column, value)

    def together(kind: Any, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else kind(*parts)

    if not predicate:
        return e.AlwaysTrue()
    return together(e.Or, [together(e.And, [of(term) for term in terms]) for terms in predicate])


# -- planners


def _tableformats(table: Table, name: str) -> Call:
    import tableformats as tf

    text = sql(table.predicate(name))
    # The paths are handed over, as deltalake does.
    return lambda: len(tf.open_table(table.entry).scan(text).plan().file_uris())


def _deltalake(table: Table, name: str) -> Call:
    from deltalake import DeltaTable

    text = sql(table.predicate(name))
    return lambda: len(DeltaTable(table.entry).file_uris(file_pruning_predicate=text))


def _polars(table: Table, name: str) -> Call:
    import polars as pl

    predicate = table.predicate(name)
    scan: Callable[[str], Any] = pl.scan_delta if table.spec.format == "delta" else pl.scan_iceberg

    def plan() -> int | None:
        frame = scan(table.entry)
        if predicate:
            frame = frame.filter(polars_expression(predicate))
        return _files_in_polars_plan(frame.explain())

    return plan


def _files_in_polars_plan(text: str) -> int | None:
    """Polars resolves the files before it explains; the text names the first ones and counts the others."""
    scans = re.findall(r"Parquet SCAN \[(.*)\]", text)
    if not scans:  # left to PyIceberg when the query runs
        return None
    named = [name for scan in scans for name in scan.split(", ") if name]
    others = [re.fullmatch(r"\.\.\. (\d+) other sources?", name) for name in named]
    return sum(1 if other is None else int(other[1]) for other in others)


def _duckdb(table: Table, name: str) -> Call:
    import duckdb

    connection = duckdb.connect()
    for extension in DUCKDB_EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{extension}")
        (path,) = Path(package.__path__[0]).rglob(f"{extension}.duckdb_extension")
        connection.sql(f"LOAD '{path}'")
    connection.sql("SET TimeZone = 'UTC'")
    delta = table.spec.format == "delta"
    text = sql(table.predicate(name))
    if text is None:
        source = f"delta_list_files('{table.entry}')" if delta else f"iceberg_metadata('{table.entry}')"
        kept = "" if delta else " WHERE content = 'EXISTING' AND status <> 'DELETED'"
        query = f"SELECT count(*) FROM {source}{kept}"
        return lambda: int(connection.sql(query).fetchall()[0][0])
    source = f"delta_scan('{table.entry}')" if delta else f"iceberg_scan('{table.entry}')"
    query = f"EXPLAIN SELECT * FROM {source} WHERE {text}"

    def plan() -> int | None:
        found = re.search(r"Scanning Files: (\d+)/\d+", connection.sql(query).fetchall()[0][1])
        return int(found[1]) if found else None

    return plan


def _pyiceberg(table: Table, name: str) -> Call:
    from pyiceberg.table import StaticTable

    expression = pyiceberg_expression(table.predicate(name))
    return lambda: len(list(StaticTable.from_metadata(table.entry).scan(row_filter=expression).plan_files()))


OURS = Planner("tableformats", _tableformats)
PEERS = (
    Planner("deltalake", _deltalake, ("deltalake",), ("delta",)),
    Planner("polars", _polars, ("polars", "deltalake", "polars-iceberg", "pyiceberg")),
    Planner("duckdb", _duckdb, ("duckdb", *(f"duckdb-extension-{e}" for e in DUCKDB_EXTENSIONS))),
    Planner("pyiceberg", _pyiceberg, ("pyiceberg",), ("iceberg",)),
)


def planners() -> Iterator[Planner]:
    yield OURS
    yield from PEERS
