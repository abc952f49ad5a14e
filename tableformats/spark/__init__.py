"""What Spark users call: tables as DataFrames, as a data source for SQL, and as streams.

:func:`read` opens a table and gives its rows as a DataFrame; :func:`to_spark` does so for a scan. Nothing is installed
into Spark: no JAR, no session setting. :mod:`tableformats.engines.spark` runs the plan.

:mod:`datasource` is the Python data source ``tableformats``, for ``spark.read.format("tableformats")`` and SQL, and
:mod:`options` its options. :mod:`streaming` reads a table as a stream, with :mod:`stream_files` to number its files;
:mod:`file_groups` is what batch reads and streams share. docs/spark.md says how to use them.
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

    Parameters
    ----------
    spark : SparkSession
        Classic, or Spark Connect.
    location, format, catalog, storage_options, relocate, allow_paths, cache
        See :func:`tableformats.open_table`.
    mode, staging : str, optional
        See :func:`to_spark`.
    **scan
        Arguments of :meth:`tableformats.Table.scan`: ``filter``, ``columns``, ``version``, ...

    Raises
    ------
    TableFormatsError
        As these three functions raise it.

    Examples
    --------
    >>> tf.spark.read(spark, "events", filter="day = 2").count()  # doctest: +SKIP
    3
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
