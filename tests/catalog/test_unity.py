"""Delta tables of Unity Catalog: lookup, credentials, listing, errors; against a stub of its open REST API."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.http import JsonClient
from tableformats.catalog.opening import catalog_of
from tests.support.s3_stub import S3Stub
from tests.support.unity_stub import UnityStub

deltalake = pytest.importorskip("deltalake")


@pytest.fixture
def unity(tmp_path: Path) -> Iterator[UnityStub]:
    """With the table ``main.sales.orders``, on the local disk."""
    deltalake.write_deltalake(str(tmp_path / "orders"), pa.table({"x": [1, 2, 3]}))
    with UnityStub() as stub:
        stub.add("main.sales.orders", (tmp_path / "orders").as_uri())
        yield stub


def aws(store: S3Stub, expires_at_ms: int = 4_000_000_000_000) -> dict[str, Any]:
    keys = {"access_key_id": "AKIA1", "secret_access_key": "st0bSecretKey", "session_token": "t0ken"}
    return {"aws_temp_credentials": keys, "expiration_time": expires_at_ms}


def test_a_table_by_its_name(unity: UnityStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    table = tf.open_table("main.sales.orders", catalog=unity.properties())
    assert table.format == "delta" and table.scan("x > 1").to_arrow()["x"].to_pylist() == [2, 3]
    assert unity.requests == ["GET /tables/main.sales.orders"], "a local disk needs no credentials"
    assert tf.open_table("sales.orders", catalog=unity.properties(catalog="main")).scan().count() == 3


def test_the_address_may_be_that_of_the_api(unity: UnityStub) -> None:
    properties = {**unity.properties(), "uri": unity.uri + "/api/2.1/unity-catalog/"}
    assert tf.open_table("main.sales.orders", catalog=properties).scan().count() == 3


def test_by_the_name_of_pyicebergs_configuration(unity: UnityStub, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyiceberg")
    for name in ("type", "uri"):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__UC__{name.upper()}", unity.properties()[name])
    assert tf.open_table("main.sales.orders", catalog="uc").scan().count() == 3
    with pytest.raises(tf.TableNotFoundError, match="catalog 'uc' has no such table"):
        tf.open_table("main.sales.none", catalog="uc")


def test_new_commits_are_seen(unity: UnityStub, tmp_path: Path) -> None:
    table = tf.open_table("main.sales.orders", catalog=unity.properties())
    snapshot = table.snapshot()
    deltalake.write_deltalake(str(tmp_path / "orders"), pa.table({"x": [4]}), mode="append")
    assert snapshot.update().scan().count() == table.refresh().scan().count() == 4


def test_temporary_credentials_open_the_store(unity: UnityStub, tmp_path: Path) -> None:
    with S3Stub() as store:
        store.upload(tmp_path / "orders", "orders")
        table_id = unity.add("main.sales.remote", "s3://bucket/orders")
        unity.credentials = aws(store)
        given = {"s3.endpoint": store.endpoint, "s3.region": "us-east-1"}
        table = tf.open_table("main.sales.remote", catalog=unity.properties(**given))
        assert table.scan().to_arrow().num_rows == 3 and table.storage.options["s3.session-token"] == "t0ken"
        assert unity.bodies[-1] == {"table_id": table_id, "operation": "READ"}
        assert unity.requests.count("POST /temporary-table-credentials") == 1
        assert all(request.is_signed for request in store.requests)
        assert "t0ken" not in repr(table.storage.options)


def test_own_credentials_need_no_others(unity: UnityStub, tmp_path: Path) -> None:
    with S3Stub() as store:
        store.upload(tmp_path / "orders", "orders")
        unity.add("main.sales.remote", "s3://bucket/orders")
        own = {"s3.endpoint": store.endpoint, "s3.region": "us-east-1", "s3.access-key-id": "OWN0"}
        own["s3.secret-access-key"] = "st0bSecretKey"
        table = tf.open_table("main.sales.remote", catalog=unity.properties(), storage_options=own)
        assert table.scan().count() == 3 and unity.requests == ["GET /tables/main.sales.remote"]


@pytest.mark.parametrize(
    ("location", "answer", "options"),
    [
        ("gs://b/t", {"gcp_oauth_token": {"oauth_token": "g"}}, {"gcs.oauth2.token": "g"}),
        (
            "abfss://c@a.dfs.core.windows.net/t",
            {"azure_user_delegation_sas": {"sas_token": "s"}, "aws_temp_credentials": None},
            {"adls.sas-token": "s"},
        ),
    ],
)
def test_credentials_of_other_clouds(
    unity: UnityStub, location: str, answer: dict[str, Any], options: dict[str, str]
) -> None:
    unity.add("main.sales.remote", location)
    unity.credentials = {**answer, "expiration_time": 77}
    catalog, identifier = catalog_of(unity.properties()), ("main", "sales", "remote")
    found = catalog.vend(identifier, catalog.load(identifier))
    assert (found.storage_options, found.expires_at_ms) == (options, 77)


def test_listing(unity: UnityStub) -> None:
    unity.page = 2
    for name in ("a", "b", "c"):
        unity.add(f"main.other.{name}", "/x")
    unity.add("main.other.v", "", table_type="VIEW")
    unity.add("dev.s.t", "/x", data_source_format="PARQUET")
    found = tf.list_tables(unity.properties())
    assert found["identifier"].to_pylist() == [
        "dev.s.t",
        "main.other.a",
        "main.other.b",
        "main.other.c",
        "main.sales.orders",
    ]
    assert found["format"].to_pylist() == ["parquet"] + ["delta"] * 4
    assert tf.list_tables(unity.properties(catalog="main"), "sales")["name"].to_pylist() == ["orders"]
    assert tf.list_tables(unity.properties(catalog="main")).num_rows == 4


@pytest.mark.parametrize(
    ("identifier", "error", "message"),
    [
        ("main.sales.order", tf.TableNotFoundError, r"'uc' has no such table.*Near names: main\.sales\.orders"),
        ("main.sale.orders", tf.NamespaceNotFoundError, r"no such namespace.*'main\.sale'.*Near names: main\.sales"),
        ("man.sales.orders", tf.NamespaceNotFoundError, "no such namespace.*'man'"),
        ("orders", tf.TableNotFoundError, "no such table"),
        ("main.sales.totals", tf.UnsupportedFeatureError, r"'uc' has a view.*'main\.sales\.totals'"),
        ("main.sales.ice", tf.UnsupportedFeatureError, "does not name the metadata file"),
        ("main.sales.nowhere", tf.CatalogError, "names no location"),
        ("main.sales.csv", tf.UnknownFormatError, "the format 'csv'"),
    ],
)
def test_what_is_wrong(unity: UnityStub, identifier: str, error: type[BaseException], message: str) -> None:
    unity.add("main.sales.totals", "", table_type="MATERIALIZED_VIEW")
    unity.add("main.sales.ice", "/x", data_source_format="ICEBERG")
    unity.add("main.sales.nowhere", "")
    unity.add("main.sales.csv", "/x", data_source_format="CSV")
    with pytest.raises(error, match=message) as caught:
        tf.open_table(identifier, catalog=unity.properties())
    assert caught.type is error


def test_no_such_schema(unity: UnityStub) -> None:
    for namespace in ("main.none", "none"):
        with pytest.raises(tf.NamespaceNotFoundError, match="none"):
            tf.list_tables(unity.properties(), namespace)


def test_a_wrong_token(unity: UnityStub) -> None:
    unity.token = "right"
    assert tf.open_table("main.sales.orders", catalog=unity.properties(token="right")).scan().count() == 3
    with pytest.raises(tf.CatalogPermissionError, match="refused the credentials: 401 UNAUTHENTICATED") as caught:
        tf.open_table("main.sales.orders", catalog=unity.properties(token="wr0ngToken"))
    assert "wr0ngToken" not in str(caught.value) and "s3cretWords" not in str(caught.value)


def test_a_fault_is_tried_again(unity: UnityStub) -> None:
    unity.faults = [503, 429]
    assert tf.open_table("main.sales.orders", catalog=unity.properties()).scan().count() == 3
    unity.faults = [500] * 9
    with pytest.raises(tf.CatalogConnectionError, match="500 INTERNAL") as caught:
        tf.open_table("main.sales.orders", catalog=unity.properties())
    assert len(unity.faults) == 6 and "s3cretWords" not in str(caught.value)
    unity.faults = [400]
    with pytest.raises(tf.CatalogError, match="400 INTERNAL") as caught:
        tf.open_table("main.sales.orders", catalog=unity.properties())
    assert caught.type is tf.CatalogError


def test_an_unreachable_server() -> None:
    with pytest.raises(tf.CatalogConnectionError, match="'unity' does not answer: ConnectionRefusedError"):
        tf.open_table("a.b.c", catalog={"type": "unity", "uri": "http://127.0.0.1:1"})


@pytest.mark.parametrize("uri", ["", "file:///etc/passwd", "host:8080", "https://"])
def test_an_address_that_is_none(uri: str) -> None:
    with pytest.raises(tf.CatalogError, match=r"has no address.*uri='https://host'"):
        tf.open_table("a.b.c", catalog={"type": "unity", "uri": uri})


def test_a_server_that_hangs_is_given_up() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = JsonClient("slow", f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.1)
        with pytest.raises(tf.CatalogConnectionError, match="'slow' does not answer: TimeoutError"):
            client.get("/x")


def test_a_web_page_is_no_answer() -> None:
    with S3Stub() as store:
        client = JsonClient("page", store.endpoint)
        store.put("x", b"<html>")
        with pytest.raises(tf.CatalogError, match="something else than JSON"):
            client.get("/bucket/x")


def test_no_other_host_gets_the_token(unity: UnityStub) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Redirects(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            return None

        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", unity.uri + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Redirects) as server:
        Thread(target=server.handle_request, daemon=True).start()
        client = JsonClient("elsewhere", f"http://127.0.0.1:{server.server_address[1]}", "t0ken")
        with pytest.raises(tf.CatalogError, match="'elsewhere' does not give an answer: 302"):
            client.get("/tables/x")
    assert unity.requests == []
