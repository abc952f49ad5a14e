"""``import tableformats`` is cheap: measured in fresh interpreters, and nothing slow is loaded by it."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUNS = 7
MOST_SECONDS = 0.1
SLOW = [
    "numpy",
    "pyarrow",
    "pandas",
    "pyspark",
    "pyroaring",
    "fastavro",
    "click",
    "rich",
    "pluggy",
    "polars",
    "duckdb",
    "matplotlib",
    "deltalake",
    "pyiceberg",
    "fsspec",
    "tableformats_delta",
    "tableformats_iceberg",
]


def in_fresh_interpreter(code: str) -> str:
    # -I: neither the environment nor the working directory of the test run changes what is imported.
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.thread_unsafe(reason="measures time")
def test_import_takes_less_than_100_ms() -> None:
    code = "import time; t = time.perf_counter(); import tableformats; print(time.perf_counter() - t)"
    best = min(float(in_fresh_interpreter(code)) for _ in range(RUNS))
    assert best < MOST_SECONDS, f"the best of {RUNS} runs took {best * 1000:.0f} ms"


def test_import_loads_nothing_slow() -> None:
    code = f"import sys, tableformats; print(*sorted(set({SLOW!r}) & set(sys.modules)))"
    assert in_fresh_interpreter(code).split() == []


def test_public_names_are_there() -> None:
    code = "import tableformats as tf; print(*[n for n in tf.__all__ if n != 'spark' and not hasattr(tf, n)])"
    assert in_fresh_interpreter(code).split() == []
