"""A change as the lines of a commit: commitInfo first, then the other actions.

Source: Delta PROTOCOL.md, "Add File and Remove File", "Commit Provenance Information", "In-Commit Timestamps",
"Transaction Identifiers".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import ConstraintViolationError, TableChange, WriteTarget, dataclass

from ..evolution.metadata_change import with_commit, without_nulls
from ..evolution.properties import is_true
from ..evolution.protocol_upgrade import supports
from .domains import with_row_ids
from .file_actions import add_actions, change_actions, remove_actions
from .identity import identity_metadata
from .isolation import level_of
from .replacement import replaced_actions, replaces

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot
    from .definition import TableDefinition
    from .restoring import FileDifference

__all__ = ["OPERATIONS", "CommitContext", "commit_actions", "commit_lines", "operation_of"]

OPERATIONS: Mapping[str, str] = {
    "append": "WRITE",
    "overwrite": "WRITE",
    "delete": "DELETE",
    "update": "UPDATE",
    "rewrite": "OPTIMIZE",
    "alter": "SET TBLPROPERTIES",
    "create": "CREATE TABLE",
}
"""The names of operations in the table's history, as delta-spark has them."""
_ALTERATIONS = {
    "add_columns": "ADD COLUMNS",
    "rename_column": "RENAME COLUMN",
    "drop_columns": "DROP COLUMNS",
    **dict.fromkeys(
        ("change_type", "set_nullable", "set_required", "set_comment", "set_default", "move_column"), "CHANGE COLUMN"
    ),
    "set_properties": "SET TBLPROPERTIES",
    "unset_properties": "UNSET TBLPROPERTIES",
    "add_constraint": "ADD CONSTRAINT",
    "drop_constraint": "DROP CONSTRAINT",
    "restore": "RESTORE",
}
"""The names of alterations, by the verb of :class:`tableformats.table.alter.Alter`."""


@dataclass(frozen=True)
class CommitContext:
    """What a commit is made upon.

    Attributes
    ----------
    snapshot : DeltaSnapshot or None
        The version before it; None where there is none.
    definition : TableDefinition
        That of the version that the commit makes.
    target : WriteTarget
        How the added files were written.
    storage : Storage
        That of the table.
    txn_id : str
        Makes the bytes of the commit unique.
    now : int
        Milliseconds since the epoch.
    difference : FileDifference, optional
        Actions of files that are not new.
    """

    snapshot: DeltaSnapshot | None
    definition: TableDefinition
    target: WriteTarget
    storage: Storage
    txn_id: str
    now: int
    difference: FileDifference | None = None

    @property
    def timestamp(self) -> int:
        """The time of the commit, milliseconds since the epoch; later than that before if the log has timestamps."""
        if not is_true(self.definition.properties, "delta.enableInCommitTimestamps") or self.snapshot is None:
            return self.now
        return max(self.now, (self.snapshot.timestamp_ms or 0) + 1)

    @property
    def version(self) -> int:
        """The version that the commit makes."""
        return 0 if self.snapshot is None else self.snapshot.version + 1


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def commit_lines(actions: Iterable[dict[str, Any]]) -> bytes:
    """The file of a commit. Raises ConstraintViolationError for half a surrogate pair, which UTF-8 does not have."""
    lines = []
    for action in actions:
        try:
            lines.append(_encode(action).encode())
        except UnicodeEncodeError:
            raise ConstraintViolationError(
                "a text of the commit holds half a surrogate pair", field=next(iter(action)), hint="Nothing was written"
            ) from None
    return b"\n".join(lines) + b"\n"


def commit_actions(change: TableChange, context: CommitContext) -> Iterator[dict[str, Any]]:
    """The actions of a commit, each an object of one member: its kind."""
    snapshot, definition = context.snapshot, context.definition
    yield {"commitInfo": _commit_info(change, context)}
    if snapshot is None or definition.protocol != snapshot.protocol:
        yield {"protocol": without_nulls(definition.protocol)}
    metadata = identity_metadata(definition.metadata, context.target, change.added) or definition.metadata
    if definition.starts_commit_times:
        metadata = with_commit(metadata, context.version, context.timestamp)
    if snapshot is None or metadata is not snapshot.state.metadata:
        yield {"metaData": without_nulls(metadata)}
    if change.application is not None:
        name, number = change.application
        yield {"txn": {"appId": name, "version": number, "lastUpdated": context.now}}
    if snapshot is not None and replaces(change):
        yield from replaced_actions(snapshot, context.storage, context.now)
    adds = list(add_actions(change, context.target, definition, context.now))
    if context.difference is not None:
        yield from context.difference.remove_actions(context.now)
        adds += context.difference.add_actions()
    if supports(definition.protocol, "rowTracking"):
        yield from with_row_ids([action for action in adds if "baseRowId" not in action["add"]], snapshot)
    yield from remove_actions(change, context.target, context.now)
    yield from adds
    yield from change_actions(change, context.target)


def _commit_info(change: TableChange, context: CommitContext) -> dict[str, Any]:
    info: dict[str, Any] = {}
    now, snapshot, properties = context.timestamp, context.snapshot, context.definition.properties
    if is_true(properties, "delta.enableInCommitTimestamps"):
        info["inCommitTimestamp"] = now
    if supports(context.definition.protocol, "rowTracking"):
        is_kept = bool(context.target.carried) or change.removed is None
        info["tags"] = {"delta.rowTracking.preserved": str(is_kept).lower()}
    info |= {
        "timestamp": now,
        "operation": operation_of(change),
        "operationParameters": _parameters(change, context),
    }
    if snapshot is not None:
        info["readVersion"] = snapshot.version
    return {
        **info,
        "isolationLevel": level_of(change, properties),
        "isBlindAppend": change.is_blind_append and change.metadata is None,
        "operationMetrics": {name: str(count) for name, count in _metrics(change, context).items()},
        **({"userMetadata": json.dumps(dict(change.properties), ensure_ascii=False)} if change.properties else {}),
        "engineInfo": "tableformats",
        "txnId": context.txn_id,
    }


def _parameters(change: TableChange, context: CommitContext) -> dict[str, str]:
    names = [f.name for f in context.definition.table_metadata.partition_columns]
    modes = {"append": "Append", "overwrite": "Overwrite"}
    found: dict[str, str] = {}
    if change.operation in modes:
        found["mode"] = modes[change.operation]
    if change.operation in (*modes, "create"):
        found["partitionBy"] = json.dumps(names, ensure_ascii=False)
    if change.operation == "alter":
        asked = {name: value for name, value in change.parameters.items() if name != "verb"}
        return {name: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for name, v in asked.items()}
    if change.read is not None and not (change.reads_all and change.operation == "overwrite"):
        found["predicate"] = json.dumps([str(change.read)], ensure_ascii=False)
    return found


def operation_of(change: TableChange) -> str:
    """The name of a change in the table's history."""
    created = None if change.metadata is None else change.metadata.create
    if created is not None and created.replace:
        return "CREATE OR REPLACE TABLE" if change.added is None else "CREATE OR REPLACE TABLE AS SELECT"
    if change.operation == "alter":
        return _ALTERATIONS.get(str(change.parameters.get("verb")), OPERATIONS["alter"])
    if change.operation == "create" and change.added is not None:
        return "CREATE TABLE AS SELECT"
    return OPERATIONS[change.operation]


def _metrics(change: TableChange, context: CommitContext) -> dict[str, int]:
    difference = context.difference
    found: dict[str, int] = {} if difference is None or not difference.data_change else difference.metrics
    added, removed = change.added, change.removed
    if removed is not None:
        found["numRemovedFiles"] = removed.num_rows
        found["numRemovedBytes"] = sum(removed.column("size_bytes").to_pylist())
    if added is not None:
        found["numAddedFiles" if change.operation == "delete" else "numFiles"] = added.num_rows
        found["numOutputRows"] = sum(added.column("record_count").to_pylist())
        found["numOutputBytes"] = sum(added.column("size_bytes").to_pylist())
    rows = {"numDeletedRows": change.deleted_rows, "numCopiedRows": change.copied_rows}
    found.update({name: count for name, count in rows.items() if count is not None})
    return found
