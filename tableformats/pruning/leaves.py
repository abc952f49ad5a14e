"""The leaves of a predicate: one comparison, IN, IS NULL, isnan, prefix or LIKE, evaluated over ranges of its column.
Several leaves of one column are combined into one where that proves more (``combined_codes.py``). Comparisons of two
columns are in ``column_pairs.py``.

A leaf gets a mask of possible outcomes from each source that knows something of its column. Each source knows a
superset of the values that occur, so the outcomes are those that all masks have. If no outcome is left although each
mask has some, the sources contradict each other and none of them is trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import distinct, scalar, to_numpy
from ..dataclass import dataclass
from ..expressions import BoundColumn
from ..expressions import tree as ex
from .column_pairs import ColumnPair
from .column_ranges import Range, RangeSource
from .combined_codes import combined_codes
from .literal_codes import (
    MatchingCodes,
    codes_matching_comparison,
    codes_matching_in,
    codes_matching_nan,
    codes_matching_prefix,
    domain_of,
    to_domain,
)

if TYPE_CHECKING:
    from ..plugin.partitions import PartitionField

__all__ = ["Leaf", "combine_leaves", "compile_leaf"]

_WHY_NO_ORDER = "values are padded before they are compared, and bounds are not"
_UNKNOWN_BUCKET = scalar(-1, pa.int64())


@dataclass(frozen=True)
class Leaf:
    """A compiled leaf, or several leaves of one column that an AND or OR combines.

    Attributes
    ----------
    matching : MatchingCodes, optional
        The codes for which the leaf is TRUE; for all others it is FALSE. None: the values do not matter (IS NULL), or
        the type has no order here.
    values : tuple
        The canonical literals of an equality or IN; of other leaves none.
    on_null : bool, optional
        What the leaf is for NULL; None: NULL.
    is_null_test : bool
        IS NULL, which is FALSE for every value.
    proves : bool
        Whether the leaf is TRUE for all values of the matching codes. False: for some.
    """

    column: BoundColumn
    matching: MatchingCodes | None = None
    values: tuple[Any, ...] = ()
    on_null: bool | None = None
    is_null_test: bool = False
    proves: bool = True
    _buckets: dict[PartitionField, np.ndarray | None] = field(default_factory=dict, compare=False)

    @property
    def columns(self) -> tuple[BoundColumn, ...]:
        """The column, as the columns of a leaf that has several."""
        return (self.column,)

    def mask(self, sources: Sequence[RangeSource], n: int) -> np.ndarray:
        """uint8[n]: the outcomes that all sources allow. Of ``!=`` those of ``=``."""
        ranges = [range_ for source in sources for range_ in source.ranges(self.column)]
        codes = [None if self._compared is None else range_.codes(self._compared) for range_ in ranges]
        masks = [range_.expand(self._of_range(range_, pair)) for range_, pair in zip(ranges, codes, strict=True)]
        for source in sources if self.values else ():
            for partition, least, greatest in source.buckets(self.column):
                masks.append(self._of_buckets(partition, least, greatest))
                if least is greatest:
                    within = (self._within_buckets(partition, least, *pair) for pair in zip(ranges, codes, strict=True))
                    masks += [mask for mask in within if mask is not None]
        if not masks:
            return np.full(n, self._of_any_value | self._of_null, np.uint8)
        for other in masks[1:]:
            kernels.intersect_masks(masks[0], other, masks[0])
        return masks[0]

    @property
    def _of_null(self) -> int:
        """The outcome for NULL."""
        return MAY_NULL if self.on_null is None else MAY_TRUE if self.on_null else MAY_FALSE

    @property
    def _of_any_value(self) -> int:
        """The outcomes for a value of which nothing is known."""
        if self.matching is None:
            return MAY_FALSE if self.is_null_test else MAY_TRUE | MAY_FALSE
        return MAY_FALSE if self.matching.is_never else MAY_TRUE if self.matching.is_always else MAY_TRUE | MAY_FALSE

    @property
    def _compared(self) -> MatchingCodes | None:
        """The codes that bounds are compared with. None: bounds cannot decide the leaf."""
        return self.matching if self._of_any_value == MAY_TRUE | MAY_FALSE else None

    def _of_range(self, range_: Range, codes: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        """uint8: the outcomes that one range allows, one entry per row of the range."""
        if codes is None or self._compared is None:
            # Without an order or bounds the counts still say whether there are values and NULLs.
            return range_.may_value * self._of_any_value | range_.may_null * self._of_null
        mask = range_.outcomes(self._compared, codes)
        if self.on_null is not None:
            mask = mask & (MAY_TRUE | MAY_FALSE) | (mask & MAY_NULL) // MAY_NULL * self._of_null
        if not self.proves:
            mask = mask | (mask & MAY_TRUE) * MAY_FALSE
        return mask

    def _of_buckets(self, field: PartitionField, least: pa.Array, greatest: pa.Array) -> np.ndarray:
        """uint8[n]: an equality cannot be TRUE in a file whose buckets contain none of the literals' buckets."""
        buckets = self._buckets_of(field)
        if buckets is None:
            return np.full(len(least), MAY_ANY, np.uint8)
        matching = MatchingCodes("int64", tuple(distinct(buckets)), odd_only=True)
        ones = np.ones(len(least), np.uint8)
        of_files = Range(least, greatest, ones, ones, ones)
        codes = of_files.codes(matching)
        if codes is None:
            return np.full(len(least), MAY_ANY, np.uint8)
        return of_files.outcomes(matching, codes) | MAY_FALSE | MAY_NULL

    def _within_buckets(
        self, field: PartitionField, bucket: pa.Array, range_: Range, codes: tuple[np.ndarray, np.ndarray] | None
    ) -> np.ndarray | None:
        """uint8[n]: the leaf can be TRUE only if one literal is in the file's bucket and within its bounds.

        One literal may be in the bucket, and another one within the bounds, so that both tests alone would pass. None:
        nothing is known.
        """
        buckets = self._buckets_of(field)
        if buckets is None or len(buckets) < 2 or codes is None or range_.lower.null_count == len(range_.lower):
            return None
        out = np.empty(len(bucket), np.uint8)
        of_files = to_numpy(pc.fill_null(pc.cast(bucket, pa.int64()), _UNKNOWN_BUCKET))
        lower, upper = range_.expand(codes[0]), range_.expand(codes[1])
        kernels.bucket_hits(lower, upper, of_files, buckets, field.transform.width, out)
        return out * MAY_TRUE | MAY_FALSE | MAY_NULL

    def _buckets_of(self, field: PartitionField) -> np.ndarray | None:
        """int32[k]: the bucket of each literal of ``matching``. None: unknown."""
        if field not in self._buckets:
            self._buckets[field] = self._hashed(field)
        return self._buckets[field]

    def _hashed(self, field: PartitionField) -> np.ndarray | None:
        kind = self.column.type
        try:
            found = [field.transform.bucket(v, kind) for v in self.values]
        except (ValueError, ArithmeticError):
            return None
        if self.matching is None:  # of a type without an order, whose buckets nobody defines
            return None
        domain = self.matching.domain
        by_literal = {to_domain(v, kind, domain): b for v, b in zip(self.values, found, strict=True)}
        return np.array([by_literal[literal] for literal in self.matching.literals], np.int32)


def compile_leaf(node: Any) -> tuple[Leaf | ColumnPair, str | None]:
    """A leaf over columns, compiled.

    Returns
    -------
    leaf : Leaf or ColumnPair
        Of ``!=`` with a literal the leaf of ``=``.
    note : str or None
        What pruning cannot use of the node, in words.
    """
    column = node.column
    assert isinstance(column, BoundColumn), "predicates are bound before they are compiled"
    if isinstance(node, ex.IsNull):
        return Leaf(column, on_null=True, is_null_test=True), None
    if isinstance(node, ex.IsNaN):
        return Leaf(column, codes_matching_nan(), on_null=False), None
    matching: MatchingCodes | None = None
    values: tuple[Any, ...] = ()
    note = None
    if isinstance(node, ex.Comparison):
        if isinstance(node.right, BoundColumn):
            pair = ColumnPair(node.op, column, node.right)
            return pair, None if pair.has_order else f"{node} prunes by NULL counts only: {_WHY_NO_ORDER}"
        op = "=" if node.op in ("=", "!=", "<=>") else node.op
        assert isinstance(node.right, ex.Literal)
        matching = codes_matching_comparison(op, node.right, column.type)
        values = (node.right.value,) if op == "=" else ()
    elif isinstance(node, ex.In):
        matching, values = codes_matching_in(node.literals, column.type), tuple(v.value for v in node.literals)
    elif isinstance(node, ex.StartsWith):
        matching = codes_matching_prefix(node.prefix)
    elif isinstance(node, ex.Like):
        prefix = "".join(c for c, _ in takewhile(lambda part: not part[1], ex.like_parts(node.pattern)))
        note = f"{node} prunes by its prefix {prefix!r} only" if prefix else f"{node} cannot prune"
        matching = codes_matching_prefix(prefix)
    if matching is None:
        note = f"{node} prunes by NULL counts only: values of type {column.type} have no bounds"
    on_null = False if isinstance(node, ex.Comparison) and node.op == "<=>" else None
    return Leaf(column, matching, values, on_null, proves=not isinstance(node, ex.Like)), note


# ---- leaves of one column -------------------------------------------------------------------------------------------

Member = tuple[Leaf, bool]
"""A leaf, and whether it stands below a NOT."""


def combine_leaves(members: Sequence[Member], of_all: bool) -> tuple[list[list[int]], list[Leaf]]:
    """The leaves that AND (``of_all``) or OR makes of ``members``, which have one column.

    Returns
    -------
    groups : list of list of int
        Which members each leaf replaces, two at least. Members in no group stay as they are.
    leaves : list of Leaf
        One per group.
    """
    domain = domain_of(members[0][0].column.type)
    fit = [i for i, (leaf, _) in enumerate(members) if domain and leaf.proves]
    ranges = [i for i in fit if not members[i][0].values]
    equalities = [i for i in fit if members[i][0].values and not members[i][1]]
    if domain == "float64" or (of_all and equalities):
        groups = [fit]
    else:
        # Equalities prune by buckets. They would not any more as parts of a leaf that ranges match, too.
        groups = [ranges] if of_all else [ranges, equalities]
    groups = [group for group in groups if len(group) > 1]
    return groups, [_combined([members[i] for i in group], of_all, domain or "") for group in groups]


def _combined(members: Sequence[Member], of_all: bool, domain: str) -> Leaf:
    column = members[0][0].column
    nothing = MatchingCodes(domain, ())
    matching = combined_codes([(leaf.matching or nothing, negated) for leaf, negated in members], of_all)
    on_nulls = [None if leaf.on_null is None else leaf.on_null != negated for leaf, negated in members]
    absorbing = not of_all
    on_null = absorbing if absorbing in on_nulls else None if None in on_nulls else not absorbing
    known = {to_domain(value, column.type, domain): value for leaf, _ in members for value in leaf.values}
    values = tuple(known.get(literal) for literal in matching.literals) if matching.odd_only else ()
    return Leaf(column, matching, () if None in values else values, on_null)
