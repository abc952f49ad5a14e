"""File statistics: the log's JSON (or ``stats_parsed``) -> typed bounds of the columns that a predicate names.

Nothing is decoded that is not asked for, and what cannot be trusted is unknown: malformed text, a minimum above the
maximum, a cut string that may have lost half a character, counts of wide bounds. Bounds are widened where writers
are known to cut them. Source: Delta PROTOCOL.md, "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import Bounds, Statistics
from tableformats.schema import Field, Schema, arrow_type

from .stats_json import Leaf, RawStatistics, leaf_of, raw_type, scan
from .stats_values import bound_pair

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .checkpoints import ParsedStatistics

__all__ = ["LogStatistics"]


class LogStatistics(Statistics):
    """Statistics of one batch of file actions.

    Parameters
    ----------
    schema : the table's schema, whose physical names the statistics use
    text : string[n_files], ``add.stats``
    parsed : gives ``add.stats_parsed`` of the same rows; None where there is none
    has_vector : bool[n_files], files with a deletion vector
    without : ids of columns that stand in no statistics: the partition columns
    """

    def __init__(
        self,
        schema: Schema,
        text: pa.StringArray,
        parsed: ParsedStatistics | None,
        has_vector: pa.BooleanArray,
        without: Collection[int] = (),
    ) -> None:
        self._without = without
        self._schema = schema
        self._text = text
        self._parsed = parsed
        self._has_vector = has_vector

    def record_counts(self, rows: np.ndarray | None = None) -> pa.Int64Array:
        """int64: ``numRecords`` of ``rows`` (None: all), null = unknown. Cost: see :func:`scan`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        counts = self._parsed_member(self._read_parsed([("numRecords",)], rows), ("numRecords",), pa.int64())
        text = self._text if rows is None else self._text.take(pa.array(rows))
        if counts is None:
            counts = scan(text, ()).record_counts
        elif counts.null_count and text.null_count < len(text):
            missing = pc.if_else(pc.is_null(counts), text, None)
            counts = pc.coalesce(counts, scan(missing, ()).record_counts)
        return _not_negative(counts)

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        named = [f for f in columns if f.id not in self._without]
        leaves = [leaf for f in named if (leaf := leaf_of(self._schema, f)) is not None]
        if not leaves:
            return Bounds()
        text, has_vector = self._text, self._has_vector
        if rows is not None:
            text, has_vector = text.take(pa.array(rows)), has_vector.take(pa.array(rows))
        wanted: list[tuple[str, ...]] = [("numRecords",), ("tightBounds",)]
        for leaf in leaves:
            wanted += [(kind, *leaf.path) for kind in ("minValues", "maxValues", "nullCount")]
        parsed = self._read_parsed(wanted, rows)
        from_text = self._needs_text(parsed, leaves, text)
        asked = text if pc.all(from_text).as_py() else pc.if_else(from_text, text, None)
        found = scan(asked, leaves) if asked.null_count < len(asked) else RawStatistics.unknown(len(asked), leaves)

        def merged(ours: pa.Array, path: tuple[str, ...], kind: pa.DataType) -> pa.Array:
            other = self._parsed_member(parsed, path, kind)
            return ours if other is None else pc.if_else(from_text, ours, other)

        records = _not_negative(merged(found.record_counts, ("numRecords",), pa.int64()))
        tight = pc.fill_null(merged(found.tight, ("tightBounds",), pa.bool_()), True)
        known = pc.is_valid(records)
        wide = pc.or_(pc.invert(tight), has_vector)
        bounds = Bounds(record_count=records)
        for leaf in leaves:
            lower, upper = bound_pair(leaf, found.lower[leaf.id], found.upper[leaf.id])
            if parsed is not None:
                low = self._parsed_member(parsed, ("minValues", *leaf.path), None)
                high = self._parsed_member(parsed, ("maxValues", *leaf.path), None)
                if low is not None and high is not None:
                    other_lower, other_upper = bound_pair(leaf, low, high)
                    lower = pc.if_else(from_text, lower, other_lower)
                    upper = pc.if_else(from_text, upper, other_upper)
            nulls = merged(found.null_counts[leaf.id], ("nullCount", *leaf.path), pa.int64())
            bounds.lower[leaf.id] = pc.if_else(known, lower, pa.scalar(None, arrow_type(leaf.type)))
            bounds.upper[leaf.id] = pc.if_else(known, upper, pa.scalar(None, arrow_type(leaf.type)))
            bounds.null_count[leaf.id] = _null_counts(nulls, records, wide)
            bounds.value_count[leaf.id] = records
        return bounds

    def _needs_text(self, parsed: Any, leaves: Sequence[Leaf], text: pa.StringArray) -> pa.BooleanArray:
        """Which files ``stats_parsed`` does not describe; where it lacks a column, all that have text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        counts = self._parsed_member(parsed, ("numRecords",), pa.int64())
        if counts is None:
            return pa.repeat(pa.scalar(True), len(text))
        wanted = [("nullCount", *leaf.path) for leaf in leaves]
        for leaf in leaves:
            if raw_type(leaf.type) is not None:
                wanted += [("minValues", *leaf.path), ("maxValues", *leaf.path)]
        without = pc.is_null(counts)
        if all(self._parsed_member(parsed, path, None) is not None for path in wanted):
            return without
        return pc.or_(without, pc.is_valid(text))

    def _read_parsed(self, leaves: Sequence[tuple[str, ...]], rows: np.ndarray | None) -> pa.StructArray | None:
        import pyarrow as pa

        found = self._parsed(leaves) if self._parsed is not None else None
        return found if found is None or rows is None else found.take(pa.array(rows))

    def _parsed_member(self, parsed: Any, path: Sequence[str], kind: pa.DataType | None) -> pa.Array | None:
        """The leaf ``path`` below ``stats_parsed`` as ``kind``; None where it is absent or of another type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in path:
            if parsed is None or not pa.types.is_struct(parsed.type) or parsed.type.get_field_index(name) < 0:
                return None
            parsed = pc.struct_field(parsed, [parsed.type.get_field_index(name)])
        if parsed is None or kind is None:
            return parsed
        try:
            return parsed.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None


def _not_negative(counts: pa.Int64Array) -> pa.Int64Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.greater_equal(counts, 0), counts, pa.scalar(None, pa.int64()))


def _null_counts(nulls: pa.Int64Array, records: pa.Int64Array, wide: pa.BooleanArray) -> pa.Int64Array:
    """Counts that can be believed: 0 to numRecords; under wide bounds only 0 or numRecords."""
    import pyarrow as pa
    import pyarrow.compute as pc

    possible = pc.and_(pc.greater_equal(nulls, 0), pc.less_equal(nulls, records))
    exact = pc.or_(pc.equal(nulls, 0), pc.equal(nulls, records))
    return pc.if_else(pc.and_(possible, pc.or_(pc.invert(wide), exact)), nulls, pa.scalar(None, pa.int64()))
