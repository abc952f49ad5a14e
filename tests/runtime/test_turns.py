"""Writers of one machine take turns, and nobody waits for long."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.runtime import turns

from ..support.iceberg_writing import metadata_of
from ..support.turns import know_ends


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))
    know_ends(monkeypatch)


def test_one_at_a_time() -> None:
    inside: list[bool] = []
    with turns.local_turn("t") as waited, turns.local_turn("other") as free:
        assert not waited and not free

        def enter() -> None:
            with turns.local_turn("t") as late:
                inside.append(late)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join(0.05)
        assert inside == []
        waiting = [one for one in threading.enumerate() if one.name == "tableformats-turn"]
        assert waiting and all(one.daemon for one in waiting), "a process that ends waits for no turn"
    thread.join()
    assert inside == [True]


def test_a_turn_that_ended_is_known() -> None:
    began = time.monotonic_ns()
    with turns.local_turn("t", began) as first:
        assert not first
    between = time.monotonic_ns()
    with turns.local_turn("t", began) as overtaken, turns.local_turn("other", began) as elsewhere:
        assert overtaken and not elsewhere
    with turns.local_turn("t", time.monotonic_ns()) as late, turns.local_turn("u", between):
        assert not late


@pytest.mark.parametrize(("end", "is_later"), [(4, False), (5, False), (6, True)])
def test_the_end_of_the_last_turn_is_compared(tmp_path: Path, end: int, is_later: bool) -> None:
    with turns.local_turn("t"):
        pass
    (file,) = (path for folder in tmp_path.iterdir() for path in folder.iterdir())
    file.write_bytes(end.to_bytes(8, "little"))
    with turns.local_turn("t", 5) as overtaken:
        assert overtaken is is_later


def test_files_of_turns_belong_to_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with turns.local_turn("t"):
            pass
    finally:
        os.umask(before)
    (folder,) = tmp_path.iterdir()
    (file,) = folder.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, file)] == [0o700, 0o600]


@pytest.mark.parametrize("stamp", [b"", b"abc", b"\xff" * 8])
def test_the_end_of_a_turn_may_be_damaged(tmp_path: Path, stamp: bytes) -> None:
    with turns.local_turn("t"):
        pass
    (file,) = (path for folder in tmp_path.iterdir() for path in folder.iterdir())
    file.write_bytes(stamp)
    with turns.local_turn("t", time.monotonic_ns()) as overtaken:
        assert overtaken is (len(stamp) == 8)


def test_work_is_done_while_others_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_LONGEST_WAIT_S", 0.01)
    done: list[str] = []
    with turns.local_turn("t", meanwhile=lambda: done.append("alone")):
        with turns.local_turn("t", meanwhile=lambda: done.append("waiting")):
            assert done == ["waiting"]
        with pytest.raises(OSError), turns.local_turn("t", meanwhile=_full):
            raise AssertionError("it was not entered")


def _full() -> None:
    raise OSError(28, "no space left")


def test_nobody_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_LONGEST_WAIT_S", 0.01)
    with turns.local_turn("t"), turns.local_turn("t") as late:
        assert late


def test_a_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with turns.local_turn("t") as first, turns.local_turn("t") as second:
        assert first is second is False


def test_a_directory_of_another_kind(tmp_path: Path) -> None:
    """What is no directory of ours is not used: there is no turn, and no error."""
    with turns.local_turn("t"):
        pass
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("")
    with turns.local_turn("t") as waited, turns.local_turn("t") as again:
        assert not waited and not again


def test_a_commit_that_waited_is_made_upon_what_came_before(tmp_path: Path) -> None:
    rows = pa.table({"id": [1]})
    tf.write_table(rows, tmp_path / "t", format="iceberg")
    table = tf.open_table(tmp_path / "t")
    other = tf.open_table(tmp_path / "t")
    with table.transaction() as mine:
        mine.append(rows)
        held = threading.Event()
        release = threading.Event()

        def hold() -> None:
            other.append(rows)
            with turns.local_turn(_key(tmp_path / "t")):
                held.set()
                release.wait(5)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(5)
        threading.Timer(0.05, release.set).start()
    thread.join()
    assert mine.commit.attempts == 1, "the change was moved before it was tried"
    assert tf.open_table(tmp_path / "t").count() == 3


def _key(root: Path) -> str:
    found = metadata_of(root)
    return f"{found['location']} {found['table-uuid']}"


def test_a_commit_that_was_overtaken_is_made_upon_the_newest(tmp_path: Path) -> None:
    rows = pa.table({"id": [1]})
    tf.write_table(rows, tmp_path / "t", format="iceberg")
    table = tf.open_table(tmp_path / "t")
    with table.transaction() as mine:
        mine.append(rows)
        tf.open_table(tmp_path / "t").append(rows)
    assert mine.commit.attempts == 1 and table.refresh().scan().count() == 3


def test_what_was_stored_early_is_named_or_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest of a commit that waits is stored meanwhile. One that is then merged is deleted again."""
    monkeypatch.setattr(turns, "_LONGEST_WAIT_S", 0.01)
    rows = pa.table({"id": [1]})
    properties = {"commit.manifest.min-count-to-merge": "3"}
    tf.write_table(rows, tmp_path / "t", format="iceberg", properties=properties)
    for _ in range(4):
        with turns.local_turn(_key(tmp_path / "t")):
            tf.open_table(tmp_path / "t").append(rows)
        table = tf.open_table(tmp_path / "t")
        assert table.scan().count() == sum(table.inspect.manifests()["added_data_files_count"].to_pylist()) + sum(
            table.inspect.manifests()["existing_data_files_count"].to_pylist()
        )
    named = {
        Path(path).name
        for version in table.inspect.snapshots()["snapshot_id"].to_pylist()
        for path in table.inspect.manifests(version=version)["path"].to_pylist()
    }
    stored = {path.name for path in (tmp_path / "t" / "metadata").glob("*-m*.avro")}
    assert stored == named
