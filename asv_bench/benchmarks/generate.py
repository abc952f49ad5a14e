"""Tables of metadata alone, written fast and the same every time: no data file exists, none is needed to plan.

File ``i`` of ``n`` holds the ids ``1000 * i`` to ``1000 * i + 999`` and belongs to day ``365 * i // n`` after
2024-01-01, so how many files a predicate leaves is arithmetic (:func:`survivors`). Names spread over all files: their
bounds prune nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DAYS = 365
ROWS_A_FILE = 1000
FILE_BYTES = 128 * 2**20
FIRST_DAY = dt.date(2024, 1, 1)
TIME_MS = 1_704_067_200_000
FILES_A_MANIFEST = 1000
ASKED_DAY = 59


@dataclass(frozen=True)
class File:
    """One data file: inclusive bounds of ``id`` and ``name``, and its day."""

    path: str
    day: dt.date
    ids: tuple[int, int]
    names: tuple[str, str]


def files(n_files: int) -> Iterator[File]:
    for i in range(n_files):
        day = FIRST_DAY + dt.timedelta(days=DAYS * i // n_files)
        low = 7919 * i % 9000
        name = f"part-{i:08d}-{uuid.UUID(int=i * 0x9E3779B97F4A7C15 % 2**128)}.parquet"
        yield File(
            f"day={day}/{name}", day, (ROWS_A_FILE * i, ROWS_A_FILE * (i + 1) - 1), (f"n{low:05d}", f"n{low + 999:05d}")
        )


def predicates(n_files: int) -> dict[str, str | None]:
    """The questions, from all files to few: by nothing, by partition, by the bounds of a sorted column."""
    low, high = asked_ids(n_files)
    return {
        "all": None,
        "one_day": f"day = DATE '{FIRST_DAY + dt.timedelta(days=ASKED_DAY)}'",
        "id_range": f"id >= {low} AND id <= {high}",
    }


def asked_ids(n_files: int) -> tuple[int, int]:
    """The ids of a thousandth of the files, at least of one."""
    first, count = n_files // 2, max(1, n_files // 1000)
    return ROWS_A_FILE * first, ROWS_A_FILE * (first + count) - 1


def survivors(n_files: int, predicate: str) -> int:
    """How many files the predicate leaves."""
    if predicate == "one_day":
        return sum(DAYS * i // n_files == ASKED_DAY for i in range(n_files))
    return {"all": n_files, "id_range": max(1, n_files // 1000)}[predicate]


def write_delta(folder: Path, n_files: int) -> str:
    """A Delta table: a checkpoint with 99 % of the files, and ten commits with the others."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    everything = list(files(n_files))
    in_commits = max(10, n_files // 100)
    _write_checkpoint(log, everything[:-in_commits])
    late = everything[-in_commits:]
    for version in range(1, 11):
        actions = [{"add": _add(f)} for f in late[version - 1 :: 10]]
        lines = [{"commitInfo": {"timestamp": TIME_MS, "operation": "WRITE"}}, *actions]
        (log / f"{version:020d}.json").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return str(folder)


def _add(file: File) -> dict[str, Any]:
    stats = {
        "numRecords": ROWS_A_FILE,
        "minValues": {"id": file.ids[0], "name": file.names[0]},
        "maxValues": {"id": file.ids[1], "name": file.names[1]},
        "nullCount": {"id": 0, "name": 3},
    }
    return {
        "path": file.path, "partitionValues": {"day": str(file.day)}, "size": FILE_BYTES, "modificationTime": TIME_MS,
        "dataChange": True, "stats": json.dumps(stats, separators=(",", ":")),
    }  # fmt: skip


def _write_checkpoint(log: Path, live: list[File]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [("id", "long"), ("name", "string"), ("day", "date")]
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    table_metadata = {
        "id": str(uuid.UUID(int=1)), "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": ["day"],
        "configuration": {}, "createdTime": TIME_MS,
    }  # fmt: skip
    text_map = pa.map_(pa.string(), pa.string())
    schema = pa.schema({
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct({
            "id": pa.string(), "format": pa.struct({"provider": pa.string(), "options": text_map}),
            "schemaString": pa.string(), "partitionColumns": pa.list_(pa.string()), "configuration": text_map,
            "createdTime": pa.int64(),
        }),
        "add": pa.struct({
            "path": pa.string(), "partitionValues": text_map, "size": pa.int64(), "modificationTime": pa.int64(),
            "dataChange": pa.bool_(), "stats": pa.string(),
        }),
        "remove": pa.struct({"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}),
    })  # fmt: skip
    rows = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": table_metadata}]
    rows += [{"add": _add(f)} for f in live]
    path = log / f"{0:020d}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    (log / "_last_checkpoint").write_text(json.dumps({"version": 0, "size": len(rows)}))


def write_iceberg(folder: Path, n_files: int) -> str:
    """An Iceberg table of format version 2 with identity(day); returns the path of its metadata file."""
    metadata = folder / "metadata"
    metadata.mkdir(parents=True)
    everything = list(files(n_files))
    groups = [everything[i : i + FILES_A_MANIFEST] for i in range(0, n_files, FILES_A_MANIFEST)]
    manifests = [_write_manifest(metadata, folder, number, group) for number, group in enumerate(groups)]
    manifest_list = metadata / "snap-1.avro"
    _write_avro(manifest_list, _MANIFEST_LIST, manifests, {"snapshot-id": "1", "format-version": "2"})
    current = metadata / "v1.metadata.json"
    current.write_text(json.dumps(_table_metadata(folder, manifest_list, n_files)))
    (metadata / "version-hint.text").write_text("1")
    return str(current)


_SCHEMA = {
    "type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
        {"id": 3, "name": "day", "required": False, "type": "date"},
    ],
}  # fmt: skip
_SPEC_FIELDS = [{"name": "day", "transform": "identity", "source-id": 3, "field-id": 1000}]


def _table_metadata(folder: Path, manifest_list: Path, n_files: int) -> dict[str, Any]:
    snapshot = {
        "snapshot-id": 1, "sequence-number": 1, "timestamp-ms": TIME_MS, "manifest-list": str(manifest_list),
        "schema-id": 0, "summary": {"operation": "append", "total-data-files": str(n_files)},
    }  # fmt: skip
    return {
        "format-version": 2, "table-uuid": str(uuid.UUID(int=2)), "location": str(folder), "last-sequence-number": 1,
        "last-updated-ms": TIME_MS, "last-column-id": 3, "current-schema-id": 0, "schemas": [_SCHEMA],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": _SPEC_FIELDS}], "last-partition-id": 1000,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {},
        "current-snapshot-id": 1, "snapshots": [snapshot], "snapshot-log": [], "metadata-log": [],
        "refs": {"main": {"snapshot-id": 1, "type": "branch"}},
    }  # fmt: skip


def _field(name: str, field_id: int, kind: Any, optional: bool = False) -> dict[str, Any]:
    if optional:
        return {"name": name, "field-id": field_id, "type": ["null", kind], "default": None}
    return {"name": name, "field-id": field_id, "type": kind}


def _map(key_id: int, value_id: int, kind: str) -> dict[str, Any]:
    entry = {"type": "record", "name": f"k{key_id}_v{value_id}",
             "fields": [_field("key", key_id, "int"), _field("value", value_id, kind)]}  # fmt: skip
    return {"type": "array", "items": entry, "logicalType": "map"}


_PARTITION = {"type": "record", "name": "r102",
              "fields": [_field("day", 1000, {"type": "int", "logicalType": "date"}, True)]}  # fmt: skip
_MANIFEST = {"type": "record", "name": "manifest_entry", "fields": [
    _field("status", 0, "int"), _field("snapshot_id", 1, "long", True), _field("sequence_number", 3, "long", True),
    _field("file_sequence_number", 4, "long", True),
    _field("data_file", 2, {"type": "record", "name": "r2", "fields": [
        _field("content", 134, "int"), _field("file_path", 100, "string"), _field("file_format", 101, "string"),
        _field("partition", 102, _PARTITION), _field("record_count", 103, "long"),
        _field("file_size_in_bytes", 104, "long"),
        _field("value_counts", 109, _map(119, 120, "long"), True),
        _field("null_value_counts", 110, _map(121, 122, "long"), True),
        _field("lower_bounds", 125, _map(126, 127, "bytes"), True),
        _field("upper_bounds", 128, _map(129, 130, "bytes"), True),
    ]}),
]}  # fmt: skip
_SUMMARY = {"type": "record", "name": "r508", "fields": [
    _field("contains_null", 509, "boolean"), _field("contains_nan", 518, "boolean", True),
    _field("lower_bound", 510, "bytes", True), _field("upper_bound", 511, "bytes", True),
]}  # fmt: skip
_MANIFEST_LIST = {"type": "record", "name": "manifest_file", "fields": [
    _field("manifest_path", 500, "string"), _field("manifest_length", 501, "long"),
    _field("partition_spec_id", 502, "int"), _field("content", 517, "int"), _field("sequence_number", 515, "long"),
    _field("min_sequence_number", 516, "long"), _field("added_snapshot_id", 503, "long"),
    _field("added_files_count", 504, "int"), _field("existing_files_count", 505, "int"),
    _field("deleted_files_count", 506, "int"), _field("added_rows_count", 512, "long"),
    _field("existing_rows_count", 513, "long"), _field("deleted_rows_count", 514, "long"),
    _field("partitions", 507, {"type": "array", "items": _SUMMARY, "element-id": 508}, True),
]}  # fmt: skip


def _write_manifest(metadata: Path, folder: Path, number: int, group: list[File]) -> dict[str, Any]:
    path = metadata / f"manifest-{number:06d}.avro"
    header = {"schema": json.dumps(_SCHEMA), "schema-id": "0", "partition-spec": json.dumps(_SPEC_FIELDS),
              "partition-spec-id": "0", "format-version": "2", "content": "data"}  # fmt: skip
    _write_avro(path, _MANIFEST, (_entry(folder, file) for file in group), header)
    days = [_day_number(file.day) for file in group]
    summary = {"contains_null": False, "contains_nan": None,
               "lower_bound": struct.pack("<i", min(days)), "upper_bound": struct.pack("<i", max(days))}  # fmt: skip
    return {
        "manifest_path": str(path), "manifest_length": path.stat().st_size, "partition_spec_id": 0, "content": 0,
        "sequence_number": 1, "min_sequence_number": 1, "added_snapshot_id": 1, "added_files_count": len(group),
        "existing_files_count": 0, "deleted_files_count": 0, "added_rows_count": ROWS_A_FILE * len(group),
        "existing_rows_count": 0, "deleted_rows_count": 0, "partitions": [summary],
    }  # fmt: skip


def _entry(folder: Path, file: File) -> dict[str, Any]:
    def pairs(first: Any, second: Any) -> list[dict[str, Any]]:
        return [{"key": 1, "value": first}, {"key": 2, "value": second}]

    data_file = {
        "content": 0, "file_path": f"{folder}/data/{file.path}", "file_format": "PARQUET",
        "partition": {"day": _day_number(file.day)}, "record_count": ROWS_A_FILE, "file_size_in_bytes": FILE_BYTES,
        "value_counts": pairs(ROWS_A_FILE, ROWS_A_FILE), "null_value_counts": pairs(0, 3),
        "lower_bounds": pairs(struct.pack("<q", file.ids[0]), file.names[0].encode()),
        "upper_bounds": pairs(struct.pack("<q", file.ids[1]), file.names[1].encode()),
    }  # fmt: skip
    inherited = {"sequence_number": None, "file_sequence_number": None}
    return {"status": 1, "snapshot_id": 1, **inherited, "data_file": data_file}


def _day_number(day: dt.date) -> int:
    return (day - dt.date(1970, 1, 1)).days


def _write_avro(path: Path, schema: dict[str, Any], records: Any, header: dict[str, str]) -> None:
    import fastavro

    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, codec="deflate", metadata=header)
