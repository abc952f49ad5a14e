"""The verifier's rules for a commit in view of those before it: timestamps, removes, adds, row ids, metadata."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.verification.commit_file import CommitFile
from tableformats_delta.verification.history import History

from tableformats.io.storage import Storage
from tests.support.delta_log import ADD, PROTOCOL, add, metadata, remove, vector

Json = dict[str, Any]
ROW_TRACKING = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking", "domainMetadata"]}

ROWS = '{"numRecords": 1}'


def commit(version: int, *actions: Json) -> CommitFile:
    return CommitFile(version, f"c{version}", [(name, dict(one)) for action in actions for name, one in action.items()])


def protocol(**more: Any) -> Json:
    return {"protocol": {**PROTOCOL, **more}}


def described(**configuration: str) -> Json:
    return {"metaData": metadata(configuration={name.replace("_", "."): one for name, one in configuration.items()})}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(Storage(tmp_path))


def told(history: History, version: int, *actions: Json) -> list[str]:
    found = history.apply(commit(version, *actions))
    assert history.version == version
    assert all((one.path, one.version) == (f"c{version}", version) for one in found)
    return [f"{one.rule}: {one.what}" for one in found]


def test_the_first_version(history: History) -> None:
    assert told(history, 0) == ["no-metadata: the first version must have it"]
    assert told(history, 1) == []
    assert told(history, 2, protocol(), described()) == []
    assert history.layout is not None and history.metadata == metadata() and history.protocol == PROTOCOL


def test_metadata_without_a_protocol(history: History) -> None:
    assert told(history, 0, described()) == ["no-protocol: the first version must have it"]
    assert history.layout is None
    assert told(history, 1, protocol()) == []


@pytest.mark.parametrize("change", [{"schemaString": "{"}, {"schemaString": 5}, {"partitionColumns": ["x"]}])
def test_metadata_that_cannot_be_read(history: History, change: Json) -> None:
    (found,) = told(history, 0, protocol(), {"metaData": {**metadata(), **change}})
    assert found.startswith("schema: ") and history.layout is None


# ---- in-commit timestamps --------------------------------------------------------------------------------------------

TIMED = described(delta_enableInCommitTimestamps="TRUE")


def timed(time: Any) -> Json:
    return {"commitInfo": {"inCommitTimestamp": time}}


def test_in_commit_timestamps(history: History) -> None:
    assert told(history, 0, timed(5), protocol(), TIMED) == [] and history.in_commit_timestamp == 5
    assert told(history, 1, timed(6)) == []
    assert told(history, 2, timed(6)) == ["in-commit-timestamp: 6 is not after 6"]
    assert told(history, 3, timed(5)) == ["in-commit-timestamp: 5 is not after 6"] and history.in_commit_timestamp == 5
    for version, wrong in enumerate((None, True, "7", 7.0), 4):
        assert told(history, version, timed(wrong)) == ["in-commit-timestamp: the commit has none"]
    assert told(history, 8) == ["in-commit-timestamp: the commit has none"] and history.in_commit_timestamp == 5
    assert told(history, 9, add("a"), timed(9)) == ["in-commit-timestamp: commitInfo is not the first action"]
    assert told(history, 10, described()) == [] and history.in_commit_timestamp is None
    assert told(history, 11, timed(1)) == []


# ---- files -----------------------------------------------------------------------------------------------------------


def test_removes_of_files(history: History) -> None:
    unknown = "remove-of-unknown-file: {!r} is no live file"
    assert told(history, 0, protocol(), described(), add("a"), add("b", deletionVector=vector(), stats=ROWS)) == []
    assert told(history, 1, remove("a%62")) == [unknown.format("ab")]
    assert told(history, 2, remove("a"), remove("b")) == [unknown.format("b")]
    assert told(history, 3, remove("a"), remove("b", deletionVector=vector())) == [unknown.format("a")]


def test_a_file_with_two_vectors(history: History) -> None:
    wrong = "duplicate-action: 'a' is live with another deletion vector"
    assert told(history, 0, protocol(), described(), add("a")) == []
    assert told(history, 1, add("a", stats=ROWS)) == [], "it is told again"
    with_vector = add("a", deletionVector=vector(), stats=ROWS)
    assert told(history, 2, with_vector) == [wrong]
    assert told(history, 3, remove("a"), with_vector) == []


@pytest.mark.parametrize(
    ("features", "value", "is_append_only"),
    [
        (None, "true", True),
        (None, "TRUE", True),
        (None, "false", False),
        (["appendOnly"], "true", True),
        (["invariants"], "true", False),
        ([], "true", False),
    ],
)
def test_append_only(history: History, features: list[str] | None, value: str, is_append_only: bool) -> None:
    """The property counts where the protocol lists no features, and where it lists this one."""
    described_ = described(delta_appendOnly=value)
    more = {} if features is None else {"minWriterVersion": 7, "writerFeatures": features}
    assert told(history, 0, protocol(**more), described_, add("a"), add("b")) == []
    found = told(history, 1, remove("a"), remove("b", dataChange=False))
    assert found == (["append-only: 'a' is removed"] if is_append_only else [])


def test_values_of_files(history: History) -> None:
    partitioned = metadata(*(json.loads(metadata()["schemaString"])["fields"]), partition=("id",))
    assert told(history, 0, protocol(), {"metaData": partitioned}) == []
    assert told(history, 1, add("a", partitionValues={"id": "x"}, stats="{")) == [
        "statistics: those of 'a' are no JSON object",
        "partition-value: 'a': 'x' is no bigint",
    ]


# ---- row ids ---------------------------------------------------------------------------------------------------------


def mark(number: Any) -> Json:
    text = number if isinstance(number, str) else json.dumps({"rowIdHighWaterMark": number})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": text, "removed": False}}


def file(path: str, base: Any, rows: int = 10, **more: Any) -> Json:
    return add(path, baseRowId=base, defaultRowCommitVersion=1, stats=json.dumps({"numRecords": rows}), **more)


def tracked(history: History, **configuration: str) -> None:
    assert told(history, 0, {"protocol": ROW_TRACKING}, described(**configuration)) == []


UP_TO_9 = "row-ids: row ids up to 9 are given, and the high-water mark is {}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([mark(9)], []),
        ([mark(10)], []),
        ([mark(8)], [UP_TO_9.format(8)]),
        ([], [UP_TO_9.format(None)]),
        ([mark("{")], [UP_TO_9.format(None)]),
        ([mark("[" * 100_000)], [UP_TO_9.format(None)]),
        ([mark("[9]")], [UP_TO_9.format(None)]),
        ([mark("9")], [UP_TO_9.format(None)]),
    ],
)
def test_the_greatest_row_id(history: History, given: list[Json], said: list[str]) -> None:
    tracked(history)
    assert told(history, 1, file("a", 0), *given) == said


def test_the_first_row_id(history: History) -> None:
    tracked(history)
    assert told(history, 1, file("a", 0, 0)) == []
    assert told(history, 2, file("b", 0, 1)) == ["row-ids: row ids up to 0 are given, and the high-water mark is None"]


def test_files_without_row_ids(history: History) -> None:
    tracked(history)
    wrong = "row-ids: {!r} has no base row id or commit version"
    without = file("b", 0)
    del without["add"]["defaultRowCommitVersion"]
    assert told(history, 1, file("a", None), without, file("c", 0, 1), mark(0)) == [
        wrong.format("a"),
        wrong.format("b"),
    ]
    assert told(history, 2, add("d", baseRowId=99, defaultRowCommitVersion=2)) == [], "its rows are not known"
    assert told(history, 3, file("e", 20, 5), file("f", 30, 1), file("g", 40, 0), mark(29)) == [
        "row-ids: row ids up to 39 are given, and the high-water mark is 29"
    ]


def test_tables_without_row_ids(history: History) -> None:
    tracked(history, delta_rowTrackingSuspended="true")
    assert told(history, 1, add("a")) == []
    assert told(history, 2, {"protocol": {**ROW_TRACKING, "writerFeatures": ["domainMetadata"]}}, described()) == []
    assert told(history, 3, file("b", 0)) == [] and list(history.overlapping_row_ids()) == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("a", 0, 10), ("b", 10, 5)], []),
        ([("a", 0, 10), ("b", 9, 5)], ["'b' and 'a' share row ids"]),
        ([("a", 0, 10), ("b", 2, 3), ("c", 9, 1)], ["'b' and 'a' share row ids", "'c' and 'a' share row ids"]),
        ([("a", 5, 10), ("b", 0, 6), ("c", 14, 1)], ["'a' and 'b' share row ids", "'c' and 'a' share row ids"]),
        ([("a", 0, 10), ("b", 5, 5), ("c", 9, 1)], ["'b' and 'a' share row ids", "'c' and 'a' share row ids"]),
        ([("a", 0, 0), ("b", 0, 1), ("c", 1, 1)], []),
        ([("a", None, 10), ("b", 0, 10)], []),
        ([("a", -1, 1), ("b", 0, 10)], ["'a' has the base row id -1"]),
        (
            [("a", -9, 2), ("b", -8, 9), ("c", 0, 1)],
            [*(f"'{n}' has the base row id {i}" for n, i in (("a", -9), ("b", -8))), "'c' and 'b' share row ids"],
        ),
    ],
)
def test_files_that_share_row_ids(history: History, files: list[Any], said: list[str]) -> None:
    tracked(history)
    history.apply(commit(1, *(file(*one) for one in files), mark(99)))
    found = list(history.overlapping_row_ids())
    assert [one.what for one in found] == said
    assert all((one.rule, one.path, one.version) == ("row-ids", None, 1) for one in found)


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def test_it_begins_with_a_checkpoint(history: History) -> None:
    from tableformats_delta.verification.stored_actions import StoredActions

    stored = pa.array([{**add("b", size=2)["add"], "partitionValues": []}], ADD)
    contents: Any = SimpleNamespace(
        of=lambda kind: [StoredActions("add", stored)] if kind == "add" else [],
        actions=[
            ("protocol", PROTOCOL),
            ("metaData", metadata()),
            ("txn", {"appId": "x", "version": 1}),
            ("domainMetadata", {"domain": "d"}),
            ("add", add("a", size=1)["add"]),
            ("remove", remove("c")["remove"]),
        ],
    )
    history.begin(contents, 7)
    assert (history.version, history.protocol, history.metadata) == (7, PROTOCOL, metadata())
    assert history.live.values_of("size") == [2, 1] and history.layout is not None
    assert history.transactions == {"x": {"appId": "x", "version": 1}} and history.domains == {"d": {"domain": "d"}}
    assert told(history, 8, remove("b"), {"txn": {"appId": "x", "version": 2}}) == []
    assert history.transactions == {"x": {"appId": "x", "version": 2}} and [*history.live.keys()] == ["a"]
