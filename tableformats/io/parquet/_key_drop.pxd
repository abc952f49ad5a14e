"""Leaves integers out that are keys, for kernels that read values."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tableformats._core.key_filter cimport KeyTable


cdef class KeyDrop:
    cdef const uint64_t[::1] bits
    cdef const int64_t[::1] keys
    cdef int64_t[::1] places
    cdef KeyTable table
    cdef int64_t seen, count

    cdef int64_t leave(self, uint8_t *values, int width, uint8_t *levels, int64_t start, int64_t stop) noexcept nogil
    cdef int64_t kept(self, uint8_t *values, int width, uint8_t *levels, int64_t first) noexcept nogil
