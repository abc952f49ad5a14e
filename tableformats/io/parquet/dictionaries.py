"""Dictionaries of Parquet column chunks: whether a chunk may hold a value, where all of its values are codes.

Sources: parquet.thrift, PageEncodingStats; Parquet format, Encodings.md, "Dictionary Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .data_pages import CODES, StoredPage
from .page_values import check_dictionary
from .pages import PageColumn
from .texts import dictionary_texts

__all__ = ["dictionary_of", "has_one_of"]

_I32, _I64, _LIST, _STRUCT = 5, 6, 9, 12
_DATA_PAGES = (0, 3)
_ENCODING_STATS, _FIRST_DATA_PAGE, _DICTIONARY = 13, 9, 11
_NUMBERS = {1: "<i4", 2: "<i8"}
"""By physical type: INT32 and INT64."""
_BYTE_ARRAY = 6


def dictionary_of(column: PageColumn) -> tuple[int, int] | None:
    """Offset and length of the dictionary of a chunk whose values are all in it. None: the footer does not say so."""
    kind, found = column.data.get(_ENCODING_STATS, (_LIST, (_STRUCT, [])))
    if kind != _LIST or found[0] != _STRUCT or column.physical_type not in (*_NUMBERS, _BYTE_ARRAY):
        return None
    pages = [page for page in found[1] if _number(page, 1) in _DATA_PAGES]
    if not pages or not all(_number(page, 2) in CODES for page in pages):
        return None
    start, stop = (_number(column.data, key) for key in (_DICTIONARY, _FIRST_DATA_PAGE))
    return None if start is None or stop is None or not 0 < start < stop <= column.stop else (start, stop - start)


def has_one_of(values: Sequence[bytes], stored: bytes | memoryview, column: PageColumn) -> bool:
    """Whether a dictionary has one of some values.

    Parameters
    ----------
    values : sequence of bytes
        As PLAIN encodes them, without the length of bytes.
    stored : bytes or memoryview
        The dictionary page.

    Raises
    ------
    ValueError
        It is none, or damaged.
    """
    page = StoredPage(stored, 0)
    if column.physical_type == _BYTE_ARRAY:
        entries = dictionary_texts(pa.binary(), page, column.codec)
        return bool(pc.any(pc.is_in(entries, pa.array(values, pa.binary()))).as_py())
    check_dictionary(page)
    kind = np.dtype(_NUMBERS[column.physical_type])  # type: ignore[index]
    numbers = np.frombuffer(page.values(column.codec), kind, page.rows)
    return bool(np.isin(numbers, np.frombuffer(b"".join(values), kind)).any())


def _number(fields: dict[int, tuple[int, Any]], key: int) -> int | None:
    kind, value = fields.get(key, (0, None))
    return value if kind in (_I32, _I64) else None
