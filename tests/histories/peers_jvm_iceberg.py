"""The known bugs of writers, staged for Iceberg's runtime for Spark and for us: commits through a REST catalog.

The catalog is the server of Iceberg's own tests. A proxy stands before it and loses the answer to the commit.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf

from . import peers_more as more
from .failing_rest import refusal
from .peers import Case, Outcome
from .peers_jvm import held, named, spark
from .proxy import FaultProxy

__all__ = ["ICEBERG_RUNTIME"]

_NAME = "Iceberg's runtime"
_NUMBERS = itertools.count()
ROWS = pa.table({"id": [7]})


@contextmanager
def _catalog(retries: int | None = None, rows: tuple[int, ...] = (1,)) -> Iterator[str]:
    """The address of a catalog with the table ``n.t``."""
    from pyiceberg.catalog import load_catalog

    from ..support.iceberg_rest import running_rest_catalog

    with tempfile.TemporaryDirectory() as folder, running_rest_catalog(Path(folder, "w")) as uri:
        properties = {} if retries is None else {"commit.retry.num-retries": str(retries)}
        load_catalog(**_properties(uri)).create_namespace("n")
        table = tf.create_table("n.t", ROWS.schema, format="iceberg", catalog=_properties(uri), properties=properties)
        table.append(pa.table({"id": list(rows)}))
        yield uri


def _properties(uri: str) -> dict[str, str]:
    return {"name": "c", "type": "rest", "uri": uri}


def _ids(uri: str) -> list[int]:
    return sorted(tf.open_table("n.t", catalog=_properties(uri)).to_arrow()["id"].to_pylist())


def _table_of_spark(uri: str) -> str:
    """The name of the table in a catalog of Spark at that address."""
    name = f"peer{next(_NUMBERS)}"
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": uri, ".cache-enabled": "false"}
    for key, value in settings.items():
        spark().conf.set(f"spark.sql.catalog.{name}{key}", value)
    return f"{name}.n.t"


# ---- the answer to a commit that landed is lost ----------------------------------------------------------------------


def _unanswered(fault: str, write: Callable[[str], None], retries: int | None = None) -> Outcome:
    with _catalog(retries) as uri, FaultProxy(uri, refusal=refusal) as proxy:
        left = [1]

        def plan(number: int, method: str, path: str) -> str | None:
            if method == "POST" and path.endswith("/tables/t") and left:
                left.pop()
                return f"{fault} lost"
            return None

        proxy.plan, told = plan, "success"
        try:
            write(proxy.endpoint)
        except Exception as error:
            told = named(error)
        if left:
            raise RuntimeError(f"there was no commit: {proxy.requests}")
        try:
            ids = _ids(uri)
        except (OSError, tf.CorruptMetadataError):
            return f"wrong: {told}, and files that the table names are deleted"
    # Iceberg has an error for an unknown outcome, which callers must not take for a failure.
    is_told = told in ("success", "CommitStateUnknownException")
    return f"{'right' if ids == [1, 7] and is_told else 'wrong'}: {told}, rows {ids}"


def _append_by_spark(uri: str) -> None:
    spark().createDataFrame([(7,)], "id long").writeTo(_table_of_spark(uri)).append()


def _append_by_us(uri: str) -> None:
    tf.open_table("n.t", catalog=_properties(uri)).append(ROWS)


# ---- two writers upon one snapshot -----------------------------------------------------------------------------------

Begin = Callable[[str, str, int], Callable[[], Any]]
"""(address of the catalog, what is done, a number) -> what commits it. What was read is read by then."""


def _upon_one(begin: Begin, first: str, second: str, explained: dict[int, list[int]]) -> Outcome:
    """Two operations upon the snapshot with the rows 1, 2 and 3, of the numbers 1 and 2."""
    with _catalog(rows=(1, 2, 3)) as uri:
        told = more._both(begin(uri, first, 1), begin(uri, second, 2))
        return more._judged(told, _ids(uri), explained)


def _by_spark(uri: str, what: str, number: int) -> Callable[[], Any]:
    table = _table_of_spark(uri)
    if what == "delete":
        return held(lambda waits: spark().sql(f"DELETE FROM {table} WHERE id = {number} AND {waits}"))
    found = spark().sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()

    def write(waits: str) -> None:
        from pyspark.sql import functions

        writer = spark().createDataFrame([(10 * number,)], "id long").where(waits).writeTo(table)
        if what == "append":
            writer.append()
        elif what == "overwrite all":
            writer.overwrite(functions.expr("true"))
        else:
            # Without these two an overwrite is not checked against what others have added.
            writer = writer.option("isolation-level", "serializable")
            writer.option("validate-from-snapshot-id", str(found[0]["snapshot_id"])).overwrite(functions.expr("true"))

    return held(write)


def _by_us(uri: str, what: str, number: int) -> Callable[[], Any]:
    transaction = tf.open_table("n.t", catalog=_properties(uri)).transaction()
    transaction.__enter__()
    if what == "delete":
        transaction.delete(f"id = {number}")
    elif what == "append":
        transaction.append(pa.table({"id": [10 * number]}))
    else:
        transaction.overwrite(pa.table({"id": [10 * number]}))
    return lambda: transaction.__exit__(None, None, None)


# ---- the table -------------------------------------------------------------------------------------------------------


def _unanswered_case(what: str, fault: str, retries: int | None = None) -> Case:
    return (
        what,
        _NAME,
        lambda: _unanswered(fault, _append_by_spark, retries),
        lambda: _unanswered(fault, _append_by_us, retries),
    )


def _pair(what: str, first: str, second: str, explained: dict[int, list[int]]) -> Case:
    return (
        what,
        _NAME,
        lambda: _upon_one(_by_spark, first, second, explained),
        lambda: _upon_one(_by_us, first, second, explained),
    )


_LOST = "a REST catalog answers {} to a commit that landed"
_OVERWRITES = {1: [10], 2: [20]}
_APPEND_AND_OVERWRITE = {1: [1, 2, 3, 10], 2: [20]}
ICEBERG_RUNTIME: dict[str, Case] = {
    f"{_NAME}: {name}": case
    for name, case in {
        "409": _unanswered_case(_LOST.format("409") + " (iceberg#2317, duckdb-iceberg#1120)", "409"),
        "409, last try": _unanswered_case(_LOST.format("409") + ", on the last try", "409", 0),
        "500": _unanswered_case(_LOST.format("500"), "500"),
        "503": _unanswered_case(_LOST.format("503"), "503"),
        "504": _unanswered_case(_LOST.format("504"), "504"),
        "close": _unanswered_case("a REST catalog commits, and the connection ends without an answer", "close"),
        "two overwrites": _pair(
            "two overwrites of all rows upon one snapshot", "overwrite all", "overwrite all", _OVERWRITES
        ),
        "two checked overwrites": _pair(
            "the same, with the isolation level serializable", "overwrite", "overwrite", _OVERWRITES
        ),
        "append and overwrite": _pair(
            "an append and then an overwrite of all rows upon one snapshot",
            "append",
            "overwrite all",
            _APPEND_AND_OVERWRITE,
        ),
        "append and checked overwrite": _pair(
            "the same, with the isolation level serializable", "append", "overwrite", _APPEND_AND_OVERWRITE
        ),
        "two deletes": _pair(
            "two deletes of rows of one file upon one snapshot (iceberg-python#3811, hive#5111)",
            "delete",
            "delete",
            {1: [2, 3], 2: [3]},
        ),
    }.items()
}
