"""What a client of a store raised, as one of our errors: by HTTP status, by the store's code, by the client's words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tableformats as tf
from tableformats.io.stores.faults import fault_of

REFUSED = (tf.StorePermissionError, "the store refused the request")
SLOWER = (tf.StoreThrottledError, "the store asked for fewer requests")
LATE = (tf.StoreTimeoutError, "the store did not answer in time")
MOVED = (tf.StoreError, "the store is at another address")
NO_STORE = (tf.StoreError, "the endpoint does not answer as a store does")
FAILED = (tf.StoreError, "the store failed")
UNREACHED = (tf.StoreConnectionError, "the store cannot be reached")
BROKEN = (tf.StoreConnectionError, "the connection to the store broke")
STATUSES = {401: REFUSED, 403: REFUSED, 429: SLOWER, 503: SLOWER, 408: LATE, 504: LATE}
STATUSES |= dict.fromkeys((301, 307, 308), MOVED) | dict.fromkeys((404, 405, 501), NO_STORE)
Kind = tuple[type[Exception], str]


class ClientError(Exception):
    """As clients raise it: botocore with a dict, requests with a response, others with an attribute."""

    def __init__(self, text: str = "no", **attributes: Any) -> None:
        super().__init__(text)
        self.__dict__.update(attributes)


def check(error: Exception, kind: Kind, **attributes: Any) -> tf.StoreError:
    found = fault_of(error, "s3://bucket/key")
    assert isinstance(found, tf.StoreError)
    assert type(found) is kind[0] and kind[1] in str(found), found
    assert {name: getattr(found, name) for name in attributes} == attributes
    return found


@pytest.mark.parametrize("family", [300, 400, 500])
def test_every_status(family: int) -> None:
    for status in range(family, family + 32):
        kind = STATUSES.get(status, FAILED)
        check(ClientError(f"status code: {status} and words"), kind, status=status)
        check(ClientError(response={"ResponseMetadata": {"HTTPStatusCode": status}}), kind, status=status, code=None)
        check(ClientError(response=SimpleNamespace(status_code=status)), kind, status=status)
        for name in ("status", "status_code"):
            check(ClientError(**{name: status}), kind, status=status)


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("<Code>SlowDown</Code>", 500, SLOWER),
        ("<Code>ServerBusy</Code>", None, SLOWER),
        ("AWS Error SLOW_DOWN", None, SLOWER),
        ("<Code>NoSuchBucket</Code>", 404, (tf.StoreError, "there is no such bucket")),
        ("<Code>NoSuchUpload</Code>", 404, FAILED),
        ("<Code>Whatever</Code>", 405, FAILED),
        ("<Code>AuthorizationHeaderMalformed</Code>", 400, (tf.StoreError, "signed for another region")),
        ("redirect without LOCATION", 301, (tf.StoreError, "the bucket is in another region")),
        ("GET http://169.254.169.254/latest", None, (tf.StorePermissionError, "the store needs credentials")),
        ("<!DOCTYPE html><html>", 200, NO_STORE),
        ("Invalid list response", None, NO_STORE),
        ("kind: Timeout", None, LATE),
        ("Os { TimedOut }", None, LATE),
        (
            "kind: Connect, url: https://me@host:99/b?x=secret",
            None,
            (UNREACHED[0], f"{UNREACHED[1]} at https://host:99"),
        ),
        ("kind: Connect", None, UNREACHED),
        ("BadScheme", None, (tf.StoreError, "the endpoint has no TLS")),
        ("kind: Body", None, BROKEN),
        ("kind: Request", None, BROKEN),
        ("the Connection was closed", None, BROKEN),
        ("who knows", None, (tf.StoreError, "the store failed: who knows")),
    ],
)
def test_what_clients_say(text: str, status: int | None, kind: Kind) -> None:
    found = check(ClientError(text, status=status), kind, bucket="bucket", status=status)
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(PermissionError("no"), REFUSED), (TimeoutError("late"), LATE), (ConnectionResetError("gone"), BROKEN)],
)
def test_errors_of_python(error: Exception, kind: Kind) -> None:
    check(error, kind, status=None, code=None)


def test_a_missing_file_and_a_missing_bucket() -> None:
    assert type(fault_of(FileNotFoundError("no"), "s3://bucket/key")) is FileNotFoundError
    check(FileNotFoundError("<Code>NoSuchBucket</Code>"), (tf.StoreError, "there is no such bucket"))
    check(FileNotFoundError("<Code>ContainerNotFound</Code>"), (tf.StoreError, "there is no such container"))


def test_who_asks_for_the_request_gets_its_id() -> None:
    for text, found in (("<RequestId>A-1</RequestId>", "A-1"), ("RequestId:12345678-9", "12345678-9"), ("", None)):
        check(ClientError(text, status=500), FAILED, request_id=found)
    check(ClientError(response={"ResponseMetadata": {"RequestId": "R2"}}, status=403), REFUSED, request_id="R2")
    error = ClientError(response={"Error": {"Code": "ExpiredToken"}, "ResponseMetadata": {"HTTPStatusCode": 403}})
    check(error, (tf.StorePermissionError, "the credentials have expired"), code="ExpiredToken", status=403)


def test_anonymous_requests_are_told_so() -> None:
    found = fault_of(ClientError(status=403), "s3://bucket/key", is_anonymous=True)
    assert "does not let everyone read this" in str(found) and "signs no requests" in str(found)
    found = fault_of(ClientError(status=405), "https://host/folder")
    assert "the web server lists no folders" in str(found)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ClientError("<RequestId>A-1</RequestId>", status=500), "the store failed: 500 (request A-1)"),
        (ClientError("no", status=500), "the store failed: 500"),
        (ClientError("<Code>Odd</Code>", status=500), "the store failed: 500 Odd"),
        (ClientError("<Code>SlowDown</Code>"), "the store asked for fewer requests: SlowDown"),
        (ClientError("RequestId:12345678"), "the store failed (request 12345678): RequestId:12345678"),
        (TimeoutError("RequestId:12345678"), "the store did not answer in time (request 12345678)"),
        (TimeoutError("late"), "the store did not answer in time"),
        (ClientError("first\nsecond"), "the store failed: first"),
        (ClientError("what Debug source: why"), "the store failed: what "),
        (ClientError("x" * 201), "the store failed: " + "x" * 200),
        (ClientError(""), "the store failed: ClientError"),
        (PermissionError("no"), "the store refused the request"),
    ],
)
def test_messages(error: Exception, message: str) -> None:
    found = fault_of(error, "s3://bucket/key")
    assert isinstance(found, tf.StoreError) and found.args == (message,) and found.path == "s3://bucket/key"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RequestId:1234567", None),
        ("RequestId:" + "a" * 65, "a" * 64),
        ("<RequestId></RequestId>", None),
        (f"<RequestId>{'a' * 120}</RequestId>", "a" * 120),
        (f"<RequestId>{'a' * 121}</RequestId>", None),
        ("<RequestId>a b</RequestId>", None),
    ],
)
def test_what_is_a_request_id(text: str, found: str | None) -> None:
    check(ClientError(text, status=500), FAILED, request_id=found)


def test_only_what_was_refused_asks_for_credentials_of_anonymous_requests() -> None:
    expired = fault_of(ClientError("<Code>ExpiredToken</Code>", status=403), "s3://bucket/key", is_anonymous=True)
    assert expired.args == ("the credentials have expired: 403 ExpiredToken",)
    assert fault_of(ClientError(status=500), "s3://b/k", is_anonymous=True).args == ("the store failed: 500",)
    assert fault_of(ClientError(status=403), "s3://b/k").args == ("the store refused the request: 403",)


def test_web_servers_and_stores_differ() -> None:
    assert fault_of(ClientError(status=405), "http://h/f").args == ("the web server lists no folders: 405",)
    assert fault_of(ClientError(status=500), "http://h/f").args == ("the store failed: 500",)
    assert fault_of(ClientError(status=405), "s3://b/f").args == ("the endpoint does not answer as a store does: 405",)


def test_an_error_of_ours_stays_as_it_is() -> None:
    error = tf.CorruptMetadataError("damaged", path="s3://b/f")
    assert fault_of(error, "s3://b/g") is error
