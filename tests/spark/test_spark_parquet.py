"""Data files by Spark's own writer: values, bounds, ids, what keeps it from writing, and what a failure leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.engines.spark.writing import frames
from tests.support.delta_log import DeltaLog, field

pytest.importorskip("pyspark", reason="needs the extra [spark]")

FLAT_TYPES = """SELECT CAST(i AS BYTE) AS y, CAST(i AS SHORT) AS h, i, CAST(i AS BIGINT) * 3000000000 AS l,
    CAST(i AS FLOAT) / 3 AS f, CASE i WHEN 1 THEN double('NaN') WHEN 2 THEN -0D ELSE i / 7D END AS d, i / 7D AS e,
    CAST(i AS DECIMAL(38, 9)) / 7 AS big, CAST(i AS DECIMAL(9, 2)) AS small, i % 2 = 0 AS b, 'é' || i AS s,
    CAST(i || 'x' AS BINARY) AS z, DATE '1500-01-01' + i AS day, TIMESTAMP '1969-12-31 23:59:59.999999Z' AS ts,
    TIMESTAMP_NTZ '1066-10-14 02:30:00' AS n, CAST(NULL AS INT) AS nothing, repeat('w', 100) || i AS wide
    FROM VALUES (1), (2), (3), (NULL) AS t(i)"""


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that Spark's own writer is taken, its name is added."""
    taken: list[str] = []
    written = frames.write_by_spark

    def noted(*args: Any) -> pa.Table:
        taken.append("spark")
        return written(*args)

    monkeypatch.setattr(frames, "write_by_spark", noted)
    return taken


def new_table(path: Path, frame: Any, format: str, **options: Any) -> tf.Table:
    nullable = pa.schema([f.with_nullable(True) for f in frames.arrow_schema(frame.schema)])
    return tf.create_table(str(path), nullable, format=format, **options)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_values_and_bounds(spark: Any, tmp_path: Path, ways: list[str], format: str) -> None:
    frame = spark.sql(FLAT_TYPES)
    if format == "iceberg":  # it has no bytes and shorts
        frame = frame.withColumns({name: frame[name].cast("int") for name in "yh"})
    table = new_table(tmp_path / "t", frame, format)
    commit = table.append(frame.repartition(2))
    assert (ways, commit.metrics["added_rows"]) == (["spark"], 4)
    rows = table.to_arrow()
    assert sorted(map(str, rows.to_pylist())) == sorted(map(str, frame.toArrow().cast(rows.schema).to_pylist()))
    assert not len(table.verify(deep=True))
    assert {path.suffix for path in (tmp_path / "t").rglob("part-*")} == {".parquet"}
    assert not [path for path in (tmp_path / "t").rglob("*") if path.suffix == ".crc" and "log" not in str(path)]
    _check_bounds(table)


def _check_bounds(table: tf.Table) -> None:
    """The bounds of each file are those of its rows; those of floats with NaN are not known."""
    plan = table.scan().plan()
    for name in table.schema.names:
        if name in ("b", "nothing", "wide"):  # without bounds, or cut
            continue
        for path in plan.file_uris():
            values = pq.read_table(path.removeprefix("file://"), partitioning=None).column(name)
            low, high = (pc.min_max(values)[key].as_py() for key in ("min", "max"))
            if (
                low is not None
                and low == low
                and not (pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py())
            ):
                for value in (low, high):
                    literal = pa.scalar(value, values.type)
                    kept = table.scan(pc.field(name) == literal).plan().file_uris()
                    assert path in kept, (name, value)
    dropped = table.scan("i > 3 OR s > 'é9' OR e > 1 OR small < 1").plan()
    assert dropped.report.files_planned == 0
    assert table.scan("isnan(d)").count() == 1


def test_names_and_ids_of_mapped_columns(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    pyiceberg = pytest.importorskip("pyiceberg.table")
    frame = spark.range(5).selectExpr("id AS `a b.c``d`", "'x' || id AS e")
    options: dict[str, Any] = {"properties": {"delta.columnMapping.mode": "name"}}
    for format, more in (("delta", options), ("iceberg", {})):
        table = new_table(tmp_path / format, frame, format, **more)
        table.append(frame.coalesce(1).select("e", "*").toDF("E", "a b.c`d", "f").drop("f"))
        assert table.to_arrow().sort_by("e").to_pydict() == frame.toArrow().to_pydict()
        [path] = table.scan().plan().file_uris()
        stored = pq.read_schema(path.removeprefix("file://"))
        assert [f.metadata[b"PARQUET:field_id"] for f in stored] == [b"1", b"2"]
    metadata = max((tmp_path / "iceberg" / "metadata").glob("*.metadata.json"))
    theirs = pyiceberg.StaticTable.from_metadata(str(metadata)).scan().to_arrow()
    assert theirs.sort_by("e").to_pydict() == frame.toArrow().to_pydict()
    assert ways == ["spark"] * 2


def test_what_python_has_to_write(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    """Rows that need a look, a cast or an order, and files that Spark would write otherwise."""
    log = [field("id", "long"), field("p", "string")]
    frame = spark.range(3).selectExpr("id", "CAST(id AS STRING) AS p")
    cases: dict[str, tuple[dict[str, Any], Any]] = {
        "partition": ({"partition": ("p",)}, frame),
        "cast": ({}, frame.selectExpr("CAST(id AS INT) AS id", "p")),
        "missing": ({}, frame.select("id")),
        "constraint": ({"configuration": {"delta.constraints.c": "id >= 0"}}, frame),
        "small files": ({"configuration": {"delta.targetFileSize": "1mb"}}, frame),
    }
    for name, (options, rows) in cases.items():
        table = tf.open_table(DeltaLog(tmp_path / name).start(*log, **options).root)
        table.append(rows)
        assert table.count() == 3
    for name in ("page-row-limit", "row-group-limit"):
        table = new_table(tmp_path / name, frame, "iceberg", properties={f"write.parquet.{name}": "2"})
        table.append(frame.coalesce(1))
        assert table.count() == 3
    assert pq.read_metadata(*(tmp_path / "row-group-limit").rglob("*.parquet")).num_row_groups == 2
    required = tf.open_table(DeltaLog(tmp_path / "r").start({**log[0], "nullable": False}, log[1]).root)
    required.append(frame)
    assert ways == []
    plain = tf.open_table(DeltaLog(tmp_path / "plain").start(*log).root)
    plain.append(frame)
    plain.append(frame.limit(0))
    assert (ways, plain.count()) == (["spark"] * 2, 3)
    assert len(list((tmp_path / "plain").glob("spark-*"))) == 1, "no rows leave no directory"


def test_a_failure_leaves_nothing(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    with pytest.raises(Exception, match="no luck"):
        table.append(spark.range(0, 9, 1, 3).selectExpr("IF(id = 8, CAST(raise_error('no luck') AS BIGINT), id) AS id"))
    assert (ways, table.snapshot().version) == (["spark"], 0)
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["_delta_log"]
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before


def test_bounds_of_texts_that_are_no_utf8(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("s", "string")).root)
    table.append(spark.sql("SELECT CAST(X'61FF' AS STRING) AS s UNION ALL SELECT 'b'").coalesce(1))
    [line] = (tmp_path / "t" / "_delta_log" / f"{1:020}.json").read_text().splitlines()[1:]
    assert ways == ["spark"]
    assert "maxValues" not in line or json.loads(json.loads(line)["add"]["stats"])["maxValues"] == {}
