"""Options of stores in the spellings that users have: all mean the same, and a misspelt one is refused by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

import tableformats as tf
from tableformats.errors import TableFormatsError, UnsupportedFeatureError
from tableformats.io.redaction import Redactor
from tableformats.io.stores.addresses import address_of, credentials_of
from tableformats.io.stores.object_store import complete_s3_options, open_object_store
from tableformats.io.stores.options import StoreOptions, _flat, _known_name, parse_options
from tableformats.io.stores.profiles import profile_settings
from tests.support.s3_stub import S3Stub

KEYS = {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "ST", "region": "eu-west-1"}
S3_SPELLINGS = {
    "object_store": {"aws_access_key_id": "AK", "aws_secret_access_key": "SK", "aws_session_token": "ST", "region": ""},
    "deltalake": {
        "AWS_ACCESS_KEY_ID": "AK",
        "AWS_SECRET_ACCESS_KEY": "SK",
        "AWS_SESSION_TOKEN": "ST",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
        "AWS_ALLOW_HTTP": "true",
    },
    "pyiceberg": {
        "s3.access-key-id": "AK",
        "s3.secret-access-key": "SK",
        "s3.session-token": "ST",
        "s3.region": "eu-west-1",
        "s3.endpoint": "http://127.0.0.1:9",
        "s3.path-style-access": "true",
        "gcs.oauth2.token": "other",
        "adls.account-name": "other",
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
    },
    "fsspec": {
        "key": "AK",
        "secret": "SK",
        "token": "ST",
        "endpoint_url": "http://127.0.0.1:9",
        "client_kwargs": {"region_name": "eu-west-1"},
        "use_listings_cache": False,
    },
    "fsspec, nested": {
        "client_kwargs": {
            "aws_access_key_id": "AK",
            "aws_secret_access_key": "SK",
            "aws_session_token": "ST",
            "region_name": "eu-west-1",
            "endpoint_url": "http://127.0.0.1:9",
        },
        "config_kwargs": {"s3": {"addressing_style": "path"}, "retries": {"max_attempts": 3}},
    },
}
S3_SPELLINGS["object_store"] |= {"region": "eu-west-1", "aws_endpoint": "http://127.0.0.1:9"}


@pytest.mark.parametrize("spelling", S3_SPELLINGS)
def test_every_spelling_means_the_same(spelling: str) -> None:
    options = parse_options("s3", S3_SPELLINGS[spelling], "s3://b")
    assert {name: options.config[name] for name in KEYS} == KEYS
    assert options.config["endpoint"] == "http://127.0.0.1:9" and options.client["allow_http"] == "true"
    assert "AK" not in repr(options) and "SK" not in repr(options)


def documented_names() -> Iterator[tuple[str, str]]:
    """The options in the tables of docs/stores.md, each with the service of its table."""
    services, service = {"S3": "s3", "GCS": "gcs", "Azure": "azure"}, ""
    for line in (Path(__file__).parents[2] / "docs" / "stores.md").read_text().splitlines():
        first, _, others = line.removeprefix("|").partition("|")
        service = services.get(first.strip(), service if line else "")
        for name in re.findall(r"`([\w.-]+)`", others) if service else ():
            yield service, name


def test_the_manual_names_options_that_there_are() -> None:
    names = list(documented_names())
    assert {service for service, _ in names} == {"s3", "gcs", "azure"} and len(names) > 60
    nested = ("client_kwargs", "config_kwargs")
    assert [found for found in names if found[1] not in nested and _known_name(*found) is None] == []


@pytest.mark.parametrize(
    ("service", "given", "expected"),
    [
        ("s3", {"anon": True}, {"skip_signature": "true"}),
        ("s3", {"anon": False}, {}),
        ("s3", {"s3.anonymous": "true"}, {"skip_signature": "true"}),
        ("s3", {"AWS_SKIP_SIGNATURE": "false"}, {}),
        ("s3", {"s3.force-virtual-addressing": True}, {"virtual_hosted_style_request": "true"}),
        ("s3", {"s3.path-style-access": "false"}, {"virtual_hosted_style_request": "true"}),
        ("azure", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "k"}, {"account_name": "a"}),
        ("azure", {"account_name": "a", "account_key": "k"}, {"account_name": "a", "account_key": "k"}),
        ("azure", {"adls.account-name": "a", "adls.sas-token.a.dfs.core.windows.net": "sv=1"}, {"sas_key": "sv=1"}),
        ("azure", {"adls.tenant-id": "t", "adls.client-id": "c", "adls.client-secret": "s"}, {"tenant_id": "t"}),
        (
            "azure",
            {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2s=;BlobEndpoint=http://h/a;"
            },
            {"account_name": "a", "account_key": "a2s=", "endpoint": "http://h/a"},
        ),
        ("azure", {"connection_string": "AccountName=a;EndpointSuffix=x.cn"}, {"endpoint": "https://a.blob.x.cn"}),
        ("azure", {"connection_string": "UseDevelopmentStorage=true"}, {"use_emulator": "true"}),
        ("azure", {"adls.account-host": "a.dfs.core.windows.net"}, {"endpoint": "https://a.blob.core.windows.net"}),
        ("gcs", {"GOOGLE_SERVICE_ACCOUNT": "/k.json"}, {"service_account": "/k.json"}),
        ("gcs", {"google_application_credentials": "/k.json"}, {"application_credentials": "/k.json"}),
        ("gcs", {"gcs.oauth2.token": "t"}, {"bearer_token": "t"}),
        ("gcs", {"token": "anon", "project": "p"}, {"skip_signature": "true"}),
        ("gcs", {"token": "/k.json"}, {"service_account": "/k.json"}),
        ("gcs", {"token": {"type": "service_account"}}, {"service_account_key": '{"type": "service_account"}'}),
        ("gcs", {"token": "ya29.abc"}, {"bearer_token": "ya29.abc"}),
        ("gcs", {"endpoint_url": "http://127.0.0.1:9"}, {"base_url": "http://127.0.0.1:9"}),
    ],
)
def test_spellings(service: str, given: dict[str, Any], expected: dict[str, str]) -> None:
    config = parse_options(service, given, "x://b").config
    assert {name: config[name] for name in expected} == expected
    if not expected:
        assert config.keys() <= {"disable_bulk_delete"}


HTTP = {"endpoint_url": "http://minio:9000", "key": "k", "secret": "s"}


@pytest.mark.parametrize(
    ("service", "given", "needed"),
    [
        ("s3", HTTP, False),
        ("s3", {**HTTP, "endpoint_url": "https://minio:9000"}, True),
        ("s3", {"endpoint_url": HTTP["endpoint_url"]}, True),  # the keys come from another host
        ("s3", {**HTTP, "proxy_url": "https://proxy"}, True),
        ("gcs", {"endpoint_url": "http://gcs", "token": "anon"}, False),
        ("gcs", {"endpoint_url": "http://gcs", "token": "/k.json"}, True),
        ("s3", {}, True),
    ],
)
def test_certificates_are_read_where_they_may_be_needed(
    service: str, given: dict[str, Any], needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert ("disable_system_certificates" not in parse_options(service, given, "x://b").client) == needed
    monkeypatch.setenv("HTTP_PROXY", "https://proxy")
    assert "disable_system_certificates" not in parse_options(service, given, "x://b").client


def test_times_and_retries() -> None:
    options = parse_options("s3", {"timeout": "2m", "s3.connect-timeout": "1.5", "read_timeout": 3}, "s3://b")
    assert options.client["timeout"] == timedelta(minutes=2)
    assert options.client["connect_timeout"] == timedelta(seconds=1.5)
    assert options.client["read_timeout"] == timedelta(seconds=3)
    options = parse_options("gcs", {"max_retries": "7", "backoff_config.init_backoff": "250ms"}, "gs://b")
    assert options.retry["max_retries"] == 7
    assert options.retry["backoff"]["init_backoff"] == timedelta(milliseconds=250)
    assert all(options.client[name] > timedelta(0) for name in ("connect_timeout", "read_timeout", "timeout"))


@pytest.mark.parametrize(
    ("service", "given", "words"),
    [
        ("s3", {"aws_acces_key_id": "x"}, "aws_access_key_id"),
        ("s3", {"secret_key": "x"}, "secret"),
        ("s3", {"s3.acces-key-id": "x"}, "s3.access-key-id"),
        ("s3", {"client_kwargs": {"regionname": "x"}}, "region_name"),
        ("azure", {"acount_name": "x"}, "account_name"),
        ("gcs", {"service_acount": "x"}, "service_account"),
        ("s3", {"qqqqqq": "x"}, "docs/stores.md"),
    ],
)
def test_an_unknown_option_is_refused_with_near_names(service: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(TableFormatsError, match="is no storage option") as caught:
        parse_options(service, given, "x://b")
    assert words in str(caught.value) and caught.value.field


@pytest.mark.parametrize(
    "given",
    [{"timeout": "soon"}, {"timeout": True}, {"max_retries": "many"}, {"anon": "maybe"}, {"max_concurrency": 0}],
)
def test_wrong_values(given: dict[str, Any]) -> None:
    with pytest.raises(TableFormatsError):
        parse_options("s3", given, "s3://b")


@pytest.mark.parametrize(("service", "name"), [("s3", "s3.signer"), ("azure", "credential")])
def test_what_is_not_supported_is_refused_by_name(service: str, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse_options(service, {name: "x"}, "x://b")
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("path", "service", "bucket", "account", "key"),
    [
        ("s3://b/t/x", "s3", "b", "", "t/x"),
        ("gs://b/t", "gcs", "b", "", "t"),
        ("az://c/t", "azure", "c", "", "t"),
        ("abfss://c@acct.dfs.core.windows.net/t/x", "azure", "c", "acct", "t/x"),
        ("wasbs://c@acct.blob.core.windows.net/t", "azure", "c", "acct", "t"),
        ("https://h:1/t", "http", "https://h:1", "", "t"),
    ],
)
def test_addresses(path: str, service: str, bucket: str, account: str, key: str) -> None:
    address = address_of(path)
    assert address is not None
    assert (address.service, address.bucket, address.account, address.key(path)) == (service, bucket, account, key)


def test_addresses_of_no_object_store() -> None:
    assert address_of("hdfs://h/t") is None and address_of("/t") is None and address_of("memory://t") is None


@pytest.mark.parametrize(
    "location", ["abfss://c@acct.dfs.core.windows.net/t", "wasbs://c@acct.blob.core.windows.net/t", "az://c/t"]
)
def test_azure_stores_have_their_container_and_account(location: str) -> None:
    from tableformats.io.storage import Storage

    storage = Storage(location, {"account_name": "acct", "account_key": "a2V5"})
    client = storage.store_of(storage.root)._client  # type: ignore[attr-defined]
    assert client.config["container_name"] == "c" and client.config["account_name"] == "acct"


def test_credentials_in_a_uri() -> None:
    found = credentials_of("s3://AK:s%2Fk@b/t?region=eu&endpoint_override=127.0.0.1:9&scheme=http")
    assert found == {
        "access_key_id": "AK",
        "secret_access_key": "s/k",
        "region": "eu",
        "endpoint": "http://127.0.0.1:9",
    }


# ---- where they come from -------------------------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home without credentials, and an environment without them."""
    for name in ("PROFILE", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ENDPOINT_URL", "REGION", "DEFAULT_REGION"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    yield tmp_path / ".aws"


def config_of(given: dict[str, Any]) -> dict[str, Any]:
    address = address_of("s3://bucket/t")
    assert address is not None
    client: Any = open_object_store(address, given, Redactor({}, ()))._client
    return dict(client.config)


def test_profiles(bare: Path) -> None:
    (bare / "credentials").write_text(
        "[default]\naws_access_key_id = DK\naws_secret_access_key = DS\n"
        "[other]\naws_access_key_id = OK\naws_secret_access_key = OS\naws_session_token = OT\n"
    )
    (bare / "config").write_text("[default]\nregion = eu-1\n[profile other]\nregion = eu-2\n")
    assert config_of({}).items() >= {"access_key_id": "DK", "region": "eu-1"}.items()
    assert config_of({"profile": "other"}).items() >= {"access_key_id": "OK", "region": "eu-2"}.items()
    assert config_of({"s3.profile-name": "other", "region": "eu-3"}).items() >= {"region": "eu-3"}.items()
    given = config_of({"key": "K", "secret": "S"})
    assert given["access_key_id"] == "K" and "session_token" not in given


def test_the_environment_goes_before_the_default_profile(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are of one place, all of them, and a profile that is named goes before the environment."""
    names = {"DK": "[default]", "OK": "[other]"}
    text = "{}\naws_access_key_id = {}\naws_secret_access_key = S\naws_session_token = T\nregion = eu-1\n"
    (bare / "credentials").write_text(
        "".join(text.format(section, key) + "endpoint_url = E\n" for key, section in names.items())
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EK")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ES")

    def taken(profile: str | None = None, **config: Any) -> dict[str, Any]:
        assert complete_s3_options(StoreOptions(config, profile=profile), "s3://b") is None
        return config

    others = {"region": "eu-1", "endpoint": "E"}
    assert taken() == others
    assert taken(region="eu-2") == {"region": "eu-2"}, "nothing is looked for"
    assert taken(skip_signature=True) == {"skip_signature": True, **others}
    keys = {"secret_access_key": "S", "session_token": "T"}
    assert taken(profile="other") == {"access_key_id": "OK", **keys, **others}
    assert taken(profile="other", access_key_id="K", region="eu-9") == {
        "access_key_id": "K",
        **others,
        "region": "eu-9",
    }
    monkeypatch.setenv("AWS_REGION", "eu-3")
    assert taken() == {"endpoint": "E"} and taken(profile="other") == {"access_key_id": "OK", **keys, **others}
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert taken() == {"access_key_id": "DK", **keys, "endpoint": "E"}
    assert taken(region="eu-2") == {"access_key_id": "DK", **keys, "endpoint": "E", "region": "eu-2"}


def test_what_gives_keys_is_asked_where_none_are_known(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(profile: str | None = None, **config: Any) -> Any:
        return complete_s3_options(StoreOptions(config, profile=profile), "s3://b")

    monkeypatch.setattr("tableformats.io.stores.profiles.profile_settings", lambda *_: ({}, "a role"))
    assert asked() == asked("work") == asked("work", region="eu") == asked(region="eu") == "a role"
    assert asked("work", access_key_id="K") is asked(skip_signature=True) is None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EK")
    assert asked() is None and asked("work") == "a role"


def test_a_profile_that_is_missing(bare: Path) -> None:
    with pytest.raises(TableFormatsError, match="no AWS profile 'nobody'"):
        config_of({"profile": "nobody"})


def test_the_environment_is_enough(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with S3Stub() as stub:
        golden = Path(__file__).resolve().parents[1] / "golden" / "tables" / "delta-evolved" / "table"
        stub.upload(golden, "t")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EK")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ES")
        monkeypatch.setenv("AWS_REGION", "eu")
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.endpoint)
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        assert tf.open_table("s3://bucket/t").scan().plan().files.num_rows


def test_anonymous_reads_sign_nothing(bare: Path) -> None:
    with S3Stub() as stub:
        stub.put("t/x", b"1")
        options = {"anon": True, "endpoint_url": stub.endpoint, "region": "eu"}
        from tableformats.io.storage import Storage

        assert Storage("s3://bucket/t", options).read_bytes("s3://bucket/t/x") == b"1"
        assert len(stub.requests) == 1 and not stub.requests[0].is_signed


def test_a_machine_without_credentials_is_told_so(bare: Path) -> None:
    """The service that gives credentials to machines of a cloud is asked last; here nobody answers."""
    with pytest.raises(tf.StoreError) as caught:
        tf.open_table(
            "s3://bucket/t",
            storage_options={"metadata_endpoint": "http://127.0.0.1:9", "region": "eu", "max_retries": 0},
        )
    assert caught.value.path is not None and caught.value.path.startswith("s3://bucket/t/")


def test_a_profile_that_needs_boto3(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "config").write_text("[profile work]\nregion = eu-west-1\nsso_session = work\n")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(TableFormatsError, match=r"needs boto3.*tableformats\[s3\]"):
        profile_settings("work", "s3://bucket")


@pytest.mark.parametrize(
    ("given", "flat"),
    [
        ({}, []),
        ({"a": 1, "b": None, "use_ssl": True}, [("a", 1)]),
        ({"use_ssl": False}, [("allow_http", True)]),
        ({"config_kwargs": {"s3": {"addressing_style": "virtual"}}}, [("virtual_hosted_style_request", True)]),
        ({"config_kwargs": {"s3": {"addressing_style": "path"}}}, []),
        ({"config_kwargs": {"s3": "x", "other": {"addressing_style": "virtual"}}}, [("s3", "x"), ("other", ANY)]),
        ({"client_kwargs": {"verify": False}}, [("allow_invalid_certificates", True)]),
        ({"client_kwargs": {"verify": "/ca"}, "a": 1}, [("root_certificate", "/ca"), ("a", 1)]),
        ({"config_kwargs": {"retries": 3, "max_pool_connections": 5, "signature_version": "x"}}, []),
        ({"client_kwargs": {}, "config_kwargs": None}, []),
    ],
)
def test_what_fsspec_nests(given: dict[str, Any], flat: list[tuple[str, Any]]) -> None:
    assert list(_flat(given, "s3", "s3://b/t")) == flat


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"client_kwargs": 5}, "the storage option client_kwargs is a mapping"),
        ({5: 1}, "5 is no name of a storage option"),
    ],
)
def test_options_that_are_none(given: Any, said: str) -> None:
    with pytest.raises(TableFormatsError, match=said) as caught:
        list(_flat(given, "s3", "s3://b/t"))
    assert caught.value.path == "s3://b/t"
