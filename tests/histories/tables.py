"""Tables of both formats that histories are made on: in memory, in a directory, in a catalog; and their operations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pyarrow as pa

import tableformats as tf
from tableformats.io.stores import opening
from tableformats.io.stores.base import ObjectStore

from ..support.memory_store import MemoryStore
from .history import Recorder
from .ledger import Cache, Files, Ledger, files_below
from .ledger_delta import delta_ledger
from .ledger_iceberg import MAIN, iceberg_ledger
from .model import sql_of

__all__ = [
    "COLUMNS",
    "MemoryTable",
    "Op",
    "arrow_of",
    "ledger_of",
    "perform",
    "plain_rows",
    "random_operation",
    "served",
]

COLUMNS = {"id": pa.int64(), "p": pa.int64(), "k": pa.int64()}
SCHEMA = pa.schema(list(COLUMNS.items()))
LEVELS = {
    ("delta", "serializable"): "Serializable",
    ("delta", "write-serializable"): "WriteSerializable",
    ("delta", "snapshot"): "SnapshotIsolation",
    ("iceberg", "serializable"): "serializable",
    ("iceberg", "snapshot"): "snapshot",
}
"""What the levels of histories are called by the formats."""


@dataclass(frozen=True)
class Op:
    """An operation that is to be done: its kind and arguments, as the history names them. ``branch``: of which."""

    id: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    branch: str = MAIN


def arrow_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as they are written."""
    return pa.Table.from_pylist(rows, SCHEMA)


def ledger_of(
    format: str,
    files: Files,
    cache: Cache | None = None,
    makers: Mapping[str, str] | None = None,
    branch: str = MAIN,
) -> Ledger:
    if format == "delta":
        return delta_ledger(files, cache, makers)
    return iceberg_ledger(files, cache, makers, branch=branch)


# ---- stores in memory behind the public functions -------------------------------------------------------------------

_STORES: dict[str, Callable[[], ObjectStore]] = {}
_REAL_OPEN = opening.open_store
_NUMBERS = itertools.count()


def _opened(uri: str, options: Any, redactor: Any) -> ObjectStore:
    bucket = "/".join(uri.split("/", 3)[:3])
    return _STORES[bucket]() if bucket in _STORES else _REAL_OPEN(uri, options, redactor)


@contextmanager
def served(store: Callable[[], ObjectStore], location: str) -> Iterator[None]:
    """Within this context the store of a location is what ``store`` gives each time that one is opened."""
    bucket = "/".join(location.split("/", 3)[:3])
    _STORES[bucket] = store
    try:
        with mock.patch.object(opening, "open_store", _opened):
            yield
    finally:
        del _STORES[bucket]


_BASES: dict[str, tuple[str, dict[str, bytes]]] = {}
"""The location and the files of tables that histories begin with: what they have in common is made once."""


def _made(
    format: str, rows: list[dict[str, Any]], create: bool, properties: Mapping[str, str], branch: str, is_emptied: bool
) -> tuple[str, dict[str, bytes]]:
    store, location = MemoryStore(), f"s3://histories-{next(_NUMBERS)}/table"
    with served(lambda: store, location):
        if create:
            tf.create_table(location, SCHEMA, format=format, partition_by="p", properties=properties)
            if is_emptied:
                tf.open_table(location).append(arrow_of(rows[:1]))
                tf.open_table(location).delete("true")
            if rows:
                tf.open_table(location).append(arrow_of(rows))
            if branch != MAIN:
                tf.open_table(location).create_branch(branch)
    return location, store.files


@dataclass
class MemoryTable:
    """A table in memory. ``wrap`` makes the store that a writer opens of the one that holds the files."""

    format: str
    location: str
    store: MemoryStore
    cache: Cache = field(default_factory=Cache)
    makers: dict[str, str] = field(default_factory=dict)
    initial: int = 0

    @classmethod
    @contextmanager
    def made(
        cls,
        format: str,
        rows: list[dict[str, Any]] = (),  # type: ignore[assignment]
        *,
        wrap: Callable[[MemoryStore], ObjectStore] = lambda store: store,
        create: bool = True,
        branch: str = MAIN,
        is_emptied: bool = False,
        **properties: str,
    ) -> Iterator[MemoryTable]:
        """A partitioned table with rows, and with another branch; or an empty place.

        ``is_emptied``: before it has these rows, it has a row and then none.
        """
        key = repr((format, rows, create, branch, is_emptied, sorted(properties.items())))
        if key not in _BASES:
            _BASES[key] = _made(format, rows, create, properties, branch, is_emptied)
        location, files = _BASES[key]
        store = MemoryStore()
        store.files = dict(files)
        with served(lambda: wrap(store), location):
            yield cls(format, location, store, initial=create + 2 * is_emptied + bool(rows) + (branch != MAIN))

    @property
    def files(self) -> dict[str, bytes]:
        return files_below(self.store.files, self.location)

    def ledger(self, branch: str = MAIN) -> Ledger:
        """The ledger of a branch, read from the bytes in the store."""
        return ledger_of(self.format, self.files, self.cache, self.makers, branch)


# ---- operations -----------------------------------------------------------------------------------------------------


def perform(
    location: Any,
    format: str,
    op: Op,
    recorder: Recorder,
    process: int,
    *,
    level: str,
    table: tf.Table | Callable[[], tf.Table] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> BaseException | None:
    """Do an operation with the public functions, and write down what came of it. Gives the error that it ended with.

    ``table`` may be what opens the table: then that is of the operation.
    """
    recorder.invoke(process, op.id, op.kind, **op.arguments)
    try:
        answer = _done(location, format, op, table, storage_options, {"isolation": LEVELS[format, level], **options})
    except Exception as error:  # nobody knows what a store that fails has done, unless the error says it
        if getattr(error, "committed", None) is False or isinstance(error, tf.TableExistsError):
            recorder.fail(process, op.id, error)
        else:
            recorder.unknown(process, op.id, repr(error))
        return error
    recorder.ok(process, op.id, **answer)
    return None


def _done(
    location: Any,
    format: str,
    op: Op,
    table: tf.Table | Callable[[], tf.Table] | None,
    storage_options: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    given = op.arguments
    if op.kind == "create":
        fields = [*SCHEMA, pa.field(f"c_{op.id}", pa.int64())]
        tf.create_table(location, pa.schema(fields), format=format, partition_by="p", storage_options=storage_options)
        return {"made": 0 if format == "delta" else -1}
    if op.kind == "replace":
        rows = arrow_of(given["rows"]).append_column(given["column"], pa.nulls(len(given["rows"]), pa.int64()))
        options = {**options, "storage_options": storage_options}
        commit = tf.write_table(rows, location, format=format, mode="replace", partition_by="p", **options)
        return {"made": _version(commit.version)}
    if op.branch != MAIN:
        options = {**options, "branch": op.branch}
    if not isinstance(table, tf.Table):
        table = table() if table else tf.open_table(location, storage_options=storage_options)
    if op.kind == "read":
        snapshot = table.snapshot()
        return {"read": _version(snapshot.version), "rows": plain_rows(snapshot.scan().to_arrow())}
    if op.kind == "checkpoint":
        if format == "delta":
            table.checkpoint()
        return {}
    if op.kind == "compact":
        table.compact_log(0, 1)
        return {}
    if op.kind == "alter":
        read = _version(table.snapshot().version)
        return {"read": read, "made": _version(table.alter.add_columns({given["column"]: "bigint"}).version)}
    if op.kind == "restore":
        read = _version(table.snapshot().version)
        version = given["version"] if format == "delta" else _emptied(table)
        return {"read": read, "made": table.restore(version, properties={"op": op.id}, **options).version}
    if op.kind == "append_once":
        options["application"] = (given["application"], given["number"])
    with table.transaction(properties={"op": op.id}, **options) as transaction:
        read = _version(transaction.snapshot.version if transaction.snapshot else None)
        if op.kind in ("append", "append_once"):
            transaction.append(arrow_of(given["rows"]))
        elif op.kind == "delete":
            transaction.delete(sql_of(given["where"]))
        else:
            where = given["where"]
            transaction.overwrite(
                arrow_of(given["rows"]), None if not where else where if where == "dynamic" else sql_of(where)
            )
    commit = transaction.commit
    assert commit is not None
    return {"read": read, "made": _version(commit.version) if commit.attempts else None}


def _emptied(table: tf.Table) -> int:
    """The snapshot without rows of a table that was emptied."""
    return int(table.inspect.snapshots()["snapshot_id"][1].as_py())


def _version(version: Any) -> int:
    """The version as the ledger has it; -1: an Iceberg table without a snapshot."""
    return -1 if version is None else int(version)


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if v is not None} for row in rows.to_pylist()]


WHERES: tuple[list[list[Any]], ...] = (
    [["p", "=", 0]],
    [["p", "=", 1]],
    [["k", "<", 4]],
    [["k", ">=", 6]],
    [["p", "=", 1], ["k", "<", 5]],
    [["k", "=", 3]],
    [["id", "<", 0]],
)


def random_operation(rng: random.Random, name: str, numbers: Iterator[int], kinds: tuple[str, ...]) -> Op:
    """An operation whose new rows nobody else has."""
    kind = rng.choice(kinds)

    def rows(*partitions: int) -> list[dict[str, Any]]:
        return [
            {"id": next(numbers), "p": rng.choice(partitions), "k": rng.randrange(10)}
            for _ in range(rng.choice((1, 1, 2)))
        ]

    if kind in ("append",):
        return Op(name, kind, {"rows": rows(0, 1, 2)})
    if kind == "append_once":
        return Op(name, kind, {"rows": rows(0, 1, 2), "application": rng.choice("ab"), "number": rng.randrange(4)})
    if kind == "delete":
        return Op(name, kind, {"where": rng.choice(WHERES)})
    if kind == "overwrite":
        way = rng.choice(("all", "dynamic", "where"))
        if way == "all":
            return Op(name, kind, {"rows": rows(0, 1, 2), "where": []})
        if way == "dynamic":
            return Op(name, kind, {"rows": rows(0, 1, 2), "where": "dynamic"})
        partition = rng.choice((0, 1))
        return Op(name, kind, {"rows": rows(partition), "where": [["p", "=", partition]]})
    if kind == "alter":
        return Op(name, kind, {"column": f"c_{name}"})
    return Op(name, kind)
