"""Rows are divided among partitions as a dictionary of Python divides them, and stay in their order."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.columnar.grouping import order_by_code


@pytest.mark.parametrize("greatest", [1, 3, 0xFFFF, 0x10000, 0x20001, 2**32 - 1])
def test_rows_of_one_code_stay_in_their_order(greatest: int) -> None:
    rng = np.random.default_rng(greatest)
    codes = np.append(rng.integers(0, min(greatest, 500) + 1, 5_000), rng.integers(0, greatest + 1, 5_000))
    assert order_by_code(codes).tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert order_by_code(codes[:0]).tolist() == []


@pytest.mark.parametrize("form", ["delta", "iceberg"])
@pytest.mark.parametrize("seed", range(4))
def test_files_hold_the_rows_of_one_partition_in_their_order(form: Any, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    choices: dict[str, list[Any]] = {
        "day": [None, 1, 2, -7],
        "name": [None, "", "a", "b/c", "é"] if form == "iceberg" else [None, "a", "b/c", "é"],
        "flag": [True, False, None],
    }
    rows = [{"id": i, **{name: rng.choice(values) for name, values in choices.items()}} for i in range(300)]
    schema = pa.schema({"id": pa.int64(), "day": pa.int32(), "name": pa.string(), "flag": pa.bool_()})
    names = ["day", "name", "flag"][: 1 + seed % 3]
    tf.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "t", format=form, partition_by=names)
    expected = defaultdict(list)
    for row in rows:
        expected[tuple(row[name] for name in names)].append(row["id"])
    table = tf.open_table(tmp_path / "t")
    assert sorted(table.scan().plan().files["record_count"].to_pylist()) == sorted(map(len, expected.values()))
    by_partition = defaultdict(list)
    for row in table.scan().to_arrow().to_pylist():
        by_partition[tuple(row[name] for name in names)].append(row["id"])
    assert by_partition == expected
