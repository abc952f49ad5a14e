"""Which files of a block may still match, step by step, and which statistics are asked for together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.planning.block_pruning import CandidateRows, _coalesce_requests, _concat_sides, _decode, _masked
from tableformats.plugin.statistics import Bounds, StatisticsSlice
from tableformats.schema import Field, primitive


def bools(text: str) -> np.ndarray:
    return np.array([letter == "1" for letter in text])


@pytest.mark.parametrize(
    ("live", "steps", "left"),
    [
        (None, [], [0, 1, 2, 3, 4, 5, 6, 7]),
        (None, ["11111111"], [0, 1, 2, 3, 4, 5, 6, 7]),
        (None, ["11111110"], [0, 1, 2, 3, 4, 5, 6]),
        (None, ["11111100", "01111111"], [1, 2, 3, 4, 5]),
        (None, ["11111000"], [0, 1, 2, 3, 4]),
        (None, ["00000001", "1"], [7]),
        (None, ["00000000"], []),
        (None, ["11111110", "11111101"], [0, 1, 2, 3, 4, 5]),
        (None, ["11111000", "10111"], [0, 2, 3, 4]),
        (None, ["11111000", "00100"], [2]),
        ("11111101", ["11110111"], [0, 1, 2, 3, 5, 7]),
        ("10100000", ["01"], [2]),
        ("11111111", ["10000000"], [0]),
        ("00000000", [], []),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_files_that_are_kept_step_by_step(live: str | None, steps: list[str], left: list[int], is_last: bool) -> None:
    """A step says something of each file that it evaluates: of all, or of those that are left."""
    found = CandidateRows(8, None if live is None else bools(live))
    dropped = 0
    for number, step in enumerate(steps):
        kept = bools(step)
        if found.n != len(kept):
            pytest.fail(f"step {number} evaluates {found.n} files")
        before = len(found.all_rows())
        ends = is_last and number == len(steps) - 1
        count = found.keep(kept, is_last=ends)
        assert count == before - len(found.all_rows())
        dropped += count
        if ends:
            assert found.mask is None and found.rows is not None and found.rows.tolist() == left
            rows = np.flatnonzero(kept) if live is None and len(steps) == 1 else found.positions
            assert found.positions.tolist() == rows.tolist()
    assert found.all_rows().tolist() == left
    assert dropped == (8 if live is None else live.count("1")) - len(left)
    found.materialize()
    assert found.mask is None and found.all_rows().tolist() == left
    assert found.n == len(left) or (live is None and not steps) or len(left) == 8


def test_a_mask_is_kept_while_three_of_four_files_are_left() -> None:
    for kept, n, has_mask in (("11111100", 8, True), ("11111000", 5, False), ("11111111", 8, False)):
        found = CandidateRows(8, None)
        found.keep(bools(kept))
        assert (found.n, found.mask is not None) == (n, has_mask)
        assert (found.rows is None) is (n == 8)
    found = CandidateRows(8, None)
    found.keep(bools("11111000"))
    found.keep(bools("11110"))
    assert found.n == 5 and found.mask is not None and found.all_rows().tolist() == [0, 1, 2, 3]
    found.materialize()
    assert found.rows is not None and found.rows.tolist() == [0, 1, 2, 3]


def test_values_of_files_that_are_left() -> None:
    values = pa.array([1, 2, 3])
    assert _masked(values, None) is values and _masked(values, bools("101")).to_pylist() == [1, 3]
    found = _concat_sides([pa.array([1]), None, pa.array([None, 4])], [1, 2, 2], pa.int64())
    assert found.to_pylist() == [1, None, None, None, 4]


class Parent:
    """Statistics of which several batches are slices; it remembers for which rows it was asked."""

    def __init__(self, lower: list[int | None], counts: bool = True) -> None:
        self.lower, self.counts = lower, counts
        self.asked: list[Any] = []

    def bounds_or_counts(self, columns: Any, rows: Any, counted: Any) -> Bounds:
        self.asked.append(None if rows is None else rows.tolist())
        chosen = self.lower if rows is None else [self.lower[row] for row in rows.tolist()]
        found = Bounds()
        found.lower[1] = pa.array(chosen, pa.int64())
        found.record_count = pa.array([9] * len(chosen), pa.int64()) if self.counts else None
        return found


def slice_of(parent: Parent, start: int, stop: int) -> StatisticsSlice:
    return StatisticsSlice(parent, start, stop)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([(0, 2, None)], None),
        ([(0, 2, None), (2, 4, None)], [0, 1, 2, 3]),
        ([(0, 2, [1]), (3, 6, [0, 2])], [1, 3, 5]),
    ],
)
def test_slices_of_the_same_statistics_are_asked_for_together(parts: list[Any], found: list[int] | None) -> None:
    parent = Parent(list(range(10)))
    requests = []
    for start, stop, rows in parts:
        own = None if rows is None else np.array(rows, np.int64)
        requests.append((slice_of(parent, start, stop), own, stop - start if own is None else len(own)))
    (result,) = _coalesce_requests(iter(requests))
    if found is None:
        assert result[0] is requests[0][0]
        return
    assert result[0] is parent and result[1] is not None and result[1].tolist() == found and result[2] == len(found)
    other = slice_of(Parent([1]), 0, 1)
    assert [one[0] for one in _coalesce_requests(iter([*requests, (other, None, 1), (None, None, 3)]))][1:] == [
        other,
        None,
    ]


@pytest.mark.parametrize("counts", [True, False])
def test_bounds_of_several_batches(counts: bool) -> None:
    """Nulls stand for batches without statistics, and record counts are known where all say them."""
    column = Field(1, "a", primitive("long"))
    first, second = Parent([1, 2]), Parent([5, 6, 7], counts)
    rows = [(first, None, 2), (None, None, 2), (second, np.array([2]), 1)]
    batches = [SimpleNamespace(statistics=one) for one, _, _ in rows]

    def of_batches(wanted: Any) -> Any:
        for number, (_, own, n) in enumerate(rows):
            stop = n if own is None else 3
            batch = SimpleNamespace(rows=None, start=0, stop=stop, in_batch=lambda own: own, number=number)
            yield batch, np.arange(n) if own is None else own

    block: Any = SimpleNamespace(of_batches=of_batches)
    context: Any = SimpleNamespace(block=block, batch_of=lambda batch: batches[batch.number])
    found = _decode(context, [column], frozenset(), np.array([0, 1, 2, 3, 6]))
    assert found.lower[1].to_pylist() == [1, 2, None, None, 7] and not found.upper
    assert found.record_count is None
    rows.pop(1)
    batches.pop(1)
    found = _decode(context, [column], frozenset(), np.array([0, 1, 6]))
    assert found.lower[1].to_pylist() == [1, 2, 7]
    assert (found.record_count is not None) is counts
    assert first.asked == [None, None] and second.asked == [[2], [2]]


class Known:
    """Statistics that give these bounds, whatever is asked."""

    def __init__(self, **sides: dict[int, pa.Array]) -> None:
        self.found = Bounds()
        for name, columns in sides.items():
            getattr(self.found, name).update(columns)

    def bounds_or_counts(self, columns: Any, rows: Any, counted: Any) -> Bounds:
        return self.found


def decoded(counted: set[int], *parts: tuple[int, Known | None]) -> Bounds:
    """The bounds of a text and a number, from the statistics of batches with so many files each."""
    columns = [Field(1, "s", primitive("string")), Field(2, "n", primitive("int"))]

    def of_batches(wanted: Any) -> Any:
        for number, (n, _) in enumerate(parts):
            yield SimpleNamespace(rows=None, start=0, stop=n, number=number), np.arange(n)

    block: Any = SimpleNamespace(of_batches=of_batches)
    batches = [SimpleNamespace(statistics=statistics) for _, statistics in parts]
    context: Any = SimpleNamespace(block=block, batch_of=lambda batch: batches[batch.number])
    return _decode(context, columns, frozenset(counted), np.arange(sum(n for n, _ in parts)))


def test_bounds_of_batches_that_say_different_things() -> None:
    texts, counts = pa.array(["a", None]), pa.array([3], pa.int64())
    some = 2, Known(lower={1: texts}, upper={1: texts}, null_count={2: pa.array([0, 1], pa.int64())})
    other = 1, Known(null_count={1: counts}, nan_count={2: counts}, upper={2: pa.array([5], pa.int32())})
    found = decoded(set(), some, other, (1, None))
    assert found.lower[1].to_pylist() == found.upper[1].to_pylist() == ["a", None, None, None]
    assert found.lower[1].type == pa.string() and 2 not in found.lower
    assert found.upper[2].to_pylist() == [None, None, 5, None] and found.upper[2].type == pa.int32()
    assert found.null_count[1].to_pylist() == [None, None, 3, None]
    assert found.null_count[2].to_pylist() == [0, 1, None, None] and found.null_count[2].type == pa.int64()
    assert found.nan_count[2].to_pylist() == [None, None, 3, None] and not found.value_count


def test_bounds_that_only_some_batches_give_where_counts_are_asked() -> None:
    """They would be taken for those of all files."""
    texts, counts = pa.array(["a"]), pa.array([3], pa.int64())
    whole = 1, Known(lower={1: texts}, upper={1: texts}, null_count={1: counts})
    assert not decoded({1}, whole, (1, Known(null_count={1: counts}))).lower
    found = decoded({1}, whole, whole)
    assert found.lower[1].to_pylist() == ["a", "a"] and found.null_count[1].to_pylist() == [3, 3]
    assert decoded({1}, whole, (1, None)).null_count[1].to_pylist() == [3, None]
    assert decoded({2}, whole, (1, None)).lower[1].to_pylist() == ["a", None]
