"""Entries of new files: what a manifest says of them, as another reader has it, and what the list says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.entries import ADDED, DELETED, EXISTING
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES
from tableformats_iceberg.write.encode import avro_files
from tableformats_iceberg.write.encode.added_entries import NewFiles, added_entries
from tableformats_iceberg.write.encode.avro_files import Codec
from tableformats_iceberg.write.encode.entry_batches import EntryBatch, FieldSummary, manifest_files
from tableformats_iceberg.write.encode.layouts import layout_of
from tableformats_iceberg.write.encode.metrics import MetricsMode

from tableformats.plugin import Field, PartitionField, PartitionSpec, Type, parse_transform, primitive
from tests.support.iceberg_manifests import fastavro_records

LONG, TEXT = primitive("long"), primitive("string")
IDENTITY = parse_transform("identity")
SPEC = PartitionSpec(4, (PartitionField(1000, "p", 1, IDENTITY, LONG), PartitionField(1001, "q", 2, IDENTITY, TEXT)))
COLUMNS = {1: Field(1, "a", LONG), 2: Field(2, "b", TEXT), 3: Field(3, "c", LONG), 5: Field(5, "e", LONG)}
MODES = {
    1: MetricsMode(),
    2: MetricsMode(length=2),
    3: MetricsMode(True, False),
    4: MetricsMode(),
    5: MetricsMode(False, False),
}


def longs(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def new_files(**more: Any) -> NewFiles:
    partition = pa.array(
        [{"p": 1, "q": "x"}, {"p": None, "q": "y"}], pa.struct([("p", pa.int64()), ("q", pa.string())])
    )
    return NewFiles(pa.array(["/t/1", "/t/2"]), np.array([70, 80]), np.array([7, 8]), partition, **more)


def written(batch: EntryBatch, spec: PartitionSpec = SPEC, content: int = DATA, size: int = 1 << 30) -> list[Any]:
    return list(manifest_files(batch, spec, content, {"schema": "{}"}, Codec("null"), size))


def pairs(*items: tuple[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in items]


def test_what_is_said_of_new_files() -> None:
    """Of the columns that are counted, in the order of their ids, where it is known."""
    found = new_files(
        column_size={3: longs(30, None), 1: longs(10, 11), 4: longs(1, 1), 5: longs(1, 1)},
        value_count={1: longs(7, 8)},
        null_count={1: longs(0, None), 2: longs(None, 5)},
        nan_count={},
        lower={1: longs(5, None), 2: pa.array(["abc", "b"]), 3: longs(1, 1), 5: longs(1, 1)},
        upper={2: pa.array(["abc", None])},
        split_offsets=pa.array([[4, 99], None], pa.list_(pa.int64())),
        sort_order_id=3,
    )
    (manifest,) = written(added_entries(found, 2, SPEC, 77, COLUMNS, MODES))
    schema, records = fastavro_records(manifest.data)
    assert [(r["status"], r["snapshot_id"], r["sequence_number"], r["file_sequence_number"]) for r in records] == [
        (ADDED, 77, None, None)
    ] * 2
    first, second = (r["data_file"] for r in records)
    assert first == {
        "content": 0,
        "file_path": "/t/1",
        "file_format": "PARQUET",
        "partition": {"p": 1, "q": "x"},
        "record_count": 7,
        "file_size_in_bytes": 70,
        "column_sizes": pairs((1, 10), (3, 30)),
        "value_counts": pairs((1, 7)),
        "null_value_counts": pairs((1, 0)),
        "nan_value_counts": None,
        "lower_bounds": pairs((1, (5).to_bytes(8, "little")), (2, b"ab")),
        "upper_bounds": pairs((2, b"ac")),
        "key_metadata": None,
        "split_offsets": [4, 99],
        "equality_ids": None,
        "sort_order_id": 3,
        "referenced_data_file": None,
    }
    assert second["partition"] == {"p": None, "q": "y"} and second["lower_bounds"] == pairs((2, b"b"))
    assert second["column_sizes"] == pairs((1, 11)) and second["null_value_counts"] == pairs((2, 5))
    assert second["upper_bounds"] is None and second["split_offsets"] is None
    assert schema["fields"][0]["name"] == "status"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_not_known(version: int) -> None:
    (manifest,) = written(added_entries(new_files(), version, SPEC, 77, {}, {}))
    first, _ = (r["data_file"] for r in fastavro_records(manifest.data)[1])
    nothing = {name for name, value in first.items() if value is None}
    assert nothing == {*first} - {
        "content",
        "file_path",
        "file_format",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "block_size_in_bytes",
    }
    assert first.get("block_size_in_bytes") == (64 << 20 if version == 1 else None)


def test_tables_without_partitions() -> None:
    plain = PartitionSpec(0, ())
    bare = NewFiles(pa.array(["/t/1"]), np.array([70]), np.array([7]), pa.array([{}], pa.struct([])))
    batch = added_entries(bare, 2, plain, 77, {}, {})
    assert batch.partition == [] and (batch.sequence_number[0], batch.file_sequence_number[0]) == (-1, -1)
    (manifest,) = written(batch, plain)
    assert fastavro_records(manifest.data)[1][0]["data_file"]["partition"] == {} and manifest.summaries == ()


# ---- the row of the list --------------------------------------------------------------------------------------------


def batch(*entries: tuple[int, int], records: int = 10) -> EntryBatch:
    """Entries of (status, sequence number)."""
    made = added_entries(_many(len(entries), records), 2, PartitionSpec(0, ()), 77, {}, {})
    status, numbers = (np.array([entry[i] for entry in entries], np.int64) for i in (0, 1))
    return EntryBatch(**{**vars(made), "status": status, "sequence_number": numbers})


def _many(count: int, records: int) -> NewFiles:
    paths, empty = pa.array([f"/t/{n}" for n in range(count)]), pa.array([{}] * count, pa.struct([]))
    return NewFiles(paths, np.full(count, 70), records ** np.arange(count), empty)


@pytest.mark.parametrize(
    ("entries", "counts", "least"),
    [
        ([(ADDED, -1)], (1, 0, 0, 1, 0, 0), -1),
        ([(ADDED, -1), (EXISTING, 5), (EXISTING, 3)], (1, 2, 0, 1, 110, 0), 3),
        ([(DELETED, 1), (EXISTING, 5), (ADDED, -1)], (1, 1, 1, 100, 10, 1), 5),
        ([(DELETED, 1)], (0, 0, 1, 0, 0, 1), -1),
        ([(EXISTING, 0), (EXISTING, 2)], (0, 2, 0, 0, 11, 0), 0),
    ],
)
def test_the_row_of_a_manifest(entries: list[tuple[int, int]], counts: tuple[int, ...], least: int) -> None:
    """The least number is that of live files; one that the commit gives is greater than all others."""
    (found,) = written(batch(*entries), PartitionSpec(6, ()), DELETES)
    row = found.row
    assert (row.path, row.length, row.spec_id, row.content) == ("", len(found.data), 6, DELETES)
    assert (row.sequence_number, row.min_sequence_number, row.added_snapshot_id) == (-1, least, None)
    assert (*row[7:13],) == counts and row.first_row_id is None
    numbers = [record["sequence_number"] for record in fastavro_records(found.data)[1]]
    assert numbers == [None if number < 0 else number for _, number in entries]


def test_heads_of_manifests() -> None:
    import io

    import fastavro

    for version, content, more in ((1, DATA, {}), (2, DATA, {"content": "data"}), (3, DELETES, {"content": "deletes"})):
        made = added_entries(_many(1, 1), version, PartitionSpec(6, ()), 77, {}, {})
        (found,) = written(made, PartitionSpec(6, ()), content)
        head = fastavro.reader(io.BytesIO(found.data)).metadata
        own = {k: v for k, v in head.items() if not k.startswith("avro.")}
        assert own == {"schema": "{}", "partition-spec-id": "6", "format-version": str(version), **more}


def test_manifests_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends where it has the bytes that it shall have; the rows of the list are those of its own entries."""
    monkeypatch.setattr(avro_files, "_BLOCK_BYTES", 1000)
    many = batch(*[(ADDED, -1)] * 400, records=1)
    whole = written(many, PartitionSpec(0, ()))
    assert [one.row.added_files for one in whole] == [400]
    some = written(many, PartitionSpec(0, ()), size=1)
    assert len(some) > 5 and sum(one.row.added_files for one in some) == 400
    assert [len(fastavro_records(one.data)[1]) for one in some] == [one.row.added_files for one in some]
    assert len(written(many, PartitionSpec(0, ()), size=1500)) == -(-len(some) // 2)


def summary(values: list[Any], kind: Type) -> FieldSummary:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, IDENTITY, kind),))
    from tableformats.schema import arrow_type

    partition = pa.StructArray.from_arrays([pa.array(values, arrow_type(kind))], ["p"])
    count = len(values)
    files = NewFiles(pa.array(["x"] * count), np.ones(count, np.int64), np.ones(count, np.int64), partition)
    (found,) = written(added_entries(files, 2, spec, 77, {}, {}), spec)
    (one,) = found.summaries
    return one


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([3, 1, 2], "int", (False, False, b"\x01\0\0\0", b"\x03\0\0\0")),
        ([3, None, 2], "int", (True, False, b"\x02\0\0\0", b"\x03\0\0\0")),
        ([None, None], "int", (True, False, None, None)),
        ([1.0, NAN], "float", (False, True, b"\0\0\x80\x3f", b"\0\0\x80\x3f")),
        ([NAN, None], "double", (True, True, None, None)),
        ([1.0, None], "float", (True, False, b"\0\0\x80\x3f", b"\0\0\x80\x3f")),
        ([0.0], "double", (False, False, b"\0" * 7 + b"\x80", b"\0" * 8)),
        ([True, False], "boolean", (False, False, b"\0", b"\x01")),
        (["b", "", "a"], "string", (False, False, b"", b"b")),
        ([b"\xff", b"\x01"], "binary", (False, False, b"\x01", b"\xff")),
    ],
)
def test_summaries_of_a_partition_field(values: list[Any], kind: str, found: tuple[Any, ...]) -> None:
    assert summary(values, primitive(kind)) == FieldSummary(*found)


def test_the_layout_is_that_of_the_version() -> None:
    for version in (1, 2, 3):
        assert added_entries(new_files(), version, SPEC, 77, {}, {}).layout == layout_of(version, SPEC)
