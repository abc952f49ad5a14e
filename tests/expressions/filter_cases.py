"""Filters of every kind over columns of every type, right ones and wrong ones, and what they are bound to.

``python -m tests.expressions.filter_cases`` writes it to ``filters.json``: {column and operator: {outcome: values}} for
tuples, and {clause: {outcome: damages}} for SQL. Read what has changed there.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tableformats.errors import TableFormatsError
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema
from tests.expressions import where_clauses
from tests.support import leaves

PINNED = Path(__file__).with_name("filters.json")
UTC = dt.timezone.utc
TYPES = {
    "i": pa.int32(),
    "l": pa.int64(),
    "tiny": pa.int8(),
    "d": pa.float64(),
    "f": pa.float32(),
    "m": pa.decimal128(5, 2),
    "s": pa.string(),
    "x": pa.binary(),
    "b": pa.bool_(),
    "day": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
    "z": pa.timestamp("us"),
    "list": pa.list_(pa.int32()),
    "inner": pa.struct([("a", pa.int32())]),
}
SCHEMA = Schema.from_arrow(pa.schema([*TYPES.items()]))
OPERATORS = ("=", "==", "!=", "<>", "<", ">=", "<=>", "in", "not in", "is", "is not", "like", "between")
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -128,
    128,
    2**31,
    2**63,
    1.5,
    float("nan"),
    float("-inf"),
    Decimal("1.50"),
    Decimal("1.005"),
    Decimal("1000"),
    "",
    "abc",
    "12",
    "a%",
    "2024-02-29",
    "2024-02-30",
    "2024-02-29 12:30:00.123456",
    "2024-02-29T12:30:00+02:00",
    b"\x00\xff",
    dt.date(2024, 2, 29),
    dt.datetime(2024, 2, 29, 12, 30),
    dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    dt.timedelta(days=1),
    (1, 2),
    [1, None],
    [],
    {3},
    ["a", "b"],
    [1.5, "x"],
    [dt.date(2024, 2, 29)],
    {"a": 1},
)


def outcome_of(given: Any, schema: Schema) -> str:
    """The bound predicate as text, or the error."""
    try:
        parsed = parse_filter(given)
        return "nothing" if parsed is None else str(bind(parsed, schema))
    except TableFormatsError as error:
        return f"{type(error).__name__}: {error}"


def of_tuples(column: str) -> dict[str, dict[str, str]]:
    """Of each operator: {outcome: the values that have it}."""
    found: dict[str, dict[str, list[str]]] = {}
    for op in OPERATORS:
        for value in VALUES:
            outcome = outcome_of([(column, op, value)], SCHEMA)
            if "Error: " in outcome:  # one for all values
                outcome = re.sub(rf"(?<![\w\[]){re.escape(repr(value))}(?![\w\]])", "VALUE", outcome)
            found.setdefault(f"{column} {op}", {}).setdefault(short(outcome), []).append(repr(value))
    return {key: {outcome: ", ".join(values) for outcome, values in one.items()} for key, one in found.items()}


def short(outcome: str) -> str:
    """The outcome; the end of a long one is a digest."""
    return outcome if len(outcome) < 100 else f"{outcome[:60]} {leaves.digest(outcome)}"


WHERE = Schema.from_arrow(where_clauses.SCHEMA)
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|<=>|<>|!=|<=|>=|\S")


def damaged(clause: str) -> Iterator[tuple[str, str]]:
    """(name, clause) for each change of one of its tokens."""
    tokens = [(m.start(), m.end(), m.group()) for m in _TOKEN.finditer(clause)]
    for n, (start, end, token) in enumerate(tokens):
        others = [("without", "")]
        if token in {f.name for f in WHERE}:
            others = [("unknown", "nowhere"), ("nested", "address"), ("flag", "is_active"), ("text", "name")]
        elif token[0] == "'":
            others = [("number", "7"), ("text", "'x'"), ("NULL", "NULL")]
        elif token[0].isdigit():
            others = [("decimal", f"{token}.5" if token.isdigit() else "1"), ("great", "99999999999999999999")]
        elif token in ("=", "<", ">", "<=", ">=", "<>", "!="):
            others = [("other", "<=>" if n % 2 else "==")]
        elif token.upper() in ("AND", "OR"):
            others = [("other", "OR" if token.upper() == "AND" else "AND")]
        name, other = others[n % len(others)]
        yield f"{n} {name}", f"{clause[:start]}{other}{clause[end:]}"


def of_clause(clause: str) -> dict[str, str]:
    """{outcome: the damages of the clause that have it}; long outcomes are a digest."""
    found: dict[str, list[str]] = {}
    for name, text in damaged(clause):
        outcome = outcome_of(text, WHERE)
        if "the filter does not parse" in outcome:
            outcome = outcome.partition(",")[0]  # the rest is sqlglot's
        found.setdefault(short(outcome), []).append(name)
    return {outcome: ", ".join(names) for outcome, names in found.items()}


def clauses() -> list[str]:
    """Short clauses whose meaning does not depend on today."""
    every = [clause for clauses in where_clauses.CLAUSES.values() for clause in clauses]
    today = ("current_", "now(", "curdate", "getdate")
    return [c for c in every if len(c) < 70 and not any(word in c.lower() for word in today)]


def main() -> None:
    tuples = {key: one for column in (*TYPES, "nowhere") for key, one in of_tuples(column).items()}
    leaves.write(PINNED, {"tuples": tuples, "clauses": {clause: of_clause(clause) for clause in clauses()}})


if __name__ == "__main__":
    main()
