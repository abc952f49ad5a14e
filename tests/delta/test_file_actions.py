"""File actions as rows: which fields of adds and of removes are kept."""

from __future__ import annotations

from typing import Any

from tableformats_delta.log.file_actions import file_rows

EVERYTHING: dict[str, Any] = {
    "path": "a",
    "size": 7,
    "modificationTime": 8,
    "dataChange": True,
    "stats": '{"numRecords":1}',
    "tags": {"k": "v"},
    "clusteringProvider": "liquid",
    "deletionTimestamp": 9,
    "extendedFileMetadata": True,
}
NAMES = ("stats", "tags", "clustering_provider", "deletion_timestamp", "extended_file_metadata")


def kept(kind: str, *actions: dict[str, Any]) -> list[list[Any]]:
    rows = file_rows([(action, 0) for action in actions], kind, "/log", full=True)
    return [[row[name] for name in NAMES] for row in rows.to_pylist()]


def test_what_a_checkpoint_keeps() -> None:
    bare = {"path": "b", "size": 1}
    nothing = [None] * 5
    assert kept("add", EVERYTHING, bare) == [['{"numRecords":1}', [("k", "v")], "liquid", None, None], nothing]
    assert kept("remove", EVERYTHING, bare) == [[None, None, None, 9, True], nothing]
    assert kept("remove", {**EVERYTHING, "extendedFileMetadata": "yes"}) == [[None, None, None, 9, None]]
    assert kept("remove", EVERYTHING, EVERYTHING) == [[None, None, None, 9, True]] * 2
