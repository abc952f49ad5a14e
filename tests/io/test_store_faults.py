"""Faults of a store: each is a typed error within its time, says who refused and why, and never speaks of damage."""

from __future__ import annotations

import errno
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.io.stores.faults import fault_of
from tests.support.s3_stub import Request, S3Stub

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


def test_a_file_of_a_missing_bucket(stub: S3Stub) -> None:
    with pytest.raises(tf.StoreError, match="there is no such bucket"):
        tf.open_table("s3://nobody/t/metadata/v1.metadata.json", storage_options=stub.options, format="iceberg")


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
    with pytest.raises(tf.StoreConnectionError, match=r"cannot be reached at http://127\.0\.0\.1:9 \("):
        tf.open_table("s3://bucket/t", storage_options=options)
    options |= {"endpoint_url": "http://user:s3cr@127.0.0.1:9", "allow_http": True}
    with pytest.raises(tf.StoreConnectionError, match=r"cannot be reached at http://127\.0\.0\.1:9 \("):
        tf.open_table("s3://bucket/t", storage_options=options)


def test_a_scheme_that_nobody_knows() -> None:
    with pytest.raises(tf.TableFormatsError, match="no store is known for nonesuch:// paths"):
        tf.open_table("nonesuch://bucket/t")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("403:RequestTimeTooSkewed", tf.StorePermissionError, "clock"),
        ("400:ExpiredToken", tf.StorePermissionError, "expired"),
        ("403:InvalidAccessKeyId", tf.StorePermissionError, "access key"),
        ("403:SignatureDoesNotMatch", tf.StorePermissionError, "secret"),
        ("400:AuthorizationHeaderMalformed", tf.StoreError, "AWS_REGION"),
        ("301:PermanentRedirect", tf.StoreError, "AWS_REGION"),
    ],
)
def test_codes_say_what_to_do(stub: S3Stub, fault: str, kind: type[tf.StoreError], words: str) -> None:
    stub.fault = fault
    with pytest.raises(tf.StoreError) as caught:
        # The code is what is tested: a busy machine may not make a time-out of it.
        opened(stub, "delta", read_timeout="20s", timeout="30s", retry_timeout=60)
    error = caught.value
    status, _, code = fault.partition(":")
    assert type(error) is kind and words in str(error) and f"s3://{error.bucket}/delta" in str(error)
    if status != "301":  # a redirect that names no address comes without its answer
        assert (error.status, error.code, error.request_id) == (int(status), code, "REQ1234")


@pytest.mark.parametrize(
    ("fault", "words"), [("400:ExpiredToken", "have expired"), ("403:RequestTimeTooSkewed", "Set the clock")]
)
def test_credentials_that_expire_while_rows_are_read(stub: S3Stub, fault: str, words: str) -> None:
    """What was read before comes; then the error, at once; and with new credentials the same plan is read."""
    plan = opened(stub, "delta").scan().plan()
    expected = repr(plan.to_arrow().to_pylist())
    answered = 0

    def is_late(request: Request) -> bool:
        nonlocal answered
        answered += request.path.endswith(".parquet")
        return request.path.endswith(".parquet") and answered > 1

    stub.fault, stub.faulty = fault, is_late
    before = time.monotonic()
    with pytest.raises(tf.StorePermissionError, match=words) as caught:
        plan.to_arrow()
    assert time.monotonic() - before < 1.0, "it is not retried"
    error = caught.value
    assert error.bucket == "bucket" and error.request_id == "REQ1234" and (error.path or "").endswith(".parquet")
    assert not any(secret in str(error) for secret in SECRETS)
    stub.fault = ""
    assert repr(plan.to_arrow().to_pylist()) == expected


def test_a_private_bucket_without_credentials(stub: S3Stub) -> None:
    stub.fault = "403"
    options = {"aws_endpoint": stub.endpoint, "aws_region": "us-east-1", **LIMITS}
    with pytest.raises(tf.StorePermissionError, match=r"does not let everyone read.*give credentials"):
        tf.open_table("s3://bucket/t", storage_options={**options, "anon": True})
    with pytest.raises(tf.StorePermissionError, match="refused the request"):
        opened(stub, "delta")


def test_no_region_is_a_region(stub: S3Stub) -> None:
    """Stores beside Amazon's have none; Amazon's says which one is wrong."""
    options = {name: value for name, value in stub.options.items() if "region" not in name}
    assert len(tf.open_table("s3://bucket/delta", storage_options=options).scan().plan())


@pytest.mark.parametrize(
    "location", ["s3://", "s3:///t", "s3:/bucket/t", "gs:///t", "az:///t", "abfss://account.dfs.core.windows.net/t"]
)
def test_a_location_without_a_bucket(location: str) -> None:
    with pytest.raises(tf.TableNotFoundError, match=r"names no bucket or container.*abfss://container@account"):
        tf.open_table(location)


def test_a_location_without_a_host() -> None:
    with pytest.raises(tf.TableNotFoundError, match="names no host"):
        tf.open_table("https://")


@pytest.mark.parametrize("location", ["az://container/t", "abfss://container/t"])
def test_azure_without_an_account(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(tf.TableFormatsError, match=r"nothing names the Azure account.*give account_name"):
        tf.open_table(location)


@pytest.mark.parametrize("location", ["abfss://c@account/t", "abfss://c@account.dfs.core.windows.net/t/"])
def test_an_account_in_the_location(location: str) -> None:
    options = {"account_key": "a2V5", "max_retries": 0, "connect_timeout": 1, "retry_timeout": 1}
    # The proxy is nobody's: the name of the host that is asked for does not matter, the container does.
    with pytest.raises(tf.StoreConnectionError) as caught:
        tf.open_table(location, storage_options={**options, "proxy_url": "http://127.0.0.1:9"})
    assert (caught.value.bucket or "").startswith("c@account")
    assert caught.value.path is not None and caught.value.path.endswith("/t/_delta_log")


def test_the_bucket_itself_is_no_file(stub: S3Stub) -> None:
    stub.objects.clear()
    with pytest.raises(tf.TableNotFoundError, match="nothing is at the location"):
        tf.open_table("s3://bucket", storage_options=stub.options)


def test_an_endpoint_without_a_scheme() -> None:
    with pytest.raises(tf.TableFormatsError, match="'minio:9000' does not begin with http"):
        tf.open_table("s3://bucket/t", storage_options={"endpoint_url": "minio:9000", "key": "k", "secret": "s"})


def test_an_endpoint_without_tls() -> None:
    options = {**LIMITS, "endpoint_url": "http://minio.invalid", "key": "k", "secret": "s3cr", "region": "eu"}
    with pytest.raises(tf.StoreError, match=r"the endpoint has no TLS \(.*allow_http=true"):
        tf.open_table("s3://bucket/t", storage_options=options)


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_endpoint_that_is_a_web_server(status: int) -> None:
    with web_server(status) as url:
        options = {**LIMITS, "endpoint_url": url, "key": "k", "secret": "s3cr", "region": "eu"}
        with pytest.raises(tf.StoreError, match=r"does not answer as a store does.*Check the endpoint"):
            tf.open_table("s3://bucket/t", storage_options=options)


def test_a_web_server_that_lists_no_folders() -> None:
    with web_server(405) as url, pytest.raises(tf.StoreError, match=r"lists no folders.*metadata\.json"):
        tf.open_table(f"{url}/t", storage_options=LIMITS)


@contextmanager
def web_server(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        do_PROPFIND = do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("error", [FileNotFoundError("x"), FileNotFoundError(2, "words", "elsewhere")])
def test_what_is_missing_is_an_error_of_the_system(error: Exception) -> None:
    found = fault_of(error, "s3://b/f")
    assert type(found) is FileNotFoundError
    assert (found.errno, found.strerror, found.filename) == (errno.ENOENT, "There is no such file", "s3://b/f")
