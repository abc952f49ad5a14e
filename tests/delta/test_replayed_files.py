"""The log of one version as a new checkpoint has it: live files and tombstones of commits and older checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.log.actions import Actions
from tableformats_delta.log.commits import OwnCommit
from tableformats_delta.maintenance import replay
from tableformats_delta.maintenance.file_columns import AddColumns, RemoveColumns
from tableformats_delta.maintenance.replay import OtherActions, Replay
from tableformats_delta.maintenance.stored_statistics import StoredStatistics

from tableformats.io.storage import Storage
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import ADD, UUIDS, WITH_VECTORS, DeltaLog, add, first_actions, remove

COLUMNS = AddColumns({}, StoredStatistics(True, None)), RemoveColumns()
CHECKPOINT = f"{1:020d}.checkpoint.parquet"


def replayed(log: DeltaLog, expired: int = -1, older: Any = None) -> Replay:
    return Replay(Storage(log.root), log.snapshot(), *COLUMNS, expired, older)


def paths(found: Any) -> dict[str, list[str]]:
    every: dict[str, list[str]] = {"add": [], "remove": []}
    for kind, values in found:
        every[kind] += values.field("path").to_pylist()
    return every


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


def checkpoint(log: DeltaLog, *adds: dict[str, Any], rows_of_group: int = 100, **types: Any) -> DeltaLog:
    """Of version 1: its own actions and these adds, so many rows to a group."""
    found = [{"add": {**one["add"], "partitionValues": []}} for one in adds]
    log.commit(1, *adds).checkpoint(CHECKPOINT, *found, *first_actions(protocol=WITH_VECTORS), **types)
    table = pq.read_table(log.directory / CHECKPOINT)
    pq.write_table(table, log.directory / CHECKPOINT, row_group_size=rows_of_group)
    return log


@pytest.mark.parametrize(
    ("expired", "removed"),
    [(-1, ["c", "a", "late"]), (0, ["c", "a"]), (49, ["c", "a"]), (50, ["c"]), (60, []), (99, [])],
)
def test_files_of_commits(log: DeltaLog, expired: int, removed: list[str]) -> None:
    """The newest action of a file counts. A tombstone without a time is of the beginning of time."""
    log.commit(1, add("a"), add("b"), add("c"), remove("late", deletionTimestamp=None))
    log.commit(2, remove("a", deletionTimestamp=50), add("d")).commit(3, remove("c", deletionTimestamp=60))
    assert paths(replayed(log, expired).files()) == {"add": ["d", "b"], "remove": removed}


def test_files_of_an_older_checkpoint(log: DeltaLog) -> None:
    checkpoint(log, add("a"), add("b"), add("c"), rows_of_group=1)
    assert paths(replayed(log).files()) == {"add": ["a", "b", "c"], "remove": []}
    log.commit(2, remove("b", deletionTimestamp=5), add("d"))
    assert paths(replayed(log).files()) == {"add": ["d", "a", "c"], "remove": ["b"]}
    some = replayed(log)
    assert paths(some.of_commits()) == {"add": ["d"], "remove": ["b"]}
    assert paths(some.of_checkpoint({0, 1})) == {"add": ["c"], "remove": []}
    assert paths(some.of_checkpoint({0, 1, 2}))["add"] == []
    assert paths(replayed(log, older=[]).files())["add"] == ["d"], (
        "the files of the checkpoint are those that are given"
    )


@pytest.mark.parametrize(("expired", "removed"), [(-1, ["b", "d"]), (0, ["b"]), (8, ["b"]), (9, [])])
def test_files_of_a_manifest_of_json(log: DeltaLog, expired: int, removed: list[str]) -> None:
    tombstones = [remove("c", deletionTimestamp=9), remove("d", deletionTimestamp=None)]
    actions = [*log.actions(0), add("a"), add("b"), *tombstones]
    log.commit(1).write(f"{1:020d}.checkpoint.{UUIDS[0]}.json", "\n".join(map(json.dumps, actions)).encode())
    log.commit(2, remove("b", deletionTimestamp=9), add("e"), add("c"))
    assert paths(replayed(log, expired).files()) == {"add": ["e", "c", "a"], "remove": removed}


@pytest.mark.parametrize("member", ["path", "deletionTimestamp"])
def test_tombstones_of_a_checkpoint_without_a_column(log: DeltaLog, member: str) -> None:
    """Without paths there are none, and without times they are of the beginning of time."""
    checkpoint(log, add("a"), add("b"))
    table = pq.read_table(log.directory / CHECKPOINT)
    gone = pa.array([None, None, None, {member: "c" if member == "path" else 9}])
    pq.write_table(table.append_column("remove", gone), log.directory / CHECKPOINT)
    assert paths(replayed(log, 1).files()) == {"add": ["a", "b"], "remove": []}


def test_vectors_tell_files_apart(log: DeltaLog) -> None:
    vector = {"deletionVector": {**inline_vector(1), "offset": None}}
    checkpoint(log, add("a", **vector), add("b"))
    log.commit(2, remove("a", deletionTimestamp=5), remove("b", deletionTimestamp=5))
    assert paths(replayed(log).files()) == {"add": ["a"], "remove": ["a", "b"]}
    log.commit(3, remove("a", deletionTimestamp=5, **vector))
    assert paths(replayed(log).files())["add"] == []


@pytest.mark.parametrize(
    ("adds", "rows", "newer", "size"),
    [
        ([add("a", size=3), add("b", size=4)], 2, [], 7),
        ([add("a", size=3)], 1, [], 3),
        ([add("a", size=3), add("b", size=4)], 3, [], None),
        ([add("a", size=3), add("b", size=4)], 1, [], None),
        ([add("a", size=3), add("b", size=4)], 2, [add("c")], 7),
        ([add("a", size=3), add("b", size=4)], 2, [remove("a")], None),
        ([add("a", size=3), add("b", size=4)], 2, [add("b", size=9)], None),
        ([add("a", size=3), add("b", size=4)], 2, [remove("a", deletionVector=inline_vector(1))], 7),
        ([add("a", size=3), add("b", size=None)], 2, [], None),
    ],
)
def test_bytes_of_a_row_group(
    log: DeltaLog, adds: list[dict[str, Any]], rows: int, newer: list[dict[str, Any]], size: int | None
) -> None:
    """They are known where all of its rows are files, and no commit names one of them."""
    found = [{"add": {**one["add"], "partitionValues": []}} for one in adds]
    log.commit(1, add("other")).checkpoint(CHECKPOINT, *found, *first_actions(protocol=WITH_VECTORS))
    table = pq.read_table(log.directory / CHECKPOINT)
    pq.write_table(table, log.directory / CHECKPOINT, row_group_size=len(adds))
    if newer:
        log.commit(2, *newer)
    (file,) = log.snapshot().checkpoint_files()
    made = replayed(log)
    list(made.of_commits())
    assert made.bytes_if_live(file, 0, rows) == size


@pytest.mark.parametrize("name", ["path", "size", "deletionVector"])
def test_bytes_of_a_row_group_without_a_column(log: DeltaLog, name: str) -> None:
    kept = pa.struct([member for member in ADD if member.name != name])
    log.commit(1, add("a")).checkpoint(
        CHECKPOINT,
        {"add": {k: v for k, v in {**add("a", size=3)["add"], "partitionValues": []}.items() if k != name}},
        *first_actions(protocol=WITH_VECTORS),
        add_type=kept,
    )
    (file,) = log.snapshot().checkpoint_files()
    assert replayed(log).bytes_if_live(file, 0, 3) is None
    table = pq.read_table(log.directory / CHECKPOINT)
    pq.write_table(table, log.directory / CHECKPOINT, row_group_size=1)
    (file,) = log.snapshot().checkpoint_files()
    assert replayed(log).bytes_if_live(file, 0, 1) == (3 if name == "deletionVector" else None)


@pytest.mark.parametrize(
    ("most", "own", "count"),
    [
        (3, [True, True, True], 3),
        (2, [True, True, True], 2),
        (0, [True, True, True], 0),
        (9, [True, False, True], 1),
        (9, [False, True, True], 0),
    ],
)
def test_commits_that_this_process_made(
    log: DeltaLog, most: int, own: list[bool], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest ones with few actions are not read again, and say the same."""
    for version in (1, 2, 3):
        log.commit(version, add(f"f{version}"))
    snapshot = log.snapshot()
    for place, is_own in enumerate(own):
        if is_own:
            commit = snapshot.state.commits[place]
            snapshot.state.commits[place] = OwnCommit(commit.file, Actions(adds=[(add(f"f{3 - place}")["add"], 0)]))
    monkeypatch.setattr(replay, "_FEW_ACTIONS", most)
    made = Replay(Storage(log.root), snapshot, *COLUMNS, -1)
    assert len(made._own_commits()) == count
    assert paths(made.files()) == {"add": ["f3", "f2", "f1"], "remove": []}
    first = snapshot.state.commits.pop()
    assert len(made._own_commits()) == count, "a commit that a damaged compaction stands for"
    snapshot.state.commits.append(first)
    other = snapshot.state.commits[0]
    snapshot.state.commits[0] = OwnCommit(snapshot.state.commits[1].file, Actions())
    assert made._own_commits() == [], "it is another commit"
    snapshot.state.commits[0] = other


def test_other_actions(log: DeltaLog) -> None:
    """The newest of each application and domain; in one commit the last one."""

    def txn(name: str, version: int) -> dict[str, Any]:
        return {"txn": {"appId": name, "version": version}}

    def domain(name: str, text: str) -> dict[str, Any]:
        return {"domainMetadata": {"domain": name, "configuration": text, "removed": text == ""}}

    log.commit(1, txn("x", 1), txn("x", 2), domain("d", "old"), domain("e", "e"))
    log.commit(2, txn("y", 7), domain("d", ""))
    found = OtherActions.of(log.snapshot())
    assert {name: one["version"] for name, one in found.transactions.items()} == {"x": 2, "y": 7}
    assert {name: (one["configuration"], one["removed"]) for name, one in found.domains.items()} == {
        "d": ("", True),
        "e": ("e", False),
    }
    assert OtherActions.of(log.snapshot(), []).transactions == found.transactions
