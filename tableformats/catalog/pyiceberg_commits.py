"""Commits through PyIceberg's catalogs.

A REST catalog is sent the JSON as it is: PyIceberg's own models would leave out what they do not know, and its errors
do not tell a lost answer from a refusal in all cases. A SQL catalog is sent the location of a metadata file that was
written here, and so are those in DynamoDB and BigQuery. All others apply updates in PyIceberg.

Source: Iceberg REST catalog, ``updateTable``: after 409 a requirement did not hold; after 500, 502, 503, 504 and a lost
answer the state of the commit is unknown; all other answers say that nothing was committed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ..errors import (
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    TableFormatsError,
    UnsupportedFeatureError,
)
from ..io.catalog_commits import StagedTable
from ..io.stores.base import PutOutcome
from .base import Identifier, dotted
from .swaps import bigquery, dynamodb, sql

__all__ = [
    "NoSuchEndpointError",
    "commit",
    "commit_several",
    "is_bigquery",
    "is_dynamodb",
    "is_rest",
    "is_sql",
    "may_commit_several",
    "register",
    "stage",
    "swap",
]

_CONFLICT = 409
_NOT_DONE = (501, 505)
"""Faults of servers that say that nothing was done."""
_REFUSED = (401, 403, 419)
_OVERLOADED = 429
_MISSING = 404
_NO_CONTENT = 204
_NO_ENDPOINT = (404, 405, 501)
_TRANSACTIONS = "transactions/commit"
_TIMEOUTS_S = (5.0, 120.0)
"""Until a catalog is connected, and until it answers a commit, which takes longer than other requests."""
_LOST = frozenset(["CommitFailedException", "TableAlreadyExistsError"])
_NOTHING_DONE = frozenset(["NoSuchTableError", "NoSuchNamespaceError", "ValidationError", "NotImplementedError"])


def is_rest(catalog: Any) -> bool:
    """Whether the catalog is PyIceberg's for REST, or one made of it."""
    return _is(catalog, "RestCatalog") and hasattr(catalog, "_session")


def is_sql(catalog: Any) -> bool:
    """Whether the catalog is PyIceberg's for databases, whose database says how many rows it changed."""
    dialect = getattr(getattr(catalog, "engine", None), "dialect", None)
    return _is(catalog, "SqlCatalog") and bool(getattr(dialect, "supports_sane_rowcount", False))


def is_dynamodb(catalog: Any) -> bool:
    """Whether the catalog is PyIceberg's for DynamoDB."""
    return _is(catalog, "DynamoDbCatalog") and hasattr(catalog, "dynamodb_table_name")


def is_bigquery(catalog: Any) -> bool:
    """Whether the catalog is PyIceberg's for BigQuery."""
    return _is(catalog, "BigQueryMetastoreCatalog") and hasattr(catalog, "client")


def _is(catalog: Any, name: str) -> bool:
    return any(cls.__name__ == name and cls.__module__.startswith("pyiceberg.") for cls in type(catalog).__mro__)


def commit(
    catalog: Any,
    identifier: Identifier,
    requirements: Sequence[Mapping[str, Any]],
    updates: Sequence[Mapping[str, Any]],
) -> PutOutcome:
    """See :meth:`tableformats.io.catalog_commits.CatalogWriter.commit`."""
    if is_rest(catalog):
        namespace, name = list(identifier[:-1]), identifier[-1]
        body = {"identifier": {"namespace": namespace, "name": name}, "requirements": requirements, "updates": updates}
        return _outcome(_post(catalog, "update_table", identifier, body), catalog, identifier)
    from pydantic import TypeAdapter
    from pyiceberg.table.update import TableRequirement, TableUpdate

    asked: Any = TypeAdapter(tuple[TableRequirement, ...]).validate_json(json.dumps(requirements))
    parsed: Any = TypeAdapter(tuple[TableUpdate, ...]).validate_json(json.dumps(updates))
    table = SimpleNamespace(name=lambda: identifier, config={})
    return _attempt(lambda: catalog.commit_table(table, asked, parsed))


class NoSuchEndpointError(TableFormatsError):
    """The catalog does not know the request. Nothing was done."""


def may_commit_several(catalog: Any) -> bool:
    """Whether a REST catalog commits to several tables at once. One that does not say what it can do is asked.

    Source: Iceberg REST catalog, ``getConfig``, "endpoints", and ``commitTransaction``.
    """
    if not is_rest(catalog):
        return False
    import pyiceberg.catalog.rest as rest

    known = getattr(catalog, "_supported_endpoints", None)
    # What PyIceberg assumes of a catalog that does not say.
    assumed = set(vars(rest).get("DEFAULT_ENDPOINTS", ())) | set(vars(rest).get("VIEW_ENDPOINTS", ()))
    if known is None or known <= assumed:
        return True
    return any(str(endpoint).endswith(f"/{_TRANSACTIONS}") for endpoint in known)


def commit_several(
    catalog: Any, tables: Sequence[tuple[Identifier, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]]
) -> PutOutcome:
    """See :meth:`tableformats.io.catalog_commits.CatalogWriter.commit_several`. Raises NoSuchEndpointError."""
    changes = [
        {"identifier": {"namespace": list(name[:-1]), "name": name[-1]}, "requirements": asked, "updates": updates}
        for name, asked, updates in tables
    ]
    answer = _sent(catalog, catalog.url(_TRANSACTIONS, prefixed=True), {"table-changes": changes})
    if answer is not None and answer.status_code in _NO_ENDPOINT and not _kind_of(answer).startswith("NoSuch"):
        raise NoSuchEndpointError("the catalog does not commit to several tables")
    if answer is not None and answer.status_code == _NO_CONTENT:
        return PutOutcome.WON
    outcome = _outcome(answer, catalog, tables[0][0])
    # The answer to a commit of several tables has no content. Another one may be that of somebody in between.
    return PutOutcome.UNKNOWN if outcome is PutOutcome.WON else outcome


def _attempt(write: Any) -> PutOutcome:
    """What became of a call of PyIceberg. Errors that say that nothing was done are raised."""
    try:
        write()
    except Exception as error:
        names = {cls.__name__ for cls in type(error).__mro__}
        if names & _LOST:
            return PutOutcome.LOST
        if names & _NOTHING_DONE:
            raise
        return PutOutcome.UNKNOWN
    return PutOutcome.WON


def _post(catalog: Any, endpoint: str, identifier: Identifier, body: Mapping[str, Any]) -> Any:
    """The answer to a POST to the endpoint of a table; None where there was none."""
    from pyiceberg.catalog.rest import Endpoints

    parts = catalog._split_identifier_for_path(identifier)
    path = getattr(Endpoints, endpoint)
    wanted = {name: value for name, value in parts.items() if f"{{{name}}}" in path}
    return _sent(catalog, catalog.url(path, prefixed=True, **wanted), body)


def _sent(catalog: Any, url: str, body: Mapping[str, Any]) -> Any:
    """The answer to a POST; None where there was none."""
    import requests

    data = json.dumps(body, separators=(",", ":"), default=list).encode()
    headers = {"Content-Type": "application/json"}
    try:
        # A redirect would make a GET of it, whose answer would look like that of a commit.
        return catalog._session.post(url, data=data, headers=headers, timeout=_TIMEOUTS_S, allow_redirects=False)
    except requests.exceptions.ConnectTimeout:
        raise  # the catalog was not reached
    except requests.exceptions.RequestException:
        return None


def _outcome(answer: Any, catalog: Any, identifier: Identifier) -> PutOutcome:
    if answer is None:
        return PutOutcome.UNKNOWN
    if answer.status_code in (200, _NO_CONTENT):
        return PutOutcome.WON if _has_metadata(answer) else PutOutcome.UNKNOWN
    if _may_be_done(answer.status_code):
        return PutOutcome.UNKNOWN
    if answer.status_code == _CONFLICT:
        return PutOutcome.LOST
    raise _refusal(answer, catalog, identifier)


def _may_be_done(status: int) -> bool:
    """Whether a request with such an answer may have been done. Proxies have numbers of their own for lost answers."""
    return status // 100 == 2 or (status >= 500 and status not in _NOT_DONE)


def _has_metadata(answer: Any) -> bool:
    """Whether an answer is that of the catalog. One that stands between may answer 200, too."""
    if answer.status_code == _NO_CONTENT:
        return True
    try:
        return isinstance(answer.json()["metadata"], dict)
    except (ValueError, KeyError, TypeError):
        return False


def _refusal(answer: Any, catalog: Any, identifier: Identifier) -> Exception:
    """The error for an answer that says that nothing was done. The words are left out: they may hold credentials."""
    from pyiceberg.exceptions import NoSuchTableError

    status, kind = answer.status_code, _kind_of(answer)
    if status == _MISSING:
        return NoSuchTableError()  # which the caller makes one of ours, with near names
    what = f"HTTP {status}" + (f", {kind}" if kind.isidentifier() else "")
    name, path = str(getattr(catalog, "name", "catalog")), dotted(identifier)
    if status in _REFUSED:
        return CatalogPermissionError(f"catalog {name!r} refused the commit: {what}", path=path, catalog=name)
    if status == _OVERLOADED or _may_be_done(status):
        hint = "Nothing was committed; try again later"
        return CatalogConnectionError(
            f"catalog {name!r} did not take the request: {what}", path=path, catalog=name, hint=hint
        )
    return CatalogError(
        f"catalog {name!r} refused the commit: {what}",
        path=path,
        catalog=name,
        hint="Nothing was committed; the catalog's log says why",
    )


def _kind_of(answer: Any) -> str:
    """What the catalog calls an error; empty: it does not say."""
    try:
        return str(answer.json()["error"]["type"])
    except (ValueError, KeyError, TypeError):
        return ""


def swap(catalog: Any, identifier: Identifier, old: str, new: str) -> PutOutcome:
    """Swap the location in a SQL catalog, in DynamoDB or in BigQuery.

    See :meth:`tableformats.io.catalog_commits.CatalogWriter.swap`.
    """
    if is_dynamodb(catalog):
        return dynamodb.swap(catalog.dynamodb, catalog.dynamodb_table_name, identifier, old, new)
    if is_bigquery(catalog):
        return bigquery.swap(catalog, identifier, old, new)
    return sql.swap(catalog, identifier, old, new)


def stage(catalog: Any, identifier: Identifier, definition: Mapping[str, Any]) -> tuple[StagedTable, Mapping[str, Any]]:
    """See :meth:`tableformats.io.catalog_commits.CatalogWriter.stage`. Also gives the answer of a REST catalog."""
    if is_rest(catalog):
        answer = _post(catalog, "create_table", identifier, {**definition, "stage-create": True})
        if answer is not None and answer.status_code == _MISSING:
            from pyiceberg.exceptions import NoSuchNamespaceError

            raise NoSuchNamespaceError()
        if answer is None or answer.status_code != 200:
            raise _refusal(answer, catalog, identifier) if answer is not None else ConnectionError()
        found = answer.json()
        metadata = found["metadata"]
        return StagedTable(str(metadata["location"]), str(metadata["table-uuid"])), found
    namespace = ".".join(identifier[:-1])
    if not catalog.namespace_exists(identifier[:-1]):
        from pyiceberg.exceptions import NoSuchNamespaceError

        raise NoSuchNamespaceError(namespace)
    location = definition.get("location")
    if location is None and is_bigquery(catalog):
        location = bigquery.new_location(catalog, identifier)
    try:
        return StagedTable(catalog._resolve_table_location(location, namespace, identifier[-1])), {}
    except ValueError:
        raise UnsupportedFeatureError(
            f"catalog {catalog.name!r} does not say where new tables go",
            path=dotted(identifier),
            field="warehouse",
            hint="Give the catalog the property warehouse, or the namespace a location",
        ) from None


def register(catalog: Any, identifier: Identifier, location: str) -> PutOutcome:
    """See :meth:`tableformats.io.catalog_commits.CatalogWriter.register`."""
    if is_dynamodb(catalog):
        return dynamodb.create(catalog.dynamodb, catalog.dynamodb_table_name, identifier, location)
    if is_bigquery(catalog):
        return bigquery.create(catalog, identifier, location)
    outcome = _attempt(lambda: catalog.register_table(identifier, location))
    if outcome is PutOutcome.UNKNOWN and is_sql(catalog):
        _close_idle(catalog.engine)
    return outcome


def _close_idle(engine: Any) -> None:
    """Let no connection be used again on which a commit failed: see :mod:`.swaps.sql`."""
    from sqlalchemy.pool import SingletonThreadPool, StaticPool

    if isinstance(engine.pool, (SingletonThreadPool, StaticPool)):  # a database in memory ends with its connection
        connection = engine.raw_connection()
        connection.rollback()
        connection.close()
    else:
        engine.dispose()
