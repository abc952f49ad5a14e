"""The verifier's rules for snapshots and rows of manifest lists, with manifests that are made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.manifest_list import Manifest
from tableformats_iceberg.metadata.table_metadata import Snapshot
from tableformats_iceberg.verification.list_rules import _summary, row_violations
from tableformats_iceberg.verification.manifest_file import (
    ADDED,
    DELETED,
    EXISTING,
    Entry,
    ManifestFile,
)
from tableformats_iceberg.verification.snapshot_rules import (
    Counts,
    SnapshotFiles,
    change_violations,
    content_violations,
    lineage_violations,
)

from tableformats.plugin import PartitionSpec

Found = Iterable[tuple[str, str]]


def entry(path: str, status: int = ADDED, row: int = 0, **more: Any) -> Entry:
    """An entry of a data file of 10 rows and 100 bytes."""
    fields: dict[str, Any] = {
        "snapshot_id": 2,
        "sequence_number": 2,
        "file_sequence_number": 2,
        "content": 0,
        "format": "parquet",
        "record_count": 10,
        "size": 100,
        "sort_order_id": None,
        "first_row_id": None,
        "referenced": None,
        "content_offset": None,
        "content_size": None,
    }
    return Entry(row, status, path=path, **{**fields, **more})


def vector(path: str, of: str, **more: Any) -> Entry:
    """An entry of a deletion vector that deletes 3 rows."""
    place = {"content": 1, "format": "PUFFIN", "referenced": of, "content_offset": 4, "content_size": 30}
    return entry(path, **{"record_count": 3, **place, **more})


def manifest(*entries: Entry, spec_id: int = 0, partition: Sequence[Any] = ()) -> ManifestFile:
    columns = [pa.array(partition)] if partition else []
    return ManifestFile("m", 50, None, PartitionSpec(spec_id, ()), 2, list(entries), None, columns)  # type: ignore[arg-type]


def listed(path: str = "m", **more: Any) -> Manifest:
    """A row for a manifest of one added file."""
    fields: dict[str, Any] = {name: 0 for name in Manifest._fields}
    fields |= {"length": 50, "sequence_number": 2, "min_sequence_number": 2, "added_snapshot_id": 2}
    fields |= {"added_files": 1, "added_rows": 10, "first_row_id": None}
    return Manifest(**{**fields, "path": path, **more})


def snapshot(number: int = 2, parent: int | None = 1, first_row_id: int | None = None, **summary: Any) -> Snapshot:
    texts = {name.replace("_", "-"): str(value) for name, value in summary.items()}
    return Snapshot(number, parent, number, 0, "list", (), texts, 0, first_row_id)


def files(*pairs: tuple[Manifest, ManifestFile | None], of: Snapshot | None = None) -> SnapshotFiles:
    rows, manifests = [row for row, _ in pairs], [one for _, one in pairs]
    return SnapshotFiles(of or snapshot(), SimpleNamespace(manifests=rows), manifests)  # type: ignore[arg-type]


def said(found: Found) -> list[str]:
    return [f"{rule}: {what}" for rule, what in found]


# ---- what a snapshot has --------------------------------------------------------------------------------------------


def test_files_that_are_live_twice() -> None:
    one, other = manifest(entry("a"), entry("b")), manifest(entry("b"), entry("c", DELETED), entry("a", DELETED))
    assert said(content_violations(files((listed("m"), one), (listed("n"), other)))) == [
        "duplicate-file: 'b' is live 2 times"
    ]
    assert said(content_violations(files((listed("m"), manifest(entry("a"))), (listed("m"), None)))) == [
        "manifest-list: 'm' is listed 2 times"
    ]
    assert said(content_violations(files((listed(), manifest(vector("p", "a"), entry("a")))))) == []


@pytest.mark.parametrize(
    ("data", "of_vector", "row", "what"),
    [
        (entry("a"), vector("p", "a"), listed("d"), []),
        (entry("a"), vector("p", "a", record_count=10), listed("d"), []),
        (
            entry("a"),
            vector("p", "a", record_count=11),
            listed("d"),
            ["'a' has a deletion vector that deletes 11 of 10 rows"],
        ),
        (entry("b"), vector("p", "a"), listed("d"), ["'a' has a deletion vector, and is no live data file"]),
        (entry("a", DELETED), vector("p", "a"), listed("d"), ["'a' has a deletion vector, and is no live data file"]),
        (
            entry("a"),
            vector("p", "a", sequence_number=1),
            listed("d"),
            ["'a' is newer than its deletion vector"],
        ),
        (
            entry("a", sequence_number=None),
            vector("p", "a", sequence_number=None),
            listed("d", sequence_number=1),
            ["'a' is newer than its deletion vector"],
        ),
        (entry("a", sequence_number=1), vector("p", "a", sequence_number=None), listed("d", sequence_number=1), []),
    ],
)
def test_deletion_vectors(data: Entry, of_vector: Entry, row: Manifest, what: list[str]) -> None:
    found = said(content_violations(files((listed(), manifest(data)), (row, manifest(of_vector)))))
    assert found == [f"deletion-vector: {one}" for one in what]


def test_two_vectors_and_vectors_of_what_was_not_read() -> None:
    two = manifest(vector("p", "a"), vector("p", "a", content_offset=40), vector("q", "x"), vector("r", None))  # type: ignore[arg-type]
    found = files((listed("m"), manifest(entry("a"))), (listed("d"), two), (listed("n"), None))
    assert said(content_violations(found)) == ["deletion-vector: 'a' has 2 deletion vectors"]


def test_deletes_that_are_no_vector_of_a_file() -> None:
    """Files of positions may name one file, and any number of them the same; another rule looks at broken vectors."""
    positions = [entry(path, content=1, referenced=name) for path, name in (("p", "a"), ("q", "a"), ("r", "gone"))]
    broken = vector("v", None)  # type: ignore[arg-type]
    found = files((listed(), manifest(entry("a"))), (listed("d", content=1), manifest(*positions, broken)))
    assert said(content_violations(found)) == []


def test_vectors_of_another_partition() -> None:
    apart = "deletion-vector: 'a' and its deletion vector are of different partitions"
    for one, other, broken in [
        (manifest(entry("a"), partition=[1]), manifest(vector("p", "a"), partition=[1]), []),
        (manifest(entry("a"), partition=[1]), manifest(vector("p", "a"), partition=[2]), [apart]),
        (manifest(entry("a"), spec_id=1), manifest(vector("p", "a")), [apart]),
    ]:
        assert said(content_violations(files((listed("m"), one), (listed("d"), other)))) == broken


# ---- what it changed ------------------------------------------------------------------------------------------------


def test_counts() -> None:
    position, equality = entry("d", content=1, size=7, record_count=2), entry("e", content=2, size=5, record_count=4)
    counts = Counts.of([entry("a"), entry("b", size=1), position, equality, vector("p", "a"), vector("q", "b")])
    expected = Counts(2, 20, 101 + 7 + 5 + 60, 1, 2, 2 + 3 + 3, 1, 4)
    assert counts == expected and counts.delete_files == 4
    assert Counts.of([vector("p", "a", content_size=None)]).size == 0


OLD = (listed("old", added_snapshot_id=1), manifest(entry("a"), entry("b")))


@pytest.mark.parametrize(
    ("new", "what"),
    [
        ((), []),
        ((OLD, (listed(), manifest(entry("c")))), []),
        (
            ((listed(), manifest(entry("a", EXISTING), entry("b", DELETED), entry("c"))),),
            [],
        ),
        ((OLD, (listed(), manifest(entry("c", EXISTING)))), ["'c' is new, and no entry says ADDED"]),
        (((listed(), manifest(entry("a", EXISTING))),), ["'b' is gone, and no entry says DELETED"]),
        (
            ((listed(), manifest(entry("a", EXISTING), entry("b", DELETED), entry("b", EXISTING))),),
            ["'b' is DELETED, and live"],
        ),
        (
            ((listed(), manifest(entry("a", EXISTING), entry("b"))),),
            ["'b' is ADDED, and was there before"],
        ),
        (
            ((listed(), manifest(entry("b", DELETED), entry("b"), entry("a", EXISTING))),),
            ["'b' is ADDED, and was there before"],
        ),
    ],
)
def test_changes_against_the_parent(new: Sequence[tuple[Manifest, ManifestFile]], what: list[str]) -> None:
    parent = files(OLD, of=snapshot(1, None))
    found = files(*(new or (OLD,)))
    assert said(change_violations(found, parent)) == [f"status: {one}" for one in what]


def test_changes_that_cannot_be_compared() -> None:
    parent = files(OLD, of=snapshot(1, None))
    gone = files((listed(), manifest(entry("a", EXISTING))), (listed("n"), None))
    assert said(change_violations(gone, parent)) == [] == said(change_violations(files(), files((listed(), None))))
    foreign = files(OLD, (listed("n", added_snapshot_id=7), manifest(entry("c", snapshot_id=7))))
    assert said(change_violations(foreign, parent)) == [
        "manifest-list: 'n' is not in the parent's list, and was added by 7",
        "status: 'c' is new, and no entry says ADDED",
    ]


ADD, REMOVE, MORE = entry("a"), entry("b", DELETED), entry("c", record_count=11)
DELETES = entry("d", content=1)


@pytest.mark.parametrize(
    ("entries", "operation", "what"),
    [
        ([ADD], "append", None),
        ([ADD, REMOVE], "append", "an append removes 1 files and adds 0 delete files"),
        ([ADD, DELETES], "append", "an append removes 0 files and adds 1 delete files"),
        ([DELETES], "append", "an append removes 0 files and adds 1 delete files"),
        ([REMOVE, DELETES], "delete", None),
        ([REMOVE, ADD], "delete", "a delete adds data files"),
        ([ADD, REMOVE], "replace", None),
        ([MORE, REMOVE], "replace", "a replace makes 11 rows of 10"),
        ([MORE, REMOVE, DELETES], "overwrite", None),
    ],
)
def test_operations(entries: list[Entry], operation: str, what: str | None) -> None:
    found = files((listed(), manifest(*entries)), of=snapshot(operation=operation))
    assert said(change_violations(found, None)) == ([] if what is None else [f"operation: {what}"])


def test_summaries() -> None:
    own = (listed(), manifest(entry("c"), vector("p", "a", content_size=9), entry("b", DELETED, size=7)))
    right: dict[str, Any] = {
        "total_data_files": 3,
        "total_records": 30,
        "total_files_size": 309,
        "total_delete_files": 1,
    }
    right |= {"added_data_files": 1, "added_dvs": 1, "added_files_size": 109, "added_position_deletes": 3}
    right |= {"deleted_data_files": 1, "removed_files_size": 7, "removed_dvs": 0, "of_another": "x"}
    parent = files(OLD, of=snapshot(1, None))
    summary = [
        one for one in said(change_violations(files(OLD, own, of=snapshot(**right)), parent)) if "summary" in one
    ]
    assert summary == []
    wrong: dict[str, Any] = {"total_records": "", "added_dvs": 2, "deleted_records": 9, "total_position_deletes": 4}
    broken = said(change_violations(files(OLD, own, of=snapshot(**wrong)), parent))
    assert [one for one in broken if "summary" in one] == [
        "summary: total-records is ''",
        "summary: total-position-deletes is 4, the files make 3",
        "summary: added-dvs is 2, what was added make 1",
        "summary: deleted-records is 9, what was removed make 10",
    ]
    # The parent has expired: only the totals can be said.
    alone = said(change_violations(files(OLD, own, of=snapshot(**wrong)), None))
    assert [one for one in alone if "what was" in one] == []
    first = said(change_violations(files(OLD, own, of=snapshot(parent=None, **wrong)), None))
    assert len([one for one in first if "what was" in one]) == 2


# ---- row ids --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "entries", "what"),
    [
        (listed(first_row_id=20), [entry("a"), entry("b")], []),
        (listed(first_row_id=20), [entry("a", first_row_id=3), entry("b", first_row_id=20), entry("c", DELETED)], []),
        (listed(first_row_id=20), [entry("a"), entry("b", DELETED), entry("c")], []),
        (
            listed(first_row_id=20),
            [entry("a"), entry("b"), entry("c")],
            [
                "'m' takes ids up to 50, its snapshot has them up to 40",
                "a file has row ids up to 50, next-row-id is 40",
            ],
        ),
        (listed(first_row_id=20), [entry("a", first_row_id=21), entry("b")], ["'b' and 'a' have the row id 21"]),
        (listed(first_row_id=20), [entry("a", first_row_id=30), entry("b")], []),
        (listed(first_row_id=19), [entry("a")], ["'m' is new and begins at 19, its snapshot at 20"]),
        (listed(first_row_id=19, added_snapshot_id=1), [entry("a")], []),
        (listed(first_row_id=19), [entry("a", first_row_id=1)], []),
        (listed(first_row_id=20), [entry("a", first_row_id=31)], ["a file has row ids up to 41, next-row-id is 40"]),
        (listed(first_row_id=None), [entry("a", first_row_id=99)], []),
        (listed(first_row_id=20, content=1), [entry("a", first_row_id=99)], []),
    ],
)
def test_row_ids(row: Manifest, entries: list[Entry], what: list[str]) -> None:
    found = files((row, manifest(*entries)), of=snapshot(first_row_id=20))
    assert said(lineage_violations(found, {"added-rows": 20}, 40)) == [f"row-lineage: {one}" for one in what]


def test_row_ids_that_nobody_counts() -> None:
    found = files((listed(first_row_id=20), manifest(entry("a"))), of=snapshot(first_row_id=20))
    assert said(lineage_violations(found, {}, None)) == [] == said(lineage_violations(files(), {}, 0))
    assert said(lineage_violations(files(of=snapshot(first_row_id=0)), {"added-rows": 0}, 0)) == []


# ---- rows of the list -----------------------------------------------------------------------------------------------

OWN = manifest(entry("a"))
MINE = "'m' is new and has {}, not 2"


@pytest.mark.parametrize(
    ("row", "one", "what"),
    [
        (listed(), OWN, []),
        (listed(length=-1), OWN, []),
        (listed(length=49), OWN, ["manifest-list: 'm' has 50 bytes, the list says 49"]),
        (listed(added_snapshot_id=None), OWN, ["manifest-list: 'm' has no added_snapshot_id"]),
        (listed(added_files=-1), OWN, ["manifest-counts: added_files_count of 'm' is missing"]),
        (listed(added_rows=9), OWN, ["manifest-counts: added_rows_count of 'm' is 9, the manifest has 10"]),
        (listed(existing_files=1), OWN, ["manifest-counts: existing_files_count of 'm' is 1, the manifest has 0"]),
        (listed(existing_rows=1), OWN, ["manifest-counts: existing_rows_count of 'm' is 1, the manifest has 0"]),
        (listed(deleted_files=1), OWN, ["manifest-counts: deleted_files_count of 'm' is 1, the manifest has 0"]),
        (listed(deleted_rows=-1), OWN, ["manifest-counts: deleted_rows_count of 'm' is missing"]),
        (
            listed(sequence_number=3),
            manifest(entry("a", file_sequence_number=3)),
            ["manifest-sequence: 'm' has 3, its snapshot 2", f"manifest-sequence: {MINE.format(3)}"],
        ),
        (
            listed(sequence_number=1, added_snapshot_id=1, min_sequence_number=1),
            manifest(entry("a", snapshot_id=1, sequence_number=None, file_sequence_number=1)),
            [],
        ),
        (listed(min_sequence_number=1), OWN, ["manifest-sequence: min_sequence_number of 'm' is 1, not 2"]),
        (
            listed(added_snapshot_id=1, sequence_number=1),
            manifest(entry("a", snapshot_id=1, file_sequence_number=1)),
            ["manifest-sequence: 'm' has 1, a file of it 2"],
        ),
        (listed(), manifest(entry("a", snapshot_id=None, file_sequence_number=None)), []),
        (listed(), manifest(entry("a", snapshot_id=1)), ["status: 'a' is ADDED by 1, its manifest by 2"]),
        (
            listed(added_files=0, added_rows=0, deleted_files=1, deleted_rows=10),
            manifest(entry("a", DELETED, snapshot_id=1)),
            ["status: 'a' is DELETED by 1, its manifest by 2"],
        ),
        (
            listed(added_files=0, added_rows=0, existing_files=1, existing_rows=10),
            manifest(entry("a", EXISTING, snapshot_id=1, file_sequence_number=1)),
            [],
        ),
        (
            listed(),
            manifest(entry("a", file_sequence_number=1)),
            ["sequence-number: 'a' is ADDED with 1, its manifest with 2"],
        ),
        (listed(first_row_id=1), OWN, ["row-lineage: 'm' has a first_row_id"]),
    ],
)
def test_rows_of_a_list(row: Manifest, one: ManifestFile, what: list[str]) -> None:
    assert said(row_violations(row, one, snapshot(), 2)) == what


def test_rows_of_older_and_newer_lists() -> None:
    older = listed(added_snapshot_id=None, sequence_number=0, min_sequence_number=0, added_files=-1, added_rows=-1)
    of_it = manifest(entry("a", file_sequence_number=9, sequence_number=0))
    assert said(row_violations(older, of_it, snapshot(), 1)) == []
    numbered = listed(added_snapshot_id=1, sequence_number=3, min_sequence_number=4)
    of_it = manifest(entry("a", snapshot_id=1, file_sequence_number=3))
    assert said(row_violations(numbered, of_it, snapshot(), 1)) == []
    tracked = snapshot(first_row_id=0)
    assert said(row_violations(listed(first_row_id=1), OWN, tracked, 3)) == []
    assert said(row_violations(listed(), OWN, tracked, 3)) == ["row-lineage: 'm' has no first_row_id"]
    deletes = manifest(entry("a", content=1))
    assert said(row_violations(listed(content=1), deletes, tracked, 3)) == []
    assert said(row_violations(listed(content=1, first_row_id=1), deletes, tracked, 3)) == [
        "row-lineage: 'm' has a first_row_id"
    ]


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "null", "nan", "bounds", "what"),
    [
        ([1.0, 2.0], False, False, (1.0, 2.0), []),
        ([1.0, None, NAN], True, True, (1.0, 1.0), []),
        ([1.0], None, None, (1.0, 1.0), ["contains_null is missing"]),
        ([1.0, None], False, False, (1.0, 1.0), ["contains_null is false, and a file has NULL"]),
        ([1.0, NAN], False, False, (1.0, 1.0), ["contains_nan is false, and a file has NaN"]),
        ([1.0, NAN], False, None, (1.0, 1.0), []),
        ([None, NAN], True, True, (None, None), []),
        ([1.0], False, False, (None, 1.0), ["a bound is missing or unreadable, and files have values"]),
        ([1.0], False, False, (1.0, None), ["a bound is missing or unreadable, and files have values"]),
        ([2.0, 0.5], False, False, (1.0, 2.0), ["0.5 lies outside of the bounds 1.0 and 2.0"]),
        ([1.0, 2.5], False, False, (1.0, 2.0), ["2.5 lies outside of the bounds 1.0 and 2.0"]),
        ([0.0, -0.0], False, False, (-0.0, 0.0), []),
        ([-0.0], False, False, (0.0, 1.0), ["-0.0 lies outside of the bounds 0.0 and 1.0"]),
        ([0.0], False, False, (-1.0, -0.0), ["0.0 lies outside of the bounds -1.0 and -0.0"]),
        ([0.0, -0.0], False, False, (-1.0, 1.0), []),
        ([0.0, 1.0], False, False, (0.0, 1.0), []),
        ([-0.0, -1.0], False, False, (-1.0, -0.0), []),
    ],
)
def test_partition_summaries(values: list[Any], null: Any, nan: Any, bounds: tuple[Any, Any], what: list[str]) -> None:
    flags = [{5: pa.array([one], pa.bool_())} for one in (null, nan)]
    sides = [{5: pa.array([one], pa.float64())} for one in bounds]
    summaries = SimpleNamespace(contains_null=flags[0], contains_nan=flags[1], lower=sides[0], upper=sides[1])
    assert list(_summary(summaries, 5, pa.array(values, pa.float64()))) == what  # type: ignore[arg-type]


def test_partition_summaries_of_integers() -> None:
    known = {5: pa.array([False])}
    summaries = SimpleNamespace(
        contains_null=known, contains_nan=known, lower={5: pa.array([1])}, upper={5: pa.array([2])}
    )
    assert list(_summary(summaries, 5, pa.array([1, 2]))) == []  # type: ignore[arg-type]
    assert list(_summary(summaries, 5, pa.array([1, 3]))) == ["3 lies outside of the bounds 1 and 2"]  # type: ignore[arg-type]
