"""Which actions are read from their lines straight to columns, and which are left to be parsed one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tableformats_delta.log import commit_lines
from tableformats_delta.log.commit_buffer import CommitBuffer
from tableformats_delta.log.commit_lines import _Actions, _Lines, read_lines

VECTOR = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 36, "cardinality": 2}
ADD = {"path": "a", "partitionValues": {"p": "1"}, "size": 5, "modificationTime": 7, "deletionVector": VECTOR}


def read(*actions: dict[str, Any] | bytes, kind: str = "add", full: bool = False, end: bytes = b"\n") -> _Actions:
    texts = [
        one if isinstance(one, bytes) else json.dumps({kind: one}, separators=(",", ":")).encode() for one in actions
    ]
    return _Actions(_Lines(CommitBuffer([b"".join(text + end for text in texts)])), kind, full)


@pytest.mark.parametrize(
    ("end", "is_usable"),
    [
        (b"", True),
        (b"\n", True),
        (b"\r\n", True),
        (b"\r", True),
        (b" \n", False),
        (b"\t\n", False),
        (b" \r\n", False),
        (b"\r\r\n", False),
        (b"}\n", False),
        (b",\n", False),
    ],
)
def test_an_action_ends_its_line(end: bytes, is_usable: bool) -> None:
    assert read(ADD, end=end).usable.tolist() == [is_usable]


@pytest.mark.parametrize("text", [b'{"add":{"path":"a","size":1},"txn":{}}', b'{"add":{"path":"a","size":1} }'])
def test_an_action_ends_its_object(text: bytes) -> None:
    assert read(text).usable.tolist() == [False]
    assert read(b'{"add":{"path":"a","size":1}}').usable.tolist() == [True]


SOUND = {"path": "z", "size": 1}
NOWHERE, EVERYWHERE = (False, False), (True, True)
FOR_READING = (True, False)


@pytest.mark.parametrize(
    ("kind", "field", "value", "usable"),
    [
        *(("add", "path", value, NOWHERE) for value in (..., None, 7, "\ud800", {})),
        *(("add", "path", value, EVERYWHERE) for value in ("", "b c", "\u00e9")),
        *(("remove", "path", value, NOWHERE) for value in (..., None, 7)),
        *(("add", "size", value, NOWHERE) for value in (..., None, "5", 5.0, 2**63, True)),
        *(("add", "size", value, EVERYWHERE) for value in (0, -1, 2**63 - 1)),
        *(("add", "modificationTime", value, EVERYWHERE) for value in (..., None, 0)),
        *(("add", "modificationTime", value, NOWHERE) for value in ("0", 0.5, 2**63, False)),
        *(("remove", "size", value, EVERYWHERE) for value in (..., None, 5)),
        *(("remove", "size", value, FOR_READING) for value in ("5", 5.0)),
        *(("add", "stats", value, EVERYWHERE) for value in (..., None, 7, "{}", "\ud800")),
        *(("add", "clusteringProvider", value, EVERYWHERE) for value in (..., None, "x")),
        *(("add", "clusteringProvider", value, FOR_READING) for value in (7, "\ud800", {})),
        ("remove", "clusteringProvider", 7, EVERYWHERE),
        *(("add", "tags", value, EVERYWHERE) for value in (..., None, {}, {"a": "b"})),
        *(("add", "tags", value, FOR_READING) for value in ("x", {"a": 1})),
        ("remove", "tags", "x", EVERYWHERE),
        *(("remove", "partitionValues", value, FOR_READING) for value in ("x", {"a": 1})),
        *(("remove", "extendedFileMetadata", value, EVERYWHERE) for value in (..., True, 7)),
        *(("add", "deletionVector", value, EVERYWHERE) for value in (..., None)),
        *(("add", "deletionVector", value, NOWHERE) for value in ("x", 7, [], {})),
        *(("remove", "deletionVector", value, NOWHERE) for value in ("x", {})),
    ],
)
def test_fields_of_actions(kind: str, field: str, value: Any, usable: tuple[bool, bool]) -> None:
    """As they are wanted for reading, and for a checkpoint."""
    action = {name: one for name, one in {**ADD, field: value}.items() if one is not ...}
    found = tuple(
        read(action, {"path": "z", "size": 1}, kind=kind, full=full).usable.tolist() for full in (False, True)
    )
    assert found == tuple([one, True] for one in usable)


@pytest.mark.parametrize(
    ("kind", "field", "value", "usable"),
    [
        *((kind, "storageType", value, NOWHERE) for kind in ("add", "remove") for value in (..., None, 7)),
        *((kind, "pathOrInlineDv", value, NOWHERE) for kind in ("add", "remove") for value in (..., None, 7)),
        *((kind, "offset", value, EVERYWHERE) for kind in ("add", "remove") for value in (..., None, 0)),
        *((kind, "offset", value, NOWHERE) for kind in ("add", "remove") for value in ("0", 0.5)),
        *(("add", name, value, NOWHERE) for name in ("sizeInBytes", "cardinality") for value in (..., None, "1", 1.5)),
        *(("remove", name, value, FOR_READING) for name in ("sizeInBytes", "cardinality") for value in (..., None)),
        *(("remove", name, value, NOWHERE) for name in ("sizeInBytes", "cardinality") for value in ("1", 1.5)),
    ],
)
def test_fields_of_vectors(kind: str, field: str, value: Any, usable: tuple[bool, bool]) -> None:
    """Of a remove, the size of its vector is needed for a checkpoint alone."""
    vector = {name: one for name, one in {**VECTOR, field: value}.items() if one is not ...}
    action = {**ADD, "deletionVector": vector}
    found = tuple(
        read(action, {"path": "z", "size": 1}, kind=kind, full=full).usable.tolist() for full in (False, True)
    )
    assert found == tuple([one, True] for one in usable)


@pytest.mark.parametrize(
    ("values", "is_usable"),
    [
        (b"null", True),
        (b"{}", True),
        (b'{"a":"1","b":null}', True),
        (b'{"a":"\\u00e9"}', True),
        (b'{"a":"1","a":"1"}', False),
        (b'{"a":null,"b":"1","a":null}', False),
        (b'{"a":1}', False),
        (b'{"a":{}}', False),
        (b'{"a":"\\ud800"}', False),
        (b'{"\\u0061":"1"}', False),
        (b'{"\\ud800":"1"}', False),
        (b'"x"', False),
        (b"[]", False),
    ],
)
def test_partition_values(values: bytes, is_usable: bool) -> None:
    """Names are compared byte by byte, each with those of its own action."""
    line = b'{"add":{"path":"a","size":1,"partitionValues":%b}}'
    both = line % b'{"a":"1","b":"2"}'
    found = read(both, line % values, both)
    assert found.usable.tolist() == [True, is_usable, True]
    maps = found.of(0)["partition_values"].to_pylist()
    assert maps[0] == maps[2] == [("a", "1"), ("b", "2")]
    if is_usable:
        expected = json.loads(values)
        assert maps[1] == (None if expected is None else [*expected.items()])


def test_values_of_a_remove() -> None:
    texts = (b"true", b"false", b"null", b"7")
    lines = [b'{"remove":{"path":"a","extendedFileMetadata":%b,"deletionTimestamp":3}}' % text for text in texts]
    rows = read(*lines, kind="remove", full=True).of(0)
    assert rows["extended_file_metadata"].to_pylist() == [True, False, None, None]
    assert rows["deletion_timestamp"].to_pylist() == [3] * 4
    assert rows["stats"].null_count == rows["deletion_vector"].to_pylist().count([]) == 4


def test_each_commit_has_its_own_lines() -> None:
    """Other lines with their offsets in their own commit."""
    a, b, c, d = (b'{"add":{"path":"%b","size":1}}' % name for name in (b"a", b"b", b"c", b"d"))
    other = b'{"txn":{}}'
    texts = [a + b"\n" + b, b"\n".join((other, c, other)), b"", d + b"\nx"]
    found = [one for one in read_lines(CommitBuffer(texts)) if one is not None]
    assert [one.adds["path"].to_pylist() for one in found] == [["a", "b"], ["c"], [], ["d"]]
    second = len(other) + len(c) + 2
    assert [one.others for one in found] == [
        [],
        [(0, other + b"\n"), (second, other + b"\n")],
        [(0, b"\n")],
        [(len(d) + 1, b"x\n")],
    ]


def test_commits_that_are_too_long_for_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many bytes as Arrow has offsets for, with a line feed after each commit."""
    buffer = CommitBuffer([b'{"add":{"path":"a","size":1}}'] * 2)
    monkeypatch.setattr(commit_lines, "_MAX_BYTES", buffer.starts[-1])
    assert None not in read_lines(buffer)
    monkeypatch.setattr(commit_lines, "_MAX_BYTES", buffer.starts[-1] - 1)
    assert read_lines(buffer) == [None, None]
