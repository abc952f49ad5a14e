"""Row groups that do not hold what a filter looks for, by the Bloom filters of their column chunks.

A filter asks for values where it is an equality or an IN, or has one among its parts that all have to be TRUE. The
Bloom filter is asked for the stored form of each value. Where that is not certain, nothing is concluded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ....expressions import tree as ex
from ....io.parquet.bloom_filters import BLOCK_BYTES, HEAD_BYTES, BloomFilter, xxh64
from ....schema import Field, primitive
from .stored_chunks import FEWEST_REMOTE_BYTES, PAGE_ERRORS, StoredChunks

__all__ = ["lacks_values", "sought_values"]

_MOST_VALUES = 100
"""Of an IN. Each takes a hash, and a look into the file."""
_MOST_BYTES = 1 << 10
"""Longer values are not hashed."""
_WIDTHS = {"INT32": 4, "INT64": 8}
_MOST_FILTER = 1 << 20
"""A longer filter in a store is not read."""
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


def lacks_values(chunks: StoredChunks, group: int, leaf: int, field: Field, values: list[Any]) -> bool:
    """Whether no row of a row group has one of these values, of the column ``field``, which is a leaf of the file."""
    try:
        return len(values) <= _MOST_VALUES and _lacks(chunks, group, leaf, field, values)
    except PAGE_ERRORS:
        return False


def _lacks(chunks: StoredChunks, group: int, leaf: int, field: Field, values: list[Any]) -> bool:
    rows = chunks.metadata.row_group(group)
    if getattr(rows.column(leaf), "bloom_filter_offset", 1) is None:  # older pyarrow does not say
        return False
    column = chunks.column(group, leaf)
    place = None if column is None else column.bloom_filter
    if place is None:
        return False
    offset, size = place
    if chunks.is_remote and (rows.total_byte_size < FEWEST_REMOTE_BYTES or not 0 < size <= _MOST_FILTER):
        return False
    stored = [_stored(value, field, chunks.metadata.schema.column(leaf)) for value in values]
    with chunks.reading([place]) as read:
        bloom = BloomFilter(read(offset, HEAD_BYTES))
        for octets in stored:
            if octets is None:
                return False
            hashed = xxh64(octets)
            if bloom.may_hold(read(offset + bloom.block_of(hashed), BLOCK_BYTES), hashed):
                return False
    return True


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
