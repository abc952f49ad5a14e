"""Spark Connect: a client in another process, and the server that the tests' session is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.spark.support.session import serves_connect
from tests.support.delta_changes import id_file, inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, field, metadata, remove
from tests.support.golden import opened
from tests.support.iceberg_history import History

ROOT = Path(__file__).resolve().parents[2]
Call = Callable[..., Any]


class Refused(Exception):
    """What the client caught: the name of the error's type, its text, its field."""


@pytest.fixture(scope="module")
def client(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Calls functions of ``connect_client``."""
    if not serves_connect():
        pytest.skip("needs PySpark 4 and pyspark[connect] (grpcio, grpcio-status, googleapis-common-protos)")
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    temporary = tmp_path_factory.mktemp("temporary")
    environment["TMPDIR"] = str(temporary)
    # A classic session leaves word of itself to processes that it starts.
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_CONNECT_MODE_ENABLED"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "tests.spark.connect_client", f"sc://127.0.0.1:{port}"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    assert process.stdin is not None and process.stdout is not None

    def call(function: str, *arguments: Any) -> Any:
        print(json.dumps({"function": function, "arguments": arguments}), file=process.stdin, flush=True)
        answer = json.loads(process.stdout.readline() or '{"error": ["EOFError", "the client is gone", null]}')
        if "error" in answer:
            raise Refused(*answer["error"])
        return answer["result"]

    yield call
    process.stdin.close()
    process.wait(60)
    assert not list(temporary.iterdir())


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field("a b", "string"), protocol=WITH_VECTORS, partition=("a b",))
    file = id_file(log, "1", range(100), partitionValues={"a b": "it's"})["add"]
    log.commit(1, {"add": file}, id_file(log, "2", range(100, 200), partitionValues={"a b": "y"}))
    deleted = {**file, "deletionVector": inline_vector(1, 3)}
    return log.commit(2, remove("1", partitionValues={"a b": "it's"}), {"add": deleted})


def read(client: Call, path: Path, then: str | None = None, mode: str | None = None, **scan: Any) -> Any:
    return client("scan", str(path), scan, mode, then)


NOWHERE = "/proc/no directory can be made here"
WAYS = {None: "Spark's own reader reads", NOWHERE: "the Python data source reads the files, because the staging"}


@pytest.mark.parametrize("staging", WAYS, ids=["staged", "data source"])
def test_rows_columns_and_filters(client: Call, log: DeltaLog, staging: str | None) -> None:
    found = read(client, log.root, filter="id < 6 AND `a b` = 'it\\'s'", staging=staging)
    assert found["rows"] == [[i, "it's"] for i in (0, 2, 4, 5)]
    assert "a Spark Connect session has no JVM" in found["log"][0] and WAYS[staging] in found["log"][0]
    assert len(read(client, log.root, staging=staging)["rows"]) == 198
    found = read(client, log.root, columns=["a b", "id"], filter="id >= 198", staging=staging)
    assert (found["columns"], found["rows"]) == (["a b", "id"], [["y", 198], ["y", 199]])
    assert read(client, log.root, "id % 100 = 3", staging=staging)["rows"] == [[103, "y"]]
    assert len(read(client, log.root, limit=7, staging=staging)["rows"]) == 7
    assert read(client, log.root, version=1, filter="id < 4", columns=["id"], staging=staging)["rows"] == [
        [0],
        [1],
        [2],
        [3],
    ]


def test_register_and_view(client: Call, log: DeltaLog) -> None:
    query = "SELECT count(*), max(`a b`) FROM named WHERE id >= 100"
    assert client("registered", str(log.root), "named", query) == [[100, "y"]]
    with pytest.raises(Refused) as caught:
        client("sql", "CREATE TEMPORARY VIEW no USING tableformats OPTIONS (path '/no/such')", "SELECT * FROM no")
    assert "TableNotFoundError: nothing is at the location" in caught.value.args[1]
    assert "Traceback" not in caught.value.args[1]


def test_the_plan_names_the_table_and_the_files(client: Call, log: DeltaLog) -> None:
    assert "tableformats-delta-t-v2-1-of-2-files-" in client("explained", str(log.root), "id = 150")


@pytest.mark.parametrize("staging", WAYS, ids=["staged", "data source"])
def test_files_that_the_filter_leaves_out_are_not_read(client: Call, log: DeltaLog, staging: str | None) -> None:
    (log.root / "2").unlink()
    assert read(client, log.root, filter="id = 0", staging=staging)["rows"] == [[0, "it's"]]
    with pytest.raises(Refused):
        read(client, log.root, staging=staging)


def test_names_that_spark_passes_over(client: Call, log: DeltaLog) -> None:
    values = {"partitionValues": {"a b": "z"}}
    log.commit(3, id_file(log, "_3", [300], **values), id_file(log, "_d/4", [400], **values))
    found = read(client, log.root, filter="id >= 300")
    assert found["rows"] == [[300, "z"], [400, "z"]]
    assert "Spark leaves out files of such names" in found["log"][0]
    found = read(client, log.root, filter="id >= 400")
    assert found["rows"] == [[400, "z"]] and "Spark's own reader" in found["log"][0]


def test_paths_that_have_to_be_encoded(client: Call, log: DeltaLog) -> None:
    file = id_file(log, "3 %é+=&,", [300], partitionValues={"a b": "z"}, path="3%20%25%C3%A9+=&,")
    found = read(client, log.commit(3, file).root, filter="id >= 300")
    assert found["rows"] == [[300, "z"]] and "Spark's own reader" in found["log"][0]


def test_a_staging_directory_of_ones_own(client: Call, log: DeltaLog, tmp_path: Path) -> None:
    for _ in range(2):
        assert len(read(client, log.root, staging=str(tmp_path / "staging"))["rows"]) == 198
    # One for the files with deleted rows and one for those without, made once.
    assert len(list((tmp_path / "staging").iterdir())) == 2


def test_changes_and_appends(client: Call, log: DeltaLog, tmp_path: Path) -> None:
    assert client("changes", str(log.root), 1, "_commit_version = 2") == [[1, "delete"], [3, "delete"]]
    history = History(tmp_path / "i")
    history.commit("append", add=[[1]])
    history.commit("append", add=[[2]])
    history.commit("delete", positions=[("f1-0.parquet", 0)])
    assert client("appends", str(history.root), 101) == [[2]]


def test_plans_that_executors_make(client: Call, tmp_path: Path) -> None:
    history = History(tmp_path / "i")
    history.commit("append", add=[[1], [2]])
    history.commit("delete", positions=[("f1-0.parquet", 0)])
    assert client("planned", str(history.root), None) == [True, 2]
    (history.root / "metadata" / "data-1.avro").write_bytes(b"Obj\x01")
    with pytest.raises(Refused) as caught:
        client("planned", str(history.root), "id = 1")
    assert caught.value.args[0] == "CorruptMetadataError" and "data-1.avro" in caught.value.args[1]


BY_ID = "spark.sql.parquet.fieldId.read.enabled"


@pytest.mark.parametrize(
    ("name", "by_id"),
    [("iceberg-evolution", True), ("iceberg-evolution", False), ("iceberg-equality-deletes", True)],
)
def test_tables_that_spark_wrote(client: Call, name: str, by_id: bool) -> None:
    """Columns found by field id, where the session reads by these and where it does not."""
    same, log = client("arrow", opened(name).location, BY_ID if by_id else None)
    assert same and ("Spark's own reader" if by_id else "the Python data source") in log[0]


def test_sql(client: Call, log: DeltaLog) -> None:
    view = f"CREATE OR REPLACE TEMPORARY VIEW v USING tableformats OPTIONS (path '{log.root}', versionAsOf 1)"
    assert client("sql", view, "SELECT `a b`, count(*) AS n FROM v GROUP BY ALL") == [["it's", 100], ["y", 100]]


def test_writes(client: Call, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "w").start(field("id", "long"), field("a b", "string"), partition=("a b",))
    query = "SELECT id, IF(id % 2 = 0, 'x', NULL) AS `A b` FROM range(6)"
    assert client("append", str(log.root), query) == [1, 6]
    client("save", str(log.root), "SELECT 7 AS id", "append")
    rows = [[i, None if i % 2 else "x"] for i in (0, 1, 2, 3, 4, 5, 7)]
    assert read(client, log.root)["rows"] == rows
    with pytest.raises(Refused) as caught:
        client("append", str(log.root), "SELECT 'text' AS id")
    assert caught.value.args[0] == "ConstraintViolationError" and caught.value.args[2] == "id"
    with pytest.raises(Refused) as caught:
        client("append", str(log.root), f"SELECT CAST({2**63} AS DECIMAL(19)) AS id")
    assert caught.value.args[0] == "ConstraintViolationError" and caught.value.args[2] == "id"
    client("save", str(log.root), "SELECT 8 AS id", "overwrite")
    assert read(client, log.root)["rows"] == [[8, None]]


@pytest.mark.parametrize("staging", WAYS, ids=["staged", "data source"])
def test_a_new_column(client: Call, log: DeltaLog, staging: str | None) -> None:
    log.commit(
        3,
        {"metaData": metadata(field("id", "long"), field("a b", "string"), field("more", "long"), partition=("a b",))},
    )
    assert read(client, log.root, filter="id = 0", staging=staging)["rows"] == [[0, "it's", None]]
    assert read(client, log.root, filter="id = 0", version=2, staging=staging)["rows"] == [[0, "it's"]]


def test_refusals(client: Call, log: DeltaLog) -> None:
    with pytest.raises(Refused) as caught:
        read(client, log.root, mode="native")
    assert caught.value.args[0] == "UnsupportedFeatureError" and 'mode="portable"' in caught.value.args[1]
    with pytest.raises(Refused) as caught:
        read(client, log.root, mode="fast")
    assert caught.value.args[2] == "mode fast"


def test_portable_in_a_classic_session(spark: Any, log: DeltaLog, caplog: Any) -> None:
    if not serves_connect():
        pytest.skip("needs PySpark 4")
    for staging, way in WAYS.items():
        with caplog.at_level("INFO", "tableformats.spark"):
            frame = tf.spark.read(spark, log.root, mode="portable", filter="id < 3", staging=staging)
        assert sorted(row.id for row in frame.collect()) == [0, 2]
        assert "asked for" in caplog.text and way in caplog.text
    with caplog.at_level("INFO", "tableformats.spark"):
        tf.spark.read(spark, log.root)
    assert "native path" in caplog.text
