"""Deletes what has expired of the log, never past what a checkpoint needs.

Source: Delta PROTOCOL.md, "Metadata Cleanup", "Checkpoint Protection".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, MetadataCache, current_ms, whole_number

from ..checkpoints.checkpoint_files import expand
from ..log.history import CommitTimes
from ..log.listing import LogListing
from ..log.names import SIDECAR_DIRECTORY
from ..schema.intervals import interval_of
from .hint import hinted_version

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["clean_log", "may_have_expired"]

_DAY_MS = 86_400_000
_RETENTION = "interval 30 days"
_PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"


def clean_log(storage: Storage, snapshot: DeltaSnapshot, listing: LogListing, now_ms: int | None = None) -> list[str]:
    """Delete expired files of the log, if the table's properties allow it.

    Parameters
    ----------
    snapshot : DeltaSnapshot
        The current version.
    listing : LogListing
        The whole log.
    now_ms : int, optional
        Milliseconds since the epoch; None: now.

    Returns
    -------
    list of str
        The paths of what was deleted, in that order: a process that is killed in between leaves a log that reads.

    Raises
    ------
    CorruptMetadataError
        A property is wrong.
    StoreError
        As the store fails. OSError if it is local.
    """
    now_ms = current_ms() if now_ms is None else now_ms
    kept_from = _first_kept(storage, snapshot, listing, now_ms)
    if kept_from is None:
        return []
    deleted = []
    for path in _expired(listing, kept_from, hinted_version(storage)):
        storage.delete(path)
        deleted.append(path)
    for path in _unused_sidecars(storage, listing, kept_from, now_ms):
        storage.delete(path)
        deleted.append(path)
    return deleted


def may_have_expired(storage: Storage, snapshot: DeltaSnapshot, oldest_ms: int) -> bool:
    """Whether :func:`clean_log` may find anything in a log whose oldest commit has this time."""
    return "delta.enableInCommitTimestamps" in snapshot.properties or oldest_ms <= _limit_ms(
        storage, snapshot, current_ms()
    )


def _limit_ms(storage: Storage, snapshot: DeltaSnapshot, now_ms: int) -> int:
    """Versions that were current before this time alone have expired. Raises CorruptMetadataError."""
    retention = interval_of(snapshot.properties, "delta.logRetentionDuration", _RETENTION, storage.root)
    assert retention is not None
    return (now_ms - retention) // _DAY_MS * _DAY_MS


def _first_kept(storage: Storage, snapshot: DeltaSnapshot, listing: LogListing, now_ms: int) -> int | None:
    """The version of the checkpoint before which the log has expired; None where nothing may be deleted."""
    properties = snapshot.properties
    if properties.get("delta.enableExpiredLogCleanup", "true").strip().lower() != "true" or listing.is_of_catalog:
        return None
    if not all(file.mtime_ms > 0 for file in listing.commits.values()):
        return None  # the store does not say how old the commits are
    version = CommitTimes(storage, listing, properties).newest_until(_limit_ms(storage, snapshot, now_ms))
    kept_from = max((v for v in listing.checkpoints if version is not None and v <= version), default=None)
    if kept_from is None:
        return None
    if "checkpointProtection" in (snapshot.protocol.get("writerFeatures") or ()):
        protected = whole_number(properties.get(_PROTECTED, "0").strip())
        # History before this version is deleted in one go or not at all.
        if protected is None or kept_from < protected:
            return None
    return kept_from


def _expired(listing: LogListing, kept_from: int, hinted: int | None) -> Iterator[str]:
    """Compactions, commits from the oldest on, checksum files, checkpoints; never the one that the hint names."""
    for (start, _), file in sorted(listing.compactions.items()):
        if start <= kept_from:
            yield file.path
    for files in (listing.commits, listing.checksums):
        yield from (files[version].path for version in sorted(files) if version < kept_from)
    for version in sorted(listing.checkpoints):
        if version < kept_from and version != hinted:
            yield from (file.path for file in listing.checkpoints[version].files)


def _unused_sidecars(storage: Storage, listing: LogListing, kept_from: int, now_ms: int) -> list[str]:
    """Sidecars that no checkpoint names and that are a day old; none where a checkpoint cannot be read."""
    directory = f"{listing.directory}/{SIDECAR_DIRECTORY}"
    yesterday = now_ms // _DAY_MS * _DAY_MS - _DAY_MS
    old = [info.path for info in storage.list(directory) if 0 < info.mtime_ms < yesterday]
    if not old:
        return []
    named: set[str] = set()
    # Checkpoints of versions before are still read where they were not deleted, as the one of the hint.
    for checkpoint in listing.checkpoints.values():
        if checkpoint.version < kept_from and storage.size_of(checkpoint.files[0].path) is None:
            continue
        try:
            named.update(file.path for file in expand(storage, checkpoint, MetadataCache(0)))
        except CorruptMetadataError:
            return []
    return [path for path in old if path not in named]
