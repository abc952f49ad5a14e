"""Storage: one spelling per file, the path policy, relocation, ranges."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tableformats.errors import LimitExceededError, PathNotAllowedError, TableNotFoundError
from tableformats.io.buffers import ReusableBuffer
from tableformats.io.path_policy import SharedPrefix
from tableformats.io.paths import common_move, normalize, normalize_all, scheme_of
from tableformats.io.storage import Storage
from tableformats.limits import DEFAULT_LIMITS, Limits


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("file:/x/y", "/x/y"),
        ("file:///x/y", "/x/y"),
        ("file://localhost/x", "/x"),
        ("/x/y", "/x/y"),
        ("s3a://bucket/k", "s3://bucket/k"),
        ("S3://bucket/k", "s3://bucket/k"),
        ("relative:name", "relative:name"),
        ("gs://b/k", "gs://b/k"),
    ],
)
def test_one_spelling(given: str, expected: str) -> None:
    assert normalize(given) == expected


def test_spelling_of_a_column_is_the_spelling_of_each() -> None:
    paths = [
        "file:/x",
        "file:///x",
        "file://localhost/x/y",
        "file://host/x",
        "FILE:/x",
        "/x",
        "x",
        "s3a://b/k",
        "S3N://b",
        "abfss://c@h/p",
        "gcs://b/é",
        "a:b/c",
        "file:x",
        "file:////x",
        "hdfs://h:1/x",
        "file://localhosted/x",
    ]
    assert normalize_all(pa.array([*paths, None])).to_pylist() == [*map(normalize, paths), None]


def test_a_colon_in_a_name_is_no_scheme(tmp_path: Path) -> None:
    assert scheme_of("ts=12:30/part.parquet") is None
    assert Storage(tmp_path).resolve_one("ts=12:30/part.parquet") == f"{tmp_path}/ts=12:30/part.parquet"


PLACES = [
    "",
    "/",
    "//",
    "///",
    "file:/",
    "file://",
    "file:///",
    "file:////",
    "FILE:/",
    "FILE:///",
    "file://localhost/",
    "s3://",
    "s3://b/",
    "s3a://b/",
    "S3://b/",
    "s3://c/",
    "s3n://c/",
    "s3:/",
    "http://h/",
    "C:/",
]
NAMES = ["t", "t/", "t/a", "t2/a", "old/a", "old//a", "ok/a", "a%20b", "..", "t/../a", "é:/x", ""]
STORED = st.builds(str.__add__, st.sampled_from(PLACES), st.sampled_from(NAMES))


@pytest.mark.parametrize("root", ["/t", "s3://b/t", "http://h/t", "file:///"])
@given(stored=st.lists(STORED, max_size=6), moved=st.booleans(), encoded=st.booleans())
@example(stored=["/t2/a", "/t/a", "a"], moved=False, encoded=False)
@example(stored=["file:/t", "file:///t", "file:/a"], moved=False, encoded=False)
@example(stored=[], moved=True, encoded=False)
@example(stored=["/t2/a", "/old/a"], moved=True, encoded=False)
@example(stored=["/t/a", "/t/a/b", "file:/t/a"], moved=True, encoded=False)
@example(stored=["/t/x", "/t/a/b"], moved=True, encoded=False)
def test_the_column_and_the_single_path_agree(root: str, stored: list[str], moved: bool, encoded: bool) -> None:
    storage = Storage(root, allow_paths=["s3://b/ok", "/ok"])
    if moved:
        storage.relocate("/old", "/new")
        storage.relocate("s3://b", "s3://moved")
        storage.relocate("/t/a", "/one/file")
    column = pa.array(stored, pa.string())
    try:
        one_by_one = [storage.resolve_one(p, encoded=encoded) for p in stored]
    except PathNotAllowedError:
        assert storage.quick_check(column, encoded=encoded) == (False, None)
        with pytest.raises(PathNotAllowedError):
            storage.resolve(column, encoded=encoded)
    else:
        assert storage.resolve(column, encoded=encoded).to_pylist() == one_by_one
        _, shared = storage.quick_check(column, encoded=encoded)
        if shared is not None:
            assert shared.resolve(column).to_pylist() == shared.texts(column) == one_by_one


@pytest.mark.parametrize(
    ("root", "stored"),
    [
        ("/wh/t", ["/wh/clone/f", "/x"]),
        ("/wh/t", ["file:///x/f", "file:///wh/t/f"]),
        ("/wh/t", ["a", "file:/x/f"]),
        ("s3://b/t", ["s3a://b/t/f", "s3a://b/x"]),
        ("s3://b/t", ["s3://other/f", "s3://other/g"]),
        ("s3://b/t", ["a", "s3://other/f"]),
        ("s3://b/t", ["gs://ok/f", "gcs://ok/g"]),
    ],
)
def test_no_path_of_its_store_is_looked_at_alone(monkeypatch: Any, root: str, stored: list[str]) -> None:
    storage = Storage(root, allow_paths="gs://ok")
    expected = [storage.resolve_one(path) for path in stored]
    monkeypatch.setattr(storage, "resolve_one", None)
    assert storage.resolve(pa.array(stored)).to_pylist() == expected
    assert storage.quick_check(pa.array(stored[1:]))[0]


def test_relative_paths_that_were_moved_share_no_prefix() -> None:
    storage = Storage("/t")
    assert storage.quick_check(pa.array(["w/a", "b"])) == (True, SharedPrefix("", "/t/"))
    storage.relocate("w", "/x")
    assert storage.quick_check(pa.array(["w/a", "b"])) == (True, None)
    assert storage.resolve(pa.array(["w/a", "b"])).to_pylist() == ["/x/a", "/t/b"]


def test_encoded_paths_are_decoded_once(tmp_path: Path) -> None:
    resolved = Storage(tmp_path).resolve(pa.array(["x=A%252FA/f"]), encoded=True)
    assert resolved.to_pylist() == [f"{tmp_path}/x=A%2FA/f"]


def test_relocation_prefers_the_longest_prefix(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.relocate("s3://b/t", str(tmp_path))
    storage.relocate("s3://b", "/elsewhere")
    stored = pa.array(["s3a://b/t/data/é.parquet", "s3://b/other/f"])
    assert storage.resolve(stored).to_pylist() == [f"{tmp_path}/data/é.parquet", "/elsewhere/other/f"]
    assert storage.resolve(pa.array(["s3://b/t/x", "s3://b/t/y"])).to_pylist() == [f"{tmp_path}/x", f"{tmp_path}/y"]


@pytest.mark.parametrize(
    ("old", "new", "resolved"),
    [
        ("/", "s3://b/all/", "s3://b/all/x/f"),
        ("file:///", "/all", "/all/x/f"),
        ("/x", "/", "/f"),
    ],
)
def test_the_local_root_is_moved_and_moved_to(old: str, new: str, resolved: str) -> None:
    storage = Storage("s3://b/t" if new.startswith("s3") else "/t")
    storage.relocate(old, new)
    assert storage.moves == {normalize(old): new.rstrip("/") or "/"}
    for stored in ("/x/f", "file:///x/f"):
        assert storage.resolve_one(stored) == resolved
        assert storage.resolve(pa.array([stored])).to_pylist() == [resolved]


def test_a_prefix_is_whole_segments(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.relocate("/warehouse/t", str(tmp_path))
    assert storage.resolve_one("/warehouse/t2/f") == "/warehouse/t2/f"


@pytest.mark.parametrize("stored", ["http://evil/x", "s3://other/x", "a/../../etc/passwd", "%2e%2e/x", "//host/share"])
def test_other_stores_and_climbing_paths_are_refused(tmp_path: Path, stored: str) -> None:
    storage = Storage(tmp_path)
    with pytest.raises(PathNotAllowedError) as caught:
        storage.resolve(pa.array(["fine", stored]), encoded=True)
    assert caught.value.path and caught.value.hint


def test_a_remote_table_cannot_name_local_files() -> None:
    storage = Storage("s3://bucket/table")
    with pytest.raises(PathNotAllowedError):
        storage.resolve_one("file:///etc/passwd")
    with pytest.raises(PathNotAllowedError):
        storage.resolve_one("/etc/passwd")
    assert storage.resolve_one("s3a://bucket2/clone/f") == "s3://bucket2/clone/f"


def test_allowed_prefixes_are_whole_segments(tmp_path: Path) -> None:
    storage = Storage(tmp_path, allow_paths=["s3://good/data"])
    assert storage.resolve_one("s3://good/data/f") == "s3://good/data/f"
    with pytest.raises(PathNotAllowedError):
        storage.resolve_one("s3://good/database/f")


def test_the_local_root_is_allowed_by_its_name_alone() -> None:
    allowed, refused = (Storage("s3://b/t", allow_paths=prefix) for prefix in ("/", ""))
    assert (allowed.allow_paths, refused.allow_paths) == (("/",), ())
    assert allowed.resolve_one("file:///x/f") == "/x/f"
    assert allowed.resolve(pa.array(["file:///x/f"])).to_pylist() == ["/x/f"]
    with pytest.raises(PathNotAllowedError):
        refused.resolve_one("file:///x/f")
    with pytest.raises(PathNotAllowedError):
        refused.resolve(pa.array(["/x/f"]))


def test_a_moved_table_moves_its_siblings() -> None:
    moves = dict(common_move("/old/db/t", "/new/db/t"))
    assert moves == {"/old/db/t": "/new/db/t", "/old": "/new"}
    assert dict(common_move("s3://b/t", "/x/t")) == {"s3://b/t": "/x/t", "s3://b": "/x"}
    assert dict(common_move("//host/a/t", "/x/a/t")) == {"//host/a/t": "/x/a/t", "//host": "/x"}
    assert dict(common_move("//host/t", "/x/host/t")) == {"//host/t": "/x/host/t", "//host": "/x/host"}
    assert dict(common_move("/a/t", "/b/a/t")) == {"/a/t": "/b/a/t"}
    assert dict(common_move("/a/t", "t")) == {"/a/t": "t"}
    assert dict(common_move("/t", "/x/t")) == {"/t": "/x/t"} and dict(common_move("/a/t", "/t")) == {
        "/a/t": "/t",
        "/a": "/",
    }


def test_what_is_known_of_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    storage = Storage(tmp_path, limits=replace(DEFAULT_LIMITS, metadata_bytes=5))
    path = storage.join("f")
    storage.provide(path, b"known")
    assert storage.read_bytes(path) == b"known"
    assert storage.read_bytes(path, 0, 3) == b"012" and storage.read_bytes(path, 7) == b"789"
    storage.provide(path, b"longer")
    with pytest.raises(LimitExceededError):
        storage.read_bytes(path)


def test_ranges_and_listing(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"0123456789")
    (tmp_path / "a").write_bytes(b"")
    storage = Storage(tmp_path)
    assert storage.read_bytes(storage.join("b"), 2, 3) == b"234"
    assert storage.read_bytes(storage.join("b")) == b"0123456789"
    assert [(f.name, f.size) for f in storage.list(storage.root)] == [("a", 0), ("b", 10)]
    assert storage.list(storage.join("missing")) == []
    for offset, length in [(8, 3), (-1, 2), (2, -1), (11, None)]:
        with pytest.raises(OSError):
            storage.read_bytes(storage.join("b"), offset, length)


def test_scratch_is_used_again() -> None:
    scratch = ReusableBuffer()
    assert [len(scratch.reserve(size)) for size in (10, 0, 1 << 20, 5, 20 << 20)] == [10, 0, 1 << 20, 5, 20 << 20]
    assert scratch.reserve(5).obj is scratch.reserve(2 << 20).obj
    assert (
        scratch.reserve(8 << 20).obj is scratch.reserve(1).obj and len(scratch.reserve((8 << 20) + 1)) == (8 << 20) + 1
    )
    assert len(scratch.reserve(1).obj) <= 8 << 20, "what is larger than usual is let go of"


def test_reading_into_scratch(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"0123456789" * 7)
    storage, scratch = Storage(tmp_path), ReusableBuffer()
    for name, data in [("a", b""), ("b", b"0123456789" * 7), ("a", b"")]:
        assert storage.read_into(storage.join(name), scratch.reserve) == data
    with pytest.raises(FileNotFoundError):
        storage.read_into(storage.join("missing"), scratch.reserve)
    small = Storage(tmp_path, limits=replace(DEFAULT_LIMITS, metadata_bytes=69))
    with pytest.raises(LimitExceededError, match="70"):
        small.read_into(storage.join("b"), scratch.reserve)


def test_nothing_at_the_root(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError) as caught:
        Storage(tmp_path / "missing").require_root()
    assert isinstance(caught.value, FileNotFoundError)


def test_credentials_never_show() -> None:
    storage = Storage("s3://b/t", {"secret": "canary"}, allow_paths=["gs://x"], limits=Limits(nesting=7))
    storage.relocate("/old", "/new")
    assert "canary" not in repr(storage) and b"canary" not in pickle.dumps(storage)
    elsewhere = pickle.loads(pickle.dumps(storage))
    assert elsewhere.options == {} and storage.options == {"secret": "canary"}
    for name in ("root", "allow_paths", "moves", "limits"):
        assert getattr(elsewhere, name) == getattr(storage, name)


@pytest.mark.parametrize(
    ("location", "root"),
    [
        ("s3://key:secret@bucket/t", "s3://bucket/t"),
        ("abfss://container@account/t", "abfss://container@account/t"),
        ("s3://b/t?access_key=k&secret_key=s", "s3://b/t"),
        ("https://h/t?sv=1&sig=s%2Fs", "https://h/t"),
        ("s3://b/what?", "s3://b/what?"),
        ("/data/a:b@c?d=e", "/data/a:b@c?d=e"),
    ],
)
def test_credentials_are_no_part_of_the_root(location: str, root: str) -> None:
    assert Storage(location).root == root


@pytest.mark.parametrize("stored", ["/old/../etc/passwd", "/old/a/..", "file:///old/../x"])
def test_paths_that_climb_out_of_what_was_moved_are_refused(tmp_path: Path, stored: str) -> None:
    storage = Storage(tmp_path)
    storage.relocate("/old", "/new")
    with pytest.raises(PathNotAllowedError):
        storage.resolve_one(stored)
    with pytest.raises(PathNotAllowedError):
        storage.resolve(pa.array(["/old/a", stored]))
    assert storage.resolve(pa.array(["/old/a", "/old/..b"])).to_pylist() == ["/new/a", "/new/..b"]


def test_a_check_refuses_what_resolving_does(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.check(pa.array(["a/b", "c", ""]), encoded=True)
    storage.check(pa.array([f"{tmp_path}/a", "b%20c"]), encoded=True)
    for stored in ("../x", "a/%2e%2e/x", "s3://b/x"):
        with pytest.raises(PathNotAllowedError):
            storage.check(pa.array(["fine", stored]), encoded=True)
