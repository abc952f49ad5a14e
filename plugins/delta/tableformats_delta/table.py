"""Delta tables: found by their ``_delta_log``, opened by listing it; versions, time travel and history.

Source: Delta PROTOCOL.md, "Delta Table Specification", "In-Commit Timestamps".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tableformats.errors import TableNotFoundError
from tableformats.plugin import FormatTable, OpenOptions, SnapshotSelector, TableFormat

from .history import CommitTimes, history_table
from .log import LOG_DIRECTORY, LogListing, list_log
from .replay import load_state
from .snapshot import DeltaSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.storage import Storage

__all__ = ["DeltaFormat", "DeltaTable"]


class DeltaFormat(TableFormat):
    """Delta Lake."""

    name = "delta"

    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """A table is a directory that holds ``_delta_log``."""
        return storage.is_dir(storage.join(LOG_DIRECTORY))

    def open(self, storage: Storage, options: OpenOptions) -> DeltaTable:
        """Open the table at ``storage.root``; its log is listed when a snapshot is asked for.

        Raises
        ------
        TableNotFoundError : there is no ``_delta_log``
        """
        if not self.detect(storage, options):
            raise TableNotFoundError(
                "the directory holds no Delta table", path=storage.root, hint="A Delta table has a _delta_log directory"
            )
        if isinstance(options.relocate, Mapping):
            for old, new in options.relocate.items():
                storage.relocate(old, new)
        return DeltaTable(storage)


class DeltaTable(FormatTable):
    """See :class:`tableformats.plugin.FormatTable`. Each call lists the log, so new commits are seen."""

    format = "delta"

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.location = storage.root

    def snapshot(self, selector: SnapshotSelector) -> DeltaSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.snapshot`."""
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

    def history(self, limit: int | None = None) -> pa.Table:
        """See :func:`tableformats_delta.history.history_table`."""
        listing = self._listing()
        return history_table(self._storage, listing, self._times(listing), limit)

    def _listing(self) -> LogListing:
        listing = list_log(self._storage)
        if not listing:
            raise TableNotFoundError(
                "the log holds no commit and no checkpoint", path=listing.directory, hint="Check the path"
            )
        return listing

    def _times(self, listing: LogListing) -> CommitTimes:
        properties = self._at(listing, listing.latest).properties
        return CommitTimes(self._storage, listing, properties)

    def _at(self, listing: LogListing, version: int) -> DeltaSnapshot:
        segment = listing.segment(version)
        snapshot = DeltaSnapshot(self._storage, segment, load_state(self._storage, segment), None)
        snapshot.timestamp_ms = CommitTimes(self._storage, listing, snapshot.properties).of(version)
        return snapshot


def _as_version(version: int | str, listing: LogListing) -> int:
    if isinstance(version, int) and not isinstance(version, bool):
        return version
    if isinstance(version, str) and version.isascii() and version.isdigit() and len(version) <= 20:
        return int(version)
    raise listing.not_found(f"{version!r} is no version of a Delta table")


