"""A Delta table: versions, time travel, history and changes, all from a listing of its log.

Source: Delta PROTOCOL.md, "Delta Table Specification", "In-Commit Timestamps".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    FormatSnapshot,
    FormatTable,
    MetadataCache,
    MetadataChange,
    SnapshotSelector,
    TableNotFoundError,
    UnsupportedFeatureError,
    whole_number,
)

from .log.catalog_log import with_catalog_commits
from .log.history import CommitTimes, history_table
from .log.listing import Checkpoint, LogListing, LogSegment, list_log
from .log.names import LOG_DIRECTORY
from .log.next_commits import following, upon_own_checkpoint
from .log.remote_log import RemoteLog
from .snapshot.delta_snapshot import DeltaSnapshot
from .snapshot.table_state import TableState, load_state, reading_state_ahead

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import CatalogCommits, CheckpointResult, FileInfo, KeptFiles, Storage, Violation

    from .changes.change_batches import DeltaChanges
    from .write.transaction import DeltaTransaction

__all__ = ["DeltaTable"]


class DeltaTable(FormatTable):
    """See :class:`tableformats.plugin.FormatTable`. Each call lists the log again, so it sees new commits.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    cache : MetadataCache
        Keeps decoded commits and checkpoints.
    partition_time_zone : str, optional
        The zone of partition values that are timestamps without one. None: UTC.
    first_page : sequence of FileInfo
        The first page of a listing of a remote log; see :class:`RemoteLog`.
    catalog_commits : callable, optional
        Asks the table's catalog which commits count. None: the log says it.
    """

    format = "delta"

    def __init__(
        self,
        storage: Storage,
        cache: MetadataCache,
        partition_time_zone: str | None = None,
        first_page: Sequence[FileInfo] = (),
        catalog_commits: Callable[[], CatalogCommits] | None = None,
    ) -> None:
        self._storage = storage
        self._cache = cache
        self.location = storage.root
        self._partition_time_zone = partition_time_zone
        self._catalog_commits = catalog_commits
        self._head: DeltaSnapshot | None = None
        """The version that this table was written at last."""
        self._remote_log = None if storage.is_local else RemoteLog(storage, first_page)

    def snapshot(self, selector: SnapshotSelector) -> DeltaSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.snapshot`."""
        if selector == SnapshotSelector() and self._remote_log is not None:
            return self._newest(self._remote_log)
        listing = self._listing()
        if selector.branch is not None or selector.tag is not None:
            raise listing.not_found("Delta tables have no branches and no tags")
        if selector.timestamp_ms is not None:
            version = self._times(listing).version_at(selector.timestamp_ms)
        elif selector.version is not None:
            version = _as_version(selector.version, listing)
        else:
            version = listing.latest
        return self._at(listing, version)

    def _newest(self, log: RemoteLog) -> DeltaSnapshot:
        """The newest version. What it was made of when the log was listed last is read while the log is listed."""
        with ExitStack() as reading:
            expected = log.expected
            if expected is not None:
                if self._catalog_commits is None:  # else the catalog is asked before
                    log_directory = self._storage.join(LOG_DIRECTORY)
                    reading.enter_context(self._storage.reading_ahead(listed=[log_directory]))
                reading.enter_context(reading_state_ahead(self._storage, expected, self._cache))
            held = self._held()
            listing = self._counted(log.newest(), held)
            segment = listing.segment(listing.latest)
            if expected is not None and not segment.extends(expected):  # the files may be others of the same names
                reading.close()
            return self._snapshot(listing, segment)

    def update(self, snapshot: FormatSnapshot) -> FormatSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.update`: reads only the commits after ``snapshot``."""
        assert isinstance(snapshot, DeltaSnapshot)
        listing = self._listing_since(snapshot.segment.checkpoint)
        segment = listing.segment_after(snapshot.segment)
        extends = segment.extends(snapshot.segment)
        if extends and segment.version == snapshot.version:
            return snapshot
        return self._snapshot(listing, segment, snapshot.state if extends else None)

    def history(self, limit: int | None = None) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatTable.history` and :func:`.log.history.history_table`."""
        listing = self._listing()
        return history_table(self._storage, listing, self._times(listing), limit)

    def changes(self, starting_version: int | str, ending_version: int | str | None = None) -> DeltaChanges:
        """See :meth:`tableformats.plugin.FormatTable.changes`."""
        from .changes.change_batches import DeltaChanges
        from .changes.change_log import check_range

        listing = self._listing()
        starting = _as_version(starting_version, listing)
        ending = listing.latest if ending_version is None else _as_version(ending_version, listing)
        check_range(listing, starting, ending)
        at = partial(self._at, listing)
        return DeltaChanges(self._storage, listing, starting, at(ending), at)

    def begin(self, branch: str | None = None) -> DeltaTransaction:
        """See :meth:`tableformats.plugin.FormatTable.begin`."""
        from .write.transaction import DeltaTransaction

        if branch is not None:
            raise UnsupportedFeatureError("Delta tables have no branches", path=self.location, field="branch")
        return DeltaTransaction(self.newest_after, self._storage, self._cache)

    def restoring(self, version: int) -> MetadataChange:
        """See :meth:`tableformats.plugin.FormatTable.restoring` and :func:`.write.restoring.restored_files`."""
        from .write.restoring import Restoration

        listing = self._listing()
        return MetadataChange(plugin_data=Restoration(self._at(listing, version)))

    def newest_after(self, older: DeltaSnapshot | None) -> DeltaSnapshot:
        """The newest version; given an older one, only what is new is read."""
        known = self._head if older is None else older
        found: FormatSnapshot | None = None
        if known is not None and self._storage.is_local and self._catalog_commits is None:
            found = self._following(known)
        if found is None:
            found = self.snapshot(SnapshotSelector()) if older is None else self.update(older)
        assert isinstance(found, DeltaSnapshot)
        self._head = found
        return found

    def _following(self, known: DeltaSnapshot) -> DeltaSnapshot | None:
        """The newest version by the names of the commits after ``known``; None: the log has to be listed."""
        known = self._upon_own_checkpoint(known)
        newer = following(self._storage, known.segment)
        if newer is None:
            return None
        segment, listing = newer
        return known if segment is known.segment else self._snapshot(listing, segment, known.state)

    def _upon_own_checkpoint(self, known: DeltaSnapshot) -> DeltaSnapshot:
        segment = upon_own_checkpoint(known.segment, self._cache)
        if segment is known.segment:
            return known
        state = replace(known.state, commits=[], segment=segment)
        return DeltaSnapshot(self._storage, segment, state, known.timestamp_ms, self._cache, self._partition_time_zone)

    def checkpoint(self, version: int | str | None = None) -> CheckpointResult:
        """See :meth:`tableformats.plugin.FormatTable.checkpoint` and :func:`.write_checkpoint`."""
        from .maintenance.checkpoint_writer import write_checkpoint

        listing = self._listing()
        chosen = listing.latest if version is None else _as_version(version, listing)
        return write_checkpoint(self._storage, self._at(listing, chosen), self._cache, listing.checkpoints.get(chosen))

    def compact_log(self, starting_version: int, ending_version: int) -> str:
        """See :meth:`tableformats.plugin.FormatTable.compact_log`."""
        from .maintenance.compaction import compact_log

        listing = self._listing()
        if listing.is_of_catalog:
            raise listing.not_found("which commits count is said by the table's catalog")
        return compact_log(self._storage, listing, starting_version, ending_version)

    def kept_files(self) -> KeptFiles:
        """See :meth:`tableformats.plugin.FormatTable.kept_files` and :func:`.maintenance.kept_files.kept_files`."""
        from .maintenance.kept_files import kept_files

        listing = self._listing()
        return kept_files(self._storage, listing, self._at(listing, listing.latest))

    def verify(self, version: int | str | None = None, deep: bool = False) -> list[Violation]:
        """See :meth:`tableformats.plugin.FormatTable.verify` and :data:`.verification.rules.RULES`."""
        from .verification.verify import verify

        listing = self._listing()
        only = None if version is None else _as_version(version, listing)
        return list(verify(self._storage, listing, only, deep))

    def versions_after(self, version: int | None) -> list[int]:
        """See :meth:`tableformats.plugin.FormatTable.versions_after`."""
        from .changes.change_log import check_range

        listing = self._listing()
        first = (listing.oldest or 0) if version is None else _as_version(version, listing) + 1
        if first > listing.latest + 1:
            raise listing.not_found(f"the table has no version {version}")
        if first <= listing.latest:
            check_range(listing, first, listing.latest)
        return list(range(first, listing.latest + 1))

    def _listing(self) -> LogListing:
        held = self._held()
        return self._counted(list_log(self._storage), held)

    def _listing_since(self, base: Checkpoint | None) -> LogListing:
        """The log from the checkpoint ``base`` on, if the store is remote and it is still there; else all of it."""
        if base is not None and not self._storage.is_local:
            held = self._held()
            listing = list_log(self._storage, base.version)
            if listing.checkpoints.get(base.version) == base:
                return self._counted(listing, held)
        return self._listing()

    def _held(self) -> CatalogCommits | None:
        """The commits that the catalog holds, which is asked before the log is listed. None: it decides nothing."""
        return None if self._catalog_commits is None else self._catalog_commits()

    def _counted(self, listing: LogListing, held: CatalogCommits | None) -> LogListing:
        """What counts of the log. Raises TableNotFoundError where that is nothing."""
        if held is None:
            return self._checked(listing)
        if held.latest is not None and min(listing.checkpoints, default=0) > held.latest:
            listing = list_log(self._storage)  # it may have begun at a checkpoint that is newer than what counts
        return self._checked(with_catalog_commits(listing, held))

    def _checked(self, listing: LogListing) -> LogListing:
        if not listing:
            raise TableNotFoundError(
                "the log holds no commit and no checkpoint", path=listing.directory, hint="Check the path"
            )
        return listing

    def _times(self, listing: LogListing) -> CommitTimes:
        properties = self._at(listing, listing.latest).properties
        return CommitTimes(self._storage, listing, properties)

    def _at(self, listing: LogListing, version: int) -> DeltaSnapshot:
        return self._snapshot(listing, listing.segment(version))

    def _snapshot(self, listing: LogListing, segment: LogSegment, older: TableState | None = None) -> DeltaSnapshot:
        state = load_state(self._storage, segment, self._cache, older)
        times = CommitTimes(self._storage, listing, state.table_metadata.properties, _infos(state))
        timestamp_ms = times.of(segment.version)
        if times.is_in_commit(segment.version):
            state = _with_time_checked(state, timestamp_ms)
        return DeltaSnapshot(self._storage, state.segment, state, timestamp_ms, self._cache, self._partition_time_zone)


def _with_time_checked(state: TableState, timestamp_ms: int | None) -> TableState:
    """The state with a note where the version's checksum file has another in-commit timestamp than the log."""
    checksum = state.checksum
    if checksum is None or None in (checksum.in_commit_timestamp, timestamp_ms):
        return state
    if checksum.in_commit_timestamp == timestamp_ms:
        return state
    note = (
        f"The checksum file of version {checksum.file.version} has the in-commit timestamp "
        f"{checksum.in_commit_timestamp}, and the log has {timestamp_ms}, which counts"
    )
    return replace(state, notes=(*state.notes, note))


def _infos(state: TableState) -> dict[int, Mapping[str, Any]]:
    """The ``commitInfo`` of decoded commits by version; that of the checksum file's version has the time alone."""
    infos: dict[int, Mapping[str, Any]] = {}
    checksum = state.checksum
    if checksum is not None and checksum.in_commit_timestamp is not None:
        infos[checksum.file.version] = {"inCommitTimestamp": checksum.in_commit_timestamp}
    infos.update({commit.file.version: commit.commit_info for commit in state.commits if commit.commit_info})
    return infos


def _as_version(version: int | str, listing: LogListing) -> int:
    if isinstance(version, int) and not isinstance(version, bool):
        return version
    number = whole_number(version)
    if number is not None:
        return number
    raise listing.not_found(f"{version!r} is no version of a Delta table")
