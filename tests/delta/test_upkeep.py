"""Upkeep of the log: checksum files, checkpoints after commits, compactions, and the cleaning of what has expired."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.format import DeltaFormat
from tableformats_delta.log.listing import list_log
from tableformats_delta.maintenance.after_commit import is_due
from tableformats_delta.maintenance.cleanup import _unused_sidecars, clean_log
from tableformats_delta.schema.intervals import parse_interval

import tableformats as tf
from tableformats.plugin import OpenOptions

from ..support.delta_log import WITH_VECTORS, DeltaLog, add, field, remove, vector
from ..support.memory_store import ROOT, MemoryStore, memory_storage
from ..support.s3_stub import S3Stub
from ..support.verified import assert_clean
from .test_checkpoint_writing import alter, state_of

DAY = 86_400_000
NOW = 1_800_000_000_000
ROWS = pa.table({"id": [1, 2, 3]})


def table_at(root: Path, **configuration: str) -> tf.Table:
    DeltaLog(root).start(field("id", "long"), configuration=configuration)
    return tf.open_table(root, format="delta")


def names(root: Path) -> set[str]:
    return {path.name for path in (root / "_delta_log").iterdir() if path.is_file()}


def crc(root: Path, version: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "_delta_log" / f"{version:020d}.crc").read_text())
    return found


# ---- after a commit ------------------------------------------------------------------------------------------------


def test_checksum_files_and_checkpoints_follow_commits(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = table_at(root, **{"delta.checkpointInterval": "3"})
    for _ in range(7):
        table.append(ROWS)
    assert {f"{v:020d}.checkpoint.parquet" for v in (3, 6)} <= names(root)
    assert not any(f"{v:020d}.checkpoint.parquet" in names(root) for v in (1, 2, 4, 5, 7))
    assert json.loads((root / "_delta_log" / "_last_checkpoint").read_text())["version"] == 6
    for version in range(1, 8):
        files = tf.open_table(root, format="delta").plan(version=version).files
        found = crc(root, version)
        assert (found["numFiles"], found["tableSizeBytes"]) == (version, sum(files["size_bytes"].to_pylist()))
        assert found["metadata"]["id"] == "t" and found["protocol"]["minReaderVersion"] == 1
        assert isinstance(found["txnId"], str)
    assert_clean(table)


def test_in_commit_timestamps_stand_in_checksum_files(tmp_path: Path) -> None:
    root = tmp_path / "t"
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]}
    log = DeltaLog(root)
    from ..support.delta_log import metadata

    described = metadata(field("id", "long"), configuration={"delta.enableInCommitTimestamps": "true"})
    log.commit(0, {"commitInfo": {"inCommitTimestamp": 5}}, {"protocol": protocol}, {"metaData": described})
    table = tf.open_table(root, format="delta")
    table.append(ROWS)
    assert crc(root, 1)["inCommitTimestampOpt"] == table.snapshot().format_snapshot.timestamp_ms
    table.checkpoint(0)
    assert crc(root, 0)["inCommitTimestampOpt"] == 5
    assert_clean(table)


def test_a_checksum_is_extended_only_where_all_is_known(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = table_at(root)
    for version in range(1, 4):
        DeltaLog.commit(table_log(root), version, add(f"f{version}", size=version))
    table.checkpoint()  # counts the files
    assert (crc(root, 3)["numFiles"], crc(root, 3)["tableSizeBytes"]) == (3, 6)
    (root / "_delta_log" / f"{3:020d}.crc").unlink()
    table.append(ROWS)  # upon a checkpoint, and without the totals of the version before
    assert f"{4:020d}.crc" not in names(root)


def table_log(root: Path) -> DeltaLog:
    log = DeltaLog.__new__(DeltaLog)
    log.root, log.directory = root, root / "_delta_log"
    return log


def test_a_checksum_file_is_never_written_over(tmp_path: Path) -> None:
    table = table_at(tmp_path / "t")
    path = tmp_path / "t" / "_delta_log" / f"{1:020d}.crc"
    path.write_text("{}")
    table.append(ROWS)
    assert path.read_text() == "{}"


def test_what_others_recorded_is_kept_up_to_date(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = table_at(root)
    table.append(ROWS)
    path = root / "_delta_log" / f"{1:020d}.crc"
    known = {"appId": "a", "version": 3}
    path.write_text(json.dumps({**crc(root, 1), "setTransactions": [known], "domainMetadata": []}))
    tf.open_table(root).append(ROWS)
    assert crc(root, 2)["setTransactions"] == [known] and crc(root, 2)["domainMetadata"] == []


def test_a_failing_checkpoint_is_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "t"
    bad = {"delta.checkpointInterval": "1", "delta.deletedFileRetentionDuration": "for ever"}
    table = table_at(root, **bad)
    with pytest.warns(RuntimeWarning, match="deletedFileRetentionDuration"):
        commit = table.append(ROWS)
    assert commit.version == 1 and table.count() == 3
    assert not any("checkpoint" in name for name in names(root))


@pytest.mark.parametrize(
    ("version", "interval", "due"),
    [(10, None, True), (0, "1", False), (5, "5", True), (6, "5", False), (10, "x", True), (4, "0", False)],
)
def test_when_a_checkpoint_is_due(version: int, interval: str | None, due: bool) -> None:
    configuration = {} if interval is None else {"delta.checkpointInterval": interval}
    assert is_due(version, {"configuration": configuration}) is due


# ---- compaction ----------------------------------------------------------------------------------------------------


def test_compaction(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=WITH_VECTORS)
    log.commit(1, add("a", unknown={"x": [1]}), add("b"), {"txn": {"appId": "x", "version": 1}})
    log.commit(2, remove("a"), add("c"), {"commitInfo": {"operation": "x"}}, {"cdc": {"path": "d"}})
    log.commit(3, remove("b"), add("b", deletionVector=vector(1)), {"txn": {"appId": "x", "version": 2}})
    log.commit(4, add("e"))
    table = tf.open_table(log.root, format="delta")
    before = state_of(table)
    path = Path(table.compact_log(1, 3))
    assert path.name == f"{1:020d}.{3:020d}.compacted.json" and Path(table.compact_log(1, 3)) == path
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = sorted((name, action.get("path", action.get("appId"))) for line in lines for name, action in line.items())
    assert found == [("add", "b"), ("add", "c"), ("remove", "a"), ("remove", "b"), ("txn", "x")]
    assert {"txn": {"appId": "x", "version": 2}} in lines
    reopened = tf.open_table(log.root, format="delta")
    assert state_of(reopened) == before
    assert path.name in {file.path.rpartition("/")[2] for file in reopened.snapshot().format_snapshot.segment.commits}
    assert not [one for one in reopened._opened.verify() if one.rule == "compaction-state"]
    for first, last in ((3, 3), (3, 9), (4, 2)):
        with pytest.raises(tf.SnapshotNotFoundError):
            table.compact_log(first, last)
    log.write(f"{4:020d}.json", b"{")
    with pytest.raises(tf.CorruptMetadataError):
        table.compact_log(2, 4)


# ---- cleaning ------------------------------------------------------------------------------------------------------


def aged(root: Path, days: dict[int, int], checkpoints: tuple[int, ...], **configuration: str) -> tf.Table:
    """Versions whose commits are so many days old, some with a checkpoint."""
    log = DeltaLog(root).start(field("id", "long"), configuration=configuration)
    for version in list(days)[1:]:
        log.commit(version, add(f"f{version}"))
    table = tf.open_table(root, format="delta")
    for version in checkpoints:
        table.checkpoint(version)
    for version, age in days.items():
        second = (NOW - age * DAY) / 1000
        os.utime(log.directory / f"{version:020d}.json", (second, second))
    return tf.open_table(root, format="delta")


def cleaned(table: tf.Table) -> set[int]:
    """The versions whose commits are left."""
    storage = table.storage
    clean_log(storage, table.snapshot().format_snapshot, list_log(storage), NOW)
    return set(list_log(storage).commits)


AGES = dict(enumerate((90, 80, 70, 60, 50, 40, 20, 10)))


@pytest.mark.parametrize(
    ("checkpoints", "configuration", "left"),
    [
        ((2, 5, 7), {}, {5, 6, 7}),  # version 5 is the newest that has expired, and a checkpoint
        ((2, 4, 7), {}, {4, 5, 6, 7}),  # version 4 is needed for 5
        ((7,), {}, set(range(8))),  # the only checkpoint is younger than what has expired
        ((), {}, set(range(8))),
        ((2, 5, 7), {"delta.logRetentionDuration": "interval 75 days"}, set(range(8))),
        ((1, 7), {"delta.logRetentionDuration": "interval 75 days"}, set(range(1, 8))),
        ((2, 5, 7), {"delta.enableExpiredLogCleanup": "false"}, set(range(8))),
    ],
)
def test_cleaning(checkpoints: tuple[int, ...], configuration: dict[str, str], left: set[int], tmp_path: Path) -> None:
    table = aged(tmp_path / "t", AGES, checkpoints, **configuration)
    before = {version: state_of(table, version) for version in range(max(min(left), 0), 8)}
    assert cleaned(table) == left
    again = tf.open_table(tmp_path / "t", format="delta")
    for version, state in before.items():  # every version that is left still reads
        assert state_of(again, version) == state
    assert set(list_log(table.storage).checkpoints) == {v for v in checkpoints if v >= min(left)}
    hint = tmp_path / "t" / "_delta_log" / "_last_checkpoint"
    assert not hint.exists() or json.loads(hint.read_text())["version"] in list_log(table.storage).checkpoints


@pytest.mark.parametrize(("protected", "left"), [("6", set(range(8))), ("5", {5, 6, 7}), ("x", set(range(8)))])
def test_protected_checkpoints(protected: str, left: set[int], tmp_path: Path) -> None:
    table = aged(tmp_path / "t", AGES, (2, 5))
    name = "delta.requireCheckpointProtectionBeforeVersion"
    inner = table.snapshot().format_snapshot
    metadata = {**inner.state.metadata, "configuration": {name: protected}}
    features = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["checkpointProtection"]}
    table_log(tmp_path / "t").commit(8, {"metaData": metadata}, {"protocol": features})
    assert cleaned(tf.open_table(tmp_path / "t", format="delta")) == left | {8}


def test_the_checkpoint_of_the_hint_stays(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = aged(root, AGES, (2, 5))
    (root / "_delta_log" / "_last_checkpoint").write_text('{"version": 2, "size": 1}')
    assert cleaned(table) == {5, 6, 7} and set(list_log(table.storage).checkpoints) == {2, 5}


def test_a_store_that_does_not_tell_times_keeps_its_log(tmp_path: Path) -> None:
    """A time of 0 is one that is not known, not one in 1970."""
    store = MemoryStore()
    table_at(tmp_path, **{"delta.checkpointInterval": "2"})
    first = (tmp_path / "_delta_log" / f"{0:020d}.json").read_bytes()
    store.files[f"{ROOT}/_delta_log/{0:020d}.json"] = first
    storage = memory_storage(store)
    table = tf.Table(DeltaFormat().open(storage, OpenOptions()), storage)
    for _ in range(4):
        table.append(ROWS)
    assert [f"{ROOT}/_delta_log/{v:020d}.json" in store.files for v in range(5)] == [True] * 5


def test_checkpoints_are_written_to_object_stores() -> None:
    """A warning that the upkeep failed would be an error here."""
    with S3Stub() as stub:
        options, location = stub.options, "s3://bucket/t"
        properties = {"delta.checkpointInterval": "2"}
        table = tf.create_table(location, ROWS.schema, format="delta", properties=properties, storage_options=options)
        table.append(ROWS)
        table.append(ROWS)
        assert f"t/_delta_log/{2:020d}.checkpoint.parquet" in stub.objects
        assert json.loads(stub.objects["t/_delta_log/_last_checkpoint"][0])["version"] == 2
        assert tf.open_table(location, storage_options=options).count() == 6


def test_sidecars(tmp_path: Path) -> None:
    root = tmp_path / "t"
    aged(root, {version: 90 - version for version in range(8)}, ())
    alter(root, 7, {"delta.checkpointPolicy": "v2"}, "v2Checkpoint")
    table = tf.open_table(root, format="delta")
    made = table.checkpoint()
    sidecars = root / "_delta_log" / "_sidecars"
    (kept,) = sidecars.iterdir()
    for name, age in (("old.parquet", 3), ("young.parquet", 0)):
        (sidecars / name).write_bytes(b"x")
        second = NOW / 1000 - age * DAY / 1000
        os.utime(sidecars / name, (second, second))
    for path in (root / "_delta_log" / f"{8:020d}.json", kept):
        second = (NOW - 35 * DAY) / 1000
        os.utime(path, (second, second))
    assert cleaned(table) == {8} and made.version == 8
    assert {path.name for path in sidecars.iterdir()} == {kept.name, "young.parquet"}
    assert tf.open_table(root, format="delta").snapshot().version == 8
    # A checkpoint that has expired, but was not deleted, as that of the hint, keeps its sidecars.
    listing = list_log(table.storage)
    assert _unused_sidecars(table.storage, listing, 9, NOW) == []
    Path(listing.checkpoints[8].files[0].path).unlink()
    assert [Path(path).name for path in _unused_sidecars(table.storage, listing, 9, NOW)] == [kept.name]


def test_a_commit_cleans_up(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = aged(root, AGES, (2, 5), **{"delta.checkpointInterval": "8"})
    for version, age in AGES.items():
        second = time.time() - age * DAY / 1000
        os.utime(root / "_delta_log" / f"{version:020d}.json", (second, second))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.append(ROWS)
    listing = list_log(table.storage)
    assert set(listing.commits) == {5, 6, 7, 8} and set(listing.checkpoints) == {5, 8}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("interval 1 week", 7 * DAY),
        ("INTERVAL 30 DAYS", 30 * DAY),
        ("2 hours", 7_200_000),
        ("interval 1 day 2 hours 3 minutes 4 seconds 5 milliseconds", DAY + 7_384_005),
        ("interval 1500 microseconds", 1),
    ],
)
def test_intervals(text: str, wanted: int) -> None:
    assert parse_interval(text) == wanted
