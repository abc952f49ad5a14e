"""Partition values: the log's strings -> typed Arrow columns.

The empty string is NULL for every type, as is an absent key. Each distinct value is parsed once.
Source: Delta PROTOCOL.md, "Partition Value Serialization".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    FALSE,
    CorruptMetadataError,
    DecimalType,
    Field,
    PrimitiveType,
    RowErrors,
    Type,
    UnsupportedFeatureError,
    array_of,
    arrow_type,
    scalar,
    to_arrow,
    to_numpy,
)

from ..json.values import INT_RANGES, parse_date, parse_decimal, parse_float, parse_instant, parse_int, parse_local

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import ScanReport

__all__ = ["BadRows", "PartitionColumn", "PartitionValueErrors", "parse_partition_values", "partition_struct"]

_MOST_TEXTS = 4096
"""Of a dictionary whose values are remembered."""
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class BadRows:
    """Rows (int64[k], ascending) of a batch whose ``texts`` (string[n_files]; None: they are absent) are no values of
    the column ``field``."""

    rows: np.ndarray
    texts: pa.Array | None
    field: Field


class PartitionValueErrors(RowErrors):
    """Rows of a batch without usable partition values; ``path`` is the file of the log that holds them."""

    def __init__(self, bad: Sequence[BadRows], path: str) -> None:
        import numpy as np

        self._bad = bad
        self._path = path
        # Removed files often have no partition values, so this is no rare case: np.unique would import numpy.ma.
        self.rows = np.sort(np.concatenate([some.rows for some in bad]))

    def error_of(self, row: int) -> CorruptMetadataError:
        """See :meth:`tableformats.plugin.RowErrors.error_of`."""
        found = next(some for some in self._bad if row in some.rows)
        what = "a file has no partition values"
        if found.texts is not None:
            what = f"the partition value {found.texts[row].as_py()!r} is no {found.field.type}"
        return CorruptMetadataError(what, path=self._path, field=found.field.name)


@dataclass
class PartitionColumn:
    """One partition column of a batch.

    ``values`` has the field's Arrow type. ``bad`` (int64[]) are the rows whose text is no such value; NULL stands
    there. ``without_zone`` says that a timestamp without a zone was read as UTC.
    """

    values: pa.Array
    bad: np.ndarray
    without_zone: bool


def partition_struct(
    values: pa.MapArray, fields: Mapping[int, Field], report: ScanReport
) -> tuple[pa.StructArray, list[BadRows]]:
    """The partition column of a batch of files.

    Parameters
    ----------
    values : map<string, string>[n_files] of physical names to texts; either may be encoded by a dictionary
    fields : the table's columns by the id of their partition field
    report : takes a note where timestamps have no zone

    Returns
    -------
    partition : struct[n_files]
        With members called by partition field id, in the columns' types.
    bad : list of BadRows
        The rows that have no partition values, or a text that is no value of the field; NULL stands there.
    """
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    if not fields:
        return pa.StructArray.from_buffers(pa.struct([]), len(values), [None]), []
    absent = np.flatnonzero(to_numpy(pc.is_null(values)))
    bad = [BadRows(absent, None, next(iter(fields.values())))]
    arrays = []
    for field in fields.values():
        texts = _texts_of(values, field.stored_name)
        column = parse_partition_values(texts, field)
        bad.append(BadRows(column.bad, texts, field))
        if column.without_zone:
            report.note(f"Timestamps of partition column {field.name!r} have no zone and are read as UTC")
        arrays.append(column.values)
    members = [pa.field(str(field_id), arrow_type(f.type)) for field_id, f in fields.items()]
    return pa.StructArray.from_arrays(arrays, fields=members), [some for some in bad if len(some.rows)]


def _texts_of(values: pa.MapArray, name: str) -> pa.Array:
    """The value of each map's first entry called ``name``, null where it has none; encoded as the map's values are."""
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    keys = values.keys if pa.types.is_dictionary(values.type.key_type) else pc.dictionary_encode(values.keys)
    named = to_numpy(pc.fill_null(pc.equal(keys.dictionary, scalar(name, pa.string())), FALSE))
    codes = to_numpy(pc.fill_null(keys.indices, scalar(0, pa.int32())))
    is_named = named[codes] if len(named) else np.zeros(len(codes), bool)
    if keys.null_count:
        is_named &= to_numpy(pc.is_valid(keys))
    entries = np.flatnonzero(is_named)
    offsets = to_numpy(values.offsets)
    if len(codes) == len(values) and not values.null_count and np.array_equal(entries, offsets[:-1]):
        return values.items  # maps of this entry alone
    first = np.searchsorted(entries, offsets[:-1])
    found = np.append(entries, len(codes))[first]
    absent = found >= offsets[1:]
    if values.null_count:
        absent |= to_numpy(pc.is_null(values))
    return pc.take(values.items, to_arrow(found, valid=~absent))


def parse_partition_values(texts: pa.Array, field: Field) -> PartitionColumn:
    """Type the raw values of one partition column.

    Parameters
    ----------
    texts : string[n_files]; null and "" are NULL
    field : the partition column

    Raises
    ------
    UnsupportedFeatureError : a column of this type cannot partition a table
    """
    import numpy as np

    from tableformats.plugin import compute as pc

    encoded = pc.dictionary_encode(texts)
    distinct = tuple(encoded.dictionary.to_pylist())
    parse = _parsed if len(distinct) <= _MOST_TEXTS else _parsed.__wrapped__
    values, failed, without_zone = parse(distinct, field.type, field.name)
    bad = np.empty(0, np.int64)
    if failed:
        wrong = pc.is_in(encoded.indices, array_of(failed, encoded.indices.type))
        bad = np.flatnonzero(to_numpy(wrong)).astype(np.int64)
    return PartitionColumn(pc.take(values, encoded.indices), bad, without_zone)


@lru_cache(maxsize=16)
def _parsed(texts: tuple[str | None, ...], kind: Type, name: str) -> tuple[pa.Array, list[int], bool]:
    """The values of distinct texts, the places of those that are none, and whether a timestamp has no zone.

    The batches of a row group have the same dictionary, so that its texts are parsed once.
    """
    parse, notes = _parser(kind, name), _Notes()
    parsed: list[Any] = []
    failed: list[int] = []
    for i, text in enumerate(texts):
        try:
            parsed.append(parse(text, notes) if text else None)
        except ValueError:
            parsed.append(None)
            failed.append(i)
    return array_of(parsed, arrow_type(kind)), failed, notes.without_zone


class _Notes:
    without_zone = False


def _parser(kind: Type, column: str) -> Callable[[str, _Notes], Any]:
    if isinstance(kind, DecimalType):
        precision, scale = kind.precision, kind.scale
        return lambda text, notes: parse_decimal(text, precision, scale)
    name = kind.name if isinstance(kind, PrimitiveType) else str(kind)
    if name in INT_RANGES:
        return lambda text, notes: parse_int(text, name)
    parsers: dict[str, Callable[[str, _Notes], Any]] = {
        "float": lambda text, notes: parse_float(text),
        "double": lambda text, notes: parse_float(text),
        "boolean": lambda text, notes: _boolean(text),
        "string": lambda text, notes: text,
        "binary": lambda text, notes: text.encode(),
        "date": lambda text, notes: parse_date(text),
        "timestamp": _instant,
        "timestamp_ntz": lambda text, notes: parse_local(text),
        "unknown": lambda text, notes: None,
    }
    if name not in parsers:
        raise UnsupportedFeatureError(f"a column of type {kind} cannot be a partition column", field=column)
    return parsers[name]


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(text)
    return value


def _instant(text: str, notes: _Notes) -> int:
    micros, has_zone = parse_instant(text)
    if not has_zone:
        notes.without_zone = True
    return micros
