"""Levels and codes, for kernels that read values."""

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef int64_t decode_levels(const uint8_t *data, int64_t size, uint8_t *out, int64_t rows) noexcept nogil
cdef int64_t decode_codes(const uint8_t *data, int64_t size, uint32_t *out, int64_t count) noexcept nogil
cdef int64_t expect_levels(int64_t found, int64_t rows) except -1
cdef int expect_codes(int64_t found, int64_t count) except -1
