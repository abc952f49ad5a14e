"""Spellings of paths that mean one file, and snapshots that come before others."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tableformats_iceberg.files.paths import common_prefix, comparable, without_authority
from tableformats_iceberg.write.metadata_change import _is_ancestor


@pytest.mark.parametrize(
    ("path", "bare"),
    [
        ("/t/f", "/t/f"),
        ("t/f", "t/f"),
        ("file:/t/f", "/t/f"),
        ("s3://bucket/t/f", "/t/f"),
        ("s3a://b/t", "/t"),
        ("s3://b", "/"),
        ("hdfs://host:1/t/f", "/t/f"),
        ("hdfs:///t/f", "/t/f"),
        ("hdfs:/t/f", "/t/f"),
        ("s3://b/t:x/f", "/t:x/f"),
    ],
)
def test_paths_without_authority(path: str, bare: str) -> None:
    assert without_authority(path) == bare


def column(*paths: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(paths, pa.string())])


@pytest.mark.parametrize(
    ("paths", "prefix"),
    [
        (["s3://b/a", "s3://b/ab"], "s3://b/a"),
        (["s3://b/a", None, "s3://b/a"], "s3://b/a"),
        (["s3://b/a", "s3://b/b"], None),
        (["s3://b/a", "s3://c/a"], None),
        (["s3://b/a", "/a"], None),
        (["/a", "/ab"], "/a"),
        (["file:/a"], "file:/a"),
        (["hdfs:/a"], None),
        (["a"], None),
        (["//a"], None),
        ([None], None),
        ([], None),
    ],
)
def test_what_paths_begin_with(paths: list[str | None], prefix: str | None) -> None:
    assert common_prefix(column(*paths)) == prefix


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (["s3://b/a"], ["s3://b/ab", None], (["s3://b/a"], ["s3://b/ab", None])),
        (["s3a://b/a"], ["s3a://b/b"], (["s3://b/a"], ["s3://b/b"])),
        (["s3a://b/a"], [None], (["s3a://b/a"], [None])),
        (["s3://b/a"], ["/a"], (["/a"], ["/a"])),
        (["s3://b/a", "/c"], ["s3://b/a"], (["/a", "/c"], ["/a"])),
        (["s3://b/a", "/c"], ["/a", "s3://b/d"], (["/a", "/c"], ["/a", "/d"])),
        (["/c", "/d"], ["/c"], (["/c", "/d"], ["/c"])),
        (["s3://b/a", None], ["s3://c/a"], (["s3://b/a", None], ["s3://c/a"])),
        ([None, "/a"], ["s3://c/a", None], ([None, "/a"], ["/a", None])),
    ],
)
def test_columns_of_paths(left: list[str], right: list[str], found: tuple[list[str], list[str]]) -> None:
    first, second = comparable(column(*left), column(*right))
    assert (first.to_pylist(), second.to_pylist()) == found


@pytest.mark.parametrize(
    ("older", "newer", "is_before"),
    [
        (1, 3, True),
        (2, 3, True),
        (3, 3, True),
        (3, 1, False),
        (1, 1, True),
        (9, 3, False),
        (1, 9, False),
        (1, None, False),
        (None, 3, False),
        (None, None, False),
        (5, 6, True),
        (1, 6, False),
    ],
)
def test_ancestors(older: int | None, newer: int | None, is_before: bool) -> None:
    """3 follows 2, which follows 1; 5 and 6 follow each other, which is damage."""
    assert _is_ancestor(older, newer, {1: None, 2: 1, 3: 2, 5: 6, 6: 5}) is is_before
