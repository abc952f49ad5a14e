"""What other writers committed to a table: the snapshots of a branch as :class:`CommittedChange`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    CommitConflictError,
    CommittedChange,
    FileBatch,
    ScanReport,
    TableChange,
    flat,
    lazy_pattern,
)

from ...deletes.delete_manifests import DeleteManifestReader
from ...manifests.entries import ADDED, DELETED, Entries, read_entries
from ...manifests.manifest_list import DATA, DELETES, Manifest
from ...metadata.table_metadata import Snapshot, TableMetadata
from ...snapshot import IcebergSnapshot

__all__ = ["APPLICATION", "applications_of", "committed_since", "id_of", "snapshots_between"]

APPLICATION = "tableformats.application."
"""With the name of an application behind it: the summary's key of the number of its last transaction."""
_NUMBER = lazy_pattern(r"-?[0-9]{1,19}")


def snapshots_between(metadata: TableMetadata, older: int | None, newest: int | None) -> list[Snapshot]:
    """The snapshots after ``older`` up to ``newest``, oldest first.

    Raises
    ------
    CommitConflictError
        ``older`` is no ancestor of ``newest``: the branch was rolled back, or the snapshots between them expired.
    """
    if older == newest:
        return []
    chain = metadata.ancestors(newest)
    ids = [snapshot.id for snapshot in chain]
    if older is None:
        is_whole = bool(chain) and chain[-1].parent_id is None
    else:
        is_whole = older in ids
    if not is_whole:
        raise CommitConflictError(
            f"the snapshot {older} that was read is no ancestor of the current one",
            path=metadata.path,
            hint="The table was rolled back, replaced, or its snapshots expired. Nothing was committed: read it again",
        )
    return chain[: len(ids) if older is None else ids.index(older)][::-1]


def committed_since(older: IcebergSnapshot, newest: IcebergSnapshot, change: TableChange) -> Iterator[CommittedChange]:
    """The snapshots after ``older`` up to ``newest``, as far as they matter to ``change``."""
    metadata = newest.metadata
    found = snapshots_between(metadata, id_of(older), id_of(newest))
    is_changed = _definition(older.metadata) != _definition(metadata)
    is_upgraded = older.metadata.format_version != metadata.format_version
    if not found and (is_changed or is_upgraded):
        yield CommittedChange(newest.version, metadata_changed=is_changed, protocol_changed=is_upgraded)
    for snapshot in found:
        winner = _Winner(IcebergSnapshot(newest.files, metadata, snapshot, newest.schema), change)
        yield CommittedChange(
            snapshot.id,
            added=() if change.is_blind_append else winner.added(),
            specs=metadata.specs,
            touched=None if change.is_blind_append else winner.touched(),
            metadata_changed=is_changed,
            protocol_changed=is_upgraded,
            applications=applications_of(snapshot),
            is_blind_append=snapshot.summary.get("operation") == "append",
            data_change=snapshot.summary.get("operation") != "replace",
        )


def applications_of(snapshot: Snapshot) -> dict[str, int]:
    """The transactions of applications that a snapshot recorded, by their names."""
    found = {k[len(APPLICATION) :]: v for k, v in snapshot.summary.items() if k.startswith(APPLICATION)}
    return {name: int(number) for name, number in found.items() if _NUMBER.fullmatch(number)}


def id_of(snapshot: IcebergSnapshot) -> int | None:
    """The id of a snapshot; None where the table has none."""
    return None if snapshot.snapshot is None else snapshot.snapshot.id


def _definition(metadata: TableMetadata) -> tuple[object, ...]:
    return metadata.schema, metadata.specs[metadata.default_spec_id], metadata.properties


class _Winner:
    """One snapshot of another writer."""

    def __init__(self, snapshot: IcebergSnapshot, change: TableChange) -> None:
        self._snapshot = snapshot
        self._change = change
        self._manifests = [
            m for m in snapshot.manifest_list.manifests if m.added_snapshot_id in (None, snapshot.version)
        ]

    def added(self) -> list[FileBatch]:
        """The data files that it added, with the statistics of all columns."""
        columns = [f.id for f in self._snapshot.schema.fields if not f.type.is_nested]
        batches = []
        for entries in self._entries(columns):
            chosen = entries.take(entries.given(ADDED, self._snapshot.version))
            if chosen.files.num_rows:
                batches.append(FileBatch(chosen.files, chosen.spec_id, chosen.statistics))
        return batches

    def touched(self) -> pa.Array:
        """Absolute paths of the data files that it removed, and of ours that its deletes apply to."""
        removed = [
            entries.files["path"].take(pa.array(entries.given(DELETED, self._snapshot.version)))
            for entries in self._entries(())
        ]
        paths = pa.concat_arrays([*removed, *self._with_new_deletes(), pa.array([], pa.string())])
        return self._snapshot.resolve_paths(paths)

    def _entries(self, columns: Sequence[int]) -> Iterator[Entries]:
        source = self._snapshot.manifests
        for manifest in self._manifests:
            if manifest.content == DATA:
                data, path = source.read_bytes(manifest)
                yield read_entries(data, path, manifest, source.request(columns, all_statuses=True))

    def _with_new_deletes(self) -> list[pa.Array]:
        """The paths of files that the change reads or removes, and that deletes of this snapshot apply to."""
        manifests = [m for m in self._manifests if m.content == DELETES and m.added_files]
        tables = [t for t in (self._change.removed, self._change.read_files) if t is not None and t.num_rows]
        if not manifests:
            return []
        everything = self._snapshot.manifest_list.manifests
        return [flat(files["path"].take(pa.array(self._hit(files, manifests, everything)))) for files in tables]

    def _hit(self, files: pa.Table, manifests: list[Manifest], everything: Sequence[Manifest]) -> np.ndarray:
        if not {"path", "partition", "spec_id", "data_sequence_number"} <= set(files.column_names):
            return np.arange(files.num_rows)  # nothing is known that rules a file out
        index = DeleteManifestReader(self._snapshot.manifests, everything, ScanReport()).delete_index(manifests)
        rows, _ = index.pairs(files)
        return np.unique(rows)
