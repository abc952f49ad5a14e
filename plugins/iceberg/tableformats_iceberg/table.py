"""The table: opens it, selects snapshots, and gives its history and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from tableformats.plugin import (
    FormatSnapshot,
    FormatTable,
    OpenOptions,
    Schema,
    SnapshotNotFoundError,
    SnapshotSelector,
    Storage,
    utc_datetime,
)

from .files.table_files import TableFiles
from .metadata.lineage import is_parent_expired, snapshots_after, snapshots_from
from .metadata.locate import locate, reading_newest_ahead
from .metadata.table_metadata import Reference, Snapshot, TableMetadata, read_metadata
from .snapshot import IcebergSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import CatalogWriter, KeptFiles, MetadataChange, Violation

    from .changes.row_changes import IcebergChanges
    from .write.commit.transaction import IcebergTransaction
    from .write.swap import MetadataSwap

__all__ = ["IcebergTable"]

MAX_LISTED = 10


class IcebergTable(FormatTable):
    """A table at one metadata file: the one that it was opened at, or the newest of its directory.

    Only :meth:`update`, and a commit of its own, moves it to a newer one.
    """

    format = "iceberg"
    commits_to_catalog = True

    def __init__(self, files: TableFiles, metadata: TableMetadata, writer: CatalogWriter | None = None) -> None:
        self._files = files
        self._opened = metadata
        self._is_stale = False
        self._swap: MetadataSwap | None = None
        self._writer = writer
        self.location = files.storage.root

    @property
    def _metadata(self) -> TableMetadata:
        """The metadata file that the table is at: after a commit of its own, the newest one."""
        if self._is_stale:
            self._metadata = self.swap.newest().parsed
        return self._opened

    @_metadata.setter
    def _metadata(self, metadata: TableMetadata) -> None:
        self._opened, self._is_stale = metadata, False
        self._files.follow(metadata.location)

    @classmethod
    def at(cls, storage: Storage, options: OpenOptions) -> IcebergTable:
        """Open the table at ``storage.root``. Raises as :meth:`tableformats.plugin.TableFormat.open` does."""
        with reading_newest_ahead(storage):
            located = locate(storage)
            metadata = read_metadata(storage, located.metadata_path)
        files = TableFiles(storage, metadata.location, located.directory, options.relocate, options.cache)
        return cls(files, metadata, options.catalog_writer)

    @property
    def swap(self) -> MetadataSwap:
        """What commits to the table: its catalog, or else its directory. Each has what the last one knew."""
        from .write.swap import CatalogSwap, DirectorySwap

        storage, known = self._files.storage, None if self._swap is None else self._swap.known
        if self._writer is None:
            self._swap = DirectorySwap(storage, known)
        else:
            self._swap = CatalogSwap(storage, self._writer, known)
        return self._swap

    def __getstate__(self) -> dict[str, object]:
        """Without what only commits need."""
        return {**self.__dict__, "_swap": None}

    def snapshot(self, selector: SnapshotSelector) -> IcebergSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.snapshot`.

        Branches and the current snapshot are read with the table's current schema. Tags, ids and timestamps are read
        with the snapshot's own schema. Source: Iceberg spec, "Snapshot References", appendix F, "Point in Time Reads".
        """
        if selector.branch is not None:
            return self._of_reference(selector.branch, "branch")
        if selector.tag is not None:
            return self._of_reference(selector.tag, "tag")
        if selector.timestamp_ms is not None:
            return self._at(selector.timestamp_ms)
        if isinstance(selector.version, str):
            if selector.version not in self._metadata.refs and selector.version.lstrip("-").isdigit():
                return self._of_id(int(selector.version))
            return self._of_reference(selector.version, None)
        if selector.version is not None:
            return self._of_id(selector.version)
        current = self._metadata.current_snapshot_id
        return self._open(None if current is None else self._metadata.snapshots[current], self._metadata.schema)

    def update(self, snapshot: FormatSnapshot) -> FormatSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.update`: the current snapshot of the directory's newest metadata.

        A table that was opened at a metadata file, as a catalog names it, stays at that file. Only the catalog knows
        which file is newer and committed.
        """
        located = locate(self._files.storage)
        if located.metadata_path == self._metadata.path:
            is_own = isinstance(snapshot, IcebergSnapshot) and snapshot.metadata.path == self._metadata.path
            if not is_own:  # of an older file: its schema may be older too
                return self.snapshot(SnapshotSelector())
            return super().update(snapshot) if snapshot.version != -1 else snapshot
        self._metadata = read_metadata(self._files.storage, located.metadata_path)
        return self.snapshot(SnapshotSelector())

    def definition_differs(self, partition_by: Sequence[str] | None, properties: Mapping[str, str]) -> str | None:
        """See :meth:`tableformats.plugin.FormatTable.definition_differs`: transforms are compared, and given names."""
        from .write.create import VERSION_PROPERTY
        from .write.partition_texts import parse_partition_text

        metadata = self._metadata
        if partition_by is not None:
            wanted = [parse_partition_text(text, metadata.schema) for text in partition_by]
            own = [f for f in metadata.specs[metadata.default_spec_id].fields if f.transform.name != "void"]
            same = [(f.source_id, str(f.transform)) for f in own] == [(w.source.id, w.transform) for w in wanted]
            if not same or any(w.name not in (None, f.name) for w, f in zip(wanted, own, strict=True)):
                return "partition_by"
        stored = {**metadata.properties, VERSION_PROPERTY: str(metadata.format_version)}
        return next((name for name, value in properties.items() if stored.get(name) != value), None)

    def restoring(self, version: int) -> MetadataChange:
        """See :meth:`tableformats.plugin.FormatTable.restoring`: the main branch is set to that snapshot."""
        from tableformats.plugin import MetadataChange, ReferenceChange

        return MetadataChange(references={"main": ReferenceChange("branch", version)})

    def picking(self, version: int | None, staged_id: str | None) -> MetadataChange:
        """See :meth:`tableformats.plugin.FormatTable.picking`."""
        from tableformats.plugin import MetadataChange

        from .write.commit.picked_files import Pick

        return MetadataChange(plugin_data=Pick(version, staged_id))

    def begin(self, branch: str | None = None) -> IcebergTransaction:
        """See :meth:`tableformats.plugin.FormatTable.begin`. Each transaction begins at the newest metadata file."""
        from .write.commit.staged_metadata import StagedMetadata
        from .write.commit.transaction import IcebergTransaction

        def committed() -> None:
            self._is_stale = True

        swap = self.swap
        newest = swap.newest()
        return IcebergTransaction(self._files, swap, StagedMetadata(newest, newest), branch, committed)

    @property
    def directory(self) -> str:
        """See :attr:`tableformats.plugin.FormatTable.directory`."""
        return self._files.directory

    def kept_files(self) -> KeptFiles:
        """See :meth:`tableformats.plugin.FormatTable.kept_files` and :func:`.inspect.kept_files.kept_files`."""
        from .inspect.kept_files import kept_files

        newest = self.swap.newest()
        self._files.follow(newest.parsed.location)
        return kept_files(self._files, newest.parsed, newest.json)

    def verify(self, version: int | str | None = None, deep: bool = False) -> list[Violation]:
        """See :meth:`tableformats.plugin.FormatTable.verify`: all snapshots of the metadata file, or one of them."""
        from .metadata.table_metadata import metadata_json
        from .verification.verify import verify

        metadata, storage = self._metadata, self._files.storage
        snapshot_id = None if version is None else self.snapshot(SnapshotSelector(version=version)).version
        raw = metadata_json(storage.read_bytes(metadata.path), metadata.path, storage.limits)
        return list(verify(self._files, metadata, raw, snapshot_id, deep))

    def _open(self, snapshot: Snapshot | None, schema: Schema) -> IcebergSnapshot:
        return IcebergSnapshot(self._files, self._metadata, snapshot, schema)

    def _own_schema(self, snapshot: Snapshot) -> Schema:
        """The schema that was current when the snapshot was made. The table's, if an old writer did not record it."""
        return self._metadata.schemas.get(snapshot.schema_id, self._metadata.schema)  # type: ignore[arg-type]

    def _of_id(self, snapshot_id: int) -> IcebergSnapshot:
        snapshots = self._metadata.snapshots
        if snapshot_id == -1 and self._metadata.current_snapshot_id is None:
            return self._open(None, self._metadata.schema)
        if snapshot_id not in snapshots:
            newest = sorted(snapshots.values(), key=lambda s: s.timestamp_ms, reverse=True)[:MAX_LISTED]
            self._missing(f"there is no snapshot {snapshot_id}", [str(s.id) for s in newest], "snapshots")
        return self._open(snapshots[snapshot_id], self._own_schema(snapshots[snapshot_id]))

    def _of_reference(self, name: str, kind: str | None) -> IcebergSnapshot:
        refs = [r for r in self._metadata.refs.values() if kind in (None, r.type)]
        ref: Reference | None = next((r for r in refs if r.name == name), None)
        if ref is None:
            what = kind or "branch or tag"
            self._missing(f"there is no {what} {name!r}", sorted(r.name for r in refs)[:MAX_LISTED], "references")
        snapshot = self._metadata.snapshots[ref.snapshot_id]
        return self._open(snapshot, self._metadata.schema if ref.type == "branch" else self._own_schema(snapshot))

    def _at(self, timestamp_ms: int) -> IcebergSnapshot:
        """The snapshot that was current at that time, by the snapshot log. By lineage only if there is no log."""
        log = list(self._metadata.snapshot_log)
        if not log:
            ancestors = self._metadata.ancestors(self._metadata.current_snapshot_id)
            log = [(s.timestamp_ms, s.id) for s in reversed(ancestors)]
        found = [snapshot_id for at, snapshot_id in log if at <= timestamp_ms]
        when = utc_datetime(timestamp_ms).isoformat()
        if not found:
            first = [utc_datetime(log[0][0]).isoformat()] if log else []
            self._missing(f"the table had no snapshot at {when}", first, "earliest")
        if found[-1] not in self._metadata.snapshots:
            known = [utc_datetime(at).isoformat() for at, i in log if i in self._metadata.snapshots][:MAX_LISTED]
            self._missing(f"the snapshot that was current at {when} has expired", known, "still there, from")
        snapshot = self._metadata.snapshots[found[-1]]
        return self._open(snapshot, self._own_schema(snapshot))

    # ---- ranges -------------------------------------------------------------------------------------------------

    def changes(self, starting_version: int | str, ending_version: int | str | None = None) -> IcebergChanges:
        """See :meth:`tableformats.plugin.FormatTable.changes`. The range follows the lineage of ``ending_version``.

        Each version is a snapshot id, or the name of a branch or tag.
        """
        from .changes.row_changes import Commit, IcebergChanges

        ending = self._ending(ending_version)
        starting = self.snapshot(SnapshotSelector(version=starting_version)).version
        chain = snapshots_from(self._metadata, starting, ending.version)
        before = None if is_parent_expired(self._metadata, chain[0]) else self._for_files(chain[0].parent_id)
        commits = []
        for snapshot in chain:
            commits.append(Commit(before, self._for_files(snapshot.id)))
            before = commits[-1].after
        return IcebergChanges(commits, ending)

    def appends(self, exclusive: int | None = None, inclusive: int | None = None) -> IcebergSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.appends`."""
        from .changes.appends import APPEND, AppendedFiles

        if (exclusive, inclusive, self._metadata.current_snapshot_id) == (None, None, None):
            return self.snapshot(SnapshotSelector())
        ending = self._ending(inclusive)
        found = snapshots_after(self._metadata, exclusive, ending.version)
        appends = [self._for_files(s.id) for s in found if s.summary.get("operation") == APPEND]
        return AppendedFiles(ending, appends)

    def versions_after(self, version: int | None) -> list[int]:
        """See :meth:`tableformats.plugin.FormatTable.versions_after`."""
        current = self._metadata.current_snapshot_id
        if current is None and version is None:
            return []
        return [s.id for s in snapshots_after(self._metadata, version, self._ending(None).version)]

    def _ending(self, version: int | str | None) -> IcebergSnapshot:
        ending = self.snapshot(SnapshotSelector(version=version))
        if ending.snapshot is None:
            self._missing("the table has no snapshot yet", [], "snapshots")
        return ending

    def _for_files(self, snapshot_id: int | None) -> IcebergSnapshot:
        """A snapshot to list files of, for which the schema does not matter. None: the table before its first one."""
        snapshot = None if snapshot_id is None else self._metadata.snapshots[snapshot_id]
        return self._open(snapshot, self._metadata.schema)

    def _missing(self, message: str, present: list[str], what: str) -> NoReturn:
        hint = f"The table's {what}: {', '.join(present)}" if present else f"The table has no {what}"
        raise SnapshotNotFoundError(message, path=self._metadata.path, hint=hint)

    def history(self, limit: int | None = None) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatTable.history`: snapshots by when they became current, newest first.

        Adds ``parent_id``, ``is_current_ancestor`` and ``summary``. Of an expired snapshot only the time is known.
        """
        from .inspect.history import history_table

        return history_table(self._metadata, limit)
