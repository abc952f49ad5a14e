"""Lists a remote log for its newest version, again and again, with the fewest requests.

A long log is listed in pages, one after the other, so it is listed from a checkpoint on: the one that was found last,
or the one that the hint ``_last_checkpoint`` names. Neither can mislead: unless there is a complete checkpoint from
that version on, the whole log is listed. What was listed before never replaces a listing. It says which files to read
while the log is being listed. Source: Delta PROTOCOL.md, "Last Checkpoint File".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, SnapshotNotFoundError

from .listing import MAX_VERSION, LogListing, LogSegment, list_log, listing_of
from .names import LAST_CHECKPOINT, LOG_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import FileInfo, Storage

__all__ = ["RemoteLog"]

_LONG_LOG = 900
"""A page of a listing with fewer files is the only one; stores give up to 1,000 keys, also of other files."""


class RemoteLog:
    """The log of a table that is not local.

    Parameters
    ----------
    storage : Storage
    first_page : sequence of FileInfo
        The first page of a listing of the log.
    """

    def __init__(self, storage: Storage, first_page: Sequence[FileInfo]) -> None:
        self._storage = storage
        self._is_long = len(first_page) >= _LONG_LOG
        self._checkpoint: int | None = None
        self._expected = None if self._is_long else _newest_of(listing_of(storage, first_page))

    @property
    def expected(self) -> LogSegment | None:
        """What made the newest version when the log was listed last; None: nobody knows."""
        return self._expected

    def newest(self) -> LogListing:
        """List what the newest version needs, and maybe more."""
        listing = self._from_checkpoint() if self._is_long else None
        if listing is None:
            listing = list_log(self._storage)
            self._is_long = len(listing.commits) + len(listing.checksums) >= _LONG_LOG
        self._checkpoint = max(listing.checkpoints, default=None)
        self._expected = _newest_of(listing)
        return listing

    def _from_checkpoint(self) -> LogListing | None:
        version = self._hinted_version() if self._checkpoint is None else self._checkpoint
        listing = None if version is None else list_log(self._storage, version)
        return listing if listing is not None and listing.checkpoints else None

    def _hinted_version(self) -> int | None:
        """The version of the hint; None where it is absent, damaged or cannot be read."""
        try:
            content = json.loads(self._storage.read_bytes(self._storage.join(LOG_DIRECTORY, LAST_CHECKPOINT)))
        except (OSError, ValueError, RecursionError):  # a fault of the store will show in the listing too
            return None
        version = content.get("version") if isinstance(content, dict) else None
        is_version = isinstance(version, int) and not isinstance(version, bool) and 0 <= version <= MAX_VERSION
        return version if is_version else None


def _newest_of(listing: LogListing) -> LogSegment | None:
    with suppress(CorruptMetadataError, SnapshotNotFoundError, ValueError):
        return listing.segment(listing.latest)
    return None
