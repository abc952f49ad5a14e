"""The conformance tables that have data files: Spark gives the rows that Arrow gives, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tests.conformance import OUTCOMES, DeltaCase, IcebergCase, delta_cases, has_data, iceberg_cases, needs_tables
from tests.spark.rows import rows, spark_rows

pytestmark = [needs_tables, pytest.mark.conformance]


@pytest.mark.parametrize("case", [c for c in delta_cases() if c.must_fail is None], ids=str)
def test_delta(spark: Any, case: DeltaCase) -> None:
    _compare(spark, f"spark {case}", lambda: tf.open_table(case.path, format="delta").scan())


@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_iceberg(spark: Any, case: IcebergCase) -> None:
    for line in case.snapshots:
        version = line["snapshot_id"]
        name = f"spark {case} at {version}"
        _compare(spark, name, lambda v=version: _open(case.metadata).scan(version=v))  # type: ignore[misc]


def _open(metadata: Path) -> tf.Table:
    return tf.open_table(metadata, format="iceberg", relocate=True)


def _compare(spark: Any, name: str, scan: Any) -> None:
    try:
        asked = scan()
        if not has_data(asked.plan()):
            OUTCOMES[name] = "no data files"
            pytest.skip("the table's data files are not kept")
        expected = asked.to_arrow()
    except (UnsupportedFeatureError, CorruptMetadataError) as error:
        OUTCOMES[name] = f"to_arrow: {type(error).__name__} {error.field}"
        pytest.skip(f"to_arrow refuses it: {error}")
    try:
        frame = asked.to_spark(spark)
    except (UnsupportedFeatureError, CorruptMetadataError) as error:
        OUTCOMES[name] = f"to_spark: {type(error).__name__} {error.field}"
        assert isinstance(error, UnsupportedFeatureError), error
        return
    assert frame.columns == expected.column_names
    assert spark_rows(frame, expected.schema) == rows(expected)
    OUTCOMES[name] = "read"
