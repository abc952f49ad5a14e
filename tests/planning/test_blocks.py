"""Blocks of files: which batches share one, what is known of their files, and which batches are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.columnar.sparse_rows import SparseRows
from tableformats.errors import PluginContractError
from tableformats.planning import blocks as module
from tableformats.planning.blocks import (
    BatchRows,
    Block,
    BlockBuilder,
    CachedRange,
    ReadBatch,
    check_batch,
    empty_struct,
    sum_or_unknown,
    take_rows,
)
from tableformats.plugin import FileBatch, PartitionField, PartitionSpec, primitive
from tableformats.pruning.column_ranges import Range
from tableformats.schema import Field
from tableformats.schema.transforms import Transform

LONG = primitive("long")
BY_P = PartitionSpec(0, (PartitionField(1000, "p", 1, Transform("identity"), LONG),))
BY_Q = PartitionSpec(1, (PartitionField(1001, "q", 2, Transform("bucket", 4), primitive("int")),))
SPECS = {0: BY_P, 1: BY_Q}


def batch_of(sizes: list[int | None], counts: list[int | None] | None = None, spec: int = 0, **more: Any) -> FileBatch:
    member = "1000" if spec == 0 else "1001"
    partition = pa.array([{member: i} for i in range(len(sizes))], pa.struct([(member, pa.int64())]))
    columns: dict[str, Any] = {
        "path": pa.array([f"f{i}" for i in range(len(sizes))]),
        "size_bytes": pa.array(sizes, pa.int64()),
        "partition": partition,
    }
    if counts is not None:
        columns["record_count"] = pa.array(counts, pa.int64())
    return FileBatch(pa.record_batch(columns), spec, **more)


def read_of(batch: FileBatch, number: int = 0, rows: list[int] | None = None, hashes: Any = None) -> ReadBatch:
    return ReadBatch("part", number, batch, None if rows is None else np.array(rows, np.int64), hashes)


def built(*reads: ReadBatch) -> list[Block]:
    builder = BlockBuilder(SPECS)
    found = [full for read in reads if (full := builder.add(read)) is not None]
    last = builder.finish()
    assert builder.finish() is None
    for fresh in [*found, *([] if last is None else [last])]:
        assert [fresh.batch_of(rows) for rows in fresh.block.batches] == fresh.file_batches
    return [fresh.block for fresh in [*found, *([] if last is None else [last])]]


@pytest.mark.parametrize(
    ("lengths", "target", "sizes"),
    [
        ([2, 3], 5, [5]),
        ([2, 3], 4, [2, 3]),
        ([9, 1, 1], 4, [9, 2]),
        ([1, 9], 4, [1, 9]),
        ([2, 2, 2, 2], 4, [4, 4]),
        ([], 4, []),
    ],
)
def test_batches_share_a_block_of_so_many_files(
    lengths: list[int], target: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TARGET_FILES", target)
    found = built(*(read_of(batch_of([1] * length), number) for number, length in enumerate(lengths)))
    assert [len(block) for block in found] == sizes


def test_only_batches_of_one_kind_share_a_block() -> None:
    kinds = [batch_of([1]), batch_of([1, 2]), batch_of([1], [5]), batch_of([1], [7]), batch_of([1], [5], spec=1)]
    found = built(*(read_of(batch, number) for number, batch in enumerate(kinds)))
    assert [(len(block), block.spec) for block in found] == [(3, BY_P), (2, BY_P), (1, BY_Q)]
    assert [block.totals for block in found] == [(3, 4, None), (2, 2, 12), (1, 1, 5)]
    assert str(found[2].partition.type.field("1001").type) == "int32", "in the type of the spec's field"


def test_live_files_of_several_batches() -> None:
    """A size that is not known is 0; counts that are not known stay so."""
    first, second = batch_of([10, None, 30], [1, 2, None]), batch_of([5, 6], [7, 8])
    (block,) = built(read_of(first, 0, rows=[0, 2]), read_of(second, 1))
    assert block.sizes.tolist() == [10, 30, 5, 6] and block.partition.to_pylist() == [
        {"1000": 0},
        {"1000": 2},
        {"1000": 0},
        {"1000": 1},
    ]
    assert block.record_count is not None and block.record_count.to_pylist() == [1, None, 7, 8]
    assert block.totals == (4, 51, None) and block.hashes is None
    mask = np.array([True, False, True, False])
    assert block.live_totals(mask) == (2, 15, 8) and block.live_totals(None) == (4, 51, None)
    (whole,) = built(read_of(batch_of([10, None]), 0))
    assert whole.sizes.tolist() == [10, 0] and whole.live_totals(np.array([False, True])) == (1, 0, None)
    batches = [(rows.number, own.tolist()) for rows, own in block.of_batches(np.array([1, 3]))]
    assert batches == [(0, [1]), (1, [3])]
    assert [(rows.number, own.tolist()) for rows, own in block.of_batches(np.array([2, 3]))] == [(1, [2, 3])]


def test_rows_of_a_block_in_their_batch() -> None:
    some = BatchRows("k", 0, 10, 13, np.array([4, 6, 9]))
    assert some.in_batch(np.array([10, 11, 12])).tolist() == [4, 6, 9]
    assert some.in_batch(np.array([12])).tolist() == [9] and some.in_batch(np.array([10, 12])).tolist() == [4, 9]
    assert BatchRows("k", 0, 10, 13, None).in_batch(np.array([10, 12])).tolist() == [0, 2]


def range_of(*lower: int | None) -> Range:
    flags = [np.ones(len(lower), np.uint8) for _ in range(3)]
    return Range(pa.array(lower, pa.int64()), pa.array(lower, pa.int64()), *flags)


def known(*lower: int | None, rows: list[int] | None = None, bounds: bool = True, counts: Any = None) -> CachedRange:
    files = SparseRows(None if rows is None else np.array(rows, np.int64))
    return CachedRange(files, range_of(*lower), None if counts is None else pa.array(counts, pa.int64()), bounds)


A, B, NESTED = Field(5, "a", LONG), Field(1, "p", LONG), Field(2, "q", LONG)


def test_columns_whose_ranges_are_missing() -> None:
    """Columns that partition values give exactly have none; counts alone are enough where no more is asked."""
    (block,) = built(read_of(batch_of([1, 2, 3])))
    assert block.bounded([A, B]) == [A]
    for ranges, counted, rows, missing in (
        ({}, (), None, True),
        ({A: known(1, 2, 3)}, (), None, False),
        ({A: known(1, 2, 3, bounds=False)}, (), None, True),
        ({A: known(1, 2, 3, bounds=False)}, (5,), None, False),
        ({A: known(1, 3, rows=[0, 2])}, (), None, True),
        ({A: known(1, 3, rows=[0, 2])}, (), np.array([0, 2]), False),
        ({A: known(1, 3, rows=[0, 2])}, (), np.array([1]), True),
    ):
        assert block.missing(ranges, [A, B], counted, rows) == ([A] if missing else [])


def test_counts_that_decoding_bounds_gave() -> None:
    (block,) = built(read_of(batch_of([1, 2])))
    assert block.known_counts is None
    block.ranges[A] = known(1, 2, rows=[0, 1], counts=[4, 5])
    assert block.known_counts is None, "of some files"
    block.ranges[B] = known(1, 2)
    block.ranges[NESTED] = known(1, 2, counts=[4, 5])
    assert block.known_counts is not None and block.known_counts.to_pylist() == [4, 5]
    (counted,) = built(read_of(batch_of([1, 2], [6, 7])))
    counted.ranges[A] = known(1, 2, counts=[4, 5])
    assert counted.known_counts is not None and counted.known_counts.to_pylist() == [6, 7]


def test_blocks_that_are_joined_for_the_cache() -> None:
    hashes = np.array([1, 2], np.uint64)
    blocks = [built(read_of(batch_of([1, 2], [3, 4]), number, hashes=hashes + number))[0] for number in range(2)]
    for number, block in enumerate(blocks):
        block.ranges[A] = known(number, None, counts=[8, 9])
    assert blocks[0].can_concat(blocks[1])
    joined = Block.concat(blocks)
    assert joined.is_cached and joined.sizes.tolist() == [1, 2, 1, 2] and joined.record_count.to_pylist() == [3, 4] * 2  # type: ignore[union-attr]
    assert joined.hashes is not None and joined.hashes.tolist() == [1, 2, 2, 3]
    assert [(rows.start, rows.stop, rows.number) for rows in joined.batches] == [(0, 2, 0), (2, 4, 1)]
    range_ = joined.ranges[A]
    assert range_.range.lower.to_pylist() == [0, None, 1, None] and range_.has_bounds
    assert range_.counts is not None and range_.counts.to_pylist() == [8, 9, 8, 9]
    assert joined.nbytes > 0 and range_.nbytes > 0
    assert Block.concat(blocks[:1]).sizes.tolist() == [1, 2]


@pytest.mark.parametrize("what", ["spec", "counts", "hashes", "columns", "rows", "counts of bounds"])
def test_blocks_that_differ_are_not_joined(what: str) -> None:
    def block(differs: bool) -> Block:
        given = batch_of([1], None if differs and what == "counts" else [2], spec=int(differs and what == "spec"))
        hashes = None if differs and what == "hashes" else np.array([1], np.uint64)
        (found,) = built(read_of(given, 0, hashes=hashes))
        rows = [0] if differs and what == "rows" else None
        counts = None if differs and what == "counts of bounds" else [3]
        found.ranges[B if differs and what == "columns" else A] = known(1, rows=rows, counts=counts)
        return found

    assert block(False).can_concat(block(False))
    assert not block(False).can_concat(block(True)) and not block(True).can_concat(block(False))


def test_ranges_with_counts_alone_stay_such() -> None:
    joined = CachedRange.concat([known(1), known(2, bounds=False)])
    assert not joined.has_bounds and joined.counts is None and joined.range.lower.to_pylist() == [1, 2]
    assert CachedRange.concat([known(1, rows=[3])]).files.rows.tolist() == [3]  # type: ignore[union-attr]


def changed(name: str, values: Any) -> FileBatch:
    files = batch_of([1, 2], [3, 4]).files
    at = files.schema.get_field_index(name)
    if values is None:
        return FileBatch(files.drop_columns([name]), 0)
    return FileBatch(files.set_column(at, name, values), 0)


@pytest.mark.parametrize(
    ("batch", "field"),
    [
        (changed("path", None), "path"),
        (changed("size_bytes", None), "size_bytes"),
        (changed("path", pa.array([b"a", b"b"])), "path"),
        (changed("size_bytes", pa.array([1, 2], pa.int32())), "size_bytes"),
        (changed("record_count", pa.array([1, 2], pa.int32())), "record_count"),
        (changed("partition", None), "partition"),
        (changed("partition", pa.array(["a", "b"])), "partition"),
        (FileBatch(batch_of([1, 2]).files, 0, keys=pa.array([b"k"])), "keys"),
    ],
)
def test_batches_without_what_they_need(batch: FileBatch, field: str) -> None:
    with pytest.raises(PluginContractError) as caught:
        check_batch(batch)
    assert caught.value.field == field


def test_batches_that_have_what_they_need() -> None:
    for batch in (batch_of([1]), batch_of([1], [2]), FileBatch(batch_of([1]).files, 0, keys=pa.array([b"k"]))):
        check_batch(batch)
    files = batch_of([1]).files
    check_batch(FileBatch(files.select(["partition", "size_bytes", "path"]), 0))  # in any order


def test_sizes_that_nobody_knows() -> None:
    (block,) = built(
        read_of(batch_of([1, None, 3])), read_of(batch_of([None]), 1), read_of(batch_of([5, None]), 2, [1])
    )
    assert block.sizes.tolist() == [1, 0, 3, 0, 0]


def test_partition_values_that_a_batch_lacks() -> None:
    two = PartitionSpec(0, (*BY_P.fields, PartitionField(1009, "x", 9, Transform("identity"), LONG)))
    builder = BlockBuilder({0: two})
    builder.add(read_of(batch_of([1, 2])))
    fresh = builder.finish()
    assert fresh is not None and fresh.block.partition.to_pylist() == [{"1000": 0}, {"1000": 1}]
    for specs in ({}, {0: PartitionSpec(0, ())}):
        builder = BlockBuilder(specs)
        builder.add(read_of(batch_of([1, 2])))
        fresh = builder.finish()
        assert fresh is not None and fresh.block.partition.to_pylist() == [{}, {}]
    assert empty_struct(3).to_pylist() == [{}] * 3


def test_sums_and_rows() -> None:
    assert sum_or_unknown(pa.array([1, 2])) == 3 and sum_or_unknown(pa.array([1, None])) is None
    assert sum_or_unknown(pa.array([], pa.int64())) == 0
    values = pa.array([1, 2, 3])
    assert take_rows(values, None) is values and take_rows(None, np.array([0])) is None
    assert take_rows(values, np.array([2, 0])).to_pylist() == [3, 1]  # type: ignore[union-attr]


def test_hashes_of_keys_of_several_batches() -> None:
    def hashed(*hashes: int) -> Any:
        return np.array(hashes, np.uint64)

    sizes = [1, 2], [3], [4]
    reads = [read_of(batch_of(some), number, hashes=hashed(*some)) for number, some in enumerate(sizes)]
    for count in (1, 2, 3):
        (block,) = built(*reads[:count])
        assert block.hashes is not None and block.hashes.tolist() == block.sizes.tolist() == [1, 2, 3, 4][: count + 1]
    (some,) = built(reads[0], read_of(batch_of([9]), 1))
    assert some.hashes is None and some.sizes.tolist() == [1, 2, 9]
