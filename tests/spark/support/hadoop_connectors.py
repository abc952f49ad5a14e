"""Connectors for S3, Azure and GCS, fetched by Maven, for sessions of their own; other tests need one without."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support import maven
from tests.support.maven import Unavailable, dependency

__all__ = ["GCS_SETTINGS", "Unavailable", "azure_jars", "gcs_jars", "jars"]

_SDK = "2.35.4"
_PARTS = ("s3", "sts", "s3-transfer-manager", "apache-client", "netty-nio-client")
"""Of Amazon's SDK; its bundle of everything is thirty times as large."""
_GCS = "3.1.3"
"""The newest of Google's releases that has a JAR with all that it needs."""
GCS_SETTINGS = {
    "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    # Hadoop 3.5 has a connector of its own, whose defaults have units. Google's takes numbers.
    "fs.gs.block.size": "67108864",
    "fs.gs.inputstream.inplace.seek.limit": "8388608",
    "fs.gs.inputstream.min.range.request.size": "2097152",
    "fs.gs.outputstream.buffer.size": "8388608",
    "fs.gs.rewrite.max.chunk.size": "536870912",
    "parquet.hadoop.vectored.io.enabled": "false",  # it calls what Hadoop 3.5 has no more
}
"""What Google's connector needs in Spark 4.3."""
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


def gcs_jars() -> list[str]:
    """As :func:`jars`, for ``gs``."""
    wanted = [dependency("com.google.cloud.bigdataoss", "gcs-connector", _GCS, "*:*", classifier="shaded")]
    return [str(jar) for jar in maven.jars("gcs-connector", _GCS, wanted)]
