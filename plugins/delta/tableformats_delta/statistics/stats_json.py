"""The JSON of ``add.stats`` -> raw columns: record counts, and minimum, maximum and null count of wanted columns.

Only wanted members are converted, but every text is read to its end: a malformed text, or one that names a wanted
member twice, has no statistics at all. Decimals never pass through a double, and integers are exact. Source: Delta
PROTOCOL.md, "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from tableformats.plugin import FALSE, DecimalType, Field, PrimitiveType, Schema, StructType, Type, dataclass, to_arrow
from tableformats.plugin import compute as pc

from ..json.columns import JsonTable, Path
from ..json.values import INT_RANGES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["PIECE_ROWS", "Leaf", "RawStatistics", "leaf_of", "scan"]

PIECE_ROWS = 4096
"""Texts that are read at once: few enough to stay in the processor's cache."""

_NO_BOUNDS = ("boolean", "binary", "variant", "unknown", "uuid", "time")
"""Types without bounds; those from the third on have no statistics at all."""
_RECORDS: Path = ("numRecords",)
_TIGHT: Path = ("tightBounds",)
_SIDES = ("minValues", "maxValues", "nullCount")


@dataclass(frozen=True)
class Leaf:
    """A column whose statistics are wanted.

    Attributes
    ----------
    id : int
        The field id.
    path : tuple of str
        Physical names from the top level down.
    from_float : bool
        Whether the column was widened from float to double: old bounds are floats, written with a float's digits.
    has_bounds : bool
        Whether minimum and maximum are wanted too, and not the null count alone.
    char_length : int or None
        See :class:`tableformats.plugin.Field`.
    """

    id: int
    path: tuple[str, ...]
    type: Type
    from_float: bool
    has_bounds: bool = True
    char_length: int | None = None

    @property
    def raw_type(self) -> pa.DataType | None:
        """The Arrow type of a bound as decoded from JSON; None where bounds are not decoded."""
        return _raw_type(self.type) if self.has_bounds else None

    @property
    def sides(self) -> tuple[str, ...]:
        """The wanted members of the statistics."""
        return _SIDES if self.has_bounds else _SIDES[2:]


@dataclass
class RawStatistics:
    """Decoded statistics of n files, before they are checked and widened.

    Attributes
    ----------
    has_text : bool[n]
        Which files have a text.
    record_counts : int64[n]
        ``numRecords``.
    tight : bool[n]
        ``tightBounds``.
    lower, upper : dict of int to pyarrow.Array
        By field id, each [n] in :attr:`Leaf.raw_type`.
    null_counts : dict of int to pyarrow.Int64Array
        By field id, each [n].
    """

    has_text: pa.BooleanArray
    record_counts: pa.Int64Array
    tight: pa.BooleanArray
    lower: dict[int, pa.Array] = field(default_factory=dict)
    upper: dict[int, pa.Array] = field(default_factory=dict)
    null_counts: dict[int, pa.Int64Array] = field(default_factory=dict)

    @classmethod
    def unknown(cls, n: int, leaves: Sequence[Leaf]) -> RawStatistics:
        """The statistics of ``n`` files that have none."""
        import pyarrow as pa

        raw = cls(pa.repeat(FALSE, n), pa.nulls(n, pa.int64()), pa.nulls(n, pa.bool_()))
        for leaf in leaves:
            raw.null_counts[leaf.id] = raw.record_counts
            raw.lower[leaf.id] = raw.upper[leaf.id] = pa.nulls(n)
        return raw


def leaf_of(schema: Schema, column: Field) -> Leaf | None:
    """The leaf of ``column``; None where its statistics cannot be used, as for nested or collated columns."""
    path = schema.path_of(column.id)
    if column.type.is_nested or not all(isinstance(f.type, StructType) for f in path[:-1]):
        return None
    if isinstance(column.type, PrimitiveType) and column.type.name in _NO_BOUNDS[2:]:
        return None
    if column.collation is not None:
        return None
    changes = column.metadata.get("delta.typeChanges") or ()
    from_float = any(change.get("fromType") == "float" for change in changes)
    names = tuple(f.stored_name for f in path)
    return Leaf(column.id, names, column.type, from_float, char_length=column.char_length)


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
    """Decode the texts of files for ``leaves``.

    Parameters
    ----------
    pieces : iterable of (pyarrow.StringArray, int64[m] or None)
        Texts (null = no statistics), and the ascending indices of those to decode (None: all). Best at most
        :data:`PIECE_ROWS` texts each.
    leaves : sequence of Leaf
        The wanted columns.
    n_files : int
        At least the number of decoded texts. Where there is no piece, the result is unknown for that many files.

    Notes
    -----
    Cost: O(bytes of the texts), GIL released. A piece is not used after the next one is requested.
    """
    import numpy as np
    import pyarrow as pa

    table = JsonTable(_wanted(leaves), n_files)
    has_text: list[pa.BooleanArray] = []
    for text, rows in pieces:
        table.read(text, rows)
        valid = pc.is_valid(text)
        has_text.append(valid if rows is None else pc.take(valid, to_arrow(np.asarray(rows, np.int64))))
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
