"""Run a plan with Spark: :func:`to_spark` gives a DataFrame over a plan's files, :func:`read` opens a table first.

Nothing is installed into Spark: no JAR, no session setting. See :mod:`path` for sessions with a
JVM, :mod:`tableformats.engines.spark.portable.portable_scan` for Spark Connect, and docs/spark.md for SQL and streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engines.spark.session import to_spark

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "to_spark"]


def read(
    spark: SparkSession,
    location: str | os.PathLike[str],
    *,
    format: str | None = None,
    catalog: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    relocate: bool | Mapping[str, str] | None = None,
    allow_paths: str | Sequence[str] | None = None,
    cache: bool = True,
    mode: str | None = None,
    staging: str | None = None,
    **scan: Any,
) -> DataFrame:
    """A table as a DataFrame: ``open_table(location, ...).scan(...).to_spark(spark, mode, staging)``.

    ``scan`` are the arguments of :meth:`tableformats.Table.scan` (``filter``, ``columns``, ``version``, ...); the
    others are those of :func:`tableformats.open_table`, and so are the errors of all three.
    """
    from ..table.table import open_table

    table = open_table(
        location,
        format=format,
        catalog=catalog,
        storage_options=storage_options,
        relocate=relocate,
        allow_paths=allow_paths,
        cache=cache,
    )
    return table.scan(**scan).to_spark(spark, mode, staging)
