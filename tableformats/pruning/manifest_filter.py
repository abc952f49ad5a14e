"""Pruning of manifests and row groups: a compiled predicate over ranges of partition values of groups of files."""

from __future__ import annotations

from collections.abc import Mapping

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
    flag,
    is_null,
    ranges_of,
    without_nan,
)
from .compiled_predicate import CompiledPredicate

__all__ = ["PredicateManifestFilter"]


class PredicateManifestFilter(ManifestFilter):
    """A compiled predicate over summaries of manifests; see :class:`tableformats.plugin.ManifestFilter`."""

    def __init__(self, program: CompiledPredicate, specs: Mapping[int, PartitionSpec]) -> None:
        self._program = program
        self._specs = specs

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
        known = {**lower, **(bounds.lower if bounds is not None else {})}
        n = len(next(iter(known.values())))
        columns = {i: self._range(lower[i], upper[i], contains_null[i], contains_nan[i]) for i in lower}
        sources: list[RangeSource] = [PartitionRangeSource(self._specs[spec_id], n, columns)]
        if bounds is not None:
            sources.append(BoundsRangeSource(ranges_of(bounds, pa.nulls(n, pa.int64()), self._program.columns), n))
        return self._program.decide(sources)

    @staticmethod
    def _range(lower: pa.Array, upper: pa.Array, contains_null: pa.Array, contains_nan: pa.Array) -> Range:
        may_null = flag(pc.fill_null(contains_null, TRUE))
        may_value = 1 - is_null(lower).view(np.uint8)
        may_nan = np.zeros(len(lower), np.uint8)
        if pa.types.is_floating(lower.type):
            may_nan = flag(pc.fill_null(contains_nan, TRUE))
            may_value |= may_nan
            lower, upper = without_nan(lower), without_nan(upper)
            upper = pc.if_else(to_arrow(may_nan.view(bool)), scalar(np.nan, upper.type), upper)
        # Neither a value nor a NULL nor a NaN: the summary contradicts itself and proves nothing.
        silent = (may_value | may_null) == 0
        return Range(lower, upper, may_value | silent, may_null | silent, may_nan)
