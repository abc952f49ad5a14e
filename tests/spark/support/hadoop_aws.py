"""Hadoop's connector for S3, fetched by Maven, for sessions of their own; the other tests need a session without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

CACHE = Path(os.environ.get("TABLEFORMATS_COMPARE", Path.home() / ".cache" / "tableformats-compare")) / "hadoop-aws"
_SDK = "2.35.4"
_PARTS = ("s3", "sts", "s3-transfer-manager", "apache-client", "netty-nio-client")
"""Of Amazon's SDK; its bundle of everything is thirty times as large."""
_IN_SPARK = re.compile(r"(netty-(buffer|codec|common|handler|resolver|transport)|commons-|slf4j-|wildfly-)")


class Unavailable(RuntimeError):
    """The connector cannot be had here; the message says why."""


def jars() -> list[str]:
    """The JARs' paths, for ``spark.driver.extraClassPath``. Raises Unavailable."""
    import pyspark

    version = next((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    folder = CACHE / version
    if not folder.exists():
        _fetch(version, folder)
    return [str(jar) for jar in sorted(folder.glob("*.jar")) if not _IN_SPARK.match(jar.name)]


def _dependency(group: str, name: str, version: str, exclusion: str = "") -> str:
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{exclusion}</dependency>"
    )


def _fetch(version: str, folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable("no Maven on the path to fetch hadoop-aws")
    bundle = "<exclusion><groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId></exclusion>"
    wanted = [_dependency("org.apache.hadoop", "hadoop-aws", version, f"<exclusions>{bundle}</exclusions>")]
    wanted += [_dependency("software.amazon.awssdk", part, _SDK) for part in _PARTS]
    partial = folder.with_name(f"{version}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    (partial / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        f"<dependencies>{''.join(wanted)}</dependencies></project>"
    )
    command = ["mvn", "-q", "-B", "-f", str(partial / "pom.xml"), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={partial}"], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable("Maven did not fetch hadoop-aws within five minutes") from None
    if done.returncode:
        raise Unavailable("Maven cannot fetch hadoop-aws")
    partial.rename(folder)
