"""Actions of a commit as they are parsed one by one: their kinds, where their lines begin, and where damage is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tableformats_delta.log.actions import iter_actions, parse_actions, sorted_actions

import tableformats as tf
from tests.support.delta_log import DeltaLog, add

BOM = b"\xef\xbb\xbf"


def test_actions_by_kind() -> None:
    """Of protocol, metadata and commitInfo the last one; others are ignored."""
    kinds = ("add", "remove", "cdc", "metaData", "protocol", "commitInfo", "sidecar", "txn", "domainMetadata", "other")
    found = sorted_actions((kind, {"n": n}, 10 * n) for n in (1, 2) for kind in kinds)
    first, second = {"n": 1}, {"n": 2}
    assert found.adds == found.removes == found.changes == [(first, 10), (second, 20)]
    assert found.metadata == found.protocol == found.commit_info == second
    assert found.sidecars == found.transactions == found.domains == [first, second]


@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize("text", ["x", "é\U0001f600"])
def test_where_lines_begin(start: bytes, text: str) -> None:
    lines = [
        f'{{"add":{{"path":"{text}"}}}}'.encode(),
        b" ",
        b'{"txn":{},"cdc":null,"odd":1,"more":{}}',
        b'{"remove":{}}',
    ]
    data = start + b"\n".join(lines) + b"\n"
    second = data.index(b'{"txn"')
    assert [*iter_actions(data, "/log")] == [
        ("add", {"path": text}, len(start)),
        ("txn", {}, second),
        ("more", {}, second),
        ("remove", {}, data.index(b'{"remove"')),
    ]
    assert parse_actions(data, "/log").removes == [({}, data.index(b'{"remove"'))]


@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (b"", 0, "holds no action"),
        (b" \n\n", 3, "holds no action"),
        ('{"é":{}}\n[1]'.encode(), 10, "is not a JSON object"),
        ('{"é":{}}\n{"x'.encode(), 11, "what is not JSON"),
        ('{"é":{}}\n '.encode() + b"[" * 100_000, 11, "nested too deeply"),
        (b'{"add":{}}\n\xff', 11, "not UTF-8"),
        (b'{"add": ' + b"1" * 5000 + b"}", 0, "what is not JSON"),
    ],
)
def test_damage(start: bytes, data: bytes, offset: int, message: str) -> None:
    with pytest.raises(tf.CorruptMetadataError, match=message) as caught:
        [*iter_actions(start + data, "/log")]
    found: Any = caught.value
    assert (found.offset, found.path) == (offset + len(start), "/log")


@pytest.mark.parametrize(
    ("end", "is_sound"),
    [
        ("\n", True),
        ("\r\n", True),
        (" \n", True),
        ("X\n", False),
        ("\rX\n", False),
        ("X\r\n", False),
        ("\r\rX\n", False),
    ],
)
def test_ends_of_lines(tmp_path: Path, end: str, is_sound: bool) -> None:
    log = DeltaLog(tmp_path / "t").start()
    lines = [json.dumps(add(name), separators=(",", ":")) for name in "ab"]
    log.write(f"{1:020d}.json", f"{lines[0]}{end}{lines[1]}\n".encode())
    if is_sound:
        assert log.paths() == ["a", "b"]
    else:
        with pytest.raises(tf.CorruptMetadataError):
            log.paths()
