"""What other planners take for a proof that a file has no matching row, and tables on which they lose rows by it."""

from __future__ import annotations

import enum
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import tableformats as tf

from .planners import PLANNERS, NotAsked
from .session import session
from .tables import ROOT, Case


class Proof(enum.Enum):
    """What a planner takes for a proof."""

    NO_NAN = "a number as maximum says that there is no NaN, which Spark finds greater than all numbers"
    ALL_NAN = "a minimum of NaN says that there is nothing but NaN"
    TEXT = "a bound with U+FFFD, which stands for bytes that are not UTF-8, is in the order of the values"
    NONE = "**not explained**"


_GREATER = re.compile(r"\bx (>=?|<>) (-?[\d.e]+)")
_EQUAL = re.compile(r"\bx IN \(")


def proof_of(snapshot: tf.Snapshot, predicate: str, kept: int) -> Proof:
    """By which proof the planner keeps ``kept`` files where we keep more.

    Each reason is taken away from the predicate, until we keep no more files than the planner does.
    """
    without_nan = _GREATER.sub(r"(x \1 \2 AND NOT isnan(x))", predicate)
    if without_nan != predicate and len(snapshot.scan(without_nan).plan()) <= kept:
        return Proof.NO_NAN
    names = {path.rpartition("/")[2] for path in snapshot.scan(without_nan, nan="absent").plan().file_uris()}
    replaced = {name for name, bounds in _texts(Path(snapshot.location)) if any("\ufffd" in b for b in bounds)}
    if re.search(r"\bs\b", predicate) and names & replaced:
        return Proof.TEXT
    return Proof.ALL_NAN if _EQUAL.search(predicate) or without_nan != predicate else Proof.NONE


def _texts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The name of each file that a Delta log adds, and its bounds of the column ``s``."""
    for commit in sorted(folder.glob("_delta_log/*.json")):
        for line in commit.read_text().splitlines():
            added = json.loads(line).get("add")
            if added:
                stats = json.loads(added["stats"])
                bounds = (stats.get(side, {}).get("s") for side in ("minValues", "maxValues"))
                yield added["path"].rpartition("/")[2], [bound for bound in bounds if bound is not None]


@dataclass(frozen=True)
class Loss:
    """A row that a planner loses: the table in words, and the predicate."""

    planner: str
    proof: Proof
    table: str
    predicate: str
    loses: bool


def losses(used: Iterable[tuple[str, Proof]]) -> list[Loss]:
    """What becomes of one matching row, for each planner and the proof that it uses."""
    found = []
    for planner, proof in sorted(used, key=lambda pair: (pair[1].name, pair[0])):
        for made in _TABLES.get(proof, ()):
            case, words, predicate = made()
            try:
                kept = PLANNERS[planner](case)(predicate)
            except NotAsked:
                continue
            assert len(tf.open_table(case.folder).scan(predicate).to_arrow()) == 1, "the row that matches"
            found.append(Loss(planner, proof, words, predicate, kept.number == 0))
    return found


def table_of(found: list[Loss]) -> list[str]:
    """The lines of the document."""
    lines = ["Tables of one file, of which one row matches:", "", "| Planner | Table | Predicate | It |", "|-|-|-|-|"]
    outcome = {True: "loses the row", False: "keeps the file"}
    return lines + [f"| {f.planner} | {f.table} | `{f.predicate}` | {outcome[f.loses]} |" for f in found]


def _empty(name: str) -> Case:
    case = Case(f"{name}-proof")
    shutil.rmtree(case.folder, ignore_errors=True)
    return case


def _nan_of_deltalake() -> tuple[Case, str, str]:
    from deltalake import write_deltalake

    case = _empty("delta-nan")
    write_deltalake(case.folder, pa.table({"rid": [1, 2], "x": [1.0, float("nan")]}))
    return case, "1.0 and NaN, written by deltalake", "x > 1.5"


def _nan_of_iceberg() -> tuple[Case, str, str]:
    case = _empty("iceberg-nan")
    _iceberg(case, "x DOUBLE", "SELECT 1L AS rid, 1.0D AS x UNION ALL SELECT 2L, double('NaN')")
    return case, "1.0 and NaN, written by Iceberg in Spark", "x >= 1.5"


def _bytes_of_spark() -> tuple[Case, str, str]:
    case = _empty("delta-bytes")
    rows = "SELECT 1L AS rid, CAST(X'80' AS STRING) AS s UNION ALL SELECT 2L, '\u00e9'"
    session().sql(rows).coalesce(1).write.format("delta").save(str(case.folder))
    return case, "the bytes `80` and `é`, written by delta-spark", "s = 'é'"


def _minimum_of_numpy() -> tuple[Case, str, str]:
    """As deltalake wrote it, but with the bounds that NumPy's ``min`` and ``max`` give."""
    case, _, _ = _nan_of_deltalake()
    (commit,) = Path(case.folder, "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            stats["minValues"]["x"] = stats["maxValues"]["x"] = "NaN"
            action["add"]["stats"] = json.dumps(stats)
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return case, "1.0 and NaN, with NumPy's minimum of both", "x IN (1.0, 2.0)"


def _iceberg(case: Case, columns: str, rows: str) -> None:
    spark = session()
    spark.sql(f"DROP TABLE IF EXISTS {case.sql_name}")
    spark.sql(f"CREATE TABLE {case.sql_name} (rid BIGINT, {columns}) USING iceberg")
    spark.sql(f"INSERT INTO {case.sql_name} SELECT /*+ COALESCE(1) */ * FROM ({rows})")
    assert case.folder.is_relative_to(ROOT)


_TABLES: dict[Proof, tuple[Callable[[], tuple[Case, str, str]], ...]] = {
    Proof.NO_NAN: (_nan_of_deltalake, _nan_of_iceberg),
    Proof.TEXT: (_bytes_of_spark,),
    Proof.ALL_NAN: (_minimum_of_numpy,),
}
