"""One small local Spark session for all tests of the folder; they skip, saying so, where Spark cannot start."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.support.session import serves_connect

# Processes that tests start find it, too.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "conf"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent) + os.sep
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.spark)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="needs the extra [spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java 17, on the path or at JAVA_HOME")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warehouse = tmp_path_factory.mktemp("warehouse")
    builder = (
        sql.SparkSession.builder.master("local[2]")
        .appName("tableformats tests")
        .config("spark.driver.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/Los_Angeles")
        .config("spark.sql.warehouse.dir", str(warehouse))
    )
    if serves_connect():
        # One JVM serves both kinds of sessions.
        builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        builder = builder.config("spark.connect.grpc.binding.port", str(_free_port()))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # Tests of what is left behind collect garbage often; what other tests left is none of theirs.
    gc.collect()
    gc.freeze()
    yield session
    session.stop()


@pytest.fixture
def settings(spark: Any) -> Iterator[Any]:
    """Sets session settings for one test: ``settings({"spark.sql.ansi.enabled": "false"})``."""
    before: dict[str, str | None] = {}

    def set_all(wanted: dict[str, str]) -> None:
        for key, value in wanted.items():
            before.setdefault(key, spark.conf.get(key, None))
            spark.conf.set(key, value)

    yield set_all
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
