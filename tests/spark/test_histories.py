"""Spark's writers and a stream beside processes that write without Spark: their history is explained by one order.

``TF_SPARK_HISTORIES`` is the number of operations of each of Spark's writers. Without it nothing runs: with one
operation the test takes more than ten seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ..histories.spark_writers import spark_history

STEPS = int(os.environ.get("TF_SPARK_HISTORIES", "0"))
FORMATS = ["delta", "iceberg"] if STEPS > 1 else ["delta"]


@pytest.mark.skipif(STEPS == 0, reason="takes long: set TF_SPARK_HISTORIES")
@pytest.mark.parametrize("format", FORMATS)
def test_spark_beside_processes(spark: Any, format: str, tmp_path: Path) -> None:
    history, found = spark_history(spark, format, tmp_path, STEPS, processes=1 if STEPS == 1 else 2)
    assert found == []
    done = {op.process for op in history.operations if op.outcome == "ok"}
    assert {11, 12, 13} <= done, history.operations
