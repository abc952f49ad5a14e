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

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import expressions as ex
from ._core import pruning as kernels
from ._core.masks import ALL, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME
from .arrays import FALSE, TRUE, scalar, to_arrow, to_numpy
from .codes import (
    Accepted,
    accept_comparison,
    accept_in,
    accept_prefix,
    into_domain,
    locate,
    validity_of,
)
from .expressions import BoundColumn, Expression
from .schema import Field, arrow_type

if TYPE_CHECKING:
    from .plugin.base import ImpliedBounds, PartitionField, PartitionSpec
    from .plugin.statistics import Bounds

__all__ = ["ALL", "NONE", "SOME", "ManifestFilter", "Program", "Range", "ranges_of"]

_FLOATS = ("float", "double")
_FEW = 1024
_NO_BUCKET = scalar(-1, pa.int64())
_NAN = scalar(float("nan"), pa.float64())


@dataclass(frozen=True)
class Range:
    """What one source knows of one column, a row a file.

    ``lower`` and ``upper`` (column type, inclusive, null = unknown) bound the values that are not NULL; a NaN that
    may occur is an upper bound, being the greatest number. ``may_value``, ``may_null``, ``may_nan``: uint8[n], 0
    where none can occur. With ``places`` (intp[n]) the other members have an entry for each distinct range, and file i
    has the entry ``places[i]``.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray
    may_nan: np.ndarray
    places: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Range:
        """What is known of these files (int64 indices)."""
        at = to_arrow(rows)
        lower = self.lower.take(at)
        upper = lower if self.upper is self.lower else self.upper.take(at)
        return Range(lower, upper, self.may_value[rows], self.may_null[rows], self.may_nan[rows])

    @staticmethod
    def joined(parts: Sequence[Range]) -> Range:
        """The ranges of files, one after the other; each part without ``places``."""
        lower, upper = (pa.concat_arrays([getattr(part, side) for part in parts]) for side in ("lower", "upper"))
        flags = [np.concatenate([getattr(part, may) for part in parts]) for may in ("may_value", "may_null", "may_nan")]
        return Range(lower, upper, flags[0], flags[1], flags[2])

    @property
    def nbytes(self) -> int:
        """Memory that the range holds."""
        return int(self.lower.nbytes + self.upper.nbytes) + 3 * len(self.may_value)

    def codes(self, accepted: Accepted) -> tuple[np.ndarray, np.ndarray] | None:
        """int32[n], int32[n]: the codes of ``lower`` and ``upper``; the least and the greatest where unknown. None:
        all are unknown."""
        if self.lower.null_count == len(self.lower) and self.upper.null_count == len(self.upper):
            return None
        lower = locate(self.lower, accepted, 0)
        if self.upper is self.lower and not self.lower.null_count:
            return lower, lower
        return lower, locate(self.upper, accepted, accepted.top)

    def outcomes(self, accepted: Accepted, codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """uint8: masks of a leaf that is TRUE for the accepted codes."""
        out = np.empty(len(self.may_value), np.uint8)
        kernels.leaf_mask(
            *codes, accepted.top, self.may_value, self.may_null,
            accepted.first, accepted.last, accepted.odd_only, False, out,
        )  # fmt: skip
        return out

    def spread(self, values: np.ndarray) -> np.ndarray:
        """[n]: what each file's entry has."""
        return values if self.places is None else values[self.places]


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

    def __init__(self, ranges: Mapping[int, Range], n: int) -> None:
        self.n = n
        self._ranges = ranges

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        known = self._ranges.get(column.id)
        return () if known is None or column.type.is_nested else (known,)


class _Counted:
    """Bounds and counts of ``n`` files, turned into ranges."""

    def __init__(self, bounds: Bounds, record_count: pa.Array) -> None:
        self.n = len(record_count)
        self._bounds = bounds
        self._records = record_count

    def range(self, field: Field) -> Range:
        kind = arrow_type(field.type)
        unknown = pa.nulls(self.n, kind)
        lower = self._bounds.lower.get(field.id, unknown)
        upper = self._bounds.upper.get(field.id, unknown)
        is_float = str(field.type) in _FLOATS
        may_value, may_null, may_nan = self._flags(field.id, is_float)
        if is_float:
            lower, upper = _without_nan(lower), _without_nan(upper)
        contradictory = pc.greater(lower, upper) if _ordered(kind) else None
        if contradictory is not None and contradictory.true_count:
            wrong = pc.fill_null(contradictory, FALSE)
            lower, upper = (pc.if_else(wrong, scalar(None, kind), side) for side in (lower, upper))
        if is_float and may_nan.any():
            upper = pc.if_else(to_arrow(may_nan.view(bool)), _NAN.cast(kind), upper)
        return Range(lower, upper, may_value, may_null, may_nan)

    def _flags(self, field_id: int, has_nan: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """uint8[n] thrice: whether a row may hold a value, a NULL, a NaN."""
        bounds = self._bounds
        columns = [side.get(field_id) for side in (bounds.null_count, bounds.value_count, bounds.nan_count)]
        columns.append(self._records)
        # Counts that are null everywhere need have no values in memory.
        known = [c if c is not None and c.null_count < len(c) else None for c in columns]
        validities = [(None, 0) if c is None else validity_of(c) for c in known]
        flags = [np.empty(self.n, np.uint8) for _ in range(3)]
        kernels.count_flags(
            [None if c is None else to_numpy(c) for c in known],
            [bitmap for bitmap, _ in validities],
            [first for _, first in validities],
            has_nan,
            *flags,
        )
        return flags[0], flags[1], flags[2]


def ranges_of(bounds: Bounds, record_count: pa.Array, columns: Sequence[Field]) -> dict[int, Range]:
    """What bounds and counts say of leaf ``columns``, by field id. Cost: O(n) a column, GIL released."""
    counted = _Counted(bounds, record_count)
    return {f.id: counted.range(f) for f in columns if not f.type.is_nested}


class _PartitionEvidence(_Evidence):
    """Partition values of files (least = greatest), or ranges of partition values of groups of files."""

    def __init__(self, spec: PartitionSpec, n: int, columns: Mapping[int, Range]) -> None:
        self.n = n
        self._fields = [f for f in spec.fields if f.id in columns and f.transform.name not in ("void", "unknown")]
        self._columns = columns
        self._cache: dict[int, list[Range]] = {}

    def _of(self, column: BoundColumn) -> list[PartitionField]:
        return [f for f in self._fields if f.source_id == column.id and not column.type.is_nested]

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        if column.id not in self._cache:
            self._cache[column.id] = [self._preimage(field, column) for field in self._of(column)]
        return self._cache[column.id]

    def _preimage(self, field: PartitionField, column: BoundColumn) -> Range:
        """Files share few values (days, months): a transform is turned back for the distinct ones alone."""
        known = self._columns[field.id]
        if field.transform.name == "identity":
            return known
        places = None
        if field.transform.is_order_preserving and known.lower is known.upper and len(known.lower) > _FEW:
            encoded = known.lower.dictionary_encode("encode")
            places = to_numpy(encoded.indices.cast(pa.int64()))
            known = _of_values(encoded.dictionary)
        lower = field.transform.preimage(known.lower, column.type)[0]
        upper = field.transform.preimage(known.upper, column.type)[1]
        overflowed = field.transform.may_have_overflowed(known.upper)
        if overflowed is not None:
            lower = pc.if_else(overflowed, scalar(None, lower.type), lower)
        return Range(lower, upper, known.may_value, known.may_null, known.may_nan, places)

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
    _buckets: dict[PartitionField, np.ndarray | None] = field(default_factory=dict, compare=False)

    def mask(self, sources: Sequence[_Evidence], n: int) -> np.ndarray:
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
        accepted = Accepted("int64", tuple(np.unique(buckets).tolist()), 1, 0, odd_only=True)
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
        of_files = to_numpy(pc.fill_null(bucket.cast(pa.int64()), _NO_BUCKET))
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
        leaf = self._leaves.get(node)
        if leaf is None:
            return np.full(n, MAY_ANY, np.uint8)
        mask = leaf.mask(sources, n)
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
        return self._verdicts(self._of_partitions(spec, partition), len(partition))

    def _of_partitions(self, spec: PartitionSpec, partition: pa.StructArray) -> list[_Evidence]:
        evidence: list[_Evidence] = [partition_evidence(spec, partition, {f.id for f in self.columns})]
        return [*evidence, _ImpliedEvidence(spec, partition)] if spec.implied else evidence

    def partition_outcomes(self, spec: PartitionSpec, partition: pa.StructArray) -> dict[Expression, np.ndarray]:
        """uint8[n] for each leaf: the outcomes that it may have in each file by the partition values alone, as masks.

        ``partition`` as in :meth:`partition_verdicts`; members of other specs are not looked at.
        """
        sources = self._of_partitions(spec, partition)
        return {node: self._leaf_outcomes(node, sources, len(partition)) for node in self._leaves}

    def verdicts(
        self, spec: PartitionSpec, partition: pa.StructArray, bounds: Bounds, record_count: pa.Array
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and bounds together; see :meth:`verdicts_of`."""
        return self.verdicts_of(spec, partition, ranges_of(bounds, record_count, self.columns), len(record_count))

    def verdicts_of(
        self, spec: PartitionSpec, partition: pa.StructArray, ranges: Mapping[int, Range], n: int
    ) -> np.ndarray:
        """uint8[n]: NONE, SOME or ALL by partition values and ranges together. Cost: O(n) a leaf, GIL released."""
        return self._verdicts([*self._of_partitions(spec, partition), _BoundsEvidence(ranges, n)], n)

    def uses_partitions(self, spec: PartitionSpec) -> bool:
        """Whether any leaf can be decided by the spec's partition values: buckets decide equalities alone."""
        ordered = {f.source_id for f in spec.fields if f.transform.is_order_preserving}
        ordered.update(implied.source_id for implied in spec.implied)
        hashed = {f.source_id for f in spec.fields if f.transform.name == "bucket"}
        return any(
            leaf.column.id in ordered or (leaf.values and leaf.column.id in hashed) for leaf in self._leaves.values()
        )


def partition_evidence(
    spec: PartitionSpec, partition: pa.StructArray, sources: Container[int] | None = None
) -> _PartitionEvidence:
    """Evidence of files' own partition values, of those that come from the columns ``sources`` (None: any)."""
    columns = {}
    for f in spec.fields:
        index = partition.type.get_field_index(str(f.id))
        if index >= 0 and (sources is None or f.source_id in sources):
            columns[f.id] = _of_values(partition.field(index))
    return _PartitionEvidence(spec, len(partition), columns)


def _of_values(values: pa.Array) -> Range:
    """Files that have one value in all rows."""
    null = _is_null(values).view(np.uint8)
    may_nan = np.zeros(len(values), np.uint8)
    if pa.types.is_floating(values.type):
        may_nan = _flag(pc.fill_null(pc.is_nan(values), FALSE))
    return Range(values, values, 1 - null, null, may_nan)


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
            sources.append(_BoundsEvidence(ranges_of(bounds, pa.nulls(n, pa.int64()), self._program.columns), n))
        return self._program._verdicts(sources, n) != NONE

    @staticmethod
    def _range(lower: pa.Array, upper: pa.Array, contains_null: pa.Array, contains_nan: pa.Array) -> Range:
        may_null = _flag(pc.fill_null(contains_null, TRUE))
        may_value = 1 - _is_null(lower).view(np.uint8)
        may_nan = np.zeros(len(lower), np.uint8)
        if pa.types.is_floating(lower.type):
            may_nan = _flag(pc.fill_null(contains_nan, TRUE))
            may_value |= may_nan
            lower, upper = _without_nan(lower), _without_nan(upper)
            upper = pc.if_else(to_arrow(may_nan.view(bool)), _NAN.cast(upper.type), upper)
        # Neither a value nor a NULL nor a NaN: the summary contradicts itself and proves nothing.
        silent = (may_value | may_null) == 0
        return Range(lower, upper, may_value | silent, may_null | silent, may_nan)


def _is_null(values: pa.Array) -> np.ndarray:
    if not values.null_count:
        return np.zeros(len(values), bool)
    return to_numpy(pc.is_null(values))


def _flag(values: pa.Array) -> np.ndarray:
    return to_numpy(values).view(np.uint8)


def _without_nan(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), scalar(None, values.type), values)


def _ordered(kind: pa.DataType) -> bool:
    """Whether Arrow compares the type as we do."""
    return not (pa.types.is_null(kind) or pa.types.is_nested(kind))
