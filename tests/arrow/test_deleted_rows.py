"""Deletes of every kind together, with filters, of row groups that are read by pages and by Arrow.

A row is in the answer if it stands at no deleted position, has no deleted key, and the filter is true for it; that is
told by plain Python over the rows that were written.
"""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow import file_rows
from tableformats.engines.arrow.files import page_reads, parquet
from tableformats.io.parquet.chunks import RowGroups
from tableformats.schema import Field, primitive
from tests.support.arrow_fakes import FakeFile, snapshot_of
from tests.support.examples import examples

FIELDS = [Field(1, "id", primitive("long")), Field(2, "n", primitive("int")), Field(3, "text", primitive("string"))]
GROUP = 60
WRITERS: dict[str, dict[str, Any]] = {
    "texts": {"use_dictionary": False, "write_batch_size": 7, "data_page_size": 100},
    "codes": {"use_dictionary": ["text"], "compression": "none"},
    "second version": {"use_dictionary": False, "data_page_version": "2.0", "compression": "zstd"},
    "statistics of pages": {"use_dictionary": False, "write_page_index": True, "write_batch_size": 10},
}
FILTERS = {None: lambda row: True, "n > 3": lambda row: row["n"] is not None and row["n"] > 3}


@st.composite
def rows_and_deletes(draw: st.DrawFn) -> tuple[pa.Table, list[int], dict[str, pa.Table]]:
    count = draw(st.sampled_from([0, 1, 60, 61, 200, 200, 200]))
    random = np.random.default_rng(draw(st.integers(0, 9)))
    n = [None if one == 0 else int(one) for one in random.integers(0, 9, count)]
    columns = {
        "id": pa.array(np.arange(count) * draw(st.sampled_from([1, 3, 10**9])), pa.int64()),
        "n": pa.array(n, pa.int32()),
        "text": pa.array([None if one is None else "t" * one for one in n], pa.string()),
    }
    share = draw(st.sampled_from([0.0, 0.02, 0.3, 0.95, 1.0]))
    positions = np.flatnonzero(random.random(count) < share).tolist()
    keys = {
        "ids": pa.table({"1": columns["id"].take(pa.array(np.flatnonzero(random.random(count) < 0.1), pa.int64()))}),
        "numbers": pa.table({"2": pa.array(draw(st.sampled_from([[], [None], [5, None], [5, 6]])), pa.int32())}),
        "both": pa.table({"2": pa.array([1, None], pa.int32()), "3": pa.array(["t", None])}),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(keys)), unique=True, max_size=3))
    return pa.table(columns), positions, {name: keys[name] for name in chosen}


def expected_rows(table: pa.Table, positions: list[int], keys: dict[str, pa.Table], where: str | None) -> list[Any]:
    deleted = [tuple(row.items()) for one in keys.values() for row in one.to_pylist()]
    names = {str(field.id): field.name for field in FIELDS}
    found = []
    for at, row in enumerate(table.to_pylist()):
        is_deleted = any(all(row[names[key]] == value for key, value in one) for one in deleted)
        if at not in positions and not is_deleted and FILTERS[where](row):
            found.append(row)
    return found


def settings_of(patch: pytest.MonkeyPatch, fewest: int, ahead: int, small: int) -> None:
    patch.setattr(page_reads, "_FEWEST_ROWS", fewest)
    patch.setattr(page_reads, "_LOCAL_WINDOW_BYTES", 300)
    patch.setattr(file_rows, "_AHEAD_ROWS", ahead)
    patch.setattr(file_rows, "_MOST_DELETED", ahead)
    patch.setattr(file_rows, "_FEWEST_ROWS", small)
    patch.setattr(parquet, "BATCH_ROWS", GROUP)


BY_PAGES = [(1, 25, 5), (1, 1 << 20, 1 << 16)]
BY_ARROW = (10**6, 25, 5)


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows_and_deletes(), st.sampled_from([None, ["id"], ["text"], ["text", "id"]]))
def test_live_rows(
    tmp_path: Path, writer: str, case: tuple[pa.Table, list[int], dict[str, pa.Table]], columns: list[str] | None
) -> None:
    table, positions, keys = case
    wanted = columns or table.column_names
    path = str(tmp_path / "f.parquet")
    pq.write_table(table, path, row_group_size=GROUP, **WRITERS[writer])
    for where, found_keys in itertools.product(FILTERS, ({}, keys)):
        files = [FakeFile(path, table.num_rows, positions=positions, keys=list(found_keys))]
        snapshot = snapshot_of(tmp_path, FIELDS, files, by="name", equality=found_keys)
        rows = expected_rows(table, positions, found_keys, where)
        expected = [{name: row[name] for name in wanted} for row in rows]
        for values in (*BY_PAGES, BY_ARROW):
            with pytest.MonkeyPatch.context() as patch:
                settings_of(patch, *values)
                found = snapshot.scan(where, columns=wanted).to_arrow()
            assert found.to_pylist() == expected


def test_footers_that_contradict_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their pages are not looked for."""
    monkeypatch.setattr(RowGroups, "is_sound", property(lambda self: False))
    path = str(tmp_path / "f.parquet")
    pq.write_table(pa.table({"id": [1, 2, 3], "text": ["a", "b", "c"]}), path)
    keys = {"ids": pa.table({"1": pa.array([2], pa.int64())})}
    found = snapshot_of(tmp_path, FIELDS, [FakeFile(path, 3, keys=["ids"])], by="name", equality=keys)
    assert found.scan(columns=["id", "text"]).to_arrow().to_pydict() == {"id": [1, 3], "text": ["a", "c"]}


def test_days_of_the_julian_calendar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deleted day is one of the table, not one that the file stores: 1500-01-01 is stored as 1500-01-10."""
    monkeypatch.setattr(page_reads, "_FEWEST_ROWS", 1)
    fields = [Field(1, "d", primitive("date")), Field(2, "n", primitive("int"))]
    days = pa.array([dt.date(1500, 1, 10), dt.date(1500, 1, 1), dt.date(2020, 1, 1)])
    legacy = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}
    table = pa.table({"d": days, "n": pa.array([1, 2, 3], pa.int32())}).replace_schema_metadata(legacy)
    path = str(tmp_path / "f.parquet")
    pq.write_table(table, path, use_dictionary=False)
    keys = {"days": pa.table({"1": pa.array([dt.date(1500, 1, 1)])})}
    found = snapshot_of(tmp_path, fields, [FakeFile(path, 3, keys=["days"])], by="name", equality=keys)
    assert found.scan().to_arrow().to_pydict() == {"d": [dt.date(1499, 12, 23), dt.date(2020, 1, 1)], "n": [2, 3]}


@pytest.mark.parametrize("names", [["ids", "numbers"], ["numbers", "ids"]])
def test_keys_of_two_columns(names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them deletes rows, in whatever order the deletes are told."""
    monkeypatch.setattr(page_reads, "_FEWEST_ROWS", 1)
    path = str(tmp_path / "f.parquet")
    numbers = pa.array([7, 8, 9, 7], pa.int32())
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "n": numbers, "text": ["a", "b", "c", "d"]}), path)
    every = {"ids": pa.table({"1": pa.array([3], pa.int64())}), "numbers": pa.table({"2": pa.array([8], pa.int32())})}
    keys = {name: every[name] for name in names}
    found = snapshot_of(tmp_path, FIELDS, [FakeFile(path, 4, keys=names)], by="name", equality=keys)
    assert found.scan(columns=["text"]).to_arrow().to_pydict() == {"text": ["a", "d"]}
