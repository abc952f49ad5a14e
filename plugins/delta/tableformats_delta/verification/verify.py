"""Looks for broken rules in a table, or in one version: :func:`verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from tableformats.plugin import StoreError, TableFormatsError, Violation

from ..log.listing import LogListing
from .checkpoint_contents import CheckpointContents
from .column_rules import doubtful_adds, doubtful_partitions, doubtful_texts
from .commit_file import CommitFile
from .commit_rules import commit_violations
from .file_rules import disk_violations, partition_violations, statistics_violations
from .history import History
from .log_rules import (
    checkpoint_violations,
    checksum_violations,
    compaction_violations,
    hint_violations,
)
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["verify"]


def verify(storage: Storage, listing: LogListing, version: int | None, deep: bool) -> Iterator[Violation]:
    """What breaks a rule of the protocol.

    Parameters
    ----------
    listing : LogListing
        The log.
    version : int or None
        The only version to look at; None: all that the log has.
    deep : bool
        Read deletion vectors, too.

    Raises
    ------
    SnapshotNotFoundError
        There is no such version.
    StoreError
        As the store fails.
    """
    if version is not None and version not in listing.commits and version not in listing.checkpoints:
        raise listing.not_found(f"the table has no version {version}")
    yield from _Verification(storage, listing, version, deep).violations()


class _Verification:
    """Goes through the log once, oldest version first."""

    def __init__(self, storage: Storage, listing: LogListing, version: int | None, deep: bool) -> None:
        self._storage = storage
        self._listing = listing
        self._only = version
        self._deep = deep
        self._last = listing.latest if version is None else version
        self._state: History | None = None
        self._recent: dict[int, CommitFile] = {}
        self._wanted = {start for start, _ in listing.compactions}

    def violations(self) -> Iterator[Violation]:
        """All violations."""
        if self._only is None:
            yield from hint_violations(self._storage, self._listing)
            yield from self._gaps()
        for version in self._versions(self._first()):
            if self._state is not None and self._state.version != version - 1:
                self._state = None  # behind a gap only a checkpoint says what is there
            is_asked = self._only in (None, version)
            found = list(self._version(version))
            if is_asked:
                yield from found
        if self._state is not None and self._state.version == self._last:
            yield from self._state.overlapping_row_ids()
            path = self._listing.directory
            yield from disk_violations(self._storage, self._state.live, path, self._last, self._deep)

    def _versions(self, first: int) -> list[int]:
        """The versions from ``first`` on that have a file; a log may claim any number of others between them."""
        listing = self._listing
        ends = (end for _, end in listing.compactions)
        found = {*listing.commits, *listing.checkpoints, *listing.checksums, *ends}
        return sorted(version for version in found if first <= version <= self._last)

    def _first(self) -> int:
        """The version to begin with: of the newest checkpoint before the only version, or the oldest of all."""
        only, listing = self._only, self._listing
        if only is None:
            return listing.oldest or 0
        return max((v for v in listing.checkpoints if v < only or (v == only and v not in listing.commits)), default=0)

    def _gaps(self) -> Iterator[Violation]:
        versions = sorted(self._listing.commits)
        for before, after in zip(versions, versions[1:], strict=False):
            if after != before + 1:
                what = f"the commits of versions {before + 1} to {after - 1} are missing"
                yield violation("version-gap", what, self._listing.directory, before + 1)

    def _version(self, version: int) -> Iterator[Violation]:
        file = self._listing.commits.get(version)
        commit = None if file is None else CommitFile.read(self._storage, file)
        if commit is not None:
            yield from commit_violations(commit)
            self._remember(commit)
            if version == 0:
                self._state = History(self._storage)
            if self._state is not None:
                yield from self._state.apply(commit)
        else:
            self._state = None
        checkpoint = self._listing.checkpoints.get(version)
        if checkpoint is not None:
            yield from self._checkpoint(version)
        checksum = self._listing.checksums.get(version)
        if checksum is not None and self._state is not None:
            yield from checksum_violations(self._storage, checksum, self._state)
        yield from self._compactions(version)

    def _checkpoint(self, version: int) -> Iterator[Violation]:
        checkpoint = self._listing.checkpoints[version]
        try:
            contents = CheckpointContents.read(self._storage, checkpoint)
        except StoreError:
            raise
        except TableFormatsError as error:
            yield violation("damaged-file", error.message, error.path or checkpoint.files[0].path, version)
            return
        yield from checkpoint_violations(self._storage, checkpoint, contents, self._state)
        if self._state is None:
            self._state = History(self._storage)
            self._state.begin(contents, version)
            yield from self._files(self._state, contents, checkpoint.files[0].path)

    def _files(self, state: History, contents: CheckpointContents, path: str) -> Iterator[Violation]:
        """The rules for file actions, of those that a checkpoint has and no commit."""
        layout = state.layout
        adds: list[Mapping[str, Any]] = [action for name, action in contents.actions if name == "add"]
        doubtful = list(doubtful_adds(adds))
        for block in contents.of("add"):
            doubtful += [block.action(row) for row in np.flatnonzero(doubtful_texts(block)).tolist()]
            if layout is not None:
                rows = np.flatnonzero(doubtful_partitions(block, layout.partition_columns)).tolist()
                adds += [block.action(row) for row in rows]
        for add in doubtful:
            yield from statistics_violations(add, path, state.version)
        if layout is not None:
            yield from partition_violations(adds, layout.partition_columns, path, state.version)

    def _remember(self, commit: CommitFile) -> None:
        """Keep the commits that compactions need."""
        if self._wanted:
            kept = copy(commit)
            kept.actions = [action for action in commit.actions if action[0] in ("add", "remove")]
            self._recent[commit.version] = kept

    def _compactions(self, version: int) -> Iterator[Violation]:
        for (start, end), file in sorted(self._listing.compactions.items()):
            if end == version and all(one in self._recent for one in range(start, end + 1)):
                commits = [self._recent[one] for one in range(start, end + 1)]
                yield from compaction_violations(self._storage, file, commits)
