"""The transaction log's files: which commits and complete checkpoints there are, and which of them make a version.

The whole directory is listed, for no file system here lists from a name on. So no hint is needed or trusted:
``_last_checkpoint`` may be stale, damaged or dangling and changes nothing. File names that do not match exactly
(``.tmp``, staged commits, ``.x.json.crc``) are ignored. Source: Delta PROTOCOL.md, "Delta Log Entries", "Checkpoints",
"Log Compaction Files", "Version Checksum File", "Last Checkpoint File".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, SnapshotNotFoundError, cached_property, missing_file

from .names import LOG_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tableformats.plugin import FileInfo, Storage

__all__ = [
    "Checkpoint",
    "LogFile",
    "LogListing",
    "LogSegment",
    "list_log",
    "read_log_file",
    "read_log_file_into",
]

_MAX_VERSION = 2**63 - 1
_LONGEST_TAIL = 128
"""So many files after a checkpoint, and an updated snapshot begins again at a newer one, if there is any."""

_COMMIT = re.compile(r"(\d{20})\.json", re.ASCII)
_CLASSIC = re.compile(r"(\d{20})\.checkpoint\.parquet", re.ASCII)
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet", re.ASCII)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json", re.ASCII)
_CHECKSUM = re.compile(r"(\d{20})\.crc", re.ASCII)
_V2 = re.compile(rf"(\d{{20}})\.checkpoint\.{_UUID}\.(?:parquet|json)", re.ASCII)


@dataclass(frozen=True)
class LogFile:
    """A file of the log; ``path`` is absolute, ``mtime_ms`` is milliseconds since the epoch.

    ``version`` of a compaction is the last one that it stands for.
    """

    version: int
    path: str
    size: int
    mtime_ms: int

    @property
    def is_compaction(self) -> bool:
        return self.path.endswith(".compacted.json")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: one file, all parts of a multi-part one, or the manifest of a V2 one."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True)
class LogSegment:
    """What makes one version: a checkpoint, or none, and the commits after it, newest first.

    Compactions stand among ``commits`` in place of those that they cover. ``checksum`` is the newest checksum file
    of the versions from the checkpoint's to this one.
    """

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogFile, ...]
    checksum: LogFile | None = None

    def extends(self, older: LogSegment) -> bool:
        """Whether it is ``older`` and newer commits."""
        kept = self.commits[len(self.commits) - len(older.commits) :]
        return self.checkpoint == older.checkpoint and kept == older.commits


@dataclass
class LogListing:
    """The log at one moment. ``checkpoints`` holds one complete checkpoint a version.

    ``compactions`` are keyed by the first and the last version that they stand for.
    """

    directory: str
    commits: dict[int, LogFile] = field(default_factory=dict)
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)
    compactions: dict[tuple[int, int], LogFile] = field(default_factory=dict)
    checksums: dict[int, LogFile] = field(default_factory=dict)

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
            checkpoint = None if base is None else self.checkpoints[base]
            return LogSegment(version, checkpoint, self._covering(first, version), self._checksum(base or 0, version))
        if version not in self.commits:
            raise self.not_found(f"the table has no version {version}")
        if self.oldest is not None and version < self.oldest:
            raise self.not_found(f"version {version} can no longer be reconstructed: the log before it was cleaned up")
        raise CorruptMetadataError(
            f"the log has a gap: version {version} needs the commit of version {missing}",
            path=f"{self.directory}/{missing:020d}.json",
            hint="Restore the file, or read a version before the gap",
        )

    def segment_after(self, older: LogSegment) -> LogSegment:
        """The files that make the newest version, of them as many as possible from ``older``.

        Those of ``older`` stay while all of them are there unchanged and its tail is not too long; where they are
        not, this is :meth:`segment`. Raises as :meth:`segment` does.
        """
        base = older.checkpoint
        first = older.version + 1
        kept = base is None or self.checkpoints.get(base.version) == base
        tail = len(older.commits) + self.latest - older.version
        there = {*self.commits.values(), *self.compactions.values()}.issuperset(older.commits)
        whole = all(v in self.commits for v in range(first, self.latest + 1))
        if not (kept and there and whole) or tail > _LONGEST_TAIL or self.latest < older.version:
            return self.segment(self.latest)
        commits = self._covering(first, self.latest) + older.commits
        return LogSegment(self.latest, base, commits, self._checksum(base.version if base else 0, self.latest))

    def _covering(self, first: int, last: int) -> tuple[LogFile, ...]:
        """The fewest files that stand for the commits ``first`` to ``last``, all of which are there; newest first.

        A compaction that begins before ``first`` or ends after ``last`` holds what is not asked for, and is none.
        Cost: O(commits + compactions).
        """
        ending: dict[int, list[tuple[int, LogFile]]] = {}
        for (start, end), file in self.compactions.items():
            if first <= start:
                ending.setdefault(end, []).append((start, file))
        fewest = {first - 1: 0}
        chosen: dict[int, tuple[int, LogFile]] = {}
        for version in range(first, last + 1):
            ways = [(version, self.commits[version]), *ending.get(version, ())]
            chosen[version] = min(ways, key=lambda way: fewest[way[0] - 1])
            fewest[version] = fewest[chosen[version][0] - 1] + 1
        files = []
        while last >= first:
            start, file = chosen[last]
            files.append(file)
            last = start - 1
        return tuple(files)

    def _checksum(self, first: int, last: int) -> LogFile | None:
        newest = max((v for v in self.checksums if first <= v <= last), default=None)
        return None if newest is None else self.checksums[newest]

    def not_found(self, message: str) -> SnapshotNotFoundError:
        """The error for a version that is not there, with what is."""
        oldest = self.latest if self.oldest is None else self.oldest
        return SnapshotNotFoundError(
            message, path=self.directory, hint=f"Versions {oldest} to {self.latest} can be asked for"
        )


def list_log(storage: Storage) -> LogListing:
    """List ``_delta_log``; an absent directory gives an empty listing.

    A file of 0 bytes is a writer's failure and is not there, as in Spark; a commit of 0 bytes alone is damage and is
    found when it is read.
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
        elif match := _COMPACTED.fullmatch(info.name):
            start = int(match.group(1))
            if (file := _log_file(info, match, 2)) and start < file.version:
                listing.compactions[start, file.version] = file
        elif match := _CHECKSUM.fullmatch(info.name):
            if file := _log_file(info, match):
                listing.checksums[file.version] = file
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


def _log_file(info: FileInfo, match: re.Match[str], group: int = 1) -> LogFile | None:
    version = int(match.group(group))
    return LogFile(version, info.path, info.size, info.mtime_ms) if version <= _MAX_VERSION else None


def read_log_file(storage: Storage, path: str) -> bytes:
    """The bytes of a log file. Raises CorruptMetadataError where it is gone since the listing."""
    try:
        return storage.read_bytes(path)
    except FileNotFoundError as error:
        raise missing_file("a file of the log", path) from error


def read_log_file_into(storage: Storage, path: str, room: Callable[[int], memoryview]) -> int:
    """How many bytes a log file has, which are put into the ``room`` for them; see :meth:`Storage.read_into`. Raises as
    :func:`read_log_file` does."""
    try:
        return len(storage.read_into(path, room))
    except FileNotFoundError as error:
        raise missing_file("a file of the log", path) from error
