"""What Spark answers: each predicate as a projected column of the whole table, so that nothing is pushed down.

Answers are kept beside the tables. Spark starts only for what was not asked before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from .session import CACHE
from .tables import Case, version

BATCH = 24


@dataclass(frozen=True)
class Answer:
    """The rows for which a predicate is TRUE, by their ``rid``; or Spark's error class."""

    rows: frozenset[int] | None
    error: str = ""


class Oracle:
    """Spark's answers about one table, whose rows it holds in memory."""

    def __init__(self, spark: Callable[[], Any], case: Case) -> None:
        self._spark, self._case = spark, case
        self._folder = CACHE / "answers" / f"{case.name}-{version(case)[:12]}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, list[int] | str] = _stored(self._folder / "answers.json", dict)

    @cached_property
    def _table(self) -> Any:
        table = self._spark().table(self._case.sql_name).cache()
        table.createOrReplaceTempView("oracle")
        return table

    def close(self) -> None:
        if "_table" in self.__dict__:
            self._table.unpersist(blocking=True)
            del self._table
        (self._folder / "answers.json").write_text(json.dumps(self._known))

    @cached_property
    def file_of(self) -> dict[int, str]:
        """The name of each row's file."""
        stored = self._folder / "files.json"
        if not stored.exists():
            if self._case.is_delta:
                table = self._spark().read.format("delta").load(str(self._case.folder))
                located = table.selectExpr("rid", "_metadata.file_path AS path")
            else:
                located = self._spark().table(self._case.sql_name).selectExpr("rid", "_file AS path")
            stored.write_text(json.dumps([[row.rid, row.path.split("/")[-1]] for row in located.collect()]))
        return dict(json.loads(stored.read_text()))

    def rows(self) -> pa.Table:
        """All rows; strings as bytes, for they may not be UTF-8."""
        stored = self._folder / "rows.arrow"
        if not stored.exists():
            rows = self._table.selectExpr(*map(_column, self._table.schema.fields)).toArrow()
            with pa.OSFile(str(stored), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
        with pa.OSFile(str(stored)) as source:
            return pa.ipc.open_file(source).read_all()

    def answers(self, predicates: list[str]) -> list[Answer]:
        asked = [predicate for predicate in dict.fromkeys(predicates) if predicate not in self._known]
        for first in range(0, len(asked), BATCH):
            self._ask(asked[first : first + BATCH])
        known = [self._known[predicate] for predicate in predicates]
        return [Answer(None, k) if isinstance(k, str) else Answer(frozenset(k)) for k in known]

    def _ask(self, predicates: list[str]) -> None:
        """All at once; if one of them fails, each half."""
        columns = ", ".join(f"({predicate}\n) AS c{i}" for i, predicate in enumerate(predicates))
        assert self._table
        try:
            rows = self._spark().sql(f"SELECT rid, {columns} FROM oracle").collect()
        except Exception as error:
            if len(predicates) == 1:
                self._known[predicates[0]] = _error_class(error)
            else:
                half = len(predicates) // 2
                self._ask(predicates[:half])
                self._ask(predicates[half:])
            return
        for i, predicate in enumerate(predicates):
            self._known[predicate] = [row.rid for row in rows if row[f"c{i}"]]


def _column(field: Any) -> str:
    kind = field.dataType.simpleString()
    if kind == "string" or kind.startswith(("char", "varchar")):
        return f"CAST(`{field.name}` AS BINARY) AS `{field.name}`"
    if field.name == "st":
        return "IF(st IS NULL, NULL, struct(st.k, CAST(st.u AS BINARY) AS u, st.d)) AS st"
    return f"`{field.name}`"


def _stored(path: Path, empty: Callable[[], Any]) -> Any:
    return json.loads(path.read_text()) if path.exists() else empty()


def _error_class(error: Exception) -> str:
    named = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return (named() if named else None) or type(error).__name__
