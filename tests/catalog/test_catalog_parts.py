"""Parts of catalogs by themselves: what opens a store, what an error of a library is, and which catalog is meant."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import tableformats as tf
from tableformats.catalog import pyiceberg as of_pyiceberg
from tableformats.catalog.base import Catalog, ListedTable
from tableformats.catalog.faults import catalog_fault
from tableformats.catalog.glue import GlueCatalog as OurGlue
from tableformats.catalog.opening import catalog_of
from tableformats.catalog.pyiceberg import PyIcebergCatalog, _take_answer, _vended
from tableformats.catalog.unity import UnityCatalog
from tableformats.catalog.vended import expiry_of, store_options
from tableformats.errors import (
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    MissingExtraError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedFeatureError,
)

S3, GCS, AZURE = "s3://b/t", "gs://b/t", "abfss://c@a.dfs.core.windows.net/t"

# ---- options --------------------------------------------------------------------------------------------------------

GIVEN = {
    "s3.region": "r",
    "s3.signer": "remote",
    "gcs.oauth2.token": "g",
    "adls.sas-token": "a",
    "adls.sas-token.a.dfs.core.windows.net": "h",
    "token": "of the catalog",
    "region": "of the catalog",
    "unknown.option": "x",
}


@pytest.mark.parametrize(
    ("location", "names"),
    [
        (S3, {"s3.region", "s3.signer"}),
        (GCS, {"gcs.oauth2.token", "s3.signer"}),
        (AZURE, {"adls.sas-token", "adls.sas-token.a.dfs.core.windows.net", "s3.signer"}),
        ("/t", set()),
        ("file:///t", set()),
    ],
)
def test_options_of_a_store(location: str, names: set[str]) -> None:
    assert store_options(location, GIVEN) == {name: GIVEN[name] for name in names}


@pytest.mark.parametrize(
    ("location", "vended", "expires"),
    [
        (S3, {"s3.session-token-expires-at-ms": "7"}, 7),
        (S3, {"gcs.oauth2.token-expires-at": "7"}, None),
        (GCS, {"gcs.oauth2.token-expires-at": "7"}, 7),
        (AZURE, {"adls.sas-token-expires-at-ms.host": "9", "adls.sas-token-expires-at-ms.z": "8"}, 8),
        (AZURE, {"adls.sas-token-expires-at-msx": "9"}, None),
        (S3, {"s3.session-token-expires-at-ms": "-7"}, None),
        ("/t", {"s3.session-token-expires-at-ms": "7", "": "5", ".x": "5"}, None),
        (S3, {}, None),
    ],
)
def test_when_what_was_vended_expires(location: str, vended: dict[str, str], expires: int | None) -> None:
    assert expiry_of(location, vended) == expires


@pytest.mark.parametrize(
    ("credentials", "found"),
    [
        (None, {}),
        ([], {}),
        ([{"prefix": "s3://b/", "config": {"a": "1"}}, {"prefix": "s3://b/t", "config": {"a": "2"}}], {"a": "2"}),
        ([{"prefix": "s3://b/t", "config": {"a": "2"}}, {"prefix": "s3://b/", "config": {"a": "1"}}], {"a": "2"}),
        ([{"prefix": "s3://other/", "config": {"a": "1"}}], {}),
        ([{"config": {"a": "1"}}], {}),
        ([{"prefix": "", "config": {"a": "1", "b": 5}}], {"a": "1"}),
        ([{"prefix": "s3", "config": None}], {}),
        (["x", None], {}),
    ],
)
def test_credentials_whose_prefix_fits_best(credentials: Any, found: dict[str, str]) -> None:
    assert _vended(credentials, S3) == found


# ---- errors ---------------------------------------------------------------------------------------------------------


def error_of(name: str, base: type[Exception] = Exception, **attributes: Any) -> Exception:
    error = type(name, (base,), {})("secret words")
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    return error


def response(code: Any) -> dict[str, Any]:
    return {"response": {"Error": {"Code": code}}}


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (error_of("ForbiddenError"), CatalogPermissionError, "refused the credentials: ForbiddenError"),
        (error_of("Own", type("OAuthError", (Exception,), {})), CatalogPermissionError, "refused the credentials: Own"),
        (error_of("X", **response("AccessDenied")), CatalogPermissionError, "refused the credentials: AccessDenied"),
        (error_of("X", **response("Odd")), CatalogError, "does not give an answer: Odd"),
        (error_of("X", **response("two words")), CatalogError, "does not give an answer: X"),
        (error_of("X", response={}), CatalogError, "does not give an answer: X"),
        (error_of("X", response="text"), CatalogError, "does not give an answer: X"),
        (error_of("ReadTimeout"), CatalogConnectionError, "does not answer: ReadTimeout"),
        (error_of("Y", ConnectionError), CatalogConnectionError, "does not answer: Y"),
        (
            error_of("Forbidden", errors=[{"reason": "rateLimitExceeded"}]),
            CatalogConnectionError,
            "does not answer: rateLimitExceeded",
        ),
        (
            error_of("Forbidden", errors=({"reason": "denied"}, {"reason": "rateLimitExceeded"})),
            CatalogPermissionError,
            "refused the credentials: denied",
        ),
        (error_of("X", errors=[]), CatalogError, "does not give an answer: X"),
        (error_of("X", errors="text"), CatalogError, "does not give an answer: X"),
        (error_of("X", errors={"a": 1}), CatalogError, "does not give an answer: X"),
        (error_of("X", errors=[5]), CatalogError, "does not give an answer: X"),
        (error_of("X"), CatalogError, "does not give an answer: X"),
    ],
    ids=range(16),
)
def test_errors_of_libraries(error: Exception, kind: type[CatalogError], message: str) -> None:
    """By the names of their classes and by codes; their words are not taken over."""
    found = catalog_fault(error, "c", "a.b")
    assert (type(found), found.message, found.path) == (kind, f"catalog 'c' {message}", "a.b")
    assert catalog_fault(found, "other") is found


@pytest.mark.parametrize(
    ("module", "package", "hint"),
    [
        ("boto3", "boto3", "pip install 'tableformats[glue]'"),
        ("botocore.config", "botocore", "pip install 'tableformats[glue]'"),
        ("sqlalchemy.orm", "sqlalchemy", "pip install 'pyiceberg[sql-sqlite]'"),
        ("google.cloud", "google-cloud-bigquery", "pip install 'pyiceberg[bigquery]'"),
        ("pyiceberg", "pyiceberg", "pip install 'tableformats[catalogs]'"),
        (None, "pyiceberg", "pip install 'tableformats[catalogs]'"),
    ],
)
def test_missing_libraries(module: str | None, package: str, hint: str) -> None:
    plain = ImportError("no module", name=module)
    wrapped = error_of("NotInstalledError")
    wrapped.__cause__ = plain
    for error in (plain, wrapped):
        found = catalog_fault(error, "c")
        assert isinstance(found, MissingExtraError) and found.hint == hint
        assert found.message == f"catalog 'c' needs {package}, which is not installed"


# ---- which catalog is meant -----------------------------------------------------------------------------------------


class Plain:
    """Anything with PyIceberg's methods."""

    name = "plain"

    def __init__(self, tables: dict[tuple[str, ...], list[str]] | None = None) -> None:
        self.all = tables or {}

    def load_table(self, identifier: Any) -> Any:
        raise error_of("NoSuchTableError")

    def list_namespaces(self, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        return [one for one in self.all if one[:-1] == tuple(above)]

    def namespace_exists(self, namespace: tuple[str, ...]) -> bool:
        return namespace in self.all

    def list_tables(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
        if namespace not in self.all:
            raise error_of("NoSuchNamespaceError")
        return [(*namespace, name) for name in self.all[namespace]]

    def view_exists(self, identifier: tuple[str, ...]) -> bool:
        return identifier[-1] == "view"


class GlueCatalog(Plain):
    """As PyIceberg's is called."""

    glue = "the client"
    properties = {"glue.id": "7"}


class GlueWithoutClient(Plain):
    pass


GlueWithoutClient.__name__ = "GlueCatalog"


def test_catalogs_that_are_given() -> None:
    plain = Plain()
    ours = PyIcebergCatalog(plain)
    assert catalog_of(ours) is ours
    found = catalog_of(plain)
    assert isinstance(found, PyIcebergCatalog) and found.catalog is plain and found.name == "plain"
    assert isinstance(catalog_of({"type": "Unity", "uri": "http://h"}), UnityCatalog)
    glue = catalog_of(GlueCatalog())
    assert isinstance(glue, OurGlue)
    assert (glue._client, glue._properties, glue.name) == ("the client", {"glue.id": "7"}, "plain")
    assert isinstance(catalog_of(GlueWithoutClient()), PyIcebergCatalog)
    with_client = Plain()
    with_client.glue = "x"  # type: ignore[attr-defined]
    assert isinstance(catalog_of(with_client), PyIcebergCatalog)
    bare = GlueCatalog()
    bare.properties = None  # type: ignore[assignment]
    assert catalog_of(bare)._properties == {}  # type: ignore[attr-defined]
    for wrong in (5, None, object()):
        with pytest.raises(TypeError, match="catalog is a PyIceberg catalog, the name of one or its properties"):
            catalog_of(wrong)


@pytest.mark.parametrize("limit", [True, False, -1, "1", 1.0])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(ValueError, match="limit must be a number of tables"):
        tf.list_tables(Plain(), limit=limit)


@pytest.mark.parametrize(("limit", "found"), [(None, ["a.x", "a.y", "a.b.z", "c.x"]), (0, []), (2, ["a.x", "a.y"])])
def test_tables_that_are_listed(limit: int | None, found: list[str]) -> None:
    catalog = Plain({("a",): ["x", "y"], ("a", "b"): ["z"], ("c",): ["x"]})
    assert tf.list_tables(catalog, limit=limit)["identifier"].to_pylist() == found
    assert tf.list_tables(catalog, "a.b")["name"].to_pylist() == ["z"]


def test_namespaces_that_name_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is listed once, and so many at most."""
    catalog = Plain({("a",): [], ("b",): []})
    monkeypatch.setattr(catalog, "list_namespaces", lambda above=(): [("a",), ("b",), ("a",)])
    assert [*PyIcebergCatalog(catalog).namespaces()] == [("a",), ("b",)]
    monkeypatch.setattr(of_pyiceberg, "_MAX_NAMESPACES", 1)
    assert [*PyIcebergCatalog(catalog).namespaces()] == [("a",)]


def test_catalogs_of_databases_have_no_namespaces_within_others() -> None:
    nested = {("a",): ["x"], ("a", "b"): ["y"]}
    assert [*PyIcebergCatalog(Plain(nested)).namespaces()] == [("a",), ("a", "b")]
    flat = type("HiveCatalog", (Plain,), {})(nested)
    assert [*PyIcebergCatalog(flat).namespaces()] == [("a",)]
    catalog = PyIcebergCatalog(Plain(nested))
    assert catalog.siblings(("z",)) == [("a",)] and catalog.siblings(("a", "z")) == [("a", "b")]
    assert [*catalog.tables(("a",))] == [ListedTable(("a",), "x")]


@pytest.mark.parametrize(
    ("identifier", "error", "path"),
    [
        (("a", "view"), UnsupportedFeatureError, "a.view"),
        (("a", "z"), TableNotFoundError, "a.z"),
        (("z", "x"), NamespaceNotFoundError, "z"),
        (("x",), TableNotFoundError, "x"),
    ],
)
def test_what_is_missing(identifier: tuple[str, ...], error: type[Exception], path: str) -> None:
    with pytest.raises(error) as caught:
        PyIcebergCatalog(Plain({("a",): ["x"]})).load(identifier)
    assert type(caught.value) is error and getattr(caught.value, "path", None) == path


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (
            error_of("NoSuchIcebergTableError", type("NoSuchTableError", (Exception,), {})),
            UnsupportedFeatureError,
            "it is no PyIceberg table",
        ),
        (error_of("NoSuchPropertyException"), UnsupportedFeatureError, "it is no PyIceberg table"),
        (error_of("ReadTimeout"), CatalogConnectionError, "does not answer: ReadTimeout"),
    ],
)
def test_faults_of_loading(fault: Exception, error: type[Exception], words: str) -> None:
    catalog = Plain()
    catalog.load_table = lambda identifier: (_ for _ in ()).throw(fault)  # type: ignore[method-assign]
    with pytest.raises(error, match=words):
        PyIcebergCatalog(catalog).load(("a", "b"))


def test_tables_of_other_objects() -> None:
    """Properties of the catalog, then those of the table's configuration, then those of its files."""
    catalog = Plain()
    catalog.properties = {"s3.region": "c", "s3.endpoint": "c"}  # type: ignore[attr-defined]
    table = SimpleNamespace(
        metadata_location="s3://b/t/1.json",
        metadata=SimpleNamespace(properties={"s3.access-key-id": "of the table"}),
        config={"s3.endpoint": "t"},
        io=SimpleNamespace(properties={"s3.region": "f", "s3.access-key-id": "of the table"}),
    )
    catalog.load_table = lambda identifier: table  # type: ignore[method-assign]
    found = PyIcebergCatalog(catalog).load(("a", "b"))
    assert (found.location, found.names_version) == ("s3://b/t/1.json", True)
    assert dict(found.storage_options) == {"s3.region": "f", "s3.endpoint": "t"}


@pytest.mark.parametrize(
    ("status", "url", "answer", "is_taken"),
    [
        (200, "http://h/v1/n/tables/t", {"metadata": {}}, True),
        (404, "http://h/v1/n/tables/t", {"metadata": {}}, False),
        (200, "http://h/v1/config", {"metadata": {}}, False),
        (200, "http://h/v1/n/tables/t", {"metadata": 5}, False),
        (200, "http://h/v1/n/tables/t", [], False),
        (200, "http://h/v1/n/tables/t", ValueError(), False),
    ],
)
def test_answers_that_are_taken(status: int, url: str, answer: Any, is_taken: bool) -> None:
    def read() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    given = SimpleNamespace(status_code=status, url=url, json=read)
    if is_taken:
        with pytest.raises(of_pyiceberg._Answered) as caught:
            _take_answer(given)
        assert caught.value.answer == answer
    else:
        _take_answer(given)


def test_a_catalog_that_is_only_read() -> None:
    catalog: Catalog = PyIcebergCatalog(Plain())
    assert not (catalog.can_swap or catalog.applies_updates or catalog.commits_several)
    with pytest.raises(UnsupportedFeatureError, match="is only read"):
        catalog.swap(("a", "b"), "old", "new")
    with pytest.raises(UnsupportedFeatureError, match="commits to one table at a time"):
        catalog.commit_several([(("a", "b"), [], [])])


# ---- catalogs that are made within a time limit ---------------------------------------------------------------------


def test_a_catalog_that_is_made_keeps_no_process_from_ending() -> None:
    thread = of_pyiceberg._in_time(threading.current_thread, "c")
    assert thread.daemon and thread.name == "tableformats-catalog"


@pytest.mark.parametrize("fault", [ValueError("x"), TimeoutError("x"), SystemExit(3)])
def test_errors_of_making_a_catalog(fault: BaseException) -> None:
    def make() -> None:
        raise fault

    with pytest.raises(type(fault)) as caught:
        of_pyiceberg._in_time(make, "c")
    assert caught.value is fault


def test_a_catalog_that_is_not_made_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_pyiceberg, "TIMEOUTS_S", (0.005, 0.005))
    goes_on = threading.Event()
    with pytest.raises(CatalogConnectionError, match=r"catalog 'c' does not answer within 0\.01 seconds"):
        of_pyiceberg._in_time(goes_on.wait, "c")
    goes_on.set()


@pytest.mark.parametrize(
    ("kind", "fault", "hint"),
    [
        ("bigquery", ValueError("x"), "Give the property gcp.bigquery.project-id"),
        ("bigquery", KeyError("x"), CatalogError.default_hint),
        ("bigquery", UnicodeDecodeError("utf-8", b"", 0, 1, "x"), CatalogError.default_hint),
        ("sql", ValueError("x"), CatalogError.default_hint),
    ],
)
def test_what_properties_of_a_catalog_lack(
    monkeypatch: pytest.MonkeyPatch, kind: str, fault: Exception, hint: str | None
) -> None:
    made = pytest.importorskip("pyiceberg.catalog")

    def fail(name: str, **properties: str) -> None:
        raise fault

    monkeypatch.setattr(made, "load_catalog", fail)
    with pytest.raises(CatalogError, match="catalog 'c' does not give an answer") as caught:
        PyIcebergCatalog.made({"name": "c", "type": kind})
    assert caught.value.hint == hint
