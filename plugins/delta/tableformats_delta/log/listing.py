"""Lists the log: its commits, complete checkpoints and other files, and which of them make a version.

Names that do not match exactly (``.tmp``, staged commits, ``.x.json.crc``) are ignored. Source: Delta
PROTOCOL.md, "Delta Log Entries", "Checkpoints", "Log Compaction Files", "Version Checksum File", "Last Checkpoint
File".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tableformats.plugin import (
    CorruptMetadataError,
    SnapshotNotFoundError,
    cached_property,
    dataclass,
    lazy_pattern,
    missing_file,
)

from .names import LOG_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tableformats.plugin import FileInfo, Storage

__all__ = [
    "MAX_VERSION",
    "Checkpoint",
    "LogFile",
    "LogListing",
    "LogSegment",
    "list_log",
    "listing_of",
    "read_log_file",
    "read_log_file_into",
]

MAX_VERSION = 2**63 - 1
_MAX_TAIL_FILES = 128
"""An update with more files after its checkpoint than this starts again, from a newer checkpoint where there is one."""

_COMMIT = lazy_pattern(r"(\d{20})\.json", re.ASCII)
_CLASSIC = lazy_pattern(r"(\d{20})\.checkpoint\.parquet", re.ASCII)
_PART = lazy_pattern(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet", re.ASCII)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_COMPACTED = lazy_pattern(r"(\d{20})\.(\d{20})\.compacted\.json", re.ASCII)
_CHECKSUM = lazy_pattern(r"(\d{20})\.crc", re.ASCII)
_V2 = lazy_pattern(rf"(\d{{20}})\.checkpoint\.{_UUID}\.(?:parquet|json)", re.ASCII)


@dataclass(frozen=True)
class LogFile:
    """A file of the log.

    Attributes
    ----------
    version : int
        For a compaction the last version that it covers.
    path : str
        Absolute.
    size : int
        In bytes.
    mtime_ms : int
        Modification time, milliseconds since the epoch.
    """

    version: int
    path: str
    size: int
    mtime_ms: int

    def __hash__(self) -> int:
        """Of the path alone, which is quick: its text keeps its hash. Files of one path are rarely compared."""
        return hash(self.path)

    @property
    def is_compaction(self) -> bool:
        """Whether the file is a log compaction."""
        return self.path.endswith(".compacted.json")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: one file, all parts of a multi-part checkpoint, or the manifest of a V2 checkpoint."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True)
class LogSegment:
    """The files that make one version.

    Attributes
    ----------
    checkpoint : Checkpoint or None
        The checkpoint to start from, if any.
    commits : tuple of LogFile
        The commits after it, newest first, with compactions in place of the commits that they cover.
    checksum : LogFile or None
        The newest checksum file from the version of the checkpoint to this one.
    covered : dict of LogFile to tuple of LogFile
        For each compaction among ``commits`` the commits that it stands for, newest first.
    is_of_catalog : bool
        Whether the table's catalog said which commits count.
    own_commit : LogFile or None
        The commit of the version, where it is known and the checkpoint stands for it.
    """

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogFile, ...]
    checksum: LogFile | None = None
    covered: dict[LogFile, tuple[LogFile, ...]] = field(default_factory=dict, compare=False, repr=False)
    is_of_catalog: bool = field(default=False, compare=False)
    own_commit: LogFile | None = field(default=None, compare=False, repr=False)

    @property
    def newest_commit(self) -> LogFile | None:
        """The commit of the version; None where it is not known, or a compaction stands for it."""
        newest = self.commits[0] if self.commits else self.own_commit
        return newest if newest is not None and newest.version == self.version and not newest.is_compaction else None

    def upon(self, checkpoint: Checkpoint) -> LogSegment:
        """The same version by its checkpoint alone."""
        return LogSegment(self.version, checkpoint, (), own_commit=self.newest_commit)

    def without(self, compaction: LogFile) -> LogSegment:
        """The same segment with the commits that ``compaction`` stands for in its place."""
        at = self.commits.index(compaction)
        commits = (*self.commits[:at], *self.covered[compaction], *self.commits[at + 1 :])
        return replace(self, commits=commits)

    def extends(self, older: LogSegment) -> bool:
        """Whether this segment is ``older`` with newer commits in front."""
        kept = self.commits[len(self.commits) - len(older.commits) :]
        return self.checkpoint == older.checkpoint and kept == older.commits


@dataclass
class LogListing:
    """The files of the log at one moment.

    Attributes
    ----------
    directory : str
        The path of the log.
    commits, checksums : dict of int to LogFile
        By version.
    checkpoints : dict of int to Checkpoint
        One complete checkpoint per version.
    compactions : dict of (int, int) to LogFile
        By the first and the last version that they cover.
    is_of_catalog : bool
        Whether the table's catalog said which commits count; see :mod:`.catalog_log`.
    """

    directory: str
    commits: dict[int, LogFile] = field(default_factory=dict)
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)
    compactions: dict[tuple[int, int], LogFile] = field(default_factory=dict)
    checksums: dict[int, LogFile] = field(default_factory=dict)
    is_of_catalog: bool = False

    def __bool__(self) -> bool:
        return bool(self.commits or self.checkpoints)

    @cached_property
    def latest(self) -> int:
        """The newest version. Raises ValueError on an empty log."""
        return max([*self.commits, *self.checkpoints])

    @cached_property
    def oldest(self) -> int | None:
        """The oldest version that can be read, or None."""
        if 0 in self.commits:
            return 0
        return min(self.checkpoints, default=None)

    @cached_property
    def commit_times(self) -> dict[int, int]:
        """Times of the commits from :attr:`oldest` on, by version, in milliseconds since the epoch.

        They are the modification times of the files. Where a time does not grow it is the time before it plus 1 ms, as
        in Spark.
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
        SnapshotNotFoundError
            There is no such version, or the log before it was cleaned up.
        CorruptMetadataError
            A commit is missing.
        """
        if not 0 <= version <= self.latest:
            raise self.not_found(f"the table has no version {version}")
        base = max((v for v in self.checkpoints if v <= version), default=None)
        first = 0 if base is None else base + 1
        missing = next((v for v in range(first, version + 1) if v not in self.commits), None)
        if missing is None:
            checkpoint = None if base is None else self.checkpoints[base]
            commits, covered = self._covering(first, version)
            checksum = self._checksum(base or 0, version)
            return LogSegment(version, checkpoint, commits, checksum, covered, self.is_of_catalog)
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
        """The files that make the newest version; ``older`` is extended where that is possible.

        It is possible while all files of ``older`` are unchanged and the tail after its checkpoint is short. Otherwise
        this is :meth:`segment`, and raises as that does.
        """
        base = older.checkpoint
        first = older.version + 1
        has_base = base is None or self.checkpoints.get(base.version) == base
        tail = len(older.commits) + self.latest - older.version
        has_commits = {*self.commits.values(), *self.compactions.values()}.issuperset(older.commits)
        has_no_gap = all(v in self.commits for v in range(first, self.latest + 1))
        if not (has_base and has_commits and has_no_gap) or tail > _MAX_TAIL_FILES or self.latest < older.version:
            return self.segment(self.latest)
        commits, covered = self._covering(first, self.latest)
        checksum = self._checksum(base.version if base else 0, self.latest)
        covered = {**older.covered, **covered}
        return LogSegment(self.latest, base, commits + older.commits, checksum, covered, self.is_of_catalog)

    def _covering(self, first: int, last: int) -> tuple[tuple[LogFile, ...], dict[LogFile, tuple[LogFile, ...]]]:
        """The fewest files that cover the commits ``first`` to ``last``, newest first, and :attr:`LogSegment.covered`.

        No commit may be missing.
        Compactions that start before ``first`` or end after ``last`` have actions of other versions and are not used.
        Cost: O(commits + compactions).
        """
        ending: dict[int, list[tuple[int, LogFile]]] = {}
        for (start, end), file in self.compactions.items():
            if first <= start:
                ending.setdefault(end, []).append((start, file))
        fewest = {first - 1: 0}
        chosen: dict[int, tuple[int, LogFile]] = {}
        for version in range(first, last + 1):
            candidates = [(version, self.commits[version]), *ending.get(version, ())]
            chosen[version] = min(candidates, key=lambda candidate: fewest[candidate[0] - 1])
            fewest[version] = fewest[chosen[version][0] - 1] + 1
        files, covered = [], {}
        while last >= first:
            start, file = chosen[last]
            files.append(file)
            if file.is_compaction:
                covered[file] = tuple(self.commits[version] for version in range(last, start - 1, -1))
            last = start - 1
        return tuple(files), covered

    def _checksum(self, first: int, last: int) -> LogFile | None:
        newest = max((v for v in self.checksums if first <= v <= last), default=None)
        return None if newest is None else self.checksums[newest]

    def not_found(self, message: str) -> SnapshotNotFoundError:
        """The error for a version that does not exist; its hint names the versions that do."""
        oldest = self.latest if self.oldest is None else self.oldest
        return SnapshotNotFoundError(
            message, path=self.directory, hint=f"Versions {oldest} to {self.latest} can be asked for"
        )


def list_log(storage: Storage, since: int | None = None) -> LogListing:
    """List ``_delta_log``; an absent directory gives an empty listing.

    Files of 0 bytes are left over from failed writes and are ignored, as in Spark. Commits of 0 bytes are listed: they
    are damage, which reading them reports.

    Parameters
    ----------
    since : int, optional
        Only files of this version and newer ones.
    """
    after = None if since is None else f"{since:020d}"
    return listing_of(storage, (info for page in _log_pages(storage, after) for info in page))


def _log_pages(storage: Storage, after: str | None) -> Iterator[Sequence[FileInfo]]:
    """The files of the log by name, in pages; files after those that begin with a version may be left out."""
    for page in storage.pages(storage.join(LOG_DIRECTORY), after):
        yield page
        if page and page[-1].name > "_":  # sidecars, staged commits and the hint come after all versions
            return


def listing_of(storage: Storage, infos: Iterable[FileInfo]) -> LogListing:
    """The files of the log among ``infos``; see :func:`list_log`."""
    listing = LogListing(storage.join(LOG_DIRECTORY))
    parts: dict[tuple[int, int], dict[int, LogFile]] = {}
    v2: dict[int, Checkpoint] = {}
    for info in infos:
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
    return LogFile(version, info.path, info.size, info.mtime_ms) if version <= MAX_VERSION else None


def read_log_file(storage: Storage, path: str) -> bytes:
    """Read a file of the log. Raises CorruptMetadataError where it vanished after the listing."""
    try:
        return storage.read_bytes(path)
    except FileNotFoundError as error:
        raise missing_file("a file of the log", path) from error


def read_log_file_into(storage: Storage, path: str, reserve: Callable[[int], memoryview]) -> int:
    """Read a file of the log into memory that ``reserve`` gives for a size; see :meth:`Storage.read_into`.

    Returns
    -------
    int
        The size of the file in bytes.

    Raises
    ------
    CorruptMetadataError
        The file vanished after the listing.
    """
    try:
        return len(storage.read_into(path, reserve))
    except FileNotFoundError as error:
        raise missing_file("a file of the log", path) from error
