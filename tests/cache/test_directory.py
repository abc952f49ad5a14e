"""A cache's directory: its budget, who may read it, what several processes write at once, and what disks do to it."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.cache.directory import CacheDirectory, telling_options


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path, 3500)
    for number, name in enumerate("abc"):
        directory.write(name, [bytes(1000)])
        os.utime(directory._path(name), (number, number))
    assert directory.read("a") == bytes(1000)
    directory.write("d", [bytes(1000)])
    assert [directory.read(name) is not None for name in "abcd"] == [True, False, True, True]


def test_others_can_neither_read_nor_write(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "new" / "cache")
    directory.write("key", [b"value"])
    (entry,) = directory.path.iterdir()
    assert (entry.stat().st_mode & 0o777, directory.path.stat().st_mode & 0o777) == (0o600, 0o700)
    directory.path.chmod(0o777)
    with pytest.raises(ValueError, match="others may write"):
        tf.MetadataCache(directory=directory.path)


def test_many_write_and_read_at_once(tmp_path: Path) -> None:
    directories = [CacheDirectory(tmp_path, 50_000) for _ in range(4)]  # as of several processes

    def work(number: int) -> bool:
        directory, key = directories[number % 4], str(number % 7)
        directory.write(key, [key.encode() * 5_000])
        found = directory.read(key)
        return found is None or bytes(found) == key.encode() * 5_000

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(300)))
    assert not [entry for entry in tmp_path.iterdir() if not entry.name.endswith(".entry")]


def test_secrets_tell_no_tables_apart() -> None:
    options = {"key": "A", "client_kwargs": {"endpoint_url": "http://x", "aws_secret_access_key": "B"}, "anon": False}
    assert telling_options(options) == (("anon", "False"), ("client_kwargs", (("endpoint_url", "'http://x'"),)))


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    directory = CacheDirectory(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        directory.write("key", [b"value"])
    assert directory.read("key") is None and not list(tmp_path.iterdir())
    directory.write("key", [b"value"])
    assert directory.read("key") == b"value"


def test_what_a_process_left_unfinished_goes(tmp_path: Path) -> None:
    old, new = tmp_path / "a.unfinished", tmp_path / "b.unfinished"
    for place, age in ((old, 4000), (new, 10)):
        place.write_bytes(b"x")
        os.utime(place, (time.time() - age,) * 2)
    CacheDirectory(tmp_path).write("key", [b"value"])
    assert not old.exists() and new.exists()
