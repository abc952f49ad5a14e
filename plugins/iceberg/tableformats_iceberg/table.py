"""The table: opening it, choosing a snapshot, its history."""

from __future__ import annotations

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

from .metadata.files import TableFiles
from .metadata.lineage import is_expired, snapshots_after, snapshots_from
from .metadata.locate import locate
from .metadata.table_metadata import Reference, Snapshot, TableMetadata, read_metadata
from .snapshot import IcebergSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from .changes.changes import IcebergChanges

__all__ = ["IcebergTable"]

MAX_LISTED = 10


class IcebergTable(FormatTable):
    """A table at one metadata file: the newest of its directory, until :meth:`update`, or the one it was opened at."""

    format = "iceberg"

    def __init__(self, files: TableFiles, metadata: TableMetadata) -> None:
        self._files = files
        self._metadata = metadata
        self.location = files.storage.root

    @classmethod
    def at(cls, storage: Storage, options: OpenOptions) -> IcebergTable:
        """The table at ``storage.root``. Raises as :meth:`tableformats.plugin.TableFormat.open` does."""
        located = locate(storage)
        metadata = read_metadata(storage, located.metadata_path)
        return cls(TableFiles(storage, metadata, located.directory, options.relocate, options.cache), metadata)

    def snapshot(self, selector: SnapshotSelector) -> IcebergSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.snapshot`.

        Branches (and the current snapshot) are read with the table's current schema, tags, ids and timestamps with
        the snapshot's own. Source: Iceberg spec, "Snapshot References", appendix F, "Point in Time Reads".
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
        """See :meth:`tableformats.plugin.FormatTable.update`: the current snapshot of the newest metadata file in the
        directory, at which the table is from then on. A table that was opened at a metadata file (a catalog names one)
        stays at it: which file is newer, and committed, only its catalog knows."""
        located = locate(self._files.storage)
        if located.metadata_path == self._metadata.path:
            return super().update(snapshot) if snapshot.version != -1 else snapshot
        self._metadata = read_metadata(self._files.storage, located.metadata_path)
        self._files.follow(self._metadata)
        return self.snapshot(SnapshotSelector())

    def _open(self, snapshot: Snapshot | None, schema: Schema) -> IcebergSnapshot:
        return IcebergSnapshot(self._files, self._metadata, snapshot, schema)

    def _own_schema(self, snapshot: Snapshot) -> Schema:
        """The schema that was current when the snapshot was made; snapshots of old writers do not say."""
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
        """The snapshot that was current at that instant, by the snapshot log and not by lineage."""
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
        """See :meth:`tableformats.plugin.FormatTable.changes`: what the snapshots from ``starting_version`` to
        ``ending_version`` changed, by the lineage of the latter; each is an id or the name of a branch or tag."""
        from .changes.changes import Commit, IcebergChanges

        ending = self._ending(ending_version)
        starting = self.snapshot(SnapshotSelector(version=starting_version)).version
        chain = snapshots_from(self._metadata, starting, ending.version)
        before = None if is_expired(self._metadata, chain[0]) else self._bare(chain[0].parent_id)
        commits = []
        for snapshot in chain:
            commits.append(Commit(before, self._bare(snapshot.id)))
            before = commits[-1].after
        return IcebergChanges(commits, ending)

    def appends(self, exclusive: int | None = None, inclusive: int | None = None) -> IcebergSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.appends`."""
        from .changes.appends import APPEND, AppendedFiles

        if (exclusive, inclusive, self._metadata.current_snapshot_id) == (None, None, None):
            return self.snapshot(SnapshotSelector())
        ending = self._ending(inclusive)
        found = snapshots_after(self._metadata, exclusive, ending.version)
        return AppendedFiles(ending, [self._bare(s.id) for s in found if s.summary.get("operation") == APPEND])

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

    def _bare(self, snapshot_id: int | None) -> IcebergSnapshot:
        """A snapshot of which only the files matter; None is the empty table before the first one."""
        snapshot = None if snapshot_id is None else self._metadata.snapshots[snapshot_id]
        return self._open(snapshot, self._metadata.schema)

    def _missing(self, message: str, present: list[str], what: str) -> NoReturn:
        hint = f"The table's {what}: {', '.join(present)}" if present else f"The table has no {what}"
        raise SnapshotNotFoundError(message, path=self._metadata.path, hint=hint)

    def history(self, limit: int | None = None) -> pa.Table:
        """Snapshots by the time they became current, newest first; see :meth:`FormatTable.history`.

        Adds ``parent_id``, ``is_current_ancestor`` and ``summary``; an expired snapshot has only its time.
        """
        from .inspect.tables import history_table

        return history_table(self._metadata, limit)
