"""Generated partition columns: the bounds that their values imply for the columns they are computed from.

Writers accept only rows whose generated columns equal their expressions. So ``day = 2024-05-01`` with ``day`` as
``CAST(ts AS DATE)`` bounds ``ts``. Supported are casts to a date, year (with month, day and hour), date_format, trunc
and date_trunc, prefixes of strings, and the column itself. Any other expression implies nothing.

* Writers compute the date of an instant in the zone of their session, which the log does not record. So its bounds are
  widened by 18 hours, the greatest offset there is. Dates and timestamps without a zone need no such margin, except in
  date_format and date_trunc, which also convert them through that zone. Its gaps are at most 24 hours. The result of
  date_trunc is an instant in that zone.
* No function here maps NULL to a value. Functions of dates and timestamps map no value to NULL, so a NULL partition
  value means a NULL source. For a string it may also mean the empty string, which is no partition value.
* Years are 0001 to 9999, the range of the types. Some modes of date_format used the Julian calendar, so its values
  before 1583 imply nothing.

Source: Delta PROTOCOL.md, "Generated Columns", "Partition Value Serialization"; Spark SQL reference, "Datetime
Patterns", ``trunc``, ``date_trunc``, ``substring``.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    DAY_US,
    FALSE,
    DecimalType,
    Field,
    Implied,
    ImpliedBounds,
    PartitionField,
    Schema,
    Transform,
    Type,
    arrow_type,
    dataclass,
    scalar,
    to_arrow,
    to_numpy,
)

from .schema_string import GENERATION_EXPRESSION
from .sql_expressions import Call, Column, Node, parse

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["implied_bounds"]

_HOUR_US = DAY_US // 24
_ANY_OFFSET_US = 18 * _HOUR_US
_ANY_GAP_US = DAY_US
_TIMES = ("date", "timestamp", "timestamp_ntz")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_PARTS = ("year", "month", "day", "hour")
_PART_NAMES = {"year": 0, "month": 1, "day": 2, "dayofmonth": 2, "hour": 3}
_FORMATS = {
    "yyyy": r"(\d{4})",
    "yyyy-MM": r"(\d{4})-(\d\d)",
    "yyyyMM": r"(\d{4})(\d\d)",
    "yyyy-MM-dd": r"(\d{4})-(\d\d)-(\d\d)",
    "yyyyMMdd": r"(\d{4})(\d\d)(\d\d)",
    "yyyy-MM-dd-HH": r"(\d{4})-(\d\d)-(\d\d)-(\d\d)",
    "yyyy-MM-dd HH": r"(\d{4})-(\d\d)-(\d\d) (\d\d)",
    "yyyyMMddHH": r"(\d{4})(\d\d)(\d\d)(\d\d)",
}
_FIRST_SURE_YEAR = 1583
# The units of trunc and date_trunc, in months, or in microseconds where those are 0.
_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), (12, 0)),
    "quarter": (3, 0),
    **dict.fromkeys(("month", "mm", "mon"), (1, 0)),
    "week": (0, 7 * DAY_US),
    "day": (0, DAY_US),
    "dd": (0, DAY_US),
    "hour": (0, _HOUR_US),
    "minute": (0, 60_000_000),
    "second": (0, 1_000_000),
    "millisecond": (0, 1000),
    "microsecond": (0, 1),
}
_LONGEST_MONTHS = {12: 366 * DAY_US, 3: 92 * DAY_US, 1: 31 * DAY_US}
_YEARS = range(1, 10_000)
_INSTANTS = range(-62_135_596_800_000_000, 253_402_300_800_000_000)  # years 1 to 9999


def implied_bounds(schema: Schema, fields: Iterable[PartitionField]) -> tuple[ImpliedBounds, ...]:
    """The bounds that generated partition columns imply for their source columns.

    Year, month, day and hour of one source column are combined.

    Parameters
    ----------
    schema : Schema
        The table's schema, whose fields hold the expressions.
    fields : iterable of PartitionField
        The partition columns.
    """
    found: list[ImpliedBounds] = []
    parts: dict[int, dict[int, int]] = {}
    sources: dict[int, Field] = {}
    for field in fields:
        column = schema.find_id(field.source_id)
        text = column.metadata.get(GENERATION_EXPRESSION) if column is not None else None
        tree = parse(text) if isinstance(text, str) else None
        if tree is None:
            continue
        if (part := _part_of(tree, schema)) is not None:
            source, number = part
            if str(field.type) in _INTEGERS:
                sources[source.id] = source
                parts.setdefault(source.id, {})[number] = field.id
        elif (implied := _single(tree, schema, field)) is not None:
            found.append(implied)
    for source_id, by_number in parts.items():
        known = [by_number[n] for n in range(len(_PARTS)) if all(m in by_number for m in range(n + 1))]
        if known:
            found.append(_Parts(source_id, tuple(known), _zone_of(sources[source_id])))
    return tuple(found)


def _column(node: Any, schema: Schema, kinds: Sequence[str]) -> Field | None:
    """The column that ``node`` names; None where it has none of the types ``kinds``."""
    path = schema.resolve(node.parts) if isinstance(node, Column) else None
    return path[-1] if path and str(path[-1].type) in kinds else None


def _is_date_of(node: Call) -> bool:
    return (node.name == "cast" and node.arguments[1:] == ("date",)) or (
        node.name in ("to_date", "date") and len(node.arguments) == 1
    )


def _without_date(node: Node) -> Node:
    """The argument of casts to a date: functions that ignore the hour give the same for both."""
    while isinstance(node, Call) and _is_date_of(node):
        node = node.arguments[0]
    return node


def _part_of(tree: Node, schema: Schema) -> tuple[Field, int] | None:
    """The source column, and the index in :data:`_PARTS` of the part that ``tree`` extracts."""
    if not (isinstance(tree, Call) and tree.name in _PART_NAMES and len(tree.arguments) == 1):
        return None
    number = _PART_NAMES[tree.name]
    inner = tree.arguments[0] if number == 3 else _without_date(tree.arguments[0])
    source = _column(inner, schema, _TIMES)
    return None if source is None else (source, number)


def _single(tree: Node, schema: Schema, field: PartitionField) -> ImpliedBounds | None:
    """The bounds that one generated column implies alone."""
    kind = str(field.type)
    if isinstance(tree, Column):
        path = schema.resolve(tree.parts)
        same = path is not None and path[-1].type == field.type
        return _Same(path[-1].id, (field.id,)) if path is not None and same and _is_exact(field.type) else None
    if not isinstance(tree, Call):
        return None
    if _is_date_of(tree):
        source = _column(_without_date(tree), schema, _TIMES)
        return _Units(source.id, (field.id,), _zone_of(source), 0, DAY_US) if source and kind == "date" else None
    arguments = tree.arguments
    if tree.name in ("substring", "substr") and len(arguments) == 3 and arguments[1] in (0, 1):
        return _prefix(arguments[0], arguments[2], schema, field)
    if tree.name == "left" and len(arguments) == 2:
        return _prefix(arguments[0], arguments[1], schema, field)
    if tree.name == "date_format" and len(arguments) == 2:
        source = _column(arguments[0], schema, _TIMES)
        known = arguments[1] if isinstance(arguments[1], str) and arguments[1] in _FORMATS else None
        if source and known and kind == "string":
            return _Formatted(source.id, (field.id,), _zone_of(source) or _ANY_GAP_US, _FORMATS[known])
    if tree.name == "trunc" and len(arguments) == 2 and kind == "date":
        source = _column(_without_date(arguments[0]), schema, _TIMES)
        return _truncated(source, arguments[1], field, _zone_of(source)) if source else None
    if tree.name == "date_trunc" and len(arguments) == 2 and kind in ("timestamp", "timestamp_ntz"):
        source = _column(arguments[1], schema, _TIMES)
        return _truncated(source, arguments[0], field, _ANY_OFFSET_US + _ANY_GAP_US) if source else None
    return None


def _is_exact(kind: Type) -> bool:
    return isinstance(kind, DecimalType) or str(kind) in ("boolean", "string", *_INTEGERS, *_TIMES)


def _zone_of(source: Field) -> int:
    """The greatest offset between local time and the column, in microseconds."""
    return _ANY_OFFSET_US if str(source.type) == "timestamp" else 0


def _prefix(source: Node, width: Node, schema: Schema, field: PartitionField) -> ImpliedBounds | None:
    column = _column(source, schema, ("string",))
    if column is None or not isinstance(width, int) or width < 1 or str(field.type) != "string":
        return None
    return _Prefix(column.id, (field.id,), Transform("truncate", width))


def _truncated(source: Field, unit: Node, field: PartitionField, margin: int) -> ImpliedBounds | None:
    length = _UNITS.get(unit.lower()) if isinstance(unit, str) else None
    return None if length is None else _Units(source.id, (field.id,), margin, *length)


@dataclass(frozen=True)
class _Same(ImpliedBounds):
    """The column itself."""

    source_id: int
    field_ids: tuple[int, ...]

    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """See :meth:`tableformats.plugin.ImpliedBounds.of`."""
        if str(source) == "timestamp":
            # Partition values may have been written without their zone.
            start, known = _micros(values[0])
            return _implied(_LocalRanges(start, start + 1, known), _ANY_OFFSET_US, source, _nulls(values))
        return _for_values(values[0], values[0], values[0], null_means_null=str(source) != "string")


@dataclass(frozen=True)
class _Prefix(ImpliedBounds):
    """The first characters of a string."""

    source_id: int
    field_ids: tuple[int, ...]
    transform: Transform

    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """See :meth:`tableformats.plugin.ImpliedBounds.of`."""
        from tableformats.plugin import compute as pc

        distinct = pc.dictionary_encode(values[0])
        sides = self.transform.preimage(distinct.dictionary, source)
        lower, upper = (pc.take(side, distinct.indices) for side in sides)
        return _for_values(values[0], lower, upper, null_means_null=False)


@dataclass(frozen=True)
class _LocalRanges:
    """Ranges of local time, in microseconds.

    Attributes
    ----------
    start, end : int64[n]
        The first microsecond, and the one after the last.
    known : bool[n]
        Where the range is valid.
    """

    start: np.ndarray
    end: np.ndarray
    known: np.ndarray


@dataclass(frozen=True)
class _Time(ImpliedBounds):
    """A function of a date or timestamp: each partition tuple is a range of local time.

    Bounds are ``margin`` microseconds wider on both sides.
    """

    source_id: int
    field_ids: tuple[int, ...]
    margin: int

    @abstractmethod
    def ranges(self, values: Sequence[pa.Array]) -> _LocalRanges:
        """The range of local time of each partition tuple."""

    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """See :meth:`tableformats.plugin.ImpliedBounds.of`."""
        return _implied(self.ranges(values), self.margin, source, _nulls(values))


@dataclass(frozen=True)
class _Parts(_Time):
    """Year; year and month; and so on: the leading parts that are partition columns."""

    def ranges(self, values: Sequence[pa.Array]) -> _LocalRanges:
        """See :meth:`_Time.ranges`."""
        import numpy as np
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        numbers = [to_numpy(pc.fill_null(pc.cast(v, pa.int64()), scalar(-1, pa.int64()))) for v in values]
        return _civil(np.stack(numbers, axis=1))


@dataclass(frozen=True)
class _Formatted(_Time):
    """date_format with one of :data:`_FORMATS`."""

    pattern: str

    def ranges(self, values: Sequence[pa.Array]) -> _LocalRanges:
        """See :meth:`_Time.ranges`."""
        import numpy as np

        from tableformats.plugin import compute as pc

        encoded = pc.dictionary_encode(values[0])
        width = re.compile(self.pattern).groups
        matches = [re.fullmatch(self.pattern, text, re.ASCII) for text in encoded.dictionary.to_pylist()]
        parsed = [[int(part) for part in match.groups()] if match else [-1] * width for match in matches]
        numbers = np.array([*parsed, [-1] * width], np.int64)
        found = _civil(numbers)
        known = found.known & (numbers[:, 0] >= _FIRST_SURE_YEAR)
        indices = to_numpy(pc.fill_null(encoded.indices, scalar(len(parsed), encoded.indices.type)))
        return _LocalRanges(found.start[indices], found.end[indices], known[indices])


@dataclass(frozen=True)
class _Units(_Time):
    """The start of a unit of ``months`` months or, where that is 0, of ``micros`` microseconds."""

    months: int
    micros: int

    def ranges(self, values: Sequence[pa.Array]) -> _LocalRanges:
        """See :meth:`_Time.ranges`."""
        import numpy as np
        import pyarrow as pa

        start, known = _micros(values[0])
        if not self.months:
            return _LocalRanges(start, start + self.micros, known)
        if not pa.types.is_date32(values[0].type):
            # Local midnight is another time in UTC, so the length of the month is not known.
            return _LocalRanges(start, start + _LONGEST_MONTHS[self.months], known)
        month = (start // DAY_US).astype("datetime64[D]").astype("datetime64[M]")
        return _LocalRanges(start, _as_micros(month + np.timedelta64(self.months, "M")), known)


def _micros(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Dates or timestamps as microseconds, int64[n], and which of them are in the range of the types, bool[n]."""
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    is_date = pa.types.is_date32(values.type)
    scale = DAY_US if is_date else 1
    numbers = pc.cast(pc.cast(values, pa.int32()) if is_date else values, pa.int64())
    first, end = (scalar(limit // scale, pa.int64()) for limit in (_INSTANTS.start, _INSTANTS.stop))
    known = pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, end))
    valid = to_numpy(pc.fill_null(known, FALSE))
    return np.where(valid, to_numpy(numbers), 0) * scale, valid


def _civil(numbers: np.ndarray) -> _LocalRanges:
    """The range of each year, month, day or hour; ``numbers`` is int64[n, 1 to 4], the parts from the year on."""
    import numpy as np

    limits = [_YEARS, range(1, 13), range(1, 32), range(24)][: numbers.shape[1]]
    known = np.ones(len(numbers), bool)
    for column, limit in zip(numbers.T, limits, strict=True):
        known &= (column >= limit.start) & (column < limit.stop)
    safe = np.where(known[:, None], numbers, 1)
    year = (safe[:, 0] - 1970).astype("datetime64[Y]")
    if len(limits) == 1:
        return _LocalRanges(_as_micros(year), _as_micros(year + 1), known)
    month = year.astype("datetime64[M]") + (safe[:, 1] - 1)
    if len(limits) == 2:
        return _LocalRanges(_as_micros(month), _as_micros(month + 1), known)
    day = month.astype("datetime64[D]") + (safe[:, 2] - 1)
    known &= day.astype("datetime64[M]") == month
    if len(limits) == 3:
        return _LocalRanges(_as_micros(day), _as_micros(day + 1), known)
    hour = day.astype("datetime64[h]") + safe[:, 3]
    return _LocalRanges(_as_micros(hour), _as_micros(hour + 1), known)


def _as_micros(times: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.asarray(times.astype("datetime64[us]").astype(np.int64))


def _implied(ranges: _LocalRanges, margin: int, source: Type, is_null: np.ndarray) -> Implied:
    """Bounds of a date or timestamp column, from ranges of local time; ``is_null`` is bool[fields, n]."""
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    first, last = ranges.start - margin, ranges.end - 1 + margin
    if str(source) == "date":
        first, last = first // DAY_US, last // DAY_US
    sides = []
    for side in (first, last):
        numbers = to_arrow(side, valid=ranges.known)
        narrow = pc.cast(numbers, pa.int32()) if str(source) == "date" else numbers
        sides.append(pc.cast(narrow, arrow_type(source)))
    # All parts come from one value, so a tuple with some NULL parts is contradictory: both may be true.
    may_value, may_null = ~is_null.all(axis=0), is_null.any(axis=0)
    return Implied(sides[0], sides[1], np.asarray(may_value, np.uint8), np.asarray(may_null, np.uint8))


def _nulls(values: Sequence[pa.Array]) -> np.ndarray:
    import numpy as np

    from tableformats.plugin import compute as pc

    return np.stack([to_numpy(pc.is_null(v)) for v in values])


def _for_values(values: pa.Array, lower: pa.Array, upper: pa.Array, null_means_null: bool) -> Implied:
    import numpy as np

    from tableformats.plugin import compute as pc

    null = to_numpy(pc.is_null(values)).astype(np.uint8)
    may_value = np.asarray(1 - null if null_means_null else np.ones_like(null))
    return Implied(lower, upper, may_value, null)
