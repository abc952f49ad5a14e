"""Decides which files a predicate undecided, from columns of bounds.

The contract: **a file is dropped only if no live row of it can make the predicate TRUE.** For every file a
predicate has a set of possible outcomes, a subset of {TRUE, FALSE, NULL}, as a bit mask (``_core/masks.py``):

- a leaf (``a > 5``) gets its mask from each source of sources that knows something of the column: partition
  values, turned back into bounds of the source column by their transform or by what the format says that they
  imply, and the file's own bounds and counts. Each source gives a superset of what occurs, so the masks are
  intersected; sources that exclude each other are not believed;
- AND, OR and NOT combine masks by SQL's three-valued logic; nothing undecided to be rewritten first;
- unknown is the full set. NONE: TRUE is not in the set, the file is dropped. ALL: only TRUE is in it, so no row
  undecided to be checked. SOME: anything else.

Partition values and bounds take part in one pass, so ``part = 1 OR id > 9`` prunes on both. What cannot be decided
(column against column, the middle of a LIKE pattern) is SOME and is said in the report. A group of files (a
manifest) with ranges of partition values is evaluated as if it were one file.

Spark's order throughout: NaN is the greatest number, -0.0 = 0.0, strings and binary by unsigned bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import ALL, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME
from ..columnar import compute as pc
from ..columnar.arrays import distinct, scalar, to_numpy
from ..expressions import BoundColumn, Expression
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
from .literal_codes import Accepted, accept_comparison, accept_in, accept_prefix, into_domain

if TYPE_CHECKING:
    from ..plugin.partitions import PartitionField, PartitionSpec
    from ..plugin.statistics import Bounds

__all__ = ["ALL", "NONE", "SOME", "CompiledPredicate"]

_NO_BUCKET = scalar(-1, pa.int64())


@dataclass(frozen=True)
class _Leaf:
    """A compiled leaf: ``accepted`` codes where it compares, ``values`` the literals of an equality or IN."""

    node: Expression
    column: BoundColumn
    accepted: Accepted | None = None
    values: tuple[Any, ...] = ()
    _buckets: dict[PartitionField, np.ndarray | None] = field(default_factory=dict, compare=False)

    def mask(self, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        """uint8[n]: the outcomes that all sources allow."""
        ranges = [known for source in sources for known in source.ranges(self.column)]
        codes = [None if self.accepted is None else known.codes(self.accepted) for known in ranges]
        masks = [known.expand(self._of_range(known, at)) for known, at in zip(ranges, codes, strict=True)]
        for source in sources if self.values else ():
            for partition, least, greatest in source.buckets(self.column):
                masks.append(self._of_buckets(partition, least, greatest))
                if least is greatest:
                    within = (self._within_buckets(partition, least, *pair) for pair in zip(ranges, codes, strict=True))
                    masks += [mask for mask in within if mask is not None]
        if not masks:
            return np.full(n, MAY_ANY, np.uint8)
        for other in masks[1:]:
            kernels.intersect_masks(masks[0], other, masks[0])
        return masks[0]

    def _of_range(self, known: Range, codes: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        node = self.node
        if isinstance(node, ex.IsNull):
            return known.may_null * MAY_TRUE | known.may_value * MAY_FALSE
        if isinstance(node, ex.IsNaN):
            return known.may_nan * MAY_TRUE | (known.may_null | known.may_value) * MAY_FALSE
        if self.accepted is None or codes is None:
            # No order or no bounds to use; but a value is needed for TRUE or FALSE, and NULL for NULL.
            mask = known.may_value * (MAY_TRUE | MAY_FALSE) | known.may_null * MAY_NULL
        else:
            mask = known.outcomes(self.accepted, codes)
        if isinstance(node, ex.Comparison) and node.op == "<=>":
            # NULL <=> literal is FALSE.
            mask = mask & (MAY_TRUE | MAY_FALSE) | (mask & MAY_NULL) // MAY_NULL * MAY_FALSE
        elif isinstance(node, ex.Like):
            # The prefix alone never proves a match.
            mask = mask | (mask & MAY_TRUE) * MAY_FALSE
        return mask

    def _of_buckets(self, field: PartitionField, least: pa.Array, greatest: pa.Array) -> np.ndarray:
        """An equality is FALSE or NULL in every file whose buckets hold none of the literals' buckets."""
        buckets = self._buckets_of(field)
        if buckets is None:
            return np.full(len(least), MAY_ANY, np.uint8)
        accepted = Accepted("int64", tuple(distinct(buckets)), 1, 0, odd_only=True)
        ones = np.ones(len(least), np.uint8)
        known = Range(least, greatest, ones, ones, ones)
        codes = known.codes(accepted)
        if codes is None:
            return np.full(len(least), MAY_ANY, np.uint8)
        return known.outcomes(accepted, codes) | MAY_FALSE | MAY_NULL

    def _within_buckets(
        self, field: PartitionField, bucket: pa.Array, known: Range, codes: tuple[np.ndarray, np.ndarray] | None
    ) -> np.ndarray | None:
        """Of several literals, only one of the file's bucket can equal a row, and only one within its bounds: there may
        be one of each, and none of both. None: nothing is known."""
        buckets = self._buckets_of(field)
        if buckets is None or len(buckets) < 2 or codes is None or known.lower.null_count == len(known.lower):
            return None
        out = np.empty(len(bucket), np.uint8)
        of_files = to_numpy(pc.fill_null(pc.cast(bucket, pa.int64()), _NO_BUCKET))
        lower, upper = known.expand(codes[0]), known.expand(codes[1])
        kernels.bucket_hits(lower, upper, of_files, buckets, field.transform.width, out)
        return out * MAY_TRUE | MAY_FALSE | MAY_NULL

    def _buckets_of(self, field: PartitionField) -> np.ndarray | None:
        """int32[k]: the bucket of each accepted literal (of each value, where they have no order); None: not known."""
        if field not in self._buckets:
            self._buckets[field] = self._hashed(field)
        return self._buckets[field]

    def _hashed(self, field: PartitionField) -> np.ndarray | None:
        kind = self.column.type
        try:
            found = [field.transform.bucket(v, kind) for v in self.values]
        except (ValueError, ArithmeticError):
            return None
        if self.accepted is not None:
            domain = self.accepted.domain
            by_literal = {into_domain(v, kind, domain): b for v, b in zip(self.values, found, strict=True)}
            found = [by_literal[literal] for literal in self.accepted.literals]
        return np.array(found, np.int32)


class CompiledPredicate:
    """A bound predicate, ready to be evaluated over columns.

    Attributes
    ----------
    columns : the leaf columns whose bounds are worth decoding
    counted : the ids of those of which NULLs alone are asked, so that counts say all that bounds could
    notes : what pruning cannot use, in words
    """

    def __init__(self, predicate: Expression) -> None:
        self.predicate = predicate
        self.notes: list[str] = []
        self._leaves: dict[Expression, _Leaf] = {}
        columns: dict[int, Field] = {}
        for node in ex.walk(predicate):
            if isinstance(node, (ex.And, ex.Or, ex.Not, ex.Constant)):
                continue
            leaf = self._compile(node)
            if leaf is not None:
                self._leaves[node] = leaf
                if not leaf.column.type.is_nested:
                    columns[leaf.column.id] = leaf.column.field
        self.columns = tuple(columns.values())
        compared = {leaf.column.id for node, leaf in self._leaves.items() if not isinstance(node, ex.IsNull)}
        self.counted = frozenset(columns.keys() - compared)

    def _compile(self, node: Any) -> _Leaf | None:
        column = node.column
        assert isinstance(column, BoundColumn), "predicates are bound before they are compiled"
        if isinstance(node, ex.Comparison):
            if isinstance(node.right, BoundColumn):
                self.notes.append(f"{node} compares two columns and cannot prune")
                return None
            op = "=" if node.op in ("=", "!=", "<=>") else node.op
            assert isinstance(node.right, ex.Literal)
            accepted = accept_comparison(op, node.right, column.type)
            values = (node.right.value,) if op == "=" else ()
        elif isinstance(node, ex.In):
            accepted, values = accept_in(node.literals, column.type), tuple(v.value for v in node.literals)
        elif isinstance(node, ex.StartsWith):
            accepted, values = accept_prefix(node.prefix), ()
        elif isinstance(node, ex.Like):
            prefix = "".join(c for c, _ in takewhile(lambda part: not part[1], ex.like_parts(node.pattern)))
            self.notes.append(f"{node} prunes by its prefix {prefix!r} only" if prefix else f"{node} cannot prune")
            accepted, values = accept_prefix(prefix), ()
        else:
            accepted, values = None, ()
        if accepted is None and not isinstance(node, (ex.IsNull, ex.IsNaN)):
            self.notes.append(f"{node} prunes by NULL counts only: values of type {column.type} have no bounds")
        return _Leaf(node, column, accepted, values)

    def _outcomes_and_undecided(
        self, node: Expression, sources: Sequence[RangeSource], n: int
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """uint8[n]: masks of a node. bool[n] by column: whether more sources of it may change what follows from them:
        the node may be TRUE, and something else."""
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

    def range_sources(self, spec: PartitionSpec, partition: pa.StructArray) -> list[RangeSource]:
        """What partition values know. ``partition`` has members called by partition field id, in the fields' types;
        members of other specs are not looked at."""
        sources: list[RangeSource] = [partition_range_source(spec, partition, {f.id for f in self.columns})]
        return [*sources, ImpliedRangeSource(spec, partition)] if spec.implied else sources

    def decide(self, sources: Sequence[RangeSource]) -> Decision:
        """What one or more sources say, all of the same files. Cost: O(n) a leaf, GIL released."""
        n = sources[0].n
        mask, undecided = self._outcomes_and_undecided(self.predicate, sources, n)
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(mask, verdicts)
        nowhere = np.zeros(n, bool)
        return Decision(verdicts, {f.id: undecided.get(f.id, nowhere) for f in self.columns})

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """uint8[n] for each leaf: the outcomes that it may have in each file by the partition values alone, as masks.
        Given as to :meth:`range_sources`."""
        sources = self.range_sources(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._leaves}

    def verdicts(
        self, spec: PartitionSpec, partition: pa.StructArray, bounds: Bounds, record_count: pa.Array
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and bounds together; see :meth:`verdicts_of`."""
        return self.verdicts_of(self.range_sources(spec, partition), ranges_of(bounds, record_count, self.columns))

    def verdicts_of(self, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by some evidence and ranges of columns together, without what is needed beside
        them. Cost: O(n) a leaf, GIL released."""
        n = sources[0].n
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(self._evaluate(self.predicate, [*sources, BoundsRangeSource(ranges, n)], n), verdicts)
        return verdicts

    def uses_partitions(self, spec: PartitionSpec) -> bool:
        """Whether any leaf can be decided by the spec's partition values: buckets decide equalities alone."""
        ordered = {f.source_id for f in spec.fields if f.transform.is_order_preserving}
        ordered.update(implied.source_id for implied in spec.implied)
        hashed = {f.source_id for f in spec.fields if f.transform.name == "bucket"}
        return any(
            leaf.column.id in ordered or (leaf.values and leaf.column.id in hashed) for leaf in self._leaves.values()
        )


def _combined(node: ex.And | ex.Or, masks: Iterator[np.ndarray]) -> np.ndarray:
    """uint8[n]: the masks of a node from those of its children, two of which are in memory at once."""
    combine = kernels.and_masks if isinstance(node, ex.And) else kernels.or_masks
    result = next(masks)
    for other in masks:
        combine(result, other, result)
    return result
