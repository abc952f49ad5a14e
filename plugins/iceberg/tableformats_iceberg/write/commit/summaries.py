"""The summary of a snapshot: what it added and removed, and the totals of the table.

Source: Iceberg spec, appendix F, "Optional Snapshot Summary Fields".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tableformats.plugin import dataclass, whole_number

__all__ = ["SnapshotCounts", "snapshot_summary"]

ENGINE = {"engine-name": "tableformats"}


@dataclass
class SnapshotCounts:
    """What a snapshot changes: numbers of files, rows and bytes. ``partitions`` are (spec id, encoded values)."""

    added_data_files: int = 0
    added_records: int = 0
    added_files_size: int = 0
    deleted_data_files: int = 0
    deleted_records: int = 0
    removed_files_size: int = 0
    removed_equality_delete_files: int = 0
    removed_position_delete_files: int = 0
    removed_dvs: int = 0
    removed_position_deletes: int = 0
    removed_equality_deletes: int = 0
    partitions: set[tuple[int | None, bytes]] = field(default_factory=set)

    @property
    def removed_delete_files(self) -> int:
        """Delete files of all kinds."""
        return self.removed_equality_delete_files + self.removed_position_delete_files + self.removed_dvs


_NAMES = (
    "added_data_files",
    "deleted_data_files",
    "removed_delete_files",
    "removed_equality_delete_files",
    "removed_position_delete_files",
    "removed_dvs",
    "added_records",
    "deleted_records",
    "added_files_size",
    "removed_files_size",
    "removed_position_deletes",
    "removed_equality_deletes",
)
_TOTALS = {
    "total-data-files": ("added_data_files", "deleted_data_files"),
    "total-delete-files": (None, "removed_delete_files"),
    "total-records": ("added_records", "deleted_records"),
    "total-files-size": ("added_files_size", "removed_files_size"),
    "total-position-deletes": (None, "removed_position_deletes"),
    "total-equality-deletes": (None, "removed_equality_deletes"),
}


def snapshot_summary(
    operation: str,
    counts: SnapshotCounts,
    previous: Mapping[str, str] | None,
    properties: Mapping[str, str],
    manifests: Mapping[str, int],
) -> dict[str, str]:
    """The summary of a new snapshot.

    Parameters
    ----------
    previous : mapping of str to str, optional
        The summary of the last snapshot. None: there is none, so all totals begin at 0.
    properties : mapping of str to str
        What the user says of the commit. It does not replace what is counted.
    manifests : mapping of str to int
        ``manifests-created``, ``manifests-kept``, ``manifests-replaced``, ``entries-processed``.
    """
    found = {"operation": operation, **ENGINE}
    for name in _NAMES:
        if count := getattr(counts, name):
            found[name.replace("_", "-")] = str(count)
    found["changed-partition-count"] = str(len(counts.partitions))
    found |= {name: str(count) for name, count in manifests.items()}
    for total, (added, removed) in _TOTALS.items():
        before = 0 if previous is None else whole_number(previous.get(total))
        if before is None:
            continue  # a writer before us did not count
        after = before - getattr(counts, removed) + (getattr(counts, added) if added else 0)
        if after >= 0:
            found[total] = str(after)
    return {**{k: v for k, v in properties.items() if k not in found}, **found}
