"""What is told of a checkpoint that was written or is there: its kind, hint and checksum, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.log.listing import Checkpoint, LogFile
from tableformats_delta.log.next_commits import local_checkpoint
from tableformats_delta.maintenance import checkpoint_writer
from tableformats_delta.maintenance.checkpoint_writer import _is_kept, _unknown, write_checkpoint
from tableformats_delta.maintenance.own_checkpoint import find_own_rows

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import CheckpointResult, MetadataCache, PutOutcome, current_ms
from tests.support.delta_log import PROTOCOL, DeltaLog, add, metadata, remove

V2_FEATURE = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}
SOON = 2**43


def started(tmp_path: Path, protocol: dict[str, Any] | None = None, **properties: str) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=protocol or PROTOCOL, configuration=properties)


def written(log: DeltaLog, storage: Storage | None = None, known: Checkpoint | None = None) -> CheckpointResult:
    return write_checkpoint(storage or Storage(log.root), log.snapshot(), MetadataCache(0), known)


def test_one_that_is_there(tmp_path: Path) -> None:
    log = started(tmp_path)
    known = Checkpoint(0, (LogFile(0, "/first", 10, 1), LogFile(0, "/second", 20, 1)))
    assert written(log, known=known) == CheckpointResult(0, "/first", 30, False)
    assert [file.name for file in log.directory.iterdir()] == [f"{0:020d}.json"]


def test_one_that_is_new(tmp_path: Path) -> None:
    log = started(tmp_path).commit(1, add("a", size=3), add("b", size=4), remove("c", deletionTimestamp=SOON))
    path = log.directory / f"{1:020d}.checkpoint.parquet"
    found = written(log)
    size = path.stat().st_size
    assert found == CheckpointResult(1, str(path), size, True, 2, 5)
    hint = json.loads((log.directory / "_last_checkpoint").read_text())
    del hint["checksum"]
    assert hint == {"version": 1, "size": 5, "sizeInBytes": size, "numOfAddFiles": 2}
    totals = json.loads((log.directory / f"{1:020d}.crc").read_text())
    assert (totals["numFiles"], totals["tableSizeBytes"]) == (2, 7)


def test_rows_of_a_local_one_stay_in_memory(tmp_path: Path) -> None:
    """The next checkpoint is made of them."""
    log, cache = started(tmp_path).commit(1, add("a"), add("b")), MetadataCache(1 << 20)
    storage = Storage(log.root)
    found = write_checkpoint(storage, log.snapshot(), cache)
    [kept] = find_own_rows(storage, local_checkpoint(storage, 1), cache) or []
    assert kept.path == found.path and [*kept.structs("add")] == [
        row["add"] for row in pq.read_table(found.path).to_pylist() if row["add"]
    ]


def test_a_checksum_file_that_is_there_stays(tmp_path: Path) -> None:
    log = started(tmp_path).write(f"{0:020d}.crc", b"{}")
    assert written(log).is_new and (log.directory / f"{0:020d}.crc").read_bytes() == b"{}"


@pytest.mark.parametrize("is_stored", [True, False])
def test_one_that_another_writer_was_first_to_write(tmp_path: Path, is_stored: bool) -> None:
    """Its size is told; ours, where the store does not say it."""
    log = started(tmp_path)
    storage, given = Storage(log.root), []

    def put(path: str, data: memoryview) -> PutOutcome:
        given.append(len(data))
        if is_stored:
            Path(path).write_bytes(b"1234567")
        return PutOutcome.LOST

    storage.put_if_absent = put  # type: ignore[assignment, method-assign]
    path = str(log.directory / f"{0:020d}.checkpoint.parquet")
    assert written(log, storage) == CheckpointResult(0, path, 7 if is_stored else given[0], False)
    assert not (log.directory / "_last_checkpoint").exists() and not (log.directory / f"{0:020d}.crc").exists()


@pytest.mark.parametrize(
    ("policy", "features", "is_v2"),
    [
        ("v2", ["v2Checkpoint"], True),
        (" V2 ", ["v2Checkpoint"], True),
        ("classic", ["v2Checkpoint"], False),
        (None, ["v2Checkpoint"], False),
        ("v2", ["appendOnly"], False),
    ],
)
def test_which_kind_is_written(tmp_path: Path, policy: str | None, features: list[str], is_v2: bool) -> None:
    """The property asks for manifests with sidecars, and the feature allows them."""
    protocol = {**V2_FEATURE, "readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
    if features != ["v2Checkpoint"]:
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    properties = {} if policy is None else {"delta.checkpointPolicy": policy}
    log = started(tmp_path, protocol, **properties)
    assert (Path(written(log).path).name != f"{0:020d}.checkpoint.parquet") == is_v2


def test_sidecars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has as many actions as are wanted, and the last one the rest."""
    monkeypatch.setattr(checkpoint_writer, "SIDECAR_ACTIONS", 2)
    protocol = {**V2_FEATURE, "writerFeatures": ["v2Checkpoint"]}
    log = started(tmp_path, protocol, **{"delta.checkpointPolicy": "v2"})
    for version in (1, 2, 3):
        log.commit(version, add(f"f{version}", size=version))
    monkeypatch.setattr("tableformats_delta.maintenance.replay._BATCH_ROWS", 1)
    found = written(log)
    rows = pq.read_table(found.path).to_pylist()
    sidecars = [row["sidecar"] for row in rows if row["sidecar"]]
    files = [log.directory / "_sidecars" / one["path"] for one in sidecars]
    sizes = [one["sizeInBytes"] for one in sidecars]
    assert [len(pq.read_table(file)) for file in files] == [2, 1] and sizes == [file.stat().st_size for file in files]
    size = Path(found.path).stat().st_size
    assert (found.files, found.actions, found.size_bytes) == (3, len(rows) + 3, size + sum(sizes))
    hint = json.loads((log.directory / "_last_checkpoint").read_text())
    assert (hint["size"], hint["sizeInBytes"], hint["v2Checkpoint"]["sizeInBytes"]) == (
        len(rows) + 3,
        found.size_bytes,
        size,
    )
    assert [{**one, "tags": {}} for one in sidecars] == hint["v2Checkpoint"]["sidecarFiles"]


def test_domains_that_were_removed_are_left_out(tmp_path: Path) -> None:
    domains = [{"domain": "d", "configuration": "x", "removed": removed} for removed in (True, False)]
    domains[1]["domain"] = "e"
    log = started(tmp_path).commit(1, *({"domainMetadata": one} for one in domains))
    rows = pq.read_table(written(log).path).to_pylist()
    assert [row["domainMetadata"]["domain"] for row in rows if row["domainMetadata"]] == ["e"]


@pytest.mark.parametrize(
    ("updated", "oldest", "is_kept"),
    [(5, 4, True), (5, 5, False), (5, 6, False), (5, None, True), (None, 6, True), ("5", 6, True)],
)
def test_transactions_that_are_kept(updated: Any, oldest: int | None, is_kept: bool) -> None:
    assert _is_kept({"appId": "a", "lastUpdated": updated}, oldest) == is_kept


def test_how_long_transactions_are_kept(tmp_path: Path) -> None:
    log = started(tmp_path, **{"delta.setTransactionRetentionDuration": "interval 1 day"})
    now, hour = current_ms(), 3_600_000
    times = {"old": now - 25 * hour, "young": now - 23 * hour}
    log.commit(1, *({"txn": {"appId": name, "version": 1, "lastUpdated": time}} for name, time in times.items()))
    rows = pq.read_table(written(log).path).to_pylist()
    assert [row["txn"]["appId"] for row in rows if row["txn"]] == ["young"]


def older(**columns: Any) -> Any:
    kinds = [(name, pa.struct(kind) if isinstance(kind, list) else kind) for name, kind in columns.items()]
    return SimpleNamespace(is_json=False, schema=lambda: pa.schema(kinds))


NUMBER, TEXT = pa.int64(), pa.string()
MANIFEST = SimpleNamespace(is_json=True)


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ([], []),
        ([MANIFEST], []),
        ([older(remove=[("own", NUMBER)])], []),
        ([older(add=NUMBER)], []),
        ([older(add=[("path", TEXT), ("stats", TEXT), ("own", NUMBER)])], ["own"]),
        ([older(add=[("own", NUMBER)]), MANIFEST, older(add=[("more", TEXT), ("own", NUMBER)])], ["own", "more"]),
        ([older(add=[("own", NUMBER), ("more", TEXT)]), older(add=[("own", TEXT)])], ["more"]),
        ([older(add=[("own", NUMBER)]), older(add=[("own", TEXT)]), older(add=[("own", NUMBER)])], []),
    ],
)
def test_members_of_older_checkpoints_that_the_protocol_does_not_know(files: list[Any], names: list[str]) -> None:
    found = _unknown(files, "add", pa.struct([("path", TEXT)]))
    assert [member.name for member in found] == names


def test_features_of_writers(tmp_path: Path) -> None:
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [],
        "writerFeatures": ["appendOnly", "odd"],
    }
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        written(started(tmp_path, protocol))
    assert (caught.value.field, caught.value.path) == ("odd", str(tmp_path / "t"))


def test_the_metadata_in_a_checksum_file(tmp_path: Path) -> None:
    log = started(tmp_path)
    written(log)
    totals = json.loads((log.directory / f"{0:020d}.crc").read_text())
    assert (totals["metadata"], totals["protocol"]) == (metadata(), PROTOCOL)
