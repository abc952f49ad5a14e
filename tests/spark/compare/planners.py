"""Other planners, asked for the files that they keep: delta-spark, Iceberg in Java, deltalake and DuckDB."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .session import session
from .tables import Case

Names = frozenset[str]
Plan = Callable[[str], "Kept"]


@dataclass(frozen=True)
class Kept:
    """How many files a planner keeps, and which, if it says so."""

    number: int
    names: Names | None = None


class NotAsked(Exception):
    """The planner cannot read the table, or cannot take the predicate; the message says why."""


def _kept(paths: list[str]) -> Kept:
    return Kept(len(paths), frozenset(path.split("/")[-1] for path in paths))


def delta_spark(case: Case) -> Plan:
    if not case.is_delta:
        raise NotAsked("reads Delta")
    table = session().read.format("delta").load(str(case.folder))
    return lambda predicate: _kept(table.where(predicate).inputFiles())


def iceberg_java(case: Case) -> Plan:
    if case.is_delta:
        raise NotAsked("reads Iceberg")
    spark = session()
    jvm = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, case.sql_name)
    convert = jvm.org.apache.spark.sql.execution.datasources.SparkExpressionConverter
    lists = jvm.org.apache.iceberg.relocated.com.google.common.collect.Lists

    def plan(predicate: str) -> Kept:
        try:
            bound = convert.collectResolvedSparkExpression(spark._jsparkSession, case.sql_name, predicate)
            expression = convert.convertToIcebergExpression(bound)
        except Exception:
            raise NotAsked("has no expression for it") from None
        tasks = lists.newArrayList(table.newScan().filter(expression).planFiles())
        return _kept([task.file().location() for task in tasks])

    return plan


def deltalake(case: Case) -> Plan:
    if not case.is_delta:
        raise NotAsked("reads Delta")
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(str(case.folder))
        table.file_uris()
    except DeltaError as error:
        raise NotAsked(_first_line(error)) from None

    def plan(predicate: str) -> Kept:
        try:
            return _kept(table.file_uris(file_pruning_predicate=predicate))
        except Exception as error:
            raise NotAsked(_first_line(error)) from None

    return plan


def duckdb(case: Case) -> Plan:
    import duckdb as db

    connection = db.connect()
    for extension in ("avro", "delta", "iceberg"):
        try:
            package = importlib.import_module(f"duckdb_extension_{extension}")
        except ImportError:
            raise NotAsked(f"the extension {extension} is not installed") from None
        (path,) = Path(package.__path__[0]).rglob(f"{extension}.duckdb_extension")
        connection.sql(f"LOAD '{path}'")
    connection.sql("SET TimeZone = 'UTC'")
    if case.is_delta:
        source = f"delta_scan('{case.folder}')"
    else:
        hint = (case.folder / "metadata" / "version-hint.text").read_text().strip()
        source = f"iceberg_scan('{case.folder}/metadata/v{hint}.metadata.json')"

    def plan(predicate: str) -> Kept:
        try:
            text = connection.sql(f"EXPLAIN ANALYZE SELECT rid FROM {source} WHERE {predicate}").fetchall()[0][1]
        except Exception as error:
            raise NotAsked(_first_line(error)) from None
        found = re.search(r"Total Files Read: (\d+)", text)
        if found is None:
            raise NotAsked("does not say how many files it reads")
        return Kept(int(found[1]))

    return plan


def _first_line(error: Exception) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "..", str(error).split("\n")[0])[:80]


PLANNERS: dict[str, Callable[[Case], Plan]] = {
    "delta-spark": delta_spark,
    "Iceberg in Java": iceberg_java,
    "deltalake": deltalake,
    "DuckDB": duckdb,
}
