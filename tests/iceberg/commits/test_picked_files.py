"""Snapshots that are taken into a branch: which one is meant, and when that is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.commit.picked_files import Pick, check_staging, pick_of, summary_of

import tableformats as tf
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
