"""Which Parquet footers pyarrow may be asked about: :func:`has_sound_chunks`.

Arrow checks a column chunk when its metadata or its statistics are looked at, and what it throws there passes through
pyarrow and ends the process. So a footer is looked through here first, byte by byte.
Sources: parquet.thrift (FileMetaData and below); Thrift specification, "Thrift Compact protocol encoding".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._thrift import read_struct

__all__ = ["has_sound_chunks"]

# Types of values in the compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12

_REQUIRED, _OPTIONAL, _REPEATED = range(3)
_BYTE_ARRAY, _FIXED = 6, 7
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Bytes of a value of each physical type that has a fixed width of its own."""


@dataclass(frozen=True)
class _Leaf:
    """A column of values: physical type, bytes of a value (None: any), and the levels that its values can have."""

    kind: int
    width: int | None
    repetition: int
    definition: int


def has_sound_chunks(footer: bytes) -> bool:
    """Whether every column chunk says of itself what its column in the schema is; False also where none can tell.

    Parameters
    ----------
    footer : FileMetaData as the file holds it; more bytes may follow

    Notes
    -----
    Cost: O(bytes): some 15 us for each column of a row group.
    """
    try:
        whole = _Struct(read_struct(footer))
        if 8 in whole or 9 in whole:  # encrypted or signed
            return False
        leaves = _leaves(whole.list(2, _STRUCT))
        return all(_group_is_sound(group.list(1, _STRUCT), leaves) for group in whole.list(4, _STRUCT))
    except (IndexError, ValueError):
        return False


def _group_is_sound(chunks: list[_Struct], leaves: list[_Leaf]) -> bool:
    return len(chunks) == len(leaves) and all(map(_is_sound, chunks, leaves))


def _is_sound(chunk: _Struct, leaf: _Leaf) -> bool:
    """Source: parquet.thrift, ColumnChunk, ColumnMetaData, Statistics and SizeStatistics."""
    column = chunk.one(3, _STRUCT)
    if 8 in chunk or 17 in column or column.one(1, _I32) != leaf.kind:  # encrypted, with geospatial statistics
        return False
    bounds = column.one(12, _STRUCT, _NONE)
    if leaf.width is not None and any(len(bounds.one(k, _BINARY)) != leaf.width for k in (1, 2, 5, 6) if k in bounds):
        return False
    sizes = column.one(16, _STRUCT, _NONE)
    if 1 in sizes and leaf.kind != _BYTE_ARRAY:
        return False
    levels = ((2, leaf.repetition), (3, leaf.definition))
    return all(len(sizes.list(key, _I64)) in (0, highest + 1) for key, highest in levels if key in sizes)


def _leaves(schema: list[_Struct]) -> list[_Leaf]:
    """The leaves of a schema, whose elements stand depth first. Source: parquet.thrift, SchemaElement."""
    found = []
    above = [(schema[0].one(5, _I32), 0, 0)]
    for element in schema[1:]:
        while not above[-1][0]:
            above.pop()
        left, repetition, definition = above.pop()
        above.append((left - 1, repetition, definition))
        repeats, children = element.one(3, _I32), element.one(5, _I32, 0)
        if repeats not in (_REQUIRED, _OPTIONAL, _REPEATED) or children < 0:
            raise ValueError("an element of the schema is none")
        repetition, definition = repetition + (repeats == _REPEATED), definition + (repeats != _REQUIRED)
        if children:
            above.append((children, repetition, definition))
        else:
            kind = element.one(1, _I32)
            width = element.one(2, _I32) if kind == _FIXED else _WIDTHS.get(kind)
            found.append(_Leaf(kind, width, repetition, definition))
    return found


class _Struct:
    """The fields of a Thrift struct. Readers pass over fields of another type than theirs; here these are damage."""

    def __init__(self, fields: dict[int, tuple[int, Any]]) -> None:
        self._fields = fields

    def __contains__(self, key: int) -> bool:
        return key in self._fields

    def one(self, key: int, kind: int, missing: Any = None) -> Any:
        """The value of a field; ``missing`` where there is none. Raises ValueError."""
        found, value = self._fields.get(key, (kind, missing))
        if found != kind or value is None:
            raise ValueError("a field is missing, or of another type")
        return _Struct(value) if isinstance(value, dict) else value

    def list(self, key: int, kind: int) -> list[Any]:
        """The values of a list of values of this type. Raises ValueError."""
        of, values = self.one(key, _LIST)
        if of != kind:
            raise ValueError("a list is of another type")
        return [_Struct(value) for value in values] if kind == _STRUCT else values


_NONE = _Struct({})
