"""Deletion bitmaps: read rows directly from the portable 64-bit roaring serialisation, without building a bitmap.

``data`` is a contiguous buffer of unsigned bytes (bytes, memoryview, uint8 array) that holds one serialised bitmap and
nothing else. Its layout is drawn in ``csrc/tf_roaring.h``. The functions return what is in the rows
``start <= row < stop``, and allocate no more than these rows need. Each function reads and checks all bytes, so all of
them refuse the same data.

Raises, everywhere
------------------
CorruptMetadataError
    The bytes violate the format. ``offset`` is the position of the error in ``data``.
ValueError
    start < 0 or stop < start.

Notes
-----
Cost: O(bytes + stop - start), with the GIL released. The bytes must not change during a call.
Source: RoaringFormatSpec, "Extension for 64-bit implementations"; Iceberg Puffin spec, "deletion-vector-v1"; Delta
PROTOCOL.md, "Deletion Vector Format".
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tableformats._core.status cimport raise_for_status, tf_status


cdef extern from "tf_roaring.h" nogil:
    tf_status tf_roaring_summary(const uint8_t *cur, const uint8_t *end, int64_t *cardinality, int64_t *last,
                                 size_t *offset)
    tf_status tf_roaring_live(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint8_t *out,
                              size_t *offset)
    tf_status tf_roaring_words(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop, uint64_t *out,
                               size_t *offset)
    tf_status tf_roaring_positions(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop,
                                   int64_t *out, int64_t capacity, int64_t *count, size_t *offset)
    tf_status tf_roaring_ranges(const uint8_t *cur, const uint8_t *end, int64_t start, int64_t stop,
                                int64_t *starts, int64_t *lengths, int64_t capacity, int64_t *count,
                                size_t *offset)

# The address of an empty array, which has none of its own.
cdef uint8_t NOTHING[1]


cdef const uint8_t *address(const uint8_t[::1] data) noexcept:
    return &data[0] if data.shape[0] else NOTHING


cdef int expect_rows(int64_t start, int64_t stop) except -1:
    if start < 0 or stop < start:
        raise ValueError(f"rows {start} to {stop} are no range: 0 <= start <= stop is needed")
    return 0


def validate(const uint8_t[::1] data not None):
    """Check all bytes. Returns the number of positions, and the last position or -1."""
    cdef const uint8_t *cur = address(data)
    cdef Py_ssize_t size = data.shape[0]
    cdef int64_t cardinality = 0, last = -1
    cdef size_t offset = 0
    cdef tf_status status
    with nogil:
        status = tf_roaring_summary(cur, cur + size, &cardinality, &last, &offset)
        raise_for_status(status, offset)
    return cardinality, last


def live_mask(const uint8_t[::1] data not None, int64_t start, int64_t stop):
    """uint8[stop - start]: 1 where row ``start + i`` is live, 0 where it is deleted."""
    expect_rows(start, stop)
    cdef const uint8_t *cur = address(data)
    cdef Py_ssize_t size = data.shape[0]
    cdef size_t offset = 0
    cdef tf_status status
    result = np.empty(stop - start, np.uint8)
    cdef uint8_t[::1] out = result
    cdef uint8_t *rows = &out[0] if out.shape[0] else NULL
    with nogil:
        status = tf_roaring_live(cur, cur + size, start, stop, rows, &offset)
        raise_for_status(status, offset)
    return result


def words(const uint8_t[::1] data not None, int64_t start, int64_t stop):
    """uint64[ceil((stop - start) / 64)]: bit i is 1 where row ``start + i`` is deleted, 0 elsewhere.

    Bits are counted from the lowest bit of word 0. Bits past the last row are 0.
    """
    expect_rows(start, stop)
    cdef const uint8_t *cur = address(data)
    cdef Py_ssize_t size = data.shape[0]
    cdef size_t offset = 0
    cdef tf_status status
    cdef int64_t rows = stop - start
    result = np.zeros(rows // 64 + (rows % 64 != 0), np.uint64)
    cdef uint64_t[::1] out = result
    cdef uint64_t *bits = &out[0] if out.shape[0] else NULL
    with nogil:
        status = tf_roaring_words(cur, cur + size, start, stop, bits, &offset)
        raise_for_status(status, offset)
    return result


def positions(const uint8_t[::1] data not None, int64_t start, int64_t stop):
    """int64[m]: the deleted rows, ascending."""
    expect_rows(start, stop)
    cdef const uint8_t *cur = address(data)
    cdef Py_ssize_t size = data.shape[0]
    cdef int64_t count = 0
    cdef size_t offset = 0
    cdef tf_status status
    with nogil:
        status = tf_roaring_positions(cur, cur + size, start, stop, NULL, 0, &count, &offset)
        raise_for_status(status, offset)
    result = np.empty(count, np.int64)
    if count == 0:
        return result
    cdef int64_t[::1] out = result
    cdef int64_t *rows = &out[0]
    with nogil:
        status = tf_roaring_positions(cur, cur + size, start, stop, rows, count, &count, &offset)
        raise_for_status(status, offset)
    return result


def ranges(const uint8_t[::1] data not None, int64_t start, int64_t stop):
    """The maximal runs of deleted rows, ascending: starts int64[m], lengths int64[m]."""
    expect_rows(start, stop)
    cdef const uint8_t *cur = address(data)
    cdef Py_ssize_t size = data.shape[0]
    cdef int64_t count = 0
    cdef size_t offset = 0
    cdef tf_status status
    with nogil:
        status = tf_roaring_ranges(cur, cur + size, start, stop, NULL, NULL, 0, &count, &offset)
        raise_for_status(status, offset)
    starts, lengths = np.empty(count, np.int64), np.empty(count, np.int64)
    if count == 0:
        return starts, lengths
    cdef int64_t[::1] firsts = starts, sizes = lengths
    cdef int64_t *first = &firsts[0]
    cdef int64_t *length = &sizes[0]
    with nogil:
        status = tf_roaring_ranges(cur, cur + size, start, stop, first, length, count, &count, &offset)
        raise_for_status(status, offset)
    return starts, lengths
