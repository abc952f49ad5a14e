"""The pieces of a Delta snapshot's metadata: runs of commits, and row groups of the checkpoint."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.deletes.descriptors import vector_type
from tableformats_delta.snapshot import delta_snapshot
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot

import tableformats as tf
from tableformats.plugin import ReadRequest
from tableformats.plugin.report import ScanReport
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import PROTOCOL, WITH_VECTORS, DeltaLog, add, first_actions, remove, request, stats

TRACKED = {
    "minReaderVersion": 1,
    "minWriterVersion": 7,
    "readerFeatures": None,
    "writerFeatures": ["rowTracking", "domainMetadata"],
}
ENABLED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "a",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "b",
}


def with_checkpoint(log: DeltaLog, *names: str) -> DeltaLog:
    """A checkpoint of version 0 that lists these files."""
    adds = [{"add": {**add(name)["add"], "partitionValues": []}} for name in names]
    return log.checkpoint(f"{0:020d}.checkpoint.parquet", *first_actions(), *adds)


def test_runs_of_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds and removes count alike for the length of a run; the oldest run is the first to be full."""
    log = DeltaLog(tmp_path / "t").start()
    log.commit(1, add("1"), remove("0")).commit(2, add("2"), remove("0")).commit(3, add("3"))
    monkeypatch.setattr(delta_snapshot, "_RUN_ROWS", 4)
    report = ScanReport()
    parts = log.snapshot().parts(ReadRequest((), report))
    assert [[file.version for file in part.adds] for part in parts] == [[3], [2, 1, 0]]
    assert [part.n_files for part in parts] == [1, 2] and report.log_files_read == 4
    found = [batch for part in parts for batch in part.read(report)]
    assert [batch.files["path"].to_pylist() for batch in found] == [["3"], ["2", "0", "1", "0"]]
    assert [batch.live is not None and batch.live.tolist() for batch in found] == [[True], [True, False, True, False]]
    for part, batch in zip(parts, found, strict=True):
        assert part.keys_of is not None and batch.keys == part.keys_of(batch.files)


def test_runs_without_files(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, {"commitInfo": {}})
    (part,) = log.snapshot().parts(request())
    (batch,) = part.read(ScanReport())
    assert batch.files.num_rows == 0 and batch.live is not None and batch.live.tolist() == []


@pytest.mark.parametrize(
    ("commits", "has_keys"),
    [([], False), ([[{"commitInfo": {}}]], False), ([[add("x")]], True), ([[remove("a")]], True)],
)
def test_checkpoint_rows_have_keys_below_commits_with_files(
    tmp_path: Path, commits: list[list[dict[str, Any]]], has_keys: bool
) -> None:
    log = with_checkpoint(DeltaLog(tmp_path / "t").start(), "a", "b")
    for version, actions in enumerate(commits, 1):
        log.commit(version, *actions)
    report = ScanReport()
    *_, last = log.snapshot().parts(ReadRequest((), report))
    (batch,) = last.read(report)
    assert report.checkpoint_files_read == 1 and batch.files["path"].to_pylist() == ["a", "b"]
    assert batch.insert_keys is False and last.adds == ()
    assert batch.keys is None or batch.keys.to_pylist() == [b"a", b"b"]
    assert (batch.keys is not None) is has_keys
    assert last.keys_of is not None and last.keys_of(batch.files).to_pylist() == [b"a", b"b"]


def test_parts_for_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part for each started number of bytes, which the part reads itself; together they are all rows."""
    log = with_checkpoint(DeltaLog(tmp_path / "t").start(), *map(str, range(50)))
    size = (log.directory / f"{0:020d}.checkpoint.parquet").stat().st_size
    snapshot = log.snapshot()
    for bytes_of_split, count in [(size + 1, 1), (size, 1), (size // 2, 2), (size // 3, 3)]:
        monkeypatch.setattr(delta_snapshot, "_SPLIT_BYTES", bytes_of_split)
        report = ScanReport()
        parts = snapshot.parts(ReadRequest((), report, read_elsewhere=True))
        assert [part.size_bytes for part in parts] == [size // count] * count
        assert len({part.key for part in parts}) == count
        found = [batch for part in parts for batch in part.read(report)]
        assert sorted(int(path) for batch in found for path in batch.files["path"].to_pylist()) == list(range(50))
        assert all(batch.insert_keys is False and batch.keys is None for batch in found)


@pytest.mark.parametrize(
    ("protocol", "configuration", "columns"),
    [
        (PROTOCOL, {}, []),
        (WITH_VECTORS, {}, []),
        (TRACKED, {}, ["base_row_id", "row_commit_version"]),
        (TRACKED, ENABLED, ["base_row_id", "row_commit_version"]),
        (PROTOCOL, ENABLED, ["base_row_id", "row_commit_version"]),
    ],
)
def test_columns_of_row_tracking(
    tmp_path: Path, protocol: dict[str, Any], configuration: dict[str, str], columns: list[str]
) -> None:
    """Files keep their first row id wherever the feature is supported, be it enabled or not."""
    log = DeltaLog(tmp_path / "t").start(protocol=protocol, configuration=configuration)
    log.commit(1, add("1", baseRowId=7, defaultRowCommitVersion=1))
    (part,) = log.snapshot().parts(request())
    (batch,) = part.read(ScanReport())
    assert batch.files.schema.names[5:] == columns
    assert [batch.files[name].to_pylist() for name in columns] == [[7], [1]][: len(columns)]


def test_a_remove_without_a_size_has_none(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("1", size=3), remove("2"))
    (part,) = log.snapshot().parts(request())
    (batch,) = part.read(ScanReport())
    assert batch.files["size_bytes"].to_pylist() == [3, 0] and batch.files["modification_time"].to_pylist() == [1, None]


@pytest.mark.parametrize(
    ("is_all_listed", "files", "size", "field"),
    [
        (True, 2, 20, None),
        (True, 1, 20, "numFiles"),
        (True, 2, 19, "tableSizeBytes"),
        (False, 1, 19, None),
    ],
)
def test_counts_of_the_checksum_file(
    tmp_path: Path, is_all_listed: bool, files: int, size: int, field: str | None
) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("1"), add("2"))
    log.write(f"{1:020d}.crc", b'{"numFiles":2,"tableSizeBytes":20}')
    snapshot = log.snapshot()
    report: Any = SimpleNamespace(is_all_listed=is_all_listed, files_total=files, bytes_listed=size)
    if field is None:
        snapshot.verify(report)
        return
    with pytest.raises(tf.CorruptMetadataError) as caught:
        snapshot.verify(report)
    assert caught.value.field == field


def test_adds_of_another_commit(tmp_path: Path) -> None:
    snapshot = DeltaLog(tmp_path / "t").start().snapshot()
    assert snapshot.added_files([], "c.json") is None
    found = snapshot.added_files([(add("1", stats=stats(4))["add"], 0), (add("2")["add"], 9)], "c.json")
    assert found is not None and found.files["path"].to_pylist() == ["1", "2"] and found.statistics is not None
    assert found.statistics.record_counts(None).to_pylist() == [4, None]


def test_all_adds_newest_first(tmp_path: Path) -> None:
    log = with_checkpoint(DeltaLog(tmp_path / "t").start(), "a").commit(1, add("1")).commit(2, remove("1"), add("2"))
    assert [batch["path"].to_pylist() for batch in log.snapshot().add_actions()] == [["2"], ["1"], ["a"]]


def test_deletes_of_files(tmp_path: Path) -> None:
    snapshot: DeltaSnapshot = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS).snapshot()
    vectors = [[], [inline_vector(1, 2)], [{**inline_vector(5), "storageType": "u", "offset": 3}], []]
    found = snapshot.attach_deletes(pa.table({"deletion_vector": pa.array(vectors, vector_type())}), request())
    assert found.offsets.tolist() == [0, 0, 1, 2, 2] and found.indices.tolist() == [0, 1]
    rows = found.files.to_pylist()
    assert [row["inline"] is None for row in rows] == [False, True] and [row["cardinality"] for row in rows] == [2, 1]
    assert [row["path"] is None for row in rows] == [True, False] and [row["offset"] for row in rows] == [None, 3]
    assert snapshot.attach_deletes(pa.table({}), request()).offsets.tolist() == [0]


def test_stored_paths_are_decoded(tmp_path: Path) -> None:
    snapshot = DeltaLog(tmp_path / "t").start().snapshot()
    root = str(tmp_path / "t")
    assert snapshot.resolve_paths(pa.array(["a%20b", "c"])).to_pylist() == [f"{root}/a b", f"{root}/c"]
    with pytest.raises(tf.PathNotAllowedError):
        snapshot.check_paths(pa.array(["%2e%2e/x"]))
    snapshot.check_paths(pa.array(["a%20b", "c"]))


def test_what_other_processes_get(tmp_path: Path) -> None:
    """They read parts of a checkpoint, for which they need neither the log nor what is cached."""
    snapshot = DeltaLog(tmp_path / "t").start().snapshot()
    found = snapshot.__getstate__()
    assert {*vars(snapshot)} - {*found} == {"_cache", "segment", "state"} and found["version"] == 0
