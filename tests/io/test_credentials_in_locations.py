"""Credentials inside of locations, in the forms that people write them, and addresses that are no secrets."""

from __future__ import annotations

import pytest

import tableformats as tf
from tableformats.inspect.text import location_text
from tableformats.io.redaction import Redactor, without_credentials
from tableformats.io.stores.addresses import address_with_credentials, credentials_of

HIDDEN = [
    # location, without credentials, what must not be shown
    ("s3://key:secret@bucket/t", "s3://bucket/t", ["secret"]),
    ("s3://key:sec/ret@bucket/t", "s3://bucket/t", ["sec/ret", "key:sec"]),
    ("s3://key:se@cret@bucket/t", "s3://bucket/t", ["se@cret"]),
    ("s3://key:pass/word@more/text@bucket/t", "s3://bucket/t", ["pass/word@more/text", "more/text"]),
    ("s3://key:s%2Fecret@bucket/t", "s3://bucket/t", ["s%2Fecret", "s/ecret"]),
    ("sftp://user:p%40ss@host/x", "sftp://host/x", ["p%40ss", "p@ss"]),
    ("hdfs://user:secret@host:8020/x", "hdfs://host:8020/x", ["secret"]),
    ("https://token@host/x", "https://host/x", ["token"]),
    ("https://host/t?sig=secret", "https://host/t", ["secret"]),
    ("https://host/t?a=1&X-Amz-Signature=sec%2Fret", "https://host/t", ["sec%2Fret", "sec/ret"]),
    ("https://host/t#token=secret", "https://host/t", ["secret"]),
    ("https://host/t;sig=secret", "https://host/t", ["secret"]),
    ("az://container@account/t?sv=1&sig=secret", "az://container@account/t", ["secret"]),
    ("gs://bucket/t#X-Goog-Signature=secret", "gs://bucket/t", ["secret"]),
    ("custom+store://bucket/t?token=secret", "custom+store://bucket/t", ["secret"]),
]
PLAIN = [
    "abfss://container@account.dfs.core.windows.net/t",
    "hdfs://host:8020/a@b/c",
    "http://host:9000/a@b",
    "s3://bucket/a:b@c/d",
    "s3://bucket/what?/t",
    "s3://bucket/part#1/day=2",
    "s3://bucket/a;b/day=2",
    "file:///a?b",
    "/data/a:b@c?d=e#f=g",
    "relative:x@y",
]


@pytest.mark.parametrize(("location", "clean", "secrets"), HIDDEN)
def test_what_is_left_out(location: str, clean: str, secrets: list[str]) -> None:
    assert without_credentials(location) == clean
    redactor = Redactor({}, [location])
    for secret in secrets:
        assert secret not in redactor.redact(f"403 of {location}: {secret}!"), secret
        assert secret not in location_text(location)


@pytest.mark.parametrize("location", PLAIN)
def test_what_is_no_credential_stays(location: str) -> None:
    assert without_credentials(location) == location
    assert not Redactor({}, [location])


@pytest.mark.parametrize("name", ["endpoint", "endpoint_url", "AWS_ENDPOINT_URL", "region", "endpoint_override"])
def test_an_address_that_was_mistyped_stays_readable(name: str) -> None:
    said = "cannot resolve http://localhsot:9000"
    assert Redactor({name: "http://localhsot:9000"}, []).redact(said) == said
    assert Redactor({"client_kwargs": {name: "http://localhsot:9000"}}, []).redact(said) == said


def test_credentials_in_an_endpoint_are_hidden() -> None:
    redactor = Redactor({"endpoint": "http://user:geheim@host:9000?sig=secret"}, [])
    said = redactor.redact("http://user:geheim@host:9000?sig=secret")
    assert "geheim" not in said and "secret" not in said and "host:9000" in said


def test_other_options_are_hidden() -> None:
    assert "geheim" not in Redactor({"key": "geheim"}, []).redact("refused: geheim")


def test_an_error_about_a_location_with_credentials() -> None:
    with pytest.raises(tf.TableFormatsError) as caught:
        tf.open_table("nothere://key:sec/r@t@bucket/t")
    assert "sec/r" not in str(caught.value) and "r@t" not in str(caught.value)


@pytest.mark.parametrize(
    "password", ["alphaSECRET", "alpha/SECRET@y", "alpha?SECRET", "alpha#SECRET", "alpha%2FSECRET"]
)
@pytest.mark.parametrize("scheme", ["ftp", "hdfs", "http", "abfss"])
def test_no_error_of_a_store_shows_a_password(scheme: str, password: str) -> None:
    """Nor does any error that led to it. The store cannot be opened or reached."""
    options = {} if scheme in ("ftp", "hdfs") else {"max_retries": "0", "timeout": "1s"}
    with pytest.raises(tf.TableFormatsError) as caught:
        tf.open_table(f"{scheme}://user:{password}@127.0.0.1:1/t", storage_options=options)
    error: BaseException | None = caught.value
    while error is not None:
        said = f"{error} {error!r} {error.args}"
        assert "alpha" not in said and "SECRET" not in said
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("location", "bucket", "secret"),
    [
        ("s3://AK:secret@b/t/x", "b", "secret"),
        ("s3://AK:sec/r@t@b/t/x", "b", "sec/r@t"),
        ("s3://AK:sec%2Fret@b/t/x?region=eu", "b", "sec/ret"),
        ("http://user:pass/w@host:9/t/x", "http://user:pass%2Fw@host:9", None),
        ("http://user:p%40ss@host:9/t/x", "http://user:p%40ss@host:9", None),
        ("https://token@host/t/x", "https://token@host", None),
    ],
)
def test_the_store_of_a_location_with_credentials(location: str, bucket: str, secret: str | None) -> None:
    address = address_with_credentials(location)
    assert address is not None and address.bucket == bucket
    assert address.key(without_credentials(location)) == "t/x"
    assert credentials_of(location).get("secret_access_key") == secret
