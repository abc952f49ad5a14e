"""Small files of which the size is known: their answers come without a thread each, and are those of any other way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.io.stores import answers
from tableformats.runtime.io_threads import raising
from tests.support.delta_log import DeltaLog, add
from tests.support.s3_stub import S3Stub

ROOT = "s3://bucket/t"


@pytest.fixture
def stub() -> Iterator[S3Stub]:
    with S3Stub() as server:
        yield server


def read(stub: S3Stub, data: bytes | None, listed: int, limit: int = 1 << 20) -> bytes:
    """What is read of a file that had ``listed`` bytes when it was listed, and has ``data`` now."""
    if data is not None:
        stub.put("t/file", data)
    limits = tf.Limits(metadata_bytes=limit)
    storage = Storage(ROOT, {**stub.options, "max_retries": 0}, limits=limits)
    with storage.reading_ahead([(f"{ROOT}/file", listed)]):
        storage.wait_for(f"{ROOT}/file")
        found = storage.read_bytes(f"{ROOT}/file")
    assert storage.meter.now()[:2] == (1, len(found))
    return found


@pytest.mark.parametrize(("now", "listed", "requests"), [(9, 9, 1), (5, 9, 1), (10, 9, 2), (90, 9, 2), (0, 9, 2)])
def test_a_file_may_have_another_size_than_was_listed(stub: S3Stub, now: int, listed: int, requests: int) -> None:
    data = bytes(range(now))
    assert read(stub, data, listed) == data
    assert len(stub.requests) == requests and stub.requests[0].range == f"bytes=0-{listed}"


@pytest.mark.parametrize("listed", [0, 200_000])
def test_other_files_are_asked_for_whole(stub: S3Stub, listed: int) -> None:
    assert read(stub, b"text", listed) == b"text"
    assert [request.range for request in stub.requests] == [None]


def test_a_store_without_ranges(stub: S3Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.s3_stub._RANGE", __import__("re").compile("never"))
    assert read(stub, b"text", 4) == b"text"
    assert len(stub.requests) == 2


def test_faults_and_limits_are_those_of_every_request(stub: S3Stub) -> None:
    with pytest.raises(FileNotFoundError):
        read(stub, None, 4)
    with pytest.raises(tf.LimitExceededError, match="metadata_bytes"):
        read(stub, b"longer", 4, limit=4)
    stub.requests.clear()
    stub.fault = "403"
    with pytest.raises(tf.StorePermissionError, match="AccessDenied") as caught:
        read(stub, b"text", 4)
    assert caught.value.path == f"{ROOT}/file" and len(stub.requests) == 1


def write_commits(stub: S3Stub, root: Path, count: int) -> None:
    log = DeltaLog(root).start()
    for version in range(1, count):
        log.commit(version, add(f"f{version}", stats='{"numRecords": 1}'))
    stub.upload(root, "t")


def test_more_files_than_requests_at_once(stub: S3Stub, tmp_path: Path) -> None:
    """The next one is sent when an answer comes, on a thread of obstore."""
    write_commits(stub, tmp_path, 60)
    options = {**stub.options, "max_concurrency": 5}
    assert len(tf.open_table(ROOT, storage_options=options).scan().plan()) == 59


def test_a_log_in_several_pages_is_listed_whole(stub: S3Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page comes beside the commits, the others when it was read."""
    monkeypatch.setattr("tableformats.io.stores.object_store._PAGE", 5)
    stub.max_keys = 5
    write_commits(stub, tmp_path, 12)
    table = tf.open_table(ROOT, storage_options=stub.options)
    assert table.snapshot().version == 11 and table.snapshot().version == 11


def test_within_an_event_loop(stub: S3Stub, tmp_path: Path) -> None:
    """As in a notebook: the loop of the caller stays the running one."""
    write_commits(stub, tmp_path, 5)

    async def count() -> int:
        found = len(tf.open_table(ROOT, storage_options=stub.options).scan().plan())
        assert asyncio.get_running_loop().is_running()
        await asyncio.sleep(0)
        return found

    assert asyncio.run(count()) == 4


def test_an_error_of_the_call_itself() -> None:
    with pytest.raises(ValueError, match="wrong"):
        answers.begin_request(lambda: raising(ValueError("wrong")), pytest.fail)
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_a_process_waits_at_its_end_for_answers(stub: S3Stub) -> None:
    """A thread of obstore that comes back while the interpreter ends would end the process with an error."""
    stub.put("t/file", b"text")
    program = f"""
        from tableformats.io.storage import Storage
        storage = Storage({ROOT!r}, {stub.options!r})
        context = storage.reading_ahead([({ROOT!r} + "/file", 4)])
        context.__enter__()
    """
    stub.delay = 0.3
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert stub.requests and all(request.end for request in stub.requests)
