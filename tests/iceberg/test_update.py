"""Tables that go on while they are open: which newer metadata files ``update`` moves on to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tests.support.iceberg_history import History
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import SECOND, metadata_json, snapshot_json, table_with


def write_version(folder: Path, number: int, **changes: Any) -> Path:
    path = folder / "metadata" / f"v{number}.metadata.json"
    path.write_text(json.dumps(metadata_json(**changes)))
    return path


def snapshots(*ids: int) -> dict[str, Any]:
    return {"snapshots": [snapshot_json(i, i) for i in ids], "current-snapshot-id": ids[-1]}


def test_update_moves_on_to_the_newest_metadata_file(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    write_version(tmp_path, 1)
    table = tf.open_table(tmp_path)
    empty = table.snapshot()
    assert (empty.version, empty.update() is empty) == (-1, True)
    write_version(tmp_path, 2, **snapshots(10))
    first = empty.update()
    assert (first.version, first.update() is first, empty.version) == (10, True, -1)
    write_version(tmp_path, 3, **snapshots(10, 20))
    with pytest.raises(SnapshotNotFoundError):
        table.snapshot(20)
    assert first.update().version == table.snapshot(20).version == 20
    assert table.history()["version"].to_pylist() == [20]
    newest = first.update()
    # Another schema without a snapshot of its own.
    write_version(tmp_path, 4, **snapshots(10, 20), schemas=[{"type": "struct", "schema-id": 0, "fields": SECOND}])
    assert first.update().schema.names == ["a", "b", "c"]
    assert [newest.update().schema.names for _ in range(2)] == [["a", "b", "c"]] * 2
    # As the Java reference does, versions behind a stale hint are found.
    (tmp_path / "metadata" / "version-hint.text").write_text("2")
    write_version(tmp_path, 5, **snapshots(10, 20, 30))
    with pytest.raises(SnapshotNotFoundError):
        table.snapshot(30)
    assert first.update().version == 30


def test_update_of_a_table_that_was_opened_at_a_file(tmp_path: Path) -> None:
    """What lies beside it need not be committed."""
    (tmp_path / "metadata").mkdir()
    file = write_version(tmp_path, 1, **snapshots(10))
    snapshot = tf.open_table(file).snapshot()
    write_version(tmp_path, 2, **snapshots(10, 20))
    assert snapshot.update() is snapshot


def test_update_of_a_moved_table(tmp_path: Path) -> None:
    """The newer metadata may call the table's place otherwise."""
    table_with(tmp_path, (manifest_bytes([entry("/old/t/data/a")]), {}))
    table = tf.open_table(tmp_path, relocate=True)
    assert table.scan().plan().file_uris() == [f"{tmp_path}/data/a"]
    there = snapshot_json(8, 2, **{"manifest-list": "/new/t/metadata/snap-7.avro"})
    write_version(tmp_path, 2, location="/new/t", snapshots=[there], **{"current-snapshot-id": 8})
    assert table.snapshot().update().scan().plan().file_uris() == [f"{tmp_path}/data/a"]


def test_update_in_a_directory_that_became_ambiguous(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    write_version(tmp_path, 1, **snapshots(10))
    snapshot = tf.open_table(tmp_path).snapshot()
    for name in ("00002-a", "00002-b"):
        (tmp_path / "metadata" / f"{name}.metadata.json").write_text(json.dumps(metadata_json()))
    with pytest.raises(CorruptMetadataError, match="ambiguous"):
        snapshot.update()


def test_an_older_snapshot_after_a_newer_one(tmp_path: Path) -> None:
    """What is kept of the newer one has files whose manifest the older one has not."""
    history = History(tmp_path / "t")
    history.commit("append", add=[[1], [2], [3]])
    history.commit("append", add=[[4]])
    table = tf.open_table(history.root)
    assert len(table.scan().plan()) == 4
    assert table.scan("id = 2", version=101).to_arrow()["id"].to_pylist() == [2]
