"""The head of a page, for kernels that read its values."""

from libc.stdint cimport int64_t, uint8_t


cdef struct _Place:
    Py_ssize_t start, stop  # in the bytes that are read; below 0: nowhere


cdef class PageHead:
    cdef readonly object block
    cdef const uint8_t[::1] octets  # of the block
    cdef readonly Py_ssize_t start, body_start, stop
    cdef readonly int64_t kind, size, rows, encoding, level_encoding, level_bytes, repetition_bytes
    cdef readonly bint is_stored_plain
    cdef public object cached
    cdef _Place least, greatest
    cdef int64_t null_count

    cdef bytes bound(self, _Place place)
