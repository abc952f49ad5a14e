"""The kernel that tells paths apart, over both twins, against the regular expressions that define it."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

PIECES = ["..", ".", "/", "\\", "\0", ":", "%", "a", "Z", "9", "+", "-", "é", "file:/", "FilE:/", "s3://", " "]
PATH = st.lists(st.sampled_from(PIECES)).map("".join)


def kinds(kernels: ModuleType, paths: list[str], encoded: bool, width: type = np.int32) -> list[int]:
    encoded_paths = [path.encode() for path in paths]
    offsets = np.cumsum([0, *map(len, encoded_paths)]).astype(width)
    return list(kernels.path_kinds(offsets, np.frombuffer(b"".join(encoded_paths), np.uint8), encoded).tolist())


@pytest.mark.parametrize("width", [np.int32, np.int64])
@given(found=st.lists(PATH, max_size=20), encoded=st.booleans())
def test_as_the_expressions_say(paths: ModuleType, width: type, found: list[str], encoded: bool) -> None:
    def expected(path: str) -> int:
        if re.search(r"(^|[/\\])\.\.([/\\]|$)|\0" + ("|%" if encoded else ""), path):
            return 2
        if path.startswith("//") or re.match("file:(//|/{4,})([^/]|$)", path, re.I):
            return 2
        return int(re.search(r"^/|^[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None)

    assert kinds(paths, found, encoded, width) == [expected(path) for path in found]


def test_edges(paths: ModuleType) -> None:
    found = ["", "a", "/", "..", "a/..", "../a", "a..", "...", "c:/x", "cc:/", "cc:", "1c:/", "%"]
    assert kinds(paths, found, True) == [0, 0, 1, 2, 2, 2, 0, 0, 0, 1, 0, 0, 2]
    local = [
        "/x",
        "//x",
        "///x",
        "file:/x",
        "file://h/x",
        "file:///x",
        "file:////x",
        "FILE://h",
        "file:/",
        "filed://h/x",
    ]
    assert kinds(paths, local, True) == [1, 2, 2, 1, 2, 1, 2, 2, 1, 1]
    assert kinds(paths, ["%41", "a\\..\\b", "a\\.", "a\0b"], False) == [0, 2, 0, 2]
    assert paths.path_kinds(np.zeros(0, np.int32), np.zeros(0, np.uint8), True).tolist() == []
    with pytest.raises(ValueError):
        paths.path_kinds(np.array([0, 3], np.int32), np.zeros(2, np.uint8), True)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@given(found=st.lists(PATH, max_size=20), prefix=st.sampled_from(["", "/t/", "é/", "x" * 9]), skip=st.integers(0, 3))
def test_texts_with_a_prefix(paths: ModuleType, width: type, found: list[str], prefix: str, skip: int) -> None:
    stored = [("é😀a"[:skip] + path).encode() for path in found]
    offsets = np.cumsum([0, *map(len, stored)]).astype(width)
    size = len("é😀a"[:skip].encode())
    data = np.frombuffer(b"".join(stored), np.uint8)
    assert paths.texts_with_prefix(offsets, data, prefix.encode(), size) == [prefix + path for path in found]


def test_texts_that_cannot_be_made(paths: ModuleType) -> None:
    two = np.array([0, 1, 3], np.int32)
    assert paths.texts_with_prefix(np.zeros(0, np.int32), np.zeros(0, np.uint8), b"/", 2) == []
    for offsets, data, skip in (
        (two, b"abc", 2),
        (two, b"ab", 0),
        (two, b"abc", -1),
        (two, b"a\xff\xfe", 0),
        (two, "aé".encode(), 2),
    ):
        with pytest.raises(ValueError):
            paths.texts_with_prefix(offsets, np.frombuffer(data, np.uint8), b"/", skip)
