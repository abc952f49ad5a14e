"""Row groups in batches and pieces of any size, decoded ahead or not, give the files that the log lists."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tableformats_delta.checkpoints import row_group_reader as group_reader
from tableformats_delta.snapshot import delta_snapshot as snapshot

from tableformats import CorruptMetadataError, open_table
from tests.support.delta_log import WITH_VECTORS, DeltaLog, add, field, first_actions, metadata, vector

ROWS = 40


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 1 is a checkpoint of ``ROWS`` actions, every third of them no add, some with a deletion vector."""
    first = first_actions(WITH_VECTORS)
    first[1]["metaData"]["schemaString"] = metadata(field("id", "long"))["schemaString"]
    log = DeltaLog(tmp_path / "t").commit(0, *first).commit(1, add("f0"))
    actions = [file(i) if i % 3 else {"txn": None} for i in range(ROWS)]
    return log.checkpoint(f"{1:020d}.checkpoint.parquet", *first, *actions)


def file(i: int) -> dict[str, Any]:
    stats = {"numRecords": 10, "minValues": {"id": i}, "maxValues": {"id": i}, "nullCount": {"id": 0}}
    return add(f"f{i}", stats=json.dumps(stats), **({"deletionVector": vector(0)} if i % 5 == 0 else {}))


@pytest.mark.parametrize("threads", [0, 8])
@pytest.mark.parametrize(("batch", "piece"), [(1, 1), (7, 3), (7, 7), (6, 11), (16_384, 4096)])
def test_pieces_of_any_size(
    log: DeltaLog, monkeypatch: pytest.MonkeyPatch, threads: int, batch: int, piece: int
) -> None:
    monkeypatch.setattr(group_reader, "_BATCH_ROWS", batch)
    monkeypatch.setattr(group_reader, "PIECE_ROWS", piece)
    monkeypatch.setattr(snapshot, "thread_count", lambda: threads)
    table = open_table(log.root)
    live = [i for i in range(ROWS) if i % 3]
    for _ in range(5):
        low, high = sorted(random.Random(batch).sample(range(ROWS), 2))
        plan = table.scan(f"id >= {low} AND id < {high}").plan()
        wanted = [i for i in live if low <= i < high]
        assert plan.survivors["path"].to_pylist() == [f"f{i}" for i in wanted]
        assert plan.record_counts.to_pylist() == [10] * len(wanted)
        assert plan.report.files_with_deletes == sum(i % 5 == 0 for i in wanted)
        assert plan.report.files_total == len(live)


@pytest.mark.parametrize("batch", [4, 7, 16_384])
@pytest.mark.parametrize(
    "adds",
    [range(8, 21), range(29), range(5, ROWS), [0, 9, 10, 11, 30], [ROWS - 1], []],
    ids=["middle", "begin", "end", "scattered", "last", "none"],
)
def test_adds_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adds: Sequence[int], batch: int) -> None:
    """Wherever the adds of a row group stand, each has its own values."""
    monkeypatch.setattr(group_reader, "_BATCH_ROWS", batch)
    monkeypatch.setattr(group_reader, "PIECE_ROWS", 3)
    first = first_actions(WITH_VECTORS)
    first[1]["metaData"].update(
        schemaString=metadata(field("id", "long"), field("p", "long"), field("q", "string"))["schemaString"],
        partitionColumns=["p", "q"],
    )
    files = [file(i) for i in range(ROWS)]
    for i, action in enumerate(files):
        action["add"]["partitionValues"] = {"q": None if i % 7 == 0 else f"q{i % 4}", "p": str(i)}
    log = DeltaLog(tmp_path / "t").commit(0, *first).commit(1, *first)
    rest = [files[i] if i in adds else {"txn": None} for i in range(ROWS)]
    table = open_table(log.checkpoint(f"{1:020d}.checkpoint.parquet", *rest, *first).root)
    everything = [table.scan(filter).plan() for filter in (None, "id >= 0", "p >= 0", "p >= 9 AND id < 30")]
    for plan, wanted in zip(everything, [[*adds]] * 3 + [[i for i in adds if 9 <= i < 30]], strict=True):
        assert plan.survivors["path"].to_pylist() == [f"f{i}" for i in wanted]
        values = plan.survivors["partition"].to_pylist()
        assert [list(value.values()) for value in values] == [[i, f"q{i % 4}" if i % 7 else None] for i in wanted]
        assert plan.report.files_with_deletes == sum(i % 5 == 0 for i in wanted)
        assert plan.record_counts.to_pylist() == [10] * len(wanted)


@pytest.mark.parametrize("batch", [5, 7, 8])
def test_statistics_of_all_batches_are_decoded_once(log: DeltaLog, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(group_reader, "_BATCH_ROWS", batch)
    ways = mock.Mock(wraps=group_reader.ForwardCursor)
    monkeypatch.setattr(group_reader, "ForwardCursor", ways)
    table = open_table(log.root)
    assert len(table.scan("id >= 0").plan()) == sum(i % 3 > 0 for i in range(ROWS))
    assert ways.call_count == 1


def test_damage_is_found_ahead_as_well(log: DeltaLog, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = log.directory.glob("*.checkpoint.parquet")
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(bytes(data))
    for threads in (0, 8):
        monkeypatch.setattr(group_reader, "_BATCH_ROWS", 8)
        monkeypatch.setattr(snapshot, "thread_count", lambda threads=threads: threads)
        with pytest.raises(CorruptMetadataError):
            open_table(log.root).scan("id > 5").plan()
