"""What Unity Catalog is asked and what its answers mean, without a server: lookup, credentials, commits, pages."""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.catalog import unity
from tableformats.catalog.base import CatalogTable, ListedTable
from tableformats.catalog.http import MissingError
from tableformats.catalog.unity import UnityCatalog
from tableformats.errors import CatalogError, NamespaceNotFoundError, TableNotFoundError, UnsupportedFeatureError
from tableformats.io.catalog_commits import CatalogCommit, CatalogCommits

NAME = ("main", "sales", "orders")
TABLE = {"data_source_format": "DELTA", "storage_location": "s3://bucket/orders", "table_id": "t1"}


class Client:
    """Gives the answers of a path in turn, the last one again and again; a MissingError is raised."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers = {path: list(found) for path, found in answers.items()}
        self.asked: list[tuple[Any, ...]] = []

    def get(self, path: str, query: Any = None, body: Any = None, asked: str = "") -> Any:
        self.asked.append((path, query, body, asked))
        left = self.answers.get(path, [None])
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, MissingError):
            raise found
        return found

    def post(self, path: str, body: Any, asked: str = "") -> Any:
        return self.get(path, None, body, asked)


def catalog_of(answers: dict[str, list[Any]], **properties: Any) -> tuple[UnityCatalog, Client]:
    catalog = UnityCatalog({"uri": "http://h", "s3.region": "r", **properties})
    client = catalog._client = Client(answers)  # type: ignore[assignment]
    return catalog, client  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("http://h", "http://h/api/2.1/unity-catalog"),
        ("http://h/", "http://h/api/2.1/unity-catalog"),
        ("http://h/api/2.0/uc/", "http://h/api/2.0/uc"),
    ],
)
def test_addresses(uri: str, address: str) -> None:
    catalog = UnityCatalog({"uri": uri, "token": "t"})
    assert (catalog.name, catalog._client._address, catalog._client._token) == ("unity", address, "t")
    assert UnityCatalog({"uri": uri, "name": "uc"})._client._token == ""


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {"format": "delta", "is_vended": True, "table_id": "t1"}),
        ({"data_source_format": None}, {"format": None, "is_vended": True, "table_id": "t1"}),
        ({"table_id": None}, {"format": "delta", "is_vended": False, "table_id": ""}),
        ({"table_type": "MANAGED"}, {"format": "delta", "is_vended": True, "table_id": "t1"}),
        *(
            (
                {"properties": {name: value}},
                {"format": "delta", "is_vended": True, "table_id": "t1", "holds_commits": held},
            )
            for name, value, held in (
                ("delta.feature.catalogManaged", "supported", True),
                ("delta.feature.catalogOwned", "supported", True),
                ("delta.feature.catalogOwned-preview", "supported", True),
                ("delta.feature.catalogManaged", "enabled", False),
                ("delta.feature.other", "supported", False),
            )
        ),
        ({"properties": ["x"]}, {"format": "delta", "is_vended": True, "table_id": "t1"}),
    ],
)
def test_tables(changes: dict[str, Any], found: dict[str, Any]) -> None:
    path = "/tables/main.sales.orders"
    catalog, client = catalog_of({path: [{**TABLE, **changes}]})
    table = catalog.load(NAME)
    assert table == CatalogTable("s3://bucket/orders", {"s3.region": "r"}, expires_at_ms=0, **found)
    assert client.asked == [(path, None, None, "main.sales.orders")]


def test_a_table_on_a_local_disk_needs_no_credentials() -> None:
    catalog, _ = catalog_of({"/tables/main.sales.orders": [{**TABLE, "storage_location": "file:///t"}]})
    table = catalog.load(NAME)
    assert (table.location, table.is_vended, dict(table.storage_options)) == ("file:///t", False, {})


@pytest.mark.parametrize(
    ("default", "identifier", "path"),
    [
        (None, ("a", "b", "c"), "/tables/a.b.c"),
        ("m", ("b", "c"), "/tables/m.b.c"),
        ("m", ("a", "b", "c"), "/tables/a.b.c"),
        ("m", ("a b", "c/d"), "/tables/m.a%20b.c%2Fd"),
        (None, ("b", "c"), None),
        (None, ("a", "b", "c", "d"), None),
        ("m", ("c",), None),
    ],
)
def test_names_of_tables(default: str | None, identifier: tuple[str, ...], path: str | None) -> None:
    catalog, client = catalog_of({path: [TABLE]} if path else {}, **({"catalog": default} if default else {}))
    if path is None:
        with pytest.raises(TableNotFoundError):
            catalog.load(identifier)
    else:
        assert catalog.load(identifier).table_id == "t1"
        assert [asked[0] for asked in client.asked] == [path]


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (None, CatalogError, "answers with no table"),
        ([], CatalogError, "answers with no table"),
        ({**TABLE, "storage_location": None}, CatalogError, "names no location of the table"),
        ({**TABLE, "storage_location": ""}, CatalogError, "names no location of the table"),
        ({**TABLE, "storage_location": 5}, CatalogError, "names no location of the table"),
        ({**TABLE, "table_type": "MATERIALIZED_VIEW"}, UnsupportedFeatureError, "has a view of this name"),
        ({**TABLE, "data_source_format": "ICEBERG"}, UnsupportedFeatureError, "does not name the metadata file"),
    ],
)
def test_answers_that_are_no_table(answer: Any, error: type[Exception], words: str) -> None:
    catalog, _ = catalog_of({"/tables/main.sales.orders": [answer]})
    with pytest.raises(error, match=words):
        catalog.load(NAME)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("CATALOG_NOT_FOUND", "main"),
        ("CATALOG_DOES_NOT_EXIST", "main"),
        ("SCHEMA_NOT_FOUND", "main.sales"),
        ("SCHEMA_DOES_NOT_EXIST", "main.sales"),
        ("TABLE_NOT_FOUND", "main.sales.orders"),
        ("", "main.sales.orders"),
    ],
)
def test_what_is_missing(code: str, path: str) -> None:
    paths = ("/tables/main.sales.orders", "/temporary-table-credentials", "/delta/preview/commits")
    catalog, _ = catalog_of({one: [MissingError(code)] for one in paths})
    table = CatalogTable("s3://bucket/orders", table_id="t1")
    for call in (
        lambda: catalog.load(NAME),
        lambda: catalog.vend(NAME, table),
        lambda: catalog.commits(NAME, table),
    ):
        with pytest.raises(TableNotFoundError) as caught:
            call()
        assert caught.value.path == path
        assert isinstance(caught.value, NamespaceNotFoundError) is (path != "main.sales.orders")


# ---- credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expires"), [(5, 5), (1, 1), (0, None), (-1, None), (None, None), ("7", None)], ids=str
)
def test_when_credentials_expire(given: Any, expires: int | None) -> None:
    keys = {"access_key_id": "a", "secret_access_key": "b", "session_token": "", "other": "x"}
    answer = {"aws_temp_credentials": keys, "azure_user_delegation_sas": ["x"], "expiration_time": given}
    catalog, client = catalog_of({"/temporary-table-credentials": [answer]})
    table = catalog.vend(NAME, CatalogTable("s3://bucket/orders", table_id="t1", expires_at_ms=0))
    options = {"s3.region": "r", "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    assert (dict(table.storage_options), table.expires_at_ms, table.table_id) == (options, expires, "t1")
    body = {"table_id": "t1", "operation": "READ"}
    assert client.asked == [("/temporary-table-credentials", None, body, "main.sales.orders")]


def test_no_credentials() -> None:
    catalog, _ = catalog_of({"/temporary-table-credentials": [None]})
    table = catalog.vend(NAME, CatalogTable("s3://bucket/orders"))
    assert (dict(table.storage_options), table.expires_at_ms) == ({"s3.region": "r"}, None)


# ---- commits --------------------------------------------------------------------------------------------------------


def commit(version: int) -> dict[str, Any]:
    return {"version": version, "file_name": f"f{version}", "file_size": "9", "file_modification_timestamp": 5}


def page(latest: Any, *versions: int) -> dict[str, Any]:
    return {"latest_table_version": latest, "commits": [commit(version) for version in versions]}


@pytest.mark.parametrize(
    ("pages", "latest", "versions", "starts"),
    [
        ([page(2, 1, 2)], 2, [1, 2], [0]),
        ([page(0, 0)], 0, [0], [0]),
        ([page(5)], 5, [], [0]),
        ([page("-1")], None, [], [0]),
        ([{"latest_table_version": 3}], 3, [], [0]),
        ([{"latest_table_version": 3, "commits": None}], 3, [], [0]),
        ([page(4, 2, 1), page(4, 4, 3)], 4, [1, 2, 3, 4], [0, 3]),
        ([page(4, 1), page(4)], 4, [1], [0, 2]),
        # What was asked for comes again, or less than that: no further page is asked for.
        ([page(9, 1, 2), page(9, 2, 1)], 9, [1, 2], [0, 3]),
        ([page(2, 1, 2, 3)], 2, [1, 2, 3], [0]),
        # The table went on between two pages.
        ([page(2, 1), page(3, 2), page(3, 3)], 3, [1, 2, 3], [0, 2, 3]),
    ],
)
def test_commits(pages: list[Any], latest: int | None, versions: list[int], starts: list[int]) -> None:
    catalog, client = catalog_of({"/delta/preview/commits": pages})
    found = catalog.commits(NAME, CatalogTable("s3://bucket/orders", table_id="t1"))
    assert found == CatalogCommits(latest, tuple(CatalogCommit(v, f"f{v}", 9, 5) for v in versions))
    asked = {"table_id": "t1", "table_uri": "s3://bucket/orders"}
    assert client.asked == [
        ("/delta/preview/commits", None, {**asked, "start_version": start}, "main.sales.orders") for start in starts
    ]


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"latest_table_version": None}, {"latest_table_version": "x"}, page(1) | {"commits": 5}]
    + [page(1) | {"commits": [given]} for given in (5, {}, {**commit(1), "version": "x"})]
    + [{"latest_table_version": float("inf")}],
    ids=str,
)
def test_answers_that_are_no_commits(answer: Any) -> None:
    catalog, _ = catalog_of({"/delta/preview/commits": [answer]})
    with pytest.raises(CatalogError, match="answers with no commits") as caught:
        catalog.commits(NAME, CatalogTable("s3://bucket/orders", table_id="t1"))
    assert caught.value.path == "main.sales.orders"


def test_commits_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unity, "_MAX_PAGES", 3)
    catalog, client = catalog_of({"/delta/preview/commits": [page(9, version) for version in range(9)]})
    with pytest.raises(CatalogError, match="has no end of commits"):
        catalog.commits(NAME, CatalogTable("s3://bucket/orders", table_id="t1"))
    assert len(client.asked) == 3


# ---- listing --------------------------------------------------------------------------------------------------------

NAMES = {
    "/catalogs": [{"catalogs": [{"name": "a"}], "next_page_token": "n"}, {"catalogs": [{"name": "b"}, {"name": 5}, 7]}],
    "/schemas": [{"schemas": [{"name": "x"}, {"name": "y"}]}],
    "/tables": [
        {
            "tables": [
                {"name": "t", "data_source_format": "DELTA"},
                {"name": "u"},
                {"name": "v", "table_type": "VIEW"},
                {"name": "w", "table_type": "METRIC_VIEW"},
                {"name": "z", "table_type": "MANAGED", "data_source_format": ""},
            ]
        }
    ],
}


def test_namespaces() -> None:
    catalog, client = catalog_of(NAMES)
    assert [*catalog.namespaces()] == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert client.asked == [
        ("/catalogs", {"page_token": None}, None, ""),
        ("/catalogs", {"page_token": "n"}, None, ""),
        ("/schemas", {"catalog_name": "a", "page_token": None}, None, "a"),
        ("/schemas", {"catalog_name": "b", "page_token": None}, None, "b"),
    ]
    one, _ = catalog_of(NAMES, catalog="m")
    assert [*one.namespaces()] == [("m", "x"), ("m", "y")]


@pytest.mark.parametrize(
    ("default", "namespace", "found"),
    [
        (None, ("a",), [("a",), ("b",)]),
        (None, ("c", "x"), [("c", "x"), ("c", "y")]),
        ("m", ("x",), [("m", "x"), ("m", "y")]),
    ],
)
def test_namespaces_beside_another(default: str | None, namespace: tuple[str, ...], found: list[Any]) -> None:
    catalog, client = catalog_of(NAMES, **({"catalog": default} if default else {}))
    assert [*catalog.siblings(namespace)] == found
    of_catalog = [] if found[0] == ("a",) else [found[0][0]]
    assert [query["catalog_name"] for _, query, _, _ in client.asked if "catalog_name" in query] == of_catalog


@pytest.mark.parametrize(("default", "namespace"), [(None, ("m", "x")), ("m", ("x",)), ("n", ("m", "x"))])
def test_tables_of_a_namespace(default: str | None, namespace: tuple[str, ...]) -> None:
    """Without views."""
    catalog, client = catalog_of(NAMES, **({"catalog": default} if default else {}))
    within = ("m", "x")
    tables = [ListedTable(within, "t", "delta"), ListedTable(within, "u"), ListedTable(within, "z")]
    assert [*catalog.tables(namespace)] == tables
    query = {"catalog_name": "m", "schema_name": "x", "page_token": None}
    assert client.asked == [("/tables", query, None, "m.x")]


@pytest.mark.parametrize(("default", "namespace"), [(None, ("x",)), (None, ("a", "b", "c")), (None, ("m", "gone"))])
def test_no_such_namespace(default: str | None, namespace: tuple[str, ...]) -> None:
    catalog, _ = catalog_of({"/tables": [MissingError("")]})
    with pytest.raises(NamespaceNotFoundError) as caught:
        [*catalog.tables(namespace)]
    assert caught.value.path == ".".join(namespace)


@pytest.mark.parametrize("answer", [None, [], {"catalogs": None}, {"catalogs": {"name": "a"}}])
def test_pages_of_nothing(answer: Any) -> None:
    catalog, client = catalog_of({"/catalogs": [answer]})
    assert [*catalog.siblings(("a",))] == [] and len(client.asked) == 1


def test_pages_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unity, "_MAX_PAGES", 3)
    catalog, client = catalog_of({"/catalogs": [{"catalogs": [{"name": "a"}], "next_page_token": "n"}]})
    assert [*catalog.siblings(("a",))] == [("a",)] * 3 and len(client.asked) == 3
