"""Errors of the data source in Spark's Python processes, which send them to the JVM as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import TableFormatsError

__all__ = ["one_line_errors"]

_SIMPLE = "SPARK_SIMPLIFIED_TRACEBACK"
_HIDDEN = "SPARK_HIDE_TRACEBACK"
_STREAMING = "pyspark.sql.streaming."
"""The processes of streams do not get the first variable, whatever the session says."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Make Spark send a TableFormatsError without its traceback. Other errors keep theirs.

    A process of Spark that has sent an error ends, so the variable reaches no other code. With
    ``spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled`` at false, the session has asked for whole
    tracebacks, and gets them, except from streams. Outside of Spark's processes nothing changes.
    Source: PySpark, ``pyspark.util.handle_worker_exception``, ``pyspark.sql.worker.utils.worker_run``.
    """
    try:
        yield
    except TableFormatsError:
        program = getattr(sys.modules["__main__"], "__spec__", None)
        if os.environ.get(_SIMPLE) or (program is not None and program.name.startswith(_STREAMING)):
            os.environ[_HIDDEN] = "1"
        raise
