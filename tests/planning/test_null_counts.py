"""Counts of NULLs beside counts of rows: files of NULLs alone, and of none, are told from the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.planning.planner import _concat
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import table_with

FILES = {"nulls": [None, None], "ones": [1, 1], "both": [1, None], "more": [2, 3]}
"""The values of each file, which are written in this order."""
KEPT = {
    "x = 1": {"ones": True, "both": False},
    "x IS NULL": {"nulls": True, "both": False},
    "x IS NOT NULL": {"ones": True, "both": False, "more": True},
    "x > 0": {"ones": True, "both": False, "more": True},
    "x <=> NULL": {"nulls": True, "both": False},
    "x <=> 1": {"ones": True, "both": False},
    "NOT (x <=> 1)": {"nulls": True, "both": False, "more": True},
    "x > 1 OR x IS NULL": {"nulls": True, "both": False, "more": True},
    "x > 1 AND y IS NULL": {},
    "y = 7": {"ones": True, "both": True, "more": True},
}
"""{filter: {file that is kept: whether all of its rows match}}. ``y`` is 7, or NULL where x is NULL in all rows."""


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The table, and what its files are called here."""
    place = tmp_path_factory.mktemp("counts") / "t"
    schema = pa.schema({"x": pa.int64(), "y": pa.int64()})
    table = tf.create_table(place, schema, format=request.param)
    names: dict[str, str] = {}
    for name, values in FILES.items():
        other = [None if name == "nulls" else 7] * 2
        table.append(pa.table({"x": values, "y": other}, schema))
        for path in table.scan().plan().files["path"].to_pylist():
            names.setdefault(Path(path).name, name)
    return place, names


def kept(table: tf.Table, filter: str, names: dict[str, str]) -> dict[str, bool]:
    plan = table.scan(filter).plan()
    paths = [names[Path(path).name] for path in plan.files["path"].to_pylist()]
    return dict(zip(paths, plan.files["fully_matched"].to_pylist(), strict=True))


@pytest.mark.parametrize("first", KEPT)
def test_files_of_nulls(first: str, files: tuple[Path, dict[str, str]]) -> None:
    """Whatever was asked before of the same blocks."""
    place, names = files
    table = tf.open_table(place)
    for filter in (first, *KEPT):
        assert kept(table, filter, names) == KEPT[filter], filter
    for filter in (*KEPT, first):  # only files that come later are decoded
        assert kept(table, f"y = 7 AND ({filter})", names).keys() == KEPT[filter].keys() - {"nulls"}, filter


@pytest.mark.parametrize("filters", [("a = 1", "a IS NULL"), ("a IS NULL", "a = 1")])
def test_counts_that_manifests_need_not_have(filters: tuple[str, str], tmp_path: Path) -> None:
    """Without counts of values those of rows count; rows that were not counted may hold anything."""

    def file(name: str, nulls: int, values: int | None) -> dict[str, Any]:
        counts = {"null_value_counts": [{"key": 1, "value": nulls}]}
        if values is not None:
            counts["value_counts"] = [{"key": 1, "value": values}]
        return entry(f"data/{name}", record_count=5, **counts)

    made = [("nulls", 5, None), ("some", 3, None), ("none", 0, None), ("counted", 5, 5), ("uncounted", 3, 3)]
    data = manifest_bytes([file(*one) for one in made])
    table = tf.open_table(table_with(tmp_path, (data, {"added_files_count": len(made)})), relocate=True)
    found = {filter: kept(table, filter, {one[0]: one[0] for one in made}) for filter in filters}
    assert found["a = 1"] == dict.fromkeys(("some", "none", "uncounted"), False)
    assert found["a IS NULL"] == {"nulls": True, "some": False, "counted": True, "uncounted": False}


def test_the_report_of_no_files_and_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema({"x": pa.int64()}), format="delta")
    for value in range(3):
        table.append(pa.table({"x": [value, value]}))
    report = table.scan("x > 9").plan().report
    assert (report.files_planned, report.bytes_planned, report.files_fully_matched, report.rows_planned) == (0, 0, 0, 0)
    for most, is_counted in ((3, True), (2, False)):
        monkeypatch.setattr("tableformats.planning.planner._MOST_COUNTED", most)
        assert table.scan("x > 0").plan().report.counts_total is is_counted


def test_bounds_that_a_plan_adds_count_for_the_cache(tmp_path: Path) -> None:
    rows = pa.table({name: pa.array([float(i)]) for i, name in enumerate("abc")})
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta")
    for _ in range(12):
        table.append(rows)
    table.checkpoint()
    table = tf.open_table(tmp_path / "t")
    used = []
    for filter in ("a > 5", "a > 5 AND b > 6", "a > 5 AND b > 6", "c > 6 OR a > 2"):
        table.scan(filter).plan()
        used.append(table.cache.used_bytes)
    assert used[0] < used[1] == used[2] < used[3]


def test_files_of_blocks_with_other_columns_are_joined() -> None:
    first, second = pa.table({"path": ["a"], "size": [1]}), pa.table({"path": ["b"]})
    assert _concat([first, second]).to_pylist() == [{"path": "a", "size": 1}, {"path": "b", "size": None}]
    assert _concat([first, first]).num_rows == 2 and _concat([first]) == first
