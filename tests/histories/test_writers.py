"""Writers and readers of one table at once, in threads and processes: every history is explained by one order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf

from .checker import check
from .history import History, Recorder
from .ledger import local_files
from .tables import SCHEMA, MemoryTable, arrow_of, ledger_of
from .workers import Worker, in_processes, in_threads, makers_of

FIRST = [{"id": number, "p": number % 3, "k": number} for number in range(6)]
CASES = [(format, level) for format in ("delta", "iceberg") for level in ("serializable", "snapshot")]
CASES.append(("delta", "write-serializable"))


@pytest.mark.parametrize(("format", "level"), CASES)
def test_threads(format: str, level: str) -> None:
    with MemoryTable.made(format, FIRST) as table:
        recorder = Recorder()
        workers = [Worker(number, table.location, format, level, recorder, seed=4) for number in (1, 2, 3)]
        in_threads(workers, 8, recorder)
        table.makers.update(makers_of(recorder.events))
        history = History.of(format, level, table.initial, recorder.events)
        assert check(history, table.ledger()) == []
        assert sum(op.outcome == "ok" for op in history.operations) > 10
        assert not [op.id for op in history.operations if op.outcome == "unknown"], "the store answers always"


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_processes(format: str, tmp_path: Path) -> None:
    root = tmp_path / "t"
    tf.create_table(root, SCHEMA, format=format, partition_by="p").append(arrow_of(FIRST))
    history = in_processes(root, format, "serializable", 2, tmp_path, 3, 8, 60)
    makers = makers_of(history.events)
    assert check(history, ledger_of(format, local_files(root), None, makers)) == []
    assert not [op.id for op in history.operations if op.outcome == "unknown"]
    assert isinstance(tf.open_table(root).to_arrow(), pa.Table)
