"""The JSON of ``add.stats`` -> raw columns: record counts, and minimum, maximum and null count of asked columns.

Only what is asked for is converted, but every text is read to its end: a malformed one is unknown in whole, and so is
one that names an asked member twice. Decimals never pass through a double, integers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tableformats.plugin import FALSE, DecimalType, Field, PrimitiveType, Schema, StructType, Type, to_arrow
from tableformats.plugin import compute as pc

from ..json.columns import JsonTable, Path
from ..json.values import INT_RANGES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["PIECE_ROWS", "Leaf", "RawStatistics", "leaf_of", "scan"]

PIECE_ROWS = 4096
"""Small enough for the pages and the texts of a piece to stay in the processor's cache."""

_NO_BOUNDS = ("boolean", "binary", "variant", "unknown", "uuid", "time")
_RECORDS: Path = ("numRecords",)
_TIGHT: Path = ("tightBounds",)
_SIDES = ("minValues", "maxValues", "nullCount")


@dataclass(frozen=True)
class Leaf:
    """A column whose statistics are asked for: ``path`` are the physical names from the top level down. ``has_bounds``:
    minimum and maximum too, not the null count alone."""

    id: int
    path: tuple[str, ...]
    type: Type
    from_float: bool
    """The column was widened from float to double: old bounds are floats, written with a float's digits."""
    has_bounds: bool = True

    @property
    def raw_type(self) -> pa.DataType | None:
        """The Arrow type in which a bound leaves the JSON; None where none does."""
        return _raw_type(self.type) if self.has_bounds else None

    @property
    def sides(self) -> tuple[str, ...]:
        """The members of statistics that are asked for."""
        return _SIDES if self.has_bounds else _SIDES[2:]


@dataclass
class RawStatistics:
    """Columns of n rows; ``lower`` and ``upper`` have :attr:`Leaf.raw_type`. ``has_text`` says
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
            raw.lower[leaf.id] = raw.upper[leaf.id] = pa.nulls(n, leaf.raw_type or pa.null())
        return raw


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


def _raw_type(kind: Type) -> pa.DataType | None:
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(38, kind.scale)
    assert isinstance(kind, PrimitiveType)
    if kind.name in _NO_BOUNDS:
        return None
    if kind.name in INT_RANGES:
        return pa.int64()
    return pa.float64() if kind.name in ("float", "double") else pa.string()


def scan(
    pieces: Iterable[tuple[pa.StringArray, np.ndarray | None]], leaves: Sequence[Leaf], n_files: int
) -> RawStatistics:
    """Decode texts (null = no statistics) for ``leaves``.

    Parameters
    ----------
    pieces : texts, best no more of them than fit a processor's cache, and which of them are decoded (int64 indices,
        ascending; None: all)
    n_files : at least as many as are decoded in all; if none are, all of that many are unknown

    Notes
    -----
    Cost: O(bytes of the texts), GIL released. Nothing of a piece is looked at once the next one is asked for.
    """
    import numpy as np
    import pyarrow as pa

    table = JsonTable(_wanted(leaves), n_files)
    has_text: list[pa.BooleanArray] = []
    for text, rows in pieces:
        table.read(text, rows)
        is_there = pc.is_valid(text)
        has_text.append(is_there if rows is None else pc.take(is_there, to_arrow(np.asarray(rows, np.int64))))
    if not has_text:
        return RawStatistics.unknown(n_files, leaves)
    found = table.columns()
    raw = RawStatistics(pa.concat_arrays(has_text), found[_RECORDS], found[_TIGHT])
    for leaf in leaves:
        for name, into in zip(_SIDES, (raw.lower, raw.upper, raw.null_counts), strict=True):
            side = found.get((name, *leaf.path))
            into[leaf.id] = pa.nulls(len(raw.has_text)) if side is None else side
    return raw


def _wanted(leaves: Sequence[Leaf]) -> dict[Path, pa.DataType]:
    import pyarrow as pa

    wanted: dict[Path, pa.DataType] = {_RECORDS: pa.int64(), _TIGHT: pa.bool_()}
    for leaf in leaves:
        bound = leaf.raw_type
        for name, kind in zip(_SIDES, (bound, bound, pa.int64()), strict=True):
            if kind is not None:
                path = (name, *leaf.path)
                wanted[path] = kind
    return wanted
