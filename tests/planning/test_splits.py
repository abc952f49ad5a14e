"""Splits: the parts of a plan's files give every row once, and are packed by Iceberg's rules."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.limits import Limits
from tableformats.planning import splits as splits_module
from tableformats.planning.splits import _cut, _pack, _Part, _weights_of_deletes, _well_defined, size_in_bytes
from tableformats.planning.tasks import ScanTask
from tableformats.plugin import DeleteFiles
from tableformats.schema import Field, primitive
from tableformats.table.scan import ScanPlan
from tests.support.arrow_fakes import FakeFile, snapshot_of

ID = Field(1, "id", primitive("long"))
ROWS = 1000
KEYS = pa.table({"1": pa.array(range(0, ROWS, 7), pa.int64())})
DEAD = sorted({0, 1, 99, 100, 101, 500, 998, 999})


def written(root: Path, kind: str) -> tuple[Path, list[int]]:
    """A file of ROWS rows in many row groups (stripes, blocks), and the offsets that its metadata may name."""
    path = root / f"f.{kind}"
    # Arrow's ORC writer begins a stripe behind so many bytes.
    pad = 4000 if kind == "orc" else 40
    pads = [random.Random(i).randbytes(pad) for i in range(ROWS)]
    rows = pa.table({"id": pa.array(range(ROWS), pa.int64()), "pad": pads})
    if kind == "parquet":
        pq.write_table(rows, path, row_group_size=100)
        groups = pq.ParquetFile(path).metadata
        firsts = [groups.row_group(i).column(0) for i in range(groups.num_row_groups)]
        return path, [min(filter(None, (c.dictionary_page_offset, c.data_page_offset))) for c in firsts]
    if kind == "orc":
        orc = pytest.importorskip("pyarrow.orc")
        with orc.ORCWriter(path, stripe_size=1, row_index_stride=100, compression="zlib") as writer:
            for start in range(0, ROWS, 100):
                writer.write(rows.slice(start, 100))
        assert orc.ORCFile(path).nstripes == 10
        return path, []
    fields = [{"name": "id", "type": "long", "field-id": 1}, {"name": "pad", "type": "bytes", "field-id": 2}]
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows.to_pylist(), sync_interval=2000)
    return path, []


def pieces(path: str) -> int:
    """The file's row groups (stripes, blocks): what a part has whole or not at all."""
    if not path.endswith(".avro"):
        return 10
    with open(path, "rb") as file:
        return sum(1 for _ in fastavro.block_reader(file))


def planned(root: Path, kind: str, offsets: bool | list[int] = False, size: int | None = None, **more: Any) -> ScanPlan:
    path, found = written(root, kind)
    file = FakeFile(
        str(path),
        ROWS,
        file_format=kind,
        size_bytes=path.stat().st_size if size is None else size,
        split_offsets=offsets if isinstance(offsets, list) else found if offsets else [],
        **more,
    )
    return snapshot_of(root, [ID], [file], equality={"keys": KEYS}).scan().plan()


def rows_of(plan: ScanPlan, tasks: list[ScanTask]) -> list[int]:
    return list(plan.to_arrow(tasks)["id"].to_pylist())


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("parts", [1, 7, 45])
def test_the_parts_of_a_file_give_every_row_once(tmp_path: Path, kind: str, parts: int) -> None:
    plan = planned(tmp_path, kind)
    tasks = [task for group in plan.splits(-(-plan_size(plan) // parts), open_cost=0) for task in group]
    assert len(tasks) == parts
    assert tasks[0].start == 0
    assert all(a.start + a.length == b.start for a, b in zip(tasks, tasks[1:], strict=False))
    assert sum(task.length for task in tasks) == tasks[0].size_bytes
    found = [rows_of(plan, [task]) for task in tasks]
    assert [row for rows in found for row in rows] == list(range(ROWS))
    assert sum(bool(rows) for rows in found) == min(parts, pieces(plan.file_uris()[0]))
    (whole,) = plan.tasks()
    assert rows_of(plan, [whole]) == list(range(ROWS)) == plan.to_arrow()["id"].to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_deletes_and_positions_count_from_the_start_of_the_file(tmp_path: Path, kind: str) -> None:
    plan = planned(tmp_path, kind, positions=DEAD, keys=["keys"])
    parts = [task for group in plan.splits(plan_size(plan) // 9, open_cost=0) for task in group]
    assert len(parts) > 8
    found = [row for part in parts for row in rows_of(plan, [part])]
    assert found == [i for i in range(ROWS) if i not in DEAD and i % 7]


def test_row_groups_are_cut_where_they_begin(tmp_path: Path) -> None:
    plan = planned(tmp_path, "parquet", offsets=True)
    tasks = [task for group in plan.splits(1, open_cost=0) for task in group]
    assert [rows_of(plan, [task]) for task in tasks] == [list(range(i, i + 100)) for i in range(0, ROWS, 100)]


@pytest.mark.parametrize("offsets", [[4, 4], [10**9], [-4, 4], [900, 4]])
def test_offsets_that_make_no_sense_are_not_used(tmp_path: Path, offsets: list[int]) -> None:
    plan = planned(tmp_path, "parquet", offsets)
    assert [t.start for g in plan.splits(20_000, open_cost=0) for t in g] == list(range(0, plan_size(plan), 20_000))


def plan_size(plan: ScanPlan) -> int:
    return int(plan.survivors["size_bytes"][0].as_py())


@pytest.mark.parametrize("offsets", [[30_000], [30_000, 31_000], [7, 8, 9]])
@pytest.mark.parametrize("size", [None, 31_500, 10**6])
def test_wrong_offsets_and_sizes_lose_no_row(tmp_path: Path, offsets: list[int], size: int | None) -> None:
    plan = planned(tmp_path, "parquet", offsets, size)
    tasks = [task for group in plan.splits(1, open_cost=0) for task in group]
    assert len(tasks) == len(offsets)
    assert [row for task in tasks for row in rows_of(plan, [task])] == list(range(ROWS))


def test_a_file_in_too_many_parts(tmp_path: Path) -> None:
    plan = planned(tmp_path, "parquet", size=2**62)
    with pytest.raises(LimitExceededError, match="target_size"):
        plan.splits()


def test_limits_hold_for_every_stream(tmp_path: Path) -> None:
    path, _ = written(tmp_path, "parquet")
    file = FakeFile(str(path), ROWS, size_bytes=path.stat().st_size)
    plan = snapshot_of(tmp_path, [ID], [file]).scan(limit=150).plan()
    assert rows_of(plan, list(plan.tasks())) == list(range(150))


# ---- packing --------------------------------------------------------------------------------------------------------


def pack(weights: list[int], target: int, lookback: int) -> list[list[int]]:
    parts = [_Part(0, i, i, weight) for i, weight in enumerate(weights)]
    return [[part.start for part in group] for group in _pack(parts, target, lookback)]


@pytest.mark.parametrize(
    ("weights", "target", "lookback", "groups"),
    [
        ([60, 50, 40, 50], 100, 10, [[0, 2], [1, 3]]),
        # Two groups are open; the third closes the heaviest, the first of several.
        ([60, 60, 60, 40, 40], 100, 2, [[0], [1, 3], [2, 4]]),
        ([60, 70, 60, 40, 40], 100, 2, [[1], [0, 3], [2, 4]]),
        ([60, 40, 60, 40], 100, 1, [[0, 1], [2, 3]]),
        ([60, 60, 40, 40], 100, 1, [[0], [1, 2], [3]]),
        ([500, 1, 500], 100, 10, [[0], [1], [2]]),
        ([], 100, 10, []),
    ],
)
def test_packing(weights: list[int], target: int, lookback: int, groups: list[list[int]]) -> None:
    assert pack(weights, target, lookback) == groups


@settings(deadline=None)
@given(st.lists(st.integers(0, 120)), st.integers(1, 100), st.integers(1, 12))
def test_every_part_is_in_one_group_and_no_group_is_too_heavy(weights: list[int], target: int, lookback: int) -> None:
    groups = pack(weights, target, lookback)
    assert sorted(i for group in groups for i in group) == list(range(len(weights)))
    assert all(len(group) == 1 or sum(weights[i] for i in group) <= target for group in groups)
    assert all(group == sorted(group) for group in groups)


def test_weights_are_bytes_with_deletes_or_the_cost_of_opening(tmp_path: Path) -> None:
    files = [
        FakeFile(str(tmp_path / f"{i}.puffin"), 1, file_format="puffin", size_bytes=100, keys=["keys"] * i)
        for i in range(4)
    ]
    plan = snapshot_of(tmp_path, [ID], files, equality={"keys": KEYS}).scan().plan()

    def groups(target: int, cost: int) -> list[list[int]]:
        return [[task.index for task in group] for group in plan.splits(target, cost)]

    assert groups(400, 0) == [[0, 1, 2, 3]]
    assert groups(400, 100) == [[0, 1], [2], [3]]
    assert groups(10**6, 10**6) == [[0], [1], [2], [3]]


def test_deletes_weigh_as_much_as_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [FakeFile(str(tmp_path / f"{i}.puffin"), 1, file_format="puffin", size_bytes=100) for i in range(4)]
    plan = snapshot_of(tmp_path, [ID], files).scan().plan()
    monkeypatch.setattr(splits_module, "_weights_of_deletes", lambda plan: [0, 300, 0, 50])
    assert [[task.index for task in group] for group in plan.splits(400, 0)] == [[0, 2, 3], [1]]


@pytest.mark.parametrize(
    ("sizes", "counts", "indices", "weights"),
    [
        ([10, 200], [1, 0, 2, 1], [0, 1, 0, 1], [10, 0, 210, 200]),
        ([None, 200], [1, 0, 2, 1], [0, 1, 0, 1], [0, 0, 200, 200]),
        ([], [0, 0], [], [0, 0]),
        (None, [1, 0], [0], [0, 0]),
    ],
)
def test_weights_of_deletes(
    sizes: list[int | None] | None, counts: list[int], indices: list[int], weights: list[int]
) -> None:
    """A file of deletes weighs once for each data file that it is read for."""
    files = pa.table({"path": ["d"]} if sizes is None else {"size_bytes": pa.array(sizes, pa.int64())})
    deletes = DeleteFiles(files, np.cumsum([0, *counts]).astype(np.int64), np.array(indices, np.int32))

    class Plan:
        delete_files = deletes

        def __len__(self) -> int:
            return len(counts)

    plan: Any = Plan()
    assert _weights_of_deletes(plan) == weights


@pytest.mark.parametrize(
    ("offsets", "size", "is_used"),
    [
        ([0], 1, True),
        ([0, 5], 10, True),
        ([4, 5, 9], 10, True),
        ([4, 10], 10, False),
        ([4, 4], 10, False),
        ([5, 4], 10, False),
        ([-1, 4], 10, False),
        ([], 10, False),
    ],
)
def test_offsets_that_ascend_within_a_file(offsets: list[int], size: int, is_used: bool) -> None:
    assert _well_defined(offsets, size) is is_used


@pytest.mark.parametrize(
    ("kind", "size", "offsets", "parts"),
    [
        ("parquet", 10, [], [(0, 4, 4), (4, 8, 4), (8, 10, 2)]),
        ("parquet", 8, [], [(0, 4, 4), (4, 8, 4)]),
        ("parquet", 10, [3, 7], [(0, 7, 4), (7, 10, 3)]),
        ("parquet", 10, [0, 7], [(0, 7, 7), (7, 10, 3)]),
        ("orc", 10, [7, 3], [(0, 4, 4), (4, 8, 4), (8, 10, 2)]),
        ("avro", 1, [], [(0, 1, 1)]),
        ("parquet", 0, [], [(0, 0, 0)]),
        ("parquet", -1, [], [(0, -1, -1)]),
        ("puffin", 10, [3, 7], [(0, 10, 10)]),
    ],
)
def test_parts_of_a_file(kind: str, size: int, offsets: list[int], parts: list[tuple[int, int, int]]) -> None:
    """From the first byte to the last one, with the bytes that weigh."""
    file: Any = SimpleNamespace(size_bytes=size, file_format=kind, path="p")
    assert list(_cut(file, offsets, 4, Limits())) == parts


def test_sizes() -> None:
    assert [size_in_bytes(s) for s in (5, "5", "1k", "1.5 KB", "128MB", "2g", "1TB")] == [
        5,
        5,
        1024,
        1536,
        128 << 20,
        2 << 30,
        1 << 40,
    ]
    for bad in ("", "MB", "1PB", "-1"):
        with pytest.raises(ValueError, match="no size"):
            size_in_bytes(bad)


def test_numbers_that_are_too_small(tmp_path: Path) -> None:
    plan = planned(tmp_path, "parquet")
    for wrong in ({"target_size": 0}, {"lookback": 0}, {"open_cost": -1}):
        with pytest.raises(ValueError, match="greater than 0"):
            plan.splits(**wrong)


def test_row_groups_that_do_not_add_up(tmp_path: Path) -> None:
    plan = planned(tmp_path, "avro")
    path = Path(plan.file_uris()[0])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CorruptMetadataError):
        for group in plan.splits(2000, open_cost=0):
            rows_of(plan, group)


def test_a_task_is_a_whole_file(tmp_path: Path) -> None:
    files = [FakeFile("a", 3), FakeFile("b", 4)]
    tasks = list(snapshot_of(tmp_path, [ID], files).scan().plan().tasks())
    assert [(task.index, task.start, task.length) for task in tasks] == [
        (i, 0, t.size_bytes) for i, t in enumerate(tasks)
    ]
