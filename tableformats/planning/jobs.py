"""What planning hands between its stages and threads: classified parts, the context of a read, and results of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..dataclass import dataclass
from ..io.path_policy import SharedPrefix
from ..plugin.files import MetadataPart
from ..plugin.report import ScanReport
from ..plugin.statistics import Statistics
from .cache.block_cache import BlockCache, CachedPart
from .request import ScanRequest

__all__ = ["JobResult", "NumberedPart", "PartClassification", "PartReadContext", "PartReader", "Survivors"]

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
