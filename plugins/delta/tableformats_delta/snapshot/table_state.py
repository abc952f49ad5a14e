"""Protocol, metadata and commits of a version: :func:`load_state`.

The newest protocol and metaData action count. Where no commit after the checkpoint has them they come from a checksum
file, which is cheaper to read than the checkpoint. Source: Delta PROTOCOL.md, "Action Reconciliation", "Change
Metadata", "Protocol Evolution", "Version Checksum File".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    CorruptMetadataError,
    MetadataCache,
    StoreError,
    UnsupportedFeatureError,
    dataclass,
    in_order,
    runs,
)

from ..checkpoints.checkpoint_files import read_metadata, reading_checkpoint_ahead
from ..log.checksums import VersionChecksum, read_checksum
from ..log.commits import Commit, read_commits
from ..log.listing import Checkpoint, LogFile, LogSegment
from ..schema.features import check_protocol
from ..schema.table_metadata import TableMetadata

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["TableState", "load_state", "reading_state_ahead"]

_RUN_BYTES = 4 << 20
_RUN_FILES = {"opened": 64, "requested": 2048}
"""The most files of a run. To open one takes long, so threads share them. Those that were requested come by themselves:
there threads are worth their time where much is to be decoded."""
_HINT = "The log is incomplete: restore its first commit or a checkpoint that holds the action"


@dataclass(frozen=True)
class TableState:
    """What the log of one version says about the table.

    Attributes
    ----------
    protocol, metadata : dict
        The actions that count, as parsed from JSON.
    table_metadata : TableMetadata
        ``metadata`` decoded.
    commits : list of Commit
        The commits after the checkpoint, newest first.
    segment : LogSegment
        The files that the version was read from: without compactions that are damaged.
    checksum : VersionChecksum or None
        The checksum file of this very version.
    notes : tuple of str
        Remarks for the scan report.
    """

    protocol: dict[str, Any]
    metadata: dict[str, Any]
    table_metadata: TableMetadata
    commits: list[Commit]
    segment: LogSegment
    checksum: VersionChecksum | None = None
    notes: tuple[str, ...] = ()


def load_state(
    storage: Storage, segment: LogSegment, cache: MetadataCache, older: TableState | None = None
) -> TableState:
    """Decode the commits of ``segment`` and find protocol and metadata.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    segment : LogSegment
        The files that make the version.
    cache : MetadataCache
        Decoded commits, checksum files and checkpoint metadata are read from it and added to it.
    older : TableState, optional
        The state of a segment that ``segment`` extends; only newer commits are read.

    Raises
    ------
    CorruptMetadataError
        A file is damaged; there is no protocol or no metaData action; or the checksum file contradicts the log.
    UnsupportedFeatureError
        The protocol, the schema or the format of data files is not supported.
    LimitExceededError
        The log or the schema exceeds a limit.
    """
    with reading_state_ahead(storage, segment, cache, older):
        return _loaded(storage, segment, cache, older)


@contextmanager
def reading_state_ahead(
    storage: Storage, segment: LogSegment, cache: MetadataCache, older: TableState | None = None
) -> Iterator[None]:
    """Within this context a remote store is being asked for what :func:`load_state` needs, all at once."""
    if storage.is_local:
        yield
        return
    is_known = segment.checkpoint is None or older is not None or cache.find(segment.checkpoint) is not None
    checkpoint = () if is_known else segment.checkpoint.files  # type: ignore[union-attr]
    with reading_checkpoint_ahead(storage, checkpoint, _files_ahead(segment, cache, older)):
        yield


def _files_ahead(segment: LogSegment, cache: MetadataCache, older: TableState | None) -> list[tuple[str, int]]:
    """The path and size of the commits and the checksum file that :func:`load_state` will read."""
    known = {commit.file for commit in older.commits} if older else set()
    files = [file for file in segment.commits if file not in known and cache.find(("commit", file)) is None]
    if segment.checksum is not None and segment.checksum.version == segment.version:
        if cache.find(("checksum", segment.checksum)) is None:
            files.append(segment.checksum)
    return [(file.path, file.size) for file in files]


def _loaded(storage: Storage, segment: LogSegment, cache: MetadataCache, older: TableState | None) -> TableState:
    segment, commits, notes = _commits(storage, segment, cache, older)
    protocol = next((commit.protocol for commit in commits if commit.protocol), older.protocol if older else None)
    metadata = next((commit.metadata for commit in commits if commit.metadata), older.metadata if older else None)
    checksum, is_current = None, segment.checksum is not None and segment.checksum.version == segment.version
    if segment.checksum is not None and (is_current or protocol is None or metadata is None):
        checksum = _checksum(storage, segment.checksum, cache, notes)
    if checksum is not None and is_current:
        checksum.check("protocol", protocol)
        checksum.check("metadata", metadata)
    checkpoint, stored = segment.checkpoint, 0
    path = checkpoint.files[0].path if checkpoint is not None else segment.commits[-1].path
    if checksum is not None:  # one of an older version still counts: no commit after it has what is missing
        path = path if metadata else checksum.file.path
        protocol, metadata = protocol or checksum.protocol, metadata or checksum.metadata
        checksum = checksum if is_current else None
    if checkpoint is not None and (protocol is None or metadata is None):
        older_protocol, older_metadata = _checkpoint_metadata(storage, checkpoint, cache)
        stored = 0 if metadata else sum(file.size for file in checkpoint.files)
        protocol, metadata = protocol or older_protocol, metadata or older_metadata
    if protocol is None:
        raise CorruptMetadataError("the log has no protocol action", path=path, field="protocol", hint=_HINT)
    check_protocol(protocol, path, segment.is_of_catalog)
    if metadata is None:
        raise CorruptMetadataError("the log has no metaData action", path=path, field="metaData", hint=_HINT)
    _check_format(metadata, path)
    if older is not None and metadata is older.metadata and protocol is older.protocol:
        table_metadata = older.table_metadata
    else:
        table_metadata = TableMetadata.of_actions(metadata, protocol, path, storage.limits, stored)
    return TableState(protocol, metadata, table_metadata, commits, segment, checksum, tuple(notes))


def _commits(
    storage: Storage, segment: LogSegment, cache: MetadataCache, older: TableState | None
) -> tuple[LogSegment, list[Commit], list[str]]:
    """The commits of ``segment``, the segment that was read, and notes.

    Where a compaction is damaged, or contradicts the protocol, the commits that it stands for are read instead.
    """
    notes: list[str] = []
    if older is not None and not segment.covered:
        newer = segment.commits[: len(segment.commits) - len(older.commits)]
        if (*newer, *(commit.file for commit in older.commits)) == segment.commits:
            return segment, [*_read_all(storage, newer, cache, {}), *older.commits], notes
    found = {commit.file: commit for commit in older.commits} if older else {}
    while True:
        try:
            return segment, _read_all(storage, segment.commits, cache, found), notes
        except CorruptMetadataError as error:
            damaged = next((file for file in segment.covered if file.path == error.path), None)
            if damaged is None or damaged not in segment.commits:
                raise
            commits = segment.covered[damaged]
            notes.append(
                f"The log compaction of versions {commits[-1].version} to {commits[0].version} was not used "
                f"({error.message}): its commits were read instead"
            )
            segment = segment.without(damaged)


def _read_all(
    storage: Storage, files: Sequence[LogFile], cache: MetadataCache, found: dict[LogFile, Commit]
) -> list[Commit]:
    """The commits of ``files``; those that are neither in ``found`` nor cached are read in runs, and added to it."""
    missing = []
    for file in files:
        if file not in found:
            commit = cache.find(("commit", file))
            if commit is None:
                missing.append(file)
            else:
                found[file] = commit
    todo = _runs(missing, storage.is_local)
    for commits in in_order(lambda run: read_commits(storage, run), todo) if missing else ():
        for commit in commits:
            # Twice the text is estimated: to measure the arrays is too slow for thousands of small commits.
            cache.keep(("commit", commit.file), commit, 2 * commit.file.size)
            found[commit.file] = commit
    return [found[file] for file in files]


def _runs(files: Sequence[LogFile], are_local: bool) -> Iterator[list[LogFile]]:
    """Files that are read in turn and decoded together. On a remote store all of them are being read ahead."""
    least = _RUN_BYTES // _RUN_FILES["opened" if are_local else "requested"]
    return runs(files, lambda file: max(file.size, least), _RUN_BYTES)


def _checksum(storage: Storage, file: LogFile, cache: MetadataCache, notes: list[str]) -> VersionChecksum | None:
    """The checksum file, or None where it is damaged, which is noted."""
    try:
        return cache.get(("checksum", file), lambda: read_checksum(storage, file), lambda _: file.size)
    except StoreError:
        raise
    except (CorruptMetadataError, OSError):
        notes.append(f"The checksum file of version {file.version} is damaged and was ignored")
        return None


def _checkpoint_metadata(
    storage: Storage, checkpoint: Checkpoint, cache: MetadataCache
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    return cache.get(
        ("metadata", checkpoint), lambda: read_metadata(storage, checkpoint, cache), lambda found: len(str(found))
    )


def _check_format(metadata: dict[str, Any], path: str) -> None:
    form = metadata.get("format")
    provider = form.get("provider") if isinstance(form, dict) else None
    if provider is not None and provider != "parquet":
        raise UnsupportedFeatureError(
            f"the data files are of format {provider!r}", path=path, field="metaData.format.provider"
        )
