"""Columns with an initial default through Spark: files that lack them give the default, as they do through Arrow."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, Schema, StructType, primitive
from tests.spark.support.plans import files_read
from tests.support.arrow_fakes import FakeFile, snapshot_of, with_id, write
from tests.support.rows import rows, spark_rows

K = Field(1, "k", primitive("long"))
UTC = dt.timezone.utc
DEFAULTS: list[tuple[Any, Any]] = [
    (primitive("boolean"), True),
    (primitive("int"), -7),
    (primitive("long"), 2**40),
    (primitive("float"), 0.1),
    (primitive("double"), float("nan")),
    (DecimalType(20, 3), Decimal("-1.500")),
    (primitive("string"), "a'b\\ü"),
    (primitive("binary"), b"\x00\xff"),
    (FixedType(2), b"ab"),
    (primitive("uuid"), uuid.UUID(int=1 << 100)),
    (primitive("date"), dt.date(1582, 10, 10)),
    (primitive("timestamp"), dt.datetime(1960, 1, 1, 0, 0, 0, 1, UTC)),
    (primitive("timestamp_ntz"), dt.datetime(2024, 3, 10, 2, 30)),
]


def same(spark: Any, scan: Any) -> list[str]:
    expected = scan.to_arrow()
    found = spark_rows(scan.to_spark(spark), expected.schema)
    assert found == rows(expected)
    return found


def by_id(root: Path, fields: list[Field], *tables: pa.Table) -> Any:
    """A table with a file for each of ``tables``, whose fields carry ids."""
    paths = [write(root, table, f"{i}.parquet") for i, table in enumerate(tables)]
    files = [FakeFile(path, pq.read_metadata(path).num_rows) for path in paths]
    return snapshot_of(root, fields, files, by="id")


def numbered(table: pa.Table, *ids: int) -> pa.Table:
    return table.cast(pa.schema([with_id(f, i) for f, i in zip(table.schema, ids, strict=True)]))


def test_defaults_of_every_type(spark: Any, tmp_path: Path) -> None:
    fields = [K, *(Field(i, f"d{i}", kind, initial_default=v) for i, (kind, v) in enumerate(DEFAULTS, 10))]
    full = Schema(tuple(fields)).to_arrow()
    old = numbered(pa.table({"k": pa.array([1, 2], pa.int64())}), 1)
    nulls = pa.table([pa.array([3], pa.int64()), *(pa.nulls(1, f.type) for f in list(full)[1:])], full)
    snapshot = by_id(tmp_path, fields, old, nulls)
    assert len(same(spark, snapshot.scan())) == 3
    assert len(same(spark, snapshot.scan("d11 = -7"))) == 2
    frame = snapshot.scan().to_spark(spark)
    # A default is a constant of the files that lack the column.
    assert [files_read(frame.where(f"d11 = {value}")) for value in (-7, 5)] == [2, 1]
    for condition, count in [
        ("d11 IS NULL", 1),
        ("d14 > 1e300", 2),
        ("d20 = DATE '1582-10-10'", 2),
        ("d11 = 5", 0),
        ("d13 = 0.1F", 2),
        ("d19 = '00000010-0000-0000-0000-000000000000'", 2),
        ("d22 = TIMESTAMP_NTZ '2024-03-10 02:30:00'", 2),
    ]:
        assert frame.where(condition).count() == count, condition


DAY = Field(24, "x", primitive("date"), initial_default=dt.date(2024, 1, 1))
INNER = StructType(
    (
        Field(21, "p", primitive("int")),
        Field(22, "new", primitive("int"), initial_default=5),
        Field(23, "deep", StructType((DAY, Field(25, "y", primitive("double"))))),
    )
)
NESTED = [
    K,
    Field(2, "s", INNER),
    Field(3, "l", ListType(Field(30, "element", INNER))),
    Field(4, "m", MapType(Field(31, "key", primitive("string")), Field(32, "value", INNER))),
    Field(
        5,
        "whole",
        StructType((Field(26, "a", primitive("string"), initial_default="z"), Field(27, "b", primitive("int")))),
        initial_default={},
    ),
]


def _nested_file() -> pa.Table:
    deep = pa.struct([with_id(pa.field("y", pa.float64()), 25)])
    inner = pa.struct([with_id(pa.field("old name", pa.int32()), 21), with_id(pa.field("deep", deep), 23)])
    schema = pa.schema(
        [
            with_id(pa.field("k", pa.int64()), 1),
            with_id(pa.field("s", inner), 2),
            with_id(pa.field("l", pa.list_(with_id(pa.field("element", inner), 30))), 3),
            with_id(pa.field("m", pa.map_(pa.string(), inner)), 4),
        ]
    )
    full, empty = {"old name": 1, "deep": {"y": float("nan")}}, {"old name": None, "deep": None}
    return pa.Table.from_pylist(
        [
            {"k": 1, "s": full, "l": [full, None, empty], "m": [("a", full), ("b", None)]},
            {"k": 2, "s": None, "l": None, "m": None},
            {"k": 3, "s": empty, "l": [], "m": []},
        ],
        schema=schema,
    )


def test_defaults_inside_of_nested_columns(spark: Any, tmp_path: Path) -> None:
    snapshot = by_id(tmp_path, NESTED, _nested_file())
    same(spark, snapshot.scan())
    frame = snapshot.scan().to_spark(spark)
    assert [row.k for row in frame.where("s.new = 5").orderBy("k").collect()] == [1, 3]
    assert [row.k for row in frame.where("s.deep.x = DATE '2024-01-01' AND whole.a = 'z'").collect()] == [1]
    assert [row.k for row in frame.where("s.deep.y > 1").collect()] == [1]
    assert frame.where("whole.b IS NULL").select("whole.a").distinct().count() == 1
    assert frame.select("s.new").where("new IS NULL").count() == 1


def test_a_key_of_a_map_with_a_default_is_refused(spark: Any, tmp_path: Path) -> None:
    key = Field(
        31, "key", StructType((Field(33, "a", primitive("int")), Field(34, "b", primitive("int"), initial_default=1)))
    )
    column = Field(4, "m", MapType(key, Field(32, "value", primitive("int"))))
    stored = pa.struct([with_id(pa.field("a", pa.int32()), 33)])
    schema = pa.schema([with_id(pa.field("m", pa.map_(stored, pa.int32())), 4)])
    snapshot = by_id(tmp_path, [column], pa.Table.from_pylist([{"m": [({"a": 1}, 2)]}], schema=schema))
    # Arrow writes no field ids of keys and values: the file is read by names.
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot.scan().to_spark(spark)
    assert caught.value.field == "m"


def test_equality_deletes_by_a_default(spark: Any, tmp_path: Path) -> None:
    column = Field(2, "d", primitive("int"), initial_default=7)
    old = write(tmp_path, numbered(pa.table({"k": pa.array([1, 2], pa.int64())}), 1), "old.parquet")
    both = pa.table({"k": pa.array([3, 4], pa.int64()), "d": pa.array([7, 8], pa.int32())})
    new = write(tmp_path, numbered(both, 1, 2))
    keys = {"e": pa.table({"2": pa.array([7], pa.int32())})}
    files = [FakeFile(old, 2, keys=["e"]), FakeFile(new, 2, keys=["e"])]
    snapshot = snapshot_of(tmp_path, [K, column], files, by="id", equality=keys)
    assert same(spark, snapshot.scan()) == ["(4, 8)"]
