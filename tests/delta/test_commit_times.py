"""Which version a time means, what the history counts of rows, what is said of a hint; a cursor over a row group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints.row_group_reader import ForwardCursor
from tableformats_delta.log.history import CommitTimes, _count
from tableformats_delta.log.last_checkpoint import json_checksum, review_hint
from tableformats_delta.log.listing import list_log

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tableformats.io.storage import Storage
from tests.support.delta_log import DeltaLog, add, first_actions

Json = dict[str, Any]


def times_of(log: DeltaLog, **properties: str) -> CommitTimes:
    storage = Storage(log.root)
    named = {f"delta.{name}": value for name, value in properties.items()}
    return CommitTimes(storage, list_log(storage), named)


def info(time: Any) -> Json:
    return {"commitInfo": {"inCommitTimestamp": time}}


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Files of the times 1000, 2000, 3000 and 4000 ms; from version 2 on they say 2500 and 3500 themselves."""
    made = DeltaLog(tmp_path / "t")
    for version in range(4):
        actions = [info(500 + 1000 * version)] if version >= 2 else []
        made.commit(version, *actions, add(str(version)), mtime_ms=1000 * (version + 1))
    return made


@pytest.mark.parametrize(
    ("time", "version"), [(999, None), (1000, 0), (1999, 0), (2000, 1), (3999, 2), (4000, 3), (4001, None)]
)
def test_times_of_files(log: DeltaLog, time: int, version: int | None) -> None:
    times = times_of(log)
    if version is None:
        with pytest.raises(SnapshotNotFoundError, match="earliest" if time < 2000 else "newest"):
            times.version_at(time)
    else:
        assert times.version_at(time) == version and not times.is_in_commit(3)
    assert [times.of(v) for v in range(5)] == [1000, 2000, 3000, 4000, None]


ENABLED = {"enableInCommitTimestamps": "True", "inCommitTimestampEnablementVersion": "2"}


@pytest.mark.parametrize(
    ("time", "version"), [(999, None), (1000, 0), (2000, 1), (2499, 1), (2500, 2), (3499, 2), (3500, 3), (3501, None)]
)
def test_times_that_commits_say_from_a_version_on(log: DeltaLog, time: int, version: int | None) -> None:
    times = times_of(log, **ENABLED)
    if version is None:
        with pytest.raises(SnapshotNotFoundError):
            times.version_at(time)
    else:
        assert times.version_at(time) == version
    assert [times.is_in_commit(v) for v in range(4)] == [False, False, True, True]
    assert [times.of(v) for v in range(5)] == [1000, 2000, 2500, 3500, None]
    assert times.listed(3, {"inCommitTimestamp": 7}) == 7 and times.listed(1, {"inCommitTimestamp": 7}) == 2000


def test_two_clocks_that_overlap(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, add("a"), mtime_ms=5000).commit(1, add("b"), mtime_ms=6000)
    log.commit(2, info(5500), add("c"), mtime_ms=1).commit(3, info(7000), add("d"), mtime_ms=2)
    times = times_of(log, **ENABLED)
    assert [times.version_at(time) for time in (5000, 5499, 5500, 6999, 7000)] == [0, 0, 2, 2, 3]
    always = times_of(log, enableInCommitTimestamps="true")
    assert always.is_in_commit(0)
    with pytest.raises(CorruptMetadataError, match="in-commit timestamp") as caught:
        always.of(0)
    assert caught.value.field == "commitInfo.inCommitTimestamp"


@pytest.mark.parametrize("time", [None, True, "5", 1.0, -(2**62), 2**62])
def test_times_that_are_none(tmp_path: Path, time: Any) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, info(time), add("a"))
    with pytest.raises(CorruptMetadataError):
        times_of(log, enableInCommitTimestamps="true").of(0)


def test_times_of_versions_without_commits(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").checkpoint(f"{3:020d}.checkpoint.parquet", *first_actions())
    times = times_of(log)
    assert times.of(3) == list_log(Storage(log.root)).checkpoints[3].files[0].mtime_ms and times.of(4) is None
    with pytest.raises(SnapshotNotFoundError, match="no commit of the table is left"):
        times.version_at(5)
    storage = Storage(log.root)
    known = CommitTimes(
        storage, list_log(storage), {"delta.enableInCommitTimestamps": "true"}, {3: {"inCommitTimestamp": 9}}
    )
    assert known.of(3) == 9


def test_versions_that_come_after_one(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").checkpoint(f"{3:020d}.checkpoint.parquet", *first_actions())
    log.commit(2, add("gone")).commit(3, add("a")).commit(4, add("b"))
    table = log.table()
    assert [table.versions_after(version) for version in (None, 2, 3, 4)] == [[3, 4], [3, 4], [4], []]
    for version in (5, 9):
        with pytest.raises(SnapshotNotFoundError, match=f"no version {version}"):
            table.versions_after(version)


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ({}, [None, None, None]),
        ({"operationMetrics": "x"}, [None, None, None]),
        ({"operation": "WRITE", "operationMetrics": {"numOutputRows": "7"}}, [7, None, None]),
        ({"operation": "WRITE", "operationMetrics": {"numOutputRows": "7", "numCopiedRows": "2"}}, [5, None, None]),
        ({"operation": "WRITE", "operationMetrics": {"numOutputRows": "2", "numCopiedRows": "7"}}, [0, None, None]),
        ({"operation": "WRITE", "operationMetrics": {"numOutputRows": "-7"}}, [None, None, None]),
        ({"operation": "WRITE", "operationMetrics": {"numOutputRows": "9" * 30}}, [None, None, None]),
        ({"operation": "DELETE", "operationMetrics": {"numDeletedRows": "3", "numCopiedRows": "1"}}, [None, 3, None]),
        ({"operation": "UPDATE", "operationMetrics": {"numUpdatedRows": 4}}, [None, None, 4]),
        ({"operation": "optimize", "operationMetrics": {"numOutputRows": "7"}}, [None, None, None]),
        (
            {"operation": "MERGE", "operationMetrics": {"numTargetRowsInserted": "1", "numTargetRowsDeleted": "2"}},
            [1, 2, None],
        ),
    ],
)
def test_rows_that_the_history_counts(told: Json, counts: list[int | None]) -> None:
    assert [_count(told, name) for name in ("added_rows", "deleted_rows", "updated_rows")] == counts


def hint(**content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("data", "version", "remark"),
    [
        (hint(version=3, size=1), 3, ""),
        (hint(version=2, size=1), 2, "stale: the newest checkpoint is of version 3"),
        (hint(version=1, size=1), 1, "names a version that has no complete checkpoint"),
        (hint(version=3, checksum="0"), 3, "its checksum is wrong"),
        (hint(version=3, checksum=None), 3, ""),
        (hint(size=1), None, "names no version"),
        (hint(version="3"), None, "names no version"),
        (hint(version=True), None, "names no version"),
        (hint(version=-1), None, "names no version"),
        (hint(version=2**63), None, "names no version"),
        (hint(version=2**63 - 1), 2**63 - 1, "names a version that has no complete checkpoint"),
        (b"[]", None, "damaged"),
        (b"{", None, "damaged"),
        (b"\xff", None, "damaged"),
        (b"[" * 100_000, None, "damaged"),
    ],
)
def test_remarks_on_a_hint(tmp_path: Path, data: bytes, version: int | None, remark: str) -> None:
    log = DeltaLog(tmp_path / "t")
    for number in (2, 3):
        log.checkpoint(f"{number:020d}.checkpoint.parquet", *first_actions())
    log.write("_last_checkpoint", data)
    storage = Storage(log.root)
    assert review_hint(storage, list_log(storage)) == (version, remark)


def test_a_checksum_of_a_hint(tmp_path: Path) -> None:
    text = '{"version": 3, "size": 1}'
    log = DeltaLog(tmp_path / "t").checkpoint(f"{3:020d}.checkpoint.parquet", *first_actions())
    log.write("_last_checkpoint", hint(version=3, size=1, checksum=json_checksum(text)))
    storage = Storage(log.root)
    assert review_hint(storage, list_log(storage)) == (3, "")


# ---- a cursor over a row group --------------------------------------------------------------------------------------


@pytest.mark.parametrize("decode_ahead", [False, True])
def test_a_cursor_goes_forwards(tmp_path: Path, decode_ahead: bool) -> None:
    path = tmp_path / "rows.parquet"
    adds = pa.array([{"path": str(n)} for n in range(20)])
    pq.write_table(pa.table({"add": adds}), path)
    cursor = ForwardCursor(lambda: pq.ParquetFile(path), 0, ["add.path"], 4, decode_ahead)

    def read(start: int, stop: int) -> list[tuple[int, list[int]]]:
        return [(at, [int(row["path"]) for row in piece.to_pylist()]) for at, piece in cursor.pieces(start, stop)]

    assert read(0, 0) == [] and cursor.position == 0
    assert read(3, 7) == [(3, [3]), (4, [4, 5, 6])] and cursor.position == 7
    assert read(9, 10) == [(9, [9])] and cursor.position == 10
    assert read(10, 11) == [(10, [10])] and read(11, 12) == [(11, [11])] and not cursor.is_at_end
    assert read(14, 19) == [(14, [14, 15]), (16, [16, 17, 18])] and not cursor.is_at_end
    assert read(19, 25) == [(19, [19])] and cursor.position == 20 and cursor.is_at_end
    assert read(20, 30) == []
