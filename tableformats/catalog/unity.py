"""Unity Catalog, by its open REST API: where a table is, temporary credentials, and the commits that it holds.

Source: the API's OpenAPI description: "TableInfo", "GenerateTemporaryTableCredential", "TemporaryCredentials",
"DeltaGetCommits". The API of commits is named a preview there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import quote

from ..errors import CatalogError, UnsupportedFeatureError
from ..io.catalog_commits import CatalogCommit, CatalogCommits
from ..io.paths import normalize
from ..io.stores.addresses import address_of
from .base import Catalog, CatalogTable, Identifier, ListedTable, dotted
from .http import JsonClient, MissingError
from .vended import store_options

__all__ = ["UnityCatalog"]

_API = "/api/2.1/unity-catalog"
_COMMITS = "/delta/preview/commits"
_MANAGED = ("delta.feature.catalogManaged", "delta.feature.catalogOwned", "delta.feature.catalogOwned-preview")
"""Properties of a table whose commits the catalog decides; their value is ``supported``."""
_OF_METADATA_FILES = "ICEBERG"
"""A format whose newest metadata file this API does not name."""
_CREDENTIALS = {
    "aws_temp_credentials": {
        "access_key_id": "s3.access-key-id",
        "secret_access_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
    },
    "azure_user_delegation_sas": {"sas_token": "adls.sas-token"},
    "gcp_oauth_token": {"oauth_token": "gcs.oauth2.token"},
}
_MAX_PAGES = 10_000


class UnityCatalog(Catalog):
    """A Unity Catalog.

    Parameters
    ----------
    properties : mapping
        ``uri`` (the server, or its API), ``token``, ``catalog`` (for identifiers of two names), and ``s3.*``,
        ``gcs.*``, ``adls.*`` for the stores, such as ``s3.region``.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.name = str(properties.get("name", "unity"))
        self._properties = properties
        self._default = (str(properties["catalog"]),) if properties.get("catalog") else ()
        uri = str(properties.get("uri") or "").rstrip("/")
        address = uri if "/api/" in uri else uri + _API
        self._client = JsonClient(self.name, address, str(properties.get("token") or ""))

    def load(self, identifier: Identifier) -> CatalogTable:
        """See :meth:`Catalog.load`."""
        full = (*self._default, *identifier) if len(identifier) == 2 else identifier
        if len(full) != 3:
            raise self.no_such_table(identifier)
        shown = dotted(full)
        try:
            found = self._client.get(f"/tables/{quote('.'.join(full), safe='')}", asked=shown)
        except MissingError as error:
            self._raise_missing(error, full)
        if not isinstance(found, dict):
            raise CatalogError(f"catalog {self.name!r} answers with no table", path=shown, catalog=self.name)
        kind, format = str(found.get("table_type") or ""), str(found.get("data_source_format") or "")
        if "VIEW" in kind:
            raise UnsupportedFeatureError(
                f"catalog {self.name!r} has a view of this name, and views are not read",
                path=shown,
                field="view",
                hint="Open the tables that it reads",
            )
        if format == _OF_METADATA_FILES:
            raise UnsupportedFeatureError(
                f"catalog {self.name!r} does not name the metadata file of this table here",
                path=shown,
                field="data_source_format",
                hint="Open it through the catalog's other REST API, with catalog={'type': 'rest', 'uri': ...}",
            )
        location = found.get("storage_location")
        if not isinstance(location, str) or not location:
            raise CatalogError(f"catalog {self.name!r} names no location of the table", path=shown, catalog=self.name)
        properties = _object(found.get("properties"))
        table_id = str(found.get("table_id") or "")
        return CatalogTable(
            location,
            store_options(location, self._properties),
            format.lower() or None,
            # Credentials are asked for when the store is opened, unless the caller has some.
            expires_at_ms=0,
            is_vended=address_of(normalize(location)) is not None and bool(table_id),
            table_id=table_id,
            holds_commits=any(properties.get(name) == "supported" for name in _MANAGED),
        )

    def vend(self, identifier: Identifier, table: CatalogTable) -> CatalogTable:
        """See :meth:`Catalog.vend`."""
        shown = dotted(identifier)
        try:
            found = self._client.post(
                "/temporary-table-credentials", {"table_id": table.table_id, "operation": "READ"}, shown
            )
        except MissingError as error:
            self._raise_missing(error, identifier)
        made: dict[str, str] = {}
        for group, names in _CREDENTIALS.items():
            given = _object(_object(found).get(group))
            made |= {ours: given[theirs] for theirs, ours in names.items() if given.get(theirs)}
        expires = _object(found).get("expiration_time")
        is_time = isinstance(expires, int) and expires > 0
        return replace(
            table,
            storage_options=store_options(table.location, {**self._properties, **made}),
            expires_at_ms=expires if is_time else None,
        )

    def commits(self, identifier: Identifier, table: CatalogTable) -> CatalogCommits:
        """See :meth:`Catalog.commits`. The answer may have a part of the commits only; then the rest is asked for."""
        found: dict[int, CatalogCommit] = {}
        start, shown = 0, dotted(identifier)
        for _ in range(_MAX_PAGES):
            body = {"table_id": table.table_id, "table_uri": table.location, "start_version": start}
            try:
                answer = self._client.get(_COMMITS, body=body, asked=shown)
            except MissingError as error:
                self._raise_missing(error, identifier)
            try:
                latest = int(answer["latest_table_version"])
                new = [_commit(one) for one in answer.get("commits") or ()]
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                raise CatalogError(
                    f"catalog {self.name!r} answers with no commits", path=shown, catalog=self.name
                ) from None
            found |= {commit.version: commit for commit in new if commit.version >= start}
            last = max(found, default=latest)
            if not new or last >= latest or last < start:
                return CatalogCommits(latest if latest >= 0 else None, tuple(found[v] for v in sorted(found)))
            start = last + 1
        raise CatalogError(f"catalog {self.name!r} has no end of commits", path=shown, catalog=self.name)

    def _raise_missing(self, error: MissingError, identifier: Identifier) -> NoReturn:
        if error.code in ("CATALOG_NOT_FOUND", "CATALOG_DOES_NOT_EXIST"):
            raise self.no_such_namespace(identifier[:1]) from None
        if error.code in ("SCHEMA_NOT_FOUND", "SCHEMA_DOES_NOT_EXIST"):
            raise self.no_such_namespace(identifier[:-1]) from None
        raise self.no_such_table(identifier) from None

    def namespaces(self) -> Iterator[Identifier]:
        """See :meth:`Catalog.namespaces`: the schemas, with the names of their catalogs."""
        catalogs = self._default or [one["name"] for one in self._pages("/catalogs", "catalogs", {})]
        for catalog in catalogs:
            for schema in self._pages("/schemas", "schemas", {"catalog_name": catalog}):
                yield catalog, schema["name"]

    def siblings(self, namespace: Identifier) -> Iterator[Identifier]:
        """See :meth:`Catalog.siblings`: schemas of the same catalog, or catalogs."""
        full = (*self._default, *namespace)
        if len(full) == 1:
            yield from ((one["name"],) for one in self._pages("/catalogs", "catalogs", {}))
        else:
            for one in self._pages("/schemas", "schemas", {"catalog_name": full[0]}):
                yield full[0], one["name"]

    def tables(self, namespace: Identifier) -> Iterator[ListedTable]:
        """See :meth:`Catalog.tables`. Views are left out."""
        full = (*self._default, *namespace) if len(namespace) == 1 else namespace
        if len(full) != 2:
            raise self.no_such_namespace(namespace)
        try:
            for table in self._pages("/tables", "tables", {"catalog_name": full[0], "schema_name": full[1]}):
                if "VIEW" not in str(table.get("table_type") or ""):
                    format = str(table.get("data_source_format") or "").lower()
                    yield ListedTable(full, table["name"], format or None)
        except MissingError:
            raise self.no_such_namespace(namespace) from None

    def _pages(self, path: str, member: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        token = None
        for _ in range(_MAX_PAGES):
            asked = ".".join(query.values())
            answer = _object(self._client.get(path, {**query, "page_token": token}, asked=asked))
            found = answer.get(member)
            yield from (
                (one for one in found if isinstance(_object(one).get("name"), str)) if isinstance(found, list) else ()
            )
            token = answer.get("next_page_token")
            if not token:
                return


def _object(answer: Any) -> dict[str, Any]:
    """A part of an answer that is a JSON object; else an empty one."""
    return answer if isinstance(answer, dict) else {}


def _commit(given: Mapping[str, Any]) -> CatalogCommit:
    return CatalogCommit(
        int(given["version"]),
        str(given["file_name"]),
        int(given["file_size"]),
        int(given["file_modification_timestamp"]),
    )
