"""Rows read with Arrow equal, value by value, those that Spark wrote down beside the Delta golden tables."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tests.conformance import ROOT, needs_tables

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
    assert as_bag(got.select(names)) == as_bag(expected.select(names))
    assert scan.count() == expected.num_rows
