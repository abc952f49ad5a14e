"""A local Spark session for :mod:`benchmarks.spark`, with the peers' JARs where they are, and what it did."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JARS = (
    "io.delta:delta-spark_2.13:4.0.0",
    "io.delta:delta-storage:4.0.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
)
JARS_ARE_FOR = "4.0."
_MAVEN = Path.home() / ".m2" / "repository"
_WITH_JARS = {
    "sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def peers_missing() -> str | None:
    """Why the peers are not measured; None where they are."""
    import pyspark

    if not pyspark.__version__.startswith(JARS_ARE_FOR):
        return f"their JARs are for Spark {JARS_ARE_FOR}x, and this is {pyspark.__version__}"
    missing = [name for name, path in _jars().items() if not path.exists()]
    return f"not in {_MAVEN}: {', '.join(missing)}" if missing else None


def _jars() -> dict[str, Path]:
    parts = {artifact: artifact.split(":") for artifact in JARS}
    return {
        artifact: _MAVEN.joinpath(*group.split("."), name, version, f"{name}-{version}.jar")
        for artifact, (group, name, version) in parts.items()
    }


def session(cores: int, with_peers: bool) -> Any:
    """A new session of ``cores`` threads, which has run one small query of its own."""
    from pyspark.sql import SparkSession

    settings = {
        "driver.memory": "3g",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.session.timeZone": "UTC",
        "sql.shuffle.partitions": str(cores),
    }
    if with_peers:
        settings |= {"driver.extraClassPath": ":".join(map(str, _jars().values())), **_WITH_JARS}
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("tableformats benchmarks")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    # Files that are planned and not there are told of as warnings.
    spark.sparkContext.setLogLevel("OFF")
    spark.range(1000).selectExpr("sum(id)").collect()
    return spark


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock, and of the processors in Python and the JVM (NaN where the system does not say)."""

    wall: float
    cpu: float


def timed(spark: Any, call: Callable[[], Any]) -> tuple[Any, Cost]:
    """What ``call`` gives, and what it cost."""
    cpu, start = _cpu(spark), time.perf_counter()
    result = call()
    return result, Cost(time.perf_counter() - start, _cpu(spark) - cpu)


def _cpu(spark: Any) -> float:
    stat = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat")
    if not stat.exists():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") + time.process_time()


@dataclass(frozen=True)
class Job:
    """``start``: seconds since 1970. ``text``: what Spark's UI shows."""

    start: float
    text: str


def jobs(spark: Any) -> list[Job]:
    """All that the session ran, in their order."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(None)
    ran = []
    for i in range(found.size()):
        job = found.apply(i)
        text = f"{job.name()} {job.description().getOrElse(None) if job.description().isDefined() else ''}"
        ran.append((job.jobId(), Job(job.submissionTime().get().getTime() / 1000, text.strip())))
    return [job for _, job in sorted(ran, key=lambda pair: pair[0])]


def plan_query(frame: Any) -> int:
    """Let Spark plan the query to its end, without a job of it: the number of its tasks."""
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())
