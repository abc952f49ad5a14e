"""What Glue is asked and what its answers mean, without a server: tables, links, formats, new places, pages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.catalog.base import CatalogTable, ListedTable
from tableformats.catalog.glue import GlueCatalog
from tableformats.errors import (
    CatalogError,
    CatalogPermissionError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from tableformats.io.stores.base import PutOutcome


class EntityNotFoundException(Exception):
    """As botocore names it."""


class AccessDenied(Exception):
    response = {"Error": {"Code": "AccessDeniedException"}}


class Client:
    """Tables and databases by name; what is an exception is raised. Pages of each operation."""

    def __init__(self, tables: dict[str, Any], databases: dict[str, Any] | None = None, **pages: Any) -> None:
        self.tables, self.databases, self.pages_of = tables, databases or {}, pages
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def get_table(self, **given: Any) -> Any:
        self.asked.append(("get_table", given))
        return {"Table": told(self.tables.get(f"{given['DatabaseName']}.{given['Name']}"))}

    def get_database(self, **given: Any) -> Any:
        self.asked.append(("get_database", given))
        return {"Database": told(self.databases.get(given["Name"]))}

    def get_paginator(self, operation: str) -> Any:
        client = self

        class Paginator:
            def paginate(self, **given: Any) -> Iterator[Any]:
                client.asked.append((operation, given))
                yield from map(told, client.pages_of.get(operation, []))

        return Paginator()


def told(found: Any) -> Any:
    if found is None:
        raise EntityNotFoundException
    if isinstance(found, Exception):
        raise found
    return found


def stored(location: str = "s3://b/t", **parameters: str) -> dict[str, Any]:
    return {"Parameters": parameters, "StorageDescriptor": {"Location": location}}


def catalog_of(table: Any, **more: Any) -> tuple[GlueCatalog, Client]:
    client = Client({"db.t": table}, {"db": {"Name": "db"}}, **more)
    return GlueCatalog(client, {"s3.region": "r", "client.region": "c"}), client


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "location", "format", "names_version"),
    [
        (stored(), "s3://b/t", None, False),
        (stored("s3://b/t/"), "s3://b/t", None, False),
        (stored("s3://b/t/_symlink_format_manifest"), "s3://b/t", None, False),
        (
            stored("s3://b/t", table_type="ICEBERG", metadata_location="s3://b/m/1.json"),
            "s3://b/m/1.json",
            "iceberg",
            True,
        ),
        (stored("", path="s3://b/p/"), "s3://b/p", None, False),
        (stored("s3://x/t-__PLACEHOLDER__", path="s3://b/p"), "s3://b/p", None, False),
        ({"StorageDescriptor": {"SerdeInfo": {"Parameters": {"path": "s3://b/s/"}}}}, "s3://b/s", None, False),
        (
            {
                "StorageDescriptor": {"SerdeInfo": {"Parameters": {"path": "s3://b/s"}}},
                "Parameters": {"path": "s3://b/p"},
            },
            "s3://b/s",
            None,
            False,
        ),
        (stored(**{"spark.sql.sources.provider": "DELTA", "table_type": "x"}), "s3://b/t", "delta", False),
        (stored(table_type="EXTERNAL_TABLE", classification="csv"), "s3://b/t", "csv", False),
        (stored(table_type="managed_table"), "s3://b/t", None, False),
        (stored(table_type="", classification="Delta"), "s3://b/t", "delta", False),
        ({**stored(), "TableType": "EXTERNAL_TABLE"}, "s3://b/t", None, False),
    ],
)
def test_tables(table: dict[str, Any], location: str, format: str | None, names_version: bool) -> None:
    catalog, client = catalog_of(table)
    options = {"s3.region": "r"}
    found = catalog.load(("db", "t"))
    assert (found.location, found.format, found.names_version) == (location, format, names_version)
    assert found == CatalogTable(location, found.storage_options, format, names_version=names_version)
    assert {name: found.storage_options[name] for name in options} == options
    assert client.asked == [("get_table", {"DatabaseName": "db", "Name": "t"})] and catalog.can_swap


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ({**stored(), "TableType": "virtual_view"}, UnsupportedFeatureError, "has a view of this name"),
        ({}, CatalogError, "names no location of the table"),
        ({"StorageDescriptor": {"Location": "-__PLACEHOLDER__"}}, CatalogError, "names no location of the table"),
        (AccessDenied(), CatalogPermissionError, "refused the credentials: AccessDeniedException"),
        (None, TableNotFoundError, "has no such table"),
    ],
)
def test_answers_that_are_no_table(table: Any, error: type[Exception], words: str) -> None:
    catalog, _ = catalog_of(table)
    with pytest.raises(error, match=words):
        catalog.load(("db", "t"))


@pytest.mark.parametrize("identifier", [("t",), ("a", "db", "t")])
def test_names_that_are_no_tables(identifier: tuple[str, ...]) -> None:
    catalog, client = catalog_of(stored())
    with pytest.raises(TableNotFoundError):
        catalog.load(identifier)
    assert not any(operation == "get_table" for operation, _ in client.asked)


def test_what_is_missing() -> None:
    catalog, _ = catalog_of(stored())
    for identifier, is_namespace in ((("db", "x"), False), (("other", "t"), True)):
        with pytest.raises(TableNotFoundError) as caught:
            catalog.load(identifier)
        assert isinstance(caught.value, NamespaceNotFoundError) is is_namespace
        assert caught.value.path == ("other" if is_namespace else "db.x")


def test_near_names() -> None:
    """Of tables of the namespace, and of namespaces; names with dots are quoted."""
    names = ["Orders", "order.s", "order_1", "order_2", "ordes", "customers"]
    pages = [{"TableList": [{"Name": name} for name in names]}]
    databases = [{"DatabaseList": [{"Name": name} for name in ("sales", "logs")]}]
    client = Client({}, {"sales": {}}, get_tables=pages, get_databases=databases)
    catalog = GlueCatalog(client, {}, "g")
    hints = {}
    for identifier in (("sales", "orders"), ("sales", "xyz"), ("sals", "orders"), ("other", "orders")):
        with pytest.raises(TableNotFoundError) as caught:
            catalog.load(identifier)
        hints[".".join(identifier)] = caught.value.hint
    assert hints == {
        "sales.orders": "Near names: sales.Orders, sales.`order.s`, sales.ordes, sales.order_2",
        "sales.xyz": "Give its name with that of its namespace",
        "sals.orders": "Near names: sales",
        "other.orders": "tableformats.list_tables(catalog) lists what there is",
    }


def test_links_are_followed_twice() -> None:
    """Each to the account that it names."""

    def link(name: str, account: str | None = None) -> dict[str, Any]:
        target = {"DatabaseName": "db", "Name": name}
        return {"TargetTable": target if account is None else {**target, "CatalogId": account}}

    tables = {"db.t": link("u", "7"), "db.u": link("v"), "db.v": stored("s3://b/v"), "db.w": link("t")}
    client = Client(tables)
    catalog = GlueCatalog(client, {"glue.id": 9})
    assert catalog.load(("db", "t")).location == "s3://b/v"
    assert [(given["Name"], given.get("CatalogId")) for _, given in client.asked] == [
        ("t", "9"),
        ("u", "7"),
        ("v", None),
    ]
    with pytest.raises(CatalogError, match="names no location of the table"):
        catalog.load(("db", "w"))


# ---- commits --------------------------------------------------------------------------------------------------------


def test_links_are_not_written() -> None:
    catalog, _ = catalog_of({"TargetTable": {"Name": "x"}})
    with pytest.raises(UnsupportedFeatureError, match="a link to a table of another database") as caught:
        catalog.swap(("db", "t"), "old", "new")
    assert caught.value.field == "TargetTable"


@pytest.mark.parametrize("table", [stored(metadata_location="other"), stored(), {"Parameters": None}])
def test_a_table_that_went_on_is_not_written(table: dict[str, Any]) -> None:
    catalog, client = catalog_of(table)
    assert catalog.swap(("db", "t"), "old", "new") is PutOutcome.LOST
    assert [operation for operation, _ in client.asked] == ["get_table"]


@pytest.mark.parametrize(
    ("definition", "database", "warehouse", "location"),
    [
        ({"location": "s3://b/x/"}, None, None, "s3://b/x"),
        ({}, {"LocationUri": "s3://b/db/"}, "s3://w", "s3://b/db/t"),
        ({}, {"LocationUri": ""}, "s3://w/", "s3://w/db.db/t"),
        ({"location": None}, {}, "s3://w", "s3://w/db.db/t"),
        ({}, {}, None, None),
        ({}, {"LocationUri": None}, "", None),
    ],
)
def test_where_new_tables_go(
    definition: dict[str, Any], database: Any, warehouse: str | None, location: str | None
) -> None:
    client = Client({}, {"db": database})
    catalog = GlueCatalog(client, {"s3.region": "r", "warehouse": warehouse})
    if location is None:
        with pytest.raises(UnsupportedFeatureError, match="does not say where new tables go") as caught:
            catalog.stage(("db", "t"), definition)
        assert caught.value.field == "warehouse"
    else:
        staged = catalog.stage(("db", "t"), definition)
        assert (staged.location, staged.table_id, dict(staged.storage_options)) == (location, None, {"s3.region": "r"})


# ---- listing --------------------------------------------------------------------------------------------------------


def test_listing() -> None:
    tables = [
        {"Name": "a", "Parameters": {"classification": "Delta"}, "TableType": "EXTERNAL_TABLE"},
        {"Name": "v", "TableType": "VIRTUAL_VIEW"},
        {"Name": "b", "Parameters": None},
    ]
    pages: dict[str, Any] = {
        "get_databases": [{"DatabaseList": [{"Name": "x"}]}, {}, {"DatabaseList": [{"Name": "y"}]}]
    }
    pages["get_tables"] = [{"TableList": tables[:1]}, {"TableList": tables[1:]}, {}]
    client = Client({}, **pages)
    catalog = GlueCatalog(client, {"glue.id": "9"}, "g")
    assert [*catalog.namespaces()] == [*catalog.siblings(("z",))] == [("x",), ("y",)]
    assert [*catalog.tables(("x",))] == [ListedTable(("x",), "a", "delta"), ListedTable(("x",), "b")]
    assert client.asked[-1] == ("get_tables", {"DatabaseName": "x", "CatalogId": "9"})
    assert client.asked[0] == ("get_databases", {"CatalogId": "9"})


@pytest.mark.parametrize(
    ("fault", "error"), [(EntityNotFoundException(), NamespaceNotFoundError), (AccessDenied(), CatalogPermissionError)]
)
def test_faults_of_listing(fault: Exception, error: type[Exception]) -> None:
    catalog = GlueCatalog(Client({}, get_tables=[fault], get_databases=[fault]), {}, "g")
    with pytest.raises(error) as caught:
        [*catalog.tables(("x",))]
    assert getattr(caught.value, "path", None) == "x"
    with pytest.raises(CatalogError) as whole:
        [*catalog.namespaces()]
    assert whole.value.path is None


@pytest.mark.parametrize(
    ("given", "session", "endpoint"),
    [
        ({}, {}, None),
        ({"client.region": "r", "glue.endpoint": "http://h"}, {"region_name": "r"}, "http://h"),
        (
            {"client.access-key-id": "k", "glue.access-key-id": "g", "glue.secret-access-key": "s"},
            {"aws_access_key_id": "g", "aws_secret_access_key": "s"},
            None,
        ),
        (
            {"client.session-token": "t", "client.profile-name": "p", "glue.region": "", "region": "x"},
            {"aws_session_token": "t", "profile_name": "p"},
            None,
        ),
    ],
)
def test_what_the_client_is_made_of(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], session: dict[str, str], endpoint: str | None
) -> None:
    """Of the properties, with limits of time: connecting takes 5 s, an answer 30 s, and each is tried three times."""
    made: list[Any] = []

    class Session:
        def __init__(self, **given: Any) -> None:
            made.append(given)

        def client(self, service: str, **given: Any) -> str:
            made.append((service, given))
            return "client"

    modules = {"boto3": SimpleNamespace(Session=Session), "botocore": SimpleNamespace()}
    modules["botocore.config"] = SimpleNamespace(Config=lambda **limits: limits)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    catalog = GlueCatalog.made(given)
    limits = {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 3, "mode": "standard"}}
    assert made == [session, ("glue", {"endpoint_url": endpoint, "config": limits})]
    assert (catalog.name, catalog._client) == ("glue", "client") and GlueCatalog.made({"name": "n"}).name == "n"
