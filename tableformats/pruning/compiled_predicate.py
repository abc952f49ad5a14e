"""Evaluate a bound predicate for many files at once: verdicts from partition values, bounds and counts.

For each file a predicate has a mask of possible outcomes, a subset of {TRUE, FALSE, NULL} (``_core/masks.py``). The
masks of leaves come from ``leaves.py``. AND, OR and NOT combine masks by SQL's three-valued logic, so the predicate is
not rewritten. The mask of the whole predicate gives the verdict: NONE if TRUE is not possible, and the file is dropped;
ALL if only TRUE is possible, and no row needs to be filtered; otherwise SOME.

Partition values and bounds are evaluated together, so ``part = 1 OR id > 9`` prunes by both. A leaf that cannot be
decided (a column compared with a column, the middle of a LIKE pattern) has all outcomes, and :attr:`notes` says so. A
group of files (a manifest) with ranges of partition values is evaluated as if it were one file.

Values have Spark's order throughout: NaN is the greatest number, -0.0 = 0.0, strings and binary by unsigned bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import ALL, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME
from ..expressions import Expression
from ..expressions import tree as ex
from ..plugin.manifest_filter import Decision
from ..schema import Field
from .column_ranges import (
    BoundsRangeSource,
    ImpliedRangeSource,
    Range,
    RangeSource,
    partition_range_source,
    ranges_of,
)
from .leaves import Leaf, compile_leaf

if TYPE_CHECKING:
    from ..plugin.partitions import PartitionSpec
    from ..plugin.statistics import Bounds

__all__ = ["ALL", "NONE", "SOME", "CompiledPredicate"]


class CompiledPredicate:
    """A bound predicate, ready to be evaluated over columns.

    Attributes
    ----------
    columns : tuple of Field
        The leaf columns whose bounds can decide something.
    counted : frozenset of int
        The ids of those columns of which only IS NULL is asked: counts say all that bounds could say.
    notes : list of str
        What pruning cannot use, in words.
    """

    def __init__(self, predicate: Expression) -> None:
        self.predicate = predicate
        self.notes: list[str] = []
        self._leaves: dict[Expression, Leaf] = {}
        columns: dict[int, Field] = {}
        for node in ex.walk(predicate):
            if isinstance(node, (ex.And, ex.Or, ex.Not, ex.Constant)):
                continue
            leaf, note = compile_leaf(node)
            if note is not None:
                self.notes.append(note)
            if leaf is not None:
                self._leaves[node] = leaf
                if not leaf.column.type.is_nested:
                    columns[leaf.column.id] = leaf.column.field
        self.columns = tuple(columns.values())
        compared = {leaf.column.id for node, leaf in self._leaves.items() if not isinstance(node, ex.IsNull)}
        self.counted = frozenset(columns.keys() - compared)

    def range_sources(self, spec: PartitionSpec, partition: pa.StructArray) -> list[RangeSource]:
        """The sources that partition values give.

        Parameters
        ----------
        spec : PartitionSpec
            The spec of all files.
        partition : pyarrow.StructArray
            [n], with members named by partition field id, in the fields' types. Members of other specs are ignored.
        """
        sources: list[RangeSource] = [partition_range_source(spec, partition, {f.id for f in self.columns})]
        return [*sources, ImpliedRangeSource(spec, partition)] if spec.implied else sources

    def uses_partitions(self, spec: PartitionSpec) -> bool:
        """Whether the spec's partition values can decide a leaf. Buckets decide equalities only."""
        ordered = {f.source_id for f in spec.fields if f.transform.is_order_preserving}
        ordered.update(implied.source_id for implied in spec.implied)
        hashed = {f.source_id for f in spec.fields if f.transform.name == "bucket"}
        return any(
            leaf.column.id in ordered or (leaf.values and leaf.column.id in hashed) for leaf in self._leaves.values()
        )

    # ---- verdicts ---------------------------------------------------------------------------------------------------

    def decide(self, sources: Sequence[RangeSource]) -> Decision:
        """Verdicts by one or more sources of the same files, and the columns of which more knowledge could change them.

        Cost: O(n) per leaf, with the GIL released.
        """
        n = sources[0].n
        mask, undecided = self._outcomes_and_undecided(self.predicate, sources, n)
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(mask, verdicts)
        nowhere = np.zeros(n, bool)
        return Decision(verdicts, {f.id: undecided.get(f.id, nowhere) for f in self.columns})

    def verdicts(
        self, spec: PartitionSpec, partition: pa.StructArray, bounds: Bounds, record_count: pa.Array
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and bounds together; see :meth:`verdicts_of`."""
        return self.verdicts_of(self.range_sources(spec, partition), ranges_of(bounds, record_count, self.columns))

    def verdicts_of(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by some sources and the files' own ranges by field id, together.

        Unlike :meth:`decide` it does not look for undecided columns. Cost: O(n) per leaf, with the GIL released.
        """
        n = sources[0].n
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(self._evaluate(self.predicate, [*sources, BoundsRangeSource(ranges, n)], n), verdicts)
        return verdicts

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """Masks of every leaf by the partition values alone, uint8[n]. Parameters as of :meth:`range_sources`."""
        sources = self.range_sources(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._leaves}

    # ---- masks ------------------------------------------------------------------------------------------------------

    def _outcomes_and_undecided(
        self, node: Expression, sources: Sequence[RangeSource], n: int
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """The masks of a node, uint8[n], and its undecided columns: field id -> bool[n].

        A column is undecided where the node may be TRUE and may be something else, so that more knowledge of the column
        could change the verdict.
        """
        undecided: dict[int, Any] = {}
        if isinstance(node, (ex.And, ex.Or)):

            def masks() -> Iterator[np.ndarray]:
                for child in node.children:
                    found, below = self._outcomes_and_undecided(child, sources, n)
                    undecided.update({column: undecided.get(column, False) | need for column, need in below.items()})
                    yield found

            mask = _combined(node, masks())
        else:
            mask = self._evaluate(node, sources, n)
            undecided = {self._leaves[below].column.id: True for below in ex.walk(node) if below in self._leaves}
        is_open = (mask & MAY_TRUE != 0) & (mask != MAY_TRUE)
        return mask, {column: need & is_open for column, need in undecided.items()}

    def _evaluate(self, node: Expression, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        """The masks of a node, uint8[n], which the caller may overwrite."""
        if isinstance(node, ex.Constant):
            return np.full(n, {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}[node.value], np.uint8)
        if isinstance(node, ex.Not):
            child = self._evaluate(node.child, sources, n)
            kernels.not_mask(child, child)
            return child
        if isinstance(node, (ex.And, ex.Or)):
            return _combined(node, (self._evaluate(child, sources, n) for child in node.children))
        return self._leaf_outcomes(node, sources, n)

    def _leaf_outcomes(self, node: Expression, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        leaf = self._leaves.get(node)
        if leaf is None:
            return np.full(n, MAY_ANY, np.uint8)
        mask = leaf.mask(sources, n)
        if isinstance(node, ex.Comparison) and node.op == "!=":
            kernels.not_mask(mask, mask)
        return mask


def _combined(node: ex.And | ex.Or, masks: Iterator[np.ndarray]) -> np.ndarray:
    """uint8[n]: the masks of a node from those of its children. At most two of these are in memory at a time."""
    combine = kernels.and_masks if isinstance(node, ex.And) else kernels.or_masks
    result = next(masks)
    for other in masks:
        combine(result, other, result)
    return result
