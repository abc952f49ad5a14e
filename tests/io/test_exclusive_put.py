"""Files that only one writer may write: who won is known, whatever answers are lost."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tableformats.errors import (
    LimitExceededError,
    StoreError,
    StorePermissionError,
    StoreThrottledError,
    UnsupportedFeatureError,
)
from tableformats.io import local_writes
from tableformats.io.exclusive_put import check_exclusive_puts, put_exclusively
from tableformats.io.storage import Storage
from tableformats.io.stores.base import PutOutcome
from tableformats.limits import DEFAULT_LIMITS

from ..support.memory_store import ROOT, MemoryStore, memory_storage
from ..support.processes import processes

KEY = f"{ROOT}/log/1"


@pytest.mark.parametrize("fault", ["", "lost", "taken", "dropped", "refused"])
def test_who_wrote_an_absent_file_is_known_whatever_answer_is_lost(fault: str) -> None:
    store = MemoryStore([fault])
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.WON
    assert store.files == {KEY: b"mine"}


@pytest.mark.parametrize("fault", ["", "lost", "dropped", "refused"])
def test_a_file_of_another_writer_is_lost_and_stays(fault: str) -> None:
    store = MemoryStore([fault])
    store.files[KEY] = b"theirs"
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.LOST
    assert store.files == {KEY: b"theirs"}


def test_a_rival_between_two_tries_wins() -> None:
    store = MemoryStore(["dropped"])

    def rival(path: str) -> None:
        if not store.faults:
            store.files[path] = b"theirs"

    store.before_put = rival
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.LOST
    assert store.files == {KEY: b"theirs"}


def test_what_cannot_be_read_back_is_unknown() -> None:
    store, asked = MemoryStore(["lost"]), []
    store.unreadable, store.before_put = True, asked.append
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.UNKNOWN
    assert asked == [KEY], "nothing is put again that may be there"


@pytest.mark.parametrize("lands", [True, False])
def test_a_throttled_put_decides_nothing(lands: bool) -> None:
    """The last request was refused; one before it, whose answer was lost, may have landed."""
    store = MemoryStore()

    def throttle(path: str) -> None:
        if lands:
            store.files[path] = b"mine"
        raise StoreThrottledError("the store asked for fewer requests", path=path, status=429)

    store.before_put = throttle
    outcome = put_exclusively(memory_storage(store), KEY, b"mine")
    assert outcome is (PutOutcome.WON if lands else PutOutcome.UNKNOWN)


def test_a_refusal_is_raised_unless_an_earlier_put_may_arrive() -> None:
    store = MemoryStore()

    def refuse(path: str) -> None:
        if not store.faults:
            raise StorePermissionError("the store refused the request", path=path, status=403)

    store.before_put = refuse
    with pytest.raises(StorePermissionError):
        put_exclusively(memory_storage(store), KEY, b"mine")
    store.faults = ["dropped"]
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.UNKNOWN


def test_what_never_lands_is_unknown_because_it_may_still_arrive() -> None:
    store = MemoryStore(["dropped"] * 3)
    assert put_exclusively(memory_storage(store), KEY, b"mine") is PutOutcome.UNKNOWN
    assert not store.files and not store.faults


def test_limits_hold_for_what_is_written_and_for_what_is_read_back() -> None:
    store = MemoryStore()
    storage = memory_storage(store)
    storage.limits = replace(DEFAULT_LIMITS, metadata_bytes=4)
    with pytest.raises(LimitExceededError, match="5"):
        put_exclusively(storage, KEY, b"12345")
    assert not store.files
    store.files[KEY] = b"longer than the limit"
    assert put_exclusively(storage, KEY, b"1234") is PutOutcome.LOST


def test_a_store_is_asked_once_and_nothing_stays() -> None:
    store, asked = MemoryStore(), []
    store.before_put = asked.append
    storage = memory_storage(store)
    for _ in range(2):
        check_exclusive_puts(storage, f"{ROOT}/log")
    assert len(asked) == 1 and not store.files
    assert all(path.startswith(f"{ROOT}/log/.") for path in asked)


def test_a_store_that_ignores_conditions_is_refused() -> None:
    store = MemoryStore(ignores_conditions=True)
    with pytest.raises(UnsupportedFeatureError, match="writes over") as caught:
        check_exclusive_puts(memory_storage(store), f"{ROOT}/log")
    assert caught.value.field == "put_if_absent" and not store.files


def test_a_store_that_does_not_answer_is_not_trusted() -> None:
    store = MemoryStore(["lost"])
    store.unreadable = True
    storage = memory_storage(store)
    with pytest.raises(StoreError, match="did not say"):
        check_exclusive_puts(storage, f"{ROOT}/log")
    store.unreadable = False
    check_exclusive_puts(storage, f"{ROOT}/log")


def test_file_systems_without_promises_are_refused() -> None:
    fsspec = pytest.importorskip("fsspec")
    storage = Storage("memory://exclusive", {"filesystem": fsspec.filesystem("memory")})
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_exclusive_puts(storage, storage.root)
    assert caught.value.field == "put_if_absent"


def test_local_files_are_whole_and_leave_nothing_beside_them(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    path = storage.join("a", "b", "1")
    assert put_exclusively(storage, path, b"mine") is PutOutcome.WON
    assert put_exclusively(storage, path, b"theirs") is PutOutcome.LOST
    assert put_exclusively(storage, path, b"mine") is PutOutcome.WON, "it holds these bytes"
    assert os.listdir(os.path.dirname(path)) == ["1"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666 & ~mask
    storage.put(path, b"other")
    assert Path(path).read_bytes() == b"other"
    storage.delete(path)
    storage.delete(path)
    assert os.listdir(os.path.dirname(path)) == []


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local_writes.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        Storage(tmp_path).put_if_absent(str(tmp_path / "1"), b"mine")
    assert os.listdir(tmp_path) == []


def test_a_directory_that_is_not_confirmed_is_unknown_then_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(directory: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(local_writes, "_sync_directory", failing)
    path = str(tmp_path / "1")
    assert Storage(tmp_path).put_if_absent(path, b"mine") is PutOutcome.UNKNOWN
    assert put_exclusively(Storage(tmp_path), path, b"mine") is PutOutcome.WON


@pytest.mark.parametrize("is_made", [True, False])
def test_a_file_server_that_does_not_answer_may_have_made_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_made: bool
) -> None:
    link = os.link

    def unanswered(source: str, target: str) -> None:
        if is_made:
            link(source, target)
        raise OSError(errno.ETIMEDOUT, "Connection timed out")

    storage, path = Storage(tmp_path), str(tmp_path / "1")
    monkeypatch.setattr(local_writes.os, "link", unanswered)
    assert storage.put_if_absent(path, b"mine") is PutOutcome.UNKNOWN
    assert os.listdir(tmp_path) == ["1"] * is_made
    assert put_exclusively(storage, path, b"mine") is (PutOutcome.WON if is_made else PutOutcome.UNKNOWN)


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(local_writes.os, "link", refused)
    with pytest.raises(UnsupportedFeatureError, match="hard links"):
        Storage(tmp_path).put_if_absent(str(tmp_path / "1"), b"mine")
    assert os.listdir(tmp_path) == []


def _claim(root: str, writer: int, keys: int) -> list[int]:
    storage = Storage(root)
    outcomes = [put_exclusively(storage, storage.join(str(key)), f"{writer} {key}".encode()) for key in range(keys)]
    return [key for key, outcome in enumerate(outcomes) if outcome is PutOutcome.WON]


def test_each_file_has_one_winner_among_processes(tmp_path: Path) -> None:
    with processes().Pool(4) as pool:
        won = pool.starmap(_claim, [(str(tmp_path), writer, 40) for writer in range(4)])
    assert sorted(key for keys in won for key in keys) == list(range(40))
    for writer, keys in enumerate(won):
        assert all((tmp_path / str(key)).read_text() == f"{writer} {key}" for key in keys)
    assert len(os.listdir(tmp_path)) == 40
