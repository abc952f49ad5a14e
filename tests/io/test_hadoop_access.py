"""What the session's file systems are given and asked, with Java played by Python, and the lines that a user adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.spark.hadoop_settings import hint_for, s3a_settings, settings_to_add
from tableformats.engines.spark.native import hadoop_access
from tableformats.engines.spark.native.hadoop_access import HadoopAccess, java_message
from tableformats.io.storage import Storage

S3A = "org.apache.hadoop.fs.s3a"
KEYS = {"aws_access_key_id": "KEYKEY", "aws_secret_access_key": "hush-hush", "aws_region": "r"}
PREFIX = "fs.s3a.bucket.b."


class JavaError(Exception):
    """As Py4J raises it."""

    def __init__(self, text: str) -> None:
        super().__init__("An error occurred while calling o1.x")
        self.java_exception = SimpleNamespace(toString=lambda: f"{text}\n\tat org.apache.Hadoop")


class Configuration(dict[str, str]):
    def set(self, name: str, value: str) -> None:
        self[name] = value


class Gateway:
    """A JVM: the class of each scheme's file system, what happens to a request, and the requests."""

    def __init__(self) -> None:
        self.classes = {"s3a": f"{S3A}.S3AFileSystem", "abfss": "Abfs", "gs": "Gcs", "hdfs": "Hdfs"}
        self.refusal: str | None = None
        self.asked: list[tuple[str, dict[str, str]]] = []

    def class_of(self, scheme: str, configuration: Any) -> Any:
        if scheme not in self.classes:
            raise JavaError(f'No FileSystem for scheme "{scheme}"')
        return SimpleNamespace(getName=lambda: self.classes[scheme])

    def path(self, text: str) -> Any:
        def status(configuration: dict[str, str]) -> None:
            self.asked.append((text, dict(configuration)))
            if self.refusal is not None:
                raise JavaError(self.refusal)

        return SimpleNamespace(
            getFileSystem=lambda configuration: SimpleNamespace(getFileStatus=lambda path: status(configuration))
        )


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Gateway]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    java: dict[str, Callable[[Gateway], Any]] = {
        "org.apache.hadoop.fs.FileSystem": lambda found: SimpleNamespace(getFileSystemClass=found.class_of),
        "org.apache.hadoop.conf.Configuration": lambda found: Configuration,
        "org.apache.hadoop.fs.Path": lambda found: found.path,
    }
    monkeypatch.setattr(hadoop_access, "java_class", lambda found, name: java[name](found))
    yield Gateway()


def opened(
    gateway: Gateway, paths: list[str], storage: Storage | None, **configuration: str
) -> tuple[list[str], dict[str, str]]:
    found = HadoopAccess(gateway, Configuration(configuration), storage).opened(pa.chunked_array([paths]))
    return found[0].to_pylist(), found[1]


def test_a_bucket_with_options_has_a_scheme_of_its_own(gateway: Gateway) -> None:
    storage = Storage("s3://b/t", KEYS)
    paths, options = opened(gateway, ["s3a://b/t/1", "hdfs://h/2", "/local/3"], storage, theirs="kept")
    scheme = paths[0].partition(":")[0]
    assert scheme.startswith("tf3a") and len(scheme) == 4 + 12
    assert paths == [f"{scheme}://b/t/1", "hdfs://h/2", "/local/3"]
    given = {PREFIX + "endpoint.region": "r", PREFIX + "access.key": "KEYKEY", PREFIX + "secret.key": "hush-hush"}
    given[PREFIX + "aws.credentials.provider"] = f"{S3A}.SimpleAWSCredentialsProvider"
    assert options == {**given, f"fs.{scheme}.impl": f"{S3A}.S3AFileSystem"}
    assert [path for path, _ in gateway.asked] == [f"{scheme}://b/t/1", "hdfs://h/2"]
    assert gateway.asked[0][1] == {"theirs": "kept", **options}
    again, _ = opened(gateway, ["s3a://b/t/9"], storage)
    assert again == [f"{scheme}://b/t/9"] and len(gateway.asked) == 2, "it is asked once"
    other, _ = opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", {**KEYS, "aws_region": "r2"}))
    assert other != paths[:1] and len(gateway.asked) == 3
    two, options = opened(gateway, ["s3a://b/t/1", "s3a://c/2"], storage)
    assert two[0] == paths[0] and two[1].startswith("tf3a") and two[1].partition(":")[0] != scheme
    assert options["fs.s3a.bucket.c.access.key"] == options[PREFIX + "access.key"] == "KEYKEY"


def test_without_a_storage_nothing_is_given_or_read(gateway: Gateway) -> None:
    assert opened(gateway, ["s3a://b/1", "abfss://c@a/2"], None) == (["s3a://b/1", "abfss://c@a/2"], {})
    assert not gateway.asked
    assert opened(gateway, ["/t/1"], Storage("/t")) == (["/t/1"], {}) and not gateway.asked


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("java.nio.file.AccessDeniedException: s3a://b: hush-hush", tf.StorePermissionError),
        ("org.apache.hadoop.fs.s3a.auth.NoAuthWithAWSException: none", tf.StorePermissionError),
        ("java.io.IOException: Credentials requested", tf.StorePermissionError),
        ("java.io.IOException: status 403", tf.StorePermissionError),
        ("java.io.IOException: status 401", tf.StorePermissionError),
        ("java.net.ConnectException: status 500", tf.StoreError),
    ],
)
def test_a_store_that_refuses(gateway: Gateway, text: str, kind: type[tf.StoreError]) -> None:
    gateway.refusal = text
    for _ in range(2):
        with pytest.raises(tf.StoreError, match=r"Spark's file system cannot read s3a://b: ") as caught:
            opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", KEYS))
        assert type(caught.value) is kind and caught.value.path == "s3a://b"
        assert "hush-hush" not in str(caught.value) and "tf3a" not in str(caught.value)
        assert 'fs.s3a.bucket.b.access.key", "<the access key>"' in str(caught.value.hint)
    assert len(gateway.asked) == 2, "what was refused is asked again"


def test_long_refusals_are_cut_and_missing_files_are_found_later(gateway: Gateway) -> None:
    gateway.refusal = "java.io.IOException: " + "x" * 400
    with pytest.raises(tf.StoreError) as caught:
        opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", KEYS))
    assert caught.value.message == f"Spark's file system cannot read s3a://b: {gateway.refusal[:300]}"
    gateway.refusal = "java.io.FileNotFoundException: 403"
    for count in (2, 3):
        opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", KEYS))
        assert len(gateway.asked) == count


def test_a_session_without_a_connector(gateway: Gateway) -> None:
    gateway.classes.clear()
    for storage, told in (
        (Storage("s3://b/t", KEYS), "It gets the storage_options from here: the session needs no settings"),
        (Storage("s3://b/t"), "Spark needs hadoop-aws in its Hadoop version"),
        (None, None),
    ):
        with pytest.raises(
            tf.UnsupportedFeatureError, match='files of s3a://: No FileSystem for scheme "s3a"'
        ) as caught:
            opened(gateway, ["s3a://b/t/1"], storage)
        hint = str(caught.value.hint)
        assert caught.value.field == "s3a://" and "spark.jars.packages=org.apache.hadoop:hadoop-aws" in hint
        assert hint.endswith("to_arrow()") if told is None else f"to_arrow(). {told}" in hint


ACCOUNT = "acc.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("location", "options", "path", "field"),
    [
        (f"abfss://c@{ACCOUNT}/t", {"account_key": "aGlkZGVu"}, f"abfss://c@{ACCOUNT}/t/1", "fs.azure.account.key."),
        ("gs://b/t", {"google_service_account": "/keys/a"}, "gs://b/t/1", "fs.gs.auth.type"),
    ],
)
def test_stores_that_options_cannot_open_in_spark(
    gateway: Gateway, location: str, options: dict[str, str], path: str, field: str
) -> None:
    storage = Storage(location, options)
    with pytest.raises(tf.UnsupportedFeatureError, match="the storage_options cannot be given to Spark's") as caught:
        opened(gateway, [path], storage)
    authority = "/".join(path.split("/")[:3])
    assert str(caught.value.field).startswith(field) and caught.value.path == authority and not gateway.asked
    names = {"abfss": ["fs.azure.account.auth.type", "fs.azure.account.key"], "gs": ["fs.gs.auth.type"]}
    scheme = path.partition(":")[0]
    known = [name for one in names[scheme] for name in (one, f"{one}.{ACCOUNT}") if scheme == "abfss" or name == one]
    for count, name in enumerate(known, 1):
        gateway = Gateway()
        assert opened(gateway, [path], storage, **{name: "x"}) == ([path], {}) and len(gateway.asked) == 1, count


def test_other_settings_of_the_session_do_not_open_an_account(gateway: Gateway) -> None:
    storage = Storage(f"abfss://c@{ACCOUNT}/t", {"account_key": "aGlkZGVu"})
    with pytest.raises(tf.UnsupportedFeatureError):
        opened(
            gateway,
            [f"abfss://c@{ACCOUNT}/t/1"],
            storage,
            **{"fs.azure.account.key.other": "x", "fs.gs.auth.type": "x"},
        )


def test_s3a_of_another_class_needs_settings_of_the_session(gateway: Gateway) -> None:
    gateway.classes["s3a"] = "org.example.Fast"
    with pytest.raises(tf.UnsupportedFeatureError, match="cannot be given"):
        opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", KEYS))
    found = opened(gateway, ["s3a://b/t/1"], Storage("s3://b/t", KEYS), **{PREFIX + "access.key": "x"})
    assert found == (["s3a://b/t/1"], {}) and gateway.asked[0][0] == "s3a://b/t/1"


def test_messages_of_java() -> None:
    assert java_message(JavaError("one")) == "one" and java_message(ValueError("two\nthree")) == "two"


# ---- lines to add ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "options", "expected"),
    [
        ("s3://b/t", {}, {}),
        ("s3://b/t", {"filesystem": object()}, {}),
        ("https://h/t", {"timeout": "1s"}, {}),
        ("az://c/t", {"use_emulator": "true"}, {}),
        ("s3://b/t", {"aws_default_region": "d"}, {PREFIX + "endpoint.region": "d"}),
        (
            "s3://b/t",
            {"aws_region": "r", "aws_endpoint": "http://h:1", "aws_request_payer": "true"},
            {
                PREFIX + "endpoint": "http://h:1",
                PREFIX + "path.style.access": "true",
                PREFIX + "endpoint.region": "r",
                PREFIX + "requester.pays.enabled": "true",
            },
        ),
        (
            "s3://b/t",
            {"aws_region": "r", "aws_endpoint": "http://h:1", "aws_virtual_hosted_style_request": "true"},
            {
                PREFIX + "endpoint": "http://h:1",
                PREFIX + "path.style.access": "false",
                PREFIX + "endpoint.region": "r",
            },
        ),
        (
            "s3://b/t",
            {**KEYS, "aws_session_token": "T"},
            {
                PREFIX + "endpoint.region": "r",
                PREFIX + "aws.credentials.provider": f"{S3A}.TemporaryAWSCredentialsProvider",
                PREFIX + "access.key": "<the access key>",
                PREFIX + "secret.key": "<the secret>",
                PREFIX + "session.token": "<the session token>",
            },
        ),
        (
            "s3://b/t",
            {"aws_sse_customer_key_base64": "hidden", "aws_server_side_encryption": "sse-c", "aws_region": "r"},
            {
                PREFIX + "endpoint.region": "r",
                PREFIX + "encryption.algorithm": "SSE-C",
                PREFIX + "encryption.key": "<the encryption key>",
            },
        ),
        (
            "abfss://c@acc.blob.core.windows.net/t",
            {"client_id": "i", "client_secret": "hidden", "tenant_id": "t"},
            {
                f"fs.azure.account.auth.type.{ACCOUNT}": "OAuth",
                f"fs.azure.account.oauth.provider.type.{ACCOUNT}": (
                    "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
                ),
                f"fs.azure.account.oauth2.client.endpoint.{ACCOUNT}": "https://login.microsoftonline.com/t/oauth2/token",
                f"fs.azure.account.oauth2.client.id.{ACCOUNT}": "i",
                f"fs.azure.account.oauth2.client.secret.{ACCOUNT}": "<the client secret>",
            },
        ),
        (
            "gs://b/t",
            {"google_service_account_key": "{}", "base_url": "http://h"},
            {
                "fs.gs.storage.root.url": "http://h",
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "fs.gs.auth.service.account.json.keyfile": "<a file with the service account's key, on every node>",
            },
        ),
        (
            "gs://b/t",
            {"token": "hidden"},
            {
                "fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER",
                "fs.gs.auth.access.token.provider": "<a class that gives the token>",
            },
        ),
    ],
)
def test_settings(gateway: Gateway, location: str, options: dict[str, Any], expected: dict[str, str]) -> None:
    storage = Storage(location, options)
    authority = "/".join(storage.root.split("/")[:3])
    assert settings_to_add(storage, authority) == expected
    if not location.startswith("s3:"):
        assert s3a_settings(storage, authority) == {}
    if expected:
        lines = "; ".join(f'spark.conf.set("{name}", "{value}")' for name, value in expected.items())
        assert hint_for(storage, authority).endswith(f" in its Hadoop version, and these settings: {lines}")


@pytest.mark.parametrize(
    ("authority", "hint"),
    [
        (
            "s3://b",
            "Spark needs hadoop-aws in its Hadoop version, and these settings: "
            'spark.conf.set("fs.s3a.bucket.b.access.key", "<the access key>"); '
            'spark.conf.set("fs.s3a.bucket.b.secret.key", "<the secret>")',
        ),
        (
            f"abfss://c@{ACCOUNT}",
            "Spark needs hadoop-azure in its Hadoop version, and these settings: "
            f'spark.conf.set("fs.azure.account.key.{ACCOUNT}", "<the account key>")',
        ),
        (
            "abfss://c",
            "Spark needs hadoop-azure in its Hadoop version, and these settings: "
            'spark.conf.set("fs.azure.account.key.<account>.dfs.core.windows.net", "<the account key>")',
        ),
        (
            "gs://b",
            'Spark needs gcs-connector in its Hadoop version, and these settings: spark.conf.set("fs.gs.auth.type", '
            '"SERVICE_ACCOUNT_JSON_KEYFILE"); spark.conf.set("fs.gs.auth.service.account.json.keyfile", '
            '"<a file with the service account\'s key>")',
        ),
        (
            "wasbs://c@a",
            "Spark needs hadoop-azure in its Hadoop version, and the settings of the file system for wasbs://",
        ),
        ("hdfs://h:1", "the settings of the file system for hdfs://"),
    ],
)
def test_hints_where_no_options_were_given(authority: str, hint: str) -> None:
    assert hint_for(Storage("/t"), authority) == hint
