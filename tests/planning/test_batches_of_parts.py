"""How a planner reads parts batch by batch, and what deletes weigh in splits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.errors import PluginContractError
from tableformats.planning.jobs import PartReadContext
from tableformats.planning.planner import _Planner
from tableformats.planning.splits import _weights_of_deletes
from tableformats.plugin import DeleteFiles, FileBatch, MetadataPart
from tests.planning.test_blocks import BY_P, batch_of


class Reconciler:
    """All rows are live; it remembers which parts ended."""

    has_keys = False

    def __init__(self) -> None:
        self.finished: list[object] = []

    def live(self, batch: FileBatch) -> tuple[None, None]:
        return None, None

    def finish(self, part: MetadataPart) -> None:
        self.finished.append(part.key)


def read(*batches: list[FileBatch]) -> tuple[list[list[int]], list[object]]:
    """The sizes of the files of each block, of parts with these batches; and the parts that ended."""
    numbered = [(i, MetadataPart(f"p{i}", lambda report, found=found: found)) for i, found in enumerate(batches)]
    run: Any = SimpleNamespace(
        snapshot=SimpleNamespace(specs={0: BY_P}),
        disk_cache=SimpleNamespace(cached=lambda part, with_keys: part),
        reconciler=Reconciler(),
        scan=SimpleNamespace(snapshot=SimpleNamespace(location="/t")),
    )
    blocks = list(_Planner._read(run, PartReadContext(numbered)))
    return [fresh.block.sizes.tolist() for fresh in blocks], run.reconciler.finished


def test_batches_of_several_parts_are_one_block() -> None:
    found = read([batch_of([1, 2]), batch_of([3])], [], [batch_of([4])])
    assert found == ([[1, 2, 3, 4]], ["p0", "p1", "p2"])
    assert read([batch_of([1]), batch_of([2], [9])])[0] == [[1], [2]]
    assert read([]) == ([], ["p0"]) and read() == ([], [])


def test_batches_that_break_the_contract() -> None:
    broken = FileBatch(pa.record_batch({"path": ["a"]}), 0)
    for batches in ([broken], [batch_of([1]), broken]):
        with pytest.raises(PluginContractError, match="needs a column 'size_bytes'"):
            read(batches)
    with pytest.raises(PluginContractError):
        read([batch_of([1])], [broken])


@pytest.mark.parametrize(
    ("sizes", "of_files", "weights"),
    [
        ([10, 20], [[0, 1], [1], []], [30, 20, 0]),
        ([10, None], [[], [0, 1]], [0, 10]),
        ([7], [[0], [0]], [7, 7]),
        ([7], [[], []], [0, 0]),
        (None, [[0], []], [0, 0]),
    ],
)
def test_weights_of_deletes(sizes: list[int | None] | None, of_files: list[list[int]], weights: list[int]) -> None:
    count = 2 if sizes is None else len(sizes)
    files = pa.table({"path": ["d"] * count, **({} if sizes is None else {"size_bytes": pa.array(sizes, pa.int64())})})
    offsets = np.cumsum([0, *map(len, of_files)]).astype(np.int64)
    indices = np.array([row for rows in of_files for row in rows], np.int32)

    class Plan:
        delete_files = DeleteFiles(files, offsets, indices)

        def __len__(self) -> int:
            return len(of_files)

    plan: Any = Plan()
    assert _weights_of_deletes(plan) == weights
