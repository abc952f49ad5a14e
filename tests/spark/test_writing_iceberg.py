"""DataFrames and streams written to Iceberg tables: hidden partitioning, sort orders, types, each batch once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.schema import Field, FixedType, ListType, Schema, StructType, primitive

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytest.importorskip("pyiceberg", reason="reads what was written")

from tests.support.iceberg_writing import new_table, pyiceberg_rows, pyiceberg_table, schema_of

COLUMNS = schema_of(id="long", s="string", ts="timestamp", u="uuid", day="date")
QUERY = """SELECT id, 'é' || id % 40 AS s, timestamp_micros(id * 1800000000L - 86400000000L) AS ts,
    IF(id % 7 = 0, NULL, '00000000-0000-0000-0000-0000000000' || lpad(lower(hex(id % 11)), 2, '0')) AS u,
    DATE '1969-12-25' + CAST(id / 100 AS INT) AS day FROM range(0, 2000, 1, 4)"""


@pytest.mark.parametrize(
    ("partition_by", "most"),
    [
        (["bucket(4, id)"], 6),
        (["day(ts)"], 60),
        (["bucket(3, u)", "truncate(2, s)"], 44),
        (["bucket(4, s)", "month(day)"], 14),
        ([], 4),
    ],
)
def test_hidden_partitioning(spark: Any, tmp_path: Path, partition_by: list[str], most: int) -> None:
    """``most``: the files where the rows of a partition are together; four tasks without a shuffle write more."""
    folder = new_table(tmp_path / "t", COLUMNS, 2, partition_by, sort_by=["ts desc"])
    commit = tf.open_table(folder).append(spark.sql(QUERY))
    assert commit.metrics["added_rows"] == 2000 and commit.metrics["added_files"] <= most
    found = pyiceberg_table(folder).scan().to_arrow().sort_by("id")
    expected = spark.sql(QUERY).orderBy("id").collect()
    columns = [found[name].to_pylist() for name in ("id", "s", "ts", "day")]
    assert list(zip(*columns, strict=True)) == [
        (row.id, row.s, ts, row.day) for row, ts in zip(expected, columns[2], strict=True)
    ]
    assert [round(ts.timestamp() * 1e6) for ts in columns[2]] == [i * 1800000000 - 86400000000 for i in range(2000)]
    assert [u and str(u) for u in found["u"].to_pylist()] == [row.u for row in expected]
    ours = tf.spark.read(spark, folder, filter="s = 'é7' AND ts < TIMESTAMP '1970-01-01 12:00:00Z'")
    assert sorted(row.id for row in ours.collect()) == [7, 47]
    for path in (folder / "data").rglob("*.parquet"):
        times = pq.read_table(path, partitioning=None)["ts"].to_pylist()
        assert times == sorted(times, reverse=True), "sorted as the table says"


def test_distribution_modes(spark: Any, tmp_path: Path) -> None:
    files = {}
    for mode in ("none", "hash", "range"):
        properties = {"write.distribution-mode": mode, "write.parquet.row-group-limit": "100"}
        folder = new_table(tmp_path / mode, COLUMNS, 2, ["bucket(4, id)"], properties, ["ts desc"])
        table = tf.open_table(folder)
        files[mode] = table.append(spark.sql(QUERY)).metrics["added_files"]
        assert tf.open_table(folder).count() == 2000
        for path in (folder / "data").rglob("*.parquet"):
            times = pq.read_table(path, partitioning=None)["ts"].to_pylist()
            assert times == sorted(times, reverse=True)
            footer = pq.read_metadata(path)
            assert max(footer.row_group(i).num_rows for i in range(footer.num_row_groups)) <= 100
    assert files["none"] == 4 * 4 and files["hash"] <= 6 and files["range"] <= 6
    folder = new_table(tmp_path / "t", COLUMNS, 2, properties={"write.distribution-mode": "x"})
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        tf.open_table(folder).append(pa.table({"id": [1]}))
    assert caught.value.field == "write.distribution-mode"


def test_types_and_field_ids(spark: Any, tmp_path: Path) -> None:
    member = StructType((Field(20, "u", primitive("uuid")), Field(21, "t", primitive("timestamp"))))
    fields = {"f": FixedType(2), "li": ListType(Field(22, "element", member)), "n": primitive("timestamp_ntz")}
    schema = Schema(tuple(Field(i, name, kind) for i, (name, kind) in enumerate(fields.items(), 1)))
    folder = new_table(tmp_path / "t", schema, 2)
    uuid = "12345678-1234-5678-1234-567812345678"
    frame = spark.sql(  # PyIceberg reads a file of NULL lists as one of empty lists
        f"""SELECT array(named_struct('u', '{uuid}', 't', TIMESTAMP '2024-03-10 12:00:00Z'), NULL) AS li,
        CAST('ab' AS BINARY) AS f, TIMESTAMP_NTZ '2024-03-10 02:30:00' AS n UNION ALL SELECT NULL, NULL, NULL"""
    )
    tf.open_table(folder).append(frame)
    [row, nulls] = sorted(pyiceberg_rows(folder), key=lambda row: row["f"] is None)
    assert row["f"] == b"ab" and str(row["n"]) == "2024-03-10 02:30:00" and not any(nulls.values())
    assert row["li"][1] is None and str(row["li"][0]["t"]) == "2024-03-10 12:00:00+00:00"
    assert getattr(row["li"][0]["u"], "bytes", row["li"][0]["u"]).hex() == uuid.replace("-", "")
    assert [found["li"] is None for found in tf.open_table(folder).to_arrow().to_pylist()].count(True) == 1
    with pytest.raises(tf.ConstraintViolationError) as caught:
        tf.open_table(folder).append(spark.sql("SELECT CAST('abc' AS BINARY) AS f"))
    assert caught.value.field == "f" and len(list((folder / "data").rglob("*.parquet"))) <= 2


def test_a_text_that_is_no_uuid(spark: Any, tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", COLUMNS, 2, ["bucket(3, u)", "bucket(3, s)"])
    with pytest.raises(tf.ConstraintViolationError, match="no uuid") as caught:
        tf.open_table(folder).append(spark.sql("SELECT 'xyz' AS u, 'x' AS s"))
    assert caught.value.field == "u" and not (folder / "data").exists()


def test_batches_of_a_stream_are_committed_once(tmp_path: Path) -> None:
    """By the writer alone, as Spark calls it."""
    pytest.importorskip("pyspark.sql.datasource", reason="needs PySpark 4.0")
    from pyspark.sql.types import LongType, StringType
    from pyspark.sql.types import StructType as SparkStruct

    from tableformats.spark.datasource import TableFormatsDataSource

    folder = new_table(tmp_path / "t", schema_of(id="long", s="string"), 2, ["bucket(4, s)"])
    schema = SparkStruct().add("id", LongType()).add("s", StringType())
    for batch_id, number in [(0, 10), (1, 11), (1, 11), (2, 12)]:
        writer = TableFormatsDataSource({"path": str(folder)}).streamWriter(schema, False)
        batch = pa.RecordBatch.from_arrays([pa.array([number]), pa.array(["x"])], ["_0", "_1"])
        messages = [pickle.loads(pickle.dumps(writer)).write(iter([batch]))]
        messages[0].query = "the query"
        pickle.loads(pickle.dumps(writer)).commit(pickle.loads(pickle.dumps(messages)), batch_id)
    assert [row["id"] for row in pyiceberg_rows(folder, "id")] == [10, 11, 12]
    assert len(pyiceberg_table(folder).snapshots()) == 3
