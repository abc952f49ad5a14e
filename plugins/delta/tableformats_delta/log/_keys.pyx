"""File keys from texts, without a Python object a file: see ``file_keys``."""

import numpy as np
import pyarrow as pa

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcpy

from tableformats.plugin.arrays cimport expect, expect_offsets


def holds_any(const uint8_t[::1] data not None, bytes octets not None):
    """Whether one of ``octets`` stands in ``data`` (uint8[n]). Cost: O(n) an octet, GIL released."""
    cdef Py_ssize_t n = data.shape[0]
    cdef const uint8_t[::1] wanted = octets
    cdef Py_ssize_t i
    cdef bint found = False
    if n:
        with nogil:
            for i in range(wanted.shape[0]):
                found = found or memchr(&data[0], wanted[i], n) is not NULL
    return found


def with_endings(const int32_t[::1] offsets not None, const uint8_t[::1] data not None, const int64_t[::1] rows not None,
                 const int32_t[::1] ending_offsets not None, const uint8_t[::1] endings not None):
    """Texts, some of them with an ending.

    Parameters
    ----------
    offsets : int32[n + 1], data : uint8[any]   the texts, as an Arrow string array has them
    rows : int64[m], ascending   the texts that get an ending
    ending_offsets : int32[m + 1], endings : uint8[any]   the ending of each of them

    Returns
    -------
    int32[n + 1], uint8[any] likewise

    Raises
    ------
    ValueError : offsets descend or leave the data; rows do not ascend or are none; there are other endings than rows
    OverflowError : more than 2 GiB of texts

    Notes
    -----
    Cost: O(bytes), GIL released.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, m = rows.shape[0], i
    cdef int64_t first, size, ending = 0, before = -1, at = 0, text = 0, start, row, taken
    expect_offsets(offsets, data.shape[0], "offsets")
    expect_offsets(ending_offsets, endings.shape[0], "ending_offsets")
    expect(ending_offsets.shape[0], m + 1, "ending_offsets")
    for i in range(m):
        if rows[i] <= before or rows[i] >= n:
            raise ValueError(f"rows must ascend, from 0 to {n - 1}")
        before = rows[i]
    if n < 1:
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    first = offsets[0]
    size = offsets[n] - first + ending_offsets[m] - ending_offsets[0]
    if size > INT32_MAX:
        raise OverflowError("the keys of a batch take more than 2 GiB")
    # From Arrow's pool, which has what the batch before let go of: new memory takes as long to clear as to fill.
    ends, into = np.empty(n + 1, np.int32), np.frombuffer(pa.allocate_buffer(max(size, 1)), np.uint8)
    cdef int32_t[::1] places = ends
    cdef uint8_t[::1] out = into
    with nogil:
        places[0] = 0
        for i in range(m + 1):  # the texts up to the one that gets the next ending, and that ending
            start = text
            text = rows[i] + 1 if i < m else n
            taken = offsets[text] - offsets[start]
            if taken:
                memcpy(&out[at], &data[offsets[start]], taken)
            for row in range(start, text):
                places[row + 1] = <int32_t>(offsets[row + 1] - first + ending)
            at += taken
            if i < m:
                taken = ending_offsets[i + 1] - ending_offsets[i]
                if taken:
                    memcpy(&out[at], &endings[ending_offsets[i]], taken)
                at += taken
                ending += taken
                places[text] += <int32_t>taken
    return ends, into
