"""Which snapshots came after one, and which one is taken into a branch: by the lineage in the metadata alone."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.metadata.table_metadata import TableMetadata
from tableformats_iceberg.write.commit.picked_files import Pick, check_staging, pick_of, summary_of
from tableformats_iceberg.write.commit.snapshot_producer import new_snapshot_id
from tableformats_iceberg.write.commit.winners import applications_of, snapshots_between

import tableformats as tf
from tests.support.iceberg_tables import parse, snapshot_json


def snapshot(number: int, parent: int | None = None, operation: str = "append", **summary: str) -> dict[str, Any]:
    names = {"wap_id": "wap.id", "published_wap_id": "published-wap-id", "source_snapshot_id": "source-snapshot-id"}
    told = {"operation": operation, **{names[name]: value for name, value in summary.items()}}
    above = {} if parent is None else {"parent-snapshot-id": parent}
    return snapshot_json(number, number, **{"sequence-number": number, "summary": told, **above})


def table(*snapshots: dict[str, Any], **properties: str) -> TableMetadata:
    return parse(snapshots=list(snapshots), properties={k.replace("_", "."): v for k, v in properties.items()})


CHAIN = table(snapshot(1), snapshot(2, 1), snapshot(3, 2), snapshot(4, 2), snapshot(6, 5), snapshot(7, 6))


@pytest.mark.parametrize(
    ("older", "newest", "found"),
    [
        (None, None, []),
        (3, 3, []),
        (None, 1, [1]),
        (None, 3, [1, 2, 3]),
        (1, 3, [2, 3]),
        (2, 3, [3]),
        (2, 4, [4]),
        (6, 7, [7]),
        (3, 4, None),
        (3, 1, None),
        (3, None, None),
        (None, 7, None),
        (5, 7, None),
    ],
)
def test_snapshots_between_two(older: int | None, newest: int | None, found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(tf.CommitConflictError, match=f"{older} that was read is no ancestor"):
            snapshots_between(CHAIN, older, newest)
    else:
        assert [one.id for one in snapshots_between(CHAIN, older, newest)] == found


STAGED = table(
    snapshot(1),
    snapshot(2, 1),
    snapshot(3, 1, wap_id="a"),
    snapshot(4, 1, "overwrite", wap_id="b"),
    snapshot(5, 2, "overwrite", wap_id="c"),
    snapshot(6, 2, published_wap_id="a", source_snapshot_id="3"),
    snapshot(7, 2, source_snapshot_id="8"),
    snapshot(8, 1),
    snapshot(9, 1, wap_id="a"),
)


@pytest.mark.parametrize(
    ("pick", "head", "found"),
    [
        (Pick(snapshot_id=3), 2, 3),
        (Pick(snapshot_id=3), 1, 3),
        (Pick(wap_id="a"), 2, 9),
        (Pick(wap_id="c"), 2, 5),
        (Pick(wap_id="b"), 1, 4),
        (Pick(snapshot_id=8), 6, 8),
        (Pick(snapshot_id=1), None, 1),
    ],
)
def test_which_snapshot_is_picked(pick: Pick, head: int | None, found: int) -> None:
    assert pick_of(pick, STAGED, head).id == found


@pytest.mark.parametrize(
    ("pick", "head", "error", "said"),
    [
        (Pick(snapshot_id=77), 2, tf.SnapshotNotFoundError, "no snapshot 77"),
        (Pick(wap_id="z"), 2, tf.SnapshotNotFoundError, "no snapshot of the wap.id 'z'"),
        (Pick(snapshot_id=2), 2, tf.ConstraintViolationError, "has snapshot 2 already"),
        (Pick(snapshot_id=1), 2, tf.ConstraintViolationError, "has snapshot 1 already"),
        (Pick(snapshot_id=3), 6, tf.ConstraintViolationError, "3 was taken into the branch already, as 6"),
        (Pick(wap_id="a"), 6, tf.ConstraintViolationError, "9 was taken into the branch already, as 6"),
        (Pick(snapshot_id=8), 7, tf.ConstraintViolationError, "8 was taken into the branch already, as 7"),
        (Pick(wap_id="b"), 2, tf.UnsupportedFeatureError, "4 removed files of an older version"),
        (Pick(wap_id="c"), 1, tf.UnsupportedFeatureError, "5 removed files of an older version"),
    ],
)
def test_snapshots_that_are_not_picked(pick: Pick, head: int, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        pick_of(pick, STAGED, head)
    if error is tf.SnapshotNotFoundError:
        assert "Staged are: a, b, c" in str(caught.value)
        with pytest.raises(error, match="No snapshot is staged"):
            pick_of(pick, table(snapshot(1)), 1)


def test_what_a_picked_snapshot_says() -> None:
    assert summary_of(STAGED.snapshots[3]) == {"source-snapshot-id": "3", "published-wap-id": "a"}
    assert summary_of(STAGED.snapshots[8]) == {"source-snapshot-id": "8"}


def test_what_is_staged() -> None:
    allowed = table(snapshot(1, wap_id="a"), write_wap_enabled="true")
    assert not check_staging({}, allowed) and check_staging({"wap.id": "b"}, allowed)
    with pytest.raises(tf.ConstraintViolationError, match="'a'"):
        check_staging({"wap.id": "a"}, allowed)
    for properties in ({}, {"write_wap_enabled": "false"}):
        with pytest.raises(tf.UnsupportedFeatureError, match="does not allow"):
            check_staging({"wap.id": "b"}, table(**properties))


def test_transactions_of_applications() -> None:
    names = {"tableformats.application.a": "7", "tableformats.application.b": "-1", "other": "1"}
    others = {"tableformats.application.c": "x", "tableformats.application.d": "1" * 20}
    told = {"operation": "append", **names, **others}
    found = parse(snapshots=[snapshot_json(1, 1, summary=told)]).snapshots[1]
    assert applications_of(found) == {"a": 7, "b": -1}


def test_ids_of_new_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    from tableformats_iceberg.write.commit import snapshot_producer

    for number, expected in [
        (0, 1),
        (5, 5),
        (5 << 64, 5),
        ((5 << 64) | 3, 6),
        ((1 << 63) | 3, 3),
        ((2**64 - 1) << 64, 2**63 - 1),
        ((7 << 64) | 7, 1),
    ]:
        monkeypatch.setattr(
            snapshot_producer.uuid, "uuid4", lambda number=number: snapshot_producer.uuid.UUID(int=number)
        )
        assert new_snapshot_id() == expected
