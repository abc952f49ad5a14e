"""The log of a table whose catalog decides which commits count: what is in the log, and what only the catalog knows.

A writer puts a commit into ``_staged_commits`` and asks the catalog to accept it. Accepted commits are published, which
is to be copied into the log, some time later. The catalog must be asked before the log is listed, or a commit could be
published and forgotten in between. What it holds counts more than what is published, and nothing counts above the
newest version that it accepted. Source: Delta PROTOCOL.md, "Reading Catalog-managed Tables", "Reader Requirements for
Catalog-managed tables".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, lazy_pattern

from .listing import MAX_VERSION, LogFile, LogListing
from .names import STAGED_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import CatalogCommit, CatalogCommits

__all__ = ["with_catalog_commits"]

_STAGED = lazy_pattern(r"(\d{20})\.[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\.json", re.ASCII)


def with_catalog_commits(listing: LogListing, held: CatalogCommits) -> LogListing:
    """The log with the commits that the catalog holds, up to the newest version that it accepted.

    Parameters
    ----------
    listing : LogListing
        What is published, listed after the catalog was asked.
    held : CatalogCommits
        The catalog's answer.

    Raises
    ------
    CorruptMetadataError
        The catalog names a commit that cannot be one, or the newest version is neither held nor published.
    """
    staged = {commit.version: _staged_file(listing, commit) for commit in held.commits}
    latest = max(staged, default=None) if held.latest is None else held.latest
    if latest is None:  # nothing has gone through the catalog yet: what is published counts
        return LogListing(
            listing.directory, listing.commits, listing.checkpoints, listing.compactions, listing.checksums, True
        )
    # A compaction has the published commits; those that the catalog holds are to be read.
    last_compacted = min([latest, *(version - 1 for version in staged)])
    published = {version: file for version, file in listing.commits.items() if version <= latest}
    found = LogListing(
        listing.directory,
        {**published, **{version: file for version, file in staged.items() if version <= latest}},
        {version: checkpoint for version, checkpoint in listing.checkpoints.items() if version <= latest},
        {span: file for span, file in listing.compactions.items() if span[1] <= last_compacted},
        {version: file for version, file in listing.checksums.items() if version <= latest},
        True,
    )
    if found and found.latest != latest:
        raise CorruptMetadataError(
            f"the catalog accepted version {latest}, and neither holds its commit nor has it been published: the log "
            f"ends at version {found.latest}",
            path=listing.directory,
            hint="Open the table again; if it goes on, the catalog and the table do not belong together",
        )
    return found


def _staged_file(listing: LogListing, commit: CatalogCommit) -> LogFile:
    match = _STAGED.fullmatch(commit.file_name)
    if match is None or int(match[1]) != commit.version or commit.version > MAX_VERSION or commit.size < 0:
        raise CorruptMetadataError(
            f"the catalog names {commit.file_name[:200]!r} as the commit of version {commit.version}",
            path=listing.directory,
            hint="It cannot be one: the catalog is damaged, or speaks another version of its API",
        )
    path = f"{listing.directory}/{STAGED_DIRECTORY}/{commit.file_name}"
    return LogFile(commit.version, path, commit.size, commit.mtime_ms)
