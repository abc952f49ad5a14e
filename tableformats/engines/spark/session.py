"""Which way a scan takes into a Spark session: native where there is the driver's JVM to talk to, else portable.

The log of ``tableformats.spark`` says which one was taken, and why.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ...errors import UnsupportedFeatureError
from .native import path as native
from .native.jvm import java_class
from .portable import path as portable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ...table.scan import Scan

__all__ = ["check_session", "to_spark"]

_LOG = logging.getLogger("tableformats.spark")


def to_spark(scan: Scan, spark: SparkSession, mode: str | None = None, staging: str | None = None) -> DataFrame:
    """The rows of ``scan`` as a DataFrame of ``spark``.

    Parameters
    ----------
    spark : a classic session of Spark 3.5 or later, or a Spark Connect session of 4.0 or later
    mode : "native" (:mod:`path`) or "portable" (:mod:`path`); None: native
        where the session lets Python at its JVM, otherwise portable
    staging : a directory that this process can write and the session can read, for the portable path: lists of files
        are put there until this process ends. None: a temporary directory for local tables, otherwise nowhere

    Raises
    ------
    UnsupportedFeatureError : a mode that there is not or that the session cannot serve; what the table needs and is
        not built. ``field`` names it
    CorruptMetadataError, PathNotAllowedError : as the table's metadata and delete files are read
    TypeError : ``spark`` is no session
    """
    check_session(spark)
    if mode not in (None, "native", "portable"):
        raise UnsupportedFeatureError(
            f"there is no mode {mode!r}", field=f"mode {mode}", hint='Use mode="native" or mode="portable"'
        )
    name = f"{scan.snapshot.table.location} at version {scan.snapshot.version}"
    why = f"mode={mode!r} was asked for"
    if mode is None:
        mode, why = _choose(spark)
    if mode == "portable":
        frame, how = portable.to_spark(scan, spark, staging)
        _LOG.info("%s: the portable path, because %s; %s", name, why, how)
        return frame
    _LOG.info("%s: the native path, by Spark's own Parquet reader, because %s", name, why)
    return native.to_spark(scan, spark)


def check_session(spark: SparkSession) -> None:
    """Raise TypeError for what is no session, of whichever kind."""
    if not hasattr(spark, "range"):
        raise TypeError(f"a SparkSession is needed, not {spark!r}")


def _choose(spark: SparkSession) -> tuple[str, str]:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return "portable", "a Spark Connect session has no JVM to talk to"
    try:
        java_class(spark.sparkContext._gateway, "java.lang.System").nanoTime()
    except Exception as error:
        # Platforms that keep Python from the JVM say so in many ways.
        return "portable", f"the session does not let Python at its JVM: {str(error).splitlines()[0]}"
    return "native", "the session lets Python at its JVM"
