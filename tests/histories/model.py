"""What operations mean, over plain rows: the judge of histories. It knows no format and uses nothing of the library.

A row is a mapping of columns to values. NULL is a column that is not there, so that a new column changes no row.
Conditions are lists of [column, operator, value], all of which must be TRUE; the empty list is TRUE.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .history import SIGNS, Operation

__all__ = ["PARTITION", "Rows", "applied", "is_blind", "matches", "rows_of", "sql_of"]

Row = tuple[tuple[str, Any], ...]
Rows = Counter[Row]
PARTITION = "p"
"""The column by which tables of histories are partitioned."""
_OPERATORS = dict(
    zip(SIGNS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)


def rows_of(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Rows as a multiset."""
    return Counter(tuple(sorted((k, v) for k, v in row.items() if v is not None)) for row in rows)


def matches(row: Row, where: Sequence[Sequence[Any]]) -> bool:
    """Whether a condition is TRUE for a row."""
    values = dict(row)
    return all(column in values and _OPERATORS[sign](values[column], value) for column, sign, value in where)


def sql_of(where: Sequence[Sequence[Any]]) -> str:
    """A condition as SQL."""
    return " AND ".join(f"{column} {sign} {value}" for column, sign, value in where) or "true"


def applied(op: Operation, rows: Rows) -> Rows:
    """The rows after an operation upon ``rows``."""
    new = rows_of(op.arguments["rows"]) if "rows" in op.arguments else Counter()
    if op.kind == "replace":
        return new
    if op.kind == "restore":
        if op.arguments["version"] != 0:
            raise NotImplementedError("histories go back to the version without rows alone")
        return Counter()
    if op.kind == "delete":
        return _without(rows, op.arguments["where"])
    if op.kind == "overwrite":
        where = op.arguments["where"]
        if where == "dynamic":
            gone = {dict(row).get(PARTITION) for row in new}
            return Counter({row: n for row, n in rows.items() if dict(row).get(PARTITION) not in gone}) + new
        return _without(rows, where) + new
    return rows + new


def is_blind(op: Operation) -> bool:
    """Whether what an operation does depends on no row."""
    return op.kind in ("append", "append_once", "alter", "create")


def _without(rows: Rows, where: Sequence[Sequence[Any]]) -> Rows:
    return Counter({row: n for row, n in rows.items() if not matches(row, where)})
