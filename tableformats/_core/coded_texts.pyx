"""Texts of codes: the values of an Arrow dictionary array without the dictionary.

Parameters, everywhere
----------------------
codes : int32[n]
    The entry of each value.
offsets : int32[m + 1]
    Entry i is ``data[offsets[i]:offsets[i + 1]]``. The first need not be 0.

Raises, everywhere
------------------
ValueError
    A code has no entry; offsets descend or leave the data; an array has another length than it must have.

Notes
-----
Cost: O(n + m + bytes copied), with the GIL released. The arrays must not change during a call.
Source: Arrow columnar format, "Dictionary-encoded Layout" and "Variable-size Binary Layout".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tableformats._core.arrays cimport expect, expect_offsets

cdef enum:
    # Texts of so many bytes are copied as a block of that size, where there is room for it on both sides.
    BLOCK = 16
    MOST_BYTES = 0x7FFFFFFF


cdef int64_t expect_entries(const int32_t[::1] offsets, Py_ssize_t size) except -1:
    """How many entries there are."""
    if offsets.shape[0] < 1:
        raise ValueError("offsets has 0 entries where at least 1 is needed")
    expect_offsets(offsets, size, "offsets")
    return offsets.shape[0] - 1


def find_text_ends(const int32_t[::1] codes not None, const int32_t[::1] offsets not None, int32_t[::1] out not None):
    """Where each text ends if all follow each other: ``out`` (int32[n + 1]) gets that, from 0 on.

    Raises ValueError, too, where they have more bytes than 2^31 - 1.
    """
    cdef int64_t entries = expect_entries(offsets, MOST_BYTES), total = 0
    cdef Py_ssize_t i, count = codes.shape[0], bad = -1
    expect(out.shape[0], count + 1, "out")
    out[0] = 0
    with nogil:
        for i in range(count):
            if <uint32_t>codes[i] >= entries:
                bad = i
                break
            total += offsets[codes[i] + 1] - offsets[codes[i]]
            if total > MOST_BYTES:
                break
            out[i + 1] = <int32_t>total
    if bad >= 0:
        raise ValueError(f"codes[{bad}] is {codes[bad]}: there are {entries} entries")
    if total > MOST_BYTES:
        raise ValueError(f"the texts have more than {MOST_BYTES} bytes")


cdef bint are_blocks(const int32_t[::1] offsets, int64_t size) noexcept nogil:
    """Whether no entry is longer than a block, and there is room for a block from the beginning of each one."""
    cdef Py_ssize_t i
    for i in range(offsets.shape[0] - 1):
        if offsets[i + 1] - offsets[i] > BLOCK or offsets[i] + BLOCK > size:
            return False
    return True


def copy_coded_texts(const int32_t[::1] codes not None, const int32_t[::1] offsets not None,
                     const uint8_t[::1] data not None, uint8_t[::1] out not None):
    """``out`` gets the texts one behind another, which fill it."""
    cdef int64_t size = data.shape[0], room = out.shape[0], at = 0, start, length
    cdef int64_t entries = expect_entries(offsets, size)
    cdef const uint8_t *source = &data[0] if size else NULL
    cdef uint8_t *target = &out[0] if room else NULL
    cdef Py_ssize_t i = 0, count = codes.shape[0], bad = -1
    with nogil:
        if are_blocks(offsets, size):
            while i < count and at + BLOCK <= room and <uint32_t>codes[i] < entries:
                memcpy(target + at, source + offsets[codes[i]], BLOCK)
                at += offsets[codes[i] + 1] - offsets[codes[i]]
                i += 1
        for i in range(i, count):
            if <uint32_t>codes[i] >= entries:
                bad = i
                break
            start = offsets[codes[i]]
            length = offsets[codes[i] + 1] - start
            if length > room - at:
                at = room + 1
                break
            if length:
                memcpy(target + at, source + start, length)
            at += length
    if bad >= 0:
        raise ValueError(f"codes[{bad}] is {codes[bad]}: there are {entries} entries")
    if at != room:
        raise ValueError(f"the texts do not fill {room} bytes")
