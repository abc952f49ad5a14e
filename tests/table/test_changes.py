"""Changes of a format in memory: what the core makes of the files that a plugin names, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.io.storage import Storage
from tableformats.plugin import (
    DELETE,
    INSERT,
    Bounds,
    ChangeBatch,
    DeleteFiles,
    FileBatch,
    FormatChanges,
    FormatSnapshot,
    FormatTable,
    ReadRequest,
    SnapshotSelector,
    Statistics,
)
from tableformats.schema import Field, ListType, MapType, StructType, primitive
from tableformats.table import changes_snapshot as module
from tableformats.table.changes import CHANGE_COLUMNS, Changes, ChangesSnapshot
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import DELETE_COLUMNS, identity_spec, snapshot_of, with_id, write

ID = Field(1, "id", primitive("long"), required=True)
PART = Field(2, "part", primitive("string"))
SPECS = (identity_spec(0), identity_spec(7, (1000, PART)))


@dataclass
class Change:
    """``gone`` are rows that were deleted before, ``selected`` those that changed (None: all that are left)."""

    path: str
    version: int
    change_type: str | None
    gone: Sequence[int] = ()
    selected: Sequence[int] | None = None
    part: str | None = None
    timestamp_ms: int | None = 1_000
    record_count: int | None = None
    kind: str = "position"


class Unasked(Statistics):
    """Knows nothing, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        self.asked += [f.name for f in columns]
        return Bounds()


@dataclass
class FakeChanges(FormatChanges):
    """One batch a change; deletes are found by the place of the change."""

    root: Path
    found: Sequence[Change]
    by: str = "id"
    statistics: Unasked = field(default_factory=Unasked)

    def __post_init__(self) -> None:
        self.starting_version, self.ending_version = 1, 9
        self.inner = snapshot_of(self.root, [ID, PART], [], by=self.by, specs=SPECS)
        self.snapshot = self.inner.format_snapshot
        self.specs = self.snapshot.specs
        # What the fake snapshot deletes depends on nothing but these rows.
        self.snapshot.deleted_positions = self._positions  # type: ignore[method-assign]

    def read(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        assert all(f not in CHANGE_COLUMNS for f in request.columns)
        for number, change in enumerate(self.found):
            spec_id = 0 if change.part is None else 7
            members = [("1000", pa.string())] if spec_id else []
            files = pa.record_batch(
                {
                    "path": pa.array([change.path]),
                    "size_bytes": pa.array([1], pa.int64()),
                    "record_count": pa.array([change.record_count], pa.int64()),
                    "partition": pa.array([{"1000": change.part} if spec_id else {}], pa.struct(members)),
                    "number": pa.array([number]),
                }
            )
            types = None if change.change_type is None else pa.array([change.change_type])
            times = pa.array([change.timestamp_ms], pa.int64())
            yield ChangeBatch(FileBatch(files, spec_id, self.statistics), pa.array([change.version]), times, types)

    def added_files(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        for batch in self.read(request):
            batch.batch.files = batch.batch.files.append_column("data_change", pa.array([True]))
            yield batch

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        rows: list[dict[str, Any]] = []
        offsets = [0]
        for number in files["number"].to_pylist() if files.num_rows else []:
            change = self.found[number]
            for positions, selects in [(change.gone, False), (change.selected or (), True)]:
                if positions:
                    rows.append({"kind": change.kind, "path": repr(tuple(positions)), "selects": selects})
            offsets.append(len(rows))
        schema = DELETE_COLUMNS.append(pa.field("selects", pa.bool_()))
        table = pa.Table.from_pylist([{n: row.get(n) for n in schema.names} for row in rows], schema)
        return DeleteFiles(table, np.array(offsets, np.int64), np.arange(len(rows), dtype=np.int32))

    @staticmethod
    def _positions(path: str, record_count: int | None, deletes: pa.Table) -> Any:
        from pyroaring import BitMap64

        assert deletes.num_rows and set(deletes["kind"].to_pylist()) <= {"position"}
        return BitMap64([p for text in deletes["path"].to_pylist() for p in eval(text)])


def changes(root: Path, *found: Change, by: str = "id") -> Changes:
    fake = FakeChanges(root, found, by)
    snapshot = Snapshot(fake.inner.table, ChangesSnapshot(fake, fake.inner.storage))
    return Changes(snapshot, ex.TRUE, snapshot.schema)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The ids 0 to 5 under another name, found by its field id."""
    ids = pa.field("key", pa.int64())
    return write(tmp_path, pa.table([list(range(6))], pa.schema([with_id(ids, 1)])))


def ids(scan: Changes) -> list[tuple[str, int, int]]:
    names = ("_change_type", "_commit_version", "id")
    found = scan.to_arrow()
    assert scan.count() == found.num_rows
    return list(zip(*(found[name].to_pylist() for name in names), strict=True))


def test_all_live_rows(tmp_path: Path, path: str) -> None:
    scan = changes(tmp_path, Change(path, 3, INSERT), Change(path, 4, DELETE, gone=[0, 1, 5]))
    assert ids(scan) == [(INSERT, 3, i) for i in range(6)] + [(DELETE, 4, i) for i in (2, 3, 4)]
    assert (scan.starting_version, scan.ending_version) == (1, 9)


@pytest.mark.parametrize("record_count", [None, 6])
def test_the_rows_that_deletes_select(tmp_path: Path, path: str, record_count: int | None) -> None:
    one = Change(path, 3, DELETE, selected=[1, 4], record_count=record_count)
    two = Change(path, 4, DELETE, gone=[1, 4], selected=[1, 4, 5], record_count=record_count)
    scan = changes(tmp_path, one, two)
    assert ids(scan) == [(DELETE, 3, 1), (DELETE, 3, 4), (DELETE, 4, 5)]
    assert [[d["kind"] for d in deletes] for deletes in scan.files["deletes"].to_pylist()] == [
        ["selected_rows"],
        ["position", "selected_rows"],
    ]


@pytest.mark.thread_unsafe(reason="removes the file that it reads")
def test_rows_are_counted_where_only_some_changed(tmp_path: Path, path: str) -> None:
    """Engines that do not open the file first hand on what the metadata knows."""
    scan = changes(tmp_path, Change(path, 3, DELETE, selected=[1, 4]))
    (task,) = scan.plan().tasks()
    snapshot = scan.snapshot.format_snapshot
    assert list(snapshot.deleted_positions(path, None, task.deletes)) == [0, 2, 3, 5]
    Path(path).unlink()
    with pytest.raises(tf.CorruptMetadataError, match="vacuumed") as caught:
        snapshot.deleted_positions(path, None, task.deletes)
    assert caught.value.path == path


def test_files_of_too_many_rows(tmp_path: Path, path: str) -> None:
    def limited(scan: Changes) -> Changes:
        scan.snapshot.storage.limits = tf.Limits(file_rows=5)
        return scan

    assert len(ids(limited(changes(tmp_path, Change(path, 3, DELETE, gone=[0]))))) == 5
    with pytest.raises(tf.LimitExceededError, match="file_rows") as caught:
        limited(changes(tmp_path, Change(path, 3, DELETE, selected=[1]))).to_arrow()
    assert caught.value.path == path


def test_files_that_say_it_themselves(tmp_path: Path) -> None:
    """The type column has no id, and is found by name all the same."""
    fields = [with_id(pa.field("key", pa.int64()), 1), pa.field("_change_type", pa.string())]
    path = write(tmp_path, pa.table([[1, 2], ["update_preimage", "update_postimage"]], pa.schema(fields)))
    scan = changes(tmp_path, Change(path, 3, None))
    assert ids(scan) == [("update_preimage", 3, 1), ("update_postimage", 3, 2)]
    assert ids(scan.where("_change_type = 'update_postimage'")) == [("update_postimage", 3, 2)]
    assert scan.files["change_type"].to_pylist() == [None]


def test_rows_selected_by_key(tmp_path: Path, path: str) -> None:
    """Each file is looked through for the keys; rows that were deleted before are left out."""
    one = Change(path, 3, DELETE, selected=[1], kind="equality")
    two = Change(path, 4, DELETE, gone=[1], selected=[1, 4], kind="equality")
    scan = changes(tmp_path, one, two, Change(path, 5, DELETE, selected=[1], kind="equality"))
    keys = {"(1,)": pa.table({"1": [1]}), "(1, 4)": pa.table({"1": [1, 4]})}
    scan._format_changes.snapshot.equality = keys  # type: ignore[attr-defined]
    assert ids(scan) == [(DELETE, 3, 1), (DELETE, 4, 4), (DELETE, 5, 1)]
    assert [[d["kind"] for d in deletes] for deletes in scan.files["deletes"].to_pylist()] == [
        ["selected_rows"],
        ["equality", "selected_rows"],
        ["selected_rows"],
    ]


@pytest.mark.parametrize(
    ("filter", "versions", "asked"),
    [
        ("_commit_version > 3", [4, 5], []),
        ("_change_type = 'insert' AND _commit_version < 5", [3], []),
        ("part = 'y'", [4], ["part"]),
        ("part = 'y' OR _change_type = 'insert'", [3, 4], ["part"]),
        ("_commit_timestamp = '1970-01-01T00:00:02Z'", [4], []),
        ("_commit_timestamp IS NULL", [5], []),
        ("id = 7 AND _commit_version = 4", [4], ["id"]),
    ],
)
def test_constants_prune(tmp_path: Path, path: str, filter: str, versions: list[int], asked: list[str]) -> None:
    scan = changes(
        tmp_path,
        Change(path, 3, INSERT, part="x"),
        Change(path, 4, DELETE, part="y", timestamp_ms=2_000),
        Change(path, 5, DELETE, part="x", timestamp_ms=None),
    ).where(filter)
    found = scan.files
    assert found["version"].to_pylist() == versions
    assert set(scan.snapshot.format_snapshot.changes.statistics.asked) <= {*asked, "id"}  # type: ignore[attr-defined]
    assert {str(p) for p in found["partition"].to_pylist()} <= {"{'part': 'x'}", "{'part': 'y'}"}


def test_older_specs(tmp_path: Path, path: str) -> None:
    """One file has the partition value in the metadata, the other one nowhere."""
    scan = changes(tmp_path, Change(path, 3, INSERT, part="x"), Change(path, 4, INSERT))
    assert scan.to_arrow()["part"].to_pylist() == ["x"] * 6 + [None] * 6
    assert scan.where("part IS NULL").count() == 6


def test_required_columns_may_be_null(tmp_path: Path) -> None:
    assert [f.required for f in changes(tmp_path).schema] == [False, False, True, True, False]
    path = write(tmp_path, pa.table([[None]], pa.schema([with_id(pa.field("key", pa.int64()), 1)])))
    assert ids(changes(tmp_path, Change(path, 3, INSERT))) == [(INSERT, 3, None)]


def test_members_of_nested_columns_may_be_null() -> None:
    member = Field(3, "m", primitive("long"), required=True)
    key, value = Field(5, "key", primitive("string"), required=True), Field(6, "value", StructType((member,)), True)
    kinds = [StructType((member,)), ListType(replace(member, id=4)), MapType(key, value)]
    found = [module._optional(Field(i, "c", kind, required=True)) for i, kind in enumerate(kinds, 10)]
    assert [f.required for f in found] == [False] * 3
    struct, elements, entries = (f.type for f in found)
    assert not struct.fields[0].required and not elements.element.required  # type: ignore[union-attr]
    assert entries.key.required and not entries.value.required  # type: ignore[union-attr]
    assert not entries.value.type.fields[0].required  # type: ignore[union-attr]


def test_added_files(tmp_path: Path, path: str) -> None:
    found = changes(tmp_path, Change(path, 3, INSERT, part="x", record_count=6), Change(path, 4, INSERT)).added_files()
    assert found.column_names == [
        "version",
        "timestamp",
        "path",
        "size_bytes",
        "record_count",
        "partition",
        "deletes",
        "data_change",
    ]
    assert found["version"].to_pylist() == [3, 4] and found["record_count"].to_pylist() == [6, None]


def test_no_changes(tmp_path: Path) -> None:
    scan = changes(tmp_path)
    assert ids(scan) == [] and scan.files.num_rows == 0 and scan.added_files().num_rows == 0
    assert scan.files.column_names[:3] == ["version", "timestamp", "change_type"]


class Unchanging(FormatTable):
    format, location = "listed", "/there"

    def snapshot(self, selector: SnapshotSelector) -> FormatSnapshot:
        raise AssertionError

    def history(self, limit: int | None = None) -> pa.Table:
        raise AssertionError


def test_tables_of_a_format_without_changes(tmp_path: Path) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="listed") as caught:
        tf.Table(Unchanging(), Storage(tmp_path)).changes(1)
    assert (caught.value.field, caught.value.path) == ("changes", "/there") and caught.value.hint
