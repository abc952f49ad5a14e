"""Why a part of a filter could not drop files, in columns: one :class:`Reason` a file.

A file is kept by a part because all of its rows match, or because pruning cannot exclude a match. This module tells
the second case apart: the column has no statistics, its bounds are wide or cut, only a NaN could match, or nobody can
prune by such a condition. It decides nothing: verdicts come from :class:`CompiledPredicate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import FALSE, array_of, distinct, to_numpy
from ...dataclass import dataclass
from ...expressions import BoundColumn, Expression
from ...expressions import tree as ex
from ...pruning.column_ranges import Range, RangeSource, is_null
from ...pruning.compiled_predicate import (
    NONE,
    SOME,
    CompiledPredicate,
    Masks,
    combined_outcomes,
    verdicts_of_outcomes,
)
from ...runtime.concurrency import cached_property
from ..blocks import take_rows
from ..jobs import FileEvidence

__all__ = ["PartReasons", "Reason"]

_USUAL_CUTS = (16, 32)
"""The lengths at which writers cut text bounds by default: Iceberg's and Delta's."""


class Reason(IntEnum):
    """Why a part of a filter kept a file. The greater, the less the file's metadata say."""

    ALL_ROWS_MATCH = 0
    WITHIN_BOUNDS = 1
    """The bounds of the column allow values that match, and others."""
    WIDE_BOUNDS = 2
    """The same, of bounds that span half of the column's range or more. Counted for all files, not told of one."""
    NULLS_AND_VALUES = 3
    """IS NULL or IS NOT NULL of a column that has both, or whose NULLs nobody counted."""
    CUT_BOUNDS = 4
    """A bound of a text was cut, or one of both is missing."""
    NAN = 5
    """Only a NaN could match, and nobody counted them."""
    NO_STATISTICS = 6
    CANNOT_PRUNE = 7
    """No metadata decides such a condition."""
    MIXED_OR = 8
    """One alternative of an OR cannot prune, so the others could not either."""


@dataclass
class _Judged:
    """The possible outcomes of a condition for each file, its verdicts, and the same of what is below it (None: that
    was not looked at)."""

    outcomes: np.ndarray
    verdicts: np.ndarray
    below: list[_Judged] | None = None


class _Files:
    """What is known of ``n`` files, and ``rows`` (int64[k]; None: all), those of which reasons are asked for."""

    def __init__(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], masks: Masks | None) -> None:
        self.sources = sources
        self.ranges = ranges
        self.masks = masks
        self.rows: np.ndarray | None = None
        self._of_bounds: dict[int, np.ndarray] = {}

    def ask(self, undecided: np.ndarray) -> int:
        """Ask for the reasons of these files (bool[n]). Returns how many there are."""
        rows = np.flatnonzero(undecided)
        self.rows = None if len(rows) == len(undecided) else rows
        return len(rows)

    def asked(self, values: np.ndarray) -> np.ndarray:
        """Of values of all files those of the files that are asked for."""
        return values if self.rows is None else values[self.rows]

    def of_bounds(self, field_id: int) -> np.ndarray:
        """uint8[k]: what is wrong with the bounds of a column in the files that are asked for and have values."""
        if field_id not in self._of_bounds:
            range_ = self.ranges[field_id]  # of bounds, with one row per file
            self._of_bounds[field_id] = _of_bounds(
                *(take_rows(side, self.rows) for side in (range_.lower, range_.upper))
            )
        return self._of_bounds[field_id]


class PartReasons:
    """One part of a filter: the verdicts that it gives alone, and why it kept files. Alternatives of an OR below it
    are looked at one by one; all else that is no AND is looked at as a whole.

    Attributes
    ----------
    node : Expression
    program : CompiledPredicate
        The part alone.
    """

    def __init__(self, node: Expression, whole: CompiledPredicate) -> None:
        """``whole``: the filter that ``node`` is a part of."""
        self.node = node
        self.program = CompiledPredicate(node, whole=whole)
        self._blamed: set[tuple[Reason, str]] = set()

    @cached_property
    def _below(self) -> list[PartReasons]:
        below = self.node.children if isinstance(self.node, (ex.And, ex.Or)) else ()
        return [PartReasons(child, self.program) for child in below]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the part."""
        return tuple(dict.fromkeys(str(column) for column in ex.columns_of(self.node)))

    @cached_property
    def _columns(self) -> list[BoundColumn]:
        used = {f.id for f in self.program.columns}
        return [c for c in ex.columns_of(self.node) if isinstance(c, BoundColumn) and c.id in used]

    @cached_property
    def _cannot_prune(self) -> bool:
        return not self._below and _cannot_prune(self.node, self.program)

    @cached_property
    def measured(self) -> BoundColumn | None:
        """The column of numbers, dates or times whose bounds alone decide this part."""
        if len(self._columns) != 1 or self.program.counted:
            return None
        return self._columns[0]

    def of(self, found: FileEvidence) -> tuple[np.ndarray, np.ndarray]:
        """uint8[n], uint8[n]: verdicts, and the :class:`Reason` of each; that of a dropped file means nothing."""
        files = _Files(found.sources, found.ranges, found.masks)
        judged = self._judge(files)
        undecided = judged.verdicts == SOME
        if found.is_early:
            undecided &= ~found.dropped
        reasons = np.full(len(undecided), Reason.ALL_ROWS_MATCH, np.uint8)
        if count := files.ask(undecided):
            reasons[undecided] = self._reasons(judged, files, np.ones(count, bool))
        return judged.verdicts, reasons

    def _judge(self, files: _Files) -> _Judged:
        """What the part says of each file. Each leaf below it is evaluated once, where leaves are not combined."""
        if not self._below or self.program.combines_terms:
            outcomes = self.program.outcomes_of(files.sources, files.ranges, files.masks)
            return _Judged(outcomes, verdicts_of_outcomes(outcomes))
        below = [child._judge(files) for child in self._below]
        masks = iter([below[0].outcomes.copy(), *(child.outcomes for child in below[1:])])
        outcomes = combined_outcomes(self.node, masks)  # type: ignore[arg-type]
        return _Judged(outcomes, verdicts_of_outcomes(outcomes), below)

    def _reasons(self, judged: _Judged, files: _Files, wanted: np.ndarray) -> np.ndarray:
        """uint8[k]: of the files that are asked for, why those that are ``wanted`` (bool[k]) are undecided."""
        return self._of_children(judged, files, wanted) if self._below else self._of_leaf(judged, files, wanted)

    def _of_children(self, judged: _Judged, files: _Files, wanted: np.ndarray) -> np.ndarray:
        is_or = isinstance(self.node, ex.Or)
        # Children that are decided one by one may still leave their combination undecided.
        found = np.full(len(wanted), Reason.WITHIN_BOUNDS if is_or else Reason.MIXED_OR, np.uint8)
        cannot = np.zeros(len(wanted), bool)
        for i, child in enumerate(self._below):
            below = child._judge(files) if judged.below is None else judged.below[i]
            kept = wanted & (files.asked(below.verdicts) == SOME)
            if not kept.any():
                continue
            reasons = child._reasons(below, files, kept)
            if is_or:
                np.maximum(found, reasons, out=found, where=kept)
                cannot |= kept & (reasons >= Reason.CANNOT_PRUNE)
            else:
                np.minimum(found, reasons, out=found, where=kept)
        if is_or and not all(child._cannot_prune for child in self._below):
            found[cannot] = Reason.MIXED_OR
        return found

    def _of_leaf(self, judged: _Judged, files: _Files, wanted: np.ndarray) -> np.ndarray:
        if self._cannot_prune:
            return np.full(len(wanted), Reason.CANNOT_PRUNE, np.uint8)
        found = np.full(len(wanted), Reason.WITHIN_BOUNDS, np.uint8)
        for column in self._columns:
            if column.id in self.program.counted:
                found[:] = Reason.NULLS_AND_VALUES
            elif column.id in files.ranges:
                of_column = files.of_bounds(column.id)
                self._blamed.update((Reason(i), str(column)) for i in distinct(of_column[wanted]))
                np.maximum(found, of_column, out=found)
            elif not any(source.ranges(column) for source in files.sources):
                self._blamed.add((Reason.NO_STATISTICS, str(column)))
                found[:] = Reason.NO_STATISTICS
        by_nan = self.program.matches_by_nan_alone(files.sources, files.ranges, judged.verdicts)
        if by_nan is not None:
            found[files.asked(by_nan) & (found != Reason.NO_STATISTICS)] = Reason.NAN
        return found

    def columns(self, reason: Reason) -> tuple[str, ...]:
        """The names of the columns to which ``reason`` applied so far; all of the part where nothing tells."""
        blamed = {column for part in self._leaves() for r, column in part._blamed if r == reason}
        return tuple(column for column in self.names if column in blamed or not blamed)

    def _leaves(self) -> Iterator[PartReasons]:
        if not self._below:
            yield self
        for child in self._below:
            yield from child._leaves()

    def drops(self, found: FileEvidence, verdicts: np.ndarray, nan_is_absent: bool) -> np.ndarray:
        """bool[n]: the files that this part drops, whose ``verdicts`` are those of :meth:`of`."""
        dropped = verdicts == NONE
        if nan_is_absent:
            by_nan = self.program.matches_by_nan_alone(found.sources, found.ranges, verdicts)
            if by_nan is not None:
                dropped |= by_nan
        return dropped


def _cannot_prune(node: Expression, whole: CompiledPredicate) -> bool:
    """Whether no bounds of any column can decide ``node``, or a condition below its NOT; ``whole`` has the node."""
    if isinstance(node, ex.Not):
        below = (child for child in ex.walk(node.child) if not isinstance(child, (ex.And, ex.Or)))
        return any(_cannot_prune(child, whole) for child in below)
    if isinstance(node, (ex.Constant, ex.IsNull)):
        return False
    if isinstance(node, ex.Like):
        parts = ex.like_parts(node.pattern)
        return bool(parts) and parts[0][1]
    if isinstance(node, ex.Holds):
        return bool(CompiledPredicate(node, whole=whole).notes)  # it is evaluated on rows
    return not CompiledPredicate(node, whole=whole).columns


def _of_bounds(lower: pa.Array, upper: pa.Array) -> np.ndarray:
    """uint8[n]: what is wrong with the bounds, of files that have values."""
    no_lower, no_upper = is_null(lower), is_null(upper)
    found = np.full(len(no_lower), Reason.WITHIN_BOUNDS, np.uint8)
    found[no_lower | no_upper | _is_cut(lower) | _is_cut(upper)] = Reason.CUT_BOUNDS
    found[no_lower & no_upper] = Reason.NO_STATISTICS
    return found


def _is_cut(values: pa.Array) -> np.ndarray:
    """bool[n]: whether a text is as long as writers cut them."""
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        return np.zeros(len(values), bool)
    lengths = pc.binary_length(values)
    longest = pc.max(lengths).as_py()
    if longest is None or longest < min(_USUAL_CUTS):  # no text has more characters than bytes
        return np.zeros(len(values), bool)
    if pa.types.is_string(values.type):
        lengths = pc.utf8_length(values)
    return to_numpy(pc.fill_null(pc.is_in(lengths, array_of(_USUAL_CUTS, lengths.type)), FALSE))
