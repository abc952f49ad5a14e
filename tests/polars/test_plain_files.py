"""Which files polars reads itself: those whose values are the table's as they are. The rows are right either way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.io.parquet.schema_bytes import is_of_old_spark, local_footer, schema_bytes
from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, StructType, Type, primitive
from tableformats.schema.transforms import parse_transform
from tests.polars.test_lazy_frames import DAMAGE, IS_OLD, check, readers
from tests.support.arrow_fakes import FakeFile, snapshot_of

pl = pytest.importorskip("polars")
__all__ = ["readers"]
LONG = primitive("long")


def one_file(
    tmp_path: Path, column: pa.Array, kind: Type | str, footer: Mapping[str, str] | None = None, **options: Any
) -> Any:
    """A scan of a file with a column ``a``, which is a ``kind`` in the table, and a column ``id``."""
    rows, path = pa.table({"id": range(len(column)), "a": column}), tmp_path / "f.parquet"
    writer = {name: options.pop(name) for name in list(options) if name in ("store_schema", "int96")}
    int96 = writer.pop("int96", False)
    with pq.ParquetWriter(path, rows.schema, use_deprecated_int96_timestamps=int96, **writer) as made:
        made.write_table(rows)
        made.add_key_value_metadata(footer or {})
    more = {name: options.pop(name) for name in list(options) if name in ("required", "char_length")}
    field = Field(2, "a", primitive(kind) if isinstance(kind, str) else kind, **more)
    return snapshot_of(tmp_path, [Field(1, "id", LONG), field], [FakeFile(str(path), len(rows), **options)]).scan()


UTC_TIMES = pa.array([0, None], pa.timestamp("us", "UTC"))
STRUCT = StructType((Field(3, "u", LONG), Field(4, "v", primitive("string"))))
U_V = pa.struct([("u", pa.int64()), ("v", pa.string())])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, None], pa.int8()), "byte"),
        (pa.array([1, None], pa.int16()), "short"),
        (pa.array([1, None], pa.int32()), "int"),
        (pa.array([1.5, None], pa.float32()), "float"),
        (pa.array(["a", None]), "string"),
        (pa.array(["a", None], pa.large_string()), "string"),
        (pa.array(["a", None], pa.string_view()), "string"),
        (pa.array([b"a", None]), "binary"),
        (pa.array([b"a", None], pa.large_binary()), "binary"),
        (pa.array([b"ab", None], pa.binary(2)), FixedType(2)),
        (pa.array([1, None], pa.time64("us")), "time"),
        (pa.array([1, None], pa.decimal128(5, 2)), DecimalType(5, 2)),
        (pa.array([dt.date(1, 1, 1), None]), "date"),
        (UTC_TIMES, "timestamp"),
        (pa.array([1, None], pa.timestamp("us")), "timestamp_ntz"),
        (pa.array([1, None], pa.decimal128(38, 10)), DecimalType(38, 10)),
        (pa.array([[1], None], pa.list_(pa.int64())), ListType(Field(3, "element", LONG))),
        (pa.array([[1], None], pa.large_list(pa.int64())), ListType(Field(3, "element", LONG))),
        (pa.array([{"u": 1, "v": "x"}, None], U_V), STRUCT),
        (pa.array([[{"u": 1, "v": "x"}], None, [None]], pa.list_(U_V)), ListType(Field(9, "element", STRUCT))),
    ],
    ids=str,
)
def test_read_by_polars(column: pa.Array, kind: Type | str, tmp_path: Path, readers: dict[str, list[str]]) -> None:
    check(one_file(tmp_path, column, kind))
    assert readers["polars"] and not readers["arrow"]


LEGACY = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}


@pytest.mark.parametrize(
    ("column", "kind", "options"),
    [
        (pa.array([1, None], pa.int32()), "long", {}),
        (pa.array([1.5, None], pa.float32()), "double", {}),
        (pa.array([1, None], pa.int64()), "int", {}),
        (pa.array([b"a", None]), "string", {}),
        (pa.array(["a", None]), "binary", {}),
        (pa.array(["a", None]), "string", {"char_length": 3}),
        (pa.array([1, None], pa.timestamp("ms", "UTC")), "timestamp", {}),
        (pa.array([1, None], pa.timestamp("us")), "timestamp", {}),
        (pa.array([1, None], pa.timestamp("us")), "timestamp_ntz", {"int96": True}),
        (UTC_TIMES, "timestamp", {"int96": True, "store_schema": False}),
        (pa.array([-700_000, None], pa.int32()).cast(pa.date32()), "date", {"footer": LEGACY}),
        (
            pa.array([-700_000, None], pa.int32()).cast(pa.date32()),
            "date",
            {"footer": {"org.apache.spark.version": "2.4.0"}},
        ),
        (pa.array([1, None], pa.decimal128(5, 2)), DecimalType(9, 2), {}),
        (pa.array([{"u": 1}, None]), STRUCT, {}),
        (pa.array([{"v": "x", "u": 1}, None], pa.struct([U_V[1], U_V[0]])), STRUCT, {}),
        (pa.array([{"u": 1, "v": "x", "w": 2}, None]), STRUCT, {}),
        (pa.array([[1], None], pa.list_(pa.int32())), ListType(Field(3, "element", LONG)), {}),
        (pa.array([1, None]), "long", {"positions": [1]}),
        (pa.array(["a", None]), "string", {"file_format": "orc"}),
    ],
    ids=str,
)
def test_read_by_arrow(
    column: pa.Array, kind: Type | str, options: dict[str, Any], tmp_path: Path, readers: dict[str, list[str]]
) -> None:
    scan = one_file(tmp_path, column, kind, **options)
    if options.get("file_format") == "orc":
        from pyarrow import orc

        orc.write_table(pa.table({"id": [1, 2], "a": column}), str(tmp_path / "f.parquet"))
    check(scan)
    assert readers["arrow"] and not readers["polars"]
    readers["arrow"].clear()
    if not {"positions", "file_format"} & set(options):
        check(scan.select("id"))
        assert readers["polars"] and not readers["arrow"], "the other column is plain"


@pytest.mark.skipif(IS_OLD, reason="polars takes NULL in maps of Arrow for an empty map")
def test_maps(tmp_path: Path) -> None:
    kind = MapType(Field(3, "key", primitive("string")), Field(4, "value", LONG))
    check(one_file(tmp_path, pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), kind))


def test_required_columns(tmp_path: Path, readers: dict[str, list[str]]) -> None:
    scan = one_file(tmp_path, pa.array([1, 2]), "long", required=True)
    check(scan)
    assert readers["polars"] and not readers["arrow"]
    with pytest.raises(DAMAGE, match="a required column holds NULL"):
        one_file(tmp_path, pa.array([1, None]), "long", required=True).to_polars(lazy=True).collect()
    nested = StructType((Field(3, "u", LONG, required=True),))
    with pytest.raises(DAMAGE, match="a required column holds NULL"):
        one_file(tmp_path, pa.array([{"u": None}]), nested).to_polars(lazy=True).collect()
    missing = snapshot_of(
        tmp_path, [Field(1, "id", LONG), Field(9, "z", LONG, required=True)], [FakeFile(f"{tmp_path}/f.parquet", 1)]
    )
    with pytest.raises(DAMAGE, match="or the file lacks it"):
        missing.scan().to_polars(lazy=True).collect()


@pytest.mark.parametrize("name", ["^i.*$", "*", "a.b", "^", "$", "a b", "ü", "%41"])
def test_names_of_columns(name: str, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], name: [3, 4]})
    pq.write_table(rows, tmp_path / "f.parquet")
    fields = [Field(1, "id", LONG), Field(2, name, LONG)]
    scan = snapshot_of(tmp_path, fields, [FakeFile(f"{tmp_path}/f.parquet", 2)]).scan()
    check(scan)
    check(scan.select(name, "id"))
    assert scan.to_polars(lazy=True).filter(pl.col("id") > 1).collect().rows() == [(2, 4)]


def test_a_column_without_a_name(tmp_path: Path) -> None:
    """Of Arrow's columns polars names such a one anew."""
    pq.write_table(pa.table({"id": [1, 2], "": [3, 4]}), tmp_path / "f.parquet")
    fields = [Field(1, "id", LONG), Field(2, "", LONG)]
    for positions in ([], [0]):
        scan = snapshot_of(tmp_path, fields, [FakeFile(f"{tmp_path}/f.parquet", 2, positions=positions)]).scan()
        assert scan.to_polars(lazy=True).filter(pl.col("id") > 1).collect().to_dicts() == [{"id": 2, "": 4}]


@pytest.mark.parametrize("name", ["a b", "a%20b", "[a]", "a*", "d=2024-01-01", "_a", ".a", "ü", "#a?b"])
def test_names_of_files(name: str, tmp_path: Path, readers: dict[str, list[str]]) -> None:
    for folder in (tmp_path, tmp_path / name):
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": [1, 2]}), folder / f"{name}.parquet")
    files = [FakeFile(f"{folder}/{name}.parquet", 2) for folder in (tmp_path, tmp_path / name)]
    check(snapshot_of(tmp_path, [Field(1, "id", LONG)], files).scan())
    assert readers["polars"] and not readers["arrow"]


def test_columns_by_id(tmp_path: Path, readers: dict[str, list[str]]) -> None:
    """A file that has a column under another name, one that has another column under this name, and one without ids."""

    def written(name: str, **ids: int) -> FakeFile:
        fields = [pa.field(n, pa.int64(), metadata={"PARQUET:field_id": str(i)} if i else None) for n, i in ids.items()]
        columns = [pa.array([10 * i, 10 * i + 1]) for i in range(len(fields))]
        pq.write_table(pa.table(columns, pa.schema(fields)), tmp_path / name)
        return FakeFile(f"{tmp_path}/{name}", 2)

    files = [written("a", x=1, y=2), written("b", z=1, x=3), written("c", y=1, x=2), written("d", x=0, w=0)]
    fields = [Field(1, "x", LONG), Field(2, "y", LONG)]
    check(snapshot_of(tmp_path, fields, files, by="id", names={"x": 1, "w": 2}).scan())
    assert set(readers["polars"]) == {"a", "b", "c", "d"} and not readers["arrow"]


def test_constants_and_missing_columns(tmp_path: Path, readers: dict[str, list[str]]) -> None:
    table = tf.create_table(
        tmp_path / "t",
        pa.schema([("p", pa.string()), ("q", pa.date32()), ("id", pa.int64())]),
        format="delta",
        partition_by=["p", "q"],
    )
    day = dt.date(2024, 2, 29)
    for p, q in (("x", day), (None, day), ("y", None), ("é %/", day)):
        table.append(pa.table({"p": pa.array([p], pa.string()), "q": pa.array([q], pa.date32()), "id": [1]}))
    table.alter.add_columns({"z": pa.float64(), "st": pa.struct([("u", pa.int64())])})
    table.append(pa.table({"p": ["x"], "q": [day], "id": [2], "z": [0.5], "st": [{"u": 1}]}))
    check(table.scan(columns=["q", "id", "p", "z"]))
    assert len(set(readers["polars"])) == 5 and not readers["arrow"]
    assert table.to_polars(lazy=True).filter(pl.col("p") == "x", pl.col("q") == day).collect().height == 2
    check(table.scan())
    check(table.scan(columns=["p"]))


def test_zeros_of_both_signs(tmp_path: Path) -> None:
    """They are equal, and not the same constant."""
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a")
    pq.write_table(pa.table({"id": [2]}), tmp_path / "b")
    fields, identity = [Field(1, "p", primitive("double")), Field(2, "id", LONG)], parse_transform("identity")
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, identity, primitive("double")),))
    files = [FakeFile(f"{tmp_path}/{name}", 1, {1000: zero}) for name, zero in (("a", 0.0), ("b", -0.0))]
    scan = snapshot_of(tmp_path, fields, files, specs=[spec], partition_values_first=True).scan()
    check(scan)
    assert str(scan.to_polars(lazy=True).collect()["p"].to_list()) == "[0.0, -0.0]"


def test_the_calendar_of_one_file_is_not_that_of_all(tmp_path: Path) -> None:
    days, files = pa.array([-700_000], pa.int32()).cast(pa.date32()), []
    for i, version in enumerate(("3.5.0", "2.4.8", "3.5.0")):
        with pq.ParquetWriter(tmp_path / f"{i}", pa.schema([("d", pa.date32())])) as writer:
            writer.write_table(pa.table({"d": days}))
            writer.add_key_value_metadata({"org.apache.spark.version": version})
        files.append(FakeFile(f"{tmp_path}/{i}", 1))
    scan = snapshot_of(tmp_path, [Field(1, "d", primitive("date"))], files).scan()
    check(scan)
    assert scan.to_polars(lazy=True).collect()["d"].n_unique() == 2


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(mode: str, tmp_path: Path, readers: dict[str, list[str]]) -> None:
    rows = pa.table({"a": [1, 2], "b": ["x", "y"], "p": [7, 7]})
    properties = {"delta.columnMapping.mode": mode}
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta", partition_by=["p"], properties=properties)
    table.append(rows)
    table.alter.rename_column("a", "c")
    table.alter.rename_column("b", "a")
    check(table.scan())
    assert readers["polars"] and not readers["arrow"]
    frame = table.to_polars(lazy=True)
    assert frame.filter(pl.col("a") == "y").collect().rows() == [(2, "y", 7)]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_types_that_became_wider(kind: str, tmp_path: Path, readers: dict[str, list[str]]) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "s": ["a", "b"]})
    properties = {"delta.enableTypeWidening": "true"} if kind == "delta" else {}
    table = tf.create_table(tmp_path / "t", rows.schema, format=kind, properties=properties)
    table.append(rows)
    table.alter.change_type("id", pa.int64())
    table.append(rows.set_column(0, "id", pa.array([3, 2**40])))
    check(table.scan())
    assert len(readers["polars"]) == len(readers["arrow"]) == 2
    assert table.to_polars(lazy=True).filter(pl.col("id") > 2).collect()["id"].sort().to_list() == [3, 2**40]


def test_metadata_columns(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), format="iceberg")
    table.append(pa.table({"id": [1, 2]}))
    scan = table.scan(columns=["_file", "id", "_pos"])
    check(scan)
    assert scan.to_polars(lazy=True).filter(pl.col("_pos") > 0).collect()["id"].to_list() == [2]


def test_runs_keep_the_order_of_the_plan(tmp_path: Path, readers: dict[str, list[str]]) -> None:
    files = []
    for i in range(60):
        pq.write_table(pa.table({"id": [i * 2, i * 2 + 1]}), tmp_path / f"{i}")
        files.append(FakeFile(f"{tmp_path}/{i}", 2, positions=[0] if i % 10 == 4 else []))
    scan = snapshot_of(tmp_path, [Field(1, "id", LONG)], files).scan()
    assert scan.to_polars(lazy=True).collect()["id"].to_list() == [i for i in range(120) if i // 2 % 10 != 4 or i % 2]
    assert len(readers["polars"]) == 54 and len(readers["arrow"]) == 6


# ---- footers --------------------------------------------------------------------------------------------------------


def test_files_of_one_schema_begin_alike(tmp_path: Path) -> None:
    first, second, other, wide = (str(tmp_path / name) for name in "abcd")
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), first)
    pq.write_table(pa.table({"a": list(range(1000)), "b": ["y"] * 1000}), second, row_group_size=10)
    pq.write_table(pa.table({"a": [1], "c": ["x"]}), other)
    pq.write_table(pa.table({f"c{i}": [1] for i in range(2000)}), wide)
    footers = [local_footer(path) for path in (first, second, other, wide)]
    assert all(footers)
    begins = [schema_bytes(footer or b"") for footer in footers]
    assert begins[0] and begins[0] == begins[1] != begins[2] and begins[3]
    assert len(footers[3] or b"") > 1 << 14


def test_what_has_no_footer(tmp_path: Path) -> None:
    path = tmp_path / "f"
    assert local_footer(str(path)) is None and local_footer(str(tmp_path)) is None and local_footer("\0") is None
    for data in (b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"x" * 100):
        path.write_bytes(data)
        assert local_footer(str(path)) is None
    assert schema_bytes(b"") is None and schema_bytes(b"\x15\x02") is None and schema_bytes(b"\xff" * 20) is None


@pytest.mark.parametrize(
    ("pairs", "is_old"),
    [
        ({}, False),
        ({"org.apache.spark.version": "3.5.1"}, False),
        ({"org.apache.spark.version": "4.0.0"}, False),
        ({"org.apache.spark.version": "3.0.3"}, True),
        ({"org.apache.spark.version": "2.4.8"}, True),
        ({"org.apache.spark.version": "odd"}, True),
        ({"org.apache.spark.version": "3.5.1", "org.apache.spark.legacyINT96": ""}, True),
    ],
)
def test_footers_of_old_spark(pairs: dict[str, str], is_old: bool, tmp_path: Path) -> None:
    with pq.ParquetWriter(tmp_path / "f", pa.schema([("a", pa.int64())])) as writer:
        writer.add_key_value_metadata(pairs)
    assert is_of_old_spark(local_footer(str(tmp_path / "f")) or b"") is is_old
