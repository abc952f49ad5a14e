"""The catalog that a table was opened through: only it knows which metadata is the newest, and what opens the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..catalog.base import dotted, parts_of
from ..catalog.writing import TableWriter
from ..errors import CatalogError, UnsupportedFeatureError
from ..io.storage import Storage
from ..io.stores.renewing import RenewedOptions
from ..runtime.pickling import Portable

if TYPE_CHECKING:
    from ..catalog.base import Catalog, CatalogTable, Identifier
    from ..io.catalog_commits import CatalogCommits
    from ..limits import Limits
    from ..plugin.format import FormatTable

__all__ = ["CatalogOrigin"]


class CatalogOrigin(Portable):
    """A table of a catalog, by its identifier. A pickled one knows names, and cannot ask.

    Parameters
    ----------
    catalog : Catalog
    identifier : tuple of str
    make_storage : callable
        The storage of what the catalog answered.
    """

    def __init__(
        self, catalog: Catalog, identifier: Identifier, make_storage: Callable[[CatalogTable], Storage]
    ) -> None:
        self.catalog_name = catalog.name
        self.identifier = identifier
        self._catalog: Catalog | None = catalog
        self._table: CatalogTable | None = None
        self._names_version = False
        self._make_storage = make_storage
        self.open: Callable[[Storage], FormatTable] | None = None
        """Opens the table at a storage, once its format is known."""

    @classmethod
    def of(
        cls,
        given: Any,
        identifier: Any,
        storage_options: Mapping[str, Any] | None,
        allow_paths: str | Sequence[str] | None,
        limits: Limits,
    ) -> CatalogOrigin:
        """See ``open_table`` for the arguments; ``given`` is its ``catalog``."""
        from ..catalog.opening import catalog_of

        if isinstance(identifier, os.PathLike):
            identifier = os.fspath(identifier)
        catalog, names = catalog_of(given), parts_of(identifier)

        def vended(found: CatalogTable) -> RenewedOptions | None:
            def renew() -> tuple[Mapping[str, Any], int | None]:
                new = catalog.vend(names, found)
                return new.storage_options, new.expires_at_ms

            if storage_options or not found.is_vended:
                return None
            return RenewedOptions(found.storage_options, found.expires_at_ms, renew)

        def make_storage(found: CatalogTable) -> Storage:
            options = storage_options or found.storage_options
            storage = Storage(found.location, options, allow_paths, limits, vended(found))
            if found.metadata is not None:
                storage.provide(storage.root, found.metadata)
            return storage

        return cls(catalog, names, make_storage)

    def _state(self) -> dict[str, Any]:
        names = ("catalog_name", "identifier", "_names_version")
        return {
            **{name: getattr(self, name) for name in names},
            "_catalog": None,
            "_table": None,
            "_make_storage": None,
            "open": None,
        }

    def ask(self) -> tuple[Storage, CatalogTable]:
        """Where the table is now, by one question to the catalog.

        Raises
        ------
        CatalogError
            This was unpickled.
        """
        found = self._known_catalog().load(self.identifier)
        self._table, self._names_version = found, found.names_version
        return self._make_storage(found), found

    def commits(self) -> CatalogCommits:
        """The commits that the catalog holds now. Raises as :meth:`ask`."""
        catalog = self._known_catalog()
        return catalog.commits(self.identifier, self._table or catalog.load(self.identifier))

    def writer(self) -> TableWriter:
        """What commits to the table through the catalog. Raises as :meth:`ask`."""
        return TableWriter(self._known_catalog(), self.identifier)

    def check_writable(self, commits_to_catalog: bool) -> None:
        """Raise UnsupportedFeatureError where a commit would have to go through the catalog: it would be lost.

        ``commits_to_catalog``: whether the format does so.
        """
        if self._names_version and not commits_to_catalog:
            raise UnsupportedFeatureError(
                f"catalog {self.catalog_name!r} has to commit what is written to this table",
                path=dotted(self.identifier),
                field="catalog",
                hint="Nothing was written; write the table with another library",
            )

    def _known_catalog(self) -> Catalog:
        if self._catalog is None:
            raise CatalogError(
                f"catalog {self.catalog_name!r} is not known to this process",
                path=dotted(self.identifier),
                hint="A pickled table has no catalog: open it by open_table(identifier, catalog=...) here",
                catalog=self.catalog_name,
            )
        return self._catalog

    def newer_than(self, storage: Storage) -> tuple[FormatTable, Storage] | None:
        """The table opened at what the catalog says now. None: that is where ``storage`` is already.

        A table whose own files say what is newest is not asked for. Raises as :meth:`ask`.
        """
        if not self._names_version:
            return None
        newest, _ = self.ask()
        if newest.root == storage.root or self.open is None:
            return None
        with newest.remembering():
            return self.open(newest), newest
