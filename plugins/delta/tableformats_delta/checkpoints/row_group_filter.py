"""Skips row groups of a Parquet checkpoint by the statistics in the Parquet footer.

The footer has bounds of the columns ``stats_parsed`` and ``partitionValues_parsed`` over a row group. These bounds
ignore nulls, but a file without statistics must not be dropped. So a bound is used only where every add action of the
group has a value: where the column has no more nulls than ``add.path``. The group is then judged like one file.

* Floating-point columns are not used, as footers ignore NaN too. Partition values of type timestamp are not used, as
  they may have been written without their zone.
* The statistics of a single file that contradict each other are unknown where the file is read; a footer does not show
  such contradictions.

Source: Delta PROTOCOL.md, "Checkpoint Schema"; Parquet format, "Statistics".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    FALSE,
    ZERO,
    Bounds,
    DecimalType,
    Field,
    PartitionSpec,
    ReadRequest,
    Schema,
    Transform,
    array_of,
    arrow_type,
    dataclass,
    scalar,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..statistics.bounds import FIRST_SURE_INSTANT, bound_pair, ends_of_int64, in_either_calendar, pad_upper
from ..statistics.stats_json import Leaf, leaf_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["GroupFilter", "SkippedRowGroup", "nulls_of"]

_PARTITION, _STATS = "partitionValues_parsed", "stats_parsed"
_FLOATING = ("float", "double")
# Shorter than any string in which a writer may have lost half a surrogate pair; see ``bounds.py``.
_SURE_CHARACTERS = 15


@dataclass(frozen=True)
class SkippedRowGroup:
    """A row group that need not be read: its number, and how many add actions it has."""

    number: int
    adds: int


@dataclass(frozen=True)
class _Column:
    """Statistics of one leaf column, one row per row group; ``least`` and ``greatest`` are null where unknown."""

    least: pa.Array
    greatest: pa.Array
    nulls: np.ndarray


class GroupFilter:
    """Judges the row groups of checkpoint files by the predicate of one request.

    Parameters
    ----------
    schema : Schema
        The table's schema.
    spec : PartitionSpec
        The table's partition spec.
    request : ReadRequest
        Has the predicate and the columns that it names.
    """

    def __init__(self, schema: Schema, spec: PartitionSpec, request: ReadRequest) -> None:
        parts = {part.source_id: part.id for part in spec.fields}
        self._filter = request.manifest_filter
        self._spec = spec
        self._partition: list[tuple[int, Field]] = []
        self._leaves: list[Leaf] = []
        for f in request.columns:
            kind = str(f.type)
            if f.id in parts:
                if kind not in (*_FLOATING, "timestamp"):
                    self._partition.append((parts[f.id], f))
            elif kind not in _FLOATING and (leaf := leaf_of(schema, f)) is not None:
                self._leaves.append(leaf)

    @property
    def can_skip(self) -> bool:
        """Whether the predicate names a column that footers may have bounds of."""
        return self._filter is not None and bool(self._partition or self._leaves)

    def has_bounds_in(self, add: pa.DataType) -> bool:
        """Whether ``add``, the type of that column, has members with bounds of such columns."""
        import pyarrow as pa

        names = [name for name, asked in ((_PARTITION, self._partition), (_STATS, self._leaves)) if asked]
        return pa.types.is_struct(add) and any(member.name in names for member in add)

    def skipped(self, metadata: pq.FileMetaData, add: pa.DataType) -> list[SkippedRowGroup]:
        """The row groups without a file that the predicate needs; ``add`` is the Arrow type of that column."""
        import numpy as np

        if not metadata.num_row_groups:
            return []
        footer = _Footer(metadata, add)
        paths = footer.column(("path",))
        if paths is None:
            return []
        adds = footer.rows - paths.nulls
        judged = self._judge(footer, paths.nulls)
        if judged is None:
            return []
        return [SkippedRowGroup(i, int(adds[i])) for i in np.flatnonzero(~judged & (adds > 0)).tolist()]

    def _judge(self, footer: _Footer, others: np.ndarray) -> np.ndarray | None:
        """Which groups are needed, bool[groups]; None where nothing is known. ``others`` counts rows without an add."""
        import numpy as np
        import pyarrow as pa

        lower: dict[int, pa.Array] = {}
        upper: dict[int, pa.Array] = {}
        has_null: dict[int, pa.Array] = {}
        known = np.ones(len(others), bool)
        for partition_id, field in self._partition:
            column = footer.column((_PARTITION, field.stored_name))
            if column is None or column.least.type != arrow_type(field.type):
                continue
            lower[partition_id], upper[partition_id] = in_either_calendar(column.least, column.greatest)
            if field.char_length is not None:
                upper[partition_id] = pad_upper(upper[partition_id], field.char_length)
            has_least = to_numpy(pc.is_valid(lower[partition_id]))
            # A group without a least value is known only where all its values are NULL.
            known &= has_least | (column.nulls == footer.rows)
            # An empty string means NULL in the log; in a checkpoint, writers use either.
            empty = np.array([v in ("", b"") for v in column.least.to_pylist()])
            has_null[partition_id] = to_arrow((column.nulls > others) | empty)
        bounds = self._bounds(footer, others)
        if not lower and not bounds.lower:
            return None
        nan = dict.fromkeys(lower, pa.nulls(len(others), pa.bool_()))
        assert self._filter is not None, "can_skip is asked first"
        decision = self._filter.decide(self._spec.id, lower, upper, has_null, nan, bounds)
        return np.asarray(decision.keep | ~known)

    def _bounds(self, footer: _Footer, others: np.ndarray) -> Bounds:
        import numpy as np
        import pyarrow as pa

        bounds = Bounds()
        records = footer.column((_STATS, "numRecords"))
        if records is None:
            return bounds
        counted = records.nulls == others
        for leaf in self._leaves:
            least, greatest, nulls = (
                footer.column((_STATS, kind, *leaf.path)) for kind in ("minValues", "maxValues", "nullCount")
            )
            if least is None or greatest is None:
                continue
            low = _where(counted & (least.nulls == others), least.least)
            high = _where(counted & (greatest.nulls == others), greatest.greatest)
            bounds.lower[leaf.id], bounds.upper[leaf.id] = _group_pair(leaf, low, high)
            if nulls is not None and pa.types.is_integer(nulls.greatest.type):
                none = pc.fill_null(pc.and_(pc.equal(nulls.greatest, ZERO), pc.equal(nulls.least, ZERO)), FALSE)
                exact = to_numpy(none) & counted & (nulls.nulls == others)
                bounds.null_count[leaf.id] = to_arrow(np.zeros(len(others), np.int64), valid=exact)
        return bounds


def _where(known: np.ndarray, values: pa.Array) -> pa.Array:
    return pc.if_else(to_arrow(known), values, scalar(None, values.type))


def _group_pair(leaf: Leaf, low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Bounds over the bounds of all files in a group.

    A smaller bound of another file may be widened further than the greatest one, so some bounds move out more.
    """
    import pyarrow as pa

    lower, upper = bound_pair(leaf, low, high)
    kind = str(leaf.type)
    if kind == "string":
        prefixes = pc.utf8_slice_codeunits(upper, 0, _SURE_CHARACTERS)
        upper = Transform("truncate", _SURE_CHARACTERS).preimage(prefixes, leaf.type)[1]
    elif kind in ("timestamp", "timestamp_ntz"):
        micros, sure = pc.cast(upper, pa.int64()), scalar(FIRST_SURE_INSTANT, pa.int64())
        upper = pc.cast(pc.if_else(pc.less(micros, sure), sure, micros), upper.type)
    elif isinstance(leaf.type, DecimalType) and (ends := ends_of_int64(leaf.type)) is not None:
        # A file's bound that equals an end of int64 may mean "or beyond", even if another file's bound is greater.
        unknown = scalar(None, lower.type)
        lower = pc.if_else(pc.less_equal(lower, ends[0]), unknown, lower)
        upper = pc.if_else(pc.greater_equal(upper, ends[1]), unknown, upper)
    return lower, upper


class _Footer:
    """The footer's statistics of the leaf columns below ``add``, by path."""

    def __init__(self, footer: pq.FileMetaData, add: pa.DataType) -> None:
        import numpy as np

        self._kind = add
        self._groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        self.rows = np.array([group.num_rows for group in self._groups], np.int64)
        self._places: dict[str, int] = {}
        ambiguous = set()
        for place in range(footer.num_columns):
            path = self._groups[0].column(place).path_in_schema
            if path in self._places:
                ambiguous.add(path)
            self._places[path] = place
        for path in ambiguous:
            del self._places[path]

    def column(self, path: Sequence[str]) -> _Column | None:
        """The statistics of a column; None where it is absent or its dotted path is ambiguous."""
        import numpy as np
        import pyarrow as pa

        kind = _leaf_type(self._kind, path)
        place = self._places.get(".".join(("add", *path)))
        if kind is None or place is None or any("." in part for part in path):
            return None
        least: list[Any] = []
        greatest: list[Any] = []
        nulls = []
        for group in self._groups:
            low, high, count = _statistics(group.column(place))
            least.append(low)
            greatest.append(high)
            nulls.append(count)
        try:
            return _Column(array_of(least, kind), array_of(greatest, kind), np.array(nulls, np.int64))
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None


def _leaf_type(kind: pa.DataType, path: Iterable[str]) -> pa.DataType | None:
    import pyarrow as pa

    for name in path:
        if not pa.types.is_struct(kind) or (index := kind.get_field_index(name)) < 0:
            return None
        kind = kind.field(index).type
    return None if pa.types.is_nested(kind) else kind


def _statistics(chunk: Any) -> tuple[Any, Any, int]:
    """Least and greatest value (None: unknown), and the number of nulls (-1: unknown)."""
    import pyarrow as pa

    try:
        if (nulls := nulls_of(chunk)) < 0 or not (found := chunk.statistics).has_min_max:
            return None, None, nulls
        return found.min, found.max, nulls
    except (pa.ArrowException, ValueError, OverflowError):
        return None, None, -1


def nulls_of(chunk: Any) -> int:
    """The number of nulls of a column chunk by its statistics; -1: unknown."""
    found = chunk.statistics
    return found.null_count if found is not None and found.has_null_count else -1
