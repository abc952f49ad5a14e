"""Delta's collated strings through Spark: compared by their collation, so that no filter by bytes leaves out a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tableformats import TableFormatsError, UnsupportedFeatureError, open_table
from tableformats.engines.spark.columns.checks import check_readable
from tableformats.schema import Field, ListType, primitive
from tests.spark.support.plans import files_read, scans
from tests.support.delta_log import DeltaLog, field, stats
from tests.support.delta_types import data_file

LCASE = "spark.UTF8_LCASE"


def collated(root: Path, **more: Any) -> DeltaLog:
    column = field("c", "string", {"__COLLATIONS": {"c": LCASE}})
    return DeltaLog(root / "t").start(column, field("id", "long"), **more)


@pytest.fixture
def log(spark: Any, tmp_path: Path) -> DeltaLog:
    """'a' and 'b' in one file, 'A' in the other, by bytes below them all; each with statistics."""
    if spark.version.startswith("3."):
        pytest.skip("Spark has collations from 4.0 on")
    log = collated(tmp_path)
    for version, values in enumerate((["a", "b"], ["A", None]), 1):
        ids = [10 * version, 10 * version + 1]
        low, high = {"c": values[0], "id": ids[0]}, {"c": values[1] or values[0], "id": ids[1]}
        text = stats(2, minValues=low, maxValues=high, nullCount={"c": values.count(None), "id": 0})
        table = pa.table({"c": pa.array(values, pa.string()), "id": ids})
        log.commit(version, data_file(log, f"f{version}", table, text))
    return log


def values(frame: Any) -> list[Any]:
    return sorted((row.c for row in frame.collect()), key=str)


FILTERS = [
    ("c = 'A'", ["A", "a"], 2),
    ("c IN ('A', 'x')", ["A", "a"], 2),
    ("c < 'B'", ["A", "a"], 2),
    ("c >= 'B'", ["b"], 2),
    ("c <=> 'a'", ["A", "a"], 2),
    ("startswith(c, 'B')", ["b"], 2),
    ("c = 'A' AND id < 15", ["a"], 1),
    ("c IS NULL", [None], 2),
    ("c = 'a' COLLATE UTF8_BINARY", ["a"], 2),
]


@pytest.mark.parametrize(("where", "expected", "files"), FILTERS)
def test_filters_go_by_the_collation(spark: Any, log: DeltaLog, where: str, expected: list[Any], files: int) -> None:
    frame = open_table(log.root).scan().to_spark(spark, mode="native")
    assert frame.schema["c"].dataType.simpleString() == "string collate UTF8_LCASE"
    found = frame.where(where)
    assert values(found) == expected
    assert files_read(found) == files
    pushed = [scan.metadata().apply("PushedFilters") for scan in scans(found._jdf.queryExecution().executedPlan())]
    assert pushed and not any("(c," in text for text in pushed)


def test_joins_and_groups_go_by_the_collation(spark: Any, log: DeltaLog) -> None:
    frame = open_table(log.root).scan().to_spark(spark)
    assert sorted(row["count"] for row in frame.where("c IS NOT NULL").groupBy("c").count().collect()) == [1, 2]
    assert frame.alias("l").join(frame.alias("r"), "c").count() == 5


@pytest.mark.parametrize("mode", ["portable", "data source"])
def test_other_ways(spark: Any, log: DeltaLog, mode: str) -> None:
    if mode == "portable":
        frame = open_table(log.root).scan().to_spark(spark, mode="portable")
    else:
        frame = spark.read.format("tableformats").load(str(log.root))
    assert frame.schema["c"].dataType.simpleString() == "string collate UTF8_LCASE"
    for where, expected, _ in FILTERS[:3]:
        assert values(frame.where(where)) == expected


def test_data_source_behind_the_portable_way(spark: Any, log: DeltaLog) -> None:
    """It is asked for the columns, whose collations Spark spells in another place than types do."""
    from tableformats.engines.spark.portable.portable_scan import _by_data_source

    assert values(_by_data_source(open_table(log.root).scan(), spark).where("c = 'A'")) == ["A", "a"]


def test_partition_columns(spark: Any, settings: Any, tmp_path: Path) -> None:
    """Static pruning, and dynamic pruning by a join, go by the collation too."""
    if spark.version.startswith("3."):
        pytest.skip("Spark has collations from 4.0 on")
    settings({"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"})
    log = collated(tmp_path, partition=("c",))
    files = [data_file(log, f"f{i}", pa.table({"id": [i]}), partitionValues={"c": c}) for i, c in enumerate("aAb")]
    frame = open_table(log.commit(1, *files).root).scan().to_spark(spark)
    found = frame.where("c = 'A'")
    assert values(found) == ["A", "a"]
    assert files_read(found) == 2
    keys = spark.createDataFrame([("A", 1), ("x", 2)], "k string collate UTF8_LCASE, n int").where("n = 1")
    assert values(frame.join(keys, frame.c == keys.k)) == ["A", "a"]


def test_nested_strings(spark: Any, tmp_path: Path) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark has collations from 4.0 on")
    inner = {"type": "struct", "fields": [field("m", "string", {"__COLLATIONS": {"m": LCASE}})]}
    lists = {"type": "array", "elementType": "string", "containsNull": True}
    maps = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
    log = DeltaLog(tmp_path / "t").start(
        field("s", inner),
        field("l", lists, {"__COLLATIONS": {"l.element": LCASE}}),
        field("p", maps, {"__COLLATIONS": {"p.value": "icu.UNICODE_CI"}}),
    )
    kinds = {"s": pa.struct([("m", pa.string())]), "l": pa.list_(pa.string()), "p": pa.map_(pa.string(), pa.string())}
    stored = {"s": [{"m": "a"}, {"m": "A"}], "l": [["b"], ["B"]], "p": [[("k", "x")], [("k", "X")]]}
    table = pa.table({name: pa.array(stored[name], kind) for name, kind in kinds.items()})
    log.commit(1, data_file(log, "f", table))
    frame = open_table(log.root).scan().to_spark(spark)
    assert frame.schema.simpleString() == (
        "struct<s:struct<m:string collate UTF8_LCASE>,l:array<string collate UTF8_LCASE>,"
        "p:map<string,string collate UNICODE_CI>>"
    )
    for where in ("s.m = 'A'", "array_contains(l, 'B')", "p['k'] = 'x'"):
        assert frame.where(where).count() == 2


@pytest.mark.parametrize("collation", ["icu.no_SUCH", "other.UTF8_LCASE", 7])
@pytest.mark.parametrize("mode", ["native", "portable"])
def test_collations_that_spark_lacks(spark: Any, tmp_path: Path, collation: Any, mode: str) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark has collations from 4.0 on")
    log = DeltaLog(tmp_path / "t").start(field("c", "string", {"__COLLATIONS": {"c": collation}}), field("id", "long"))
    log.commit(1, data_file(log, "f", pa.table({"c": ["a"], "id": [1]})))
    table = open_table(log.root)
    assert len(table.scan(columns=["id"]).to_spark(spark, mode=mode).collect()) == 1
    with pytest.raises(UnsupportedFeatureError if mode == "native" else TableFormatsError) as caught:
        table.scan().to_spark(spark, mode=mode)
    assert mode == "portable" or caught.value.field == "c"


@pytest.mark.parametrize("is_nested", [False, True])
def test_collations_are_refused_before_spark_4(is_nested: bool) -> None:
    text = Field(1, "c", primitive("string"), collation=LCASE)
    column = Field(2, "c", ListType(text)) if is_nested else text
    check_readable(column, (4, 0))
    with pytest.raises(UnsupportedFeatureError, match="UTF8_LCASE") as caught:
        check_readable(column, (3, 5))
    assert caught.value.field == "c"
