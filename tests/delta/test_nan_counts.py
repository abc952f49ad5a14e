"""Where tight bounds are all values of a column, they say whether one of them is NaN."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, add, field, stats

INF = "Infinity"


def kept(tmp_path: Path, where: str, low: Any, high: Any, *, kind: str = "double", **counts: Any) -> tuple[int, int]:
    """How many files are kept, of one with these statistics; and for a possible NaN alone."""
    records, nulls = counts.pop("records", 1), counts.pop("nulls", 0)
    text = stats(records, minValues={"x": low}, maxValues={"x": high}, nullCount={"x": nulls}, **counts)
    log = DeltaLog(Path(tempfile.mkdtemp(dir=tmp_path)) / "t").start(field("x", kind))
    log.commit(1, add("a", stats=text))
    plan = tf.open_table(log.root).scan(where).plan()
    return len(plan), plan.report.files_kept_for_nan


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize(
    ("low", "high", "counts"),
    [
        (1.0, 1.0, {}),
        (1.0, 1.0, {"records": 7, "nulls": 6}),
        (1.0, 1.0, {"tightBounds": True}),
        (1.0, 2.0, {"records": 2}),
        (-1.5, 2.0, {"records": 5, "nulls": 3}),
    ],
)
def test_no_file_is_kept_where_its_bounds_are_all_values(
    tmp_path: Path, kind: str, low: Any, high: Any, counts: dict[str, Any]
) -> None:
    assert kept(tmp_path, "x > 2", low, high, kind=kind, **counts) == (0, 0)


@pytest.mark.parametrize(
    ("low", "high", "counts"),
    [
        (1.0, 1.0, {"records": 2}),  # or 1.0 and NaN
        (1.0, 2.0, {"records": 3}),
        (1.0, 1.0, {"tightBounds": False}),
        (1.0, 2.0, {"records": 2, "tightBounds": False}),
        (1.0, 1.0, {"records": 7, "nulls": None}),
        (1.0, None, {}),
        (None, 1.0, {}),
        (3.140000104904175, 3.14, {"records": 2}),
        (3.14, 3.140000104904175, {"records": 2}),  # one FLOAT, before and after the column was widened
        (1.0, "NaN", {"records": 2}),
        ("NaN", 1.0, {"records": 2}),
        ("NaN", "NaN", {"records": 2}),
    ],
)
def test_a_file_is_kept_where_they_may_not_be(tmp_path: Path, low: Any, high: Any, counts: dict[str, Any]) -> None:
    assert kept(tmp_path, "x > 4", low, high, **counts)[0] == 1
    assert kept(tmp_path, "isnan(x)", low, high, **counts)[0] == 1


@pytest.mark.parametrize(("where", "expected"), [("x > 4", 1), ("isnan(x)", 1), ("x = 4", 0), ("x <= 4", 0)])
def test_the_only_value_is_nan_where_its_bounds_are(tmp_path: Path, where: str, expected: int) -> None:
    assert kept(tmp_path, where, "NaN", "NaN", records=3, nulls=2) == (expected, 0)


def test_infinite_bounds_are_values(tmp_path: Path) -> None:
    assert kept(tmp_path, "isnan(x)", INF, INF) == (0, 0)
    assert kept(tmp_path, "isnan(x)", f"-{INF}", INF, records=2) == (0, 0)
    assert kept(tmp_path, "isnan(x)", f"-{INF}", INF, records=3) == (1, 1)


@pytest.mark.parametrize("high", [1.0, "NaN"])
def test_a_minimum_of_nan_bounds_nothing(tmp_path: Path, high: Any) -> None:
    """A writer that compares with the first value keeps a NaN that comes first; NumPy's ``min`` gives it, too."""
    assert kept(tmp_path, "x = 1", "NaN", high, records=2) == (1, 0)
    assert kept(tmp_path, "x < 0", "NaN", high, records=2) == (1, 0)
