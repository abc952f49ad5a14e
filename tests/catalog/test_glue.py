"""Tables of AWS Glue, of both formats, on moto; needs ``moto[server]``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

pytest.importorskip("moto.server", reason="needs moto[server]")
boto3 = pytest.importorskip("boto3")
deltalake = pytest.importorskip("deltalake")

KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "t3stingSecret", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server with the bucket ``bucket``, and the Glue database ``db`` with the tables that the tests name."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=url, **KEYS).create_bucket(Bucket="bucket")
    deltalake.write_deltalake("s3://bucket/d", pa.table({"x": [1, 2, 3]}), storage_options=store(url))
    glue = boto3.client("glue", endpoint_url=url, **KEYS)
    for name in ("db", "empty", "other"):
        glue.create_database(DatabaseInput={"Name": name})
    make(glue, "by_provider", {"spark.sql.sources.provider": "DELTA"}, "s3://bucket/d")
    make(glue, "by_table_type", {"table_type": "DELTA"}, "s3://bucket/d/")
    make(glue, "by_classification", {"classification": "delta"}, "s3://bucket/d")
    make(glue, "by_location", {"EXTERNAL": "TRUE", "table_type": "EXTERNAL_TABLE"}, "s3://bucket/d")
    make(glue, "by_manifests", {}, "s3://bucket/d/_symlink_format_manifest")
    path = {"path": "s3://bucket/d"}
    make(glue, "by_spark", {"spark.sql.sources.provider": "delta"}, "s3://x/db.db/t-__PLACEHOLDER__", path)
    make(glue, "csv", {"classification": "csv"}, "s3://bucket/d")
    make(glue, "nowhere", {}, "")
    make(glue, "view", {}, "", kind="VIRTUAL_VIEW")
    make(glue, "of_other", {"table_type": "delta"}, "s3://bucket/d", database="other")
    target = {"TargetTable": {"CatalogId": "123456789012", "DatabaseName": "other", "Name": "of_other"}}
    glue.create_table(DatabaseName="db", TableInput={"Name": "link", **target})
    yield url
    server.stop()


def make(
    glue: Any,
    name: str,
    parameters: dict[str, str],
    location: str,
    serde: dict[str, str] | None = None,
    kind: str = "EXTERNAL_TABLE",
    database: str = "db",
) -> None:
    storage = {"Location": location, "SerdeInfo": {"Parameters": serde or {}}}
    made = {"Name": name, "TableType": kind, "Parameters": parameters, "StorageDescriptor": storage}
    glue.create_table(DatabaseName=database, TableInput=made)


def store(url: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "t3stingSecret",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def properties(endpoint: str) -> dict[str, str]:
    return {
        "type": "glue",
        "name": "aws",
        "glue.endpoint": endpoint,
        "s3.endpoint": endpoint,
        "client.region": "us-east-1",
        "client.access-key-id": "testing",
        "client.secret-access-key": "t3stingSecret",
    }


@pytest.mark.parametrize(
    "name",
    ["by_provider", "by_table_type", "by_classification", "by_location", "by_manifests", "by_spark", "link"],
)
def test_a_delta_table(properties: dict[str, str], name: str) -> None:
    table = tf.open_table(f"db.{name}", catalog=properties)
    assert (table.format, table.location) == ("delta", "s3://bucket/d")
    assert table.scan("x > 1").to_arrow()["x"].to_pylist() == [2, 3]


def test_pyiceberg_is_not_needed(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    assert tf.open_table("db.by_provider", catalog=properties).scan().count() == 3


def test_new_commits_are_seen(properties: dict[str, str], endpoint: str) -> None:
    glue = boto3.client("glue", endpoint_url=endpoint, **KEYS)
    deltalake.write_deltalake("s3://bucket/grows", pa.table({"x": [1]}), storage_options=store(endpoint))
    make(glue, "grows", {"table_type": "delta"}, "s3://bucket/grows")
    table = tf.open_table("db.grows", catalog=properties)
    snapshot = table.snapshot()
    deltalake.write_deltalake("s3://bucket/grows", pa.table({"x": [2]}), mode="append", storage_options=store(endpoint))
    assert snapshot.update().scan().count() == table.refresh().scan().count() == 2


@pytest.fixture
def iceberg(properties: dict[str, str]) -> Any:
    glue = pytest.importorskip("pyiceberg.catalog.glue")
    catalog = glue.GlueCatalog(**properties, warehouse="s3://bucket/w")
    if not catalog.table_exists("db.i"):
        catalog.create_table("db.i", pa.schema([("x", pa.int64())]), location="s3://bucket/i")
        catalog.load_table("db.i").append(pa.table({"x": [1]}))
    return catalog


def test_a_table_with_a_metadata_file(properties: dict[str, str], iceberg: Any) -> None:
    table = tf.open_table("db.i", catalog=properties)
    assert table.format == "iceberg" and table.location == iceberg.load_table("db.i").metadata_location
    snapshot = table.snapshot()
    before = snapshot.scan().count()
    iceberg.load_table("db.i").append(pa.table({"x": [2]}))
    assert snapshot.update().scan().count() == before + 1


def test_a_glue_catalog_of_pyiceberg_gives_both_formats(iceberg: Any) -> None:
    assert tf.open_table("db.by_spark", catalog=iceberg).format == "delta"
    assert tf.open_table("db.i", catalog=iceberg).format == "iceberg"


def test_listing(properties: dict[str, str]) -> None:
    found = {row["name"]: row["format"] for row in tf.list_tables(properties, "db").to_pylist()}
    assert found["by_provider"] == "delta" and found["by_location"] is None and "view" not in found
    everything = tf.list_tables(properties)["identifier"].to_pylist()
    assert "other.of_other" in everything and "db.csv" in everything
    assert tf.list_tables(properties, "empty").num_rows == 0


@pytest.mark.parametrize(
    ("identifier", "error", "message"),
    [
        ("db.by_providr", tf.TableNotFoundError, r"'aws' has no such table.*'db\.by_providr'.*db\.by_provider"),
        ("dbx.t", tf.NamespaceNotFoundError, r"'aws' has no such namespace.*'dbx'.*Near names: db"),
        ("a.b.c", tf.TableNotFoundError, r"no such table.*'a\.b\.c'"),
        ("t", tf.TableNotFoundError, "no such table.*namespace"),
        ("db.view", tf.UnsupportedFeatureError, r"'aws' has a view.*'db\.view'"),
        ("db.nowhere", tf.CatalogError, "'aws' names no location"),
        ("db.csv", tf.UnknownFormatError, "the format 'csv'"),
    ],
)
def test_what_is_wrong(properties: dict[str, str], identifier: str, error: type[BaseException], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        tf.open_table(identifier, catalog=properties)
    assert caught.type is error


def test_no_such_database(properties: dict[str, str]) -> None:
    with pytest.raises(tf.NamespaceNotFoundError, match="'dbx'"):
        tf.list_tables(properties, "dbx")


def test_a_missing_library(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(tf.MissingExtraError, match=r"'aws' needs boto3.*pip install 'tableformats\[glue\]'"):
        tf.open_table("db.t", catalog=properties)


def test_an_unreachable_endpoint(properties: dict[str, str]) -> None:
    gone = {**properties, "glue.endpoint": "http://127.0.0.1:1"}
    with pytest.raises(tf.CatalogConnectionError, match=r"'aws' does not answer: EndpointConnectionError.*'db\.t'"):
        tf.open_table("db.t", catalog=gone)


def test_no_credentials(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/no/such/file")
    anonymous = {name: value for name, value in properties.items() if "key" not in name}
    with pytest.raises(tf.CatalogPermissionError, match="'aws' refused the credentials: NoCredentialsError"):
        tf.open_table("db.t", catalog=anonymous)
