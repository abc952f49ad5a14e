"""Row groups of Parquet files as bytes: what a footer says of them, and files that are made of row groups of others.

Nothing is decoded. A row group is moved as it is, and the offsets in its part of the footer are moved with it. So only
footers are read here whose every field is known not to hold another offset: no encryption, no page index, no bloom
filter, no column chunk in another file. Source: parquet.thrift, FileMetaData and below.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ...dataclass import dataclass
from .._thrift import read_struct
from .._thrift_write import write_struct

__all__ = ["GroupFile", "ParquetFooter", "StoredGroup"]

Fields = dict[int, tuple[int, Any]]
_MAGIC = b"PAR1"
_END_BYTES = 8
"""The size of the footer and the magic number, which follow it."""
_I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 4, 5, 6, 8, 9, 12

_VERSION, _SCHEMA, _ROWS, _GROUPS, _PAIRS, _CREATED_BY, _ORDERS = range(1, 8)
_FILE = {
    _VERSION: _I32,
    _SCHEMA: _LIST,
    _ROWS: _I64,
    _GROUPS: _LIST,
    _PAIRS: _LIST,
    _CREATED_BY: _BINARY,
    _ORDERS: _LIST,
}
_PAIR = {1: _BINARY, 2: _BINARY}
_COLUMNS, _BYTES, _GROUP_ROWS, _SORTING, _GROUP_START, _STORED_BYTES, _ORDINAL = range(1, 8)
_GROUP = {
    _COLUMNS: _LIST,
    _BYTES: _I64,
    _GROUP_ROWS: _I64,
    _SORTING: _LIST,
    _GROUP_START: _I64,
    _STORED_BYTES: _I64,
    _ORDINAL: _I16,
}
_CHUNK_START, _CHUNK_DATA = 2, 3
_CHUNK = {_CHUNK_START: _I64, _CHUNK_DATA: _STRUCT}
_CHUNK_BYTES, _DATA_PAGE, _DICTIONARY_PAGE = 7, 9, 11
_DATA = {
    **{1: _I32, 2: _LIST, 3: _LIST, 4: _I32, 5: _I64, 6: _I64, _CHUNK_BYTES: _I64},
    **{_DATA_PAGE: _I64, _DICTIONARY_PAGE: _I64, 12: _STRUCT, 13: _LIST, 16: _STRUCT},
}


@dataclass(frozen=True)
class StoredGroup:
    """A row group.

    Attributes
    ----------
    start, size : int
        Its bytes in the file: its column chunks, one after another.
    rows : int
    """

    start: int
    size: int
    rows: int
    _fields: Fields

    @classmethod
    def of(cls, fields: Fields) -> StoredGroup:
        """Raises ValueError where the column chunks do not follow each other, or a field is not known."""
        _check(fields, _GROUP, (_COLUMNS, _GROUP_ROWS))
        start = end = 0
        for chunk in _structs(fields, _COLUMNS):
            _check(chunk, _CHUNK, _CHUNK)
            data = chunk[_CHUNK_DATA][1]
            _check(data, _DATA, (_CHUNK_BYTES, _DATA_PAGE))
            offsets = [data[key][1] for key in (_DATA_PAGE, _DICTIONARY_PAGE) if key in data]
            first, size = min(offsets), data[_CHUNK_BYTES][1]
            start, end = (start, end) if end else (first, first)
            if first != end or size <= 0 or first < len(_MAGIC) or max(offsets) >= first + size:
                raise ValueError("the column chunks of a row group do not follow each other")
            end += size
        rows = fields[_GROUP_ROWS][1]
        if rows <= 0 or not end:
            raise ValueError("a row group is empty")
        return cls(start, end - start, rows, fields)

    def fields_at(self, start: int) -> Fields:
        """What a footer says of the row group where its bytes begin at ``start``.

        The ordinal is left out: only encrypted files need it.
        """
        by = start - self.start
        chunks = []
        for chunk in _structs(self._fields, _COLUMNS):
            data = chunk[_CHUNK_DATA][1]
            moved = {key: (_I64, data[key][1] + by) for key in (_DATA_PAGE, _DICTIONARY_PAGE) if key in data}
            at = chunk[_CHUNK_START][1]
            # Writers of today store no offset here, as it was of no use.
            chunks.append({_CHUNK_START: (_I64, at and at + by), _CHUNK_DATA: (_STRUCT, {**data, **moved})})
        found = {**self._fields, _COLUMNS: (_LIST, (_STRUCT, chunks))}
        if _GROUP_START in found:
            found[_GROUP_START] = _I64, found[_GROUP_START][1] + by
        found.pop(_ORDINAL, None)
        return found


@dataclass(frozen=True)
class ParquetFooter:
    """A footer.

    Attributes
    ----------
    groups : sequence of StoredGroup
        In the order of their bytes.
    pairs : mapping of bytes to bytes
        The key-value metadata.
    frame : dict
        All else: version, schema, writer and the order of bounds. Row groups of two files whose frames are equal may
        stand in one file.
    """

    groups: Sequence[StoredGroup]
    pairs: Mapping[bytes, bytes]
    frame: Fields

    @classmethod
    def of(cls, stored: bytes, size: int) -> ParquetFooter:
        """Parse a footer.

        Parameters
        ----------
        stored : bytes
            The end of a file: the footer, its size and the magic number.
        size : int
            The bytes of the whole file.

        Raises
        ------
        ValueError
            The footer is malformed, or has a field that is not known here, or bytes that it names are not in the file.
        """
        length = _length_of(stored)
        if stored[-4:] != _MAGIC or length > len(stored) - _END_BYTES:
            raise ValueError("the file does not end with a footer")
        fields: Fields = read_struct(stored[-_END_BYTES - length :])
        _check(fields, _FILE, (_VERSION, _SCHEMA, _ROWS, _GROUPS))
        groups = [StoredGroup.of(group) for group in _structs(fields, _GROUPS)]
        end = len(_MAGIC)
        for group in groups:
            if group.start < end:
                raise ValueError("two row groups have the same bytes")
            end = group.start + group.size
        if end > size - length - _END_BYTES or fields[_ROWS][1] != sum(group.rows for group in groups):
            raise ValueError("the row groups are not those of the file")
        pairs = {}
        for pair in _structs(fields, _PAIRS) if _PAIRS in fields else ():
            _check(pair, _PAIR, (1,))
            pairs[pair[1][1]] = pair.get(2, (_BINARY, b""))[1]
        frame = {key: value for key, value in fields.items() if key not in (_ROWS, _GROUPS, _PAIRS)}
        return cls(groups, pairs, frame)

    @classmethod
    def of_file(cls, data: bytes | memoryview) -> ParquetFooter:
        """Parse the footer of a whole file. Raises ValueError."""
        view = memoryview(data)
        return cls.of(bytes(view[-min(_length_of(view) + _END_BYTES, len(view)) :]), len(view))

    def checksum(self) -> int:
        """A CRC-32 of all but the key-value metadata."""
        return zlib.crc32(_encoded(self.frame, self.groups, {}))


def _length_of(stored: bytes | memoryview) -> int:
    """The length of the footer of a file that ends with ``stored``."""
    return int.from_bytes(stored[-_END_BYTES:-4], "little")


class GroupFile:
    """A Parquet file under construction, in memory, of row groups that others wrote."""

    def __init__(self) -> None:
        self._data = bytearray(_MAGIC)
        self._groups: list[StoredGroup] = []

    def add(self, group: StoredGroup, data: memoryview) -> None:
        """Append a row group, whose bytes ``data`` are."""
        assert len(data) == group.size, "the bytes of a row group are as many as its footer says"
        start = len(self._data)
        self._groups.append(StoredGroup(start, group.size, group.rows, group.fields_at(start)))
        self._data += data

    def footer(self, frame: Fields) -> ParquetFooter:
        """The footer of the row groups so far, without key-value metadata; ``frame`` is that of their files."""
        return ParquetFooter(self._groups, {}, frame)

    def finish(self, frame: Fields, pairs: Mapping[bytes, bytes]) -> memoryview:
        """The bytes of the file, with this key-value metadata."""
        footer = _encoded(frame, self._groups, pairs)
        self._data += footer + len(footer).to_bytes(4, "little") + _MAGIC
        return memoryview(self._data)


def _encoded(frame: Fields, groups: Sequence[StoredGroup], pairs: Mapping[bytes, bytes]) -> bytes:
    rows, fields = sum(group.rows for group in groups), [group.fields_at(group.start) for group in groups]
    more: Fields = {_ROWS: (_I64, rows), _GROUPS: (_LIST, (_STRUCT, fields))}
    if pairs:
        stored = [{1: (_BINARY, key), 2: (_BINARY, value)} for key, value in pairs.items()]
        more[_PAIRS] = _LIST, (_STRUCT, stored)
    return write_struct(dict(sorted({**frame, **more}.items())))


def _check(fields: Fields, known: Mapping[int, int], needed: Any) -> None:
    """Refuse a struct with another field than ``known``, or of another type, or without a needed one."""
    for key, (kind, _) in fields.items():
        if known.get(key) != kind:
            raise ValueError("the footer has a field that is not known here")
    if not all(key in fields for key in needed):
        raise ValueError("a field is missing")


def _structs(fields: Fields, key: int) -> list[Fields]:
    kind, values = fields[key][1]
    if kind != _STRUCT and values:
        raise ValueError("a list is of another type")
    return values  # type: ignore[no-any-return]
