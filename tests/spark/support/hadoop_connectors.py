"""Hadoop's connectors for S3 and Azure, fetched by Maven, for sessions of their own; other tests need one without."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support import maven
from tests.support.maven import Unavailable, dependency

__all__ = ["Unavailable", "azure_jars", "jars"]

_SDK = "2.35.4"
_PARTS = ("s3", "sts", "s3-transfer-manager", "apache-client", "netty-nio-client")
"""Of Amazon's SDK; its bundle of everything is thirty times as large."""
_IN_SPARK = re.compile(r"(netty-(buffer|codec|common|handler|resolver|transport)|commons-|slf4j-|wildfly-)")
_IN_SPARK_TOO = re.compile(r"(hadoop-client-|jackson-|log4j|slf4j-|snappy-|commons-)")


def _version() -> str:
    """Of Hadoop in Spark."""
    import pyspark

    return next((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]


def jars() -> list[str]:
    """The JARs' paths, for ``spark.driver.extraClassPath``. Raises Unavailable."""
    version = _version()
    wanted = [dependency("org.apache.hadoop", "hadoop-aws", version, "software.amazon.awssdk:bundle")]
    wanted += [dependency("software.amazon.awssdk", part, _SDK) for part in _PARTS]
    return [str(jar) for jar in maven.jars("hadoop-aws", version, wanted) if not _IN_SPARK.match(jar.name)]


def azure_jars() -> list[str]:
    """As :func:`jars`, for ``abfs`` and ``wasb``."""
    version = _version()
    wanted = [dependency("org.apache.hadoop", "hadoop-azure", version)]
    return [str(jar) for jar in maven.jars("hadoop-azure", version, wanted) if not _IN_SPARK_TOO.match(jar.name)]
