"""What another writer's commits are taken for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.write.winners import committed_since

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import CommittedChange
from tests.support.delta_log import DeltaLog, add, field, metadata, remove, vector

Json = dict[str, Any]


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start().commit(1, add("a"), add("b"))


def winner(log: DeltaLog, *actions: Json) -> CommittedChange:
    log.commit(2, *actions)
    [found] = committed_since(log.snapshot(1), log.snapshot(2), Storage(log.root))
    return found


def test_which_versions_are_winners(log: DeltaLog) -> None:
    log.commit(2, add("c")).commit(3, add("d"))
    storage = Storage(log.root)
    snapshots = [log.snapshot(version) for version in range(4)]
    for first, last in ((1, 1), (1, 2), (1, 3), (0, 3)):
        found = committed_since(snapshots[first], snapshots[last], storage)
        assert [one.version for one in found] == [*range(first + 1, last + 1)]
    with pytest.raises(tf.CommitConflictError, match="went back to version 1"):
        list(committed_since(snapshots[3], snapshots[1], storage))
    (log.directory / f"{2:020d}.json").unlink()
    with pytest.raises(tf.CorruptMetadataError, match="missing"):
        list(committed_since(snapshots[1], snapshots[3], storage))


def test_an_append(log: DeltaLog) -> None:
    found = winner(log, {"commitInfo": {"isBlindAppend": True}}, add("c"), add("d"))
    assert found.is_blind_append and found.data_change and not found.metadata_changed and not found.protocol_changed
    assert [path for batch in found.added for path in batch.files["path"].to_pylist()] == ["c", "d"]
    assert found.touched is None and found.domains == frozenset() and found.applications == {}


@pytest.mark.parametrize("told", [{}, {"isBlindAppend": False}, {"isBlindAppend": "true"}])
def test_what_does_not_say_that_it_only_appended(log: DeltaLog, told: Json) -> None:
    assert not winner(log, {"commitInfo": told}, add("c")).is_blind_append


def test_removed_files_and_new_deletes(log: DeltaLog) -> None:
    actions = [remove("a"), remove("b"), add("b", deletionVector=vector()), add("c")]
    found = winner(log, {"commitInfo": {"isBlindAppend": True}}, *actions)
    assert not found.is_blind_append and found.touched is not None
    assert [Path(path).name for path in found.touched.to_pylist()] == ["a", "b"]
    [batch] = found.added
    assert batch.files["path"].to_pylist() == ["b", "c"] and batch.live is not None
    assert batch.live.tolist() == [False, True], "the rows of b were there before"


@pytest.mark.parametrize(
    ("actions", "changes"),
    [
        ([add("c", dataChange=False)], False),
        ([remove("a", dataChange=False), add("c", dataChange=False)], False),
        ([remove("a", dataChange=False), add("c")], True),
        ([remove("a")], True),
        ([{"txn": {"appId": "x", "version": 1}}], False),
    ],
)
def test_whether_rows_changed(log: DeltaLog, actions: list[Json], changes: bool) -> None:
    assert winner(log, *actions).data_change is changes


def test_other_actions(log: DeltaLog) -> None:
    domain = {"domain": "d", "configuration": "", "removed": False}
    found = winner(log, {"domainMetadata": domain}, {"txn": {"appId": "x", "version": 7}})
    assert (found.domains, found.applications, [*found.added]) == (frozenset({"d"}), {"x": 7}, [])
    protocol = {"minReaderVersion": 1, "minWriterVersion": 3}
    other = winner(log, {"protocol": protocol}, {"metaData": metadata(field("id", "long"), field("x", "long"))})
    assert other.metadata_changed and other.protocol_changed
    same = winner(log, *({key: one} for action in log.actions(0) for key, one in action.items()))
    assert not same.metadata_changed and not same.protocol_changed


@pytest.mark.parametrize("version", ["abc", None, True, [1], 1.5])
def test_a_transaction_without_a_number(tmp_path: Path, version: Any) -> None:
    folder, rows = tmp_path / "t", pa.table({"id": [1]})
    tf.create_table(folder, rows.schema, format="delta")
    table, late = tf.open_table(folder), folder / "_delta_log" / f"{1:020d}.json"
    with pytest.raises(tf.CorruptMetadataError) as caught, table.transaction() as txn:
        txn.append(rows)
        late.write_text(json.dumps({"txn": {"appId": "x", "version": version}}))
    assert (caught.value.path, caught.value.field) == (str(late), "txn.version")
    assert caught.value.committed is False
