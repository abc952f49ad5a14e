"""What a catalog answers: which tables there are, and where one is. Each kind of catalog has a module of its own."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from ..errors import NamespaceNotFoundError, TableNotFoundError, UnsupportedFeatureError
from ..io.catalog_commits import CatalogCommits, StagedTable
from ..io.stores.base import PutOutcome

__all__ = ["Catalog", "CatalogTable", "Identifier", "ListedTable", "dotted", "parts_of"]

Identifier = tuple[str, ...]
_NEAR = 4


@dataclass(frozen=True)
class CatalogTable:
    """What a catalog says of a table.

    Attributes
    ----------
    location : str
        Of its current metadata file, or of its directory.
    storage_options : mapping
        What opens its store; see docs/stores.md.
    format : str or None
        The format's name. None: the catalog does not say.
    metadata : bytes or None
        The content of the file at ``location``, where the answer has it.
    expires_at_ms : int or None
        When the credentials expire, in milliseconds since the epoch. None: the catalog does not say.
    is_vended : bool
        Whether the catalog made the credentials for this table, and makes new ones.
    names_version : bool
        Whether ``location`` is that of one version, so that a newer version has another one.
    table_id : str
        The catalog's own id of the table; empty: it has none.
    holds_commits : bool
        Whether the catalog decides which commits count, so that :meth:`Catalog.commits` has to be asked.
    """

    location: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    format: str | None = None
    metadata: bytes | None = field(default=None, repr=False)
    expires_at_ms: int | None = None
    is_vended: bool = False
    names_version: bool = False
    table_id: str = ""
    holds_commits: bool = False


@dataclass(frozen=True)
class ListedTable:
    """A table of a catalog's list. ``format`` None: the catalog does not say."""

    namespace: Identifier
    name: str
    format: str | None = None


class Catalog(ABC):
    """A catalog that can be asked.

    Every method raises the errors of :mod:`tableformats.errors` whose names begin with Catalog, or MissingExtraError.

    Attributes
    ----------
    name : str
        What the catalog is called in errors: never an address with credentials.
    """

    name: str

    @abstractmethod
    def load(self, identifier: Identifier) -> CatalogTable:
        """What the catalog says of the table now; nothing is cached.

        Raises
        ------
        TableNotFoundError
            There is no such table, or no such namespace (NamespaceNotFoundError); the hint has near names.
        UnsupportedFeatureError
            It is a view, or a table of another kind.
        """

    def vend(self, identifier: Identifier, table: CatalogTable) -> CatalogTable:
        """The table with credentials that are made now. By default it is loaded again. Raises as :meth:`load`."""
        return self.load(identifier)

    def commits(self, identifier: Identifier, table: CatalogTable) -> CatalogCommits:
        """The commits that the catalog holds now, of a table of which it :attr:`~CatalogTable.holds_commits`."""
        return CatalogCommits(None)

    @property
    def new_format(self) -> str | None:
        """The format of new tables. None: the caller has to say it."""
        return None

    @property
    def applies_updates(self) -> bool:
        """See :attr:`tableformats.io.catalog_commits.CatalogWriter.applies_updates`."""
        return False

    @property
    def can_swap(self) -> bool:
        """See :attr:`tableformats.io.catalog_commits.CatalogWriter.can_swap`."""
        return False

    def commit(
        self, identifier: Identifier, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]
    ) -> PutOutcome:
        """See :meth:`tableformats.io.catalog_commits.CatalogWriter.commit`."""
        raise self._only_read(identifier)

    @property
    def commits_several(self) -> bool:
        """Whether the catalog commits to several tables at once, as far as it says what it can do."""
        return False

    def commit_several(
        self, tables: Sequence[tuple[Identifier, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]]
    ) -> PutOutcome:
        """See :meth:`tableformats.io.catalog_commits.CatalogWriter.commit_several`: identifier, requirements, updates
        of each table."""
        raise self.not_several()

    def not_several(self) -> UnsupportedFeatureError:
        """The error of a catalog that commits to one table at a time."""
        return UnsupportedFeatureError(
            f"catalog {self.name!r} commits to one table at a time",
            field="transaction",
            hint="Nothing was committed; write the tables one after the other, or through a REST catalog that has the "
            "endpoint transactions/commit",
        )

    def swap(self, identifier: Identifier, old: str, new: str) -> PutOutcome:
        """See :meth:`tableformats.io.catalog_commits.CatalogWriter.swap`."""
        raise self._only_read(identifier)

    def stage(self, identifier: Identifier, definition: Mapping[str, Any]) -> StagedTable:
        """See :meth:`tableformats.io.catalog_commits.CatalogWriter.stage`."""
        raise self._only_read(identifier)

    def register(self, identifier: Identifier, location: str) -> PutOutcome:
        """See :meth:`tableformats.io.catalog_commits.CatalogWriter.register`."""
        raise self._only_read(identifier)

    def _only_read(self, identifier: Identifier) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"catalog {self.name!r} is only read",
            path=dotted(identifier),
            field="catalog",
            hint="Nothing was written; write the table with another library",
        )

    @abstractmethod
    def namespaces(self) -> Iterator[Identifier]:
        """All namespaces, those within others too."""

    @abstractmethod
    def tables(self, namespace: Identifier) -> Iterator[ListedTable]:
        """The tables directly in ``namespace``, as they come. Raises NamespaceNotFoundError."""

    @abstractmethod
    def siblings(self, namespace: Identifier) -> Iterable[Identifier]:
        """The namespaces beside ``namespace``, which may not exist, by one or two requests."""

    def no_such_table(self, identifier: Identifier) -> TableNotFoundError:
        """The error for a table that is not there. The catalog is asked for near names; that it lists is optional."""
        namespace, name = identifier[:-1], identifier[-1]
        near = self._near(name, lambda: (table.name for table in self.tables(namespace)))
        hint = f"Near names: {', '.join(dotted((*namespace, one)) for one in near)}" if near else None
        return TableNotFoundError(
            f"catalog {self.name!r} has no such table",
            path=dotted(identifier),
            hint=hint or "Give its name with that of its namespace",
        )

    def no_such_namespace(self, namespace: Identifier) -> TableNotFoundError:
        """The error for a namespace that is not there."""
        near = self._near(dotted(namespace), lambda: map(dotted, self.siblings(namespace)))
        return NamespaceNotFoundError(
            f"catalog {self.name!r} has no such namespace",
            path=dotted(namespace),
            hint=f"Near names: {', '.join(near)}" if near else "tableformats.list_tables(catalog) lists what there is",
        )

    def _near(self, asked: str, names: Callable[[], Iterable[str]]) -> list[str]:
        try:
            return near_names(asked, names())
        except Exception:  # near names are a help; a catalog that does not list is none the worse
            return []


def near_names(wanted: str, names: Iterable[str]) -> list[str]:
    """The names that look like ``wanted``, the nearest first."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[name] for name in difflib.get_close_matches(wanted.lower(), by_lower, _NEAR, 0.6)]


def dotted(identifier: Identifier) -> str:
    """An identifier as users write it. Names that have a dot stand in backticks."""
    return ".".join(f"`{part}`" if "." in part else part for part in identifier)


def parts_of(identifier: str | Iterable[str], what: str = "an identifier") -> Identifier:
    """The names of an identifier or namespace.

    Parameters
    ----------
    identifier : str or iterable of str
        Text is split at its dots; a sequence has one name in each element.

    Raises
    ------
    TypeError
        It is neither.
    ValueError
        A name is empty.
    """
    if isinstance(identifier, str):
        found: Identifier = tuple(identifier.split("."))
    elif isinstance(identifier, (tuple, list)) and all(isinstance(part, str) for part in identifier):
        found = tuple(identifier)
    else:
        raise TypeError(f"{what} is text, or a tuple of names, not {identifier!r}")
    if not found or not all(found):
        raise ValueError(f"{what} is a name, or names between dots, not {identifier!r}")
    return found
