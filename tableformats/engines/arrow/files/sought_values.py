"""Row groups that do not hold what a filter looks for, by the Bloom filters and dictionaries of their column chunks.

A filter asks for values where it is an equality or an IN, or has one among its parts that all have to be TRUE. The
stored form of each value is looked for. Where that is not certain, nothing is concluded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....expressions import tree as ex
from ....io.parquet.bloom_filters import BLOCK_BYTES, HEAD_BYTES, BloomFilter, xxh64
from ....io.parquet.dictionaries import dictionary_of, has_one_of
from ....io.parquet.pages import PageColumn
from ....schema import Field, primitive
from .stored_chunks import FEWEST_REMOTE_BYTES, PAGE_ERRORS, StoredChunks

__all__ = ["groups_without", "sought_values"]

_MOST_VALUES = 100
"""Of an IN. Each takes a hash, and a look into the file."""
_MOST_BYTES = 1 << 10
"""Longer values are not hashed."""
_WIDTHS = {"INT32": 4, "INT64": 8}
_MOST_FILTER = 1 << 20
"""A longer filter in a store is not read."""
_FEWEST_ROWS = 10_000
"""Of a row group whose dictionary is looked at."""
_MOST_DICTIONARY = 4 << 20
"""A dictionary of more bytes is not looked at."""
_MEANINGS: Mapping[str, tuple[str, ...]] = {
    "Int": ("int", "long"),
    "None": ("int", "long", "binary"),
    "Date": ("date",),
    "Timestamp": ("timestamp", "timestamp_ntz"),
    "String": ("string",),
}
"""The types of a table whose values a stored type holds as they are, by its logical type."""
_TYPES = {name: primitive(name) for names in _MEANINGS.values() for name in names}


def sought_values(predicate: ex.Expression) -> Iterator[tuple[int, list[Any]]]:
    """Field ids of columns, each with values of which every matching row has one. An id may come several times."""
    for part in predicate.children if isinstance(predicate, ex.And) else (predicate,):
        if isinstance(part, ex.In) and isinstance(part.column, ex.BoundColumn):
            yield part.column.id, [literal.value for literal in part.literals]
        elif isinstance(part, ex.Comparison) and part.op == "=" and isinstance(part.column, ex.BoundColumn):
            if isinstance(part.right, ex.Literal):
                yield part.column.id, [part.right.value]


def groups_without(
    chunks: StoredChunks, groups: Sequence[int], leaf: int, field: Field, values: Sequence[Any]
) -> list[int]:
    """Those of the row groups in which it is certain that no row has one of these values of the column ``field``.

    Parameters
    ----------
    leaf : int
        The number of the leaf column that the file has of ``field``.
    """
    asked = [group for group in groups if _may_tell(chunks, group, leaf)]
    if not asked or len(values) > _MOST_VALUES:
        return []
    try:
        stored = [_stored(value, field, chunks.metadata.schema.column(leaf)) for value in values]
    except PAGE_ERRORS:  # a value that the file cannot store
        return []
    known = [octets for octets in stored if octets is not None]
    if len(known) < len(values):
        return []
    hashes = [xxh64(octets) for octets in known]
    return [group for group in asked if _lacks(chunks, group, leaf, known, hashes)]


def _may_tell(chunks: StoredChunks, group: int, leaf: int) -> bool:
    """Whether a chunk may have a Bloom filter, or a dictionary that is worth a look."""
    stored = chunks.metadata.row_group(group)
    column = stored.column(leaf)
    # Older pyarrow does not say whether there is a filter. Then it is looked up in the footer.
    has_filter = getattr(column, "bloom_filter_offset", 1) is not None
    return has_filter or (column.dictionary_page_offset is not None and stored.num_rows >= _FEWEST_ROWS)


def _lacks(chunks: StoredChunks, group: int, leaf: int, values: Sequence[bytes], hashes: Sequence[int]) -> bool:
    try:
        column = chunks.column(group, leaf)
        if column is None:
            return False
        return _is_out_of_filter(chunks, group, column, hashes) or _is_out_of_dictionary(chunks, group, column, values)
    except PAGE_ERRORS:
        return False


def _is_out_of_filter(chunks: StoredChunks, group: int, column: PageColumn, hashes: Sequence[int]) -> bool:
    place = column.bloom_filter
    if place is None or not _is_worth_request(chunks, group, place[1]):
        return False
    offset = place[0]
    with chunks.reading([place]) as read:
        bloom = BloomFilter(read(offset, HEAD_BYTES))
        blocks = ((hashed, read(offset + bloom.block_of(hashed), BLOCK_BYTES)) for hashed in hashes)
        return not any(bloom.may_hold(block, hashed) for hashed, block in blocks)


def _is_out_of_dictionary(chunks: StoredChunks, group: int, column: PageColumn, values: Sequence[bytes]) -> bool:
    place = dictionary_of(column)
    if place is None or place[1] > _MOST_DICTIONARY or not _is_worth_request(chunks, group, place[1]):
        return False
    with chunks.reading([place]) as read:
        return not has_one_of(values, read(*place), column)


def _is_worth_request(chunks: StoredChunks, group: int, size: int) -> bool:
    is_short = 0 < size <= _MOST_FILTER
    return not chunks.is_remote or (
        is_short and chunks.metadata.row_group(group).total_byte_size >= FEWEST_REMOTE_BYTES
    )


def _stored(value: Any, field: Field, column: Any) -> bytes | None:
    """A value as PLAIN encodes it, without its length. None: not certain."""
    logical = json.loads(column.logical_type.to_json())
    kinds = _MEANINGS.get(logical.get("Type", "None"), ())
    if field.collation is not None or not any(field.type == _TYPES[kind] for kind in kinds):
        return None
    if logical.get("Type") == "Timestamp" and logical.get("timeUnit") != "microseconds":
        return None
    if column.physical_type in _WIDTHS and isinstance(value, int) and logical.get("isSigned") is not False:
        return value.to_bytes(_WIDTHS[column.physical_type], "little", signed=True)
    if column.physical_type != "BYTE_ARRAY" or not isinstance(value, str | bytes):
        return None
    octets = value.encode() if isinstance(value, str) else value
    return octets if len(octets) <= _MOST_BYTES else None
