"""Answers of catalogs of which one value is damaged, and what is made of them.

``python -m tests.catalog.answer_cases`` writes it to ``answer_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from tableformats.catalog.glue import GlueCatalog
from tableformats.catalog.pyiceberg import PyIcebergCatalog
from tableformats.catalog.unity import UnityCatalog
from tableformats.catalog.vended import expiry_of
from tableformats.errors import TableFormatsError
from tests.support import leaves

PINNED = Path(__file__).with_name("answer_outcomes.json")
NAME = ("main", "sales", "orders")
TABLE = {
    "name": "orders",
    "table_type": "MANAGED",
    "data_source_format": "DELTA",
    "storage_location": "s3://bucket/orders",
    "properties": {"delta.feature.catalogManaged": "supported"},
    "table_id": "t1",
}
AWS = {"access_key_id": "a", "secret_access_key": "b", "session_token": "c"}
UNITY: dict[str, Any] = {
    "/tables/main.sales.orders": TABLE,
    "/temporary-table-credentials": {"aws_temp_credentials": AWS, "expiration_time": 77},
    "/delta/preview/commits": {
        "latest_table_version": 2,
        "commits": [
            {"version": n, "file_name": f"f{n}", "file_size": 9, "file_modification_timestamp": 5} for n in (1, 2)
        ],
    },
    "/catalogs": {"catalogs": [{"name": "main"}], "next_page_token": None},
    "/schemas": {"schemas": [{"name": "sales"}, {"name": "other"}]},
    "/tables": {"tables": [TABLE, {"name": "v", "table_type": "VIEW"}]},
}
GLUE: dict[str, Any] = {
    "orders": {
        "Table": {
            "Name": "orders",
            "DatabaseName": "db",
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"spark.sql.sources.provider": "delta", "table_type": "x", "path": "s3://b/path"},
            "StorageDescriptor": {
                "Location": "s3://b/t-__PLACEHOLDER__",
                "SerdeInfo": {"Parameters": {"path": "s3://b/serde"}},
            },
            "TargetTable": {"CatalogId": "1", "DatabaseName": "db", "Name": "orders"},
        }
    },
    "iceberg": {
        "Table": {
            "Name": "iceberg",
            "DatabaseName": "db",
            "VersionId": "4",
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://b/i/metadata/1.json"},
            "StorageDescriptor": {"Location": "s3://b/i"},
        }
    },
    "database": {"Database": {"Name": "db", "LocationUri": "s3://b/db/"}},
}
PAGES: dict[str, Any] = {
    "get_databases": [{"DatabaseList": [{"Name": "db"}]}],
    "get_tables": [
        {
            "TableList": [
                {"Name": "a", "Parameters": {"classification": "delta"}},
                {"Name": "v", "TableType": "virtual_view"},
            ]
        }
    ],
}
OF_BOTOCORE = {"removed", "longer", "upper"}
"""Botocore gives values of the types that the API describes."""


class Answers:
    """Answers a client's requests from a document, and keeps what it is told."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.told: list[Any] = []

    def get(self, path: str, query: Any = None, body: Any = None, asked: str = "") -> Any:
        self.told.append((path, query, body, asked))
        if len(self.told) > 20:
            raise TableFormatsError("more and more is asked for")
        return self.document.get(path)

    def post(self, path: str, body: Any, asked: str = "") -> Any:
        return self.get(path, None, body, asked)

    def get_table(self, **given: str) -> Any:
        self.told.append(given)
        return self.document[given["Name"]]

    def get_database(self, **given: str) -> Any:
        self.told.append(given)
        return self.document["database"]

    def update_table(self, **given: Any) -> Any:
        self.told.append(given)
        return {"ResponseMetadata": {"HTTPStatusCode": 200}}

    create_table = update_table

    def get_paginator(self, operation: str) -> Any:
        return Pages(PAGES[operation])


class Pages:
    def __init__(self, pages: Any) -> None:
        self.pages = pages

    def paginate(self, **given: str) -> Iterator[Any]:
        yield from self.pages


def told(ask: Callable[[], Any]) -> str:
    try:
        return str(ask())
    except TableFormatsError as error:
        return f"{type(error).__name__}: {error}"


def of_unity(document: Any) -> list[str]:
    catalog = UnityCatalog({"uri": "http://h", "s3.region": "r"})
    answers = Answers(document)
    catalog._client = answers  # type: ignore[assignment]

    def vended() -> Any:
        return shown(catalog.vend(NAME, catalog.load(NAME)))

    def commits() -> Any:
        return catalog.commits(NAME, catalog.load(NAME))

    asked: list[Callable[[], Any]] = [
        lambda: shown(catalog.load(NAME)),
        vended,
        commits,
        lambda: [*catalog.namespaces()],
        lambda: [*catalog.siblings(NAME[:1])],
        lambda: [*catalog.siblings(NAME[:2])],
        lambda: [*catalog.tables(NAME[:2])],
    ]
    return [*map(told, asked), leaves.digest(answers.told)]


def of_glue(document: Any) -> list[str]:
    answers = Answers(document)
    catalog = GlueCatalog(answers, {"glue.id": "7", "s3.region": "r"})
    asked: list[Callable[[], Any]] = [
        lambda: shown(catalog.load(("db", "orders"))),
        lambda: shown(catalog.load(("db", "iceberg"))),
        lambda: catalog.swap(("db", "iceberg"), "s3://b/i/metadata/1.json", "new"),
        lambda: catalog.swap(("db", "orders"), "s3://b/i/metadata/1.json", "new"),
        lambda: catalog.stage(("db", "n"), {}),
        lambda: catalog.register(("db", "n"), "s3://b/n/metadata/1.json"),
        lambda: [*catalog.namespaces()],
        lambda: [*catalog.tables(("db",))],
    ]
    return [*map(told, asked), leaves.digest(answers.told)]


def shown(table: Any) -> str:
    return str([table, sorted(table.storage_options.items())])


def of_expiry() -> dict[str, dict[str, str]]:
    found = {}
    for name in ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "adls.sas-token-expires-at-ms"):
        for suffix in ("", ".host", "x"):
            for value in ("7", "", "-1", "\u0661", "x"):
                given = {name + suffix: value, f"{name}.z": "9"}
                where = ("s3://b/t", "gs://b/t", "abfss://c@a.dfs.core.windows.net/t", "/t")
                found[f"{name}{suffix} {value!r}"] = {str([expiry_of(one, given) for one in where]): ""}
    return found


class RestCatalog:
    """As PyIceberg's: every request gets the same answer."""

    __module__ = "pyiceberg.catalog.rest"
    name = "r"
    properties = {"s3.region": "r", "uri": "http://h"}

    def __init__(self, status: int, body: str) -> None:
        self.status_code, self.body = status, body
        self._session = self
        self.told: list[Any] = []

    def url(self, path: str, prefixed: bool, **wanted: str) -> str:
        return f"{path} {prefixed} {sorted(wanted.items())}"

    def post(self, url: str, **given: Any) -> Any:
        self.told.append((url, sorted(given.items())))
        return self

    def json(self) -> Any:
        return json.loads(self.body)

    def _split_identifier_for_path(self, identifier: Any) -> dict[str, str]:
        return {"namespace": identifier[0], "table": identifier[1], "more": "x"}


STATUSES = (
    200,
    201,
    204,
    301,
    400,
    401,
    403,
    404,
    405,
    409,
    410,
    419,
    422,
    429,
    499,
    500,
    501,
    502,
    503,
    504,
    505,
    599,
)
BODIES = (
    '{"metadata": {"location": "s3://b/t", "table-uuid": "u"}, "metadata-location": "s3://b/t/1.json"}',
    *('{"metadata": []}', "{}", "[]", "no JSON", "null", '{"error": "x"}', '{"error": {"type": "not one word"}}'),
    *('{"error": {"type": "NoSuchTableException"}}', '{"error": {"type": "Other", "message": "secret"}}'),
)


def of_rest() -> dict[str, dict[str, str]]:
    """What becomes of commits, by the status and the body of the answer."""
    found: dict[str, dict[str, list[str]]] = {}
    for status in STATUSES:
        for number, body in enumerate(BODIES):
            text = " | ".join(of_commits(RestCatalog(status, body)))
            found.setdefault(str(status), {}).setdefault(text, []).append(str(number))
    return {status: {text: ", ".join(names) for text, names in one.items()} for status, one in found.items()}


def of_commits(made: RestCatalog) -> list[str]:
    catalog, name = PyIcebergCatalog(made), ("db", "t")
    asked: list[Callable[[], Any]] = [
        lambda: catalog.commit(name, [{"type": "x"}], [{"action": "y"}]),
        lambda: catalog.commit_several([(name, [{"type": "x"}], [{"action": "y"}])] * 2),
        lambda: catalog.stage(name, {"name": "t"}),
    ]
    return [*map(told, asked), leaves.digest(made.told)]


LOADED = {
    "metadata-location": "s3://b/t/metadata/1.json",
    "metadata": {"format-version": 2},
    "config": {"s3.access-key-id": "a", "s3.remote-signing-enabled": "true", "token": "no store's"},
    "storage-credentials": [
        {"prefix": "s3://b/", "config": {"s3.session-token": "wide", "s3.session-token-expires-at-ms": "5"}},
        {"prefix": "s3://b/t", "config": {"s3.session-token": "narrow"}},
    ],
}


def of_loaded(document: Any) -> list[str]:
    catalog = PyIcebergCatalog(RestCatalog(200, "{}"))

    catalog._loaded = lambda identifier: catalog._of_answer(document, identifier)  # type: ignore[method-assign]

    def loaded() -> str:
        table = catalog.load(("db", "t"))
        return f"{shown(table)} {table.metadata!r}"

    return [told(loaded)]


def compared(of: Callable[[Any], list[str]], document: Any, chosen: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """{path: {what is another answer than to the sound document: damages}}."""
    sound = of(document)

    def outcome_of(damaged: Any) -> str:
        pairs = zip(of(damaged), sound, strict=True)
        return " | ".join(f"{n} {found}" for n, (found, plain) in enumerate(pairs) if found != plain)

    return {"sound": {" | ".join(sound): ""}, **leaves.outcomes(document, outcome_of, chosen)}


def all_outcomes() -> dict[str, dict[str, dict[str, str]]]:
    return {
        "unity": compared(of_unity, UNITY),
        "glue": compared(of_glue, GLUE, OF_BOTOCORE),
        "expiry": of_expiry(),
        "rest": of_rest(),
        "loaded": compared(of_loaded, LOADED),
    }


def main() -> None:
    leaves.write(PINNED, all_outcomes())


if __name__ == "__main__":
    main()
