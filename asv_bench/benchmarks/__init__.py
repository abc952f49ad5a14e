"""Benchmarks: a class is a subsystem and the shape of its input; what dominates stands in its docstring.

``TF_BENCH_QUICK=1`` takes the smallest size of everything, for a smoke run. Benchmarks stand in ``planning``, ``warm``,
``beside``, ``explaining``, ``commands``, ``scale``, ``kernels``, ``rows``, ``writing``, ``writing_iceberg`` and
``startup``; ``python -m benchmarks.report`` measures a million files beside the peers, ``python -m benchmarks.spark``
tables with rows in Spark, ``python -m benchmarks.rows`` with Arrow.
"""

import os
import sys
from pathlib import Path

# Last, for the stub of S3 that the tests have; ``tableformats`` is the installed one.
sys.path.append(str(Path(__file__).resolve().parents[2]))

QUICK = os.environ.get("TF_BENCH_QUICK", "0") not in ("", "0")


def sizes(*wanted: int) -> list[int]:
    """The sizes to run: all of them, or the smallest alone."""
    return [min(wanted)] if QUICK else list(wanted)
