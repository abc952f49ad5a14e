"""The history of an Iceberg table. It needs less than the metadata tables, so it has a module of its own."""

from __future__ import annotations

import pyarrow as pa

from tableformats.plugin import array_of, text_maps, whole_number

from ..metadata.table_metadata import Snapshot, TableMetadata

__all__ = ["current_log", "history_table"]


def current_log(metadata: TableMetadata) -> list[tuple[int, int]]:
    """(ms, snapshot id): when each snapshot became current, newest first. By lineage if the table has no log."""
    if metadata.snapshot_log:
        return list(reversed(metadata.snapshot_log))
    return [(s.timestamp_ms, s.id) for s in metadata.ancestors(metadata.current_snapshot_id)]


def history_table(metadata: TableMetadata, limit: int | None) -> pa.Table:
    """See :meth:`tableformats.plugin.FormatTable.history`."""
    log = current_log(metadata)[:limit]
    ancestors = {s.id for s in metadata.ancestors(metadata.current_snapshot_id)}
    found: list[Snapshot | None] = [metadata.snapshots.get(snapshot_id) for _, snapshot_id in log]
    return pa.table(
        {
            "version": array_of([snapshot_id for _, snapshot_id in log], pa.int64()),
            "timestamp": array_of([at for at, _ in log], pa.timestamp("ms", "UTC")),
            "operation": array_of([s.summary.get("operation") if s else None for s in found], pa.string()),
            "parent_id": array_of([s.parent_id if s else None for s in found], pa.int64()),
            "is_current_ancestor": array_of([snapshot_id in ancestors for _, snapshot_id in log], pa.bool_()),
            "summary": text_maps([list(s.summary.items()) if s else None for s in found]),
            "added_rows": array_of([_count(s, "added-records") for s in found], pa.int64()),
            "deleted_rows": array_of([_deleted_rows(s) for s in found], pa.int64()),
        }
    )


def _count(snapshot: Snapshot | None, name: str) -> int | None:
    """A metric of a snapshot's summary (Iceberg spec, Appendix F)."""
    return None if snapshot is None else whole_number(snapshot.summary.get(name))


def _deleted_rows(snapshot: Snapshot | None) -> int | None:
    """The rows of removed files, and the positions by which there are more deletes than before."""
    removed = _count(snapshot, "deleted-records")
    more = _count(snapshot, "added-position-deletes"), _count(snapshot, "removed-position-deletes")
    if removed is None and more[0] is None:
        return None
    return max(0, (removed or 0) + (more[0] or 0) - (more[1] or 0))
