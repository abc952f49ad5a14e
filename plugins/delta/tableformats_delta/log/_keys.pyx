"""Builds file keys from string buffers, without a Python object per file; see ``file_keys.py``."""

import numpy as np
import pyarrow as pa

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcpy

from tableformats.plugin.arrays cimport expect, expect_offsets


def holds_any(const uint8_t[::1] data not None, bytes octets not None):
    """Whether ``data`` (uint8[n]) has one of ``octets``. Cost: O(n) per octet, GIL released."""
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
    """Append endings to some of n texts.

    Parameters
    ----------
    offsets : int32[n + 1], data : uint8[any]
        The texts: the buffers of an Arrow string array.
    rows : int64[m]
        The texts that get an ending, ascending.
    ending_offsets : int32[m + 1], endings : uint8[any]
        The endings, one for each of ``rows``.

    Returns
    -------
    int32[n + 1], uint8[any]
        The new texts, in the same form.

    Raises
    ------
    ValueError
        Offsets descend or exceed the data; rows do not ascend or are out of range; or there are not m endings.
    OverflowError
        The new texts exceed 2 GiB.

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
    # Arrow's pool reuses the memory of earlier batches; new memory takes as long to clear as to fill.
    ends, into = np.empty(n + 1, np.int32), np.frombuffer(pa.allocate_buffer(max(size, 1)), np.uint8)
    cdef int32_t[::1] places = ends
    cdef uint8_t[::1] out = into
    with nogil:
        places[0] = 0
        for i in range(m + 1):  # copies the texts up to the next one with an ending, then that ending
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
