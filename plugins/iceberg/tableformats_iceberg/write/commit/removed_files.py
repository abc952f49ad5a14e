"""Removes files from manifests: rewrites those that have them, and drops deletes that no file is left for.

Source: Iceberg spec, "Manifests", "Manifest Entry Fields"; "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import CommitConflictError, ScanReport, to_arrow, to_numpy
from tableformats.plugin import compute as pc

from ...avro._avro import read_varint
from ...manifests.entries import DELETED, EQUALITY_DELETES, Entries
from ...manifests.manifest_list import DATA, DELETES, Manifest
from ...manifests.source import ManifestSource
from ..encode.avro_encoding import varint
from ..encode.carried_entries import carried_entries
from ..encode.entry_batches import EntryBatch
from ..encode.layouts import PARTITION
from .manifest_store import ManifestStore, NewManifest
from .summaries import SnapshotCounts

__all__ = ["FileRemoval"]


class FileRemoval:
    """Rewrites the manifests of one commit that have removed files. Kept over all tries of the commit.

    Parameters
    ----------
    store : ManifestStore
    paths : pyarrow.Array
        The paths of the removed data files, as the manifests have them.
    """

    def __init__(self, store: ManifestStore, paths: pa.Array) -> None:
        self._store = store
        self._paths = pc.unique(paths)

    def data_manifests(
        self, manifests: Sequence[Manifest], source: ManifestSource, metadata: Mapping[str, Any], counts: SnapshotCounts
    ) -> dict[str, list[NewManifest]]:
        """What replaces the manifests that have removed files, by their path.

        Raises
        ------
        CommitConflictError
            A file is not in the table any more.
        """
        chosen = [m for m in manifests if m.content == DATA and m.has_live_files]
        masks: dict[str, np.ndarray] = {}
        found = 0
        for manifest, entries in zip(chosen, source.entries_of(chosen, (), ScanReport()), strict=True):
            mask = to_numpy(pc.is_in(entries.files["path"], value_set=self._paths))
            if mask.any():
                masks[manifest.path] = mask
                found += pc.count_distinct(pc.filter(entries.files["path"], pa.array(mask))).as_py()
        if found < len(self._paths):
            raise CommitConflictError(
                f"{len(self._paths) - found} of the files to remove are not in the table any more",
                hint="Another writer removed them. Nothing was committed: read the table again",
            )
        return self._rewritten([m for m in chosen if m.path in masks], masks, source, metadata, DATA, counts)

    def delete_manifests(
        self,
        manifests: Sequence[Manifest],
        least_sequence_number: int,
        source: ManifestSource,
        metadata: Mapping[str, Any],
        counts: SnapshotCounts,
    ) -> dict[str, list[NewManifest]]:
        """What replaces the manifests of deletes that apply to no file any more.

        Dropped are deletes that name a removed file alone, and those that are older than every data file.
        """
        chosen = [m for m in manifests if m.content == DELETES and m.has_live_files]
        masks: dict[str, np.ndarray] = {}
        for manifest, entries in zip(chosen, source.entries_of(chosen, (), ScanReport()), strict=True):
            mask = self._is_dangling(entries, least_sequence_number)
            if mask.any():
                masks[manifest.path] = mask
        return self._rewritten([m for m in chosen if m.path in masks], masks, source, metadata, DELETES, counts)

    def _is_dangling(self, entries: Entries, least_sequence_number: int) -> np.ndarray:
        files = entries.files
        sequence = to_numpy(files["data_sequence_number"])
        dangling = (sequence > 0) & (sequence < least_sequence_number)
        for name in ("referenced_data_file", "only_path"):
            dangling |= to_numpy(pc.is_in(files[name], value_set=self._paths))
        return dangling

    def _rewritten(
        self,
        manifests: Sequence[Manifest],
        masks: Mapping[str, np.ndarray],
        source: ManifestSource,
        metadata: Mapping[str, Any],
        content: int,
        counts: SnapshotCounts,
    ) -> dict[str, list[NewManifest]]:
        version = metadata["format-version"]
        known = {m.path: self._store.find(("removed", m.path, version)) for m in manifests}
        fresh = [m for m in manifests if known[m.path] is None]
        for carried in carried_entries(source, fresh, version) if fresh else ():
            for number, manifest in enumerate(carried.manifests):
                entries = self._marked(carried.of(number), masks[manifest.path])
                key = ("removed", manifest.path, version)
                known[manifest.path] = self._store.encode(key, entries, carried.spec, content, metadata)
        found = {path: new for path, new in known.items() if new is not None}
        for manifest in manifests:
            for new in found[manifest.path]:
                count_removed(counts, new.entries, manifest.spec_id or 0, content)
        return found

    def _marked(self, entries: EntryBatch, mask: np.ndarray) -> EntryBatch:
        return replace(
            entries,
            status=np.where(mask, DELETED, entries.status),
            snapshot_id=np.where(mask, self._store.snapshot_id, entries.snapshot_id),
        )


def count_removed(counts: SnapshotCounts, entries: EntryBatch, spec_id: int, content: int) -> None:
    """Count the entries of the status DELETED."""
    gone = entries.take(np.flatnonzero(entries.status == DELETED))
    rows = int(gone.record_count.sum())
    counts.removed_files_size += int(gone.size_bytes.sum())
    counts.partitions |= {(spec_id, values) for values in pc.unique(gone.members[PARTITION]).to_pylist()}
    if content == DATA:
        counts.deleted_data_files += len(gone)
        counts.deleted_records += rows
        return
    # The members' encoded values: content is one varint, and a deletion vector has an offset in its file.
    kinds = gone.members[134]
    is_equality = to_numpy(pc.equal(kinds, pa.scalar(varint(EQUALITY_DELETES), pa.binary())))
    is_vector = np.zeros(len(gone), bool)
    if 144 in gone.members:
        is_vector = ~to_numpy(pc.equal(gone.members[144], pa.scalar(b"\x00", pa.binary()))) & ~is_equality
    if is_vector.any():  # several share a file, so only the vectors themselves are counted
        own = pc.filter(gone.members[145], to_arrow(is_vector)).to_pylist()
        counts.removed_files_size += sum(map(_number, own)) - int(gone.size_bytes[is_vector].sum())
    counts.removed_equality_delete_files += int(is_equality.sum())
    counts.removed_dvs += int(is_vector.sum())
    counts.removed_position_delete_files += int((~is_equality & ~is_vector).sum())
    counts.removed_equality_deletes += int(gone.record_count[is_equality].sum())
    counts.removed_position_deletes += int(gone.record_count[~is_equality].sum())


def _number(encoded: bytes) -> int:
    """An optional number as Avro encodes it; 0 for NULL."""
    branch, offset = read_varint(encoded, 0)
    return read_varint(encoded, offset)[0] if branch else 0
