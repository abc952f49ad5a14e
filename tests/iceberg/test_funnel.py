"""The funnel of an Iceberg plan: every total is the table's, or says what it is of; what is dropped and what is planned
add up to it."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tableformats as tf
from tableformats.plugin.report import ScanReport
from tests.support.conformance import IcebergCase, iceberg_cases, needs_tables
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import table_with

PARTITION = [("a", 1000, "int")]
SPEC = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"}]}
PARTITIONED = {"partition-specs": [SPEC], "last-partition-id": 1000}


def bound(value: int) -> bytes:
    return struct.pack("<i", value)


def manifest(
    number: int, parts: list[int], records: int = 10, without: tuple[str, ...] = ()
) -> tuple[bytes, dict[str, Any]]:
    """A manifest with a file in each partition of ``parts``; every second one exists. ``without``: missing counts."""
    statuses = [i % 2 for i in range(len(parts))]
    files = [
        entry(f"/old/t/data/{number}-{i}", status=status, sequence_number=4, records=records, partition={"a": part})
        for i, (part, status) in enumerate(zip(parts, statuses, strict=True))
    ]
    summary = {"contains_null": False, "lower_bound": bound(min(parts)), "upper_bound": bound(max(parts))}
    row = {
        "added_files_count": sum(statuses),
        "existing_files_count": len(parts) - sum(statuses),
        "added_rows_count": records * sum(statuses),
        "existing_rows_count": records * (len(parts) - sum(statuses)),
        "partitions": [summary],
    }
    row |= dict.fromkeys(without)
    return manifest_bytes(files, PARTITION), row


def assert_adds_up(report: ScanReport, everything: ScanReport) -> None:
    """The totals of a plan are those of the plan of everything, or unknown; and parts add up to totals."""
    skipped = report.files_skipped_with_manifests
    dropped = report.files_dropped_by_partition + report.files_dropped_by_bounds
    assert report.files_total == skipped + dropped + report.files_planned
    assert report.manifests_total == everything.manifests_total
    if not report.manifests_uncounted:
        assert report.files_total == everything.files_planned
    assert report.rows_total in (None, everything.rows_planned)
    assert report.bytes_total in (None, everything.bytes_planned)
    assert report.bytes_planned <= report.bytes_listed <= everything.bytes_planned
    assert (report.bytes_total is None) == (skipped > 0 or report.manifests_uncounted > 0)
    assert report.rows_planned <= everything.rows_planned


@pytest.mark.parametrize("seed", range(10))
def test_totals_are_those_of_the_table(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    manifests = [
        manifest(i, [dice.randrange(6) for _ in range(dice.randint(1, 4))], dice.randint(0, 20)) for i in range(8)
    ]
    table = tf.open_table(table_with(tmp_path, *manifests, **PARTITIONED), relocate=True)
    everything = table.scan().plan().report
    assert everything.rows_total == everything.rows_planned and everything.bytes_total == everything.bytes_planned
    for filter_ in ("a = 3", "a > 4", "a < 0", "a IN (1, 5)", "a >= 0"):
        report = table.scan(filter_).plan().report
        assert_adds_up(report, everything)
        # The list counts the rows of manifests that nobody read.
        assert report.rows_total == everything.rows_planned, filter_


def test_all_manifests_are_skipped(tmp_path: Path) -> None:
    table = tf.open_table(table_with(tmp_path, manifest(0, [1, 2]), **PARTITIONED), relocate=True, cache=False)
    plan = table.scan("a = 9").plan()
    assert (plan.report.files_total, plan.report.rows_total, plan.report.bytes_total) == (2, 20, None)
    assert (
        "bytes in manifests read" in plan.explain()
        and "rows in total                               20" in plan.explain()
    )


def test_a_list_without_counts_of_rows(tmp_path: Path) -> None:
    no_rows = ("added_rows_count", "existing_rows_count")
    one = manifest(0, [1, 2], without=no_rows[:1])
    folder = table_with(tmp_path, one, manifest(1, [3]), **PARTITIONED)
    # Where nothing is cached, nobody reads the other manifests to count their rows.
    report = tf.open_table(folder, relocate=True, cache=False).scan("a = 3").plan().report
    assert (report.files_total, report.rows_total, report.rows_planned) == (3, None, 10)
    assert tf.open_table(folder, relocate=True).scan("a = 3").plan().report.rows_total == 30
    # One that has no files has no rows.
    empty = {"added_files_count": 0, "existing_files_count": 0}
    folder = table_with(tmp_path, (one[0], one[1] | empty), manifest(1, [3]), **PARTITIONED)
    assert tf.open_table(folder, relocate=True, cache=False).scan("a = 3").plan().report.rows_total == 10


@pytest.mark.parametrize("missing", ["added_files_count", "existing_files_count"])
def test_a_list_without_counts_of_files(tmp_path: Path, missing: str) -> None:
    row_counts = ("added_rows_count", "existing_rows_count")
    manifests = [manifest(0, [1, 2], without=(missing, *row_counts)), manifest(1, [3, 4])]
    table = tf.open_table(table_with(tmp_path, *manifests, **PARTITIONED), relocate=True)
    plan = table.scan("a = 3").plan()
    # The other count is known.
    assert (plan.report.manifests_uncounted, plan.report.files_total) == (1, 3)
    assert (plan.report.rows_total, plan.report.bytes_total) == (None, None)
    text = plan.explain()
    assert "  in counted manifests" in text and "  total          " not in text.partition("Time")[0]
    assert "does not say how many files" in text
    # A manifest that was read is counted, whatever the list says.
    report = table.scan("a = 1").plan().report
    assert (report.manifests_uncounted, report.files_total, report.rows_total) == (0, 4, 40)


def test_appends_count_what_they_added(tmp_path: Path) -> None:
    """Of a manifest that a snapshot added, files that existed before are none of its appends."""
    table = tf.open_table(
        table_with(tmp_path, manifest(0, [1, 2, 3]), manifest(1, [7, 8]), **PARTITIONED), relocate=True
    )
    everything = table.incremental_append_scan().plan().report
    assert (everything.files_total, everything.rows_total) == (2, 20)
    report = table.incremental_append_scan(filter="a = 8").plan().report
    assert (report.files_total, report.files_skipped_with_manifests, report.files_planned) == (2, 1, 1)
    assert report.rows_total == 20


@pytest.mark.conformance
@needs_tables
@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_totals_of_real_tables(case: IcebergCase) -> None:
    """For filters on each column that has bounds: the range of the first file's values."""
    table = tf.open_table(case.metadata, relocate=True)
    try:
        everything = table.scan().plan()
    except tf.errors.TableFormatsError:
        return  # another test says which error it is
    for field in table.scan().snapshot.schema.fields:
        for filter_ in _filters(field.name, everything.files):
            report = table.scan(filter_).plan().report
            assert_adds_up(report, everything.report)
            assert report.rows_total in (None, everything.report.rows_planned), filter_


def _filters(name: str, files: pa.Table) -> list[Any]:
    partition = files["partition"].combine_chunks()
    values = pc.struct_field(partition, name).drop_null() if name in partition.type.names else pa.nulls(0)
    found: list[Any] = [tf.col(name).is_null()]
    return found + [tf.col(name) == value.as_py() for value in values[:1]]


def test_manifests_without_summaries_are_shown_without_them(tmp_path: Path) -> None:
    manifests = [manifest(0, [1, 2], without=("partitions",)), manifest(1, [3, 4])]
    table = tf.open_table(table_with(tmp_path, *manifests, **PARTITIONED), relocate=True)
    found = table.inspect.manifests()["partition_summaries"].to_pylist()
    known = {"contains_null": False, "contains_nan": None, "lower_bound": "3", "upper_bound": "4"}
    assert found == [None, [known]]
