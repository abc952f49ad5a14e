"""Runs of rows; and the buffers of an Arrow column without the rows at some positions.

Few rows are deleted as a rule, so what lies between two of them is copied in one go, and nothing is done for each row
that stays.

Parameters, everywhere
----------------------
dropped : int64[m]
    The positions of the rows that go, strictly ascending, each from 0 to below the number of rows.

Raises, everywhere
------------------
ValueError
    ``dropped`` is not strictly ascending, or names no row; an array has another length than it must have.

Notes
-----
Cost: O(bytes copied + m), with the GIL released. The arrays must not change during a call.
Source: Arrow columnar format, "Fixed-Size Primitive Layout", "Variable-size Binary Layout".
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from tableformats._core.arrays cimport expect, expect_offsets, offset_t

cdef extern from "tf_bytes.h" nogil:
    uint64_t tf_load64(const uint8_t *p)
    unsigned tf_trailing_zeros(uint64_t v)


cdef int expect_positions(const int64_t[::1] dropped, int64_t rows) except -1:
    cdef Py_ssize_t i, bad = -1
    cdef int64_t previous = -1
    with nogil:
        for i in range(dropped.shape[0]):
            if dropped[i] <= previous or dropped[i] >= rows:
                bad = i
                break
            previous = dropped[i]
    if bad >= 0:
        raise ValueError(f"dropped[{bad}] is {dropped[bad]}: it does not ascend, or is none of the {rows} rows")
    return 0


def drop_values(const uint8_t[::1] values not None, int64_t width, const int64_t[::1] dropped not None,
                uint8_t[::1] out not None):
    """Values of ``width`` bytes each: ``out`` (uint8[(n - m) * width]) gets those that stay.

    ``values`` is uint8[n * width].
    """
    if width < 1 or values.shape[0] % width:
        raise ValueError(f"{values.shape[0]} bytes are no values of {width} bytes")
    cdef int64_t rows = values.shape[0] // width
    cdef Py_ssize_t count = dropped.shape[0], i
    expect_positions(dropped, rows)
    expect(out.shape[0], (rows - count) * width, "out")
    if out.shape[0] == 0:
        return
    cdef uint8_t *target = &out[0]
    cdef int64_t first = 0, stop, size
    with nogil:
        for i in range(count + 1):
            stop = dropped[i] if i < count else rows
            size = (stop - first) * width
            if size:
                memcpy(target, &values[first * width], size)
                target += size
            first = stop + 1


cdef int copy_texts(const offset_t[::1] offsets, const uint8_t[::1] data, const int64_t[::1] dropped,
                    offset_t[::1] out_offsets, uint8_t[::1] out) except -1:
    """drop_texts for offsets of one width."""
    cdef Py_ssize_t count = dropped.shape[0], i
    cdef int64_t rows = offsets.shape[0] - 1
    if rows < 0:
        raise ValueError("offsets has 0 entries where at least 1 is needed")
    expect_positions(dropped, rows)
    expect_offsets(offsets, data.shape[0], "offsets")
    expect(out_offsets.shape[0], rows - count + 1, "out_offsets")
    cdef int64_t kept = offsets[rows] - offsets[0]
    for i in range(count):
        kept -= offsets[dropped[i] + 1] - offsets[dropped[i]]
    expect(out.shape[0], kept, "out")
    cdef uint8_t *target = &out[0] if kept else NULL
    cdef offset_t *ends = &out_offsets[0]
    cdef offset_t shift = offsets[0]
    cdef int64_t first = 0, stop, row, size
    with nogil:
        for i in range(count + 1):
            stop = dropped[i] if i < count else rows
            for row in range(first, stop):
                ends[0] = offsets[row] - shift
                ends += 1
            size = offsets[stop] - offsets[first] if stop > first else 0
            if size:
                memcpy(target, &data[offsets[first]], size)
                target += size
            if stop < rows:
                shift += offsets[stop + 1] - offsets[stop]
            first = stop + 1
        ends[0] = offsets[rows] - shift
    return 0


def drop_texts(offsets not None, const uint8_t[::1] data not None, const int64_t[::1] dropped not None,
               out_offsets not None, uint8_t[::1] out not None):
    """Values of different lengths: ``out_offsets`` and ``out`` get those that stay.

    Parameters
    ----------
    offsets : int32[n + 1] or int64[n + 1]
        Value i is ``data[offsets[i]:offsets[i + 1]]``. The first need not be 0.
    data : uint8[any]
    dropped : int64[m]
    out_offsets : like offsets, [n - m + 1]
        Written; the first is 0.
    out : uint8[bytes of the values that stay]
        Written.

    Raises
    ------
    ValueError
        Also if offsets descend or leave the data.
    """
    cdef const int64_t[::1] wide
    cdef const int32_t[::1] narrow
    cdef int64_t[::1] out_wide
    cdef int32_t[::1] out_narrow
    if offsets.itemsize == sizeof(int64_t):
        wide, out_wide = offsets, out_offsets
        copy_texts(wide, data, dropped, out_wide, out)
    else:
        narrow, out_narrow = offsets, out_offsets
        copy_texts(narrow, data, dropped, out_narrow, out)


def drop_from_runs(const int64_t[:, ::1] runs not None, const int64_t[::1] dropped not None,
                   int64_t[:, ::1] out not None):
    """Runs of rows without those dropped: they begin ``out`` (int64[k + m, 2]); returns how many they are.

    What follows them in ``out`` is arbitrary. ``runs`` is int64[k, 2]: the first row and that after the last one;
    ascending, apart, none empty. The rows of ``dropped`` may be any from 0 on.
    """
    expect(runs.shape[1], 2, "a run")
    expect(out.shape[1], 2, "a run of out")
    expect(out.shape[0], runs.shape[0] + dropped.shape[0], "out")
    expect_positions(dropped, INT64_MAX)
    cdef Py_ssize_t run, at = 0, found = 0, count = dropped.shape[0]
    cdef int64_t start, stop
    with nogil:
        for run in range(runs.shape[0]):
            start, stop = runs[run, 0], runs[run, 1]
            while at < count and dropped[at] < start:
                at += 1
            while at < count and dropped[at] < stop:
                if start < dropped[at]:
                    out[found, 0], out[found, 1] = start, dropped[at]
                    found += 1
                start = dropped[at] + 1
                at += 1
            if start < stop:
                out[found, 0], out[found, 1] = start, stop
                found += 1
    return found


def find_runs(const uint8_t[::1] mask not None, int64_t first, int64_t[:, ::1] out not None):
    """The runs of marked rows: they begin ``out`` (int64[(n + 1) // 2, 2]); returns how many they are.

    What follows them in ``out`` is arbitrary. ``mask`` is uint8[n]: 1 for a row that is marked, 0 for the others. Its
    first row has the position ``first``.
    """
    cdef int64_t size = mask.shape[0], at = 0
    cdef const uint8_t *source = &mask[0] if size else NULL
    cdef uint64_t word, edges, before = 0
    cdef Py_ssize_t found = 0
    cdef int i
    expect(out.shape[0], (size + 1) // 2, "out")
    expect(out.shape[1], 2, "a run of out")
    if size == 0:
        return 0
    cdef int64_t *ends = &out[0, 0]
    with nogil:
        while at < size:
            if at + 8 <= size:
                word = tf_load64(source + at) & <uint64_t>0x0101010101010101
            else:
                word = 0
                for i in range(<int>(size - at)):
                    word |= <uint64_t>(source[at + i] & 1) << 8 * i
            edges = word ^ (word << 8 | before)  # the rows that are marked where the one before is not, or the reverse
            while edges:
                ends[found] = first + at + (tf_trailing_zeros(edges) >> 3)
                found += 1
                edges &= edges - 1
            before = word >> 56
            at += 8
        if found & 1:
            ends[found] = first + size
            found += 1
    return found // 2
