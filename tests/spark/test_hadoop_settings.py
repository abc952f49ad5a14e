"""What storage options mean for Hadoop's file systems; no session is needed."""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.engines.spark.hadoop_paths import our_path
from tableformats.engines.spark.hadoop_settings import hint_for, s3a_settings, settings_to_add
from tableformats.io.storage import Storage

S3A = "org.apache.hadoop.fs.s3a"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "options",
    [
        {"AWS_ACCESS_KEY_ID": "KEYKEY", "AWS_SECRET_ACCESS_KEY": "hush-hush", "AWS_REGION": "eu-west-1"},
        {"s3.access-key-id": "KEYKEY", "s3.secret-access-key": "hush-hush", "s3.region": "eu-west-1"},
        {"key": "KEYKEY", "secret": "hush-hush", "client_kwargs": {"region_name": "eu-west-1"}},
    ],
)
def test_keys_of_one_bucket_in_every_spelling(options: dict[str, Any]) -> None:
    storage = Storage("s3://name/t", options)
    assert s3a_settings(storage, "s3://name") == {
        "fs.s3a.bucket.name.endpoint.region": "eu-west-1",
        "fs.s3a.bucket.name.aws.credentials.provider": f"{S3A}.SimpleAWSCredentialsProvider",
        "fs.s3a.bucket.name.access.key": "KEYKEY",
        "fs.s3a.bucket.name.secret.key": "hush-hush",
    }
    assert "hush-hush" not in hint_for(storage, "s3://name") and "KEYKEY" not in hint_for(storage, "s3://name")


def test_temporary_keys_endpoint_and_anonymous_access() -> None:
    keys = {"aws_access_key_id": "K", "aws_secret_access_key": "S", "aws_session_token": "T"}
    storage = Storage("s3://name/t", {**keys, "aws_endpoint": "http://127.0.0.1:1", "aws_region": "r"})
    found = {name.removeprefix("fs.s3a.bucket.name."): v for name, v in s3a_settings(storage, "s3://name").items()}
    assert found["session.token"] == "T" and found["endpoint"] == "http://127.0.0.1:1"
    assert found["aws.credentials.provider"] == f"{S3A}.TemporaryAWSCredentialsProvider"
    assert found["path.style.access"] == "true"
    anonymous = s3a_settings(Storage("s3://name/t", {"anon": True, "aws_region": "r"}), "s3://name")
    assert anonymous["fs.s3a.bucket.name.aws.credentials.provider"] == f"{S3A}.AnonymousAWSCredentialsProvider"


def test_credentials_of_a_location_open_its_own_bucket_alone() -> None:
    storage = Storage("s3://KEYKEY:hush-hush@name/t?region=eu")
    assert s3a_settings(storage, "s3://name")["fs.s3a.bucket.name.secret.key"] == "hush-hush"
    assert s3a_settings(storage, "s3://other") == {}


def test_without_options_nothing_is_set_and_the_hint_has_placeholders() -> None:
    storage = Storage("s3://name/t")
    assert s3a_settings(storage, "s3://name") == {}
    assert 'spark.conf.set("fs.s3a.bucket.name.access.key", "<the access key>")' in hint_for(storage, "s3://name")


ACCOUNT = "acc.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("location", "options", "expected"),
    [
        (
            f"abfss://c@{ACCOUNT}/t",
            {"account_key": "aGlkZGVu"},
            {f"fs.azure.account.key.{ACCOUNT}": "<the account key>"},
        ),
        (
            "az://c/t",
            {"account_name": "acc", "sas_token": "?sv=1&sig=hidden"},
            {f"fs.azure.account.auth.type.{ACCOUNT}": "SAS", f"fs.azure.sas.fixed.token.{ACCOUNT}": "<the SAS token>"},
        ),
        ("gs://b/t", {"token": "anon"}, {"fs.gs.auth.type": "UNAUTHENTICATED"}),
        (
            "gs://b/t",
            {"google_service_account": "/keys/a.json"},
            {
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "fs.gs.auth.service.account.json.keyfile": "/keys/a.json",
            },
        ),
    ],
)
def test_lines_to_add_for_azure_and_gcs(location: str, options: dict[str, Any], expected: dict[str, str]) -> None:
    storage = Storage(location, options)
    authority = "/".join(storage.root.split("/")[:3])
    assert settings_to_add(storage, authority) == expected
    assert all(
        f'spark.conf.set("{name}", "{value}")' in hint_for(storage, authority) for name, value in expected.items()
    )
    assert "hidden" not in hint_for(storage, authority)


def test_our_paths_of_hadoops() -> None:
    found = [our_path(path) for path in ("s3a://b/k", "abfss://c@a/k", "gs://b", "hdfs://h:1/x")]
    assert found == ["s3://b/k", "abfss://c@a/k", "gs://b", "hdfs://h:1/x"]
