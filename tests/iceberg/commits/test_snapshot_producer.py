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


# ---- manifests ------------------------------------------------------------------------------------------------------

SOME, NONE = pa.table({"path": ["a"]}), pa.table({"path": pa.array([], pa.string())})


def new(path: str, **more: Any) -> Any:
    """A manifest of this commit."""
    return SimpleNamespace(row=row(path, **more))


class Removal:
    """The manifest ``d2`` has removed files; what is left of it is in ``left``."""

    def __init__(self, left: Any) -> None:
        self.left, self.least = left, None

    def data_manifests(self, *_: Any) -> dict[str, list[Any]]:
        return {"d2": self.left}

    def delete_manifests(self, manifests: Any, least: int, *_: Any) -> dict[str, list[Any]]:
        self.least = least
        return {"x": []}


D1, D2, X = row("d1", min_sequence_number=5), row("d2", min_sequence_number=3), row("x", content=1)


@pytest.mark.parametrize(
    ("manifests", "left", "least"),
    [
        ([D1, D2, X], [new("n", min_sequence_number=4, existing_files=1)], 4),
        ([D1, D2, X], [new("n", min_sequence_number=6, existing_files=1)], 5),
        ([D1, D2, X], [new("n", min_sequence_number=4, existing_files=0)], 5),
        ([X, D2], [new("n", min_sequence_number=4, existing_files=0)], 10),
        ([X, D2], [], 10),
        ([D1, D2], [], None),
    ],
)
def test_deletes_older_than_all_files_go(manifests: list[Any], left: list[Any], least: int | None) -> None:
    """The least sequence number of the data that stay; without any that of the new snapshot."""
    producer: Any = object.__new__(SnapshotProducer)
    producer._removal = Removal(left)
    base: Any = SimpleNamespace(
        metadata={}, snapshot=SimpleNamespace(manifests=None, snapshot=SimpleNamespace(sequence_number=9))
    )
    found = producer._removed(base, TableChange("delete", removed=SOME), manifests, None)
    assert found == ({"d2": left} if least is None else {"d2": left, "x": []}) and producer._removal.least == least
    for nothing in (TableChange("append"), TableChange("delete", removed=NONE)):
        assert producer._removed(base, nothing, manifests, None) == {}


def test_deletes_of_a_table_without_a_snapshot() -> None:
    producer: Any = object.__new__(SnapshotProducer)
    producer._removal = Removal([])
    base: Any = SimpleNamespace(metadata={}, snapshot=SimpleNamespace(manifests=None, snapshot=None))
    producer._removed(base, TableChange("delete", removed=SOME), [X, D2], None)
    assert producer._removal.least == 0


def test_which_manifests_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of data; of a group that is not merged all stay."""
    fresh = [new("n0"), new("nd", content=1), new("n1")]
    stored: Any = SimpleNamespace(rows=[row("r0"), row("r1"), row("r2", content=1), row("r3")])
    asked: list[Any] = []
    groups: list[list[int]] = []

    def merged_group(base: Any, of_new: list[Any], old: list[Any]) -> Any:
        asked.append(([one.row.path for one in of_new], [one.path for one in old]))
        return [(["made"], {"n0", "r0"})] if of_new == fresh[:1] else []

    def bins(listed: list[Any], properties: Any) -> list[list[int]]:
        assert [one.path for one in listed] == ["n0", "n1", "r0", "r3"]
        return groups

    monkeypatch.setattr(snapshot_producer, "bins_to_merge", bins)
    producer: Any = object.__new__(SnapshotProducer)
    producer._merged_group = merged_group
    base: Any = SimpleNamespace(snapshot=SimpleNamespace(metadata=SimpleNamespace(properties={})))
    assert producer._merged(base, stored, fresh, [0, 2, 3]) == (fresh, [0, 2, 3], 0)
    groups += [[0, 2], [1, 3]]
    assert producer._merged(base, stored, fresh, [0, 2, 3]) == (["made", *fresh[1:]], [2, 3], 1)
    assert asked == [(["n0"], ["r0"]), (["n1"], ["r3"])]


class Store:
    """Knows the manifests of an earlier try by their key, and writes down which entries are encoded."""

    def __init__(self, known: Any = None) -> None:
        self.known, self.encoded = known or {}, []  # type: ignore[var-annotated]

    def find(self, key: Any) -> Any:
        return self.known.get(key)

    def encode(self, key: Any, entries: Any, spec: Any, content: int, metadata: Any) -> Any:
        self.encoded.append((key, entries, spec, content))
        return ["made"]


def batch(name: str, layout: str) -> Any:
    return SimpleNamespace(name=name, layout=SimpleNamespace(key=layout))


@pytest.mark.parametrize(
    ("fresh", "old", "known", "found", "encoded"),
    [
        ("a", "b", {}, [{"a", "b"}], [(("a", "b"), ["a", "b"])]),
        ("", "bc", {}, [{"b", "c"}], [(("b", "c"), ["bc"])]),
        ("ad", "", {}, [{"a", "d"}], [(("a", "d"), ["a", "d"])]),
        ("a", "bx", {}, [{"a", "b"}], [(("a", "b"), ["a", "b"])]),
        ("a", "x", {}, [], []),
        ("x", "xb", {}, [{"x"}], [(("x", "x"), ["x", "x"])]),
        ("a", "b", {("merged", ("a", "b"), 2): ["known"]}, [{"a", "b"}], []),
    ],
)
def test_entries_of_one_layout_are_merged(
    fresh: str, old: str, known: Any, found: list[Any], encoded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of ``x`` have another layout; entries that are carried over come in groups of one layout."""

    def carried(source: Any, manifests: list[Any], version: int) -> Any:
        paths = [one.path for one in manifests]
        for group in ([p for p in paths if p != "x"], [p for p in paths if p == "x"]):
            if group:
                entries = batch("".join(group), "2" if "x" in group else "1")
                yield SimpleNamespace(manifests=[row(p) for p in group], entries=entries)

    monkeypatch.setattr(snapshot_producer, "carried_entries", carried)
    monkeypatch.setattr(snapshot_producer.EntryBatch, "concat", lambda batches: [one.name for one in batches])
    producer: Any = object.__new__(SnapshotProducer)
    producer.store = Store(known)
    new_ones = [SimpleNamespace(row=row(p), entries=batch(p, "2" if p == "x" else "1")) for p in fresh]
    base: Any = SimpleNamespace(
        metadata={"format-version": 2},
        snapshot=SimpleNamespace(manifests=None, metadata=SimpleNamespace(specs={3: "spec 3"}), default_spec_id=7),
    )
    results = producer._merged_group(base, new_ones, [row(p) for p in old])
    assert [paths for _, paths in results] == found
    assert [made for made, _ in results] == [["known"] if known else ["made"] for _ in found]
    assert producer.store.encoded == [(("merged", names, 2), entries, "spec 3", 0) for names, entries in encoded]


def test_the_spec_of_manifests_that_name_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_producer.EntryBatch, "concat", lambda batches: None)
    producer: Any = object.__new__(SnapshotProducer)
    producer.store = Store()
    base: Any = SimpleNamespace(
        metadata={"format-version": 1},
        snapshot=SimpleNamespace(metadata=SimpleNamespace(specs={0: "spec 0", 7: "spec 7"}), default_spec_id=7),
    )
    for number in (None, 0):
        two = [SimpleNamespace(row=row(p, spec_id=number), entries=batch(p, "1")) for p in "ab"]
        producer._merged_group(base, two, [])
    assert [spec for _, _, spec, _ in producer.store.encoded] == ["spec 7", "spec 0"]
