"""A cluster: executors are other processes, which know nothing of the classes that the driver compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = ["delta-deletion-vectors", "iceberg-equality-deletes"]


@pytest.fixture
def spark_home(spark: Any, tmp_path: Path) -> Path:
    """PySpark's folder, where executors write their logs, as a folder of the test."""
    import pyspark

    home = tmp_path / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return home


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="Spark's local cluster starts its executors by a shell")
def test_executors_need_no_classes_of_ours(spark_home: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_CONN"))}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment |= {"SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.spark.cluster_job", *TABLES]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-4000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["executors"] == 2
    assert (found["wrong"], found["other plans"]) == ([], [])
