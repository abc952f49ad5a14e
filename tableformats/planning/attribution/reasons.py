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
from ...expressions import BoundColumn, Expression
from ...expressions import tree as ex
from ...pruning.column_ranges import Range, RangeSource, is_null
from ...pruning.compiled_predicate import NONE, SOME, CompiledPredicate
from ...runtime.concurrency import cached_property

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


class PartReasons:
    """One part of a filter: the verdicts that it gives alone, and why it kept files. Alternatives of an OR below it
    are looked at one by one; all else that is no AND is looked at as a whole.

    Attributes
    ----------
    node : Expression
    program : CompiledPredicate
        The part alone.
    """

    def __init__(self, node: Expression) -> None:
        self.node = node
        self.program = CompiledPredicate(node)
        self._blamed: set[tuple[Reason, str]] = set()

    @cached_property
    def _below(self) -> list[PartReasons]:
        return [PartReasons(child) for child in self.node.children] if isinstance(self.node, (ex.And, ex.Or)) else []

    @cached_property
    def _columns(self) -> list[BoundColumn]:
        used = {f.id for f in self.program.columns}
        return [c for c in ex.columns_of(self.node) if isinstance(c, BoundColumn) and c.id in used]

    @cached_property
    def _cannot_prune(self) -> bool:
        return not self._below and _cannot_prune(self.node)

    @cached_property
    def measured(self) -> BoundColumn | None:
        """The column of numbers, dates or times whose bounds alone decide this part."""
        if len(self._columns) != 1 or self.program.counted:
            return None
        return self._columns[0]

    def of(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> tuple[np.ndarray, np.ndarray]:
        """uint8[n], uint8[n]: verdicts, and the :class:`Reason` of each; that of a dropped file means nothing.

        Parameters
        ----------
        sources : sequence of RangeSource
            What partition values say of the files.
        ranges : mapping of field id to Range
            The files' own bounds.
        """
        verdicts = self.program.verdicts_of(sources, ranges)
        reasons = np.full(len(verdicts), Reason.ALL_ROWS_MATCH, np.uint8)
        undecided = np.flatnonzero(verdicts == SOME)
        if len(undecided) == len(verdicts):
            return verdicts, self._of_undecided(sources, ranges, verdicts)
        if len(undecided):
            sources = [source.take(undecided) for source in sources]
            ranges = {i: range_.take(undecided) for i, range_ in ranges.items()}
            reasons[undecided] = self._of_undecided(sources, ranges, verdicts[undecided])
        return verdicts, reasons

    def _of_undecided(
        self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], verdicts: np.ndarray
    ) -> np.ndarray:
        return self._of_children(sources, ranges) if self._below else self._of_leaf(sources, ranges, verdicts)

    def _of_children(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> np.ndarray:
        is_or = isinstance(self.node, ex.Or)
        found = np.full(sources[0].n, 0 if is_or else Reason.MIXED_OR, np.uint8)
        cannot = np.zeros(len(found), bool)
        for child in self._below:
            verdicts, reasons = child.of(sources, ranges)
            kept = verdicts == SOME
            if is_or:
                np.maximum(found, reasons, out=found, where=kept)
                cannot |= kept & (reasons >= Reason.CANNOT_PRUNE)
            else:
                np.minimum(found, reasons, out=found, where=kept)
        if is_or and not all(child._cannot_prune for child in self._below):
            found[cannot] = Reason.MIXED_OR
        # Children that are decided one by one may still leave their combination undecided.
        return np.maximum(found, np.uint8(Reason.WITHIN_BOUNDS))

    def _of_leaf(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], verdicts: np.ndarray) -> np.ndarray:
        n = sources[0].n
        if self._cannot_prune:
            return np.full(n, Reason.CANNOT_PRUNE, np.uint8)
        found = np.full(n, Reason.WITHIN_BOUNDS, np.uint8)
        for column in self._columns:
            range_ = ranges.get(column.id)
            if column.id in self.program.counted:
                found[:] = Reason.NULLS_AND_VALUES
            elif range_ is not None:
                of_column = _of_bounds(range_)
                self._blamed.update((Reason(i), str(column)) for i in distinct(of_column[verdicts == SOME]))
                np.maximum(found, of_column, out=found)
            elif not any(source.ranges(column) for source in sources):
                self._blamed.add((Reason.NO_STATISTICS, str(column)))
                found[:] = Reason.NO_STATISTICS
        by_nan = self.program.matches_by_nan_alone(sources, ranges, verdicts)
        if by_nan is not None:
            found[by_nan & (found != Reason.NO_STATISTICS)] = Reason.NAN
        return found

    def columns(self, reason: Reason) -> tuple[str, ...]:
        """The names of the columns to which ``reason`` applied so far; all of the part where nothing tells."""
        blamed = {column for part in self._leaves() for r, column in part._blamed if r == reason}
        named = dict.fromkeys(str(column) for column in ex.columns_of(self.node))
        return tuple(column for column in named if column in blamed or not blamed)

    def _leaves(self) -> Iterator[PartReasons]:
        if not self._below:
            yield self
        for child in self._below:
            yield from child._leaves()

    def drops(
        self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], verdicts: np.ndarray, nan_is_absent: bool
    ) -> np.ndarray:
        """bool[n]: the files that this part drops, whose ``verdicts`` are those of :meth:`of`."""
        dropped = verdicts == NONE
        if nan_is_absent:
            by_nan = self.program.matches_by_nan_alone(sources, ranges, verdicts)
            if by_nan is not None:
                dropped |= by_nan
        return dropped


def _cannot_prune(node: Expression) -> bool:
    """Whether no bounds of any column can decide ``node``, or a condition below its NOT."""
    if isinstance(node, ex.Not):
        return any(_cannot_prune(child) for child in ex.walk(node.child) if not isinstance(child, (ex.And, ex.Or)))
    if isinstance(node, (ex.Constant, ex.IsNull)):
        return False
    if isinstance(node, ex.Like):
        parts = ex.like_parts(node.pattern)
        return bool(parts) and parts[0][1]
    if isinstance(node, ex.Holds):
        return bool(CompiledPredicate(node).notes)  # it is evaluated on rows
    return not CompiledPredicate(node).columns


def _of_bounds(range_: Range) -> np.ndarray:
    """uint8[n]: what is wrong with the bounds, of files that have values."""
    no_lower, no_upper = is_null(range_.lower), is_null(range_.upper)
    found = np.full(len(no_lower), Reason.WITHIN_BOUNDS, np.uint8)
    cut = no_lower | no_upper | _is_cut(range_.lower) | _is_cut(range_.upper)
    found[cut] = Reason.CUT_BOUNDS
    found[no_lower & no_upper] = Reason.NO_STATISTICS
    return range_.expand(found)


def _is_cut(values: pa.Array) -> np.ndarray:
    """bool[n]: whether a text is as long as writers cut them."""
    if pa.types.is_string(values.type):
        lengths = pc.utf8_length(values)
    elif pa.types.is_binary(values.type):
        lengths = pc.binary_length(values)
    else:
        return np.zeros(len(values), bool)
    return to_numpy(pc.fill_null(pc.is_in(lengths, array_of(_USUAL_CUTS, lengths.type)), FALSE))
