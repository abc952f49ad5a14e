"""What is made of the WHERE clauses of ``tests/expressions/where_clauses.py``, and of conditions on functions.

For each clause: the bound predicate as text, what pruning cannot use, and the verdicts for files with one row each, for
files with neighbouring rows, and for files of which the partition values alone are known.
``python -m tests.pruning.verdict_cases`` writes them to ``verdicts.json``: read what has changed there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import Expression
from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.planning.residuals import residual
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.column_ranges import ranges_of
from tableformats.pruning.compiled_predicate import CompiledPredicate
from tableformats.schema import Schema
from tableformats.schema.transform_values import transformed
from tableformats.schema.transforms import parse_transform
from tests.expressions import where_clauses
from tests.support import function_cases

PINNED = Path(__file__).with_name("verdicts.json")
TRANSFORMS = {
    "status": "identity",
    "name": "truncate[3]",
    "customer_id": "bucket[4]",
    "order_date": "month",
    "created_at": "day",
    "updated_at": "hour",
    "local_time": "year",
    "order_id": "truncate[100]",
    "l_quantity": "truncate[500]",
    "currency": "bucket[16]",
    "total": "identity",
    "country": "identity",
    "event_date": "year",
    "is_active": "identity",
    "l_shipdate": "day",
}
SORTED = ("i", "l", "d", "m", "w", "s", "day", "t", "z")
LETTERS = np.array([*"NSA"])
"""The verdicts NONE, SOME, ALL."""


class Files:
    """Files of neighbouring rows of a table, given as (first row, number of rows)."""

    def __init__(self, rows: pa.Table, pieces: Sequence[tuple[int, int]], transforms: dict[str, str]) -> None:
        self.pieces = pieces
        self.rows = rows
        self.schema = Schema.from_arrow(rows.schema)
        self.counts = pa.array([count for _, count in pieces], pa.int64())
        self.bounds = Bounds()
        columns = {f.name: rows[f.name].to_pylist() for f in self.schema if not f.type.is_nested}
        for field in self.schema:
            if field.name in columns:
                self._add(field, rows.schema.field(field.name).type, columns[field.name])
        fields = []
        values, by_name = {}, {f.name: f for f in self.schema}
        for name, text in transforms.items():
            field, transform = by_name[name], parse_transform(text)
            fields.append(
                PartitionField(1000 + len(fields), name, field.id, transform, transform.result_type(field.type))
            )
            first = pa.array([columns[name][start] for start, _ in pieces], rows.schema.field(name).type)
            values[str(fields[-1].id)] = transformed(transform, first, field.type)
        self.spec = PartitionSpec(1, tuple(fields))
        self.partition = pa.StructArray.from_arrays([*values.values()], [*values]) if values else _nothing(len(pieces))

    def _add(self, field: Any, kind: pa.DataType, column: list[Any]) -> None:
        parts = [column[start : start + count] for start, count in self.pieces]
        known = [[v for v in part if v is not None and v == v] for part in parts]
        self.bounds.lower[field.id] = pa.array([min(part, default=None) for part in known], kind)
        self.bounds.upper[field.id] = pa.array([max(part, default=None) for part in known], kind)
        counts = {
            "null_count": [part.count(None) for part in parts],
            "nan_count": [sum(v != v for v in part) for part in parts],
            "value_count": [len(part) for part in parts],
        }
        for name, numbers in counts.items():
            getattr(self.bounds, name)[field.id] = pa.array(numbers, pa.int64())

    def by_bounds(self, predicate: Expression) -> str:
        """A letter for each file: its verdict by the bounds of its columns."""
        found = CompiledPredicate(predicate).verdicts(
            PartitionSpec(0, ()), _nothing(len(self.pieces)), self.bounds, self.counts
        )
        return "".join(LETTERS[found])

    def by_partition(self, predicate: Expression) -> tuple[str, list[str], list[str]]:
        """A letter for each file: its verdict by partition values; the residuals; the columns that may decide more."""
        program = CompiledPredicate(predicate)
        decision = program.decide(program.range_sources(self.spec, self.partition))
        outcomes = program.partition_outcomes(self.spec, self.partition)
        distinct = set(zip(*(masks.tolist() for masks in outcomes.values()), strict=True))
        residuals = {str(residual(predicate, dict(zip(outcomes, masks, strict=True)))) for masks in distinct}
        names = {f.id: f.name for f in program.columns}
        undecided = [f"{names[i]} {int(np.count_nonzero(rows))}" for i, rows in decision.undecided_columns.items()]
        return "".join(LETTERS[decision.verdicts]), sorted(residuals), undecided

    def by_nan_alone(self, predicate: Expression) -> int:
        """How many files only a NaN that nobody counted can match."""
        bounds = Bounds(self.bounds.lower, self.bounds.upper, self.bounds.null_count, {}, self.bounds.value_count)
        program = CompiledPredicate(predicate, nan_is_absent=True)
        sources = program.range_sources(PartitionSpec(0, ()), _nothing(len(self.pieces)))
        ranges = ranges_of(bounds, self.counts, program.columns)
        found = program.matches_by_nan_alone(sources, ranges, program.verdicts_of(sources, ranges))
        return 0 if found is None else int(np.count_nonzero(found))


def _nothing(n: int) -> pa.StructArray:
    return pa.array([{}] * n, pa.struct([]))


def summary(letters: str) -> str:
    """How many files have each verdict, and a digest of which ones."""
    counts = " ".join(f"{letter}{letters.count(letter)}" for letter in LETTERS if letter in letters)
    return f"{counts} {hashlib.sha256(letters.encode()).hexdigest()[:8]}"


def where_files() -> Files:
    """A file for each row, and files of four neighbours."""
    n = where_clauses.ROWS
    pieces = [(i, 1) for i in range(n)] + [(i, 4) for i in range(0, n, 4)]
    return Files(where_clauses.rows(), pieces, TRANSFORMS)


def clauses() -> list[str]:
    """The clauses whose answers do not depend on today."""
    every = [clause for clauses in where_clauses.CLAUSES.values() for clause in clauses]
    return [c for c in every if not any(word in c.lower() for word in ("current_", "now(", "curdate", "getdate"))]


def of_clause(files: Files, text: str) -> dict[str, Any]:
    predicate = bound(files, text)
    program = CompiledPredicate(predicate)
    letters, residuals, undecided = files.by_partition(predicate)
    found = {
        "predicate": str(predicate),
        "bounds": summary(files.by_bounds(predicate)),
        "negated": summary(files.by_bounds(ex.Not(predicate))),
        "partition": summary(letters),
        "residuals": f"{len(residuals)} {hashlib.sha256(repr(residuals).encode()).hexdigest()[:8]}",
        "undecided": ", ".join(undecided),
    }
    if program.notes:
        found["notes"] = program.notes
    if nans := files.by_nan_alone(predicate):
        found["NaN alone"] = nans
    return found


def function_files() -> Files:
    """A file for each row, and for each two and three neighbours; then neighbours in the order of each column."""
    rows = function_cases.table()
    n = rows.num_rows
    pieces = [(start, count) for count in (1, 2, 3) for start in range(n - count + 1)]
    in_order = [rows.take(pc.sort_indices(rows[name])) for name in SORTED]
    pieces += [(n * copy + start, 2) for copy in range(1, len(SORTED) + 1) for start in range(n - 1)]
    return Files(pa.concat_tables([rows, *in_order]).combine_chunks(), pieces, {})


def conditions(text: str, entry: dict[str, Any], mode: str) -> Iterator[tuple[str, Any]]:
    """Conditions on an expression, by a value of it that Spark gave, and that value as Spark's text (None: IS NULL)."""
    if entry[mode] is False or (mode == "legacy" and entry["legacy"] == entry["ansi"]):
        return
    yield f"({text}) IS NULL", None
    values = [v for v in entry[mode] if v is not None and v is not False]
    value = values[len(values) // 2] if values else ""
    literal = _literal(value, entry[f"{mode}_type"]) if values else None
    if literal is not None:
        yield f"({text}) = {literal}", value
        yield f"({text}) <= {literal}", ...


def _literal(text: str, kind: str) -> str | None:
    if kind in ("int", "bigint", "smallint", "tinyint"):
        return text
    if kind.startswith("decimal"):
        return f"{Decimal(text):f}"
    if kind in ("double", "float"):
        return None if text in ("NaN", "Infinity", "-Infinity") else f"CAST('{text}' AS DOUBLE)"
    if kind == "boolean":
        return text.upper()
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return f"{kind.upper()} '{text}'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" if kind == "string" else None


def of_function(files: Files, text: str, entry: dict[str, Any]) -> dict[str, str]:
    """{mode and condition as it is bound: verdicts}."""
    found = {}
    for mode in ("ansi", "legacy"):
        for condition, _ in conditions(text, entry, mode):
            try:
                predicate = bound(files, condition, mode)
                letters = files.by_bounds(predicate)
                found[f"{mode}: {predicate}"] = f"{letters[:33]} {summary(letters[33:])}"
            except (InvalidPredicateError, UnsupportedFeatureError) as error:
                found[f"{mode}: {condition}"] = str(error)
    return found


def bound(files: Files, text: str, mode: str = "ansi") -> Expression:
    parsed = parse_filter(text, mode == "ansi")
    assert parsed is not None
    return bind(parsed, files.schema, ansi=mode == "ansi")


def answers() -> dict[str, Any]:
    return json.loads(function_cases.ANSWERS.read_text("utf-8"))  # type: ignore[no-any-return]


def main() -> None:
    files, small = where_files(), function_files()
    found = {text: of_clause(files, text) for text in clauses()}
    found.update({f"function: {text}": of_function(small, text, entry) for text, entry in answers().items()})
    lines = [f"{json.dumps(text)}: {json.dumps(one, ensure_ascii=False)}" for text, one in found.items()]
    PINNED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
