"""The transaction log's files: which commits and complete checkpoints there are, and which of them make a version.

The whole directory is listed, so no hint is trusted: ``_last_checkpoint`` may be stale, damaged or dangling and
changes nothing. File names that do not match exactly (``.crc``, ``.tmp``, compacted and staged commits) are ignored.
Source: Delta PROTOCOL.md, "Delta Log Entries", "Checkpoints", "Last Checkpoint File".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError

if TYPE_CHECKING:
    from tableformats.storage import FileInfo, Storage

__all__ = [
    "LOG_DIRECTORY", "Checkpoint", "LogFile", "LogListing", "LogSegment", "list_log", "missing_file", "read_log_file",
]  # fmt: skip

LOG_DIRECTORY = "_delta_log"
_MAX_VERSION = 2**63 - 1

_COMMIT = re.compile(r"(\d{20})\.json", re.ASCII)
_CLASSIC = re.compile(r"(\d{20})\.checkpoint\.parquet", re.ASCII)
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet", re.ASCII)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_V2 = re.compile(rf"(\d{{20}})\.checkpoint\.{_UUID}\.(?:parquet|json)", re.ASCII)


@dataclass(frozen=True)
class LogFile:
    """A file of the log; ``path`` is absolute, ``mtime_ms`` is milliseconds since the epoch."""

    version: int
    path: str
    size: int
    mtime_ms: int


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: one file, all parts of a multi-part one, or the manifest of a V2 one."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True)
class LogSegment:
    """What makes one version: a checkpoint, or none, and the commits after it, newest first."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogFile, ...]


@dataclass
class LogListing:
    """The log at one moment. ``checkpoints`` holds one complete checkpoint a version."""

    directory: str
    commits: dict[int, LogFile] = field(default_factory=dict)
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.commits or self.checkpoints)

    @cached_property
    def latest(self) -> int:
        """The newest version. Raises ValueError on an empty log."""
        return max([*self.commits, *self.checkpoints])

    @cached_property
    def oldest(self) -> int | None:
        """The oldest version that can be reconstructed, or None."""
        if 0 in self.commits:
            return 0
        return min(self.checkpoints, default=None)

    @cached_property
    def commit_times(self) -> dict[int, int]:
        """{version: milliseconds} of the commits from :attr:`oldest` on, made strictly monotonic.

        Source: the file's modification time; where it does not grow, the time before it + 1 ms, as Spark does.
        """
        times: dict[int, int] = {}
        previous: int | None = None
        for version in sorted(v for v in self.commits if self.oldest is not None and v >= self.oldest):
            time = self.commits[version].mtime_ms
            previous = time if previous is None else max(time, previous + 1)
            times[version] = previous
        return times

    def segment(self, version: int) -> LogSegment:
        """The files that make ``version``.

        Raises
        ------
        SnapshotNotFoundError : no such version, or it can no longer be reconstructed
        CorruptMetadataError : a commit that it needs is missing
        """
        if not 0 <= version <= self.latest:
            raise self.not_found(f"the table has no version {version}")
        base = max((v for v in self.checkpoints if v <= version), default=None)
        first = 0 if base is None else base + 1
        missing = next((v for v in range(first, version + 1) if v not in self.commits), None)
        if missing is None:
            commits = tuple(self.commits[v] for v in range(version, first - 1, -1))
            return LogSegment(version, None if base is None else self.checkpoints[base], commits)
        if version not in self.commits:
            raise self.not_found(f"the table has no version {version}")
        if self.oldest is not None and version < self.oldest:
            raise self.not_found(f"version {version} can no longer be reconstructed: the log before it was cleaned up")
        raise CorruptMetadataError(
            f"the log has a gap: version {version} needs the commit of version {missing}",
            path=f"{self.directory}/{missing:020d}.json",
            hint="Restore the file, or read a version before the gap",
        )

    def not_found(self, message: str) -> SnapshotNotFoundError:
        """The error for a version that is not there, with what is."""
        oldest = self.latest if self.oldest is None else self.oldest
        return SnapshotNotFoundError(
            message, path=self.directory, hint=f"Versions {oldest} to {self.latest} can be asked for"
        )


def list_log(storage: Storage) -> LogListing:
    """List ``_delta_log``; an absent directory gives an empty listing.

    A checkpoint file of 0 bytes is a writer's failure and no checkpoint, as in Spark; a commit of 0 bytes is damage
    and is found when it is read.
    """
    listing = LogListing(storage.join(LOG_DIRECTORY))
    parts: dict[tuple[int, int], dict[int, LogFile]] = {}
    v2: dict[int, Checkpoint] = {}
    for info in storage.list(listing.directory):
        if match := _COMMIT.fullmatch(info.name):
            if file := _log_file(info, match):
                listing.commits[file.version] = file
        elif info.size == 0:
            continue
        elif match := _CLASSIC.fullmatch(info.name):
            if file := _log_file(info, match):
                listing.checkpoints[file.version] = Checkpoint(file.version, (file,))
        elif match := _V2.fullmatch(info.name):
            if file := _log_file(info, match):
                v2[file.version] = Checkpoint(file.version, (file,))
        elif (match := _PART.fullmatch(info.name)) and (file := _log_file(info, match)):
            parts.setdefault((file.version, int(match.group(3))), {})[int(match.group(2))] = file
    for (version, count), found in sorted(parts.items()):
        if len(found) == count and min(found) == 1 and max(found) == count:
            listing.checkpoints.setdefault(version, Checkpoint(version, tuple(found[i] for i in sorted(found))))
    for version, checkpoint in v2.items():
        listing.checkpoints.setdefault(version, checkpoint)
    return listing


def _log_file(info: FileInfo, match: re.Match[str]) -> LogFile | None:
    version = int(match.group(1))
    return LogFile(version, info.path, info.size, info.mtime_ms) if version <= _MAX_VERSION else None


def read_log_file(storage: Storage, path: str) -> bytes:
    """The bytes of a log file. Raises CorruptMetadataError where it is gone since the listing."""
    try:
        return storage.read_bytes(path)
    except FileNotFoundError as error:
        raise missing_file(path) from error


def missing_file(path: str) -> CorruptMetadataError:
    """The error for a file that the log names and the store does not have."""
    return CorruptMetadataError(
        "a file of the log is missing", path=path, hint="If the log is being cleaned up, open the table again"
    )
