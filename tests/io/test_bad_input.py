"""Locations and options that users get wrong: each is one error that says what is wrong and what to do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, StoreError, StorePermissionError, TableFormatsError
from tableformats.io.storage import Storage
from tests.support.s3_stub import S3Stub

PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Welcome</body></html>"
KEYS = {"aws_access_key_id": "KEYKEY", "aws_secret_access_key": "hush-hush", "aws_region": "us-east-1"}


@pytest.fixture
def web_pages() -> Iterator[Callable[[int], str]]:
    """Starts servers that answer everything with a page and a status."""
    servers: list[ThreadingHTTPServer] = []

    def start(status: int) -> str:
        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(PAGE)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(PAGE)

            do_HEAD = do_PUT = do_GET

            def log_message(self, *arguments: Any) -> None:
                """Nothing is printed."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [200, 404, 405])
@pytest.mark.parametrize("format", [None, "delta", "iceberg"])
def test_an_endpoint_that_answers_with_pages(web_pages: Callable[[int], str], status: int, format: str | None) -> None:
    with pytest.raises(StoreError, match="the endpoint does not answer as a store does") as caught:
        tf.open_table("s3://bucket/t", storage_options={**KEYS, "endpoint": web_pages(status)}, format=format)
    assert "Check the endpoint" in str(caught.value) and not isinstance(caught.value, CorruptMetadataError)


FAULTS = [
    ("403:InvalidAccessKeyId", {}, StorePermissionError, "does not know the access key", "Check the access key"),
    (
        "403:SignatureDoesNotMatch",
        {},
        StorePermissionError,
        "does not belong to the access key",
        "Check the access key",
    ),
    ("403:AccessDenied", {"anon": True}, StorePermissionError, "does not let everyone read", "give credentials"),
    ("404:NoSuchBucket", {}, StoreError, "there is no such bucket", "Check the bucket's name"),
    ("400:AuthorizationHeaderMalformed", {}, StoreError, "signed for another region", "AWS_REGION"),
    ("301:PermanentRedirect", {}, StoreError, "another (region|address)", "AWS_REGION"),
]


@pytest.mark.parametrize(("fault", "more", "kind", "what", "hint"), FAULTS, ids=[row[0] for row in FAULTS])
def test_what_the_store_refuses(fault: str, more: dict[str, Any], kind: type[StoreError], what: str, hint: str) -> None:
    with S3Stub() as stub:
        stub.fault = fault
        given = {"aws_region": "us-east-1", **more} if more else KEYS
        endpoint = next(value for value in stub.options.values() if str(value).startswith("http"))
        with pytest.raises(kind, match=what) as caught:
            tf.open_table("s3://bucket/t", storage_options={**given, "endpoint": endpoint})
    assert hint in str(caught.value) and "hush-hush" not in str(caught.value)


LOCATIONS = [
    ("nosuch://bucket/t", {}, "no store is known for nosuch", "scheme"),
    ("s3:///t", KEYS, "names no bucket", "s3://bucket/path"),
    ("abfss://container/t", {"account_key": "aGk="}, "nothing names the Azure account", "abfss://container@account"),
    (
        "abfss://acc.dfs.core.windows.net/t",
        {"account_key": "aGk="},
        "names no bucket or container",
        "container@account",
    ),
    ("s3://bucket/t", {**KEYS, "endpoint": "localhost:9000"}, "does not begin with http", ""),
    (
        "abfss://container/t",
        {},
        r"names the Azure account \(path 'abfss://container'",
        "Write",
    ),
    ("az://c/t", {"connection_string": "AccountName=a;hidden"}, "part 2 of the connection string has no '='", ""),
    ("az://c/t", {"connection_string": "hiddenhidden=="}, "part 1 of the connection string is unknown", ""),
    ("az://c/t", {"connection_string": "AccountName=a;AcountKey=hidden"}, "part 2 .* is unknown; near: AccountKey", ""),
    ("az://c/t", {"connection_string": "AccountKey=aGlkZGVu"}, "names neither AccountName nor BlobEndpoint", ""),
    ("az://c/t", {"connection_string": "AccountName=a;AccountKey=hidden!"}, "the AccountKey .* is no base64", ""),
    ("az://c/t", {"connection_string": " "}, "the connection string is empty", ""),
    ("s3://bucket/t", {"aws_acces_key_id": "x"}, "is no storage option of s3", "aws_access_key_id"),
]


@pytest.mark.parametrize(("location", "options", "what", "hint"), LOCATIONS)
def test_locations_and_options(location: str, options: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(TableFormatsError, match=what) as caught:
        tf.open_table(location, storage_options=options)
    assert hint in str(caught.value) and "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "root"),
    [
        ("s3://bucket/t/", "s3://bucket/t"),
        ("s3://bucket/a%20b", "s3://bucket/a%20b"),
        ("abfss://c@account.dfs.core.windows.net/t//", "abfss://c@account.dfs.core.windows.net/t"),
        ("abfs://c@account.dfs.core.windows.net/t", "abfss://c@account.dfs.core.windows.net/t"),
    ],
)
def test_slashes_and_percent_signs_are_what_they_are(location: str, root: str) -> None:
    assert Storage(location).root == root


def test_a_location_that_is_encoded_names_nothing() -> None:
    with S3Stub() as stub, pytest.raises(tf.TableNotFoundError, match=r"nothing is at the location.*as it is, %20 too"):
        tf.open_table("s3://bucket/a%20b", storage_options=stub.options)


@pytest.mark.parametrize("scheme", ["abfss", "wasbs"])
def test_options_of_another_azure_account_than_the_location_names(scheme: str) -> None:
    """They would open a container of the same name in the other account."""
    location = f"{scheme}://c@acct.blob.core.windows.net/t"
    given = {"AZURE_STORAGE_ACCOUNT_NAME": "other", "account_key": "a2V5"}
    with pytest.raises(TableFormatsError, match=r"names the Azure account 'acct'.*options another.*'account_name'"):
        tf.open_table(location, storage_options=given)
    assert Storage(location, {**given, "AZURE_STORAGE_ACCOUNT_NAME": "ACCT"}).store_of(location)


def test_a_store_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(tf.MissingExtraError) as error:
        tf.open_table("s3://bucket/t", storage_options=KEYS)
    assert str(error.value) == "s3:// needs obstore, which is not installed: pip install obstore"
