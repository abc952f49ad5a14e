"""The REST catalog that Iceberg's own tests use (``RESTCatalogServer``, a JDBC catalog behind the REST protocol).

Maven finds its class path; it needs Java 11 or newer, ``mvn`` and a repository that has the artifacts. Without one of
these :func:`running_rest_catalog` skips, and says which.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from .maven import Unavailable, dependency, jars

__all__ = ["running_rest_catalog"]

_ICEBERG = "1.10.0"
_SERVER = (
    dependency("org.apache.iceberg", "iceberg-open-api", _ICEBERG, classifier="test-fixtures"),
    dependency("org.apache.iceberg", "iceberg-core", _ICEBERG),
    dependency("org.apache.iceberg", "iceberg-core", _ICEBERG, classifier="tests"),
    dependency("org.eclipse.jetty", "jetty-servlet", "11.0.26"),
    dependency("org.xerial", "sqlite-jdbc", "3.50.3.0"),
    dependency("org.apache.hadoop", "hadoop-client-api", "3.4.1"),
    dependency("org.apache.hadoop", "hadoop-client-runtime", "3.4.1"),
    dependency("org.slf4j", "slf4j-nop", "2.0.17"),
)
_OF_S3 = (
    dependency("org.apache.iceberg", "iceberg-aws", _ICEBERG),
    dependency("org.apache.iceberg", "iceberg-aws-bundle", _ICEBERG),
)
_START_S = 60


@contextmanager
def running_rest_catalog(warehouse: Path, s3: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a new, empty catalog whose tables are below ``warehouse``, a directory.

    ``s3``: options of Iceberg's ``S3FileIO`` ("s3.endpoint"), and the ``warehouse`` there: then its tables are in S3,
    and the database of the catalog lies beside the directory.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"Iceberg's REST catalog needs {program} on the path")
    try:
        found = jars("iceberg-rest-catalog", _ICEBERG, _SERVER)
        found += jars("iceberg-aws", _ICEBERG, _OF_S3) if s3 else []
    except Unavailable as error:
        pytest.skip(str(error))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    # Its database is one in memory by default: a second connection would get an empty one.
    told = {"rest.port": port, "warehouse": warehouse, "uri": f"jdbc:sqlite:{warehouse}.db", "clients": 1, **(s3 or {})}
    environment = {**os.environ, **{_variable(name): str(value) for name, value in told.items()}}
    command = [
        "java",
        "-Xmx192m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        ":".join(map(str, found)),
        "org.apache.iceberg.rest.RESTCatalogServer",
    ]
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


def _variable(name: str) -> str:
    """The environment variable of a property of the catalog, by the rule of its server."""
    return "CATALOG_" + name.replace("-", "__").replace(".", "_").upper()
