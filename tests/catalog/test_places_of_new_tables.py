"""Where catalogs of PyIceberg put a new table, and what became of one that is registered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.catalog import pyiceberg_commits as commits
from tableformats.errors import UnsupportedFeatureError
from tableformats.io.stores.base import PutOutcome

pytest.importorskip("pyiceberg")


class Catalog:
    """A catalog of PyIceberg that knows the namespace ``a.b``."""

    name = "c"

    def __init__(self, fault: Exception | None = None, default: str | None = None) -> None:
        self.fault = fault
        self.default = default
        self.registered: list[Any] = []

    def namespace_exists(self, namespace: tuple[str, ...]) -> bool:
        return namespace == ("a", "b")

    def _resolve_table_location(self, location: str | None, namespace: str, name: str) -> str:
        if location is None and self.default is None:
            raise ValueError("no warehouse")
        return location or f"{self.default}/{namespace}/{name}"

    def register_table(self, identifier: Any, location: str) -> None:
        self.registered.append((identifier, location))
        if self.fault is not None:
            raise self.fault


class BigQueryMetastoreCatalog(Catalog):
    __module__ = "pyiceberg.catalog.bigquery_metastore"
    client = None

    def load_namespace_properties(self, namespace: Any) -> dict[str, str]:
        return {"defaultStorageLocationUri": "gs://dataset/"} if self.default is None else {}


@pytest.mark.parametrize(
    ("catalog", "definition", "location"),
    [
        (Catalog(), {"location": "s3://b/t"}, "s3://b/t"),
        (Catalog(default="s3://w"), {}, "s3://w/a.b/t"),
        (Catalog(default="s3://w"), {"location": "s3://b/t"}, "s3://b/t"),
        (BigQueryMetastoreCatalog(), {}, "gs://dataset/t"),
        (BigQueryMetastoreCatalog(), {"location": "gs://b/t"}, "gs://b/t"),
        (BigQueryMetastoreCatalog(default="gs://w"), {}, "gs://w/a.b/t"),
    ],
)
def test_where_a_new_table_goes(catalog: Catalog, definition: dict[str, str], location: str) -> None:
    staged, answer = commits.stage(catalog, ("a", "b", "t"), definition)
    assert (staged.location, staged.table_id, answer) == (location, None, {})


def test_new_tables_that_have_no_place() -> None:
    from pyiceberg.exceptions import NoSuchNamespaceError

    with pytest.raises(UnsupportedFeatureError, match="catalog 'c' does not say where new tables go") as caught:
        commits.stage(Catalog(), ("a", "b", "t"), {})
    assert caught.value.path == "a.b.t" and caught.value.field == "warehouse"
    with pytest.raises(NoSuchNamespaceError, match=r"a\.x"):
        commits.stage(Catalog(), ("a", "x", "t"), {})


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (None, PutOutcome.WON),
        (type("TableAlreadyExistsError", (Exception,), {})(), PutOutcome.LOST),
        (OSError("late"), PutOutcome.UNKNOWN),
    ],
)
def test_tables_that_are_registered(fault: Exception | None, outcome: PutOutcome) -> None:
    catalog = Catalog(fault)
    assert commits.register(catalog, ("a", "t"), "s3://b/t/metadata/1.json") is outcome
    assert catalog.registered == [(("a", "t"), "s3://b/t/metadata/1.json")]


@pytest.mark.parametrize(
    ("is_one", "name", "attribute"),
    [
        (commits.is_rest, "RestCatalog", "_session"),
        (commits.is_dynamodb, "DynamoDbCatalog", "dynamodb_table_name"),
        (commits.is_bigquery, "BigQueryMetastoreCatalog", "client"),
        (commits.is_sql, "SqlCatalog", "engine"),
    ],
)
def test_kinds_of_catalogs(is_one: Any, name: str, attribute: str) -> None:
    """By the name of a class of PyIceberg, and by what it has: a later release may have it otherwise."""

    def made(name: str, module: str, **known: Any) -> Any:
        kind = type(name, (), {"__module__": module})
        return type("Own", (kind,), {"__module__": "own", **known})()

    value = SimpleNamespace(dialect=SimpleNamespace(supports_sane_rowcount=True))
    assert is_one(made(name, "pyiceberg.catalog.x", **{attribute: value}))
    assert not is_one(made(name, "pyiceberg.catalog.x"))
    assert not is_one(made("Other", "pyiceberg.catalog.x", **{attribute: value}))
    assert not is_one(made(name, "other", **{attribute: value}))


COMMIT = "POST /v1/{prefix}/transactions/commit"


@pytest.mark.parametrize(
    ("known", "may"),
    [
        (None, True),
        ({"a"}, True),
        ({"a", "b"}, True),
        ({"a", "b", "c"}, False),
        ({"c"}, False),
        ({"c", COMMIT}, True),
        ({f"{COMMIT}/more"}, False),
    ],
)
def test_catalogs_that_may_commit_to_several_tables(
    monkeypatch: pytest.MonkeyPatch, known: set[str] | None, may: bool
) -> None:
    """One that does not say what it can do is asked; ``a`` and ``b`` are what PyIceberg assumes of it."""
    rest = pytest.importorskip("pyiceberg.catalog.rest")
    monkeypatch.setattr(rest, "DEFAULT_ENDPOINTS", {"a"}, raising=False)
    monkeypatch.setattr(rest, "VIEW_ENDPOINTS", {"b"}, raising=False)
    catalog = type("RestCatalog", (), {"__module__": "pyiceberg.catalog.rest", "_session": None})()
    if known is not None:
        catalog._supported_endpoints = known
    assert commits.may_commit_several(catalog) is may
    assert not commits.may_commit_several(Catalog())
