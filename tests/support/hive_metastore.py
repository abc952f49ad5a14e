"""A Hive metastore of Maven Central, with a database in its memory (Derby).

It takes ten seconds to start, so it is started where ``TABLEFORMATS_SERVICES`` is set; ``.ci/nightly services`` sets
it. The tables of Hive's locks are not made by themselves: a few lines of Java make them before the server starts.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .maven import Unavailable, dependency, jars

__all__ = ["running_hive_metastore"]

_HIVE, _HADOOP = "3.1.3", "3.4.1"
_START_S = 120
_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    # What the metastore runs by default is in the JARs of Hive itself.
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
}
_MAIN = """
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

class Metastore {
    public static void main(String[] arguments) throws Throwable {
        TxnDbUtil.prepDb(MetastoreConf.newMetastoreConf());
        HiveMetaStore.main(arguments);
    }
}
"""


def _class_path() -> list[Path]:
    without = ("org.pentaho:*", "org.apache.hadoop:*", "jdk.tools:*")
    return jars(
        "hive-metastore",
        _HIVE,
        [
            dependency("org.apache.hive", "hive-standalone-metastore", _HIVE, *without),
            dependency("org.apache.hadoop", "hadoop-client-api", _HADOOP),
            dependency("org.apache.hadoop", "hadoop-client-runtime", _HADOOP),
            dependency("commons-cli", "commons-cli", "1.9.0"),
            dependency("commons-collections", "commons-collections", "3.2.2"),
            dependency("commons-logging", "commons-logging", "1.3.4"),
        ],
    )


@contextmanager
def running_hive_metastore(folder: Path) -> Iterator[str]:
    """The address of a new, empty metastore, whose warehouse is ``folder/warehouse``. Skips where it cannot be had."""
    if not os.environ.get("TABLEFORMATS_SERVICES"):
        pytest.skip("a Hive metastore takes ten seconds to start: set TABLEFORMATS_SERVICES=1")
    for program in ("java", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"a Hive metastore needs {program} on the path")
    try:
        found = _class_path()
    except Unavailable as error:
        pytest.skip(str(error))
    settings = {**_SETTINGS, "metastore.warehouse.dir": str(folder / "warehouse")}
    rows = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items())
    (folder / "metastore-site.xml").write_text(f"<configuration>{rows}</configuration>")
    (folder / "Metastore.java").write_text(_MAIN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, (folder, *found)))]
    with (folder / "metastore.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "Metastore.java", "-p", str(port)], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(server, port)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.skip("the Hive metastore does not start")
