"""Decides which files a predicate needs, from columns of bounds.

The contract: **a file is dropped only if no live row of it can make the predicate TRUE.** For every file a
predicate has a set of possible outcomes, a subset of {TRUE, FALSE, NULL}, as a bit mask (``_core/masks.py``):

- a leaf (``a > 5``) gets its mask from each source of evidence that knows something of the column: partition
  values, turned back into bounds of the source column by their transform or by what the format says that they
  imply, and the file's own bounds and counts. Each source gives a superset of what occurs, so the masks are
  intersected; sources that exclude each other are not believed;
- AND, OR and NOT combine masks by SQL's three-valued logic; nothing needs to be rewritten first;
- unknown is the full set. NONE: TRUE is not in the set, the file is dropped. ALL: only TRUE is in it, so no row
  needs to be checked. SOME: anything else.

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
from ..columnar.arrays import TRUE, distinct, scalar, to_arrow, to_numpy
from ..expressions import BoundColumn, Expression
from ..expressions import tree as ex
from ..schema import Field
from .column_ranges import (
    BoundsEvidence,
    Evidence,
    ImpliedEvidence,
    PartitionEvidence,
    Range,
    flag,
    is_null,
    partition_evidence,
    ranges_of,
    without_nan,
)
from .literal_codes import Accepted, accept_comparison, accept_in, accept_prefix, into_domain

if TYPE_CHECKING:
    from ..plugin.base import PartitionField, PartitionSpec
    from ..plugin.statistics import Bounds

__all__ = ["ALL", "NONE", "SOME", "Decision", "ManifestFilter", "Program"]

_NO_BUCKET = scalar(-1, pa.int64())


@dataclass(frozen=True)
class Decision:
    """What some evidence says of ``n`` files, or groups of files, and what else would say more.

    ``verdicts``: uint8[n], NONE, SOME or ALL. ``needs``: by field id of the predicate's leaf columns bool[n], whether
    more evidence of that column can make the verdict another. A part of the predicate that cannot be TRUE, or is
    nothing else, is not looked at again: its other leaves say nothing that matters.
    """

    verdicts: np.ndarray
    needs: dict[int, np.ndarray]

    @property
    def keep(self) -> np.ndarray:
        """bool[n]: which may hold a row that matches."""
        return self.verdicts != NONE


@dataclass(frozen=True)
class _Leaf:
    """A compiled leaf: ``accepted`` codes where it compares, ``values`` the literals of an equality or IN."""

    node: Expression
    column: BoundColumn
    accepted: Accepted | None = None
    values: tuple[Any, ...] = ()
    _buckets: dict[PartitionField, np.ndarray | None] = field(default_factory=dict, compare=False)

    def mask(self, sources: Sequence[Evidence], n: int) -> np.ndarray:
        """uint8[n]: the outcomes that all sources allow."""
        ranges = [known for source in sources for known in source.ranges(self.column)]
        codes = [None if self.accepted is None else known.codes(self.accepted) for known in ranges]
        masks = [known.spread(self._of_range(known, at)) for known, at in zip(ranges, codes, strict=True)]
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
        lower, upper = known.spread(codes[0]), known.spread(codes[1])
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


class Program:
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

    def _outcomes_and_needs(
        self, node: Expression, sources: Sequence[Evidence], n: int
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """uint8[n]: masks of a node. bool[n] by column: whether more evidence of it may change what follows from them:
        the node may be TRUE, and something else."""
        needs: dict[int, Any] = {}
        if isinstance(node, (ex.And, ex.Or)):

            def masks() -> Iterator[np.ndarray]:
                for child in node.children:
                    found, below = self._outcomes_and_needs(child, sources, n)
                    needs.update({column: needs.get(column, False) | need for column, need in below.items()})
                    yield found

            mask = _combined(node, masks())
        else:
            mask = self._evaluate(node, sources, n)
            needs = {self._leaves[below].column.id: True for below in ex.walk(node) if below in self._leaves}
        is_open = (mask & MAY_TRUE != 0) & (mask != MAY_TRUE)
        return mask, {column: need & is_open for column, need in needs.items()}

    def _evaluate(self, node: Expression, sources: Sequence[Evidence], n: int) -> np.ndarray:
        if isinstance(node, ex.Constant):
            return np.full(n, {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}[node.value], np.uint8)
        if isinstance(node, ex.Not):
            child = self._evaluate(node.child, sources, n)
            kernels.not_mask(child, child)
            return child
        if isinstance(node, (ex.And, ex.Or)):
            return _combined(node, (self._evaluate(child, sources, n) for child in node.children))
        return self._leaf_outcomes(node, sources, n)

    def _leaf_outcomes(self, node: Expression, sources: Sequence[Evidence], n: int) -> np.ndarray:
        leaf = self._leaves.get(node)
        if leaf is None:
            return np.full(n, MAY_ANY, np.uint8)
        mask = leaf.mask(sources, n)
        if isinstance(node, ex.Comparison) and node.op == "!=":
            kernels.not_mask(mask, mask)
        return mask

    def evidence_of(self, spec: PartitionSpec, partition: pa.StructArray) -> list[Evidence]:
        """What partition values know. ``partition`` has members called by partition field id, in the fields' types;
        members of other specs are not looked at."""
        evidence: list[Evidence] = [partition_evidence(spec, partition, {f.id for f in self.columns})]
        return [*evidence, ImpliedEvidence(spec, partition)] if spec.implied else evidence

    def decide(self, evidence: Sequence[Evidence]) -> Decision:
        """What one or more sources say, all of the same files. Cost: O(n) a leaf, GIL released."""
        n = evidence[0].n
        mask, needs = self._outcomes_and_needs(self.predicate, evidence, n)
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(mask, verdicts)
        nowhere = np.zeros(n, bool)
        return Decision(verdicts, {f.id: needs.get(f.id, nowhere) for f in self.columns})

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """uint8[n] for each leaf: the outcomes that it may have in each file by the partition values alone, as masks.
        Given as to :meth:`evidence_of`."""
        sources = self.evidence_of(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._leaves}

    def verdicts(
        self, spec: PartitionSpec, partition: pa.StructArray, bounds: Bounds, record_count: pa.Array
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and bounds together; see :meth:`verdicts_of`."""
        return self.verdicts_of(self.evidence_of(spec, partition), ranges_of(bounds, record_count, self.columns))

    def verdicts_of(self, evidence: Sequence[Evidence], ranges: Mapping[int, Range]) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by some evidence and ranges of columns together, without what is needed beside
        them. Cost: O(n) a leaf, GIL released."""
        n = evidence[0].n
        verdicts = np.empty(n, np.uint8)
        kernels.verdicts(self._evaluate(self.predicate, [*evidence, BoundsEvidence(ranges, n)], n), verdicts)
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


class ManifestFilter:
    """Prunes groups of files by ranges of their partition values. Made by the core, called by a plugin.

    Source of the rules: Iceberg spec, "Manifest Lists", ``field_summary``.
    """

    def __init__(self, program: Program, specs: Mapping[int, PartitionSpec]) -> None:
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
        """Which of ``n`` groups may hold a file that is needed, and which columns the files of each group may be asked
        for: one that no file of a group needs need not be decoded for it.

        Parameters
        ----------
        spec_id : the spec of all groups
        lower, upper : by partition field id, [n] in the field's type; null ``lower`` = no value but NULL and NaN
        contains_null, contains_nan : by partition field id, bool[n]; null = unknown
        bounds : what is known of the columns of all files of a group, [n]; there must be some, or some ``lower``
        """
        known = {**lower, **(bounds.lower if bounds is not None else {})}
        n = len(next(iter(known.values())))
        columns = {i: self._range(lower[i], upper[i], contains_null[i], contains_nan[i]) for i in lower}
        sources: list[Evidence] = [PartitionEvidence(self._specs[spec_id], n, columns)]
        if bounds is not None:
            sources.append(BoundsEvidence(ranges_of(bounds, pa.nulls(n, pa.int64()), self._program.columns), n))
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
