"""A Spark session with the JARs of Delta and Iceberg, fetched with Maven where the local repository lacks them."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

SPARK = "4.1"
ICEBERG = "1.12.0"
JARS = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "io.delta:delta-kernel-api:4.4.0",
    "io.delta:delta-kernel-defaults:4.4.0",
    "io.delta:delta-kernel-unitycatalog:4.4.0",
    f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}",
)
MAVEN = Path.home() / ".m2" / "repository"
CACHE = Path(os.environ.get("TABLEFORMATS_COMPARE", Path.home() / ".cache" / "tableformats-compare"))


class Unavailable(RuntimeError):
    """The comparison cannot run here; the message says what is missing."""


def jars() -> list[str]:
    """The JARs' paths, after Maven fetched those that are missing."""
    return [jar(artifact) for artifact in JARS]


def jar(artifact: str) -> str:
    """The path of a JAR, after Maven fetched it if it is missing. Raises Unavailable."""
    group, name, version = artifact.split(":")
    path = MAVEN.joinpath(*group.split("."), name, version, f"{name}-{version}.jar")
    if not path.exists():
        _fetch(artifact)
    return str(path)


def _fetch(artifact: str) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable(f"no Maven on the path to fetch {artifact}")
    command = ["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Maven did not fetch {artifact} within five minutes") from None
    if done.returncode:
        raise Unavailable(f"Maven cannot fetch {artifact}")


@lru_cache(maxsize=1)
def session(more: str = "") -> Any:
    """The session, started when it is first asked for. ``more``: what else its class path has."""
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise Unavailable("PySpark is not installed") from None
    if not pyspark.__version__.startswith(f"{SPARK}."):
        raise Unavailable(f"the JARs need PySpark {SPARK}, and {pyspark.__version__} is installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise Unavailable("Java 17 is neither on the path nor at JAVA_HOME")
    CACHE.mkdir(parents=True, exist_ok=True)
    settings = {
        "driver.extraClassPath": ":".join([*jars(), *filter(None, [more])]),
        "driver.memory": "2g",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.shuffle.partitions": "1",
        "sql.session.timeZone": "UTC",
        "sql.warehouse.dir": str(CACHE / "warehouse"),
        "sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "sql.catalog.ice.type": "hadoop",
        "sql.catalog.ice.warehouse": str(CACHE / "tables"),
        "databricks.delta.snapshotPartitions": "1",
        "sql.adaptive.enabled": "false",
        # Each batch of predicates is another program: compiling it takes longer than running it over a hundred rows.
        "sql.codegen.wholeStage": "false",
        "sql.codegen.factoryMode": "NO_CODEGEN",
        "sql.debug.maxToStringFields": "0",
    }
    builder = SparkSession.builder.master("local[2]").appName("comparison with Spark")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    return spark
