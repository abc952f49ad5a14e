"""Makes a new snapshot of a change: its manifests, its manifest list, its summary.

One producer serves all tries of a commit. The snapshot id and the manifests stay; per try only the list is new, and
what another writer changed. Source: Iceberg spec, "Snapshots", "Manifest Lists", "Snapshot Row IDs".
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import TableChange, UnsupportedFeatureError, WriteTarget, current_ms, dataclass, flat, to_numpy
from tableformats.plugin import compute as pc

from ...manifests.manifest_list import DATA, Manifest
from ...metadata.table_metadata import Snapshot
from ...snapshot import IcebergSnapshot
from ..encode.added_entries import NewFiles, added_entries
from ..encode.avro_files import codec_of
from ..encode.carried_entries import carried_entries
from ..encode.entry_batches import EntryBatch
from ..encode.layouts import PARTITION
from ..encode.manifest_lists import NO_LIST, StoredList, counted, encode_list, read_list
from ..encode.metrics import metrics_modes
from .manifest_merging import bins_to_merge
from .manifest_store import ManifestStore, NewManifest, metadata_directory
from .picked_files import picked_entries
from .removed_files import FileRemoval
from .summaries import SnapshotCounts, snapshot_summary
from .target import data_base

__all__ = ["SnapshotProducer", "new_snapshot_id", "operation_of"]


def new_snapshot_id() -> int:
    """A random positive id of 63 bits. Source: Iceberg spec, appendix F, "Assignment of Snapshot IDs"."""
    value = uuid.uuid4().int
    return ((value >> 64) ^ value) & 0x7FFF_FFFF_FFFF_FFFF or 1


def operation_of(change: TableChange) -> str:
    """The operation of the snapshot. Source: Iceberg spec, "Snapshots"."""
    if not change.data_change:
        return "replace"
    adds, removes = (t is not None and t.num_rows > 0 for t in (change.added, change.removed))
    if removes:
        return "overwrite" if adds else "delete"
    return "append" if adds or change.operation == "append" else "overwrite"


@dataclass(frozen=True)
class Base:
    """The table that a snapshot is made upon: its metadata as JSON, and the snapshot that is the parent."""

    metadata: Mapping[str, Any]
    snapshot: IcebergSnapshot


class SnapshotProducer:
    """Makes the snapshot of one change.

    Parameters
    ----------
    target : WriteTarget
        How the new files were written.
    sort_order_id : int
        The sort order of the new files; 0: unsorted.
    """

    def __init__(self, base: Base, target: WriteTarget, sort_order_id: int = 0) -> None:
        self.snapshot_id = new_snapshot_id()
        self.store = ManifestStore(base.snapshot.files, self.snapshot_id)
        self._target = target
        self._sort_order_id = sort_order_id
        self._data_base = data_base(base.snapshot.metadata)
        self._removal: FileRemoval | None = None
        self._attempt = 0
        self._last_list: str | None = None
        self.picked: Snapshot | None = None
        """A snapshot whose files are added, in place of those of the change."""

    def prepare(self, base: Base, change: TableChange) -> None:
        """Encode what does not depend on other writers, so that :meth:`produce` is quicker."""
        if self.picked is None:
            self._added(base, change, SnapshotCounts())

    def produce(self, base: Base, change: TableChange, properties: Mapping[str, str]) -> dict[str, Any]:
        """Make a snapshot, as JSON. What it names is stored by :meth:`ManifestStore.flush`.

        Raises
        ------
        CommitConflictError
            A file that is to be removed is not in the table any more.
        UnsupportedFeatureError
            A property has an unknown value.
        """
        self._attempt += 1
        counts = SnapshotCounts()
        stored = self._stored_list(base)
        added = self._added(base, change, counts)
        rows = [i for i, m in enumerate(stored.rows) if m.has_live_files]
        replaced = self._removed(base, change, [stored.rows[i] for i in rows], counts)
        kept = [i for i in rows if stored.rows[i].path not in replaced]
        new = added + [manifest for found in replaced.values() for manifest in found]
        new, kept, merged = self._merged(base, stored, new, kept)
        manifests = {
            "manifests-created": len(new),
            "manifests-kept": len(kept),
            "manifests-replaced": len(replaced) + merged,
        }
        parent = base.snapshot.snapshot
        summary = snapshot_summary(
            operation_of(change), counts, None if parent is None else parent.summary, properties, manifests
        )
        return self._snapshot(base, stored, np.array(kept, np.int64), new, summary)

    # ---- manifests --------------------------------------------------------------------------------------------------

    def _stored_list(self, base: Base) -> StoredList:
        parent = base.snapshot.snapshot
        if parent is None:
            return NO_LIST
        if parent.manifest_list is None:
            raise UnsupportedFeatureError(
                "the snapshot names its manifests without a manifest list",
                path=base.snapshot.metadata.path,
                field="manifests",
                hint="Write the table once with Iceberg's Java library, which makes a manifest list",
            )
        files = base.snapshot.files
        data, path = files.read(parent.manifest_list, "manifest list")
        found = read_list(data, path, files.storage.limits)
        if base.metadata["format-version"] == 1:
            return found
        return replace(found, rows=[counted(row, base.snapshot.manifests) for row in found.rows])

    def _added(self, base: Base, change: TableChange, counts: SnapshotCounts) -> list[NewManifest]:
        if self.picked is not None:
            return self._counted(self._picked(base, self.picked), counts)
        if change.added is None or not change.added.num_rows:
            return []
        version, metadata = base.metadata["format-version"], base.snapshot.metadata
        spec = metadata.specs[self._target.spec_id]
        key = ("added", version)
        found = self.store.find(key)
        if found is None:
            schema = self._target.schema
            sorted_ids = {column.source_id for column in self._target.sort_by}
            modes = metrics_modes(schema, metadata.properties, sorted_ids)
            columns = {i: f for i in modes if (f := schema.find_id(i)) is not None}
            files = new_files(change.added, self._data_base, self._sort_order_id)
            entries = added_entries(files, version, spec, self.snapshot_id, columns, modes)
            found = self.store.encode(key, entries, spec, DATA, base.metadata)
        return self._counted(found, counts)

    def _picked(self, base: Base, picked: Snapshot) -> list[NewManifest]:
        metadata, version = base.snapshot.metadata, base.metadata["format-version"]
        source = IcebergSnapshot(base.snapshot.files, metadata, picked, metadata.schema)
        listed = self._stored_list(Base(base.metadata, source)).rows
        made: list[NewManifest] = []
        for spec_id, entries in picked_entries(source, listed, picked, self.snapshot_id, version):
            key = ("picked", spec_id, version, len(made))
            known = self.store.find(key)
            if known is None:
                known = self.store.encode(key, entries, metadata.specs[spec_id], DATA, base.metadata)
            made += known
        return made

    def _counted(self, found: list[NewManifest], counts: SnapshotCounts) -> list[NewManifest]:
        for manifest in found:
            counts.added_data_files += len(manifest.entries)
            counts.added_records += int(manifest.entries.record_count.sum())
            counts.added_files_size += int(manifest.entries.size_bytes.sum())
            values = pc.unique(manifest.entries.members[PARTITION]).to_pylist()
            counts.partitions |= {(manifest.row.spec_id, value) for value in values}
        return found

    def _removed(
        self, base: Base, change: TableChange, manifests: Sequence[Manifest], counts: SnapshotCounts
    ) -> dict[str, list[NewManifest]]:
        if change.removed is None or not change.removed.num_rows:
            return {}
        if self._removal is None:
            self._removal = FileRemoval(self.store, flat(change.removed.column("path")))
        source = base.snapshot.manifests
        found = self._removal.data_manifests(manifests, source, base.metadata, counts)
        if any(m.content != DATA for m in manifests):
            numbers = [m.min_sequence_number for m in manifests if m.content == DATA and m.path not in found]
            numbers += [m.row.min_sequence_number for new in found.values() for m in new if m.row.existing_files]
            least = min(numbers, default=base.snapshot.snapshot.sequence_number + 1 if base.snapshot.snapshot else 0)
            found |= self._removal.delete_manifests(manifests, least, source, base.metadata, counts)
        return found

    def _merged(
        self, base: Base, stored: StoredList, new: list[NewManifest], kept: list[int]
    ) -> tuple[list[NewManifest], list[int], int]:
        """Merge data manifests where the table's properties ask for it. Returns new, kept, and how many went."""
        fresh = [m for m in new if m.row.content == DATA]
        old = [i for i in kept if stored.rows[i].content == DATA]
        listed = [m.row for m in fresh] + [stored.rows[i] for i in old]
        gone_new: set[str] = set()
        gone_old: set[int] = set()
        made: list[NewManifest] = []
        for group in bins_to_merge(listed, base.snapshot.metadata.properties):
            of_new = [fresh[n] for n in group if n < len(fresh)]
            of_old = [old[n - len(fresh)] for n in group if n >= len(fresh)]
            for batch in self._merged_group(base, of_new, [stored.rows[i] for i in of_old]):
                made += batch[0]
                gone_new |= batch[1]
                gone_old |= {i for i in of_old if stored.rows[i].path in batch[1]}
        left = [m for m in new if m.row.path not in gone_new]
        return made + left, [i for i in kept if i not in gone_old], len(gone_old)

    def _merged_group(
        self, base: Base, new: Sequence[NewManifest], old: Sequence[Manifest]
    ) -> list[tuple[list[NewManifest], set[str]]]:
        """What becomes of the manifests of one group: the new ones, and the paths of those that they stand for."""
        version = base.metadata["format-version"]
        paths = tuple(m.row.path for m in new) + tuple(m.path for m in old)
        if (found := self.store.find(("merged", paths, version))) is not None:
            return [(found, set(paths))]  # of an earlier try
        batches: list[tuple[tuple[str, ...], EntryBatch]] = [((m.row.path,), m.entries) for m in new]
        for carried in carried_entries(base.snapshot.manifests, old, version) if old else ():
            batches.append((tuple(m.path for m in carried.manifests), carried.entries))
        by_layout: dict[Any, list[tuple[tuple[str, ...], EntryBatch]]] = {}
        for sources, batch in batches:
            by_layout.setdefault(batch.layout.key, []).append((sources, batch))
        spec_id = next(iter([*(m.row.spec_id for m in new), *(m.spec_id for m in old)]))
        spec = base.snapshot.metadata.specs[spec_id if spec_id is not None else base.snapshot.default_spec_id]
        results = []
        for group in by_layout.values():
            names = tuple(path for sources, _ in group for path in sources)
            if len(names) > 1:
                entries = EntryBatch.concat([batch for _, batch in group])
                made = self.store.encode(("merged", names, version), entries, spec, DATA, base.metadata)
                results.append((made, set(names)))
        return results

    # ---- the list and the snapshot ----------------------------------------------------------------------------------

    def _snapshot(
        self,
        base: Base,
        stored: StoredList,
        kept: np.ndarray,
        new: Sequence[NewManifest],
        summary: Mapping[str, str],
    ) -> dict[str, Any]:
        metadata, parent = base.metadata, base.snapshot.snapshot
        version = metadata["format-version"]
        number = metadata["last-sequence-number"] + 1 if version > 1 else 0
        first_row_id = metadata.get("next-row-id", 0)
        head = {
            "snapshot-id": str(self.snapshot_id),
            "parent-snapshot-id": "null" if parent is None else str(parent.id),
        }
        if version > 1:
            head["sequence-number"] = str(number)
        if version > 2:
            head["first-row-id"] = str(first_row_id)
        rows = [(_numbered(m.row, number), m.summaries) for m in new]
        codec = codec_of(metadata.get("properties") or {})
        data, next_row_id = encode_list(stored, kept, rows, head, version, first_row_id, codec)
        path = f"{metadata_directory(metadata)}/snap-{self.snapshot_id}-{self._attempt}-{self.store.commit_id}.avro"
        self.store.add(path, data)
        self.store.choose([*(m.row.path for m in new), path])
        found: dict[str, Any] = {"snapshot-id": self.snapshot_id}
        if parent is not None:
            found["parent-snapshot-id"] = parent.id
        if version > 1:
            found["sequence-number"] = number
        now = current_ms()
        found |= {
            "timestamp-ms": max(now, metadata["last-updated-ms"]),
            "manifest-list": path,
            "summary": dict(summary),
            "schema-id": base.snapshot.metadata.current_schema_id,
        }
        if version > 2:
            found |= {"first-row-id": first_row_id, "added-rows": next_row_id - first_row_id}
        return found


def _numbered(row: Manifest, number: int) -> Manifest:
    least = row.min_sequence_number
    return row._replace(sequence_number=number, min_sequence_number=number if least < 0 else least)


def new_files(added: pa.Table, location: str, sort_order_id: int) -> NewFiles:
    """Written files (:func:`tableformats.plugin.added_files_schema`) as a manifest has them."""
    by_column = {name: _members(added, name) for name in ("lower", "upper", "null_count", "nan_count", "value_count")}
    base = pa.scalar(location + "/", pa.string())
    return NewFiles(
        path=pc.binary_join_element_wise(base, flat(added.column("path")), pa.scalar("", pa.string())),
        size_bytes=to_numpy(flat(added.column("size_bytes"))),
        record_count=to_numpy(flat(added.column("record_count"))),
        partition=flat(added.column("partition")),
        column_size=_members(added, "column_sizes"),
        split_offsets=flat(added.column("split_offsets")),
        sort_order_id=sort_order_id,
        **by_column,
    )


def _members(added: pa.Table, name: str) -> dict[int, pa.Array]:
    column = flat(added.column(name))
    return {int(f.name): member for f, member in zip(column.type, column.flatten(), strict=True)}
