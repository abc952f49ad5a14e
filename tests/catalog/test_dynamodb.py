"""A catalog of PyIceberg that is neither REST nor SQL: DynamoDB, with tables in S3, both on moto.

PyIceberg commits nothing to this catalog; it reads what was committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.pyiceberg import PyIcebergCatalog
from tableformats.plugin import PutOutcome

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
    catalog.create_table("n.t", pa.schema([("x", pa.int64())]))
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


def values(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow()["x"].to_pylist())


@pytest.mark.parametrize("version", ["2", "3"])
def test_tables_are_created_and_written(catalog: Any, version: str) -> None:
    name = f"n.written{version}"
    schema = pa.schema([("x", pa.int64())])
    table = tf.create_table(name, schema, format="iceberg", catalog=catalog, properties={"format-version": version})
    table.append(pa.table({"x": [1, 2]}))
    table.delete("x = 1")
    assert values(table) == values(tf.open_table(name, catalog=catalog)) == [2]
    if version == "2":
        assert values(catalog.load_table(name)) == [2]
    item = item_of(catalog, name)
    assert item["p.previous_metadata_location"]["S"] != item["p.metadata_location"]["S"] == table.refresh().location
    assert item["p.table_type"]["S"] == "ICEBERG"
    with pytest.raises(tf.TableFormatsError, match="is there"):
        tf.create_table(name, schema, format="iceberg", catalog=catalog)


def item_of(catalog: Any, name: str) -> dict[str, Any]:
    key = {"identifier": {"S": name}, "namespace": {"S": name.partition(".")[0]}}
    found: dict[str, Any] = catalog.dynamodb.get_item(TableName=catalog.dynamodb_table_name, Key=key)["Item"]
    return found


def test_a_writer_that_lost_the_race_commits_upon_the_winner(catalog: Any) -> None:
    table = tf.create_table("n.race", pa.schema([("x", pa.int64())]), format="iceberg", catalog=catalog)
    before = item_of(catalog, "n.race")
    with table.transaction() as transaction:
        transaction.append(pa.table({"x": [1]}))
        tf.open_table("n.race", catalog=catalog).append(pa.table({"x": [2]}))
    assert transaction.commit.attempts == 2 and values(catalog.load_table("n.race")) == [1, 2]
    assert before["v"] != item_of(catalog, "n.race")["v"], "a writer of Iceberg's Java catalog sees the change"


def test_a_swap_whose_condition_does_not_hold(catalog: Any) -> None:
    ours = PyIcebergCatalog(catalog)
    old = str(catalog.load_table("n.t").metadata_location)
    assert ours.swap(("n", "t"), "s3://bucket/other.json", "s3://bucket/new.json") is PutOutcome.LOST
    assert ours.swap(("n", "absent"), old, "s3://bucket/new.json") is PutOutcome.LOST
    assert ours.register(("n", "t"), old) is PutOutcome.LOST
    assert catalog.load_table("n.t").metadata_location == old
