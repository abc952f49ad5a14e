"""Changes between versions: Spark gives the rows that Arrow gives, and prunes by what is constant in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.conformance import ROOT, needs_tables
from tests.support.delta_changes import change_file, data_file, id_file, inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, field, remove
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows


def check(spark: Any, changes: tf.changes.Changes) -> list[str]:
    expected = changes.to_arrow()
    frame = changes.to_spark(spark)
    assert frame.columns == expected.column_names
    found = spark_rows(frame, expected.schema)
    assert found == rows(expected)
    assert frame.count() == len(found), "count(*), from metadata where they know it"
    return found


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Inserts, rows between vectors with and without record counts, a file that comes back, change data files."""
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field("p", "string"), protocol=WITH_VECTORS, partition=("p",))
    file = id_file(log, "1", range(1000), partitionValues={"p": "x"})["add"]
    log.commit(1, {"add": file})
    second = {**file, "deletionVector": inline_vector(1, 3, 500)}
    log.commit(2, remove("1", partitionValues={"p": "x"}), {"add": second})
    third = {**file, "deletionVector": inline_vector(3, 999), "stats": None}
    log.commit(3, remove("1", deletionVector=second["deletionVector"]), {"add": third})
    log.commit(4, remove("1", deletionVector=third["deletionVector"])).commit(5, {"add": file})
    changes = pa.table({"id": pa.array([1, 1], pa.int64()), "_change_type": ["update_preimage", "update_postimage"]})
    return log.commit(6, change_file(log, "_change_data/c", changes, partitionValues={"p": None}))


def test_every_kind_of_file(spark: Any, log: DeltaLog) -> None:
    table = tf.open_table(log.root)
    assert len(check(spark, table.changes(0))) == 1000 + 3 + 1 + 2 + 998 + 1000 + 2
    for version in range(7):
        check(spark, table.changes(version, version))


@pytest.mark.parametrize(
    "filter",
    one_of(
        2,
        [
            "_change_type = 'delete'",
            "_commit_version = 3 OR _change_type LIKE 'update%'",
            "id = 999 AND p = 'x'",
            "p IS NULL",
            "_commit_timestamp < '1999-01-01'",
            "_change_type IN ('update_postimage', 'insert') AND id < 4",
        ],
    ),
)
def test_filters(spark: Any, log: DeltaLog, filter: str) -> None:
    changes = tf.open_table(log.root).changes(0)
    found = check(spark, changes.where(filter))
    assert spark_rows(changes.to_spark(spark).where(filter)) == found
    check(spark, changes.where(filter).select("_commit_version", "id"))


def test_later_filters_prune(spark: Any, log: DeltaLog) -> None:
    frame = tf.open_table(log.root).changes(1, 3).to_spark(spark)
    scanned = frame.where("_commit_version = 1")
    assert scanned.count() == 1000
    for path in log.root.glob("1"):
        path.unlink()
    assert frame.where("_commit_version = 7").count() == 0


@pytest.mark.parametrize("mode", ["name", "id"])
def test_the_type_column_has_no_field_id(spark: Any, tmp_path: Path, mode: str) -> None:
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    log = DeltaLog(tmp_path / "t").start(
        field("a", "long", mapped),
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
        configuration={"delta.columnMapping.mode": mode},
    )
    column = pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    log.commit(1, data_file(log, "1", pa.table([[4]], pa.schema([column]))))
    stored = pa.table([[5], ["delete"]], pa.schema([column, pa.field("_change_type", pa.string())]))
    log.commit(2, change_file(log, "_change_data/c", stored))
    found = tf.open_table(log.root).changes(0).to_spark(spark).select("a", "_change_type").collect()
    assert sorted(map(tuple, found)) == [(4, "insert"), (5, "delete")]


@needs_tables
@pytest.mark.conformance
@pytest.mark.parametrize("name", ["dv-partitioned-with-checkpoint", "dv-with-columnmapping"])
def test_deletion_vectors_of_fifteen_versions(spark: Any, name: str) -> None:
    check(spark, tf.open_table(ROOT / "delta" / "kernel-rs-golden" / name / "delta").changes(0))
