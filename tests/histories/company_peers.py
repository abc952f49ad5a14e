"""Writers of mixed company: each does an operation of a history with the functions of its own library."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import tableformats as tf

from .history import Recorder
from .model import sql_of
from .tables import Op, arrow_of, plain_rows
from .workers import Worker

__all__ = ["ELSEWHERE", "KINDS", "PEERS", "Peer", "Place", "peers"]

KINDS = ("append", "append", "append", "delete", "overwrite", "read")
"""What all writers do; of overwrites those of all rows and those of a condition."""
ELSEWHERE = "?"
"""Stands for the version that an operation made, where its library does not say it."""
TABLE = "n.t"
"""The table's name in catalogs."""


@dataclass(frozen=True)
class Place:
    """Where a table is: a location with the options of its store, or a catalog by its properties."""

    format: str
    location: str
    options: Mapping[str, str] = field(default_factory=dict)
    catalog: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> tf.Table:
        if self.catalog:
            return tf.open_table(TABLE, catalog=dict(self.catalog))
        return tf.open_table(self.location, storage_options=dict(self.options) or None)


class Ours(Worker):
    """tableformats."""

    isolation = ""

    def __init__(self, number: int, place: Place, level: str, recorder: Recorder, seed: int) -> None:
        super().__init__(number, place.location, place.format, level, recorder, seed, KINDS)
        self.place = place

    def step(self, table: Any = None) -> None:
        super().step(table or self.place.open)

    def warm_up(self) -> None:
        """Import what a first operation imports."""
        self.place.open().scan("k = 1 AND p = 1").to_arrow()


class Peer(Ours):
    """Does operations with another library.

    ``fails``: errors after which certainly nothing was committed. ``isolation``: what the library promises, where it is
    weaker than the level of the company.
    """

    fails: tuple[type[BaseException], ...] = ()
    isolation = ""
    kinds: tuple[str, ...] = KINDS

    def next_operation(self) -> Op:
        while (op := super().next_operation()).arguments.get("where") == "dynamic" or op.kind not in self.kinds:
            pass
        return op

    def step(self, table: Any = None) -> None:
        op = self.next_operation()
        recorder, number = self._recorder, self.number
        recorder.invoke(number, op.id, op.kind, **op.arguments)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = self.done(op)
        except self.fails as error:
            recorder.fail(number, op.id, error)
        except Exception as error:
            recorder.unknown(number, op.id, repr(error))
            self.errors.append(error)
        else:
            recorder.ok(number, op.id, **answer)

    def warm_up(self) -> None:
        self.done(Op("", "read"))

    def done(self, op: Op) -> dict[str, Any]:
        """The answer to an operation."""
        raise NotImplementedError


class DeltaRs(Peer):
    """deltalake, which opens the table anew for each operation.

    Its overwrites are not checked against files that others have added.
    """

    isolation = "snapshot"

    def __init__(self, *arguments: Any) -> None:
        from deltalake.exceptions import CommitFailedError

        super().__init__(*arguments)
        self.fails = (CommitFailedError,)

    def done(self, op: Op) -> dict[str, Any]:
        import deltalake

        options = {
            name.upper().replace("AWS_ENDPOINT", "AWS_ENDPOINT_URL"): v for name, v in self.place.options.items()
        }
        if options:
            options["AWS_CONDITIONAL_PUT"] = "etag"
        table = deltalake.DeltaTable(self.place.location, storage_options=options or None)
        read = table.version()
        if op.kind == "read":
            return {"read": read, "rows": plain_rows(table.to_pyarrow_table())}
        told = deltalake.CommitProperties(custom_metadata={"op": op.id})
        if op.kind == "delete":
            table.delete(sql_of(op.arguments["where"]), commit_properties=told)
        else:
            where = op.arguments.get("where")
            mode = "append" if op.kind == "append" else "overwrite"
            predicate = sql_of(where) if where else None
            deltalake.write_deltalake(
                table, arrow_of(op.arguments["rows"]), mode=mode, predicate=predicate, commit_properties=told
            )
        return {"read": read, "made": ELSEWHERE}


class PyIceberg(Peer):
    """PyIceberg, by the catalog of the table."""

    def __init__(self, *arguments: Any) -> None:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        super().__init__(*arguments)
        self.fails = (CommitFailedException, ValidationException)
        self._catalog = load_catalog(**self.place.catalog)

    def done(self, op: Op) -> dict[str, Any]:
        table = self._catalog.load_table(TABLE)
        read = getattr(table.current_snapshot(), "snapshot_id", -1)
        if op.kind == "read":
            return {"read": read, "rows": plain_rows(table.scan().to_arrow())}
        told = {"op": op.id}
        if op.kind == "append":
            table.append(arrow_of(op.arguments["rows"]), snapshot_properties=told)
        elif op.kind == "delete":
            table.delete(sql_of(op.arguments["where"]), snapshot_properties=told)
        else:
            where = sql_of(op.arguments["where"])
            table.overwrite(arrow_of(op.arguments["rows"]), where, snapshot_properties=told)
        return {"read": read, "made": ELSEWHERE}


class Careless(Peer):
    """Looks whether a version is there, and then renames its commit to it: what no writer beside others may do."""

    kinds = ("append", "read")

    def done(self, op: Op) -> dict[str, Any]:
        root, rows = Path(self.place.location), op.arguments.get("rows", [])
        if op.kind == "read":
            snapshot = self.place.open().snapshot()
            return {"read": snapshot.version, "rows": plain_rows(snapshot.scan().to_arrow())}
        lines = [{"commitInfo": {"timestamp": 0, "operation": "WRITE", "op": op.id, "isBlindAppend": True}}]
        for row in rows:
            path = root / f"p={row['p']}" / f"{row['id']}.parquet"
            pq.write_table(arrow_of([row]).drop_columns(["p"]), path)
            add = {"path": f"p={row['p']}/{path.name}", "partitionValues": {"p": str(row["p"])}, "dataChange": True}
            lines.append({"add": {**add, "size": path.stat().st_size, "modificationTime": 0}})
        temporary = root / f".{op.id}"
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
        version = len(list((root / "_delta_log").glob("*[0-9].json")))
        while (commit := root / "_delta_log" / f"{version:020d}.json").exists():
            version += 1
        time.sleep(0.02)
        temporary.rename(commit)
        return {"read": version - 1, "made": version}


def peers() -> Mapping[str, type[Ours]]:
    """The writers by their names."""
    from .company_jvm import DeltaSpark, IcebergSpark

    return {**PEERS, "delta-spark": DeltaSpark, "Iceberg's runtime": IcebergSpark}


PEERS: Mapping[str, type[Ours]] = {
    "tableformats": Ours,
    "deltalake": DeltaRs,
    "PyIceberg": PyIceberg,
    "careless": Careless,
}
