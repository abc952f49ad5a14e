"""What Spark answers: each predicate as a projected column of the whole table, so that nothing is pushed down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .tables import Case

Row = tuple[Any, ...]
BATCH = 24


@dataclass(frozen=True)
class Answer:
    """The rows for which a predicate is TRUE, by their ``rid``; or Spark's error class."""

    rows: frozenset[int] | None
    error: str = ""


class Oracle:
    """Spark's answers about one table, whose rows it holds in memory."""

    def __init__(self, spark: Any, case: Case) -> None:
        self._spark = spark
        self._table = spark.table(case.sql_name).cache()
        self._table.createOrReplaceTempView("oracle")
        if case.is_delta:
            located = spark.read.format("delta").load(str(case.folder)).selectExpr("rid", "_metadata.file_path AS path")
        else:
            located = spark.table(case.sql_name).selectExpr("rid", "_file AS path")
        self.file_of: dict[int, str] = {row.rid: row.path.split("/")[-1] for row in located.collect()}

    def close(self) -> None:
        self._table.unpersist()

    def rows(self) -> Any:
        """All rows as Arrow; strings as bytes, for they may not be UTF-8."""
        columns = []
        for field in self._table.schema.fields:
            kind = field.dataType.simpleString()
            name = f"`{field.name}`"
            if kind == "string" or kind.startswith(("char", "varchar")):
                columns.append(f"CAST({name} AS BINARY) AS {name}")
            elif field.name == "st":
                columns.append("IF(st IS NULL, NULL, struct(st.k, CAST(st.u AS BINARY) AS u, st.d)) AS st")
            else:
                columns.append(name)
        return self._table.selectExpr(*columns).toArrow()

    def answers(self, predicates: list[str]) -> list[Answer]:
        found: list[Answer] = []
        for first in range(0, len(predicates), BATCH):
            found += self._batch(predicates[first : first + BATCH])
        return found

    def _batch(self, predicates: list[str]) -> list[Answer]:
        columns = ", ".join(f"({predicate}\n) AS c{i}" for i, predicate in enumerate(predicates))
        try:
            rows = self._spark.sql(f"SELECT rid, {columns} FROM oracle").collect()
        except Exception as error:
            if len(predicates) == 1:
                return [Answer(None, _error_class(error))]
            half = len(predicates) // 2
            return self._batch(predicates[:half]) + self._batch(predicates[half:])
        return [Answer(frozenset(row.rid for row in rows if row[f"c{i}"])) for i in range(len(predicates))]


def _error_class(error: Exception) -> str:
    named = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return (named() if named else None) or type(error).__name__
