"""Snapshots that are taken into a branch: which one is meant, and when that is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_iceberg.manifests.entries import ADDED
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest
from tableformats_iceberg.write.commit.picked_files import Pick, check_staging, pick_of, picked_entries, summary_of

import tableformats as tf
from tableformats.plugin import DEFAULT_LIMITS, PartitionSpec
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import parse, snapshot_json


def snapshot(number: int, parent: int | None, operation: str = "append", **summary: str) -> dict[str, Any]:
    given = {"summary": {"operation": operation, **{name.replace("_", "-"): text for name, text in summary.items()}}}
    return snapshot_json(number, number, **given, **({} if parent is None else {"parent-snapshot-id": parent}))


def staged(number: int, parent: int | None, wap_id: str, operation: str = "append") -> dict[str, Any]:
    found = snapshot(number, parent, operation)
    found["summary"]["wap.id"] = wap_id
    return found


SNAPSHOTS = [
    snapshot(1, None),
    staged(2, 1, "x"),
    staged(3, 2, "y", "overwrite"),
    staged(4, 1, "z", "overwrite"),
    staged(5, 1, "again"),
    staged(6, 1, "again"),
    snapshot(7, 2, "delete"),
    snapshot(8, None),
]


def table(*more: dict[str, Any]) -> Any:
    return parse(snapshots=[*SNAPSHOTS, *more])


@pytest.mark.parametrize(
    ("pick", "head", "found"),
    [
        (Pick(2), 1, 2),
        (Pick(wap_id="x"), 1, 2),
        (Pick(wap_id="again"), 1, 6),
        (Pick(5), 1, 5),
        # Upon its own parent a snapshot may have done anything; elsewhere it may only have added files.
        (Pick(3), 2, 3),
        (Pick(4), 1, 4),
        (Pick(7), 2, 7),
        (Pick(5), 7, 5),
        (Pick(8), 7, 8),
        (Pick(8), None, 8),
        (Pick(2), None, 2),
    ],
)
def test_snapshots_that_are_meant(pick: Pick, head: int | None, found: int) -> None:
    assert pick_of(pick, table(), head).id == found


@pytest.mark.parametrize(
    ("pick", "what"),
    [(Pick(9), "snapshot 9"), (Pick(wap_id="w"), "of the wap.id 'w'"), (Pick(), "None")],
)
def test_snapshots_that_are_not_there(pick: Pick, what: str) -> None:
    with pytest.raises(tf.SnapshotNotFoundError, match=what) as caught:
        pick_of(pick, table(), 1)
    assert (caught.value.hint, caught.value.path) == ("Staged are: again, x, y, z", "m")
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        pick_of(pick, parse(snapshots=SNAPSHOTS[:1]), 1)
    assert caught.value.hint == "No snapshot is staged"


def test_ten_staged_snapshots_are_named() -> None:
    many = parse(snapshots=[staged(n, None, f"w{n}") for n in range(10, 30)])
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        pick_of(Pick(1), many, None)
    assert caught.value.hint == "Staged are: " + ", ".join(f"w{n}" for n in range(10, 20))


@pytest.mark.parametrize(("pick", "head"), [(Pick(1), 7), (Pick(2), 7), (Pick(7), 7), (Pick(wap_id="x"), 2)])
def test_snapshots_that_the_branch_has(pick: Pick, head: int) -> None:
    with pytest.raises(tf.ConstraintViolationError, match="the branch has snapshot"):
        pick_of(pick, table(), head)


@pytest.mark.parametrize(
    ("summary", "picked", "refused"),
    [
        ({"published_wap_id": "again"}, 5, True),
        ({"published_wap_id": "again"}, 6, True),
        ({"published_wap_id": "x"}, 5, False),
        ({"source_snapshot_id": "5"}, 5, True),
        ({"source_snapshot_id": "5"}, 6, False),
        ({"source_snapshot_id": "8"}, 8, True),
        ({"published_wap_id": "again"}, 8, False),
        ({}, 8, False),
    ],
)
def test_snapshots_that_were_taken(summary: dict[str, str], picked: int, refused: bool) -> None:
    """The branch says so at its newest snapshot, or at one before it."""
    for head in (10, 11):
        found = table(snapshot(10, 1, **summary), snapshot(11, 10))
        if not refused:
            assert pick_of(Pick(picked), found, head).id == picked
            continue
        with pytest.raises(tf.ConstraintViolationError, match=f"snapshot {picked} was taken .* already, as 10"):
            pick_of(Pick(picked), found, head)


@pytest.mark.parametrize("number", [3, 4])
def test_snapshots_that_removed_files_of_another_version(number: int) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        pick_of(Pick(number), table(), 8)
    assert (caught.value.field, caught.value.path) == ("cherry_pick", "m")


def test_what_a_summary_says_of_its_source() -> None:
    found = table().snapshots
    assert summary_of(found[1]) == {"source-snapshot-id": "1"}
    assert summary_of(found[5]) == {"source-snapshot-id": "5", "published-wap-id": "again"}


def test_staging() -> None:
    """It is refused where the table does not allow it, or has a snapshot of the id."""
    allowed = parse(snapshots=SNAPSHOTS, properties={"write.wap.enabled": "true"})
    assert check_staging({}, table()) is False and check_staging({}, allowed) is False
    assert check_staging({"wap.id": "new"}, allowed) is True
    with pytest.raises(tf.ConstraintViolationError) as known:
        check_staging({"wap.id": "x"}, allowed)
    assert known.value.field == "wap.id"
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_staging({"wap.id": "new"}, table())
    assert (caught.value.field, caught.value.path) == ("write.wap.enabled", "m")


class Source:
    """Manifests of version 3 by their path."""

    specs, default_spec_id, limits = {0: PartitionSpec(0, ())}, 0, DEFAULT_LIMITS

    def __init__(self, **manifests: list[dict[str, Any]]) -> None:
        self.manifests = manifests
        self.read: list[str] = []

    def read_bytes(self, manifest: Manifest) -> tuple[bytes, str]:
        self.read.append(manifest.path)
        return manifest_bytes(self.manifests[manifest.path]), manifest.path


@pytest.mark.parametrize("version", [2, 3])
def test_files_that_are_picked(version: int) -> None:
    """Those that the snapshot 7 added itself, as new ones. Their rows get new ids."""
    own = [
        {**entry("a", first_row_id=40), "snapshot_id": None},
        {**entry("b", status=0, sequence_number=1), "snapshot_id": 3},
        {**entry("c", status=0, sequence_number=4), "snapshot_id": 7},
    ]
    others = [{**entry("d", status=0, sequence_number=1), "snapshot_id": 3}]
    made = Source(m1=own, m2=others, m3=own, m4=others, m5=own)
    listed = [
        Manifest(path, -1, 0, content, 9, 0, added, -1, -1, -1, -1, -1, -1, None)
        for path, content, added in (
            ("m1", DATA, 7),
            ("m2", DATA, 7),
            ("m3", DELETES, 7),
            ("m4", DATA, 3),
            ("m5", DATA, 6),
        )
    ]
    source: Any = SimpleNamespace(manifests=made)
    (found,) = picked_entries(source, listed, table().snapshots[7], 99, version)
    assert made.read == ["m1", "m2"]
    spec_id, entries = found
    assert spec_id == 0 and entries.status.tolist() == [ADDED, ADDED] and entries.snapshot_id.tolist() == [99, 99]
    assert entries.sequence_number.tolist() == entries.file_sequence_number.tolist() == [-1, -1]
    assert entries.members[100].to_pylist() == [b"\x02a", b"\x02c"]
    assert (142 in entries.members) is (version == 3)
    if version == 3:
        assert entries.members[142].to_pylist() == [b"\x00", b"\x00"]


def test_a_snapshot_whose_files_are_gone() -> None:
    others = [{**entry("d", status=0, sequence_number=1), "snapshot_id": 3}]
    source: Any = SimpleNamespace(manifests=Source(m1=others))
    listed = [Manifest("m1", -1, 0, DATA, 9, 0, 7, -1, -1, -1, -1, -1, -1, None)]
    assert picked_entries(source, listed, table().snapshots[7], 99, 2) == []
