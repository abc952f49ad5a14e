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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import expressions as ex
from ._core import pruning as kernels
from ._core.masks import ALL, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME
from .codes import Accepted, accept_comparison, accept_in, accept_prefix, locate
from .expressions import BoundColumn, Expression
from .schema import Field, arrow_type

if TYPE_CHECKING:
    from .plugin.base import Bounds, ImpliedBounds, PartitionField, PartitionSpec

__all__ = ["ALL", "NONE", "SOME", "ManifestFilter", "Program"]

_FLOATS = ("float", "double")
_NAN = pa.scalar(float("nan"), pa.float64())


@dataclass(frozen=True)
class Range:
    """What one source knows of one column, a row a file.

    ``lower`` and ``upper`` (column type, inclusive, null = unknown) bound the values that are not NULL; a NaN that
    may occur is an upper bound, being the greatest number. ``may_value``, ``may_null``, ``may_nan``: uint8[n], 0
    where none can occur.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray
    may_nan: np.ndarray

    def outcomes(self, accepted: Accepted) -> np.ndarray:
        """uint8[n]: masks of a leaf that is TRUE for the accepted codes."""
        lower, upper = locate(self.lower, accepted), locate(self.upper, accepted)
        if self.lower.null_count:
            lower[_is_null(self.lower)] = 0
        if self.upper.null_count:
            upper[_is_null(self.upper)] = accepted.top
        out = np.empty(len(lower), np.uint8)
        kernels.leaf_mask(
            lower, upper, accepted.top, self.may_value, self.may_null,
            accepted.first, accepted.last, accepted.odd_only, False, out,
        )  # fmt: skip
        return out


class _Evidence:
    """A source of masks for leaves, over ``n`` files."""

    n: int

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """What is known of ``column``: none, one, or several independent ranges."""
        raise NotImplementedError

    def buckets(self, column: BoundColumn) -> Sequence[tuple[PartitionField, pa.Array, pa.Array]]:
        """Bucket fields of ``column`` with the least and greatest bucket of each file."""
        return ()


class _ImpliedEvidence(_Evidence):
    """What files' partition values say of the columns that the partition columns were computed from."""

    def __init__(self, spec: PartitionSpec, partition: pa.StructArray) -> None:
        self.n = len(partition)
        self._spec = spec
        self._partition = partition
        self._cache: dict[int, list[Range]] = {}

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        if column.id not in self._cache:
            implied = [i for i in self._spec.implied if i.source_id == column.id and not column.type.is_nested]
            self._cache[column.id] = [self._range(i, column) for i in implied]
        return self._cache[column.id]

    def _range(self, implied: ImpliedBounds, column: BoundColumn) -> Range:
        known = implied.of([self._partition.field(str(i)) for i in implied.field_ids], column.type)
        return Range(known.lower, known.upper, known.may_value, known.may_null, np.zeros(self.n, np.uint8))


class _BoundsEvidence(_Evidence):
    """The files' own bounds and counts."""

    def __init__(self, bounds: Bounds, record_count: pa.Array) -> None:
        self.n = len(record_count)
        self._bounds = bounds
        self._records = record_count
        self._cache: dict[int, Range] = {}

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        if column.type.is_nested:
            return ()
        if column.id not in self._cache:
            self._cache[column.id] = self._range(column.field)
        return (self._cache[column.id],)

    def _range(self, field: Field) -> Range:
        kind = arrow_type(field.type)
        unknown = pa.nulls(self.n, kind)
        lower = self._bounds.lower.get(field.id, unknown)
        upper = self._bounds.upper.get(field.id, unknown)
        counts = pa.nulls(self.n, pa.int64())
        nulls = self._bounds.null_count.get(field.id, counts)
        values = pc.coalesce(self._bounds.value_count.get(field.id, counts), self._records)
        nans = self._bounds.nan_count.get(field.id, counts)
        if str(field.type) in _FLOATS:
            lower, upper = _without_nan(lower), _without_nan(upper)
            may_nan = _flag(pc.fill_null(pc.greater(nans, 0), True))
        else:
            may_nan = np.zeros(self.n, np.uint8)
        contradictory = pc.fill_null(pc.greater(lower, upper), False) if _ordered(kind) else None
        if contradictory is not None and pc.any(contradictory).as_py():
            lower, upper = (pc.if_else(contradictory, pa.scalar(None, kind), side) for side in (lower, upper))
        if may_nan.any():
            upper = pc.if_else(pa.array(may_nan.view(bool)), _NAN.cast(kind), upper)
        # As many NULLs as values: there is no value to compare. Rows that were not counted may hold anything.
        uncounted = _flag(pc.fill_null(pc.less(values, self._records), False))
        may_value = 1 - _flag(pc.fill_null(pc.equal(nulls, values), False)) | uncounted
        may_null = _flag(pc.fill_null(pc.greater(nulls, 0), True)) | uncounted
        # Neither a value nor a NULL in a file that has rows: the counts contradict themselves and prove nothing.
        silent = (may_value | may_null) == 0
        occupied = 1 - _flag(pc.fill_null(pc.equal(self._records, 0), False))
        return Range(lower, upper, (may_value | silent) & occupied, (may_null | silent) & occupied, may_nan & occupied)


class _PartitionEvidence(_Evidence):
    """Partition values of files (least = greatest), or ranges of partition values of groups of files."""

    def __init__(self, spec: PartitionSpec, n: int, columns: Mapping[int, Range]) -> None:
        self.n = n
        self._fields = [f for f in spec.fields if f.id in columns and f.transform.name not in ("void", "unknown")]
        self._columns = columns

    def _of(self, column: BoundColumn) -> list[PartitionField]:
        return [f for f in self._fields if f.source_id == column.id and not column.type.is_nested]

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        found = []
        for field in self._of(column):
            known = self._columns[field.id]
            lower = field.transform.preimage(known.lower, column.type)[0]
            upper = field.transform.preimage(known.upper, column.type)[1]
            found.append(Range(lower, upper, known.may_value, known.may_null, known.may_nan))
        return found

    def buckets(self, column: BoundColumn) -> Sequence[tuple[PartitionField, pa.Array, pa.Array]]:
        return [
            (f, self._columns[f.id].lower, self._columns[f.id].upper)
            for f in self._of(column)
            if f.transform.name == "bucket"
        ]


@dataclass(frozen=True)
class _Leaf:
    """A compiled leaf: ``accepted`` codes where it compares, ``values`` the literals of an equality or IN."""

    node: Expression
    column: BoundColumn
    accepted: Accepted | None = None
    values: tuple[Any, ...] = ()

    def mask(self, evidence: _Evidence) -> np.ndarray:
        out = np.full(evidence.n, MAY_ANY, np.uint8)
        for known in evidence.ranges(self.column):
            out = _intersect(out, self._of_range(known))
        if self.values:
            for field, least, greatest in evidence.buckets(self.column):
                out = _intersect(out, self._of_buckets(field, least, greatest))
        return out

    def _of_range(self, known: Range) -> np.ndarray:
        node = self.node
        if isinstance(node, ex.IsNull):
            return known.may_null * MAY_TRUE | known.may_value * MAY_FALSE
        if isinstance(node, ex.IsNaN):
            return known.may_nan * MAY_TRUE | (known.may_null | known.may_value) * MAY_FALSE
        if self.accepted is None:
            # No order to use; but a value is needed for TRUE or FALSE, and NULL for NULL.
            return known.may_value * (MAY_TRUE | MAY_FALSE) | known.may_null * MAY_NULL
        mask = known.outcomes(self.accepted)
        if isinstance(node, ex.Comparison) and node.op == "<=>":
            # NULL <=> literal is FALSE.
            mask = mask & (MAY_TRUE | MAY_FALSE) | (mask & MAY_NULL) // MAY_NULL * MAY_FALSE
        elif isinstance(node, ex.Like):
            # The prefix alone never proves a match.
            mask = mask | (mask & MAY_TRUE) * MAY_FALSE
        return mask

    def _of_buckets(self, field: PartitionField, least: pa.Array, greatest: pa.Array) -> np.ndarray:
        """An equality is FALSE or NULL in every file whose buckets hold none of the literals' buckets."""
        unconstrained = np.full(len(least), MAY_ANY, np.uint8)
        try:
            wanted = sorted({field.transform.bucket(v, self.column.type) for v in self.values})
        except (ValueError, ArithmeticError):
            return unconstrained
        accepted = Accepted("int64", tuple(wanted), 1, 0, odd_only=True)
        ones = np.ones(len(least), np.uint8)
        mask = Range(least, greatest, ones, ones, ones).outcomes(accepted)
        return mask | MAY_FALSE | MAY_NULL


class Program:
    """A bound predicate, ready to be evaluated over columns.

    Attributes
    ----------
    columns : the leaf columns whose bounds are worth decoding
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

    def _evaluate(self, node: Expression, sources: Sequence[_Evidence], n: int) -> np.ndarray:
        if isinstance(node, ex.Constant):
            return np.full(n, {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}[node.value], np.uint8)
        if isinstance(node, ex.Not):
            child = self._evaluate(node.child, sources, n)
            kernels.not_mask(child, child)
            return child
        if isinstance(node, (ex.And, ex.Or)):
            combine = kernels.and_masks if isinstance(node, ex.And) else kernels.or_masks
            result = self._evaluate(node.children[0], sources, n)
            for other in node.children[1:]:
                combine(result, self._evaluate(other, sources, n), result)
            return result
        return self._leaf_outcomes(node, sources, n)

    def _leaf_outcomes(self, node: Expression, sources: Sequence[_Evidence], n: int) -> np.ndarray:
        mask = np.full(n, MAY_ANY, np.uint8)
        leaf = self._leaves.get(node)
        if leaf is not None:
            for source in sources:
                mask = _intersect(mask, leaf.mask(source))
            if isinstance(node, ex.Comparison) and node.op == "!=":
                kernels.not_mask(mask, mask)
        return mask

    def _verdicts(self, sources: Sequence[_Evidence], n: int) -> np.ndarray:
        out = np.empty(n, np.uint8)
        kernels.verdicts(self._evaluate(self.predicate, sources, n), out)
        return out

    def partition_verdicts(self, spec: PartitionSpec, partition: pa.StructArray) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by the partition values alone.

        ``partition`` has members called by partition field id, in the fields' types.
        """
        return self._verdicts(_of_partitions(spec, partition), len(partition))

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """uint8[n] for each leaf: the outcomes that it may have in each file by the partition values alone, as masks.

        ``partition`` as in :meth:`partition_verdicts`; members of other specs are not looked at.
        """
        sources = _of_partitions(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._leaves}

    def verdicts(
        self, spec: PartitionSpec, partition: pa.StructArray, bounds: Bounds, record_count: pa.Array
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and bounds together. Cost: O(n) a leaf, GIL released."""
        sources = [*_of_partitions(spec, partition), _BoundsEvidence(bounds, record_count)]
        return self._verdicts(sources, len(record_count))

    def uses_partitions(self, spec: PartitionSpec) -> bool:
        """Whether any leaf can be decided by the spec's partition values: buckets decide equalities alone."""
        ordered = {f.source_id for f in spec.fields if f.transform.is_order_preserving}
        ordered.update(implied.source_id for implied in spec.implied)
        hashed = {f.source_id for f in spec.fields if f.transform.name == "bucket"}
        return any(
            leaf.column.id in ordered or (leaf.values and leaf.column.id in hashed) for leaf in self._leaves.values()
        )


def _of_partitions(spec: PartitionSpec, partition: pa.StructArray) -> list[_Evidence]:
    evidence: list[_Evidence] = [partition_evidence(spec, partition)]
    return [*evidence, _ImpliedEvidence(spec, partition)] if spec.implied else evidence


def partition_evidence(spec: PartitionSpec, partition: pa.StructArray) -> _PartitionEvidence:
    """Evidence of files' own partition values."""
    columns = {}
    for field in spec.fields:
        index = partition.type.get_field_index(str(field.id))
        if index < 0:
            continue
        values = partition.field(index)
        null = _is_null(values).view(np.uint8)
        may_nan = np.zeros(len(values), np.uint8)
        if pa.types.is_floating(values.type):
            may_nan = _flag(pc.fill_null(pc.is_nan(values), False))
        columns[field.id] = Range(values, values, 1 - null, null, may_nan)
    return _PartitionEvidence(spec, len(partition), columns)


class ManifestFilter:
    """Prunes groups of files by ranges of their partition values. Made by the core, called by a plugin.

    Source of the rules: Iceberg spec, "Manifest Lists", ``field_summary``.
    """

    def __init__(self, program: Program, specs: Mapping[int, PartitionSpec]) -> None:
        self._program = program
        self._specs = specs

    def keep(
        self,
        spec_id: int,
        lower: Mapping[int, pa.Array],
        upper: Mapping[int, pa.Array],
        contains_null: Mapping[int, pa.Array],
        contains_nan: Mapping[int, pa.Array],
        bounds: Bounds | None = None,
    ) -> np.ndarray:
        """bool[n]: which groups may hold a file that is needed.

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
        sources: list[_Evidence] = [_PartitionEvidence(self._specs[spec_id], n, columns)]
        if bounds is not None:
            sources.append(_BoundsEvidence(bounds, pa.nulls(n, pa.int64())))
        return self._program._verdicts(sources, n) != NONE

    @staticmethod
    def _range(lower: pa.Array, upper: pa.Array, contains_null: pa.Array, contains_nan: pa.Array) -> Range:
        may_null = _flag(pc.fill_null(contains_null, True))
        may_value = 1 - _is_null(lower).view(np.uint8)
        may_nan = np.zeros(len(lower), np.uint8)
        if pa.types.is_floating(lower.type):
            may_nan = _flag(pc.fill_null(contains_nan, True))
            may_value |= may_nan
            lower, upper = _without_nan(lower), _without_nan(upper)
            upper = pc.if_else(pa.array(may_nan.view(bool)), _NAN.cast(upper.type), upper)
        # Neither a value nor a NULL nor a NaN: the summary contradicts itself and proves nothing.
        silent = (may_value | may_null) == 0
        return Range(lower, upper, may_value | silent, may_null | silent, may_nan)


def _intersect(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What both sources allow. Where they leave nothing although each allows something, neither proves anything."""
    both = a & b
    empty = both == 0
    if empty.any():
        both[empty & (a != 0) & (b != 0)] = MAY_ANY
    return both


def _is_null(values: pa.Array) -> np.ndarray:
    if not values.null_count:
        return np.zeros(len(values), bool)
    return np.asarray(pc.is_null(values).to_numpy(zero_copy_only=False))


def _flag(values: pa.Array) -> np.ndarray:
    return np.asarray(values.to_numpy(zero_copy_only=False)).view(np.uint8)


def _without_nan(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(pc.is_nan(values), False), pa.scalar(None, values.type), values)


def _ordered(kind: pa.DataType) -> bool:
    """Whether Arrow compares the type as we do."""
    return not (pa.types.is_null(kind) or pa.types.is_nested(kind))
