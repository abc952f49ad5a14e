"""Conditions on NaN over blocks that are joined: a checkpoint with commits on top, planned again from the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, add, field, first_actions, stats

FILES = {"a": (1.0, 2.0), "b": (5.0, 9.0), "c": None, "d": (1.0, 1.0)}
FILTERS = {
    "isnan(x)": {"a", "b", "c", "d"},  # Delta keeps NaN out of its statistics, so any file may have one
    "NOT isnan(x)": {"a", "b", "c", "d"},
    "isnan(x) AND x > 3": {"a", "b", "c", "d"},
    "x > 3": {"a", "b", "c", "d"},  # NaN is the greatest value
    "x IS NULL": {"c"},
    "x < 3": {"a", "c", "d"},
    "x <= 1": {"a", "c", "d"},
}


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """A checkpoint of two files, and a commit of two more."""
    log = DeltaLog(tmp_path / "t")
    fields = (field("x", "double"),)
    log.checkpoint(f"{0:020d}.checkpoint.parquet", *first_actions_of(fields), *(added(name) for name in "ab"))
    return log.commit(1, *(added(name) for name in "cd"))


def first_actions_of(fields: tuple[dict[str, object], ...]) -> tuple[dict[str, object], ...]:
    import json

    protocol, metadata = first_actions()
    metadata["metaData"].update(schemaString=json.dumps({"type": "struct", "fields": list(fields)}), configuration=[])
    return protocol, metadata


def added(name: str) -> dict[str, object]:
    bounds = FILES[name]
    more = {} if bounds is None else {"minValues": {"x": bounds[0]}, "maxValues": {"x": bounds[1]}}
    nulls = {} if name == "c" else {"nullCount": {"x": 0}}
    return add(name, stats=stats(3, **nulls, **more), partitionValues=[] if name in "ab" else {})


def planned(table: tf.Table, where: str) -> set[str]:
    return {path.rpartition("/")[2] for path in table.scan(where).plan().file_uris()}


@pytest.mark.parametrize("where", FILTERS)
def test_every_plan_of_a_table_keeps_what_the_first_one_kept(log: DeltaLog, where: str) -> None:
    table = tf.open_table(log.root)
    for number in range(3):
        assert planned(table, where) == FILTERS[where], number
    for other in FILTERS:
        assert planned(table, other) == FILTERS[other], other
    assert planned(table, where) == FILTERS[where]
    log.commit(2, added("d"))
    assert planned(table, where) == FILTERS[where]
