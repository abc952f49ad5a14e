"""Tables on S3 in Spark: settings are given once, reach the relation's own file system alone, and are shown nowhere.

The session has Hadoop's connector and a process of its own; the store is moto. Needs ``moto[server]``, deltalake, and
Maven for the connector.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.support import hadoop_connectors

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytest.importorskip("moto.server", reason="needs moto[server]")
deltalake = pytest.importorskip("deltalake")

KEY, SECRET = "AKIDOFTHETEST1", "s3cretOfTheTest/+x"


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
    client.create_bucket(Bucket="bucket")
    found = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    found |= {name.upper(): value for name, value in keys.items()}
    yield {**found, "AWS_CONDITIONAL_PUT": "etag"}
    server.stop()


@pytest.fixture(scope="module")
def run(options: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What the job found, and everything that it and Spark wrote to logs."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java 17, on the path or at JAVA_HOME")
    try:
        class_path = ":".join(hadoop_connectors.jars())
    except hadoop_connectors.Unavailable as error:
        pytest.skip(str(error))
    location, folder = "s3://bucket/t", tmp_path_factory.mktemp("events")
    for values in ([1, 2], [3, 4]):
        deltalake.write_deltalake(location, pa.table({"x": values}), mode="append", storage_options=options)
    arguments = [class_path, location, json.dumps(options), str(folder)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment = {name: value for name, value in environment.items() if not name.startswith("AWS_")}
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    root = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [environment.get("PYTHONPATH")])])
    job = [sys.executable, "-m", "tests.spark.object_store_job", *arguments]
    done = subprocess.run(job, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=root)
    assert done.returncode == 0, done.stderr[-4000:]
    printed, _, found = done.stdout.rpartition("\nFACTS ")
    events = "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
    assert "SparkListenerSQLExecutionStart" in events, "there are logs to look into"
    return json.loads(found), printed + done.stderr + events


def test_options_given_once_are_enough(run: tuple[dict[str, Any], str]) -> None:
    found, _ = run
    assert found["native"] == found["portable"] == [2, 3, 4]
    assert found["native with deletes"] == [1, 2, 3, 4]
    assert found["executors"] is True
    assert all(path.startswith("s3a://bucket/t/part-") for path in found["files"]) and len(found["files"]) == 2
    assert found["own column"].startswith("s3://bucket/t/part-")


def test_other_reads_of_the_session_get_none_of_it(run: tuple[dict[str, Any], str]) -> None:
    found, _ = run
    assert "NoAuthWithAWSException" in found["others"], "the session has no credentials of its own"
    assert found["hadoop"] == "{}"


def test_nothing_shows_a_secret(run: tuple[dict[str, Any], str]) -> None:
    found, logs = run
    text = logs + json.dumps(found)
    assert SECRET not in text and SECRET.replace("/", "\\/") not in text
    assert KEY not in "".join(found["plans"]) and "tableformats" in "".join(found["plans"])


def test_missing_credentials_are_known_when_the_frame_is_made(run: tuple[dict[str, Any], str]) -> None:
    kind, message, seconds = run[0]["without options"]
    assert kind == "StorePermissionError" and seconds < 30
    assert "Spark's file system cannot read s3a://bucket" in message
    assert 'spark.conf.set("fs.s3a.bucket.bucket.secret.key", "<the secret>")' in message


def test_a_staged_read_that_the_session_cannot_do_goes_to_the_data_source(run: tuple[dict[str, Any], str]) -> None:
    found, _ = run
    assert found["staged"] == [2, 3, 4]
    (line,) = found["staged why"]
    assert "the Python data source reads the files, because the session cannot read s3a://bucket" in line
    assert 'spark.conf.set("fs.s3a.bucket.bucket.access.key", "<the access key>")' in line
