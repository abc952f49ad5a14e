"""Choose how a scan is read in a Spark session: natively where Python can reach the driver's JVM, else portably.

The logger ``tableformats.spark`` says which way was chosen, and why.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ...errors import UnsupportedFeatureError
from .native import native_scan
from .native.hadoop_access import java_class
from .portable import portable_scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ...planning.request import ScanRequest

__all__ = ["check_session", "to_spark"]

_LOG = logging.getLogger("tableformats.spark")


def to_spark(scan: ScanRequest, spark: SparkSession, mode: str | None = None, staging: str | None = None) -> DataFrame:
    """The rows of ``scan`` as a DataFrame of ``spark``.

    Parameters
    ----------
    scan : ScanRequest
        What to read.
    spark : SparkSession
        A classic session of Spark 3.5 or later, or a Spark Connect session of 4.0 or later.
    mode : {"native", "portable"}, optional
        Which path to take, see :mod:`~tableformats.engines.spark.native` and
        :mod:`~tableformats.engines.spark.portable`. None: native where Python can reach the session's JVM, otherwise
        portable.
    staging : str, optional
        For the portable path, a directory that this process can write and the session can read. File logs are put
        there until this process ends. None: a temporary directory for local tables, otherwise none.

    Raises
    ------
    UnsupportedFeatureError
        An unknown mode, a mode that the session cannot serve, or what the table needs and is not built; ``field``
        names it.
    CorruptMetadataError, PathNotAllowedError
        As the table's metadata and delete files are read.
    TypeError
        ``spark`` is no session.
    """
    check_session(spark)
    if mode not in (None, "native", "portable"):
        raise UnsupportedFeatureError(
            f"there is no mode {mode!r}", field=f"mode {mode}", hint='Use mode="native" or mode="portable"'
        )
    name = f"{scan.snapshot.location} at version {scan.snapshot.version}"
    why = f"mode={mode!r} was asked for"
    if mode is None:
        mode, why = _choose(spark)
    if mode == "portable":
        frame, how = portable_scan.to_spark(scan, spark, staging)
        _LOG.info("%s: the portable path, because %s; %s", name, why, how)
        return frame
    _LOG.info("%s: the native path, by Spark's own Parquet reader, because %s", name, why)
    return native_scan.to_spark(scan, spark)


def check_session(spark: SparkSession) -> None:
    """Raise TypeError unless ``spark`` is a session, classic or Connect."""
    if not hasattr(spark, "range"):
        raise TypeError(f"a SparkSession is needed, not {spark!r}")


def _choose(spark: SparkSession) -> tuple[str, str]:
    """The mode for a session, and why."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return "portable", "a Spark Connect session has no JVM to talk to"
    try:
        java_class(spark.sparkContext._gateway, "java.lang.System").nanoTime()
    except Exception as error:
        # Platforms that keep Python from the JVM raise many kinds of errors.
        return "portable", f"the session does not let Python at its JVM: {str(error).splitlines()[0]}"
    return "native", "the session lets Python at its JVM"
