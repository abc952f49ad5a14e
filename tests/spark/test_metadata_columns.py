"""Metadata columns through Spark: the same values as through Arrow, whatever is deleted, split or filtered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats import open_table
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import UUIDS, WITH_VECTORS, DeltaLog, add, field, portable, stats, vector, vector_file
from tests.support.delta_row_ids import ID, ON, VERSION, write
from tests.support.examples import one_of
from tests.support.iceberg_history import History
from tests.support.rows import rows, spark_rows


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """A plain file, one with materialised values, and one with deleted rows."""
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), field("p", "string"), partition=("p",), protocol=WITH_VECTORS, configuration=ON
    )
    part = {"partitionValues": {"p": "x"}}
    log.commit(1, add("a", baseRowId=100, defaultRowCommitVersion=1, **part, **write(log, "a", 5)))
    more = write(log, "b", 4, RowIdColumnName=[7, None, 9, None], RowCommitVersionColumnName=[None, 1, None, None])
    log.commit(2, add("b", baseRowId=200, defaultRowCommitVersion=2, **part, **more))
    data = portable([0, 3])
    content, (offset,) = vector_file(data)
    log.root.joinpath(f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    deleted = vector(cardinality=2, size=len(data), offset=offset)
    file = write(log, "c", 6)
    return log.commit(3, add("c", baseRowId=300, defaultRowCommitVersion=3, deletionVector=deleted, **part, **file))


@pytest.mark.parametrize("vectorized", one_of(2, ["true", "false"]))
@pytest.mark.parametrize("where", [None, "id > 1", "id = 2 AND p = 'x'", "p = 'y'"])
@pytest.mark.parametrize("columns", [["id", ID, VERSION], [VERSION, "p"], [ID]])
def test_row_tracking(
    spark: Any, settings: Any, log: DeltaLog, vectorized: str, where: str | None, columns: list[str]
) -> None:
    settings({"spark.sql.parquet.enableVectorizedReader": vectorized})
    scan = open_table(log.root).scan(where, columns=columns)
    frame = scan.to_spark(spark)
    assert frame.columns == columns
    assert spark_rows(frame) == rows(scan.to_arrow())
    assert where == "p = 'y'" or frame.count() > 0


def test_filters_on_the_frame(spark: Any, log: DeltaLog) -> None:
    frame = open_table(log.root).scan(columns=["id", ID, VERSION]).to_spark(spark)
    assert [row.id for row in frame.where(f"`{ID}` = 9").collect()] == [2]
    assert sorted(row.id for row in frame.where(f"`{ID}` >= 300 AND id > 1").collect()) == [2, 4, 5]
    assert sorted(row[0] for row in frame.where(f"`{VERSION}` = 1").select(f"`{ID}`").collect()) == [
        100,
        101,
        102,
        103,
        104,
        201,
    ]


def test_split_files_count_on(spark: Any, settings: Any, tmp_path: Path) -> None:
    settings({"spark.sql.files.maxPartitionBytes": "20000"})
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), configuration=ON)
    pq.write_table(pa.table({"id": pa.array(range(20_000), pa.int64())}), log.root / "a", row_group_size=1000)
    log.commit(1, add("a", baseRowId=5, defaultRowCommitVersion=1, size=(log.root / "a").stat().st_size))
    frame = open_table(log.root).scan(columns=["id", ID]).to_spark(spark)
    assert frame.rdd.getNumPartitions() > 1
    assert frame.where(f"`{ID}` != id + 5").count() == 0
    assert frame.where("id >= 0").count() == 20_000


def test_a_file_without_a_base_is_an_error(spark: Any, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), configuration=ON)
    log.commit(1, add("a", **write(log, "a", 3)))
    with pytest.raises(Exception, match=r"no value for .*row_id"):
        open_table(log.root).scan(columns=[ID]).to_spark(spark).collect()


# ---- where rows stand ----------------------------------------------------------------------------------------------

WAYS: dict[str, dict[str, Any]] = {
    "native": {"mode": "native"},
    "staged": {"mode": "portable"},
    "data source": {"mode": "portable", "staging": "/proc/no directory can be made here"},
}
PLACES = ["id", "_file", "_pos"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Tables of each format with two files, whose ids are positions in the first one and a thousand more in the other;
    rows 0 and 1500 of the first are deleted."""
    delta = DeltaLog(tmp_path_factory.mktemp("places") / "d").start(field("id", "long"), protocol=WITH_VECTORS)
    actions = []
    for name, first in (("a", 0), ("b", 10_000)):
        ids = pa.table({"id": pa.array(range(first, first + 2000), pa.int64())})
        pq.write_table(ids, delta.root / name, row_group_size=500)
        bounds = stats(2000, minValues={"id": first}, maxValues={"id": first + 1999})
        actions.append(add(name, size=(delta.root / name).stat().st_size, stats=bounds))
    actions[0]["add"]["deletionVector"] = inline_vector(0, 1500)
    delta.commit(1, *actions)
    iceberg = History(tmp_path_factory.mktemp("places") / "i")
    iceberg.commit("append", add=[list(range(2000)), list(range(10_000, 12_000))])
    iceberg.commit("delete", positions=[("f1-0.parquet", 0), ("f1-0.parquet", 1500)])
    first = {"d": str(delta.root / "a"), "i": str(iceberg.root / "data" / "f1-0.parquet")}
    return {"d": (delta.root, first["d"]), "i": (iceberg.root, first["i"])}


@pytest.mark.parametrize("format", ["d", "i"])
@pytest.mark.parametrize("way", WAYS)
def test_files_and_positions(spark: Any, settings: Any, places: dict[str, Any], way: str, format: str) -> None:
    if way != "native" and not spark.version.startswith("4"):
        pytest.skip("needs Spark 4")
    settings({"spark.sql.files.maxPartitionBytes": "4000", "spark.sql.files.openCostInBytes": "0"})
    root, first = places[format]
    frame = open_table(root).scan(columns=PLACES).to_spark(spark, **WAYS[way])
    found = frame.collect()
    assert len(found) == 3998 and {row.id for row in found}.isdisjoint({0, 1500})
    assert all(row["_pos"] == row.id % 10_000 for row in found)
    assert all((row["_file"] == first) == (row.id < 10_000) for row in found)
    assert [row.id for row in frame.where(f"_pos = 1501 AND _file = '{first}'").collect()] == [1501]


def test_metadata_of_spark_beside_ours(spark: Any, settings: Any, places: dict[str, Any]) -> None:
    """Where all files are read alike (Spark gives a union no ``_metadata``), but for the position, which Spark counts
    once a relation."""
    settings({"spark.sql.files.maxPartitionBytes": "4000", "spark.sql.files.openCostInBytes": "0"})
    root, _ = places["d"]
    for filter, count in {"id >= 10000": 2000, "id < 10000": 1998}.items():
        frame = open_table(root).scan(filter, columns=PLACES).to_spark(spark)
        found = frame.select("*", "_metadata.file_path", "_metadata.file_size").collect()
        assert len(found) == count and frame.rdd.getNumPartitions() > 1
        assert all(row.file_path.endswith(row["_file"]) for row in found)
        assert {row.file_size for row in found} == {Path(found[0]["_file"]).stat().st_size}
    clean = open_table(root).scan("id >= 10000", columns=["id"]).to_spark(spark).select("id", "_metadata.row_index")
    assert all(row.row_index == row.id - 10_000 for row in clean.collect())
