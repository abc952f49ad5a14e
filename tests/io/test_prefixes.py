"""Stored paths made absolute: one by one, as a column, and by the prefix that they share. All three are the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import PathNotAllowedError
from tableformats.io.path_policy import PathPolicy
from tableformats.io.paths import authority_of, common_move, is_on_another_host, normalize, scheme_of, strip_trailing


def policy(root: str = "/t", moves: dict[str, str] | None = None, allow: tuple[str, ...] = ()) -> PathPolicy:
    found = PathPolicy(root, allow)
    for old, new in (moves or {}).items():
        found.relocate(old, new)
    return found


def resolved(rules: PathPolicy, stored: list[str], encoded: bool = False) -> list[str]:
    """What the column becomes, by each of the ways."""
    column = pa.array(stored, pa.string())
    found: list[str] = rules.resolve(column, encoded=encoded).to_pylist()
    assert found == [rules.resolve_one(path, encoded=encoded) for path in stored]
    shared = rules.check(column, encoded=encoded)
    if shared is not None:
        assert shared.resolve(column).to_pylist() == shared.texts(column) == found
    return found


@pytest.mark.parametrize(
    ("root", "stored", "expected"),
    [
        ("/t", ["a", "b/c", ""], ["/t/a", "/t/b/c", "/t/"]),
        ("/", ["a", "b/c"], ["/a", "/b/c"]),
        ("s3://b/t", ["a", "ü/c"], ["s3://b/t/a", "s3://b/t/ü/c"]),
        ("/t", ["/t/a", "/t/b"], ["/t/a", "/t/b"]),
        ("/t", ["file:/t/a", "file:/t/b"], ["/t/a", "/t/b"]),
        ("/t", ["file:///t/a", "file:///t/b"], ["/t/a", "/t/b"]),
        ("/t", ["/x/a", "/y/b"], ["/x/a", "/y/b"]),
        ("/t", ["a", "/t/b", "file:/t/c", "file:///u/d"], ["/t/a", "/t/b", "/t/c", "/u/d"]),
        ("s3://b/t", ["s3a://b/t/a", "s3a://b/t/b"], ["s3://b/t/a", "s3://b/t/b"]),
        ("s3://b/t", ["s3n://c/a", "s3://d/b", "S3A://b/t/x"], ["s3://c/a", "s3://d/b", "s3://b/t/x"]),
        ("s3://b/t", ["s3://other/a", "s3://other/b"], ["s3://other/a", "s3://other/b"]),
        ("https://h/t", ["https://h/u/a", "x"], ["https://h/u/a", "https://h/t/x"]),
        ("gs://b/t", ["gs://b/t/a", "c:x"], ["gs://b/t/a", "gs://b/t/c:x"]),
        ("/t", ["a..b", "..a", "a.."], ["/t/a..b", "/t/..a", "/t/a.."]),
    ],
)
def test_paths_of_a_table(root: str, stored: list[str], expected: list[str]) -> None:
    assert resolved(policy(root), stored) == expected
    assert [resolved(policy(root), [path]) for path in stored] == [[path] for path in expected]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (["/old/t/a", "/old/t/b"], ["/new/a", "/new/b"]),
        (["/old/a", "/old/t/b"], ["/other/a", "/new/b"]),
        (["file:/old/t/a", "file:///old/x/b"], ["/new/a", "/other/x/b"]),
        (["/old/t", "/old"], ["/new", "/other"]),
        (["/older/a", "/old.t/b"], ["/older/a", "/old.t/b"]),
        (["a", "/old/t/b", "/t/c"], ["/t/a", "/new/b", "/t/c"]),
        (["a", "b"], ["/t/a", "/t/b"]),
        (["s3a://b/t/a", "s3://b/t/b"], ["/s3/a", "/s3/b"]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_paths_of_a_table_that_was_moved(stored: list[str], expected: list[str], turned: bool) -> None:
    """The longest prefix wins, in whatever order they were told."""
    moves = {"/old": "/other/", "/old/t/": "/new", "s3://b/t": "/s3"}
    rules = policy(moves=dict(reversed(moves.items())) if turned else moves)
    assert resolved(rules, stored) == expected
    assert [resolved(rules, [path]) for path in stored] == [[path] for path in expected]
    assert rules.moves == {"/old": "/other", "/old/t": "/new", "s3://b/t": "/s3"}


def test_only_the_longest_move_is_shared_by_all_paths_below_it() -> None:
    rules = policy(moves={"/old": "/other", "/old/t": "/new"})
    for stored, is_shared in ((["/old/t/a", "/old/t/b"], True), (["/old/a", "/old/b"], False)):
        is_allowed, shared = rules.quick_check(pa.array(stored))
        assert is_allowed and (shared is not None) is is_shared
    alone = policy(moves={"/o": "/a/longer/place"})
    assert alone.quick_check(pa.array(["/o/a", "/o/b"])) == (True, ("/o/", "/a/longer/place/"))
    is_allowed, shared = rules.quick_check(pa.array(["a"]))
    assert is_allowed and shared is None, "what is relative is not moved, and what is not is"
    assert policy().quick_check(pa.array(["a"]))[1] == ("", "/t/")
    assert policy().quick_check(pa.array(["/t/a", "/t/b"])) == (True, ("/t/", "/t/"))
    assert policy().quick_check(pa.array(["/t/a", "b"])) == (False, None)
    assert policy().quick_check(pa.array(["/t/a", "/u/b"])) == (False, None)
    assert policy().quick_check(pa.array(["s3://x/a"])) == (False, None)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (["a%20b", "c"], ["/t/a b", "/t/c"]),
        (["%2525", "c"], ["/t/%25", "/t/c"]),
        (["file:/t/a%20b"], ["/t/a b"]),
        (["/t/%C3%BC", "/t/b"], ["/t/ü", "/t/b"]),
    ],
)
def test_encoded_paths(stored: list[str], expected: list[str]) -> None:
    assert resolved(policy(), stored, encoded=True) == expected


def refuses(rules: PathPolicy, path: str, **options: Any) -> None:
    for stored in ([path], ["a", path], [path, "/t/b"], [path, path]):
        column = pa.array(stored)
        for call in (rules.resolve, rules.check):
            with pytest.raises(PathNotAllowedError) as caught:
                call(column, **options)
            assert caught.value.path
    with pytest.raises(PathNotAllowedError):
        rules.resolve_one(path, **options)


@pytest.mark.parametrize("path", ["../a", "a/../b", "a/..", "..", "a\\..\\b", "..\\a", "a\0b", "/t/../u", "s3://b/a"])
def test_paths_that_climb_or_lead_elsewhere(path: str) -> None:
    refuses(policy(), path)


@pytest.mark.parametrize("path", ["%2e%2e/a", "a%00", "a%5C..%5Cb", "s3:%2F%2Fb/a"])
def test_encoded_paths_that_climb_or_lead_elsewhere(path: str) -> None:
    refuses(policy(), path, encoded=True)
    policy().resolve_one(path)


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("s3://b/t", "/t/a"),
        ("s3://b/t", "gs://b/t/a"),
        ("https://h/t", "https://i/t/a"),
        ("https://h/t", "http://h/t/a"),
        ("/t", "//host/a"),
        ("//host/t", "/t/a/x"),
        ("hdfs://h/t", "s3://h/t"),
    ],
)
def test_paths_of_another_store(root: str, path: str) -> None:
    if root == "//host/t":
        policy(root).resolve_one(path)
        return
    with pytest.raises(PathNotAllowedError, match="names a path of another store"):
        policy(root).resolve_one(path)
    if not is_on_another_host(path):
        assert policy(root, allow=(path,)).resolve_one(path) == normalize(path)


@pytest.mark.parametrize(
    ("allowed", "path", "fine"),
    [
        ("s3://b/x", "s3://b/x/a", True),
        ("s3://b/x/", "s3://b/x/a", True),
        ("s3a://b/x", "s3n://b/x/a", True),
        ("s3://b/x", "s3://b/x", True),
        ("s3://b/x", "s3://b/xy", False),
        ("s3://b/x", "s3://b/a", False),
        ("", "s3://b/a", False),
    ],
)
def test_prefixes_that_are_allowed(allowed: str, path: str, fine: bool) -> None:
    rules = policy(allow=(allowed,))
    assert rules.allow_paths == ((normalize(allowed).rstrip("/"),) if allowed else ())
    if fine:
        assert resolved(rules, [path, "a"]) == [normalize(path), "/t/a"] and resolved(rules, [path] * 2)
    else:
        refuses(rules, path)


@pytest.mark.parametrize(
    ("path", "scheme", "authority", "spelled"),
    [
        ("/a/b", None, "", "/a/b"),
        ("a/b", None, "", "a/b"),
        ("file:/a", None, "", "/a"),
        ("file:///a", None, "", "/a"),
        ("file:////a", None, "", "/a"),
        ("FILE:/a", None, "", "/a"),
        ("file://localhost/a", None, "", "/a"),
        ("file://host/a", None, "", "//host/a"),
        ("file://host", None, "", "//host"),
        ("file://localhost", None, "", "//localhost"),
        ("S3A://Bucket/a", "s3", "bucket", "s3://Bucket/a"),
        ("s3n://b/a://c", "s3", "b", "s3://b/a://c"),
        ("abfs://c@h/a", "abfss", "c@h", "abfss://c@h/a"),
        ("wasb://c/a", "wasbs", "c", "wasbs://c/a"),
        ("gcs://b", "gs", "b", "gs://b"),
        ("hdfs:/a", "hdfs", "", "hdfs:/a"),
        ("c:/a", None, "", "c:/a"),
        ("a:b/c", None, "", "a:b/c"),
        ("1a:/b", None, "", "1a:/b"),
    ],
)
def test_spellings(path: str, scheme: str | None, authority: str, spelled: str) -> None:
    assert (scheme_of(path), normalize(path), authority_of(normalize(path))) == (scheme, spelled, authority)
    assert normalize(spelled) == spelled


def test_ends_and_hosts() -> None:
    assert [strip_trailing(path) for path in ("/", "//", "/a/", "a//", "")] == ["/", "/", "/a", "a", "/"]
    assert [path for path in ("//h/a", "/a", "s3://b", "hdfs://h//a") if is_on_another_host(path)] == ["//h/a"]


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        ("/a/b/t", "/x/b/t", [("/a", "/x")]),
        ("/a/b/t", "/x/t", [("/a/b", "/x")]),
        ("/a/t", "/x/u", []),
        ("/t", "/x/t", []),
        ("/a/t", "/t", [("/a", "/")]),
        ("s3://b/p/t", "s3://c/t", [("s3://b/p", "s3://c")]),
        ("s3://b/t", "/t", [("s3://b", "/")]),
        ("s3://b", "s3://c/b", []),
        ("s3://b/t", "s3://t", []),
        ("/x/t", "s3://t", []),
        ("hdfs:/a/t", "/b/t", [("hdfs:/a", "/b")]),
        ("//h/a/t", "//i/a/t", [("//h", "//i")]),
        ("/a", "/a", []),
    ],
)
def test_what_stood_beside_a_moved_table(old: str, new: str, moves: list[tuple[str, str]]) -> None:
    assert list(common_move(old, new)) == [(old, new), *moves]
