"""A writer in another process beside readers: what it was told is written, every later call of a reader sees.

Each store is a server of ``tests/support/services.py``, or skips with a reason where the server is not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.io.storage import PutOutcome, Storage
from tests.support.delta_log import DeltaLog
from tests.support.s3_stub import S3Stub
from tests.support.services import Store, gcs_upload, running_fake_gcs, upload

COMMITS = 12
WRITER = """
import json, sys, urllib.request
from tableformats.io.storage import PutOutcome, Storage
location, options, commits, upload = json.loads(sys.argv[1])
storage = Storage(location, options)
for version in range(1, commits + 1):
    add = {"path": f"f{version}", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    path = storage.join("_delta_log", f"{version:020d}.json")
    data = json.dumps({"add": add}).encode()
    if upload:
        urllib.request.urlopen(upload + path.removeprefix("gs://bucket/"), data).close()
    else:
        assert storage.put_if_absent(path, data) is PutOutcome.WON
    print(version, flush=True)
    sys.stdin.readline()
"""
TURNS = 4
APPENDING = """
import json, sys
import pyarrow as pa
import tableformats as tf
location, options, turns = json.loads(sys.argv[1])
table = tf.open_table(location, storage_options=options)
for value in range(1, turns + 1):
    table.append(pa.table({"x": [value]}))
    print(value, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def gcs() -> Iterator[Store]:
    with running_fake_gcs() as found:
        yield found


@pytest.fixture
def s3_stub() -> Iterator[Store]:
    with S3Stub() as server:
        yield "s3://bucket", server.options


@pytest.fixture
def local(tmp_path: Path) -> Store:
    return str(tmp_path), {}


@pytest.fixture
def gcs_stub() -> Iterator[Store]:
    with S3Stub() as server:
        yield "gs://bucket", server.gcs_options


@pytest.fixture(params=["local", "s3_stub", "azurite", "gcs"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


def first_commit(root: Path, put: Callable[[str, bytes], Any]) -> None:
    DeltaLog(root).start()
    name = f"_delta_log/{0:020d}.json"
    put(name, (root / name).read_bytes())


def test_readers_see_what_another_process_has_written(store: Store, tmp_path: Path) -> None:
    location, options = f"{store[0]}/beside", store[1]
    storage = Storage(location, options)
    posts_to = gcs_upload(store) if location.startswith("gs:") else ""

    def put(name: str, data: bytes) -> None:
        if posts_to:
            upload(store, f"beside/{name}", data)
        else:
            storage.put(storage.join(name), data)

    first_commit(tmp_path / "first", put)
    table = tf.open_table(location, storage_options=options)
    updated = table.snapshot()
    uncached = tf.open_table(location, storage_options=options, cache=False)
    argument = json.dumps([location, options, COMMITS, posts_to])
    command = [sys.executable, "-c", WRITER, argument]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        for line in writer.stdout:
            version = int(line)
            assert table.snapshot().version == version
            updated = updated.update()
            assert updated.version == version and len(updated.scan().plan()) == version
            assert tf.open_table(location, storage_options=options).snapshot().version == version
            assert len(uncached.scan().plan()) == version
            assert table.history().num_rows == version + 1
            writer.stdin.write("\n")
            writer.stdin.flush()
    assert writer.returncode == 0 and updated.version == COMMITS


@pytest.mark.parametrize("store_name", ["s3_stub", "local", "azurite", "gcs_stub"])
def test_readers_see_what_another_process_has_appended_to_iceberg(
    store_name: str, request: pytest.FixtureRequest
) -> None:
    if store_name != "s3_stub" and not os.environ.get("TABLEFORMATS_SERVICES"):
        pytest.skip("each store takes seconds: set TABLEFORMATS_SERVICES=1")
    root, options = request.getfixturevalue(store_name)
    location = f"{root}/appended"
    tf.write_table(pa.table({"x": [0]}), location, format="iceberg", storage_options=options)
    table = tf.open_table(location, storage_options=options)
    updated = table.snapshot()
    argument = json.dumps([location, options, TURNS])
    command = [sys.executable, "-c", APPENDING, argument]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        for value in range(1, TURNS + 1):
            assert writer.stdout.readline() == f"{value}\n"
            updated, table = updated.update(), table.refresh()
            opened = tf.open_table(location, storage_options=options)
            for snapshot in (updated, table.snapshot(), opened.snapshot()):
                assert snapshot.scan().count() == value + 1
            writer.stdin.write("\n")
            writer.stdin.flush()
    assert writer.returncode == 0


def test_one_of_two_writers_wins_and_both_readers_agree(store: Store, tmp_path: Path) -> None:
    location, options = f"{store[0]}/race", store[1]
    if location.startswith("gs:"):
        pytest.skip("fake-gcs-server takes no conditional puts by the XML API, which obstore uses")
    storages = [Storage(location, options) for _ in range(4)]
    first_commit(tmp_path / "first", lambda name, data: storages[0].put(storages[0].join(name), data))
    path = storages[0].join("_delta_log", f"{1:020d}.json")
    outcomes: list[tuple[PutOutcome, int]] = []

    def write(i: int) -> None:
        data = json.dumps({"commitInfo": {"timestamp": i}}).encode()
        outcomes.append((storages[i].put_if_absent(path, data), i))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    (winner,) = [i for outcome, i in outcomes if outcome is PutOutcome.WON]
    assert [outcome for outcome, _ in outcomes].count(PutOutcome.LOST) == 3
    assert json.loads(storages[0].read_bytes(path))["commitInfo"]["timestamp"] == winner


def test_a_file_system_of_this_process(tmp_path: Path) -> None:
    """Memory is of one process, so the writer is a thread, with a file system object of its own."""
    place = f"/beside-{os.getpid()}"
    made = fsspec.filesystem("memory", skip_instance_cache=True)
    first_commit(tmp_path, lambda name, data: made.pipe_file(f"{place}/{name}", data))
    table = tf.open_table(f"memory:/{place}")
    snapshot = table.snapshot()
    for version in range(1, COMMITS + 1):
        data = b'{"commitInfo":{"timestamp":1}}'
        writer = threading.Thread(target=made.pipe_file, args=(f"{place}/_delta_log/{version:020d}.json", data))
        writer.start()
        writer.join(10)
        snapshot = snapshot.update()
        assert snapshot.version == table.snapshot().version == version
        assert tf.open_table(f"memory:/{place}").snapshot().version == version
    made.rm(place, recursive=True)
