"""What a catalog says of the newest commits of a table, where the catalog decides which commits count; and how a format
hands its own commits to the catalog.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from .stores.base import PutOutcome

__all__ = ["CatalogCommit", "CatalogCommits", "CatalogWriter", "StagedTable", "TableUpdates"]


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


@dataclass(frozen=True)
class StagedTable:
    """A table that is to be created.

    Attributes
    ----------
    location : str
        Where its files go.
    table_id : str or None
        The id that the catalog gave it. None: it gives none.
    storage_options : mapping
        What opens the store.
    """

    location: str
    table_id: str | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TableUpdates:
    """What one commit changes of one table, in the JSON of Iceberg's REST catalog.

    Attributes
    ----------
    writer : CatalogWriter
        Of the table.
    requirements, updates : sequence of mapping
    """

    writer: CatalogWriter
    requirements: Sequence[Mapping[str, Any]]
    updates: Sequence[Mapping[str, Any]]


class CatalogWriter(ABC):
    """Commits to one table of a catalog, in the JSON of Iceberg's REST catalog.

    Every method raises CatalogError, or one of its kinds, where certainly nothing was committed.

    Attributes
    ----------
    catalog_name : str
    table_name : str
        The identifier, with dots.
    """

    catalog_name: str
    table_name: str

    @property
    @abstractmethod
    def applies_updates(self) -> bool:
        """Whether the catalog's server applies updates to the metadata, so that it takes all that the format has."""

    @property
    @abstractmethod
    def can_swap(self) -> bool:
        """Whether the location of a metadata file that we wrote can be swapped for that of the current one."""

    @abstractmethod
    def current(self) -> tuple[str, bytes | None]:
        """The location of the current metadata file; and its content, where the answer has it.

        Raises
        ------
        TableNotFoundError
            There is no such table.
        """

    @abstractmethod
    def commit(self, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]) -> PutOutcome:
        """Let the catalog apply updates, if all requirements hold.

        Returns
        -------
        PutOutcome
            LOST: the catalog says that a requirement did not hold. That may be so because an earlier request of the
            same commit landed, so :meth:`current` has to be asked. UNKNOWN: nobody can say whether the commit landed.

        Raises
        ------
        UnsupportedFeatureError
            The catalog takes no commits.
        """

    @abstractmethod
    def commit_several(self, tables: Sequence[TableUpdates]) -> PutOutcome:
        """Let the catalog apply updates to several tables, to all or to none, if all requirements of all hold.

        The outcome is as that of :meth:`commit`. Raises UnsupportedFeatureError where the catalog has no such
        operation.
        """

    @abstractmethod
    def swap(self, old: str, new: str) -> PutOutcome:
        """Make the metadata file at ``new`` the current one, if that at ``old`` still is.

        The outcome is as that of :meth:`commit`. Raises UnsupportedFeatureError where the catalog has no such
        operation.
        """

    @abstractmethod
    def stage(self, definition: Mapping[str, Any]) -> StagedTable:
        """Where a new table will be. Nothing is created yet.

        Parameters
        ----------
        definition : mapping
            A ``CreateTableRequest`` of the REST catalog.

        Raises
        ------
        NamespaceNotFoundError
        """

    @abstractmethod
    def register(self, location: str) -> PutOutcome:
        """Create the table from the metadata file at ``location``. LOST: there is a table of this name."""
