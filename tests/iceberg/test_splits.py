"""Splits of Iceberg tables: offsets from the manifests, sizes of deletes, and the table's own properties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_rows import AB, table_of, with_ids, write
from tests.support.iceberg_tables import table_with


def with_properties(root: Path, **read_split: str) -> tf.Table:
    properties = {f"read.split.{name.replace('_', '-')}": text for name, text in read_split.items()}
    files = [entry(f"/old/t/{i}", **{"file_size_in_bytes": 100}) for i in range(6)]
    return tf.open_table(table_with(root, (manifest_bytes(files), {}), properties=properties), relocate=True)


def groups(table: tf.Table, *arguments: Any) -> list[int]:
    return [len(group) for group in table.scan().plan().splits(*arguments)]


def test_the_table_says_how_it_is_split(tmp_path: Path) -> None:
    assert groups(with_properties(tmp_path)) == [6]
    table = with_properties(tmp_path, target_size="200", open_file_cost="0", planning_lookback="1")
    assert groups(table) == [2, 2, 2]
    assert groups(table, 300) == [3, 3]
    assert groups(table, 200, 200) == [1] * 6


@pytest.mark.parametrize("name", ["target_size", "open_file_cost", "planning_lookback"])
@pytest.mark.parametrize("text", ["x", "-1", "1.5", "", "9" * 30, "0"])
def test_properties_that_are_no_sizes(tmp_path: Path, name: str, text: str) -> None:
    table = with_properties(tmp_path, **{name: text})
    if (name, text) == ("open_file_cost", "0"):
        assert groups(table) == [6]
        return
    with pytest.raises(tf.CorruptMetadataError) as caught:
        groups(table)
    assert caught.value.field == f"read.split.{name.replace('_', '-')}"
    assert groups(table, 300, 0, 10) == [3, 3]


def test_offsets_of_the_manifest_cut_the_file(tmp_path: Path) -> None:
    rows = pa.table({"a": pa.array(range(30), pa.int32()), "b": [str(i) for i in range(30)]})
    write(tmp_path, "a.parquet", with_ids(rows, 1, 2), row_group_size=10)
    path = tmp_path / "data" / "a.parquet"
    read = pq.ParquetFile(path).metadata
    offsets = [read.row_group(i).column(0).dictionary_page_offset for i in range(3)]
    more = {"split_offsets": offsets, "file_size_in_bytes": path.stat().st_size}
    plan = table_of(tmp_path, {"a.parquet": (30, more)}, *AB).scan("a <> 7").plan()
    parts = [task for group in plan.splits(1, 0) for task in group]
    assert [(part.start, part.start + part.length) for part in parts] == [
        (0, offsets[1]),
        (offsets[1], offsets[2]),
        (offsets[2], path.stat().st_size),
    ]
    assert [len(plan.to_arrow([part])) for part in parts] == [9, 10, 10]
    assert plan.splits()[0] == list(plan.tasks())
