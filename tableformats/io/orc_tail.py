"""Read an ORC file's tail: its stripes, and whether Arrow reads its timestamps correctly.

Arrow reads ORC timestamps as nanoseconds from 1970 without a check: values before 1677 or after 2262 wrap around. The
file's statistics bound its values, so they can rule that out. A plain timestamp is a wall clock in the zone of its
writer. Only where that zone is UTC, as in files of Iceberg's writers, is it the same as an instant, and independent
of the machine's zone tables.
Source: ORC specification v1, "File Tail", "Column Statistics", "Stripe Footer"; orc_proto.proto.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from ..schema.datetimes import DAY_S
from .compression import inflate

__all__ = ["OrcTail"]

MAX_TAIL_BYTES = 64 << 20
"""Of each part of a tail. Arrow has read the whole tail before, within its own limits. A greater part is no error in
itself, but nothing is known of that tail."""
_CODECS = {0: "null", 1: "deflate", 2: "snappy", 5: "zstandard"}
_UTC = frozenset(("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z"))
# Two days less than what 64 bits of nanoseconds hold: bounds may be in the writer's zone.
_MAX_MILLIS = 2**63 // 10**6 - 2 * DAY_S * 1000
_TIMESTAMP = 9
_DATE_STATISTICS, _TIMESTAMP_STATISTICS = 7, 9


class OrcTail:
    """The tail of the ORC file ``source``.

    Raises
    ------
    ValueError, zlib.error, OSError, pyarrow.ArrowException
        The tail is damaged.
    """

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        end = source.size() - 1
        script_size = self._bytes(end, 1)[0]
        script = _numbers(self._bytes(end - script_size, script_size))
        self._codec = _CODECS.get(script.get(2, 0))
        self._chunk = script.get(3, 0)
        self._footer = self._message(end - script_size - script.get(1, 0), script.get(1, 0))

    def stripes(self) -> list[tuple[int, int]] | None:
        """(offset, rows) of each stripe. None: the footer's compression is not supported."""
        if self._footer is None:
            return None
        found = [_numbers(message) for message in _messages(self._footer, 3)]
        return [(stripe.get(1, 0), stripe.get(5, 0)) for stripe in found]

    def timestamp_problem(self, schema: pa.Schema, names: Collection[str]) -> str | None:
        """Why Arrow may read timestamps wrongly in the top-level columns ``names`` of the file's ``schema``.

        None: it reads them correctly.
        """
        kinds = [("", pa.null()), *((field.name, kind) for field in schema for kind in _walk(field.type))]
        for number, (name, kind) in enumerate(kinds):
            if name in names and pa.types.is_timestamp(kind) and (problem := self.column_problem(number, len(kinds))):
                return problem
        return None

    def column_problem(self, column: int, columns: int) -> str | None:
        """Why Arrow may read the timestamps of one column wrongly; None: it reads them correctly.

        Parameters
        ----------
        column : int
            The column's number. The file's root is 0, and columns are numbered depth first.
        columns : int
            The number of columns, with the root.
        """
        if self._footer is None:
            return "the file's statistics are compressed in a way that is not read"
        kinds = [_numbers(m).get(1, 0) for m in _messages(self._footer, 4)]
        statistics = list(_messages(self._footer, 7))
        if len(kinds) != columns or len(statistics) != columns:
            return "the file has no statistics of all its columns"
        if not _is_bounded(statistics[column]):
            return "its statistics do not tell that all values lie between the years 1678 and 2261"
        if kinds[column] == _TIMESTAMP:
            for zone in self._writer_zones():
                if zone is None or zone not in _UTC:
                    return f"they are wall clocks of the writer's time zone {zone or ''!r}"
        return None

    def least(self, column: int, columns: int) -> tuple[bool, int | None]:
        """The least value of a column of dates or timestamps. Parameters as of :meth:`column_problem`.

        Returns
        -------
        known : bool
        value : int or None
            Days, or milliseconds in UTC. None: the column has no values.
        """
        statistics = [] if self._footer is None else list(_messages(self._footer, 7))
        if len(statistics) != columns:
            return False, None
        if _numbers(statistics[column]).get(1) == 0:
            return True, None
        found: dict[int, int] = {}
        for number in (_DATE_STATISTICS, _TIMESTAMP_STATISTICS):
            for message in _messages(statistics[column], number):
                found |= _numbers(message)
        # Fields 3 and 4 of timestamp statistics are in UTC. Fields 1 and 2, of old writers, are wall clocks.
        bounds = [(found[k] >> 1) ^ -(found[k] & 1) for k in (1, 3) if k in found]
        return bool(bounds), min(bounds, default=None)

    def _writer_zones(self) -> Iterator[str | None]:
        assert self._footer is not None
        for message in _messages(self._footer, 3):
            stripe = _numbers(message)
            start = stripe.get(1, 0) + stripe.get(2, 0) + stripe.get(3, 0)
            footer = self._message(start, stripe.get(4, 0))
            yield None if footer is None else b"".join(_messages(footer, 3)).decode(errors="replace")

    def _bytes(self, start: int, size: int) -> bytes:
        if start < 0 or size < 0 or size > MAX_TAIL_BYTES:
            raise ValueError("the file's tail is damaged")
        self._source.seek(start)
        data: bytes = self._source.read(size)
        if len(data) != size:
            raise ValueError("the file's tail is cut short")
        return data

    def _message(self, start: int, size: int) -> bytes | None:
        """A part of the tail, inflated. None: its codec is not supported."""
        data = self._bytes(start, size)
        if self._codec in (None, "null"):
            return data if self._codec else None
        parts, at, total = [], 0, 0
        while at < len(data):
            head = int.from_bytes(data[at : at + 3], "little")
            chunk = data[at + 3 : at + 3 + (head >> 1)]
            inflated = chunk if head & 1 else inflate(self._codec, chunk, min(self._chunk, MAX_TAIL_BYTES))
            at += 3 + (head >> 1)
            total += len(inflated or b"")
            if inflated is None or at > len(data) or total > MAX_TAIL_BYTES:
                raise ValueError("the file's tail is damaged")
            parts.append(inflated)
        return b"".join(parts)


def _walk(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The type and all types inside it, in the order in which ORC numbers its columns."""
    yield kind
    if pa.types.is_map(kind):
        below = [kind.key_field, kind.item_field]
    else:
        below = [kind.field(i) for i in range(kind.num_fields)]
    for field in below:
        yield from _walk(field.type)


def _is_bounded(statistics: bytes) -> bool:
    """Whether a column has no values, or has bounds (milliseconds) that fit into 64 bits of nanoseconds."""
    if _numbers(statistics).get(1) == 0:
        return True
    found: dict[int, int] = {}
    for message in _messages(statistics, 9):
        found |= _numbers(message)
    bounds = {k: (v >> 1) ^ -(v & 1) for k, v in found.items() if k in (1, 2, 3, 4)}
    complete = {1, 2} <= bounds.keys() or {3, 4} <= bounds.keys()
    return complete and all(-_MAX_MILLIS < bound < _MAX_MILLIS for bound in bounds.values())


# ---- protocol buffers -----------------------------------------------------------------------------------------------


def _numbers(message: bytes) -> dict[int, int]:
    """The integer fields of a message by number. Of repeated fields the last one counts."""
    return {number: value for number, value in _fields(message) if isinstance(value, int)}


def _messages(message: bytes, wanted: int) -> Iterator[bytes]:
    return (value for number, value in _fields(message) if number == wanted and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields with their numbers. Fixed-width fields, which nobody uses, come as bytes. Raises ValueError."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("the file's tail is no protocol buffer")
        if size > len(message) - at:
            raise ValueError("the file's tail is cut short")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise ValueError("the file's tail has a number without end")
