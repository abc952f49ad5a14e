"""Every snapshot of the Iceberg conformance tables against its recorded answer: manifests, entries, deletes, rows."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tableformats_iceberg.format import IcebergFormat
from tableformats_iceberg.metadata.locate import locate
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.snapshot import IcebergSnapshot

import tableformats as tf
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, ReadRequest, SnapshotSelector
from tableformats.plugin.report import ScanReport
from tests.support.conformance import ROOT, IcebergCase, has_data, iceberg_cases, needs_tables

pytestmark = [pytest.mark.conformance, needs_tables]

CASES = iceberg_cases()
KINDS = {"position": "pos", "equality": "eq", "deletion_vector": "dv"}
STATUSES = {0: "E", 1: "A", 2: "D"}


def snapshots(case: IcebergCase) -> list[tuple[IcebergSnapshot, dict[str, Any]]]:
    table = IcebergFormat().open(Storage(case.metadata), OpenOptions(relocate=True))
    return [(table.snapshot(SnapshotSelector(version=e["snapshot_id"])), e) for e in case.snapshots]


def delete_name(row: dict[str, Any]) -> str:
    where = f"@{row['offset']}" if row["kind"] == "deletion_vector" else ""
    return os.path.basename(row["path"]) + where


@pytest.mark.parametrize("case", CASES, ids=str)
def test_manifests_and_entries(case: IcebergCase) -> None:
    for snapshot, expected in snapshots(case):
        manifests = snapshot.inspect("manifests")
        assert manifests.num_rows == expected["manifests"]
        assert manifests["content"].to_pylist().count(0) == expected["data_manifests"]
        statuses = Counter(STATUSES[s] for s in snapshot.inspect("entries")["status"].to_pylist())
        assert statuses == expected["entries"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_files(case: IcebergCase) -> None:
    for snapshot, expected in snapshots(case):
        report = ScanReport()
        columns = tuple(path[-1] for path in snapshot.schema.leaves())
        batches = list(snapshot.read(ReadRequest(columns, report)))
        assert sum(b.files.num_rows for b in batches) == expected["data_files"]
        assert sum(sum(b.files["record_count"].to_pylist()) for b in batches) == expected["data_records"]
        assert report.manifests_total == expected["data_manifests"]
        for batch in batches:
            bounds = batch.statistics.bounds(columns, None)
            for side in (bounds.lower, bounds.upper):
                assert all(len(values) == batch.files.num_rows for values in side.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_deletes_and_row_ids(case: IcebergCase) -> None:
    """The deletes whose scope a file lies in; plans leave out those that the bounds of their keys rule out."""
    table = tf.open_table(case.metadata, format="iceberg", relocate=True)
    for expected in case.snapshots:
        plan = table.scan(version=expected["snapshot_id"]).plan()
        names = [os.path.basename(path) for path in plan.survivors["path"].to_pylist()]
        index = plan.scan.snapshot.format_snapshot.delete_index
        deletes = index.attached(index.pairs(plan.survivors.combine_chunks()), len(plan))
        assert len(deletes.indices) == expected["scoped_pairs"]
        every = index.files
        kinds = Counter(KINDS[k] for k in every["kind"].to_pylist()) if every is not None else Counter()
        assert kinds == expected["kinds"]
        assert sum(kinds.values()) == expected["delete_files"]
        rows = deletes.files.to_pylist()
        attached = {
            name: sorted(delete_name(rows[j]) for j in deletes.indices[deletes.offsets[i] : deletes.offsets[i + 1]])
            for i, name in enumerate(names)
        }
        expected_deletes = expected.get("deletes", {name: [] for name in names})
        assert attached == {name: sorted(found) for name, found in expected_deletes.items()}
        if "first_row_ids" in expected:
            assert (
                dict(zip(names, plan.survivors["first_row_id"].to_pylist(), strict=True)) == expected["first_row_ids"]
            )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_live_rows(case: IcebergCase) -> None:
    """Rows left by positions alone, counted without reading data; tables with equality deletes are read."""
    table = tf.open_table(case.metadata, format="iceberg", relocate=True)
    for expected in case.snapshots:
        scan = table.scan(version=expected["snapshot_id"])
        plan = scan.plan()
        # Impala's position deletes name hdfs paths, its metadata bare ones: its own answer strips the scheme.
        live = expected.get("live_rows_scheme_stripped", expected["live_rows"])
        if live is None or not has_data(plan):
            continue
        if "eq" in expected["kinds"]:
            assert scan.to_arrow().num_rows == live
            continue
        snapshot = plan.scan.snapshot.format_snapshot
        counted = sum(
            task.record_count - len(snapshot.deleted_positions(task.stored_path, task.record_count, task.deletes))
            for task in plan.tasks()
        )
        assert counted == live


@pytest.mark.parametrize("case", [c for c in CASES if any(e["tip"] for e in c.snapshots)], ids=str)
def test_directory_finds_the_newest_metadata(case: IcebergCase) -> None:
    located = locate(Storage(case.path))
    assert located.metadata_path == str(case.metadata)
    assert located.directory == str(case.path)


def test_count_of_store_sales_from_metadata_alone() -> None:
    path = ROOT / "iceberg/trino-scale-metadata-only/iceberg/tpcds/sf1000/partitioned/store_sales"
    table = tf.open_table(path, relocate=True)
    assert table.scan().count() == 2_879_987_999
    plan = table.scan("ss_sold_date_sk = 2451000").plan()
    assert plan.report.files_total == 1827
    assert all("ss_sold_date_sk=2451000/" in path for path in plan.file_uris())
    assert len(plan) >= 1


def test_a_table_whose_files_stand_beside_it() -> None:
    path = ROOT / "iceberg/impala/hadoop_catalog/ice/iceberg_multiple_storage_locations"
    plan = tf.open_table(path, relocate=True).scan().plan()
    assert {Path(p).parts[-3] for p in plan.file_uris()} == {f"{path.name}_data{n}" for n in ("", "01", "02")}
    assert has_data(plan)


def test_table_without_snapshots() -> None:
    path = ROOT / "iceberg/impala/hadoop_catalog/ice/iceberg_uppercase_col"
    snapshot = tf.open_table(path, relocate=True).snapshot()
    assert snapshot.version == -1
    assert len(snapshot.scan().plan()) == 0


# ---- files that are no tables ---------------------------------------------------------------------------------------

ACCEPTED = (
    "V1Valid",
    "V1Compat",
    "V1PartitionSpecsWithoutDefaultId",
    "V1SchemasWithoutCurrentId",
    "V2Valid",
    "V2ValidMinimal",
    "V3ValidMinimal",
    "V3WithPartitionStatistics",
    "StatisticsFiles",
)
SINGLE = sorted(p for p in (ROOT / "iceberg").rglob("TableMetadata*.json"))


@pytest.mark.parametrize("path", SINGLE, ids=lambda p: f"{p.parts[-3]}/{p.name}")
def test_metadata_that_parsers_accept_or_refuse(path: Path) -> None:
    name = path.name.removeprefix("TableMetadata").removesuffix(".json").removesuffix(".zstd.metadata")
    if name in ACCEPTED:
        assert parse_metadata(path.read_bytes(), str(path)).location
        return
    with pytest.raises((CorruptMetadataError, UnsupportedFeatureError)) as caught:
        parse_metadata(path.read_bytes(), str(path))
    assert caught.value.path == str(path)
    assert caught.value.field
    assert caught.value.hint


def test_encrypted_table_is_refused_by_name() -> None:
    path = next(p for p in SINGLE if p.name == "TableMetadataV3ValidEncryption.json")
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse_metadata(path.read_bytes(), str(path))
    assert caught.value.field == "encryption-keys"
