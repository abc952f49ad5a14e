"""ORC data files through Spark: the rows that Arrow gives, or a refusal by name; in one table with Parquet files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import DecimalType, Field, ListType, MapType, StructType, primitive
from tests.spark.support.plans import files_read
from tests.support.arrow_fakes import FakeFile, snapshot_of, with_id, write
from tests.support.rows import rows, spark_rows

UTC = dt.timezone.utc
X, Y = Field(1, "x", primitive("long")), Field(2, "y", primitive("string"))


def attributed(f: pa.Field, field_id: int) -> pa.Field:
    return f.with_metadata({"iceberg.id": str(field_id)})


@pytest.fixture
def reads_instants(spark: Any) -> None:
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 3):
        pytest.skip("Spark before 4.3 reads no ORC file with instants")


def write_orc(root: Path, table: pa.Table, *ids: int, name: str = "f.orc") -> FakeFile:
    fields = [attributed(f, i) for f, i in zip(table.schema, ids, strict=True)]
    orc.write_table(table.cast(pa.schema(fields)), root / name, compression="zstd")
    return FakeFile(str(root / name), table.num_rows, file_format="orc")


def same(spark: Any, scan: Any) -> list[str]:
    expected = scan.to_arrow()
    frame = scan.to_spark(spark)
    assert frame.columns == expected.column_names
    found = spark_rows(frame, expected.schema)
    assert found == rows(expected)
    return found


TYPES: list[tuple[Any, pa.DataType, list[Any]]] = [
    (primitive("boolean"), pa.bool_(), [True, None]),
    (primitive("int"), pa.int32(), [-(2**31), None]),
    (primitive("long"), pa.int64(), [2**63 - 1, None]),
    (primitive("long"), pa.int32(), [-5, None]),
    (primitive("float"), pa.float32(), [float("nan"), -0.0]),
    (primitive("double"), pa.float64(), [float("nan"), -0.0]),
    (primitive("double"), pa.float32(), [0.1, None]),
    (DecimalType(9, 2), pa.decimal128(9, 2), [Decimal("-1.50"), None]),
    (DecimalType(30, 2), pa.decimal128(9, 2), [Decimal("1234567.89"), None]),
    (DecimalType(38, 10), pa.decimal128(38, 10), [Decimal("1234567890123456789012345678.0123456789"), None]),
    (primitive("string"), pa.string(), ["a b ü 😀 ", ""]),
    (primitive("binary"), pa.binary(), [b"\x00\xff", None]),
    (primitive("uuid"), pa.binary(), [bytes(range(16)), None]),
    (primitive("date"), pa.date32(), [dt.date(1582, 10, 15), dt.date(9999, 12, 31)]),
    (
        primitive("timestamp"),
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 11, 3, 8, 30, 0, 5, UTC), dt.datetime(1900, 1, 3, tzinfo=UTC)],
    ),
]


@pytest.mark.usefixtures("reads_instants")
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_types(spark: Any, settings: Any, tmp_path: Path, vectorized: str) -> None:
    settings({"spark.sql.orc.enableVectorizedReader": vectorized})
    fields = [Field(i, f"c{i}", kind) for i, (kind, _, _) in enumerate(TYPES, 1)]
    table = pa.table({f.name: pa.array(values, stored) for f, (_, stored, values) in zip(fields, TYPES, strict=True)})
    file = write_orc(tmp_path, table, *(f.id for f in fields))
    scan = snapshot_of(tmp_path, fields, [file], by="id").scan()
    same(spark, scan)
    for where in (
        "c5 > 1",
        "c6 = 0",
        "c7 < 1",
        "c4 = -5",
        "c9 > 1000000",
        "c14 >= '1582-10-15'",
        "c11 LIKE 'a%'",
        "c15 = TIMESTAMP '2024-11-03 08:30:00.000005'",
        "c15 < '1900-01-04'",
        "c1 IS NULL",
    ):
        assert len(same(spark, scan.where(where))) >= 1, where


def _zone(spark: Any, name: str | None) -> None:
    zones = spark._jvm.java.util.TimeZone
    zones.setDefault(None if name is None else zones.getTimeZone(name))


@pytest.mark.usefixtures("reads_instants")
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kolkata"])
def test_instants_in_whatever_zone_the_process_is(spark: Any, tmp_path: Path, zone: str) -> None:
    hours = [dt.datetime(2024, 11, 3, 8, 30, tzinfo=UTC) + dt.timedelta(hours=i) for i in range(3)]
    files = [
        write_orc(tmp_path, pa.table({"t": pa.array([hour], pa.timestamp("us", "UTC"))}), 1, name=f"{i}.orc")
        for i, hour in enumerate(hours)
    ]
    frame = snapshot_of(tmp_path, [Field(1, "t", primitive("timestamp"))], files, by="id").scan().to_spark(spark)
    seconds = [int(hour.timestamp()) for hour in hours]
    _zone(spark, zone)
    try:
        assert sorted(row[0] for row in frame.selectExpr("unix_seconds(t)").collect()) == seconds
        # The stripes' bounds are compared in the same zone.
        assert [frame.where(f"t = timestamp_seconds({s})").count() for s in seconds] == [1, 1, 1]
    finally:
        _zone(spark, None)


def test_names_are_found_by_id_in_every_file(spark: Any, settings: Any, tmp_path: Path) -> None:
    """Swapped and added again, beside a Parquet file, and whatever the session says of positions."""
    settings({"orc.force.positional.evolution": "true"})
    numbers = pa.array(range(100), pa.int64())
    text = pa.array([f"t{i:03}" for i in range(100)])
    files = [
        write_orc(tmp_path, pa.table({"y": numbers, "x": text}), 1, 2, name="swapped.orc"),
        write_orc(tmp_path, pa.table({"x": numbers}), 7, name="other.orc"),
        FakeFile(
            write(
                tmp_path,
                pa.table({"x": numbers, "y": text}).cast(
                    pa.schema([with_id(pa.field("x", pa.int64()), 1), with_id(pa.field("y", pa.string()), 2)])
                ),
            ),
            100,
        ),
    ]
    d = Field(3, "d", primitive("int"), initial_default=4)
    scan = snapshot_of(tmp_path, [Y, d, X], files, by="id").scan()
    assert len(same(spark, scan)) == 300
    assert same(spark, scan.where("x = 7")) == ["('t007', 4, 7)"] * 2
    assert len(same(spark, scan.where("y IS NULL AND d = 4"))) == 100
    assert files_read(scan.to_spark(spark).where("d = 5")) == 0


def test_nested(spark: Any, tmp_path: Path) -> None:
    inner = pa.struct([attributed(pa.field("q", pa.int32()), 12), attributed(pa.field("p", pa.float64()), 11)])
    items = pa.list_(attributed(pa.field("item", inner), 30))
    pairs = pa.map_(attributed(pa.field("key", pa.string(), False), 31), attributed(pa.field("value", inner), 32))
    columns = [pa.field("s", inner), pa.field("l", items), pa.field("m", pairs)]
    schema = pa.schema([attributed(f, i) for i, f in enumerate(columns, 2)])
    one, none = {"p": float("nan"), "q": 1}, {"p": None, "q": None}
    data = [
        {"s": one, "l": [one, none], "m": [("k", one)]},
        {"s": None, "l": None, "m": None},
        {"s": none, "l": [], "m": []},
    ]
    orc.write_table(pa.Table.from_pylist(data, schema=schema), tmp_path / "f.orc")
    new = Field(13, "new", primitive("int"), initial_default=5)
    kind = StructType(
        (
            Field(11, "q", primitive("double")),
            Field(12, "p", primitive("long")),
            new,
            Field(14, "gone", primitive("int")),
        )
    )
    fields = [
        Field(4, "m", MapType(Field(31, "key", primitive("string")), Field(32, "value", kind))),
        Field(2, "t", kind),
        Field(3, "l", ListType(Field(30, "element", kind))),
    ]
    snapshot = snapshot_of(tmp_path, fields, [FakeFile(str(tmp_path / "f.orc"), 3, file_format="orc")], by="id")
    same(spark, snapshot.scan())
    frame = snapshot.scan().to_spark(spark)
    assert frame.where("t.q > 5").count() == 1, "NaN is greater than all numbers"
    assert frame.where("t.p = 1 AND t.new = 5 AND t.gone IS NULL").count() == 1


def test_equality_deletes(spark: Any, tmp_path: Path) -> None:
    file = write_orc(tmp_path, pa.table({"x": pa.array([1, 2, None], pa.int64()), "y": ["a", "b", "c"]}), 1, 2)
    file.keys = ["e"]
    keys = {"e": pa.table({"1": pa.array([None, 2], pa.int64())})}
    assert same(spark, snapshot_of(tmp_path, [X, Y], [file], by="id", equality=keys).scan()) == ["(1, 'a')"]


def _refusal(spark: Any, root: Path, kind: Any, values: pa.Array) -> UnsupportedFeatureError:
    file = write_orc(root, pa.table({"x": pa.array([1] * len(values), pa.int64()), "v": values}), 1, 2)
    snapshot = snapshot_of(root, [X, Field(2, "v", kind)], [file], by="id")
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot.scan().to_spark(spark)
    # The other columns are read.
    assert len(snapshot.scan(columns=["x"]).to_spark(spark).collect()) == len(values)
    return caught.value


def test_what_spark_would_read_as_something_else(spark: Any, tmp_path: Path) -> None:
    early = pa.array([dt.date(1582, 10, 14)])
    assert _refusal(spark, tmp_path, primitive("date"), early).field == "v"
    clocks = pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))
    assert "timestamp" in str(_refusal(spark, tmp_path, primitive("timestamp_ntz"), clocks))
    assert _refusal(spark, tmp_path, primitive("int"), pa.array([1], pa.int64())).field == "v"
    # Nulls alone have no bounds, and need none.
    file = write_orc(tmp_path, pa.table({"v": pa.nulls(2, pa.date32())}), 2, name="nulls.orc")
    nulls = snapshot_of(tmp_path, [Field(2, "v", primitive("date"))], [file], by="id")
    assert len(nulls.scan().to_spark(spark).collect()) == 2


@pytest.mark.usefixtures("reads_instants")
def test_early_instants(spark: Any, tmp_path: Path) -> None:
    instants = pa.array([dt.datetime(1883, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    assert _refusal(spark, tmp_path, primitive("timestamp"), instants).field == "v"


def test_instants_and_older_sparks(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They read no column of such a file."""
    monkeypatch.setattr("tableformats.engines.spark.columns.orc_checks._READS_INSTANTS", (99, 0))
    instants = pa.array([dt.datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    file = write_orc(tmp_path, pa.table({"x": pa.array([1], pa.int64()), "t": instants}), 1, 2)
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot_of(tmp_path, [X], [file], by="id").scan().to_spark(spark)
    assert caught.value.field == "instants in ORC files"


def test_positions_in_orc_files_are_refused(spark: Any, tmp_path: Path) -> None:
    file = write_orc(tmp_path, pa.table({"x": pa.array(np.arange(3))}), 1)
    file.positions = [1]
    with pytest.raises(UnsupportedFeatureError, match="portable") as caught:
        snapshot_of(tmp_path, [X], [file], by="id").scan().to_spark(spark)
    assert caught.value.field == "positions in orc data files"
    named = write_orc(tmp_path, pa.table({"_col0": pa.array([1, 2], pa.int64())}), 1, name="named.orc")
    with pytest.raises(UnsupportedFeatureError, match="position"):
        snapshot_of(tmp_path, [X], [named], by="id").scan().to_spark(spark)
