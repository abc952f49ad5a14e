"""What a URI says of its store, and which store is opened for it."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from tableformats.errors import TableFormatsError, TableNotFoundError, UnsupportedFeatureError
from tableformats.io.redaction import (
    HiddenOptions,
    RedactingProxy,
    Redactor,
    _split,
    masked,
    user_of,
    without_credentials,
)
from tableformats.io.storage import Storage
from tableformats.io.stores.addresses import address_of, address_with_credentials, credentials_of
from tableformats.io.stores.base import Concurrency, TooLongError
from tableformats.io.stores.file_system import FileSystemStore, _inner, open_file_system, store_of_object
from tableformats.io.stores.object_store import ObstoreStore
from tableformats.io.stores.opening import open_store
from tableformats.io.stores.options import parse_options
from tableformats.io.stores.profiles import profile_settings

NOTHING = Redactor({}, ())


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("s3://b/t/x", ("s3", "s3://b", "b", "", "")),
        ("s3a://b", ("s3", "s3://b", "b", "", "")),
        ("s3://a@b/t", ("s3", "s3://a@b", "a@b", "", "")),
        ("gcs://b/t", ("gcs", "gs://b", "b", "", "")),
        ("adl://c/t", ("azure", "adl://c", "c", "", "")),
        (
            "abfs://c@a.dfs.core.windows.net/t",
            ("azure", "abfss://c@a.dfs.core.windows.net", "c", "a", "a.dfs.core.windows.net"),
        ),
        ("azure://c@a/t", ("azure", "azure://c@a", "c", "a", "a")),
        ("http://h:9/t/u", ("http", "http://h:9", "http://h:9", "", "")),
        ("hdfs://h/t", None),
        ("s3:/b/t", None),
        ("/b/t", None),
        ("b/t", None),
    ],
)
def test_addresses(uri: str, found: tuple[str, ...] | None) -> None:
    address = address_of(uri)
    assert (
        None if address is None else (address.service, address.root, address.bucket, address.account, address.host)
    ) == found


@pytest.mark.parametrize(
    ("uri", "complete"),
    [
        ("s3://b/t", True),
        ("s3:///t", False),
        ("s3://a@b/t", True),
        ("az://c/t", True),
        ("az://c@/t", False),
        ("abfss://c@a.dfs.core.windows.net/t", True),
        ("abfss://@a.dfs.core.windows.net/t", False),
        ("abfss://a.dfs.core.windows.net/t", False),
        ("s3://x.core.windows.net/t", True),
        ("https://h/t", True),
        ("https:///t", False),
    ],
)
def test_uris_that_name_a_bucket(uri: str, complete: bool) -> None:
    address = address_of(uri)
    assert address is not None and address.is_complete is complete
    if complete and not uri.startswith("az://c@"):
        return
    with pytest.raises(TableNotFoundError, match="the location names no") as caught:
        open_store(uri, {}, NOTHING)
    assert ("names no host" in str(caught.value)) is uri.startswith("https")


@pytest.mark.parametrize(("path", "key"), [("s3://b", ""), ("s3://b/", ""), ("s3://b/t/x", "t/x"), ("s3://b/t/", "t")])
def test_keys(path: str, key: str) -> None:
    address = address_of("s3://b/t")
    assert address is not None and address.key(path) == key


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("s3://b/t", {}),
        ("s3://k:s%2Fe@b/t", {"access_key_id": "k", "secret_access_key": "s/e"}),
        ("s3://user@b/t", {}),
        ("s3://b/t?region=eu&endpoint_override=h:9&x=1", {"region": "eu", "endpoint": "https://h:9"}),
        ("s3://b/t?endpoint_override=h:9&scheme=http", {"endpoint": "http://h:9"}),
        ("s3://b/t?endpoint_override=http://h:9&scheme=https", {"endpoint": "http://h:9"}),
        ("gs://k:s@b/t", {}),
        ("az://c/t?sv=1&sig=x", {"sas_token": "sv=1&sig=x"}),
        ("az://c/t?sv=1", {}),
        ("https://h/t?sig=x", {}),
    ],
)
def test_options_that_a_uri_carries(uri: str, options: dict[str, str]) -> None:
    assert credentials_of(uri) == options


@pytest.mark.parametrize(
    ("uri", "bucket"),
    [
        ("https://me:a%20b@h/t", "https://me:a%20b@h"),
        ("https://token@h/t", "https://token@h"),
        ("https://h/t?x=1", "https://h"),
        ("s3://k:s@b/t", "b"),
    ],
)
def test_a_web_server_keeps_its_user(uri: str, bucket: str) -> None:
    address = address_with_credentials(uri)
    assert address is not None and address.bucket == bucket and "@" not in address.root


def test_which_store_is_opened(tmp_path: Path) -> None:
    local = fs.LocalFileSystem()
    for uri, options, kind in (
        ("s3://b/t", {"region": "eu", "skip_signature": "true"}, ObstoreStore),
        ("s3://b/t", {"filesystem": local}, FileSystemStore),
        ("s3:///t", {"filesystem": local}, FileSystemStore),
        ("memory://t", {"max_concurrency": 3}, FileSystemStore),
    ):
        store = open_store(uri, options, NOTHING)
        assert type(store) is kind
        if "max_concurrency" in options:
            assert (store.concurrency.large, store.concurrency.small) == (3, 3)
    with pytest.raises(TableFormatsError, match="file system of fsspec or pyarrow, not int") as caught:
        open_store("s3://b/t", {"filesystem": 5}, NOTHING)
    assert caught.value.field == "filesystem" and caught.value.path == "s3://b"
    with pytest.raises(TableFormatsError, match="no store is known for nothere:// paths"):
        open_file_system("nothere://x", {}, NOTHING)


def test_file_systems_of_pyarrow_and_of_fsspec() -> None:
    """The first where there are no options; those of ours are not handed on."""
    assert open_file_system("mock:///a", {}, NOTHING).filesystem.type_name == "mock"
    store: Any = open_store("memory://t", {"max_concurrency": 3, "some": 1}, NOTHING)
    assert store._fsspec.storage_options == {"some": 1}
    for redactor in (NOTHING, Redactor({"k": "geheim"}, ())):
        made: Any = open_file_system("memory://t", {}, redactor)
        assert isinstance(made.filesystem.handler.fs, RedactingProxy) is bool(redactor)
    assert [_inner(path) for path in ("/a/b", "xy://a/b", "xy://a/b://c")] == ["/a/b", "a/b", "a/b://c"]


@pytest.mark.parametrize("anonymous", ["true", "false"])
def test_an_object_store(anonymous: str) -> None:
    keys = {"access_key_id": "k", "secret_access_key": "s"} if anonymous == "false" else {}
    store: Any = open_store("s3://b/t", {"region": "eu", "skip_signature": anonymous, **keys}, NOTHING)
    assert store._is_anonymous is (anonymous == "true") and repr(store) == "ObstoreStore('s3://b')"
    moment = dt.datetime(1970, 1, 1, 0, 0, 5, 1_500, dt.timezone.utc)
    found = store._info({"path": "t/x/f", "size": 3, "last_modified": moment})
    assert (found.name, found.path, found.size, found.mtime_ms) == ("f", "s3://b/t/x/f", 3, 5002)


@pytest.mark.parametrize(
    ("files", "most"),
    [(-1, 256), (1024, 256), (513, 256), (511, 255), (100, 50), (65, 32), (64, 32), (20, 32), (None, 256)],
)
def test_as_many_requests_for_few_bytes_as_files_may_be_open(
    files: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    if files is None:  # a system without such a limit
        monkeypatch.setitem(sys.modules, "resource", None)
    else:
        limit = resource.RLIM_INFINITY if files < 0 else files
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, 1 << 20))
    found = Concurrency()
    assert (found.large, found.small, found.threads) == (32, most, max(32, most))


def test_what_a_connection_string_names() -> None:
    found = parse_options("azure", {"connection_string": "BlobEndpoint=https://b;SharedAccessSignature=s"}, "az://c")
    assert found.config == {"endpoint": "https://b", "sas_key": "s"}
    found = parse_options("azure", {"connection_string": "AccountName=a;AccountKey=Yj1j"}, "az://c")
    assert found.config == {"account_name": "a", "account_key": "Yj1j"}
    with pytest.raises(TableFormatsError, match="names neither AccountName nor BlobEndpoint"):
        parse_options("azure", {"connection_string": "AccountKey=Yj1j"}, "az://c")


def test_ranges_of_a_file_system(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    (tmp_path / "d").mkdir()
    store = store_of_object(fs.LocalFileSystem(), str(tmp_path), NOTHING)
    path = f"{tmp_path}/f"
    for offset, length, data in (
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (3, 2, b"34"),
        (10, None, b""),
        (0, 10, b"0123456789"),
    ):
        assert bytes(store.get(path, offset, length)) == data
    for offset, length in ((-1, 2), (0, 11), (11, None), (3, -1), (9, 2)):
        with pytest.raises(OSError, match="asked of"):
            store.get(path, offset, length)
    assert bytes(store.get(path, limit=10)) == b"0123456789" and bytes(store.get(path, 1, limit=9)) == b"123456789"
    for offset, length in ((0, None), (0, 10)):
        with pytest.raises(TooLongError):
            store.get(path, offset, length, limit=9)
    assert [bytes(part) for part in store.get_ranges(path, [(0, 1), (8, 2)])] == [b"0", b"89"]
    for length, end in ((4, b"6789"), (10, b"0123456789"), (99, b"0123456789")):
        tail = store.tail(path, length)
        assert (bytes(tail.data), tail.size) == (end, 10)
    assert store.head(path).size == 10 and store.has_files_below(str(tmp_path)) and not store.has_files_below(path)
    for missing in (f"{tmp_path}/none", f"{tmp_path}/d"):
        with pytest.raises(FileNotFoundError):
            store.head(missing)
    store.put(f"{tmp_path}/g", b"x")
    store.delete(f"{tmp_path}/g")
    store.delete(f"{tmp_path}/g")
    with pytest.raises(UnsupportedFeatureError) as caught:
        store.put_if_absent(path, b"x")
    assert caught.value.field == "put_if_absent"


def test_folders_of_a_file_system(tmp_path: Path) -> None:
    for name in ("b", "a", "d/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"123")
    store = store_of_object(fs.LocalFileSystem(), str(tmp_path), NOTHING)
    (page,) = store.pages(str(tmp_path))
    assert [(one.name, one.path, one.size) for one in page] == [(n, f"{tmp_path}/{n}", 3) for n in ("a", "b")]
    assert all(abs(one.mtime_ms - (tmp_path / one.name).stat().st_mtime * 1000) < 2 for one in page)
    ((only,),) = store.pages(str(tmp_path), "a")
    assert only.name == "b"
    (below,) = store.below(f"{tmp_path}")
    assert sorted(one.path for one in below) == [f"{tmp_path}/{n}" for n in ("a", "b", "d/c")]
    assert [*store.pages(f"{tmp_path}/none")] == [[]]


PROFILES = """
[default]
region = one
[profile two]
region = two
endpoint_url = http://h
[profile sso]
sso_session = x
region = three
"""
KEYS = """
[two]
aws_access_key_id = k
aws_secret_access_key = s
aws_session_token = t
other = 1
[alone]
aws_access_key_id = a
"""
TWO = {"region": "two", "endpoint": "http://h", "access_key_id": "k", "secret_access_key": "s", "session_token": "t"}


@pytest.mark.parametrize(
    ("profile", "variable", "found"),
    [
        (None, None, {"region": "one"}),
        (
            "two",
            None,
            {
                "region": "two",
                "endpoint": "http://h",
                "access_key_id": "k",
                "secret_access_key": "s",
                "session_token": "t",
            },
        ),
        (
            None,
            "two",
            {
                "region": "two",
                "endpoint": "http://h",
                "access_key_id": "k",
                "secret_access_key": "s",
                "session_token": "t",
            },
        ),
        ("alone", "two", {"access_key_id": "a"}),
        ("default", None, {"region": "one"}),
    ],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_settings_of_profiles(
    profile: str | None, variable: str | None, found: dict[str, str], by_name: bool, tmp_path: Path
) -> None:
    home = tmp_path / ".aws"
    home.mkdir()
    config, keys = (tmp_path / "c", tmp_path / "k") if by_name else (home / "config", home / "credentials")
    config.write_text(PROFILES)
    keys.write_text(KEYS)
    environ = {"HOME": str(tmp_path), **({"AWS_PROFILE": variable} if variable else {})}
    environ |= {"AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(keys)} if by_name else {}
    assert profile_settings(profile, "p", environ) == (found, None)
    for given in ({**environ, "AWS_PROFILE": "none"}, environ):
        if given is environ and profile is None:
            continue
        with pytest.raises(TableFormatsError, match="there is no AWS profile 'none'"):
            profile_settings("none" if given is environ else None, "p", given)
    assert profile_settings(None, "p", {"HOME": str(tmp_path / "empty")}) == ({}, None)


def test_a_profile_that_says_something_twice(tmp_path: Path) -> None:
    file = tmp_path / "c"
    environ = {"HOME": str(tmp_path), "AWS_CONFIG_FILE": str(file)}
    file.write_text("[default]\nregion = one\nregion = two\n[default]\nendpoint_url = http://h\n")
    assert profile_settings(None, "p", environ) == ({"region": "two", "endpoint": "http://h"}, None)
    file.write_text("[default\nregion = one")
    assert profile_settings(None, "p", environ) == ({}, None)


@pytest.mark.parametrize(
    ("location", "shown", "user"),
    [
        ("s3://b/t", "s3://b/t", ""),
        ("s3://k:s@b/t", "s3://…@b/t", "k:s"),
        ("https://tok@h/t", "https://…@h/t", "tok"),
        ("az://c@a/t", "az://c@a/t", ""),
        ("s3://k:a/b@b/t", "s3://…@b/t", "k:a/b"),
        ("s3://b:80/a@c", "s3://b:80/a@c", ""),
        ("s3://b:800000/a@c", "s3://…@c", "b:800000/a"),
        ("https://h/t?a=b", "https://h/t?…", ""),
        ("https://h/t?x", "https://h/t?…", ""),
        ("https://h/t#a=b", "https://h/t?…", ""),
        ("https://u:p@h/t;a=b", "https://…@h/t?…", "u:p"),
        ("/t?a=b", "/t?a=b", ""),
    ],
)
def test_marks_in_the_place_of_credentials(location: str, shown: str, user: str) -> None:
    assert masked(location) == shown and user_of(location) == user
    assert not user or user not in without_credentials(location)


def test_short_texts_are_no_secrets() -> None:
    redactor = Redactor({"a": "abc", "b": "abcd", "n": {"c": [b"efgh", ("ijkl",)]}}, ["s3://k:mno@b", "s3://k:pqrs@b"])
    assert redactor.redact("abc abcd efgh ijkl mno pqrs") == "abc *** *** *** mno ***"
    assert Redactor({}, ["https://h/t?sig=secretvalue"]).redact("sig=secretvalue") == "***"
    assert Redactor({}, ["s3://key:pass:word@b"]).redact("pass:word") == "***"
    nested = Redactor({"k": "secret", "m": "secret and more"}, ())
    assert nested.redact("secret and more") == "***" and bool(nested) and not NOTHING


def test_values_of_errors() -> None:
    redactor = Redactor({"k": "geheim"}, ())
    error = ValueError("geheim", b"x geheim", 5, None, 1.5, True, ["geheim"], ["plain"], {"geheim"})
    redactor.redact_error(error)
    assert error.args == ("***", "x ***", 5, None, 1.5, True, "***", ["plain"], "***")
    chained = KeyError("a")
    chained.__cause__ = OSError(5, "of geheim", "/geheim")
    chained.__cause__.__context__ = chained
    redactor.redact_error(chained)
    redactor.redact_error(None)
    cause = chained.__cause__
    assert isinstance(cause, OSError) and (cause.strerror, cause.filename) == ("of ***", "/***")


def test_options_show_their_names_alone() -> None:
    options = HiddenOptions({"key": "secret"})
    assert repr(options) == str(options) == "{'key': ***}" and options == {"key": "secret"}
    with pytest.raises(TypeError):
        options.__reduce__()


def test_file_systems_whose_errors_hide_secrets() -> None:
    class File:
        closed = False

        def read(self) -> bytes:
            raise ValueError("geheim")

        def seek(self) -> None: ...

    class System:
        protocol = "x"

        def open(self) -> Any:
            return File()

        def size(self) -> int:
            return 5

        def fail(self) -> None:
            raise OSError("geheim")

    inner, redactor = System(), Redactor({"k": "geheim"}, ())
    proxy = RedactingProxy(inner, redactor)
    assert proxy.size() == 5 and proxy.protocol == "x" and repr(proxy) == "RedactingProxy(System)"
    assert proxy == inner and proxy == RedactingProxy(inner, redactor) and proxy != System()
    file = proxy.open()
    assert isinstance(file, RedactingProxy) and file.closed is False and not isinstance(proxy.size(), RedactingProxy)
    for call in (proxy.fail, file.read):
        with pytest.raises((OSError, ValueError)) as caught:
            call()
        assert "geheim" not in repr(caught.value)
    with pytest.raises(TypeError):
        proxy.__reduce__()


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("s3://b/t", True),
        ("s3://b/other/file", True),
        ("s3://b", True),
        ("s3://bucket/t", False),
        ("s3a://b/t", False),
        ("/b/t", False),
    ],
)
def test_credentials_of_a_location_are_for_its_own_store(path: str, is_own: bool) -> None:
    own = {"access_key_id": "K", "secret_access_key": "S", "region": "eu"} if is_own else {}
    assert dict(Storage("s3://K:S@b/t?region=eu").options_of(path)) == own
    given = Storage("s3://K:S@b/t?region=eu", {"region": "us", "endpoint": "http://h"})
    assert dict(given.options_of(path)) == {**own, "region": "us", "endpoint": "http://h"}


@pytest.mark.parametrize(
    ("location", "plain", "user", "values"),
    [
        ("/a/t?b=c", "/a/t?b=c", "", ""),
        ("s3://b/t", "s3://b/t", "", ""),
        ("s3://b/t?a=1", "s3://b/t", "", "a=1"),
        ("s3://b/t?a=1&b=2#c=3", "s3://b/t", "", "a=1&b=2#c=3"),
        ("s3://b?a=1", "s3://b", "", "a=1"),
        ("s3://K:S@b/t?a=1", "s3://b/t", "K:S", "a=1"),
        ("https://token@h/t#a=1", "https://h/t", "token", "a=1"),
        ("s3://b/t?a", "s3://b/t?a", "", ""),
    ],
)
def test_what_of_a_location_may_be_secret(location: str, plain: str, user: str, values: str) -> None:
    assert _split(location) == (plain, user, values)
