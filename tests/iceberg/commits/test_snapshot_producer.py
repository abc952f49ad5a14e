"""New snapshots: their ids, the rows of their manifests, and what they say of the table."""

from __future__ import annotations

import io
import json
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from tableformats_iceberg.snapshot import IcebergSnapshot
from tableformats_iceberg.write.commit import snapshot_producer
from tableformats_iceberg.write.commit.snapshot_producer import (
    Base,
    SnapshotProducer,
    _numbered,
    new_files,
    new_snapshot_id,
)
from tableformats_iceberg.write.commit.target import target_of

import tableformats as tf
from tableformats.plugin import SnapshotSelector, TableChange
from tests.iceberg.commits.test_manifest_lists import row
from tests.support.iceberg_tables import open_table, snapshot_json, write_table


@pytest.mark.parametrize(
    ("high", "low", "found"),
    [(5, 3, 6), (0, 7, 7), (7, 0, 7), (1 << 63, 0, 1), (9, 9, 1), (2**64 - 1, 1, 2**63 - 2), (1 << 62, 0, 1 << 62)],
)
def test_ids(high: int, low: int, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two halves of a uuid, folded into 63 bits; never 0."""
    monkeypatch.setattr(snapshot_producer, "uuid", SimpleNamespace(uuid4=lambda: uuid.UUID(int=high << 64 | low)))
    assert new_snapshot_id() == found


@pytest.mark.parametrize(("least", "found"), [(-1, 9), (0, 0), (3, 3)])
def test_numbers_of_manifests(least: int, found: int) -> None:
    made = _numbered(row("m", min_sequence_number=least), 9)
    assert (made.sequence_number, made.min_sequence_number) == (9, found)


def produced(folder: Path, *tries: TableChange, **members: Any) -> tuple[SnapshotProducer, list[dict[str, Any]]]:
    """Snapshots of a table with these metadata, by one producer."""
    path = write_table(folder, location=str(folder), **members)
    value = json.loads(path.read_text())
    snapshot = open_table(folder).snapshot(SnapshotSelector())
    assert isinstance(snapshot, IcebergSnapshot)
    target = target_of(snapshot.metadata, value, str(folder))
    made = SnapshotProducer(Base(value, snapshot), target)
    return made, [made.produce(Base(value, snapshot), change, {"a": "b"}) for change in tries]


@pytest.mark.parametrize(
    ("version", "members", "own"),
    [
        (1, {"last-sequence-number": None}, {}),
        (2, {"last-sequence-number": 6}, {"sequence-number": 7}),
        (
            3,
            {"last-sequence-number": 6, "next-row-id": 50},
            {"sequence-number": 7, "first-row-id": 50, "added-rows": 0},
        ),
    ],
)
def test_a_snapshot_without_files(
    tmp_path: Path, version: int, members: dict[str, Any], own: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_producer, "current_ms", lambda: 1000)
    made, (first, second) = produced(
        tmp_path, TableChange("append"), TableChange("append"), **{"format-version": version, **members}
    )
    summary = first.pop("summary")
    place = f"{tmp_path}/metadata/snap-{made.snapshot_id}-{{}}-{made.store.commit_id}.avro"
    assert first == {
        "snapshot-id": made.snapshot_id,
        **own,
        "timestamp-ms": 1000,
        "manifest-list": place.format(1),
        "schema-id": 0,
    }
    assert (summary["operation"], summary["a"], summary["manifests-created"]) == ("append", "b", "0")
    assert second["manifest-list"] == place.format(2)
    made.store.flush()
    assert [file.name for file in (tmp_path / "metadata").glob("*.avro")] == [place.format(2).rpartition("/")[2]]
    with open(place.format(2), "rb") as file:
        head = fastavro.reader(io.BytesIO(file.read())).metadata
    numbers = {key: str(own[key]) for key in ("sequence-number", "first-row-id") if key in own}
    expected = {"snapshot-id": str(made.snapshot_id), "parent-snapshot-id": "null", **numbers}
    assert {k: v for k, v in head.items() if not k.startswith("avro.")} == {**expected, "format-version": str(version)}


def test_time_does_not_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_producer, "current_ms", lambda: 1000)
    for last, found in ((999, 1000), (1001, 1001)):
        _, (made,) = produced(tmp_path / str(last), TableChange("append"), **{"last-updated-ms": last})
        assert made["timestamp-ms"] == found


def test_a_parent_without_a_list(tmp_path: Path) -> None:
    """Of version 1, whose snapshots may name their manifests."""
    old = {**snapshot_json(7, 1), "manifests": []}
    del old["manifest-list"], old["sequence-number"]
    members = {"format-version": 1, "last-sequence-number": None, "snapshots": [old], "current-snapshot-id": 7}
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        produced(tmp_path, TableChange("append"), **members)
    assert caught.value.field == "manifests" and str(caught.value.path).endswith("v1.metadata.json")


def test_written_files() -> None:
    numbers = pa.struct([("1", pa.int64()), ("2", pa.int64())])
    added = pa.table(
        {
            "path": pa.chunked_array([["p=1/a"], ["b"]]),
            "size_bytes": [7, 8],
            "record_count": [1, 2],
            "partition": pa.array([{"1000": 1}, {"1000": None}]),
            "split_offsets": pa.array([[4], None], pa.list_(pa.int64())),
            **{name: pa.array([{"1": 1, "2": None}] * 2, numbers) for name in ("lower", "upper", "column_sizes")},
            **{name: pa.array([{"1": 3, "2": 4}] * 2, numbers) for name in ("null_count", "nan_count", "value_count")},
        }
    )
    found = new_files(added, "/old/t/data", 5)
    assert found.path.to_pylist() == ["/old/t/data/p=1/a", "/old/t/data/b"] and found.sort_order_id == 5
    assert (found.size_bytes.tolist(), found.record_count.tolist()) == ([7, 8], [1, 2])
    assert {i: values.to_pylist() for i, values in found.lower.items()} == {1: [1, 1], 2: [None, None]}
    assert found.column_size[2].to_pylist() == [None, None] and found.null_count[2].to_pylist() == [4, 4]
    assert found.split_offsets is not None and found.split_offsets.to_pylist() == [[4], None]
