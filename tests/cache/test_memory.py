"""The cache in memory: what is kept within its budget, and what is left out."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tableformats.cache.directory import CacheDirectory, telling_options
from tableformats.cache.metadata_cache import MetadataCache


def test_the_entries_that_were_used_longest_ago_go_first() -> None:
    cache = MetadataCache(10)
    cache.keep("a", "A", 4)
    cache.keep("b", "B", 6)
    assert cache.used_bytes == 10 and cache.find("a") == "A"
    cache.keep("c", "C", 1)
    assert [cache.find(key) for key in "abc"] == ["A", None, "C"] and cache.used_bytes == 5
    cache.keep("a", "A again", 9)
    assert cache.find("a") == "A again" and cache.used_bytes == 10
    cache.keep("c", "too long", 11)
    assert cache.find("c") is None and cache.used_bytes == 9, "an entry that does not fit leaves none of before"
    cache.keep("d", "D", 10)
    assert cache.find("a") is None and cache.find("d") == "D" and cache.used_bytes == 10
    cache.keep("e", None, 1)
    assert cache.find("d") == "D" and repr(cache) == "MetadataCache(10 of 10 bytes)"


def test_without_a_budget_nothing_is_kept() -> None:
    cache = MetadataCache(0)
    cache.keep("a", "A", 0)
    assert cache.find("a") is None and cache.used_bytes == 0


def test_a_value_is_loaded_once_while_it_is_kept() -> None:
    cache, loads = MetadataCache(10), []

    def load() -> str:
        loads.append(1)
        return "text"

    assert cache.get("a", load, len) == cache.get("a", load, len) == "text" and len(loads) == 1
    assert cache.used_bytes == 4
    assert cache.get("b", lambda: "x" * 11, len) == "x" * 11 and cache.find("b") is None


def test_scopes_have_keys_of_their_own_and_one_budget() -> None:
    cache = MetadataCache(10)
    first, second = cache.scoped("t", 1, table_key="T"), cache.scoped("t", 2)
    first.keep("a", 1, 5)
    assert (first.find("a"), second.find("a"), cache.find("a")) == (1, None, None)
    assert cache.scoped("t").scoped(1).find("a") == 1 and (first.table_key, second.table_key) == ("T", "")
    assert first.budget_bytes == 10 and cache.used_bytes == second.used_bytes == 5
    second.keep("b", 2, 6)
    assert first.find("a") is None and cache.seed == first.seed and len(cache.seed) == 32
    cache._store.used_bytes = 99
    cache._store.after_fork()
    assert cache.used_bytes == 6


@pytest.mark.parametrize(("sizes", "kept"), [([4, 6], True), ([4, 7], False), ([11, 0], False), ([], True)])
def test_items_are_kept_once_all_were_consumed(sizes: list[int], kept: bool) -> None:
    cache, loads = MetadataCache(10), []

    def load() -> Iterator[int]:
        loads.append(1)
        yield from sizes

    if sizes:
        assert next(cache.stream("a", load, int)) == sizes[0] and cache.find("a") is None
        loads.clear()
    for _ in range(2):
        assert list(cache.stream("a", load, int)) == sizes
    assert len(loads) == (1 if kept else 2) and cache.used_bytes == (sum(sizes) if kept else 0)


@pytest.mark.parametrize("budget", [True, False, -1, 1.5, "1", None])
@pytest.mark.parametrize("name", ["budget_bytes", "directory_bytes"])
def test_budgets_are_numbers_of_bytes(budget: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number of bytes"):
        MetadataCache(**{name: budget})


def test_another_process_begins_with_an_empty_cache(tmp_path: Path) -> None:
    cache = MetadataCache(10, directory=tmp_path, directory_bytes=99)
    cache.keep("a", 1, 1)
    assert cache.directory is not None and cache.directory.budget_bytes == 99
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.budget_bytes, copy.used_bytes, copy.directory) == (10, 0, None)


def test_options_are_told_apart_and_not_shown() -> None:
    cache = MetadataCache()
    digests = [cache.digest(options) for options in ({}, None, {"key": "a"}, {"key": "b"}, {"a": 1, "b": 2})]
    assert digests[0] == digests[1] == bytes(32) and len({*digests}) == 4 and {len(one) for one in digests} == {32}
    assert cache.digest({"b": 2, "a": 1}) == digests[-1] and MetadataCache().digest({"key": "a"}) != digests[2]
    shown = telling_options(
        {"region": "eu", "SECRET_x": 1, "client": {"token": 2, "b": 3, "a": 4}, "connection_string": "s", 5: None}
    )
    assert shown == (("5", "None"), ("client", (("a", "4"), ("b", "3"))), ("region", "'eu'"))


def entry_bytes(payload: int) -> int:
    """Of a file: the mark of its kind, a digest, and what it holds."""
    return 16 + 32 + payload


def test_entries_of_a_directory_within_its_budget(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "c", 2 * entry_bytes(100))
    directory.write("a", [b"a" * 60, b"a" * 40])
    directory.write("b", [b"b" * 100])
    assert bytes(directory.read("a") or b"") == b"a" * 100 and bytes(directory.read("b") or b"") == b"b" * 100
    sizes = [path.stat().st_size for path in (tmp_path / "c").iterdir()]
    assert sizes == [entry_bytes(100)] * 2
    directory.write("long", [b"x" * (2 * entry_bytes(100) - 47)])
    assert directory.read("long") is None and directory.read("a") is not None
    directory.write("just", [b"x" * (2 * entry_bytes(100) - 48)])
    assert directory.read("just") is not None and directory.read("a") is None and directory.read("b") is None


def test_the_directory_belongs_to_the_user_alone(tmp_path: Path) -> None:
    assert CacheDirectory(tmp_path / "x" / "c").path.stat().st_mode & 0o777 == 0o700
    for mode, refused in ((0o755, False), (0o720, True), (0o702, True), (0o777, True), (0o700, False)):
        (tmp_path / "x" / "c").chmod(mode)
        if refused:
            with pytest.raises(ValueError, match="others may write into the cache directory"):
                CacheDirectory(tmp_path / "x" / "c")
        else:
            CacheDirectory(tmp_path / "x" / "c")


@pytest.mark.parametrize("at", [0, 15, 16, 47, 48, -1])
def test_a_changed_byte_is_no_entry(tmp_path: Path, at: int) -> None:
    directory = CacheDirectory(tmp_path)
    directory.write("a", [b"content"])
    assert bytes(directory.read("a") or b"") == b"content"
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert directory.read("a") is None
    other = directory._path("b")
    directory.write("a", [b"content"])
    path.rename(other)
    assert directory.read("b") is None, "it is the entry of another key"
