"""The commits of a range of versions: which ranges there are, what is read, and which older versions are needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.changes import change_batches
from tableformats_delta.changes.change_log import check_range, read_change_log
from tableformats_delta.log.listing import list_log
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot

import tableformats as tf
from tableformats.io.storage import Storage
from tests.support.delta_changes import change_file, changes_of, data_file, deletes, id_file, inserts
from tests.support.delta_log import WITH_VECTORS, DeltaLog, add, field, metadata, remove, request


@pytest.mark.parametrize(
    ("oldest", "commits", "asked", "message", "hint"),
    [
        (0, range(6), (0, 5), None, None),
        (2, range(2, 6), (2, 5), None, None),
        (5, (5,), (5, 5), None, None),
        (0, range(6), (0, 6), "no version 6", "versions 0 to 5"),
        (0, range(6), (6, 7), "no version 6", "versions 0 to 5"),
        (0, range(6), (-1, 2), "no version -1", "versions 0 to 5"),
        (0, range(6), (4, 3), "version 3 is before the starting version 4", "versions 0 to 5"),
        (2, range(2, 6), (1, 5), "changes of version 1 are not known", "versions 2 to 5"),
        (5, (5,), (4, 5), "changes of version 4 are not known", "versions 5 to 5"),
        (3, range(1, 6), (0, 5), "changes of version 0 are not known", "versions 3 to 5"),
        (1, (1, 2, 4, 5), (2, 4), "changes of version 3 are not known", "versions 4 to 5"),
        (4, (3, 4), (4, 5), "changes of version 5 are not known", "No changes"),
        (5, (), (5, 5), "changes of version 5 are not known", "No changes"),
        (None, range(1, 6), (0, 5), "changes of version 0 are not known", "versions 1 to 5"),
        (None, (5,), (0, 5), "changes of version 0 are not known", "versions 5 to 5"),
    ],
)
def test_ranges(
    oldest: int | None, commits: Any, asked: tuple[int, int], message: str | None, hint: str | None
) -> None:
    """Version 5 is the latest. A commit below the oldest version is read where it is asked for, but not offered."""
    listing: Any = SimpleNamespace(latest=5, oldest=oldest, commits=dict.fromkeys(commits), directory="/t/_delta_log")
    if message is None or hint is None:
        check_range(listing, *asked)
        return
    with pytest.raises(tf.SnapshotNotFoundError, match=message) as caught:
        check_range(listing, *asked)
    assert caught.value.path == "/t/_delta_log"
    assert hint in str(caught.value.hint)


OTHER = {"metaData": metadata(field("id", "long"), field("note", "string"))}
PROTOCOL = {"protocol": WITH_VECTORS}
BY_P = {"metaData": metadata(field("id", "long"), field("p", "string"), partition=("p",))}
IN_P = {"partitionValues": {"p": "x"}}


@pytest.mark.parametrize(
    ("commits", "starting", "asked"),
    [
        ([[add("1")], [remove("1")]], 1, []),
        ([[add("1")], [remove("1")]], 0, []),
        # A protocol that comes within the range, but not in its first commit, says nothing of the one before.
        ([[add("1")], [PROTOCOL]], 1, [1]),
        ([[add("1")], [PROTOCOL]], 2, []),
        ([[PROTOCOL], [PROTOCOL]], 1, []),
        # So it is with the schema, which is that of the files that the first commit removes.
        ([[add("1")], [OTHER]], 1, [1]),
        ([[add("1")], [OTHER]], 0, []),
        ([[add("1")], [OTHER]], 2, []),
        ([[OTHER], [add("1")]], 1, []),
        ([[add("1"), OTHER], [add("2")]], 1, []),
        ([[add("1")], [OTHER, remove("1")]], 2, [1]),
        ([[OTHER, remove("0")], [add("2")]], 1, [0]),
        ([[OTHER, remove("0", dataChange=False)], [add("2")]], 1, []),
        ([[OTHER, remove("0", dataChange=None)], [add("2")]], 1, [0]),
        # Partition values that a remove does not bring are those of the add, in the range or before it.
        ([[BY_P, add("1", **IN_P)], [remove("1")]], 1, []),
        ([[BY_P, add("1", **IN_P)], [remove("1")]], 2, [1]),
        ([[BY_P, add("1", **IN_P)], [remove("1", **IN_P)]], 2, []),
    ],
)
def test_versions_that_are_asked_for(
    tmp_path: Path, commits: list[list[dict[str, Any]]], starting: int, asked: list[int]
) -> None:
    log = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)
    for version, actions in enumerate(commits, 1):
        log.commit(version, *actions)
    found, at = read(log, starting)
    assert at == asked
    assert [commit.file.version for commit in found] == list(range(starting, len(commits) + 1))


def read(log: DeltaLog, starting: int) -> tuple[list[Any], list[int]]:
    """The commits from ``starting`` on, and the versions that were asked for."""
    asked = []

    def at(version: int) -> DeltaSnapshot:
        asked.append(version)
        return log.snapshot(version)

    storage = Storage(log.root)
    ask: Callable[[int], DeltaSnapshot] = at
    return read_change_log(storage, list_log(storage), starting, log.snapshot(), ask), asked


def test_what_a_commit_says(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, PROTOCOL, BY_P, mtime_ms=4000)
    log.commit(1, add("1", size=7, **IN_P), add("2", dataChange=False, **IN_P), mtime_ms=5000)
    known = {"size": 9, "stats": '{"numRecords":3}', "baseRowId": 4, "defaultRowCommitVersion": 1}
    log.commit(
        2,
        remove("1", **IN_P, **known),
        remove("2", dataChange=False),
        {"cdc": {"path": "c", "partitionValues": {"p": None}, "size": 5, "dataChange": False}},
        mtime_ms=6000,
    )
    (first, second), _ = read(log, 1)
    assert first.adds["path"].to_pylist() == ["1", "2"] and first.adds["size"].to_pylist() == [7, 10]
    assert first.data_change.to_pylist() == [True, False] and first.removes.num_rows == first.cdc.num_rows == 0
    (gone,) = second.removes.to_pylist()
    assert gone == {
        "path": "1",
        "partition_values": [("p", "x")],
        "size": 9,
        "modification_time": None,
        "stats": '{"numRecords":3}',
        "deletion_vector": [],
        "base_row_id": 4,
        "row_commit_version": 1,
    }
    assert second.cdc["path"].to_pylist() == ["c"] and second.cdc["partition_values"].to_pylist() == [[("p", None)]]
    assert (first.timestamp_ms, second.timestamp_ms) == (5000, 6000)


def test_layouts(tmp_path: Path) -> None:
    """A commit that changes the schema removes files of the one before and adds files of the new one."""
    log = DeltaLog(tmp_path / "t").start()
    log.commit(1, add("1")).commit(2, OTHER, remove("1"), add("2")).commit(3, remove("2"))
    found, _ = read(log, 1)
    names = [(list(c.before.schema.names), list(c.after.schema.names)) for c in found]
    assert names == [(["id"], ["id"]), (["id"], ["id", "note"]), (["id", "note"], ["id", "note"])]


def test_files_that_are_not_read_may_be_of_any_schema(tmp_path: Path) -> None:
    """Changed rows that are written apart stand for the removed files, whose column is no more."""
    log = DeltaLog(tmp_path / "t").start()
    rows = pa.table({"key": ["x"], "_change_type": ["insert"]})
    log.commit(1, id_file(log, "1", [1]))
    log.commit(2, {"metaData": metadata(field("key", "string"))}, remove("1"), change_file(log, "c", rows))
    assert changes_of(log.root, 2) == [("insert", 2, ("x",))]
    log.commit(3, id_file(log, "3", [1]), {"metaData": metadata(field("key", "string"))})
    log.commit(4, {"metaData": metadata(field("id", "long"))})
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        changes_of(log.root, 3)
    assert caught.value.field == "key"
    assert changes_of(log.root, 4) == []


def test_removes_of_tables_without_partitions_lack_nothing(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, remove("1")).commit(2, remove("2"))
    found, asked = read(log, 1)
    assert asked == [] and [c.removes["partition_values"].to_pylist() for c in found] == [[None], [None]]


def test_partition_values_of_removes(tmp_path: Path) -> None:
    """The newest add before the range counts where the range has none; values that are there stay."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "string"), partition=("p",))
    log.commit(1, *(add(name, partitionValues={"p": name}) for name in "abc"))
    log.commit(2, remove("a"), remove("b", partitionValues={"p": "own"}), remove("c"))
    log.commit(3, remove("d", partitionValues={"p": "d"}))
    found, asked = read(log, 2)
    assert asked == [1]
    values = [c.removes["partition_values"].to_pylist() for c in found]
    assert values == [[[("p", "a")], [("p", "own")], [("p", "c")]], [[("p", "d")]]]


def test_the_first_version_has_none_before_it(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t")
    log.commit(0, {"protocol": WITH_VECTORS}, BY_P, remove("1"))
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        read(log, 0)
    assert caught.value.field == "remove.partitionValues"
    assert caught.value.path == str(log.directory / f"{0:020d}.json")


def test_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are read together up to a number of files, but not those whose rows have a type of their own."""
    log = DeltaLog(tmp_path / "t").start()
    for version in range(1, 6):
        log.commit(version, id_file(log, str(version), [version]))
    log.commit(6, change_file(log, "c", pa.table({"id": [6], "_change_type": ["insert"]})))
    log.commit(7, id_file(log, "7", [7]), id_file(log, "8", [8])).commit(8, remove("7"))
    changes = log.table().changes(1)
    monkeypatch.setattr(change_batches, "_BATCH_ROWS", 2)
    found = list(changes.read(request()))
    assert [batch.versions.to_pylist() for batch in found] == [[1, 2], [3, 4], [5], [6], [7, 7], [8]]
    assert [batch.change_types and batch.change_types.to_pylist() for batch in found] == [
        *[["insert"] * n for n in (2, 2, 1)],
        None,
        ["insert"] * 2,
        ["delete"],
    ]
    assert [batch.batch.files["size_bytes"].to_pylist()[-1] for batch in found[-2:]] == [
        (log.root / "8").stat().st_size,
        0,
    ]


def test_specs_of_other_layouts(tmp_path: Path) -> None:
    """The spec of the newest schema is the first; partition columns of before get the ids that follow."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "string"), partition=("p",))
    log.commit(1, data_file(log, "1", pa.table({"id": [1]}), **IN_P))
    by_id = metadata(field("id", "long"), field("p", "string"), partition=("id",))
    log.commit(2, {"metaData": by_id}, remove("1", **IN_P))
    changes = log.table().changes(1)
    assert {i: [(f.id, f.name) for f in spec.fields] for i, spec in changes.specs.items()} == {
        0: [(1000, "id")],
        1: [(1001, "p")],
    }
    assert [(b.batch.spec_id, b.batch.statistics is not None) for b in changes.read(request())] == [(1, True)]


def test_statistics_of_another_type_are_left_out(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
    log.commit(1, id_file(log, "1", [1])).commit(2, {"metaData": metadata(field("id", "long"))})
    log.commit(3, id_file(log, "3", [3]))
    changes = log.table().changes(1)
    found = [(b.versions.to_pylist(), b.batch.statistics is not None) for b in changes.read(request())]
    assert found == [([1], False), ([3], True)]
    assert changes_of(log.root, 1) == inserts(1, 1) + inserts(3, 3)
    assert changes_of(log.root, 1, filter="id = 5") == deletes(1)
