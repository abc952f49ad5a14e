"""What is known of the values of columns in files, one row per file: ranges from partition values, bounds and counts.

A range is a superset of the values that occur. What is unknown does not bound anything, and what contradicts itself
proves nothing. Each class of :class:`RangeSource` here is one source of ranges: partition values, from which bounds of
the source column follow; columns that a partition column was computed from; and the files' own bounds and counts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from .._core.masks import MAY_FALSE, MAY_NULL, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import FALSE, TRUE, scalar, to_arrow, to_numpy
from ..columnar.packed import Column, pack, unpack
from ..dataclass import dataclass
from ..expressions import BoundColumn
from ..schema import Field, arrow_type
from .literal_codes import MatchingCodes, locate, validity_of
from .replaced_text import widened_extremes, widened_texts

if TYPE_CHECKING:
    from ..plugin.partitions import ImpliedBounds, PartitionField, PartitionSpec
    from ..plugin.statistics import Bounds

__all__ = [
    "NAN_COUNTED",
    "NAN_UNCOUNTED",
    "BoundsRangeSource",
    "ImpliedRangeSource",
    "PackedRange",
    "PartitionRangeSource",
    "Range",
    "RangeSource",
    "is_null",
    "partition_range_source",
    "ranges_of",
    "to_flags",
    "without_nan",
]

_FLOATS = ("float", "double")
NAN_COUNTED, NAN_UNCOUNTED = 1, 2
"""A NaN may occur: by what counts and values say; or because nothing says that it may not."""
_MIN_ROWS_TO_ENCODE = 1024
"""With fewer rows, finding the distinct values costs more than it saves."""


@dataclass(frozen=True)
class Range:
    """What one source knows of one column, one row per file.

    Attributes
    ----------
    lower, upper : pyarrow.Array
        [n] in the column's type, inclusive bounds of the values that are not NULL or NaN; null means unknown. Both are
        NaN where every value is NaN.
    may_value, may_null : numpy.ndarray
        uint8[n]: 0 where no row has a value (NaN is one), a NULL.
    may_nan : numpy.ndarray
        uint8[n]: 0 where no row has a NaN; NAN_COUNTED or NAN_UNCOUNTED where a row may have one beside the bounds.
    indices : numpy.ndarray, optional
        intp[n_files]. The range is dictionary-encoded: the other attributes have one row per distinct range, and file i
        has row ``indices[i]``. None: one row per file.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray
    may_nan: np.ndarray
    indices: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Range:
        """The ranges of some rows (int64 indices), which are files where there are no ``indices``."""
        at = to_arrow(rows)
        lower = pc.take(self.lower, at)
        upper = lower if self.upper is self.lower else pc.take(self.upper, at)
        return Range(lower, upper, self.may_value[rows], self.may_null[rows], self.may_nan[rows])

    def take_files(self, files: np.ndarray) -> Range:
        """The ranges of some files (int64 indices)."""
        return self.take(files) if self.indices is None else replace(self, indices=self.indices[files])

    def of_files(self) -> Range:
        """The same range with one row per file."""
        return self if self.indices is None else self.take(self.indices)

    @staticmethod
    def concat(parts: Sequence[Range]) -> Range:
        """The ranges of several lists of files, one after the other. Not for ranges with ``indices``."""
        lower, upper = (pa.concat_arrays([getattr(part, side) for part in parts]) for side in ("lower", "upper"))
        flags = [np.concatenate([getattr(part, may) for part in parts]) for may in ("may_value", "may_null", "may_nan")]
        return Range(lower, upper, flags[0], flags[1], flags[2])

    def pack(self) -> PackedRange:
        """The same range in fewer bytes. Not for ranges with ``indices``."""
        flags = (pack(to_arrow(may)) for may in (self.may_value, self.may_null, self.may_nan))
        return PackedRange((pack(self.lower), pack(self.upper), *flags))

    def codes(self, matching: MatchingCodes) -> tuple[np.ndarray, np.ndarray] | None:
        """int32[n], int32[n]: the codes of ``lower`` and ``upper``; where unknown the least and the greatest code.

        None: all bounds are unknown, which says nothing of the leaf.
        """
        is_unknown = self.lower.null_count == len(self.lower) and self.upper.null_count == len(self.upper)
        if is_unknown and matching.greatest_number == matching.top:
            return None
        lower = locate(self.lower, matching, 0)
        if self.upper is self.lower and not self.lower.null_count:
            return lower, lower
        return lower, locate(self.upper, matching, matching.greatest_number)

    def outcomes(self, matching: MatchingCodes, codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """uint8[n]: the possible outcomes of a leaf that is TRUE for the matching codes, as masks."""
        out = np.empty(len(self.may_value), np.uint8)
        if matching.accepted is not None:
            self._outcomes_of_any_codes(matching, codes, out)
        else:
            kernels.leaf_mask(
                *codes,
                matching.top,
                self.may_value,
                self.may_null,
                matching.first,
                matching.last,
                matching.odd_only,
                False,
                out,
            )
        if matching.domain == "float64" and self.may_nan.any():
            out |= (self.may_nan != 0) * np.uint8(MAY_TRUE if matching.matches(matching.nan) else MAY_FALSE)
        return out

    def _outcomes_of_any_codes(
        self, matching: MatchingCodes, codes: tuple[np.ndarray, np.ndarray], out: np.ndarray
    ) -> None:
        """As ``leaf_mask`` does it, for matching codes that are no interval."""
        low, high = codes
        contradicts = low > high
        if contradicts.any():
            low, high = np.where(contradicts, 0, low), np.where(contradicts, matching.top, high)
        below = matching.counts_below()
        found = below[high + 1] - below[low]
        np.copyto(out, (found > 0) * np.uint8(MAY_TRUE) | (found <= high - low) * np.uint8(MAY_FALSE))
        out *= self.may_value
        out |= self.may_null * np.uint8(MAY_NULL)

    def without_uncounted_nan(self) -> Range:
        """The same range, but NaN occurs only where counts or values say so."""
        return replace(self, may_nan=self.may_nan & NAN_COUNTED)

    def expand(self, values: np.ndarray) -> np.ndarray:
        """[n_files]: ``values``, which has one entry per row of the range, with one entry per file."""
        return values if self.indices is None else values[self.indices]


@dataclass(frozen=True)
class PackedRange:
    """A :class:`Range` in packed columns, for the cache."""

    columns: tuple[Column, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(int(column.nbytes) for column in self.columns)

    def unpack(self) -> Range:
        """The range."""
        lower, upper, *flags = map(unpack, self.columns)
        return Range(lower, upper, *map(to_numpy, flags))


class RangeSource:
    """A source of what is known of the values of columns in ``n`` files, or groups of files."""

    n: int

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """The ranges of ``column``: none, one, or several that hold independently of each other."""
        raise NotImplementedError

    def buckets(self, column: BoundColumn) -> Sequence[tuple[PartitionField, pa.Array, pa.Array]]:
        """The bucket fields of ``column``, each with the least and the greatest bucket of every file ([n])."""
        return ()

    def take(self, rows: np.ndarray) -> RangeSource:
        """What is known of some files (``rows``: int64 indices)."""
        raise NotImplementedError


class ImpliedRangeSource(RangeSource):
    """What partition values say of the columns that the writers computed the partition columns from."""

    def __init__(self, spec: PartitionSpec, partition: pa.StructArray) -> None:
        self.n = len(partition)
        self._spec = spec
        self._partition = partition
        self._cache: dict[int, list[Range]] = {}

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """See :meth:`RangeSource.ranges`."""
        if column.id not in self._cache:
            implied = [i for i in self._spec.implied if i.source_id == column.id and not column.type.is_nested]
            self._cache[column.id] = [self._range(i, column) for i in implied]
        return self._cache[column.id]

    def take(self, rows: np.ndarray) -> RangeSource:
        """See :meth:`RangeSource.take`."""
        return ImpliedRangeSource(self._spec, pc.take(self._partition, to_arrow(rows)))

    def _range(self, implied: ImpliedBounds, column: BoundColumn) -> Range:
        found = implied.of([self._partition.field(str(i)) for i in implied.field_ids], column.type)
        return Range(found.lower, found.upper, found.may_value, found.may_null, np.zeros(self.n, np.uint8))


class BoundsRangeSource(RangeSource):
    """The files' own bounds and counts, as ranges by field id."""

    def __init__(self, ranges: Mapping[int, Range], n: int) -> None:
        self.n = n
        self._ranges = ranges

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """See :meth:`RangeSource.ranges`."""
        found = self._ranges.get(column.id)
        return () if found is None or column.type.is_nested else (found,)

    def take(self, rows: np.ndarray) -> RangeSource:
        """See :meth:`RangeSource.take`."""
        return BoundsRangeSource({i: range_.take(rows) for i, range_ in self._ranges.items()}, len(rows))


class _RangeBuilder:
    """Makes ranges of the bounds and counts of ``n`` files."""

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
            lower, upper = without_nan(lower), without_nan(upper)
        elif pa.types.is_string(kind):
            lower, upper = widened_texts(lower, upper)
        contradictory = pc.greater(lower, upper) if _has_arrows_order(kind) else None
        if contradictory is not None and contradictory.true_count:
            wrong = pc.fill_null(contradictory, FALSE)
            lower, upper = (pc.if_else(wrong, scalar(None, kind), side) for side in (lower, upper))
        if is_float and may_nan.any():
            lower, upper, may_nan = self._beside_nan(field.id, lower, upper, may_nan)
        return Range(lower, upper, may_value, may_null, may_nan)

    def _beside_nan(
        self, field_id: int, lower: pa.Array, upper: pa.Array, may_nan: np.ndarray
    ) -> tuple[pa.Array, pa.Array, np.ndarray]:
        """The bounds, which are NaN where the counts say that all values are, and why a NaN may occur."""
        nans = self._bounds.nan_count.get(field_id)
        if nans is None:
            return lower, upper, may_nan * np.uint8(NAN_UNCOUNTED)
        may_nan = np.where(is_null(nans), may_nan * np.uint8(NAN_UNCOUNTED), may_nan)
        nulls, values = (side.get(field_id) for side in (self._bounds.null_count, self._bounds.value_count))
        values = self._records if values is None else pc.coalesce(values, self._records)
        if nulls is None:
            return lower, upper, may_nan
        # Bounds beside such counts contradict them, and rows that were not counted may hold anything.
        has_no_bounds = to_arrow(is_null(lower) & is_null(upper))
        are_counted = pc.fill_null(pc.greater_equal(values, self._records), TRUE)
        only_nan = pc.equal(pc.add(pc.cast(nulls, pa.int64()), pc.cast(nans, pa.int64())), values)
        only_nan = pc.and_(pc.and_(only_nan, has_no_bounds), pc.and_(are_counted, pc.greater(nans, 0)))
        only_nan = pc.fill_null(only_nan, FALSE)
        if only_nan.true_count:
            lower, upper = (pc.if_else(only_nan, scalar(np.nan, side.type), side) for side in (lower, upper))
        return lower, upper, may_nan

    def _flags(self, field_id: int, has_nan: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """uint8[n] three times: 1 where a row may hold a value, a NULL, a NaN."""
        bounds = self._bounds
        columns = [side.get(field_id) for side in (bounds.null_count, bounds.value_count, bounds.nan_count)]
        columns.append(self._records)
        # A column of nulls may have no values in memory.
        counts = [c if c is not None and c.null_count < len(c) else None for c in columns]
        validities = [(None, 0) if c is None else validity_of(c) for c in counts]
        flags = [np.empty(self.n, np.uint8) for _ in range(3)]
        kernels.count_flags(
            [None if c is None else to_numpy(c) for c in counts],
            [bitmap for bitmap, _ in validities],
            [first for _, first in validities],
            has_nan,
            *flags,
        )
        return flags[0], flags[1], flags[2]


def ranges_of(bounds: Bounds, record_count: pa.Array, columns: Sequence[Field]) -> dict[int, Range]:
    """What bounds and counts say of leaf columns.

    Parameters
    ----------
    record_count : pyarrow.Array
        int64[n], the files' physical rows; null means unknown.

    Returns
    -------
    dict of field id to Range
        Cost: O(n) per column, with the GIL released.
    """
    builder = _RangeBuilder(bounds, record_count)
    return {f.id: builder.range(f) for f in columns if not f.type.is_nested}


class PartitionRangeSource(RangeSource):
    """Partition values of files (lower = upper), or ranges of partition values of groups of files."""

    def __init__(self, spec: PartitionSpec, n: int, columns: Mapping[int, Range]) -> None:
        self.n = n
        self._spec = spec
        self._fields = [f for f in spec.fields if f.id in columns and f.transform.name not in ("void", "unknown")]
        self._columns = columns
        self._cache: dict[int, list[Range]] = {}

    def _fields_of(self, column: BoundColumn) -> list[PartitionField]:
        return [f for f in self._fields if f.source_id == column.id and not column.type.is_nested]

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """See :meth:`RangeSource.ranges`."""
        if column.id not in self._cache:
            self._cache[column.id] = [self._preimage(field, column) for field in self._fields_of(column)]
        return self._cache[column.id]

    def _preimage(self, field: PartitionField, column: BoundColumn) -> Range:
        """The range of the source column. Files share few partition values, so only distinct ones are turned back."""
        stored = self._columns[field.id]
        if field.transform.name == "identity":
            return stored
        indices = None
        is_constant = stored.lower is stored.upper
        if field.transform.is_order_preserving and is_constant and len(stored.lower) > _MIN_ROWS_TO_ENCODE:
            encoded = pc.dictionary_encode(stored.lower, "encode")
            indices = to_numpy(encoded.indices).astype(np.int64)
            stored = _constant_range(encoded.dictionary)
        lower, upper = field.transform.preimage(stored.lower, column.type)
        if not is_constant:
            upper = field.transform.preimage(stored.upper, column.type)[1]
        if pa.types.is_string(stored.lower.type):
            if is_constant:
                lower, upper = widened_texts(lower, upper, (stored.lower, stored.upper))
            else:
                lower, upper = widened_extremes(lower, upper)
        overflowed = field.transform.may_have_overflowed(stored.upper)
        if overflowed is not None:
            lower = pc.if_else(overflowed, scalar(None, lower.type), lower)
        return Range(lower, upper, stored.may_value, stored.may_null, stored.may_nan, indices)

    def buckets(self, column: BoundColumn) -> Sequence[tuple[PartitionField, pa.Array, pa.Array]]:
        """See :meth:`RangeSource.buckets`."""
        return [
            (f, self._columns[f.id].lower, self._columns[f.id].upper)
            for f in self._fields_of(column)
            if f.transform.name == "bucket"
        ]

    def take(self, rows: np.ndarray) -> RangeSource:
        """See :meth:`RangeSource.take`."""
        taken = PartitionRangeSource(self._spec, len(rows), {i: r.take(rows) for i, r in self._columns.items()})
        taken._cache = {i: [range_.take_files(rows) for range_ in ranges] for i, ranges in self._cache.items()}
        return taken


def partition_range_source(
    spec: PartitionSpec, partition: pa.StructArray, sources: Container[int] | None = None
) -> PartitionRangeSource:
    """The source of the files' own partition values.

    Parameters
    ----------
    partition : pyarrow.StructArray
        [n], with members named by partition field id.
    sources : container of int, optional
        Only partition fields whose source column is in it. None: all.
    """
    columns = {}
    for f in spec.fields:
        index = partition.type.get_field_index(str(f.id))
        if index >= 0 and (sources is None or f.source_id in sources):
            columns[f.id] = _constant_range(partition.field(index))
    return PartitionRangeSource(spec, len(partition), columns)


def _constant_range(values: pa.Array) -> Range:
    """The range of files that have one value, or NULL, in all rows."""
    null = is_null(values).view(np.uint8)
    may_nan = np.zeros(len(values), np.uint8)
    if pa.types.is_floating(values.type):
        may_nan = to_flags(pc.fill_null(pc.is_nan(values), FALSE))
    return Range(values, values, 1 - null, null, may_nan)


def is_null(values: pa.Array) -> np.ndarray:
    """bool[n]: where ``values`` is null."""
    if not values.null_count:
        return np.zeros(len(values), bool)
    return to_numpy(pc.is_null(values))


def to_flags(values: pa.Array) -> np.ndarray:
    """A bool array without nulls as uint8[n]."""
    return to_numpy(values).view(np.uint8)


def without_nan(values: pa.Array) -> pa.Array:
    """``values`` with null (unknown) in place of NaN."""
    return pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), scalar(None, values.type), values)


def _has_arrows_order(kind: pa.DataType) -> bool:
    """Whether Arrow compares values of the type, in the order used here."""
    return not (pa.types.is_null(kind) or pa.types.is_nested(kind))
