"""File actions as rows: which fields of adds and of removes are kept."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_delta.log.file_actions import file_rows

from tableformats.errors import CorruptMetadataError

EVERYTHING: dict[str, Any] = {
    "path": "a",
    "partitionValues": {"p": "1"},
    "baseRowId": 5,
    "defaultRowCommitVersion": 6,
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


PLANNED = ("partition_values", "size", "modification_time", "stats", "base_row_id", "row_commit_version")


@pytest.mark.parametrize("options", [{}, {"all_fields": True}, {"full": True}])
def test_what_each_kind_has(options: dict[str, bool]) -> None:
    partition = [("p", "1")]
    for kind, expected in (
        ("add", [partition, 7, 8, EVERYTHING["stats"], 5, 6]),
        ("cdc", [partition, 7, 8, EVERYTHING["stats"], 5, 6]),
        ("remove", [partition, 7, None, None if "full" in options else EVERYTHING["stats"], 5, 6]),
    ):
        [row] = file_rows([(EVERYTHING, 0)], kind, "/log", **options).to_pylist()
        assert [row[name] for name in PLANNED] == ([None] * 6 if kind == "remove" and not options else expected), kind


@pytest.mark.parametrize("kind", ["add", "remove"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 2**63),
        ("size", True),
        ("size", "1"),
        ("path", None),
        ("partitionValues", {"p": 1}),
        ("partitionValues", []),
        ("baseRowId", -(2**63) - 1),
        ("defaultRowCommitVersion", 1.0),
        ("deletionVector", "x"),
        ("deletionVector", {"storageType": "u", "pathOrInlineDv": "x", "cardinality": 1}),
        ("deletionVector", {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1}),
        ("deletionVector", {"storageType": "u", "sizeInBytes": 1, "cardinality": 1}),
        ("deletionVector", {"pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}),
    ],
)
def test_fields_of_another_type(kind: str, name: str, value: Any) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        file_rows([(EVERYTHING, 3), ({**EVERYTHING, name: value}, 77)], kind, "/log", full=True)
    assert (caught.value.path, caught.value.offset) == ("/log", 77) and str(caught.value.field).startswith(f"{kind}.")


def test_vectors_of_removes_say_where_they_are_and_no_more() -> None:
    place = {"storageType": "u", "pathOrInlineDv": "x", "offset": None}
    [row] = file_rows([({"path": "a", "deletionVector": place}, 0)], "remove", "/log").to_pylist()
    assert row["deletion_vector"] == [{**place, "sizeInBytes": None, "cardinality": None}]


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


def test_no_actions() -> None:
    """They have the columns of those that there might be."""
    for full in (False, True):
        some = file_rows([(EVERYTHING, 0)], "add", "/log", full=full)
        for kind in ("add", "remove", "cdc"):
            assert file_rows([], kind, "/log", full=full).schema.equals(some.schema)
    assert file_rows([], "add", "/log").num_columns == 8
