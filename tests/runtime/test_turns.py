"""Writers of one machine take turns, and nobody waits for long."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.runtime import turns

from ..support.iceberg_writing import metadata_of


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))


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
    thread.join()
    assert inside == [True]


def test_nobody_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_LONGEST_WAIT_S", 0.01)
    with turns.local_turn("t"), turns.local_turn("t") as late:
        assert late


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
