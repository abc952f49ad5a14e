"""Evaluate a bound predicate for many files at once: verdicts from partition values, bounds and counts.

For each file a predicate has a mask of possible outcomes, a subset of {TRUE, FALSE, NULL} (``_core/masks.py``). The
masks of leaves come from ``leaves.py``, ``column_pairs.py`` and ``computed_conditions.py``. AND, OR, NOT and IS TRUE
combine masks by SQL's three-valued logic, so the predicate is not rewritten. The mask of the whole predicate gives the
verdict: NONE if TRUE is not possible, and the file is dropped; ALL if only TRUE is possible, and no row needs to be
filtered; otherwise SOME.

Partition values and bounds are evaluated together, so ``part = 1 OR id > 9`` prunes by both. A leaf that cannot be
decided (the middle of a LIKE pattern) has all outcomes, and :attr:`notes` says so. A
group of files (a manifest) with ranges of partition values is evaluated as if it were one file.

Values have Spark's order throughout: NaN is the greatest number, -0.0 = 0.0, strings and binary by unsigned bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import ALL, IS_TRUE_TABLE, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME
from ..expressions import Expression
from ..expressions import tree as ex
from ..plugin.manifest_filter import Decision
from ..schema import is_floating
from .column_pairs import ColumnPair
from .column_ranges import (
    NAN_UNCOUNTED,
    BoundsRangeSource,
    ImpliedRangeSource,
    Range,
    RangeSource,
    partition_range_source,
    ranges_of,
)
from .leaves import Leaf, combine_leaves, compile_leaf

if TYPE_CHECKING:
    from ..plugin.partitions import PartitionSpec
    from ..plugin.statistics import Bounds
    from .computed_conditions import ComputedCondition

__all__ = ["ALL", "NONE", "SOME", "CompiledPredicate", "Masks", "combined_outcomes", "verdicts_of_outcomes"]

Masks = dict[int, np.ndarray]
"""The masks of leaves by their identity, kept while the predicate lives. Nobody writes to them."""

_IS_TRUE = np.frombuffer(IS_TRUE_TABLE, np.uint8)


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
    nan_is_absent : bool
        Whether files that match by an uncounted NaN alone shall be dropped; see :meth:`matches_by_nan_alone`.
    """

    def __init__(
        self, predicate: Expression, nan_is_absent: bool = False, whole: CompiledPredicate | None = None
    ) -> None:
        """``whole``: a predicate that has the node ``predicate``, so that its leaves are compiled already."""
        self.predicate = predicate
        self.nan_is_absent = nan_is_absent
        nodes = [*ex.walk(predicate)]
        self._own = [node for node in nodes if not isinstance(node, (ex.And, ex.Or, ex.Not, ex.IsTrue, ex.Constant))]
        # By identity: to hash a node is to hash all that is below it.
        if whole is None:
            self._leaves = {id(node): _compiled(node) for node in self._own}
            self._terms: dict[int, list[Expression | Leaf]] = {}
            for node in reversed(nodes):  # children before their parents
                if isinstance(node, (ex.And, ex.Or)):
                    self._terms[id(node)] = self._terms_of(node)
        else:
            self._leaves, self._terms = whole._leaves, whole._terms
        leaves = [self._leaves[id(node)][0] for node in self._own]
        self.notes = [note for node in self._own if (note := self._leaves[id(node)][1]) is not None]
        columns = {c.id: c.field for leaf in leaves for c in leaf.columns if not c.type.is_nested}
        self.columns = tuple(columns.values())
        self._floats = [f.id for f in self.columns if is_floating(f.type)]
        tests = (isinstance(node, ex.IsNull) for node in self._own)
        compared = {c.id for leaf, is_test in zip(leaves, tests, strict=True) if not is_test for c in leaf.columns}
        self.counted = frozenset(columns.keys() - compared)

    def __reduce__(self) -> tuple[Any, ...]:
        # Leaves are found by the identity of their nodes, which have another one where they are unpickled.
        return CompiledPredicate, (self.predicate, self.nan_is_absent)

    def _terms_of(self, node: ex.And | ex.Or) -> list[Expression | Leaf]:
        """The children of a node, with one leaf in the place of those that can be combined."""
        by_column: dict[int, list[tuple[Expression, Leaf, bool]]] = {}
        for child in node.children:
            below, negated = (child.child, True) if isinstance(child, ex.Not) else (child, False)
            leaf = self._leaf_of(below)
            if leaf is not None:
                is_inequality = isinstance(below, ex.Comparison) and below.op == "!="
                by_column.setdefault(leaf.column.id, []).append((child, leaf, negated != is_inequality))
        replaced: set[int] = set()
        combined: list[Leaf] = []
        for members in by_column.values():
            if len(members) > 1:
                groups, leaves = combine_leaves([member[1:] for member in members], isinstance(node, ex.And))
                combined += leaves
                replaced.update(id(members[i][0]) for group in groups for i in group)
        return [*combined, *(child for child in node.children if id(child) not in replaced)]

    def _leaf_of(self, node: Expression) -> Leaf | None:
        """The one leaf that a node is, or that its children were combined into. None: it is none."""
        if not isinstance(node, (ex.And, ex.Or)):
            leaf = self._leaves.get(id(node), (None, None))[0]
            return leaf if isinstance(leaf, Leaf) else None
        term = self._terms[id(node)][0]
        return term if isinstance(term, Leaf) and len(self._terms[id(node)]) == 1 else None

    @property
    def combines_terms(self) -> bool:
        """Whether what the outermost AND or OR joins is evaluated as less terms: some of one column as one leaf."""
        return any(isinstance(term, Leaf) for term in self._terms.get(id(self.predicate), ()))

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
            any(c.id in ordered for c in leaf.columns)
            or (isinstance(leaf, Leaf) and leaf.values and leaf.column.id in hashed)
            for leaf in (self._leaves[id(node)][0] for node in self._own)
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
        return verdicts_of_outcomes(self.outcomes_of(sources, ranges))

    def outcomes_of(
        self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], masks: Masks | None = None
    ) -> np.ndarray:
        """uint8[n]: the possible outcomes that :meth:`verdicts_of` makes verdicts of. The caller may overwrite them.

        ``masks``: what this predicate, or one that shares its leaves, found for the same files. What is not there is
        evaluated, and added.
        """
        n = sources[0].n
        return self._evaluate(self.predicate, [*sources, BoundsRangeSource(ranges, n)], n, masks)

    def matches_by_nan_alone(
        self, sources: Sequence[RangeSource], ranges: Mapping[int, Range], verdicts: np.ndarray
    ) -> np.ndarray | None:
        """bool[n]: the files that can match only if they have a NaN that nobody counted. None: no file has such a NaN.

        Costs nothing without columns of floats. Else, where files with uncounted NaNs are kept, as much as
        :meth:`verdicts_of`, whose ``verdicts`` these are.
        """
        floats = [i for i in self._floats if i in ranges]
        if not floats:
            return None
        n, kept = len(verdicts), verdicts != NONE
        if not any((kept & (ranges[i].may_nan == NAN_UNCOUNTED)).any() for i in floats):
            return None
        rows = np.flatnonzero(kept) if 4 * np.count_nonzero(kept) < n else None
        if rows is not None:
            sources = [source.take(rows) for source in sources]
            ranges = {i: range_.take(rows) for i, range_ in ranges.items()}
        counted = {i: range_.without_uncounted_nan() if i in floats else range_ for i, range_ in ranges.items()}
        found = self.verdicts_of(sources, counted) == NONE
        if rows is None:
            return found & kept
        among_all = np.zeros(n, bool)
        among_all[rows] = found
        return among_all

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """Masks of every leaf by the partition values alone, uint8[n]. Parameters as of :meth:`range_sources`."""
        sources = self.range_sources(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._own}

    # ---- masks ------------------------------------------------------------------------------------------------------

    def _outcomes_and_undecided(
        self, node: Expression | Leaf, sources: Sequence[RangeSource], n: int
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """The masks of a node, uint8[n], and its undecided columns: field id -> bool[n].

        A column is undecided where the node may be TRUE and may be something else, so that more knowledge of the column
        could change the verdict.
        """
        undecided: dict[int, Any] = {}
        if isinstance(node, (ex.And, ex.Or)):

            def masks() -> Iterator[np.ndarray]:
                for term in self._terms[id(node)]:
                    found, below = self._outcomes_and_undecided(term, sources, n)
                    undecided.update({column: undecided.get(column, False) | need for column, need in below.items()})
                    yield found

            mask = combined_outcomes(node, masks())
        else:
            mask = self._evaluate(node, sources, n)
            undecided = dict.fromkeys(self._columns_of(node), True)
        is_open = (mask & MAY_TRUE != 0) & (mask != MAY_TRUE)
        return mask, {column: need & is_open for column, need in undecided.items()}

    def _columns_of(self, node: Expression | Leaf) -> list[int]:
        if isinstance(node, Leaf):
            return [node.column.id]
        return [
            c.id for below in ex.walk(node) if id(below) in self._leaves for c in self._leaves[id(below)][0].columns
        ]

    def _evaluate(
        self, node: Expression | Leaf, sources: Sequence[RangeSource], n: int, masks: Masks | None = None
    ) -> np.ndarray:
        """The masks of a node, uint8[n], which the caller may overwrite. ``masks`` as of :meth:`outcomes_of`."""
        if isinstance(node, ex.Constant):
            return np.full(n, {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}[node.value], np.uint8)
        if isinstance(node, ex.Not):
            child = self._evaluate(node.child, sources, n, masks)
            kernels.not_mask(child, child)
            return child
        if isinstance(node, ex.IsTrue):
            return _IS_TRUE[self._evaluate(node.child, sources, n, masks)]
        if isinstance(node, (ex.And, ex.Or)):
            return combined_outcomes(node, (self._evaluate(term, sources, n, masks) for term in self._terms[id(node)]))
        if masks is None:
            return self._leaf_outcomes(node, sources, n)
        if id(node) not in masks:
            masks[id(node)] = self._leaf_outcomes(node, sources, n)
        return masks[id(node)].copy()

    def _leaf_outcomes(self, node: Expression | Leaf, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        if isinstance(node, Leaf):
            return node.mask(sources, n)
        leaf = self._leaves[id(node)][0]
        mask = leaf.mask(sources, n)
        if isinstance(leaf, Leaf) and isinstance(node, ex.Comparison) and node.op == "!=":
            kernels.not_mask(mask, mask)
        return mask


def _compiled(node: Expression) -> tuple[Leaf | ColumnPair | ComputedCondition, str | None]:
    """The leaf that a node is, and what pruning cannot use of it, in words."""
    if not isinstance(node, ex.Holds):
        return compile_leaf(node)
    # Imported here: other predicates do not pay for the functions of predicates.
    from .computed_conditions import ComputedCondition

    leaf = ComputedCondition(node)
    return leaf, leaf.note


def verdicts_of_outcomes(mask: np.ndarray) -> np.ndarray:
    """uint8[n]: NONE, SOME or ALL by the possible outcomes."""
    verdicts = np.empty(len(mask), np.uint8)
    kernels.verdicts(mask, verdicts)
    return verdicts


def combined_outcomes(node: ex.And | ex.Or, masks: Iterator[np.ndarray]) -> np.ndarray:
    """uint8[n]: the outcomes of a node from those of its children. The first ones are overwritten.

    At most two of these are in memory at a time.
    """
    combine = kernels.and_masks if isinstance(node, ex.And) else kernels.or_masks
    result = next(masks)
    for other in masks:
        combine(result, other, result)
    return result
