"""The data source ``tableformats`` in Spark: found by its name or registered, SQL, time travel, filters, errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support.rows import as_spark
from tests.support.delta_changes import data_file, id_file, inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, field, remove
from tests.support.golden import opened
from tests.support.iceberg_history import History
from tests.support.rows import collect, rows

datasource = pytest.importorskip("pyspark.sql.datasource", reason="needs PySpark 4.0")


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 1: a partition x of 0 to 99, a partition y of 100 to 199. Version 2: 1, 3 and 50 deleted."""
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field("p", "string"), protocol=WITH_VECTORS, partition=("p",))
    file = id_file(log, "1", range(100), partitionValues={"p": "x"})["add"]
    log.commit(1, {"add": file}, id_file(log, "2", range(100, 200), partitionValues={"p": "y"}))
    deleted = {**file, "deletionVector": inline_vector(1, 3, 50)}
    return log.commit(2, remove("1", partitionValues={"p": "x"}), {"add": deleted})


def load(spark: Any, path: Path, **options: Any) -> Any:
    return spark.read.format("tableformats").options(**options).load(str(path))


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_reads_and_travels(spark: Any, log: DeltaLog) -> None:
    frame = load(spark, log.root)
    assert frame.schema.simpleString() == "struct<id:bigint,p:string>"
    assert ids(frame) == [i for i in range(200) if i not in (1, 3, 50)]
    assert load(spark, log.root, versionAsOf=1).count() == 200
    assert ids(load(spark, log.root, filter="id < 5 OR id = 120", columns="ID")) == [0, 2, 4, 120]
    changed = load(spark, log.root, readChangeFeed="true", startingVersion=2)
    assert sorted((r.id, r._change_type, r._commit_version) for r in changed.collect()) == [
        (1, "delete", 2),
        (3, "delete", 2),
        (50, "delete", 2),
    ]


def test_a_view_keeps_its_version(spark: Any, log: DeltaLog) -> None:
    options = f"path '{log.root}', filter 'id > 190'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW kept USING tableformats OPTIONS ({options})")
    assert spark.sql("SELECT count(*) AS n, max(p) AS p FROM kept").collect() == [(9, "y")]
    log.commit(3, id_file(log, "3", range(300, 310), partitionValues={"p": "y"}))
    assert spark.table("kept").count() == 9
    assert load(spark, log.root, filter="id > 190").count() == 19
    spark.catalog.dropTempView("kept")


def test_a_view_of_the_fastest_reader(spark: Any, log: DeltaLog) -> None:
    assert ids(tf.spark.view(spark, "fast", log.root, version=1)) == list(range(200))
    assert spark.sql("SELECT count(*) AS n, max(p) AS p FROM fast WHERE id < 100").collect() == [(100, "x")]
    tf.spark.view(spark, "fast", log.root, filter="id > 190", columns=["id"])
    assert ids(spark.table("fast")) == list(range(191, 200))
    assert spark.sql("SELECT min(id) FROM {rows}", rows=tf.spark.read(spark, log.root)).collect() == [(0,)]
    spark.catalog.dropTempView("fast")


def test_register_checks_what_runs_the_data_source(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tf.spark.register(spark)
    monkeypatch.setattr("tableformats.spark.registration.__version__", "0.0.7")
    with pytest.raises(tf.UnsupportedFeatureError, match=r"executors has .* and the driver has 0.0.7") as caught:
        tf.spark.register(spark)
    assert caught.value.field == "executors" and "version 0.0.7" in (caught.value.hint or "")


def test_iceberg_branches_and_appends(spark: Any, tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2], [3]])
    history.commit("delete", positions=[("f1-0.parquet", 1)])
    history.commit("append", add=[[4]])
    assert ids(load(spark, history.root, branch="main")) == [1, 3, 4]
    assert ids(load(spark, history.root, versionAsOf=101)) == [1, 2, 3]
    assert ids(load(spark, history.root, **{"start-snapshot-id": 101})) == [4]


@pytest.mark.parametrize("name", ["delta-shredded-variant", "iceberg-evolution"])
def test_tables_that_spark_wrote(spark: Any, name: str) -> None:
    table = opened(name)
    frame = load(spark, Path(table.location), relocate="true", format=table.format)
    scan = table.scan()
    assert rows(collect(frame)) == rows(as_spark(scan.to_arrow(), scan.schema))


def test_instants_and_local_times_in_a_session_with_a_zone(spark: Any, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t")
    log.start(
        field("id", "long"),
        field("at", "timestamp"),
        field("local", "timestamp_ntz"),
        field("day", "date"),
        field("amount", "decimal(38,18)"),
        protocol={
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["timestampNtz"],
        },
    )
    micros = pa.array([-62135596800000000, 0, 253402300799999999, None])
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4]),
            "at": micros.cast(pa.timestamp("us", "UTC")),
            "local": micros.cast(pa.timestamp("us")),
            "day": pa.array([-719162, -141427, 2932896, None], pa.date32()),
            "amount": pa.array(["12345678901234567890.123456789012345678", "-1", "0", None]).cast(
                pa.decimal128(38, 18)
            ),
        }
    )
    log.commit(1, data_file(log, "1", table))
    frame = load(spark, log.root)
    assert rows(collect(frame)) == rows(table)
    shown = frame.where("id = 2").selectExpr("unix_micros(at) AS at", "string(local) AS local", "string(day) AS day")
    assert shown.collect() == [(0, "1970-01-01 00:00:00", "1582-10-15")]


# ---- filters --------------------------------------------------------------------------------------------------------


@pytest.fixture
def pushdown(settings: Any) -> Iterator[None]:
    if not hasattr(datasource, "Filter"):
        pytest.skip("filters are pushed from Spark 4.1 on")
    settings({"spark.sql.python.filterPushdown.enabled": "true"})
    yield


@pytest.mark.usefixtures("pushdown")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id IN (7, 8) AND p = 'x' AND id <=> 7", [7]),
        ("NOT p = 'y' AND id < 1", [0]),
        ("startswith(p, 'x') AND id >= 98 AND id IS NOT NULL", [98, 99]),
    ],
)
def test_pushed_filters_leave_files_out(spark: Any, log: DeltaLog, condition: str, expected: list[int]) -> None:
    (log.root / "2").unlink()
    assert ids(load(spark, log.root, pushFilters="true").where(condition)) == expected


@pytest.mark.usefixtures("pushdown")
def test_filters_that_cannot_be_pushed_are_applied(spark: Any, log: DeltaLog) -> None:
    for condition, expected in [("id % 100 = 7 AND id < 150", [7, 107]), ("p LIKE '%x' AND id < 3", [0, 2])]:
        assert ids(load(spark, log.root, pushFilters="true").where(condition)) == expected


@pytest.mark.usefixtures("pushdown")
def test_filters_of_one_query_are_not_those_of_another(spark: Any, log: DeltaLog) -> None:
    frame = load(spark, log.root)
    assert ids(frame.where("id < 3")) == [0, 2]
    assert frame.count() == 197
    low, high = frame.where("id < 3").alias("low"), frame.where("id > 190").alias("high")
    assert low.crossJoin(high).count() == 2 * 9


def test_without_pushdown_nothing_is_pushed_and_nothing_fails(spark: Any, log: DeltaLog) -> None:
    assert ids(load(spark, log.root).where("id < 3")) == [0, 2]


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versionAsOf": "7"}, "SnapshotNotFoundError: the table has no version 7.*Versions 0 to 2"),
        ({"maxFilesPerTrigger": "1"}, "a batch read does not take the option maxFilesPerTrigger"),
    ],
)
def test_errors_say_what_to_do(spark: Any, log: DeltaLog, options: dict[str, str], message: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=message) as caught:
        load(spark, log.root, **options).count()
    assert lines(caught.value) == 1


def lines(error: Exception) -> int:
    """The lines of an error's text, without Spark's own: what happened, and its state."""
    text = str(error).partition("An exception was thrown from the Python worker:")[2] or str(error)
    return len([line for line in text.splitlines() if line.strip() and not line.startswith(" SQLSTATE")])


def test_whole_tracebacks_where_the_session_asks_for_them(spark: Any, settings: Any, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    settings({"spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false"})
    with pytest.raises(AnalysisException, match=r"(?s)in schema.*\.TableNotFoundError: nothing is at the location"):
        load(spark, tmp_path / "nowhere")


def test_a_lost_file_is_an_error_of_the_job(spark: Any, log: DeltaLog) -> None:
    frame = load(spark, log.root)
    (log.root / "2").unlink()
    with pytest.raises(Exception, match="CorruptMetadataError") as caught:
        frame.collect()
    assert lines(caught.value) == 1


def test_another_schema_is_refused(spark: Any, log: DeltaLog) -> None:
    from pyspark.errors import AnalysisException

    frame = spark.read.format("tableformats").schema("id int").load(str(log.root))
    with pytest.raises(AnalysisException, match="UnsupportedFeatureError: the rows have the columns"):
        frame.count()


def test_plans_show_no_options(spark: Any, log: DeltaLog) -> None:
    frame = load(spark, log.root, storageOptions='{"secret": "hunter2"}')
    shown = frame._jdf.queryExecution().toString()
    assert "tableformats" in shown
    assert "hunter2" not in shown
