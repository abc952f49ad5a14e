"""The same program on tables of every place: directories, S3, SQL catalogs, Iceberg's own REST catalog, Glue.

Each step is checked against a model of rows; at the end the verifier finds nothing, and PyIceberg reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

from ..support.iceberg_rest import running_rest_catalog
from ..support.iceberg_writing import newest

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string()), ("x", pa.float64())])
KEYS = {"client.access-key-id": "testing", "client.secret-access-key": "t3stingSecret", "client.region": "us-east-1"}
AWS = {"aws_access_key_id": "testing", "aws_secret_access_key": "t3stingSecret", "region_name": "us-east-1"}


@dataclass
class Place:
    """Where a table is made: arguments of create_table and open_table, and how PyIceberg reads it."""

    location: Any
    options: dict[str, Any]
    read: Callable[[], pa.Table] | None = None


def directory(folder: Path) -> Iterator[Place]:
    from pyiceberg.table import StaticTable

    def read() -> pa.Table:
        return StaticTable.from_metadata(str(newest(folder / "t"))).scan().to_arrow()

    yield Place(folder / "t", {}, read)


def sql(folder: Path) -> Iterator[Place]:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("sql", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
    catalog.create_namespace("n")
    yield Place("n.t", {"catalog": catalog}, lambda: catalog.load_table("n.t").scan().to_arrow())


def rest(folder: Path) -> Iterator[Place]:
    from pyiceberg.catalog import load_catalog

    with running_rest_catalog(folder) as uri:
        properties = {"name": "java", "type": "rest", "uri": uri}
        catalog = load_catalog(**properties)
        catalog.create_namespace("n")
        yield Place("n.t", {"catalog": properties}, lambda: catalog.load_table("n.t").scan().to_arrow())


def moto() -> Iterator[str]:
    pytest.importorskip("moto.server", reason="needs moto[server]")
    boto3 = pytest.importorskip("boto3")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=url, **AWS).create_bucket(Bucket="places")
    yield url
    server.stop()


def s3(folder: Path) -> Iterator[Place]:
    for url in moto():
        options = {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        options |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "t3stingSecret"}
        yield Place(f"s3://places/{folder.name}", {"storage_options": options})


def glue(folder: Path) -> Iterator[Place]:
    from pyiceberg.catalog import load_catalog

    for url in moto():
        properties = {"name": "glue", "type": "glue", "warehouse": "s3://places/w", "glue.endpoint": url}
        catalog = load_catalog(**{**properties, "s3.endpoint": url, **KEYS})
        catalog.create_namespace_if_not_exists("n")
        name = f"n.{folder.name}"
        yield Place(name, {"catalog": catalog}, partial(read_by, catalog, name))


def read_by(catalog: Any, name: str) -> pa.Table:
    found: pa.Table = catalog.load_table(name).scan().to_arrow()
    return found


PLACES = {"directory": directory, "s3": s3, "sql": sql, "rest": rest, "glue": glue}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    pytest.importorskip("pyiceberg")
    yield from PLACES[request.param](tmp_path)


def rows(*ids: int, p: str | None = "a") -> pa.Table:
    return pa.table({"id": list(ids), "p": [p] * len(ids), "x": [i / 2 for i in ids]}, schema=SCHEMA)


def ids(table: Any) -> list[int]:
    return sorted(table["id"].to_pylist())


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_program(place: Place, version: str) -> None:
    def table() -> tf.Table:
        return tf.open_table(place.location, **place.options)

    properties = {"format-version": version, "commit.manifest.min-count-to-merge": "3"}
    tf.create_table(
        place.location, SCHEMA, format="iceberg", partition_by="p", sort_by="id", properties=properties, **place.options
    )
    table().append(rows(3, 1, 2))
    table().append(rows(4, 5, p="b"), application=("job", 1))
    assert table().append(rows(4, 5, p="b"), application=("job", 1)).attempts == 0
    table().delete("id = 2")
    table().overwrite(rows(6, p="b"), where="dynamic")
    assert ids(table().to_arrow()) == [1, 3, 6]
    opened = table()
    opened.create_branch("audit")
    with opened.transaction(branch="audit") as txn:
        txn.append(rows(7))
    assert ids(table().to_arrow()) == [1, 3, 6] and ids(table().scan(branch="audit").to_arrow()) == [1, 3, 6, 7]
    table().fast_forward("main", "audit")
    table().create_tag("done")
    table().alter.add_columns({"note": "string"})
    table().alter.set_partitioning("bucket(2, id)")
    before = table()
    table().append(rows(8))
    before.append(rows(9))  # moves on from an older snapshot
    assert ids(table().to_arrow()) == [1, 3, 6, 7, 8, 9]
    with pytest.raises(tf.CommitConflictError), table().transaction() as txn:
        txn.delete("id = 9")
        table().delete("id = 9")
    assert ids(table().to_arrow()) == [1, 3, 6, 7, 8]
    assert not table().verify(deep=True)
    if place.read is not None and version == "2":
        assert ids(place.read()) == [1, 3, 6, 7, 8]
    table().restore("done")
    assert ids(table().to_arrow()) == [1, 3, 6, 7]
    tf.write_table(pa.table({"k": ["z"]}), place.location, mode="replace", format="iceberg", **place.options)
    assert table().to_arrow().to_pylist() == [{"k": "z"}] and ids(table().scan(tag="done").to_arrow()) == [1, 3, 6, 7]
    assert not table().verify(deep=True)
