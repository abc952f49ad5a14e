"""How many files each part of a filter dropped, and why it kept the others.

A plan drops files in three steps: whole manifests by their summaries, files by partition values, files by bounds. What
one step drops the next one never reads. So a part is judged by what planning read, and files that other parts dropped
before are counted as *not compared*. For each part, dropped + kept + not compared = the files of the manifests that
were read; over all parts, dropped by any + dropped by several together + planned is the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from threading import Lock

import numpy as np
import pyarrow as pa

from ... import expressions as ex
from ...dataclass import dataclass
from ...display import shortened
from ...expressions import Expression
from ...plugin.manifest_filter import Decision, ManifestFilter
from ...plugin.statistics import Bounds
from ...pruning.column_ranges import Range, RangeSource
from ...pruning.compiled_predicate import NONE, CompiledPredicate
from ...pruning.manifest_filter import PredicateManifestFilter
from ..block_pruning import BlockContext, CandidateRows, block_ranges
from ..blocks import take_rows
from ..planner import visit_blocks
from ..request import ScanRequest
from .reasons import PartReasons, Reason
from .widths import Widths

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

    def name_wide_bounds(self, count: int) -> None:
        """Give ``count`` of the files whose bounds allow matching rows the reason that these are wide."""
        if count:
            self.kept[Reason.WIDE_BOUNDS] = count
            self.kept[Reason.WITHIN_BOUNDS] -= count
            if not self.kept[Reason.WITHIN_BOUNDS]:
                del self.kept[Reason.WITHIN_BOUNDS]

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

    Cost: one evaluation of each part over cached bounds. Without a cache the metadata is read again.
    """
    counter = _Counter(scan)
    report = visit_blocks(scan, counter.add, counter.watch, counter.whole if counter.parts else None)
    found = counter.found
    found.skipped_with_manifests = report.files_skipped_with_manifests
    found.group_name = "manifests" if report.manifests_total else "row groups"
    for part, widths, counts in zip(counter.parts, counter.widths, found.parts, strict=True):
        counts.name_wide_bounds(widths.wide())
        counts.kept = dict(sorted(counts.kept.items()))  # threads add in any order
        counts.kept_by = {reason: part.columns(reason) for reason in counts.kept}
    return found


class Judge:
    """Evaluates a filter and its parts for the files of blocks, with what planning would know of them."""

    def __init__(self, scan: ScanRequest) -> None:
        self.nan_is_absent = scan.nan == "absent"
        self.nodes = parts_of(scan.filter)
        self.whole = CompiledPredicate(scan.filter, self.nan_is_absent)
        self.parts = [PartReasons(node, self.whole) for node in self.nodes]

    def sources(self, context: BlockContext, rows: np.ndarray | None) -> list[RangeSource]:
        """What partition values say of these files of a block; None: of all."""
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
        """bool[parts, n]: what each part drops alone by partition values, of files that the whole filter drops so."""
        if len(self.parts) == 1:
            return np.ones((1, sources[0].n), bool)
        verdicts = [(part, part.program.verdicts_of(sources, {})) for part in self.parts]
        dropped = [part.drops(sources, {}, found, self.nan_is_absent) for part, found in verdicts]
        return np.array(dropped, bool).reshape(len(self.parts), sources[0].n)

    def drops_together(
        self, dropped: np.ndarray, sources: Sequence[RangeSource], ranges: Mapping[int, Range]
    ) -> np.ndarray:
        """bool[n]: the files that the whole filter drops and none of its parts; ``dropped`` is that of :meth:`drops`.

        The whole is more than its parts only where conditions of one column are combined.
        """
        found = np.zeros(sources[0].n, bool)
        if self.whole.combines_terms:
            rows = np.flatnonzero(~dropped.any(axis=0))
            sources = [source.take(rows) for source in sources]
            ranges = {i: range_.take(rows) for i, range_ in ranges.items()}
            verdicts = self.whole.verdicts_of(sources, ranges)
            by_nan = self.whole.matches_by_nan_alone(sources, ranges, verdicts) if self.nan_is_absent else None
            found[rows] = (verdicts == NONE) if by_nan is None else (verdicts == NONE) | by_nan
        return found


class _Counter(Judge):
    """Counts for all blocks of a plan. On any thread."""

    def __init__(self, scan: ScanRequest) -> None:
        super().__init__(scan)
        self._specs = scan.snapshot.format_snapshot.specs
        self._lock = Lock()
        self.widths = [Widths() for _ in self.parts]
        self.found = Attribution([PartCounts(str(part.node), part.names) for part in self.parts])

    def watch(self, manifests: ManifestFilter) -> ManifestFilter:
        """A filter of manifests that decides as ``manifests`` does, and counts what each part would skip alone."""
        if len(self.parts) == 1:
            return _CountingManifestFilter(manifests, None, self.found)
        alone = [PredicateManifestFilter(part.program, self._specs) for part in self.parts]
        return _CountingManifestFilter(manifests, alone, self.found)

    def add(self, context: BlockContext, files: Callable[[np.ndarray], pa.Table]) -> None:
        """Count the files of one block, in the steps of :func:`~tableformats.planning.block_pruning.prune_block`."""
        candidates = CandidateRows(len(context.block), context.live_mask)
        rows, columns = candidates.rows, self.whole.columns
        sources = self.sources(context, rows)
        if candidates.n and self.whole.uses_partitions(context.spec):
            decision = self.whole.decide(sources)
            columns = tuple(f for f in columns if decision.undecided_columns[f.id].any())
            early = np.flatnonzero(~decision.keep if candidates.mask is None else ~decision.keep & candidates.mask)
            if len(early):
                self._count(self.drops_by_partition([source.take(early) for source in sources]))
                candidates.keep(decision.keep)
        if not candidates.n:
            return
        known = dict(context.block.ranges)  # a copy: another thread may meanwhile replace a range
        if context.block.missing(known, columns, self.whole.counted, candidates.rows):
            candidates.materialize()  # statistics are read only of files that the snapshot has
        if rows is not candidates.rows:
            rows = candidates.rows
            sources = self.sources(context, rows)
        ranges = block_ranges(context, known, columns, self.whole.counted, rows)[0] if columns else {}
        dropped, reasons = self.drops(sources, ranges)
        together = self.drops_together(dropped, sources, ranges)
        mask = candidates.mask
        if mask is not None:
            dropped, reasons, together = dropped[:, mask], reasons[:, mask], together[mask]
        self._measure(ranges, mask, reasons, ~dropped)
        self._count(dropped, reasons, int(np.count_nonzero(together)))

    def _measure(
        self, ranges: Mapping[int, Range], mask: np.ndarray | None, reasons: np.ndarray, kept: np.ndarray
    ) -> None:
        """Measure the bounds of the parts' columns; ``reasons``, ``kept``: [parts, n] of the files of ``mask``."""
        for part, widths, why, own in zip(self.parts, self.widths, reasons, kept, strict=True):
            column = part.measured
            if column is not None and column.id in ranges:
                is_kept = own & (why == Reason.WITHIN_BOUNDS)
                with self._lock:
                    widths.add(ranges[column.id], mask, is_kept)

    def _count(self, dropped: np.ndarray, reasons: np.ndarray | None = None, together: int = 0) -> None:
        """Count files by bool[parts, n], what each part drops alone, and why it keeps the others; None: the whole
        filter drops all of them by partition values. ``together``: of the others, those that several parts drop."""
        n = dropped.shape[1]
        by_how_many = dropped.sum(axis=0, dtype=np.uint8 if len(dropped) < 256 else np.int64)
        by_any = int(np.count_nonzero(by_how_many))
        with self._lock:
            found = self.found
            found.files += n
            found.dropped += by_any
            together = n - by_any if reasons is None else together
            found.dropped_together += together
            found.planned += n - by_any - together
            for i, (part, own) in enumerate(zip(found.parts, dropped, strict=True)):
                count = int(np.count_nonzero(own))
                part.dropped += count
                part.dropped_alone += int(np.count_nonzero(own & (by_how_many == 1)))
                if reasons is None:
                    part.not_compared += n - count
                    continue
                counts = np.bincount(reasons[i][~own], minlength=len(Reason)).tolist()
                for reason in Reason:
                    if counts[reason]:
                        part.kept[reason] = part.kept.get(reason, 0) + counts[reason]


class _CountingManifestFilter(ManifestFilter):
    """Decides as another filter does, and counts the groups that each part of the filter drops alone."""

    def __init__(self, whole: ManifestFilter, alone: Sequence[ManifestFilter] | None, found: Attribution) -> None:
        """``alone``: the filters of the parts; None: there is one part, the whole."""
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
            if decision.keep.all():
                return decision  # what one part skips, all of them together skip
            for part, own in zip(self._found.parts, self._alone or (None,), strict=True):
                arguments = spec_id, lower, upper, contains_null, contains_nan, bounds
                alone = decision if own is None else own.decide(*arguments)
                part.groups_dropped += int(np.count_nonzero(~alone.keep))
        return decision
