"""The known bugs of :mod:`tests.histories.peers`, staged for delta-spark: the same faults, in one session of Spark.

Two writers upon one version: a function of Python in the query of the one waits for the other, so that the one has
read the version that the other one replaces.
"""

from __future__ import annotations

import itertools
import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tableformats.io.local_writes import link_local
from tableformats.io.stores.base import PutOutcome

from . import peers_more as more
from .peers import CASES, Case, Outcome, _feature, _lost_answer

__all__ = ["DELTA_SPARK", "held", "named", "spark", "version_of_jar"]

_WAIT_S = 120.0
_NUMBERS = itertools.count()
_OF_JAVA = re.compile(r"\b(?:org|io|java|software)\.[\w.]+?([A-Z]\w*(?:Exception|Error))\b")
_NAME = "delta-spark"


def spark() -> Any:
    """The session with both JARs, and with Hadoop's connector for S3."""
    from ..spark.compare.session import session
    from ..spark.support.hadoop_connectors import jars

    return session(":".join(jars()))


def version_of_jar(peer: str) -> str:
    from ..spark.compare.session import JARS

    (found,) = [jar for jar in JARS if {_NAME: ":delta-spark"}.get(peer, ":iceberg-spark-runtime") in jar]
    return found.rpartition(":")[2]


def named(error: BaseException) -> str:
    """The error by the name that it has in Java."""
    found = _OF_JAVA.search(str(error))
    return found.group(1) if found else type(error).__name__


class ErrorOfJavaError(Exception):
    """An error of the JVM, which :func:`tests.histories.peers_more._both` names by its type."""


def raised(error: BaseException) -> BaseException:
    """An error whose type has the name of the one of Java."""
    return type(named(error), (ErrorOfJavaError,), {})(str(error)[:2000])


def held(write: Callable[[str], None]) -> Callable[[], Any]:
    """Begin a write that waits when it has read its version. Gives what lets it go on, and waits for its end.

    ``write`` gets the condition, in SQL upon the column id, that waits and is TRUE.
    """
    number, folder = next(_NUMBERS), tempfile.mkdtemp()
    reached, go, over = Path(folder, "reached"), Path(folder, "go"), time.time() + _WAIT_S

    def wait(value: int) -> bool:
        reached.touch()
        while not go.exists() and time.time() < over:
            time.sleep(0.02)
        return True

    spark().udf.register(f"held_{number}", wait, "boolean")
    errors: list[BaseException] = []

    def run() -> None:
        try:
            write(f"held_{number}(id)")
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not reached.exists() and thread.is_alive() and time.time() < over:
        time.sleep(0.02)
    if not reached.exists() and not errors:
        raise RuntimeError("the write did not wait")

    def finish() -> None:
        go.touch()
        thread.join()
        if errors:
            raise raised(errors[0])

    return finish


def _frame(*ids: int) -> Any:
    return spark().createDataFrame([(number,) for number in ids], "id long").coalesce(1)


def _overwrite(location: str, number: int) -> Callable[[], Any]:
    def write(waits: str) -> None:
        _frame(number).where(waits).write.format("delta").mode("overwrite").save(location)

    return held(write)


def _delete(location: str, where: str) -> Callable[[], Any]:
    return held(lambda waits: spark().sql(f"DELETE FROM delta.`{location}` WHERE {where} AND {waits}"))


def _append_while(location: str, rival: Callable[[], None]) -> None:
    finish = held(lambda waits: _frame(7).where(waits).write.format("delta").mode("append").save(location))
    rival()
    finish()


def _append_on_s3(location: str, options: dict[str, Any], **more: Any) -> None:
    """By the log store that delta-spark has for S3, which is for one driver."""
    hadoop = spark().sparkContext._jsc.hadoopConfiguration()
    settings = {
        "endpoint": options["aws_endpoint"],
        "access.key": options["aws_access_key_id"],
        "secret.key": options["aws_secret_access_key"],
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "impl.disable.cache": "true",
    }
    for name, value in settings.items():
        hadoop.set(f"fs.s3a.{name}", value)
    writer = _frame(7).write.format("delta").mode("append")
    try:
        writer.options(**more).save(location.replace("s3://", "s3a://"))
    except Exception as error:
        raise raised(error) from None


def _append_once_on_s3(location: str, options: dict[str, Any]) -> None:
    _append_on_s3(location, options, txnAppId="job", txnVersion=1)


def _checkpoint(location: str) -> None:
    session = spark()
    session._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, location).checkpoint()


def _read(location: str) -> list[int]:
    return [row["id"] for row in spark().read.format("delta").load(location).collect()]


# ---- its log store of disks, beside another process ------------------------------------------------------------------


class _Lines:
    """The lines of a commit, as an iterator of Java. Another process commits before the first one is written."""

    def __init__(self, rival: Callable[[], None]) -> None:
        self._rival, self._left = rival, ["{}"]

    def hasNext(self) -> bool:
        if self._left:
            self._rival()
        return bool(self._left)

    def next(self) -> str:
        return self._left.pop()

    class Java:
        implements = ("java.util.Iterator",)


def _late_rival() -> Outcome:
    """The log store looks whether a commit is there; then another process puts it; then the log store renames."""
    from pyspark.java_gateway import ensure_callback_server_started

    session = spark()
    ensure_callback_server_started(session.sparkContext._gateway)
    jvm, settings = session._jvm, session.sparkContext._jsc.hadoopConfiguration()
    with tempfile.TemporaryDirectory() as folder:
        path, told = f"{folder}/{1:020d}.json", []
        lines = _Lines(lambda: told.append(f"the other one {_won(link_local(path, b'rival'))}"))
        try:
            jvm.io.delta.storage.LocalLogStore(settings).write(
                jvm.org.apache.hadoop.fs.Path(path), lines, False, settings
            )
            told.append("the driver won")
        except Exception as error:
            told.append(f"the driver got a {named(error)}")
        is_right = sum("won" in one for one in told) == 1
    return f"{'right' if is_right else 'wrong'}: {', '.join(told)}"


def _won(outcome: PutOutcome) -> str:
    return "won" if outcome is PutOutcome.WON else "lost"


# ---- the table -------------------------------------------------------------------------------------------------------


def _same(name: str, theirs: Callable[[], Outcome]) -> Case:
    """The case of a name, put to delta-spark."""
    what, _, _, ours = CASES[name]
    return what, _NAME, theirs, ours


DELTA_SPARK: dict[str, Case] = {
    f"{_NAME}: {name}": _same(name, theirs)
    for name, theirs in {
        "lost answer, 500 lost": lambda: _lost_answer("500 lost", _append_on_s3),
        "lost answer, 503 lost": lambda: _lost_answer("503 lost", _append_on_s3),
        "lost answer, close lost": lambda: _lost_answer("close lost", _append_on_s3),
        "lost answer, once": lambda: _lost_answer("500 lost", _append_once_on_s3),
        "a rival's feature": lambda: _feature(_append_while),
        "checkpoint": lambda: more._checkpoint(_checkpoint),
        "checkpoint is gone": lambda: more._gone(_read),
        "two overwrites": lambda: more._overwrites(_overwrite),
        "append and overwrite": lambda: more._append_and_overwrite(_overwrite),
        "two deletes, Delta": lambda: more._deletes(_delete),
    }.items()
}
DELTA_SPARK[f"{_NAME}: several winners"] = (
    "another process puts a commit on a disk after a driver has looked for it (delta#1410)",
    _NAME,
    _late_rival,
    CASES["several winners"][3],
)
