"""Iceberg's Java reference beside us on tables in directories: a process that gets a JSON command a line.

It needs Java 17, PySpark (for Hadoop's classes) and ``iceberg-spark-runtime``, which Maven fetches. Without these
:func:`running_java` skips, and says which. No Spark session is started.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ..spark.compare import session

__all__ = ["JavaActor", "JavaRefusal", "running_java"]

_SOURCE = Path(__file__).parent / "java" / "IcebergActor.java"


class JavaRefusal(RuntimeError):
    """What Java raised."""


class JavaActor:
    """Calls commands of ``IcebergActor.java`` by name."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, op: str, table: str | Path, **arguments: Any) -> Any:
        """The result of a command. Raises JavaRefusal."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, "table": str(table), **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise JavaRefusal(f"the process ended: {self._process.poll()}")
        answer = json.loads(line)
        if "error" in answer:
            raise JavaRefusal(f"{op}: {answer['error']} at {answer['at']}")
        return answer["result"]


@contextmanager
def running_java() -> Iterator[JavaActor]:
    """A process of the reference; it ends with the block."""
    if shutil.which("java") is None:
        pytest.skip("Iceberg's Java reference needs java on the path")
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        pytest.skip("Iceberg's Java reference needs PySpark, for Hadoop's classes")
    try:
        runtime = session.jar(next(artifact for artifact in session.JARS if "iceberg-spark-runtime" in artifact))
    except session.Unavailable as reason:
        pytest.skip(f"Iceberg's Java reference: {reason}")
    classes = f"{runtime}:{Path(spark.origin).parent}/jars/*"
    command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, str(_SOURCE)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield JavaActor(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
