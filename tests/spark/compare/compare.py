"""Our answers beside Spark's: rows by value, counts, files kept, and files of which we say that all rows match."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

import tableformats as tf
from tableformats.errors import TableFormatsError

from .generator import Generator, Predicate
from .oracle import Answer, Oracle
from .tables import Case

LONGS = "Spark makes a comparison of an integer with a constant beyond BIGINT TRUE or FALSE for NULL, too"
DOUBLES = "Spark rounds exact numbers to doubles, and tells apart those up to 2**53 alone"
_LONG = re.compile(r"(?<![\w.'])(\d{19,})(?![\w.'])")
_DOUBLES = re.compile(r"\b[xf]\b|\d[eE]\d|\d[DdFf]\b|double|float|DOUBLE|FLOAT|/")


@dataclass
class Difference:
    table: str
    predicate: str
    what: str
    smallest: str = ""
    rule: str = ""


@dataclass
class Outcome:
    """What came of the predicates over one table."""

    table: str
    compared: int = 0
    selective: int = 0
    files_dropped: int = 0
    files: int = 0
    spark_errors: Counter[str] = field(default_factory=Counter)
    answered_alone: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    documented: list[Difference] = field(default_factory=list)


class Comparison:
    """One table, opened by us and by Spark."""

    def __init__(self, oracle: Oracle, case: Case) -> None:
        self._oracle, self._case = oracle, case
        self._snapshot = tf.open_table(case.folder).snapshot()
        table = oracle.rows()
        self._names = table.schema.names
        self._rows = dict(zip(table["rid"].to_pylist(), _canonical(table, self._names), strict=True))
        exact = {n: table[n].to_pylist() for n in ("i", "l", "e", "w")}
        self._numbers = {r: {n: exact[n][at] for n in exact} for at, r in enumerate(table["rid"].to_pylist())}
        self._files = len(self._snapshot.scan().plan())

    def run(self, seed: int, number: int) -> Outcome:
        generator = Generator(f"{seed}-{self._case.name}", self._case.columns())
        predicates = [generator.predicate() for _ in range(number)]
        return self.judge(predicates)

    def judge(self, predicates: list[Predicate]) -> Outcome:
        outcome = Outcome(self._case.name)
        answers = self._oracle.answers(list(predicates))
        for predicate, answer in zip(predicates, answers, strict=True):
            what = self._judge(predicate, answer, outcome)
            if what:
                smallest = self._smallest(predicate)
                rule = self._rule(smallest)
                listed = outcome.documented if rule else outcome.differences
                listed.append(Difference(self._case.name, predicate, what, smallest, rule))
        return outcome

    def _judge(self, predicate: str, answer: Answer, outcome: Outcome) -> str:
        """What differs, or nothing."""
        if answer.rows is None:
            outcome.spark_errors[answer.error] += 1
            try:
                self._snapshot.scan(predicate).to_arrow()
            except TableFormatsError:
                return ""
            outcome.answered_alone.append(f"{answer.error}: {predicate}")
            return ""
        try:
            scan = self._snapshot.scan(predicate)
            plan, rows, count = scan.plan(), scan.to_arrow(), scan.count()
        except TableFormatsError as error:
            reason = reason_of(error)
            outcome.refused[reason] += 1
            outcome.examples.setdefault(reason, predicate)
            return ""
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
        outcome.compared += 1
        outcome.selective += 0 < len(answer.rows) < len(self._rows)
        outcome.files += self._files
        outcome.files_dropped += self._files - len(plan)
        return self._differing(answer.rows, plan, rows, count)

    def _differing(self, expected: frozenset[int], plan: tf.ScanPlan, rows: pa.Table, count: int) -> str:
        wanted, found = set(expected), rows["rid"].to_pylist()
        if sorted(found) != sorted(wanted):
            more, fewer = sorted(set(found) - wanted), sorted(wanted - set(found))
            return f"rows: {len(more)} too many {more[:3]}, {len(fewer)} missing {fewer[:3]}"
        ours = Counter(_canonical(rows, self._names))
        if ours != Counter(self._rows[rid] for rid in wanted):
            return "values of rows"
        if count != len(wanted):
            return f"count: {count}, not {len(wanted)}"
        kept = {path.split("/")[-1] for path in plan.file_uris()}
        lost = {self._oracle.file_of[rid].split("%")[0] for rid in wanted} - {name.split("%")[0] for name in kept}
        if lost:
            return f"files with matching rows dropped: {sorted(lost)}"
        whole = plan.files.filter(plan.files["fully_matched"])["path"].to_pylist()
        named = {path.split("/")[-1] for path in whole}
        if any(rid not in wanted for rid, name in self._oracle.file_of.items() if name in named):
            return "a file is marked as fully matched that is not"
        return ""

    def _rule(self, predicate: str) -> str:
        """The documented rule by which the rows differ, or nothing."""
        expected = self._oracle.answers([predicate])[0].rows
        if expected is None:
            return ""
        found = frozenset(self._snapshot.scan(predicate).to_arrow()["rid"].to_pylist())
        otherwise = _LONG.sub(r"CAST('\1' AS DECIMAL(20, 0))", predicate)  # Spark's rule is of literals alone
        if otherwise != predicate and found == self._oracle.answers([otherwise])[0].rows:
            return LONGS
        if _DOUBLES.search(predicate) and all(self._rounds(rid, predicate) for rid in found ^ expected):
            return DOUBLES
        return ""

    def _rounds(self, rid: int, predicate: str) -> bool:
        """Whether the row has a number in a column of the predicate that no double holds."""
        row = self._numbers[rid]
        named = [name for name in row if re.search(rf"\b{name}\b", predicate)]
        return any(row[name] is not None and Decimal(row[name]) != Decimal(float(row[name])) for name in named)

    def _smallest(self, predicate: Predicate) -> str:
        for part in predicate.parts:
            if self._judge(part, self._oracle.answers([part])[0], Outcome("")):
                return self._smallest(part)
        return str(predicate)


def reason_of(error: TableFormatsError) -> str:
    """A refusal's message without what it quotes, so that equal reasons can be counted."""
    text = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`", "..", str(error).split("\n")[0])
    named = getattr(error, "field", None)
    text = re.sub(r"\d+", "N", text.split(". ")[0])[:110]
    return f"{type(error).__name__}: {text}" + (f" [{str(named)[:40]}]" if named else "")


def _canonical(table: pa.Table, names: list[str]) -> Iterable[str]:
    """Each row as a text that is equal for equal values alone: NaN is itself, -0.0 is not 0.0, strings are bytes."""
    columns = [_binary(table[name].combine_chunks()).to_pylist() for name in names]
    return [repr(row) for row in zip(*columns, strict=True)]


def _binary(column: Any) -> Any:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.binary())
    if pa.types.is_struct(kind):
        fields = [_binary(child) for child in column.flatten()]
        return pa.StructArray.from_arrays(fields, [f.name for f in kind], mask=column.is_null())
    return column
