"""Leaves integers out that are keys, for kernels that read values."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tableformats._core.key_filter cimport KeyTable


cdef class KeyDrop:
    cdef const uint64_t[::1] bits
    cdef const int64_t[::1] keys
    cdef int64_t[::1] places
    cdef KeyTable table
    # How many values were looked at, how many of these are keys, and the first key that the next value may be.
    cdef int64_t seen, count, next_key
    cdef bint is_exact

    cdef int64_t leave(self, uint8_t *values, int width, uint8_t *levels, int64_t start, int64_t stop) noexcept nogil
    cdef void find(self, const uint8_t *values, int width, int64_t start, int64_t stop) noexcept nogil
    cdef void merge(self, const uint8_t *values, int width, int64_t at, int64_t stop) noexcept nogil
    cdef int64_t first_key(self, int64_t value) noexcept nogil
    cdef void look_up(self, const uint8_t *values, int width, int64_t start, int64_t stop) noexcept nogil
    cdef int64_t defined(self, const uint8_t *levels, int64_t first) noexcept nogil
