"""Metadata columns through Spark: the same values as through Arrow, whatever is deleted, split or filtered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats import open_table
from tests.plugin.delta_support import UUIDS, WITH_VECTORS, DeltaLog, add, field, vector, vector_file
from tests.plugin.test_delta_deletion_vectors import portable
from tests.plugin.test_delta_row_tracking import ID, ON, VERSION, write

from .rows import rows, spark_rows


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


@pytest.mark.parametrize("vectorized", ["true", "false"])
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
        100, 101, 102, 103, 104, 201,
    ]  # fmt: skip


def test_split_files_count_on(spark: Any, settings: Any, tmp_path: Path) -> None:
    settings({"spark.sql.files.maxPartitionBytes": "20000"})
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), configuration=ON)
    pq.write_table(pa.table({"id": pa.array(range(20_000), pa.int64())}), log.root / "a", row_group_size=1000)
    log.commit(1, add("a", baseRowId=5, defaultRowCommitVersion=1, size=(log.root / "a").stat().st_size))
    frame = open_table(log.root).scan(columns=["id", ID]).to_spark(spark)
    assert frame.rdd.getNumPartitions() > 1
    assert frame.where(f"`{ID}` != id + 5").count() == 0
    assert frame.count() == 20_000


def test_a_file_without_a_base_is_an_error(spark: Any, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), configuration=ON)
    log.commit(1, add("a", **write(log, "a", 3)))
    with pytest.raises(Exception, match=r"no value for .*row_id"):
        open_table(log.root).scan(columns=[ID]).to_spark(spark).collect()
