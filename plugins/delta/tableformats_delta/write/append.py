"""Append: one commit whose actions are a commitInfo and an add for each new file.

The ``txnId`` of the commitInfo makes the bytes of a commit unique, so whose a commit is can be told by comparing bytes.
Source: Delta PROTOCOL.md, "Delta Log Entries", "Add File and Remove File", "Commit Provenance Information",
"In-Commit Timestamps".
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tableformats.plugin import (
    CommitConflictError,
    Field,
    FormatAppend,
    PutOutcome,
    check_exclusive_puts,
    put_exclusively,
)

from ..log.names import LOG_DIRECTORY
from .requirements import check_append
from .texts import indexed_columns, partition_text, statistics_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["DeltaAppend"]


class DeltaAppend(FormatAppend):
    """See :class:`tableformats.plugin.FormatAppend`.

    An append reads nothing, so only a change of the metadata or of the protocol by another writer is in conflict.

    Parameters
    ----------
    newest : callable
        Gives the current version.
    storage : Storage
        The storage of the table.

    Raises
    ------
    UnsupportedFeatureError
        As :func:`check_append`; or the store has no exclusive put.
    """

    operation = "WRITE"

    def __init__(self, newest: Callable[[], DeltaSnapshot], storage: Storage) -> None:
        self._newest = newest
        self._storage = storage
        self._snapshot = newest()
        self._txn_id = str(uuid.uuid4())
        check_append(self._snapshot, storage.root)
        check_exclusive_puts(storage, storage.join(LOG_DIRECTORY))
        self.version = self._snapshot.version
        self.schema = self._snapshot.schema
        self.partition_fields = self._snapshot.table_metadata.partition_columns

    def partition_text(self, column: Field, value: object) -> str:
        """See :meth:`tableformats.plugin.FormatAppend.partition_text`."""
        return partition_text(column, value)

    def try_commit(self, files: pa.Table) -> PutOutcome:
        """See :meth:`tableformats.plugin.FormatAppend.try_commit`."""
        version = self.version + 1
        now = time.time_ns() // 1_000_000
        actions = [{"commitInfo": self._commit_info(files, now)}, *({"add": add} for add in self._adds(files, now))]
        lines = [json.dumps(action, ensure_ascii=False, separators=(",", ":")) + "\n" for action in actions]
        path = self._storage.join(LOG_DIRECTORY, f"{version:020d}.json")
        outcome = put_exclusively(self._storage, path, "".join(lines).encode())
        if outcome is PutOutcome.WON:
            self.version = version
        return outcome

    def rebase(self) -> None:
        """See :meth:`tableformats.plugin.FormatAppend.rebase`."""
        newest = self._newest()
        # What a column asks of writers is compared by check_append; a checkpoint spells the same action otherwise.
        if (newest.table_metadata, newest.state.metadata.get("id")) != (
            self._snapshot.table_metadata,
            self._snapshot.state.metadata.get("id"),
        ):
            raise CommitConflictError(
                f"another writer changed the table's metadata up to version {newest.version}", path=self._storage.root
            )
        check_append(newest, self._storage.root)
        self._snapshot, self.version = newest, newest.version

    def _commit_info(self, files: pa.Table, now: int) -> dict[str, Any]:
        info: dict[str, Any] = {}
        if self._snapshot.properties.get("delta.enableInCommitTimestamps", "").lower() == "true":
            info["inCommitTimestamp"] = now = max(now, (self._snapshot.timestamp_ms or 0) + 1)
        names = json.dumps([f.name for f in self.partition_fields], ensure_ascii=False)
        metrics = {
            "numFiles": files.num_rows,
            "numOutputRows": sum(files.column("record_count").to_pylist()),
            "numOutputBytes": sum(files.column("size_bytes").to_pylist()),
        }
        return {
            **info,
            "timestamp": now,
            "operation": self.operation,
            "operationParameters": {"mode": "Append", "partitionBy": names},
            "readVersion": self.version,
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {name: str(count) for name, count in metrics.items()},
            "engineInfo": "tableformats",
            "txnId": self._txn_id,
        }

    def _adds(self, files: pa.Table, now: int) -> list[dict[str, Any]]:
        bounds = [f.name for f in files.schema.field("lower").type]
        partitioned = {f.name for f in self.partition_fields}
        indexed = indexed_columns([n for n in self.schema.names if n not in partitioned], self._snapshot.properties)
        names = [name for name in indexed if name in bounds]
        return [self._add(row, names, now) for row in files.to_pylist()]

    def _add(self, row: dict[str, Any], names: list[str], now: int) -> dict[str, Any]:
        values = {
            f.name: None if (value := row["partition"][f.name]) is None else partition_text(f, value)
            for f in self.partition_fields
        }
        sides = [{name: row[side][name] for name in names} for side in ("lower", "upper", "null_count")]
        return {
            # A colon in the first directory would make a scheme of it.
            "path": quote(row["path"], safe="/="),
            "partitionValues": values,
            "size": row["size_bytes"],
            "modificationTime": now,
            "dataChange": True,
            "stats": statistics_text(row["record_count"], *sides),
        }
