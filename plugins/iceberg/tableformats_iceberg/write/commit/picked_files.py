"""A snapshot that is not in a branch yet is taken into it: as it is where it follows the branch's own, else its files.

Write-audit-publish: a snapshot with a ``wap.id`` in its summary is written and checked before the branch has it.
Source: Iceberg documentation, "Branching and Tagging", "Configuration" (``write.wap.enabled``); the keys of summaries
are those of the Java implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from tableformats.plugin import ConstraintViolationError, SnapshotNotFoundError, UnsupportedFeatureError, dataclass

from ...manifests.entries import ADDED
from ...manifests.manifest_list import DATA, Manifest
from ...metadata.table_metadata import Snapshot, TableMetadata
from ...snapshot import IcebergSnapshot
from ..encode.avro_encoding import longs, optional
from ..encode.carried_entries import carried_entries
from ..encode.entry_batches import EntryBatch
from ..properties import WAP_ENABLED

__all__ = ["PUBLISHED_ID", "STAGED_ID", "Pick", "check_staging", "pick_of", "picked_entries", "summary_of"]

STAGED_ID, PUBLISHED_ID, SOURCE_ID = "wap.id", "published-wap-id", "source-snapshot-id"
_FIRST_ROW_ID = 142


@dataclass(frozen=True)
class Pick:
    """A snapshot by its id, or by its ``wap.id``."""

    snapshot_id: int | None = None
    wap_id: str | None = None


def check_staging(properties: Mapping[str, str], metadata: TableMetadata) -> bool:
    """Whether the properties of a commit ask for a snapshot that no branch has.

    Raises
    ------
    UnsupportedFeatureError
        The table does not allow that.
    ConstraintViolationError
        A snapshot has this id already.
    """
    wap_id = properties.get(STAGED_ID)
    if wap_id is None:
        return False
    if not WAP_ENABLED.of(metadata.properties):
        raise UnsupportedFeatureError(
            f"a commit with {STAGED_ID} is not in the table until it is published, which the table does not allow",
            path=metadata.path,
            field=WAP_ENABLED.name,
            hint=f"Set the property {WAP_ENABLED.name} to true first",
        )
    if any(s.summary.get(STAGED_ID) == wap_id for s in metadata.snapshots.values()):
        raise ConstraintViolationError(f"there is a snapshot with the {STAGED_ID} {wap_id!r}", field=STAGED_ID)
    return True


def pick_of(pick: Pick, metadata: TableMetadata, head: int | None) -> Snapshot:
    """The snapshot that is to be taken into the branch whose newest snapshot is ``head``.

    Raises
    ------
    SnapshotNotFoundError
        There is none.
    ConstraintViolationError
        The branch has it, or has published its ``wap.id``.
    UnsupportedFeatureError
        It does not follow the branch's newest snapshot, and did more than to add files.
    """
    found = [s for s in metadata.snapshots.values() if pick.snapshot_id == s.id or _is_staged(s, pick.wap_id)]
    if not found:
        what = (
            f"no snapshot {pick.snapshot_id}" if pick.wap_id is None else f"no snapshot of the wap.id {pick.wap_id!r}"
        )
        ids = sorted({s.summary[STAGED_ID] for s in metadata.snapshots.values() if STAGED_ID in s.summary})
        hint = f"Staged are: {', '.join(ids[:10])}" if ids else "No snapshot is staged"
        raise SnapshotNotFoundError(f"there is {what}", path=metadata.path, hint=hint)
    (picked,) = found[-1:]
    branch = metadata.ancestors(head)
    wap_id = picked.summary.get(STAGED_ID)
    if picked.id in {s.id for s in branch}:
        raise ConstraintViolationError(f"the branch has snapshot {picked.id} already", path=metadata.path)
    for snapshot in branch:
        published = (snapshot.summary.get(PUBLISHED_ID), snapshot.summary.get(SOURCE_ID))
        if (wap_id is not None and published[0] == wap_id) or published[1] == str(picked.id):
            raise ConstraintViolationError(
                f"snapshot {picked.id} was taken into the branch already, as {snapshot.id}", path=metadata.path
            )
    if picked.parent_id != head and picked.summary.get("operation") != "append":
        raise UnsupportedFeatureError(
            f"snapshot {picked.id} removed files of an older version, and is not taken into a newer one of the branch",
            path=metadata.path,
            field="cherry_pick",
            hint="Do what it did again, upon the branch",
        )
    return picked


def _is_staged(snapshot: Snapshot, wap_id: str | None) -> bool:
    return wap_id is not None and snapshot.summary.get(STAGED_ID) == wap_id


def summary_of(picked: Snapshot) -> dict[str, str]:
    """What the summary of a snapshot says that has the files of another one."""
    found = {SOURCE_ID: str(picked.id)}
    if STAGED_ID in picked.summary:
        found[PUBLISHED_ID] = picked.summary[STAGED_ID]
    return found


def picked_entries(
    source: IcebergSnapshot, listed: Iterable[Manifest], picked: Snapshot, snapshot_id: int, version: int
) -> list[tuple[int, EntryBatch]]:
    """The files that a snapshot added, as entries that ``snapshot_id`` adds; with the id of their spec.

    ``source`` is the snapshot ``picked``, and ``listed`` the manifests of its list.
    """
    own = [m for m in listed if m.content == DATA and m.added_snapshot_id == picked.id]
    found = []
    for carried in carried_entries(source.manifests, own, version):
        entries = carried.entries.take(np.flatnonzero(carried.entries.snapshot_id == picked.id))
        count = len(entries)
        if not count:
            continue
        members = dict(entries.members)
        if _FIRST_ROW_ID in members:  # its rows get new ids in the branch
            members[_FIRST_ROW_ID] = optional(longs(np.zeros(count, np.int64)), np.zeros(count, bool))
        unknown = np.full(count, -1, np.int64)
        fresh = replace(
            entries,
            status=np.full(count, ADDED, np.int64),
            snapshot_id=np.full(count, snapshot_id, np.int64),
            sequence_number=unknown,
            file_sequence_number=unknown,
            members=members,
        )
        found.append((carried.spec.id, fresh))
    return found
