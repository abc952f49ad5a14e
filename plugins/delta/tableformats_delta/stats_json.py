"""The JSON of ``add.stats`` -> raw columns: record counts, and minimum, maximum and null count of asked columns.

Only what is asked for is converted, but every text is read to its end: a malformed one is unknown in whole, and so is
one that names an asked member twice. Decimals never pass through a double, integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tableformats.arrays import FALSE, to_arrow
from tableformats.schema import DecimalType, Field, PrimitiveType, Schema, StructType, Type

from .json_columns import JsonColumns, Path
from .values import INT_RANGES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Leaf", "RawStatistics", "leaf_of", "raw_type", "scan"]

_CHUNK_ROWS = 4096
_NO_BOUNDS = ("boolean", "binary", "variant", "unknown", "uuid", "time")
_RECORDS: Path = ("numRecords",)
_TIGHT: Path = ("tightBounds",)


@dataclass(frozen=True)
class Leaf:
    """A column whose statistics are asked for: ``path`` are the physical names from the top level down."""

    id: int
    path: tuple[str, ...]
    type: Type
    from_float: bool
    """The column was widened from float to double: old bounds are floats, written with a float's digits."""


@dataclass
class RawStatistics:
    """Columns of n rows; ``lower`` and ``upper`` have the raw type of the leaf (:func:`raw_type`). ``has_text`` says
    which files have a text at all."""

    has_text: pa.BooleanArray
    record_counts: pa.Int64Array
    tight: pa.BooleanArray
    lower: dict[int, pa.Array] = field(default_factory=dict)
    upper: dict[int, pa.Array] = field(default_factory=dict)
    null_counts: dict[int, pa.Int64Array] = field(default_factory=dict)

    @classmethod
    def unknown(cls, n: int, leaves: Sequence[Leaf]) -> RawStatistics:
        """Those of ``n`` files without any."""
        import pyarrow as pa

        raw = cls(pa.repeat(FALSE, n), pa.nulls(n, pa.int64()), pa.nulls(n, pa.bool_()))
        for leaf in leaves:
            raw.null_counts[leaf.id] = raw.record_counts
            raw.lower[leaf.id] = raw.upper[leaf.id] = pa.nulls(n, raw_type(leaf.type) or pa.null())
        return raw

    @classmethod
    def concat(cls, parts: Sequence[RawStatistics]) -> RawStatistics:
        """One behind the other; of one part at least, and of the same leaves."""
        import pyarrow as pa

        if len(parts) == 1:
            return parts[0]
        sides = (
            {i: pa.concat_arrays([getattr(part, side)[i] for part in parts]) for i in getattr(parts[0], side)}
            for side in ("lower", "upper", "null_counts")
        )
        return cls(*(pa.concat_arrays([getattr(part, name) for part in parts])
                     for name in ("has_text", "record_counts", "tight")), *sides)  # fmt: skip


def leaf_of(schema: Schema, column: Field) -> Leaf | None:
    """The leaf of ``column``; None where a column of its kind has no statistics that could be used."""
    path = schema.path_of(column.id)
    if column.type.is_nested or not all(isinstance(f.type, StructType) for f in path[:-1]):
        return None
    if isinstance(column.type, PrimitiveType) and column.type.name in _NO_BOUNDS[2:]:
        return None
    if column.collation is not None:
        return None
    changes = column.metadata.get("delta.typeChanges") or ()
    from_float = any(change.get("fromType") == "float" for change in changes)
    return Leaf(column.id, tuple(f.stored_name for f in path), column.type, from_float)


def raw_type(kind: Type) -> pa.DataType | None:
    """The Arrow type in which a bound leaves the JSON; None for columns without bounds."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(38, kind.scale)
    assert isinstance(kind, PrimitiveType)
    if kind.name in _NO_BOUNDS:
        return None
    if kind.name in INT_RANGES:
        return pa.int64()
    return pa.float64() if kind.name in ("float", "double") else pa.string()


def scan(text: pa.StringArray, leaves: Sequence[Leaf], rows: np.ndarray | None = None) -> RawStatistics:
    """Decode ``text`` (string[n_files]; null = no statistics) for ``leaves``; of ``rows`` alone (int64 indices,
    ascending; None: all).

    Notes
    -----
    Cost: O(bytes of the texts), GIL released; memory beyond the answer is bounded by chunks of 4096 texts.
    """
    import numpy as np

    paths = _paths(leaves)
    count = len(text) if rows is None else len(rows)
    parts = []
    for start in range(0, max(count, 1), _CHUNK_ROWS):
        stop = start + _CHUNK_ROWS
        if rows is None:
            some = text.slice(start, _CHUNK_ROWS)
            columns, has_text = JsonColumns(some, paths), some.is_valid()
        else:
            chosen = np.ascontiguousarray(rows[start:stop], np.int64)
            columns, has_text = JsonColumns(text, paths, chosen), text.is_valid().take(to_arrow(chosen))
        parts.append(_raw(columns, has_text, leaves))
    return RawStatistics.concat(parts)


def _paths(leaves: Sequence[Leaf]) -> list[Path]:
    paths = [_RECORDS, _TIGHT]
    for leaf in leaves:
        paths.append(("nullCount", *leaf.path))
        if raw_type(leaf.type) is not None:
            paths += [("minValues", *leaf.path), ("maxValues", *leaf.path)]
    return list(dict.fromkeys(paths))


def _raw(columns: JsonColumns, has_text: pa.BooleanArray, leaves: Sequence[Leaf]) -> RawStatistics:
    import pyarrow as pa

    raw = RawStatistics(has_text, columns.integers(_RECORDS), columns.booleans(_TIGHT))
    for leaf in leaves:
        kind = raw_type(leaf.type)
        raw.null_counts[leaf.id] = columns.integers(("nullCount", *leaf.path))
        for name, into in (("minValues", raw.lower), ("maxValues", raw.upper)):
            path = (name, *leaf.path)
            into[leaf.id] = pa.nulls(len(columns.sound)) if kind is None else _bounds(columns, path, kind)
    return raw


def _bounds(columns: JsonColumns, path: Path, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return columns.decimals(path, kind.scale)
    if pa.types.is_floating(kind):
        return columns.doubles(path)
    return columns.integers(path) if pa.types.is_integer(kind) else columns.texts(path)
