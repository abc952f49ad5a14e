"""Summaries of snapshots: what is counted, the totals that follow, and what users may say."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.commit.summaries import SnapshotCounts, snapshot_summary

ZEROS = {
    "total-data-files": "0",
    "total-delete-files": "0",
    "total-records": "0",
    "total-files-size": "0",
    "total-position-deletes": "0",
    "total-equality-deletes": "0",
}


def summary(
    previous: dict[str, str] | None = None, properties: dict[str, str] | None = None, **counts: Any
) -> dict[str, str]:
    found = snapshot_summary("append", SnapshotCounts(**counts), previous, properties or {}, {"manifests-created": 3})
    assert found.pop("engine-name") == "tableformats" and found.pop("manifests-created") == "3"
    return found


def test_nothing() -> None:
    assert summary() == {"operation": "append", "changed-partition-count": "0", **ZEROS}
    assert summary({}) == {"operation": "append", "changed-partition-count": "0"}, "no totals are known"


@pytest.mark.parametrize(
    ("name", "total", "sign"),
    [
        ("added_data_files", "total-data-files", 1),
        ("deleted_data_files", "total-data-files", -1),
        ("added_records", "total-records", 1),
        ("deleted_records", "total-records", -1),
        ("added_files_size", "total-files-size", 1),
        ("removed_files_size", "total-files-size", -1),
        ("removed_equality_delete_files", "total-delete-files", -1),
        ("removed_position_delete_files", "total-delete-files", -1),
        ("removed_dvs", "total-delete-files", -1),
        ("removed_position_deletes", "total-position-deletes", -1),
        ("removed_equality_deletes", "total-equality-deletes", -1),
    ],
)
def test_each_count(name: str, total: str, sign: int) -> None:
    """A total that would be below zero is wrong, and is left out; one that nobody counted stays unknown."""
    own = {name.replace("_", "-"): "7"}
    if total == "total-delete-files":
        own["removed-delete-files"] = "7"
    before = dict.fromkeys(ZEROS, "100")
    found = summary(before, **{name: 7})
    assert found == {"operation": "append", "changed-partition-count": "0", **before, **own, total: str(100 + 7 * sign)}
    assert summary({total: "7"}, **{name: 7}).get(total) == str(7 + 7 * sign)
    assert summary({total: "6"}, **{name: 7}).get(total) == ("13" if sign > 0 else None)
    assert total not in summary({total: "many"}, **{name: 7})
    assert summary(None, **{name: 7}).get(total) == ("7" if sign > 0 else None)


def test_delete_files_of_all_kinds() -> None:
    counts = {"removed_equality_delete_files": 1, "removed_position_delete_files": 20, "removed_dvs": 300}
    assert summary(**counts)["removed-delete-files"] == "321"


def test_partitions() -> None:
    assert summary(partitions={(0, b"a"), (0, b"b"), (1, b"a")})["changed-partition-count"] == "3"


def test_what_users_say() -> None:
    """It does not replace what is counted."""
    given = {"a": "b", "operation": "delete", "total-records": "9", "engine-name": "mine", "added-records": "5"}
    found = summary(None, given, added_data_files=1)
    assert (found["a"], found["operation"], found["total-records"]) == ("b", "append", "0")
    assert found["added-records"] == "5", "nothing is counted under this name"
    assert next(iter(found)) == "a"
