"""The verifier's rules for one commit, and for what stands beside commits, each by itself."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.log.listing import Checkpoint, LogFile, LogListing
from tableformats_delta.verification import log_rules
from tableformats_delta.verification.commit_file import CommitFile, file_key, has_vector, path_of, with_vector
from tableformats_delta.verification.commit_rules import commit_violations, field_violations
from tableformats_delta.verification.history import History
from tableformats_delta.verification.log_rules import (
    checkpoint_violations,
    checksum_violations,
    compaction_violations,
    hint_violations,
)
from tableformats_delta.verification.verify import _Verification

import tableformats as tf
from tableformats.io.storage import Storage
from tests.support.delta_log import PROTOCOL, DeltaLog, add, metadata, remove, vector

Json = dict[str, Any]


def said(found: Any) -> list[str]:
    return [f"{one.rule}: {one.what}" for one in found]


def commit(*actions: Json) -> CommitFile:
    return CommitFile(3, "c3", [(name, one) for action in actions for name, one in action.items()])


# ---- one commit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "actions", "violations"),
    [
        ("", [], ["empty-commit: the commit has no action"]),
        (" \n\n", [], ["empty-commit: the commit has no action"]),
        ('{"txn": {"a": 1, "b": null}}\n\n{"add": {}}', [("txn", {"a": 1}), ("add", {})], []),
        ('\n{"txn"', [], ["damaged-file: line 2 is no JSON, or not all of it"]),
        ("[" * 100_000, [], ["damaged-file: line 1 is no JSON, or not all of it"]),
        ("[]", [], ["one-action-a-line: line 1 is no JSON object"]),
        ("{}", [], ["one-action-a-line: line 1 has 0 actions"]),
        ('{"txn": null}', [], ["one-action-a-line: line 1 has 0 actions"]),
        ('{"txn": {}, "add": {}}', [("txn", {}), ("add", {})], ["one-action-a-line: line 1 has 2 actions"]),
        ('{"txn": 1}', [], ["one-action-a-line: the action 'txn' in line 1 is no object"]),
    ],
)
def test_lines_of_a_commit(tmp_path: Path, text: str, actions: list[Any], violations: list[str]) -> None:
    (tmp_path / "c").write_text(text)
    found = CommitFile.read(Storage(tmp_path), LogFile(3, str(tmp_path / "c"), 1, 1))
    assert found.actions == actions and said(found.violations) == violations
    assert all((one.path, one.version) == (str(tmp_path / "c"), 3) for one in found.violations)


def test_a_commit_that_is_missing(tmp_path: Path) -> None:
    found = CommitFile.read(Storage(tmp_path), LogFile(3, str(tmp_path / "c"), 1, 1))
    assert [one.rule for one in found.violations] == ["damaged-file"] and found.actions == []


def test_the_last_action_of_a_kind() -> None:
    found = commit({"txn": {"n": 1}}, {"add": {}}, {"txn": {"n": 2}})
    assert found.last("txn") == {"n": 2} and found.last("cdc") is None
    assert [*found.of("add", "cdc")] == [("add", {})]


@pytest.mark.parametrize(
    ("action", "key"),
    [
        ({"path": "a%20b"}, "a b"),
        ({"path": None}, ""),
        ({"path": "a", "deletionVector": {}}, "a"),
        ({"path": "a", "deletionVector": 1}, "a"),
        ({"path": "a", "deletionVector": {"storageType": "u", "pathOrInlineDv": "x"}}, "a\0ux"),
        ({"path": "a", "deletionVector": {"storageType": "u", "pathOrInlineDv": "x", "offset": 0}}, "a\0ux@0"),
    ],
)
def test_keys_of_files(action: Json, key: str) -> None:
    assert file_key(action) == key and path_of(key) == key.partition("\0")[0] and has_vector(key) == ("\0" in key)
    assert with_vector("p", None) == "p"


@pytest.mark.parametrize(
    ("name", "action", "found"),
    [
        ("txn", {"appId": "a", "version": 1}, []),
        ("txn", {"appId": "a", "version": 1, "own": []}, []),
        ("txn", {"appId": 1, "version": "1"}, ["txn.appId is no str", "txn.version is no int"]),
        ("txn", {"version": True}, ["txn.appId is missing", "txn.version is no int"]),
        ("domainMetadata", {"domain": "d", "configuration": "", "removed": 1}, ["domainMetadata.removed is no bool"]),
        ("unknown", {"path": ""}, []),
        ("cdc", {"path": "a", "partitionValues": {}, "size": 1, "deletionVector": {}}, []),
        ("remove", {"path": ""}, ["'' is no URI"]),
        ("remove", {"path": "a b"}, ["'a b' is no URI"]),
        ("remove", {"path": "a%2"}, ["'a%2' is no URI"]),
        ("remove", {"path": "a%2g"}, ["'a%2g' is no URI"]),
        ("remove", {"path": "a%2f%C3"}, []),
        ("remove", {"path": 5}, ["remove.path is no str"]),
        (
            "remove",
            {"path": "a", "deletionVector": {"storageType": "u", "sizeInBytes": 1, "cardinality": 1, "offset": "x"}},
            ["remove.deletionVector.pathOrInlineDv is missing", "remove.deletionVector.offset is no int"],
        ),
        ("remove", {"path": "a", "deletionVector": 1}, ["remove.deletionVector is no dict"]),
    ],
)
def test_fields_of_actions(name: str, action: Json, found: list[str]) -> None:
    rules = field_violations(name, action, "c", 3)
    assert [one.what for one in rules] == found


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        ([add("a"), remove("b")], []),
        ([add("a"), add("a")], ["duplicate-action: 2 actions add of 'a'"]),
        ([add("a"), add("a", deletionVector=vector()), add("%61")], ["duplicate-action: 3 actions add of 'a'"]),
        ([remove("a"), remove("a")], ["duplicate-action: 2 actions remove of 'a'"]),
        ([add("a"), remove("a")], ["add-and-remove: 'a', with the same deletion vector or none"]),
        ([add("a", deletionVector=vector()), remove("a")], []),
        ([add("a", dataChange=None)], ["missing-data-change: add of 'a'"]),
        ([remove("a", dataChange="true")], ["missing-data-change: remove of 'a'"]),
        ([{"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False}}], []),
        (
            [{"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": True}}],
            ["change-data-flag: 'c' says dataChange"],
        ),
        ([{"metaData": metadata()}] * 2, ["two-metadata: 2 actions metaData"]),
        ([{"protocol": PROTOCOL}] * 2, ["two-protocols: 2 actions protocol"]),
        ([{"txn": {"appId": "a", "version": 1}}] * 2, ["two-transactions: 2 actions txn of 'a'"]),
        ([{"txn": {"appId": name, "version": 1}} for name in "ab"], []),
        (
            [{"domainMetadata": {"domain": "d", "configuration": "", "removed": False}}] * 3,
            ["two-domains: 3 actions domainMetadata of 'd'"],
        ),
        ([{"sidecar": {}}], ["known-place: a commit has the action 'sidecar'"]),
        ([{"protocol": {**PROTOCOL, "minReaderVersion": 3}}], None),
    ],
)
def test_actions_of_one_commit(actions: list[Json], found: list[str] | None) -> None:
    rules = [*commit_violations(commit(*actions))]
    assert said(rules) == found or (found is None and {one.rule for one in rules} == {"feature-lists"})
    assert all((one.path, one.version) == ("c3", 3) for one in rules)


# ---- checkpoints, checksum files, compactions, hints -----------------------------------------------------------------

DESCRIBED = {"checkpointMetadata": {"version": 3}}


def live(*paths: str) -> History:
    found = History(None)  # type: ignore[arg-type]
    for path in paths:
        found.live.add(path, add(path)["add"])
    return found


def of_checkpoint(*actions: Json, sidecars: tuple[Any, ...] = (), state: History | None = None) -> list[str]:
    whole = [(name, one) for action in actions for name, one in action.items()]
    contents: Any = SimpleNamespace(
        actions=whole,
        columns=[],
        files=[None, *sidecars],
        keys=lambda kind: [file_key(one) for name, one in whole if name == kind],
    )
    storage: Any = SimpleNamespace(size_of=lambda path: {"s1": 5, "s2": 6}.get(path))
    checkpoint = Checkpoint(3, (LogFile(3, "k3", 1, 1),))
    found = [*checkpoint_violations(storage, checkpoint, contents, state)]
    assert all((one.path, one.version) == ("k3", 3) for one in found)
    return said(found)


BOTH: list[Json] = [{"protocol": PROTOCOL}, {"metaData": metadata()}]
SIDECAR: Json = {"sidecar": {"path": "s1"}}


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        (BOTH, []),
        (BOTH[:1], ["checkpoint-contents: it has 0 actions metaData"]),
        ([*BOTH, BOTH[0]], ["checkpoint-contents: it has 2 actions protocol"]),
        ([*BOTH, DESCRIBED], []),
        ([*BOTH, SIDECAR, DESCRIBED], []),
        ([*BOTH, SIDECAR], ["checkpoint-contents: it has 0 actions checkpointMetadata"]),
        ([*BOTH, SIDECAR, DESCRIBED, DESCRIBED], ["checkpoint-contents: it has 2 actions checkpointMetadata"]),
        (
            [*BOTH, {"checkpointMetadata": {"version": 2}}],
            ["checkpoint-contents: its checkpointMetadata says version [2]"],
        ),
        ([*BOTH, add("a"), add("a")], ["duplicate-action: 2 actions add of 'a'"]),
        ([*BOTH, remove("a"), add("a")], ["add-and-remove: 'a'"]),
        ([*BOTH, add("a", size="x")], ["missing-field: add.size is no int"]),
        (
            [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 7}}, BOTH[1]],
            ["feature-lists: writerFeatures go with writer version 7, and only with it"],
        ),
    ],
)
def test_contents_of_a_checkpoint(actions: list[Json], found: list[str]) -> None:
    assert of_checkpoint(*actions) == found


def test_sidecars_of_another_size() -> None:
    files = [SimpleNamespace(path=path, size=size) for path, size in (("s1", 5), ("s2", 5), ("s3", 5))]
    assert of_checkpoint(*BOTH, sidecars=tuple(files)) == [
        "sidecar: 's2' has 6 bytes, and not 5",
        "sidecar: 's3' has None bytes, and not 5",
    ]


def test_files_of_a_checkpoint_and_of_commits() -> None:
    files = [add("a"), add("b"), add("c")]
    assert of_checkpoint(*BOTH, *files, state=live("a", "b", "c")) == []
    assert of_checkpoint(*BOTH, *files, state=live("a")) == [
        "checkpoint-state: 2 files are live in it alone, and 0 in the commits alone"
    ]
    assert of_checkpoint(*BOTH, *files[:2], state=live("a", "x", "y", "z")) == [
        "checkpoint-state: 1 files are live in it alone, and 3 in the commits alone"
    ]


CHECKSUM = {"numFiles": 2, "tableSizeBytes": 20, "numMetadata": 1, "numProtocol": 1, "metadata": metadata()}
CHECKSUM |= {"protocol": PROTOCOL}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"numFiles": 3}, ["numFiles"]),
        ({"tableSizeBytes": 19}, ["tableSizeBytes"]),
        ({"protocol": {**PROTOCOL, "minWriterVersion": 3}}, ["protocol"]),
        ({"metadata": {**metadata(), "id": "x"}}, ["metadata"]),
        ({"inCommitTimestampOpt": 5}, []),
        ({"inCommitTimestampOpt": 6}, ["it has another in-commit timestamp than the log"]),
        ({"setTransactions": [{"appId": "x"}], "domainMetadata": [{"domain": "d"}]}, []),
        ({"setTransactions": [], "domainMetadata": [5]}, []),
        ({"setTransactions": {}, "domainMetadata": None}, []),
        ({"setTransactions": [{"appId": "y"}]}, ["setTransactions has some that the log does not have"]),
        ({"domainMetadata": [{"domain": "gone"}]}, ["domainMetadata has some that the log does not have"]),
    ],
)
def test_checksum_files(tmp_path: Path, change: Json, found: list[str]) -> None:
    path = tmp_path / "3.crc"
    path.write_text(json.dumps({**CHECKSUM, **change}))
    state = live("a", "b")
    state.protocol, state.metadata, state.in_commit_timestamp = PROTOCOL, metadata(), 5
    state.transactions = {"x": {}}
    state.domains = {"d": {}, "gone": {"removed": True}}
    rules = [*checksum_violations(Storage(tmp_path), LogFile(3, str(path), 1, 1), state)]
    assert [one.what.partition(": ")[0] for one in rules] == found
    assert all((one.rule, one.path, one.version) == ("checksum-file", str(path), 3) for one in rules)
    state.in_commit_timestamp = None
    if "inCommitTimestampOpt" in change:
        assert not [*checksum_violations(Storage(tmp_path), LogFile(3, str(path), 1, 1), state)]


def test_a_damaged_checksum_file(tmp_path: Path) -> None:
    path = tmp_path / "3.crc"
    path.write_text("{")
    rules = [*checksum_violations(Storage(tmp_path), LogFile(3, str(path), 1, 1), live())]
    assert [one.rule for one in rules] == ["checksum-file"]


@pytest.mark.parametrize(
    ("compacted", "found"),
    [
        ([add("b"), add("c"), remove("a"), remove("x")], []),
        ([add("b"), remove("a"), remove("x")], ["add"]),
        ([add("b"), add("c"), remove("a")], ["remove"]),
        ([add("a"), add("b"), add("c"), remove("x")], ["add", "remove"]),
    ],
)
def test_compactions(tmp_path: Path, compacted: list[Json], found: list[str]) -> None:
    """What was removed and came again is added; what came and was removed is removed."""
    commits = [commit(add("a"), add("b"), remove("x")), commit(remove("a"), remove("c")), commit(add("c"), remove("x"))]
    path = tmp_path / "m"
    path.write_text("\n".join(map(json.dumps, compacted)))
    rules = compaction_violations(Storage(tmp_path), LogFile(3, str(path), 1, 1), commits)
    wanted = [f"compaction-state: its actions {kind} are not those of its commits" for kind in found]
    assert said(rules) == wanted


@pytest.mark.parametrize(
    ("remark", "rule"),
    [
        ("", None),
        ("stale: version 5 is newer", None),
        ("its checksum is wrong", "hint-checksum"),
        ("names a version that has none", "dangling-hint"),
        ("is no JSON", "damaged-file"),
    ],
)
def test_hints(remark: str, rule: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_rules, "review_hint", lambda storage, listing: (4, remark))
    listing = LogListing("/t/_delta_log", {})
    found = [*hint_violations(SimpleNamespace(size_of=lambda path: 1), listing)]  # type: ignore[arg-type]
    assert [one.rule for one in found] == ([] if rule is None else [rule])
    assert all((one.path, one.version) == ("/t/_delta_log/_last_checkpoint", 4) for one in found)
    assert not [*hint_violations(SimpleNamespace(size_of=lambda path: None), listing)]  # type: ignore[arg-type]


# ---- which versions are looked at ------------------------------------------------------------------------------------


def listing(commits: Any, checkpoints: Any = (), compactions: Any = (), checksums: Any = ()) -> LogListing:
    files = {
        kind: {v: LogFile(v, f"{kind}{v}", 1, 1) for v in some} for kind, some in (("c", commits), ("s", checksums))
    }
    parts = {v: Checkpoint(v, (LogFile(v, f"k{v}", 1, 1),)) for v in checkpoints}
    pairs = {pair: LogFile(pair[1], f"m{pair[1]}", 1, 1) for pair in compactions}
    return LogListing("/t/_delta_log", files["c"], parts, checksums=files["s"], compactions=pairs)


@pytest.mark.parametrize(
    ("log", "only", "versions"),
    [
        (listing(range(4)), None, [0, 1, 2, 3]),
        (listing(range(4)), 2, [0, 1, 2]),
        (listing(range(6), (2, 4)), 3, [2, 3]),
        (listing(range(6), (2, 4)), 4, [2, 3, 4]),
        (listing(range(6), (2, 4)), 5, [4, 5]),
        (listing((0, 1, 2, 5), (2, 4)), 4, [4]),
        (listing(range(6), (4,)), 0, [0]),
        (listing(range(3, 6), (3,)), None, [3, 4, 5]),
        (listing((0, 1), (), ((0, 7),), (9,)), None, [0, 1]),
        (listing((1, 3, 4), (3,)), None, [3, 4]),
    ],
)
def test_versions_that_are_looked_at(log: LogListing, only: int | None, versions: list[int]) -> None:
    """One version is judged from the newest checkpoint before it on."""
    found = _Verification(None, log, only, False)  # type: ignore[arg-type]
    assert found._versions(found._first()) == versions


@pytest.mark.parametrize(
    ("commits", "found"),
    [
        (range(3), []),
        ((), []),
        ((0, 2), ["the commits of versions 1 to 1 are missing"]),
        ((0, 3, 4, 7), ["the commits of versions 1 to 2 are missing", "the commits of versions 5 to 6 are missing"]),
    ],
)
def test_gaps(commits: Any, found: list[str]) -> None:
    rules = [*_Verification(None, listing(commits), 0, False)._gaps()]  # type: ignore[arg-type]
    assert [one.what for one in rules] == found
    assert all(one.version == int(one.what.split()[4]) and one.path == "/t/_delta_log" for one in rules)


def test_versions_that_are_not_there(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a"))
    with pytest.raises(tf.SnapshotNotFoundError, match="has no version 2"):
        list(log.table().verify(2))
