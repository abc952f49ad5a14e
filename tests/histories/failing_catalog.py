"""One operation upon a SQL catalog whose database fails once: what may be left of the table.

Faults are those of a database's driver: a statement that is never done, a database that is locked, a commit that is
done and not answered.
"""

from __future__ import annotations

import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import tableformats as tf

from .checker import check
from .company_peers import TABLE
from .failing import FIRST, OPERATIONS, PROPERTIES, FaultFoundError, without_waiting
from .faults import TYPED
from .history import History, Recorder
from .ledger import local_files
from .ledger_iceberg import iceberg_ledger, metadata_order
from .tables import SCHEMA, Op, arrow_of, perform
from .workers import makers_of

__all__ = ["SQL", "cases", "judge", "requests_of"]

SQL = "iceberg, SQL catalog"

OF_STATEMENTS = ("refused", "locked")
OF_COMMITS = ("refused", "answer lost")
_LOG = {"write.metadata.previous-versions-max": "1000"}


class _Database:
    """Counts the statements and commits of an engine of SQLAlchemy, and lets one fail."""

    def __init__(self, engine: Any) -> None:
        self._dialect = engine.dialect
        self._execute, self._commit = self._dialect.do_execute, self._dialect.do_commit
        self._dialect.do_execute, self._dialect.do_commit = self._executed, self._committed
        self.requests: list[str] = []
        self.number, self.fault = -1, ""

    def _failing(self, request: str) -> str:
        self.requests.append(request)
        return self.fault if len(self.requests) - 1 == self.number else ""

    def _executed(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if fault := self._failing(statement.split()[0]):
            raise sqlite3.OperationalError("database is locked" if fault == "locked" else "disk I/O error")
        self._execute(cursor, statement, parameters, context)

    def _committed(self, connection: Any) -> None:
        fault = self._failing("COMMIT")
        if fault == "refused":
            raise sqlite3.OperationalError("disk I/O error")
        self._commit(connection)
        if fault:
            raise sqlite3.OperationalError("the connection was lost")


@contextmanager
def _catalog() -> Iterator[tuple[Any, Path, _Database]]:
    from pyiceberg.catalog.sql import SqlCatalog

    with tempfile.TemporaryDirectory() as folder:
        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
        catalog.create_namespace("n")
        try:
            yield catalog, Path(folder, "w", "n", "t"), _Database(catalog.engine)
        finally:
            catalog.close()


def _run(name: str, number: int, fault: str) -> tuple[list[str], list[str], str]:
    """The requests, what is wrong, and the outcome of the operation."""
    op, recorder = OPERATIONS[name], Recorder()
    creates = name == "create"
    with _catalog() as (catalog, root, database), warnings.catch_warnings(), without_waiting():
        warnings.simplefilter("ignore")

        def done(process: int, op: Op) -> BaseException | None:
            if op.kind == "create":
                return _created(catalog, recorder, process, op)
            open_it = lambda: tf.open_table(TABLE, catalog=catalog)  # noqa: E731
            return perform(TABLE, "iceberg", op, recorder, process, level="serializable", table=open_it)

        if not creates:
            properties = {**PROPERTIES["iceberg"], **_LOG}
            tf.create_table(
                TABLE, SCHEMA, format="iceberg", partition_by="p", properties=properties, catalog=catalog
            ).append(arrow_of(FIRST))
        database.requests.clear()
        database.number, database.fault = number, fault
        error = done(1, op)
        database.number, requests = -1, list(database.requests)
        found = [f"another error: {error!r}"] if error is not None and not isinstance(error, TYPED) else []
        outcome = str(recorder.events[-1]["type"])
        kept = set(local_files(root))
        if creates and outcome != "ok":
            done(2, Op("again", "create", op.arguments))
        found += _goes_on(done)
        current = catalog.load_table(TABLE).metadata_location
        files = local_files(root)
        order = metadata_order(files, "metadata/" + current.rpartition("/")[2])
        ledger = iceberg_ledger(files, makers=makers_of(recorder.events), order=order)
        found += check(History.of("iceberg", "serializable", 0 if creates else 2, recorder.events), ledger)
        found += [f"the verifier says {what}" for what in list(tf.open_table(TABLE, catalog=catalog).verify())[:3]]
        orphans = {path for path in kept if path.endswith(".parquet")} - ledger.referenced
        if outcome == "fail" and orphans:
            found.append(f"data files are left over: {sorted(orphans)}")
    return requests, found, outcome


def _created(catalog: Any, recorder: Recorder, process: int, op: Op) -> BaseException | None:
    import pyarrow as pa

    fields = pa.schema([*SCHEMA, pa.field(f"c_{op.id}", pa.int64())])
    recorder.invoke(process, op.id, op.kind, **op.arguments)
    try:
        tf.create_table(TABLE, fields, format="iceberg", partition_by="p", properties=_LOG, catalog=catalog)
    except tf.TableExistsError as error:
        recorder.fail(process, op.id, error)
        return error
    except Exception as error:
        recorder.unknown(process, op.id, repr(error))
        return error
    recorder.ok(process, op.id, made=-1)
    return None


def _goes_on(done: Callable[[int, Op], BaseException | None]) -> list[str]:
    found = []
    for process, op in ((3, Op("after", "append", {"rows": [{"id": 999, "p": 2, "k": 9}]})), (4, Op("reader", "read"))):
        if (error := done(process, op)) is not None:
            found.append(f"the next {op.kind} fails: {error!r}")
    return found


@cache
def requests_of(name: str) -> tuple[str, ...]:
    """The statements and commits of an operation when nothing fails."""
    return tuple(_run(name, -1, "")[0])


def judge(name: str, number: int, fault: str) -> str:
    """Let one statement or commit of an operation fail. Gives the outcome. Raises FaultFoundError for harm."""
    requests, found, outcome = _run(name, number, fault)
    if found:
        raise FaultFoundError(f"SQL catalog, {name}, request {number} {requests[number]}, {fault}: {found}")
    return outcome


def cases() -> Iterator[tuple[str, str, int, str]]:
    """(:data:`SQL`, operation, number of the statement or commit, fault) of all faults."""
    for name in sorted(OPERATIONS):
        if name == "checkpoint":
            continue
        for number, request in enumerate(requests_of(name)):
            for fault in OF_COMMITS if request == "COMMIT" else OF_STATEMENTS:
                yield SQL, name, number, fault
