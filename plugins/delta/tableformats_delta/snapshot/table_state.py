"""Protocol and metadata of a version: the newest of each wins, and no table is without them.

Where no commit after the checkpoint has them, a checksum file spares the look into the checkpoint. Source: Delta
PROTOCOL.md, "Action Reconciliation", "Change Metadata", "Protocol Evolution", "Version Checksum File".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, MetadataCache, UnsupportedFeatureError, in_order, runs

from ..checkpoints.checkpoint_files import read_metadata
from ..log.checksums import VersionChecksum, read_checksum
from ..log.commits import Commit, read_commits
from ..log.listing import Checkpoint, LogFile, LogSegment
from ..schema.features import check_protocol
from ..schema.table_metadata import TableMetadata

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["TableState", "load_state"]

_RUN_BYTES = 4 << 20
_RUN_FILES = 64
_HINT = "The log is incomplete: restore its first commit or a checkpoint that holds the action"


@dataclass
class TableState:
    """What a version's log says about the table.

    ``commits`` are decoded, newest first; ``checksum`` is of this very version; ``notes`` are sentences for people;
    ``path`` is for errors.
    """

    protocol: dict[str, Any]
    metadata: dict[str, Any]
    table_metadata: TableMetadata
    commits: list[Commit]
    path: str
    checksum: VersionChecksum | None = None
    notes: list[str] = field(default_factory=list)


def load_state(
    storage: Storage, segment: LogSegment, cache: MetadataCache | None = None, older: TableState | None = None
) -> TableState:
    """Decode the commits of ``segment`` and find protocol and metadata.

    Parameters
    ----------
    cache : takes what is decoded, and gives what it has
    older : the state of a segment that ``segment`` extends, from which only newer commits are missing

    Raises
    ------
    CorruptMetadataError : a damaged file; no protocol or no metaData action; the checksum file contradicts the log
    UnsupportedFeatureError : the protocol asks for what is not built
    """
    cache = cache or MetadataCache(0)
    commits = _commits(storage, segment, cache, older)
    protocol = next((commit.protocol for commit in commits if commit.protocol), older.protocol if older else None)
    metadata = next((commit.metadata for commit in commits if commit.metadata), older.metadata if older else None)
    notes: list[str] = []
    checksum = None
    if segment.checksum is not None:
        is_current = segment.checksum.version == segment.version
        if is_current or protocol is None or metadata is None:
            checksum = _checksum(storage, segment.checksum, cache, notes)
        if checksum is not None and is_current:
            checksum.check("protocol", protocol)
            checksum.check("metadata", metadata)
    checkpoint = segment.checkpoint
    path = checkpoint.files[0].path if checkpoint is not None else segment.commits[-1].path
    if checksum is not None:  # where it is of an older version, no commit after it has what is missing
        path = path if metadata else checksum.file.path
        protocol, metadata = protocol or checksum.protocol, metadata or checksum.metadata
        checksum = checksum if checksum.file.version == segment.version else None
    if checkpoint is not None and (protocol is None or metadata is None):
        older_protocol, older_metadata = _checkpoint_metadata(storage, checkpoint, cache)
        protocol, metadata = protocol or older_protocol, metadata or older_metadata
    if protocol is None:
        raise CorruptMetadataError("the log has no protocol action", path=path, field="protocol", hint=_HINT)
    check_protocol(protocol, path)
    if metadata is None:
        raise CorruptMetadataError("the log has no metaData action", path=path, field="metaData", hint=_HINT)
    _check_format(metadata, path)
    table_metadata = TableMetadata.of_actions(metadata, protocol, path, storage.limits)
    return TableState(protocol, metadata, table_metadata, commits, path, checksum, notes)


def _commits(storage: Storage, segment: LogSegment, cache: MetadataCache, older: TableState | None) -> list[Commit]:
    """The commits of ``segment``; those that are not at hand are read and decoded many at once."""
    found = {commit.file: commit for commit in older.commits} if older else {}
    missing = []
    for file in segment.commits:
        if file not in found:
            commit = cache.find(("commit", file))
            if commit is None:
                missing.append(file)
            else:
                found[file] = commit
    for commits in in_order(lambda files: read_commits(storage, files), _runs(missing, storage.is_local)):
        for commit in commits:
            # About as much again as its text: asking the arrays costs more than it is worth for so many small ones.
            cache.keep(("commit", commit.file), commit, 2 * commit.file.size)
            found[commit.file] = commit
    return [found[file] for file in segment.commits]


def _runs(files: Sequence[LogFile], is_local: bool) -> Iterator[list[LogFile]]:
    """Files that are read one after the other and decoded at once; where a store is waited for, each alone."""
    least = _RUN_BYTES // _RUN_FILES if is_local else _RUN_BYTES
    return runs(files, lambda file: max(file.size, least), _RUN_BYTES)


def _checksum(storage: Storage, file: LogFile, cache: MetadataCache, notes: list[str]) -> VersionChecksum | None:
    """The checksum file; None and a note where it is damaged."""
    try:
        return cache.get(("checksum", file), lambda: read_checksum(storage, file), lambda _: file.size)
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
