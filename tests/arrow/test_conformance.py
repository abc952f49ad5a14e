"""Rows read with Arrow equal, value by value, what the references answered: Spark beside the Delta golden tables,
Impala's query tests for equality deletes (quoted in the index of the Iceberg tables), Parquet twins of other formats.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tests.support.conformance import ROOT, needs_tables

pytestmark = [needs_tables, pytest.mark.conformance]

GOLDEN = ROOT / "delta" / "kernel-rs-golden"
# The answer holds partition timestamps without a zone as the zone of the session that wrote it, not as UTC.
ZONE_OF_THE_SESSION = {"data-reader-partition-values": ["as_timestamp"]}


def cases() -> list[Path]:
    return sorted(folder.parent for folder in GOLDEN.glob("*/expected") if any(folder.glob("*.parquet")))


def comparable(value: Any) -> Any:
    """Values of any nesting as something that compares; NaN equals NaN."""
    if isinstance(value, dict):
        return tuple((name, comparable(member)) for name, member in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(comparable, value))
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def as_bag(table: pa.Table) -> Counter[str]:
    # repr keeps 1 and 1.0 and True apart, and -0.0 from 0.0.
    return Counter(repr(comparable(row)) for row in table.to_pylist())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_rows_are_the_expected_ones(case: Path) -> None:
    files = [pq.ParquetFile(f, coerce_int96_timestamp_unit="us") for f in case.glob("expected/*.parquet")]
    expected = pa.concat_tables([file.read() for file in files], promote_options="permissive")
    scan = tf.open_table(case / "delta").scan()
    got = scan.to_arrow()
    got.validate(full=True)
    assert got.schema.equals(scan.schema.to_arrow(), check_metadata=True)
    names = [name for name in expected.column_names if name not in ZONE_OF_THE_SESSION.get(case.name, [])]
    assert sorted(got.column_names) == sorted(expected.column_names)
    assert scan.count() == expected.num_rows
    if expected.num_rows > 10_000:
        # Python values of so many rows take half a minute; these tables are flat, so they can be sorted.
        order = [(name, "ascending") for name in names]
        plain = expected.select(names).cast(pa.schema([got.schema.field(name) for name in names]))
        assert got.select(names).sort_by(order).equals(plain.sort_by(order))
    else:
        assert as_bag(got.select(names)) == as_bag(expected.select(names))


IMPALA = ROOT / "iceberg" / "impala"
EQUALITY_DELETES = {
    "iceberg_v2_delete_equality_nulls": [(1, "str1"), (4, "str4"), (None, "str5")],
    "iceberg_v2_delete_equality": [(1, "test_1_base"), (2, "test_2_updated")],
    "iceberg_v2_delete_equality_multi_eq_ids": [
        (1, "str1"),
        (2222, "str2"),
        (33, "str3_updated_twice"),
        (4, "str4_updated"),
        (5, "str5"),
    ],
    "iceberg_v2_delete_both_eq_and_pos": [(2, "str2_updated", "2023-12-13"), (3, "str3", "2023-12-23")],
    "iceberg_v2_delete_pos_and_multi_eq_ids": [
        (1, "str1", "2020-12-01"),
        (333333, "str3", "2024-01-25"),
        (4, "str4", "2024-01-26"),
        (5, "str5", "2024-01-27"),
    ],
    "iceberg_v2_equality_delete_schema_evolution": [
        (1, "2024-03-20", "str1", None),
        (44, "2024-03-21", "str4", 4444),
        (5, "2024-03-22", "str5", None),
    ],
}


def read_iceberg(folder: Path) -> pa.Table:
    return tf.open_table(folder, relocate=True, format="iceberg").scan().to_arrow()


@pytest.mark.parametrize("name", EQUALITY_DELETES)
def test_rows_that_equality_deletes_leave(name: str) -> None:
    table = read_iceberg(IMPALA / "hadoop_catalog" / "ice" / name)
    rows = [tuple(str(v) if isinstance(v, dt.date) else v for v in row.values()) for row in table.to_pylist()]
    assert sorted(map(repr, rows)) == sorted(map(repr, EQUALITY_DELETES[name]))


TWINS = [
    "iceberg_migrated_alter_test",
    "iceberg_v3/iceberg_v3_default_value",
    "iceberg_v3/iceberg_v3_row_lineage",
    "hadoop_catalog/ice/iceberg_v2_partitioned_position_deletes",
    "hadoop_catalog/ice/iceberg_alltypes_part",
    "hadoop_catalog/ice/iceberg_legacy_partition_schema_evolution",
    "hadoop_catalog/ice/iceberg_v2_positional_not_all_data_files_have_delete_files",
]


@pytest.mark.parametrize("name", TWINS)
def test_orc_and_parquet_hold_the_same_rows(name: str) -> None:
    parquet = as_bag(read_iceberg(IMPALA / name))
    assert parquet and as_bag(read_iceberg(IMPALA / f"{name}_orc")) == parquet


def test_airports_in_orc_and_parquet() -> None:
    folder = IMPALA / "hadoop_catalog" / "ice"
    assert as_bag(read_iceberg(folder / "airports_orc")) == as_bag(read_iceberg(folder / "airports_parquet"))


def test_avro_and_parquet_hold_the_same_rows() -> None:
    name = "iceberg_v3_default_value"
    folder = IMPALA / "iceberg_v3"
    assert as_bag(read_iceberg(folder / f"{name}_avro")) == as_bag(read_iceberg(folder / name))
