"""Entries of the cache of blocks by themselves: what newer commits take from one, and what its parts weigh."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats._core.filekeys import FileKeySet
from tableformats.planning.blocks import Block, ReadBatch
from tableformats.planning.cache.block_cache import BlockCache, BlockSlice, CachedPart, _covering, cached_blocks
from tableformats.planning.cache.disk_cache import _StoredPart, _text_of
from tableformats.planning.reconciler import key_buffers
from tableformats.plugin import MetadataCache, MetadataPart, PartitionSpec, primitive
from tableformats.plugin.report import ScanReport
from tests.planning.test_blocks import BY_P, BY_Q, batch_of, built

CACHE = MetadataCache(1 << 20)
NAMES = [f"f{i}".encode() for i in range(6)]


def part_of(key: str, names: list[bytes], adds: tuple[str, ...] = ()) -> MetadataPart:
    batch = batch_of([1] * len(names), keys=pa.array(names, pa.binary()), insert_keys=bool(adds))
    return MetadataPart(key, lambda report: [batch], adds=adds)


def block_of(with_hashes: bool = True) -> Block:
    """A block of six files."""
    keys = pa.array(NAMES, pa.binary())
    hashes = FileKeySet(seed=CACHE.seed).hash_batch(*key_buffers(keys)) if with_hashes else None
    (block,) = built(ReadBatch("part", 0, batch_of([1] * 6, keys=keys, insert_keys=False), None, hashes))
    return block


@pytest.mark.parametrize("with_hashes", [True, False])
@pytest.mark.parametrize(
    ("start", "live", "newer", "left"),
    [
        (2, None, [b"f3", b"f9"], [1, 0, 1, 1]),
        (2, None, [b"f9", b"f0"], None),
        (2, [1, 0, 1, 1], [b"f4"], [1, 0, 0, 1]),
        (2, [1, 0, 1, 1], [b"f3"], [1, 0, 1, 1]),
        (0, None, [b"f0", b"f5"], [0, 1, 1, 1, 1, 0]),
        (3, [1, 1, 1], [b"f3", b"f4", b"f5"], [0, 0, 0]),
    ],
)
def test_files_about_which_newer_commits_decide(
    start: int, live: list[int] | None, newer: list[bytes], left: list[int] | None, with_hashes: bool
) -> None:
    cache = BlockCache(CACHE, {})
    mask = None if live is None else np.array(live, bool)
    entry = CachedPart([BlockSlice(block_of(with_hashes), start, 6, mask)])
    found = cache._without(entry, part_of("part", NAMES), [part_of("commit", newer, ("c",))])
    (some,) = found.slices
    assert (some.start, some.stop) == (start, 6) and found.report is entry.report
    assert (None if some.live_mask is None else some.live_mask.astype(int).tolist()) == left
    assert live is None or (mask is not None and mask.astype(int).tolist() == live), "what is cached stays as it is"


@pytest.mark.parametrize(
    ("commits", "more", "count"),
    [
        ([1, 1, 1], 1, 1),
        ([1, 1, 1], 2, 2),
        ([2, 1], 1, 1),
        ([2, 1], 2, 1),
        ([1, 2], 2, 2),
        ([1], 2, None),
        ([], 1, None),
    ],
)
def test_the_newest_parts_that_have_so_many_commits(commits: list[int], more: int, count: int | None) -> None:
    parts = [part_of(f"p{i}", [], tuple(f"{i}.{j}" for j in range(n))) for i, n in enumerate(commits)]
    found = _covering(parts, more)
    assert found is None if count is None else found == parts[:count]


def test_blocks_of_parts() -> None:
    """Parts that share a block are looked at once; what the snapshot does not have is masked."""
    first, second = block_of(), block_of()
    mask = np.array([True, False])
    known = [
        (1, CachedPart([BlockSlice(first, 0, 2), BlockSlice(second, 0, 2, mask)])),
        (4, CachedPart([BlockSlice(first, 2, 6)])),
        (5, CachedPart([BlockSlice(second, 4, 6)])),
        (7, CachedPart([])),
    ]
    (one, other) = cached_blocks(known)
    assert one == (1, first, None)
    assert other[:2] == (1, second) and other[2] is not None
    assert other[2].tolist() == [True, False, False, False, True, True]
    (partly,) = cached_blocks([(0, CachedPart([BlockSlice(first, 0, 5)]))])
    assert partly[2] is not None and partly[2].tolist() == [True] * 5 + [False]


def test_entries_below_newer_commits() -> None:
    """The files about which a commit decides are taken from what older snapshots left, once."""
    memory = MetadataCache(1 << 20)
    first, second, third = (part_of(f"c{i}", [NAMES[i]], (f"c{i}",)) for i in range(3))
    base = part_of("part", NAMES)  # as the batches of the block call it

    def bound(*parts: MetadataPart, specs: Any = None) -> BlockCache:
        cache = BlockCache(memory, {0: BY_P} if specs is None else specs)
        cache.bind_snapshot(parts)
        return cache

    cache = bound(first, base)
    entry = CachedPart([BlockSlice(block_of(with_hashes=False), 0, 6)])
    assert cache.find(base, [first]) is None
    cache.put(base, entry)
    assert cache.find(base, [first]) is entry
    cache.refresh_size(base)
    cache.refresh_size(part_of("other", NAMES))
    assert cache.find(base, [first]) is entry and cache.find(part_of("other", NAMES), [first]) is None
    later = bound(third, second, first, base)
    assert later.find(base, []) is None and later.find(base, [third]) is None, "too few commits are known"
    found = later.find(base, [third, second])
    assert found is not None and found.slices[0].live_mask is not None
    assert found.slices[0].live_mask.tolist() == [True, False, False, True, True, True]
    assert later.find(base, [third, second]) is found and entry.slices[0].live_mask is None
    for specs in ({}, {0: BY_Q}):
        assert bound(third, second, first, base, specs=specs).find(base, [third, second]) is None
    unknown = MetadataPart("c9", lambda report: [], adds=(None,))
    assert bound(unknown, third, second, first, base).find(base, [unknown]) is None


@pytest.mark.parametrize("budget", [0, 1, 1 << 20])
def test_a_cache_without_memory_keeps_nothing(budget: int) -> None:
    memory = MetadataCache(budget)
    cache = BlockCache(memory, {0: BY_P})
    assert cache.is_enabled is (budget > 0) and cache.seed == (memory.seed if budget else None)
    part = part_of("base", NAMES)
    cache.bind_snapshot([part])
    cache.put(part, CachedPart([BlockSlice(block_of(), 0, 6)]))
    assert (cache.find(part, []) is not None) is (budget > 1)


def test_bytes_of_a_part() -> None:
    block, mask = block_of(), np.array([True, False])
    entry = CachedPart([BlockSlice(block, 0, 2, mask), BlockSlice(block, 2, 3)])
    assert entry.nbytes(lambda of: 600) == 512 + 2 + 200 + 100
    assert CachedPart([]).nbytes(lambda of: 600) == 512
    (empty,) = built(ReadBatch("part", 0, batch_of([]), None, None))
    assert CachedPart([BlockSlice(empty, 0, 0)]).nbytes(lambda of: 600) == 512


def test_the_line_before_the_streams_of_an_entry_is_filled_up() -> None:
    """So that what follows is aligned: by less than 16 bytes."""
    for count in range(20):
        report = ScanReport(notes=["x" * count])
        (head,) = _StoredPart(report, [], is_new=True).serialized({})
        line: Any = bytes(head)
        assert len(line) % 16 == 0 and line.endswith(b"\n")
        assert len(line) - len(line.rstrip(b" \n")) <= 16


def test_specs_are_told_apart_by_their_fields() -> None:
    """An entry is of no use where the partition values have other types or sources now."""
    other = PartitionSpec(0, (replace(BY_P.fields[0], type=primitive("int")),))
    texts = [_text_of(specs, 0) for specs in ({0: BY_P}, {0: PartitionSpec(3, BY_P.fields), 1: BY_Q}, {0: other})]
    assert texts[0] == texts[1] != texts[2] and texts[0] is not None and "'p'" in texts[0]
    assert _text_of({1: BY_Q}, 0) is None and _text_of({0: PartitionSpec(0, ())}, 0) == "[]"
