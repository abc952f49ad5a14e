"""What the Arrow schema that stands in a Parquet footer becomes in memory: :func:`schema_cost`.

Writers that use Arrow store its schema under the key ``ARROW:schema``, as an IPC message in base64. Arrow makes the
schema of it whenever it opens the file. In a FlatBuffer many references may lead to one table or text, so a few bytes
may stand for millions of fields, each with a copy of a long name.
Sources: Arrow, format/Schema.fbs, format/Message.fbs, "Columnar Format: Encapsulated message format"; FlatBuffers,
"Internals".
"""

from __future__ import annotations

import binascii
import struct
from functools import lru_cache

__all__ = ["schema_cost"]

_TABLE_BYTES = 400
"""About what Arrow keeps for a field, its type and their lists, or for a pair of metadata."""
_SMALL = 1024
"""Bytes of a schema that cannot become much: no more than the square of it."""
_MAX_DEPTH = 130
"""Of fields. Arrow refuses 128 levels of tables."""
# Members of tables, by their number.
_HEADER = 2
_FIELDS, _SCHEMA_PAIRS = 1, 2
_NAME, _KIND, _TYPE, _CHILDREN, _FIELD_PAIRS = 0, 2, 3, 5, 6
_KEY, _VALUE = 0, 1
_TYPE_LISTS = {10: 1, 14: 1}
"""Types with a text or a list: {type: its member}. The time zone of timestamps, the ids of unions."""


def schema_cost(stored: bytes) -> int:
    """About how many bytes Arrow needs for a schema.

    Parameters
    ----------
    stored : bytes
        The value of ``ARROW:schema``.

    Returns
    -------
    int
        0 for a schema that cannot become much, or that Arrow refuses before it makes anything.

    Raises
    ------
    ValueError
        The bytes are no schema, or one that looks at more than it has.

    Notes
    -----
    Cost: O(bytes). Files of one table have the same schema, so that the last ones are remembered.
    """
    return 0 if len(stored) <= _SMALL else _cost(stored)


@lru_cache(maxsize=16)
def _cost(stored: bytes) -> int:
    try:
        data = binascii.a2b_base64(stored)
    except binascii.Error as error:
        raise ValueError(f"ARROW:schema is no base64: {error}") from None
    # Before Arrow 0.15 a message began with its length alone.
    start = 8 if data[:4] == b"\xff\xff\xff\xff" else 4
    try:
        return _Schema(data[start:]).cost()
    except (struct.error, RecursionError):
        raise ValueError("ARROW:schema is cut short") from None


class _Schema:
    """Adds up what the tables of an IPC message cost. Raises struct.error where an offset leads out of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._fields: dict[int, int] = {}
        self._pairs: dict[int, int] = {}
        self._left = len(data)
        """Every reference takes four bytes, so that there are fewer than bytes, unless lists overlap."""

    def cost(self) -> int:
        header = self._reference(self._member(self._reference(0), _HEADER))
        return self._list(header, _FIELDS, 0) + self._metadata(header, _SCHEMA_PAIRS)

    def _field(self, table: int, depth: int) -> int:
        if table not in self._fields:
            if depth > _MAX_DEPTH:
                raise ValueError("ARROW:schema is nested too deeply")
            cost = _TABLE_BYTES + self._length(table, _NAME) + self._metadata(table, _FIELD_PAIRS)
            kind, type_ = self._member(table, _KIND), self._member(table, _TYPE)
            member = _TYPE_LISTS.get(self._unpack("<B", kind)) if kind else None
            if member is not None and type_:
                cost += self._length(self._reference(type_), member)
            self._fields[table] = cost + self._list(table, _CHILDREN, depth + 1)
        return self._fields[table]

    def _list(self, table: int, member: int, depth: int) -> int:
        return sum(self._field(each, depth) for each in self._references(table, member))

    def _metadata(self, table: int, member: int) -> int:
        return sum(self._pair(each) for each in self._references(table, member))

    def _pair(self, table: int) -> int:
        if table not in self._pairs:
            self._pairs[table] = _TABLE_BYTES + self._length(table, _KEY) + self._length(table, _VALUE)
        return self._pairs[table]

    # ---- FlatBuffers ------------------------------------------------------------------------------------------------

    def _unpack(self, form: str, at: int) -> int:
        if at < 0:
            raise struct.error
        found: int = struct.unpack_from(form, self._data, at)[0]
        return found

    def _reference(self, at: int) -> int:
        return at + self._unpack("<I", at)

    def _member(self, table: int, number: int) -> int:
        """The place of a table's member; 0 where there is none."""
        virtual = table - self._unpack("<i", table)
        at = 4 + 2 * number
        if at >= self._unpack("<H", virtual):
            return 0
        offset = self._unpack("<H", virtual + at)
        return table + offset if offset else 0

    def _length(self, table: int, member: int) -> int:
        """The length of a text or list of numbers; 0 where there is none."""
        at = self._member(table, member)
        return self._unpack("<I", self._reference(at)) if at else 0

    def _references(self, table: int, member: int) -> list[int]:
        """The tables of a list."""
        at = self._member(table, member)
        if not at:
            return []
        start = self._reference(at)
        count = self._unpack("<I", start)
        self._left -= 4 * count
        if self._left < 0:
            raise ValueError("the lists of ARROW:schema overlap")
        offsets = struct.unpack_from(f"<{count}I", self._data, start + 4)
        return [start + 4 + 4 * i + offset for i, offset in enumerate(offsets)]
