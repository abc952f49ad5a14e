"""What a catalog says of the newest commits of a table, where the catalog decides which commits count."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CatalogCommit", "CatalogCommits"]


@dataclass(frozen=True)
class CatalogCommit:
    """A commit that the catalog accepted, and that may not be in the table's log yet.

    Attributes
    ----------
    version : int
    file_name : str
        Of the file where the format puts commits before the catalog accepts them.
    size : int
        In bytes.
    mtime_ms : int
        Modification time of the file, milliseconds since the epoch.
    """

    version: int
    file_name: str
    size: int
    mtime_ms: int


@dataclass(frozen=True)
class CatalogCommits:
    """The commits that a catalog holds at one moment.

    Attributes
    ----------
    latest : int or None
        The newest version that the catalog accepted. None: no commit has gone through the catalog yet.
    commits : tuple of CatalogCommit
        Those that the catalog still holds. All other versions up to ``latest`` are in the log.
    """

    latest: int | None
    commits: tuple[CatalogCommit, ...] = ()
