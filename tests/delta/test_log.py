"""Which files of the log count, which version they make, and when it was made."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from tableformats_delta.format import DeltaFormat

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError, TableNotFoundError
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, SnapshotSelector
from tableformats.schema.datetimes import DATETIME_MS
from tests.support.delta_log import PROTOCOL, DeltaLog, add, first_actions, live_files, metadata, remove

CHECKPOINT = "{:020d}.checkpoint.parquet"
META = first_actions()


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 0 with metadata, versions 1 to 3 that add a1 to a3."""
    log = DeltaLog(tmp_path / "t").start()
    for version in (1, 2, 3):
        log.commit(version, add(f"a{version}"))
    return log


@pytest.mark.parametrize(
    "name",
    [
        ".00000000000000000004.json.crc",
        "00000000000000000004.crc",
        "00000000000000000004.json.tmp",
        "_staged_commits/00000000000000000004.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
        "00000000000000000004.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
        "00000000000000000001.00000000000000000004.compacted.json",
        "4.json",
        "0000000000000000004.json",
        "00000000000000000004.json.gz",
        "x00000000000000000004.json",
        "99999999999999999999.json",
        "00000000000000000004.checkpoint.parquet.tmp",
        "00000000000000000004.checkpoint.x.parquet",
        "\u0660" * 19 + "\u0664.json",
    ],
)
def test_names_that_are_no_commits(log: DeltaLog, name: str) -> None:
    log.write(name, json.dumps(add("wrong")).encode())
    assert log.snapshot().version == 3
    assert log.paths() == ["a1", "a2", "a3"]


@pytest.mark.parametrize(
    "hint",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"version":1}',
        b'{"version":99}',
        b'{"version":-1}',
        b'{"version":"x"}',
        b'{"version":2,"parts":7}',
        b'{"version":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
    ],
)
def test_last_checkpoint_changes_nothing(log: DeltaLog, hint: bytes) -> None:
    """Stale, damaged, dangling, newer than asked."""
    log.checkpoint(CHECKPOINT.format(2), *META, add("a1"), add("a2"))
    log.write("_last_checkpoint", hint)
    assert log.snapshot().version == 3
    assert log.paths() == ["a1", "a2", "a3"]
    assert log.paths(1) == ["a1"]


def test_newest_complete_checkpoint_is_taken(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(1), *META, add("from-1"))
    log.checkpoint(CHECKPOINT.format(2), *META, add("from-2"))
    assert log.paths() == ["a3", "from-2"]
    assert log.paths(1) == ["from-1"]


def test_incomplete_multi_part_checkpoint_is_none(log: DeltaLog) -> None:
    name = "00000000000000000002.checkpoint.{:010d}.0000000003.parquet"
    for part in (1, 3):
        log.checkpoint(name.format(part), *META, add(f"part-{part}"))
    assert log.paths() == ["a1", "a2", "a3"]
    log.checkpoint(name.format(2), add("part-2"))
    assert log.paths() == ["a3", "part-1", "part-2", "part-3"]


def test_parts_of_two_checkpoints_do_not_mix(log: DeltaLog) -> None:
    log.checkpoint("00000000000000000002.checkpoint.0000000001.0000000002.parquet", *META, add("a"))
    log.checkpoint("00000000000000000002.checkpoint.0000000002.0000000003.parquet", *META, add("b"))
    assert log.paths() == ["a1", "a2", "a3"]


def test_two_complete_checkpoints_at_one_version(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(2), *META, add("a1"), add("a2"))
    for part in (1, 2):
        log.checkpoint(f"00000000000000000002.checkpoint.000000000{part}.0000000002.parquet", *META, add(f"a{part}"))
    assert log.paths() == ["a1", "a2", "a3"]


def test_empty_checkpoint_is_none(log: DeltaLog) -> None:
    log.write(CHECKPOINT.format(2), b"")
    assert log.paths() == ["a1", "a2", "a3"]


def test_gap_before_the_checkpoint_is_fine(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(2), *META, add("a1"), add("a2"))
    (log.directory / f"{1:020d}.json").unlink()
    assert log.paths() == ["a1", "a2", "a3"]


def test_gap_after_the_checkpoint_is_fatal(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(1), *META, add("a1"))
    (log.directory / f"{2:020d}.json").unlink()
    with pytest.raises(CorruptMetadataError, match="needs the commit of version 2") as caught:
        log.snapshot()
    assert caught.value.path == str(log.directory / f"{2:020d}.json")
    assert log.paths(1) == ["a1"]
    with pytest.raises(SnapshotNotFoundError):
        log.snapshot(2)


def test_versions_below_the_oldest_checkpoint_are_gone(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(2), *META, add("a1"), add("a2"))
    (log.directory / f"{0:020d}.json").unlink()
    with pytest.raises(SnapshotNotFoundError, match="Versions 2 to 3"):
        log.snapshot(1)
    assert log.paths(2) == ["a1", "a2"]


def test_checkpoint_newer_than_all_commits(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(9), *META, add("a"))
    assert log.snapshot().version == 9
    assert log.paths() == ["a"]


def test_first_commit_lost_without_checkpoint(log: DeltaLog) -> None:
    (log.directory / f"{0:020d}.json").unlink()
    with pytest.raises(CorruptMetadataError, match="version 0"):
        log.snapshot()


@pytest.mark.parametrize("version", [4, -1, 2**63, "x", "1.0", "", "main"])
def test_versions_that_do_not_exist(log: DeltaLog, version: Any) -> None:
    with pytest.raises(SnapshotNotFoundError, match="Versions 0 to 3"):
        log.snapshot(version)


def test_version_as_text(log: DeltaLog) -> None:
    assert log.snapshot("2").version == 2


@pytest.mark.parametrize("selector", [{"branch": "main"}, {"tag": "v1"}])
def test_no_branches_and_tags(log: DeltaLog, selector: dict[str, str]) -> None:
    with pytest.raises(SnapshotNotFoundError, match="no branches"):
        log.snapshot(**selector)


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for missing in ("plain", "nowhere"):
        assert not DeltaFormat().detect(Storage(tmp_path / missing), OpenOptions())
        with pytest.raises(TableNotFoundError):
            DeltaFormat().open(Storage(tmp_path / missing), OpenOptions())
    with pytest.raises(TableNotFoundError, match="no commit"):
        DeltaLog(tmp_path / "empty").snapshot()


class TestTime:
    """Time travel by modification time and by in-commit timestamp."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> DeltaLog:
        """Modification times 1000, 5000, 4000 (the clock went back), 5001."""
        log = DeltaLog(tmp_path / "t").start()
        for version, time in enumerate((1000, 5000, 4000, 5001)):
            log.commit(version, *META, add(f"a{version}"), mtime_ms=time)
        return log

    @pytest.mark.parametrize(("timestamp", "version"), [(1000, 0), (4999, 0), (5000, 1), (5001, 2), (5002, 3)])
    def test_modification_times_are_made_monotonic(self, log: DeltaLog, timestamp: int, version: int) -> None:
        snapshot = log.snapshot(timestamp_ms=timestamp)
        assert snapshot.version == version
        assert snapshot.timestamp_ms == [1000, 5000, 5001, 5002][version]

    @pytest.mark.parametrize("timestamp", [999, -1, 5003, DATETIME_MS[0], DATETIME_MS[-1]])
    def test_outside_the_range(self, log: DeltaLog, timestamp: int) -> None:
        with pytest.raises(SnapshotNotFoundError, match=r"1970-01-01T00:00:01.* to 1970-01-01T00:00:05\.002"):
            log.snapshot(timestamp_ms=timestamp)

    def test_times_begin_at_the_oldest_version_that_can_be_read(self, log: DeltaLog) -> None:
        log.checkpoint(CHECKPOINT.format(2), *META)
        (log.directory / f"{0:020d}.json").unlink()
        with pytest.raises(SnapshotNotFoundError):
            log.snapshot(timestamp_ms=1500)
        assert log.snapshot(timestamp_ms=4000).version == 2

    @pytest.fixture
    def mixed(self, tmp_path: Path) -> DeltaLog:
        """In-commit timestamps from version 2 on; the files' times there are wrong."""
        enabled = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "2"}
        log = DeltaLog(tmp_path / "m")
        log.commit(0, *META, mtime_ms=1000)
        log.commit(1, add("a1"), mtime_ms=2000)
        turned_on = {"metaData": metadata(configuration=enabled)}
        log.commit(2, {"commitInfo": {"inCommitTimestamp": 3000}}, turned_on, mtime_ms=90_000)
        log.commit(3, {"commitInfo": {"inCommitTimestamp": 4000, "operation": "WRITE"}}, add("a3"), mtime_ms=80_000)
        return log

    @pytest.mark.parametrize(
        ("timestamp", "version"), [(1000, 0), (2000, 1), (2999, 1), (3000, 2), (3999, 2), (4000, 3)]
    )
    def test_in_commit_timestamps(self, mixed: DeltaLog, timestamp: int, version: int) -> None:
        snapshot = mixed.snapshot(timestamp_ms=timestamp)
        assert snapshot.version == version
        assert snapshot.timestamp_ms == [1000, 2000, 3000, 4000][version]

    @pytest.mark.parametrize("timestamp", [999, 4001, 85_000])
    def test_outside_the_in_commit_range(self, mixed: DeltaLog, timestamp: int) -> None:
        with pytest.raises(SnapshotNotFoundError):
            mixed.snapshot(timestamp_ms=timestamp)

    def test_in_commit_timestamps_from_the_start(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "i")
        enabled = {"metaData": metadata(configuration={"delta.enableInCommitTimestamps": "true"})}
        log.commit(0, {"commitInfo": {"inCommitTimestamp": 7}}, {"protocol": PROTOCOL}, enabled, mtime_ms=1)
        assert log.snapshot().timestamp_ms == 7

    def test_a_missing_in_commit_timestamp(self, mixed: DeltaLog) -> None:
        mixed.commit(4, add("a4"))
        with pytest.raises(CorruptMetadataError) as caught:
            mixed.snapshot()
        assert caught.value.field == "commitInfo.inCommitTimestamp"

    @pytest.mark.parametrize("time", [DATETIME_MS[0] - 1, DATETIME_MS[-1] + 1, 10**18, -(2**63)])
    def test_an_in_commit_timestamp_of_no_calendar(self, mixed: DeltaLog, time: int) -> None:
        """It is asked for as a datetime, in explain and in the history."""
        mixed.commit(4, {"commitInfo": {"inCommitTimestamp": time}}, add("a4"))
        for look in (mixed.snapshot, mixed.table().history):
            with pytest.raises(CorruptMetadataError, match="years 1 to 9999") as caught:
                look()
            assert caught.value.field == "commitInfo.inCommitTimestamp"

    def test_history_has_the_times_of_the_versions(self, mixed: DeltaLog) -> None:
        history = mixed.table().history()
        assert history.column("version").to_pylist() == [3, 2, 1, 0]
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        times = [round((t - epoch).total_seconds() * 1000) for t in history.column("timestamp").to_pylist()]
        assert times == [4000, 3000, 2000, 1000]
        assert history.column("operation").to_pylist() == ["WRITE", None, None, None]

    def test_a_log_cleaned_up_behind_the_enablement(self, mixed: DeltaLog) -> None:
        """With the commits before it gone, the oldest left decides; their file times do not count."""
        mixed.commit(4, {"commitInfo": {"inCommitTimestamp": 5000}}, mtime_ms=1)
        enabled = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "2"}
        mixed.checkpoint(CHECKPOINT.format(3), *first_actions(configuration=enabled))
        for version in (0, 1, 2):
            (mixed.directory / f"{version:020d}.json").unlink()
        with pytest.raises(SnapshotNotFoundError, match="before the earliest"):
            mixed.snapshot(timestamp_ms=3999)
        assert [mixed.snapshot(timestamp_ms=t).version for t in (4000, 4999, 5000)] == [3, 3, 4]
        assert mixed.snapshot(3).timestamp_ms == 4000

    def test_file_times_between_the_clocks(self, tmp_path: Path) -> None:
        """A file written late, before the enablement, does not shadow the versions behind it."""
        enabled = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "2"}
        log = DeltaLog(tmp_path / "b")
        log.commit(0, *META, mtime_ms=1000).commit(1, add("a"), mtime_ms=9000)
        log.commit(2, {"commitInfo": {"inCommitTimestamp": 3000}}, {"metaData": metadata(configuration=enabled)})
        assert [log.snapshot(timestamp_ms=t).version for t in (1000, 2999, 3000)] == [0, 0, 2]

    def test_turned_off_again(self, mixed: DeltaLog) -> None:
        """Then the files' times hold, made monotonic, for a snapshot that does not have the property."""
        mixed.commit(4, {"metaData": metadata()}, mtime_ms=70_000)
        assert mixed.snapshot().timestamp_ms == 90_002
        assert mixed.snapshot(3).timestamp_ms == 4000

    def test_one_reading_of_a_commit_gives_its_time(self, mixed: DeltaLog, monkeypatch: pytest.MonkeyPatch) -> None:
        reads: list[str] = []
        plain = Storage.open_file

        def counting(self: Storage, path: str) -> Any:
            reads.append(path)
            return plain(self, path)

        monkeypatch.setattr(Storage, "open_file", counting)
        assert mixed.snapshot().timestamp_ms == 4000
        assert len(reads) == len(set(reads)) == 4


def test_leftovers_of_a_clean_up(tmp_path: Path) -> None:
    """Commits, parts, sidecars and failed files of versions that cannot be made any more are in nobody's way."""
    log = DeltaLog(tmp_path / "t")
    for version in (3, 4, 5, 6, 7):
        log.commit(version, add(f"a{version}"))
    log.checkpoint(CHECKPOINT.format(5), *META, add("a5")).checkpoint("_sidecars/orphan.parquet", add("wrong"))
    log.checkpoint(f"{2:020d}.checkpoint.0000000002.0000000002.parquet", add("wrong"))
    for name in (CHECKPOINT.format(4), CHECKPOINT.format(6), f"{3:020d}.{4:020d}.compacted.json", f"{7:020d}.crc"):
        log.write(name, b"")
    log.write(f"{3:020d}.{7:020d}.compacted.json", json.dumps(add("wrong")).encode())
    log.write(f".{8:020d}.json.7f.tmp", b"{").write("_last_checkpoint", b'{"version":2}')
    assert log.paths() == ["a5", "a6", "a7"]
    assert log.paths(5) == ["a5"]
    for version in (0, 2, 3, 4):
        with pytest.raises(SnapshotNotFoundError, match="Versions 5 to 7 can be asked for"):
            log.snapshot(version)
    assert log.table().history().column("version").to_pylist() == [7, 6, 5, 4, 3]


def test_history_is_that_of_describe_history(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, *META, mtime_ms=1000)
    info = {
        "timestamp": 1,
        "userId": "u",
        "userName": "n",
        "operation": "DELETE",
        "operationParameters": {"predicate": "[]"},
        "job": {"jobId": "1"},
        "notebook": {"notebookId": "2"},
        "clusterId": "c",
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {"numRemovedFiles": "1"},
        "userMetadata": "m",
        "engineInfo": "Spark",
        "txnId": "x",
    }
    log.commit(1, remove("a"), {"commitInfo": info}, add("b"), mtime_ms=5000)
    history = log.table().history(limit=1)
    assert history.schema.names == [
        "version",
        "timestamp",
        "operation",
        "userId",
        "userName",
        "operationParameters",
        "job",
        "notebook",
        "clusterId",
        "readVersion",
        "isolationLevel",
        "isBlindAppend",
        "operationMetrics",
        "userMetadata",
        "engineInfo",
        "txnId",
        "user",
        "added_rows",
        "deleted_rows",
        "updated_rows",
    ]
    (row,) = history.to_pylist()
    assert (row["version"], row["timestamp"].timestamp()) == (1, 5)
    given = {"job": '{"jobId": "1"}', "notebook": '{"notebookId": "2"}'}
    maps = {"operationParameters": [("predicate", "[]")], "operationMetrics": [("numRemovedFiles", "1")]}
    assert {name: row[name] for name in info if name != "timestamp"} == {
        name: value for name, value in {**info, **given, **maps}.items() if name != "timestamp"
    }


def test_history_takes_commit_info_of_any_type(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start()
    info = {
        "operation": "MERGE",
        "operationParameters": {"mode": "Append", "n": 1, "list": ["a"], "none": None},
        "operationMetrics": {"rows": "3"},
        "readVersion": 0,
        "isBlindAppend": False,
        "userName": 7,
        "userId": "\ud800",
        "engineInfo": None,
        "userMetadata": {"a": 1},
    }
    log.commit(1, {"commitInfo": info})
    log.commit(2, {"commitInfo": {"operationParameters": "text", "readVersion": 2**70, "isBlindAppend": "x"}})
    newest, row, oldest = log.table().history().to_pylist()
    assert dict(row["operationParameters"]) == {"mode": "Append", "n": "1", "list": '["a"]', "none": None}
    assert dict(row["operationMetrics"]) == {"rows": "3"}
    assert (row["operation"], row["readVersion"], row["isBlindAppend"]) == ("MERGE", 0, False)
    assert (row["userName"], row["userId"], row["engineInfo"], row["userMetadata"]) == ("7", "?", None, '{"a": 1}')
    assert newest["operationParameters"] is newest["readVersion"] is newest["isBlindAppend"] is None
    assert oldest["version"] == 0
    assert log.table().history(limit=2).column("version").to_pylist() == [2, 1]


def test_a_table_sees_new_commits(log: DeltaLog) -> None:
    table = log.table()
    old = table.snapshot(SnapshotSelector())
    log.commit(4, remove("a1"))
    assert table.snapshot(SnapshotSelector()).version == 4
    assert len(live_files(old)) == 3


def test_a_gap_behind_a_checkpoint_is_damage_and_not_a_cleaned_log(log: DeltaLog) -> None:
    log.checkpoint(CHECKPOINT.format(1), *META, add("a"))
    (log.directory / f"{0:020d}.json").unlink()
    (log.directory / f"{2:020d}.json").unlink()
    with pytest.raises(CorruptMetadataError, match="version 3 needs the commit of version 2"):
        log.snapshot(3)
