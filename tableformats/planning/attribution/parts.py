"""How many files each part of a filter dropped, and why it kept the others.

A plan drops files in three steps: whole manifests by their summaries, files by partition values, files by bounds. What
one step drops the next one never reads. So a part is judged by what planning read, and files that other parts dropped
before are counted as *not compared*. For each part, dropped + kept + not compared = the files of the manifests that
were read; over all parts, dropped by any + dropped by several together + planned is the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from threading import Lock

import numpy as np

from ... import expressions as ex
from ...dataclass import dataclass
from ...display import shortened
from ...expressions import Expression
from ...plugin.manifest_filter import Decision
from ...pruning.column_ranges import RangeSource
from ...pruning.compiled_predicate import NONE, CompiledPredicate
from ..jobs import FileEvidence
from ..plan import FilePlan
from ..planner import prune_again
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


def attribute(plan: FilePlan) -> Attribution:
    """Count by parts of the filter of ``plan`` what it was decided by. Raises as planning does.

    Cost: one evaluation of each part over the bounds that planning looked at. Where the plan does not have them any
    more, it is made again from cached metadata. Without a cache the metadata is read again.
    """
    report, evidence = plan.report, plan.evidence
    if report.filter is None:
        n = report.files_total
        return Attribution([], n, planned=n)
    if evidence is not None and evidence.is_whole:
        counter = _Counter(plan.scan, evidence.predicate)
        evidence.tell(counter)
    else:
        scan = plan.scan.reattached()
        counter = _Counter(scan)
        report = prune_again(scan, counter.whole, counter)
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

    def __init__(self, scan: ScanRequest, whole: CompiledPredicate | None = None) -> None:
        """``whole``: the compiled filter; None: it is compiled here."""
        self.nan_is_absent = scan.nan == "absent"
        self.whole = CompiledPredicate(scan.filter, self.nan_is_absent) if whole is None else whole
        self.nodes = parts_of(self.whole.predicate)
        self.parts = [PartReasons(node, self.whole) for node in self.nodes]

    def drops(self, found: FileEvidence) -> tuple[np.ndarray, np.ndarray]:
        """bool[parts, n], uint8[parts, n]: what each part drops alone, and why it keeps the others."""
        dropped, reasons = [], []
        for part in self.parts:
            verdicts, why = part.of(found)
            dropped.append(part.drops(found, verdicts, self.nan_is_absent))
            reasons.append(why)
        shape = (len(self.parts), len(found.dropped))
        return np.array(dropped, bool).reshape(shape), np.array(reasons, np.uint8).reshape(shape)


class _Counter(Judge):
    """Counts what a plan was decided by. A :class:`~tableformats.planning.jobs.Witness`, on any thread."""

    def __init__(self, scan: ScanRequest, whole: CompiledPredicate | None = None) -> None:
        super().__init__(scan, whole)
        self._lock = Lock()
        self.widths = [Widths() for _ in self.parts]
        self.found = Attribution([PartCounts(str(part.node), part.names) for part in self.parts])

    def add_groups(self, sources: Sequence[RangeSource], decision: Decision) -> None:
        """Count the groups that each part would skip alone."""
        dropped = ~decision.keep
        counts = [0] * len(self.parts)
        if dropped.any():  # what one part skips, all of them together skip
            if len(self.parts) > 1:
                alone = [part.program.verdicts_of(sources, {}) == NONE for part in self.parts]
            else:
                alone = [dropped]
            counts = [int(np.count_nonzero(own)) for own in alone]
        with self._lock:
            self.found.groups += len(dropped)
            for part, count in zip(self.found.parts, counts, strict=True):
                part.groups_dropped += count

    def add_files(self, found: FileEvidence) -> None:
        """Count files."""
        dropped, reasons = self.drops(found)
        if found.compared is not None:
            which = np.flatnonzero(found.compared)
            dropped, reasons = dropped[:, which], reasons[:, which]
        by_whole = found.dropped if found.compared is None else found.dropped[which]
        self._measure(found, reasons)
        self._count(dropped, reasons, by_whole, found.is_early)

    def _measure(self, found: FileEvidence, reasons: np.ndarray) -> None:
        """Measure the bounds of the parts' columns; ``reasons``: uint8[parts, n] of the compared files."""
        for part, widths, why in zip(self.parts, self.widths, reasons, strict=True):
            column = part.measured
            if column is not None and column.id in found.ranges:
                with self._lock:
                    widths.add(found.ranges[column.id], found.compared, why == Reason.WITHIN_BOUNDS)

    def _count(self, dropped: np.ndarray, reasons: np.ndarray, by_whole: np.ndarray, is_early: bool) -> None:
        """Count files by what each part drops alone (bool[parts, n]), why it keeps the others (uint8[parts, n]), and
        what the whole filter drops (bool[n]): where that is early, parts that keep a file were not compared with it."""
        n = dropped.shape[1]
        by_how_many = dropped.sum(axis=0, dtype=np.uint8 if len(dropped) < 256 else np.int64)
        by_any = int(np.count_nonzero(by_how_many))
        together = int(np.count_nonzero(by_whole & (by_how_many == 0)))
        with self._lock:
            found = self.found
            found.files += n
            found.dropped += by_any
            found.dropped_together += together
            found.planned += n - by_any - together
            for part, own, why in zip(found.parts, dropped, reasons, strict=True):
                count = int(np.count_nonzero(own))
                part.dropped += count
                part.dropped_alone += int(np.count_nonzero(own & (by_how_many == 1)))
                kept = ~(own | by_whole) if is_early else ~own
                counts = np.bincount(why[kept], minlength=len(Reason)).tolist()
                part.not_compared += n - count - sum(counts)
                for reason in Reason:
                    if counts[reason]:
                        part.kept[reason] = part.kept.get(reason, 0) + counts[reason]
