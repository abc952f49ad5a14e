"""Spark beside Spark: ``python -m benchmarks.spark --write`` in ``asv_bench`` writes docs/measured/spark.md.

Four parts, each in rounds that go through all readers in turn, so that what disturbs one disturbs all; every
measurement has a DataFrame of its own, and medians are given. *Scans*: queries over the same data files, by
``spark.read.parquet``, which knows of no table, and by us; a ratio is that of one round, to the reads of
``spark.read.parquet`` right before and after. *First query*: a plan of many files becomes a DataFrame and a job, in
processes that have read no table before, or one small table. *Planning*: from a location to a query's tasks.
*Planning on executors*: ``plan(engine=spark)``, beside ``plan()``.

All but the comparison with delta-spark and Iceberg's runtime is measured in a session without JARs, as users of ours
have it. Where Spark is one that the peers' JARs are for, and the JARs are in the local Maven repository, scans and
planning are measured again in a session with them, beside the peers: there they share one JVM.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tableformats as tf

from . import QUICK, spark_text, table_text
from .generate import DeltaTable, IcebergTable, build
from .generate.specs import id_range
from .processes import run_module
from .report import machine
from .spark_session import JARS, Cost, jobs, peers_missing, plan_query, session, timed
from .spark_tables import SMALL, RowTables, live_rows, many_files, row_tables

PAGE = "spark.md"
"""The page in docs/measured that is written here."""
ROWS = 1_000_000 if QUICK else 20_000_000
ROUNDS = 1 if QUICK else 7
PLAN_ROUNDS = 1 if QUICK else 15
"""Plans take a twentieth of a second, and more differs between two of them than between readers."""
PROCESSES = 1 if QUICK else 3
"""That ask their first query, of each kind."""
PLAIN, OURS = "spark.read.parquet", "tableformats"
PEERS = {"delta": "delta-spark", "iceberg": "Iceberg's runtime"}
QUERIES = {
    "one column": ["sum(id)"],
    "one column, bit_xor": ["bit_xor(id)"],
    "five columns": ["sum(id)", "max(ts)", "sum(amount)", "sum(length(name))", "sum(length(country))"],
    "count(*)": ["count(*)"],
}
COUNT = "count(*)"
"""Reads no column: tables answer it from their metadata where these know, Spark's reader takes the footers' word."""
COUNTED = "count(id)"
"""Which no metadata answer: counts the rows of the files."""
BY_POSITION = "spark.read.parquet, rows left out by row_index"
"""What it costs Spark to number the rows and to leave one in 128 out, by the cheapest test there is."""


@dataclass(frozen=True)
class Reader:
    """Somebody who makes DataFrames of a table."""

    name: str
    format: str
    deletes: bool
    frame: Callable[[], Any]


def readers(spark: Any, tables: RowTables, with_peers: bool) -> tuple[Reader, list[Reader]]:
    """spark.read.parquet, then the others."""
    found = []
    for deletes, paths in ((False, tables.clean), (True, tables.deleted)):
        for name, path in paths.items():
            found.append(Reader(OURS, name, deletes, partial(tf.spark.read, spark, path)))
            if with_peers:
                theirs = Reader(PEERS[name], name, deletes, partial(spark.read.format(name).load, path))
                found.append(theirs)
    return Reader(PLAIN, "", False, lambda: spark.read.parquet(*tables.data)), found


def measure_scans(spark: Any, tables: RowTables, rounds: int, with_peers: bool) -> list[dict[str, Any]]:
    """One mapping a query and reader, with a list of what each round gave: ``make`` and ``run`` in seconds, and
    ``wall_ratio``, ``cpu_ratio``. ``tasks``: in how many the reader's columns are read. A first round, which does not
    count, checks the answers.
    """
    plain, others = readers(spark, tables, with_peers)
    check(tables, plain, others)
    others.append(Reader(BY_POSITION, "", True, lambda: plain.frame().where("_metadata.row_index & 127 <> 5")))
    tasks = {reader: plan_query(reader.frame()) for reader in [plain, *others]}
    found: dict[tuple[str, Reader], dict[str, Any]] = {}

    def add(query: str, reader: Reader, here: tuple[Cost, Cost], around: Sequence[Cost]) -> None:
        scan = found.setdefault(
            (query, reader),
            {
                "query": query,
                "reader": reader.name,
                "format": reader.format,
                "deletes": reader.deletes,
                "ours": reader.name == OURS,
                "counts": query == COUNT,
                "tasks": tasks[reader],
                "make": [],
                "run": [],
                "wall_ratio": [],
                "cpu_ratio": [],
            },
        )
        make, run_ = here
        scan["make"].append(make.wall)
        scan["run"].append(run_.wall)
        scan["wall_ratio"].append(run_.wall / statistics.mean(cost.wall for cost in around))
        scan["cpu_ratio"].append(run_.cpu / statistics.mean(cost.cpu for cost in around))

    for number in range(-1, rounds):
        for query, expressions in QUERIES.items():
            say(f"scans, round {number + 1} of {rounds}, {query}")
            before = run(spark, plain, expressions)
            for reader in others:
                here, after = run(spark, reader, expressions), run(spark, plain, expressions)
                if number >= 0:
                    add(query, reader, here, [before[1], after[1]])
                before = after
            if number >= 0:
                add(query, plain, before, [before[1]])
    return list(found.values())


def run(spark: Any, reader: Reader, expressions: Sequence[str]) -> tuple[Cost, Cost]:
    """Of making the DataFrame, of running the query."""
    frame, make = timed(spark, reader.frame)
    query = frame.selectExpr(*expressions)
    return make, timed(spark, query.collect)[1]


def check(tables: RowTables, plain: Reader, others: Sequence[Reader]) -> None:
    """Everybody gives the rows that there are."""
    assert plain.frame().count() == tables.rows
    answers: dict[bool, set[Any]] = {False: set(), True: set()}
    for reader in others:
        answers[reader.deletes].add(reader.frame().selectExpr("count(*)", *QUERIES["five columns"][:2]).collect()[0])
    for deletes, rows in ((False, tables.rows), (True, live_rows(tables))):
        assert len(answers[deletes]) == 1 and {row[0] for row in answers[deletes]} == {rows}, answers


# ---- the first query over many files --------------------------------------------------------------------------------


FEW = 200
MANY = 200 if QUICK else 20_000
HANDED = 1_000 if QUICK else 100_000


def first_query(cores: int, warm: bool) -> dict[str, float]:
    """A plan of MANY files counted, then HANDED files handed over, in a JVM that has read a table of FEW files before
    where it is ``warm``: seconds, by name.

    ``frame``, ``job``: of the count, from the end of planning; ``query``: from the DataFrame to its tasks.
    """
    from tableformats.engines.spark.dataframe import frame_of
    from tableformats.engines.spark.native.jvm import Bridge

    path = many_files(MANY)["delta"]
    spark = session(cores, with_peers=False)
    bridge = Bridge(spark)
    if warm:
        assert scanned(tf.spark.read(spark, many_files(FEW)["delta"])) == FEW * SMALL
    before, start = len(jobs(spark)), time.time()
    with bridge.preparing():
        plan = tf.open_table(path).scan().plan()
    assert len(plan) == MANY
    planned = time.time()
    frame = frame_of(plan, bridge)
    made = time.time()
    assert scanned(frame) == MANY * SMALL
    ran = jobs(spark)[before:]
    found: dict[str, float] = {
        "many files": MANY,
        "warm": warm,
        "plan": planned - start,
        "frame": made - planned,
        "job": ran[0].start - planned,
        "listing jobs": len([job for job in ran if "listing" in job.text.lower()]),
    }
    for name, entry in many_files(HANDED).items():
        plan = tf.open_table(entry).scan().plan()
        frame, cost = timed(spark, partial(frame_of, plan, bridge))
        tasks, queried = timed(spark, partial(plan_query, frame))
        assert tasks > 0
        found |= {f"{name} files": len(plan), f"{name} frame": cost.wall, f"{name} query": queried.wall}
    return found


def scanned(frame: Any) -> int:
    """The rows of the frame by one of its columns."""
    return int(frame.selectExpr(COUNTED).collect()[0][0])


# ---- planning -------------------------------------------------------------------------------------------------------


ASKED = {"all files": "true", "2 files": f"id BETWEEN {MANY * SMALL // 2 - 1} AND {MANY * SMALL // 2}"}


def _plan_frame(make: Callable[[], Any]) -> int:
    return plan_query(make())


def measure_plans(spark: Any, rounds: int, with_peers: bool) -> list[dict[str, Any]]:
    """One mapping a table, question and reader: ``seconds`` of each round, from the location to the query's tasks."""
    found: dict[Any, dict[str, Any]] = {}
    paths = many_files(MANY)
    for number in range(-1, rounds):
        for name, path in paths.items():
            for question, condition in ASKED.items():
                for reader, frame in planners(spark, name, path, condition, with_peers).items():
                    say(f"planning, round {number + 1} of {rounds}, {name}, {question}, {reader}")
                    forget(spark, with_peers)
                    _, cost = timed(spark, partial(_plan_frame, frame))
                    if number >= 0:
                        plan = found.setdefault(
                            (name, question, reader),
                            {
                                "format": name,
                                "question": question,
                                "reader": reader,
                                "ours": reader not in PEERS.values(),
                                "seconds": [],
                            },
                        )
                        plan["seconds"].append(cost.wall)
    return list(found.values())


def planners(spark: Any, name: str, path: str, condition: str, with_peers: bool) -> dict[str, Callable[[], Any]]:
    """DataFrames of the rows for which the condition holds."""
    found = {
        OURS: lambda: tf.spark.read(spark, path).where(condition),
        f"{OURS}, filter=": lambda: tf.spark.read(spark, path, filter=condition),
    }
    if with_peers:
        found[PEERS[name]] = lambda: spark.read.format(name).load(path).where(condition)
    return found


def forget(spark: Any, with_peers: bool) -> None:
    """What delta-spark keeps of the tables that it has seen; nobody else keeps anything."""
    if with_peers:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


# ---- planning on executors ------------------------------------------------------------------------------------------


SHARED = 1_000 if QUICK else 1_000_000
SHARED_ROUNDS = 1 if QUICK else 3


def _plan(entry: str, condition: str, engine: Any) -> Any:
    return tf.open_table(entry).scan(condition).plan(engine=engine)


def measure_shared_plans(spark: Any) -> list[dict[str, Any]]:
    """One mapping a table and place: ``seconds`` of each round, from the location to the plan of a thousandth of the
    files; ``files`` of the plan, the same in both places."""
    found: dict[Any, dict[str, Any]] = {}
    tables = [build(DeltaTable(SHARED)), build(IcebergTable(SHARED))]
    ((first, last),) = id_range(SHARED, 0.001)
    condition = f"id >= {first.value} AND id < {last.value}"
    for number in range(-1, SHARED_ROUNDS):
        for table in tables:
            for place, engine in (("driver", None), ("executors", spark)):
                name = table.spec.format
                say(f"planning on executors, round {number + 1} of {SHARED_ROUNDS}, {name}, {place}")
                plan, cost = timed(spark, partial(_plan, table.entry, condition, engine))
                shared = found.setdefault(
                    (name, place), {"format": name, "place": place, "files": len(plan), "seconds": []}
                )
                assert len(plan) == shared["files"] == found[name, "driver"]["files"] > 0
                if number >= 0:
                    shared["seconds"].append(cost.wall)
    return list(found.values())


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# ---- the command ----------------------------------------------------------------------------------------------------


def measure(rows: int, rounds: int, cores: int) -> dict[str, Any]:
    """All parts, and what they were measured under."""
    before, why_not = os.getloadavg()[0], peers_missing()
    tables = row_tables(rows)
    for files in (FEW, MANY, HANDED):
        many_files(files)
    options = ("--rows", str(rows), "--rounds", str(rounds), "--cores", str(cores))
    say("the first query, in processes of their own")
    first = [_part(f"first-{kind}", *options) for _ in range(PROCESSES) for kind in ("cold", "warm")]
    stock = _part("stock", *options)
    beside = _part("peers", *options) if why_not is None else {"scans": [], "plans": []}
    return {
        "when": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "load": (before, os.getloadavg()[0]),
        "versions": stock["versions"],
        "jars": JARS if why_not is None else (),
        "rounds": rounds,
        "plan rounds": PLAN_ROUNDS,
        "rows": rows,
        "files": len(tables.data),
        "cores": cores,
        "many": MANY,
        "scans": stock["scans"],
        "first": first,
        "plans": beside["plans"] or stock["plans"],
        "beside": beside["scans"],
        "shared": stock["shared"],
        "shared files": SHARED,
        "peers": f"Peers are not measured: {why_not}." if why_not else "",
    }


def _part(name: str, *options: str) -> Any:
    """What :func:`measure_part` gives in a process of its own, and so in a JVM."""
    return json.loads(run_module("benchmarks.spark", "--part", name, *options).splitlines()[-1])


PARTS = ("first-cold", "first-warm", "stock", "peers")


def measure_part(name: str, rows: int, rounds: int, cores: int) -> dict[str, Any]:
    """What one JVM measures; ``stock`` has Spark's own classes alone, ``peers`` their JARs too."""
    if name.startswith("first-"):
        return first_query(cores, name == "first-warm")
    with_peers = name == "peers"
    spark = session(cores, with_peers)
    try:
        found: dict[str, Any] = {
            "versions": f"Spark {spark.version}, Python {platform.python_version()}, tableformats {tf.__version__}",
            "scans": measure_scans(spark, row_tables(rows), rounds, with_peers),
        }
        if with_peers or peers_missing() is not None:
            found["plans"] = measure_plans(spark, PLAN_ROUNDS, with_peers)
        if not with_peers:
            found["shared"] = measure_shared_plans(spark)
    finally:
        spark.stop()
    return {"plans": [], **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="a multiple of a million")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cores", type=int, default=min(os.cpu_count() or 1, 8), help="threads of Spark")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = (arguments.rows, arguments.rounds, arguments.cores)
    if arguments.part:
        print(json.dumps(measure_part(arguments.part, *sizes)))
        return
    text = spark_text.text(measure(*sizes))
    print(text)
    if arguments.write:
        table_text.write(PAGE, text)
    for line in spark_text.missed(text):
        say(f"goal missed: {line}")


if __name__ == "__main__":
    main()
