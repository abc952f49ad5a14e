"""Commits read line by line in columns are those that are read action by action, or are left to that reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.log import commits
from tableformats_delta.log.actions import parse_actions
from tableformats_delta.log.commit_buffer import CommitBuffer
from tableformats_delta.log.commit_lines import CommitLines, read_lines
from tableformats_delta.log.commits import Commit, OwnCommit, commit_of_actions, read_commits
from tableformats_delta.log.listing import LogFile

from tableformats.errors import CorruptMetadataError
from tableformats.io.storage import Storage
from tests.support.delta_log import add, first_actions, remove, stats, vector

INFO = {"commitInfo": {"operation": "WRITE"}}
ADD = add(
    "a b",
    partitionValues={"p": "1", "q": None},
    stats=stats(3, minValues={"c": '\n"ä'}),
    tags={"x": "y"},
    baseRowId=7,
    defaultRowCommitVersion=2,
    deletionVector=vector(),
)
BARE = add("b")
GONE = remove("c", deletionVector=vector(3))
FILE = LogFile(5, "/t/_delta_log/00000000000000000005.json", 0, 0)


def text_of(*actions: dict[str, Any], end: str = "\n") -> bytes:
    return "".join(json.dumps(action, separators=(",", ":")) + end for action in actions).encode()


def by_action(data: bytes, full: bool = False) -> Commit:
    return commit_of_actions(FILE, parse_actions(data, FILE.path), full)


def by_line(data: bytes, *more: bytes, full: bool = False) -> Commit | None:
    lines = read_lines(CommitBuffer([*more, data, *more]), full)[len(more)]
    return None if lines is None else commits._of_lines(FILE, lines)


def same(one: Commit, other: Commit) -> bool:
    assert one.adds.schema == other.adds.schema
    for rows in (one.adds, one.removes):
        rows.validate(full=True)
    answers = [(c.protocol, c.metadata, c.commit_info, c.adds.to_pylist(), c.removes.to_pylist()) for c in (one, other)]
    return answers[0] == answers[1]


@pytest.mark.parametrize(
    "data",
    [
        text_of(INFO, ADD, BARE, GONE),
        text_of(ADD),
        text_of(GONE),
        text_of(INFO),
        text_of(*first_actions(), BARE),
        text_of(INFO, ADD, BARE, end="\r\n"),
        text_of(ADD)[:-1],
        text_of(ADD) + b"\n \n" + text_of(GONE),
        text_of({"txn": {"appId": "x", "version": 1}}, ADD, {"unknown": 1}, {"cdc": None}),
        text_of(add("a", stats=7), add("b", stats="\ud800"), add("c", stats=None), add("d", deletionVector=None)),
        text_of(first_actions()[0], {"protocol": {"minReaderVersion": 9}}, {"protocol": {}}, BARE),
        b"\xef\xbb\xbf" + text_of(INFO, ADD),
    ],
)
def test_read_by_line(data: bytes) -> None:
    for more in ((), (text_of(BARE),), (text_of(GONE)[:-1], b"", b"{")):
        found = by_line(data, *more)
        assert found is not None
        assert same(found, by_action(data))
        # Those that a checkpoint is written from have more columns, and absent members are as usual there.
        found = by_line(data, *more, full=True)
        assert found is not None
        assert same(found, by_action(data, full=True))


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(ADD).encode(),
        json.dumps(ADD, indent=1).encode(),
        text_of(ADD)[:-1] + text_of(GONE),
        text_of(ADD | INFO),
        text_of(ADD | GONE),
        b'{"add":' + text_of(ADD["add"])[:-1] + b', "add":{"path":"z","size":1}}',
        text_of(add("a", partitionValues={"p": "1"})).replace(b'"p":', b'"p":"2","p":'),
        text_of(add("a", partitionValues={"é": "1"})),
        text_of(INFO) + b"\xef\xbb\xbf" + text_of(INFO),
        text_of(BARE).replace(b"}}", b"} }"),
        text_of(BARE).replace(b"\n", b" \n"),
    ],
)
def test_left_to_the_other_reader(data: bytes) -> None:
    """What it would take, or refuse, for reasons that a look at single lines does not see."""
    assert by_line(data) is None


@pytest.mark.parametrize("kind", ["add", "remove"])
@pytest.mark.parametrize(
    "field",
    [
        "path",
        "size",
        "partitionValues",
        "modificationTime",
        "baseRowId",
        "defaultRowCommitVersion",
        "deletionVector",
        "storageType",
        "pathOrInlineDv",
        "offset",
        "sizeInBytes",
        "cardinality",
        "tags",
        "clusteringProvider",
        "deletionTimestamp",
        "extendedFileMetadata",
    ],
)
@pytest.mark.parametrize("value", ["x", 7, 7.0, 2**63, True, None, [], {}, {"p": 1}, {"p": "\ud800"}, "\ud800", ...])
def test_every_type_of_every_field(kind: str, field: str, value: Any) -> None:
    """Never other rows than the other reader gives, and never rows where that one raises."""
    action = json.loads(json.dumps(ADD["add"]))
    members = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
    holder = action["deletionVector"] if field in members else action
    holder[field] = value
    if value is ...:
        del holder[field]
    data = text_of(INFO, BARE, {kind: action})
    for full in (False, True):
        found = by_line(data, full=full)
        try:
            expected = by_action(data, full)
        except CorruptMetadataError:
            assert found is None
            continue
        assert found is None or same(found, expected)
        if value in (7, None) and field not in ("path", "partitionValues", "deletionVector", "tags"):
            assert found is not None


@given(st.data())
def test_damaged_anywhere(data: st.DataObject) -> None:
    octets = bytearray(text_of(INFO, ADD, GONE, BARE))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(octets) - 1))
        octets[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    found = by_line(bytes(octets), text_of(BARE))
    try:
        expected = by_action(bytes(octets))
    except CorruptMetadataError:
        assert found is None
        return
    assert found is None or same(found, expected)


def test_cut_at_every_byte() -> None:
    whole = text_of(INFO, GONE, ADD)
    taken = 0
    for length in range(len(whole)):
        found = by_line(whole[:length], text_of(BARE))
        try:
            expected = by_action(whole[:length])
        except CorruptMetadataError:
            assert found is None
            continue
        assert found is not None
        assert same(found, expected)
        taken += 1
    assert taken >= 5


def test_many_files_at_once(tmp_path: Path) -> None:
    """Each commit has its own rows, whatever stands in the others."""
    texts = [text_of(add(f"a{i}"), remove(f"r{i}")) for i in range(40)]
    texts[7] = json.dumps(add("spaced"), indent=2).encode()
    texts[8] = text_of(INFO)
    files = []
    for i, text in enumerate(texts):
        (tmp_path / f"{i}").write_bytes(text)
        files.append(LogFile(i, str(tmp_path / f"{i}"), len(text), 0))
    found = read_commits(Storage(tmp_path), files)
    for i, commit in enumerate(found):
        expected = {7: (["spaced"], []), 8: ([], [])}.get(i, ([f"a{i}"], [f"r{i}"]))
        assert (commit.adds.column("path").to_pylist(), commit.removes.column("path").to_pylist()) == expected
        assert commit.file == files[i]
    torn = text_of(BARE, GONE)[:-4]
    (tmp_path / "3").write_bytes(torn)
    with pytest.raises(CorruptMetadataError) as caught:
        read_commits(Storage(tmp_path), files)
    with pytest.raises(CorruptMetadataError) as expected_error:
        by_action(torn)
    assert (caught.value.path, caught.value.offset) == (str(tmp_path / "3"), expected_error.value.offset)


def test_no_file_and_empty_files() -> None:
    assert read_lines(CommitBuffer()) == []
    lines = read_lines(CommitBuffer([b"", text_of(BARE)]))
    assert isinstance(lines[0], CommitLines)
    assert commits._of_lines(FILE, lines[0]) is None
    assert isinstance(lines[1], CommitLines)
    assert lines[1].adds.column("path") == pa.array(["b"])


def test_a_name_that_is_no_text_in_a_long_commit(tmp_path: Path) -> None:
    """It is refused as in a short one."""
    data = text_of(add("a", partitionValues={"p": "1"}, tags={"x": "y" * (1 << 14)}), add("b", tags={"\ud800": "1"}))
    (tmp_path / "5").write_bytes(data)
    with pytest.raises(CorruptMetadataError, match="half a surrogate pair"):
        read_commits(Storage(tmp_path), [LogFile(5, str(tmp_path / "5"), len(data), 0)], full=True)


def test_actions_of_a_commit_of_ones_own_are_counted() -> None:
    """File actions, that is."""
    assert OwnCommit(FILE, parse_actions(text_of(INFO, BARE, ADD, GONE), FILE.path)).n_actions == 3
