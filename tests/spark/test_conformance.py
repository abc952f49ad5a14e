"""The conformance tables that have data files: each way into Spark gives the rows that Arrow gives, value by value.

The native path reads every table. One table in SAMPLE is also read portably, by a staged file log and by the data
source in Spark's Python workers; ``TABLEFORMATS_ALL_WAYS=1`` reads all of them all three ways, which takes minutes.
(``test_datasource_rows.py`` has the data source read every table without a JVM.)
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tests.spark.support.session import NOWHERE, READS_SHREDDED, has_data_sources
from tests.support.conformance import (
    OUTCOMES,
    DeltaCase,
    IcebergCase,
    delta_cases,
    has_data,
    iceberg_cases,
    needs_tables,
)
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows

pytestmark = [needs_tables, pytest.mark.conformance]

SAMPLE = 1 if os.environ.get("TABLEFORMATS_ALL_WAYS", "0") not in ("", "0") else 8
ANNOTATED_VARIANTS = "spark duckdb-delta/variant/basic"
"""Its file says by Parquet's annotation that a column is a variant."""
WAYS = {
    "native": {"mode": "native"},
    "staged": {"mode": "portable"},
    "data source": {"mode": "portable", "staging": NOWHERE},
}


@pytest.mark.parametrize("case", one_of(2, [c for c in delta_cases() if c.must_fail is None]), ids=str)
def test_delta(spark: Any, settings: Any, case: DeltaCase) -> None:
    _compare(spark, settings, f"spark {case}", lambda: tf.open_table(case.path, format="delta").scan())


@pytest.mark.parametrize("case", one_of(3, iceberg_cases()), ids=str)
def test_iceberg(spark: Any, settings: Any, case: IcebergCase) -> None:
    for line in case.snapshots:
        version = line["snapshot_id"]
        name = f"spark {case} at {version}"
        _compare(spark, settings, name, lambda v=version: _open(case.metadata).scan(version=v))  # type: ignore[misc]


def _open(metadata: Path) -> tf.Table:
    return tf.open_table(metadata, format="iceberg", relocate=True)


def _compare(spark: Any, settings: Any, name: str, scan: Any) -> None:
    if name == ANNOTATED_VARIANTS and spark.version.startswith("4.0."):
        pytest.skip("Spark 4.0 does not know Parquet's annotation of variants")
    try:
        asked = scan()
        if not has_data(asked.plan()):
            OUTCOMES[name] = "no data files"
            pytest.skip("the table's data files are not kept")
        expected = asked.to_arrow()
    except (UnsupportedFeatureError, CorruptMetadataError) as error:
        OUTCOMES[name] = f"to_arrow: {type(error).__name__} {error.field}"
        pytest.skip(f"to_arrow refuses it: {error}")
    wanted = rows(expected)
    # Without it staged Iceberg tables would go to the data source.
    settings({"spark.sql.parquet.fieldId.read.enabled": "true", **READS_SHREDDED})
    for way in _ways(name):
        try:
            frame = asked.to_spark(spark, **WAYS[way])
        except (UnsupportedFeatureError, CorruptMetadataError) as error:
            OUTCOMES[f"{way}: {name}"] = f"{way}: {type(error).__name__} {error.field}"
            assert isinstance(error, UnsupportedFeatureError), error
            continue
        assert frame.columns == expected.column_names
        assert spark_rows(frame, expected.schema) == wanted, way
        assert way != "native" or frame.count() == len(wanted), "count(*), from metadata where they know it"
        OUTCOMES[f"{way}: {name}"] = f"{way}: read"


def _ways(name: str) -> list[str]:
    """Of a sample of the tables all, of the others the native one; the names decide, so that it is always the same."""
    return list(WAYS) if has_data_sources() and zlib.crc32(name.encode()) % SAMPLE == 0 else ["native"]
