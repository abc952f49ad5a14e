"""Lineage: the snapshots between two snapshots, from parent to child.

The changes of a snapshot are those against its parent. So a range of changes follows ``parent-snapshot-id`` back from
its last snapshot, and not the snapshot log, which says which snapshot was current when.
Source: Iceberg spec, "Snapshots".
"""

from __future__ import annotations

from typing import NoReturn

from tableformats.plugin import SnapshotNotFoundError

from .table_metadata import Snapshot, TableMetadata

__all__ = ["is_parent_expired", "snapshots_after", "snapshots_from"]

MAX_LISTED = 10


def snapshots_from(metadata: TableMetadata, starting: int, ending: int) -> list[Snapshot]:
    """The snapshots from ``starting`` to ``ending``, both included, oldest first.

    Raises
    ------
    SnapshotNotFoundError
        ``starting`` is not an ancestor of ``ending``, or has expired.
    """
    ancestors = metadata.ancestors(ending)
    ids = [snapshot.id for snapshot in ancestors]
    if starting not in ids:
        _no_ancestor(metadata, starting, ancestors)
    return ancestors[ids.index(starting) :: -1]


def snapshots_after(metadata: TableMetadata, exclusive: int | None, ending: int) -> list[Snapshot]:
    """The snapshots after ``exclusive`` up to ``ending``, oldest first. None: from the first snapshot on.

    ``exclusive`` itself may have expired, as long as its child has not.

    Raises
    ------
    SnapshotNotFoundError
        ``exclusive`` is not an ancestor of ``ending``, or it is None and the first snapshots have expired.
    """
    ancestors = metadata.ancestors(ending)
    ids = [snapshot.id for snapshot in ancestors]
    oldest = ancestors[-1]
    if exclusive == oldest.parent_id:
        return ancestors[::-1]
    if exclusive is None:
        raise SnapshotNotFoundError(
            f"the snapshots before {oldest.id} have expired",
            path=metadata.path,
            hint=f"Start behind the last of them, from_snapshot_id_exclusive={oldest.parent_id}",
        )
    if exclusive not in ids:
        _no_ancestor(metadata, exclusive, ancestors)
    return ancestors[: ids.index(exclusive)][::-1]


def is_parent_expired(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    """Whether ``snapshot`` has a parent that is not in the metadata any more."""
    return snapshot.parent_id is not None and snapshot.parent_id not in metadata.snapshots


def _no_ancestor(metadata: TableMetadata, wanted: int, ancestors: list[Snapshot]) -> NoReturn:
    newest = ancestors[0].id
    known = ", ".join(str(snapshot.id) for snapshot in ancestors[:MAX_LISTED])
    hint = f"Its ancestors that are there, newest first: {known}"
    if wanted not in metadata.snapshots:
        message = f"there is no snapshot {wanted}, or it has expired"
    elif newest in [snapshot.id for snapshot in metadata.ancestors(wanted)]:
        message, hint = f"the snapshot {wanted} came after {newest}", "Give the older one first"
    else:
        message = f"the snapshot {wanted} is no ancestor of {newest}"
    raise SnapshotNotFoundError(message, path=metadata.path, hint=hint)
