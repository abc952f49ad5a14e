"""Bugs of other writers' statistics and partition values, staged: each row is found by filters of its own value.

Those of commits are staged in ``peers.py`` and ``peers_more.py``, beside the peers.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

LEAST = -(2**31)
CASES: dict[str, tuple[list[Any], pa.DataType, dict[str, str]]] = {
    # name: values, their type, the partition field of each format that has one
    "trino#19052: a row group without bounds": (["m", "z" * 5000, "a" * 5000, "k"], pa.string(), {}),
    "delta-rs#815: a row group of NULLs": ([None, None, 3, 1], pa.int64(), {}),
    "iceberg-rust#1519: several row groups": ([5, 1, 9, 7, 3], pa.int64(), {}),
    "delta-rs#1411: infinite bounds": ([math.inf, 1.5, -math.inf, 0.0], pa.float64(), {}),
    "duckdb-iceberg#1047: bounds of a summary that are cut": (
        ["a" * 40 + "z", "a" * 40, "\U0010ffff" * 40, "b"],
        pa.string(),
        {"delta": "v", "iceberg": "v"},
    ),
    "iceberg#9767: truncate of the least numbers": (
        [LEAST, LEAST + 1, 2**31 - 1],
        pa.int32(),
        {"iceberg": "truncate(10, v)"},
    ),
    "ClickHouse#119576: truncate of negative numbers": (
        [-1, -10, -11, 0, 9],
        pa.int32(),
        {"iceberg": "truncate(10, v)"},
    ),
    "ClickHouse#118905: a partition of NULL": ([None, "a", "b"], pa.string(), {"delta": "v", "iceberg": "v"}),
    "delta-rs#1591: partition values that need encoding": (
        ["a b", "a/b", "a%20b", "a=b", "ä?#", "a:b", "."],
        pa.string(),
        {"delta": "v", "iceberg": "v"},
    ),
    "delta-rs#1411: infinite partition values": ([math.inf, -math.inf, 1.0], pa.float64(), {"delta": "v"}),
}


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_found_by_their_values(name: str, format: str, tmp_path: Path) -> None:
    values, kind, partitions = CASES[name]
    schema = pa.schema({"id": pa.int64(), "v": kind})
    # Each row is a row group of its own, where the format has a property for it.
    properties = {"write.parquet.row-group-limit": "1"} if format == "iceberg" else {}
    by = partitions.get(format)
    table = tf.create_table(tmp_path / "t", schema, format=format, partition_by=by, properties=properties)
    table.append(pa.table({"id": range(len(values)), "v": values}, schema))
    if format == "delta":
        table.checkpoint()
    table = tf.open_table(tmp_path / "t")
    assert list(table.verify(deep=True)) == []
    known = {value for value in values if value is not None}
    for value in known:
        for filter, holds in (
            (tf.col("v") == value, lambda v, value=value: v == value),
            (tf.col("v") >= value, lambda v, value=value: v >= value),
            (tf.col("v") <= value, lambda v, value=value: v <= value),
        ):
            wanted = [i for i, v in enumerate(values) if v is not None and holds(v)]
            assert sorted(table.to_arrow(filter)["id"].to_pylist()) == wanted, (filter, json.dumps(values)[:200])
    nulls = [i for i, v in enumerate(values) if v is None]
    assert sorted(table.to_arrow("v IS NULL")["id"].to_pylist()) == nulls
    assert len(table.to_arrow("v IS NOT NULL")) == len(values) - len(nulls)


@pytest.mark.parametrize("writer", ["deltalake", "tableformats"])
@pytest.mark.parametrize("as_struct", ["true", "false"])
def test_a_column_without_statistics_in_a_checkpoint(writer: str, as_struct: str, tmp_path: Path) -> None:
    """delta-rs#3201: a filter of a column that has no statistics lost the rows of files of the checkpoint."""
    properties = {"delta.dataSkippingStatsColumns": "other", "delta.checkpoint.writeStatsAsStruct": as_struct}
    schema = pa.schema({"v": pa.int64(), "other": pa.int64()})
    table = tf.create_table(tmp_path / "t", schema, format="delta", properties=properties)
    table.append(pa.table({"v": [1, 2], "other": [1, 2]}, schema))
    if writer == "deltalake":
        pytest.importorskip("deltalake").DeltaTable(str(tmp_path / "t")).create_checkpoint()
    else:
        table.checkpoint()
    for version in range(2):
        (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
    table = tf.open_table(tmp_path / "t")
    table.append(pa.table({"v": [2, 3], "other": [2, 3]}, schema))
    assert sorted(table.to_arrow("v >= 2")["v"].to_pylist()) == [2, 2, 3]
    assert table.count("v = 1") == 1 and table.count("v IS NOT NULL") == 4
