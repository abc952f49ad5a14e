"""What a plan leaves behind for the next one: the blocks and file columns of parts that it read.

A part's entry is found by its key and by all that adds keys in the snapshot (its commits): under the same commits, the
same files are left. Where a snapshot has newer ones on top of those, only these are looked up in what is kept: by the
hashes of their keys first, and where a hash is found, by the keys themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .._core.filekeys import FileKeySet
from ..cache.metadata_cache import MetadataCache
from ..columnar import compute as pc
from ..columnar.arrays import text_buffers, to_arrow
from ..plugin.files import FileBatch, MetadataPart
from ..plugin.partitions import PartitionSpec
from ..plugin.report import ScanReport
from .blocks import BatchOf, Block, Source

__all__ = ["Kept", "KeptPart", "Place", "Reconciler", "Reread", "keys_of"]

_MOST_NEWER = 32
"""So many commits on top of those that an entry was made under are looked for."""
_OVERHEAD_BYTES = 512
_KEPT_FILES = 131_072
"""Files of a block that is kept: fewer blocks cost less, and the columns of one should fit a core's cache."""
_MANY = 8
"""Survivors are kept without other files where they are less than one in so many of what the snapshot has."""
_NOT_KEPT = ("partition", "record_count")
"""Columns of files that blocks have already."""
_CONTEXTS = itertools.count()


@dataclass
class Place:
    """Rows ``start`` to ``stop`` of a block; those that are ``alive`` (bool; None: all) are in the snapshot."""

    block: Block
    start: int
    stop: int
    alive: np.ndarray | None = None


@dataclass
class KeptPart:
    """Where a part's files are, and what reading it counted and noticed."""

    places: list[Place]
    report: ScanReport = field(default_factory=ScanReport)

    def nbytes(self, bytes_of: Callable[[Block], int]) -> int:
        """The part's share of the bytes of its blocks."""
        shares = (bytes_of(p.block) * (p.stop - p.start) // max(len(p.block), 1) for p in self.places)
        masks = sum(p.alive.nbytes for p in self.places if p.alive is not None)
        return _OVERHEAD_BYTES + masks + sum(shares)


@dataclass
class _Files:
    """Files of a batch: those in its ``rows`` (int64, ascending; None: all)."""

    files: pa.RecordBatch
    rows: np.ndarray | None

    @property
    def nbytes(self) -> int:
        return int(self.files.nbytes) + (0 if self.rows is None else self.rows.nbytes)

    def only(self, rows: np.ndarray) -> _Files:
        """Of all files of a batch these alone."""
        return _Files(pc.take(self.files, to_arrow(rows)), rows)

    def alone(self) -> _Files:
        """In memory of their own, where that which they have is mostly other files'."""
        if self.files.get_total_buffer_size() <= 2 * self.files.nbytes:
            return self
        return _Files(pc.take(self.files, to_arrow(np.arange(self.files.num_rows))), self.rows)

    def at(self, places: np.ndarray) -> pa.RecordBatch | None:
        """The files in these rows of the batch (int64, ascending); None where some are not here."""
        if places is not self.rows and self.rows is not None:
            found = np.searchsorted(self.rows, places)
            if len(found) and (found[-1] == len(self.rows) or not np.array_equal(self.rows[found], places)):
                return None
            places = found
        return self.files if len(places) == self.files.num_rows else pc.take(self.files, to_arrow(places))


class _Few(NamedTuple):
    """The files ``places`` (int64, ascending) of a source, whose batch begins at row ``first`` of ``whole``."""

    source: Source
    places: np.ndarray
    whole: FileBatch
    first: int


class Reconciler:
    """Which rows of a log's batches are live: newest batch first, the first row of a key decides.

    Parameters
    ----------
    seed : of the hashes, which then may be kept; None: none is given out
    """

    def __init__(self, seed: bytes | None) -> None:
        self._seed = seed
        self._seen = FileKeySet(seed=seed)
        self._n_added = 0

    @property
    def has_keys(self) -> bool:
        """Whether some key was added, so that keys of other rows are looked at."""
        return len(self._seen) > 0

    def catch_up(self, adding: Sequence[MetadataPart]) -> None:
        """Add the keys of those of these parts, the newest first, that were not read."""
        self.add(keys_of(adding[self._n_added :]))
        self._n_added = len(adding)

    def add(self, keys: Iterable[pa.BinaryArray]) -> None:
        """Add keys that decide about whatever comes."""
        for some in keys:
            self._seen.add_batch(*_buffers(some))

    def live(self, batch: FileBatch) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The rows that are live (int64, ascending; None: all), and the hashes of their keys (None: not known)."""
        if batch.keys is None:
            return None if batch.live is None else np.flatnonzero(batch.live), None
        first, hashes = self._first(batch.keys, batch.insert_keys)
        if batch.live is not None:
            first &= np.asarray(batch.live, bool)
        if first.all():
            return None, hashes
        return np.flatnonzero(first), None if hashes is None else hashes[first]

    def _first(self, keys: pa.BinaryArray, inserts: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """bool[n]: keys that were not seen; and their hashes."""
        buffers = _buffers(keys)
        hashes = None if self._seed is None else self._seen.hash_batch(*buffers)
        if inserts or hashes is None:
            return (self._seen.add_batch if inserts else self._seen.probe_batch)(*buffers).view(bool), hashes
        first = self._seen.probe_hashes(hashes).view(bool)
        unsure = np.flatnonzero(~first)
        first[unsure] = self._seen.probe_batch(*_buffers(pc.take(keys, to_arrow(unsure)))).view(bool)
        return first, hashes

    def read(self, part: MetadataPart) -> None:
        """All batches of a part that adds keys were given to :meth:`live`."""
        self._n_added += bool(part.adds)


class Reread:
    """Batches of parts that were read before, read again when something else of them is asked for; for one thread."""

    def __init__(self, parts: Mapping[Hashable, MetadataPart]) -> None:
        self._parts = parts
        self._read: dict[Hashable, list[FileBatch]] = {}

    def __call__(self, source: Source) -> FileBatch:
        if source.key not in self._read:
            self._read[source.key] = list(self._parts[source.key].read(ScanReport()))
        return self._read[source.key][source.number]


class Kept:
    """The entries of one table's cache, for a snapshot with these ``specs``."""

    def __init__(self, cache: MetadataCache, specs: Mapping[int, PartitionSpec]) -> None:
        self._cache = cache
        self._specs = specs
        self._adds: tuple[Hashable, ...] = ()
        self._contexts: list[tuple[int, int]] = []  # (commits on top, what stands for the rest of them in keys)
        self._newest: dict[int, FileKeySet] = {}
        self._waiting: list[tuple[MetadataPart, KeptPart]] = []
        self._n_waiting = 0

    @property
    def keeps(self) -> bool:
        return self._cache.budget_bytes > 0

    @property
    def seed(self) -> bytes | None:
        """For hashes of keys; None where none are kept."""
        return self._cache.seed if self.keeps else None

    def look_at(self, parts: Sequence[MetadataPart]) -> None:
        """These are the parts of the snapshot."""
        self._adds = tuple(add for part in parts for add in part.adds)
        self._contexts = []
        if not self.keeps or None in self._adds:
            return
        for more in range(min(len(self._adds), _MOST_NEWER) + 1):
            # The newest alone is the key: to hash all of them takes longer than to compare them.
            rest = self._adds[more:]
            key = "commits", rest[:1]
            known, context = self._cache.find(key) or (None, 0)
            if known != rest and more:
                continue
            if known != rest:
                context = next(_CONTEXTS)
                self._cache.keep(key, (rest, context), 256 + 64 * len(rest))
            self._contexts.append((more, context))

    def find(self, part: MetadataPart, newer: Sequence[MetadataPart]) -> KeptPart | None:
        """The entry of ``part``, below the ``newer`` ones of the snapshot that add keys."""
        for more, context in self._contexts if part.key is not None else ():
            found: KeptPart | None = self._cache.find(("part", part.key, context))
            if found is None:
                continue
            if not all(self._fits(place.block) for place in found.places):
                return None
            if more:
                on_top = _covering(newer, more)
                if on_top is None:
                    continue
                # The newest entry answers for the blocks' memory.
                self._cache.keep(("part", part.key, context), found, _OVERHEAD_BYTES)
                found = self._without(found, part, on_top)
                self.keep(part, found)
            return found
        return None

    def keep(self, part: MetadataPart, kept: KeptPart, bytes_of: Callable[[Block], int] = attrgetter("nbytes")) -> None:
        """Keep what was made of ``part`` in this snapshot."""
        if part.key is not None and self._contexts:
            self._cache.keep(("part", part.key, self._contexts[0][1]), kept, kept.nbytes(bytes_of))

    def gather(self, entries: Iterable[tuple[MetadataPart, KeptPart]]) -> None:
        """Keep what was made of these parts in this snapshot, their blocks joined with those of the parts before them.
        They are all parts that have files in these blocks."""
        for part, kept in entries:
            self._waiting.append((part, kept))
            self._n_waiting += sum(place.stop - place.start for place in kept.places)
        if self._n_waiting >= _KEPT_FILES:
            self.flush()

    def flush(self) -> None:
        """Keep what waits."""
        waiting, self._waiting, self._n_waiting = self._waiting, [], 0
        every = {id(place.block): place.block for _, kept in waiting for place in kept.places}
        runs: list[list[Block]] = []
        for block in every.values():
            if runs and runs[-1][0].joins(block):
                runs[-1].append(block)
            else:
                runs.append([block])
        moved: dict[int, tuple[Block, int]] = {}
        sizes: dict[int, int] = {}  # a block is shared by many parts
        for run in runs:
            joined = Block.concat(run)
            sizes[id(joined)] = joined.nbytes
            start = 0
            for block in run:
                moved[id(block)] = joined, start
                start += len(block)
        for part, kept in waiting:
            places = []
            for place in kept.places:
                block, start = moved[id(place.block)]
                places.append(Place(block, place.start + start, place.stop + start, place.alive))
            self.keep(part, KeptPart(places, kept.report), lambda block: sizes[id(block)])

    def measure(self, part: MetadataPart) -> None:
        """Count again what the entry of ``part`` takes."""
        found = self.find(part, ())
        if found is not None:
            self.keep(part, found)

    def files(
        self, asked: Iterable[tuple[Source, np.ndarray]], batch_of: BatchOf, are_most: bool = False
    ) -> list[pa.RecordBatch]:
        """The columns of files of a block, in their order, but for those that blocks have.

        For the next plan those are kept that the snapshot has, or these alone where they are few; the batch as a whole
        once somebody asks for others.

        Parameters
        ----------
        asked : sources, and which rows of the block that are theirs
        batch_of : gives the batch of a source
        are_most : so are the batches beside each, whose memory it may share
        """
        found: list[pa.RecordBatch | list[_Few]] = []
        for source, rows in asked:
            places = source.places(rows)
            known = self._files_of(source)
            files = None if known is None else known.at(places)
            if files is not None:
                found.append(files)
                continue
            batch = batch_of(source)
            if known is not None or _MANY * len(rows) >= source.stop - source.start:
                found.append(self._all(source, places, batch, are_most, known is None))
                continue
            whole, first = batch.in_parent
            if not (found and isinstance(found[-1], list) and found[-1][0].whole is whole):
                found.append([])
            found[-1].append(_Few(source, places, whole, first))
        return [self._few(files) if isinstance(files, list) else files for files in found]

    def _files_of(self, source: Source) -> _Files | None:
        """The columns of files of a source, as they are kept; None: they are not."""
        known: _Files | None = None
        if source.key is not None:
            known = self._cache.find(("files", source.key, source.number))
        return known

    def _keep_files(self, source: Source, kept: _Files, nbytes: int) -> None:
        if source.key is not None:
            self._cache.keep(("files", source.key, source.number), kept, nbytes)

    def _few(self, few: Sequence[_Few]) -> pa.RecordBatch:
        """Some files of one batch, which are kept without the others: a step for each part costs more than all."""
        rows = np.concatenate([some.places + some.first for some in few])
        files = pc.take(_kept_columns(few[0].whole), to_arrow(rows))
        nbytes, start = int(files.nbytes), 0
        for source, places, _, _ in few:
            share = nbytes * len(places) // len(rows)
            self._keep_files(source, _Files(files.slice(start, len(places)), places), share + places.nbytes)
            start += len(places)
        return files

    def _all(
        self, source: Source, places: np.ndarray, batch: FileBatch, are_most: bool, is_new: bool
    ) -> pa.RecordBatch:
        """The files in ``places`` of a batch, of which all are kept, or all that the snapshot has if it ``is_new``."""
        kept = _Files(_kept_columns(batch), None)
        if is_new and source.rows is not None:
            kept = kept.only(source.rows)
        elif source.key is not None and not are_most:
            kept = kept.alone()
        self._keep_files(source, kept, kept.nbytes)
        found = kept.at(places)
        assert found is not None, "what is asked for is kept"
        return found

    def _fits(self, block: Block) -> bool:
        """Whether the block's partition values have the types that the snapshot gives them."""
        spec = self._specs.get(block.spec.id)
        return spec is not None and spec.fields == block.spec.fields

    def _without(self, kept: KeptPart, part: MetadataPart, newer: Sequence[MetadataPart]) -> KeptPart:
        """The entry without the files about which the parts ``newer`` decide."""
        keys = self._keys_of(newer)
        reread = Reread({part.key: part})
        places = []
        for place in kept.places:
            rows = np.arange(place.start, place.stop)
            if place.block.hashes is not None:
                rows = rows[keys.probe_hashes(place.block.hashes[place.start : place.stop]) == 0]
            if place.alive is not None:
                rows = rows[place.alive[rows - place.start]]
            dead = [
                own[keys.probe_batch(*_buffers(self._keys(part, source, own, reread))) == 0]
                for source, own in place.block.of_sources(rows)
            ]
            gone = np.concatenate(dead) if dead else rows[:0]
            alive = place.alive
            if len(gone):
                alive = np.ones(place.stop - place.start, bool) if alive is None else alive.copy()
                alive[gone - place.start] = False
            places.append(Place(place.block, place.start, place.stop, alive))
        return KeptPart(places, kept.report)

    def _keys_of(self, newer: Sequence[MetadataPart]) -> FileKeySet:
        if len(newer) not in self._newest:
            keys = FileKeySet(seed=self._cache.seed)
            for some in keys_of(newer):
                keys.add_batch(*_buffers(some))
            self._newest[len(newer)] = keys
        return self._newest[len(newer)]

    def _keys(self, part: MetadataPart, source: Source, rows: np.ndarray, reread: Reread) -> pa.BinaryArray:
        """The keys of these rows of a block."""
        if part.keys_of is not None:
            (files,) = self.files([(source, rows)], reread)
            return part.keys_of(files)
        keys = reread(source).keys
        assert keys is not None, "parts below those that add keys have keys"
        return pc.take(keys, to_arrow(source.places(rows)))


def _kept_columns(batch: FileBatch) -> pa.RecordBatch:
    """The columns of the files that blocks have not."""
    return batch.files.select([name for name in batch.files.schema.names if name not in _NOT_KEPT])


def keys_of(parts: Iterable[MetadataPart]) -> Iterator[pa.BinaryArray]:
    """The keys that parts add, batch by batch."""
    for part in parts:
        for batch in part.read(ScanReport()):
            if batch.keys is not None:
                yield batch.keys


def _covering(newer: Sequence[MetadataPart], more: int) -> Sequence[MetadataPart] | None:
    """The first parts, with at least ``more`` commits; None where the parts have less."""
    commits = 0
    for i, part in enumerate(newer):
        commits += len(part.adds)
        if commits >= more:
            return newer[: i + 1]
    return None


def _buffers(keys: pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    return text_buffers(pc.cast(keys, pa.binary()))
