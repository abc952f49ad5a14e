"""Tables on Azure and Google's store in Spark, and all stores without a connector.

Executors' planning and the portable path need nothing but this library, so they run in the session of the other tests,
which has no connector. The native path has Hadoop's connector for Azure (ABFS), or Google's for GCS, and a session of
its own: each takes a minute, so they run where ``TABLEFORMATS_SERVICES`` is set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support import hadoop_connectors
from tests.support.s3_stub import S3Stub
from tests.support.services import AZURITE_KEY, Store, running_azurite, running_fake_gcs, upload

HOST = "devstoreaccount1.dfs.core.windows.net"


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with running_azurite(tmp_path_factory.mktemp("azurite")) as (_, options):
        yield f"abfss://bucket@{HOST}", options


@pytest.fixture(scope="module")
def gcs_stub() -> Iterator[S3Stub]:
    with S3Stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def gcs(gcs_stub: S3Stub) -> Store:
    return "gs://bucket", gcs_stub.gcs_options


def written(store: Store, format: str) -> tf.Table:
    location = f"{store[0]}/{format}"
    tf.write_table(pa.table({"x": [1, 2, 3]}), location, format=format, storage_options=store[1])
    table = tf.open_table(location, storage_options=store[1])
    table.append(pa.table({"x": [4]}))
    return table.refresh()


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("name", ["azurite", "gcs"])
def test_without_a_connector(spark: Any, name: str, format: str, request: pytest.FixtureRequest) -> None:
    table = written(request.getfixturevalue(name), format)
    plan = table.scan("x > 1").plan(engine=spark)
    assert sorted(plan.paths.to_pylist()) == sorted(table.scan("x > 1").plan().paths.to_pylist())
    frame = table.scan("x > 1").to_spark(spark, mode="portable")
    assert sorted(row.x for row in frame.collect()) == [2, 3, 4]
    lines = {"azurite": "fs.azure.account.key", "gcs": "fs.gs.storage.root.url"}
    with pytest.raises(tf.UnsupportedFeatureError, match="the session cannot read files of") as caught:
        table.scan("x > 1").to_spark(spark, mode="native")
    assert lines[name] in str(caught.value) and AZURITE_KEY not in str(caught.value)


def test_s3_without_a_connector_needs_no_settings(spark: Any, gcs_stub: S3Stub) -> None:
    table = written(("s3://bucket/s3", gcs_stub.options), "delta")
    with pytest.raises(tf.UnsupportedFeatureError, match=r"hadoop-aws.*gets the storage_options from here") as caught:
        table.scan().to_spark(spark, mode="native")
    assert "fs.s3a.bucket" not in str(caught.value)


JOB = """
import json, sys
from pyspark.sql import SparkSession
import tableformats as tf

class_path, java, settings, location, options = json.loads(sys.argv[1])
builder = SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", class_path)
builder = builder.config("spark.driver.memory", "768m").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraJavaOptions", java)
for name, value in settings.items():
    builder = builder.config(f"spark.hadoop.{name}", value)
spark = builder.getOrCreate()
found = {}
for format in ("delta", "iceberg"):
    frame = tf.open_table(f"{location}/{format}", storage_options=options).scan("x > 1").to_spark(spark, mode="native")
    found[format] = [sorted(row.x for row in frame.collect()), frame.inputFiles()]
spark.stop()
print("\\nFACTS", json.dumps(found))
"""


def check_native_rows(jars: Callable[[], list[str]], java: str, settings: dict[str, str], store: Store) -> None:
    """Read both tables of the store in a session that has a connector and these settings."""
    try:
        class_path = ":".join(jars())
    except hadoop_connectors.Unavailable as error:
        pytest.skip(str(error))
    location, options = store
    argument = json.dumps([class_path, java, settings, location, options])
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", JOB, argument], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.rpartition("\nFACTS ")[2])
    for rows, files in found.values():
        assert rows == [2, 3, 4] and all(path.startswith(f"{location}/") for path in files) and len(files) == 2
    assert AZURITE_KEY not in done.stdout


@pytest.fixture
def connectors() -> None:
    if not os.environ.get("TABLEFORMATS_SERVICES"):
        pytest.skip("a session with a connector takes a minute: set TABLEFORMATS_SERVICES=1")


@pytest.fixture
def certificate(connectors: None, tmp_path: Path) -> Path:
    """A certificate for the loopback, its key, and a store of Java that trusts it: ABFS wants TLS."""
    for program in ("openssl", "keytool"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} on the path")
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*made, "-keyout", "key.pem", "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    trusted = ["keytool", "-importcert", "-noprompt", "-alias", "a", "-file", "cert.pem", "-storepass", "changeit"]
    subprocess.run([*trusted, "-keystore", "trust.jks"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_the_native_path_on_azure(certificate: Path, tmp_path: Path) -> None:
    with running_azurite(tmp_path, certificate) as (_, options):
        store: Store = f"abfss://bucket@{HOST}", options
        for format in ("delta", "iceberg"):
            written(store, format)
        settings = {
            "fs.azure.abfs.endpoint": options["endpoint"].split("/")[2],
            "fs.azure.account.hns.enabled": "false",
            "fs.azure.fns.account.service.type": "BLOB",  # the emulator has no other
            "fs.azure.ssl.channel.mode": "Default_JSSE",
            f"fs.azure.account.key.{HOST}": AZURITE_KEY,
        }
        java = f"-Djavax.net.ssl.trustStore={certificate / 'trust.jks'} -Djavax.net.ssl.trustStorePassword=changeit"
        check_native_rows(hadoop_connectors.azure_jars, java, settings, store)


def test_the_native_path_on_gcs(connectors: None, gcs_stub: S3Stub) -> None:
    """The stub takes what is written; the emulator, which takes no files by that API, gets them as they are."""
    gcs_stub.objects.clear()
    with running_fake_gcs() as store:
        for format in ("delta", "iceberg"):
            written(("gs://bucket", gcs_stub.gcs_options), format)
        for name, (data, _) in gcs_stub.objects.items():
            upload(store, name, data)
        own = {"fs.gs.storage.root.url": store[1]["base_url"], "fs.gs.auth.type": "UNAUTHENTICATED"}
        check_native_rows(hadoop_connectors.gcs_jars, "", {**hadoop_connectors.GCS_SETTINGS, **own}, store)
