"""PyIceberg's catalogs: REST, SQL, Glue, Hive, DynamoDB, BigQuery, and those of others.

PyIceberg finds the catalog, signs in and sends the request. What the catalog answers is taken before PyIceberg makes a
table of it: the metadata of a REST catalog's answer, or the location that other catalogs give. So no metadata file is
read twice, and metadata that PyIceberg does not understand is no obstacle.

The options of the store are what the catalog is configured with and what it vends for the table. A table's own
properties are not among them: whoever writes the table could name an endpoint there, and get the credentials.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn, TypeVar

from ..errors import (
    CatalogConnectionError,
    CatalogError,
    CatalogNotFoundError,
    TableFormatsError,
    UnsupportedFeatureError,
)
from ..io.catalog_commits import StagedTable
from ..io.stores.base import PutOutcome
from . import pyiceberg_commits as commits
from .base import Catalog, CatalogTable, Identifier, ListedTable, dotted, near_names
from .faults import catalog_fault
from .swaps import bigquery, sql
from .vended import expiry_of, store_options

__all__ = ["LocatingFileIO", "PyIcebergCatalog", "configured"]

_REMOTE_SIGNING = "s3.remote-signing-enabled"
"""The catalog signs each request, and vends no credentials."""
TIMEOUTS_S = (5.0, 30.0)
"""Until a REST catalog is connected, and until more of its answer comes."""
_MAX_NAMESPACES = 100_000
Found = TypeVar("Found")


def configured(name: str) -> dict[str, Any]:
    """The properties that PyIceberg's configuration has under a name. Raises CatalogError, MissingExtraError."""
    try:
        from pyiceberg.utils.config import Config

        config = Config()
        found = config.get_catalog_config(name)
        # PyIceberg 0.9 cannot list them.
        known = config.get_known_catalogs() if hasattr(config, "get_known_catalogs") else []
    except Exception as error:
        raise catalog_fault(error, name) from _without_words(error)
    if found is None:
        near = near_names(name, known) or sorted(known)
        hint = f"Configured catalogs: {', '.join(near)}" if near else "It has none: write ~/.pyiceberg.yaml"
        raise CatalogNotFoundError(f"PyIceberg's configuration has no catalog {name!r}", hint=hint, catalog=name)
    return {**found, "name": name}


class PyIcebergCatalog(Catalog):
    """A catalog of PyIceberg.

    Parameters
    ----------
    catalog : pyiceberg.catalog.Catalog
        Or anything with its methods.
    """

    def __init__(self, catalog: Any) -> None:
        self.catalog: Any = _with_time_limits(catalog)
        self.name = str(getattr(catalog, "name", None) or "catalog")

    @classmethod
    def made(cls, given: Mapping[str, Any]) -> PyIcebergCatalog:
        """The catalog of these properties, and of those that PyIceberg's configuration has under its ``name``."""
        properties = dict(given)
        name = str(properties.pop("name", "catalog"))
        whole = properties
        try:
            from pyiceberg.catalog import load_catalog
            from pyiceberg.utils.config import Config

            whole = {**(Config().get_catalog_config(name) or {}), **properties}
            # Not for databases: a connection may belong to the thread that made it.
            is_web = str(whole.get("uri", "")).startswith("http")
            make = partial(load_catalog, name, **properties)
            return cls(_in_time(make, name) if is_web else make())
        except Exception as error:
            fault = catalog_fault(error, name)
            if whole.get("type") == "bigquery" and type(error) is ValueError:
                fault.hint = bigquery.needs(whole)
            raise fault from _without_words(error)

    def load(self, identifier: Identifier) -> CatalogTable:
        """See :meth:`Catalog.load`."""
        try:
            return self._loaded(identifier)
        except TableFormatsError:
            raise
        except Exception as error:
            self._raise(error, identifier)

    def _loaded(self, identifier: Identifier) -> CatalogTable:
        try:
            if location := self._located(identifier):
                raise _Located(location)
            table = _asking(self.catalog).load_table(identifier)
        except _Answered as answered:
            return self._of_answer(answered.answer, identifier)
        except _Located as located:
            options = store_options(located.location, self._configured())
            return CatalogTable(located.location, options, _format(), names_version=True)
        except bigquery.FoundViewError:
            raise self._view(identifier) from None
        location = str(table.metadata_location)
        own = getattr(getattr(table, "metadata", None), "properties", None) or {}
        file_io = getattr(getattr(table, "io", None), "properties", None) or {}
        found = {
            **self._configured(),
            **(getattr(table, "config", None) or {}),
            **{name: value for name, value in file_io.items() if name not in own},
        }
        return CatalogTable(location, store_options(location, found), _format(), names_version=True)

    def _located(self, identifier: Identifier) -> str | None:
        """The location of the metadata file, of catalogs that are asked without PyIceberg; None: PyIceberg asks."""
        if commits.is_sql(self.catalog):
            return sql.located(self.catalog, identifier)
        if commits.is_bigquery(self.catalog):
            return bigquery.located(self.catalog, identifier)
        return None

    def _of_answer(self, answer: Mapping[str, Any], identifier: Identifier) -> CatalogTable:
        """Source: Iceberg REST catalog, "LoadTableResult"; ``storage-credentials`` take precedence over ``config``."""
        location = answer.get("metadata-location")
        if not isinstance(location, str) or not location:
            raise CatalogError(
                f"catalog {self.name!r} names no metadata file of the table",
                path=dotted(identifier),
                hint="A table that is still being created has none: try again when it is committed",
                catalog=self.name,
            )
        metadata = json.dumps(answer["metadata"], separators=(",", ":")).encode()
        vended = {**_strings(answer.get("config")), **_vended(answer.get("storage-credentials"), location)}
        if vended.get(_REMOTE_SIGNING) == "true" and "s3.access-key-id" not in {**self._configured(), **vended}:
            vended["s3.signer"] = "remote"  # which the store refuses by name, unless the caller has credentials
        return self._with_credentials(
            CatalogTable(location, format=_format(), metadata=metadata, names_version=True), vended
        )

    def _with_credentials(self, table: CatalogTable, vended: Mapping[str, str]) -> CatalogTable:
        return replace(
            table,
            storage_options=store_options(table.location, {**self._configured(), **vended}),
            expires_at_ms=expiry_of(table.location, vended),
            is_vended=bool(store_options(table.location, vended)),
        )

    def vend(self, identifier: Identifier, table: CatalogTable) -> CatalogTable:
        """See :meth:`Catalog.vend`. By the endpoint ``credentials``; where there is none, the table is loaded again."""
        ask = getattr(self.catalog, "load_credentials", None)
        if ask is not None:
            try:
                vended = ask(identifier, table.location)
            except NotImplementedError:
                return self.load(identifier)
            except Exception as error:
                self._raise(error, identifier)
            if vended:
                return self._with_credentials(table, {**table.storage_options, **vended})
        return self.load(identifier)

    # ---- commits ------------------------------------------------------------------------------------------------

    @property
    def new_format(self) -> str | None:
        """See :attr:`Catalog.new_format`."""
        return _format()

    @property
    def applies_updates(self) -> bool:
        """See :attr:`Catalog.applies_updates`: REST catalogs do."""
        return commits.is_rest(self.catalog)

    @property
    def can_swap(self) -> bool:
        """See :attr:`Catalog.can_swap`: SQL catalogs can, DynamoDB and BigQuery."""
        return any(is_one(self.catalog) for is_one in (commits.is_sql, commits.is_dynamodb, commits.is_bigquery))

    def commit(
        self, identifier: Identifier, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]
    ) -> PutOutcome:
        """See :meth:`Catalog.commit`."""
        return self._written(identifier, lambda: commits.commit(self.catalog, identifier, requirements, updates))

    @property
    def commits_several(self) -> bool:
        """See :attr:`Catalog.commits_several`: REST catalogs may."""
        return commits.may_commit_several(self.catalog)

    def commit_several(
        self, tables: Sequence[tuple[Identifier, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]]
    ) -> PutOutcome:
        """See :meth:`Catalog.commit_several`."""
        if not self.commits_several:
            raise self.not_several()
        try:
            return self._written(tables[0][0], lambda: commits.commit_several(self.catalog, tables))
        except commits.NoSuchEndpointError:
            raise self.not_several() from None

    def swap(self, identifier: Identifier, old: str, new: str) -> PutOutcome:
        """See :meth:`Catalog.swap`."""
        if not self.can_swap:
            return super().swap(identifier, old, new)
        return self._written(identifier, lambda: commits.swap(self.catalog, identifier, old, new))

    def stage(self, identifier: Identifier, definition: Mapping[str, Any]) -> StagedTable:
        """See :meth:`Catalog.stage`."""
        found, answer = self._written(identifier, lambda: commits.stage(self.catalog, identifier, definition))
        vended = {
            **_strings(answer.get("config")),
            **_vended(answer.get("storage-credentials"), found.location),
        }
        options = store_options(found.location, {**self._configured(), **vended})
        return replace(found, storage_options=options)

    def register(self, identifier: Identifier, location: str) -> PutOutcome:
        """See :meth:`Catalog.register`."""
        return self._written(identifier, lambda: commits.register(self.catalog, identifier, location))

    def _written(self, identifier: Identifier, write: Callable[[], Found]) -> Found:
        try:
            return write()
        except TableFormatsError:
            raise
        except NotImplementedError:  # PyIceberg has catalogs that it only reads
            raise self._only_read(identifier) from None
        except Exception as error:
            self._raise(error, identifier)

    def _configured(self) -> Mapping[str, Any]:
        return getattr(self.catalog, "properties", None) or {}

    def _raise(self, error: Exception, identifier: Identifier) -> NoReturn:
        names = {cls.__name__ for cls in type(error).__mro__}
        own_name = type(error).__name__
        # A subclass of "no such table": there is one, of another kind. Without its property nobody knows of which.
        if ("NoSuchTableError" in names and own_name != "NoSuchTableError") or own_name == "NoSuchPropertyException":
            raise UnsupportedFeatureError(
                f"catalog {self.name!r} has a table of this name, but it is no PyIceberg table",
                path=dotted(identifier),
                field="table_type",
                hint="Open it by its location",
            ) from None
        if not any(name.startswith("NoSuch") for name in names):
            raise catalog_fault(error, self.name, dotted(identifier)) from _without_words(error)
        if self._knows(lambda: self.catalog.view_exists(identifier)):
            raise self._view(identifier) from None
        namespace = identifier[:-1]
        if namespace and self._knows(lambda: not self.catalog.namespace_exists(namespace)):
            raise self.no_such_namespace(namespace) from None
        raise self.no_such_table(identifier) from None

    def _view(self, identifier: Identifier) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"catalog {self.name!r} has a view of this name, and views are not read",
            path=dotted(identifier),
            field="view",
            hint="Open the tables that it reads",
        )

    def _knows(self, ask: Callable[[], bool]) -> bool:
        try:
            return bool(ask())
        except Exception:  # a catalog without views, or one that does not tell: the table is missing all the same
            return False

    def namespaces(self) -> Iterator[Identifier]:
        """See :meth:`Catalog.namespaces`."""
        left = self._listed((), lambda: list(self.catalog.list_namespaces()))
        seen: set[Identifier] = set()
        while left and len(seen) < _MAX_NAMESPACES:
            namespace = tuple(left.pop(0))
            if namespace in seen:
                continue
            seen.add(namespace)
            yield namespace
            if not self._is_flat:
                inner = self._listed(namespace, lambda of=namespace: list(self.catalog.list_namespaces(of)))  # type: ignore[misc]
                left = [*inner, *left]

    def siblings(self, namespace: Identifier) -> list[Identifier]:
        """See :meth:`Catalog.siblings`."""
        above = namespace[:-1]
        found = self.catalog.list_namespaces(above) if above else self.catalog.list_namespaces()
        return [tuple(one) for one in found]

    @property
    def _is_flat(self) -> bool:
        """Whether the catalog's namespaces have no others within: Glue, Hive, DynamoDB and BigQuery know databases."""
        kinds = {cls.__name__ for cls in type(self.catalog).__mro__}
        return not kinds.isdisjoint(("GlueCatalog", "HiveCatalog", "DynamoDbCatalog", "BigQueryMetastoreCatalog"))

    def tables(self, namespace: Identifier) -> Iterator[ListedTable]:
        """See :meth:`Catalog.tables`."""
        for found in self._listed(namespace, lambda: self.catalog.list_tables(namespace)):
            yield ListedTable(tuple(found[:-1]), found[-1])

    def _listed(self, namespace: Identifier, ask: Callable[[], list[Found]]) -> list[Found]:
        try:
            return ask()
        except Exception as error:
            if type(error).__name__ == "NoSuchNamespaceError":
                raise self.no_such_namespace(namespace) from None
            raise catalog_fault(error, self.name, dotted(namespace) or None) from _without_words(error)


def _format() -> str | None:
    """The format of all tables of PyIceberg, as it calls it; None where it does not say."""
    from pyiceberg import catalog

    return getattr(catalog, "ICEBERG", None)


# ---- time limits ----------------------------------------------------------------------------------------------------


def _with_time_limits(catalog: Any) -> Any:
    """A copy of a REST or BigQuery catalog whose requests have time limits, which PyIceberg's have not; else itself."""
    if commits.is_bigquery(catalog):
        limited = copy.copy(catalog)
        limited.client = bigquery.LimitedClient(catalog.client)
        return limited
    session = getattr(catalog, "_session", None)
    if session is None or not hasattr(session, "hooks"):
        return catalog
    limited = copy.copy(catalog)
    limited._session = _limited(session)
    return limited


def _limited(session: Any) -> Any:
    found = copy.copy(session)  # a copy of a session has not what was set on the object alone
    found.request = partial(found.request, timeout=TIMEOUTS_S)
    return found


def _in_time(make: Callable[[], Found], name: str) -> Found:
    """What ``make`` returns. A REST catalog asks for its configuration when it is made, without a time limit."""
    made: Future[Found] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    # A thread that outlives the limit must not keep the process from ending.
    threading.Thread(target=run, daemon=True, name="tableformats-catalog").start()
    try:
        return made.result(sum(TIMEOUTS_S))
    except FutureTimeoutError:
        if made.done():
            raise
        raise CatalogConnectionError(
            f"catalog {name!r} does not answer within {sum(TIMEOUTS_S):g} seconds", catalog=name
        ) from None


# ---- taking the answer ----------------------------------------------------------------------------------------------


class _Answered(Exception):
    """A REST catalog has answered. ``answer``: the JSON."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__()
        self.answer = answer


class _Located(Exception):
    """A catalog has said where the metadata file is, and PyIceberg is about to read it."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location


class LocatingFileIO:
    """A FileIO for PyIceberg's property ``py-io-impl`` that reads nothing, and says what it was asked to read."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.properties = properties

    def new_input(self, location: str) -> NoReturn:
        """Raises _Located."""
        raise _Located(location)


def _asking(catalog: Any) -> Any:
    """A copy of the catalog whose ``load_table`` ends as soon as the catalog has answered: by _Answered or _Located.

    The caller's own catalog is not changed. An object of another kind is returned as it is, and answers as it does.
    """
    if not any(cls.__module__.startswith("pyiceberg.") for cls in type(catalog).__mro__):
        return catalog
    asking = copy.copy(catalog)
    asking.properties = {**catalog.properties, "py-io-impl": f"{__name__}.{LocatingFileIO.__name__}"}
    session = getattr(catalog, "_session", None)
    if session is not None and hasattr(session, "hooks"):
        asking._session = _limited(session)
        asking._session.hooks = {**session.hooks, "response": [_take_answer]}
    return asking


def _take_answer(response: Any, *arguments: Any, **options: Any) -> None:
    """A hook for ``requests``: raises _Answered for a table's metadata, and lets all else pass."""
    if response.status_code != 200 or "/tables/" not in response.url:
        return
    try:
        answer = response.json()
    except ValueError:  # PyIceberg says so
        return
    if isinstance(answer, dict) and isinstance(answer.get("metadata"), dict):
        raise _Answered(answer)


# ---- options --------------------------------------------------------------------------------------------------------


def _vended(credentials: Any, location: str) -> dict[str, str]:
    """The credentials whose prefix fits ``location`` best."""
    found = [c for c in credentials or () if isinstance(c, dict)]
    fitting = [c for c in found if location.startswith(str(c.get("prefix", "\0")))]
    best = max(fitting, key=lambda c: len(str(c["prefix"])), default=None)
    return {} if best is None else _strings(best.get("config"))


def _strings(found: Any) -> dict[str, str]:
    return {str(k): v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


# ---- errors ---------------------------------------------------------------------------------------------------------


def _without_words(error: BaseException) -> BaseException | None:
    """An error as a cause that may be shown: what it says may hold the catalog's configuration, and so credentials."""
    return error if isinstance(error, (ImportError, TableFormatsError)) else None
