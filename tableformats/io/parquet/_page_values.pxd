"""Pages, for kernels that read their values."""

from libc.stdint cimport int64_t


cdef int64_t count_rows(list pages) except -1
