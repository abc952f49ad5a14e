"""Iceberg's metadata tables, by name. Columns have the names of Iceberg's own metadata tables.

Source: Iceberg documentation, "Spark Queries", "Inspecting tables".
"""

from __future__ import annotations

import base64
import datetime as dt
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import PartitionField, PartitionSpec, UnsupportedFeatureError

from ..manifests.entries import DATA_FILE, EQUALITY_DELETES, POSITION_DELETES
from ..manifests.manifest_list import DATA, DELETES, Manifest, ManifestList
from ..metadata.table_metadata import TableMetadata
from .file_tables import entries_table, files_table, partitions_table
from .history import current_log, history_table
from .snapshot_view import SnapshotView

__all__ = ["metadata_table"]

_TIME = pa.timestamp("ms", "UTC")
_EPOCH = dt.date(1970, 1, 1)
_SUMMARY = pa.map_(pa.string(), pa.string())


def metadata_table(name: str, snapshot: SnapshotView) -> pa.Table:
    """Compute the metadata table ``name``. Raises UnsupportedFeatureError, which lists the names, for unknown ones."""
    metadata = snapshot.metadata
    makers: dict[str, Callable[[], pa.Table]] = {
        "snapshots": lambda: _snapshots(metadata),
        "history": lambda: _log(metadata),
        "metadata_log_entries": lambda: _metadata_log(metadata),
        "refs": lambda: _refs(metadata),
        "manifests": lambda: _manifests(snapshot.manifest_list, metadata.specs),
        "entries": lambda: entries_table(snapshot),
        "files": lambda: files_table(snapshot),
        "data_files": lambda: files_table(snapshot, (DATA_FILE,)),
        "delete_files": lambda: files_table(snapshot, (POSITION_DELETES, EQUALITY_DELETES)),
        "partitions": lambda: partitions_table(snapshot),
    }
    if name not in makers:
        raise UnsupportedFeatureError(
            f"there is no metadata table {name!r}",
            path=metadata.path,
            field=name,
            hint=f"There are {', '.join(sorted(makers))}",
        )
    return makers[name]()


def _snapshots(metadata: TableMetadata) -> pa.Table:
    rows = sorted(metadata.snapshots.values(), key=lambda s: s.timestamp_ms)
    return pa.table(
        {
            "committed_at": pa.array([s.timestamp_ms for s in rows], pa.int64()).cast(_TIME),
            "snapshot_id": pa.array([s.id for s in rows], pa.int64()),
            "parent_id": pa.array([s.parent_id for s in rows], pa.int64()),
            "operation": pa.array([s.summary.get("operation") for s in rows], pa.string()),
            "manifest_list": pa.array([s.manifest_list for s in rows], pa.string()),
            "summary": pa.array([[i for i in s.summary.items() if i[0] != "operation"] for s in rows], _SUMMARY),
        }
    )


def _log(metadata: TableMetadata) -> pa.Table:
    history = history_table(metadata, None)
    names = {"timestamp": "made_current_at", "version": "snapshot_id"}
    log = history.select(["timestamp", "version", "parent_id", "is_current_ancestor"])
    log = log.rename_columns([names.get(n, n) for n in log.column_names])
    oldest_first = pa.array(range(log.num_rows - 1, -1, -1), pa.int64())
    return log.take(oldest_first)


def _metadata_log(metadata: TableMetadata) -> pa.Table:
    """The table's metadata files, the newest last, each with the snapshot that was current then."""
    log = [*metadata.metadata_log, (metadata.last_updated_ms, metadata.path)]
    current = current_log(metadata)
    ids = [next((snapshot_id for at, snapshot_id in current if at <= time), None) for time, _ in log]
    found = [None if i is None else metadata.snapshots.get(i) for i in ids]
    return pa.table(
        {
            "timestamp": pa.array([time for time, _ in log], pa.int64()).cast(_TIME),
            "file": pa.array([file for _, file in log], pa.string()),
            "latest_snapshot_id": pa.array(ids, pa.int64()),
            "latest_schema_id": pa.array([s.schema_id if s else None for s in found], pa.int32()),
            "latest_sequence_number": pa.array([s.sequence_number if s else None for s in found], pa.int64()),
        }
    )


def _refs(metadata: TableMetadata) -> pa.Table:
    refs = [metadata.refs[name] for name in sorted(metadata.refs)]
    return pa.table(
        {
            "name": pa.array([r.name for r in refs], pa.string()),
            "type": pa.array([r.type.upper() for r in refs], pa.string()),
            "snapshot_id": pa.array([r.snapshot_id for r in refs], pa.int64()),
            "max_reference_age_in_ms": pa.array([r.max_reference_age_ms for r in refs], pa.int64()),
            "min_snapshots_to_keep": pa.array([r.min_snapshots_to_keep for r in refs], pa.int32()),
            "max_snapshot_age_in_ms": pa.array([r.max_snapshot_age_ms for r in refs], pa.int64()),
        }
    )


def _manifests(manifest_list: ManifestList, specs: Mapping[int, PartitionSpec]) -> pa.Table:
    rows = manifest_list.manifests
    columns = {
        "content": pa.array([m.content for m in rows], pa.int32()),
        "path": pa.array([m.path for m in rows], pa.string()),
        "length": pa.array([_known(m.length) for m in rows], pa.int64()),
        "partition_spec_id": pa.array([m.spec_id for m in rows], pa.int32()),
        "added_snapshot_id": pa.array([m.added_snapshot_id for m in rows], pa.int64()),
    }
    for what, content in (("data", DATA), ("delete", DELETES)):
        for state in ("added", "existing", "deleted"):
            counts = [_known(getattr(m, f"{state}_files")) if m.content == content else 0 for m in rows]
            columns[f"{state}_{what}_files_count"] = pa.array(counts, pa.int32())
    summary = pa.struct(
        [
            ("contains_null", pa.bool_()),
            ("contains_nan", pa.bool_()),
            ("lower_bound", pa.string()),
            ("upper_bound", pa.string()),
        ]
    )
    columns["partition_summaries"] = pa.array(
        [_summaries(manifest_list, i, m, specs) for i, m in enumerate(rows)], pa.list_(summary)
    )
    return pa.table(columns)


def _known(count: int) -> int | None:
    return None if count < 0 else count


def _summaries(
    manifest_list: ManifestList, row: int, manifest: Manifest, specs: Mapping[int, PartitionSpec]
) -> list[dict[str, object]] | None:
    spec = specs.get(manifest.spec_id) if manifest.spec_id is not None else None
    summaries = manifest_list.summaries(np.array([row]), spec) if spec is not None else None
    if spec is None or summaries is None or not len(summaries.rows):
        return None
    return [
        {
            "contains_null": summaries.contains_null[f.id][0].as_py(),
            "contains_nan": summaries.contains_nan[f.id][0].as_py(),
            "lower_bound": _text(summaries.lower[f.id][0], f),
            "upper_bound": _text(summaries.upper[f.id][0], f),
        }
        for f in spec.fields
    ]


def _text(scalar: pa.Scalar, field: PartitionField) -> str | None:
    """A partition value as text. Parts of time are ``2024``, ``2024-01``, ``2024-01-31`` or ``2024-01-31-12``."""
    try:
        value: Any = scalar.as_py()
    except (OverflowError, ValueError):
        # Arrow has times and dates outside of Python's range.
        return str(scalar.value)
    if value is None:
        return None
    unit = field.transform.name
    if unit == "year":
        return f"{1970 + value:04}"
    if unit == "month":
        return f"{1970 + value // 12:04}-{value % 12 + 1:02}"
    if unit == "hour":
        return f"{_EPOCH + dt.timedelta(days=value // 24)}-{value % 24:02}" if _is_a_day(value // 24) else str(value)
    if isinstance(value, float):
        return str(value).replace("inf", "Infinity")
    if str(field.type) == "uuid":
        return str(uuid.UUID(bytes=value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else str(value)


def _is_a_day(days: int) -> bool:
    """Whether Python has a date for it. A damaged bound may be any number."""
    return (dt.date.min - _EPOCH).days <= days <= (dt.date.max - _EPOCH).days
