"""Files that a commit removes: which manifests have them, which deletes apply to nothing any more, and the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.entries import ADDED, DELETED, EXISTING
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest
from tableformats_iceberg.write.commit.removed_files import FileRemoval, count_removed
from tableformats_iceberg.write.commit.summaries import SnapshotCounts
from tableformats_iceberg.write.encode.avro_encoding import varint
from tableformats_iceberg.write.encode.entry_batches import EntryBatch

import tableformats as tf
from tableformats.plugin import DEFAULT_LIMITS, PartitionSpec
from tests.support.iceberg_manifests import entry, manifest_bytes

METADATA = {"format-version": 2, "location": "/old/t"}


def manifest(path: str, content: int, live: int = 2, spec_id: int | None = 0) -> Manifest:
    return Manifest(path, -1, spec_id, content, 7, 0, 42, live, 0, 0, -1, -1, -1, None)


class Store:
    """Remembers what is encoded, under which key."""

    snapshot_id = 99

    def __init__(self) -> None:
        self.encoded: dict[Any, list[Any]] = {}
        self.contents: list[int] = []

    def find(self, key: Any) -> list[Any] | None:
        return self.encoded.get(key)

    def encode(self, key: Any, entries: EntryBatch, spec: PartitionSpec, content: int, metadata: Any) -> list[Any]:
        self.contents.append(content)
        self.encoded[key] = [SimpleNamespace(entries=entries)]
        return self.encoded[key]


class Source:
    """Manifests by their path: (path of a file, data sequence number, the file that a delete names)."""

    specs, default_spec_id, limits = {0: PartitionSpec(0, ())}, 0, DEFAULT_LIMITS

    def __init__(self, **files: list[tuple[str, int, str | None]]) -> None:
        self.files = files
        self.asked: list[list[str]] = []

    def read_bytes(self, manifest: Manifest) -> tuple[bytes, str]:
        more = {"content": manifest.content}
        records = [entry(path, records=5, **more) for path, *_ in self.files[manifest.path]]
        return manifest_bytes(records), manifest.path

    def entries_of(self, chosen: Sequence[Manifest], columns: Any, report: Any) -> list[Any]:
        self.asked.append([m.path for m in chosen])
        found = []
        for m in chosen:
            paths, numbers, named = zip(*self.files[m.path], strict=True)
            columns = {"path": paths, "data_sequence_number": pa.array(numbers, pa.int64())}
            columns["referenced_data_file"] = pa.array(named, pa.string())
            columns["only_path"] = pa.array([None if n is None else n.lower() for n in named], pa.string())
            found.append(SimpleNamespace(files=pa.table(columns)))
        return found


def removal(*paths: str) -> tuple[FileRemoval, Store]:
    store: Any = Store()
    return FileRemoval(store, pa.array(paths, pa.string())), store


def statuses(found: dict[str, list[Any]]) -> dict[str, list[tuple[int, int]]]:
    return {
        path: list(zip(new.entries.status.tolist(), new.entries.snapshot_id.tolist(), strict=True))
        for path, (new,) in found.items()
    }


GONE, STAYS = (DELETED, 99), (EXISTING, 42)


def test_data_manifests() -> None:
    """Those that have a file are written anew; deletes, and manifests without live files, are not read."""
    source: Any = Source(m1=[("a", 1, None), ("b", 1, None)], m2=[("c", 1, None)], m3=[("d", 1, None)])
    listed = [manifest("m1", DATA), manifest("x", DELETES), manifest("y", DATA, 0), manifest("m2", DATA, 1)]
    listed += [manifest("m3", DATA, 1), manifest("z", DELETES, 0)]
    files, store = removal("a", "c", "a")
    counts = SnapshotCounts()
    found = files.data_manifests(listed, source, METADATA, counts)
    assert source.asked == [["m1", "m2", "m3"]] and store.contents == [DATA, DATA]
    assert statuses(found) == {"m1": [GONE, STAYS], "m2": [GONE]}
    assert (counts.deleted_data_files, counts.deleted_records, counts.removed_files_size) == (2, 10, 200)
    again = SnapshotCounts()
    assert statuses(files.data_manifests(listed, source, METADATA, again)) == statuses(found)
    assert len(store.contents) == 2 and again == counts, "what was encoded is found again, and is counted"
    files.data_manifests(listed, source, {**METADATA, "format-version": 3}, again)
    assert len(store.contents) == 4, "another format version has other manifests"


@pytest.mark.parametrize(("paths", "missing"), [(["x"], 1), (["a", "x"], 1), (["x", "a", "y", "x"], 2)])
def test_files_that_another_writer_removed(paths: list[str], missing: int) -> None:
    source: Any = Source(m1=[("a", 1, None), ("b", 1, None)])
    with pytest.raises(tf.CommitConflictError, match=f"^{missing} of the files to remove"):
        removal(*paths)[0].data_manifests([manifest("m1", DATA)], source, METADATA, SnapshotCounts())


def test_deletes_that_apply_to_nothing() -> None:
    """Those that are older than every data file, and those that name a removed file alone. 0 is unknown."""
    old = [("s0", 0, None), ("s1", 1, None), ("s4", 4, None), ("s5", 5, None), ("s6", 6, None)]
    named = [("n1", 6, "a"), ("n2", 6, "b"), ("n3", 6, "A")]
    source: Any = Source(m1=old, m2=named, m3=[("k", 5, None)], m4=[("k", 5, None)])
    listed = [manifest("m1", DELETES, 5), manifest("d", DATA), manifest("m2", DELETES, 3), manifest("m3", DELETES, 1)]
    listed += [manifest("e", DELETES, 0), manifest("f", DATA, 0)]
    files, store = removal("a")
    counts = SnapshotCounts()
    found = files.delete_manifests(listed, 5, source, METADATA, counts)
    assert source.asked == [["m1", "m2", "m3"]] and store.contents == [DELETES, DELETES]
    assert statuses(found) == {"m1": [STAYS, GONE, GONE, STAYS, STAYS], "m2": [GONE, STAYS, GONE]}
    assert (counts.removed_position_delete_files, counts.removed_position_deletes) == (4, 20)


def test_nothing_is_removed() -> None:
    source: Any = Source(m1=[("k", 5, None)])
    files, store = removal()
    assert files.data_manifests([manifest("m1", DATA)], source, METADATA, SnapshotCounts()) == {}
    assert files.delete_manifests([manifest("m1", DELETES)], 5, source, METADATA, SnapshotCounts()) == {}
    assert store.contents == []


@pytest.mark.parametrize(("spec_id", "counted"), [(0, 0), (3, 3), (None, 0)])
def test_the_spec_of_changed_partitions(spec_id: int | None, counted: int) -> None:
    source: Any = Source(m1=[("a", 1, None)])
    source.specs = {0: PartitionSpec(0, ()), 3: PartitionSpec(3, ())}
    counts = SnapshotCounts()
    removal("a")[0].data_manifests([manifest("m1", DATA, 1, spec_id)], source, METADATA, counts)
    assert counts.partitions == {(counted, b"")}


# ---- counts ---------------------------------------------------------------------------------------------------------


def batch(rows: Sequence[tuple[int, bytes, int, int]], **members: list[bytes]) -> EntryBatch:
    """Entries of (status, partition, records, bytes)."""
    status, partitions, records, sizes = zip(*rows, strict=True)
    layout: Any = None
    numbers = {name: np.array(status) for name in ("snapshot_id", "sequence_number", "file_sequence_number")}
    encoded = {int(name[1:]): pa.array(values, pa.binary()) for name, values in members.items()}
    return EntryBatch(
        layout,
        status=np.array(status),
        members={102: pa.array(partitions, pa.binary()), **encoded},
        partition=[],
        record_count=np.array(records),
        size_bytes=np.array(sizes),
        **numbers,
    )


def counted(entries: EntryBatch, content: int) -> dict[str, Any]:
    """The counts that are not zero."""
    counts = SnapshotCounts()
    count_removed(counts, entries, 4, content)
    return {name: value for name, value in asdict(counts).items() if value}


def test_counts_of_data_files() -> None:
    rows = [(DELETED, b"a", 3, 10), (EXISTING, b"b", 5, 20), (DELETED, b"a", 7, 30), (ADDED, b"c", 11, 40)]
    assert counted(batch(rows), DATA) == {
        "deleted_data_files": 2,
        "deleted_records": 10,
        "removed_files_size": 40,
        "partitions": {(4, b"a")},
    }
    assert counted(batch([(EXISTING, b"a", 3, 10)]), DATA) == {}


NULL = b"\x00"


def some(value: int) -> bytes:
    """A value of a union with null."""
    return varint(1) + varint(value)


def test_counts_of_deletes() -> None:
    """In version 2: position deletes and equality deletes."""
    rows = [(DELETED, b"a", 3, 10), (DELETED, b"b", 5, 20), (DELETED, b"b", 7, 30), (EXISTING, b"c", 9, 40)]
    kinds = [varint(kind) for kind in (1, 2, 2, 2)]
    expected = {
        "removed_files_size": 60,
        "removed_position_delete_files": 1,
        "removed_position_deletes": 3,
        "removed_equality_delete_files": 2,
        "removed_equality_deletes": 12,
        "partitions": {(4, b"a"), (4, b"b")},
    }
    assert counted(batch(rows, m134=kinds), DELETES) == expected
    none = {"m144": [NULL] * 4, "m145": [NULL] * 4}
    assert counted(batch(rows, m134=kinds, **none), DELETES) == expected


def test_counts_of_deletion_vectors() -> None:
    """Several lie in one file of 1000 bytes, so each counts for its own bytes; one does not say how many it has."""
    rows = [(DELETED, b"", n, size) for n, size in ((1, 1000), (2, 1000), (4, 1000), (8, 50), (16, 60))]
    kinds = [varint(kind) for kind in (1, 1, 1, 1, 2)]
    offsets = [some(0), some(4), some(200), NULL, some(4)]
    sizes = [some(40), some(2**20), NULL, some(7), some(9)]
    assert counted(batch(rows, m134=kinds, m144=offsets, m145=sizes), DELETES) == {
        "removed_files_size": 40 + 2**20 + 50 + 60,
        "removed_dvs": 3,
        "removed_position_delete_files": 1,
        "removed_position_deletes": 15,
        "removed_equality_delete_files": 1,
        "removed_equality_deletes": 16,
        "partitions": {(4, b"")},
    }
