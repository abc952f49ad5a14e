"""Metadata files of each format version, and what is made of them when a value is damaged.

``python -m tests.iceberg.metadata_cases`` writes it to ``metadata_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.verification.metadata_rules import metadata_violations

from tableformats.errors import TableFormatsError
from tests.support import leaves

PINNED = Path(__file__).with_name("metadata_outcomes.json")
FIRST, SECOND = 1_700_000_000_000, 1_700_000_100_000


def column(i: int, name: str, kind: Any, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"id": i, "name": name, "required": required, "type": kind, **more}


FIELDS = [
    column(1, "id", "long", True, doc="the key"),
    column(2, "day", "date"),
    column(3, "price", "decimal(9, 2)"),
    column(4, "code", "fixed[4]"),
    column(5, "tags", {"type": "list", "element-id": 6, "element": "string", "element-required": False}),
    column(
        7, "more", {"type": "map", "key-id": 8, "key": "string", "value-id": 9, "value": "int", "value-required": True}
    ),
    column(10, "point", {"type": "struct", "fields": [column(11, "x", "double"), column(12, "y", "double")]}),
]


def snapshot(i: int, at: int, parent: int | None, **more: Any) -> dict[str, Any]:
    found = {
        "snapshot-id": i,
        "timestamp-ms": at,
        "summary": {"operation": "append", "added-data-files": "1"},
        "schema-id": 0,
        **more,
    }
    return {**found, "parent-snapshot-id": parent} if parent is not None else found


def second() -> dict[str, Any]:
    """Everything that a file of version 2 may have."""
    return {
        "format-version": 2,
        "table-uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
        "location": "/t",
        "last-sequence-number": 2,
        "last-updated-ms": SECOND,
        "last-column-id": 12,
        "current-schema-id": 1,
        "schemas": [
            {"type": "struct", "schema-id": 0, "fields": FIELDS[:2]},
            {"type": "struct", "schema-id": 1, "identifier-field-ids": [1], "fields": FIELDS},
        ],
        "default-spec-id": 1,
        "partition-specs": [
            {"spec-id": 0, "fields": []},
            {
                "spec-id": 1,
                "fields": [
                    {"source-id": 2, "field-id": 1000, "name": "day_month", "transform": "month"},
                    {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[16]"},
                ],
            },
        ],
        "last-partition-id": 1001,
        "default-sort-order-id": 1,
        "sort-orders": [
            {"order-id": 0, "fields": []},
            {
                "order-id": 1,
                "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
            },
        ],
        "properties": {"owner": "me"},
        "current-snapshot-id": 22,
        "snapshots": [
            snapshot(11, FIRST, None, **{"sequence-number": 1, "manifest-list": "/t/metadata/snap-11.avro"}),
            snapshot(22, SECOND, 11, **{"sequence-number": 2, "manifest-list": "/t/metadata/snap-22.avro"}),
        ],
        "snapshot-log": [
            {"snapshot-id": 11, "timestamp-ms": FIRST},
            {"snapshot-id": 22, "timestamp-ms": SECOND},
        ],
        "metadata-log": [{"metadata-file": "/t/metadata/v1.metadata.json", "timestamp-ms": FIRST}],
        "refs": {
            "main": {"snapshot-id": 22, "type": "branch", "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 60000},
            "old": {"snapshot-id": 11, "type": "tag", "max-ref-age-ms": 120000},
        },
        "statistics": [],
    }


def first() -> dict[str, Any]:
    """What files of version 1 have besides: one schema and one spec, and manifests by name."""
    return {
        "format-version": 1,
        "location": "/t",
        "last-updated-ms": FIRST,
        "last-column-id": 2,
        "schema": {"type": "struct", "fields": FIELDS[:2]},
        "partition-spec": [{"source-id": 2, "name": "day", "transform": "identity"}],
        "current-snapshot-id": 11,
        "snapshots": [{"snapshot-id": 11, "timestamp-ms": FIRST, "manifests": ["/t/metadata/m0.avro"]}],
    }


def third() -> dict[str, Any]:
    """What files of version 3 have besides: row ids, default values, types."""
    lineage = {"sequence-number": 1, "manifest-list": "/t/snap.avro", "first-row-id": 0, "added-rows": 5}
    fields = [
        column(1, "at", "timestamptz_ns"),
        column(2, "n", "int", **{"initial-default": 5, "write-default": 6}),
        column(3, "shape", "geometry(srid:4326)"),
    ]
    return {
        "format-version": 3,
        "table-uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
        "location": "/t",
        "last-sequence-number": 1,
        "last-updated-ms": FIRST,
        "last-column-id": 3,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "next-row-id": 5,
        "current-snapshot-id": 11,
        "snapshots": [snapshot(11, FIRST, None, **lineage)],
        "refs": {"main": {"snapshot-id": 11, "type": "branch"}},
    }


DOCUMENTS = {"version 1": first(), "version 2": second(), "version 3": third()}


def outcome_of(document: Any) -> str:
    """The error of a reader; or what the verifier finds, and a digest of what the reader takes from the file."""
    try:
        metadata = parse_metadata(json.dumps(document).encode(), "m")
    except TableFormatsError as error:
        return f"{type(error).__name__}: {str(error).partition('). ')[0]})"
    found = "; ".join(f"{one.rule}: {one.what}" for one in metadata_violations(document, metadata))
    return f"{found or 'sound'} ({leaves.digest(replace(metadata, size_bytes=0))})"


def main() -> None:
    leaves.write(PINNED, {name: leaves.outcomes(one, outcome_of) for name, one in DOCUMENTS.items()})


if __name__ == "__main__":
    main()
