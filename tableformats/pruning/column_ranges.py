"""What is known of the values in files, a row a file: partition values, bounds and counts, as ranges of columns.

A range is a superset of what occurs: what is not known bounds nothing, and what contradicts itself proves nothing. Each
source of ranges (partition values, turned back into bounds of the column that they come from; bounds and counts of the
file itself) is one class here; what they say of a predicate is decided in ``pruning.py``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from ..columnar import compute as pc
from ..columnar.arrays import FALSE, scalar, to_arrow, to_numpy
from ..columnar.packed import Column, pack, unpack
from ..expressions import BoundColumn
from ..schema import Field, arrow_type
from .literal_codes import Accepted, locate, validity_of

if TYPE_CHECKING:
    from ..plugin.partitions import ImpliedBounds, PartitionField, PartitionSpec
    from ..plugin.statistics import Bounds

__all__ = [
    "BoundsRangeSource",
    "RangeSource",
    "ImpliedRangeSource",
    "PackedRange",
    "PartitionRangeSource",
    "Range",
    "flag",
    "is_null",
    "partition_range_source",
    "ranges_of",
    "without_nan",
]

_FLOATS = ("float", "double")
_FEW = 1024


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
        lower = pc.take(self.lower, at)
        upper = lower if self.upper is self.lower else pc.take(self.upper, at)
        return Range(lower, upper, self.may_value[rows], self.may_null[rows], self.may_nan[rows])

    @staticmethod
    def concat(parts: Sequence[Range]) -> Range:
        """The ranges of files, one after the other; each part without ``places``."""
        lower, upper = (pa.concat_arrays([getattr(part, side) for part in parts]) for side in ("lower", "upper"))
        flags = [np.concatenate([getattr(part, may) for part in parts]) for may in ("may_value", "may_null", "may_nan")]
        return Range(lower, upper, flags[0], flags[1], flags[2])

    def pack(self) -> PackedRange:
        """The same, without ``places``, in fewer bytes."""
        flags = (pack(to_arrow(may)) for may in (self.may_value, self.may_null, self.may_nan))
        return PackedRange((pack(self.lower), pack(self.upper), *flags))

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
            *codes,
            accepted.top,
            self.may_value,
            self.may_null,
            accepted.first,
            accepted.last,
            accepted.odd_only,
            False,
            out,
        )
        return out

    def expand(self, values: np.ndarray) -> np.ndarray:
        """[n]: what each file's entry has."""
        return values if self.places is None else values[self.places]


@dataclass(frozen=True)
class PackedRange:
    """A :class:`Range` that is kept: its five columns."""

    columns: tuple[Column, ...]

    @property
    def nbytes(self) -> int:
        """Memory that the range holds."""
        return sum(int(column.nbytes) for column in self.columns)

    def unpack(self) -> Range:
        lower, upper, *flags = map(unpack, self.columns)
        return Range(lower, upper, *map(to_numpy, flags))


class RangeSource:
    """A source of masks for leaves, over ``n`` files."""

    n: int

    def ranges(self, column: BoundColumn) -> Sequence[Range]:
        """What is known of ``column``: none, one, or several independent ranges."""
        raise NotImplementedError

    def buckets(self, column: BoundColumn) -> Sequence[tuple[PartitionField, pa.Array, pa.Array]]:
        """Bucket fields of ``column`` with the least and greatest bucket of each file."""
        return ()


class ImpliedRangeSource(RangeSource):
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


class BoundsRangeSource(RangeSource):
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
            lower, upper = without_nan(lower), without_nan(upper)
        contradictory = pc.greater(lower, upper) if _ordered(kind) else None
        if contradictory is not None and contradictory.true_count:
            wrong = pc.fill_null(contradictory, FALSE)
            lower, upper = (pc.if_else(wrong, scalar(None, kind), side) for side in (lower, upper))
        if is_float and may_nan.any():
            upper = pc.if_else(to_arrow(may_nan.view(bool)), scalar(np.nan, kind), upper)
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


class PartitionRangeSource(RangeSource):
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
            encoded = pc.dictionary_encode(known.lower, "encode")
            places = to_numpy(pc.cast(encoded.indices, pa.int64()))
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


def partition_range_source(
    spec: PartitionSpec, partition: pa.StructArray, sources: Container[int] | None = None
) -> PartitionRangeSource:
    """RangeSource of files' own partition values, of those that come from the columns ``sources`` (None: any)."""
    columns = {}
    for f in spec.fields:
        index = partition.type.get_field_index(str(f.id))
        if index >= 0 and (sources is None or f.source_id in sources):
            columns[f.id] = _of_values(partition.field(index))
    return PartitionRangeSource(spec, len(partition), columns)


def _of_values(values: pa.Array) -> Range:
    """Files that have one value in all rows."""
    null = is_null(values).view(np.uint8)
    may_nan = np.zeros(len(values), np.uint8)
    if pa.types.is_floating(values.type):
        may_nan = flag(pc.fill_null(pc.is_nan(values), FALSE))
    return Range(values, values, 1 - null, null, may_nan)


def is_null(values: pa.Array) -> np.ndarray:
    if not values.null_count:
        return np.zeros(len(values), bool)
    return to_numpy(pc.is_null(values))


def flag(values: pa.Array) -> np.ndarray:
    return to_numpy(values).view(np.uint8)


def without_nan(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), scalar(None, values.type), values)


def _ordered(kind: pa.DataType) -> bool:
    """Whether Arrow compares the type as we do."""
    return not (pa.types.is_null(kind) or pa.types.is_nested(kind))
