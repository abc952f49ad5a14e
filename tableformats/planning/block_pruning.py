"""Pruning of one block: partition values first, then the ranges of the columns that they leave undecided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import to_arrow
from ..columnar.sparse_rows import SparseRows
from ..dataclass import dataclass
from ..plugin.partitions import PartitionSpec
from ..plugin.report import ScanReport
from ..plugin.statistics import Bounds, Statistics, StatisticsSlice
from ..pruning.column_ranges import Range, ranges_of
from ..pruning.compiled_predicate import ALL, NONE, CompiledPredicate, Masks, verdicts_of_outcomes
from ..schema import Field, arrow_type
from .blocks import BatchOf, Block, CachedRange, sum_or_unknown, take_rows
from .jobs import FileEvidence, Witness

__all__ = ["BlockContext", "PruneResult", "block_ranges", "prune_block"]

_SIDES = ("lower", "upper", "null_count", "nan_count", "value_count")


@dataclass(frozen=True)
class BlockContext:
    """What one plan knows of a block.

    Attributes
    ----------
    block : Block
    spec : PartitionSpec
        The snapshot's spec of the block's id.
    live_mask : bool[n], optional
        The files that the snapshot has; None: all.
    batch_of : callable
        Gives the batch of rows whose statistics or columns must be read.
    """

    block: Block
    spec: PartitionSpec
    live_mask: np.ndarray | None
    batch_of: BatchOf

    def live_rows(self) -> np.ndarray:
        """int64, ascending: the files of the block that the snapshot has."""
        return CandidateRows(len(self.block), self.live_mask).all_rows()


@dataclass
class PruneResult:
    """The files of a block that may match.

    Attributes
    ----------
    rows : int64[k]
        Ascending.
    matched : bool[k]
        Whether every row of the file matches.
    counts : int64[k], optional
        Record counts, where they are known without reading statistics.
    """

    rows: np.ndarray
    matched: np.ndarray
    counts: pa.Array | None


def prune_block(
    context: BlockContext, predicate: CompiledPredicate | None, report: ScanReport, witness: Witness | None = None
) -> PruneResult:
    """Prune the files of a block, and count them and those that are dropped in ``report``.

    ``witness`` is told what decided, where there is a predicate.

    Raises
    ------
    CorruptMetadataError
        As statistics are decoded.
    """
    n, size, rows = context.block.live_totals(context.live_mask)
    report.files_total += n
    report.bytes_listed += size
    if predicate is None:
        every = context.live_rows()
        pruned = PruneResult(every, np.ones(len(every), bool), take_rows(context.block.known_counts, every))
    else:
        pruned, decoded = _pruned(context, predicate, report, witness)
        rows = decoded if rows is None else rows
    if n:
        report.count_rows(rows)
    return pruned


def _pruned(
    context: BlockContext, predicate: CompiledPredicate, report: ScanReport, witness: Witness | None
) -> tuple[PruneResult, int | None]:
    """The survivors of a block, and the rows of all of its files where decoding bounds gave them."""
    block, spec = context.block, context.spec
    candidates = CandidateRows(len(block), context.live_mask)
    columns: Sequence[Field] = predicate.columns
    is_decided, dropped = False, 0
    rows = candidates.rows
    sources = predicate.range_sources(spec, take_rows(block.partition, rows))
    if predicate.uses_partitions(spec):
        with report.stage("partitions"):
            decision = predicate.decide(sources)
            columns = tuple(f for f in columns if decision.undecided_columns[f.id].any())
            is_decided = not columns
            compared = candidates.mask
            dropped = candidates.keep(decision.keep, is_last=is_decided)
            report.files_dropped_by_partition += dropped
        if witness is not None and (dropped or is_decided):
            early = ~decision.keep
            if not is_decided:
                compared = early if compared is None else early & compared
            witness.add_files(FileEvidence(sources, {}, compared, early, is_early=True))
    if not candidates.n:
        return PruneResult(np.zeros(0, np.int64), np.zeros(0, bool), None), None
    if is_decided:
        left = candidates.all_rows()
        matched = decision.verdicts[candidates.positions] == ALL
        return PruneResult(left, matched, take_rows(block.known_counts, left)), None
    with report.stage("bounds"):
        # A copy: another thread may meanwhile replace a range by one for other rows, or by counts alone.
        known = dict(block.ranges)
        if block.missing(known, columns, predicate.counted, candidates.rows):
            # Statistics are read only of files that the snapshot has: the parts of others may not exist any more.
            candidates.materialize()
        if rows is not candidates.rows:
            rows = candidates.rows
            sources = predicate.range_sources(spec, take_rows(block.partition, rows))
        ranges, counts = block_ranges(context, known, columns, predicate.counted, rows)
        masks: Masks | None = None if witness is None else {}
        verdicts = verdicts_of_outcomes(predicate.outcomes_of(sources, ranges, masks))
        for_nan = predicate.matches_by_nan_alone(sources, ranges, verdicts)
        if for_nan is not None and predicate.nan_is_absent:
            verdicts[for_nan] = NONE
        listed = None if dropped or counts is None else sum_or_unknown(_masked(counts, candidates.mask))
        kept = verdicts != NONE
        if witness is not None:
            witness.add_files(FileEvidence(sources, ranges, candidates.mask, ~kept, is_early=False, masks=masks or {}))
        report.files_dropped_by_bounds += candidates.keep(kept, is_last=True)
    positions = candidates.positions
    if for_nan is not None:
        report.files_kept_for_nan += int(np.count_nonzero(for_nan[positions]))
    return PruneResult(candidates.all_rows(), verdicts[positions] == ALL, take_rows(counts, positions)), listed


def _masked(values: pa.Array, mask: np.ndarray | None) -> pa.Array:
    return values if mask is None else pc.filter(values, to_arrow(mask))


class CandidateRows:
    """Which of ``size`` files may still match.

    While most may, all of them are evaluated and a mask remembers which; else only the ``rows`` that may.

    Attributes
    ----------
    rows : int64[n], optional
        Ascending: the files that the next step evaluates. None: all.
    positions : int64[k]
        After the last step: those that stay, among the files that it evaluated.
    """

    def __init__(self, size: int, live_mask: np.ndarray | None) -> None:
        self.rows: np.ndarray | None = None
        self.positions = np.zeros(0, np.int64)
        self._size = size
        self._mask: np.ndarray | None = None
        if live_mask is not None:
            self.keep(live_mask)

    @property
    def mask(self) -> np.ndarray | None:
        """bool[n]: which of the files that the next step evaluates may match. None: all."""
        return self._mask

    @property
    def n(self) -> int:
        """How many files the next step evaluates."""
        return self._size if self.rows is None else len(self.rows)

    def keep(self, kept: np.ndarray, is_last: bool = False) -> int:
        """Keep these (bool[n]) of the evaluated files. Returns how many are dropped."""
        before = self.n
        if self._mask is not None:
            before = int(np.count_nonzero(self._mask))
            kept = kept & self._mask
        count = int(np.count_nonzero(kept))
        if is_last or 4 * count < 3 * self.n:
            self.positions = np.flatnonzero(kept)
            self.rows = self.positions if self.rows is None else self.rows[self.positions]
            self._mask = None
        else:
            self._mask = kept if count < self.n else None
        return before - count

    def materialize(self) -> None:
        """Let the next step evaluate no file that is dropped already."""
        if self._mask is not None:
            self.rows, self._mask = self.all_rows(), None

    def all_rows(self) -> np.ndarray:
        """int64, ascending: the files that may match."""
        if self.rows is not None:
            return self.rows if self._mask is None else self.rows[self._mask]
        return np.arange(self._size) if self._mask is None else np.flatnonzero(self._mask)


# ---- ranges of columns ----------------------------------------------------------------------------------------------


def block_ranges(
    context: BlockContext,
    known: dict[Field, CachedRange],
    columns: Sequence[Field],
    counted: frozenset[int],
    rows: np.ndarray | None,
) -> tuple[dict[int, Range], pa.Array | None]:
    """The ranges of ``columns`` for ``rows`` (None: all) by field id, and record counts where they are known.

    What ``known`` lacks is decoded, and added to it and to the block.
    """
    block = context.block
    if rows is not None and len(rows) == len(block):
        rows = None  # so that who asks for all finds what is decoded here
    columns = block.bounded(columns)
    missing = block.missing(known, columns, counted, rows)
    if missing:
        decoded = _decode(context, missing, counted, rows)
        n = len(block) if rows is None else len(rows)
        records = decoded.record_count if block.held_counts is None else take_rows(block.record_count, rows)
        found = ranges_of(decoded, pa.nulls(n, pa.int64()) if records is None else records, missing)
        for f in missing:
            has_bounds = f.id not in counted or f.id in decoded.lower
            known[f] = CachedRange(SparseRows(rows), found[f.id], decoded.record_count, has_bounds)
            block.ranges[f] = known[f].pack() if block.is_cached else known[f]
    ranges: dict[int, Range] = {}
    counts = take_rows(block.record_count, rows)
    for f in columns:
        of_column = known[f]
        positions = of_column.files.find(rows)
        of_files = of_column.range
        ranges[f.id] = of_files if positions is None else of_files.take(positions)
        counts = take_rows(of_column.counts, positions) if counts is None else counts
    return ranges, counts


def _decode(
    context: BlockContext, columns: Sequence[Field], counted: frozenset[int], rows: np.ndarray | None
) -> Bounds:
    """The bounds of ``columns`` for ``rows`` (None: all), from the statistics of the batches."""
    parts = [
        (n, Bounds() if statistics is None else statistics.bounds_or_counts(columns, own, counted))
        for statistics, own, n in _coalesce_requests(_statistics(context, rows))
    ]
    if len(parts) == 1:
        return parts[0][1]
    decoded = Bounds()
    for name in _SIDES:
        for f in columns:
            sides = [getattr(bounds, name).get(f.id) for _, bounds in parts]
            is_bound = name in ("lower", "upper")
            if is_bound and f.id in counted and any(side is None for side in sides):
                continue  # some statistics gave counts alone: bounds of the others would be taken for those of all
            if any(side is not None for side in sides):
                kind = arrow_type(f.type) if is_bound else pa.int64()
                getattr(decoded, name)[f.id] = _concat_sides(sides, [n for n, _ in parts], kind)
    counts = [bounds.record_count for _, bounds in parts]
    if all(count is not None for count in counts):
        decoded.record_count = pa.concat_arrays(counts)
    return decoded


Request = tuple[Statistics | None, np.ndarray | None, int]
"""Statistics, the rows of theirs that are asked for (int64; None: all), and how many these are."""


def _statistics(context: BlockContext, rows: np.ndarray | None) -> Iterator[Request]:
    """The requests that together ask for ``rows`` (None: all) of the block, in their order."""
    for batch, own in context.block.of_batches(np.arange(len(context.block)) if rows is None else rows):
        is_whole = batch.rows is None and len(own) == batch.stop - batch.start
        yield context.batch_of(batch).statistics, None if is_whole else batch.in_batch(own), len(own)


def _coalesce_requests(requests: Iterator[Request]) -> Iterator[Request]:
    """As given, but one request for neighbours that are slices of the same statistics."""
    for _, group in groupby(requests, lambda request: id(getattr(request[0], "parent", None))):
        found = list(group)
        first = found[0][0]
        if isinstance(first, StatisticsSlice) and len(found) > 1:
            rows = np.concatenate([part.rows_in_parent(own) for part, own, _ in found])  # type: ignore[union-attr]
            found = [(first.parent, rows, len(rows))]
        yield from found


def _concat_sides(arrays: Sequence[pa.Array | None], lengths: Sequence[int], kind: pa.DataType) -> pa.Array:
    """One array after the other; nulls where there is none."""
    return pa.concat_arrays([pa.nulls(n, kind) if a is None else a for a, n in zip(arrays, lengths, strict=True)])
