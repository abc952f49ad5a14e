"""Register the data source in a session, after checking the Python that will run it.

Spark runs the data source in three places: this process registers it, a Python process of Spark's driver plans, and
those of the executors read. The checks run code in each, and name what is missing there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..engines.spark.session import check_session
from ..errors import TableFormatsError, UnsupportedFeatureError
from ..version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_NAME = "tableformats"
_NO_TABLE = "no table is named"
"""What the data source says if it is loaded without a path."""
_INSTALL = (
    "Install tableformats in that version on every node, for the Python that PYSPARK_PYTHON names, or ship an archive "
    "of it (spark.archives)"
)


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("tableformats")`` and ``USING tableformats`` known to the session.

    Parameters
    ----------
    spark : SparkSession
        A session of Spark 4.0 or later, classic or Spark Connect.

    Raises
    ------
    UnsupportedFeatureError
        Spark 3.5, which has no Python data sources (``tf.spark.read`` works there); the Python of the driver or of an
        executor lacks the package, or has another version of it. ``field`` is ``spark``, ``driver`` or ``executors``.
    TableFormatsError
        A job that runs Python fails, as when the executors' Python lacks pyarrow.
    TypeError
        ``spark`` is no session.

    Notes
    -----
    The check of the executors is a job with as many small tasks as the session runs at once, so it may miss a node.

    Examples
    --------
    >>> tf.spark.register(spark)  # doctest: +SKIP
    >>> spark.read.format("tableformats").load("events").count()  # doctest: +SKIP
    6
    """
    check_session(spark)
    if not hasattr(spark, "dataSource"):
        raise UnsupportedFeatureError(
            f"Spark {spark.version} has no Python data sources",
            field="spark",
            hint="Read with tf.spark.read(spark, location), or use Spark 4",
        )
    _check_executors(spark)
    answer = _answer(spark)
    if _NO_TABLE not in answer:
        from .datasource import TableFormatsDataSource

        spark.dataSource.register(TableFormatsDataSource)
        answer = _answer(spark)
    if _NO_TABLE not in answer:
        raise UnsupportedFeatureError(
            f"the Python of Spark's driver cannot run the data source: {_reason(answer)}",
            field="driver",
            hint=_INSTALL.replace("that version", f"version {__version__}"),
        )


def _answer(spark: SparkSession) -> str:
    """What the session says when the data source is loaded without a path; it is an error in any case."""
    try:
        return f"{spark.read.format(_NAME).load().schema}"
    except Exception as error:  # of many types, by the kind of session
        return str(error)


def _check_executors(spark: SparkSession) -> None:
    try:
        rows = spark.range(1024).mapInArrow(_task(), "found string").collect()
    except Exception as error:
        raise TableFormatsError(
            f"the Python of the executors cannot run a job: {_reason(str(error))}",
            field="executors",
            hint="Set PYSPARK_PYTHON to a Python of the driver's version that has pyarrow",
        ) from error
    for row in rows:
        if row.found != __version__:
            is_version = re.fullmatch(r"[0-9][\w.+!-]*", row.found)
            raise UnsupportedFeatureError(
                f"the Python of the executors has tableformats {row.found}, and the driver has {__version__}"
                if is_version
                else f"the Python of the executors cannot import tableformats: {row.found}",
                field="executors",
                hint=_INSTALL.replace("that version", f"version {__version__}"),
            )


def _task() -> Any:
    """A task that returns the version of the package, or why it cannot be imported.

    It is a local function, because Spark sends those as code, and others by the name of a module that may be missing.
    """

    def found(batches: Iterable[Any]) -> Iterator[Any]:
        import sys
        from importlib import import_module

        import pyarrow

        for _ in batches:
            pass
        try:
            text = import_module("tableformats.version").__version__
        except Exception as error:
            text = f"{type(error).__name__}: {error} ({sys.executable})"
        yield pyarrow.RecordBatch.from_pydict({"found": [text]})

    return found


def _reason(message: str) -> str:
    """The line of an error of Spark that says why: the last one of a Python traceback, or else the first."""
    lines = [line for line in message.partition("\n\tat ")[0].partition("\nJVM stacktrace")[0].splitlines() if line]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning): ", line)]
    return (errors or lines or ["it gave no reason"])[-1 if errors else 0].strip()
