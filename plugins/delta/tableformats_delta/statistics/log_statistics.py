"""Statistics of a batch of files, from JSON text, from ``stats_parsed``, or from both.

Only wanted columns are decoded. What cannot be trusted is unknown: malformed text, a minimum above the maximum, a
truncated string that may have lost half a character, null counts under wide bounds. Source: Delta PROTOCOL.md,
"Per-file Statistics".

No action counts NaN. But tight bounds are values that the file has. So there is no NaN where the bounds are numbers and
the column has one value, or two that differ; and where the one value's bounds are NaN, it is the NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tableformats.plugin import (
    TRUE,
    Bounds,
    Field,
    Schema,
    Statistics,
    arrow_type,
    dataclass,
    flat,
    scalar,
    to_arrow,
    to_numpy,
)

from ..json.columns import Path
from .bounds import bound_pair
from .stats_json import PIECE_ROWS, Leaf, RawStatistics, leaf_of, scan

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["LogStatistics", "StatisticsSource", "TextStatistics"]

_RECORDS: Path = ("numRecords",)
_TIGHT: Path = ("tightBounds",)


class StatisticsSource(Protocol):
    """Gives the stored statistics of a batch of files.

    ``rows`` are ascending int64 indices of files; None means all. Both methods raise CorruptMetadataError where the
    file that holds the statistics is damaged.
    """

    def scan(self, leaves: Sequence[Leaf], rows: np.ndarray | None) -> RawStatistics:
        """Decode the texts (``add.stats``) of ``rows`` for ``leaves``."""

    def parsed(self, leaves: Sequence[Sequence[str]], rows: np.ndarray | None) -> pa.StructArray | None:
        """``add.stats_parsed`` of ``rows`` with the leaves at these paths only; None where there is no such column."""


class TextStatistics:
    """Statistics that are in memory as text.

    Parameters
    ----------
    text : string[n_files]
        ``add.stats``. Chunks are joined piece by piece, so that a piece stays in the processor's cache.
    """

    def __init__(self, text: pa.StringArray | pa.ChunkedArray) -> None:
        self._text = text

    def scan(self, leaves: Sequence[Leaf], rows: np.ndarray | None) -> RawStatistics:
        """See :meth:`StatisticsSource.scan`."""
        return scan(self._pieces(rows), leaves, len(self._text) if rows is None else len(rows))

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[pa.StringArray, np.ndarray | None]]:
        import numpy as np

        for start in range(0, len(self._text), PIECE_ROWS):
            chosen = None
            if rows is not None:
                first, last = np.searchsorted(rows, (start, start + PIECE_ROWS))
                if first == last:
                    continue
                chosen = rows[first:last] - start
            yield flat(self._text.slice(start, PIECE_ROWS)), chosen

    def parsed(self, leaves: Sequence[Sequence[str]], rows: np.ndarray | None) -> None:
        """None: there is no ``stats_parsed``. See :meth:`StatisticsSource.parsed`."""


class LogStatistics(Statistics):
    """Statistics of one batch of file actions.

    Parameters
    ----------
    schema : Schema
        The table's schema; statistics use its physical names.
    source : StatisticsSource
        The stored statistics.
    has_vector : bool[n_files]
        The files with a deletion vector.
    without : collection of int
        Ids of columns that have no statistics: the partition columns.
    """

    def __init__(
        self, schema: Schema, source: StatisticsSource, has_vector: pa.BooleanArray, without: Collection[int] = ()
    ) -> None:
        self._without = without
        self._schema = schema
        self._source = source
        self._has_vector = has_vector

    def record_counts(self, rows: np.ndarray | None = None) -> pa.Int64Array:
        """``numRecords`` of ``rows`` (None: all), int64; null = unknown."""
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        counts = _member(self._source.parsed([_RECORDS], rows), _RECORDS, pa.int64())
        if counts is None:
            counts = self._source.scan((), rows).record_counts
        elif counts.null_count:
            counts = pc.coalesce(counts, self._source.scan((), rows).record_counts)
        return _not_negative(counts)

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        return self.bounds_or_counts(columns, rows, ())

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds_or_counts`."""
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        named = [f for f in columns if f.id not in self._without]
        leaves = [leaf for f in named if (leaf := leaf_of(self._schema, f)) is not None]
        leaves = [replace(leaf, has_bounds=leaf.id not in counted) for leaf in leaves]
        if not leaves:
            return Bounds()
        has_vector = self._has_vector if rows is None else pc.take(self._has_vector, to_arrow(rows))
        found = _StoredStatistics.of(self._source, leaves, rows)
        records = _not_negative(found.counts(lambda raw: raw.record_counts, _RECORDS))
        tight = found.either(lambda raw: raw.tight, _TIGHT, pa.bool_())
        wide = to_numpy(has_vector if tight is None else pc.or_(pc.invert(pc.fill_null(tight, TRUE)), has_vector))
        bounds = Bounds(record_count=records)
        for leaf in leaves:
            if leaf.has_bounds:
                lower, upper = found.bound_pair(leaf)
                if records.null_count:
                    known, unknown = pc.is_valid(records), scalar(None, arrow_type(leaf.type))
                    lower, upper = (pc.if_else(known, side, unknown) for side in (lower, upper))
                bounds.lower[leaf.id], bounds.upper[leaf.id] = lower, upper
            nulls = found.counts(lambda raw, i=leaf.id: raw.null_counts[i], ("nullCount", *leaf.path))  # type: ignore[misc]
            nulls = bounds.null_count[leaf.id] = _null_counts(nulls, records, wide)
            bounds.value_count[leaf.id] = records
            if leaf.has_bounds and pa.types.is_floating(lower.type):
                nans = _nan_counts(lower, upper, nulls, records, wide)
                if nans is not None:
                    bounds.nan_count[leaf.id] = nans
        return bounds


@dataclass
class _StoredStatistics:
    """The statistics of ``n`` files from text (``raw``) and from ``stats_parsed`` (``parsed``).

    ``from_text`` (bool[n]) says for which files the text counts. None means all files; without ``raw`` it means none.
    """

    n: int
    raw: RawStatistics | None
    parsed: pa.StructArray | None = None
    from_text: pa.BooleanArray | None = None

    @classmethod
    def of(cls, source: StatisticsSource, leaves: Sequence[Leaf], rows: np.ndarray | None) -> _StoredStatistics:
        """Read ``stats_parsed``, and the texts only where they are needed.

        The text counts for files without ``stats_parsed``. Where ``stats_parsed`` lacks a wanted column, it counts for
        all files that have a text.
        """
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        sides = [(side, *leaf.path) for leaf in leaves for side in leaf.sides]
        parsed = source.parsed([_RECORDS, _TIGHT, *sides], rows)
        counts = _member(parsed, _RECORDS, pa.int64())
        if counts is None:
            raw = source.scan(leaves, rows)
            return cls(len(raw.record_counts), raw)
        bounded = {leaf.path for leaf in leaves if leaf.raw_type is not None}
        needed = [path for path in sides if path[0] == "nullCount" or path[1:] in bounded]
        if all(_member(parsed, path, None) is not None for path in needed):
            if not counts.null_count:
                return cls(len(counts), None, parsed)
            return cls(len(counts), source.scan(leaves, rows), parsed, pc.is_null(counts))
        raw = source.scan(leaves, rows)
        return cls(len(counts), raw, parsed, pc.or_(pc.is_null(counts), raw.has_text))

    def either(self, from_raw: Callable[[RawStatistics], pa.Array], path: Path, kind: pa.DataType) -> pa.Array | None:
        """One column: ``from_raw`` of the text or the leaf ``path`` of ``stats_parsed``; None where neither exists."""
        from tableformats.plugin import compute as pc

        other = _member(self.parsed, path, kind)
        if self.raw is None or other is None:
            return other if self.raw is None else from_raw(self.raw)
        return pc.if_else(self.from_text, from_raw(self.raw), other)

    def counts(self, from_raw: Callable[[RawStatistics], pa.Array], path: Path) -> pa.Int64Array:
        """A column of counts; null = unknown."""
        import pyarrow as pa

        found = self.either(from_raw, path, pa.int64())
        return pa.nulls(self.n, pa.int64()) if found is None else found

    def bound_pair(self, leaf: Leaf) -> tuple[pa.Array, pa.Array]:
        """Lower and upper bounds of a leaf, in its type."""
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        low, high = (_member(self.parsed, (side, *leaf.path), None) for side in ("minValues", "maxValues"))
        if self.raw is None:
            unknown = pa.nulls(self.n)
            return bound_pair(leaf, unknown if low is None else low, unknown if high is None else high)
        lower, upper = bound_pair(leaf, self.raw.lower[leaf.id], self.raw.upper[leaf.id])
        if low is None or high is None:
            return lower, upper
        others = bound_pair(leaf, low, high)
        return pc.if_else(self.from_text, lower, others[0]), pc.if_else(self.from_text, upper, others[1])


def _member(parsed: pa.StructArray | None, path: Sequence[str], kind: pa.DataType | None) -> pa.Array | None:
    """The leaf at ``path`` of ``stats_parsed`` as ``kind``; None where it is absent or of another type."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    for name in path:
        if parsed is None or not pa.types.is_struct(parsed.type) or parsed.type.get_field_index(name) < 0:
            return None
        parsed = pc.struct_field(parsed, [parsed.type.get_field_index(name)])
    if parsed is None or kind is None or parsed.type == kind:
        return parsed
    try:
        return pc.cast(parsed, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _not_negative(counts: pa.Int64Array) -> pa.Int64Array:
    # An array that is all null may have no buffer of values.
    return counts if counts.null_count == len(counts) else _where(counts, to_numpy(counts) >= 0)


def _null_counts(nulls: pa.Int64Array, records: pa.Int64Array, wide: np.ndarray) -> pa.Int64Array:
    """The trustworthy null counts: those from 0 to numRecords; under wide bounds only 0 and numRecords."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    if nulls.null_count == len(nulls) or records.null_count == len(records):
        return pa.nulls(len(nulls), pa.int64())
    n, of = to_numpy(nulls), to_numpy(records)
    everything = n == of
    trusted = (n >= 0) & (n <= of) & (everything | (n == 0) | ~wide)
    if records.null_count:
        trusted &= to_numpy(pc.is_valid(records))
    return _where(nulls, trusted)


def _nan_counts(
    lower: pa.Array, upper: pa.Array, nulls: pa.Int64Array, records: pa.Int64Array, wide: np.ndarray
) -> pa.Int64Array | None:
    """How many NaN a column of floats has, where tight bounds are all of its values; else null. None: nowhere so."""
    import numpy as np

    from tableformats.plugin import compute as pc

    sides = (lower, upper, nulls, records)
    if any(side.null_count == len(side) for side in sides):
        return None
    values = to_numpy(records) - to_numpy(nulls)
    known = ((values == 1) | (values == 2)) & ~wide
    if not known.any():
        return None
    for side in sides:
        if side.null_count:
            known &= to_numpy(pc.is_valid(side))
    # Bounds of columns that were widened from FLOAT may differ by a rounding although they are one value.
    with np.errstate(over="ignore"):
        low, high = (to_numpy(side).astype(np.float32) for side in (lower, upper))
    is_nan = np.isnan(low) & np.isnan(high)
    known &= np.where(values == 1, is_nan | (low <= high), low < high)
    return to_arrow(is_nan.astype(np.int64), valid=known)


def _where(counts: pa.Int64Array, trusted: np.ndarray) -> pa.Int64Array:
    """``counts``, null where they are not ``trusted`` (bool[n]; its value is ignored where the count is null)."""
    from tableformats.plugin import compute as pc

    if trusted.all():
        return counts
    if counts.null_count:
        trusted &= to_numpy(pc.is_valid(counts))
    return to_arrow(to_numpy(counts), valid=trusted)
