"""Tables on moto, an S3 server that others wrote, with a writer in another process; needs ``moto[server]``."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.io.storage import PutOutcome, Storage

pytest.importorskip("moto.server", reason="needs moto[server]")
deltalake = pytest.importorskip("deltalake")


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    """Options of a bucket ``bucket``."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    found = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "t3stingSecret",
        "AWS_ALLOW_HTTP": "true",
        "AWS_CONDITIONAL_PUT": "etag",
    }
    client = boto3.client(
        "s3",
        endpoint_url=found["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="t3stingSecret",
    )
    client.create_bucket(Bucket="bucket")
    yield found
    server.stop()


def append(location: str, options: dict[str, str], values: list[int]) -> None:
    """Append in another process."""
    program = """
        import sys, json, pyarrow as pa, deltalake
        location, options, values = json.loads(sys.argv[1])
        deltalake.write_deltalake(location, pa.table({"x": values}), mode="append", storage_options=options)
    """
    import json

    argument = json.dumps([location, options, values])
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), argument], check=True, timeout=60)


def fsspec_spelling(options: dict[str, str]) -> dict[str, Any]:
    return {
        "key": options["AWS_ACCESS_KEY_ID"],
        "secret": options["AWS_SECRET_ACCESS_KEY"],
        "client_kwargs": {"endpoint_url": options["AWS_ENDPOINT_URL"], "region_name": options["AWS_REGION"]},
    }


@pytest.mark.parametrize("spelling", ["deltalake", "fsspec"])
def test_every_commit_of_another_process_is_seen(options: dict[str, str], spelling: str) -> None:
    location = f"s3://bucket/appended-{spelling}"
    append(location, options, [1])
    given = options if spelling == "deltalake" else fsspec_spelling(options)
    table = tf.open_table(location, storage_options=given)
    snapshot = table.snapshot()
    for version in range(1, 4):
        append(location, options, [version])
        assert table.snapshot().version == version
        snapshot = snapshot.update()
        assert snapshot.version == version and snapshot.scan().count() == version + 1
        assert table.history().num_rows == version + 1
        assert tf.open_table(location, storage_options=given).scan().to_arrow().num_rows == version + 1


def test_rows_are_those_of_deltalake(options: dict[str, str]) -> None:
    location = "s3://bucket/rows"
    data = pa.table({"x": list(range(1000)), "p": [f"a b/{i % 3}" for i in range(1000)]})
    deltalake.write_deltalake(location, data, partition_by=["p"], storage_options=options)
    found = tf.open_table(location, storage_options=options).scan("p = 'a b/1'").to_arrow()
    assert sorted(found["x"].to_pylist()) == [i for i in range(1000) if i % 3 == 1]


def test_credentials_in_the_location(options: dict[str, str]) -> None:
    deltalake.write_deltalake("s3://bucket/own/t", pa.table({"x": [1, 2]}), storage_options=options)
    query = f"region=us-east-1&scheme=http&endpoint_override={options['AWS_ENDPOINT_URL'].partition('://')[2]}"
    table = tf.open_table(f"s3://testing:t3sting/Secret@bucket/own/t?{query}", storage_options={"allow_http": "true"})
    assert table.scan().to_arrow().num_rows == 2 and table.location == "s3://bucket/own/t"


def test_a_put_loses_where_something_is(options: dict[str, str]) -> None:
    storage = Storage("s3://bucket/puts", options)
    assert storage.put_if_absent(storage.join("x"), b"1") is PutOutcome.WON
    assert storage.put_if_absent(storage.join("x"), b"2") is PutOutcome.LOST
    assert storage.read_bytes(storage.join("x")) == b"1"
    storage.delete(storage.join("x"))
    assert storage.list(storage.root) == []


def test_a_missing_bucket_is_named(options: dict[str, str]) -> None:
    with pytest.raises(tf.StoreError, match="no such bucket") as caught:
        tf.open_table("s3://nobody/t", storage_options=options)
    assert caught.value.status == 404 and caught.value.bucket == "nobody"
