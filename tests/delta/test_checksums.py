"""Version checksum files: a shortcut past the checkpoint, a check of the log, and nothing that a table needs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.log.checksums import VersionChecksum, read_checksum
from tableformats_delta.log.listing import LogFile, list_log

import tableformats as tf
from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.io.storage import Storage
from tableformats.plugin.report import ScanReport
from tests.support.conformance import delta_cases, needs_tables
from tests.support.delta_log import (
    PROTOCOL,
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    first_actions,
    metadata,
    remove,
    stats,
)

CHECKPOINT = "{:020d}.checkpoint.parquet"


def checksum(files: int, size: int, **more: Any) -> dict[str, Any]:
    content = {
        "tableSizeBytes": size,
        "numFiles": files,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata(),
        "protocol": PROTOCOL,
        "allFiles": [],
        "histogramOpt": None,
        "unknown": {"a": [1]},
    }
    return {name: value for name, value in {**content, **more}.items() if value is not ...}


def write(log: DeltaLog, version: int, content: Any) -> None:
    log.write(f"{version:020d}.crc", content if isinstance(content, bytes) else json.dumps(content).encode())


def planned(log: DeltaLog, version: int | None = None) -> tf.ScanPlan:
    return tf.open_table(log.root).snapshot(version).scan().plan()


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 2 has a checkpoint of two files; version 3 adds a third: 3 files of 10 bytes."""
    log = DeltaLog(tmp_path / "t").start()
    log.commit(1, add("a1")).commit(2, add("a2"))
    log.checkpoint(CHECKPOINT.format(2), *first_actions(), add("a1"), add("a2"))
    return log.commit(3, add("a3"))


class TestShortcut:
    @pytest.mark.parametrize("version", [2, 3])
    def test_protocol_and_metadata_without_the_checkpoint(self, log: DeltaLog, version: int) -> None:
        """Of the version itself or of an older one that no newer commit changed."""
        write(log, version, checksum(version, 10 * version))
        log.write(CHECKPOINT.format(2), b"no Parquet at all")
        assert log.snapshot().schema.names == ["id"]
        with pytest.raises(CorruptMetadataError):
            planned(log)

    def test_totals_of_an_older_file_are_of_its_version(self, log: DeltaLog) -> None:
        write(log, 2, checksum(2, 20))
        assert len(planned(log).files) == 3

    def test_newer_commits_win_over_an_older_file(self, log: DeltaLog) -> None:
        write(log, 2, checksum(2, 20))
        log.commit(4, {"metaData": metadata(field("new", "string"))}, {"protocol": WITH_VECTORS})
        assert log.snapshot().schema.names == ["new"]
        assert log.snapshot(3).schema.names == ["id"]
        log.commit(5, add("a5"))
        assert log.snapshot().protocol == WITH_VECTORS

    def test_one_of_both_is_taken(self, log: DeltaLog) -> None:
        write(log, 2, checksum(2, 20, metadata=...))
        assert log.snapshot().schema.names == ["id"]

    def test_none_from_before_the_checkpoint_or_after_the_version(self, log: DeltaLog) -> None:
        for version in (1, 4):
            write(log, version, checksum(1, 1, metadata=metadata(field("wrong", "long"))))
        assert log.snapshot().schema.names == ["id"]
        assert log.snapshot().segment.checksum is None

    @pytest.mark.parametrize(
        ("enabled", "known"), [("true", {"inCommitTimestampOpt": 77}), ("true", {}), ("false", {})]
    )
    def test_the_time_of_a_version_whose_commit_is_gone(
        self, tmp_path: Path, enabled: str, known: dict[str, int]
    ) -> None:
        """That of the checksum file, or that of the checkpoint."""
        configuration = {"delta.enableInCommitTimestamps": enabled}
        log = DeltaLog(tmp_path / "i")
        log.checkpoint(CHECKPOINT.format(2), *first_actions(configuration=configuration), add("a"))
        os.utime(log.directory / CHECKPOINT.format(2), (5, 5))
        write(log, 2, checksum(1, 10, metadata=metadata(configuration=configuration), **known))
        assert log.snapshot().timestamp_ms == known.get("inCommitTimestampOpt", 5000)

    def test_a_time_in_the_checksum_of_a_table_without_in_commit_timestamps(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "i")
        log.checkpoint(CHECKPOINT.format(2), *first_actions(), add("a"))
        os.utime(log.directory / CHECKPOINT.format(2), (5, 5))
        write(log, 2, checksum(1, 10, metadata=metadata(), inCommitTimestampOpt=77))
        assert log.snapshot().timestamp_ms == 5000


class TestCheck:
    @pytest.mark.parametrize(("files", "size", "name"), [(2, 30, "numFiles"), (3, 29, "tableSizeBytes")])
    def test_totals_that_contradict_the_log(self, log: DeltaLog, files: int, size: int, name: str) -> None:
        write(log, 3, checksum(files, size))
        with pytest.raises(CorruptMetadataError, match="contradicts") as caught:
            planned(log)
        assert (caught.value.field, caught.value.path) == (name, str(log.directory / f"{3:020d}.crc"))
        assert caught.value.hint is not None and f"remove the file {3:020d}.crc" in caught.value.hint
        (log.directory / f"{3:020d}.crc").rename(log.directory / "set-aside")
        assert planned(log).report.files_total == 3
        (log.directory / "set-aside").rename(log.directory / f"{3:020d}.crc")
        assert planned(log, 2).report.files_total == 2

    def test_totals_that_agree(self, log: DeltaLog) -> None:
        write(log, 3, checksum(3, 30))
        assert len(planned(log).files) == 3
        assert planned(log).report.notes == []

    def test_totals_are_of_all_files_whatever_is_pruned(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "p").start()
        bounds = [{"minValues": {"id": i}, "maxValues": {"id": i}, "nullCount": {"id": 0}} for i in range(3)]
        log.commit(1, *(add(f"a{i}", stats=stats(1, **bounds[i])) for i in range(3)))
        write(log, 1, checksum(3, 30))
        plan = tf.open_table(log.root).scan("id = 1", limit=1).plan()
        assert plan.files["path"].to_pylist() == [f"{log.root}/a1"]

    def test_totals_that_skipped_row_groups_made_unknown(self, log: DeltaLog) -> None:
        write(log, 3, checksum(3, 30))
        snapshot = log.snapshot()
        snapshot.verify(ScanReport(files_total=4, bytes_listed=20, files_skipped_with_manifests=2))
        with pytest.raises(CorruptMetadataError):
            snapshot.verify(ScanReport(files_total=4, bytes_listed=20))

    def test_a_lost_tombstone_is_found(self, log: DeltaLog) -> None:
        """A compaction that dropped a remove brings the file back; only the checksum file can tell."""
        log.commit(4, remove("a1")).commit(5, add("a5"))
        write(log, 5, checksum(3, 30))
        assert len(planned(log).files) == 3
        log.write(f"{4:020d}.{5:020d}.compacted.json", json.dumps(add("a5")).encode())
        with pytest.raises(CorruptMetadataError, match="3 there, 4 in the log"):
            planned(log)

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            ({"protocol": {**PROTOCOL, "minReaderVersion": 2}}, "protocol"),
            ({"protocol": {**PROTOCOL, "readerFeatures": ["deletionVectors"]}}, "protocol"),
            ({"metadata": metadata(field("other", "long"))}, "metadata"),
            ({"metadata": {**metadata(), "id": "other"}}, "metadata"),
            ({"metadata": metadata(partition=("id",))}, "metadata"),
            ({"metadata": metadata(configuration={"a": "b"})}, "metadata"),
        ],
    )
    def test_actions_that_contradict_the_log(self, log: DeltaLog, change: dict[str, Any], name: str) -> None:
        log.commit(4, *log.actions(0))
        write(log, 4, checksum(3, 30, **change))
        with pytest.raises(CorruptMetadataError, match="contradicts") as caught:
            log.snapshot()
        assert caught.value.field == name

    @pytest.mark.parametrize(
        "change",
        [
            {"protocol": {**PROTOCOL, "readerFeatures": None, "writerFeatures": []}},
            {"metadata": {**metadata(), "name": "x", "createdTime": 9, "configuration": None}},
            {"metadata": {**metadata(), "schemaString": metadata()["schemaString"].replace(", ", " ,  ")}},
            {"protocol": ..., "metadata": ..., "numMetadata": ..., "numProtocol": None},
        ],
    )
    def test_spellings_of_the_same(self, log: DeltaLog, change: dict[str, Any]) -> None:
        log.commit(4, *log.actions(0))
        write(log, 4, checksum(3, 30, **change))
        assert planned(log).report.notes == []

    def test_the_order_of_features_does_not_matter(self, tmp_path: Path) -> None:
        names = ["deletionVectors", "columnMapping"]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
        log = DeltaLog(tmp_path / "f").start(protocol=protocol)
        turned = {**protocol, "readerFeatures": names[::-1], "writerFeatures": names[::-1]}
        write(log, 0, checksum(0, 0, protocol=turned))
        assert log.snapshot().protocol == protocol

    def test_in_commit_timestamps_that_differ(self, tmp_path: Path) -> None:
        started = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
        log = DeltaLog(tmp_path / "i")
        log.commit(0, {"commitInfo": {"inCommitTimestamp": 7}}, {"protocol": PROTOCOL}, {"metaData": started})
        write(log, 0, checksum(0, 0, metadata=started, inCommitTimestampOpt=7))
        assert log.snapshot().timestamp_ms == 7
        write(log, 0, checksum(0, 0, metadata=started, inCommitTimestampOpt=8))
        assert log.snapshot().timestamp_ms == 7
        (note,) = planned(log).report.notes
        assert "timestamp 8, and the log has 7, which counts" in note


class TestDamage:
    @pytest.mark.parametrize(
        "content",
        [
            b"{",
            b"null",
            b"[]",
            b"7",
            b"\xff",
            b"\xef\xbb\xbf{}",
            b"[" * 100_000,
            b'{"numFiles":' + b"1" * 5000 + b"}",
            b'{"numFiles":3}{"numFiles":3}',
            checksum(-1, 30),
            checksum(3, 2**63),
            checksum(3, 30, numFiles="3"),
            checksum(3, 30, numFiles=True),
            checksum(3, 30, numFiles=3.0),
            checksum(3, 30, numMetadata=2),
            checksum(3, 30, numProtocol=0),
            checksum(3, 30, protocol=[]),
            checksum(3, 30, protocol={}),
            checksum(3, 30, metadata="x"),
            checksum(3, 30, metadata={}),
            checksum(3, 30, metadata={"schemaString": "{"}),
            checksum(3, 30, metadata={"schemaString": "{", "id": "t"}),
            checksum(3, 30, metadata={"schemaString": "7", "id": "t"}),
            checksum(3, 30, metadata={"schemaString": None}),
            checksum(3, 30, inCommitTimestampOpt="7"),
        ],
    )
    def test_ignored_with_a_note(self, log: DeltaLog, content: Any) -> None:
        write(log, 3, content)
        plan = planned(log)
        assert len(plan.files) == 3
        assert plan.report.notes == ["The checksum file of version 3 is damaged and was ignored"]
        with pytest.raises(CorruptMetadataError):
            read_checksum(Storage(log.root), list_log(Storage(log.root)).checksums[3])

    def test_an_action_of_no_columns(self, log: DeltaLog) -> None:
        """It may leave its schema out, if it is an action at all."""
        write(log, 3, checksum(3, 30, metadata={"id": "t"}))
        storage = Storage(log.root)
        assert read_checksum(storage, list_log(storage).checksums[3]).metadata == {"id": "t"}

    def test_an_empty_file_is_none(self, log: DeltaLog) -> None:
        write(log, 3, b"")
        assert planned(log).report.notes == []

    def test_gone_after_the_listing(self, log: DeltaLog) -> None:
        write(log, 3, checksum(3, 30))
        listing = list_log(Storage(log.root))
        (log.directory / f"{3:020d}.crc").unlink()
        with pytest.raises(CorruptMetadataError, match="missing"):
            read_checksum(Storage(log.root), listing.checksums[3])

    def test_cut_and_flipped(self, log: DeltaLog) -> None:
        """Never another exception; what is cut is ignored."""
        data = json.dumps(checksum(3, 30)).encode()
        for length in range(1, len(data), 7):
            write(log, 3, data[:length])
            assert len(planned(log).files) == 3
        errors = 0
        for bit in range(0, len(data) * 8, 29):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            write(log, 3, bytes(damaged))
            try:
                planned(log)
            except TableFormatsError as error:
                assert error.path is not None
                errors += 1
        assert 0 < errors < 100


@needs_tables
@pytest.mark.conformance
def test_a_file_that_spark_wrote() -> None:
    (case,) = [case for case in delta_cases() if str(case).endswith("variant/basic")]
    table = tf.open_table(case.path)
    for version in (0, 1):
        snapshot = table.snapshot(version)
        recorded = snapshot.format_snapshot.state.checksum  # type: ignore[attr-defined]
        assert recorded is not None
        assert snapshot.scan().plan().report.files_total == recorded.num_files


# ---- one file -------------------------------------------------------------------------------------------------------


def read(text: str) -> VersionChecksum:
    storage: Any = SimpleNamespace(read_bytes=lambda path: text.encode())
    return read_checksum(storage, LogFile(3, "c", 0, 0))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({}, (None, None, None, None, None)),
        ({"numFiles": 0, "tableSizeBytes": 0, "numMetadata": 1, "numProtocol": 1}, (None, None, 0, 0, None)),
        (
            {"numFiles": 2**63 - 1, "tableSizeBytes": 2**63 - 1, "inCommitTimestampOpt": 2**63 - 1},
            (None, None, *(2**63 - 1,) * 3),
        ),
        ({"protocol": {"minReaderVersion": 1}}, ({"minReaderVersion": 1}, None, None, None, None)),
        ({"metadata": {"schemaString": "{}"}}, (None, {"schemaString": "{}"}, None, None, None)),
        ({"metadata": {"id": "t"}}, (None, {"id": "t"}, None, None, None)),
    ],
)
def test_what_a_file_says(content: dict[str, Any], found: tuple[Any, ...]) -> None:
    one = read(json.dumps(content))
    numbers = one.num_files, one.size_bytes, one.in_commit_timestamp
    assert (one.protocol, one.metadata, *numbers, one.file.version) == (*found, 3)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        *((text, None) for text in ("", "{", "[]", "7", '{"a":}')),
        *((f'{{"numMetadata":{value}}}', "numMetadata") for value in ("0", "2", "true", "1.0")),
        *((f'{{"numProtocol":{value}}}', "numProtocol") for value in ("0", "2")),
        *(
            (f'{{"{name}":{value}}}', name)
            for name in ("numFiles", "tableSizeBytes", "inCommitTimestampOpt")
            for value in ("-1", str(2**63), "false", "1.5", '"1"', "[]")
        ),
        *((f'{{"protocol":{value}}}', "protocol") for value in ("[]", "7", "{}", '{"minReaderVersion":"1"}')),
        *(
            (f'{{"metadata":{value}}}', "metadata")
            for value in (
                "[]",
                "{}",
                '{"schemaString":null}',
                '{"schemaString":"[]"}',
                '{"schemaString":"x","id":"t"}',
                '{"schemaString":7,"id":"t"}',
            )
        ),
    ],
)
def test_what_is_no_checksum_file(content: str, named: str | None) -> None:
    with pytest.raises(CorruptMetadataError, match="the checksum file is damaged") as caught:
        read(content)
    assert (caught.value.path, caught.value.field) == ("c", named)
