"""The native path on hand-made tables: each row as Arrow reads it, for what is easy to read wrongly with Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.errors import UnsupportedFeatureError
from tableformats.plugin import DeleteFiles, NameMapping, PartitionSpec, ReadRequest
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, Schema, StructType, primitive
from tests.spark.support.delta_log import DeltaFile, write_delta
from tests.spark.support.session import has_data_sources
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, with_id, write
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows

A = Field(1, "a", primitive("long"))
B = Field(2, "b", primitive("string"))


def same_rows(spark: Any, scan: Any) -> list[str]:
    """Asserts that Spark and Arrow agree; returns the rows."""
    expected = scan.to_arrow()
    frame = scan.to_spark(spark)
    assert frame.columns == expected.column_names
    found = spark_rows(frame, expected.schema)
    assert found == rows(expected)
    return found


# ---- constants ----------------------------------------------------------------------------------------------------

CONSTANTS: list[tuple[Any, Any]] = [
    (primitive("boolean"), True),
    (primitive("byte"), -128),
    (primitive("short"), 32767),
    (primitive("int"), -(2**31)),
    (primitive("long"), 2**63 - 1),
    (primitive("float"), math.nan),
    (primitive("double"), -0.0),
    (primitive("string"), "a/b=%41 'ü'\n"),
    (primitive("binary"), b"\x00\xff"),
    (FixedType(3), b"abc"),
    (primitive("uuid"), bytes(range(16))),
    (primitive("date"), dt.date(1, 1, 1)),
    (primitive("timestamp"), dt.datetime(1900, 1, 1, tzinfo=dt.timezone.utc)),
    (primitive("timestamp_ntz"), dt.datetime(2024, 3, 10, 2, 30, 0, 1)),
    (DecimalType(9, 2), Decimal("-1234567.89")),
    (DecimalType(38, 10), Decimal("1234567890123456789012345678.0123456789")),
]


@pytest.mark.parametrize("values_first", [True, False])
def test_constants_of_every_type(spark: Any, tmp_path: Path, values_first: bool) -> None:
    fields = [Field(10 + i, f"c{i}", kind) for i, (kind, _) in enumerate(CONSTANTS)]
    spec = identity_spec(0, *((1000 + i, f) for i, f in enumerate(fields)))
    path = write(tmp_path, pa.table({"a": pa.array([1, None], pa.int64())}))
    other = write(tmp_path, pa.table({"a": pa.array([3], pa.int64())}), "g.parquet")
    files = [
        FakeFile(path, 2, {1000 + i: value for i, (_, value) in enumerate(CONSTANTS)}),
        FakeFile(other, 1, {1000 + i: None for i in range(len(CONSTANTS))}),
    ]
    snapshot = snapshot_of(tmp_path, [A, *fields], files, specs=[spec], partition_values_first=values_first)
    assert len(same_rows(spark, snapshot.scan())) == 3
    # Nothing but constants: no column of a file is read.
    same_rows(spark, snapshot.scan(columns=["c1", "c7"]))
    assert snapshot.scan().to_spark(spark).where("c13 = TIMESTAMP_NTZ '2024-03-10 02:30:00.000001'").count() == 2
    assert snapshot.scan().to_spark(spark).where("c5 = double('NaN')").count() == 2


def test_specs_with_and_without_a_column(spark: Any, tmp_path: Path) -> None:
    """A file of the old spec holds the column itself; one of the new spec may lack it."""
    old = write(tmp_path, pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", None]}), "old.parquet")
    new = write(tmp_path, pa.table({"a": pa.array([3], pa.int64())}), "new.parquet")
    files = [FakeFile(old, 2), FakeFile(new, 1, {1000: "from metadata"}, spec_id=1)]
    specs = [PartitionSpec(0, ()), identity_spec(1, (1000, B))]
    scan = snapshot_of(tmp_path, [A, B], files, specs=specs).scan()
    assert same_rows(spark, scan) == ["(1, 'x')", "(2, None)", "(3, 'from metadata')"]
    assert [row.a for row in scan.to_spark(spark).where("b = 'from metadata'").collect()] == [3]


# ---- names and ids ------------------------------------------------------------------------------------------------


def _ids(table: pa.Table, *ids: int) -> pa.Table:
    return table.cast(pa.schema([with_id(f, i) for f, i in zip(table.schema, ids, strict=True)]))


def _by_id(root: Path, fields: Sequence[Field], paths: Sequence[str], history: Sequence[Schema] | None) -> Any:
    files = [FakeFile(path, pq.read_metadata(path).num_rows) for path in paths]
    snapshot = snapshot_of(root, fields, files, by="id")
    snapshot.format_snapshot.schema_history = history or ()
    snapshot.format_snapshot.schema_history_is_complete = history is not None
    return snapshot


X, Y = Field(1, "x", primitive("long")), Field(2, "y", primitive("long"))
SWAPPED = [Field(1, "y", primitive("long")), Field(2, "x", primitive("long"))]


@pytest.mark.parametrize("known", [True, False])
def test_swapped_names_keep_rows_under_pushed_filters(spark: Any, tmp_path: Path, known: bool) -> None:
    data = pa.table({"x": pa.array(range(1000), pa.int64()), "y": pa.array(range(5000, 6000), pa.int64())})
    path = write(tmp_path, _ids(data, 1, 2), row_group_size=100)
    history = [Schema((X, Y)), Schema(tuple(SWAPPED))] if known else None
    snapshot = _by_id(tmp_path, SWAPPED, [path], history)
    same_rows(spark, snapshot.scan())
    assert same_rows(spark, snapshot.scan("x >= 5990 AND y < 995")) == [f"({i}, {i + 5000})" for i in range(990, 995)]


def test_a_dropped_and_added_column_is_null_in_old_files(spark: Any, tmp_path: Path) -> None:
    old = write(tmp_path, _ids(pa.table({"k": [1, 2], "x": [10, 20]}), 9, 1), "old.parquet")
    new = write(tmp_path, _ids(pa.table({"k": [3, 4], "x": [30, None]}), 9, 5), "new.parquet")
    k = Field(9, "k", primitive("long"))
    fields = [k, Field(5, "x", primitive("long"))]
    snapshot = _by_id(tmp_path, fields, [old, new], [Schema((k, X)), Schema((k,)), Schema(tuple(fields))])
    assert same_rows(spark, snapshot.scan("x IS NULL")) == ["(1, None)", "(2, None)", "(4, None)"]
    assert same_rows(spark, snapshot.scan("x IS NOT NULL")) == ["(3, 30)"]


def test_names_that_never_meant_another_column_are_pushed(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, _ids(pa.table({"x": [1, 2], "y": [3, 4]}), 1, 2))
    snapshot = _by_id(tmp_path, [X, Y], [path], [Schema((X, Y))])
    plan = snapshot.scan("x > 1").to_spark(spark)._jdf.queryExecution().executedPlan().toString()
    assert "PushedFilters: [IsNotNull(x), GreaterThan(x,1)]" in plan
    unknown = _by_id(tmp_path, [X, Y], [path], None)
    assert "(x,1)" not in unknown.scan("x > 1").to_spark(spark)._jdf.queryExecution().executedPlan().toString()


def test_renamed_nested_columns_by_id(spark: Any, tmp_path: Path) -> None:
    inner = pa.struct([with_id(pa.field("p", pa.int64()), 3), with_id(pa.field("q", pa.string()), 4)])
    stored = pa.schema(
        [
            with_id(pa.field("s", inner), 2),
            with_id(pa.field("l", pa.list_(inner)), 5),
            with_id(pa.field("m", pa.map_(pa.string(), inner)), 6),
        ]
    )
    one, two = {"p": 1, "q": "one"}, {"p": None, "q": None}
    path = write(
        tmp_path,
        pa.Table.from_pylist(
            [
                {"s": one, "l": [one, None, two], "m": [("k", two)]},
                {"s": None, "l": None, "m": []},
                {"s": two, "l": [], "m": None},
            ],
            schema=stored,
        ),
    )
    # The members are swapped in name, one is new, and q comes first.
    members = StructType(
        (Field(4, "p", primitive("string")), Field(3, "q r`.s", primitive("long")), Field(77, "new", primitive("date")))
    )
    fields = [
        Field(6, "mm", MapType(Field(8, "key", primitive("string")), Field(9, "value", members))),
        Field(5, "ll", ListType(Field(10, "element", members))),
        Field(2, "S.s", members),
    ]
    snapshot = _by_id(tmp_path, fields, [path], None)
    same_rows(spark, snapshot.scan())
    assert snapshot.scan().to_spark(spark).where("`S.s`.p = 'one'").count() == 1


def test_a_reader_that_knows_no_ids_is_refused(spark: Any, tmp_path: Path, settings: Any) -> None:
    path = write(tmp_path, _ids(pa.table({"x": [1], "s": [{"a": 1}]}), 1, 2))
    fields = [X, Field(2, "s", StructType((Field(3, "a", primitive("long")),)))]
    scan = _by_id(tmp_path, fields, [path], None).scan()
    for setting in ("spark.sql.parquet.enableVectorizedReader", "spark.sql.parquet.enableNestedColumnVectorizedReader"):
        before = scan.to_spark(spark)
        settings({setting: "false"})
        with pytest.raises(UnsupportedFeatureError) as caught:
            scan.to_spark(spark)
        assert caught.value.field == setting
        with pytest.raises(Exception, match=f"set {setting} to true"):
            before.collect()
        settings({setting: "true"})


def test_physical_names_nested(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"c1": [{"c2": 1, "c3": [{"c4": "x"}]}, None], "c5": [1.5, math.nan]}))
    deep = StructType((Field(4, "d", primitive("string"), physical_name="c4"),))
    s = StructType(
        (
            Field(3, "list", ListType(Field(9, "element", deep)), physical_name="c3"),
            Field(2, "n", primitive("long"), physical_name="c2"),
        )
    )
    fields = [Field(5, "f", primitive("double"), physical_name="c5"), Field(1, "c2", s, physical_name="c1")]
    snapshot = snapshot_of(tmp_path, fields, [FakeFile(path, 2)])
    same_rows(spark, snapshot.scan())
    assert same_rows(spark, snapshot.scan("c2.n = 1", columns=["f"])) == ["(1.5,)"]


def test_files_without_ids_follow_the_name_mapping(spark: Any, tmp_path: Path) -> None:
    plain = write(tmp_path, pa.table({"X": [1, 2], "s": [{"old": 5}, None], "junk": [0, 0]}), "plain.parquet")
    inner = pa.struct([with_id(pa.field("n", pa.int64()), 4)])
    stored = pa.schema([with_id(pa.field("renamed", pa.int64()), 1), with_id(pa.field("s", inner), 3)])
    with_ids = write(tmp_path, pa.Table.from_pylist([{"renamed": 3, "s": {"n": 6}}], schema=stored), "ids.parquet")
    fields = [X, Field(3, "s", StructType((Field(4, "n", primitive("long")),))), Field(8, "junk", primitive("long"))]
    names = {"X": 1, "s": 3, "s.old": 4, "renamed": 1}
    files = [FakeFile(plain, 2), FakeFile(with_ids, 1)]
    snapshot = snapshot_of(tmp_path, fields, files, by="id", names=names)
    same_rows(spark, snapshot.scan())
    same_rows(spark, snapshot.scan("x >= 2 AND junk IS NULL"))


def test_files_without_ids_and_without_a_mapping_are_refused(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"x": [1]}))
    snapshot = snapshot_of(tmp_path, [X], [FakeFile(path, 1)], by="id")
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot.scan().to_spark(spark)
    assert caught.value.field == "field ids" and caught.value.path == path


def test_files_without_ids_of_tables_that_dropped_nothing(spark: Any, tmp_path: Path) -> None:
    fields = [X, Field(2, "y", primitive("string")), Field(3, "new", primitive("long"))]
    files = [
        FakeFile(write(tmp_path, pa.table({"x": [1, 2], "y": ["a", None]}), "plain.parquet"), 2),
        FakeFile(write(tmp_path, _ids(pa.table({"y": ["b"], "x": [3]}), 2, 1), "ids.parquet"), 1),
    ]
    snapshot = snapshot_of(tmp_path, fields, files, by="id")
    snapshot.format_snapshot.name_mapping = NameMapping("id", undropped=snapshot.schema)
    same_rows(spark, snapshot.scan())
    assert snapshot.scan().to_spark(spark).where("y = 'a'").count() == 1
    swapped = write(tmp_path, pa.table({"y": ["a"], "x": [1]}), "swapped.parquet")
    snapshot.format_snapshot.files = [FakeFile(swapped, 1)]  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot.scan().to_spark(spark)
    assert caught.value.field == "field ids" and caught.value.path == swapped


def test_one_file_without_ids_among_others_is_an_error(spark: Any, tmp_path: Path) -> None:
    good = write(tmp_path, _ids(pa.table({"x": [1]}), 1), "good.parquet")
    bad = write(tmp_path, pa.table({"x": [2]}), "bad.parquet")
    snapshot = snapshot_of(tmp_path, [X], [FakeFile(good, 1), FakeFile(bad, 1)], by="id")
    spark.conf.set("spark.sql.parquet.fieldId.read.ignoreMissing", "true")
    try:
        with pytest.raises(Exception, match="field Ids"):
            snapshot.scan().to_spark(spark).collect()
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.ignoreMissing")


def test_columns_that_files_lack_are_null(spark: Any, tmp_path: Path) -> None:
    old = write(tmp_path, pa.table({"a": pa.array([1], pa.int64())}), "old.parquet")
    new = write(tmp_path, pa.table({"b": ["x"], "a": pa.array([2], pa.int64())}), "new.parquet")
    void = Field(7, "nothing", primitive("unknown"))
    snapshot = snapshot_of(tmp_path, [B, A, void], [FakeFile(old, 1), FakeFile(new, 1)])
    assert same_rows(spark, snapshot.scan()) == ["('x', 2, None)", "(None, 1, None)"]
    assert same_rows(spark, snapshot.scan("b IS NULL", columns=["a"])) == ["(1,)"]


def test_widened_columns(spark: Any, tmp_path: Path) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark's vectorised reader widens from 4.0 on; before, it raises an error of its own")
    old = {
        "l": pa.array([1, -(2**31)], pa.int32()),
        "d": pa.array([1.5, math.nan], pa.float32()),
        "m": pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
    }
    new = {
        "l": pa.array([2**40], pa.int64()),
        "d": pa.array([0.1], pa.float64()),
        "m": pa.array([Decimal("123456789.25")], pa.decimal128(20, 2)),
    }
    files = [
        FakeFile(write(tmp_path, pa.table(old), "old.parquet"), 2),
        FakeFile(write(tmp_path, pa.table(new), "new.parquet"), 1),
    ]
    fields = [Field(1, "l", primitive("long")), Field(2, "d", primitive("double")), Field(3, "m", DecimalType(20, 2))]
    snapshot = snapshot_of(tmp_path, fields, files)
    assert len(same_rows(spark, snapshot.scan())) == 3
    same_rows(spark, snapshot.scan("l < 2 AND m > 1.2"))


# ---- deletes ------------------------------------------------------------------------------------------------------

SETTINGS: list[dict[str, str]] = [
    {},
    {"spark.sql.parquet.enableVectorizedReader": "false"},
    {"spark.sql.files.maxPartitionBytes": "20000", "spark.sql.files.openCostInBytes": "0"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.columnVector.offheap.enabled": "true"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    {"spark.sql.codegen.maxFields": "1"},
]


@pytest.mark.parametrize("chosen", one_of(3, SETTINGS), ids=[next(iter(s), "default") for s in SETTINGS])
def test_deleted_positions_under_pushed_filters(
    spark: Any, tmp_path: Path, settings: Any, chosen: dict[str, str]
) -> None:
    settings(chosen)
    count = 20_000
    numbers = np.random.default_rng(7).permutation(count)
    data = pa.table({"a": pa.array(np.arange(count)), "b": [f"{n:05}" for n in numbers]})
    paths = [write(tmp_path, data, f"{i}.parquet", row_group_size=3_000, data_page_size=2_000) for i in range(6)]
    deleted: list[Sequence[int]] = [
        [0, 1, 4095, 4096, 8192, count - 1],
        range(0, count, 2),
        range(count),
        [],
        [0],
        [9000, 9001],
    ]
    files = [FakeFile(p, count, positions=d) for p, d in zip(paths, deleted, strict=True)]
    scan = snapshot_of(tmp_path, [A, B], files).scan()
    same_rows(spark, scan)
    # Whole row groups, and pages by their index, are skipped; positions count from the file's start all the same.
    for condition in ("a BETWEEN 4090 AND 4100", "a >= 19990", "a = 8192", "b < '00030'"):
        same_rows(spark, scan.where(condition))
    assert scan.to_spark(spark).count() == 4 * count - 9 + count // 2


def test_deletes_of_a_file_of_unknown_length(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"a": [0, 1, 2]}))
    snapshot = snapshot_of(tmp_path, [A], [FakeFile(path, None, positions=[1, 5_000_000])])
    assert spark_rows(snapshot.scan().to_spark(spark)) == ["(0,)", "(2,)"]


def _keys(**columns: Any) -> pa.Table:
    return pa.table({name[1:]: column for name, column in columns.items()})


def _shared_deletes(snapshot: Any) -> Any:
    """The same snapshot, its equality delete files listed once each, as formats list them."""
    inner = snapshot.format_snapshot
    listed = inner.attach_deletes

    def attach(files: pa.Table, request: ReadRequest) -> DeleteFiles:
        deletes = listed(files, request)
        rows = deletes.files.to_pylist()
        first = {repr(row): i for i, row in reversed(list(enumerate(rows))) if row["kind"] == "equality"}
        numbers = [first.get(repr(row), i) for i, row in enumerate(rows)]
        return DeleteFiles(deletes.files, deletes.offsets, np.array(numbers, np.int32))

    inner.attach_deletes = attach
    return snapshot


def test_equality_deletes(spark: Any, tmp_path: Path) -> None:
    stored = pa.table({"a": pa.array([1, 2, 3, None, 5], pa.int64()), "b": ["x", "y", None, None, "z"]})
    keys_of = {
        "first": _keys(_1=pa.array([1, None], pa.int64())),
        "second": _keys(_1=pa.array([5, 1], pa.int64())),
        "pairs": _keys(_2=pa.array([None, "y"]), _1=pa.array([3, 7], pa.int64())),
        "empty": _keys(_1=pa.array([], pa.int64())),
        "other": _keys(_1=pa.array([2], pa.int64())),
    }
    # What applies, and how many rows are left: one file has a deleted position too.
    expected = [
        ("first second pairs", 1),
        ("second pairs", 1),
        ("pairs empty", 4),
        ("", 5),
        ("other", 4),
        ("other first", 2),
        ("second", 3),
        ("first second other", 1),
    ]
    files = []
    for i, (keys, _) in enumerate(expected):
        path = write(tmp_path, stored, f"{i}.parquet")
        files.append(FakeFile(path, 5, keys=keys.split(), positions=[1] if i == 1 else []))
    snapshot = _shared_deletes(snapshot_of(tmp_path, [A, B], files, equality=keys_of))
    assert len(same_rows(spark, snapshot.scan())) == sum(left for _, left in expected)
    same_rows(spark, snapshot.scan("b IS NULL"))
    # The keys' columns need not be in the result.
    same_rows(spark, snapshot.scan(columns=["b"]))


def test_equality_deletes_of_floats_decimals_and_days(spark: Any, tmp_path: Path) -> None:
    kinds = [
        primitive("double"),
        DecimalType(20, 3),
        primitive("date"),
        primitive("timestamp"),
        primitive("binary"),
        FixedType(2),
        primitive("uuid"),
    ]
    fields = [Field(i, f"c{i}", kind) for i, kind in enumerate(kinds, 1)]
    moment = dt.datetime(2024, 3, 10, 10, 30, tzinfo=dt.timezone.utc)
    values = [
        (math.nan, Decimal("1.500"), dt.date(1960, 1, 1), moment, b"\x00", b"ab", bytes(16)),
        (1.0, None, None, None, None, None, None),
        (
            None,
            Decimal("-2.000"),
            dt.date(2024, 1, 1),
            moment + dt.timedelta(microseconds=1),
            b"",
            b"ac",
            bytes(range(16)),
        ),
    ]
    schema = Schema(tuple(fields)).to_arrow()
    names = schema.names
    path = write(tmp_path, pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in values], schema=schema))
    for i, f in enumerate(fields):
        for row in range(3):
            keys_of = {"e": pa.table({str(f.id): pa.array([values[row][i]], schema.field(i).type)})}
            files = [FakeFile(path, 3, keys=["e"])]
            assert len(same_rows(spark, snapshot_of(tmp_path, fields, files, equality=keys_of).scan())) == 2


def test_equality_deletes_by_id_of_a_dropped_column(spark: Any, tmp_path: Path) -> None:
    stored = pa.table({"x": [1, 2, 3], "gone": ["p", "q", None]})
    path = write(tmp_path, _ids(stored, 1, 6))
    keys_of = {"e": pa.table({"6": pa.array(["q", None])})}
    files = [FakeFile(path, 3, keys=["e"])]
    snapshot = snapshot_of(tmp_path, [Field(1, "gone", primitive("long"))], files, by="id", equality=keys_of)
    gone = Field(6, "gone", primitive("string"))
    snapshot.format_snapshot.schema_history = [Schema((X, gone)), snapshot.schema]
    snapshot.format_snapshot.schema_history_is_complete = True
    assert spark_rows(snapshot.scan().to_spark(spark)) == ["(1,)"]


def test_equality_deletes_by_id_of_a_member(spark: Any, tmp_path: Path) -> None:
    """The struct is not in the result: Spark, asked for a part of a column alone, forgets the column's id."""
    inner = pa.struct([with_id(pa.field("n", pa.int64()), 4), with_id(pa.field("o", pa.int64()), 5)])
    stored = pa.schema([with_id(pa.field("x", pa.int64()), 1), with_id(pa.field("s", inner), 3)])
    data = [{"x": 1, "s": {"n": 7, "o": 1}}, {"x": 2, "s": None}, {"x": 3, "s": {"n": 8, "o": 2}}]
    path = write(tmp_path, pa.Table.from_pylist(data, schema=stored))
    members = StructType((Field(4, "n", primitive("long")), Field(5, "o", primitive("long"))))
    files = [FakeFile(path, 3, keys=["e"])]
    fields, keys_of = [X, Field(3, "renamed", members)], {"e": pa.table({"4": pa.array([8, None], pa.int64())})}
    snapshot = snapshot_of(tmp_path, fields, files, by="id", equality=keys_of)
    assert spark_rows(snapshot.scan(columns=["x"]).to_spark(spark)) == ["(1,)"]
    assert len(same_rows(spark, snapshot.scan())) == 1


# ---- what queries and sessions may do -----------------------------------------------------------------------------


def test_paths_and_values_with_special_characters(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    values = ["a b", "x=1/y", "50%25", "ü€😀", "q?#[*]{}", "'\"`$;", "back\\slash", "a:b"]
    files = []
    for i, value in enumerate(values):
        folder = f"p={value.replace('/', '%2F')}"
        path = f"{folder}/f {i} %41#?.parquet"
        quoted = path.replace("%", "%25").replace(" ", "%20").replace("#", "%23").replace("?", "%3F")
        files.append(DeltaFile(path, pa.table({"id": pa.array([i], pa.int64())}), {"p": value}, logged=quoted))
    scan = tf.open_table(write_delta(tmp_path / "spe cial%:#", schema, files, ["p"])).scan()
    assert len(same_rows(spark, scan)) == len(values)
    for i, value in enumerate(values):
        frame = scan.to_spark(spark)
        assert [row.id for row in frame.where(frame.p == value).collect()] == [i], value


def test_an_empty_plan_keeps_the_schema(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    files = [DeltaFile("f.parquet", pa.table({"id": pa.array([1], pa.int64())}), {"p": "x"})]
    table = tf.open_table(write_delta(tmp_path / "t", schema, files, ["p"]))
    frame = table.scan("p = 'y'").to_spark(spark)
    assert frame.dtypes == [("id", "bigint"), ("p", "string")]
    assert frame.collect() == []
    assert frame.where("id > 1 AND p IS NULL").count() == 0


def test_the_plan_shows_a_short_label_and_no_paths(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = pa.schema([("id", pa.int64())])
    files = [DeltaFile(f"f{i}.parquet", pa.table({"id": pa.array([i], pa.int64())})) for i in range(3)]
    root = write_delta(tmp_path / "events", schema, files)
    frame = tf.spark.read(spark, root, filter="id < 2")
    frame.explain()
    text = capsys.readouterr().out
    assert "[delta events@v0, 2 of 3 files]" in text and "parquet" in text and str(tmp_path) not in text
    size = sum((root / f"f{i}.parquet").stat().st_size for i in range(2))
    assert frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() == size
    assert sorted(path.rsplit("/", 1)[-1] for path in frame.inputFiles()) == ["f0.parquet", "f1.parquet"]


def test_a_missing_file_is_an_error_whatever_the_session_says(spark: Any, tmp_path: Path, settings: Any) -> None:
    settings({"spark.sql.files.ignoreMissingFiles": "true", "spark.sql.files.ignoreCorruptFiles": "true"})
    paths = [write(tmp_path, pa.table({"a": [i]}), f"{i}.parquet") for i in range(2)]
    frame = snapshot_of(tmp_path, [A], [FakeFile(p, 1) for p in paths]).scan().to_spark(spark)
    Path(paths[0]).unlink()
    with pytest.raises(Exception, match=r"(?i)not.?found|does not exist|FAILED_READ"):
        frame.collect()
    Path(paths[0]).write_bytes(b"PAR1" + bytes(200) + b"PAR1")
    with pytest.raises(Exception, match=r"(?i)parquet|FAILED_READ"):
        frame.collect()


def test_the_sessions_settings_stay(spark: Any, tmp_path: Path) -> None:
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    path = write(tmp_path, _ids(pa.table({"x": [1]}), 1))
    snapshot_of(tmp_path, [X], [FakeFile(path, 1)], by="id").scan().to_spark(spark).collect()
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


def test_names_are_no_patterns(spark: Any, tmp_path: Path, settings: Any) -> None:
    settings({"spark.sql.parser.quotedRegexColumnNames": "true"})
    path = write(tmp_path, pa.table({"a.b": [1.5], "axb": [2.5]}))
    fields = [Field(1, "a.b", primitive("double")), Field(2, "axb", primitive("double"))]
    assert same_rows(spark, snapshot_of(tmp_path, fields, [FakeFile(path, 1)]).scan()) == ["(1.5, 2.5)"]
    keys_of = {"e": pa.table({"1": [1.5, 7.5]}), "f": pa.table({"2": [1.5, 7.5]})}
    for keys, left in (["e"], []), (["f"], ["(1.5, 2.5)"]):
        files = [FakeFile(path, 1, keys=keys)]
        assert same_rows(spark, snapshot_of(tmp_path, fields, files, equality=keys_of).scan()) == left


@pytest.mark.skipif(not has_data_sources(), reason="the portable path needs PySpark 4")
def test_names_are_no_patterns_in_the_portable_way(spark: Any, tmp_path: Path, settings: Any) -> None:
    settings({"spark.sql.parser.quotedRegexColumnNames": "true"})
    path = write(tmp_path, pa.table({"a.b": [1.5], "axb": [2.5]}))
    fields = [Field(1, "a.b", primitive("double")), Field(2, "axb", primitive("double"))]
    scan = snapshot_of(tmp_path, fields, [FakeFile(path, 1)]).scan("`a.b` > 1")
    assert spark_rows(scan.to_spark(spark, mode="portable")) == ["(1.5, 2.5)"]


def test_names_that_differ_in_case_alone(spark: Any, tmp_path: Path, settings: Any) -> None:
    settings({"spark.sql.caseSensitive": "true"})
    path = write(tmp_path, _ids(pa.table({"x": [1, 2], "X": [3, 4]}), 1, 2))
    fields = [Field(2, "X", primitive("long")), X]
    scan = _by_id(tmp_path, fields, [path], [Schema((X, fields[0]))]).scan()
    assert same_rows(spark, scan) == ["(3, 1)", "(4, 2)"]
    assert scan.to_spark(spark).where("x > 1 AND X = 4").count() == 1


# ---- refusals -----------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Field, str]] = [
    (Field(3, "t", primitive("time")), "t"),
    (Field(3, "n", primitive("timestamp_ns")), "n"),
    (Field(3, "s", StructType((Field(4, "u", primitive("uuid")),))), "s.u"),
    (Field(3, "l", ListType(Field(4, "element", primitive("time")))), "l"),
    (Field(3, "_tmp_metadata_row_index", primitive("long")), "_tmp_metadata_row_index"),
]


@pytest.mark.parametrize(("column", "name"), REFUSED, ids=[name for _, name in REFUSED])
def test_columns_that_are_refused_by_name(spark: Any, tmp_path: Path, column: Field, name: str) -> None:
    path = write(tmp_path, pa.table({"a": [1]}))
    snapshot = snapshot_of(tmp_path, [A, column], [FakeFile(path, 1)])
    with pytest.raises(UnsupportedFeatureError) as caught:
        snapshot.scan().to_spark(spark)
    assert caught.value.field == name and caught.value.hint
    assert spark_rows(snapshot.scan(columns=["a"]).to_spark(spark)) == ["(1,)"]


def test_other_file_formats_and_modes_are_refused(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"a": [1]}))
    snapshot = snapshot_of(tmp_path, [A], [FakeFile(path, 1, file_format="vortex")])
    with pytest.raises(UnsupportedFeatureError, match="vortex data files"):
        snapshot.scan().to_spark(spark)
    with pytest.raises(UnsupportedFeatureError, match="fast"):
        snapshot.scan().to_spark(spark, mode="fast")


def test_spark_connect_is_refused(tmp_path: Path) -> None:
    connect: Callable[[], Any] = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "range": None})
    path = write(tmp_path, pa.table({"a": [1]}))
    with pytest.raises(UnsupportedFeatureError, match="portable") as caught:
        snapshot_of(tmp_path, [A], [FakeFile(path, 1)]).scan().to_spark(connect(), mode="native")
    assert caught.value.field == "Spark Connect"
