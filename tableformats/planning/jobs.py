"""What planning hands between its stages and threads: classified parts, the context of a read, results of jobs,
and what pruning decided by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..dataclass import dataclass
from ..io.path_policy import SharedPrefix
from ..plugin.files import MetadataPart
from ..plugin.manifest_filter import Decision
from ..plugin.report import ScanReport
from ..plugin.statistics import Statistics
from ..pruning.column_ranges import Range, RangeSource
from ..pruning.compiled_predicate import CompiledPredicate, Masks
from .cache.block_cache import BlockCache, CachedPart
from .request import ScanRequest

__all__ = [
    "Evidence",
    "FileEvidence",
    "JobResult",
    "NumberedPart",
    "PartClassification",
    "PartReadContext",
    "PartReader",
    "Survivors",
    "Witness",
]

NumberedPart = tuple[int, MetadataPart]
"""A part with its position among the parts of the snapshot."""


@dataclass
class Survivors:
    """The surviving files of one block.

    Attributes
    ----------
    order : int
        The position of the block's first part in the snapshot.
    files : pyarrow.Table
        One row a file; see :attr:`FilePlan.survivors`.
    counts : list
        Record counts of the files in their order, in parts: int64 arrays, or statistics with the rows to ask for.
    prefix : SharedPrefix, optional
        What all paths begin with, and mean by it.
    """

    order: int
    files: pa.Table
    counts: list[pa.Array | tuple[Statistics, np.ndarray]]
    prefix: SharedPrefix | None = None


@dataclass
class JobResult:
    """What one job gave.

    Attributes
    ----------
    survivors : list of Survivors
    report : ScanReport
        What the job read, dropped and kept.
    entries : list of (MetadataPart, CachedPart)
        For the block cache: the parts that the job read.
    grown : list of MetadataPart
        Parts whose cached blocks take more memory now.
    """

    survivors: list[Survivors] = field(default_factory=list)
    report: ScanReport = field(default_factory=ScanReport)
    entries: list[tuple[MetadataPart, CachedPart]] = field(default_factory=list)
    grown: list[MetadataPart] = field(default_factory=list)


class PartReadContext:
    """Parts that one job reads: ``reports`` count what is read of each, ``timed`` has the time of all."""

    def __init__(self, parts: Sequence[NumberedPart]) -> None:
        self.parts = parts
        self.orders = {part.key: order for order, part in parts}
        self.reports = {part.key: ScanReport() for _, part in parts}
        self.timed = ScanReport()


@dataclass
class PartClassification:
    """The parts of a snapshot by what has to be done with them.

    Attributes
    ----------
    adding : list of MetadataPart
        Those that add keys, newest first.
    cached : list of (position, CachedPart)
        Those that the block cache has.
    fresh : list of (position, part, number of newer parts that add keys)
        Those that add keys and have to be read.
    below : list of (position, part)
        All others, which have to be read once all keys are known.
    """

    adding: list[MetadataPart] = field(default_factory=list)
    cached: list[tuple[int, CachedPart]] = field(default_factory=list)
    fresh: list[tuple[int, MetadataPart, int]] = field(default_factory=list)
    below: list[NumberedPart] = field(default_factory=list)

    @staticmethod
    def of(parts: Sequence[MetadataPart], cache: BlockCache) -> PartClassification:
        """Classify ``parts``, in the order of the snapshot."""
        found = PartClassification()
        for order, part in enumerate(parts):
            entry = cache.find(part, found.adding)
            if entry is not None:
                found.cached.append((order, entry))
            elif part.adds:
                found.fresh.append((order, part, len(found.adding)))
            else:
                found.below.append((order, part))
            if part.adds:
                found.adding.append(part)
        return found


class PartReader(Protocol):
    """Reads and prunes parts elsewhere than on threads of this process.

    Attributes
    ----------
    name : str
        For the report.
    """

    name: str

    def read(
        self, scan: ScanRequest, keys: Sequence[pa.BinaryArray], parts: Sequence[NumberedPart]
    ) -> Iterator[JobResult]:
        """What :func:`tableformats.planning.planner.prune_parts` gives for all parts, in any order.

        Raises as it does: the first error.
        """


@dataclass(frozen=True)
class FileEvidence:
    """What pruning decided ``n`` files of a block by.

    Attributes
    ----------
    sources : sequence of RangeSource
        What partition values say of them.
    ranges : mapping of field id to Range
        Their bounds, where these were looked at.
    compared : bool[n], optional
        Those of them that were to be decided. None: all.
    dropped : bool[n]
        Those that the filter drops.
    is_early : bool
        Whether partition values alone dropped them, and nothing more was read of them.
    masks : Masks
        The outcomes of the filter's leaves, as far as they were evaluated.
    """

    sources: Sequence[RangeSource]
    ranges: Mapping[int, Range]
    compared: np.ndarray | None
    dropped: np.ndarray
    is_early: bool
    masks: Masks = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory that it holds, about: partition values are shared, or small."""
        bounds = sum(int(range_.lower.nbytes) + int(range_.upper.nbytes) for range_ in self.ranges.values())
        return bounds + len(self.dropped) * (8 + len(self.masks) + 3 * len(self.ranges))


class Witness(Protocol):
    """Is told what pruning decides by, on any thread."""

    def add_groups(self, sources: Sequence[RangeSource], decision: Decision) -> None:
        """Manifests, or row groups of a checkpoint, were decided by these sources."""

    def add_files(self, found: FileEvidence) -> None:
        """Files were decided; each file of a block once."""


_MOST_BYTES = 16 << 20
"""Of evidence: that of some hundred thousand files. Pruning more of them again takes a small part of their plan."""


class Evidence:
    """What a plan was decided by, kept so that its files need not be pruned again to be explained.

    Attributes
    ----------
    predicate : CompiledPredicate
    groups : list of (sources, decision)
    files : list of FileEvidence
    is_whole : bool
        False: there was too much of it, and nothing is kept.
    """

    def __init__(self, predicate: CompiledPredicate) -> None:
        self.predicate = predicate
        self.groups: list[tuple[Sequence[RangeSource], Decision]] = []
        self.files: list[FileEvidence] = []
        self.is_whole = True
        self._size = 0

    def add_groups(self, sources: Sequence[RangeSource], decision: Decision) -> None:
        """See :meth:`Witness.add_groups`."""
        if self._has_room(0):
            self.groups.append((sources, decision))

    def add_files(self, found: FileEvidence) -> None:
        """See :meth:`Witness.add_files`."""
        if self._has_room(found.nbytes):
            self.files.append(found)

    def _has_room(self, size: int) -> bool:
        self._size += size  # threads may lose an addition: the limit is a rough one
        if self._size > _MOST_BYTES:
            self.is_whole = False
            self.groups, self.files = [], []
        return self.is_whole

    def tell(self, witness: Witness) -> None:
        """Tell ``witness`` all that is kept."""
        for sources, decision in self.groups:
            witness.add_groups(sources, decision)
        for found in self.files:
            witness.add_files(found)
