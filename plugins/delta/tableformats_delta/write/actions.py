"""A change as the lines of a commit: commitInfo first, then the other actions.

Source: Delta PROTOCOL.md, "Add File and Remove File", "Commit Provenance Information", "In-Commit Timestamps".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tableformats.plugin import DATETIME_MS, DAY_US, Field, PartitionField, TableChange, WriteTarget, scalar

from ..evolution.metadata_change import without_nulls
from ..evolution.protocol_upgrade import supports
from .domains import with_row_ids
from .identity import identity_metadata
from .isolation import level_of
from .target import partition_value_text, wanted_leaves
from .texts import statistics_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["OPERATIONS", "CommitContext", "commit_lines"]

OPERATIONS: Mapping[str, str] = {"append": "WRITE", "overwrite": "WRITE", "delete": "DELETE"}
"""The names of operations in the table's history, as delta-spark has them."""

_YEARS_US = 1000 * DATETIME_MS.start, 1000 * DATETIME_MS.stop - 1


@dataclass(frozen=True)
class CommitContext:
    """What a commit is made upon.

    Attributes
    ----------
    snapshot : DeltaSnapshot
        The version before it.
    target : WriteTarget
        By which its files were written.
    txn_id : str
        Makes the bytes of the commit unique.
    now : int
        Milliseconds since the epoch.
    """

    snapshot: DeltaSnapshot
    target: WriteTarget
    txn_id: str
    now: int


def commit_lines(change: TableChange, context: CommitContext) -> bytes:
    """The file of the commit."""
    snapshot = context.snapshot
    metadata = identity_metadata(snapshot.state.metadata, context.target, change.added)
    actions: list[dict[str, Any]] = [{"commitInfo": _commit_info(change, context)}]
    actions += [] if metadata is None else [{"metaData": without_nulls(metadata)}]
    adds = list(_adds(change, context))
    if supports(snapshot.protocol, "rowTracking"):
        actions += with_row_ids(adds, snapshot)
    actions += adds
    lines = [json.dumps(action, ensure_ascii=False, separators=(",", ":")) + "\n" for action in actions]
    return "".join(lines).encode()


def _commit_info(change: TableChange, context: CommitContext) -> dict[str, Any]:
    info: dict[str, Any] = {}
    now, snapshot = context.now, context.snapshot
    if snapshot.properties.get("delta.enableInCommitTimestamps", "").lower() == "true":
        info["inCommitTimestamp"] = now = max(now, (snapshot.timestamp_ms or 0) + 1)
    if supports(snapshot.protocol, "rowTracking"):
        info["tags"] = {"delta.rowTracking.preserved": "true"}
    return {
        **info,
        "timestamp": now,
        "operation": OPERATIONS[change.operation],
        "operationParameters": _parameters(change, snapshot),
        "readVersion": snapshot.version,
        "isolationLevel": level_of(change, snapshot.properties),
        "isBlindAppend": change.is_blind_append,
        "operationMetrics": {name: str(count) for name, count in _metrics(change).items()},
        "engineInfo": "tableformats",
        "txnId": context.txn_id,
    }


def _parameters(change: TableChange, snapshot: DeltaSnapshot) -> dict[str, Any]:
    names = [f.name for f in snapshot.table_metadata.partition_columns]
    return {"mode": "Append", "partitionBy": json.dumps(names, ensure_ascii=False)}


def _metrics(change: TableChange) -> dict[str, int]:
    added = change.added
    if added is None:
        return {}
    return {
        "numFiles": added.num_rows,
        "numOutputRows": sum(added.column("record_count").to_pylist()),
        "numOutputBytes": sum(added.column("size_bytes").to_pylist()),
    }


def _adds(change: TableChange, context: CommitContext) -> Iterator[dict[str, Any]]:
    if change.added is None:
        return
    target = context.target
    leaves = wanted_leaves(target, context.snapshot)
    fields = [(str(f.id), _stored_name(f, target), f) for f in target.partitioning]
    for row in _within_years(change.added).to_pylist():
        values = {
            name: None if (value := row["partition"][key]) is None else partition_value_text(f, value)
            for key, name, f in fields
        }
        yield {
            "add": {
                # A colon in the first directory would make a scheme of it.
                "path": quote(row["path"], safe="/="),
                "partitionValues": values,
                "size": row["size_bytes"],
                "modificationTime": context.now,
                "dataChange": change.data_change,
                "stats": _statistics(row, leaves),
            }
        }


def _stored_name(column: PartitionField, target: WriteTarget) -> str:
    """The key of a partition value."""
    return target.schema.path_of(column.source_id)[-1].stored_name


def _within_years(added: pa.Table) -> pa.Table:
    """The files without bounds that lie outside of the years 1 to 9999, which the log cannot spell."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    for side in ("lower", "upper"):
        column = added.column(side).combine_chunks()
        members = list(column.type)
        if not any(pa.types.is_temporal(f.type) for f in members):
            continue
        arrays = []
        for f, values in zip(members, column.flatten(), strict=True):
            if pa.types.is_temporal(f.type):
                is_date = pa.types.is_date(f.type)
                number = values.cast(pa.int32() if is_date else pa.int64()).cast(pa.int64())
                unit = DAY_US if is_date else 1
                first, last = (scalar(us // unit, pa.int64()) for us in _YEARS_US)
                held = pc.and_(pc.greater_equal(number, first), pc.less_equal(number, last))
                values = pc.if_else(held, values, scalar(None, f.type))
            arrays.append(values)
        found = pa.StructArray.from_arrays(arrays, fields=members)
        added = added.set_column(added.column_names.index(side), side, found)
    return added


def _statistics(row: Mapping[str, Any], leaves: list[tuple[Field, ...]]) -> str:
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for path in leaves:
        key = str(path[-1].id)
        names = [f.stored_name for f in path]
        if row["null_count"][key] is not None:
            _put(nulls, names, row["null_count"][key])
        # Delta's readers take NaN for the greatest value, and no count says that a file has one.
        if key in row["lower"] and not row["nan_count"].get(key):
            _put(lower, names, row["lower"][key])
            _put(upper, names, row["upper"][key])
    return statistics_text(row["record_count"], lower, upper, nulls)


def _put(tree: dict[str, Any], names: list[str], value: Any) -> None:
    for name in names[:-1]:
        tree = tree.setdefault(name, {})
    tree[names[-1]] = value
