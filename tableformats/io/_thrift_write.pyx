"""Writes structs in Thrift's compact protocol: the inverse of ``_thrift.read_struct``.

Source: Thrift specification, "Thrift Compact protocol encoding".
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef enum:
    TRUE = 1, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT
    MAX_DEPTH = 16


cdef class _Writer:
    """Writes values one after another. Raises ValueError for what :func:`read_struct` does not give."""

    cdef uint8_t *_data
    cdef size_t _size, _room

    def __dealloc__(self):
        free(self._data)

    cdef bytes written(self):
        return (<const char *>self._data)[: self._size]

    cdef int struct(self, dict fields, int depth) except -1:
        cdef int64_t key, last = 0
        cdef int kind
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        for number, (of, value) in fields.items():
            key, kind = number, of
            if TRUE <= kind <= FALSE:  # the type of a field is its value
                kind = TRUE if value else FALSE
            if 0 < key - last <= 15:
                self.byte(<int>(key - last) << 4 | kind)
            else:
                self.byte(kind)
                self.number(key)
            last = key
            if kind > FALSE:
                self.value(kind, value, depth)
        return self.byte(0)

    cdef int value(self, int kind, object value, int depth) except -1:
        cdef bytes octets
        if I16 <= kind <= I64:
            return self.number(value)
        if kind == STRUCT:
            return self.struct(value, depth + 1)
        if kind == LIST or kind == SET:
            return self.list(value[0], value[1], depth + 1)
        if kind == BINARY or kind == DOUBLE:
            octets = value
            if kind == BINARY:
                self.varint(<uint64_t>len(octets))
            return self.octets(octets, len(octets))
        if TRUE <= kind <= BYTE:  # a list's booleans take a byte each
            return self.byte(value)
        raise ValueError("a type that footers do not have")

    cdef int list(self, int kind, list values, int depth) except -1:
        cdef uint64_t size = <uint64_t>len(values)
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        if size < 15:
            self.byte(<int>size << 4 | kind)
        else:
            self.byte(0xF0 | kind)
            self.varint(size)
        for value in values:
            self.value(kind, value, depth)
        return 0

    cdef int byte(self, int value) except -1:
        self.reserve(1)
        self._data[self._size] = <uint8_t>(value & 0xFF)
        self._size += 1
        return 0

    cdef int octets(self, const uint8_t *data, size_t size) except -1:
        self.reserve(size)
        memcpy(self._data + self._size, data, size)
        self._size += size
        return 0

    cdef int varint(self, uint64_t value) except -1:
        while value >= 0x80:
            self.byte(<int>(value & 0x7F) | 0x80)
            value >>= 7
        return self.byte(<int>value)

    cdef int number(self, int64_t value) except -1:
        return self.varint((<uint64_t>value << 1) ^ (<uint64_t>-1 if value < 0 else 0))

    cdef int reserve(self, size_t more) except -1:
        cdef size_t room
        cdef uint8_t *data
        if self._room - self._size < more:
            room = 2 * (self._size + more) + 64
            data = <uint8_t *>realloc(self._data, room)
            if data == NULL:
                raise MemoryError()
            self._data, self._room = data, room
        return 0


def write_struct(dict fields not None):
    """Write a struct.

    Parameters
    ----------
    fields : dict of int to (int, value)
        Type and value by field number, as :func:`tableformats.io._thrift.read_struct` gives them.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        A type that footers do not have, or values nested too deeply.
    TypeError, OverflowError
        A value is not of its type.

    Notes
    -----
    Cost: O(bytes). Numbers are written in as few bytes as they need, so what a usual writer wrote is written the same.
    """
    cdef _Writer writer = _Writer()
    writer.struct(fields, 0)
    return writer.written()
