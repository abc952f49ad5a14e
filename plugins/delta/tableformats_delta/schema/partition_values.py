"""Partition values: strings of the log -> typed Arrow columns.

An empty string or an absent key is NULL for every type. Each distinct value is parsed once.
Source: Delta PROTOCOL.md, "Partition Value Serialization".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    dataclass,
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

_MAX_CACHED_TEXTS = 4096
"""The greatest dictionary whose parsed values are cached."""
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class BadRows:
    """Rows of a batch without a usable value of one partition column.

    Attributes
    ----------
    rows : int64[k]
        The rows, ascending.
    texts : pyarrow.Array or None
        The texts of all rows of the batch, string[n_files]; None where the rows have no partition values at all.
    field : Field
        The partition column.
    """

    rows: np.ndarray
    texts: pa.Array | None
    field: Field


class PartitionValueErrors(RowErrors):
    """Rows of a batch without usable partition values; see :class:`tableformats.plugin.RowErrors`.

    Parameters
    ----------
    bad : sequence of BadRows
        The rows of each column, at least one.
    path : str
        The file of the log that holds the rows.
    """

    def __init__(self, bad: Sequence[BadRows], path: str) -> None:
        import numpy as np

        self._bad = bad
        self._path = path
        # Not np.unique, which imports numpy.ma: this runs often, as removed files usually have no partition values.
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

    Attributes
    ----------
    values : pyarrow.Array
        The values in the Arrow type of the field; NULL in bad rows.
    bad : int64[k]
        The rows whose text is no value of the type.
    without_zone : bool
        Whether a timestamp has no zone.
    """

    values: pa.Array
    bad: np.ndarray
    without_zone: bool


def partition_struct(
    values: pa.MapArray, fields: Mapping[int, Field], report: ScanReport, zone: str | None = None
) -> tuple[pa.StructArray, list[BadRows]]:
    """Parse the partition values of a batch of files.

    Parameters
    ----------
    values : map<string, string>[n_files]
        Texts by physical name; keys and texts may be dictionary-encoded.
    fields : mapping of int to Field
        The partition columns by partition field id.
    report : ScanReport
        Gets a note where timestamps have no zone, and ``zone`` is None.
    zone : str, optional
        The writer's time zone, which timestamps without one are of. None: UTC.

    Returns
    -------
    partition : struct[n_files]
        One member per partition column, named by partition field id, in the type of the column.
    bad : list of BadRows
        The rows without partition values, and those whose text is no value of the type. They are NULL in
        ``partition``.
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
        column = parse_partition_values(texts, field, zone or "UTC")
        bad.append(BadRows(column.bad, texts, field))
        if column.without_zone and zone is None:
            report.note(f"Timestamps of partition column {field.name!r} have no zone and are read as UTC")
        arrays.append(column.values)
    members = [pa.field(str(field_id), arrow_type(f.type)) for field_id, f in fields.items()]
    return pa.StructArray.from_arrays(arrays, fields=members), [some for some in bad if len(some.rows)]


def _texts_of(values: pa.MapArray, name: str) -> pa.Array:
    """The value of the first entry ``name`` of each map, null where it has none; encoded as in ``values``."""
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
        return values.items  # every map has this entry and no other
    first = np.searchsorted(entries, offsets[:-1])
    found = np.append(entries, len(codes))[first]
    absent = found >= offsets[1:]
    if values.null_count:
        absent |= to_numpy(pc.is_null(values))
    return pc.take(values.items, to_arrow(found, valid=~absent))


def parse_partition_values(texts: pa.Array, field: Field, zone: str = "UTC") -> PartitionColumn:
    """Parse the texts of one partition column.

    Parameters
    ----------
    texts : string[n_files]
        Null and "" are NULL. Values of CHAR(n) are padded.
    field : Field
        The partition column.
    zone : str
        The zone of timestamps without one.

    Raises
    ------
    UnsupportedFeatureError
        A column of this type cannot partition a table.
    """
    import numpy as np

    from tableformats.plugin import compute as pc

    encoded = pc.dictionary_encode(texts)
    distinct = tuple(encoded.dictionary.to_pylist())
    if field.char_length is not None:
        distinct = tuple(text and text.ljust(field.char_length) for text in distinct)
    parse = _parsed if len(distinct) <= _MAX_CACHED_TEXTS else _parsed.__wrapped__
    values, failed, without_zone = parse(distinct, field.type, field.name, zone)
    bad = np.empty(0, np.int64)
    if failed:
        wrong = pc.is_in(encoded.indices, array_of(failed, encoded.indices.type))
        bad = np.flatnonzero(to_numpy(wrong)).astype(np.int64)
    return PartitionColumn(pc.take(values, encoded.indices), bad, without_zone)


@lru_cache(maxsize=16)
def _parsed(texts: tuple[str | None, ...], kind: Type, name: str, zone: str) -> tuple[pa.Array, list[int], bool]:
    """The values of distinct texts, the indices of invalid ones, and whether a timestamp has no zone.

    The cache pays because the batches of a row group share one dictionary.
    """
    parse = _parser(kind, name, zone)
    parsed: list[Any] = []
    failed: list[int] = []
    for i, text in enumerate(texts):
        try:
            parsed.append(parse(text) if text else None)
        except ValueError:
            parsed.append(None)
            failed.append(i)
    without_zone = False
    if isinstance(kind, PrimitiveType) and kind.name == "timestamp":
        without_zone = any(value is not None and not value[1] for value in parsed)
        parsed = [None if value is None else value[0] for value in parsed]
    return array_of(parsed, arrow_type(kind)), failed, without_zone


def _parser(kind: Type, column: str, zone: str) -> Callable[[str], Any]:
    """What parses one text; a timestamp as :func:`parse_instant` does, with whether it names a zone."""
    if isinstance(kind, DecimalType):
        precision, scale = kind.precision, kind.scale
        return lambda text: parse_decimal(text, precision, scale)
    name = kind.name if isinstance(kind, PrimitiveType) else str(kind)
    if name in INT_RANGES:
        return lambda text: parse_int(text, name)
    parsers: dict[str, Callable[[str], Any]] = {
        "float": parse_float,
        "double": parse_float,
        "boolean": _boolean,
        "string": lambda text: text,
        "binary": lambda text: text.encode(),
        "date": parse_date,
        "timestamp": lambda text: parse_instant(text, zone),
        "timestamp_ntz": parse_local,
        "unknown": lambda text: None,
    }
    if name not in parsers:
        raise UnsupportedFeatureError(f"a column of type {kind} cannot be a partition column", field=column)
    return parsers[name]


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(text)
    return value
