"""Rows of Iceberg tables: lineage and metadata columns, files without field ids, initial defaults, Avro and ORC."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.support.conformance import ROOT, needs_tables
from tests.support.iceberg_rows import AB, table_of, with_ids, write

IMPALA = ROOT / "iceberg" / "impala"
LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def impala(name: str) -> tf.Table:
    return tf.open_table(IMPALA / name, relocate=True, format="iceberg")


def values(scan: tf.Scan) -> list[tuple[Any, ...]]:
    found = scan.to_arrow()
    found.validate(full=True)
    assert found.schema.equals(scan.schema.to_arrow(), check_metadata=True)
    return [tuple(row.values()) for row in found.to_pylist()]


V3: dict[str, Any] = {"format-version": 3, "next-row-id": 1000}


def last_column(field_id: int) -> dict[str, Any]:
    return {"last-column-id": field_id}


# ---- lineage and metadata columns -----------------------------------------------------------------------------------


@needs_tables
@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("iceberg_v3_row_lineage", 2872597867664652808),
        ("iceberg_v3_row_lineage_orc", 7033898671372067760),
    ],
)
def test_row_lineage(name: str, before: int) -> None:
    """The compacted file stores both columns; before it they were inherited."""
    table = impala(f"iceberg_v3/{name}")
    compacted, inherited = table.scan(columns=["i", *LINEAGE]), table.scan(columns=["i", *LINEAGE], version=before)
    assert len(compacted.plan()) == 1 and len(inherited.plan()) == 3
    assert sorted(values(compacted)) == sorted(values(inherited)) == [(1, 0, 1), (2, 1, 2), (3, 2, 3)]
    assert table.scan().to_arrow().column_names == ["i"]


@needs_tables
def test_row_lineage_of_avro() -> None:
    scan = impala("iceberg_v3/iceberg_v3_default_value_avro").scan(columns=["i", "j", *LINEAGE, "_pos"])
    assert sorted(values(scan)) == [(1, -1, 0, 1, 0), (2, 2, 1, 2, 0)]


def test_stored_lineage_wins_where_it_is_not_null(tmp_path: Path) -> None:
    stored = pa.table(
        {
            "a": [1, 2, 3],
            "r": pa.array([77, None, 78], pa.int64()),
            "s": pa.array([None, 4, 2], pa.int64()),
            "b": ["x", "y", "z"],
        }
    )
    write(tmp_path, "a", with_ids(stored, 1, 2147483540, 2147483539, 2), row_group_size=2)
    table = table_of(tmp_path, {"a": (3, {})}, *AB, row={"first_row_id": 100}, **V3)
    assert values(table.scan(columns=[*LINEAGE, "a"])) == [(77, 5, 1), (101, 4, 2), (78, 2, 3)]
    assert values(table.scan("a > 1", columns=["_ROW_ID"])) == [(101,), (78,)]
    assert values(table.scan("a > 1", columns=LINEAGE, limit=1)) == [(101, 4)]
    none = table_of(tmp_path, {"a": (3, {})}, *AB, **V3)
    assert values(none.scan(columns=["a", *LINEAGE])) == [(1, None, None), (2, None, None), (3, None, None)]


def test_columns_of_place(tmp_path: Path) -> None:
    rows = with_ids(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), 1, 2)
    for name in ("one", "two"):
        write(tmp_path, name, rows, row_group_size=2)
    specs = [
        {
            "spec-id": 0,
            "fields": [
                {"source-id": 1, "field-id": 1000, "name": "a_bucket", "transform": "bucket[4]"},
                {"source-id": 2, "field-id": 1001, "name": "b", "transform": "identity"},
            ],
        }
    ]
    first, second = {"a_bucket": 3, "b": None}, {"a_bucket": 0, "b": "k"}
    files = {"one": (3, {"partition": first}), "two": (3, {"partition": second})}
    more: dict[str, Any] = {"partition-specs": specs, "last-partition-id": 1001}
    members = [("a_bucket", 1000, "int"), ("b", 1001, "string")]
    table = table_of(tmp_path, files, *AB, partition=members, **more)
    scan = table.scan("a >= 2", columns=["_file", "_pos", "_spec_id", "_partition"])
    one, two = scan.plan().file_uris()
    assert values(scan) == [(one, 1, 0, first), (one, 2, 0, first), (two, 1, 0, second), (two, 2, 0, second)]
    assert scan.count() == 4
    for name in LINEAGE:
        with pytest.raises(InvalidPredicateError):
            table.scan(columns=[name])
    for name in ("_pos", "_partition.b"):
        with pytest.raises(UnsupportedFeatureError, match="no filter names it") as caught:
            table.scan(f"{name} = 1")
        assert caught.value.field == name and caught.value.hint


def test_columns_of_the_table_come_before_metadata_columns(tmp_path: Path) -> None:
    fields = (1, "_pos", "int"), (2147483646, "mine", "string")
    write(tmp_path, "a", with_ids(pa.table({"_pos": [7], "mine": ["m"]}), 1, 2147483646))
    table = table_of(tmp_path, {"a": (1, {})}, *fields)
    assert values(table.scan(columns=["_pos", "mine"])) == [(7, "m")]
    assert values(table.scan("_pos = 7")) == [(7, "m")]
    with pytest.raises(InvalidPredicateError):
        table.scan(columns=["_file"])


# ---- files without field ids ----------------------------------------------------------------------------------------


@needs_tables
@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_airports(kind: str) -> None:
    scan = impala(f"hadoop_catalog/ice/airports_{kind}").scan()
    assert scan.count() == scan.to_arrow().num_rows == 3376
    assert values(scan.where("iata = '00M'")) == [
        ("00M", "Thigpen ", "Bay Springs", None, "USA", 31.95376472, -89.23450472)
    ]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
class TestWithoutIds:
    def table(self, root: Path, suffix: str, stored: pa.Table, *fields: Any, **metadata: Any) -> tf.Table:
        write(root, f"a.{suffix}", stored)
        return table_of(root, {f"a.{suffix}": (stored.num_rows, {})}, *fields, **metadata)

    def test_position_and_name_agree(self, tmp_path: Path, suffix: str) -> None:
        table = self.table(tmp_path, suffix, pa.table({"a": [1, 2], "b": ["x", "y"]}), *AB)
        assert values(table.scan("a = 2")) == [(2, "y")]
        assert values(table.scan(columns=["b", "_pos"])) == [("x", 0), ("y", 1)]

    def test_columns_added_later_and_unknown_ones(self, tmp_path: Path, suffix: str) -> None:
        fields, nine = (*AB, (3, "c", "int")), {"c": {"initial-default": 9}}
        table = self.table(tmp_path, suffix, pa.table({"a": [1]}), *fields, defaults=nine, **V3)
        assert values(table.scan()) == [(1, None, 9)]
        table = self.table(tmp_path, suffix, pa.table({"a": [1], "b": ["x"], "d": [2]}), *AB)
        assert values(table.scan()) == [(1, "x")]

    def test_nested(self, tmp_path: Path, suffix: str) -> None:
        inner = {
            "type": "struct",
            "fields": [
                {"id": 2, "name": "x", "required": False, "type": "int"},
                {"id": 3, "name": "y", "required": False, "type": "long"},
            ],
        }
        listed = {"type": "list", "element-id": 5, "element-required": False, "element": "long"}
        fields = (1, "s", inner), (4, "l", listed)
        laid_out = pa.table({"s": [{"x": 1, "y": 2}]})
        table = self.table(tmp_path, suffix, laid_out, *fields, **last_column(5))
        assert values(table.scan()) == [({"x": 1, "y": 2}, None)]
        swapped = pa.table({"s": [{"y": 1, "x": 2}]})
        self.refused(self.table(tmp_path, suffix, swapped, *fields, **last_column(5)))

    @pytest.mark.parametrize(
        "stored",
        [
            pa.table({"b": ["x"], "a": [1]}),
            pa.table({"a": [1], "c": ["x"]}),
            pa.table({"c": [1], "b": ["x"]}),
            pa.table({"A": [1], "b": ["x"]}),
            pa.table({"c": [1], "a": [1], "b": ["x"]}),
        ],
        ids=lambda t: "".join(t.column_names),
    )
    def test_position_and_name_differ(self, tmp_path: Path, suffix: str, stored: pa.Table) -> None:
        self.refused(self.table(tmp_path, suffix, stored, *AB))

    def test_tables_that_dropped_a_column(self, tmp_path: Path, suffix: str) -> None:
        stored = pa.table({"a": [1], "b": ["x"]})
        self.refused(self.table(tmp_path, suffix, stored, *AB, **last_column(3)))

    def refused(self, table: tf.Table) -> None:
        with pytest.raises(UnsupportedFeatureError) as caught:
            table.scan().to_arrow()
        assert caught.value.field == "data files without field ids" and caught.value.hint


def test_avro_without_ids(tmp_path: Path) -> None:
    for names in (("a", "b"), ("b", "a")):
        members = [{"name": n, "type": ["null", "int" if n == "a" else "string"]} for n in names]
        (tmp_path / "data").mkdir(exist_ok=True)
        with (tmp_path / "data" / "a.avro").open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": members}, [{"a": 1, "b": "x"}, {"a": 2}])
        scan = table_of(tmp_path, {"a.avro": (2, {"file_format": "AVRO"})}, *AB).scan("a >= 1")
        if names == ("a", "b"):
            assert values(scan) == [(1, "x"), (2, None)]
        else:
            with pytest.raises(UnsupportedFeatureError) as caught:
                scan.to_arrow()
            assert caught.value.field == "data files without field ids"


# ---- initial defaults -----------------------------------------------------------------------------------------------


@needs_tables
@pytest.mark.parametrize("suffix", ["", "_orc", "_avro"])
def test_default_values(suffix: str) -> None:
    """A file written before the column has no bounds of it, and holds the default."""
    table = impala(f"iceberg_v3/iceberg_v3_default_value{suffix}")
    assert sorted(values(table.scan())) == [(1, -1), (2, 2)]
    assert values(table.scan("j = -1")) == [(1, -1)]
    assert values(table.scan("j IS NULL")) == []
    assert values(table.scan("j > 0")) == [(2, 2)]


@needs_tables
def test_default_before_the_column_existed() -> None:
    assert values(impala("iceberg_v3/iceberg_v3_default_value").scan(version=7752776210164022855)) == [(1,)]


@needs_tables
def test_default_of_a_partition_column() -> None:
    table = impala("iceberg_v3/test_default_part")
    assert sorted(map(repr, values(table.scan()))) == sorted(map(repr, [(1, -1), (2, -1), (3, 5), (4, 10), (5, None)]))
    assert sorted(values(table.scan("j = -1"))) == [(1, -1), (2, -1)]
    assert values(table.scan("j IS NULL")) == [(5, None)]
    assert sorted(values(table.scan("j > 5"))) == [(4, 10)]


@needs_tables
def test_default_of_a_member_needs_its_struct() -> None:
    when = dt.datetime(2024, 1, 15, 10, 30, 45, 123456, dt.timezone.utc)
    new = dt.datetime(2024, 12, 26, 2, 30, 45, 123456, dt.timezone.utc)
    scan = impala("iceberg_v3/test_complex_default").scan()
    assert sorted(values(scan), key=lambda row: row[0]) == [(1, None, when), (2, {"f1": 100, "f2": "hello"}, new)]
    assert values(scan.where("ts_tz = TIMESTAMP '2024-01-15 10:30:45.123456Z'")) == [(1, None, when)]


U = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
DEFAULTS: list[tuple[Any, Any, Any]] = [
    ("boolean", True, True),
    ("int", 34, 34),
    ("long", 4900000000, 4900000000),
    ("float", 1.0, 1.0),
    ("double", 1.5, 1.5),
    ("decimal(9,2)", "14.20", Decimal("14.20")),
    ("decimal(38,10)", "9" * 28 + ".0000000001", Decimal("9" * 28 + ".0000000001")),
    ("date", "2017-11-16", dt.date(2017, 11, 16)),
    ("time", "22:31:08.123456", dt.time(22, 31, 8, 123456)),
    ("timestamp", "2017-11-16T22:31:08.123456", dt.datetime(2017, 11, 16, 22, 31, 8, 123456)),
    ("timestamptz", "2017-11-16T22:31:08.123456+00:00", dt.datetime(2017, 11, 16, 22, 31, 8, 123456, dt.timezone.utc)),
    ("string", "iceberg", "iceberg"),
    ("uuid", str(U), U.bytes),
    ("fixed[4]", "000102ff", b"\x00\x01\x02\xff"),
    ("binary", "000102ff", b"\x00\x01\x02\xff"),
    ({"type": "list", "element-id": 50, "element-required": False, "element": "int"}, [1, None], [1, None]),
]


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS, ids=lambda v: str(v)[:20])
def test_defaults_at_every_depth(tmp_path: Path, kind: Any, default: Any, value: Any) -> None:
    """Of a column, of a member of a struct, and of a member of structs in lists; the file has none of them."""
    new = {"name": "new", "required": False, "type": kind, "initial-default": default}
    member = {"id": 3, "name": "x", "required": False, "type": "long"}

    def struct(field_id: int) -> dict[str, Any]:
        other = kind if isinstance(kind, str) else {**kind, "element-id": field_id + 30}
        return {"type": "struct", "fields": [{**member, "id": field_id}, {**new, "type": other, "id": field_id + 1}]}

    listed = {"type": "list", "element-id": 6, "element-required": False, "element": struct(7)}
    fields = (1, "a", "long"), (2, "s", struct(3)), (5, "l", listed), (9, "new", kind)

    def ided(name: str, t: pa.DataType, i: int) -> pa.Field:
        return pa.field(name, t, metadata={"PARQUET:field_id": str(i)})

    inner = [pa.struct([ided("x", pa.int64(), i)]) for i in (3, 7)]
    schema = pa.schema(
        [ided("a", pa.int64(), 1), ided("s", inner[0], 2), ided("l", pa.list_(ided("element", inner[1], 6)), 5)]
    )
    rows = [{"a": 1, "s": {"x": 1}, "l": [{"x": 1}, None, {"x": 2}]}, {"a": 2, "s": None, "l": []}]
    write(tmp_path, "a.parquet", pa.Table.from_pylist(rows, schema))
    table = table_of(tmp_path, {"a.parquet": (2, {})}, *fields, defaults={"new": {"initial-default": default}}, **V3)
    assert values(table.scan()) == [
        (1, {"x": 1, "new": value}, [{"x": 1, "new": value}, None, {"x": 2, "new": value}], value),
        (2, None, [], value),
    ]
    assert len(table.scan("new IS NOT NULL").plan()) == 1
    assert table.scan("new IS NULL").count() == 0


# ---- geometry and geography -----------------------------------------------------------------------------------------


def test_shapes_are_binary_with_their_type_beside(tmp_path: Path) -> None:
    """Their bounds are points, not bytes to compare with, so a file is kept whatever they are."""
    point = b"\x01\x01\x00\x00\x00" + struct.pack("<dd", 30.0, 10.0)
    write(tmp_path, "a.parquet", with_ids(pa.table({"g": [point, None], "h": [None, point]}), 1, 2))
    bounds = [{"key": 1, "value": struct.pack("<dd", 30.0, 10.0)}]
    said = {"lower_bounds": bounds, "upper_bounds": bounds, "null_value_counts": [{"key": 1, "value": 1}]}
    table = table_of(tmp_path, {"a.parquet": (2, said)}, (1, "g", "geometry(srid:3857)"), (2, "h", "geography"), **V3)
    scan = table.scan()
    assert values(scan) == [(point, None), (None, point)]
    assert [f.metadata[b"logical_type"] for f in scan.schema.to_arrow()] == [b"geometry(srid:3857)", b"geography"]
    assert len(table.scan(tf.col("g") > b"\xff").plan()) == len(table.scan(tf.col("g") == point).plan()) == 1
    assert values(table.scan(tf.col("g") == point)) == [(point, None)]
    assert table.scan("g IS NULL").count() == 1
