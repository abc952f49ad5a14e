"""What came after a version that is known, without listing the log: :func:`following`.

A writer that commits again and again would list thousands of files to find one. It asks for the next names instead.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .listing import Checkpoint, LogFile, LogListing, LogSegment
from .names import LOG_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import MetadataCache, Storage

__all__ = ["following", "keep_own_checkpoint", "local_checkpoint", "local_commit", "upon_own_checkpoint"]

_LISTED_EVERY = 64
"""After so many commits behind the known checkpoint the log is listed: a newer one may be there."""
_OWN = "checkpoint of this process"
"""The key of the last one in a cache, which is that of one table."""


def following(storage: Storage, known: LogSegment) -> tuple[LogSegment, LogListing] | None:
    """The newest version of a local log, as ``known`` with newer commits in front, and what is known of the log.

    None where the log has to be listed: the commit of the known version is another file now, as when a table was
    replaced, or there is none; or many versions came since.
    """
    newest = known.newest_commit
    if newest is None or (len(known.commits) >= _LISTED_EVERY and not (known.version + 1) % _LISTED_EVERY):
        return None
    files = _files(storage, known.version)
    if next(files) != newest:
        return None
    newer: list[LogFile] = []
    for file in files:
        if file is None:
            break
        newer.append(file)
        if len(newer) > _LISTED_EVERY:
            return None
    commits = (*reversed(newer), *known.commits)
    segment = known
    if newer:
        segment = replace(known, version=newer[-1].version, commits=commits, checksum=None, own_commit=None)
    listed = {f.version: f for f in reversed(commits) if not f.is_compaction}
    listing = LogListing(storage.join(LOG_DIRECTORY), {newest.version: newest, **listed})
    if known.checkpoint is not None:
        listing.checkpoints[known.checkpoint.version] = known.checkpoint
    return segment, listing


def local_commit(storage: Storage, version: int) -> LogFile | None:
    """A commit in a local log, as a listing has it; None where there is none, or the log is in a store."""
    return _local_file(storage, version, "json")


def local_checkpoint(storage: Storage, version: int) -> Checkpoint | None:
    """The checkpoint of a version, if that is one file, of the name that no other has, in a local log."""
    file = _local_file(storage, version, "checkpoint.parquet")
    return Checkpoint(version, (file,)) if file is not None and file.size else None


def keep_own_checkpoint(storage: Storage, version: int, cache: MetadataCache) -> None:
    """Remember that this process wrote the checkpoint of a version, for :func:`upon_own_checkpoint`."""
    found = local_checkpoint(storage, version)
    if found is not None:
        cache.keep(_OWN, found, 256)


def upon_own_checkpoint(known: LogSegment, cache: MetadataCache) -> LogSegment:
    """The segment upon the checkpoint of its version, if this process wrote that a moment ago; else as it is.

    A writer that commits again and again would carry more and more commits, as it does not list the log.
    """
    found = cache.find(_OWN)
    if found is None or found.version != known.version or not known.commits or known.newest_commit is None:
        return known
    return known.upon(found)


def _local_file(storage: Storage, version: int, ending: str) -> LogFile | None:
    if not storage.is_local:
        return None
    path = storage.join(LOG_DIRECTORY, f"{version:020d}.{ending}")
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (
        LogFile(version, path, found.st_size, found.st_mtime_ns // 1_000_000) if stat.S_ISREG(found.st_mode) else None
    )


def _files(storage: Storage, version: int) -> Iterator[LogFile | None]:
    """The commits from ``version`` on; None where there is none."""
    while True:
        yield local_commit(storage, version)
        version += 1
