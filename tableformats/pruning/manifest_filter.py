"""Prune groups of files (manifests, row groups of a checkpoint) by ranges of their partition values and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import TRUE, scalar, to_arrow
from ..plugin.manifest_filter import Decision, ManifestFilter
from ..plugin.partitions import PartitionSpec
from ..plugin.statistics import Bounds
from .column_ranges import (
    BoundsRangeSource,
    PartitionRangeSource,
    Range,
    RangeSource,
    is_null,
    ranges_of,
    to_flags,
    without_nan,
)
from .compiled_predicate import CompiledPredicate
from .replaced_text import widened_extremes

__all__ = ["GroupWatch", "PredicateManifestFilter"]

GroupWatch = Callable[[Sequence[RangeSource], Decision], None]
"""Gets what groups were decided by, and the decision. On any thread."""


class PredicateManifestFilter(ManifestFilter):
    """A compiled predicate over summaries of manifests; see :class:`tableformats.plugin.ManifestFilter`."""

    def __init__(
        self, predicate: CompiledPredicate, specs: Mapping[int, PartitionSpec], watch: GroupWatch | None = None
    ) -> None:
        """``watch`` is told of each decision."""
        self._predicate = predicate
        self._specs = specs
        self._watch = watch

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
        columns = {**lower, **(bounds.lower if bounds is not None else {})}
        n = len(next(iter(columns.values())))
        ranges = {i: self._range(lower[i], upper[i], contains_null[i], contains_nan[i]) for i in lower}
        sources: list[RangeSource] = [PartitionRangeSource(self._specs[spec_id], n, ranges)]
        if bounds is not None:
            found = ranges_of(_over_texts(bounds), pa.nulls(n, pa.int64()), self._predicate.columns)
            sources.append(BoundsRangeSource(found, n))
        decision = self._predicate.decide(sources)
        if self._watch is not None:
            self._watch(sources, decision)
        return decision

    @staticmethod
    def _range(lower: pa.Array, upper: pa.Array, contains_null: pa.Array, contains_nan: pa.Array) -> Range:
        """The range of a partition field over the files of each group."""
        may_null = to_flags(pc.fill_null(contains_null, TRUE))
        has_bounds = 1 - is_null(lower).view(np.uint8)
        may_value = has_bounds
        may_nan = np.zeros(len(lower), np.uint8)
        if pa.types.is_floating(lower.type):
            may_nan = to_flags(pc.fill_null(contains_nan, TRUE))
            may_value = has_bounds | may_nan
            only_nan = to_arrow((may_nan & ~(has_bounds | (1 - is_null(upper)))).astype(bool))
            lower, upper = (
                pc.if_else(only_nan, scalar(np.nan, side.type), without_nan(side)) for side in (lower, upper)
            )
        # A summary without a value, a NULL and a NaN contradicts itself and proves nothing.
        is_empty = (may_value | may_null) == 0
        return Range(lower, upper, may_value | is_empty, may_null | is_empty, may_nan)


def _over_texts(bounds: Bounds) -> Bounds:
    """The bounds, which are extremes of many files' bounds; those of strings are widened to bounds of their values."""
    lower, upper = dict(bounds.lower), dict(bounds.upper)
    for i in lower.keys() & upper.keys():
        if pa.types.is_string(lower[i].type):
            lower[i], upper[i] = widened_extremes(lower[i], upper[i])
    return replace(bounds, lower=lower, upper=upper)
