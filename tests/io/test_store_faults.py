"""Faults of a store: each is a typed error within its time, says who refused and why, and never speaks of damage."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.support.s3_stub import S3Stub

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tables"
LIMITS = {"connect_timeout": "1s", "read_timeout": "300ms", "timeout": "2s", "max_retries": 2, "retry_timeout": 3}
LIMITS |= {"init_backoff": "10ms", "max_backoff": "50ms"}
SECRETS = ("st0bSecretKey", "AKIASTUB")
LONGEST = 4.0
"""Seconds that any of these faults may take: three tries of 300 ms, and a busy machine."""


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Stub]:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with S3Stub() as server:
        server.upload(GOLDEN / "delta-evolved" / "table", "delta")
        server.upload(GOLDEN / "iceberg-evolved" / "table", "iceberg")
        yield server


def opened(stub: S3Stub, name: str, **options: Any) -> tf.Table:
    relocate = name == "iceberg"
    return tf.open_table(
        f"s3://bucket/{name}", storage_options={**stub.options, **LIMITS, **options}, relocate=relocate, cache=False
    )


def steps(stub: S3Stub, name: str) -> list[Callable[[], Any]]:
    """Opening, planning and reading, each from the step before it on."""
    table = opened(stub, name)
    plan = table.scan().plan()
    return [
        lambda: opened(stub, name),
        table.snapshot,
        lambda: table.scan().plan(),
        lambda: table.history(),
        plan.to_arrow,
    ]


FAULTS = {
    "403": (tf.StorePermissionError, 403, "AccessDenied", "refused"),
    "429": (tf.StoreThrottledError, 429, "SlowDown", "fewer requests"),
    "500": (tf.StoreError, 500, "InternalError", "failed"),
    "503": (tf.StoreThrottledError, 503, "SlowDown", "fewer requests"),
    "reset": (tf.StoreConnectionError, None, None, "broke"),
    "half": (tf.StoreConnectionError, None, None, "broke"),
    "hang": (tf.StoreTimeoutError, None, None, "in time"),
}


@pytest.mark.parametrize("name", ["delta", "iceberg"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_in_every_step_is_typed(stub: S3Stub, name: str, fault: str) -> None:
    kind, status, code, words = FAULTS[fault]
    calls = steps(stub, name)
    stub.fault = fault
    # Half a body is a fault of reads; listings and answers about a file are short and come whole.
    stub.faulty = lambda request: fault != "half" or (request.method == "GET" and "list-type" not in request.query)
    failed = 0
    for call in calls:
        before = time.monotonic()
        try:
            call()
        except tf.StoreError as error:
            failed += 1
            assert type(error) is kind and (error.status, error.code, error.bucket) == (status, code, "bucket")
            assert error.path is not None and error.path.startswith(f"s3://bucket/{name}")
            assert words in str(error) and error.hint
            assert error.request_id == ("REQ1234" if status else None)
            shown = str(error) + repr(error)
            assert not any(secret in shown for secret in SECRETS)
            assert not any(word in shown.lower() for word in ("damaged", "remove", "restore", "corrupt"))
            assert pickle.loads(pickle.dumps(error)).status == status
        assert time.monotonic() - before < LONGEST
    # An Iceberg table's snapshot and history are in the metadata that opening has read.
    assert failed >= (3 if name == "delta" else 2)


@pytest.mark.parametrize("fault", ["429", "500", "503", "reset", "half", "hang"])
def test_what_passes_is_retried(stub: S3Stub, fault: str) -> None:
    expected = repr(opened(stub, "delta").scan().to_arrow().to_pylist())
    stub.fault, stub.fault_count = fault, 2
    assert repr(opened(stub, "delta").scan().to_arrow().to_pylist()) == expected
    assert stub.fault_count < 0


@pytest.mark.parametrize("fault", ["403", "404"])
def test_what_does_not_pass_is_asked_once(stub: S3Stub, fault: str) -> None:
    storage = opened(stub, "delta").storage
    stub.requests.clear()
    stub.fault = fault
    with pytest.raises(OSError):
        storage.read_bytes("s3://bucket/delta/x")
    assert len(stub.requests) == 1


def test_a_missing_file_is_no_fault_of_the_store(stub: S3Stub) -> None:
    table = opened(stub, "delta")
    stub.fault = "404"
    stub.faulty = lambda request: request.path.endswith(".json")
    with pytest.raises(tf.CorruptMetadataError, match="is missing"):
        table.snapshot()


# ---- what users get wrong -------------------------------------------------------------------------------------------


def test_a_missing_bucket(stub: S3Stub) -> None:
    with pytest.raises(tf.StoreError, match="there is no such bucket") as caught:
        tf.open_table("s3://nobody/t", storage_options={**stub.options, **LIMITS})
    assert caught.value.bucket == "nobody" and "bucket's name" in str(caught.value)


def test_nothing_is_there(stub: S3Stub) -> None:
    with pytest.raises(tf.TableNotFoundError):
        tf.open_table("s3://bucket/absent", storage_options=stub.options)


@pytest.mark.parametrize("location", ["s3://bucket/delta/", "s3a://bucket/delta//", "S3://bucket/delta"])
def test_spellings_of_a_location(stub: S3Stub, location: str) -> None:
    assert tf.open_table(location, storage_options=stub.options).scan().plan().files.num_rows


def test_names_are_not_decoded(stub: S3Stub) -> None:
    stub.upload(GOLDEN / "delta-evolved" / "table", "a%20b é+c")
    table = tf.open_table("s3://bucket/a%20b é+c", storage_options=stub.options)
    assert table.scan().to_arrow().num_rows == opened(stub, "delta").scan().to_arrow().num_rows


def test_a_wrong_endpoint() -> None:
    options = {**LIMITS, "endpoint_url": "http://127.0.0.1:9", "key": "k", "secret": "s3cr", "region": "eu"}
    with pytest.raises(tf.StoreConnectionError, match="cannot be reached"):
        tf.open_table("s3://bucket/t", storage_options=options)


def test_a_scheme_that_nobody_knows() -> None:
    with pytest.raises(tf.TableFormatsError, match="no store is known for nonesuch:// paths"):
        tf.open_table("nonesuch://bucket/t")


def codes(stub: S3Stub, status: int, code: str, monkeypatch: pytest.MonkeyPatch) -> tf.StoreError:
    monkeypatch.setattr("tests.support.s3_stub._CODES", {status: code})
    stub.fault = str(status)
    with pytest.raises(tf.StoreError) as caught:
        opened(stub, "delta")
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        (403, "RequestTimeTooSkewed", tf.StorePermissionError, "clock"),
        (400, "ExpiredToken", tf.StorePermissionError, "expired"),
        (403, "InvalidAccessKeyId", tf.StorePermissionError, "access key"),
        (403, "SignatureDoesNotMatch", tf.StorePermissionError, "secret"),
        (400, "AuthorizationHeaderMalformed", tf.StoreError, "region"),
    ],
)
def test_codes_say_what_to_do(
    stub: S3Stub, monkeypatch: pytest.MonkeyPatch, status: int, code: str, kind: type[tf.StoreError], words: str
) -> None:
    error = codes(stub, status, code, monkeypatch)
    assert type(error) is kind and words in str(error) and (error.status, error.code) == (status, code)
