"""One operation through a REST catalog of which one request fails: what may be left of it.

The proxy of :mod:`tests.histories.proxy` stands before the catalog, which is a stub or Iceberg's own server.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

import tableformats as tf
from tableformats.catalog import pyiceberg as catalog_module
from tableformats.catalog import pyiceberg_commits

from ..support.rest_catalog import RestCatalogStub
from .failing import FaultFoundError, without_waiting
from .proxy import FaultProxy

__all__ = ["FAULTS", "OPERATIONS", "FailingCatalog", "java_catalog", "refusal", "stub_catalog"]

FAULTS = (
    *("409", "429", "500", "502", "503", "504", "close", "hang", "rubbish"),
    *("409 lost", "500 lost", "502 lost", "503 lost", "504 lost", "close lost", "hang lost", "half", "rubbish lost"),
    *("503 from then on", "503 lost from then on", "close lost from then on"),
)
"""With "lost", and "half", the catalog does it first. "from then on": all later requests of the operation fail, too."""
FIRST = pa.table({"id": [0, 1, 2, 3], "p": [0, 1, 0, 1]})
NEW = pa.table({"id": [100, 101], "p": [0, 0]})
_SCHEMA = NEW.schema

Catalog = dict[str, str]


def _on(verb: Callable[[Any], Any]) -> Callable[[str, Catalog], Any]:
    return lambda name, catalog: verb(tf.open_table(name, catalog=catalog))


def _two(name: str, catalog: Catalog) -> None:
    with tf.transaction(catalog) as txn:
        txn.append(name, NEW)
        txn.delete(f"{name}_2", "id = 1")


OPERATIONS: dict[str, Callable[[str, Catalog], Any]] = {
    "append": _on(lambda t: t.append(NEW)),
    "append once": _on(lambda t: t.append(NEW, application=("a", 1))),
    "overwrite": _on(lambda t: t.overwrite(NEW)),
    "overwrite where": _on(lambda t: t.overwrite(NEW, "p = 0")),
    "overwrite dynamic": _on(lambda t: t.overwrite(NEW, "dynamic")),
    "delete": _on(lambda t: t.delete("id > 2")),
    "alter": _on(lambda t: t.alter.add_columns({"note": "string"})),
    "branch": _on(lambda t: t.create_branch("b")),
    "create": lambda name, catalog: tf.create_table(f"{name}_new", _SCHEMA, catalog=catalog),
    "create with rows": lambda name, catalog: tf.write_table(NEW, f"{name}_new", catalog=catalog),
    "replace": lambda name, catalog: tf.write_table(NEW, name, catalog=catalog, mode="replace"),
    "two tables": _two,
}


class FailingCatalog:
    """A catalog whose answers fail by plan.

    Parameters
    ----------
    uri : str
        Of the catalog.
    folder : Path
        All files of its tables are below it.
    copy : callable
        (name of a table in the namespace ``n``): makes it the table ``n.base``, with its own metadata from then on.
    patience_s : float
        How long an answer is waited for. A catalog that commits to one table after the other needs more than that for
        all of them, or a look at them may find half of a commit.
    """

    def __init__(self, uri: str, folder: Path, copy: Callable[[str], None], patience_s: float = 0.2) -> None:
        self.direct: Catalog = {"name": "c", "type": "rest", "uri": uri}
        self._folder, self._copy, self._patience_s = folder, copy, patience_s
        self._uri, self._numbers = uri, itertools.count()
        self._requests: dict[str, int] = {}
        self._after: dict[str, Any] = {}
        tf.write_table(FIRST, "n.base", catalog=self.direct, partition_by="p")
        tf.open_table("n.base", catalog=self.direct).append(FIRST)

    def requests_of(self, operation: str) -> int:
        """How many requests an operation has when nothing fails."""
        if operation not in self._requests:
            proxy, name, _, error = self._run(operation, -1, "")
            assert error is None, error
            self._requests[operation], self._after[operation] = len(proxy.requests), self._state(name)
        return self._requests[operation]

    def judge(self, operation: str, number: int, fault: str) -> str:
        """Let one request fail. Gives what came of it. Raises FaultFoundError where harm was done."""
        self.requests_of(operation)
        proxy, name, before, error = self._run(operation, number, fault)
        found, outcome = self._harm(operation, name, before, error)
        if found:
            request = proxy.requests[number] if number < len(proxy.requests) else None
            raise FaultFoundError(f"{operation}, request {number} {request}, {fault}: {found}; {error!r}")
        return outcome

    def _run(self, operation: str, number: int, fault: str) -> tuple[FaultProxy, str, set[Path], Exception | None]:
        name = f"n.t{next(self._numbers)}"
        for made in (name, f"{name}_2"):
            self._copy(made.removeprefix("n."))
        kind, _, then = fault.partition(" from ")

        def plan(n: int, method: str, path: str) -> str | None:
            return kind if n == number or (then and n > number >= 0) else None

        before = set(self._folder.rglob("*.parquet"))
        # Where nothing is to fail, a machine that is busy must not look like a fault.
        limits = _short_limits(self._patience_s if fault else 60)
        proxied = FaultProxy(self._uri, plan, refusal=refusal, hang_s=self._patience_s + 0.4)
        with proxied as proxy, limits, without_waiting():
            try:
                OPERATIONS[operation](name, {**self.direct, "uri": proxy.endpoint})
            except Exception as error:
                return proxy, name, before, error
        return proxy, name, before, None

    def _harm(self, operation: str, name: str, before: set[Path], error: Exception | None) -> tuple[list[str], str]:
        base, new, state = self._one("n.base"), self._after[operation], self._state(name)
        old = [base, base, None]
        is_old, is_new = state == old, state == new
        if error is None:
            outcome, found = "done", [] if is_new else [f"it is done, and there is {state}"]
        elif not isinstance(error, tf.TableFormatsError):
            return ["an error without a type"], "untyped"
        elif isinstance(error, tf.CommitUnknownError):
            outcome, found = "unknown", [] if is_old or is_new else [f"half of it is there: {state}"]
        elif error.committed is True:
            outcome, found = "done, with an error", [] if is_new else ["the error says that it is done"]
        else:
            outcome, found = "refused", [] if is_old else [f"nothing was done, and there is {state}"]
            if set(self._folder.rglob("*.parquet")) - before:
                found.append("data files are left over")
        return found + self._goes_on(name, state), outcome

    def _state(self, name: str) -> list[Any]:
        """What the tables of a case hold."""
        return [self._one(one) for one in (name, f"{name}_2", f"{name}_new")]

    def _one(self, name: str) -> Any:
        """The columns, rows and references of a table; None: there is none. All that any snapshot names is read."""
        try:
            table = tf.open_table(name, catalog=self.direct)
        except tf.TableNotFoundError:
            return None
        for version in table.inspect.snapshots()["snapshot_id"].to_pylist():
            table.scan(version=version).to_arrow()
        rows = sorted(map(repr, table.scan().to_arrow().to_pylist()))
        return table.schema.names, rows, sorted(table.inspect.refs()["name"].to_pylist())

    def _goes_on(self, name: str, state: list[Any]) -> list[str]:
        """The next writer is not disturbed, and the verifier finds nothing."""
        table = tf.open_table(name, catalog=self.direct)
        table.append(pa.table({"id": [999], "p": [1]}))
        found = [] if table.scan().count() == len(state[0][1]) + 1 else ["the next writer's row is not there"]
        return found + [f"the verifier: {wrong}" for wrong in itertools.islice(table.verify(), 3)]


def refusal(status: str) -> tuple[str, bytes]:
    """What a catalog answers with a status."""
    error = {
        "message": "refused",
        "type": "CommitFailedException" if status == "409" else "Refused",
        "code": int(status),
    }
    return "application/json", json.dumps({"error": error}).encode()


@contextmanager
def _short_limits(seconds: float) -> Iterator[None]:
    from tableformats_iceberg.write import swap

    with (
        mock.patch.object(catalog_module, "TIMEOUTS_S", (seconds, seconds)),
        mock.patch.object(pyiceberg_commits, "_TIMEOUTS_S", (seconds, seconds)),
        mock.patch.object(swap, "LOOKS_S", (0.0, 0.0)),
    ):
        yield


@contextmanager
def stub_catalog(folder: Path) -> Iterator[FailingCatalog]:
    """A stub of a catalog."""
    with RestCatalogStub() as stub:
        stub.tables[("n", "other")] = {}
        stub.warehouse = str(folder)
        stub.commits_several = True

        def copy(name: str) -> None:
            stub.tables[("n", name)] = json.loads(json.dumps(stub.tables[("n", "base")]))

        yield FailingCatalog(stub.uri, folder, copy)


@contextmanager
def java_catalog(folder: Path) -> Iterator[FailingCatalog]:
    """Iceberg's own server. Skips where it cannot run."""
    from pyiceberg.catalog import load_catalog

    from ..support.iceberg_rest import running_rest_catalog

    with running_rest_catalog(folder) as uri:
        catalog = load_catalog("c", type="rest", uri=uri)
        catalog.create_namespace("n")
        known: list[str] = []

        def copy(name: str) -> None:
            known[:] = known or [catalog.load_table("n.base").metadata_location]
            catalog.register_table(f"n.{name}", known[0])

        yield FailingCatalog(uri, folder, copy, patience_s=1.5)
