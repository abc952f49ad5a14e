"""A catalog of PyIceberg that is neither REST nor SQL: DynamoDB, with tables in S3, both on moto."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

pytest.importorskip("moto.server", reason="needs moto[server]")
boto3 = pytest.importorskip("boto3")
catalogs = pytest.importorskip("pyiceberg.catalog")


@pytest.fixture(scope="module")
def properties() -> Iterator[dict[str, str]]:
    """A catalog with the table ``n.t``."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "t3stingSecret", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="bucket")
    found = {
        "name": "dynamo",
        "type": "dynamodb",
        "warehouse": "s3://bucket/w",
        "dynamodb.endpoint": url,
        "s3.endpoint": url,
        "client.region": "us-east-1",
        "client.access-key-id": "testing",
        "client.secret-access-key": "t3stingSecret",
    }
    catalog = open_catalog(found, url, keys)
    catalog.create_namespace("n")
    catalog.create_table("n.t", pa.schema([("x", pa.int64())]))  # PyIceberg commits nothing to this catalog
    yield found
    server.stop()


def open_catalog(properties: dict[str, str], url: str, keys: dict[str, str]) -> Any:
    from pyiceberg.catalog.dynamodb import DynamoDbCatalog

    client = boto3.client("dynamodb", endpoint_url=url, **keys)
    return DynamoDbCatalog(properties["name"], client=client, **{k: v for k, v in properties.items() if k != "name"})


@pytest.fixture
def catalog(properties: dict[str, str]) -> Any:
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "t3stingSecret", "region_name": "us-east-1"}
    return open_catalog(properties, properties["dynamodb.endpoint"], keys)


def test_open(catalog: Any) -> None:
    table = tf.open_table("n.t", catalog=catalog)
    assert table.schema.names == ["x"] and table.scan().to_arrow().num_rows == 0
    assert table.refresh().location == catalog.load_table("n.t").metadata_location


def test_list_and_errors(catalog: Any) -> None:
    assert tf.list_tables(catalog)["identifier"].to_pylist() == ["n.t"]
    with pytest.raises(tf.TableNotFoundError, match=r"catalog 'dynamo' has no such table.*'n\.s'"):
        tf.open_table("n.s", catalog=catalog)
