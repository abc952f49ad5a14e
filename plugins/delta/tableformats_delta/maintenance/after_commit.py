"""What follows a commit of ours: its checksum file, and every so many commits a checkpoint and the cleaning of the log.

Source: Delta documentation, "Table properties reference", ``delta.checkpointInterval``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import MetadataCache, whole_number

from ..log.actions import Actions
from ..log.commits import OwnCommit
from ..log.listing import LogFile, list_log
from ..log.next_commits import keep_own_checkpoint, local_checkpoint, local_commit
from .checkpoint_writer import write_checkpoint
from .checksum_writer import Totals, extend_checksum
from .cleanup import clean_log, may_have_expired

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["keep_up"]

_INTERVAL = 10
"""What ``delta.checkpointInterval`` is where the table does not say."""
_OLDEST = "time of the oldest commit"
"""The key of the time in a cache, which is that of one table."""


def keep_up(
    storage: Storage,
    before: DeltaSnapshot | None,
    version: int,
    actions: Actions,
    newest: Callable[[DeltaSnapshot | None], DeltaSnapshot],
    cache: MetadataCache,
) -> None:
    """Write the checksum file of a commit, and a checkpoint if it is time for one. Nothing here changes the table.

    Parameters
    ----------
    before : DeltaSnapshot or None
        The version that the commit was made upon; None: it created the table.
    version : int
        The version of the commit.
    actions : Actions
        Those of the commit.
    newest : callable
        Gives the current version, given an older snapshot or None.
    cache : MetadataCache
        Keeps the decoded commit and the totals of the version, so that neither is read for the next commit.

    Raises
    ------
    TableFormatsError, OSError
        Whatever goes wrong; the commit stands.
    """
    file = local_commit(storage, version)
    if file is not None:
        cache.keep(("commit", file), OwnCommit(file, actions), 2 * file.size)
    try:
        totals = extend_checksum(storage, before, actions, version, _totals(before, cache))
        if file is not None:
            cache.keep(_key(file), totals, 4096)
    finally:
        metadata = actions.metadata or (before.state.metadata if before else {})
        if is_due(version, metadata):
            _checkpoint(storage, newest(before), cache)


def _totals(before: DeltaSnapshot | None, cache: MetadataCache) -> Totals | None:
    """The totals of a version that this process made."""
    commit = before.segment.newest_commit if before else None
    found: Totals | None = cache.find(_key(commit)) if commit else None
    return found


def _key(file: LogFile) -> tuple[str, LogFile]:
    return "totals", file


def is_due(version: int, metadata: Mapping[str, Any]) -> bool:
    """Whether a checkpoint follows this version."""
    interval = whole_number(str(dict(metadata.get("configuration") or {}).get("delta.checkpointInterval")).strip())
    interval = _INTERVAL if interval is None else interval
    return version > 0 and interval > 0 and version % interval == 0


def _checkpoint(storage: Storage, snapshot: DeltaSnapshot, cache: MetadataCache) -> None:
    """Write the checkpoint of a version, and clean the log if anything in it may have expired."""
    if snapshot.segment.is_of_catalog:
        return
    oldest_ms = cache.find(_OLDEST)
    if oldest_ms is not None and not may_have_expired(storage, snapshot, oldest_ms):
        write_checkpoint(storage, snapshot, cache, local_checkpoint(storage, snapshot.version))
        keep_own_checkpoint(storage, snapshot.version, cache)
        return
    listing = list_log(storage)
    write_checkpoint(storage, snapshot, cache, listing.checkpoints.get(snapshot.version))
    keep_own_checkpoint(storage, snapshot.version, cache)
    deleted = clean_log(storage, snapshot, listing)
    if storage.is_local and not deleted and listing.commits:
        cache.keep(_OLDEST, min(file.mtime_ms for file in listing.commits.values()), 64)
