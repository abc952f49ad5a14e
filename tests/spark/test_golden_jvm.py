"""The committed tables of Delta and Iceberg for Spark, through Spark without their JARs: the same answers."""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.errors import UnsupportedFeatureError
from tests.spark.support.session import READS_SHREDDED
from tests.support.examples import one_of
from tests.support.golden import EXPECTED, answers, in_order, opened
from tests.support.rows import collect

# Spark before 4.3 meets the instants in its ORC files first.
REFUSED = {"iceberg-position-deletes": ("Avro data files", "instants in ORC files")}
# What Spark 3.5 has not: its Parquet reader widens no column, and there are no variants.
FOR_SPARK_4 = ("iceberg-evolution", "delta-type-widening", "delta-shredded-variant")


@pytest.fixture
def utc(settings: Any) -> None:
    """The session zone in which the answers were written, which filters with times are read in."""
    settings({"spark.sql.session.timeZone": "UTC", **READS_SHREDDED})


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("name", one_of(2, [name for name in EXPECTED if name not in REFUSED]))
def test_current_rows_and_filters(spark: Any, name: str) -> None:
    if name in FOR_SPARK_4 and spark.version.startswith("3."):
        pytest.skip("Spark 3.5 reads no widened columns and no variants")
    table, expected = opened(name), EXPECTED[name]
    frame = table.scan().to_spark(spark)
    assert in_order(answers(collect(frame))) == in_order(expected["current"])
    # A part of them where there are many: each takes Spark half a second.
    for filter, ids in list(expected["filters"].items())[:: 1 + len(expected["filters"]) // 20]:
        for filtered in (table.scan(filter).to_spark(spark), frame.where(filter)):
            assert sorted(row.id for row in filtered.select("id").collect()) == ids, filter


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(spark: Any, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        opened(name).scan().to_spark(spark)
    assert caught.value.field in REFUSED[name]
