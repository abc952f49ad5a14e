"""AWS Glue's Data Catalog: tables of every format, by the parameters that their writers leave there.

A table with a metadata file has ``metadata_location``. Others have their directory as the storage location, and their
format as Spark's provider, as ``table_type`` or as ``classification``. Tables that Spark made have a placeholder for
the location, and the directory among the parameters of the SerDe. Sources: the Glue API, "Table"; Spark,
"HiveExternalCatalog"; PyIceberg's Glue catalog, whose properties are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from ..errors import CatalogError, TableFormatsError, UnsupportedFeatureError
from ..io.catalog_commits import StagedTable
from ..io.stores.base import PutOutcome
from .base import Catalog, CatalogTable, Identifier, ListedTable, dotted
from .faults import catalog_fault
from .swaps.glue import create, swap
from .vended import store_options

__all__ = ["GlueCatalog"]

_CLIENT = {
    "region_name": ("region",),
    "aws_access_key_id": ("access-key-id",),
    "aws_secret_access_key": ("secret-access-key",),
    "aws_session_token": ("session-token",),
    "profile_name": ("profile-name",),
}
_PLACEHOLDER = "-__PLACEHOLDER__"
_MANIFESTS = "/_symlink_format_manifest"
"""A directory of lists of files for other engines, within that of the table."""
_MANAGED_BY_HIVE = frozenset(("external_table", "managed_table", "virtual_view", "hive"))
"""Values of ``table_type`` that say nothing of the format."""


class GlueCatalog(Catalog):
    """A Glue Data Catalog.

    Parameters
    ----------
    client : botocore client of Glue
    properties : mapping
        ``s3.*`` and ``client.*`` open the stores; ``glue.id`` is the account's number where it is another one's.
    name : str
    """

    def __init__(self, client: Any, properties: Mapping[str, Any], name: str = "glue") -> None:
        self._client = client
        self._properties = properties
        self.name = name
        self._account = {"CatalogId": str(properties["glue.id"])} if properties.get("glue.id") else {}

    @classmethod
    def made(cls, given: Mapping[str, Any]) -> GlueCatalog:
        """The catalog of PyIceberg's properties for Glue. It needs boto3, and not PyIceberg."""
        name = str(given.get("name", "glue"))
        try:
            import boto3
            from botocore.config import Config

            session = {
                argument: value
                for argument, (key,) in _CLIENT.items()
                if (value := given.get(f"glue.{key}") or given.get(f"client.{key}"))
            }
            limits = Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 3, "mode": "standard"})
            endpoint = given.get("glue.endpoint")
            client = boto3.Session(**session).client("glue", endpoint_url=endpoint, config=limits)
        except Exception as error:
            raise catalog_fault(error, name) from (error if isinstance(error, ImportError) else None)
        return cls(client, given, name)

    def load(self, identifier: Identifier) -> CatalogTable:
        """See :meth:`Catalog.load`."""
        if len(identifier) != 2:
            raise self.no_such_table(identifier)
        found = self._table(identifier, self._account)
        for _ in range(2):  # a resource link names a table of another account; that one is no link
            if not (target := found.get("TargetTable")):
                break
            account = {"CatalogId": target["CatalogId"]} if target.get("CatalogId") else {}
            found = self._table((target.get("DatabaseName", ""), target.get("Name", "")), account)
        parameters = found.get("Parameters") or {}
        if str(found.get("TableType", "")).upper() == "VIRTUAL_VIEW":
            raise UnsupportedFeatureError(
                f"catalog {self.name!r} has a view of this name, and views are not read",
                path=dotted(identifier),
                field="view",
                hint="Open the tables that it reads",
            )
        metadata_location = parameters.get("metadata_location")
        location = metadata_location or _directory(found)
        if not location:
            raise CatalogError(
                f"catalog {self.name!r} names no location of the table", path=dotted(identifier), catalog=self.name
            )
        return CatalogTable(
            location,
            store_options(location, self._properties),
            _format_of(parameters),
            names_version=bool(metadata_location),
        )

    def _table(self, identifier: Identifier, account: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            found = self._client.get_table(DatabaseName=identifier[0], Name=identifier[1], **account)
            return found["Table"]  # type: ignore[no-any-return]
        except Exception as error:
            self._raise(error, identifier)

    def _raise(self, error: Exception, identifier: Identifier) -> NoReturn:
        if type(error).__name__ != "EntityNotFoundException":
            raise catalog_fault(error, self.name, dotted(identifier)) from None
        namespace = identifier[:1]
        try:
            self._client.get_database(Name=namespace[0], **self._account)
        except Exception as missing:
            if type(missing).__name__ == "EntityNotFoundException":
                raise self.no_such_namespace(namespace) from None
        raise self.no_such_table(identifier) from None

    @property
    def can_swap(self) -> bool:
        """See :attr:`Catalog.can_swap`: by the version of the table in Glue."""
        return True

    def swap(self, identifier: Identifier, old: str, new: str) -> PutOutcome:
        """See :meth:`Catalog.swap`. The columns that Glue lists stay as they are."""
        found = self._table(identifier, self._account)
        if found.get("TargetTable"):
            raise UnsupportedFeatureError(
                f"catalog {self.name!r} has a link to a table of another database, and links are not written",
                path=dotted(identifier),
                field="TargetTable",
                hint="Nothing was written; open the table by its own name",
            )
        if (found.get("Parameters") or {}).get("metadata_location") != old:
            return PutOutcome.LOST
        return self._written(lambda: swap(self._client, found, self._account, new), identifier)

    def stage(self, identifier: Identifier, definition: Mapping[str, Any]) -> StagedTable:
        """See :meth:`Catalog.stage`: below the location of the database, or else in ``warehouse``."""
        location = self._place(identifier, definition)
        return StagedTable(location, None, store_options(location, self._properties))

    def _place(self, identifier: Identifier, definition: Mapping[str, Any]) -> str:
        if definition.get("location"):
            return str(definition["location"]).rstrip("/")
        try:
            database = self._client.get_database(Name=identifier[0], **self._account)["Database"]
        except Exception as error:
            self._raise(error, identifier)
        if base := str(database.get("LocationUri") or "").rstrip("/"):
            return f"{base}/{identifier[-1]}"
        if base := str(self._properties.get("warehouse") or "").rstrip("/"):
            return f"{base}/{identifier[0]}.db/{identifier[-1]}"
        raise UnsupportedFeatureError(
            f"catalog {self.name!r} does not say where new tables go",
            path=dotted(identifier),
            field="warehouse",
            hint="Give the catalog the property warehouse, or the database a location",
        )

    def register(self, identifier: Identifier, location: str) -> PutOutcome:
        """See :meth:`Catalog.register`."""
        return self._written(lambda: create(self._client, identifier, self._account, location), identifier)

    def _written(self, write: Callable[[], PutOutcome], identifier: Identifier) -> PutOutcome:
        try:
            return write()
        except Exception as error:
            self._raise(error, identifier)

    def namespaces(self) -> Iterator[Identifier]:
        """See :meth:`Catalog.namespaces`."""
        for page in self._pages("get_databases", None):
            yield from ((database["Name"],) for database in page.get("DatabaseList", ()))

    def siblings(self, namespace: Identifier) -> Iterator[Identifier]:
        """See :meth:`Catalog.siblings`."""
        return self.namespaces()

    def tables(self, namespace: Identifier) -> Iterator[ListedTable]:
        """See :meth:`Catalog.tables`."""
        for page in self._pages("get_tables", namespace, DatabaseName=dotted(namespace)):
            for table in page.get("TableList", ()):
                if str(table.get("TableType", "")).upper() != "VIRTUAL_VIEW":
                    yield ListedTable(namespace, table["Name"], _format_of(table.get("Parameters") or {}))

    def _pages(self, operation: str, namespace: Identifier | None, **arguments: str) -> Iterator[Mapping[str, Any]]:
        try:
            yield from self._client.get_paginator(operation).paginate(**arguments, **self._account)
        except TableFormatsError:
            raise
        except Exception as error:
            if namespace and type(error).__name__ == "EntityNotFoundException":
                raise self.no_such_namespace(namespace) from None
            raise catalog_fault(error, self.name, dotted(namespace) if namespace else None) from None


def _directory(table: Mapping[str, Any]) -> str:
    """The table's directory; see the module's docstring."""
    storage = table.get("StorageDescriptor") or {}
    serde = (storage.get("SerdeInfo") or {}).get("Parameters") or {}
    location = str(storage.get("Location") or "").rstrip("/")
    if not location or location.endswith(_PLACEHOLDER):
        location = str(serde.get("path") or (table.get("Parameters") or {}).get("path") or "").rstrip("/")
    return location.removesuffix(_MANIFESTS)


def _format_of(parameters: Mapping[str, str]) -> str | None:
    """The format's name; None where no parameter says it."""
    for name in ("spark.sql.sources.provider", "table_type", "classification"):
        found = str(parameters.get(name) or "").lower()
        if found and found not in _MANAGED_BY_HIVE:
            return found
    return None
