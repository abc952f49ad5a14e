"""The metadata tables of snapshots, logs and manifests, of metadata made by hand: exact rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import snapshot_json, table_with, write_table

UTC = dt.timezone.utc


def at(second: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, UTC)


def summary(low: int | None, high: int | None, null: bool, nan: bool | None = None) -> dict[str, Any]:
    bounds = [None if value is None else value.to_bytes(4, "little") for value in (low, high)]
    return {"contains_null": null, "contains_nan": nan, "lower_bound": bounds[0], "upper_bound": bounds[1]}


SPECS = [
    {"spec-id": 0, "fields": []},
    {
        "spec-id": 3,
        "fields": [
            {"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"},
            {"source-id": 1, "field-id": 1001, "name": "q", "transform": "bucket[8]"},
        ],
    },
]
BOTH = [summary(1, 5, True), summary(None, None, False, True)]
COUNTS = {"added_files_count": 1, "existing_files_count": 2}
ROWS: list[dict[str, Any]] = [
    {"partition_spec_id": 3, "partitions": BOTH, **COUNTS},
    {"content": 1, "added_snapshot_id": 8, "partition_spec_id": 3, "partitions": BOTH[:1], **COUNTS},
    {"partition_spec_id": 9, "partitions": BOTH, "added_files_count": 0},
    {"partitions": BOTH},
    {"content": 1, "partition_spec_id": 3, "existing_files_count": 4},
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """Snapshots 5 and 7 are ancestors of the current one, 6 is not, and 4 has expired."""
    log = [(1, 4), (2, 5), (3, 6), (5, 7)]
    files = [(1000, "a"), (2500, "b"), (4000, "c")]
    manifests = [(manifest_bytes([entry(f"/old/t/{i}")]), row) for i, row in enumerate(ROWS)]
    changes: dict[str, Any] = {
        "partition-specs": SPECS,
        "snapshots": [
            snapshot_json(6, 3000, **{"parent-snapshot-id": 5, "schema-id": 0, "sequence-number": 2}),
            snapshot_json(
                7, 5000, **{"parent-snapshot-id": 5, "sequence-number": 3, "summary": {"operation": "delete", "a": "b"}}
            ),
            {**snapshot_json(5, 2000), "summary": None, "sequence-number": None},
        ],
        "current-snapshot-id": 7,
        "snapshot-log": [{"timestamp-ms": 1000 * second, "snapshot-id": number} for second, number in log],
        "metadata-log": [{"timestamp-ms": time, "metadata-file": f"/old/t/{name}"} for time, name in files],
        "last-updated-ms": 6000,
        "refs": {
            "main": {"snapshot-id": 7, "type": "branch", "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 9},
            "a": {"snapshot-id": 5, "type": "tag", "max-ref-age-ms": 7},
        },
    }
    folder = tmp_path_factory.mktemp("t")
    return tf.open_table(table_with(folder, *manifests, **changes), relocate=True)


def test_snapshots(table: tf.Table) -> None:
    """The oldest first."""
    path = "/old/t/metadata/snap-{}.avro"
    assert [tuple(row.values()) for row in table.inspect.snapshots().to_pylist()] == [
        (at(2), 5, None, None, path.format(5), []),
        (at(3), 6, 5, "append", path.format(6), []),
        (at(5), 7, 5, "delete", path.format(7), [("a", "b")]),
    ]


def test_history(table: tf.Table) -> None:
    assert [tuple(row.values()) for row in table.inspect.history().to_pylist()] == [
        (at(1), 4, None, False),
        (at(2), 5, None, True),
        (at(3), 6, 5, False),
        (at(5), 7, 5, True),
    ]
    assert table.inspect.history().column_names == [
        "made_current_at",
        "snapshot_id",
        "parent_id",
        "is_current_ancestor",
    ]


def test_metadata_files(table: tf.Table) -> None:
    """Each with the snapshot that was current at its time, of which an expired one is known by its id alone."""
    found = table.inspect.metadata_log_entries()
    rows = [tuple(row.values()) for row in found.to_pylist()]
    name = rows[-1][1]
    assert rows == [
        (at(1), "/old/t/a", 4, None, None),
        (dt.datetime(1970, 1, 1, 0, 0, 2, 500_000, UTC), "/old/t/b", 5, None, 0),
        (at(4), "/old/t/c", 6, 0, 2),
        (at(6), name, 7, None, 3),
    ]
    assert name.endswith("/metadata/v1.metadata.json")


def test_references(table: tf.Table) -> None:
    assert [tuple(row.values()) for row in table.inspect.refs().to_pylist()] == [
        ("a", "TAG", 5, 7, None, None),
        ("main", "BRANCH", 7, None, 2, 9),
    ]


def test_manifests(table: tf.Table) -> None:
    """Counts are of data files or of delete files. Summaries are shown where there is one for each field."""
    found = table.inspect.manifests()
    heads = found.select(["content", "partition_spec_id", "added_snapshot_id"])
    assert [tuple(row.values()) for row in heads.to_pylist()] == [(0, 3, 7), (1, 3, 8), (0, 9, 7), (0, 0, 7), (1, 3, 7)]
    counts = [
        f"{state}_{what}_files_count" for what in ("data", "delete") for state in ("added", "existing", "deleted")
    ]
    assert [tuple(row.values()) for row in found.select(counts).to_pylist()] == [
        (1, 2, None, 0, 0, 0),
        (0, 0, 0, 1, 2, None),
        (0, None, None, 0, 0, 0),
        (None, None, None, 0, 0, 0),
        (0, 0, 0, None, 4, None),
    ]
    assert all(length > 0 for length in found["length"].to_pylist())
    names = ("contains_null", "contains_nan", "lower_bound", "upper_bound")
    both = [dict(zip(names, values, strict=True)) for values in ((True, None, "1", "5"), (False, True, None, None))]
    assert found["partition_summaries"].to_pylist() == [both, None, None, None, None]
    assert {found.schema.field(name).type for name in counts} == {pa.int32()}


def test_a_manifest_whose_length_is_not_known(tmp_path: Path) -> None:
    data = manifest_bytes([entry("/old/t/a")], metadata={"partition-spec-id": "0"}, version=1)
    table_with(tmp_path, (data, {}))
    named = {"snapshot-id": 7, "timestamp-ms": 1, "manifests": ["/old/t/metadata/m0.avro"]}
    changes = {"format-version": 1, "snapshots": [named], "current-snapshot-id": 7}
    write_table(tmp_path, **changes)
    (row,) = tf.open_table(tmp_path, relocate=True).inspect.manifests().to_pylist()
    assert (row["path"], row["content"], row["length"]) == ("/old/t/metadata/m0.avro", 0, None)
    assert row["partition_spec_id"] is row["added_snapshot_id"] is row["partition_summaries"] is None
    assert (row["added_data_files_count"], row["added_delete_files_count"]) == (None, 0)
