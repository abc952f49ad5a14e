"""The examples of docstrings run, on a table ``events`` of six rows."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.delta_log import DeltaLog, add, field, stats

MODULES = [
    "",
    ".table.table",
    ".table.scan",
    ".table.verbs",
    ".table.write_verbs",
    ".table.checks",
    ".expressions.columns",
]


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DeltaLog(tmp_path / "events").start(field("id", "long"), field("day", "long"), partition=("day",))
    for day in (1, 2):
        ids = list(range(3 * day - 3, 3 * day))
        path = log.root / f"f{day}"
        pq.write_table(pa.table({"id": ids}), path)
        known = stats(3, minValues={"id": ids[0]}, maxValues={"id": ids[-1]}, nullCount={"id": 0})
        partition = {"day": str(day)}
        log.commit(day, add(path.name, partitionValues=partition, size=path.stat().st_size, stats=known))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(events: None, module: str) -> None:
    found = doctest.testmod(import_module(f"tableformats{module}"), optionflags=doctest.ELLIPSIS)
    assert not found.failed and found.attempted
