"""A scan as a DataFrame of a classic session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import UnsupportedFeatureError
from ....planning.planner import plan_scan
from ..dataframe import frame_of
from .jvm import Bridge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ....planning.request import ScanRequest

__all__ = ["to_spark"]


def to_spark(scan: ScanRequest, spark: SparkSession) -> DataFrame:
    """The rows of ``scan`` as a DataFrame of a classic session.

    Parameters
    ----------
    scan : ScanRequest
        What to read.
    spark : SparkSession
        A classic session of Spark 3.5 or later.

    Raises
    ------
    UnsupportedFeatureError
        A Spark Connect session, or what the table needs and is not built; ``field`` names it.
    CorruptMetadataError, PathNotAllowedError
        As the table's metadata and delete files are read.
    StoreError
        Spark's file system cannot read the files; the hint has the settings to add.

    Notes
    -----
    The files are planned once, here; a query's own filters only narrow them. All columns are nullable.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedFeatureError(
            "the native path needs the driver's JVM, which a Spark Connect session keeps from Python",
            field="Spark Connect",
            hint='Use mode="portable", or a classic session',
        )
    bridge = Bridge(spark, scan.snapshot.storage)
    with bridge.preparing():
        plan = plan_scan(scan.reattached())
    return frame_of(plan, bridge)
