"""The REST catalog that Iceberg's own tests use (``RESTCatalogServer``, a JDBC catalog behind the REST protocol).

Maven finds its class path; it needs Java 11 or newer, ``mvn`` and a repository that has the artifacts. Without one of
these :func:`running_rest_catalog` skips, and says which.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pytest

__all__ = ["running_rest_catalog"]

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
_ICEBERG = "1.10.0"
_ARTIFACTS = (
    ("org.apache.iceberg", "iceberg-open-api", _ICEBERG, "test-fixtures"),
    ("org.apache.iceberg", "iceberg-core", _ICEBERG, ""),
    ("org.apache.iceberg", "iceberg-core", _ICEBERG, "tests"),
    ("org.eclipse.jetty", "jetty-servlet", "11.0.26", ""),
    ("org.xerial", "sqlite-jdbc", "3.50.3.0", ""),
    ("org.apache.hadoop", "hadoop-client-api", "3.4.1", ""),
    ("org.apache.hadoop", "hadoop-client-runtime", "3.4.1", ""),
    ("org.slf4j", "slf4j-nop", "2.0.17", ""),
)
_MAVEN_S, _START_S = 240, 60


@lru_cache(maxsize=1)
def _class_path() -> str | None:
    """The server's class path; None where Maven does not find it."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        + (f"<classifier>{classifier}</classifier>" if classifier else "")
        + "</dependency>"
        for group, name, version, classifier in _ARTIFACTS
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>rest</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        command = ["mvn", "-q", "-B", _PLUGIN, "-Dmdep.outputFile=found.txt"]
        try:
            subprocess.run(command, cwd=folder, check=True, timeout=_MAVEN_S, capture_output=True)
        except (subprocess.SubprocessError, OSError):
            return None
        return Path(folder, "found.txt").read_text().strip()


@contextmanager
def running_rest_catalog(warehouse: Path) -> Iterator[str]:
    """The address of a new, empty catalog whose tables are below ``warehouse``."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"Iceberg's REST catalog needs {program} on the path")
    if (class_path := _class_path()) is None:
        pytest.skip("Maven does not find the artifacts of Iceberg's REST catalog (iceberg-open-api, test-fixtures)")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    # Its database is one in memory by default: a second connection would get an empty one.
    told = {"REST_PORT": port, "WAREHOUSE": warehouse, "URI": f"jdbc:sqlite:{warehouse}.db", "CLIENTS": 1}
    environment = {**os.environ, **{f"CATALOG_{name}": str(value) for name, value in told.items()}}
    command = ["java", "-Xmx192m", "-cp", class_path, "org.apache.iceberg.rest.RESTCatalogServer"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        uri = f"http://127.0.0.1:{port}"
        for _ in range(_START_S * 5):
            try:
                with urllib.request.urlopen(f"{uri}/v1/config", timeout=5):
                    break
            except OSError:
                time.sleep(0.2)
            if server.poll() is not None:
                pytest.skip("Iceberg's REST catalog does not start")
        else:
            pytest.skip("Iceberg's REST catalog does not answer")
        yield uri
    finally:
        server.terminate()
        server.wait(30)
