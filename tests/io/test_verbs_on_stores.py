"""Writing verbs on each store: a writer process beside a reader, two writers at once, and stores that fail.

Each store is a fixture of ``tests/support/services.py``, which skips where its server is not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.s3_stub import S3Stub
from tests.support.services import Store, running_moto

COMMITS = 3
WRITER = """
import json, sys
import pyarrow as pa
import tableformats as tf
location, options, values, waits = json.loads(sys.argv[1])
table = tf.open_table(location, storage_options=options)
for value in values:
    table.append(pa.table({"x": [value]}))
    print(value, flush=True)
    if waits:
        sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def moto() -> Iterator[Store]:
    with running_moto() as found:
        yield found


@pytest.fixture
def s3(s3_stub: S3Stub) -> Store:
    return "s3://bucket", s3_stub.options


@pytest.fixture
def gcs(s3_stub: S3Stub) -> Store:
    """The stub, as Google's XML API: the emulators take no conditional puts there."""
    return "gs://bucket", s3_stub.gcs_options


@pytest.fixture
def s3_stub() -> Iterator[S3Stub]:
    with S3Stub() as server:
        yield server


@pytest.fixture
def local(tmp_path: Path) -> Store:
    return str(tmp_path), {}


@pytest.fixture(params=["local", "s3", "gcs", "azurite", "moto"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param in ("azurite", "moto") and not os.environ.get("TABLEFORMATS_SERVICES"):
        pytest.skip("each store takes seconds: set TABLEFORMATS_SERVICES=1")
    found: Store = request.getfixturevalue(request.param)
    return found


def writer(location: str, options: dict[str, Any], values: list[int], waits: bool) -> subprocess.Popen[str]:
    argument = json.dumps([location, options, values, waits])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def values_of(rows: Any) -> list[int]:
    return sorted(rows.to_arrow()["x"].to_pylist())


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_reader_sees_each_commit_of_a_writer(store: Store, format: str) -> None:
    location, options = f"{store[0]}/beside-{format}", store[1]
    tf.write_table(pa.table({"x": [0]}), location, format=format, storage_options=options)
    table = tf.open_table(location, storage_options=options)
    updated = table.snapshot()
    uncached = tf.open_table(location, storage_options=options, cache=False)
    wanted = [0]
    with writer(location, options, list(range(1, COMMITS + 1)), True) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in process.stdout:
            wanted.append(int(line))
            updated = updated.update()
            if format == "iceberg":  # such a table stays at the metadata that it was opened with
                assert values_of(uncached.scan()) == wanted[:-1]
                uncached.refresh()
            assert values_of(updated.scan()) == values_of(table.scan()) == values_of(uncached.scan()) == wanted
            assert values_of(tf.open_table(location, storage_options=options).scan()) == wanted
            assert table.history().num_rows == len(wanted)
            process.stdin.write("\n")
            process.stdin.flush()
    assert process.returncode == 0 and len(wanted) == COMMITS + 1


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_no_commit_of_two_writers_is_lost(store: Store, format: str) -> None:
    location, options = f"{store[0]}/race-{format}", store[1]
    tf.write_table(pa.table({"x": [0]}), location, format=format, storage_options=options)
    with writer(location, options, [1, 2, 3, 4], False) as other:
        assert other.stdout is not None and other.stdout.readline()
        for value in [5, 6, 7, 8]:
            tf.open_table(location, storage_options=options).append(pa.table({"x": [value]}))
        assert other.communicate(timeout=120)
    assert other.returncode == 0
    table = tf.open_table(location, storage_options=options)
    assert values_of(table.scan()) == list(range(9)) and table.history().num_rows == 9


def test_deltalake_reads_what_was_written(store: Store) -> None:
    deltalake = pytest.importorskip("deltalake")
    if store[0].startswith("gs:"):
        pytest.skip("deltalake's client for Google wants a service account")
    location, options = f"{store[0]}/read", store[1]
    tf.write_table(pa.table({"x": [1, 2, 3]}), location, format="delta", storage_options=options)
    tf.open_table(location, storage_options=options).delete("x = 2")
    given = {"allow_http": "true", **{name: str(value) for name, value in options.items()}}
    found = deltalake.DeltaTable(location, storage_options=given).to_pyarrow_table()
    assert sorted(found["x"].to_pylist()) == [1, 3]


# ---- stores that fail -----------------------------------------------------------------------------------------------

LIMITS = {"max_retries": 1, "retry_timeout": "2s", "read_timeout": "1s", "timeout": "1s"}
FAULTS = [
    ("403", tf.StorePermissionError, "refused the request"),
    ("403:InvalidAccessKeyId", tf.StorePermissionError, "does not know the access key"),
    ("400:ExpiredToken", tf.StorePermissionError, "credentials have expired"),
    ("404:NoSuchBucket", tf.StoreError, "there is no such bucket"),
    ("429", tf.StoreThrottledError, "fewer requests"),
    ("500", tf.StoreError, "the store failed: 500"),
    ("503", tf.StoreThrottledError, "fewer requests"),
    ("reset", tf.StoreConnectionError, "connection to the store broke"),
    ("hang", tf.StoreTimeoutError, "did not answer in time"),
]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize(("fault", "kind", "what"), FAULTS, ids=[row[0] for row in FAULTS])
def test_a_store_that_takes_no_files(
    s3_stub: S3Stub, format: str, fault: str, kind: type[tf.StoreError], what: str
) -> None:
    location = "s3://bucket/t"
    tf.write_table(pa.table({"x": [0]}), location, format=format, storage_options=s3_stub.options)
    before = dict(s3_stub.objects)
    s3_stub.fault, s3_stub.faulty = fault, lambda request: request.method == "PUT"
    table = tf.open_table(location, storage_options={**s3_stub.options, **LIMITS})
    with pytest.raises(kind, match=what) as caught:
        table.append(pa.table({"x": [1]}))
    assert not isinstance(caught.value, tf.CommitUnknownError) and "st0bSecretKey" not in str(caught.value)
    assert s3_stub.objects == before
    s3_stub.fault = ""
    assert values_of(table.scan()) == [0]


def test_a_location_is_written_as_it_is_named(s3_stub: S3Stub) -> None:
    tf.write_table(pa.table({"x": [0]}), "s3://bucket/a%20b//", format="delta", storage_options=s3_stub.options)
    assert all(key.startswith("a%20b/") and "//" not in key for key in s3_stub.objects)


@pytest.mark.parametrize(
    ("location", "more", "what"),
    [
        ("s3://absent/t", {}, "no such bucket"),
        ("s3://bucket/t", {"aws_endpoint": "http://127.0.0.1:9", "max_retries": 0}, "cannot be reached"),
        ("nosuch://bucket/t", {}, "no store is known for nosuch"),
        ("s3:///t", {}, "names no bucket"),
        ("abfss://account.dfs.core.windows.net/t", {"filesystem": None}, "names no bucket or container"),
    ],
)
def test_locations_that_cannot_be_written(s3_stub: S3Stub, location: str, more: dict[str, Any], what: str) -> None:
    options = {} if "filesystem" in more else {**s3_stub.options, **more}
    with pytest.raises(tf.TableFormatsError, match=what):
        tf.write_table(pa.table({"x": [0]}), location, format="iceberg", storage_options=options)
