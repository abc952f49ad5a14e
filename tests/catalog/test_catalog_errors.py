"""What is wrong with a catalog, an identifier or the credentials: one typed error each, that names them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tableformats as tf
from tableformats.catalog.base import parts_of
from tableformats.catalog.faults import catalog_fault
from tests.support.rest_catalog import RestCatalogStub

pytest.importorskip("pyiceberg")


@pytest.fixture
def rest() -> Iterator[RestCatalogStub]:
    with RestCatalogStub() as stub:
        stub.tables["sales", "orders"] = {"metadata-location": "/x/v1.metadata.json", "metadata": {}}
        stub.tables["sales", "items"] = {}
        yield stub


def test_no_such_table_lists_near_names(rest: RestCatalogStub) -> None:
    with pytest.raises(tf.TableNotFoundError) as caught:
        tf.open_table("sales.order", catalog=rest.properties())
    assert type(caught.value) is tf.TableNotFoundError
    assert str(caught.value) == ("catalog 'stub' has no such table (path 'sales.order'). Near names: sales.orders")


def test_no_such_namespace_lists_near_names(rest: RestCatalogStub) -> None:
    with pytest.raises(tf.NamespaceNotFoundError, match=r"'stub' has no such namespace.*'sale'.*Near names: sales"):
        tf.open_table("sale.orders", catalog=rest.properties())


def test_a_view_is_refused_by_name(rest: RestCatalogStub) -> None:
    rest.views.add(("sales", "totals"))
    with pytest.raises(tf.UnsupportedFeatureError, match=r"'stub' has a view.*'sales\.totals'.*'view'"):
        tf.open_table("sales.totals", catalog=rest.properties())


def test_a_table_without_a_metadata_file(rest: RestCatalogStub) -> None:
    rest.tables["sales", "items"] = {"metadata-location": None, "metadata": {}}
    with pytest.raises(tf.CatalogError, match="'stub' names no metadata file"):
        tf.open_table("sales.items", catalog=rest.properties())


def test_no_such_catalog_lists_near_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__PRODUCTION__URI", "http://127.0.0.1:1")
    with pytest.raises(tf.CatalogNotFoundError, match=r"no catalog 'produktion'.*production") as caught:
        tf.open_table("a.b", catalog="produktion")
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, tf.CatalogPermissionError),
        (403, tf.CatalogPermissionError),
        (429, tf.CatalogConnectionError),
        (500, tf.CatalogConnectionError),
        (503, tf.CatalogConnectionError),
        (400, tf.CatalogError),
    ],
)
@pytest.mark.parametrize("at_first", [True, False])
def test_a_status_is_a_typed_error(
    rest: RestCatalogStub, status: int, error: type[tf.CatalogError], at_first: bool
) -> None:
    catalog: Any = rest.properties()
    if not at_first:
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog(**catalog)
    rest.status = status
    with pytest.raises(error, match="'stub'") as caught:
        tf.open_table("sales.orders", catalog=catalog)
    assert type(caught.value) is error and caught.value.catalog == "stub" and "s3cretWords" not in str(caught.value)
    assert at_first or caught.value.path == "sales.orders"


def test_a_wrong_token(rest: RestCatalogStub) -> None:
    rest.token = "right"
    with pytest.raises(tf.CatalogPermissionError, match="refused the credentials") as caught:
        tf.open_table("sales.orders", catalog=rest.properties(token="wr0ngToken"))
    assert "wr0ngToken" not in repr(caught.value) + str(caught.value) and caught.value.__cause__ is None


def test_an_unreachable_catalog() -> None:
    with pytest.raises(tf.CatalogConnectionError, match="'catalog' does not answer: ConnectionError") as caught:
        tf.open_table("a.b", catalog={"type": "rest", "uri": "http://127.0.0.1:1"})
    assert isinstance(caught.value, ConnectionError)


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(tf.CatalogConnectionError, match="OperationalError"):
        tf.open_table("a.b", catalog={"type": "sql", "uri": f"sqlite:///{tmp_path}/no/such/folder/c.db"})


@pytest.mark.parametrize("catalog", ["prod", {"type": "rest", "uri": "http://127.0.0.1:1", "name": "prod"}])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, catalog: Any) -> None:
    for module in ("pyiceberg.catalog", "pyiceberg.utils.config"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        tf.MissingExtraError, match=r"needs pyiceberg.*pip install 'tableformats\[catalogs\]'"
    ) as caught:
        tf.open_table("a.b", catalog=catalog)
    assert isinstance(caught.value, ImportError) and caught.value.name == "pyiceberg"


@pytest.mark.parametrize(
    ("module", "install"),
    [
        ("boto3", "tableformats[glue]"),
        ("sqlalchemy", "pyiceberg[sql-sqlite]"),
        ("hive_metastore", "pyiceberg[hive]"),
        ("google", "needs google-cloud-bigquery"),
    ],
)
def test_the_missing_library_says_what_to_install(module: str, install: str) -> None:
    installed = type("NotInstalledError", (Exception,), {})()
    installed.__cause__ = ModuleNotFoundError(f"No module named '{module}'", name=module)
    found = catalog_fault(installed, "c")
    assert isinstance(found, tf.MissingExtraError) and install in str(found) and module in str(found)


@pytest.mark.parametrize(
    ("code", "error"),
    [("AccessDeniedException", tf.CatalogPermissionError), ("ExpiredTokenException", tf.CatalogPermissionError)],
)
def test_errors_of_aws(code: str, error: type[tf.CatalogError]) -> None:
    raised = type("ClientError", (Exception,), {})("arn:aws:secret")
    raised.response = {"Error": {"Code": code}}
    found = catalog_fault(raised, "c", "a.b")
    assert type(found) is error and code in str(found) and "arn" not in str(found)


def test_a_table_of_another_kind() -> None:
    def load_table(identifier: Any) -> None:
        raise type("NoSuchIcebergTableError", (type("NoSuchTableError", (Exception,), {}),), {})

    with pytest.raises(tf.UnsupportedFeatureError, match="no PyIceberg table"):
        tf.open_table("a.b", catalog=SimpleNamespace(load_table=load_table, name="hive"))


@pytest.mark.parametrize("wrong", [5, ["a", 1], None])
def test_an_identifier_of_another_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match="an identifier is text, or a tuple of names"):
        parts_of(wrong)


@pytest.mark.parametrize("wrong", ["", "a..b", ".b", (), ("a", "")])
def test_an_identifier_without_a_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match="an identifier is a name, or names between dots"):
        parts_of(wrong)


@pytest.mark.parametrize("at_first", [True, False])
def test_a_server_that_hangs_is_given_up(
    rest: RestCatalogStub, monkeypatch: pytest.MonkeyPatch, at_first: bool
) -> None:
    from pyiceberg.catalog import load_catalog

    from tableformats.catalog import pyiceberg

    monkeypatch.setattr(pyiceberg, "TIMEOUTS_S", (0.2, 0.3))
    catalog: Any = rest.properties() if at_first else load_catalog(**rest.properties())
    rest.is_hanging = True
    with pytest.raises(tf.CatalogConnectionError, match="'stub' does not answer"):
        tf.open_table("sales.orders", catalog=catalog)
