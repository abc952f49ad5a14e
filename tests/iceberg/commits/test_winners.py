"""What other writers committed since a version: their snapshots, files and changes of the definition."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.snapshot import IcebergSnapshot
from tableformats_iceberg.write.commit import winners
from tableformats_iceberg.write.commit.winners import _Winner, committed_since, id_of

import tableformats as tf
from tableformats.plugin import TRUE, SnapshotSelector, TableChange
from tests.support.iceberg_tables import open_table, write_table
from tests.support.iceberg_writing import newest

SCHEMA = pa.schema([pa.field("a", pa.int32(), False), pa.field("b", pa.string())])
BLIND, READING = TableChange("append"), TableChange("overwrite", read=TRUE)


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int32()), "b": ["x"] * len(values)}).cast(SCHEMA)


def head(folder: Path) -> IcebergSnapshot:
    found = open_table(folder).snapshot(SnapshotSelector())
    assert isinstance(found, IcebergSnapshot)
    return found


def changed(folder: Path, **members: Any) -> None:
    """Another metadata file, in which these members are other ones."""
    path = newest(folder)
    number = int(path.name.partition(".")[0].lstrip("v"))
    content = json.loads(path.read_text()) | members
    (folder / "metadata" / f"v{number + 1}.metadata.json").write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path, location=str(tmp_path))
    return tmp_path


def test_nothing(folder: Path) -> None:
    before = head(folder)
    assert list(committed_since(before, head(folder), BLIND)) == [] and id_of(before) is None
    changed(folder, **{"last-updated-ms": 5})
    assert list(committed_since(before, head(folder), READING)) == []


@pytest.mark.parametrize(
    ("members", "of_definition", "of_format"),
    [
        ({"properties": {"x": "y"}}, True, False),
        ({"format-version": 3, "next-row-id": 0}, False, True),
        ({"format-version": 3, "next-row-id": 0, "properties": {"x": "y"}}, True, True),
    ],
)
def test_changes_of_the_definition(folder: Path, members: dict[str, Any], of_definition: bool, of_format: bool) -> None:
    before = head(folder)
    changed(folder, **members)
    (found,) = committed_since(before, head(folder), BLIND)
    assert (found.metadata_changed, found.protocol_changed) == (of_definition, of_format)
    assert (found.version, found.added, found.touched) == (head(folder).version, (), None)
    tf.open_table(folder).append(rows(1))
    (found,) = committed_since(before, head(folder), BLIND)
    assert (found.metadata_changed, found.protocol_changed) == (of_definition, of_format)
    assert found.version == head(folder).version and found.is_blind_append


def test_snapshots_of_others(folder: Path) -> None:
    """Their files, if the change depends on rows; in the order in which they were committed."""
    before = head(folder)
    table = tf.open_table(folder)
    first = table.append(rows(1, 2)).version
    second = table.append(rows(3), application=("job", 7)).version
    third = table.delete("a = 1").version
    blind = list(committed_since(before, head(folder), BLIND))
    assert [(one.version, one.added, one.touched) for one in blind] == [(v, (), None) for v in (first, second, third)]
    assert [one.is_blind_append for one in blind] == [True, True, False]
    assert [one.applications for one in blind] == [{}, {"job": 7}, {}] and all(one.data_change for one in blind)
    assert not any(one.metadata_changed or one.protocol_changed for one in blind)
    found = list(committed_since(before, head(folder), READING))
    counts = [[n for batch in one.added for n in batch.files["record_count"].to_pylist()] for one in found]
    assert counts == [[2], [1], [1]]
    touched = [one.touched.to_pylist() for one in found if one.touched is not None]
    gone = found[0].added[0].files["path"].to_pylist()[0]
    assert touched == [[], [], [gone]] and gone.startswith(str(folder))
    assert [one.version for one in committed_since(head(folder), head(folder), READING)] == []
    assert found[0].specs == head(folder).metadata.specs


def test_rewrites_change_no_data(folder: Path) -> None:
    before = head(folder)
    tf.open_table(folder).append(rows(1))
    content = json.loads(newest(folder).read_text())
    content["snapshots"][0]["summary"]["operation"] = "replace"
    changed(folder, snapshots=content["snapshots"])
    (found,) = committed_since(before, head(folder), BLIND)
    assert (found.is_blind_append, found.data_change) == (False, False)


def winner(change: TableChange, *manifests: Any) -> Any:
    """Of snapshot 8."""
    listed: Any = SimpleNamespace(manifests=manifests)
    return _Winner(SimpleNamespace(version=8, manifest_list=listed, manifests=None), change)  # type: ignore[arg-type]


def listed(content: int, added_files: int, added_by: int | None = 8) -> Any:
    return SimpleNamespace(content=content, added_files=added_files, added_snapshot_id=added_by)


def test_manifests_that_a_snapshot_added() -> None:
    every = [listed(0, 1), listed(1, 1, 7), listed(1, 0, None), listed(0, 1, 9)]
    assert winner(BLIND, *every)._manifests == [every[0], every[2]]


FILES = pa.table(
    {"path": ["a", "b", "c"], "partition": [None] * 3, "spec_id": [0] * 3, "data_sequence_number": [1, 1, 1]}
)


@pytest.mark.parametrize("missing", ["", "partition", "spec_id", "data_sequence_number"])
def test_files_that_new_deletes_may_hit(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which not enough is known: all of them."""

    class Reader:
        def __init__(self, source: Any, everything: Any, report: Any) -> None:
            """Nothing is read."""

        def delete_index(self, manifests: Any) -> Any:
            return SimpleNamespace(pairs=lambda files: (np.array([2, 0, 2]), np.array([0, 0, 1])))

    monkeypatch.setattr(winners, "DeleteManifestReader", Reader)
    files = FILES.drop_columns([missing] if missing else [])
    assert winner(READING)._hit(files, [], []).tolist() == ([0, 1, 2] if missing else [0, 2])


@pytest.mark.parametrize(
    ("manifests", "removed", "read", "found"),
    [
        ([listed(1, 1)], FILES, None, [["b"]]),
        ([listed(1, 1)], None, FILES, [["b"]]),
        ([listed(1, 1)], FILES, FILES.slice(1), [["b"], ["c"]]),
        ([listed(1, 1)], FILES.slice(0, 0), None, []),
        ([listed(1, 1)], None, None, []),
        ([listed(1, 0)], FILES, None, []),
        ([listed(0, 1)], FILES, None, []),
        ([listed(0, 1), listed(1, 2), listed(1, 0)], FILES, None, [["b"]]),
    ],
)
def test_new_deletes_of_files_that_are_read_or_removed(
    manifests: list[Any], removed: Any, read: Any, found: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def hit(self: Any, files: pa.Table, chosen: list[Any], everything: Any) -> Any:
        asked.append(chosen)
        return np.array([1])

    monkeypatch.setattr(_Winner, "_hit", hit)
    one = winner(TableChange("delete", removed=removed, read_files=read), *manifests)
    assert [paths.to_pylist() for paths in one._with_new_deletes()] == found
    assert all(chosen == [m for m in manifests if m.content == 1 and m.added_files] for chosen in asked)
