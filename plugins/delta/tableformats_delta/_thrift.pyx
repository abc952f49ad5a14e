"""Structs in Thrift's compact protocol, from bytes that nobody vouches for: see ``parquet_footers``.

Source: Thrift specification, "Thrift Compact protocol encoding".
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    TRUE = 1, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT
    MAX_DEPTH = 16


cdef class _Reader:
    """Values one after the other. Raises ValueError where there are none."""

    cdef const uint8_t[::1] _data
    cdef bytes _octets
    cdef Py_ssize_t _at

    def __init__(self, bytes octets not None):
        self._octets = octets
        self._data = octets
        self._at = 0

    cdef dict struct(self, int depth):
        cdef int head, kind
        cdef int64_t key = 0
        cdef dict found = {}
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        while True:
            head = self.byte()
            if not head:
                return found
            key = key + (head >> 4) if head >> 4 else self.number()
            kind = head & 0x0F
            if not -0x8000 <= key <= 0x7FFF:
                raise ValueError("a field has a number of more than 16 bits")
            if key in found:
                raise ValueError("a field stands twice")
            found[key] = kind, (kind == TRUE if TRUE <= kind <= FALSE else self.value(kind, depth))

    cdef object value(self, int kind, int depth):
        if I16 <= kind <= I64:
            return self.number()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == LIST or kind == SET:
            return self.list(depth + 1)
        if kind == BINARY:
            return self.octets(self.varint())
        if kind == DOUBLE:
            return self.octets(8)
        if TRUE <= kind <= BYTE:  # a list's booleans take a byte each
            return self.byte()
        raise ValueError("a type that footers do not have")

    cdef tuple list(self, int depth):
        cdef int head = self.byte()
        cdef uint64_t size = head >> 4 if head >> 4 != 15 else self.varint(), i
        cdef list values = []
        if size > <uint64_t>(self._data.shape[0] - self._at):  # every value takes a byte at least
            raise ValueError("a list is longer than the bytes")
        for i in range(size):
            values.append(self.value(head & 0x0F, depth))
        return head & 0x0F, values

    cdef int byte(self) except -1:
        if self._at >= self._data.shape[0]:
            raise ValueError("cut short")
        self._at += 1
        return self._data[self._at - 1]

    cdef bytes octets(self, uint64_t size):
        if size > <uint64_t>(self._data.shape[0] - self._at):
            raise ValueError("cut short")
        self._at += <Py_ssize_t>size
        return self._octets[self._at - <Py_ssize_t>size : self._at]

    cdef uint64_t varint(self) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t value = 0
        cdef int shift, byte
        for shift in range(0, 64, 7):
            byte = self.byte()
            if shift == 63 and byte > 1:
                break
            value |= <uint64_t>(byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number is too long")

    cdef int64_t number(self) except? -1:
        cdef uint64_t value = self.varint()
        return <int64_t>((value >> 1) ^ (0 - (value & 1)))


def read_struct(bytes octets not None):
    """The struct that ``octets`` begin with; more may follow.

    Returns
    -------
    {field: (type, value)}: values are bool, int, bytes (also a double's), a dict likewise, or (type, list) of a list or
    set

    Raises
    ------
    ValueError : it is cut short or nested too deeply, a field stands twice or is a map, a number has too many bits

    Notes
    -----
    Cost: O(bytes); memory some hundred times that at most.
    """
    return _Reader(octets).struct(0)
