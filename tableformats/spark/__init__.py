"""What Spark users call: tables as DataFrames, as views and a data source for SQL, and as streams.

:func:`read` opens a table and gives its rows as a DataFrame, :func:`view` gives them a name for SQL, and
:func:`to_spark` is for the rows of a scan. Nothing is installed into Spark: no JAR, no session setting.
:mod:`tableformats.engines.spark` runs the plan.

:mod:`datasource` is the Python data source ``tableformats``, for ``spark.read.format("tableformats")`` and SQL.
:func:`register` checks that a session can run it, and :mod:`options` has its options. :mod:`streaming` reads a table as
a stream, with :mod:`stream_files` to number its files; :mod:`file_groups` is what batch reads and streams share.
docs/spark.md says how to use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engines.spark.session import check_session, to_spark
from .registration import register

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "register", "to_spark", "view"]


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


def view(spark: SparkSession, name: str, location: str | os.PathLike[str], **options: Any) -> DataFrame:
    """Make a temporary view of a table, so that ``spark.sql`` knows it by ``name``; an older view of it is replaced.

    Parameters
    ----------
    spark : SparkSession
        Classic, or Spark Connect.
    name : str
        Of the view.
    location, **options
        As for :func:`read`: ``version``, ``filter``, ``columns``, ``catalog``, ``storage_options``, ...

    Returns
    -------
    DataFrame
        The rows of the view.

    Raises
    ------
    TableFormatsError, TypeError
        As :func:`read` raises them.
    pyspark.errors.AnalysisException
        Spark takes the name for no name of a view.

    Notes
    -----
    The view keeps the version that was current when it was made. Make it again to read a newer one.

    Examples
    --------
    >>> tf.spark.view(spark, "events", "/data/events")  # doctest: +SKIP
    >>> spark.sql("SELECT count(*) FROM events WHERE day = 2")  # doctest: +SKIP
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a view is text, not {name!r}")
    check_session(spark)
    frame = read(spark, location, **options)
    frame.createOrReplaceTempView(name)
    return frame
