"""What comes after a version is found by the names of commits, and the log is listed where that does not do."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import Mock, patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta import table as delta_table
from tableformats_delta.checkpoints.checkpoint_files import CheckpointFile
from tableformats_delta.log import next_commits
from tableformats_delta.log.listing import list_log
from tableformats_delta.log.next_commits import following, keep_own_checkpoint, upon_own_checkpoint
from tableformats_delta.maintenance import replay
from tableformats_delta.write import transaction as delta_transaction

import tableformats as tf
from tableformats.io.storage import Storage
from tests.support.delta_log import DeltaLog, add

ROW = pa.table({"id": [1]})


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    found = tf.create_table(tmp_path / "t", ROW.schema, format="delta")
    found.append(ROW)
    return found


def test_a_writer_does_not_list_the_log_again(table: tf.Table) -> None:
    with patch.object(delta_table, "list_log", side_effect=AssertionError("the log is listed")):
        for version in range(2, 20):
            assert table.append(ROW).version == version
    rival = tf.open_table(table.location)
    for _ in range(7):
        rival.append(ROW)
    with patch.object(delta_table, "list_log", side_effect=AssertionError("the log is listed")):
        commit = table.append(ROW)
    assert (commit.version, commit.attempts, table.count()) == (27, 1, 27)


def test_a_writer_that_was_overtaken_notices_it_before_it_tries_and_takes_turns_from_then_on(table: tf.Table) -> None:
    with patch.object(delta_transaction, "local_turn", wraps=delta_transaction.local_turn) as turn:
        with table.transaction() as txn:
            txn.append(ROW)
            tf.open_table(table.location).append(ROW)
        assert txn.commit is not None and (txn.commit.version, txn.commit.attempts) == (3, 1) and not turn.called
        table.append(ROW)
        assert turn.called
    with pytest.raises(tf.CommitConflictError), table.transaction() as txn:
        txn.delete("id = 1")
        tf.open_table(table.location).delete("id = 1")
    assert table.count() == 0


def test_a_writer_goes_on_from_its_own_checkpoint(table: tf.Table) -> None:
    table.append(ROW, application=("nightly", 1))
    with patch.object(delta_table, "list_log", side_effect=AssertionError("the log is listed")):
        for _ in range(9):
            table.append(ROW)
        segment = table._opened._head.segment  # type: ignore[attr-defined]
        assert segment.checkpoint.version == 10 and not segment.commits
        assert table.append(ROW, application=("nightly", 1)).attempts == 0
        assert table.delete("id = 1").metrics["removed_files"] == 11
        assert table.append(pa.table({"id": [7]})).version == 13
    other = tf.open_table(table.location)
    assert other.scan().to_arrow()["id"].to_pylist() == [7] and other.verify().rules == {}


def test_the_next_checkpoint_is_made_without_reading_the_own_last_one(table: tf.Table) -> None:
    for number in range(9):
        table.append(ROW, application=("nightly", number))
    assert table.delete("id = 1").version == 11
    with patch.object(CheckpointFile, "open_source", side_effect=AssertionError("a checkpoint is read")):
        for number in range(9):
            table.append(pa.table({"id": [number]}))
    log = Path(table.location) / "_delta_log"
    name = f"{20:020d}.checkpoint.parquet"
    [written] = [path for path in log.iterdir() if path.name == name]
    ours = pq.read_table(written)
    written.unlink()
    tf.open_table(table.location).checkpoint(20)  # knows no rows, and reads the checkpoint of version 10
    for column in ours.schema.names:
        kinds = [list(filter(None, one[column].to_pylist())) for one in (ours, pq.read_table(written))]
        assert sorted(map(str, kinds[0])) == sorted(map(str, kinds[1])), column
    assert len([one for one in ours["remove"].to_pylist() if one]) == 10
    assert {one["appId"] for one in ours["txn"].to_pylist() if one} == {"nightly"}
    assert tf.open_table(table.location).verify().rules == {}


def test_a_checkpoint_of_another_version_is_none_of_the_known_one(table: tf.Table) -> None:
    known = table.snapshot().format_snapshot.segment  # type: ignore[attr-defined]
    cache = tf.MetadataCache()
    keep_own_checkpoint(table.storage, known.version, cache)
    assert upon_own_checkpoint(known, cache) is known, "there is none"
    table.checkpoint(0)
    keep_own_checkpoint(table.storage, 0, cache)
    assert upon_own_checkpoint(known, cache) is known
    table.checkpoint()
    keep_own_checkpoint(table.storage, known.version, cache)
    found = upon_own_checkpoint(known, cache)
    assert (found.version, found.commits, found.newest_commit) == (known.version, (), known.commits[0])
    newer = following(table.storage, found)
    assert newer is not None and newer[0] is found
    table.append(ROW)
    newer = following(table.storage, found)
    assert newer is not None and [file.version for file in newer[0].commits] == [known.version + 1]


def test_the_log_is_listed_now_and_then(table: tf.Table) -> None:
    with patch.object(delta_table, "list_log", wraps=delta_table.list_log) as listed:
        for _ in range(68):
            table.append(ROW)
        assert not listed.called, "the own checkpoint is never far"
        table.alter.set_properties({"delta.checkpointInterval": "1000"})
        for _ in range(70):
            table.append(ROW)
    assert listed.call_count == 1, "at the version 127"


def test_a_table_that_was_replaced_is_noticed(table: tf.Table, tmp_path: Path) -> None:
    table.append(ROW)
    shutil.rmtree(tmp_path / "t")
    tf.create_table(tmp_path / "t", pa.schema({"other": pa.string()}), format="delta")
    with pytest.raises(tf.ConstraintViolationError):
        table.append(ROW)
    other = tf.open_table(tmp_path / "t")
    for _ in range(5):
        other.append(pa.table({"other": ["x"]}))
    with pytest.raises(tf.ConstraintViolationError):
        table.append(ROW)
    assert other.count() == 5


def test_what_is_not_followed_is_listed(table: tf.Table, tmp_path: Path) -> None:
    known = table.snapshot().format_snapshot.segment  # type: ignore[attr-defined]
    found = following(table.storage, known)
    assert found is not None and found[0] is known, "nothing is new"
    table.checkpoint()
    at_checkpoint = tf.open_table(tmp_path / "t").snapshot().format_snapshot.segment  # type: ignore[attr-defined]
    assert not at_checkpoint.commits and following(table.storage, at_checkpoint) is None
    table.append(ROW)
    behind = tf.open_table(tmp_path / "t").snapshot().format_snapshot.segment  # type: ignore[attr-defined]
    table.append(ROW)
    newer = following(table.storage, behind)
    assert newer is not None and newer[0].version == behind.version + 1 and newer[0].checkpoint == behind.checkpoint


def test_how_far_a_log_is_followed(tmp_path: Path) -> None:
    log, storage = DeltaLog(tmp_path / "t").start(), Storage(tmp_path / "t")
    for version in range(1, 6):
        log.commit(version, add(str(version)))
    listing = list_log(storage)
    segments = [listing.segment(version) for version in range(6)]
    with patch.object(next_commits, "_LISTED_EVERY", 3):
        newer = [following(storage, known) for known in segments]
        # More than three come after 0 and 1, and 2 and 5 have three commits or more to the end of a group of three.
        assert [one and len(one[0].commits) for one in newer] == [None, None, None, 6, 6, None]
        log.commit(6, add("6"))
        newer = [following(storage, known) for known in segments]
        assert [one and len(one[0].commits) for one in newer] == [None, None, None, 7, 7, None]
    found = following(storage, segments[2])
    assert found is not None and (found[0].version, [*found[1].commits]) == (6, [2, 0, 1, 3, 4, 5, 6])


def test_compactions_are_no_commits_that_are_known(tmp_path: Path) -> None:
    log, storage = DeltaLog(tmp_path / "t").start(), Storage(tmp_path / "t")
    for version in range(1, 4):
        log.commit(version, add(str(version)))
    listing = list_log(log.compact(0, 2) and storage)
    found = following(storage, listing.segment(3))
    assert found is not None and [*found[1].commits] == [3] and not found[1].checkpoints
    assert following(storage, listing.segment(2)) is None, "its own commit is not among the files"


def versions_in(reading: Mock) -> list[int]:
    return [file.version for call in reading.call_args_list for file in call.args[1]]


def test_a_checkpoint_of_own_commits(table: tf.Table) -> None:
    """The writer takes their actions from memory, and the checkpoint is that of who reads them."""
    table.append(pa.table({"id": [2, 3]}), application=("nightly", 1))
    table.delete("id = 2")
    table.append(ROW)
    table.restore(2)
    table.delete("id = 3")
    with patch.object(replay, "read_commits", wraps=replay.read_commits) as reading:
        path = Path(table.checkpoint().path)
    assert versions_in(reading) == [0]  # the table was opened after it
    own = pq.read_table(path).to_pylist()
    path.unlink()
    tf.open_table(table.location).checkpoint()
    read = pq.read_table(path).to_pylist()
    assert sorted(map(repr, own)) == sorted(map(repr, read))
    assert sum(row["add"] is not None for row in own) == 2 and sum(row["remove"] is not None for row in own) > 1


def test_a_checkpoint_of_own_commits_upon_those_of_others(table: tf.Table) -> None:
    table.append(pa.table({"id": [2]}))
    rival = tf.open_table(table.location)
    rival.delete("id = 1")
    for _ in range(3):
        table.append(ROW)
    with patch.object(replay, "read_commits", wraps=replay.read_commits) as reading:
        path = Path(table.checkpoint().path)
    assert versions_in(reading) == [3, 2, 1, 0]
    rows = pq.read_table(path)["add"].to_pylist()
    assert sum(row is not None for row in rows) == table.scan().plan().files.num_rows == 4
