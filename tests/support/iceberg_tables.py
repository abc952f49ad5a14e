"""Iceberg tables made by hand: metadata.json, a manifest list and manifests."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
from tableformats_iceberg.format import IcebergFormat
from tableformats_iceberg.metadata.table_metadata import TableMetadata, parse_metadata
from tableformats_iceberg.table import IcebergTable

from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions
from tests.support.iceberg_manifests import SYNC, record

FIELDS = [
    {"id": 1, "name": "a", "required": True, "type": "int"},
    {"id": 2, "name": "b", "required": False, "type": "string"},
]


def metadata_json(**changes: Any) -> dict[str, Any]:
    """Version 2 metadata without snapshots; None removes a field."""
    found: dict[str, Any] = {
        "format-version": 2,
        "table-uuid": "u",
        "location": "/old/t",
        "last-sequence-number": 0,
        "last-updated-ms": 1,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": FIELDS}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
    }
    found.update(changes)
    return {k: v for k, v in found.items() if v is not None}


def parse(**changes: Any) -> TableMetadata:
    return parse_metadata(json.dumps(metadata_json(**changes)).encode(), "m")


def snapshot_json(snapshot_id: int, at: int, **more: Any) -> dict[str, Any]:
    return {
        "snapshot-id": snapshot_id,
        "timestamp-ms": at,
        "manifest-list": f"/old/t/metadata/snap-{snapshot_id}.avro",
        "summary": {"operation": "append"},
        "sequence-number": 1,
        **more,
    }


def write_table(folder: Path, **changes: Any) -> Path:
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    file = folder / "metadata" / "v1.metadata.json"
    file.write_text(json.dumps(metadata_json(**changes)))
    return file


def open_table(folder: Path, **options: Any) -> IcebergTable:
    return IcebergFormat().open(Storage(folder), OpenOptions(**options))


SECOND = [*FIELDS, {"id": 3, "name": "c", "required": False, "type": "long"}]
SUMMARY = record(
    ("contains_null", 509, "boolean"),
    ("contains_nan", 518, ["null", "boolean"]),
    ("lower_bound", 510, ["null", "bytes"]),
    ("upper_bound", 511, ["null", "bytes"]),
    name="r508",
)
LIST = record(
    ("manifest_path", 500, "string"),
    ("manifest_length", 501, "long"),
    ("partition_spec_id", 502, "int"),
    ("content", 517, "int"),
    ("sequence_number", 515, "long"),
    ("added_snapshot_id", 503, "long"),
    ("added_files_count", 504, ["null", "int"]),
    ("existing_files_count", 505, ["null", "int"]),
    ("added_rows_count", 512, ["null", "long"]),
    ("existing_rows_count", 513, ["null", "long"]),
    ("key_metadata", 519, ["null", "bytes"]),
    ("first_row_id", 520, ["null", "long"]),
    ("partitions", 507, ["null", {"type": "array", "items": SUMMARY, "element-id": 508}]),
    name="manifest_file",
)


def table_with(folder: Path, *manifests: tuple[bytes, dict[str, Any]], **changes: Any) -> Path:
    """A table with one snapshot of these manifests, each with further members of its manifest list row."""
    rows = []
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    for i, (data, row) in enumerate(manifests):
        (folder / "metadata" / f"m{i}.avro").write_bytes(data)
        path = f"/old/t/metadata/m{i}.avro"
        rows.append(
            {
                "manifest_path": path,
                "manifest_length": len(data),
                "partition_spec_id": 0,
                "content": 0,
                "sequence_number": 5,
                "added_snapshot_id": 7,
                **row,
            }
        )
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(LIST), rows, sync_marker=SYNC)
    (folder / "metadata" / "snap-7.avro").write_bytes(out.getvalue())
    write_table(folder, **{"snapshots": [snapshot_json(7, 1)], "current-snapshot-id": 7, **changes})
    return folder
