"""Which versions a verifier judges, what it remembers of them, and the shapes of statistics that it reads at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.verification import plain_statistics
from tableformats_delta.verification.column_rules import doubtful_partitions
from tableformats_delta.verification.commit_file import file_key
from tableformats_delta.verification.live_files import LiveFiles
from tableformats_delta.verification.plain_statistics import (
    _MARK,
    _leaf_types,
    _merged,
    _schema_of,
    doubtful_statistics,
)
from tableformats_delta.verification.stored_actions import StoredActions, as_json

import tableformats as tf
from tableformats.plugin import Field, primitive
from tests.support.delta_log import ADD, VECTOR_TYPE, DeltaLog, add, first_actions, remove, vector

Json = dict[str, Any]


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Versions 0 to 4, of which 1 to 4 add ``f1`` to ``f4``; the files are there."""
    log = DeltaLog(tmp_path / "t").start()
    for version in range(1, 5):
        name = f"f{version}"
        (log.root / name).write_bytes(bytes(10))
        log.commit(version, add(name))
    return log


def rules(log: DeltaLog, version: int | None = None) -> list[tuple[str, int | None]]:
    """But for fields of metadata that checkpoints of tests do not have."""
    return [(one.rule, one.version) for one in log.table().verify(version) if not one.what.startswith("metaData.")]


def checkpoint(log: DeltaLog, version: int, *files: str) -> None:
    adds = [{"add": {**add(name)["add"], "partitionValues": []}} for name in files]
    log.checkpoint(f"{version:020d}.checkpoint.parquet", *first_actions(), *adds)


def test_a_sound_table(log: DeltaLog) -> None:
    checkpoint(log, 2, "f1", "f2")
    assert rules(log) == rules(log, 0) == rules(log, 2) == rules(log, 4) == []


def test_each_version_is_judged_by_itself(log: DeltaLog) -> None:
    log.commit(5, remove("nowhere")).commit(6, add("f1", dataChange=None))
    assert rules(log, 5) == [("remove-of-unknown-file", 5)]
    assert rules(log, 6) == [("missing-data-change", 6)]
    assert rules(log) == [("remove-of-unknown-file", 5), ("missing-data-change", 6)]


def test_files_on_the_disk_are_those_of_the_version(log: DeltaLog) -> None:
    (log.root / "f2").unlink()
    log.commit(5, remove("f2"))
    assert rules(log, 1) == [] and rules(log, 2) == [("file-missing", 2)] and rules(log, 4) == [("file-missing", 4)]
    assert rules(log, 5) == rules(log) == []
    (log.root / "f3").write_bytes(bytes(9))
    assert rules(log, 5) == [("file-size", 5)]


def test_behind_a_gap_only_a_checkpoint_says_what_is_there(log: DeltaLog) -> None:
    (log.directory / f"{2:020d}.json").unlink()
    log.commit(5, remove("f1"), remove("f2"))
    assert [rule for rule, _ in rules(log)] == ["version-gap"]
    checkpoint(log, 4, "f1", "f3", "f4")
    assert rules(log) == [("version-gap", 2), ("remove-of-unknown-file", 5)]


def test_a_checkpoint_without_its_commit(log: DeltaLog) -> None:
    for version in range(3):
        (log.directory / f"{version:020d}.json").unlink()
    checkpoint(log, 2, "f1", "f2")
    assert rules(log) == [] and rules(log, 2) == [] and rules(log, 3) == []
    log.commit(5, remove("f1"), remove("nowhere"))
    assert rules(log) == [("remove-of-unknown-file", 5)]


def test_a_checkpoint_that_says_otherwise(log: DeltaLog) -> None:
    checkpoint(log, 2, "f1")
    assert rules(log) == rules(log, 2) == [("checkpoint-state", 2)]
    assert rules(log, 3) == [], "it begins with the checkpoint"
    path = log.directory / f"{2:020d}.checkpoint.parquet"
    path.write_bytes(b"no Parquet")
    found = next(iter(log.table().verify(2)))
    assert (found.rule, found.path, found.version) == ("damaged-file", str(path), 2)


def test_a_part_of_a_checkpoint_that_is_damaged(log: DeltaLog) -> None:
    names = [f"{4:020d}.checkpoint.{part:010d}.{2:010d}.parquet" for part in (1, 2)]
    log.checkpoint(names[0], *first_actions()).write(names[1], b"no Parquet")
    found = next(iter(log.table().verify(4)))
    assert (found.rule, found.path, found.version) == ("damaged-file", str(log.directory / names[1]), 4)


def test_files_of_a_first_checkpoint_are_judged(log: DeltaLog) -> None:
    """No commit has said what they are."""
    for version in range(3):
        (log.directory / f"{version:020d}.json").unlink()
    adds = [
        {"add": {**add("f1", stats="{")["add"], "partitionValues": []}},
        {"add": {**add("f2")["add"], "partitionValues": [("x", "1")]}},
    ]
    log.checkpoint(f"{2:020d}.checkpoint.parquet", *first_actions(), *adds)
    assert sorted(rules(log)) == [("partition-keys", 2), ("statistics", 2)]


def test_checksum_files_of_versions(log: DeltaLog) -> None:
    log.write(f"{3:020d}.crc", json.dumps({"numFiles": 7, "tableSizeBytes": 30}).encode())
    assert ("checksum-file", 3) in rules(log) and ("checksum-file", 3) in rules(log, 3) and rules(log, 4) == []


@pytest.mark.parametrize(("first", "last"), [(1, 2), (2, 4)])
def test_compactions_of_versions(log: DeltaLog, first: int, last: int) -> None:
    log.compact(first, last)
    assert rules(log) == []
    log.write(f"{first:020d}.{last:020d}.compacted.json", json.dumps(add("x")).encode())
    assert rules(log) == [("compaction-state", last)] and rules(log, last - 1) == []
    (log.directory / f"{first:020d}.json").unlink()
    assert ("compaction-state", last) not in rules(log), "its commits are not known"


def test_versions_that_there_are(log: DeltaLog) -> None:
    checkpoint(log, 7, "f1")
    assert rules(log, 7) == []
    for version in (5, 8, -1):
        with pytest.raises(tf.SnapshotNotFoundError):
            rules(log, version)


# ---- live files ------------------------------------------------------------------------------------------------------


def block(*names: str) -> StoredActions:
    return StoredActions(
        "add", pa.array([{**add(name, size=len(name))["add"], "partitionValues": []} for name in names], ADD)
    )


def test_rows_of_checkpoints_are_live_files() -> None:
    live = LiveFiles()
    for one in (block("a", "bb"), block(), block("ccc", "dddd")):
        live.begin(one)
    live.add("e", {"path": "e", "size": 5})
    assert len(live) == 5 and "bb" in live and "x" not in live and live.has_path("ccc") and not live.has_path("x")
    assert live.values_of("size") == [1, 2, 3, 4, 5] and live.values_of("unknown") == [None] * 5
    assert [one["path"] for one in live.actions()] == ["a", "bb", "ccc", "dddd", "e"]
    live.add("a", {"path": "a", "size": 9})
    assert live.remove("ccc") and not live.remove("ccc")
    assert [one["size"] for one in live.actions()] == [9, 2, 4, 5]
    live.begin(block("bb"))
    assert [one["path"] for one in live.actions()] == ["a", "bb", "dddd", "e"], "the newest row counts"


def test_rows_of_one_batch() -> None:
    live = LiveFiles()
    live.begin(block("a", "bb"))
    assert [one["path"] for one in live.actions()] == ["a", "bb"]


def test_stored_actions() -> None:
    found = block("a%20b", "c")
    assert (len(found), found.keys, found.plain("size")) == (2, ["a b", "c"], [5, 1])
    assert found.column("unknown") is None and found.plain("unknown") == [None, None]
    assert found.action(1)["path"] == "c" and found.action(1)["partitionValues"] == {}
    kind = pa.struct([("path", pa.string()), ("deletionVector", VECTOR_TYPE)])
    with_vector = StoredActions("remove", pa.array([{"path": "a", "deletionVector": vector()}, {"path": "b"}], kind))
    assert with_vector.keys[0].startswith("a\0u") and with_vector.keys[1] == "b"


@pytest.mark.parametrize(
    ("member", "kind", "can_hold"),
    [
        ("path", pa.string(), True),
        ("path", pa.int64(), False),
        ("size", pa.int32(), True),
        ("size", pa.string(), False),
        ("partitionValues", pa.map_(pa.string(), pa.string()), True),
        ("partitionValues", pa.map_(pa.string(), pa.int64()), False),
        ("unknown", pa.list_(pa.int64()), True),
        ("deletionVector", VECTOR_TYPE, True),
        ("deletionVector", pa.string(), False),
        ("deletionVector", pa.struct([("offset", pa.string())]), False),
    ],
)
def test_types_that_are_held(member: str, kind: pa.DataType, can_hold: bool) -> None:
    assert StoredActions.can_hold("add", pa.struct([(member, kind)])) is can_hold
    assert not StoredActions.can_hold("add", pa.struct([(member, kind), (member, kind)]))


def test_rows_as_json() -> None:
    row = {"tags": [("k", "v")], "list": [1], "vector": {"a": None}, "s": {"a": 1, "b": None}, "x_parsed": 1, "n": None}
    assert as_json(row) == {"tags": {"k": "v"}, "list": [1], "s": {"a": 1}}


# ---- shapes of statistics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "value", "shape"),
    [
        (None, None, None),
        (None, 1, int),
        (int, None, int),
        (int, 2, int),
        (int, 1.5, float),
        (float, 1, float),
        (None, "a", str),
        (None, {"a": 1, "b": None}, {"a": int, "b": None}),
        ({"a": int}, {"a": 1.5, "c": "x"}, {"a": float, "c": str}),
        ({"a": int}, None, {"a": int}),
        (None, {}, {}),
    ],
)
def test_shapes(known: Any, value: Any, shape: Any) -> None:
    assert _merged(known, value) == shape


@pytest.mark.parametrize(
    ("known", "value"),
    [
        (int, "a"),
        (str, 1),
        (bool, 1),
        (int, True),
        (str, {}),
        ({}, 1),
        (int, {"a": 1}),
        (None, {_MARK: 1}),
        ({"a": int}, {"a": "x"}),
    ],
)
def test_shapes_that_differ(known: Any, value: Any) -> None:
    with pytest.raises(ValueError):
        _merged(known, value)


def test_how_deep_shapes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_statistics, "_MOST_LEVELS", 2)
    assert _merged(None, {"a": {"b": 1}}) == {"a": {"b": int}}
    with pytest.raises(ValueError):
        _merged(None, {"a": {"b": {"c": 1}}})


def test_schemas_of_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both bounds have the types of each of them."""
    rows = [{"numRecords": 1, "minValues": {"a": 1}}, {"maxValues": {"a": 1.5, "b": "x"}, "own": None}]
    found = _schema_of([json.dumps(row) for row in rows])
    bounds = pa.struct([("a", pa.float64()), ("b", pa.string())])
    kinds = {_MARK: pa.int64(), "numRecords": pa.int64(), "minValues": bounds, "maxValues": bounds, "own": pa.null()}
    assert found is not None and dict(zip(found.names, found.types, strict=True)) == kinds
    assert len([*_leaf_types(pa.struct(list(found)))]) == 7
    for most, is_known in ((7, True), (6, False)):
        monkeypatch.setattr(plain_statistics, "_MOST_MEMBERS", most)
        assert (_schema_of([json.dumps(row) for row in rows]) is not None) is is_known
    for wrong in ("{", json.dumps({_MARK: 1}), '{"a": [1]}', "[" * 100_000):
        assert _schema_of([wrong]) is None


@pytest.mark.parametrize("block_size", [70, 140, 1 << 13])
def test_blocks_of_statistics(block_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its own part of the deleted rows."""
    monkeypatch.setattr(plain_statistics, "_BLOCK", block_size)
    texts = ['{"numRecords": 10}'] * 140
    deleted: list[int | None] = [10] * 140
    assert not doubtful_statistics(pa.array(texts), pa.array(deleted)).any()
    deleted[3] = deleted[75] = deleted[139] = 11
    deleted[80] = None
    texts[90], texts[100] = "{", '{"numRecords": -1}'
    found = doubtful_statistics(pa.array(texts), pa.array(deleted))
    assert {3, 75, 90, 100, 139} <= set(np.flatnonzero(found).tolist())
    assert doubtful_statistics(pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize(("least", "doubtful"), [(64, 0), (65, 64)])
def test_few_statistics_are_looked_at_one_by_one(least: int, doubtful: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_statistics, "LEAST_TEXTS", least)
    assert doubtful_statistics(pa.array(['{"numRecords": 10}'] * 64)).sum() == doubtful


@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        ('{"numRecords": 0, "nullCount": {"a": 0}}', False),
        ('{"numRecords": 2, "nullCount": {"a": 2}}', False),
        ('{"numRecords": 2, "nullCount": {"a": 3}}', True),
        ('{"numRecords": 2, "nullCount": {"a": -1}}', True),
        ('{"numRecords": 2, "nullCount": {"a": 9223372036854775807}, "tightBounds": false}', False),
        ('{"numRecords": 2, "nullCount": {"a": 3}, "tightBounds": false}', False),
        ('{"numRecords": 2, "nullCount": {"a": -1}, "tightBounds": false}', True),
        ('{"numRecords": 2, "nullCount": {"a": 3}, "tightBounds": true}', True),
        ('{"numRecords": 2, "minValues": {"a": 1, "f": 0.5}, "maxValues": {"a": 1, "f": 0.5}}', False),
        ('{"numRecords": 2, "minValues": {"a": 2}, "maxValues": {"a": 1}}', True),
        ('{"numRecords": 2, "minValues": {"a": 2}}', False),
        ('{"numRecords": 2, "minValues": {"f": 9007199254740992.0}, "maxValues": {"f": 9007199254740992.0}}', True),
        ('{"numRecords": 2, "minValues": {"f": 9007199254740991.0}, "maxValues": {"f": 9007199254740991.0}}', False),
        ('{"numRecords": 2, "minValues": {"s": "b"}, "maxValues": {"s": "a"}}', True),
        ('{"numRecords": null}', True),
    ],
)
def test_contradictions_at_their_ends(text: str, is_doubtful: bool) -> None:
    plain = {
        "numRecords": 9,
        "minValues": {"a": 1, "f": 0.5, "s": "a"},
        "maxValues": {"a": 1, "f": 0.5, "s": "b"},
        "nullCount": {"a": 0},
        "tightBounds": True,
    }
    texts = [json.dumps(plain)] * 99
    texts.insert(50, text)
    assert np.flatnonzero(doubtful_statistics(pa.array(texts))).tolist() == ([50] if is_doubtful else [])


@pytest.mark.parametrize(
    ("texts", "start", "size", "doubtful"),
    [
        ("x12", 1, 2, [False, False]),
        ("12x", 0, 2, [False, False]),
        ("x12", 0, 2, [True, False]),
        ("12x", 1, 2, [False, True]),
        ("x1x", 1, 1, [False]),
    ],
)
def test_partition_values_of_a_part(texts: str, start: int, size: int, doubtful: list[bool]) -> None:
    rows = pa.array([{**add("f")["add"], "partitionValues": [("p", text)]} for text in texts], ADD)
    found = doubtful_partitions(StoredActions("add", rows.slice(start, size)), [Field(1, "p", primitive("long"))])
    assert found.tolist() == doubtful


def test_paths_of_which_one_is_in_another_store(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start()
    (log.root / "a b").write_bytes(bytes(10))
    log.commit(1, add("a%20b"))
    assert log.table().verify(1) == []
    log.commit(1, add("a%20b"), add("s3://bucket/x"), add("gone"))
    found = [(one.rule, one.path) for one in log.table().verify(1)]
    assert found == [("path", str(log.directory)), ("file-missing", str(log.root / "gone"))]


def test_vectors_that_were_not_live() -> None:
    live = LiveFiles()
    key = file_key({"path": "a", "deletionVector": vector()})
    assert not live.remove(key) and not live.has_path("a")
    live.add(key, {"path": "a"})
    assert live.has_path("a") and live.remove(key) and not live.has_path("a")
