"""Log compactions: used where they fit, and never with another answer than the commits that they stand for."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from tableformats_delta.format import DeltaFormat
from tableformats_delta.log.actions import iter_actions

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, SnapshotSelector
from tests.support.conformance import delta_cases, needs_tables
from tests.support.delta_log import (
    WITH_VECTORS,
    DeltaLog,
    add,
    compaction_name,
    field,
    first_actions,
    live_files,
    metadata,
    reconciled,
    remove,
    request,
    stats,
    vector,
)

CHECKPOINT = "{:020d}.checkpoint.parquet"


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 0 with metadata, versions 1 to 6 that add f1 to f6; each from 3 on removes the one two before it."""
    log = DeltaLog(tmp_path / "t").start()
    for version in range(1, 7):
        log.commit(version, add(f"f{version}"), *([remove(f"f{version - 2}")] if version > 2 else []))
    return log


def used(log: DeltaLog, version: int | None = None) -> list[str]:
    """Names of the log files that make a version, newest first."""
    return [Path(file.path).name for file in log.snapshot(version).segment.commits]


def notes(log: DeltaLog, version: int | None = None) -> list[str]:
    """Notes of a plan; the files of a version that a damaged compaction covers are those of its commits."""
    asked = request()
    live_files(log.snapshot(version), asked)
    return asked.report.notes


def commit_names(*versions: int) -> list[str]:
    return [f"{version:020d}.json" for version in versions]


class TestChoice:
    def test_the_fewest_files(self, log: DeltaLog) -> None:
        """Greed from the old end would take 0-1, 2, 3, 4 and 5-6."""
        for first, last in ((0, 1), (1, 4), (5, 6), (2, 3)):
            log.compact(first, last)
        assert used(log) == [compaction_name(5, 6), compaction_name(1, 4), *commit_names(0)]
        log.compact(0, 4)
        assert used(log) == [compaction_name(5, 6), compaction_name(0, 4)]
        assert log.paths() == ["f5", "f6"]

    def test_a_compaction_of_all(self, log: DeltaLog) -> None:
        log.compact(0, 6)
        assert used(log) == [compaction_name(0, 6)]
        assert log.snapshot().schema.names == ["id"]
        assert log.paths() == ["f5", "f6"]

    def test_none_that_ends_after_the_version(self, log: DeltaLog) -> None:
        log.compact(2, 5)
        assert used(log, 4) == commit_names(4, 3, 2, 1, 0)
        assert used(log, 5) == [compaction_name(2, 5), *commit_names(1, 0)]
        assert log.paths(4) == ["f3", "f4"]

    def test_none_that_straddles_the_checkpoint(self, log: DeltaLog) -> None:
        """It would bring back what the checkpoint knows to be removed."""
        log.checkpoint(CHECKPOINT.format(3), *first_actions(), add("f2"), add("f3"))
        log.write(compaction_name(2, 5), json.dumps(add("wrong")).encode())
        assert used(log) == commit_names(6, 5, 4)
        log.compact(4, 6)
        assert used(log) == [compaction_name(4, 6)]
        assert log.paths() == ["f5", "f6"]

    @pytest.mark.parametrize(
        "name",
        [
            compaction_name(3, 3),
            compaction_name(5, 2),
            compaction_name(0, 99),
            compaction_name(1, 6) + ".tmp",
            "." + compaction_name(1, 6),
            "1.6.compacted.json",
            compaction_name(1, 6).replace("compacted", "Compacted"),
            compaction_name(1, 10**20 - 1),
        ],
    )
    def test_names_that_are_none(self, log: DeltaLog, name: str) -> None:
        log.write(name, json.dumps(add("wrong")).encode())
        assert used(log) == commit_names(6, 5, 4, 3, 2, 1, 0)

    def test_an_empty_file_is_none(self, log: DeltaLog) -> None:
        log.write(compaction_name(1, 6), b"")
        assert log.paths() == ["f5", "f6"]

    def test_it_fills_no_gap(self, log: DeltaLog) -> None:
        """With the commits of a range their times and provenance are gone: the log is damaged, as it is without."""
        log.compact(1, 6)
        (log.directory / commit_names(3)[0]).unlink()
        with pytest.raises(CorruptMetadataError, match="needs the commit of version 3"):
            log.snapshot()

    def test_it_makes_no_version(self, log: DeltaLog) -> None:
        log.compact(4, 6)
        (log.directory / commit_names(6)[0]).unlink()
        assert log.snapshot().version == 5
        with pytest.raises(SnapshotNotFoundError, match="Versions 0 to 5"):
            log.snapshot(6)


def test_times_and_provenance_are_those_of_the_commits(tmp_path: Path) -> None:
    configuration = {"delta.enableInCommitTimestamps": "true"}
    log = DeltaLog(tmp_path / "t")
    first = {"commitInfo": {"inCommitTimestamp": 100, "operation": "CREATE"}}
    log.commit(0, first, {"protocol": WITH_VECTORS}, {"metaData": metadata(configuration=configuration)})
    for version in (1, 2, 3):
        info = {"inCommitTimestamp": 100 + version, "operation": "WRITE"}
        log.commit(version, {"commitInfo": info}, add(f"f{version}"))
    before = log.table().history()
    log.compact(0, 3)
    assert used(log) == [compaction_name(0, 3)]
    assert log.snapshot().timestamp_ms == 103
    assert log.snapshot(timestamp_ms=102).version == 2
    assert log.table().history().equals(before)


def _history(log: DeltaLog, seed: int, versions: int) -> None:
    """Random commits in which files come, go, come back and change their vectors, with all other actions between."""
    chance = random.Random(seed)
    live: dict[str, dict[str, Any]] = {}
    for version in range(1, versions + 1):
        actions: list[dict[str, Any]] = []
        for path in chance.sample([f"f{i}" for i in range(8)], chance.randrange(5)):
            old = live.pop(path, None)
            if old is not None:
                gone = {"deletionVector": old["deletionVector"]} if "deletionVector" in old else {}
                actions.append(remove(path, deletionTimestamp=version, **gone))
            if old is None or chance.random() < 0.5:
                more: dict[str, Any] = {"size": version, "stats": stats(version)}
                if chance.random() < 0.5:
                    more["deletionVector"] = vector(chance.randrange(3), offset=chance.choice([None, 1, 45]))
                actions.append(add(path, **more))
                live[path] = actions[-1]["add"]
        if chance.random() < 0.4:
            actions.append({"txn": {"appId": chance.choice("abc"), "version": chance.randrange(99)}})
        if chance.random() < 0.4:
            removed = chance.random() < 0.5
            domain = {"domain": chance.choice("xyz"), "configuration": str(version), "removed": removed}
            actions.append({"domainMetadata": domain})
        if chance.random() < 0.2:
            actions.append({"metaData": metadata(field("id", "long"), field(f"c{version}", "string"))})
        actions.append({"commitInfo": {"operation": f"v{version}"}})
        chance.shuffle(actions)
        log.commit(version, *actions)


def _state(log: DeltaLog, version: int) -> tuple[Any, ...]:
    snapshot = log.snapshot(version)
    tables = [snapshot.inspect(name).to_pylist() for name in ("tombstones", "transactions", "domains")]
    return (
        sorted(map(repr, live_files(snapshot))),
        snapshot.schema,
        snapshot.timestamp_ms,
        [sorted(map(repr, rows)) for rows in tables],
    )


@pytest.mark.parametrize("seed", range(6))
def test_any_compactions_and_checkpoints_change_nothing(tmp_path: Path, seed: int) -> None:
    versions = 9
    log = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)
    _history(log, seed, versions)
    plain = [_state(log, version) for version in range(versions + 1)]
    chance = random.Random(seed)
    ranges = list(itertools.combinations(range(versions + 1), 2))
    for first, last in chance.sample(ranges, 5):
        log.compact(first, last)
        assert [_state(log, version) for version in range(versions + 1)] == plain
    at = chance.randrange(versions)
    actions = reconciled([log.actions(version) for version in range(at + 1)])
    text = "\n".join(json.dumps(a) for a in actions if not a.get("domainMetadata", {}).get("removed"))
    log.write(f"{at:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", text.encode())
    assert log.snapshot().segment.checkpoint is not None
    assert [_state(log, version) for version in range(versions + 1)] == plain


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_actions_in_a_commit_changes_nothing(tmp_path: Path, seed: int) -> None:
    versions = 9
    log = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)
    _history(log, seed, versions)
    plain = [_state(log, version) for version in range(versions + 1)]
    chance = random.Random(seed)
    for _ in range(4):
        for version in range(versions + 1):
            path = log.directory / f"{version:020d}.json"
            written = path.stat().st_mtime_ns
            actions = log.actions(version)
            chance.shuffle(actions)
            log.commit(version, *actions)
            os.utime(path, ns=(written, written))
        assert [_state(log, version) for version in range(versions + 1)] == plain


class TestDamage:
    @pytest.mark.parametrize(
        "data",
        [
            b"\n",
            b"junk",
            b"{",
            b"[]",
            b"\xff",
            b"[" * 100_000,
            b'{"add":{"path":"a","size":' + b"1" * 5000 + b"}}",
            b'{"add":{"path":7}}',
            b'{"add":{"path":"a"}}',
            b'{"remove":{}}',
            b'{"add":{"path":"a\\ud800","size":1}}',
        ],
    )
    def test_its_commits_are_read_instead(self, log: DeltaLog, data: bytes) -> None:
        log.write(compaction_name(1, 6), data)
        assert log.paths() == ["f5", "f6"]
        assert notes(log)[0].startswith("The log compaction of versions 1 to 6 was not used (")
        assert used(log) == commit_names(6, 5, 4, 3, 2, 1, 0)
        assert notes(log, 5) == []

    def test_two_damaged_ones_and_a_sound_one(self, log: DeltaLog) -> None:
        log.compact(2, 3).write(compaction_name(0, 1), b"{").write(compaction_name(4, 6), b"[]")
        assert log.paths() == ["f5", "f6"]
        assert len(notes(log)) == 2
        assert used(log) == [*commit_names(6, 5, 4), compaction_name(2, 3), *commit_names(1, 0)]

    def test_a_damaged_commit_is_an_error_still(self, log: DeltaLog) -> None:
        log.write(compaction_name(1, 6), b"{").write(f"{4:020d}.json", b"{")
        with pytest.raises(CorruptMetadataError) as caught:
            log.snapshot()
        assert caught.value.path == str(log.directory / f"{4:020d}.json")

    def test_updates_go_on_without_it(self, log: DeltaLog) -> None:
        log.write(compaction_name(1, 6), b"{")
        table, before = log.table(), log.snapshot()
        assert table.update(before) is before
        log.commit(7, add("f7"))
        assert sorted(row["path"] for row in live_files(table.update(before))) == ["f5", "f6", "f7"]

    @pytest.mark.parametrize(
        "actions",
        [
            [add("f2"), remove("f2")],
            [add("f2"), add("f2", size=3)],
            [remove("file:/x/a"), add("/x/a")],
            [add("f2", deletionVector=vector(0)), remove("f2"), remove("f2", deletionVector=vector(0))],
        ],
    )
    def test_one_that_is_not_reconciled(self, log: DeltaLog, actions: list[dict[str, Any]]) -> None:
        log.write(compaction_name(1, 6), "".join(map(json.dumps, actions)).encode())
        assert log.paths() == ["f5", "f6"]
        assert "names a file twice" in notes(log)[0]

    def test_vectors_of_one_file_are_files(self, log: DeltaLog) -> None:
        actions = [add("f", deletionVector=vector(1)), remove("f"), remove("f", deletionVector=vector(0))]
        log.write(compaction_name(1, 6), "".join(map(json.dumps, actions)).encode())
        assert log.paths() == ["f"]

    def test_cut_and_flipped(self, log: DeltaLog) -> None:
        log.compact(1, 6)
        path = log.directory / compaction_name(1, 6)
        data = path.read_bytes()
        errors = 0
        for length in range(1, len(data), 3):
            path.write_bytes(data[:length])
            errors += len(notes(log))
        for bit in range(0, len(data) * 8, 37):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(bytes(damaged))
            errors += len(notes(log))
        assert errors > 100

    def test_gone_after_the_listing(self, log: DeltaLog) -> None:
        log.compact(1, 6)
        snapshot = log.snapshot()
        (log.directory / compaction_name(1, 6)).unlink()
        assert sorted(row["path"] for row in live_files(snapshot)) == ["f5", "f6"]
        with pytest.raises(CorruptMetadataError, match="missing"):
            snapshot.inspect("tombstones")


@needs_tables
@pytest.mark.conformance
def test_conformance_tables_compacted(tmp_path: Path) -> None:
    """Every stored log whose tail has two commits and more, with its whole tail as one compaction."""
    compacted = 0
    for i, case in enumerate(case for case in delta_cases() if case.must_fail is None):
        shutil.copytree(case.path / "_delta_log", tmp_path / str(i) / "_delta_log")
        storage = Storage(tmp_path / str(i))
        table = DeltaFormat().open(storage, OpenOptions())
        plain = table.snapshot(SnapshotSelector())
        tail = plain.segment.commits
        if len(tail) < 2:
            continue
        commits = [
            [{name: content} for name, content, _ in iter_actions(storage.read_bytes(file.path), file.path)]
            for file in reversed(tail)
        ]
        if "canonicalized-paths" in str(case):  # reconciling these takes the reader's own idea of a path
            continue
        text = "\n".join(map(json.dumps, reconciled(commits)))
        name = compaction_name(tail[-1].version, tail[0].version)
        (tmp_path / str(i) / "_delta_log" / name).write_text(text)
        snapshot = table.snapshot(SnapshotSelector())
        assert [Path(file.path).name for file in snapshot.segment.commits] == [name]
        assert sorted(map(repr, live_files(snapshot))) == sorted(map(repr, live_files(plain)))
        assert (snapshot.schema, snapshot.protocol) == (plain.schema, plain.protocol)
        compacted += 1
    assert compacted > 30


def test_the_report_counts_what_is_read(log: DeltaLog) -> None:
    log.compact(1, 6)
    asked = request()
    live_files(log.snapshot(), asked)
    assert asked.report.log_files_read == 2


@pytest.mark.parametrize(
    ("first", "last", "says"),
    [
        (2, 2, "a compaction has at least two commits"),
        (3, 2, "a compaction has at least two commits"),
        (7, 7, "the log has no commit 7"),
        (5, 7, "the log has no commit 7"),
        (5, 9, "the log has no commit 7"),
    ],
)
def test_ranges_that_are_not_compacted(log: DeltaLog, first: int, last: int, says: str) -> None:
    with pytest.raises(SnapshotNotFoundError, match=says) as caught:
        log.table().compact_log(first, last)
    assert caught.value.path == str(log.directory)
    assert not list(log.directory.glob("*.compacted.json"))


def test_an_add_wins_over_a_remove_of_its_commit(log: DeltaLog) -> None:
    """In whichever order they stand."""
    log.commit(7, add("x"), remove("x"), add("z")).commit(8, remove("y"), remove("z"), add("y"))
    path = Path(log.table().compact_log(7, 8))
    assert [json.loads(line) for line in path.read_text().splitlines()] == [add("x"), remove("z"), add("y")]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("1", None),
        ("[]", None),
        ("{", None),
        ("{}", None),
        ('{"add": null}', None),
        ('{"add": {"path": "a"}, "remove": {"path": "b"}}', None),
        ('{"add": 1}', "add"),
        ('{"unknown": 1}', "unknown"),
        ('{"txn": []}', "txn"),
        ('{"txn": {"version": 1}}', "txn"),
        ('{"domainMetadata": {"domain": 1}}', "domainMetadata"),
    ],
)
def test_lines_that_are_no_actions(log: DeltaLog, line: str, field: str | None) -> None:
    name = commit_names(7)[0]
    log.write(name, line.encode())
    with pytest.raises(CorruptMetadataError) as caught:
        log.table().compact_log(6, 7)
    assert (caught.value.path, caught.value.field) == (str(log.directory / name), field)
    assert not list(log.directory.glob("*.compacted.json"))


def test_where_an_action_is_wrong(log: DeltaLog) -> None:
    """The offset is that of its line."""
    lines = [json.dumps(add("a")).encode(), b"", json.dumps({"remove": {"path": 1}}).encode()]
    log.write(commit_names(7)[0], b"\n".join(lines))
    with pytest.raises(CorruptMetadataError) as caught:
        log.table().compact_log(6, 7)
    assert (caught.value.field, caught.value.offset) == ("remove.path", len(lines[0]) + 2)
