"""How many files each part of a filter dropped, and why it kept the others.

A plan drops files in three steps: whole manifests by their summaries, files by partition values, files by bounds. What
one step drops the next one never reads. So a part is judged by what planning read, and files that other parts dropped
before are counted as *not compared*. For each part, dropped + kept + not compared = the files of the manifests that
were read; over all parts, dropped by any + dropped by several together + planned is the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import pyarrow as pa

from ... import expressions as ex
from ...display import shortened
from ...expressions import Expression
from ...plugin.manifest_filter import Decision, ManifestFilter
from ...plugin.statistics import Bounds
from ...pruning.column_ranges import Range, RangeSource
from ...pruning.compiled_predicate import CompiledPredicate
from ...pruning.manifest_filter import PredicateManifestFilter
from ...schema import Field
from ..block_pruning import BlockContext, CandidateRows, PruneResult, block_ranges
from ..blocks import take_rows
from ..planner import visit_blocks
from ..request import ScanRequest
from .reasons import PartReasons, Reason

__all__ = ["Attribution", "Judge", "PartCounts", "attribute", "parts_of"]


@dataclass
class PartCounts:
    """What one part of a filter did.

    Attributes
    ----------
    filter : str
        The part, as SQL.
    columns : tuple of str
        The names of its columns.
    groups_dropped : int
        Manifests, or row groups of a checkpoint, that it drops alone.
    dropped : int
        Files that it drops alone, of those whose metadata were read.
    dropped_alone : int
        Those of them that no other part drops, by what planning read of them.
    not_compared : int
        Files that other parts had dropped before their bounds were compared with this part.
    kept : dict of Reason to int
        All others, by why.
    kept_by : dict of Reason to tuple of str
        The names of the columns to which each reason applies.
    """

    filter: str
    columns: tuple[str, ...] = ()
    groups_dropped: int = 0
    dropped: int = 0
    dropped_alone: int = 0
    not_compared: int = 0
    kept: dict[Reason, int] = field(default_factory=dict)
    kept_by: dict[Reason, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        kept = ", ".join(f"{count} {reason.name.lower()}" for reason, count in self.kept.items())
        return f"PartCounts({shortened(self.filter)!r} drops {self.dropped}, keeps {kept or 'none'})"

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        kept = [
            {"reason": reason.name.lower(), "files": count, "columns": list(self.kept_by.get(reason, ()))}
            for reason, count in self.kept.items()
        ]
        values = {name: value for name, value in self.__dict__.items() if name != "kept_by"}
        return {**values, "columns": list(self.columns), "kept": kept}


@dataclass
class Attribution:
    """Which part of a filter dropped which files.

    Attributes
    ----------
    parts : list of PartCounts
        In the order of the filter.
    files : int
        The files whose metadata were read: all but those of skipped manifests.
    skipped_with_manifests : int
        Files that nobody looked at, because their manifest was skipped.
    groups : int
        Manifests, or row groups of a checkpoint, whose summaries were compared.
    group_name : str
        ``manifests`` or ``row groups``.
    dropped : int
        Files that at least one part drops.
    dropped_together : int
        Files that no part drops alone, but several together.
    planned : int
        Files that are left, before a limit.
    """

    parts: list[PartCounts]
    files: int = 0
    skipped_with_manifests: int = 0
    groups: int = 0
    group_name: str = "manifests"
    dropped: int = 0
    dropped_together: int = 0
    planned: int = 0

    def __repr__(self) -> str:
        parts = ", ".join(f"{part.filter!r} drops {part.dropped}" for part in self.parts)
        files = self.files + self.skipped_with_manifests
        return f"Attribution({self.planned} of {files} files planned: {shortened(parts, 200)})"

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {**self.__dict__, "parts": [part.as_dict() for part in self.parts]}


def parts_of(filter: Expression) -> Sequence[Expression]:
    """The parts of a bound filter: what its outermost AND joins. Without a filter there are none."""
    if filter == ex.TRUE:
        return ()
    return filter.children if isinstance(filter, ex.And) else (filter,)


def attribute(scan: ScanRequest) -> Attribution:
    """Plan ``scan`` again and count by parts of its filter. Raises as planning does.

    Cost: one plan from cached metadata, without the columns of files that planning gives, and one evaluation of each
    part. Without a cache the metadata is read again.
    """
    counter = _Counter(scan)
    report = visit_blocks(scan, counter.add, counter.watch)
    found = counter.found
    found.skipped_with_manifests = report.files_skipped_with_manifests
    found.group_name = "manifests" if report.manifests_total else "row groups"
    for part, counts in zip(counter.parts, found.parts, strict=True):
        counts.kept = dict(sorted(counts.kept.items()))  # threads add in any order
        counts.kept_by = {reason: part.columns(reason) for reason in counts.kept}
    return found


class Judge:
    """Evaluates a filter and its parts for the files of blocks, with what planning would know of them."""

    def __init__(self, scan: ScanRequest) -> None:
        self.nan_is_absent = scan.nan == "absent"
        self.nodes = parts_of(scan.filter)
        self.parts = [PartReasons(node) for node in self.nodes]
        self.whole = CompiledPredicate(scan.filter, self.nan_is_absent)

    def sources(self, context: BlockContext, rows: np.ndarray) -> list[RangeSource]:
        """What partition values say of these files of a block."""
        return self.whole.range_sources(context.spec, take_rows(context.block.partition, rows))

    def drops(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> tuple[np.ndarray, np.ndarray]:
        """bool[parts, n], uint8[parts, n]: what each part drops alone, and why it keeps the others."""
        dropped, reasons = [], []
        for part in self.parts:
            verdicts, why = part.of(sources, ranges)
            dropped.append(part.drops(sources, ranges, verdicts, self.nan_is_absent))
            reasons.append(why)
        shape = (len(self.parts), sources[0].n)
        return np.array(dropped, bool).reshape(shape), np.array(reasons, np.uint8).reshape(shape)

    def drops_by_partition(self, sources: Sequence[RangeSource]) -> np.ndarray:
        """bool[parts, n]: what each part drops alone by partition values."""
        verdicts = [(part, part.program.verdicts_of(sources, {})) for part in self.parts]
        dropped = [part.drops(sources, {}, found, self.nan_is_absent) for part, found in verdicts]
        return np.array(dropped, bool).reshape(len(self.parts), sources[0].n)


class _Counter(Judge):
    """Counts for all blocks of a plan. On any thread."""

    def __init__(self, scan: ScanRequest) -> None:
        super().__init__(scan)
        self._specs = scan.snapshot.format_snapshot.specs
        self._lock = Lock()
        self.found = Attribution([PartCounts(str(node), _names(node)) for node in self.nodes])

    def watch(self, manifests: ManifestFilter) -> ManifestFilter:
        """A filter of manifests that decides as ``manifests`` does, and counts what each part would skip alone."""
        alone = [PredicateManifestFilter(part.program, self._specs) for part in self.parts]
        return _CountingManifestFilter(manifests, alone, self.found)

    def add(self, context: BlockContext, pruned: PruneResult, files: Callable[[], pa.Table]) -> None:
        """Count the files of one block."""
        live = CandidateRows(len(context.block), context.live_mask).all_rows()
        if not len(live):
            return
        is_kept = np.zeros(len(context.block), bool)
        is_kept[pruned.rows] = True
        sources = self.sources(context, live)
        columns, left = self.whole.columns, np.ones(len(live), bool)
        if self.whole.uses_partitions(context.spec):
            decision = self.whole.decide(sources)
            left = decision.keep
            columns = tuple(f for f in columns if decision.undecided_columns[f.id].any())
        if left.all():
            dropped, reasons = self._with_bounds(context, columns, sources, live)
        else:
            dropped = self.drops_by_partition(sources)
            reasons = np.zeros(dropped.shape, np.uint8)
            positions = np.flatnonzero(left)
            if len(positions):
                taken = [source.take(positions) for source in sources]
                dropped[:, left], reasons[:, left] = self._with_bounds(context, columns, taken, live[positions])
        self._count(dropped, reasons, left, is_kept[live])

    def _with_bounds(
        self, context: BlockContext, columns: Sequence[Field], sources: Sequence[RangeSource], rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if not columns:
            return self.drops(sources, {})
        known = dict(context.block.ranges)  # a copy: another thread may meanwhile replace a range
        return self.drops(sources, block_ranges(context, known, columns, self.whole.counted, rows)[0])

    def _count(self, dropped: np.ndarray, reasons: np.ndarray, compared: np.ndarray, kept: np.ndarray) -> None:
        by_how_many = dropped.sum(axis=0)
        with self._lock:
            found = self.found
            found.files += len(kept)
            found.planned += int(np.count_nonzero(kept))
            found.dropped += int(np.count_nonzero(by_how_many))
            found.dropped_together += int(np.count_nonzero((by_how_many == 0) & ~kept))
            for part, own, why in zip(found.parts, dropped, reasons, strict=True):
                part.dropped += int(np.count_nonzero(own))
                part.dropped_alone += int(np.count_nonzero(own & (by_how_many == 1)))
                part.not_compared += int(np.count_nonzero(~own & ~compared))
                counts = np.bincount(why[~own & compared], minlength=len(Reason)).tolist()
                for reason in Reason:
                    if counts[reason]:
                        part.kept[reason] = part.kept.get(reason, 0) + counts[reason]


class _CountingManifestFilter(ManifestFilter):
    """Decides as another filter does, and counts the groups that each part of the filter drops alone."""

    def __init__(self, whole: ManifestFilter, alone: Sequence[ManifestFilter], found: Attribution) -> None:
        self._whole = whole
        self._alone = alone
        self._found = found
        self._lock = Lock()

    def decide(
        self,
        spec_id: int,
        lower: Mapping[int, pa.Array],
        upper: Mapping[int, pa.Array],
        contains_null: Mapping[int, pa.Array],
        contains_nan: Mapping[int, pa.Array],
        bounds: Bounds | None = None,
    ) -> Decision:
        """See :meth:`tableformats.plugin.ManifestFilter.decide`."""
        decision = self._whole.decide(spec_id, lower, upper, contains_null, contains_nan, bounds)
        with self._lock:
            self._found.groups += len(decision.verdicts)
            for part, own in zip(self._found.parts, self._alone, strict=True):
                alone = own.decide(spec_id, lower, upper, contains_null, contains_nan, bounds)
                part.groups_dropped += int(np.count_nonzero(~alone.keep))
        return decision


def _names(node: Expression) -> tuple[str, ...]:
    return tuple(str(column) for column in ex.columns_of(node))
