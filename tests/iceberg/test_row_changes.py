"""Which files and deletes two snapshots share, and which rows have changed by that, without tables around them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.changes.appends import bounded_columns
from tableformats_iceberg.changes.row_changes import (
    Commit,
    IcebergChanges,
    _compare,
    _refuse_without_parent,
    _SharedDeletes,
)
from tableformats_iceberg.deletes.delete_table import no_deletes
from tableformats_iceberg.manifests.entries import Entries, EntriesRequest, read_entries
from tableformats_iceberg.manifests.manifest_list import DATA, Manifest

from tableformats.errors import SnapshotNotFoundError
from tableformats.plugin import Field, ListType, PartitionSpec, ReadRequest, StructType, primitive
from tableformats.plugin.report import ScanReport
from tests.support.iceberg_manifests import entry, manifest_bytes

Pairs = list[tuple[int, int]]
KEY = 1 << 32
"""Keys of deletes: the number of the snapshot, times this, and the row among its deletes."""


def entries_of(*paths: str) -> Entries:
    data = manifest_bytes([entry(path) for path in paths])
    row = Manifest("m", len(data), 0, DATA, 1, 0, 1, -1, -1, -1, -1, -1, -1, None)
    return read_entries(data, "m", row, EntriesRequest({0: PartitionSpec(0, ())}))


class Snapshot:
    """A snapshot whose deletes are named, with the pairs (file, row of the delete) that belong together."""

    def __init__(self, deletes: str, pairs: Pairs, version: int = 1) -> None:
        files, rows = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
        table = no_deletes()
        columns = [
            pa.array([*deletes], pa.string()) if f.name == "path" else pa.nulls(len(deletes), f.type)
            for f in table.schema
        ]
        stored = pa.table(columns, schema=table.schema) if deletes else None
        self.delete_index = SimpleNamespace(files=stored, pairs=lambda asked: (files, rows))
        self.version = version
        self.metadata = SimpleNamespace(path="m.json")
        self.snapshot = SimpleNamespace(summary={"operation": "delete"})


def changes_between(before: Snapshot, after: Snapshot) -> IcebergChanges:
    changes = IcebergChanges.__new__(IcebergChanges)
    changes._snapshots = cast(Any, [before, after])
    return changes


def described(rows: Any) -> dict[str, tuple[list[int], list[int]]]:
    """{path: (excluding deletes, selecting deletes)}"""
    paths = rows.entries.files["path"].to_pylist()
    lists = zip(rows.excluding.to_pylist(), rows.selecting.to_pylist(), strict=True)
    return dict(zip(paths, lists, strict=True))


@pytest.mark.parametrize(
    ("before", "after", "deleted", "restored"),
    [
        (("", []), ("a", [(0, 0)]), {"f0": ([], [KEY])}, {}),
        (("a", [(0, 0)]), ("", []), {}, {"f0": ([], [0])}),
        (("a", [(0, 0)]), ("a", [(0, 0)]), {}, {}),
        # The same deletes stand in other rows.
        (("ab", [(0, 0), (1, 1)]), ("ba", [(0, 1), (1, 0)]), {}, {}),
        # A delete of one file now belongs to another one.
        (("ab", [(0, 1)]), ("a", [(1, 0)]), {"f1": ([], [KEY])}, {"f0": ([], [1])}),
        (
            ("ab", [(0, 0), (0, 1), (1, 1), (2, 0)]),
            ("bac", [(0, 0), (1, 0), (1, 1), (1, 2), (2, 2)]),
            {"f1": ([1], [KEY + 1, KEY + 2]), "f2": ([0], [KEY + 2])},
            {"f0": ([KEY], [0]), "f2": ([KEY + 2], [0])},
        ),
    ],
)
def test_rows_of_files_that_both_snapshots_have(
    before: tuple[str, Pairs], after: tuple[str, Pairs], deleted: dict[str, Any], restored: dict[str, Any]
) -> None:
    old, new = Snapshot(*before), Snapshot(*after)
    shared = _SharedDeletes(cast(Any, old), cast(Any, new))
    found = changes_between(old, new)._newly_deleted(entries_of("f0", "f1", "f2"), shared)
    assert [described(rows) for rows in found] == [deleted, restored]
    assert [rows.change_type for rows in found] == ["delete", "insert"]


def test_rows_of_a_file_that_one_snapshot_has() -> None:
    """Those that its deletes do not exclude; no deletes select rows."""
    old, new = Snapshot("a", []), Snapshot("bc", [(0, 1), (1, 0), (1, 1)])
    rows = changes_between(old, new)._all_rows("insert", entries_of("f0", "f1", "f2"), cast(Any, new))
    assert described(rows) == {"f0": ([KEY + 1], []), "f1": ([KEY, KEY + 1], []), "f2": ([], [])}
    assert rows.change_type == "insert"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([], [], ([], [], [])),
        (["a", "b"], [], (["a", "b"], [], [])),
        ([], ["a"], ([], ["a"], [])),
        (["a", "b", "c"], ["c", "d", "a"], (["b"], ["d"], ["c", "a"])),
        (["a", "a"], ["a"], (["a"], [], ["a"])),
        (["a"], ["a", "b", "a", "a"], ([], ["b", "a", "a"], ["a"])),
        (["b", "a", "a"], ["a", "b", "b"], (["a"], ["b"], ["a", "b"])),
    ],
)
def test_files_of_two_snapshots(old: list[str], new: list[str], found: tuple[list[str], ...]) -> None:
    """A path that is listed several times is as many files."""
    for cut in (0, 1):  # in one manifest, or in two
        parts = [[entries_of(*part) for part in (paths[:cut], paths[cut:]) if part] for paths in (old, new)]
        compared = _compare(*parts)
        assert tuple([path for e in part for path in e.files["path"].to_pylist()] for part in compared) == found


def test_what_must_be_known_of_the_first_snapshot() -> None:
    commits = [Commit(None, cast(Any, Snapshot("", [], version))) for version in (7, 8, 9)]
    for count, hint in ((1, "Compare two snapshots instead"), (2, "Start at 8"), (3, "Start at 8")):
        with pytest.raises(SnapshotNotFoundError, match="the parent of snapshot 7 has expired") as caught:
            _refuse_without_parent(commits[:count])
        assert (caught.value.hint, caught.value.path) == (hint, "m.json")
        assert "what its delete removed is not known" in str(caught.value)


def test_columns_that_may_have_bounds() -> None:
    long = primitive("long")
    columns = (
        Field(1, "a", long),
        Field(2, "b", StructType((Field(3, "c", long),))),
        Field(4, "d", ListType(Field(5, "element", long))),
        Field(6, "e", primitive("string")),
    )
    assert bounded_columns(ReadRequest(columns, ScanReport())) == [1, 6]
