"""Commits to one table of a catalog, for the format that writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CatalogError
from ..io.catalog_commits import CatalogWriter, StagedTable, TableUpdates
from ..io.stores.base import PutOutcome
from ..runtime.pickling import Portable
from .base import dotted

if TYPE_CHECKING:
    from .base import Catalog, Identifier

__all__ = ["TableWriter"]


class TableWriter(Portable, CatalogWriter):
    """See :class:`tableformats.io.catalog_commits.CatalogWriter`. A pickled one knows names, and cannot commit."""

    def __init__(self, catalog: Catalog, identifier: Identifier) -> None:
        self._catalog: Catalog | None = catalog
        self._identifier = identifier
        self.catalog_name = catalog.name
        self.table_name = dotted(identifier)

    def _state(self) -> dict[str, Any]:
        return {**vars(self), "_catalog": None}

    def _known(self) -> Catalog:
        if self._catalog is None:
            raise CatalogError(
                f"catalog {self.catalog_name!r} is not known to this process",
                path=self.table_name,
                hint="A pickled table has no catalog: open it by open_table(identifier, catalog=...) here",
                catalog=self.catalog_name,
            )
        return self._catalog

    @property
    def applies_updates(self) -> bool:
        """See :attr:`CatalogWriter.applies_updates`."""
        return self._known().applies_updates

    @property
    def can_swap(self) -> bool:
        """See :attr:`CatalogWriter.can_swap`."""
        return self._known().can_swap

    def current(self) -> tuple[str, bytes | None]:
        """See :meth:`CatalogWriter.current`."""
        found = self._known().load(self._identifier)
        return found.location, found.metadata

    def commit(self, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]) -> PutOutcome:
        """See :meth:`CatalogWriter.commit`."""
        return self._known().commit(self._identifier, requirements, updates)

    def commit_several(self, tables: Sequence[TableUpdates]) -> PutOutcome:
        """See :meth:`CatalogWriter.commit_several`."""
        parts = [(_identifier_of(one.writer), one.requirements, one.updates) for one in tables]
        return self._known().commit_several(parts)

    def swap(self, old: str, new: str) -> PutOutcome:
        """See :meth:`CatalogWriter.swap`."""
        return self._known().swap(self._identifier, old, new)

    def stage(self, definition: Mapping[str, Any]) -> StagedTable:
        """See :meth:`CatalogWriter.stage`."""
        return self._known().stage(self._identifier, {"name": self._identifier[-1], **definition})

    def register(self, location: str) -> PutOutcome:
        """See :meth:`CatalogWriter.register`."""
        return self._known().register(self._identifier, location)


def _identifier_of(writer: CatalogWriter) -> Identifier:
    assert isinstance(writer, TableWriter), "all tables of a commit are of one catalog"
    return writer._identifier
