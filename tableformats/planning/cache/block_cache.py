"""The cache of blocks: what a plan read of the metadata, for later plans of the same table.

An entry belongs to a metadata part and to all that adds keys in its snapshot (the commits): under the same commits the
same files are live. Under newer commits on top of those, only the keys of the newer ones are looked up in the entry: by
their hashes first, and where a hash is found, by the keys themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import attrgetter

import numpy as np
import pyarrow as pa

from ..._core.filekeys import FileKeySet
from ...cache.metadata_cache import MetadataCache
from ...columnar import compute as pc
from ...columnar.arrays import to_arrow
from ...dataclass import dataclass
from ...plugin.files import FileBatch, MetadataPart
from ...plugin.partitions import PartitionSpec
from ...plugin.report import ScanReport
from ..batch_reloader import BatchReloader
from ..blocks import BatchRows, Block
from ..reconciler import key_buffers, keys_of
from .file_columns import FileColumns

__all__ = ["BlockCache", "BlockSlice", "CachedPart", "cached_blocks"]

_MOST_NEWER = 32
"""Entries are looked for that were made under so many commits fewer."""
_OVERHEAD_BYTES = 512
_COMMIT_FILES = 131_072
"""Files of a cached block: fewer blocks cost less, and the columns of one should fit a core's cache."""
_CONTEXTS = itertools.count()


@dataclass
class BlockSlice:
    """Rows ``start`` to ``stop`` of a block; those in ``live_mask`` (bool; None: all) are in the snapshot."""

    block: Block
    start: int
    stop: int
    live_mask: np.ndarray | None = None


@dataclass
class CachedPart:
    """Where the files of a part are, and what reading the part counted and noted."""

    slices: list[BlockSlice]
    report: ScanReport = field(default_factory=ScanReport)

    def nbytes(self, bytes_of: Callable[[Block], int]) -> int:
        """The part's share of the bytes of its blocks."""
        shares = (bytes_of(s.block) * (s.stop - s.start) // max(len(s.block), 1) for s in self.slices)
        masks = sum(s.live_mask.nbytes for s in self.slices if s.live_mask is not None)
        return _OVERHEAD_BYTES + masks + sum(shares)


def cached_blocks(known: Sequence[tuple[int, CachedPart]]) -> Iterator[tuple[int, Block, np.ndarray | None]]:
    """The blocks of cached parts, each with the position of its first part, and the files that are in the snapshot
    (bool[n]; None: all)."""
    blocks: dict[int, tuple[int, Block, list[BlockSlice]]] = {}
    for order, part in known:
        for some in part.slices:
            blocks.setdefault(id(some.block), (order, some.block, []))[2].append(some)
    for order, block, slices in blocks.values():
        if all(s.live_mask is None for s in slices) and sum(s.stop - s.start for s in slices) == len(block):
            yield order, block, None
            continue
        live_mask = np.zeros(len(block), bool)
        for some in slices:
            live_mask[some.start : some.stop] = True if some.live_mask is None else some.live_mask
        yield order, block, live_mask


class BlockCache:
    """The cached blocks of one table, for a snapshot with these ``specs``."""

    def __init__(self, cache: MetadataCache, specs: Mapping[int, PartitionSpec]) -> None:
        self._cache = cache
        self._specs = specs
        self._file_columns = FileColumns(cache)
        self._adds: tuple[Hashable, ...] = ()
        self._contexts: list[tuple[int, int]] = []  # (commits on top, what stands for the rest of them in keys)
        self._newest: dict[int, FileKeySet] = {}
        self._pending: list[tuple[MetadataPart, CachedPart]] = []
        self._n_pending = 0

    @property
    def is_enabled(self) -> bool:
        """Whether anything is cached."""
        return self._cache.budget_bytes > 0

    @property
    def seed(self) -> bytes | None:
        """The seed of cached hashes of keys; None where none are cached."""
        return self._cache.seed if self.is_enabled else None

    def bind_snapshot(self, parts: Sequence[MetadataPart]) -> None:
        """From now on the cache is asked about the snapshot that consists of these parts."""
        self._adds = tuple(add for part in parts for add in part.adds)
        self._contexts = []
        if not self.is_enabled or None in self._adds:
            return
        for more in range(min(len(self._adds), _MOST_NEWER) + 1):
            # The newest commit alone is the key: hashing all of them takes longer than comparing them.
            rest = self._adds[more:]
            key = "commits", rest[:1]
            known, context = self._cache.find(key) or (None, 0)
            if known != rest and more:
                continue
            if known != rest:
                context = next(_CONTEXTS)
                self._cache.keep(key, (rest, context), 256 + 64 * len(rest))
            self._contexts.append((more, context))

    def find(self, part: MetadataPart, newer: Sequence[MetadataPart]) -> CachedPart | None:
        """The entry of ``part`` below the ``newer`` parts of the snapshot that add keys; None: there is none."""
        for more, context in self._contexts if part.key is not None else ():
            found: CachedPart | None = self._cache.find(("part", part.key, context))
            if found is None:
                continue
            if not all(self._fits(some.block) for some in found.slices):
                return None
            if more:
                on_top = _covering(newer, more)
                if on_top is None:
                    continue
                # From now on the newest entry accounts for the memory of the blocks.
                self._cache.keep(("part", part.key, context), found, _OVERHEAD_BYTES)
                found = self._without(found, part, on_top)
                self.put(part, found)
            return found
        return None

    def put(
        self, part: MetadataPart, entry: CachedPart, bytes_of: Callable[[Block], int] = attrgetter("nbytes")
    ) -> None:
        """Cache the entry of ``part`` in this snapshot."""
        if part.key is not None and self._contexts:
            self._cache.keep(("part", part.key, self._contexts[0][1]), entry, entry.nbytes(bytes_of))

    def add_pending(self, entries: Iterable[tuple[MetadataPart, CachedPart]]) -> None:
        """Cache entries soon, their blocks concatenated with those of the entries before them.

        The entries are those of all parts that have files in their blocks.
        """
        for part, entry in entries:
            self._pending.append((part, entry))
            self._n_pending += sum(some.stop - some.start for some in entry.slices)
        if self._n_pending >= _COMMIT_FILES:
            self.commit_pending()

    def commit_pending(self) -> None:
        """Cache the pending entries."""
        pending, self._pending, self._n_pending = self._pending, [], 0
        every = {id(some.block): some.block for _, entry in pending for some in entry.slices}
        runs: list[list[Block]] = []
        for block in every.values():
            if runs and runs[-1][0].can_concat(block):
                runs[-1].append(block)
            else:
                runs.append([block])
        moved: dict[int, tuple[Block, int]] = {}
        sizes: dict[int, int] = {}  # many parts share a block
        for run in runs:
            whole = Block.concat(run)
            sizes[id(whole)] = whole.nbytes
            start = 0
            for block in run:
                moved[id(block)] = whole, start
                start += len(block)
        for part, entry in pending:
            slices = []
            for some in entry.slices:
                block, start = moved[id(some.block)]
                slices.append(BlockSlice(block, some.start + start, some.stop + start, some.live_mask))
            self.put(part, CachedPart(slices, entry.report), lambda block: sizes[id(block)])

    def refresh_size(self, part: MetadataPart) -> None:
        """Measure the entry of ``part`` again, whose blocks have grown."""
        found = self.find(part, ())
        if found is not None:
            self.put(part, found)

    @property
    def file_columns(self) -> FileColumns:
        """The cached columns of files that blocks do not hold."""
        return self._file_columns

    def _fits(self, block: Block) -> bool:
        """Whether the block's partition values have the types that the snapshot gives them."""
        spec = self._specs.get(block.spec.id)
        return spec is not None and spec.fields == block.spec.fields

    def _without(self, entry: CachedPart, part: MetadataPart, newer: Sequence[MetadataPart]) -> CachedPart:
        """The entry without the files about which the ``newer`` parts decide."""
        keys = self._keys_of(newer)
        reloader = BatchReloader({part.key: part})
        slices = []
        for some in entry.slices:
            rows = np.arange(some.start, some.stop)
            if some.block.hashes is not None:
                rows = rows[keys.probe_hashes(some.block.hashes[some.start : some.stop]) == 0]
            if some.live_mask is not None:
                rows = rows[some.live_mask[rows - some.start]]
            removed = [
                own[keys.probe_batch(*key_buffers(self._keys(part, batch, own, reloader))) == 0]
                for batch, own in some.block.of_batches(rows)
            ]
            gone = np.concatenate(removed) if removed else rows[:0]
            live_mask = some.live_mask
            if len(gone):
                live_mask = np.ones(some.stop - some.start, bool) if live_mask is None else live_mask.copy()
                live_mask[gone - some.start] = False
            slices.append(BlockSlice(some.block, some.start, some.stop, live_mask))
        return CachedPart(slices, entry.report)

    def _keys_of(self, newer: Sequence[MetadataPart]) -> FileKeySet:
        if len(newer) not in self._newest:
            keys = FileKeySet(seed=self._cache.seed)
            for some in keys_of(newer):
                keys.add_batch(*key_buffers(some))
            self._newest[len(newer)] = keys
        return self._newest[len(newer)]

    def _keys(self, part: MetadataPart, batch: BatchRows, rows: np.ndarray, reloader: BatchReloader) -> pa.BinaryArray:
        """The keys of these rows of a block."""

        def reload(wanted: BatchRows) -> FileBatch:
            return reloader.batch(wanted.key, wanted.number)

        if part.keys_of is not None:
            (files,) = self._file_columns.take([(batch, rows)], reload)
            return part.keys_of(files)
        keys = reload(batch).keys
        assert keys is not None, "parts below those that add keys have keys"
        return pc.take(keys, to_arrow(batch.in_batch(rows)))


def _covering(newer: Sequence[MetadataPart], more: int) -> Sequence[MetadataPart] | None:
    """The first parts that have at least ``more`` commits; None where all of them have fewer."""
    commits = 0
    for i, part in enumerate(newer):
        commits += len(part.adds)
        if commits >= more:
            return newer[: i + 1]
    return None
