"""Values of one width in data pages, and codes of a dictionary, as Arrow arrays without Arrow's decoder.

A PLAIN page holds integers, floating-point numbers, dates and timestamps as Arrow has them in memory, so they are
copied. Arrow's decoder takes most of its time to make a file of the pages, and to open it. Only columns at the top
without repeated values are read so. Source: Parquet format, Encodings.md, "Plain" and "Dictionary Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from ._page_values import read_coded_rows, read_fixed_width, read_integers_without
from .data_pages import StoredPage, decompression_errors, decompressor
from .page_values import check_dictionary

if TYPE_CHECKING:
    import numpy.typing as npt

    Runs = npt.NDArray[np.int64]
    Levels = npt.NDArray[np.uint8]
    Keys = tuple[npt.NDArray[np.uint64], int, int, int, npt.NDArray[np.int64]]

__all__ = ["coded_values", "fixed_width_values", "integers_without", "is_fixed_width"]

_INT32, _INT64, _FLOAT, _DOUBLE = 1, 2, 4, 5
_WIDTHS = {_INT32: 4, _INT64: 8, _FLOAT: 4, _DOUBLE: 8}
_KINDS = {_INT32: (pa.int32(), pa.date32()), _INT64: (pa.int64(),), _FLOAT: (pa.float32(),), _DOUBLE: (pa.float64(),)}
"""By physical type, the Arrow types whose values look the same."""
_CODE_BYTES = 4
_FRONT = 64
"""Bytes before the values, for the levels of a page; Arrow wants memory at multiples of it."""
_I32, _STRUCT = 5, 12
_CONVERTED, _LOGICAL, _TIMESTAMP, _UNIT = 6, 10, 8, 2
_CONVERTED_UNITS = {9: "ms", 10: "us"}
_LOGICAL_UNITS = {1: "ms", 2: "us", 3: "ns"}

Fields = dict[int, tuple[int, Any]]


def is_fixed_width(kind: pa.DataType, column: Any) -> bool:
    """Whether the stored values of a column (a :class:`.pages.PageColumn`) are those of the Arrow type ``kind``."""
    if types.is_timestamp(kind):
        return column.physical_type == _INT64 and _stored_unit(column.element) == kind.unit
    return kind in _KINDS.get(column.physical_type, ())


def _stored_unit(element: Fields) -> str | None:
    """The unit of timestamps by their SchemaElement; None: not known."""
    kind, logical = element.get(_LOGICAL, (0, None))
    if kind != _STRUCT:
        kind, converted = element.get(_CONVERTED, (0, None))
        return _CONVERTED_UNITS.get(converted) if kind == _I32 else None
    unit = _struct(_struct(logical, _TIMESTAMP), _UNIT)
    return next((name for key, name in _LOGICAL_UNITS.items() if key in unit), None)


def _struct(fields: Fields, key: int) -> Fields:
    kind, found = fields.get(key, (_STRUCT, {}))
    return found if kind == _STRUCT else {}


def fixed_width_values(
    kind: pa.DataType, column: Any, pages: Sequence[StoredPage], dictionary: StoredPage | None, runs: Runs
) -> pa.Array:
    """Some values of pages that are decoded here (:func:`.page_values.is_decoded`).

    Parameters
    ----------
    kind : pa.DataType
        Where :func:`is_fixed_width`.
    column : PageColumn
    pages : sequence of StoredPage
    dictionary : StoredPage or None
        The chunk's dictionary page, if a page needs it.
    runs : int64[n, 2]
        The rows that are wanted, counted from the first one of the first page; ascending, apart, none empty.

    Raises
    ------
    ValueError
        The pages are damaged.

    Notes
    -----
    Cost: O(rows) and the pages before compression.
    """
    entries, width = _entries(column, dictionary), _WIDTHS[column.physical_type]
    into, rows = decompressor(pages, column.codec), _count(runs)

    def read(out: memoryview, levels: Levels) -> tuple[int, bool]:
        nulls = read_fixed_width(list(pages), into, column.is_optional, width, entries, runs, out, levels)
        return rows, nulls > 0

    return _array(kind, width, rows, read)


def integers_without(
    kind: pa.DataType, column: Any, pages: Sequence[StoredPage], dictionary: StoredPage | None, runs: Runs, keys: Keys
) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """As :func:`fixed_width_values`, of integers, or values that are stored as such, without those that are keys.

    Parameters
    ----------
    keys : tuple
        As of the kernel.

    Returns
    -------
    pa.Array, int64[m]
        The second are the places among the rows ``runs`` of those that are left out, ascending.
    """
    entries, width = _entries(column, dictionary), _WIDTHS[column.physical_type]
    into, rows = decompressor(pages, column.codec), _count(runs)
    places = np.empty(rows + 1, np.int64)

    def read(out: memoryview, levels: Levels) -> tuple[int, bool]:
        count, has_nulls = read_integers_without(
            list(pages), into, column.is_optional, width, entries, runs, out, levels, keys, places
        )
        return rows - count, has_nulls

    values = _array(kind, width, rows, read)
    return values, places[: rows - len(values)].copy()


def _entries(column: Any, dictionary: StoredPage | None) -> memoryview:
    """The values of a dictionary page."""
    if dictionary is None:
        return memoryview(b"")
    check_dictionary(dictionary)
    return dictionary.values(column.codec)


def _count(runs: Runs) -> int:
    return int((runs[:, 1] - runs[:, 0]).sum())


def coded_values(column: Any, pages: Sequence[StoredPage], entries: pa.Array, runs: Runs) -> pa.DictionaryArray:
    """Some values of pages of codes as codes of ``entries``. Raises as :func:`fixed_width_values`."""
    into, rows = decompressor(pages, column.codec), _count(runs)

    def read(out: memoryview, levels: Levels) -> tuple[int, bool]:
        return rows, read_coded_rows(list(pages), into, column.is_optional, len(entries), runs, out, levels) > 0

    return pa.DictionaryArray.from_arrays(_array(pa.int32(), _CODE_BYTES, rows, read), entries, safe=False)


def _array(
    kind: pa.DataType, width: int, rows: int, read: Callable[[memoryview, Levels], tuple[int, bool]]
) -> pa.Array:
    """Values of so many rows at most, which ``read`` writes; it returns how many there are, and whether one is NULL."""
    data, levels = pa.allocate_buffer(_FRONT + rows * width), np.empty(rows, np.uint8)
    with decompression_errors():
        count, has_nulls = read(memoryview(data).cast("B"), levels)
    validity, nulls = None, 0
    if has_nulls:
        validity = pa.py_buffer(np.packbits(levels[:count], bitorder="little"))
        nulls = count - int(np.count_nonzero(levels[:count]))
    return pa.Array.from_buffers(kind, count, [validity, data.slice(_FRONT, count * width)], nulls)
