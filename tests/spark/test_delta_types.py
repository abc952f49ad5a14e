"""Delta's late types through Spark: files of older types after a widening, and variants, plain and shredded."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tableformats import UnsupportedFeatureError, open_table
from tableformats.engines.spark.columns.checks import check_readable
from tableformats.schema import Field, ListType, StructType, primitive
from tests.spark.support.session import READS_SHREDDED
from tests.support.delta_log import DeltaLog, field
from tests.support.delta_types import EMPTY, SHREDDED, VALUES, VARIANT, WIDENINGS, data_file, features, widened
from tests.support.examples import one_of
from tests.support.rows import rows, spark_rows
from tests.support.variants import decoded


@pytest.mark.parametrize("vectorized", one_of(2, ["true", "false"]))
@pytest.mark.parametrize(("old", "stored", "new", "values", "expected"), WIDENINGS)
def test_widened_columns(
    spark: Any,
    settings: Any,
    tmp_path: Path,
    vectorized: str,
    old: str,
    stored: pa.DataType,
    new: str,
    values: list[Any],
    expected: list[Any],
) -> None:
    """One file before the change and one after it, and filters that Spark pushes into both."""
    if spark.version.startswith("3."):
        pytest.skip("Spark reads widened columns from 4.0 on")
    from pyspark.sql import functions as F

    settings({"spark.sql.parquet.enableVectorizedReader": vectorized})
    log = DeltaLog(tmp_path / "t").start(widened(old, new), protocol=features("typeWidening", "timestampNtz"))
    kind = open_table(log.root).snapshot().schema.to_arrow().field("c").type
    log.commit(1, data_file(log, "old", pa.table({"c": pa.array(values, stored)})))
    log.commit(2, data_file(log, "new", pa.table({"c": pa.array([*expected, None], kind)})))
    scan = open_table(log.root).scan()
    frame = scan.to_spark(spark)
    if vectorized == "true" and new in ("decimal(4,1)", "decimal(5,0)"):
        # Fewer digits before the point than Spark's vectorised reader asks for, whatever the values are.
        with pytest.raises(Exception, match="PARQUET_COLUMN_DATA_TYPE_MISMATCH"):
            frame.collect()
        return
    assert spark_rows(frame) == rows(scan.to_arrow())
    for value in expected:
        literal = F.lit(str(value)).cast("timestamp_ntz") if isinstance(value, dt.datetime) else F.lit(value)
        assert frame.where(F.col("c") == literal).count() == 2
        assert frame.where(F.col("c") < literal).count() == scan.where(f"c < {_sql(value)}").count()


def _sql(value: Any) -> str:
    return f"'{value}'" if isinstance(value, dt.datetime) else str(value)


@pytest.fixture
def variants(spark: Any, tmp_path: Path) -> DeltaLog:
    if spark.version.startswith("3."):
        pytest.skip("Spark has variants from 4.0 on")
    nested = {"type": "array", "elementType": "variant", "containsNull": True}
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), field("v", "variant"), field("a", nested), protocol=features("variantShredding")
    )
    table = pa.table(
        {"id": [1, 2, 3], "v": pa.array(VALUES, VARIANT), "a": pa.array([VALUES, None, []], pa.list_(VARIANT))}
    )
    return log.commit(1, data_file(log, "plain", table))


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_variants(spark: Any, settings: Any, variants: DeltaLog, vectorized: str) -> None:
    settings({"spark.sql.parquet.enableVectorizedReader": vectorized})
    frame = open_table(variants.root).scan().to_spark(spark)
    assert frame.schema["v"].dataType.simpleString() == "variant"
    shown = frame.selectExpr("id", "to_json(v)", "variant_get(v, '$', 'int')", "to_json(get(a, 0))").collect()
    assert sorted(map(tuple, shown)) == [(1, "1", 1, "1"), (2, None, None, None), (3, "null", None, None)]
    scan = open_table(variants.root).scan("v IS NOT NULL AND id > 1", columns=["id"])
    assert spark_rows(scan.to_spark(spark)) == rows(scan.to_arrow()) == ["(3,)"]
    assert [row.id for row in frame.where("v IS NULL").collect()] == [2]


def test_shredded_variants(spark: Any, settings: Any, variants: DeltaLog) -> None:
    """Spark puts them together again, as Arrow does; Spark 4.0 where it is told to."""
    settings(READS_SHREDDED)
    value = {"metadata": EMPTY, "value": None, "typed_value": 7}
    table = pa.table({"id": [4], "v": pa.array([value], SHREDDED), "a": pa.nulls(1, pa.list_(VARIANT))})
    variants.commit(2, data_file(variants, "shredded", table))
    scan = open_table(variants.root).scan("id > 2", columns=["id", "v"])
    shown = scan.to_spark(spark).selectExpr("id", "to_json(v)").collect()
    found = [(row["id"], json.dumps(decoded(row["v"]))) for row in scan.to_arrow().to_pylist()]
    assert sorted(map(tuple, shown)) == sorted(found) == [(3, "null"), (4, "7")]


@pytest.mark.parametrize(
    "kind",
    [
        primitive("variant"),
        ListType(Field(2, "element", primitive("variant"))),
        StructType((Field(2, "m", primitive("variant")),)),
    ],
)
def test_variants_are_refused_before_spark_4(kind: Any) -> None:
    column = Field(1, "v", kind)
    check_readable(column, (4, 0))
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_readable(column, (3, 5))
    assert str(caught.value.field).startswith("v")


@pytest.fixture
def chars(tmp_path: Path) -> DeltaLog:
    """CHAR and VARCHAR columns, one row a file, values stored without their padding."""
    mark, st = "__CHAR_VARCHAR_TYPE_STRING", {"type": "struct", "fields": [field("a", "string"), field("n", "long")]}
    pairs = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
    log = DeltaLog(tmp_path / "chars").start(
        field("c", "string", {mark: "char(3)"}),
        field("d", "string", {mark: "char(5)"}),
        field("v", "string", {mark: "varchar(2)"}),
        field("st", st, {mark: "struct<a:char(3),n:bigint>"}),
        field("m", pairs, {mark: "map<char(2),char(3)>"}),
        field("p", "string", {mark: "char(3)"}),
        partition=("p",),
    )
    for version, text in enumerate(("a", "ab", "abc", "a\t", None), 1):
        columns = {name: pa.array([text], pa.string()) for name in "cdv"}
        columns["st"] = pa.array([{"a": text, "n": version}], pa.struct([("a", pa.string()), ("n", pa.int64())]))
        columns["m"] = pa.array([[("k", text)]], pa.map_(pa.string(), pa.string()))
        bounds = {} if text is None else {"c": text, "st": {"a": text}}
        action = data_file(log, f"{version}", pa.table(columns))
        action["add"]["partitionValues"] = {"p": text}
        nulls = {"c": int(text is None)}
        action["add"]["stats"] = json.dumps(
            {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": nulls}
        )
        log.commit(version, action)
    return log


def test_rows_of_char_columns_are_padded(spark: Any, chars: DeltaLog) -> None:
    scan = open_table(chars.root).scan()
    frame = scan.to_spark(spark)
    assert frame.dtypes[:3] == [("c", "string"), ("d", "string"), ("v", "string")]
    assert spark_rows(frame) == rows(scan.to_arrow())
    assert [row.c for row in frame.orderBy("st.n").collect()] == ["a  ", "ab ", "abc", "a\t ", None]


@pytest.mark.parametrize(
    ("text", "found", "files"),
    [
        ("c = 'a'", {1}, {1, 4}),  # of the fourth file the upper bound is 'a  '
        ("c = 'a  '", {1}, {1, 4}),
        ("p = 'a'", {1}, {1}),
        ("p = 'a    '", {1}, {1}),
        ("c < 'a'", {4}, {1, 4}),
        ("c >= 'ab'", {2, 3}, {2, 3}),
        ("p > 'a'", {2, 3}, {2, 3}),
        ("c IN ('a', 'abc')", {1, 3}, {1, 3, 4}),
        ("c LIKE 'a'", set(), None),
        ("NOT c LIKE 'a'", {1, 2, 3, 4}, None),
        ("c = d", {1, 2, 3, 4}, None),
        ("c = v", {3}, None),
        ("c = 'a     '", {1}, None),
        ("st.a = 'a'", set(), None),
        ("st.a = 'a  '", {1}, None),
        ("c IS NOT NULL", {1, 2, 3, 4}, None),
        ("rpad(v, greatest(length(v), 3), ' ') = 'a  '", {1}, None),
    ],
)
def test_filters_of_char_columns(
    spark: Any, chars: DeltaLog, text: str, found: set[int], files: set[int] | None
) -> None:
    """Filters of the DataFrame, which Spark pads, and of the scan; and which files Catalyst's filters leave."""
    from tests.spark.support.plans import paths_read

    table = open_table(chars.root)
    frame = table.scan().to_spark(spark).where(text)
    assert {row.n for row in frame.select("st.n").collect()} == found
    if files is not None:
        assert paths_read(frame)[0] == {str(n) for n in files}
    if "rpad" not in text:
        assert {row.n for row in table.scan(text).to_spark(spark).select("st.n").collect()} == found
