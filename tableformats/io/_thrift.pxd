"""The reader of structs in Thrift's compact protocol, for kernels that read structs of their own."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    TRUE = 1, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT


cdef struct _Fields:
    int64_t key, last
    uint64_t seen


cdef inline _Fields begin() noexcept:
    """The state before the first field: the seen numbers below 64 as bits, and the last of the other numbers."""
    return _Fields(0, -0x8001, 0)


cdef class _Reader:
    cdef const uint8_t[::1] _data
    cdef Py_ssize_t _at

    cdef dict struct(self, int depth, int only=*)
    cdef int field(self, _Fields *fields) except -1
    cdef int skip(self, int kind, int depth) except -1
    cdef int skip_value(self, int kind, int depth) except -1
    cdef object value(self, int kind, int depth)
    cdef tuple list(self, int depth)
    cdef uint64_t items(self, int *kind) except? 0xFFFFFFFFFFFFFFFF
    cdef int byte(self) except -1
    cdef uint64_t left(self)
    cdef int pass_over(self, uint64_t size) except -1
    cdef bytes octets(self, uint64_t size)
    cdef bytes copied(self, Py_ssize_t start, Py_ssize_t stop)
    cdef uint64_t varint(self) except? 0xFFFFFFFFFFFFFFFF
    cdef int64_t number(self) except? -1
